//! Iteration over the values of a report.

use super::{
    ActionDefinition, ActionDefinitionFormats, IndicationMessage, IndicationMessageFormat1, IndicationMessageFormats,
    LabelInfoItem, MeasurementCondUeidItem, MeasurementDataItem, MeasurementInfoItem, MeasurementLabel,
    MeasurementRecordItem, MeasurementType, StartEndInd, UeMeasurementReportItem,
};
use crate::common::UeId;

/// One value of a report and everything that identifies it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'m> {
    /// The UE, in a report on several; in a report on one UE, the action definition contains it.
    pub ue: Option<&'m UeId<'m>>,
    /// The measurement; `None` if neither the message nor the action definition contains it, and in a record whose
    /// number of values differs from theirs.
    pub measurement: Option<&'m MeasurementType<'m>>,
    /// Its label; `None` as above, and in a report on groups of UEs.
    pub label: Option<&'m MeasurementLabel>,
    /// The index within a range of labels (startEndInd), whose first is `label`; otherwise 0.
    pub in_range: u32,
    /// The group of UEs and its conditions, in a report on groups of UEs.
    pub group: Option<&'m MeasurementCondUeidItem<'m>>,
    /// The value.
    pub value: Value,
    /// Whether the node marks the record as unreliable.
    pub incomplete: bool,
    /// The index of the record in the report; there is one for each granularity period.
    pub record: usize,
    /// The index of the value in the record.
    pub position: usize,
}

/// A record whose number of values differs from that of the measurements and their labels, so that none of its values has
/// a name: which of them the node left out is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CountMismatch {
    /// The number of values that the measurements and their labels stand for.
    pub expected: usize,
    /// The number of values in the record.
    pub reported: usize,
    /// Whether the message itself lists the measurements; otherwise they are those of the action definition.
    pub is_listed_in_message: bool,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(u32),
    /// A real number.
    Real(f64),
    /// No value.
    NoValue,
    /// The value does not meet the condition for reporting it.
    NotSatisfied,
}

impl Value {
    /// Returns the number, if there is one.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            Value::Integer(value) => Some(f64::from(value)),
            Value::Real(value) => Some(value),
            Value::NoValue | Value::NotSatisfied => None,
        }
    }
}

impl From<&MeasurementRecordItem<'_>> for Value {
    fn from(item: &MeasurementRecordItem<'_>) -> Self {
        match item {
            MeasurementRecordItem::Integer(value) => Value::Integer(*value),
            MeasurementRecordItem::Real(value) => Value::Real(value.value()),
            MeasurementRecordItem::NoValue => Value::NoValue,
            MeasurementRecordItem::NotSatisfied => Value::NotSatisfied,
        }
    }
}

impl<'a> IndicationMessage<'a> {
    /// Returns the values of the report in order. `action` is the action definition of the subscription: it contains the
    /// measurements if the message does not.
    ///
    /// Values are paired with measurements and labels by their position, so only if there are as many of one as of the
    /// other; see [`IndicationMessage::count_mismatch`].
    pub fn rows<'m>(&'m self, action: Option<&'m ActionDefinition<'m>>) -> Rows<'m> {
        let asked = action.map_or(&[][..], asked);
        let empty = Rows { reports: [].iter(), current: None, asked };
        match &self.formats {
            IndicationMessageFormats::Format1(report) => {
                Rows { current: Some(Report::of(None, report, asked, None)), ..empty }
            }
            IndicationMessageFormats::Format2(report) => {
                let columns = Columns::Groups(&report.meas_cond_ueid_list);
                Rows { current: Some(Report::new(None, &report.meas_data, columns, columns.values())), ..empty }
            }
            IndicationMessageFormats::Format3(report) => Rows { reports: report.ue_meas_report_list.iter(), ..empty },
        }
    }

    /// Returns the first record whose values have no names because their number differs from that of the measurements.
    /// `action` is as for [`IndicationMessage::rows`].
    pub fn count_mismatch(&self, action: Option<&ActionDefinition<'_>>) -> Option<CountMismatch> {
        let asked = action.map_or(&[][..], asked);
        let of_format1 = |report: &IndicationMessageFormat1<'_>| {
            let columns = Columns::Measurements(report.meas_info_list.as_ref().map_or(asked, |list| &list[..]));
            first_mismatch(&report.meas_data, columns, report.meas_info_list.is_some())
        };
        match &self.formats {
            IndicationMessageFormats::Format1(report) => of_format1(report),
            IndicationMessageFormats::Format2(report) => {
                first_mismatch(&report.meas_data, Columns::Groups(&report.meas_cond_ueid_list), true)
            }
            IndicationMessageFormats::Format3(report) => {
                report.ue_meas_report_list.iter().find_map(|item| of_format1(&item.meas_report))
            }
        }
    }
}

