//! The function in virtual time, with a cell of 50 resource blocks and slots of 1 ms whose state the test sets.

use e2sm::Arena;
use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RicStyleType, UeId, UeIdGnbDu};
use e2sm::llc::*;
use ferric::e2::Action as RequestedAction;
use ferric::e2ap::{CauseRicRequest, RicActionType};
use per::{BitString, Bits};

use super::*;
use crate::cause::{ACTION_NOT_SUPPORTED, CONTROL_MESSAGE_INVALID, TRANSFER_SYNTAX_ERROR, TRIGGER_NOT_SUPPORTED};
use crate::testing::{ExclusiveSource, FIRST, GUEST, Recorder, control, millis, request_id, subscription};

const BLOCKS: u16 = 50;
const DRB: LogicalChannelId = LogicalChannelId(4);
const FAILED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

#[derive(Default)]
struct TestCell {
    now: Time,
    ues: Vec<u64>,
    buffers: Vec<(u64, BufferStatus)>,
    harq: HarqCounts,
    arrivals: Vec<(u64, Arrivals)>,
    delegated: Vec<DelegatedChannel>,
    decisions: Vec<SlotDecision>,
    refused: Vec<(u64, SlotRefusal)>,
    /// Octets that a block carries; the rest of a grant is not scheduled.
    room: u32,
}

fn id(ue: u64) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue as u32), ran_ueid: None, cell_rnti: None })
}

fn cell(number: u64) -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(number, 36) })
}

impl SlotScheduler for TestCell {
    fn next_slot(&self) -> u64 {
        self.now.as_nanos().div_ceil(1_000_000)
    }

    /// Every tenth slot is of the uplink.
    fn has_downlink(&self, slot: u64) -> bool {
        slot % 10 != 9
    }

    fn set_delegated(&mut self, channels: &[DelegatedChannel]) {
        self.delegated = channels.to_vec();
    }

    fn schedule(&mut self, decision: &mut SlotDecision) {
        for share in decision.grants.iter_mut().flat_map(|grant| &mut grant.channels) {
            share.scheduled = share.octets.min(self.room);
            share.cause = (share.scheduled < share.octets).then_some(ExecutionCause::BufferEmpty);
        }
        self.decisions.push(decision.clone());
    }

    fn refused(&mut self, slot: u64, refusal: SlotRefusal) {
        self.refused.push((slot, refusal));
    }
}

impl LlcSource for TestCell {
    fn format(&self) -> CellFormat {
        CellFormat { numerology: 0, resource_blocks: BLOCKS, mcs_count: 29 }
    }

    fn cell(&self) -> Cgi {
        cell(1)
    }

    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    fn slot_offset_ns(&self, now: Time, slot: u64) -> i64 {
        slot as i64 * 1_000_000 - now.as_nanos() as i64
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(self.ues.iter().map(|ue| Ue(*ue)));
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        id(ue.0)
    }

    fn rlc_buffers(&self, ue: Ue, out: &mut Vec<BufferStatus>) {
        out.extend(self.buffers.iter().filter(|(of, _)| *of == ue.0).map(|(_, buffer)| *buffer));
    }

    fn pdcp_buffers(&self, ue: Ue, out: &mut Vec<BufferStatus>) {
        let drb = |buffer: BufferStatus| BufferStatus { id: buffer.id - 3, octets: buffer.octets / 2, ..buffer };
        out.extend(self.buffers.iter().filter(|(of, _)| *of == ue.0).map(|(_, buffer)| drb(*buffer)));
    }

    fn harq(&self, _ue: Ue) -> HarqCounts {
        self.harq
    }

    fn arrivals(&self, ue: Ue) -> Arrivals {
        self.arrivals.iter().find(|(of, _)| *of == ue.0).map(|(_, arrivals)| *arrivals).unwrap_or_default()
    }

    fn csi(&self, ue: Ue) -> Option<CsiReport> {
        Some(CsiReport { config_id: 1, part1: Bits::new(ue.0 & 15, 4) })
    }

    fn srs(&self, ue: Ue) -> Option<ReceivedSrs> {
        Some(vec![vec![SrsSymbol { compression_header: 0, section: vec![ue.0 as u8; 4] }]])
    }
}

struct Test {
    cell: ExclusiveSource<TestCell>,
    function: LlcFunction<ExclusiveSource<TestCell>>,
    views: Views,
    out: Recorder,
    ms: u64,
}

