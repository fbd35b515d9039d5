//! Encoding of reports.

use std::time::SystemTime;

use e2sm::Error;
use e2sm::common::{True, UeId};
use e2sm::kpm::{
    GranularityPeriod, IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormat1, IndicationMessageFormat2, IndicationMessageFormat3, IndicationMessageFormats,
    MatchedPerGp, MatchingUeidItem, MatchingUeidItemPerGp, MatchingUeidPerGpItem, MeasurementCondUeidItem,
    MeasurementDataItem, MeasurementRecordItem, Revision, UeMeasurementReportItem,
};
use per::{List, Memo};

use super::action::{Action, Info, Subject};
use super::{KpmConfig, MissingValue, v1, v2_00};

/// Encodes reports into buffers that are reused.
#[derive(Debug, Default)]
pub(super) struct Writer {
    header: Vec<u8>,
    message: Vec<u8>,
}

impl Writer {
    /// The header of the latest report.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// The message of the latest report.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Encodes the collected report with the time that its header states. Returns `false` if there are no UEs to report on.
    pub fn write<M>(&mut self, config: &KpmConfig, stated: SystemTime, action: &Action<M>) -> Result<bool, Error> {
        let KpmConfig { revision, wire, missing_value, ref v1_name, .. } = *config;
        let collection = &action.collection;
        self.header.clear();
        self.message.clear();
        if let Subject::Container(style, cell) = action.subject {
            let Some(container) = collection.container() else { return Ok(false) };
            match v1_name {
                None => v1::write(cell, container, &mut self.header, &mut self.message)?,
                Some(name) => {
                    v1::write_v1_02(cell, style, name, container, &mut self.header, &mut self.message)?;
                }
            }
            return Ok(true);
        }
        let granul_period = Some(GranularityPeriod(action.schedule.granularity_ms));
        let has_ue_rows = matches!(action.subject, Subject::Listed(_) | Subject::Each(_));
        let rows = if has_ue_rows { collection.rows().len() } else { 1 };
        if rows == 0 {
            return Ok(false);
        }
        let mut data = Vec::with_capacity(rows * action.schedule.records as usize);
        for row in 0..rows {
            data.extend(collection.row(row).map(|(values, incomplete)| MeasurementDataItem {
                meas_record: if missing_value == MissingValue::Omitted {
                    present(values)
                } else {
                    List::Borrowed(values)
                },
                incomplete_flag: incomplete.then_some(True),
            }));
        }
        if let Some((cell, object)) = &action.cell_object {
            let out = (&mut self.header, &mut self.message);
            v2_00::write(config, stated, *cell, object, action.schedule.granularity_ms, &data, out)?;
            return Ok(true);
        }
        let formats = match &action.info {
            Info::Measurements(info) => {
                let format1 = |data| IndicationMessageFormat1 {
                    meas_data: List::Borrowed(data),
                    meas_info_list: Some(Memo::from(List::Borrowed(&info[..]))),
                    granul_period,
                };
                if has_ue_rows {
                    let records = data.chunks_exact(action.schedule.records as usize);
                    let reports = collection.rows().iter().zip(records).map(|((_, ue_id), data)| {
                        UeMeasurementReportItem { ue_id: ue_id.clone(), meas_report: format1(data) }
                    });
                    IndicationMessageFormats::Format3(IndicationMessageFormat3 {
                        ue_meas_report_list: reports.collect(),
                    })
                } else {
                    IndicationMessageFormats::Format1(format1(&data))
                }
            }
            Info::Groups(groups) => {
                let period = |ues: Vec<&UeId<'static>>| MatchingUeidPerGpItem {
                    matched_per_gp: if ues.is_empty() {
                        MatchedPerGp::NoUeMatched(True)
                    } else {
                        let items = ues.into_iter().map(|ue| MatchingUeidItemPerGp { ue_id: ue.clone() });
                        MatchedPerGp::OneOrMoreUeMatched(items.collect())
                    },
                };
                let by_record = |at| {
                    let periods = collection.matched_by_record(at)?.into_iter().map(period);
                    Some(periods.collect::<List<'_, _>>())
                };
                let group = |at: usize| {
                    let (meas_type, matching_cond) = &groups[at];
                    let matched = collection.matched(at).iter().map(|(_, ue)| MatchingUeidItem { ue_id: ue.clone() });
                    MeasurementCondUeidItem {
                        meas_type: meas_type.clone(),
                        matching_cond: List::Borrowed(&matching_cond[..]),
                        matching_ueid_list: Some(matched.collect()).filter(|list: &List<'_, _>| !list.is_empty()),
                        matching_ueid_per_gp: by_record(at).filter(|_| revision > Revision::V2_01),
                    }
                };
                IndicationMessageFormats::Format2(IndicationMessageFormat2 {
                    meas_data: List::Borrowed(&data),
                    meas_cond_ueid_list: (0..groups.len()).map(group).collect(),
                    granul_period,
                })
            }
        };
        header(config, stated).encode_in(revision, wire, &mut self.header)?;
        IndicationMessage { formats }.encode_in(revision, wire, &mut self.message)?;
        Ok(true)
    }
}

/// The values that exist; the last one in any case, since a record cannot be empty.
fn present(values: &[MeasurementRecordItem<'static>]) -> List<'static, MeasurementRecordItem<'static>> {
    let mut present: Vec<_> =
        values.iter().filter(|value| **value != MeasurementRecordItem::NoValue).cloned().collect();
    if present.is_empty() {
        present.extend(values.last().cloned());
    }
    List::from(present)
}

fn header(config: &KpmConfig, stated: SystemTime) -> IndicationHeader<'static> {
    let format = config.timestamp_format;
    IndicationHeader {
        formats: IndicationHeaderFormats::Format1(IndicationHeaderFormat1 {
            collet_start_time: match config.revision.time_stamp_octets() {
                8 => format.long(stated),
                _ => format.short(stated),
            },
            file_format_version: None,
            sender_name: None,
            sender_type: None,
            vendor_name: None,
        }),
    }
}