fn first_mismatch(
    data: &[MeasurementDataItem<'_>],
    columns: Columns<'_>,
    is_listed_in_message: bool,
) -> Option<CountMismatch> {
    let expected = columns.values();
    let counts = data.iter().map(|data| data.meas_record.len());
    let reported = counts.into_iter().find(|count| expected != 0 && *count != expected)?;
    Some(CountMismatch { expected, reported, is_listed_in_message })
}

/// The measurements of an action definition. Reports of measurements with conditions always contain them.
fn asked<'m>(action: &'m ActionDefinition<'m>) -> &'m [MeasurementInfoItem<'m>] {
    match &action.formats {
        ActionDefinitionFormats::Format1(format1) => &format1.meas_info_list,
        ActionDefinitionFormats::Format2(format2) => &format2.subscript_info.meas_info_list,
        ActionDefinitionFormats::Format3(_) => &[],
        ActionDefinitionFormats::Format4(format4) => &format4.subscription_info.meas_info_list,
        ActionDefinitionFormats::Format5(format5) => &format5.subscription_info.meas_info_list,
    }
}

/// An iterator over the values of a report; see [`IndicationMessage::rows`].
#[derive(Clone, Debug)]
pub struct Rows<'m> {
    reports: core::slice::Iter<'m, UeMeasurementReportItem<'m>>,
    current: Option<Report<'m>>,
    asked: &'m [MeasurementInfoItem<'m>],
}

impl<'m> Iterator for Rows<'m> {
    type Item = Row<'m>;

    fn next(&mut self) -> Option<Row<'m>> {
        loop {
            if let Some(row) = self.current.as_mut().and_then(Report::next) {
                return Some(row);
            }
            let item = self.reports.next()?;
            self.current = Some(Report::of(Some(&item.ue_id), &item.meas_report, self.asked, self.current.as_ref()));
        }
    }
}

/// The meaning of the values of a record, in order.
#[derive(Clone, Copy, Debug)]
enum Columns<'m> {
    Measurements(&'m [MeasurementInfoItem<'m>]),
    Groups(&'m [MeasurementCondUeidItem<'m>]),
}

impl Columns<'_> {
    /// The number of values in a record; 0 if nothing is known of them.
    fn values(self) -> usize {
        match self {
            Columns::Measurements(list) => {
                list.iter().fold(0, |sum, info| values(&info.label_info_list).saturating_add(sum))
            }
            Columns::Groups(list) => list.len(),
        }
    }
}

/// The values on one UE, or on the node.
#[derive(Clone, Debug)]
struct Report<'m> {
    ue: Option<&'m UeId<'m>>,
    columns: Columns<'m>,
    data: &'m [MeasurementDataItem<'m>],
    /// The number of values in a record, by `columns`.
    expected: usize,
    record: usize,
    value: usize,
    column: Column,
}

/// A position in the columns.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    measurement: usize,
    label: usize,
    in_range: u32,
}

