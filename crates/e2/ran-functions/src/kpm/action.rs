//! Report actions: their measurements, their periods and the values collected so far.

use std::time::Duration;

use e2sm::Arena;
use e2sm::common::{Cgi, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat3, ActionDefinitionFormats, BinRangeDefinition,
    BinRangeItem, BinRangeValue, LabelInfoItem, MatchingCondItem, MatchingCondItemChoice, MeasurementInfoItem,
    MeasurementLabel, MeasurementType, Revision, StartEndInd,
};
use ferric::agent::{ControllerId, RequestKey, Ue, Views};
use ferric::e2::{self, Time};
use ferric::e2ap::{Cause, RicActionId, RicActionType};
use per::{IntoOwned, List};

use super::collect::Collection;
use super::conditions::{Conditions, ValueConditions, without_plmn};
use super::definition::MAX_BINS;
use super::{Bin, KpmConfig, KpmSource, ReportStyle};
use super::{v1, v2_00};
use crate::cause::{ACTION_NOT_SUPPORTED, INFORMATION_UNAVAILABLE, SEMANTIC_ERROR, check_limit, undecodable};

/// The maximum number of values for one UE in one record: measurements with their labels.
const MAX_COLUMNS: usize = 1024;
/// The maximum number of conditions of an action.
const MAX_CONDITIONS: usize = 256;

/// A report action of a subscription.
pub(super) struct Action<M> {
    key: RequestKey,
    id: RicActionId,
    pub(super) subject: Subject,
    /// The values of a record, in order.
    pub(super) columns: Vec<Column>,
    /// The description of the columns in a report.
    pub(super) info: Info,
    pub(super) schedule: RecordSchedule,
    pub(super) collection: Collection,
    /// What reports of v02.00 repeat.
    pub(super) cell_object: Option<(Cgi, v2_00::CellObject)>,
    /// The counters at the start of the current granularity period.
    pub(super) snapshot: M,
}

/// The objects that an action reports on.
pub(super) enum Subject {
    Cell,
    /// One cell of a node with several.
    OneCell(Cgi),
    /// One UE (style 2).
    Single(Ue),
    /// Several UEs, each by itself (style 5).
    Listed(Vec<Ue>),
    /// Each UE that meets the conditions (style 4).
    Each(Conditions),
    /// For each column, all UEs together that meet its conditions (style 3).
    Groups(Vec<Conditions>),
    /// A container of v01.00, and its cell.
    Container(v1::Style, Cgi),
}

/// One value of a record.
pub(super) struct Column {
    /// The index in [`KpmSource::measurements`].
    pub measurement: usize,
    pub label: MeasurementLabel,
    /// For a distribution: the bin in each dimension.
    pub bins: Option<Vec<Bin>>,
    pub conditions: ValueConditions,
}

