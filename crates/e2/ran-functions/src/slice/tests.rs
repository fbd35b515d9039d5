//! The function towards two controllers, on a base station of ten positions.

use std::borrow::Cow;

use e2sm::Wire;
use e2sm::slice::{
    Algorithm, DeleteSlices, DirectionSlices, EdfParameters, NvsParameters, OnDemand, Parameters, Positions, Rate,
    Scn19Parameters, Share, Slice, SliceConfiguration,
};
use ferric::e2ap::{CauseProtocol, CauseRicRequest};

use super::*;
use crate::testing::{self, ExclusiveSource, FIRST, GUEST, Recorder, millis, periodic_subscription};

/// Ten positions of ten blocks; UE n has the RNTI 100 + n. It has no EDF when it is `old`.
#[derive(Default)]
struct BaseStation {
    slices: SliceConfiguration<'static>,
    slice_associations: Vec<SliceAssociation>,
    old: bool,
    broken: bool,
}

impl SliceSource for BaseStation {
    fn capacity(&self, _direction: Direction) -> Capacity {
        Capacity { prbs: 100, positions: 10 }
    }

    fn algorithms(&self) -> &[Algorithm] {
        let all = &[Algorithm::Static, Algorithm::Nvs, Algorithm::Scn19, Algorithm::Edf];
        if self.old { &all[..2] } else { all }
    }

    fn has_ue_scheduler(&self, name: &str) -> bool {
        name == "PF"
    }

    fn slices(&self) -> &SliceConfiguration<'static> {
        &self.slices
    }

    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>> {
        if self.broken {
            return Err("the scheduler is being replaced \u{2026}".into());
        }
        self.slices = slices;
        Ok(())
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend((0..self.slice_associations.len() as u64).map(Ue));
    }

    fn rnti(&self, ue: Ue) -> u16 {
        100 + ue.0 as u16
    }

    fn slice_association(&self, ue: Ue) -> SliceAssociation {
        self.slice_associations[ue.0 as usize]
    }

    fn set_slice_association(&mut self, ue: Ue, slice_association: SliceAssociation) {
        self.slice_associations[ue.0 as usize] = slice_association;
    }
}

struct Bench {
    function: SliceFunction<ExclusiveSource<BaseStation>>,
    source: ExclusiveSource<BaseStation>,
    views: Views,
    recorder: Recorder,
    wire: Wire,
}

impl Bench {
    fn speaking(wire: Wire) -> Self {
        let slice_associations = vec![SliceAssociation::default(); 3];
        let source = ExclusiveSource::new(BaseStation { slice_associations, ..BaseStation::default() });
        let periodic = PeriodicConfig { wire, ..PeriodicConfig::default() };
        let function = SliceFunction::new(source.clone(), SliceConfig { periodic, max_slices: 4 });
        let (views, recorder) = (Views::with_first(FIRST), Recorder::default());
        Bench { function, source, views, recorder, wire }
    }

    fn new() -> Self {
        Bench::speaking(Wire::Plain)
    }

    /// The result of a control: nothing, or the cause and the text of the outcome.
    fn control(&mut self, controller: ControllerId, message: &ControlMessage<'_>) -> Result<(), (Cause, String)> {
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        ControlHeader::default().encode(self.wire, &mut header).unwrap();
        message.encode(self.wire, &mut octets).unwrap();
        self.octets(controller, header, octets)
    }

    fn octets(&mut self, controller: ControllerId, header: Vec<u8>, message: Vec<u8>) -> Result<(), (Cause, String)> {
        let request = testing::control(header, message);
        let mut reports = FunctionContext::new(&mut self.views, &mut self.recorder);
        let diagnostic = |outcome: Option<Vec<u8>>| {
            let outcome = ControlOutcome::decode_owned(&outcome.expect("an outcome"), self.wire).unwrap();
            outcome.diagnostic.to_string()
        };
        match self.function.control(millis(0), controller, &request, &mut reports) {
            Ok(outcome) => {
                assert_eq!(diagnostic(outcome), "");
                Ok(())
            }
            Err(failure) => Err((failure.cause, diagnostic(failure.outcome))),
        }
    }

