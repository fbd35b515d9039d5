use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceE1,
    E2NodeComponentInterfaceF1, E2NodeComponentInterfaceNg, E2NodeComponentInterfaceType, GnbCuUpId, GnbDuId, GnbId,
    PlmnIdentity,
};
use e2ap::{GlobalE2NodeEnbId, GlobalE2NodeNgEnbId};
use e2sm::common::{
    AmfUeNgapId, EnbId, GlobalEnbId, GlobalNgEnbId, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId,
    GnbCuUeF1apIdItem, Guami, Gummei, MmeUeS1apId, NgEnbCuUeW1apId, NgEnbId, RanUeId, UeIdEnb, UeIdGnb, UeIdGnbCuUp,
    UeIdGnbDu, UeIdNgEnb,
};
use per::{Bits, List, Octets, PrintableString, Single};

use super::*;

type Component = E2NodeComponentConfigAdditionItem<'static>;

fn all<const N: usize>(listed: [Component; N]) -> Components {
    Components { listed: listed.into(), ..Components::default() }
}

/// An F1 SETUP REQUEST with three cells, made with pycrate's TS 38.473.
const F1_SETUP: &str = "0001008092000005004e00020003002a0003200e00002d400400806475002c00710002002b0021080000f1101234567890\
    00000000010000f110410009a73400004d002700021011002b0021080000f11012345678a000010000010000f110410009a73400004d0027\
    00021011002b0021080000f11012345678b000020000010000f110410009a73400004d00270002101100ab000100";

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

fn gnb(number: u32, du: Option<i64>, cu_up: Option<i64>) -> GlobalE2NodeId {
    let GlobalE2NodeId::Gnb(mut id) = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22))
    else {
        panic!("a gNB")
    };
    (id.gnb_du_id, id.gnb_cu_up_id) = (du.map(GnbDuId), cu_up.map(GnbCuUpId));
    GlobalE2NodeId::Gnb(id)
}

fn component(
    interface_type: E2NodeComponentInterfaceType,
    id: E2NodeComponentId<'static>,
    request: Vec<u8>,
) -> Component {
    let configuration =
        E2NodeComponentConfiguration { request_part: Octets::from(request), response_part: Octets::default() };
    Component { interface_type, id, configuration }
}

fn f1(du: i64) -> Component {
    let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(du) });
    component(E2NodeComponentInterfaceType::F1, id, Vec::new())
}

fn e1(cu_up: i64) -> Component {
    let id = E2NodeComponentId::E1(E2NodeComponentInterfaceE1 { gnb_cu_up_id: GnbCuUpId(cu_up) });
    component(E2NodeComponentInterfaceType::E1, id, Vec::new())
}

fn ng() -> Component {
    let id = E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("amf") });
    component(E2NodeComponentInterfaceType::Ng, id, Vec::new())
}

fn events(ran: &mut RanDatabase) -> Vec<RanEvent> {
    std::iter::from_fn(|| ran.poll_event()).collect()
}

const CU: NodeId = NodeId(1);
const DU: NodeId = NodeId(2);
const UP: NodeId = NodeId(3);
const STATION: BaseStationId = BaseStationId(1);

/// A gNB of three parts.
fn split() -> RanDatabase {
    let mut ran = RanDatabase::new(100);
    ran.update_node(CU, gnb(7, None, None), &all([ng(), f1(5), e1(6)]));
    ran.update_node(DU, gnb(7, Some(5), None), &all([f1(5)]));
    ran.update_node(UP, gnb(7, None, Some(6)), &all([e1(6)]));
    events(&mut ran);
    ran
}

#[test]
fn unsplit_base_station_is_complete() {
    let mut ran = RanDatabase::new(100);
    ran.update_node(CU, gnb(7, None, None), &all([ng()]));
    assert_eq!(events(&mut ran), [RanEvent::NodeCame { node: CU, station: STATION }, RanEvent::Complete(STATION)]);
    ran.node_lost(CU);
    assert_eq!(events(&mut ran), [RanEvent::NodeLost { node: CU, station: STATION }, RanEvent::StationLost(STATION)]);
    assert_eq!(ran.stations().count(), 0);
    ran.node_lost(CU);
    assert_eq!(events(&mut ran), []);
}