/// The description of the columns.
pub(super) enum Info {
    Measurements(Vec<MeasurementInfoItem<'static>>),
    Groups(Vec<(MeasurementType<'static>, List<'static, MatchingCondItem<'static>>)>),
}

/// The granularity periods of a report: each begins where the previous one ended, without drift.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordSchedule {
    pub granularity_ms: u32,
    /// The number of records in a report.
    pub records: u32,
    /// The start of the current report.
    pub start: Time,
    /// The number of its records that are complete.
    pub done: u32,
}

impl RecordSchedule {
    /// The end of this number of records.
    fn end_of(&self, records: u64) -> Time {
        self.start + Duration::from_millis(u64::from(self.granularity_ms).saturating_mul(records))
    }

    /// The end of the current record.
    pub fn due(&self) -> Time {
        self.end_of(u64::from(self.done) + 1)
    }

    /// The number of records, from the start of the current report, whose period has ended at `now`.
    pub fn ended(&self, now: Time) -> u64 {
        u64::try_from((now - self.start).as_millis()).unwrap_or(u64::MAX) / u64::from(self.granularity_ms)
    }

    /// The end of the last period that has ended at `now`; `None` if all of them are collected.
    pub fn last_period_end(&self, now: Time) -> Option<Time> {
        let ended = self.ended(now);
        (ended > u64::from(self.done)).then(|| self.end_of(ended))
    }

    /// Moves on by a number of reports.
    pub fn skip(&mut self, reports: u64) {
        self.start = self.end_of(u64::from(self.records).saturating_mul(reports));
        self.done = 0;
    }
}

impl<M: Default> Action<M> {
    /// Checks and sets up a requested action; its first period begins at `now`.
    pub fn new<S: KpmSource<Snapshot = M>>(
        now: Time,
        source: &S,
        views: &Views,
        config: &KpmConfig,
        reporting_period_ms: u32,
        key: RequestKey,
        requested: &e2::Action,
    ) -> Result<Self, Cause> {
        let mut cell_object = None;
        let definition = match &requested.definition {
            _ if requested.kind != RicActionType::Report => return Err(ACTION_NOT_SUPPORTED),
            None => return Err(SEMANTIC_ERROR),
            Some(bytes) if config.revision == Revision::V1_00 => {
                let subject = Subject::Container(v1::style(bytes)?, source.cell());
                let info = Info::Measurements(Vec::new());
                let schedule = RecordSchedule { granularity_ms: reporting_period_ms, records: 1, start: now, done: 0 };
                return Ok(Action::start(source, key, requested.id, config, subject, Vec::new(), info, schedule));
            }
            Some(bytes) if config.revision == Revision::V2_00 => {
                let (definition, object) = v2_00::action(source, bytes)?;
                cell_object = Some((source.cell(), object));
                definition
            }
            Some(bytes) => {
                let arena = Arena::new();
                let definition = ActionDefinition::decode_in(bytes, config.revision, config.wire, &arena);
                definition.map(IntoOwned::into_owned).map_err(undecodable("action definition"))?
            }
        };
        let style = style(&definition, config)?;
        let evaluates_conditions = config.evaluates_conditions;
        let check = Check { source, style, views, controller: key.controller, evaluates_conditions };
        let (subject, columns, info, granularity_ms) = match definition.formats {
            ActionDefinitionFormats::Format1(format) => {
                let (columns, info) = check.measurements(&format)?;
                let cells = source.cells();
                let named = format.cell_global_id.filter(|cell| cells.len() > 1 && cells.contains(cell));
                (named.map_or(Subject::Cell, Subject::OneCell), columns, info, format.granul_period)
            }
            ActionDefinitionFormats::Format2(format) => {
                let (columns, info) = check.measurements(&format.subscript_info)?;
                (Subject::Single(check.ue(&format.ue_id)?), columns, info, format.subscript_info.granul_period)
            }
            ActionDefinitionFormats::Format3(format) => {
                let granularity = format.granul_period;
                let (conditions, columns, info) = check.groups(format)?;
                (Subject::Groups(conditions), columns, info, granularity)
            }
            ActionDefinitionFormats::Format4(format) => {
                let (columns, info) = check.measurements(&format.subscription_info)?;
                let conditions = &format.matching_ue_cond_list;
                check_limit(conditions.len(), MAX_CONDITIONS)?;
                let conditions = if config.evaluates_conditions {
                    Conditions::of_ues(source, conditions).ok_or(INFORMATION_UNAVAILABLE)?
                } else {
                    Conditions::every_ue()
                };
                (Subject::Each(conditions), columns, info, format.subscription_info.granul_period)
            }
            ActionDefinitionFormats::Format5(format) => {
                let (columns, info) = check.measurements(&format.subscription_info)?;
                check_limit(format.matching_ueid_list.len(), config.max_values)?;
                let ues = check.ues(format.matching_ueid_list.iter().map(|item| &item.ue_id))?;
                (Subject::Listed(ues), columns, info, format.subscription_info.granul_period)
            }
        };
        let granularity_ms = granularity_ms.0;
        if granularity_ms < config.min_period_ms.max(1) || !reporting_period_ms.is_multiple_of(granularity_ms) {
            return Err(SEMANTIC_ERROR);
        }
        let records = reporting_period_ms / granularity_ms;
        let rows = if let Subject::Listed(ues) = &subject { ues.len() } else { 1 };
        let values = columns.len().saturating_mul(records as usize).saturating_mul(rows);
        check_limit(values, config.max_values)?;
        let schedule = RecordSchedule { granularity_ms, records, start: now, done: 0 };
        let action = Action::start(source, key, requested.id, config, subject, columns, info, schedule);
        Ok(Action { cell_object, ..action })
    }

    /// Starts the first report.
    #[allow(clippy::too_many_arguments, reason = "each argument is a field of the action")]
    fn start<S: KpmSource<Snapshot = M>>(
        source: &S,
        key: RequestKey,
        id: RicActionId,
        config: &KpmConfig,
        subject: Subject,
        columns: Vec<Column>,
        info: Info,
        schedule: RecordSchedule,
    ) -> Self {
        let mut snapshot = M::default();
        source.take_snapshot(&mut snapshot);
        let collection = Collection::new(columns.len(), schedule.records as usize, config.max_values);
        Action { key, id, subject, columns, info, schedule, collection, cell_object: None, snapshot }
    }
}

impl<M> Action<M> {
    pub fn key(&self) -> RequestKey {
        self.key
    }

    pub fn id(&self) -> RicActionId {
        self.id
    }

    /// The end of the current granularity period.
    pub fn due(&self) -> Time {
        self.schedule.due()
    }

    /// The end of the last period that has ended at `now`; `None` if all of them are collected.
    pub fn last_period_end(&self, now: Time) -> Option<Time> {
        self.schedule.last_period_end(now)
    }

    /// Whether more than one period has ended at `now` that is not collected.
    pub fn is_late(&self, now: Time) -> bool {
        self.schedule.ended(now) > u64::from(self.schedule.done) + 1
    }
}

/// The report style, which must be supported and match the format.
fn style(definition: &ActionDefinition<'_>, config: &KpmConfig) -> Result<ReportStyle, Cause> {
    let number = definition.ric_style_type.0;
    let style = config.styles.iter().copied().find(|style| style.number() == number).ok_or(ACTION_NOT_SUPPORTED)?;
    let format = match definition.formats {
        ActionDefinitionFormats::Format1(_) => ReportStyle::Node,
        ActionDefinitionFormats::Format2(_) => ReportStyle::SingleUe,
        ActionDefinitionFormats::Format3(_) => ReportStyle::Conditions,
        ActionDefinitionFormats::Format4(_) => ReportStyle::CommonConditions,
        ActionDefinitionFormats::Format5(_) => ReportStyle::Ues,
    };
    if format == style { Ok(style) } else { Err(SEMANTIC_ERROR) }
}

/// A requested subcounter: a share, and for a distribution a bin.
struct Subcounter {
    share: MeasurementLabel,
    bin: Option<BinNumbers>,
}

/// The number of a bin in each dimension.
type BinNumbers = [Option<u16>; 3];

/// Splits a label into bin numbers and the rest.
fn split(label: MeasurementLabel) -> (BinNumbers, MeasurementLabel) {
    let numbers = [label.dist_bin_x, label.dist_bin_y, label.dist_bin_z];
    let share = MeasurementLabel { dist_bin_x: None, dist_bin_y: None, dist_bin_z: None, start_end_ind: None, ..label };
    (numbers, if share == MeasurementLabel::default() { MeasurementLabel::NO_LABEL } else { share })
}

/// The subcounters that labels request. A range of bins (startEndInd) expands to its bins, the last dimension first.
fn subcounters(items: &[LabelInfoItem]) -> Result<Vec<Subcounter>, Cause> {
    let mut subcounters = Vec::new();
    let mut items = items.iter().map(|item| item.meas_label);
    while let Some(label) = items.next() {
        let (first, share) = split(label);
        let is_bin = first != [None; 3];
        match label.start_end_ind {
            None if is_bin => subcounters.push(Subcounter { share, bin: Some(first) }),
            None => subcounters.push(Subcounter { share: label, bin: None }),
            Some(StartEndInd::Start) if is_bin => {
                let last = items.next().filter(|last| last.start_end_ind == Some(StartEndInd::End));
                let (last, _) = last.map(split).filter(|(_, of_last)| *of_last == share).ok_or(SEMANTIC_ERROR)?;
                subcounters.extend(range(first, last)?.into_iter().map(|bin| Subcounter { share, bin: Some(bin) }));
            }
            Some(_) => return Err(INFORMATION_UNAVAILABLE),
        }
        check_limit(subcounters.len(), MAX_COLUMNS)?;
    }
    Ok(subcounters)
}

/// The bins of a range, over all dimensions.
fn range(first: BinNumbers, last: BinNumbers) -> Result<Vec<BinNumbers>, Cause> {
    let mut bins = vec![[None; 3]];
    for (dimension, ends) in first.into_iter().zip(last).enumerate() {
        let (first, last) = match ends {
            (None, None) => continue,
            (Some(first), Some(last)) if first <= last => (first, last),
            _ => return Err(SEMANTIC_ERROR),
        };
        check_limit(bins.len().saturating_mul(usize::from(last - first) + 1), MAX_COLUMNS)?;
        let with = |bin: &BinNumbers, number| {
            let mut bin = *bin;
            bin[dimension] = Some(number);
            bin
        };
        bins = bins.iter().flat_map(|bin| (first..=last).map(move |number| with(bin, number))).collect();
    }
    Ok(bins)
}

/// The numbered bins of each dimension of a distribution.
type Dimensions = Vec<Vec<(u16, Bin)>>;

/// The bins that a controller defines.
fn bins(definition: &BinRangeDefinition<'_>) -> Result<Dimensions, Cause> {
    let lists = [
        Some(&definition.bin_range_list_x),
        definition.bin_range_list_y.as_ref(),
        definition.bin_range_list_z.as_ref(),
    ];
    let border = |value: &BinRangeValue<'_>| match value {
        BinRangeValue::ValueInt(value) => *value as f64,
        BinRangeValue::ValueReal(value) => value.value(),
    };
    let bin = |item: &BinRangeItem<'_>| {
        let bin = Bin { from: border(&item.start_value), to: border(&item.end_value) };
        (bin.from < bin.to).then_some((item.bin_index.0, bin)).ok_or(SEMANTIC_ERROR)
    };
    if lists[1].is_none() && lists[2].is_some() {
        return Err(SEMANTIC_ERROR);
    }
    let dimension = |list: &List<'_, BinRangeItem<'_>>| {
        check_limit(list.len(), MAX_BINS)?;
        list.iter().map(bin).collect()
    };
    lists.into_iter().flatten().map(dimension).collect()
}

