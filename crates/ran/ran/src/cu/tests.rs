//! A CU of several DUs: it covers the UEs of all of them, and a UE that moves between them stays its own.

use std::time::Duration;

use e2sm::ccc::RanConfigurationStructure as Structure;
use e2sm::common::FiveQi;
use e2sm::gtp::Tunnel;
use e2sm::rc::{ControlAction, DrbQos, Handover};
use e2sm::rrc;
use ferric::agent::ControllerId;
use ran_functions::association::UeDirectory;
use ran_functions::ccc::{CccSource, ConfigScope};
use ran_functions::ni::NiSource;
use ran_functions::rc::{Origin, RcSource, Verdict};
use ran_functions::rrc::RrcSource;
use ran_functions::statistics::StatisticsSource;

use super::*;
use crate::e2_node::E2Node;
use crate::scenario::Scenario;
use crate::testing;

const RIC: Origin = Origin::Control(ControllerId(1));

fn at(ms: u64) -> Time {
    Time::from_nanos(5_000_000_000) + Duration::from_millis(ms)
}

/// A gNB with a CU and two DUs, and one with a CU and a DU: CU-CP, CU-UP and the DUs of the first.
struct Gnb {
    cu_cp: Rc<RefCell<Cu>>,
    cu_up: Rc<RefCell<Cu>>,
    dus: [Rc<RefCell<Node>>; 2],
    names: Vec<String>,
}

fn scenario() -> Scenario {
    let mut scenario = testing::mixed_traffic(3, 2);
    for (cell, cu) in scenario.cells.iter_mut().zip(["a", "a", "b"]) {
        (cell.is_split, cell.cu) = (true, Some(cu.to_owned()));
    }
    let kind = radio::traffic::Kind::ConstantBitRate { rate_bps: 2_000_000, packet_octets: 1000 };
    for ue in &mut scenario.ues {
        ue.flows[0].specification = radio::traffic::FlowSpecification::new(kind.clone());
        ue.channel = crate::scenario::ChannelScenario::Mcs(15);
    }
    scenario
}

impl Gnb {
    fn new() -> Gnb {
        let config = RanConfig { scenario: scenario(), ..RanConfig::default() }.with_parts();
        let simulation = RanSimulation::new(&config.scenario).unwrap();
        let nodes: Vec<E2Node> = E2Node::all(&config, &simulation).into_iter().map(|(_, node)| node).collect();
        let names = nodes.iter().map(|node| node.id().to_string()).collect();
        let (mut cus, mut dus) = (Vec::new(), Vec::new());
        for node in nodes {
            match node {
                E2Node::Cu(cu) => cus.push(cu),
                E2Node::OfCell(node) => dus.push(node),
            }
        }
        let [cu_cp, cu_up] = cus.try_into().unwrap_or_else(|_| panic!("one CU has several DUs"));
        let dus = [Rc::clone(&dus[0]), Rc::clone(&dus[1])];
        let gnb = Gnb { cu_cp, cu_up, dus, names };
        gnb.advance(0);
        gnb
    }

    fn advance(&self, ms: u64) {
        KpmSource::advance(&mut *self.cu_cp.borrow_mut(), at(ms));
        KpmSource::advance(&mut *self.cu_up.borrow_mut(), at(ms));
        self.dus.iter().for_each(|du| KpmSource::advance(&mut *du.borrow_mut(), at(ms)));
    }

    /// The UEs of the DUs.
    fn at_dus(&self) -> [usize; 2] {
        self.dus.each_ref().map(|du| ues(&*du.borrow()).len())
    }

    fn move_ue(&self, ue: Ue, cell: Cgi) {
        let handover = ControlAction::Handover(Handover::to(cell));
        self.cu_cp.borrow_mut().control(at(1000), RIC, Some(ue), &handover).unwrap();
    }
}

fn ues(node: &impl KpmSource) -> Vec<Ue> {
    let mut ues = Vec::new();
    node.ues(&mut ues);
    ues
}

fn notifications(cu: &Rc<RefCell<Cu>>) -> Vec<(Ue, rrc::Event)> {
    let mut out = Vec::new();
    RrcSource::take_events(&mut *cu.borrow_mut(), &mut out);
    out.into_iter().map(|(ue, notification)| (ue, notification.event)).collect()
}

