//! What agents report: E2SM-KPM reports of a cell of the emulated RAN, recorded once and sent by each agent with UEs of its own.
//!
//! The recording contains, for each number of UEs, successive reports of each UE's measurements (report style 4, message format 3).
//! The identities of UEs have places in the octets where an agent writes its number, so that agents share the recording.

pub mod flexran;

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, bail};
use e2ap::{RanFunctionId, RanFunctionRevision};
use e2sm::Arena;
use e2sm::common::{AmfUeNgapId, RanUeId, UeId};
use e2sm::kpm::{
    EveryUe, GranularityPeriod, IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormat1, IndicationMessageFormat3, IndicationMessageFormats, LabelInfoList, MeasurementDataItem,
    MeasurementInfoItem, MeasurementRecordItem, MeasurementRequest, MeasurementType, MeasurementTypeName,
    RanFunctionDefinition, ReportRequest, Revision, Scope, TimeStamp, UeMeasurementReportItem,
};
use ferric::e2::Function;
use ran::{RanConfig, Scenario, Stepped};

/// The revision of the recorded reports: its time stamps have nanoseconds.
pub const REVISION: Revision = Revision::V3_00;
/// The report style for each UE (E2SM-KPM v03.00, 7.4.5).
const STYLE: i64 = 4;
/// The largest number of an agent: 23 bits of the identities of its UEs.
pub const MAX_AGENT: u32 = (1 << 23) - 1;
/// Reports of each number of UEs.
const RECORDED: usize = 32;
/// The model time between two reports.
const STEP: Duration = Duration::from_millis(100);

/// What is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentConfig {
    /// The most UEs of a report.
    pub max_ues: u16,
    /// The measurements of each UE.
    pub measurements: Vec<String>,
    /// The seed of the emulated RAN.
    pub seed: u64,
}

/// The recording.
#[derive(Debug)]
pub struct Content {
    /// The KPM function of the recorded node, with the style and measurements of the reports.
    pub kpm: Function,
    /// Its slice function, FlexRIC's, to which slice requests are sent.
    pub slice: Option<Function>,
    /// The measurements that it offers, of those of the configuration.
    pub measurements: Vec<String>,
    /// By the number of UEs, less one.
    reports: Vec<Vec<Recorded>>,
}

/// A report.
#[derive(Debug)]
struct Recorded {
    octets: Vec<u8>,
    /// Where the three octets of the agent's number are.
    agents: Vec<usize>,
}

impl Content {
    /// Runs the emulated RAN and records its reports. Takes some tenths of a second.
    ///
    /// # Errors
    /// If the emulated cell offers none of the measurements.
    pub fn record(config: &ContentConfig) -> anyhow::Result<Self> {
        let ues = config.max_ues.max(1);
        let scenario = Scenario::with_mixed_traffic(1, ues, config.seed);
        let mut ran = Stepped::new(RanConfig { scenario, kpm_revision: REVISION, ..RanConfig::default() })?;
        let functions = ran.functions(0);
        let oid = REVISION_OID;
        let kpm = functions.iter().find(|f| f.oid == oid).context("the emulated node has no KPM function")?;
        let slice = functions.iter().find(|f| f.id.0 == SLICE_FUNCTION.0).cloned();
        let (kpm, measurements) = reduced(kpm, &config.measurements)?;
        let mut reports: Vec<Vec<Recorded>> = (0..ues).map(|_| Vec::with_capacity(RECORDED)).collect();
        for _ in 0..RECORDED {
            ran.step(STEP);
            let mut records = Vec::new();
            for ue in ran.ues(0).into_iter().take(ues.into()) {
                let id = ran.ue_id(0, ue).context("a UE without an identity")?;
                let values = measurements.iter().map(|name| record_of(ran.measure(0, Some(ue), name)));
                records.push((id, values.collect::<Vec<_>>()));
            }
            if records.is_empty() {
                bail!("the emulated cell has no UEs");
            }
            for (count, reports) in (1..).zip(&mut reports) {
                reports.push(recorded(&records[..records.len().min(count)], &measurements)?);
            }
        }
        Ok(Content { kpm, slice, measurements, reports })
    }

    /// The most UEs of a report.
    #[must_use]
    pub fn max_ues(&self) -> u16 {
        self.reports.len() as u16
    }