#[test]
fn parts_form_a_base_station_in_any_order() {
    let mut ran = RanDatabase::new(100);
    ran.update_node(DU, gnb(7, Some(5), None), &all([]));
    let missing = |ran: &RanDatabase| ran.station(STATION).unwrap().missing().map(|part| part.0).collect::<Vec<_>>();
    assert_eq!(missing(&ran), [Part::Control], "a DU has an F1, whether it says so or not");
    ran.update_node(CU, gnb(7, None, None), &all([ng(), f1(5), f1(55), e1(6)]));
    assert_eq!(missing(&ran), [Part::Du(55), Part::CuUp(6)]);
    ran.update_node(UP, gnb(7, None, Some(6)), &all([e1(6)]));
    let other_du = NodeId(4);
    let came = |node| RanEvent::NodeCame { node, station: STATION };
    assert_eq!(events(&mut ran), [came(DU), came(CU), came(UP)]);
    ran.update_node(other_du, gnb(7, Some(55), None), &all([f1(55)]));
    assert_eq!(events(&mut ran), [came(other_du), RanEvent::Complete(STATION)]);
    assert_eq!(ran.station(STATION).unwrap().node(Part::Du(55)), Some(other_du));

    // another base station is another one
    ran.update_node(NodeId(9), gnb(8, Some(5), None), &all([]));
    assert_eq!(ran.station_of(NodeId(9)).unwrap().id(), BaseStationId(2));
    assert_eq!(ran.station_of(DU).unwrap().id(), STATION);
    events(&mut ran);

    ran.node_lost(UP);
    let lost = |node| RanEvent::NodeLost { node, station: STATION };
    assert_eq!(events(&mut ran), [lost(UP), RanEvent::Incomplete(STATION)]);
    // its CU-CP gives the interface up: what is left is whole
    ran.update_node(CU, gnb(7, None, None), &all([ng(), f1(5), f1(55)]));
    assert_eq!(events(&mut ran), [RanEvent::Complete(STATION)]);
    assert_eq!(missing(&ran), []);
    assert_eq!(MissingPart(Part::Du(3)).to_string(), "the DU 3, which an F1 or W1 leads to");
}

#[test]
fn cells_come_from_f1_setups() {
    let mut ran = RanDatabase::new(100);
    let whole = octets(F1_SETUP);
    let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(5) });
    let with = |request: &[u8]| component(E2NodeComponentInterfaceType::F1, id.clone(), request.to_vec());
    ran.update_node(DU, gnb(7, Some(5), None), &all([with(&whole)]));
    let cells =
        |ran: &RanDatabase| ran.station(STATION).unwrap().cells().map(|(_, cell)| cell.to_string()).collect::<Vec<_>>();
    assert_eq!(cells(&ran), ["nr-00101-123456789", "nr-00101-12345678a", "nr-00101-12345678b"]);
}

#[test]
fn cell_that_cu_cp_and_du_declare_is_one_of_the_du() {
    let mut ran = RanDatabase::new(100);
    let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(5) });
    let f1 = || component(E2NodeComponentInterfaceType::F1, id.clone(), octets(F1_SETUP));
    ran.update_node(CU, gnb(7, None, None), &all([ng(), f1()]));
    let nodes = |ran: &RanDatabase| ran.station(STATION).unwrap().cells().map(|(node, _)| node).collect::<Vec<_>>();
    assert_eq!(nodes(&ran), [CU; 3]);
    ran.update_node(DU, gnb(7, Some(5), None), &all([f1()]));
    assert_eq!(nodes(&ran), [DU; 3]);
    ran.node_lost(DU);
    assert_eq!(nodes(&ran), [CU; 3]);
}

#[test]
fn truncated_and_malformed_setups_have_no_effect() {
    let mut ran = RanDatabase::new(100);
    let whole = octets(F1_SETUP);
    let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(5) });
    let with = |request: &[u8]| component(E2NodeComponentInterfaceType::F1, id.clone(), request.to_vec());
    for length in 0..whole.len() {
        ran.update_node(DU, gnb(7, Some(5), None), &all([with(&whole[..length])]));
        assert_eq!(ran.station(STATION).unwrap().cells().count(), 0);
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        ran.update_node(DU, gnb(7, Some(5), None), &all([with(&bytes)]));
    }
}

