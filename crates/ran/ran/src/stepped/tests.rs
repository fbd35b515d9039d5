//! Steps and controls without E2: repeatable, and the same as with it.

use e2sm::rc::{Control, ControlAction, Drx, Handover, Revision};
use e2sm::slice::{
    self, ControlHeader, ControlMessage, DirectionSlices, NvsParameters, Parameters, Share, Slice, SliceConfiguration,
};
use per::PrintableString;

use super::*;
use crate::Scenario;
use crate::testing::cell_of;

const RC: RanFunctionId = RanFunctionId(3);
const STEP: Duration = Duration::from_millis(20);

fn ran(seed: u64) -> Stepped {
    let scenario = Scenario { seed, ..Scenario::with_mixed_traffic(2, 8, 7) };
    Stepped::new(RanConfig { scenario, ..RanConfig::default() }).unwrap()
}

fn rc(ran: &mut Stepped, node: usize, ue: u64, action: ControlAction) -> Result<Option<Vec<u8>>, ControlFailure> {
    let ue = ran.ue_id(node, ue).unwrap();
    let (header, message) = Control::of_ue(ue, action).encode(Revision::V3_00).unwrap();
    ran.control(node, RC, header, message)
}

/// Measurements and counters after each step, with controls in between.
fn run(ran: &mut Stepped, steps: u32, acts: bool) -> Vec<String> {
    let mut seen = Vec::new();
    for step in 0..steps {
        ran.step(STEP);
        let values: Vec<_> = [("RRU.PrbTotDl", None), ("DRB.UEThpDl", Some(3)), ("RRU.PrbUsedDl", Some(3))]
            .map(|(name, ue)| ran.measure(0, ue, name))
            .to_vec();
        let counts: Vec<_> = [0, 1].map(|cell| ran.network().cell(cell).counts(2)).to_vec();
        seen.push(format!("{} {values:?} {counts:?} {:?}", ran.now(), ran.ues(0)));
        if acts && step == 10 {
            rc(ran, 0, 2, ControlAction::Handover(Handover::to(cell_of(1)))).unwrap();
            rc(ran, 0, 3, ControlAction::Drx(Drx::long(640))).unwrap();
        }
    }
    seen
}

#[test]
fn same_seed_and_actions_give_identical_results() {
    let first = run(&mut ran(1), 60, true);
    assert_eq!(run(&mut ran(1), 60, true), first);
    assert_ne!(run(&mut ran(2), 60, true), first, "the seed matters");
    let idle = run(&mut ran(1), 60, false);
    assert_eq!(idle[..=10], first[..=10], "a control changes nothing before it");
    assert_ne!(idle[20..], first[20..], "controls have effects");
    let mut again = ran(2);
    run(&mut again, 30, true);
    again.reset(1).unwrap();
    assert_eq!(run(&mut again, 60, true), first, "nothing of the last episode is left");
}

#[test]
fn model_stands_between_steps() {
    let mut ran = ran(1);
    let start = ran.now();
    assert_eq!(start, radio::Time::from_millis(1000), "the warm-up");
    rc(&mut ran, 0, 3, ControlAction::Drx(Drx::long(640))).unwrap();
    assert_eq!(ran.now(), start);
    ran.step(Duration::from_micros(12_300));
    assert_eq!(ran.now(), start + Duration::from_micros(12_300));
    ran.step(Duration::ZERO);
    assert_eq!(ran.now(), start + Duration::from_micros(12_300));
}

/// Steps of different lengths do not change the model.
#[test]
fn step_length_does_not_affect_the_model() {
    let counts = |ran: &Stepped| (0..8).map(|at| ran.network().cell(0).counts(at)).collect::<Vec<_>>();
    let mut once = ran(1);
    once.step(Duration::from_secs(1));
    let mut often = ran(1);
    (0..100).for_each(|_| often.step(Duration::from_millis(10)));
    assert_eq!(counts(&once), counts(&often));
}