    /// Writes a report of an agent into `out`: the `number`-th of those recorded, with `ues` UEs within 1 and
    /// [`Content::max_ues`].
    pub fn write_message(&self, agent: u32, ues: u16, number: u64, out: &mut Vec<u8>) {
        let of_count = &self.reports[usize::from(ues.clamp(1, self.max_ues())) - 1];
        let report = &of_count[(number % of_count.len() as u64) as usize];
        out.clear();
        out.extend_from_slice(&report.octets);
        let [_, high, middle, low] = agent.to_be_bytes();
        for &at in &report.agents {
            out[at] |= high;
            out[at + 1] = middle;
            out[at + 2] = low;
        }
    }

    /// The definition of the action that requests the reports, and of the trigger with a period.
    ///
    /// # Errors
    /// None: the function offers what is requested.
    pub fn subscription(&self, period_ms: u32) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
        let arena = Arena::new();
        let definition = RanFunctionDefinition::decode(&self.kpm.definition, REVISION, &arena)?;
        let measurements: Vec<_> = self.measurements.iter().map(|name| MeasurementRequest::named(name)).collect();
        let request = ReportRequest {
            measurements: &measurements,
            granularity_period_ms: period_ms,
            reporting_period_ms: period_ms,
            scope: Scope::EveryUe(EveryUe::default()),
        };
        let plan = request.plan(&definition, REVISION)?;
        let (mut trigger, mut action) = (Vec::new(), Vec::new());
        plan.trigger.encode(REVISION, &mut trigger)?;
        plan.action.encode(REVISION, &mut action)?;
        Ok((trigger, action))
    }
}

/// The object identifier of [`REVISION`].
pub const REVISION_OID: &str = e2sm::kpm::OID_V3;
/// FlexRIC's slice function.
pub const SLICE_FUNCTION: RanFunctionId = RanFunctionId(145);

/// The header of a report: all headers have the same octets except those of the time stamp.
struct HeaderForm {
    octets: Vec<u8>,
    /// Where the time stamp is.
    at: usize,
}

/// The octets of a time stamp.
const STAMP_OCTETS: usize = 8;

static HEADER: LazyLock<HeaderForm> = LazyLock::new(|| {
    let (octets, other) = (encoded_header([0; STAMP_OCTETS]), encoded_header([0xFF; STAMP_OCTETS]));
    let at = octets.iter().zip(&other).take_while(|(one, other)| one == other).count();
    HeaderForm { octets, at }
});

fn encoded_header(stamp: [u8; STAMP_OCTETS]) -> Vec<u8> {
    let header = IndicationHeader {
        formats: IndicationHeaderFormats::Format1(IndicationHeaderFormat1 {
            collet_start_time: TimeStamp::Long(stamp),
            file_format_version: None,
            sender_name: None,
            sender_type: None,
            vendor_name: None,
        }),
    };
    let mut octets = Vec::new();
    if let Err(error) = header.encode(REVISION, &mut octets) {
        panic!("a header without texts is valid: {error}");
    }
    octets
}

/// The header of a report whose time is `stamp`.
pub fn write_header(stamp: [u8; STAMP_OCTETS], out: &mut Vec<u8>) {
    let HeaderForm { octets, at } = &*HEADER;
    out.clear();
    out.extend_from_slice(&octets[..*at]);
    out.extend_from_slice(&stamp);
    out.extend_from_slice(&octets[at + STAMP_OCTETS..]);
}

/// The time stamp in a header, of this program or of another node; `None` if it has none of 8 octets.
#[must_use]
pub fn time_stamp(header: &[u8]) -> Option<[u8; STAMP_OCTETS]> {
    let HeaderForm { octets, at } = &*HEADER;
    if header.len() == octets.len()
        && header[..*at] == octets[..*at]
        && header[at + STAMP_OCTETS..] == octets[at + STAMP_OCTETS..]
    {
        return header[*at..at + STAMP_OCTETS].try_into().ok();
    }
    let IndicationHeaderFormats::Format1(header) = IndicationHeader::decode(header, REVISION).ok()?.formats;
    match header.collet_start_time {
        TimeStamp::Long(octets) => Some(octets),
        TimeStamp::Short(_) => None,
    }
}

