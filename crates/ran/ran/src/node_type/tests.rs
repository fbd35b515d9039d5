//! The three nodes of a split gNB: each has its own functions, and controls of one have effect on all.

use std::time::Duration;

use e2sm::ccc::{AdministrativeState, NrCellDu, RanConfigurationStructure};
use e2sm::common::{FiveQi, NrArfcn, NrPci, ServingCellArfcn, ServingCellPci};
use e2sm::kpm::MeasurementLabel;
use e2sm::rc::{ControlAction, DrbQos, Handover, NeighborCellItem, QosFlowMapping};
use e2sm::tc::PacerParameters;
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;
use radio::tc::PacerChoice;
use ran_functions::association::UeDirectory;
use ran_functions::ccc::{CccSource, ConfigScope};
use ran_functions::kpm::{KpmSource, MeasuredObject};
use ran_functions::rc::{Origin, RcSource};
use ran_functions::rrc::RrcSource;
use ran_functions::tc::{Configuration, TcSource};

use super::*;
use crate::node::Node;
use crate::scenario::{CellScenario, ChannelScenario, FlowScenario, Scenario, UeScenario};
use crate::{RanConfig, testing};

const RIC: Origin = Origin::Control(ControllerId(1));

fn at(second: u64) -> Time {
    Time::from_nanos(5_000_000_000) + Duration::from_secs(second)
}

/// The three nodes of a split gNB and a second gNB, with three UEs in the first cell.
fn nodes() -> [Node; 4] {
    let kind = radio::traffic::Kind::ConstantBitRate { rate_bps: 2_000_000, packet_octets: 1000 };
    let specification = radio::traffic::FlowSpecification::new(kind);
    let ue = UeScenario {
        cell: 0,
        subscription: radio::Subscription { mcc: MCC, mnc: MNC, sst: 1, five_qi: 9, ..Default::default() },
        max_carriers: 1,
        channel: ChannelScenario::Mcs(15),
        flows: vec![FlowScenario { specification, ports: (80, 81) }],
        arrives: radio::Time::START,
        leaves: None,
    };
    let split = CellScenario { is_split: true, ..CellScenario::default() };
    let cells = vec![split, CellScenario::default()];
    let scenario = Scenario { cells, ues: vec![ue; 3], ..Scenario::default() };
    let nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
    let mut nodes: [Node; 4] = nodes.try_into().unwrap();
    advance(&mut nodes, 0);
    advance(&mut nodes, 1);
    nodes
}

fn advance(nodes: &mut [Node], second: u64) {
    nodes.iter_mut().for_each(|node| KpmSource::advance(node, at(second)));
}

fn measure(node: &mut Node, name: &str, from: u64, until: u64) -> f64 {
    let offer = KpmSource::measurements(node).iter().position(|offer| offer.name == name).unwrap();
    KpmSource::advance(node, at(from));
    let mut mark = Default::default();
    node.take_snapshot(&mut mark);
    KpmSource::advance(node, at(until));
    // a locked cell has no slots, and no value
    node.value(&mark, MeasuredObject::Cell, offer, &MeasurementLabel::NO_LABEL).number().unwrap_or(0.0)
}

fn ues(node: &Node) -> usize {
    let mut ues = Vec::new();
    KpmSource::ues(node, &mut ues);
    ues.len()
}

#[test]
fn node_types_have_their_own_functions() {
    fn offers(node: &Node) -> Vec<&str> {
        KpmSource::measurements(node).iter().map(|offer| &*offer.name).collect()
    }
    fn structures(node: &Node) -> Vec<&str> {
        CccSource::structures(node).iter().map(|offer| &*offer.name).collect()
    }
    let [cu_cp, cu_up, du, gnb] = nodes();
    let ids = [&cu_cp, &cu_up, &du, &gnb].map(|node| node.id().to_string());
    assert_eq!(ids, ["gnb-00101-e00", "gnb-00101-e00-cu-up-1", "gnb-00101-e00-du-1", "gnb-00101-e01"]);
    let of_rrc = offers(&cu_cp);
    assert_eq!(of_rrc[..4], ["RRC.ConnMean", "RRC.InactiveConnMean", "RRC.ConnMax", "RRC.ConnEstabAtt"]);
    let families = |name: &&str| ["RRC.", "MM.", "HO."].iter().any(|family| name.starts_with(family));
    assert!(of_rrc.iter().all(families), "{of_rrc:?}");
    let of_pdcp = [
        "DRB.PdcpSduVolumeDL",
        "DRB.PdcpSduVolumeUL",
        "DRB.PacketLossRateUl",
        "DRB.PdcpSduDelayDl",
        "DRB.PdcpPacketDropRateDl",
        "DRB.PacketSuccessRateUlgNBUu",
        "DRB.PdcpReordDelayUl",
        "QosFlow.PdcpPduVolumeDL_Filter",
    ];
    assert_eq!(offers(&cu_up), of_pdcp);
    assert!(offers(&du).contains(&"L1M.DL-SS-RSRP"), "the DU has the reports of L1");
    assert!(offers(&du).contains(&"RRU.PrbTotDl") && offers(&du).contains(&"CQI"));
    assert!(offers(&du).contains(&"DRB.UEThpDl") && offers(&du).contains(&"DRB.RlcSduDelayDl"));
    let mut all = [offers(&cu_cp), offers(&cu_up), offers(&du)].concat();
    all.sort_unstable();
    let mut whole = offers(&gnb);
    whole.sort_unstable();
    assert_eq!(all, whole, "a split gNB has the measurements of a gNB, each once");
    assert_eq!(structures(&cu_cp), ["O-GNBCUCPFunction", "O-NRCellCU", "O-NRCellRelation"]);
    assert_eq!(
        structures(&du),
        ["O-GNBDUFunction", "O-NRCellDU", "O-RRMPolicyRatio", "O-CESManagementFunction", "O-NESPolicy"]
    );
    let actions = [RcSource::control_actions(&cu_cp), RcSource::control_actions(&du)].concat();
    assert_eq!(actions.len(), RcSource::control_actions(&gnb).len());
    assert_eq!(RcSource::control_actions(&du), [ControlAction::DRX, ControlAction::SLICE_PRB_QUOTA]);
    assert!(RcSource::breakpoints(&du).is_empty() && !RcSource::breakpoints(&cu_cp).is_empty());
}