    fn add(&mut self, controller: ControllerId, slices: Vec<Slice<'static>>) -> Result<(), (Cause, String)> {
        self.control(controller, &add(slices))
    }

    /// Why nothing is added.
    fn refused(&mut self, controller: ControllerId, slices: Vec<Slice<'static>>) -> String {
        let before = self.source.lock().slices.clone();
        let (cause, text) = self.add(controller, slices).unwrap_err();
        assert!(matches!(cause, Cause::RicRequest(_)), "{cause}");
        assert_eq!(self.source.lock().slices, before, "nothing has changed");
        text
    }

    fn ids(&self) -> Vec<u32> {
        self.source.lock().slices.dl.slices.iter().map(|slice| slice.id).collect()
    }
}

fn add(slices: Vec<Slice<'static>>) -> ControlMessage<'static> {
    let dl = DirectionSlices { slices: slices.into(), ..DirectionSlices::default() };
    ControlMessage::AddOrModify(SliceConfiguration { dl, ..SliceConfiguration::default() })
}

fn delete(dl: &[u32], ul: &[u32]) -> ControlMessage<'static> {
    ControlMessage::Delete(DeleteSlices { dl: dl.to_vec().into(), ul: ul.to_vec().into() })
}

fn associate(ues: &[(u16, u32)]) -> ControlMessage<'static> {
    ControlMessage::Associate(
        ues.iter().map(|(rnti, dl_id)| UeSlices { dl_id: *dl_id, ul_id: 0, rnti: *rnti }).collect(),
    )
}

fn slice(id: u32, parameters: Parameters<'static>) -> Slice<'static> {
    let (label, ue_scheduler) = (PrintableString::literal("s"), PrintableString::literal("PF"));
    Slice { id, label, ue_scheduler, parameters }
}

fn capacity(id: u32, reserved: f32) -> Slice<'static> {
    slice(id, Parameters::Nvs(NvsParameters::Capacity(Share { reserved })))
}

fn rate(id: u32, required_mbps: f32, reference_mbps: f32) -> Slice<'static> {
    slice(id, Parameters::Nvs(NvsParameters::Rate(Rate { required_mbps, reference_mbps })))
}

fn fixed(id: u32, low: u32, high: u32) -> Slice<'static> {
    slice(id, Parameters::Static(Positions { low, high }))
}

fn edf(id: u32, deadline_slots: u32, guaranteed_prbs: u32, over: &[u32]) -> Slice<'static> {
    let over = over.to_vec().into();
    slice(id, Parameters::Edf(EdfParameters { deadline_slots, guaranteed_prbs, max_replenish_prbs: 0, over }))
}

#[test]
fn configured_slices_are_reported() {
    for wire in [Wire::Plain, Wire::Per] {
        let mut bench = Bench::speaking(wire);
        bench.add(FIRST, vec![capacity(1, 0.5), rate(2, 20.0, 100.0)]).unwrap();
        bench.add(FIRST, vec![capacity(2, 0.25), capacity(3, 0.25)]).unwrap();
        bench.control(FIRST, &associate(&[(100, 1), (102, 3)])).unwrap();
        bench.views.expose(GUEST, Ue(2)).unwrap();
        bench.function.subscribe(millis(0), FIRST, &periodic_subscription(FIRST, 10, wire), &bench.views).unwrap();
        bench.function.subscribe(millis(0), GUEST, &periodic_subscription(GUEST, 10, wire), &bench.views).unwrap();
        assert_eq!(bench.function.next_report(), Some(millis(10)));
        bench.function.report(millis(10), &mut FunctionContext::new(&mut bench.views, &mut bench.recorder));
        let report = |at: usize| {
            let message = IndicationMessage::decode_owned(&bench.recorder.sent[at].message, wire).unwrap();
            let ids: Vec<_> = message.slices.dl.slices.iter().map(|slice| slice.id).collect();
            (bench.recorder.sent[at].controller, ids, message.ues.to_vec())
        };
        let ue = |rnti, dl_id| UeSlices { dl_id, ul_id: NO_SLICE, rnti };
        assert_eq!(report(0), (FIRST, vec![1, 2, 3], vec![ue(100, 1), ue(102, 3)]));
        assert_eq!(report(1), (GUEST, vec![1, 2, 3], vec![ue(102, 3)]));
    }
}

