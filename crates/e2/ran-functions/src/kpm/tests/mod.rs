//! The function in virtual time, with a source of known values.

mod bins;
mod reports;
mod subscriptions;
mod v1;

use std::borrow::Cow;
use std::time::Duration;

use e2sm::common::{
    Cgi, FiveQi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RanUeId, RicStyleType, SNssai, Sst, True, UeId, UeIdGnbDu,
};
use e2sm::kpm::dictionary::Scope as OfferScope;
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat2, ActionDefinitionFormat4,
    ActionDefinitionFormats, EveryUe, GranularityPeriod, IndicationHeader, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormats, LabelInfoItem, LabelInfoList, MatchCondReportItem, MatchingCondItem,
    MatchingCondItemChoice, MatchingUeCondPerSubItem, MeasValueReportCond, MeasurementInfoItem, MeasurementLabel,
    MeasurementRequest, MeasurementType, MeasurementTypeId, MeasurementTypeName, RanFunctionDefinition, ReportRequest,
    Scope, TestCondExpression, TestCondInfo, TestCondType, TestCondValue, TimeStamp, Value,
};
use ferric::agent::{FunctionTransport, Ue};
use ferric::e2;
use ferric::e2ap::{CauseProtocol, CauseRicRequest, GlobalRicId, RicActionId, RicActionType, RicRequestId};
use per::{Bits, List, Octets, PrintableString};

use super::*;
use crate::cause::INFORMATION_UNAVAILABLE;
use crate::testing::ExclusiveSource;

const VOLUME: &str = "DRB.PdcpSduVolumeDL";
const RRC: &str = "RRC.ConnMean";
const CQI: &str = "CQI";

/// Counts milliseconds: UE n gets n kbit in each, and has CQI n. Odd UEs use slice 1, even ones slice 2.
#[derive(Default)]
struct Counting {
    ues: Vec<Ue>,
    millis: u64,
    serves_several_plmns: bool,
    /// Whether even UEs are in a second cell.
    has_second_cell: bool,
}

impl Counting {
    fn kbit(ue: Ue, millis: u64) -> u64 {
        ue.0 * millis
    }
}

impl KpmSource for Counting {
    type Snapshot = u64;

    fn cell(&self) -> Cgi {
        cell(1)
    }

    fn cells(&self) -> Vec<Cgi> {
        if self.has_second_cell { vec![cell(1), cell(2)] } else { vec![cell(1)] }
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        &[
            SupportedMeasurement { name: Cow::Borrowed(VOLUME), id: Some(7), scope: OfferScope::CellAndUe },
            SupportedMeasurement { name: Cow::Borrowed(RRC), id: None, scope: OfferScope::Cell },
            SupportedMeasurement { name: Cow::Borrowed(CQI), id: Some(9), scope: OfferScope::Ue },
        ]
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(&self.ues);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        ue_id(ue.0)
    }

    fn take_snapshot(&self, mark: &mut u64) {
        *mark = self.millis;
    }

    fn advance(&mut self, until: Time) {
        self.millis = self.millis.max(until.as_nanos() / 1_000_000);
    }

    fn value(&self, since: &u64, object: MeasuredObject<'_>, offer: usize, label: &MeasurementLabel) -> Value {
        let of_cell: Vec<Ue>;
        let ues = match object {
            MeasuredObject::Cell => &self.ues[..],
            MeasuredObject::OneCell(named) => {
                let is_there = |ue: &&Ue| (named == cell(1)) == (ue.0 % 2 == 1);
                of_cell = self.ues.iter().filter(is_there).copied().collect();
                &of_cell
            }
            MeasuredObject::Ues(ues) => ues,
        };
        let ues = ues.iter().filter(|ue| label.slice_id.is_none_or(|slice| self.slices(**ue).contains(&slice)));
        match offer {
            0 => Value::Integer(ues.map(|ue| Counting::kbit(*ue, self.millis - since)).sum::<u64>() as u32),
            1 => Value::Real(self.ues.len() as f64 + 0.5),
            _ => {
                let cqis: Vec<_> = ues.map(|ue| ue.0).collect();
                if cqis.is_empty() {
                    return Value::NoValue;
                }
                Value::Real(cqis.iter().sum::<u64>() as f64 / cqis.len() as f64)
            }
        }
    }

    fn supports_label(&self, offer: usize, label: &MeasurementLabel) -> bool {
        let of_class = label.slice_id.is_some() && label.five_qi == Some(FiveQi(9));
        *label == MeasurementLabel::NO_LABEL || offer == 0 && (*label == slice_label(1) || of_class)
    }

    fn serves_several_plmns(&self) -> bool {
        self.serves_several_plmns
    }

    fn test_condition_types(&self) -> &[TestCondType] {
        &[TestCondType::Cqi(True), TestCondType::UlRsrp(True), TestCondType::Rsrp(True), TestCondType::Gbr(True)]
    }