impl Test {
    /// A cell with two UEs that have data, of which the second controller sees the second one.
    fn new() -> Self {
        let buffer = |octets| BufferStatus { id: 4, octets, time_to_live: Some(Duration::from_millis(20)) };
        let source = TestCell { ues: vec![1, 2], buffers: vec![(1, buffer(1500)), (2, buffer(0))], room: 1000, ..TestCell::default() };
        let cell = ExclusiveSource::new(source);
        let function = LlcFunction::new(cell.clone(), LlcConfig::default())
            .with_wall_clock(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let mut views = Views::with_first(FIRST);
        views.expose(GUEST, Ue(2)).unwrap();
        Test { cell, function, views, out: Recorder::default(), ms: 0 }
    }

    fn subscribe(&mut self, controller: ControllerId, trigger: &EventTrigger<'_>, action: &ActionDefinition<'_>) -> Result<Admission, Cause> {
        let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
        trigger.encode(&mut event_trigger).unwrap();
        action.encode(&mut definition).unwrap();
        let action = RequestedAction { id: RicActionId(7), kind: RicActionType::Report, definition: Some(definition), subsequent: None };
        let request = subscription(controller, event_trigger, vec![action]);
        self.function.subscribe(millis(self.ms), controller, &request, &self.views)
    }

    /// Runs until a time, with all reports that are due.
    fn until(&mut self, ms: u64) {
        while let Some(due) = self.function.next_report().filter(|due| *due <= millis(ms)) {
            self.ms = self.ms.max(due.as_nanos() / 1_000_000);
            self.out.at_ms = self.ms;
            self.function.report(due.max(millis(self.ms)), &mut FunctionContext::new(&mut self.views, &mut self.out));
        }
        self.ms = ms;
    }

    /// The messages that were sent, with time and controller.
    fn sent(&mut self) -> Vec<(u64, ControllerId, IndicationHeader, IndicationMessage<'static>)> {
        let sent = std::mem::take(&mut self.out.sent);
        let read = |sent: crate::testing::Sent| {
            assert_eq!(sent.action, 7);
            let message = IndicationMessage::decode_owned(&sent.message).unwrap();
            (sent.at_ms, sent.controller, IndicationHeader::decode(&sent.header).unwrap(), message)
        };
        sent.into_iter().map(read).collect()
    }

    fn control(&mut self, controller: ControllerId, style: i64, message: ControlType<'_>) -> Result<ControlOutcome<'static>, (Cause, Option<ControlOutcome<'static>>)> {
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        ControlHeader::new(RicStyleType(style), RicControlActionId(1)).encode(&mut header).unwrap();
        ControlMessage::from(message).encode(&mut octets).unwrap();
        let read = |octets: Vec<u8>| ControlOutcome::decode_owned(&octets).unwrap();
        let mut context = FunctionContext::new(&mut self.views, &mut self.out);
        let done = self.function.control(millis(self.ms), controller, &control(header, octets), &mut context);
        done.map(|outcome| read(outcome.unwrap())).map_err(|failure| (failure.cause, failure.outcome.map(read)))
    }

    /// Takes the channel of UEs for a controller.
    fn take(&mut self, controller: ControllerId, ues: &[u64]) -> Result<ControlOutcome<'static>, (Cause, Option<ControlOutcome<'static>>)> {
        self.delegate(controller, ues, DRB)
    }

    fn delegate(&mut self, controller: ControllerId, ues: &[u64], channel: LogicalChannelId) -> Result<ControlOutcome<'static>, (Cause, Option<ControlOutcome<'static>>)> {
        let slot = SlotInfo::of(self.ms, 0);
        let list = |channel| vec![LogicalChannelControlItem { logical_channel_id: channel, starting_slot_number: slot }];
        let item = |ue: &u64| LogicalChannelUeIdItem {
            ue_id: id(*ue),
            logical_chan_cont_by_near_rt_ric_to_add_list: list(channel).into(),
            // a list cannot be empty: nobody holds this one
            logical_chan_cont_by_near_rt_ric_to_rel_list: list(LogicalChannelId(32)).into(),
        };
        let message = LogicalChannelHandlingControl { logical_channel_ueid_list: ues.iter().map(item).collect() };
        self.control(controller, STYLE_LOGICAL_CHANNELS, ControlType::LogicalChannelHandlingControl(message))
    }