/// The function with one report style, and of its measurements those that are wanted.
fn reduced(kpm: &Function, wanted: &[String]) -> anyhow::Result<(Function, Vec<String>)> {
    let arena = Arena::new();
    let mut definition = RanFunctionDefinition::decode(&kpm.definition, REVISION, &arena)?;
    let styles = definition.ric_report_style_list.take().unwrap_or_default();
    let style =
        styles.iter().find(|style| style.ric_report_style_type.0 == STYLE).context("no report style for UEs")?;
    let mut style = style.clone();
    let offered: Vec<_> = style
        .meas_info_action_list
        .iter()
        .filter(|item| wanted.contains(&item.meas_name.as_str().to_owned()))
        .collect();
    let measurements: Vec<String> = offered.iter().map(|item| item.meas_name.as_str().to_owned()).collect();
    if let Some(unknown) = wanted.iter().find(|name| !measurements.contains(name)) {
        bail!("the emulated RAN does not measure `{unknown}` of UEs; docs/scenarios.md lists its measurements");
    }
    style.meas_info_action_list = offered.into_iter().cloned().collect();
    definition.ric_report_style_list = Some(vec![style].into());
    let mut octets = Vec::new();
    definition.encode(REVISION, &mut octets)?;
    let function = Function { definition: octets, revision: RanFunctionRevision(1), ..kpm.clone() };
    Ok((function, measurements))
}

/// A measured value as KPM carries it: whole numbers, as the emulated RAN reports them.
fn record_of(value: Option<f64>) -> MeasurementRecordItem<'static> {
    match value {
        Some(value) if value >= 0.0 && value < f64::from(u32::MAX) => {
            MeasurementRecordItem::Integer(value.round() as u32)
        }
        _ => MeasurementRecordItem::NoValue,
    }
}

type UeRecord = (UeId<'static>, Vec<MeasurementRecordItem<'static>>);

/// The report of some UEs, and where their identities have the agent's number.
fn recorded(records: &[UeRecord], measurements: &[String]) -> anyhow::Result<Recorded> {
    let [octets, other] = [0, MAX_AGENT].map(|agent| encoded(records, measurements, agent));
    let (octets, other) = (octets?, other?);
    if octets.len() != other.len() {
        bail!("the identities of UEs have different lengths");
    }
    let mut agents = Vec::new();
    let mut at = 0;
    while at < octets.len() {
        if octets[at] == other[at] {
            at += 1;
            continue;
        }
        let is_number = |octets: &[u8], low: u8| octets.get(at + 1..at + 3) == Some(&[low; 2][..]);
        if !(is_number(&octets, 0) && is_number(&other, 0xFF) && octets[at] | 0x7F == other[at]) {
            bail!("an identity of a UE is not aligned to octets");
        }
        agents.push(at);
        at += 3;
    }
    Ok(Recorded { octets, agents })
}

/// The message of an agent, whose number is in the identities of its UEs.
fn encoded(records: &[UeRecord], measurements: &[String], agent: u32) -> anyhow::Result<Vec<u8>> {
    let info = measurements.iter().map(|name| {
        let name = MeasurementTypeName::try_from(name.as_str())?;
        Ok(MeasurementInfoItem {
            meas_type: MeasurementType::MeasName(name),
            label_info_list: LabelInfoList::NO_LABEL,
            match_cond_report_list: None,
        })
    });
    let info: Vec<_> = info.collect::<Result<_, per::Error>>()?;
    let mut items = Vec::new();
    for (ue, (id, values)) in records.iter().enumerate() {
        let meas_report = IndicationMessageFormat1 {
            meas_data: vec![MeasurementDataItem { meas_record: values.clone().into(), incomplete_flag: None }].into(),
            meas_info_list: Some(per::List::from(info.clone()).into()),
            granul_period: Some(GranularityPeriod(STEP.as_millis() as u32)),
        };
        items.push(UeMeasurementReportItem { ue_id: identity(id, agent, ue as u16)?, meas_report });
    }
    let message = IndicationMessage {
        formats: IndicationMessageFormats::Format3(IndicationMessageFormat3 { ue_meas_report_list: items.into() }),
    };
    let mut octets = Vec::new();
    message.encode(REVISION, &mut octets)?;
    Ok(octets)
}