    fn test_condition_value(&self, ue: Ue, property: TestCondType) -> Option<f64> {
        match property {
            TestCondType::Cqi(_) => Some(ue.0 as f64),
            TestCondType::UlRsrp(_) | TestCondType::Rsrp(_) => Some(-90.0),
            TestCondType::Gbr(_) => Some(f64::from(u8::from(ue.0 == 3))),
            _ => None,
        }
    }

    fn slices(&self, ue: Ue) -> &[SNssai] {
        const SLICES: [SNssai; 2] = [slice(2), slice(1)];
        let at = (ue.0 % 2) as usize;
        &SLICES[at..=at]
    }

    fn five_qis(&self, _ue: Ue) -> &[FiveQi] {
        &[FiveQi(9)]
    }
}

const fn slice(sst: u8) -> SNssai {
    SNssai { sst: Sst([sst]), sd: None }
}

fn slice_label(sst: u8) -> MeasurementLabel {
    MeasurementLabel { slice_id: Some(slice(sst)), ..MeasurementLabel::default() }
}

fn cell(number: u64) -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(number, 36) })
}

fn ue_id(number: u64) -> UeId<'static> {
    let id = GnbCuUeF1apId(number as u32);
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: id, ran_ueid: None, cell_rnti: None })
}

/// The controller that sees every UE, and a guest.
const FIRST: ControllerId = ControllerId(1);
const GUEST: ControllerId = ControllerId(2);

/// The wall clock stands still at a whole second since 1900.
const WALL_S: u64 = 3_900_000_000;

fn wall_clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(WALL_S - 2_208_988_800)
}

/// A function, its revision and its time.
struct Bench {
    function: KpmFunction<ExclusiveSource<Counting>>,
    source: ExclusiveSource<Counting>,
    revision: Revision,
    views: Views,
    sent: Vec<Sent>,
}

/// A report that the function sent.
struct Sent {
    at_ms: u64,
    controller: ControllerId,
    action: u8,
    header: Vec<u8>,
    message: Vec<u8>,
}

/// A transport that records reports.
struct Recorder<'a> {
    at_ms: u64,
    sent: &'a mut Vec<Sent>,
}

impl FunctionTransport for Recorder<'_> {
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), e2::AgentMisuse> {
        assert_eq!(call_process_id, None);
        let (controller, action) = (key.controller, action.0);
        let (header, message) = (header.to_vec(), message.to_vec());
        self.sent.push(Sent { at_ms: self.at_ms, controller, action, header, message });
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

/// A row of a report: UE, record, value, incomplete.
type Line = (Option<u64>, usize, Value, bool);

impl Bench {
    fn new(config: KpmConfig, ues: &[u64]) -> Self {
        let source =
            ExclusiveSource::new(Counting { ues: ues.iter().map(|ue| Ue(*ue)).collect(), ..Counting::default() });
        let revision = config.revision;
        let function = KpmFunction::new(source.clone(), config).with_wall_clock(wall_clock);
        let views = Views::with_first(FIRST);
        Bench { function, source, revision, views, sent: Vec::new() }
    }

    fn speaking(revision: Revision, ues: &[u64]) -> Self {
        Bench::new(KpmConfig { revision, ..KpmConfig::default() }, ues)
    }

    fn definition(&self) -> RanFunctionDefinition<'static> {
        RanFunctionDefinition::decode_owned(&self.function.definition().definition, self.revision).unwrap()
    }

    fn plan(&self, report_request: &ReportRequest<'_>) -> (Vec<u8>, Vec<u8>) {
        let plan = report_request.plan(&self.definition(), self.revision).unwrap();
        let mut trigger = Vec::new();
        plan.trigger.encode(self.revision, &mut trigger).unwrap();
        (trigger, self.encode(&plan.action))
    }

    fn encode(&self, action: &ActionDefinition<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        action.encode(self.revision, &mut out).unwrap();
        out
    }

    fn subscribe(&mut self, at_ms: u64, instance: u16, trigger: &[u8], actions: &[&[u8]]) -> Result<Admission, Cause> {
        self.function.subscribe(millis(at_ms), FIRST, &request(instance, trigger, actions), &self.views)
    }

    fn unsubscribe(&mut self, instance: u16) {
        self.function.unsubscribe(RequestKey { controller: FIRST, id: RicRequestId { requestor: 1, instance } });
    }

    /// Subscribes to one report_request at time 0.
    fn report_request(&mut self, report_request: &ReportRequest<'_>) {
        let (trigger, action) = self.plan(report_request);
        let admission = self.subscribe(0, 1, &trigger, &[&action]).unwrap();
        assert_eq!(admission, Admission { admitted: vec![RicActionId(0)], not_admitted: vec![] });
    }

    fn at(&mut self, at_ms: u64) {
        let mut recorder = Recorder { at_ms, sent: &mut self.sent };
        self.function.report(millis(at_ms), &mut FunctionContext::new(&mut self.views, &mut recorder));
    }

    /// Calls the function whenever a report is due.
    fn run_until(&mut self, end_ms: u64) {
        while let Some(next) = self.function.next_report().filter(|next| *next <= millis(end_ms)) {
            self.at(next.as_nanos() / 1_000_000);
        }
    }

    fn message(&self, sent: usize) -> IndicationMessage<'static> {
        IndicationMessage::decode_owned(&self.sent[sent].message, self.revision).unwrap()
    }

    fn lines(&self, sent: usize) -> Vec<Line> {
        let line = |row: e2sm::kpm::Row<'_>| {
            let ue = row.ue.map(|ue| match ue {
                UeId::GnbDu(ue) => u64::from(ue.gnb_cu_ue_f1ap_id.0),
                other => panic!("{other:?}"),
            });
            (ue, row.record, row.value, row.incomplete)
        };
        self.message(sent).rows(None).map(line).collect()
    }

    /// When a report's first period began, in milliseconds before the wall clock's second.
    fn began_before(&self, sent: usize) -> u64 {
        let header = IndicationHeader::decode(&self.sent[sent].header, self.revision).unwrap();
        let IndicationHeaderFormats::Format1(header) = header.formats;
        match header.collet_start_time {
            TimeStamp::Long(octets) => {
                let ntp = u64::from_be_bytes(octets);
                ((u128::from((WALL_S << 32) - ntp) * 1000 + (1 << 31)) >> 32) as u64
            }
            TimeStamp::Short(octets) => (WALL_S - u64::from(u32::from_be_bytes(octets))) * 1000,
        }
    }
}