#[test]
fn slices_are_admitted_or_refused_as_over_e2() {
    let mut ran = ran(1);
    let offered = ran.functions(0).into_iter().find_map(|offer| Some((offer.id, slice::MODEL.wire_of(&offer.oid)?)));
    let (function, wire) = offered.unwrap();
    for (reserved, is_admitted) in [([0.6, 0.4], true), ([0.6, 0.5], false)] {
        let nvs = |(id, reserved)| {
            let (label, ue_scheduler) = (PrintableString::literal("slice"), PrintableString::literal("PF"));
            Slice { id, label, ue_scheduler, parameters: Parameters::Nvs(NvsParameters::Capacity(Share { reserved })) }
        };
        let slices: Vec<_> = (1..).zip(reserved).map(nvs).collect();
        let dl = DirectionSlices { scheduler: PrintableString::literal("NVS"), slices: slices.into() };
        let message = ControlMessage::AddOrModify(SliceConfiguration { dl, ..SliceConfiguration::default() });
        let (mut header, mut body) = (Vec::new(), Vec::new());
        ControlHeader::default().encode(wire, &mut header).unwrap();
        message.encode(wire, &mut body).unwrap();
        let answer = ran.control(0, function, header, body);
        assert_eq!(answer.is_ok(), is_admitted, "{reserved:?}: {answer:?}");
    }
    let radio::Slicing::Nvs { reservations, .. } =
        ran.network().cell(0).slicing(radio::phy::Direction::Downlink).clone()
    else {
        panic!()
    };
    assert_eq!(reservations.len(), 2, "the refused control has no effect");
}

#[test]
fn unknown_targets_are_refused() {
    let mut ran = ran(1);
    assert_eq!(ran.nodes(), [(0, NodeType::Gnb), (1, NodeType::Gnb)]);
    assert_eq!(ran.ues(1), (8..16).collect::<Vec<_>>());
    assert!(ran.measure(0, None, "DRB.Nothing").is_none() && ran.measure(9, None, "RRU.PrbTotDl").is_none());
    assert!(ran.measure(0, Some(8), "RRU.PrbUsedDl").is_none(), "a UE of the other cell");
    assert!(ran.ue_id(0, 8).is_none());
    for (node, function) in [(9, RC), (0, RanFunctionId(4000))] {
        let failure = ran.control(node, function, Vec::new(), Vec::new()).unwrap_err();
        assert_eq!(failure.cause, Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid));
    }
    assert!(ran.control(0, RC, vec![1, 2, 3], Vec::new()).is_err(), "octets that are no control");
}

#[test]
fn nodes_hand_over_by_event_a3() {
    let text = "
        handover = { a3_offset_db = 3 }
        [[cell]]
        [[cell]]
        x_m = 500
        [[ue]]
        x_m = 100
        y_m = 0
        motion = \"straight\"
        speed_m_per_s = 50
    ";
    let folders = crate::scenario::ScenarioFolders::with_traces(std::path::Path::new("."));
    let scenario = Scenario::from_toml(text, &folders).unwrap();
    let mut ran = Stepped::new(RanConfig { scenario, ..RanConfig::default() }).unwrap();
    ran.step(Duration::from_millis(1));
    assert_eq!((ran.ues(0), ran.ues(1)), (vec![0], vec![]));
    ran.step(Duration::from_secs(7));
    assert_eq!((ran.ues(0), ran.ues(1)), (vec![], vec![0]), "the UE is at 450 m");
    assert_eq!(ran.measure(0, None, "MM.HoExeInterSucc"), Some(1.0));
}

#[test]
fn measurements_are_divided_by_slice() {
    let mut ran = ran(1);
    ran.step(Duration::from_secs(2));
    let slice = |sst| e2sm::common::SNssai { sst: e2sm::common::Sst([sst]), sd: None };
    let volume = |sst| ran.measure_slice(0, slice(sst), "DRB.PdcpSduVolumeDL").unwrap();
    let whole = ran.measure(0, None, "DRB.PdcpSduVolumeDL").unwrap();
    assert!(volume(1) > 0.0 && volume(2) > 0.0, "{} {}", volume(1), volume(2));
    // each is rounded
    assert!((volume(1) + volume(2) - whole).abs() <= 1.5);
    assert_eq!(volume(9), 0.0);
    assert_eq!(ran.measure_slice(0, slice(1), "PEE.AvgPower"), None, "power is not divided");
}
