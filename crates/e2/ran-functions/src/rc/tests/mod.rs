//! The function in virtual time, on a base station of two UEs.

mod controls;
mod procedures;
mod reports;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use e2sm::common::{
    Cgi, EutraArfcn, EutraCgi, EutraPci, EutraTac, GnbCuUeF1apId, NrArfcn, NrCgi, NrPci, PlmnIdentity,
    ServingCellArfcn, ServingCellPci, UeId, UeIdGnbDu,
};
use e2sm::rc::dictionary::HANDOVER_PREPARATION;
use e2sm::rc::{
    ActionId, Control, ControlAction, ControlOutcome, ControlOutcomeFormat3, ControlOutcomeFormats, Flag, Handover,
    NeighborCellEutra, NeighborCellItem, NeighborRelationInfo, Plan, RanParameterElementItem, RanParameterId,
    RanParameterItem, RanParameterValue, Revision, RrcState,
};
use ferric::agent::{FunctionTransport, Ue};
use ferric::e2::{self, AgentMisuse};
use ferric::e2ap::{
    CauseMisc, GlobalRicId, RicActionId, RicActionType, RicRequestId, RicSubsequentAction, RicSubsequentActionType,
    RicTimeToWait,
};
use per::{Bits, List};

use super::*;
use crate::testing::ExclusiveSource;

const FIRST: ControllerId = ControllerId(1);
const GUEST: ControllerId = ControllerId(2);
const NETWORK: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
/// The parameter that UEs can be tested by.
const RSRP: RanParameterId = RanParameterId(1);
/// A parameter of the UEs' context.
const SLICE: RanParameterId = RanParameterId(2);
const RELEASE: ActionId = ActionId::new(4, 4);
const DELETE_REPORTING: ActionId = ActionId::new(9, 3);

fn cell(number: u64) -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: NETWORK, nr_cell_identity: Bits::new(number, 36) })
}

fn name(ue: u64) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue as u32), ran_ueid: None, cell_rnti: None })
}

/// A base station that executes and records all actions.
#[derive(Default)]
struct Station {
    done: Vec<(Origin, Option<Ue>, ControlAction)>,
    resumed: Vec<(ProcedureId, String)>,
    events: VecDeque<Event>,
    is_full: bool,
    /// How much it does before it is full.
    most: Option<usize>,
    /// What all UEs are observed worse by, in dB.
    fade_db: i64,
    slice: i64,
}

impl RcSource for Station {
    fn cells(&self) -> Vec<Cgi> {
        vec![cell(1)]
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend([Ue(1), Ue(2)]);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        name(ue.0)
    }

    fn control_actions(&self) -> &[ActionId] {
        &[ControlAction::SLICE_PRB_QUOTA, ControlAction::HANDOVER, ControlAction::DRX, RELEASE, DELETE_REPORTING]
    }

    fn control(
        &mut self,
        _now: Time,
        origin: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal> {
        if self.is_full || self.done.len() >= self.most.unwrap_or(usize::MAX) {
            return Err(Refusal::new(Cause::Misc(CauseMisc::ControlProcessingOverload), "60 % of 40 % are wanted"));
        }
        self.done.push((origin, ue, action.clone()));
        let value = RanParameterValue::ValueInt(ue.map_or(0, |ue| ue.0 as i64));
        let parameter = RanParameterElementItem { ran_parameter_id: RanParameterId(5), value };
        Ok(if [RELEASE, DELETE_REPORTING].contains(&action.id()) { vec![parameter] } else { Vec::new() })
    }

    fn policy_actions(&self) -> &[ActionId] {
        &[ControlAction::HANDOVER]
    }

    fn breakpoints(&self) -> &[SupportedBreakpoint] {
        const INSERT: SupportedInsert = SupportedInsert {
            style: 3,
            indication: 1,
            name: Cow::Borrowed("Handover Control Request"),
            action: ControlAction::HANDOVER,
        };
        &[SupportedBreakpoint {
            breakpoint: HANDOVER_PREPARATION,
            call_process: Cow::Borrowed("Mobility Management"),
            name: Cow::Borrowed("Handover Preparation"),
            insert: INSERT,
        }]
    }

    fn resume(&mut self, _now: Time, procedure: ProcedureId, verdict: Verdict<'_>) {
        let verdict = match verdict {
            Verdict::Continue => "goes on".to_owned(),
            Verdict::Replace(ControlAction::Handover(handover)) => format!("to {:?}", handover.target == cell(9)),
            Verdict::Replace(other) => panic!("{other:?}"),
            Verdict::Cancel => "ends".to_owned(),
        };
        self.resumed.push((procedure, verdict));
    }

    fn event_kinds(&self) -> &[EventKind] {
        &[EventKind::NiMessages, EventKind::RrcMessages, EventKind::NodeChanges, EventKind::RrcStates]
    }

    fn next_event(&mut self, _now: Time) -> Option<Event> {
        self.events.pop_front()
    }

    fn next_event_time(&self) -> Option<Time> {
        (!self.events.is_empty()).then(Time::default)
    }

    fn ue_parameters(&self) -> &[SupportedParameter] {
        &[
            SupportedParameter { id: RSRP, name: Cow::Borrowed("RSRP"), is_layer_2: true },
            SupportedParameter { id: SLICE, name: Cow::Borrowed("Slice"), is_layer_2: false },
        ]
    }

    fn ue_parameter(&self, ue: Ue, id: RanParameterId) -> Option<RanParameterValue<'static>> {
        match id {
            // -101 and -102 dBm
            RSRP => Some(RanParameterValue::ValueInt(-100 - ue.0 as i64 - self.fade_db)),
            SLICE => Some(RanParameterValue::ValueInt(self.slice)),
            _ => None,
        }
    }