#[test]
fn second_request_for_60_percent_is_refused() {
    let mut bench = Bench::new();
    bench.add(FIRST, vec![capacity(1, 0.6)]).unwrap();
    let (cause, text) = bench.add(GUEST, vec![capacity(2, 0.6)]).unwrap_err();
    assert_eq!(cause, Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
    assert_eq!(
        text,
        "the downlink slices would use 120.0 % of the cell: 60.0 % by other controllers, 60.0 % requested"
    );
    assert_eq!(bench.ids(), [1]);
    bench.add(GUEST, vec![capacity(2, 0.4)]).unwrap();
    // it may divide its own anew
    bench.add(GUEST, vec![capacity(2, 0.1), capacity(3, 0.3)]).unwrap();
    assert_eq!(
        bench.refused(GUEST, vec![capacity(4, 0.01)]),
        "the downlink slices would use 101.0 % of the cell: 60.0 % by other controllers, 41.0 % requested"
    );
}

#[test]
fn slice_belongs_to_its_controller() {
    let mut bench = Bench::new();
    bench.views.expose(GUEST, Ue(0)).unwrap();
    bench.add(FIRST, vec![capacity(1, 0.5)]).unwrap();
    bench.add(GUEST, vec![capacity(2, 0.5)]).unwrap();
    assert_eq!(bench.refused(GUEST, vec![capacity(1, 0.1)]), "downlink slice 1 is another controller's");
    // also for the controller that sees every UE
    assert_eq!(bench.refused(FIRST, vec![capacity(2, 0.1)]), "downlink slice 2 is another controller's");
    let failed = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
    let owned = |id| Err((failed, format!("downlink slice {id} is another controller's")));
    assert_eq!(bench.control(GUEST, &delete(&[1], &[])), owned(1));
    assert_eq!(bench.control(GUEST, &associate(&[(100, 1)])), owned(1));
    bench.control(GUEST, &associate(&[(100, 2)])).unwrap();
    assert_eq!(bench.control(FIRST, &associate(&[(100, 1)])), owned(2));
    let unseen = bench.control(GUEST, &associate(&[(100, NO_SLICE), (101, 2)])).unwrap_err();
    assert_eq!(unseen.1, "there is no UE with RNTI 101");
    assert_eq!(bench.source.lock().slice_associations[0].dl, Some(2), "as a whole or not at all");

    bench.function.controller_removed(GUEST);
    assert_eq!((bench.ids(), bench.source.lock().slice_associations[0].dl), (vec![1], None));
    bench.add(FIRST, vec![capacity(2, 0.5)]).unwrap();
}

#[test]
fn first_controller_changes_initial_slices() {
    let mut bench = Bench::new();
    bench.source.lock().slices.dl.slices = vec![capacity(9, 0.5)].into();
    assert_eq!(bench.refused(GUEST, vec![capacity(9, 0.1)]), "downlink slice 9 is another controller's");
    bench.add(FIRST, vec![capacity(9, 0.1)]).unwrap();
}

#[test]
fn only_sole_controller_changes_the_scheduler() {
    let mut bench = Bench::new();
    let choose = |scheduler: &'static str, id| {
        let scheduler = PrintableString::literal(scheduler);
        let dl = DirectionSlices { scheduler, slices: vec![capacity(id, 0.1)].into() };
        ControlMessage::AddOrModify(SliceConfiguration { dl, ..SliceConfiguration::default() })
    };
    bench.control(FIRST, &choose("NVS", 1)).unwrap();
    bench.control(GUEST, &choose("NVS", 2)).unwrap();
    let (_, text) = bench.control(GUEST, &choose("RR", 2)).unwrap_err();
    assert_eq!(text, "the downlink's scheduler was chosen by another controller that has slices there");
    assert_eq!(&*bench.source.lock().slices.dl.scheduler, "NVS");
}