#[test]
fn a_cu_has_a_node_for_each_of_its_dus() {
    let gnb = Gnb::new();
    let expected = [
        "gnb-00101-e00",
        "gnb-00101-e00-cu-up-1",
        "gnb-00101-e00-du-1",
        "gnb-00101-e00-du-2",
        "gnb-00101-e02",
        "gnb-00101-e02-cu-up-1",
        "gnb-00101-e02-du-1",
    ];
    assert_eq!(gnb.names, expected);
    let cu_cp = gnb.cu_cp.borrow();
    let cells = KpmSource::cells(&*cu_cp);
    let of_dus = gnb.dus.each_ref().map(|du| KpmSource::cell(&*du.borrow()));
    assert_eq!(cells, of_dus);
    let identity = |cell: &Cgi| if let Cgi::NrCgi(cell) = cell { cell.nr_cell_identity.value } else { 0 };
    assert_eq!(of_dus.each_ref().map(identity), [0xe00 << 14 | 1, 0xe00 << 14 | 2]);
    let kinds: Vec<_> = cu_cp.components().iter().map(|component| component.interface_type).collect();
    let f1 = kinds.iter().filter(|kind| **kind == E2NodeComponentInterfaceType::F1).count();
    assert_eq!((kinds.len(), f1), (4, 2), "NG, E1, and F1 of each DU");
    // Xn to the other gNB only
    assert_eq!(NiSource::interfaces(&*cu_cp).len(), 2);
    let read = |cell| cu_cp.read(ConfigScope::Cell(cell), "O-NRCellCU");
    let local = |cell| match &read(cell)[..] {
        [Structure::NrCellCu(cell)] => cell.cell_local_id,
        other => panic!("{other:?}"),
    };
    assert_eq!(of_dus.map(local), [Some(1), Some(2)]);
}

#[test]
fn ue_keeps_its_names_at_the_cu_when_it_moves_to_another_du() {
    let gnb = Gnb::new();
    assert_eq!((ues(&*gnb.cu_cp.borrow()).len(), ues(&*gnb.cu_up.borrow()).len(), gnb.at_dus()), (4, 4, [2, 2]));
    notifications(&gnb.cu_cp);
    let ue = ues(&*gnb.cu_cp.borrow())[0];
    let names = || {
        let (cu_cp, cu_up) = (gnb.cu_cp.borrow(), gnb.cu_up.borrow());
        match (KpmSource::ue_id(&*cu_cp, ue), KpmSource::ue_id(&*cu_up, ue)) {
            (UeId::Gnb(name), UeId::GnbCuUp(of_cu_up)) => {
                let f1ap = name.gnb_cu_ue_f1ap_id_list.as_ref().unwrap()[0].gnb_cu_ue_f1ap_id;
                let e1ap = name.gnb_cu_cp_ue_e1ap_id_list.as_ref().unwrap()[0].gnb_cu_cp_ue_e1ap_id;
                assert_eq!(e1ap, of_cu_up.gnb_cu_cp_ue_e1ap_id);
                (name.amf_ue_ngap_id, e1ap, f1ap)
            }
            other => panic!("{other:?}"),
        }
    };
    let at_du = |du: usize| {
        let du = gnb.dus[du].borrow();
        let name = |ue: &Ue| match KpmSource::ue_id(&*du, *ue) {
            UeId::GnbDu(name) => name.gnb_cu_ue_f1ap_id,
            other => panic!("{other:?}"),
        };
        ues(&*du).iter().map(name).collect::<Vec<_>>()
    };
    let tunnel = || {
        let mut tunnels: Vec<Tunnel> = Vec::new();
        gnb.cu_up.borrow().records(ue, &mut tunnels);
        (tunnels[0].teid_gnb, tunnels[0].teid_upf)
    };
    let (before, tunnel_before) = (names(), tunnel());
    assert!(at_du(0).contains(&before.2));
    gnb.advance(1000);
    let cells = KpmSource::cells(&*gnb.cu_cp.borrow());
    gnb.move_ue(ue, cells[1]);
    gnb.advance(2000);
    assert_eq!((gnb.at_dus(), ues(&*gnb.cu_cp.borrow()).len()), ([1, 3], 4));
    let after = names();
    assert_eq!((after.0, after.1, tunnel()), (before.0, before.1, tunnel_before));
    assert_ne!(after.2, before.2, "a context of its own at each DU");
    assert!(at_du(1).contains(&after.2));
    assert_eq!(notifications(&gnb.cu_cp), [(ue, rrc::Event::HandedOver(cells[0]))], "it has not left the CU");
    // by its name of before, without the parts that may change
    let UeId::Gnb(name) = KpmSource::ue_id(&*gnb.cu_cp.borrow(), ue) else { panic!("a CU-CP") };
    let mut less = (*name).clone();
    less.gnb_cu_ue_f1ap_id_list = None;
    assert_eq!(UeDirectory::find(&*gnb.cu_cp.borrow(), &UeId::Gnb(less.into())), Some(ue));
    // a control of it goes to where it is
    let qos = DrbQos { drb_id: 1, five_qi: Some(5), ..DrbQos::default() };
    gnb.cu_cp.borrow_mut().control(at(2000), RIC, Some(ue), &ControlAction::DrbQos(qos)).unwrap();
    gnb.advance(2100);
    assert_eq!(KpmSource::five_qis(&*gnb.cu_up.borrow(), ue), [FiveQi(5)]);
    // to the other gNB it leaves
    gnb.move_ue(ue, testing::cell_of(2));
    gnb.advance(3000);
    assert_eq!((gnb.at_dus(), ues(&*gnb.cu_cp.borrow()).len()), ([1, 2], 3));
    assert_eq!(notifications(&gnb.cu_cp), [(ue, rrc::Event::Detached)]);
}

