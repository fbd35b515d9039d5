//! UEs that attach, detach and are handed over.

use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RntiValue, SNssai, Sst, UeId, UeIdGnbDu};
use ferric::e2;
use ferric::e2ap::{CauseProtocol, CauseRicRequest, RicActionType};
use per::Bits;

use super::*;
use crate::testing::{ExclusiveSource, FIRST, GUEST, Recorder, millis, report, request_id, subscription};

#[derive(Default)]
struct BaseStation {
    ues: Vec<Ue>,
    new_events: Vec<(Ue, Notification<'static>)>,
}

fn notification(ue: Ue, event: Event) -> Notification<'static> {
    let number = ue.0 as u32;
    Notification {
        event,
        ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number), ran_ueid: None, cell_rnti: None }),
        rnti: RntiValue(number as u16),
        cell: cell(1),
        plmn: PlmnIdentity::from_codes(1, 1, 2),
        s_nssais: vec![SNssai { sst: Sst([1]), sd: None }].into(),
        addresses: None,
    }
}

fn cell(number: u64) -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(number, 36) })
}

impl RrcSource for BaseStation {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(&self.ues);
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        notification(ue, Event::Present)
    }

    fn has_events(&self) -> bool {
        !self.new_events.is_empty()
    }

    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.append(&mut self.new_events);
    }
}

struct Bench {
    function: RrcFunction<ExclusiveSource<BaseStation>>,
    source: ExclusiveSource<BaseStation>,
    views: Views,
    recorder: Recorder,
}

impl Bench {
    fn new(ues: &[u64]) -> Self {
        let ues = ues.iter().map(|ue| Ue(*ue)).collect();
        let source = ExclusiveSource::new(BaseStation { ues, new_events: Vec::new() });
        let function = RrcFunction::new(source.clone(), RrcConfig { max_actions: 2, ..RrcConfig::default() });
        Bench { function, source, views: Views::with_first(FIRST), recorder: Recorder::default() }
    }

    fn subscribe(&mut self, controller: ControllerId, trigger: EventTriggerDefinition) -> Result<Admission, Cause> {
        let mut octets = Vec::new();
        trigger.encode(Wire::Per, &mut octets).unwrap();
        let request = subscription(controller, octets, vec![report(1)]);
        self.function.subscribe(millis(1), controller, &request, &self.views)
    }

    fn happens(&mut self, ue: u64, event: Event) {
        self.source.lock().new_events.push((Ue(ue), notification(Ue(ue), event)));
    }

    /// Calls the function while a report is due, and returns the notifications of each controller.
    fn run(&mut self) -> Vec<(ControllerId, Vec<(u16, Event)>)> {
        while let Some(next) = self.function.next_report() {
            self.function.report(next.max(millis(2)), &mut FunctionContext::new(&mut self.views, &mut self.recorder));
        }
        let reported = |sent: crate::testing::Sent| {
            IndicationHeader::decode(&sent.header, Wire::Per).unwrap();
            let message = IndicationMessage::decode_owned(&sent.message, Wire::Per).unwrap();
            (sent.controller, message.notifications.iter().map(|reported| (reported.rnti.0, reported.event)).collect())
        };
        self.recorder.sent.drain(..).map(reported).collect()
    }
}

const ALL: EventTriggerDefinition = EventTriggerDefinition::ALL;

#[test]
fn connected_ues_are_reported_before_events() {
    let mut bench = Bench::new(&[1, 2]);
    assert_eq!(bench.function.next_report(), None);
    bench.subscribe(FIRST, ALL).unwrap();
    assert_eq!(bench.run(), [(FIRST, vec![(1, Event::Present), (2, Event::Present)])]);
    assert_eq!(bench.run(), []);
    bench.happens(3, Event::Attached);
    bench.happens(1, Event::HandedOver(cell(9)));
    bench.happens(2, Event::Detached);
    let events = vec![(3, Event::Attached), (1, Event::HandedOver(cell(9))), (2, Event::Detached)];
    assert_eq!(bench.run(), [(FIRST, events)]);
    bench.function.unsubscribe(RequestKey { controller: FIRST, id: request_id(FIRST) });
    bench.happens(3, Event::Detached);
    assert_eq!(bench.run(), []);
    assert!(!bench.source.lock().has_events(), "events are taken without subscriptions too");
}

#[test]
fn only_requested_events_of_visible_ues_are_reported() {
    let mut bench = Bench::new(&[1, 2]);
    bench.views.expose(GUEST, Ue(2)).unwrap();
    bench.subscribe(FIRST, EventTriggerDefinition { handover: true, ..Default::default() }).unwrap();
    bench.subscribe(GUEST, ALL).unwrap();
    assert_eq!(bench.run(), [(GUEST, vec![(2, Event::Present)])]);
    bench.happens(1, Event::HandedOver(cell(3)));
    bench.happens(2, Event::Detached);
    assert_eq!(bench.run(), [(FIRST, vec![(1, Event::HandedOver(cell(3)))]), (GUEST, vec![(2, Event::Detached)])]);
    assert!(!bench.views.sees(GUEST, Ue(2)), "a detached UE is hidden again");
}

#[test]
fn many_events_need_several_indications() {
    let mut bench = Bench::new(&(0..600).collect::<Vec<_>>());
    bench.subscribe(FIRST, ALL).unwrap();
    let reported: Vec<_> = bench.run().into_iter().map(|(_, reported)| reported.len()).collect();
    assert_eq!(reported, [256, 256, 88]);
}

#[test]
fn unsupported_subscriptions_are_refused() {
    let mut bench = Bench::new(&[]);
    let nothing = EventTriggerDefinition::default();
    let not_supported = Err(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported));
    assert_eq!(bench.subscribe(FIRST, nothing), not_supported);
    let octets = subscription(FIRST, vec![0x00, 0x00, 0x00], vec![report(1)]);
    let refused = bench.function.subscribe(millis(1), FIRST, &octets, &bench.views);
    assert_eq!(refused, Err(Cause::Protocol(CauseProtocol::TransferSyntaxError)));
    let mut trigger = Vec::new();
    ALL.encode(Wire::Per, &mut trigger).unwrap();
    let policy = e2::Action { kind: RicActionType::Policy, ..report(1) };
    let request = subscription(FIRST, trigger, vec![policy]);
    let refused = bench.function.subscribe(millis(1), FIRST, &request, &bench.views);
    assert_eq!(refused, Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)));
    bench.subscribe(FIRST, ALL).unwrap();
    bench.subscribe(GUEST, ALL).unwrap();
    let full = Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
    assert_eq!(bench.subscribe(ControllerId(3), ALL), full);
    assert_eq!(e2sm::detect(&bench.function.definition().oid), Some((149, Wire::Per)));
}
