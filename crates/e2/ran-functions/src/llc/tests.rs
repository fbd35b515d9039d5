//! The function in virtual time, with a cell of 50 resource blocks and slots of 1 ms whose state the test sets.

mod controls;
mod reports;

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
        let source = TestCell {
            ues: vec![1, 2],
            buffers: vec![(1, buffer(1500)), (2, buffer(0))],
            room: 1000,
            ..TestCell::default()
        };
        let cell = ExclusiveSource::new(source);
        let function = LlcFunction::new(cell.clone(), LlcConfig::default())
            .with_wall_clock(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let mut views = Views::with_first(FIRST);
        views.expose(GUEST, Ue(2)).unwrap();
        Test { cell, function, views, out: Recorder::default(), ms: 0 }
    }

    fn subscribe(
        &mut self,
        controller: ControllerId,
        trigger: &EventTrigger<'_>,
        action: &ActionDefinition<'_>,
    ) -> Result<Admission, Cause> {
        let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
        trigger.encode(&mut event_trigger).unwrap();
        action.encode(&mut definition).unwrap();
        let action = RequestedAction {
            id: RicActionId(7),
            kind: RicActionType::Report,
            definition: Some(definition),
            subsequent: None,
        };
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

    fn control(
        &mut self,
        controller: ControllerId,
        style: i64,
        message: ControlType<'_>,
    ) -> Result<ControlOutcome<'static>, (Cause, Option<ControlOutcome<'static>>)> {
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        ControlHeader::new(RicStyleType(style), RicControlActionId(1)).encode(&mut header).unwrap();
        ControlMessage::from(message).encode(&mut octets).unwrap();
        let read = |octets: Vec<u8>| ControlOutcome::decode_owned(&octets).unwrap();
        let mut context = FunctionContext::new(&mut self.views, &mut self.out);
        let done = self.function.control(millis(self.ms), controller, &control(header, octets), &mut context);
        done.map(|outcome| read(outcome.unwrap())).map_err(|failure| (failure.cause, failure.outcome.map(read)))
    }

    /// Takes the channel of UEs for a controller.
    fn take(
        &mut self,
        controller: ControllerId,
        ues: &[u64],
    ) -> Result<ControlOutcome<'static>, (Cause, Option<ControlOutcome<'static>>)> {
        self.delegate(controller, ues, DRB)
    }

    fn delegate(
        &mut self,
        controller: ControllerId,
        ues: &[u64],
        channel: LogicalChannelId,
    ) -> Result<ControlOutcome<'static>, (Cause, Option<ControlOutcome<'static>>)> {
        let slot = SlotInfo::of(self.ms, 0);
        let list =
            |channel| vec![LogicalChannelControlItem { logical_channel_id: channel, starting_slot_number: slot }];
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
        logical_channel_list: vec![LogicalChannelItem {
            logical_channel_id: DRB,
            noof_bytes_tb1: octets,
            noof_bytes_tb2: None,
        }]
        .into(),
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
    let group = PdschSmgItem {
        precoder_id: 0,
        smg_priority: None,
        start_rb: 0,
        noof_rbs: 50,
        start_symbol: 0,
        noof_symbols: 14,
    };
    let one = PrecoderCoeffItem { precoder_coeff_i: 1, precoder_coeff_q: 0 };
    DlSlotToBeScheduledItem {
        slot_info: SlotInfo::of(number, 0),
        dl_grant_list: grants.into(),
        pdsch_smg_list: vec![group].into(),
        csi_rs_precoding_band_list: Vec::new().into(),
        precoder_list: vec![PrecoderItem { compression_information: None, precoder_coeff_list: vec![one].into() }]
            .into(),
    }
}