impl<'m> Report<'m> {
    fn new(
        ue: Option<&'m UeId<'m>>,
        data: &'m [MeasurementDataItem<'m>],
        columns: Columns<'m>,
        expected: usize,
    ) -> Self {
        Report { ue, columns, data, expected, record: 0, value: 0, column: Column::default() }
    }

    fn of(
        ue: Option<&'m UeId<'m>>,
        report: &'m IndicationMessageFormat1<'m>,
        asked: &'m [MeasurementInfoItem<'m>],
        previous: Option<&Report<'m>>,
    ) -> Self {
        let named = report.meas_info_list.as_ref().map_or(asked, |list| &list[..]);
        let columns = Columns::Measurements(named);
        // a list that repeats for every UE was decoded once (`per::Memo`), and is counted once
        let expected = match previous {
            Some(Report { columns: Columns::Measurements(list), expected, .. }) if core::ptr::eq(*list, named) => {
                *expected
            }
            _ => columns.values(),
        };
        Report::new(ue, &report.meas_data, columns, expected)
    }

    fn next(&mut self) -> Option<Row<'m>> {
        let (data, item) = loop {
            let data = self.data.get(self.record)?;
            match data.meas_record.get(self.value) {
                Some(item) => break (data, item),
                None => {
                    (self.record, self.value, self.column) = (self.record + 1, 0, Column::default());
                }
            }
        };
        let mut row = Row {
            ue: self.ue,
            measurement: None,
            label: None,
            in_range: 0,
            group: None,
            value: Value::from(item),
            incomplete: data.incomplete_flag.is_some(),
            record: self.record,
            position: self.value,
        };
        let is_paired = data.meas_record.len() == self.expected;
        match self.columns {
            _ if !is_paired => {}
            Columns::Measurements(list) => {
                if let Some(info) = list.get(self.column.measurement) {
                    row.measurement = Some(&info.meas_type);
                    row.label = info.label_info_list.get(self.column.label).map(|item| &item.meas_label);
                    row.in_range = self.column.in_range;
                    self.column.advance(&info.label_info_list);
                }
            }
            Columns::Groups(list) => {
                row.group = list.get(self.value);
                row.measurement = row.group.map(|group| &group.meas_type);
            }
        }
        self.value += 1;
        Some(row)
    }
}

impl Column {
    /// Advances to the next value: within a range of labels, to the next label, or to the next measurement.
    fn advance(&mut self, labels: &[LabelInfoItem]) {
        let (taken, width) = match labels.get(self.label..) {
            Some([first, last, ..]) if is_range(&first.meas_label, &last.meas_label) => {
                (2, width(&first.meas_label, &last.meas_label))
            }
            _ => (1, 1),
        };
        self.in_range += 1;
        if self.in_range < width {
            return;
        }
        self.in_range = 0;
        self.label += taken;
        if self.label >= labels.len() {
            (self.measurement, self.label) = (self.measurement + 1, 0);
        }
    }
}

/// The number of values that a measurement with these labels has.
fn values(mut labels: &[LabelInfoItem]) -> usize {
    let mut values = 0_usize;
    while let [first, rest @ ..] = labels {
        let (width, rest) = match rest {
            [last, rest @ ..] if is_range(&first.meas_label, &last.meas_label) => {
                (width(&first.meas_label, &last.meas_label) as usize, rest)
            }
            _ => (1, rest),
        };
        values = values.saturating_add(width);
        labels = rest;
    }
    values.max(1)
}

fn is_range(first: &MeasurementLabel, last: &MeasurementLabel) -> bool {
    first.start_end_ind == Some(StartEndInd::Start) && last.start_end_ind == Some(StartEndInd::End)
}

/// The number of values in a range of bins, over all dimensions.
fn width(first: &MeasurementLabel, last: &MeasurementLabel) -> u32 {
    let span = |first: Option<u16>, last: Option<u16>| match (first, last) {
        (Some(first), Some(last)) => u32::from(last.saturating_sub(first)) + 1,
        _ => 1,
    };
    span(first.dist_bin_x, last.dist_bin_x)
        .saturating_mul(span(first.dist_bin_y, last.dist_bin_y))
        .saturating_mul(span(first.dist_bin_z, last.dist_bin_z))
}

#[cfg(test)]
mod tests {
    use per::{List, Memo};

    use super::*;
    use crate::common::{GnbCuUeF1apId, RicStyleType, True, UeIdGnbDu};
    use crate::kpm::{
        ActionDefinitionFormat1, GranularityPeriod, IndicationMessageFormat3, LabelInfoList, MeasurementTypeId,
    };