fn ngap(number: u64) -> UeName {
    UeName::Ngap { guami: [0, 0xf1, 0x10, 1, 0, 0x41], amf_ue_ngap_id: number }
}

fn at(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

#[test]
fn names_of_one_ue_are_merged() {
    let mut ran = split();
    let du = ran.learn_ue(at(1), DU, &[UeName::F1ap(20), UeName::Local(0x4601)]).unwrap();
    let up = ran.learn_ue(at(1), UP, &[UeName::E1ap(30)]).unwrap();
    assert_ne!(du, up, "nothing says yet that they are one");
    assert_eq!(ran.merge_state(ran.ue(du).unwrap()), UeMergeState::Alone);
    let cu = ran.learn_ue(at(2), CU, &[ngap(1), UeName::F1ap(20), UeName::E1ap(30)]).unwrap();
    assert_eq!(cu, du);
    assert_eq!(events(&mut ran), [RanEvent::UesJoined { stays: du, gone: up }]);
    let ue = ran.find_ue(UP, &UeName::E1ap(30)).unwrap();
    assert_eq!((ue.id(), ran.merge_state(ue), ue.views().len(), ue.heard()), (du, UeMergeState::Joined, 3, at(2)));
    assert_eq!(ran.find_ue(DU, &UeName::Local(0x4601)).unwrap().id(), du);
    assert!(ran.find_ue(CU, &UeName::Local(0x4601)).is_none(), "it means something to the DU only");
    assert!(ran.ue(up).is_none());
    assert_eq!(ran.ues_of(STATION).count(), 1);

    // what only one part knows it by cannot be joined, and that is said
    let local = ran.learn_ue(at(3), DU, &[UeName::Local(0x4602)]).unwrap();
    assert_eq!(ran.merge_state(ran.ue(local).unwrap()), UeMergeState::NoSharedName);

    // a part that leaves takes its view with it
    ran.node_lost(DU);
    assert!(ran.ue(local).is_none());
    let ue = ran.find_ue(CU, &ngap(1)).unwrap();
    assert!(ue.views().iter().all(|view| view.node != DU));
    assert!(ran.find_ue(CU, &UeName::F1ap(20)).is_some(), "the CU still calls it so");
}

fn guami() -> Guami {
    Guami {
        plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
        amf_region_id: Bits::new(2, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(3, 6),
    }
}

/// A UE ID of a CU-CP.
fn gnb_ue(amf: i64, f1ap: &[u32], e1ap: &[u32], ran_ueid: Option<RanUeId>) -> UeId<'static> {
    let f1ap = f1ap.iter().map(|id| GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(*id) });
    let e1ap = e1ap.iter().map(|id| GnbCuCpUeE1apIdItem { gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(*id) });
    UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(amf),
        guami: guami(),
        gnb_cu_ue_f1ap_id_list: Some(f1ap.collect()).filter(|list: &List<'_, _>| !list.is_empty()),
        gnb_cu_cp_ue_e1ap_id_list: Some(e1ap.collect()).filter(|list: &List<'_, _>| !list.is_empty()),
        ran_ueid,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }))
}

fn du_ue(id: u32, ran_ueid: Option<RanUeId>) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid, cell_rnti: None })
}

fn cu_up_ue(id: u32, ran_ueid: Option<RanUeId>) -> UeId<'static> {
    UeId::GnbCuUp(UeIdGnbCuUp { gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(id), ran_ueid })
}

/// As srsRAN and OCUDU report UEs: the DU by F1AP id, the CU-UP by E1AP id, the CU-CP by all.
#[test]
fn each_part_gets_the_fullest_ue_id_of_its_kind() {
    let mut ran = split();
    ran.learn_ue_id(at(1), DU, &du_ue(20, None)).unwrap();
    ran.learn_ue_id(at(1), UP, &cu_up_ue(30, None)).unwrap();
    let id_for = |ran: &RanDatabase, node| ran.ue_id_for(node, ran.find_ue(DU, &UeName::F1ap(20)).unwrap());
    assert_eq!((id_for(&ran, DU), id_for(&ran, CU)), (Some(du_ue(20, None)), None), "the AMF id is unknown");
    let whole = gnb_ue(1, &[20], &[30], None);
    let ue = ran.learn_ue_id(at(2), CU, &whole).unwrap();
    assert_eq!(ran.find_ue(UP, &UeName::E1ap(30)).unwrap().id(), ue);
    assert_eq!(id_for(&ran, CU), Some(whole));
    assert_eq!((id_for(&ran, DU), id_for(&ran, UP)), (Some(du_ue(20, None)), Some(cu_up_ue(30, None))));
}

