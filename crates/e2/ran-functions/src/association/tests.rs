use std::collections::BTreeSet;

use e2sm::common::{GnbCuUeF1apId, RanUeId, UeIdGnbDu};
use ferric::agent::FunctionTransport;
use ferric::e2::{Action, AgentMisuse, SubscriptionTimes};
use ferric::e2ap::{self, CauseProtocol, RicRequestId};

use super::*;
use crate::testing::ExclusiveSource;

const FIRST: ControllerId = ControllerId(0);
const GUEST: ControllerId = ControllerId(1);

/// UEs 1 to 9 by their names on F1.
struct Du;

fn ue_name(number: u32) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number), ran_ueid: None, cell_rnti: None })
}

impl UeDirectory for Du {
    fn find(&self, name: &UeId<'_>) -> Option<Ue> {
        let UeId::GnbDu(name) = name else { return None };
        Some(Ue(name.gnb_cu_ue_f1ap_id.0.into())).filter(|ue| (1..=9).contains(&ue.0))
    }

    fn ue_id(&self, ue: Ue) -> Option<UeId<'static>> {
        Some(ue_name(ue.0 as u32))
    }
}

/// Two controllers, the RICs 10 and 11; RIC 12 is added and has not set up.
#[derive(Default)]
struct Rics {
    sent: Vec<(ControllerId, IndicationMessage<'static>)>,
}

fn ric(number: u32) -> GlobalRicId {
    GlobalRicId::new(e2ap::PlmnIdentity::from_codes(1, 1, 2), number)
}

impl FunctionTransport for Rics {
    fn send(
        &mut self,
        key: RequestKey,
        _action: RicActionId,
        _call_process_id: Option<&[u8]>,
        _header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        self.sent.push((key.controller, IndicationMessage::decode(message).unwrap()));
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        vec![(FIRST, Some(ric(10))), (GUEST, Some(ric(11))), (ControllerId(2), None)]
    }
}

struct Scene {
    function: AssociationFunction<ExclusiveSource<Du>>,
    views: Views,
    rics: Rics,
}

impl Scene {
    fn new() -> Scene {
        let function = AssociationFunction::new(ExclusiveSource::new(Du));
        Scene { function, views: Views::with_first(FIRST), rics: Rics::default() }
    }

    fn control(&mut self, from: ControllerId, command: Command, ric: u32, ues: &[u32]) -> ControlOutcome<'static> {
        let controller = self::ric(ric);
        let ues: Vec<_> = ues.iter().copied().map(ue_name).collect();
        let message = ControlMessage { controller, ues: ues.into() }.encode().unwrap();
        let header = ControlHeader { command }.encode().unwrap();
        let result = self.send(from, header, message);
        let (outcome, refused) = match result {
            Ok(outcome) => (outcome, false),
            Err(failure) => (failure.outcome, true),
        };
        let outcome = ControlOutcome::decode(&outcome.unwrap()).unwrap();
        assert_eq!(outcome.refusal.is_some(), refused);
        outcome
    }

    fn send(
        &mut self,
        from: ControllerId,
        header: Vec<u8>,
        message: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let request = ControlRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(FUNCTION_ID),
            call_process_id: None,
            header,
            message,
        };
        let mut reports = FunctionContext::new(&mut self.views, &mut self.rics);
        self.function.control(Time::from_nanos(0), from, &request, &mut reports)
    }

    fn subscribe(&mut self, from: ControllerId, period_ms: u16) -> Result<Admission, Cause> {
        let action = Action { id: RicActionId(3), kind: RicActionType::Report, definition: None, subsequent: None };
        let request = SubscriptionRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(FUNCTION_ID),
            event_trigger: EventTrigger { period_ms }.encode().unwrap(),
            actions: vec![action],
            times: SubscriptionTimes::default(),
        };
        self.function.subscribe(Time::from_nanos(0), from, &request, &self.views)
    }

    fn report(&mut self, at_ms: u64) -> usize {
        let before = self.rics.sent.len();
        let now = Time::from_nanos(at_ms * 1_000_000);
        if self.function.next_report().is_some_and(|due| due <= now) {
            self.function.report(now, &mut FunctionContext::new(&mut self.views, &mut self.rics));
        }
        self.rics.sent.len() - before
    }

    fn seen(&self) -> BTreeSet<u64> {
        (1..=9).filter(|ue| self.views.sees(GUEST, Ue(*ue))).collect()
    }
}