#[test]
fn invalid_slices_are_refused() {
    let mut bench = Bench::new();
    let mut refused = |slices| bench.refused(FIRST, slices);
    assert_eq!(
        refused(vec![capacity(1, 1.2)]),
        "the downlink slices would use 120.0 % of the cell: 0.0 % by other controllers, 120.0 % requested"
    );
    for reference in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(refused(vec![rate(1, 1.0, reference)]), "downlink slice 1: the reference of a rate must be above 0");
    }
    let share = "downlink slice 1: a share is from 0 to 100 %";
    for odd in [-0.1, f32::NAN, f32::INFINITY] {
        assert_eq!(refused(vec![capacity(1, odd)]), share);
        assert_eq!(refused(vec![rate(1, odd, 10.0)]), share);
    }
    assert_eq!(refused(vec![capacity(1, 0.1), capacity(1, 0.1)]), "downlink slice 1 occurs twice in the request");
    assert_eq!(refused(vec![fixed(1, 3, 2)]), "downlink slice 1: positions 3 to 2 are not among 0 to 9");
    assert_eq!(refused(vec![fixed(1, 0, 10)]), "downlink slice 1: positions 0 to 10 are not among 0 to 9");
    assert_eq!(refused(vec![fixed(1, 0, 5), fixed(2, 5, 9)]), "downlink slices 1 and 2 overlap");
    assert_eq!(refused(vec![fixed(1, 0, 5), capacity(2, 0.1)]), "the downlink has one algorithm: STATIC or NVS");
    assert_eq!(refused(vec![edf(1, 0, 5, &[])]), "downlink slice 1: a deadline or window is at least 1 slot");
    assert_eq!(refused(vec![edf(1, 2, 5, &[8])]), "downlink slice 1 refers to slice 8, which does not exist");
    assert_eq!(
        refused(vec![edf(1, 2, 150, &[]), edf(2, 10, 300, &[1])]),
        "the downlink slices would use 105.0 % of the cell: 0.0 % by other controllers, 105.0 % requested"
    );
    let on_demand = |tau_slots| {
        let on_demand = OnDemand { reserved: 0.5, log_delta: 0.0, tau_slots };
        slice(3, Parameters::Scn19(Scn19Parameters::OnDemand(on_demand)))
    };
    assert_eq!(refused(vec![on_demand(0)]), "downlink slice 3: a deadline or window is at least 1 slot");
    let strange = Slice { ue_scheduler: PrintableString::literal("EXP"), ..capacity(1, 0.1) };
    assert_eq!(refused(vec![strange]), "downlink slice 1: the base station does not have that UE scheduler");
    assert_eq!(refused((0..5).map(|id| capacity(id, 0.1)).collect()), "the downlink has more than 4 slices");

    bench.source.lock().old = true;
    assert_eq!(bench.refused(FIRST, vec![edf(1, 2, 5, &[])]), "the base station does not have the algorithm EDF");
    bench.source.lock().broken = true;
    assert_eq!(bench.refused(FIRST, vec![capacity(1, 0.1)]), "the scheduler is being replaced ?");
}