    fn info(id: u32, labels: LabelInfoList<'static>) -> MeasurementInfoItem<'static> {
        MeasurementInfoItem {
            meas_type: MeasurementType::MeasId(MeasurementTypeId(id)),
            label_info_list: labels,
            match_cond_report_list: None,
        }
    }

    fn bin(x: u16, start_end_ind: Option<StartEndInd>) -> LabelInfoItem {
        LabelInfoItem {
            meas_label: MeasurementLabel { dist_bin_x: Some(x), start_end_ind, ..MeasurementLabel::default() },
        }
    }

    fn record(values: core::ops::Range<u32>, incomplete: bool) -> MeasurementDataItem<'static> {
        MeasurementDataItem {
            meas_record: values.map(MeasurementRecordItem::Integer).collect(),
            incomplete_flag: incomplete.then_some(True),
        }
    }

    fn ids(rows: Rows<'_>) -> Vec<(u32, Option<u16>, u32, usize)> {
        rows.map(|row| {
            let id = match row.measurement {
                Some(MeasurementType::MeasId(id)) => id.0,
                _ => 0,
            };
            (id, row.label.and_then(|label| label.dist_bin_x), row.in_range, row.record)
        })
        .collect()
    }

    #[test]
    fn values_follow_labels_and_ranges() {
        let labels = List::from(vec![
            bin(1, None),
            bin(3, Some(StartEndInd::Start)),
            bin(5, Some(StartEndInd::End)),
            bin(9, None),
        ]);
        let list = vec![info(7, LabelInfoList(labels)), info(8, LabelInfoList::NO_LABEL)];
        let message = IndicationMessage {
            formats: IndicationMessageFormats::Format1(IndicationMessageFormat1 {
                meas_data: List::from(vec![record(0..6, false), record(6..12, true)]),
                meas_info_list: Some(Memo::from(List::from(list))),
                granul_period: None,
            }),
        };
        let expected = [
            (7, Some(1), 0, 0),
            (7, Some(3), 0, 0),
            (7, Some(3), 1, 0),
            (7, Some(3), 2, 0),
            (7, Some(9), 0, 0),
            (8, None, 0, 0),
            (7, Some(1), 0, 1),
            (7, Some(3), 0, 1),
            (7, Some(3), 1, 1),
            (7, Some(3), 2, 1),
            (7, Some(9), 0, 1),
            (8, None, 0, 1),
        ];
        assert_eq!(ids(message.rows(None)), expected);
        assert_eq!(message.count_mismatch(None), None);
        let incomplete: Vec<_> = message.rows(None).map(|row| row.incomplete).collect();
        assert_eq!(incomplete, [[false; 6], [true; 6]].concat());
        assert!(message.rows(None).enumerate().all(|(i, row)| row.value.number() == Some(i as f64)));
    }