    /// Decides about slots. Returns the cause, if the control fails, and for each slot the execution of its grants.
    fn decide(&mut self, slots: Vec<DlSlotToBeScheduledItem<'static>>) -> (Option<Cause>, Vec<Vec<Executed>>) {
        let message = DlSchedulingControl { dl_slot_to_be_scheduled_list: slots.into() };
        let (cause, outcome) = match self.control(FIRST, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message)) {
            Ok(outcome) => (None, Some(outcome)),
            Err((cause, outcome)) => (Some(cause), outcome),
        };
        let Some(outcome) = outcome else { return (cause, Vec::new()) };
        let OutcomeType::DlSchedulingParameters(outcome) = &of(&outcome) else { panic!("{outcome:?}") };
        let executed = |grant: &DlGrantOutcomeItem<'_>| match &grant.execution_level {
            ExecutionLevel::FullyExecuted => Executed::Fully,
            ExecutionLevel::NotFullyExecuted(part) => {
                let channel = &part.scheduled_logical_channel_outcome_list[0];
                Executed::Partly(channel.noof_bytes_scheduled, ExecutionCause::of(channel.cause))
            }
        };
        let slots = &outcome.scheduled_slot_outcome_list;
        (cause, slots.iter().map(|slot| slot.dl_grant_outcome_list.iter().map(executed).collect()).collect())
    }

    fn refused(&self) -> Vec<(u64, SlotRefusal)> {
        std::mem::take(&mut self.cell.lock().refused)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Executed {
    Fully,
    Partly(i64, ExecutionCause),
}

fn of<'o>(outcome: &'o ControlOutcome<'static>) -> &'o OutcomeType<'static> {
    let ControlOutcomeFormats::Format1(format) = &outcome.formats;
    &format.control_type
}

fn grant(grant_id: u16, ue: u64, (start, length): (u16, u16), octets: i64) -> DlGrantItem<'static> {
    let value = resource_indication_value(ResourceAllocation { start, length }, BLOCKS).unwrap();
    DlGrantItem {
        grant_id,
        bwp_id: None,
        ue_id: id(ue),
        logical_channel_list: vec![LogicalChannelItem { logical_channel_id: DRB, noof_bytes_tb1: octets, noof_bytes_tb2: None }].into(),
        dl_control_info_type: DlControlInfoType::Dci10(Dci10 {
            use_cs_rnti: None,
            freq_domain_resources: value.into(),
            time_domain_resources: 0,
            vrb_to_prb_mapping: None,
            mcs: 10,
            redundancy_version: 0,
        }),
    }
}