/// As OAI reports UEs: each part by its own id and the RAN UE ID.
#[test]
fn ue_id_contains_names_that_only_other_parts_report() {
    let shared = Some(RanUeId([0, 0, 0, 0, 0, 0, 0, 9]));
    let mut ran = split();
    ran.learn_ue_id(at(1), DU, &du_ue(20, shared)).unwrap();
    ran.learn_ue_id(at(1), UP, &cu_up_ue(30, shared)).unwrap();
    let ue = ran.learn_ue_id(at(1), CU, &gnb_ue(7, &[], &[], shared)).unwrap();
    let ue = ran.ue(ue).unwrap();
    assert_eq!(ran.merge_state(ue), UeMergeState::Joined);
    assert_eq!(ran.ue_id_for(CU, ue), Some(gnb_ue(7, &[20], &[30], shared)));
    // what the node reports itself is right if another part disagrees
    let ue = ran.learn_ue_id(at(2), CU, &gnb_ue(7, &[21], &[], shared)).unwrap();
    assert_eq!(ran.ue_id_for(CU, ran.ue(ue).unwrap()), Some(gnb_ue(7, &[21], &[30], shared)));
    assert_eq!(ran.ue_id_for(DU, ran.ue(ue).unwrap()), Some(du_ue(20, shared)));
}

#[test]
fn ue_ids_of_other_base_stations_keep_their_names() {
    let gummei = Gummei { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), mme_group_id: [1, 2], mme_code: [3] };
    let enb_ue = UeId::Enb(Single::from(UeIdEnb {
        mme_ue_s1ap_id: MmeUeS1apId(5),
        gummei,
        m_enb_ue_x2ap_id: None,
        m_enb_ue_x2ap_id_extension: None,
        global_enb_id: None,
        cell_rnti: None,
    }));
    let ng_enb_ue = UeId::NgEnb(Single::from(UeIdNgEnb {
        amf_ue_ngap_id: AmfUeNgapId((1 << 40) - 1),
        guami: guami(),
        ng_enb_cu_ue_w1ap_id: Some(NgEnbCuUeW1apId(6)),
        m_ng_ran_ue_xnap_id: None,
        global_ng_enb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }));
    let global_enb_id =
        GlobalEnbId { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), enb_id: EnbId::MacroEnbId(Bits::new(7, 20)) };
    let enb = GlobalE2NodeId::Enb(GlobalE2NodeEnbId { global_enb_id });
    let names = |ue: &UeId<'_>| UeName::all_of(ue).into_iter().collect();
    assert_eq!(UeName::to_ue_id(&names(&enb_ue), &enb), Some(enb_ue));
    let global_ng_enb_id = GlobalNgEnbId {
        plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
        ng_enb_id: NgEnbId::MacroNgEnbId(Bits::new(7, 20)),
    };
    let ng_enb =
        GlobalE2NodeId::NgEnb(GlobalE2NodeNgEnbId { global_ng_enb_id, global_enb_id: None, ng_enb_du_id: None });
    assert_eq!(UeName::to_ue_id(&names(&ng_enb_ue), &ng_enb), Some(ng_enb_ue.clone()));
    assert_eq!(UeName::to_ue_id(&names(&ng_enb_ue), &enb), None);
}

/// A UE ID may contain 65,535 E1AP ids.
#[test]
fn names_of_one_ue_id_are_bounded() {
    let many: Vec<u32> = (0..65_535).collect();
    assert_eq!(UeName::all_of(&gnb_ue(1, &[1, 2, 3, 4], &many, None)).len(), 1 + 4 + 8);
}