    fn rrc_state(&self, _ue: Ue) -> Option<RrcState> {
        Some(RrcState::RrcConnected)
    }

    fn neighbor_relations(&self, _cell: &Cgi) -> Option<NeighborRelationInfo<'static>> {
        Some(neighbours())
    }
}

fn neighbours() -> NeighborRelationInfo<'static> {
    let neighbour = NeighborCellEutra {
        eutra_cgi: EutraCgi { plmn_identity: NETWORK, eutra_cell_identity: Bits::new(1, 28) },
        eutra_pci: EutraPci(3),
        eutra_arfcn: EutraArfcn(1850),
        eutra_tac: EutraTac([0, 1]),
        x2_xn_established: Flag::True,
        ho_validated: Flag::False,
        version: 1,
    };
    NeighborRelationInfo {
        serving_cell_pci: ServingCellPci::Nr(NrPci(1)),
        serving_cell_arfcn: ServingCellArfcn::Nr(NrArfcn { nr_arfcn: 640_000 }),
        neighbor_cell_list: List::from(vec![NeighborCellItem::Eutra(neighbour)]),
    }
}

/// What was sent: an insert has a call process id.
#[derive(Debug)]
struct Sent {
    key: RequestKey,
    call_process_id: Option<Vec<u8>>,
    header: Vec<u8>,
    message: Vec<u8>,
}

#[derive(Default)]
struct Recorder {
    sent: Vec<Sent>,
    is_gone: bool,
}

impl FunctionTransport for Recorder {
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        assert_eq!(action, RicActionId(0));
        if self.is_gone {
            return Err(AgentMisuse::UnknownRequest);
        }
        self.sent.push(Sent {
            key,
            call_process_id: call_process_id.map(<[u8]>::to_vec),
            header: header.to_vec(),
            message: message.to_vec(),
        });
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

struct Bench {
    source: ExclusiveSource<Station>,
    function: RcFunction<ExclusiveSource<Station>>,
    revision: Revision,
    wire: Wire,
    views: Views,
    recorder: Recorder,
    now: Time,
    instance: u16,
}

impl Bench {
    fn new(revision: Revision) -> Self {
        Bench::in_wire(revision, Wire::Per)
    }

    fn in_wire(revision: Revision, wire: Wire) -> Self {
        Bench::of(RcConfig { revision, wire, max_actions: 4, max_pending: 2, ..RcConfig::default() })
    }

    fn with_room_for(max_actions: usize) -> Self {
        Bench::of(RcConfig { max_actions, ..RcConfig::default() })
    }

    fn of(config: RcConfig) -> Self {
        let RcConfig { revision, wire, .. } = config;
        let source = ExclusiveSource::new(Station::default());
        let mut views = Views::with_first(FIRST);
        views.expose(GUEST, Ue(2)).unwrap();
        Bench {
            function: RcFunction::new(source.clone(), config),
            source,
            revision,
            wire,
            views,
            recorder: Recorder::default(),
            now: Time::from_nanos(1_000_000_000),
            instance: 0,
        }
    }