/// The identity of a UE at an agent. At the AMF it has 5 octets: a bit that is set, 23 bits of the agent, 16 of the UE.
fn identity(recorded: &UeId<'static>, agent: u32, ue: u16) -> anyhow::Result<UeId<'static>> {
    let UeId::Gnb(gnb) = recorded else { bail!("the emulated node is not a gNB") };
    let mut gnb = (**gnb).clone();
    let number = u64::from(agent) << 16 | u64::from(ue);
    gnb.amf_ue_ngap_id = AmfUeNgapId(((1 << 39) | number) as i64);
    if gnb.ran_ueid.is_some() {
        gnb.ran_ueid = Some(RanUeId(number.to_be_bytes()));
    }
    Ok(UeId::Gnb(gnb.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn content() -> Content {
        let measurements = vec!["DRB.UEThpDl".to_owned(), "DRB.UEThpUl".to_owned()];
        Content::record(&ContentConfig { max_ues: 4, measurements, seed: 1 }).unwrap()
    }

    fn ues_and_values(octets: &[u8]) -> (Vec<i64>, Vec<u32>) {
        let arena = Arena::new();
        let message = IndicationMessage::decode(octets, REVISION, &arena).unwrap();
        let IndicationMessageFormats::Format3(report) = message.formats else { panic!("a report of UEs") };
        let id = |item: &UeMeasurementReportItem<'_>| match &item.ue_id {
            UeId::Gnb(id) => id.amf_ue_ngap_id.0,
            _ => panic!("a UE of a gNB"),
        };
        let values = report.ue_meas_report_list.iter().flat_map(|item| item.meas_report.meas_data.iter());
        let values = values.flat_map(|data| data.meas_record.iter()).filter_map(|value| match value {
            MeasurementRecordItem::Integer(value) => Some(*value),
            _ => None,
        });
        (report.ue_meas_report_list.iter().map(id).collect(), values.collect())
    }

    #[test]
    fn agents_report_ues_of_their_own() {
        let content = content();
        let mut octets = Vec::new();
        let mut ids = BTreeSet::new();
        for agent in [0, 1, 255, 256, 65_536, MAX_AGENT] {
            content.write_message(agent, 4, 3, &mut octets);
            let (ues, _) = ues_and_values(&octets);
            assert_eq!(ues.len(), 4);
            ids.extend(ues);
        }
        assert_eq!(ids.len(), 6 * 4, "no UE is at two agents: {ids:?}");
    }

    #[test]
    fn reports_are_those_of_the_model_and_change() {
        let content = content();
        let mut octets = Vec::new();
        let mut seen = BTreeSet::new();
        for number in 0..RECORDED as u64 {
            content.write_message(7, 4, number, &mut octets);
            seen.insert(ues_and_values(&octets).1);
        }
        assert!(seen.len() > RECORDED / 4, "{} different reports", seen.len());
        let mut again = Vec::new();
        self::content().write_message(7, 4, RECORDED as u64 - 1, &mut again);
        assert_eq!(again, octets, "the same seed gives the same reports");
    }

    #[test]
    fn number_of_ues_is_bounded() {
        let content = content();
        let mut octets = Vec::new();
        for (ues, reported) in [(0, 1), (1, 1), (3, 3), (4, 4), (99, 4)] {
            content.write_message(1, ues, 0, &mut octets);
            assert_eq!(ues_and_values(&octets).0.len(), reported);
        }
    }

    #[test]
    fn header_is_that_of_the_service_model_and_keeps_its_time_stamp() {
        let mut header = Vec::new();
        for stamp in [[1, 2, 3, 4, 5, 6, 7, 8], [0; 8], [0xFF; 8]] {
            write_header(stamp, &mut header);
            assert_eq!(header, encoded_header(stamp));
            assert_eq!(time_stamp(&header), Some(stamp));
        }
        assert_eq!(time_stamp(&header[..4]), None);
        // of another node: with a text, so that the octets have other places
        let other = IndicationHeader {
            formats: IndicationHeaderFormats::Format1(IndicationHeaderFormat1 {
                collet_start_time: TimeStamp::Long([9; 8]),
                file_format_version: None,
                sender_name: Some("node".try_into().unwrap()),
                sender_type: None,
                vendor_name: None,
            }),
        };
        let mut octets = Vec::new();
        other.encode(REVISION, &mut octets).unwrap();
        assert_eq!(time_stamp(&octets), Some([9; 8]));
    }

    #[test]
    fn unknown_measurement_is_named() {
        let config = ContentConfig { max_ues: 1, measurements: vec!["DRB.Nothing".to_owned()], seed: 1 };
        assert!(Content::record(&config).unwrap_err().to_string().contains("DRB.Nothing"));
    }
}