#[test]
fn ue_ids_of_a_split_gnb_are_consistent() {
    let [cu_cp, cu_up, du, _] = nodes();
    let names = [&cu_cp, &cu_up, &du].map(|node| KpmSource::ue_id(node, Ue(2)));
    let [UeId::Gnb(cu_cp), UeId::GnbCuUp(cu_up), UeId::GnbDu(du)] = names else { panic!("{names:?}") };
    let f1ap = cu_cp.gnb_cu_ue_f1ap_id_list.as_ref().unwrap()[0].gnb_cu_ue_f1ap_id;
    let e1ap = cu_cp.gnb_cu_cp_ue_e1ap_id_list.as_ref().unwrap()[0].gnb_cu_cp_ue_e1ap_id;
    assert_eq!((f1ap, e1ap), (du.gnb_cu_ue_f1ap_id, cu_up.gnb_cu_cp_ue_e1ap_id));
    assert_eq!((cu_cp.ran_ueid, cu_cp.ran_ueid), (du.ran_ueid, cu_up.ran_ueid));
}

#[test]
fn ue_is_found_by_an_id_that_omits_optional_parts() {
    let [cu_cp, cu_up, du, _] = nodes();
    let UeId::Gnb(whole) = KpmSource::ue_id(&cu_cp, Ue(2)) else { panic!("a gNB") };
    let mut less = (*whole).clone();
    (less.gnb_cu_ue_f1ap_id_list, less.gnb_cu_cp_ue_e1ap_id_list, less.ran_ueid) = (None, None, None);
    let find = |id| UeDirectory::find(&cu_cp, &UeId::Gnb(Single::from(id)));
    assert_eq!((find(less.clone()), find((*whole).clone())), (Some(Ue(2)), Some(Ue(2))));
    // a part that belongs to another UE
    assert_eq!(find(UeIdGnb { ran_ueid: Some(RanUeId([9; 8])), ..less.clone() }), None);
    let other = GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(999) };
    assert_eq!(find(UeIdGnb { gnb_cu_ue_f1ap_id_list: Some(List::from(vec![other])), ..less }), None);
    let UeId::GnbDu(whole) = KpmSource::ue_id(&du, Ue(2)) else { panic!("a DU") };
    assert_eq!(UeDirectory::find(&du, &UeId::GnbDu(UeIdGnbDu { ran_ueid: None, ..whole })), Some(Ue(2)));
    let UeId::GnbCuUp(whole) = KpmSource::ue_id(&cu_up, Ue(2)) else { panic!("a CU-UP") };
    assert_eq!(UeDirectory::find(&cu_up, &UeId::GnbCuUp(UeIdGnbCuUp { ran_ueid: None, ..whole })), Some(Ue(2)));
}