#[test]
fn reassigned_name_moves_to_another_ue() {
    let mut ran = split();
    let first = ran.learn_ue(at(1), CU, &[ngap(1), UeName::F1ap(20)]).unwrap();
    ran.learn_ue(at(1), DU, &[UeName::F1ap(20), UeName::Local(1)]).unwrap();
    // the CU gives the F1AP id to another UE
    let second = ran.learn_ue(at(2), CU, &[ngap(2), UeName::F1ap(20)]).unwrap();
    assert_ne!(first, second);
    assert_eq!(ran.find_ue(DU, &UeName::F1ap(20)).unwrap().id(), second);
    assert!(!ran.ue(first).unwrap().names().any(|name| *name == UeName::F1ap(20)));
    assert_eq!(ran.find_ue(CU, &ngap(1)).unwrap().id(), first);
    // and the old one moves to another
    assert_eq!(ran.learn_ue(at(3), CU, &[ngap(1), UeName::F1ap(21)]), Some(first));
    assert_eq!(events(&mut ran), []);

    // a node's word replaces its own older one
    ran.learn_ue(at(4), CU, &[ngap(1), UeName::F1ap(22)]);
    assert!(ran.find_ue(CU, &UeName::F1ap(21)).is_none());

    assert!(ran.forget_ue(CU, &ngap(1)) && !ran.forget_ue(CU, &ngap(1)));
    assert!(ran.find_ue(CU, &UeName::F1ap(22)).is_none());
    assert!(ran.learn_ue(at(5), CU, &[]).is_none() && ran.learn_ue(at(5), NodeId(99), &[ngap(1)]).is_none());
}

#[test]
fn number_of_ues_is_bounded() {
    let mut ran = split();
    for number in 0..250 {
        ran.learn_ue(at(number), CU, &[ngap(number), UeName::F1ap(number as u32)]).unwrap();
    }
    assert_eq!(ran.ues_of(STATION).count(), 100);
    assert!(ran.find_ue(CU, &ngap(149)).is_none() && ran.find_ue(CU, &ngap(150)).is_some(), "the oldest make room");
    ran.node_lost(CU);
    assert_eq!((ran.ues_of(STATION).count(), ran.ues.is_empty()), (0, true));
}

#[test]
fn indexes_agree_after_random_reports() {
    let mut ran = split();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for second in 0..20_000 {
        let node = [CU, DU, UP][next(3) as usize];
        let names: Vec<_> = (0..next(4))
            .map(|_| match next(6) {
                0 => ngap(next(6)),
                5 => UeName::Rnti { rnti: next(6) as u16, cell: Some(next(2)) },
                1 => UeName::F1ap(next(6) as u32),
                2 => UeName::E1ap(next(6) as u32),
                3 => UeName::RanUeId([next(6) as u8; 8]),
                _ => UeName::Local(next(6)),
            })
            .collect();
        match next(40) {
            0 => {
                ran.node_lost(node);
                let (du, up) = ((node == DU).then_some(5), (node == UP).then_some(6));
                ran.update_node(node, gnb(7, du, up), &all([]));
            }
            6..8 => {
                let cell = (next(2) == 0).then(|| next(2));
                assert!(ran.see_rnti(at(second), node, next(6) as u16, cell).is_some());
            }
            1..6 => {
                for name in &names {
                    ran.forget_ue(node, name);
                }
            }
            _ => {
                let ue = ran.learn_ue(at(second), node, &names);
                assert_eq!(ue.is_some(), !names.is_empty());
                for name in &names {
                    assert_eq!(ran.find_ue(node, name).map(Ue::id), ue);
                }
            }
        }
        ran.ues.check();
        ran.events.clear();
    }
}

const CELL: u64 = 0x380_4001;

fn rnti(rnti: u16) -> UeName {
    UeName::Rnti { rnti, cell: Some(CELL) }
}

fn resolved(ran: &RanDatabase, text: &str) -> Result<UeRef, ResolveError> {
    ran.resolve(&text.parse().unwrap()).map(Ue::id)
}