#[test]
fn guest_sees_exposed_ues() {
    let mut scene = Scene::new();
    let outcome = scene.control(FIRST, Command::Expose, 11, &[1, 2, 70]);
    assert_eq!((outcome.refusal, outcome.changed), (None, 2));
    assert_eq!(outcome.unknown.iter().cloned().collect::<Vec<_>>(), [ue_name(70)], "nothing is kept of it");
    assert_eq!(scene.seen(), BTreeSet::from([1, 2]));
    assert_eq!(scene.control(FIRST, Command::Expose, 11, &[2, 3]).changed, 1, "one was exposed already");
    assert_eq!(scene.control(FIRST, Command::Hide, 11, &[1, 2, 4]).changed, 2);
    assert_eq!(scene.seen(), BTreeSet::from([3]));
}

#[test]
fn refused_control_changes_nothing() {
    let mut scene = Scene::new();
    let refusal = |scene: &mut Scene, from, ric, ues: &[u32]| scene.control(from, Command::Expose, ric, ues).refusal;
    assert_eq!(refusal(&mut scene, GUEST, 11, &[1]), Some(Refusal::NotTheFirst));
    assert_eq!(refusal(&mut scene, FIRST, 12, &[1]), Some(Refusal::UnknownController), "it has not set up");
    assert_eq!(refusal(&mut scene, FIRST, 11, &[70, 71]), Some(Refusal::UnknownUes));
    assert_eq!(scene.seen(), BTreeSet::new());
    for ue in 100..100 + ferric::agent::MAX_EXPOSED_UES as u64 - 1 {
        scene.views.expose(GUEST, Ue(ue)).unwrap();
    }
    assert_eq!(refusal(&mut scene, FIRST, 11, &[1, 2]), Some(Refusal::TooManyUes));
    assert_eq!(scene.seen(), BTreeSet::new(), "all or nothing");
    let unreadable = Cause::Protocol(CauseProtocol::TransferSyntaxError);
    assert_eq!(scene.send(FIRST, vec![0], b"no message".to_vec()), Err(unreadable.into()));
    assert_eq!(scene.send(FIRST, vec![], vec![]), Err(unreadable.into()));
}

#[test]
fn first_controller_gets_reports_of_changes() {
    let mut scene = Scene::new();
    assert!(scene.subscribe(GUEST, 100).is_err(), "a guest gets no reports");
    scene.subscribe(FIRST, 100).unwrap();
    assert_eq!(scene.report(0), 1, "at once");
    scene.control(FIRST, Command::Expose, 11, &[5]);
    assert_eq!(scene.report(1), 1, "after a control");
    let (to, message) = &scene.rics.sent[1];
    let views: Vec<_> =
        message.controllers.iter().map(|view| (view.controller.ric_id.value, view.first, view.ues.len())).collect();
    assert_eq!((*to, views), (FIRST, vec![(10, true, 0), (11, false, 1)]));
    assert_eq!(scene.report(200), 0, "nothing new");
    scene.views.expose(GUEST, Ue(6)).unwrap();
    assert_eq!((scene.report(250), scene.report(300)), (0, 1), "what the host did, by the period");
    scene.function.unsubscribe(RequestKey { controller: FIRST, id: RicRequestId { requestor: 1, instance: 1 } });
    assert_eq!(scene.function.next_report(), None);
}

#[test]
fn ue_id_that_fits_several_ues_identifies_none() {
    let ue = |id, ran: u8| {
        let ran_ueid = Some(RanUeId([ran; 8]));
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid, cell_rnti: None })
    };
    // a UE that has left is still known under its id
    let ues = || [(Ue(1), ue(7, 1)), (Ue(2), ue(7, 2)), (Ue(3), ue(8, 3))];
    assert_eq!(find_ue(ues(), &ue_name(8)), Some(Ue(3)));
    assert_eq!(find_ue(ues(), &ue_name(7)), None);
    assert_eq!(find_ue(ues(), &ue(7, 2)), Some(Ue(2)));
    assert_eq!(find_ue(ues(), &ue_name(9)), None);
}