    #[test]
    fn action_definition_names_unnamed_values() {
        let action = ActionDefinition {
            ric_style_type: RicStyleType(1),
            formats: ActionDefinitionFormats::Format1(ActionDefinitionFormat1 {
                meas_info_list: List::from(vec![info(1, LabelInfoList::NO_LABEL), info(2, LabelInfoList::NO_LABEL)]),
                granul_period: GranularityPeriod(100),
                cell_global_id: None,
                dist_meas_bin_range_info: None,
            }),
        };
        let report = |ue| UeMeasurementReportItem {
            ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue), ran_ueid: None, cell_rnti: None }),
            meas_report: IndicationMessageFormat1 {
                meas_data: List::from(vec![record(0..2, false)]),
                meas_info_list: None,
                granul_period: None,
            },
        };
        let message = IndicationMessage {
            formats: IndicationMessageFormats::Format3(IndicationMessageFormat3 {
                ue_meas_report_list: List::from(vec![report(4), report(5)]),
            }),
        };
        assert_eq!(
            ids(message.rows(Some(&action))),
            [(1, None, 0, 0), (2, None, 0, 0), (1, None, 0, 0), (2, None, 0, 0)]
        );
        assert_eq!(ids(message.rows(None)), [(0, None, 0, 0); 4]);
        let ues: Vec<_> = message
            .rows(None)
            .filter_map(|row| match row.ue {
                Some(UeId::GnbDu(ue)) => Some(ue.gnb_cu_ue_f1ap_id.0),
                _ => None,
            })
            .collect();
        assert_eq!(ues, [4, 4, 5, 5]);
    }

    /// A message whose records have so many values, which count from 0.
    fn format1(counts: &[u32], listed: Option<Vec<MeasurementInfoItem<'static>>>) -> IndicationMessage<'static> {
        let mut next = 0;
        let mut of = |count: &u32| {
            next += count;
            record(next - count..next, false)
        };
        IndicationMessage {
            formats: IndicationMessageFormats::Format1(IndicationMessageFormat1 {
                meas_data: counts.iter().map(&mut of).collect(),
                meas_info_list: listed.map(|list| Memo::from(List::from(list))),
                granul_period: None,
            }),
        }
    }

    fn asking(list: Vec<MeasurementInfoItem<'static>>) -> ActionDefinition<'static> {
        ActionDefinition {
            ric_style_type: RicStyleType(1),
            formats: ActionDefinitionFormats::Format1(ActionDefinitionFormat1 {
                meas_info_list: List::from(list),
                granul_period: GranularityPeriod(100),
                cell_global_id: None,
                dist_meas_bin_range_info: None,
            }),
        }
    }

    fn three() -> Vec<MeasurementInfoItem<'static>> {
        (1..=3).map(|id| info(id, LabelInfoList::NO_LABEL)).collect()
    }

    #[test]
    fn record_with_other_counts_than_asked_has_no_names() {
        let action = asking(three());
        // one value missing, one too many, and a complete record
        let message = format1(&[2, 4, 3], None);
        let expected: Vec<_> = [(2, false), (4, false), (3, true)]
            .into_iter()
            .enumerate()
            .flat_map(|(at, (count, is_named))| (1..=count).map(move |n| (if is_named { n } else { 0 }, None, 0, at)))
            .collect();
        assert_eq!(ids(message.rows(Some(&action))), expected);
        let positions: Vec<_> = message.rows(Some(&action)).map(|row| row.position).collect();
        assert_eq!(positions, [0, 1, 0, 1, 2, 3, 0, 1, 2]);
        assert!(message.rows(Some(&action)).enumerate().all(|(i, row)| row.value.number() == Some(i as f64)));
        let mismatch = CountMismatch { expected: 3, reported: 2, is_listed_in_message: false };
        assert_eq!(message.count_mismatch(Some(&action)), Some(mismatch));
        assert_eq!(message.count_mismatch(None), None, "without any measurements there is nothing to compare with");
    }

    #[test]
    fn list_in_the_message_names_what_the_node_left() {
        let action = asking(three());
        let listed = vec![info(3, LabelInfoList::NO_LABEL)];
        let message = format1(&[1], Some(listed));
        assert_eq!(ids(message.rows(Some(&action))), [(3, None, 0, 0)]);
        assert_eq!(message.count_mismatch(Some(&action)), None);
        // srsRAN's CU-UP lists all that was asked and leaves out values
        let message = format1(&[2], Some(three()));
        assert_eq!(ids(message.rows(Some(&action))), [(0, None, 0, 0); 2]);
        let mismatch = CountMismatch { expected: 3, reported: 2, is_listed_in_message: true };
        assert_eq!(message.count_mismatch(Some(&action)), Some(mismatch));
    }

    #[test]
    fn missing_value_of_a_label_takes_the_labels_with_it() {
        let bins = || LabelInfoList(List::from(vec![bin(1, Some(StartEndInd::Start)), bin(3, Some(StartEndInd::End))]));
        let list = vec![info(1, LabelInfoList::NO_LABEL), info(2, bins())];
        let whole = format1(&[4], Some(list.clone()));
        assert_eq!(
            ids(whole.rows(None)),
            [(1, None, 0, 0), (2, Some(1), 0, 0), (2, Some(1), 1, 0), (2, Some(1), 2, 0)]
        );
        let short = format1(&[3], Some(list));
        assert_eq!(ids(short.rows(None)), [(0, None, 0, 0); 3]);
    }
}