/// RRC at the CU-CP reports the C-RNTI and the cell, MAC at the DU the C-RNTI alone.
#[test]
fn rnti_joins_reports_of_the_parts() {
    let mut ran = split();
    let ue = ran.learn_ue(at(1), CU, &[ngap(1), UeName::F1ap(20), rnti(0x4601)]).unwrap();
    ran.learn_ue(at(1), DU, &[UeName::F1ap(20), rnti(0x4601)]).unwrap();
    assert_eq!(ran.see_rnti(at(2), DU, 0x4601, None), Some(ue), "the node has reported one cell only");
    assert_eq!(ran.ue(ue).unwrap().heard(), at(2));
    for text in ["amf:1", "f1ap:20", "rnti:0x4601@003804001", "rnti:0x4601@gnb-00101-7-du-5"] {
        assert_eq!(resolved(&ran, text), Ok(ue), "{text}");
    }
    // what KPM reports later without the C-RNTI does not remove it
    ran.learn_ue(at(3), CU, &[ngap(1), UeName::F1ap(20)]).unwrap();
    assert_eq!(resolved(&ran, "rnti:0x4601@gnb-00101-7"), Ok(ue));
    // a UE of which MAC alone reports is one, too
    let other = ran.see_rnti(at(3), DU, 0x4602, None).unwrap();
    assert_eq!(resolved(&ran, "rnti:0x4602@003804001"), Ok(other));
    assert!(ran.forget_ue(DU, &rnti(0x4602)) && ran.ue(other).is_none());
    assert_eq!(ran.see_rnti(at(3), NodeId(99), 1, None), None);
}

#[test]
fn rnti_without_a_cell_gets_it_from_the_first_report_that_has_it() {
    let mut ran = split();
    let first = ran.see_rnti(at(1), DU, 0x4601, None).unwrap();
    assert_eq!(ran.identity(ran.ue(first).unwrap()).to_string(), "rnti:0x4601");
    assert_eq!(resolved(&ran, "rnti:0x4601@gnb-00101-7-du-5"), Ok(first));
    let ue = ran.learn_ue(at(2), DU, &[UeName::F1ap(20), rnti(0x4601)]).unwrap();
    assert!(ran.ue(first).is_none(), "it is the same UE");
    assert_eq!(ran.see_rnti(at(3), DU, 0x4601, None), Some(ue));
    assert_eq!(ran.ues().len(), 1);
}

#[test]
fn new_rnti_of_a_ue_replaces_that_of_all_parts() {
    let mut ran = split();
    let ue = ran.learn_ue(at(1), CU, &[ngap(1), UeName::F1ap(20), rnti(0x4601)]).unwrap();
    ran.see_rnti(at(1), DU, 0x4601, None);
    // the UE re-establishes its connection
    assert_eq!(ran.learn_ue(at(2), CU, &[ngap(1), UeName::F1ap(20), rnti(0x4602)]), Some(ue));
    assert_eq!(ran.identity(ran.ue(ue).unwrap()).rnti, Some(0x4602));
    assert!(ran.find_ue(DU, &rnti(0x4601)).is_none());
    // another UE gets the former one
    let other = ran.learn_ue(at(3), CU, &[ngap(2), UeName::F1ap(21), rnti(0x4601)]).unwrap();
    assert_ne!(ue, other);
    // also at once, at a part whose other names may be several
    let du = ran.learn_ue(at(4), DU, &[UeName::F1ap(20), rnti(0x4602)]).unwrap();
    let next = ran.learn_ue(at(5), DU, &[UeName::F1ap(22), rnti(0x4602)]).unwrap();
    assert!(du == ue && next != ue && resolved(&ran, "f1ap:20") == Ok(ue));
    ran.ues.check();
}