fn millis(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn request(instance: u16, trigger: &[u8], actions: &[&[u8]]) -> SubscriptionRequest {
    let action = |(at, definition): (usize, &&[u8])| e2::Action {
        id: RicActionId(at as u8),
        kind: RicActionType::Report,
        definition: Some(definition.to_vec()),
        subsequent: None,
    };
    SubscriptionRequest {
        request_id: RicRequestId { requestor: 1, instance },
        ran_function_id: RanFunctionId(2),
        event_trigger: trigger.to_vec(),
        actions: actions.iter().enumerate().map(action).collect(),
        times: Default::default(),
    }
}

fn named<'w>(names: &[&'w str]) -> Vec<MeasurementRequest<'w>> {
    names.iter().map(|name| MeasurementRequest::named(name)).collect()
}

fn report_request<'w>(
    measurements: &'w [MeasurementRequest<'w>],
    granularity: u32,
    reporting: u32,
    scope: Scope<'w>,
) -> ReportRequest<'w> {
    ReportRequest { measurements, granularity_period_ms: granularity, reporting_period_ms: reporting, scope }
}

fn every(reporting_ms: u32, revision: Revision) -> Vec<u8> {
    let mut out = Vec::new();
    EventTriggerDefinition::every(reporting_ms).encode(revision, &mut out).unwrap();
    out
}

fn info(meas_type: MeasurementType<'static>, label: MeasurementLabel) -> MeasurementInfoItem<'static> {
    MeasurementInfoItem {
        meas_type,
        label_info_list: LabelInfoList(List::from(vec![LabelInfoItem { meas_label: label }])),
        match_cond_report_list: None,
    }
}

fn by_name(name: &'static str) -> MeasurementType<'static> {
    MeasurementType::MeasName(MeasurementTypeName(PrintableString::literal(name)))
}

fn format1(infos: Vec<MeasurementInfoItem<'static>>, granularity_ms: u32) -> ActionDefinitionFormat1<'static> {
    ActionDefinitionFormat1 {
        meas_info_list: List::from(infos),
        granul_period: GranularityPeriod(granularity_ms),
        cell_global_id: None,
        dist_meas_bin_range_info: None,
    }
}

fn style1(format1: ActionDefinitionFormat1<'static>) -> ActionDefinition<'static> {
    ActionDefinition { ric_style_type: RicStyleType(1), formats: ActionDefinitionFormats::Format1(format1) }
}

fn test(test_type: TestCondType, test_expr: TestCondExpression, value: i64) -> TestCondInfo<'static> {
    TestCondInfo { test_type, test_expr: Some(test_expr), test_value: Some(TestCondValue::ValueInt(value)) }
}

/// Conditions, and whether each is an alternative to the next.
type Conditions = Vec<(TestCondInfo<'static>, bool)>;

fn style4(conditions: Conditions) -> ActionDefinition<'static> {
    let item =
        |(test_cond_info, or): (_, bool)| MatchingUeCondPerSubItem { test_cond_info, logical_or: or.then_some(True) };
    ActionDefinition {
        ric_style_type: RicStyleType(4),
        formats: ActionDefinitionFormats::Format4(ActionDefinitionFormat4 {
            matching_ue_cond_list: conditions.into_iter().map(item).collect(),
            subscription_info: format1(vec![info(by_name(VOLUME), MeasurementLabel::NO_LABEL)], 10),
        }),
    }
}
