//! Controls of one UE by different identifiers, at one part of a gNB or at several.

use e2sm::common::{AmfUeNgapId, GnbCuUeF1apId, Guami, RanUeId, UeId, UeIdGnb, UeIdGnbDu};
use e2sm::rc::{Control, ControlAction, Detection, Drx, Revision};
use ferric::e2::content::ControlModel;
use ferric::e2::topology::UeName;
use ferric::e2ap::GnbDuId;
use per::{Bits, Single};

use super::*;

const RC: RanFunctionId = RanFunctionId(3);
const PLMN: e2sm::common::PlmnIdentity = e2sm::common::PlmnIdentity::from_codes(1, 1, 2);

fn cu_cp() -> Node {
    node()
}

fn du() -> Node {
    let mut du = Node { id: NodeId(2), ..node() };
    if let GlobalE2NodeId::Gnb(id) = &mut du.global_id {
        id.gnb_du_id = Some(GnbDuId(1));
    }
    du
}

fn guami() -> Guami {
    Guami {
        plmn_identity: PLMN,
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    }
}

/// The UE by its identifier at the AMF.
fn by_amf(id: i64) -> UeId<'static> {
    UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(id),
        guami: guami(),
        gnb_cu_ue_f1ap_id_list: None,
        gnb_cu_cp_ue_e1ap_id_list: None,
        ran_ueid: None,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }))
}

/// The UE by its identifier on F1, with a RAN UE ID if one is given.
fn by_f1(id: u32, ran_ue_id: Option<u8>) -> UeId<'static> {
    let ran_ueid = ran_ue_id.map(|id| RanUeId([id; 8]));
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid, cell_rnti: None })
}

/// A gNB of two parts, with a rule on the DRX of UEs.
fn gnb() -> World {
    let mut world = World::new("[[rule]]\nparameter = \"rc/2/1\"\npolicy = \"first\"\nhold_ms = 1000");
    for node in [cu_cp(), du()] {
        world.ran.update_node(node.id, node.global_id, &node.components);
        let model = ControlModel::Rc(Detection::configured(Revision::V1_03));
        world.state.models.insert((node.id, RC), Some(model));
    }
    world
}

impl World {
    fn drx(&mut self, xapp: &str, ms: u64, node: &Node, ue: UeId<'static>) -> Mediation {
        let control = Control::of_ue(ue, ControlAction::Drx(Drx::long(160)));
        let (header, message) = control.encode(Revision::V1_03).unwrap();
        self.request(xapp, ms, node, RC, (&header, &message))
    }

    /// What the CU-CP has reported: that the UE of the AMF has this identifier on F1.
    fn learn(&mut self, amf: u64, f1: u32) {
        let mut names = vec![UeName::ngap(&guami(), AmfUeNgapId(amf as i64)), UeName::F1ap(f1), UeName::E1ap(f1 + 100)];
        names.push(UeName::RanUeId([f1 as u8; 8]));
        self.ran.learn_ue(at(0), cu_cp().id, &names).unwrap();
    }
}

const REFUSED: Mediation = Mediation::Refuse(CONFLICT);

#[test]
fn ue_is_the_same_by_each_of_its_identifiers() {
    let mut world = gnb();
    world.learn(7, 70);
    world.learn(8, 80);
    assert_eq!(world.drx("a", 0, &cu_cp(), by_amf(7)), Mediation::Send);
    assert_eq!(world.drx("b", 10, &cu_cp(), by_f1(70, None)), REFUSED, "at the same node");
    assert_eq!(world.drx("b", 20, &du(), by_f1(70, None)), REFUSED, "at the DU");
    // an identifier on F1 that is not known, with a RAN UE ID that is
    assert_eq!(world.drx("b", 30, &du(), by_f1(99, Some(70))), REFUSED);
    assert_eq!(world.drx("b", 40, &du(), by_f1(80, None)), Mediation::Send, "another UE");
    assert_eq!(world.drx("a", 50, &cu_cp(), by_amf(8)), REFUSED);
    let conflict = world.state.decisions.back().unwrap().conflict.clone().unwrap();
    assert_eq!((conflict.with.as_deref(), &*conflict.scope), (Some("b"), "ue f1ap:80"), "as the holder has named it");
    assert_eq!(world.drx("a", 60, &du(), by_f1(70, None)), Mediation::Send, "the holder may by any of them");
    assert_eq!(world.drx("b", 1100, &du(), by_f1(70, None)), Mediation::Send, "the time is over");
    assert_eq!(world.drx("a", 1110, &cu_cp(), by_amf(7)), REFUSED);
}

#[test]
fn identifiers_that_are_joined_later_have_one_holder() {
    let mut world = gnb();
    assert_eq!(world.drx("a", 0, &cu_cp(), by_amf(7)), Mediation::Send);
    assert_eq!(world.drx("b", 10, &du(), by_f1(70, None)), Mediation::Send, "nothing is known of the UE");
    world.learn(7, 70);
    assert_eq!(world.drx("c", 20, &cu_cp(), by_amf(7)), REFUSED);
    let held: std::collections::BTreeSet<_> =
        world.state.holders.all(at(20)).iter().map(|(key, _)| (key.node, key.scope.to_string())).collect();
    assert_eq!(held, [(cu_cp().id, "ue amf:7".to_owned())].into(), "both hold it under one name");
    assert_eq!(world.drx("b", 30, &du(), by_f1(70, None)), REFUSED, "a came first");
}

#[test]
fn control_that_fails_is_taken_back_under_any_name() {
    let mut world = gnb();
    world.learn(7, 70);
    assert_eq!(world.drx("a", 0, &cu_cp(), by_amf(7)), Mediation::Send);
    let failed = ControlOutcome::Failed { cause: CONFLICT, outcome: None };
    world.state.control_ended(consumer("a"), Ticket(1), &failed);
    assert_eq!(world.drx("b", 10, &du(), by_f1(70, None)), Mediation::Send);
}