#[test]
fn identity_has_all_names_and_what_else_is_known() {
    let mut ran = split();
    let shared = Some(RanUeId([0, 0, 0, 0, 0, 0, 0, 9]));
    let ue = ran.learn_ue_id(at(1), CU, &gnb_ue(7, &[20, 19], &[30], shared)).unwrap();
    ran.learn_ue(at(1), DU, &[UeName::F1ap(20), rnti(0x4601)]).unwrap();
    let s_nssai = |sst, sd: Option<[u8; 3]>| e2sm::common::SNssai { sst: ids::Sst([sst]), sd: sd.map(ids::Sd) };
    let context = UeContext {
        cell: None,
        plmn: Some(PlmnIdentity::from_codes(1, 1, 2)),
        s_nssais: vec![s_nssai(1, None), s_nssai(2, Some([0, 0, 10]))],
        addresses: vec!["10.45.0.7".parse().unwrap()],
    };
    ran.set_ue_context(ue, &context);
    ran.set_ue_context(ue, &UeContext::default());
    let ue = ran.ue(ue).unwrap();
    assert_eq!(*ue.context(), context, "a report that says nothing changes nothing");
    let identity = ran.identity(ue);
    let references = "amf:7 f1ap:19 f1ap:20 e1ap:30 rnti:0x4601@003804001 ip:10.45.0.7";
    assert_eq!(identity.to_string(), references);
    assert_eq!(ran.describe(ue), format!("{references} at gnb-00101-7"));
    for text in references.split(' ') {
        assert_eq!(resolved(&ran, text), Ok(ue.id()), "{text}");
    }
    let text = |text: &str| IdentityField::Text(text.to_owned());
    assert_eq!(
        identity.fields(),
        [
            ("amf_ue_ngap_id", IdentityField::Number(7)),
            ("guami", text("00101:2:1:3")),
            ("gnb_cu_ue_f1ap_ids", IdentityField::Numbers(vec![19, 20])),
            ("gnb_cu_cp_ue_e1ap_ids", IdentityField::Numbers(vec![30])),
            ("ran_ue_id", text("0000000000000009")),
            ("rnti", IdentityField::Number(0x4601)),
            ("cell", text("003804001")),
            ("plmn", text("00101")),
            ("s_nssais", IdentityField::Texts(vec!["1".to_owned(), "2-00000a".to_owned()])),
            ("ip", IdentityField::Texts(vec!["10.45.0.7".to_owned()])),
        ]
    );
    let many = UeContext { addresses: vec!["10.45.0.8".parse().unwrap(); 99], ..UeContext::default() };
    let id = ue.id();
    ran.set_ue_context(id, &many);
    assert_eq!(ran.ue(id).unwrap().context().addresses.len(), 15);
}

#[test]
fn reference_to_none_or_several_lists_candidates() {
    let mut ran = split();
    let unknown = resolved(&ran, "amf:1").unwrap_err().to_string();
    assert_eq!(unknown, "no UE amf:1: no node has reported a UE");
    for number in 1..=10 {
        ran.learn_ue(at(1), CU, &[ngap(number), UeName::F1ap(number as u32)]).unwrap();
    }
    let unknown = resolved(&ran, "amf:11").unwrap_err().to_string();
    assert!(unknown.starts_with("no UE amf:11; known are amf:1 f1ap:1 at gnb-00101-7, amf:2"), "{unknown}");
    assert!(unknown.ends_with("amf:8 f1ap:8 at gnb-00101-7 and 2 more"), "{unknown}");
    // an F1AP id is valid within its gNB
    ran.update_node(NodeId(9), gnb(8, None, None), &all([]));
    ran.learn_ue(at(1), NodeId(9), &[ngap(20), UeName::F1ap(1)]).unwrap();
    let several = resolved(&ran, "f1ap:1").unwrap_err().to_string();
    assert_eq!(several, "f1ap:1 is the name of several UEs: amf:1 f1ap:1 at gnb-00101-7, amf:20 f1ap:1 at gnb-00101-8");
}

/// The source of a handover still has the UE in its last report.
#[test]
fn ue_is_where_it_was_handed_over_to() {
    let mut ran = split();
    let target = NodeId(9);
    ran.update_node(target, gnb(8, None, None), &all([]));
    let source = ran.learn_ue(at(1), CU, &[ngap(1), rnti(0x4601)]).unwrap();
    let moved = ran.learn_ue(at(5), target, &[ngap(1), UeName::Rnti { rnti: 0x4701, cell: Some(CELL + 1) }]).unwrap();
    ran.learn_ue(at(6), CU, &[ngap(1)]).unwrap();
    assert_eq!(resolved(&ran, "amf:1"), Ok(moved));
    assert_eq!(ran.current_ues().iter().map(|ue| ue.id()).collect::<Vec<_>>(), [moved]);
    assert!(resolved(&ran, "rnti:0x4601@003804001").is_err(), "it has left this cell");
    // two base stations that go on reporting it mean two UEs, or the same AMF id of two networks
    ran.learn_ue(at(8), CU, &[ngap(1)]).unwrap();
    assert!(
        matches!(resolved(&ran, "amf:1"), Err(ResolveError::Ambiguous { candidates, .. }) if candidates.len() == 2)
    );
    // and back
    assert!(ran.forget_ue(CU, &ngap(1)) && ran.ue(source).is_none());
    let back = ran.learn_ue(at(9), CU, &[ngap(1), rnti(0x4602)]).unwrap();
    assert_eq!(resolved(&ran, "amf:1"), Ok(back));
}