    fn control(&mut self, of: ControllerId, control: &Control) -> Result<Option<Vec<u8>>, ControlFailure> {
        let (header, message) = control.encode_in(self.revision, self.wire).unwrap();
        self.control_octets(of, header, message, None)
    }

    fn control_octets(
        &mut self,
        of: ControllerId,
        header: Vec<u8>,
        message: Vec<u8>,
        call_process_id: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let request = ControlRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(3),
            call_process_id,
            header,
            message,
        };
        let mut reports = FunctionContext::new(&mut self.views, &mut self.recorder);
        self.function.control(self.now, of, &request, &mut reports)
    }

    fn subscribe(&mut self, of: ControllerId, kind: RicActionType, plan: &Plan) -> Result<RequestKey, Cause> {
        self.subscribe_then(of, kind, plan, None)
    }

    fn subscribe_then(
        &mut self,
        of: ControllerId,
        kind: RicActionType,
        plan: &Plan,
        subsequent: Option<RicSubsequentAction>,
    ) -> Result<RequestKey, Cause> {
        self.instance += 1;
        let (event_trigger, definition) = plan.encode_in(self.revision, self.wire).unwrap();
        let request = SubscriptionRequest {
            request_id: RicRequestId { requestor: 1, instance: self.instance },
            ran_function_id: RanFunctionId(3),
            event_trigger,
            actions: vec![e2::Action { id: RicActionId(0), kind, definition: Some(definition), subsequent }],
            times: Default::default(),
        };
        self.function.subscribe(self.now, of, &request, &self.views)?;
        Ok(RequestKey { controller: of, id: request.request_id })
    }

    fn query(&mut self, of: ControllerId, header: &[u8], definition: &[u8]) -> Result<Vec<u8>, Cause> {
        let request = QueryRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(3),
            header: header.to_vec(),
            definition: definition.to_vec(),
        };
        self.function.query(self.now, of, &request, &self.views)
    }

    /// So long until it is looked again.
    fn look(&mut self) {
        self.now = self.now + Duration::from_millis(100);
        self.report();
    }

    fn emit(&mut self, event: Event) {
        self.source.lock().events.push_back(event);
        self.report();
    }

    fn report(&mut self) {
        assert!(self.function.next_report().is_some_and(|at| at <= self.now), "a report must be due");
        let mut reports = FunctionContext::new(&mut self.views, &mut self.recorder);
        self.function.report(self.now, &mut reports);
    }

    fn sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.recorder.sent)
    }

    fn resumed(&mut self) -> Vec<(ProcedureId, String)> {
        std::mem::take(&mut self.source.lock().resumed)
    }

    fn done(&mut self) -> Vec<(Origin, Option<Ue>, ControlAction)> {
        std::mem::take(&mut self.source.lock().done)
    }
}

/// A handover of a UE to cell 2 waits.
fn handover(procedure: u64, ue: u64) -> Event {
    Event::Breakpoint {
        procedure: ProcedureId(procedure),
        breakpoint: HANDOVER_PREPARATION,
        ue: Ue(ue),
        wants: ControlAction::Handover(Handover::to(cell(2))),
    }
}

/// The same, of an outcome that could hold structures.
fn told_with_structures(format: &ControlOutcomeFormat3<'_>) -> Vec<(u32, String)> {
    let item = |item: &RanParameterItem<'_>| (item.ran_parameter_id.0, format!("{:?}", item.value_type));
    format.ran_p_list.iter().map(item).collect()
}

/// The parameters and words of an outcome.
fn outcome_parameters(outcome: Option<&Vec<u8>>, revision: Revision) -> Vec<(u32, String)> {
    let outcome = ControlOutcome::decode_owned(outcome.unwrap(), revision).unwrap();
    let items: Vec<_> = match outcome.formats {
        ControlOutcomeFormats::Format1(format) => format.ran_p_list.to_vec(),
        ControlOutcomeFormats::Format2(format) => {
            let styles = format.control_style_list.iter().flat_map(|style| style.control_outcome_list.iter());
            styles.flat_map(|action| action.ran_p_list.to_vec()).collect()
        }
        ControlOutcomeFormats::Format3(format) => return told_with_structures(&format),
    };
    let words = |value: &RanParameterValue<'_>| match value {
        RanParameterValue::ValuePrintableString(text) => text.to_string(),
        other => format!("{other:?}"),
    };
    items.iter().map(|item| (item.ran_parameter_id.0, words(&item.value))).collect()
}