#[test]
fn control_of_one_node_has_effect_on_all() {
    let mut nodes = nodes();
    let busy = measure(&mut nodes[1], "DRB.PdcpSduVolumeDL", 1, 2);
    assert!(busy > 5_000.0, "three UEs with 2 Mbit/s each: {busy} kbit");

    let cell = KpmSource::cell(&nodes[2]);
    // its physical cell identity appears at neighbours and at the CU-CP
    let wanted = RanConfigurationStructure::NrCellDu(NrCellDu { nr_pci: Some(7), ..NrCellDu::default() });
    nodes[2].write(at(6), ControllerId(1), ConfigScope::Cell(cell), None, &wanted).unwrap();
    let own = nodes[0].neighbor_relations(&cell).unwrap();
    assert_eq!(own.serving_cell_pci, ServingCellPci::Nr(NrPci(7)));
    assert_eq!(own.serving_cell_arfcn, ServingCellArfcn::Nr(NrArfcn { nr_arfcn: 640_000 }), "3600 MHz");
    let of_neighbour = nodes[3].neighbor_relations(&KpmSource::cell(&nodes[3])).unwrap();
    assert!(matches!(&of_neighbour.neighbor_cell_list[0], NeighborCellItem::Nr(nr) if nr.nr_pci == NrPci(7)));

    // traffic control set at the CU-UP applies to the cell
    let tc = Configuration {
        pacer: PacerParameters::Bdp5g(e2sm::tc::Bdp { drb_octets: 0, timestamp_us: 0 }),
        ..Configuration::default()
    };
    TcSource::configure(&mut nodes[1], tc).unwrap();
    assert_eq!(nodes[2].cell().config().tc.pacer, PacerChoice::Bdp5g);

    // a bearer changed by the CU-CP is changed for the others
    let qos = DrbQos { drb_id: 1, five_qi: Some(5), ..DrbQos::default() };
    nodes[0].control(at(6), RIC, Some(Ue(0)), &ControlAction::DrbQos(qos)).unwrap();
    let flows = vec![e2sm::rc::MappedFlow { qfi: 9, direction: None }];
    let mapping = QosFlowMapping { drb_id: 2, flows };
    nodes[0].control(at(6), RIC, Some(Ue(1)), &ControlAction::QosFlowMapping(mapping)).unwrap();
    advance(&mut nodes, 7);
    for node in &nodes[..3] {
        assert_eq!(node.five_qis(Ue(0)), [FiveQi(5)], "{:?}", node.node_type);
        assert_eq!(node.context(Ue(1)).unwrap().drb, 2, "{:?}", node.node_type);
    }
    assert_eq!(nodes[2].cell().ue(1).unwrap().bearers().len(), 2);

    // a UE handed over by the CU-CP has left all nodes, and is reported once
    let mut notifications = Vec::new();
    nodes[0].take_events(&mut notifications);
    nodes[0].control(at(7), RIC, Some(Ue(0)), &ControlAction::Handover(Handover::to(testing::cell_of(1)))).unwrap();
    advance(&mut nodes, 8);
    assert_eq!(nodes.each_ref().map(ues), [2, 2, 2, 1]);
    let reporting = nodes.each_ref().map(RrcSource::has_events);
    assert_eq!(reporting, [true, false, false, true]);

    // the cell is locked at the DU: the UEs leave all nodes, and the DU measures no traffic
    let wanted = NrCellDu { administrative_state: Some(AdministrativeState::Locked), ..NrCellDu::default() };
    let wanted = RanConfigurationStructure::NrCellDu(wanted);
    nodes[2].write(at(8), ControllerId(1), ConfigScope::Cell(cell), None, &wanted).unwrap();
    assert_eq!(measure(&mut nodes[2], "RRU.PrbTotDl", 9, 10), 0.0);
    assert!(nodes[0].cell().is_locked());
    advance(&mut nodes, 10);
    assert_eq!(nodes.each_ref().map(ues), [0, 0, 0, 3]);
}

#[test]
fn lte_cell_is_an_enb() {
    let mut cell = CellScenario::default();
    cell.radio.carrier = radio::phy::Carrier::lte();
    let lte = Scenario { cells: vec![CellScenario::default(), cell], ..Scenario::with_mixed_traffic(2, 4, 1) };
    let mut nodes = testing::nodes(&RanConfig { scenario: lte, ..RanConfig::default() });
    advance(&mut nodes, 0);
    let [gnb, enb] = &mut nodes[..] else { panic!() };
    assert_eq!((gnb.id().to_string(), enb.id().to_string()), ("gnb-00101-e00".into(), "enb-00101-e01".into()));
    let target = KpmSource::cell(enb);
    assert!(matches!(target, Cgi::EutraCgi(cgi) if cgi.eutra_cell_identity.value == 0xe01 << 8 | 1));
    let UeId::Enb(name) = KpmSource::ue_id(enb, Ue(0)) else { panic!() };
    assert_eq!(name.mme_ue_s1ap_id, MmeUeS1apId(0xe00 << 16 | 4), "the same numbers as for gNBs");
    assert!(!RcSource::control_actions(enb).contains(&ControlAction::SLICE_PRB_QUOTA));
    gnb.control(at(1), RIC, Some(Ue(1)), &ControlAction::Handover(Handover::to(target))).unwrap();
    KpmSource::advance(enb, at(2));
    assert_eq!((ues(gnb), ues(enb)), (3, 5));
    assert!(enb.has_events());
}

#[test]
fn ue_that_another_part_has_met_first_has_its_id() {
    let mut scenario = Scenario::without_traffic(1);
    scenario.cells[0].is_split = true;
    scenario.ues[0].arrives = radio::Time::from_millis(1000);
    let mut parts = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
    for part in &mut parts {
        KpmSource::advance(part, at(0));
    }
    KpmSource::advance(&mut parts[0], at(2));
    for part in &parts[1..] {
        let mut ues = Vec::new();
        KpmSource::ues(part, &mut ues);
        assert_eq!(ues.len(), 1, "the parts share the cell");
        assert_eq!(part.amf_ue_ngap_id(ues[0]), parts[0].amf_ue_ngap_id(ues[0]));
        assert_ne!(part.amf_ue_ngap_id(ues[0]), 0);
    }
}