fn slot(number: u64, grants: Vec<DlGrantItem<'static>>) -> DlSlotToBeScheduledItem<'static> {
    let group = PdschSmgItem { precoder_id: 0, smg_priority: None, start_rb: 0, noof_rbs: 50, start_symbol: 0, noof_symbols: 14 };
    let one = PrecoderCoeffItem { precoder_coeff_i: 1, precoder_coeff_q: 0 };
    DlSlotToBeScheduledItem {
        slot_info: SlotInfo::of(number, 0),
        dl_grant_list: grants.into(),
        pdsch_smg_list: vec![group].into(),
        csi_rs_precoding_band_list: Vec::new().into(),
        precoder_list: vec![PrecoderItem { compression_information: None, precoder_coeff_list: vec![one].into() }].into(),
    }
}

#[test]
fn definition_has_the_styles_of_the_specification() {
    let function = Test::new().function.definition();
    assert_eq!((function.id, function.oid.as_str()), (RanFunctionId(6), OID));
    let arena = Arena::new();
    let definition = RanFunctionDefinition::decode(&function.definition, &arena).unwrap();
    assert_eq!(&*definition.ran_function_name.short_name, SHORT_NAME);
    let reports = definition.ran_function_definition_report.unwrap().ric_report_style_list;
    assert_eq!(reports.iter().map(|style| style.ric_indication_message_format_type.0).collect::<Vec<_>>(), [1, 2]);
    let controls = definition.ran_function_definition_control.unwrap().ric_control_style_list;
    assert_eq!(controls.iter().map(|style| style.ric_control_style_type.0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn periodic_reports_have_buffers_feedback_and_slots() {
    let mut test = Test::new();
    let all = [
        LowerLayersMeasType::SlotTimeStamp,
        LowerLayersMeasType::DlHarqStatistics,
        LowerLayersMeasType::DlRlcBufferStatus,
        LowerLayersMeasType::DlPdcpBufferStatus,
        LowerLayersMeasType::DlRlcBufferStatus,
    ];
    test.subscribe(FIRST, &EventTrigger::every(2), &ActionDefinition::measurements(&all)).unwrap();
    test.subscribe(GUEST, &EventTrigger::every(4), &ActionDefinition::measurements(&all)).unwrap();
    test.cell.lock().harq = HarqCounts { acks: 5, nacks: 1, dtxs: 0 };
    test.until(2);
    test.cell.lock().harq.acks = 8;
    test.until(5);
    let sent = test.sent();
    assert_eq!(sent.iter().map(|(ms, who, ..)| (*ms, who.0)).collect::<Vec<_>>(), [(2, 1), (4, 1), (4, 2)]);
    let items = |at: usize| {
        let (.., header, message) = &sent[at];
        assert_eq!(*header, IndicationHeader::new(None));
        let IndicationMessageFormats::Format2(format) = &message.formats else { panic!("{message:?}") };
        format.lower_layers_measurement_list.iter().cloned().collect::<Vec<_>>()
    };
    // each kind once, in the order of the enumeration
    let [rlc, pdcp, harq, stamp] = &items(0)[..] else { panic!("{:?}", items(0)) };
    let LowerLayersMeasurement::DlRlcBufferStatus(status) = &rlc.lower_layers_measurement_type else { panic!("{rlc:?}") };
    let ues = &status.dl_rlc_ue_identifiers_list;
    let first = &ues[0].dl_rlc_ue_bearers_list[0];
    assert_eq!((ues.len(), first.lc_id, first.dl_rlc_buffer_occupancy, first.dl_rlc_hol_time_to_live), (2, DRB, 1500, 40));
    assert_eq!(rlc.slot_time_stamp.slot_info, SlotInfo::of(1, 0), "the last slot that is over");
    let LowerLayersMeasurement::DlPdcpBufferStatus(status) = &pdcp.lower_layers_measurement_type else { panic!("{pdcp:?}") };
    let bearer = &status.dl_pdcp_ue_identifiers_list[0].dl_pdcp_ue_bearers_list[0];
    assert_eq!((bearer.drb_id, bearer.dl_pdcp_buffer_occupancy), (1, 750));
    let acks = |item: &LowerLayersMeasurementItem<'_>| match &item.lower_layers_measurement_type {
        LowerLayersMeasurement::DlHarqStatistics(statistics) => {
            let codeword = &statistics.dl_harq_ue_identifier_list[0].dl_harq_codeword_list[0];
            (codeword.dl_su_ack_count, codeword.dl_su_nack_count)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!((acks(harq), acks(&items(1)[2])), ((5, 1), (3, 0)), "since the last report");
    assert_eq!(stamp.slot_time_stamp.slot_info, SlotInfo::of(2, 0), "the slot that begins");
    // 1,700,000,000 s after 1970, which is when the slot begins
    assert_eq!(stamp.slot_time_stamp.slot_start_time[..4], 0xE8FE_6F80_u32.to_be_bytes());
    let LowerLayersMeasurement::DlRlcBufferStatus(status) = &items(2)[0].lower_layers_measurement_type else { panic!() };
    assert_eq!(status.dl_rlc_ue_identifiers_list.len(), 1, "the guest sees one UE");
}

#[test]
fn empty_cell_has_no_report_but_slots() {
    let mut test = Test::new();
    test.cell.lock().ues.clear();
    test.subscribe(FIRST, &EventTrigger::every(1), &ActionDefinition::measurements(&[LowerLayersMeasType::DlRlcBufferStatus])).unwrap();
    test.until(3);
    assert!(test.sent().is_empty(), "a list of UEs cannot be empty");
    test.subscribe(GUEST, &EventTrigger::every(1), &ActionDefinition::measurements(&[LowerLayersMeasType::SlotTimeStamp])).unwrap();
    test.until(5);
    assert_eq!(test.sent().len(), 2);
}

#[test]
fn arrivals_are_copied_once_for_the_ues_of_their_events() {
    let mut test = Test::new();
    test.cell.lock().arrivals = vec![(1, Arrivals { csi: 3, srs: 1 }), (2, Arrivals { csi: 1, srs: 0 })];
    let individual = |ue| EventTriggerUeInfo {
        ue_info_list: vec![EventTriggerUeInfoItem {
            event_trigger_ue_id: RicEventTriggerUeId(1),
            ue_type: UeType::Individual(IndividualUeInfo { ue_id: id(ue) }),
            logical_or: None,
        }]
        .into(),
    };
    let event = |number, kind, ues, logical_or| EventTriggerFormat1Item {
        ric_event_trigger_condition_id: RicEventTriggerConditionId(number),
        lower_layers_info_type: kind,
        associated_ue_info: ues,
        logical_or,
    };
    let trigger = |items: Vec<_>| EventTrigger {
        formats: EventTriggerFormats::Format1(EventTriggerFormat1 { message_list: items.into(), global_associated_ue_info: None }),
    };
    let csi = LowerLayersInfoType::Csi;
    let by_ue = trigger(vec![event(10, csi, Some(individual(1)), Some(LogicalOr::True)), event(20, csi, None, None)]);
    test.subscribe(FIRST, &by_ue, &ActionDefinition::copies(csi)).unwrap();
    test.until(1);
    let reports = |sent: Vec<(u64, ControllerId, IndicationHeader, IndicationMessage<'static>)>| {
        let read = |(.., header, message): (u64, ControllerId, IndicationHeader, IndicationMessage<'static>)| {
            let IndicationHeaderFormats::Format1(header) = header.formats;
            let IndicationMessageFormats::Format1(format) = &message.formats else { panic!("{message:?}") };
            let LowerLayersInfo::Csi(csi) = &format.lower_layers_info_type else { panic!("{message:?}") };
            let fields = &csi.csi_ue_identifier_list[0].csi_report_list[0].csi_fields_csi_report_part1;
            (header.ric_event_trigger_condition_id.unwrap().0, fields.value().unwrap(), fields.len())
        };
        sent.into_iter().map(read).collect::<Vec<_>>()
    };
    assert_eq!(reports(test.sent()), [(10, 1, 4), (20, 2, 4)], "what had arrived before is reported once");
    test.until(4);
    assert!(test.sent().is_empty());
    test.cell.lock().arrivals[1].1.csi = 2;
    test.until(5);
    assert_eq!(reports(test.sent()), [(20, 2, 4)]);
    // sounding reference signals have no UE but that of the event
    let srs = LowerLayersInfoType::Srs;
    test.function.unsubscribe(RequestKey { controller: FIRST, id: request_id(FIRST) });
    assert_eq!(test.function.next_report(), None);
    test.subscribe(FIRST, &trigger(vec![event(30, srs, Some(individual(1)), None)]), &ActionDefinition::copies(srs)).unwrap();
    test.until(6);
    let sent = test.sent();
    let IndicationMessageFormats::Format1(format) = &sent[0].3.formats else { panic!("{sent:?}") };
    let LowerLayersInfo::Srs(received) = &format.lower_layers_info_type else { panic!("{sent:?}") };
    assert_eq!(&*received.srs_receive_antenna_list[0].srs_symbol_list[0].raw_srs.to_cow(), [1; 4]);
}

#[test]
fn unsupported_subscriptions_are_refused() {
    let mut test = Test::new();
    let (csi, srs) = (LowerLayersInfoType::Csi, LowerLayersInfoType::Srs);
    let slots = ActionDefinition::measurements(&[LowerLayersMeasType::SlotTimeStamp]);
    assert_eq!(test.subscribe(FIRST, &EventTrigger::arrival(csi), &ActionDefinition::copies(srs)), Err(ACTION_NOT_SUPPORTED));
    assert_eq!(test.subscribe(FIRST, &EventTrigger::arrival(csi), &slots), Err(ACTION_NOT_SUPPORTED));
    assert_eq!(test.subscribe(FIRST, &EventTrigger::every(1), &ActionDefinition::copies(csi)), Err(ACTION_NOT_SUPPORTED));
    let wrong_style = ActionDefinition { ric_style_type: RicStyleType(1), ..slots.clone() };
    assert_eq!(test.subscribe(FIRST, &EventTrigger::every(1), &wrong_style), Err(ACTION_NOT_SUPPORTED));
    // two events at once
    let mut both = EventTrigger::arrival(csi);
    if let EventTriggerFormats::Format1(format) = &mut both.formats {
        let item = format.message_list[0].clone();
        format.message_list = vec![EventTriggerFormat1Item { logical_or: Some(LogicalOr::False), ..item.clone() }, item].into();
    }
    assert_eq!(test.subscribe(FIRST, &both, &ActionDefinition::copies(csi)), Err(TRIGGER_NOT_SUPPORTED));
    let garbage = subscription(FIRST, vec![0xFF; 3], Vec::new());
    assert_eq!(test.function.subscribe(millis(0), FIRST, &garbage, &test.views), Err(TRANSFER_SYNTAX_ERROR));
    assert_eq!(test.function.next_report(), None);
}

#[test]
fn one_controller_schedules_a_cell_at_a_time() {
    let mut test = Test::new();
    assert_eq!(test.decide(vec![slot(1, vec![grant(1, 1, (0, 50), 100)])]), (Some(FAILED), Vec::new()), "it holds no channel");
    test.take(FIRST, &[1]).unwrap();
    assert_eq!(test.cell.lock().delegated.len(), 1);
    assert_eq!(test.take(GUEST, &[2]).unwrap_err().0, FAILED);
    test.function.controller_removed(FIRST);
    assert!(test.cell.lock().delegated.is_empty());
    test.take(GUEST, &[2]).unwrap();
    assert_eq!(test.take(GUEST, &[1]).unwrap_err().0, FAILED, "a UE that it does not see");
    assert_eq!(test.take(FIRST, &[1]).unwrap_err().0, FAILED);
    assert_eq!(test.cell.lock().delegated.iter().map(|held| held.ue.0).collect::<Vec<_>>(), [2]);
    assert_eq!(test.delegate(GUEST, &[2], LogicalChannelId(5)).unwrap_err().0, FAILED, "a channel that it does not have");
}

#[test]
fn silent_controller_loses_its_channels() {
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    test.until(900);
    let (cause, executed) = test.decide(vec![slot(900, vec![grant(1, 1, (0, 50), 100)])]);
    assert_eq!((cause, executed), (None, vec![vec![Executed::Fully]]));
    test.until(1899);
    assert_eq!(test.cell.lock().delegated.len(), 2, "a decision is a sign");
    test.until(1900);
    assert!(test.cell.lock().delegated.is_empty());
    test.take(GUEST, &[2]).unwrap();
}

#[test]
fn channels_of_departed_ues_return() {
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    test.cell.lock().ues = vec![2];
    test.subscribe(FIRST, &EventTrigger::every(1), &ActionDefinition::measurements(&[LowerLayersMeasType::SlotTimeStamp])).unwrap();
    test.until(1);
    assert_eq!(test.cell.lock().delegated.iter().map(|held| held.ue.0).collect::<Vec<_>>(), [2]);
    assert_eq!(test.take(FIRST, &[1]).unwrap_err().0, FAILED);
}

#[test]
fn decisions_are_executed_as_far_as_they_can_be() {
    let mut test = Test::new();
    test.take(FIRST, &[1]).unwrap();
    let decided = test.decide(vec![
        slot(1, vec![grant(1, 1, (0, 30), 800)]),
        slot(2, vec![grant(1, 1, (0, 30), 1500), grant(2, 77, (30, 10), 100), grant(3, 2, (40, 10), 100)]),
    ]);
    let partly = |octets, cause| Executed::Partly(octets, cause);
    let second = vec![
        partly(1000, ExecutionCause::BufferEmpty),
        partly(0, ExecutionCause::UeNotAvailable),
        // its channel is not delegated
        partly(0, ExecutionCause::Other),
    ];
    assert_eq!(decided, (None, vec![vec![Executed::Fully], second]));
    let decisions = std::mem::take(&mut test.cell.lock().decisions);
    assert_eq!(decisions.iter().map(|decision| (decision.slot, decision.grants.len())).collect::<Vec<_>>(), [(1, 1), (2, 1)]);
    assert_eq!(decisions[0].grants[0].allocation, ResourceAllocation { start: 0, length: 30 });
    assert_eq!((decisions[0].grants[0].mcs, test.refused()), (10, Vec::new()));
    // nothing of a slot can be executed: the base station schedules it, and the control fails
    let absent = test.decide(vec![slot(3, vec![grant(1, 77, (0, 50), 100)])]);
    assert_eq!(absent, (Some(FAILED), vec![vec![partly(0, ExecutionCause::Other)]]));
    assert_eq!(test.refused(), [(3, SlotRefusal::NothingLeft)]);
}

#[test]
fn impossible_decisions_are_refused_slot_by_slot() {
    use SlotRefusal::*;
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    test.until(20);
    let good = || vec![grant(1, 1, (0, 25), 100), grant(2, 2, (25, 25), 100)];
    let with = |change: &dyn Fn(&mut Vec<DlGrantItem<'static>>)| {
        let mut grants = good();
        change(&mut grants);
        grants
    };
    let dci = |change: &dyn Fn(&mut Dci10)| {
        with(&|grants| {
            if let DlControlInfoType::Dci10(dci) = &mut grants[1].dl_control_info_type {
                change(dci);
            }
        })
    };
    let octets = |octets, second| {
        let item = LogicalChannelItem { logical_channel_id: DRB, noof_bytes_tb1: octets, noof_bytes_tb2: second };
        with(&|grants| grants[0].logical_channel_list = vec![item].into())
    };
    let twice = LogicalChannelItem { logical_channel_id: DRB, noof_bytes_tb1: 1, noof_bytes_tb2: None };
    let far = 20 + 129;
    let spoilt = [
        (slot(19, good()), Past),
        (slot(0, good()), Past),
        (slot(far, good()), TooFarAhead),
        (slot(29, good()), NoDownlink),
        (slot(22, with(&|grants| grants[1].grant_id = 1)), RepeatedGrant),
        (slot(22, with(&|grants| grants[1].ue_id = id(1))), RepeatedUe),
        (slot(22, vec![grant(1, 1, (0, 26), 100), grant(2, 2, (25, 25), 100)]), Overlap),
        (slot(22, dci(&|dci| dci.freq_domain_resources = 50 * 51 / 2)), BeyondCell),
        (slot(22, dci(&|dci| dci.freq_domain_resources = i64::MAX)), BeyondCell),
        (slot(22, dci(&|dci| dci.freq_domain_resources = -1)), BeyondCell),
        (slot(22, dci(&|dci| dci.mcs = 29)), UnknownMcs),
        (slot(22, dci(&|dci| dci.mcs = 300)), UnknownMcs),
        (slot(22, octets(-1, None)), InvalidOctets),
        (slot(22, octets(i64::MAX, None)), InvalidOctets),
        (slot(22, octets(1, Some(-1))), InvalidOctets),
        (slot(22, with(&|grants| grants[0].logical_channel_list = vec![twice; 2].into())), InvalidOctets),
    ];
    for (item, refusal) in spoilt {
        let number = item.slot_info.nearest(20);
        let grants = item.dl_grant_list.len();
        let (cause, executed) = test.decide(vec![item, slot(21, good())]);
        // the other slot of the control is not affected, but by the decision before it
        let of_refused = vec![Executed::Partly(0, refusal.cause()); grants];
        assert_eq!(executed[0], of_refused, "{refusal}");
        let refused = test.refused();
        assert_eq!(refused[0], (number, refusal), "{refused:?}");
        let is_first = refusal == Past && number == 19;
        assert_eq!((cause.is_none(), refused.len()), (is_first, if is_first { 1 } else { 2 }), "{refused:?}");
        assert!(is_first || refused[1] == (21, AlreadyDecided), "{refused:?}");
    }
    assert_eq!(test.cell.lock().decisions.len(), 1);
    // another subcarrier spacing, and precoders that do not exist
    let mut wrong = slot(22, good());
    wrong.slot_info = SlotInfo::of(44, 1);
    let mut precoder = slot(22, good());
    precoder.pdsch_smg_list = vec![PdschSmgItem { precoder_id: 1, ..precoder.pdsch_smg_list[0] }].into();
    let mut beyond = slot(22, good());
    beyond.pdsch_smg_list = vec![PdschSmgItem { start_rb: i64::MAX, ..beyond.pdsch_smg_list[0] }].into();
    for (item, refusal) in [(wrong, WrongSubcarrierSpacing), (precoder, InvalidPrecoder), (beyond, InvalidPrecoder)] {
        assert_eq!(test.decide(vec![item]).0, Some(FAILED));
        assert_eq!(test.refused()[0].1, refusal);
    }
}

#[test]
fn grants_that_the_cell_does_not_support_are_left_out() {
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    let other = |info| DlGrantItem { dl_control_info_type: info, ..grant(2, 2, (25, 25), 100) };
    let dci11 = |freq_domain_resources| {
        DlControlInfoType::Dci11(Dci11 {
            use_cs_rnti: None,
            carrier_indicator: None,
            freq_domain_resources,
            time_domain_resources: 0,
            vrb_to_prb_mapping: None,
            prb_bundling_size_indicator: 0,
            mcs_tb1: 5,
            redundancy_version_tb1: 0,
            mcs_tb2: None,
            redundancy_version_tb2: None,
            antenna_ports: Bits::new(0, 4),
            transmission_config_indication: None,
            srs_request: None,
            dmrs_sequence_init: 0,
        })
    };
    let value = resource_indication_value(ResourceAllocation { start: 25, length: 25 }, BLOCKS).unwrap();
    // a bitmap of groups is an allocation of type 0
    for info in [DlControlInfoType::SemiPersistence, dci11(BitString::new(0x1FF, 9))] {
        test.until(test.ms + 1);
        let number = test.ms;
        let (cause, executed) = test.decide(vec![slot(number, vec![grant(1, 1, (0, 25), 100), other(info)])]);
        assert_eq!((cause, executed), (None, vec![vec![Executed::Fully, Executed::Partly(0, ExecutionCause::Other)]]));
    }
    test.until(test.ms + 1);
    let (_, executed) = test.decide(vec![slot(test.ms, vec![other(dci11(BitString::new(value.into(), 11)))])]);
    assert_eq!(executed, [[Executed::Fully]], "the same allocation in DCI format 1_1");
    // a second transport block
    test.until(test.ms + 1);
    let mut second = grant(1, 1, (0, 50), 100);
    second.logical_channel_list = vec![LogicalChannelItem { logical_channel_id: DRB, noof_bytes_tb1: 100, noof_bytes_tb2: Some(50) }].into();
    assert_eq!(test.decide(vec![slot(test.ms, vec![second])]).1, [[Executed::Partly(100, ExecutionCause::Other)]]);
}

#[test]
fn outcome_has_arrival_and_margin() {
    let mut test = Test::new();
    test.take(FIRST, &[1]).unwrap();
    test.until(10);
    let message = |number| DlSchedulingControl { dl_slot_to_be_scheduled_list: vec![slot(number, vec![grant(1, 1, (0, 50), 9)])].into() };
    let outcome = test.control(FIRST, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message(14))).unwrap();
    let OutcomeType::DlSchedulingParameters(outcome) = of(&outcome) else { panic!() };
    assert_eq!(outcome.received_timestamp[..4], 0xE8FE_6F80_u32.to_be_bytes());
    assert_eq!(outcome.processing_time_margin, 131, "4 ms in units of 1/32768 s");
    let (cause, outcome) = test.control(FIRST, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message(8))).unwrap_err();
    let Some(ControlOutcome { formats: ControlOutcomeFormats::Format1(format) }) = outcome else { panic!() };
    let OutcomeType::DlSchedulingParameters(outcome) = format.control_type else { panic!() };
    assert_eq!((cause, outcome.processing_time_margin), (FAILED, -65));
}

#[test]
fn bands_of_reference_signals_are_not_executed() {
    let mut test = Test::new();
    test.take(FIRST, &[1]).unwrap();
    let band = |ue| CsiRsPrecodingBandItem { precoder_id: 0, ueid: id(ue), nzp_csi_rs_resource_id: 0, start_rb: 0, noof_rbs: 50 };
    let mut item = slot(1, vec![grant(1, 1, (0, 50), 9)]);
    item.csi_rs_precoding_band_list = vec![band(1), band(77)].into();
    let message = DlSchedulingControl { dl_slot_to_be_scheduled_list: vec![item].into() };
    let outcome = test.control(FIRST, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message)).unwrap();
    let OutcomeType::DlSchedulingParameters(outcome) = of(&outcome) else { panic!() };
    let bands = &outcome.scheduled_slot_outcome_list[0].csi_rs_precoding_bands_not_executed_list;
    assert_eq!(bands.iter().map(|band| (band.csi_rs_precoding_band_id, band.cause)).collect::<Vec<_>>(), [(0, 0), (1, 2)]);
}

#[test]
fn control_of_another_style_or_garbage_is_refused() {
    let mut test = Test::new();
    let decision = ControlType::DlSchedulingControl(DlSchedulingControl {
        dl_slot_to_be_scheduled_list: vec![slot(1, vec![grant(1, 1, (0, 50), 9)])].into(),
    });
    assert_eq!(test.control(FIRST, STYLE_LOGICAL_CHANNELS, decision.clone()).unwrap_err().0, CONTROL_MESSAGE_INVALID);
    assert_eq!(test.control(FIRST, 3, decision).unwrap_err().0, CONTROL_MESSAGE_INVALID);
    let mut context = FunctionContext::new(&mut test.views, &mut test.out);
    let failure = test.function.control(millis(0), FIRST, &control(vec![0xFF; 2], vec![]), &mut context).unwrap_err();
    assert_eq!(failure.cause, TRANSFER_SYNTAX_ERROR);
}