#[test]
fn scn19_mixes_slice_types() {
    let mut bench = Bench::new();
    let scn19 = |id, parameters| slice(id, Parameters::Scn19(parameters));
    let dynamic = Scn19Parameters::Dynamic(Rate { required_mbps: 3.0, reference_mbps: 10.0 });
    let place = Scn19Parameters::Fixed(Positions { low: 0, high: 3 });
    let on_demand = Scn19Parameters::OnDemand(OnDemand { reserved: 0.3, log_delta: -1.0, tau_slots: 10 });
    bench.add(FIRST, vec![scn19(1, dynamic), scn19(2, place), scn19(3, on_demand)]).unwrap();
    // all of them replaced by another algorithm at once; not some
    let text = bench.refused(FIRST, vec![capacity(1, 0.1)]);
    assert_eq!(text, "the downlink has one algorithm: NVS or SCN19");
    bench.add(FIRST, vec![capacity(1, 0.5), capacity(2, 0.2), capacity(3, 0.3)]).unwrap();
}

#[test]
fn deleted_slice_releases_its_ues() {
    let mut bench = Bench::new();
    bench.add(FIRST, vec![edf(1, 2, 5, &[]), edf(2, 2, 5, &[1])]).unwrap();
    bench.control(FIRST, &associate(&[(100, 1), (101, 2)])).unwrap();
    let invalid = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
    assert_eq!(bench.control(FIRST, &delete(&[7], &[])), Err((invalid, "there is no downlink slice 7".into())));
    assert_eq!(bench.control(FIRST, &delete(&[], &[1])), Err((invalid, "there is no uplink slice 1".into())));
    let leans = "downlink slice 2 refers to slice 1, which does not exist";
    assert_eq!(bench.control(FIRST, &delete(&[1], &[])), Err((invalid, leans.into())));
    bench.control(FIRST, &delete(&[2], &[])).unwrap();
    let of = |bench: &Bench| bench.source.lock().slice_associations.iter().map(|m| m.dl).collect::<Vec<_>>();
    assert_eq!(of(&bench), [Some(1), None, None]);
    assert_eq!(bench.control(FIRST, &associate(&[(100, 2)])), Err((invalid, "there is no downlink slice 2".into())));
    bench.control(FIRST, &associate(&[(100, NO_SLICE)])).unwrap();
    assert_eq!(of(&bench), [None; 3]);
}

#[test]
fn slices_of_removed_controller_are_deleted() {
    let mut bench = Bench::new();
    bench.add(GUEST, vec![edf(1, 2, 100, &[])]).unwrap();
    bench.add(FIRST, vec![edf(2, 2, 100, &[1])]).unwrap();
    bench.function.controller_removed(GUEST);
    assert_eq!(bench.source.lock().slices.dl.slices.to_vec(), [edf(2, 2, 100, &[])]);
    bench.add(FIRST, vec![edf(1, 2, 100, &[2])]).unwrap();
    // slices that the base station refuses to delete remain, without an owner
    bench.add(GUEST, vec![edf(3, 2, 0, &[])]).unwrap();
    bench.source.lock().broken = true;
    bench.function.controller_removed(GUEST);
    bench.source.lock().broken = false;
    assert_eq!(bench.ids(), [2, 1, 3]);
    bench.control(FIRST, &delete(&[3], &[])).unwrap();
}

#[test]
fn undecodable_controls_are_refused() {
    let mut bench = Bench::new();
    let syntax = Cause::Protocol(CauseProtocol::TransferSyntaxError);
    let mut diagnostic = |header: &[u8], message: &[u8]| {
        let (cause, text) = bench.octets(FIRST, header.to_vec(), message.to_vec()).unwrap_err();
        assert_eq!(cause, syntax);
        text
    };
    assert_eq!(diagnostic(&[0; 3], &[0; 20]), "the message ends inside a value at octet 0 in ControlHeader");
    assert_eq!(
        diagnostic(&[0; 4], &[9, 0, 0, 0]),
        "a number that the enumeration does not have at octet 0 in slice::ControlMessage"
    );
    // an unknown algorithm
    let mut message = vec![0; 64];
    message[8] = 1;
    message[24] = 5;
    assert_eq!(diagnostic(&[0; 4], &message), "a number that the enumeration does not have at octet 24 in Parameters");
}