/// The bin with these numbers, one for each dimension of the distribution.
fn bin_at(dimensions: &Dimensions, numbers: BinNumbers) -> Result<Vec<Bin>, Cause> {
    let leading = numbers.into_iter().take_while(Option::is_some).flatten();
    let bin = |(bins, number): (&Vec<(u16, Bin)>, u16)| bins.iter().find(|(of, _)| *of == number).map(|(_, bin)| *bin);
    let bins: Option<Vec<Bin>> = dimensions.iter().zip(leading).map(bin).collect();
    let count = numbers.iter().flatten().count();
    bins.filter(|bins| bins.len() == dimensions.len() && bins.len() == count).ok_or(INFORMATION_UNAVAILABLE)
}

/// The context in which the definition of an action is checked.
struct Check<'s, S> {
    source: &'s S,
    style: ReportStyle,
    views: &'s Views,
    controller: ControllerId,
    evaluates_conditions: bool,
}

impl<S: KpmSource> Check<'_, S> {
    /// Checks the cell that an action names. Actions for UEs are for those of all cells: of a node with several they name none.
    fn check_cell(&self, named: Option<Cgi>) -> Result<(), Cause> {
        let Some(named) = named else { return Ok(()) };
        let cells = self.source.cells();
        let is_of_cells = self.style == ReportStyle::Node;
        if cells.contains(&named) && (is_of_cells || cells.len() == 1) { Ok(()) } else { Err(INFORMATION_UNAVAILABLE) }
    }

    /// The columns of measurements without matching conditions.
    fn measurements(&self, format: &ActionDefinitionFormat1<'_>) -> Result<(Vec<Column>, Info), Cause> {
        self.check_cell(format.cell_global_id)?;
        let mut custom_bins = Vec::new();
        for item in format.dist_meas_bin_range_info.iter().flatten() {
            custom_bins.push((self.measurement(&item.meas_type)?, bins(&item.bin_range_def)?));
        }
        let mut columns = Vec::new();
        for info in &format.meas_info_list {
            let measurement = self.measurement(&info.meas_type)?;
            let conditions = info.match_cond_report_list.as_deref().unwrap_or_default();
            check_limit(conditions.len(), MAX_CONDITIONS)?;
            let conditions = ValueConditions::new(conditions).ok_or(ACTION_NOT_SUPPORTED)?;
            let custom = custom_bins.iter().find(|(of, _)| *of == measurement).map(|(_, bins)| bins);
            let dimensions = self.dimensions(measurement, custom)?;
            for subcounter in subcounters(&info.label_info_list)? {
                let bins = subcounter.bin.map(|bin| bin_at(&dimensions, bin)).transpose()?;
                let label = self.share(measurement, subcounter.share)?;
                check_limit(columns.len() + 1, MAX_COLUMNS)?;
                columns.push(Column { measurement, label, bins, conditions: conditions.clone() });
            }
        }
        let reported = |info: &MeasurementInfoItem<'_>| MeasurementInfoItem {
            meas_type: info.meas_type.clone().into_owned(),
            label_info_list: info.label_info_list.clone().into_owned(),
            match_cond_report_list: None,
        };
        Ok((columns, Info::Measurements(format.meas_info_list.iter().map(reported).collect())))
    }

    /// The columns of measurements of the UEs that meet matching conditions.
    fn groups(&self, format: ActionDefinitionFormat3<'static>) -> Result<(Vec<Conditions>, Vec<Column>, Info), Cause> {
        self.check_cell(format.cell_global_id)?;
        check_limit(format.meas_cond_list.len(), MAX_COLUMNS)?;
        check_limit(format.meas_cond_list.iter().map(|item| item.matching_cond.len()).sum(), MAX_CONDITIONS)?;
        let (mut groups, mut columns, mut info) = (Vec::new(), Vec::new(), Vec::new());
        for item in &format.meas_cond_list {
            let measurement = self.measurement(&item.meas_type)?;
            let custom = item.bin_range_def.as_ref().map(bins).transpose()?;
            let dimensions = self.dimensions(measurement, custom.as_ref())?;
            // the bin is part of a label, which may also contain a share
            let labels = item.matching_cond.iter().filter_map(|condition| match &condition.choice {
                MatchingCondItemChoice::MeasLabel(label) => Some(split(*label).0).filter(|bin| *bin != [None; 3]),
                MatchingCondItemChoice::TestCondInfo(_) => None,
            });
            let bins = match labels.collect::<Vec<_>>()[..] {
                [] => None,
                [bin] => Some(bin_at(&dimensions, bin)?),
                _ => return Err(SEMANTIC_ERROR), // a value belongs to one bin
            };
            groups.push(if self.evaluates_conditions {
                Conditions::of_measurement(self.source, &item.matching_cond).ok_or(INFORMATION_UNAVAILABLE)?
            } else {
                Conditions::every_ue()
            });
            let (label, conditions) = (MeasurementLabel::NO_LABEL, ValueConditions::default());
            columns.push(Column { measurement, label, bins, conditions });
            info.push((item.meas_type.clone(), item.matching_cond.clone()));
        }
        Ok((groups, columns, Info::Groups(info)))
    }

    /// The bins of a distribution: the controller's custom bins, or those of the base station. Empty for other measurements.
    fn dimensions(&self, measurement: usize, custom: Option<&Dimensions>) -> Result<Dimensions, Cause> {
        let native = self.source.bins(measurement);
        match custom {
            // not a distribution, or one with another number of dimensions
            Some(custom) if custom.len() != native.len() => Err(ACTION_NOT_SUPPORTED),
            Some(custom) => Ok(custom.clone()),
            None => Ok(native.iter().map(|bins| (1..).zip(bins.iter().copied()).collect()).collect()),
        }
    }

    /// The label to pass to the source. If all of the cell belongs to one PLMN, a label does not need to contain it.
    fn share(&self, measurement: usize, label: MeasurementLabel) -> Result<MeasurementLabel, Cause> {
        if self.source.supports_label(measurement, &label) {
            return Ok(label);
        }
        let label = without_plmn(self.source, label).ok_or(INFORMATION_UNAVAILABLE)?;
        if self.source.supports_label(measurement, &label) { Ok(label) } else { Err(INFORMATION_UNAVAILABLE) }
    }

    /// The index of a measurement that the style supports.
    fn measurement(&self, requested: &MeasurementType<'_>) -> Result<usize, Cause> {
        let mut measurements = self.source.measurements().iter();
        let index = measurements.position(|measurement| {
            self.style.supports(measurement.scope)
                && match requested {
                    MeasurementType::MeasName(name) => **name == *measurement.name,
                    MeasurementType::MeasId(id) => measurement.id == Some(id.0),
                }
        });
        index.ok_or(INFORMATION_UNAVAILABLE)
    }

    fn ue(&self, ue_id: &UeId<'_>) -> Result<Ue, Cause> {
        Ok(self.ues(core::iter::once(ue_id))?[0])
    }

    fn ues<'u>(&self, ue_ids: impl Iterator<Item = &'u UeId<'u>>) -> Result<Vec<Ue>, Cause> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        // for the controller, a UE that it may not see does not exist
        ues.retain(|ue| self.views.sees(self.controller, *ue));
        let known: Vec<_> = ues.iter().map(|ue| (self.source.ue_id(*ue), *ue)).collect();
        // the optional parts need not be named, such as the RAN UE ID beside the AMF UE NGAP ID
        let find = |ue_id: &UeId<'_>| known.iter().find(|(id, _)| id.is_same_ue(ue_id)).map(|(_, ue)| *ue);
        ue_ids.map(|ue_id| find(ue_id).ok_or(INFORMATION_UNAVAILABLE)).collect()
    }
}