#[test]
fn cu_counts_what_passes_through_it_in_all_cells() {
    let gnb = Gnb::new();
    let ue = ues(&*gnb.cu_up.borrow())[0];
    let name = "DRB.PdcpSduVolumeDL";
    let measurement = |cu: &Cu, name: &str| cu.measurements().iter().position(|offer| offer.name == name).unwrap();
    let value = |since: &Vec<CounterSnapshot>, object: MeasuredObject<'_>| {
        let cu = gnb.cu_up.borrow();
        cu.value(since, object, measurement(&cu, name), &MeasurementLabel::NO_LABEL).number().unwrap()
    };
    let mut since = Vec::new();
    gnb.advance(1000);
    gnb.cu_up.borrow().take_snapshot(&mut since);
    let cells = KpmSource::cells(&*gnb.cu_up.borrow());
    gnb.move_ue(ue, cells[1]);
    gnb.advance(2000);
    let own = value(&since, MeasuredObject::Ues(&[ue]));
    assert!((1800.0..2200.0).contains(&own), "2 Mbit/s for a second, in two cells: {own} kbit");
    let all = value(&since, MeasuredObject::Cell);
    let parts: f64 = cells.iter().map(|cell| value(&since, MeasuredObject::OneCell(*cell))).sum();
    assert!((all - parts).abs() <= 2.0 && (7200.0..8800.0).contains(&all), "{all} and {parts} kbit");
    assert_eq!(value(&since, MeasuredObject::Ues(&[])), 0.0);
    let other = MeasuredObject::OneCell(testing::cell_of(2));
    let cu = gnb.cu_up.borrow();
    let of_other = cu.value(&since, other, measurement(&cu, name), &MeasurementLabel::NO_LABEL);
    assert_eq!(of_other, Value::NoValue);
    // handovers are counted where they begin, and where they end
    let cu = gnb.cu_cp.borrow();
    let mut start = Vec::new();
    start.resize_with(cells.len(), CounterSnapshot::default);
    let executed = |object| {
        let at = measurement(&cu, "MM.HoExeInterReq");
        cu.value(&start, object, at, &MeasurementLabel::NO_LABEL).number().unwrap()
    };
    let of_cells: f64 = cells.iter().map(|cell| executed(MeasuredObject::OneCell(*cell))).sum();
    assert_eq!((executed(MeasuredObject::Cell), of_cells > 0.0), (of_cells, true));
}

#[test]
fn handovers_between_dus_wait_for_the_decision_of_controllers() {
    let mut scenario = scenario();
    scenario.handover.a3_offset_db = None;
    let config = RanConfig { scenario, handovers_per_minute: 600, ..RanConfig::default() }.with_parts();
    let simulation = RanSimulation::new(&config.scenario).unwrap();
    let mut cu = Cu::new(&config, &[0, 1], NodeType::CuCp, &simulation);
    KpmSource::advance(&mut cu, at(0));
    let mut decided = Vec::new();
    for tenth in 1..=3 {
        while let Some(event) = cu.next_event(at(100 * tenth)) {
            let ran_functions::rc::Event::Breakpoint { procedure, ue, .. } = event else { continue };
            assert!(ues(&cu).contains(&ue), "{ue:?}");
            decided.push(procedure);
            cu.resume(at(100 * tenth), procedure, Verdict::Cancel);
        }
    }
    let distinct: std::collections::BTreeSet<u64> = decided.iter().map(|procedure| procedure.0).collect();
    assert!(decided.len() >= 2 && distinct.len() == decided.len(), "{decided:?}");
    assert_eq!(ues(&cu).len(), 4, "none was handed over");
}
