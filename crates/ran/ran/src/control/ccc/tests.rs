use std::time::Duration;

use e2sm::ccc::{
    CesManagementFunction, DataDirection, EnergySavingControl, EnergySavingState, NesPolicy, NesPolicyType,
    NrCellRelation, QOffsetRangeList,
};
use e2sm::common::{SNssai, Sst};
use e2sm::kpm::MeasurementLabel;
use ran_functions::kpm::MeasuredObject;

use super::*;
use crate::{RanConfig, testing};

const SECOND: Duration = Duration::from_secs(1);
const START: Time = Time::from_nanos(5_000_000_000);
const A: ControllerId = ControllerId(1);
const B: ControllerId = ControllerId(2);

fn node() -> Node {
    let mut node = testing::node();
    node.advance(START);
    node
}

fn cell_scope(node: &Node) -> ConfigScope {
    ConfigScope::Cell(KpmSource::cell(node))
}

fn policy(sst: u8, min: u8, max: u8) -> Structure {
    let member = RrmPolicyMember { plmn_id: None, snssai: Some(SNssai { sst: Sst([sst]), sd: None }) };
    Structure::RrmPolicyRatio(RrmPolicyRatio {
        resource_type: Some(ResourceType::PrbDl),
        rrm_policy_member_list: Some(vec![member]),
        rrm_policy_min_ratio: Some(min),
        rrm_policy_max_ratio: Some(max),
        rrm_policy_dedicated_ratio: Some(0),
    })
}

fn state(state: AdministrativeState) -> Structure {
    Structure::NrCellDu(NrCellDu { administrative_state: Some(state), ..NrCellDu::default() })
}

/// The share of downlink resource blocks that a slice uses in the following seconds, in percent.
fn share(node: &mut Node, from: Time, seconds: u32, sst: u8) -> f64 {
    let mut mark = Default::default();
    node.advance(from);
    node.take_snapshot(&mut mark);
    node.advance(from + SECOND * seconds);
    let label =
        MeasurementLabel { slice_id: Some(SNssai { sst: Sst([sst]), sd: None }), ..MeasurementLabel::default() };
    let offer = KpmSource::measurements(node).iter().position(|offer| offer.name == "RRU.PrbTotDl").unwrap();
    node.value(&mark, MeasuredObject::Cell, offer, &label).number().unwrap_or(0.0)
}

#[test]
fn offered_structures_are_readable() {
    let all = RanConfig { all_ccc_attributes: true, ..RanConfig::default() };
    for node in [node(), testing::nodes(&all).remove(0)] {
        for offer in CccSource::structures(&node) {
            let place = if offer.level == ConfigLevel::Node { ConfigScope::Node } else { cell_scope(&node) };
            for structure in node.read(place, &offer.name) {
                let attributes = structure.attributes();
                assert!(attributes.keys().all(|name| offer.attributes.iter().any(|known| known.name == *name)));
                assert_eq!(attributes.len(), offer.attributes.len(), "{}", offer.name);
            }
        }
    }
}

#[test]
fn locked_cell_serves_no_ue() {
    let mut node = node();
    let place = cell_scope(&node);
    assert!(share(&mut node, START, 5, 1) > 10.0);
    node.write(START + SECOND * 5, A, place, None, &state(AdministrativeState::Locked)).unwrap();
    assert_eq!(share(&mut node, START + SECOND * 5, 5, 1), 0.0);
    let Structure::NrCellDu(cell) = &node.read(place, "O-NRCellDU")[0] else { panic!("a cell") };
    assert_eq!(cell.cell_state, Some(CellState::Idle));
    let refused = node.write(START + SECOND * 10, A, place, None, &state(AdministrativeState::ShuttingDown));
    let refused = refused.unwrap_err();
    assert_eq!((refused.cause, refused.attributes), (Cause::IncompatibleState, vec!["administrativeState".to_owned()]));
    node.write(START + SECOND * 10, A, place, None, &state(AdministrativeState::Unlocked)).unwrap();
    assert!(share(&mut node, START + SECOND * 11, 5, 1) > 10.0, "the UEs have connections again");
    // the locked cell has slept
    assert_eq!(CccSource::change_count(&node), 2 + 4);
}

/// Two cells, of which the first is locked or shut down: the second takes its UEs.
#[test]
fn ues_leave_a_cell_that_is_locked_or_shut_down() {
    for wanted in [AdministrativeState::Locked, AdministrativeState::ShuttingDown] {
        let mut nodes = testing::nodes(&RanConfig {
            scenario: crate::Scenario { cells: vec![Default::default(); 2], ..crate::Scenario::without_traffic(8) },
            ..RanConfig::default()
        });
        nodes.iter_mut().for_each(|node| node.advance(START));
        let place = cell_scope(&nodes[0]);
        nodes[0].write(START, A, place, None, &state(wanted)).unwrap();
        nodes.iter_mut().for_each(|node| node.advance(START + SECOND));
        assert_eq!(nodes.iter().map(|node| node.cell().ue_count()).collect::<Vec<_>>(), [0, 8], "{wanted:?}");
        // an empty cell that shuts down is locked, and controllers see it
        let Structure::NrCellDu(cell) = &nodes[0].read(place, "O-NRCellDU")[0] else { panic!("a cell") };
        assert_eq!(cell.administrative_state, Some(AdministrativeState::Locked));
        // beside those of falling asleep
        let changes = 3 + u64::from(wanted == AdministrativeState::ShuttingDown);
        assert_eq!(CccSource::change_count(&nodes[0]), changes);
        let ue = nodes[1].cell().ues().next().map(|(place, _)| crate::node::ue_of(nodes[1].cell().ue_entry(place)));
        let refused = nodes[1].hand_over(ue.unwrap(), &testing::cell_of(0));
        assert_eq!(refused, Err(radio::HandoverError::CellLocked));
    }
}

fn saving(control: EnergySavingControl) -> Structure {
    Structure::CesManagementFunction(CesManagementFunction {
        energy_saving_control: Some(control),
        ..CesManagementFunction::default()
    })
}

/// Two cells: the UEs of the first move, it falls asleep, and wakes up.
#[test]
fn cell_saves_energy_by_control() {
    let mut nodes = testing::nodes(&RanConfig {
        scenario: crate::Scenario { cells: vec![Default::default(); 2], ..crate::Scenario::without_traffic(8) },
        all_ccc_attributes: true,
        ..RanConfig::default()
    });
    nodes.iter_mut().for_each(|node| node.advance(START));
    let place = cell_scope(&nodes[0]);
    let state = |node: &Node| {
        let Structure::CesManagementFunction(saving) = node.read(place, "O-CESManagementFunction").remove(0) else {
            panic!("energy saving")
        };
        let Structure::NrCellDu(cell) = node.read(place, "O-NRCellDU").remove(0) else { panic!("a cell") };
        (saving.energy_saving_control.unwrap(), saving.energy_saving_state.unwrap(), cell.cell_state.unwrap())
    };
    use EnergySavingControl::{ToBeEnergySaving, ToBeNotEnergySaving};
    use EnergySavingState::{IsEnergySaving, IsNotEnergySaving};
    assert_eq!(state(&nodes[0]), (ToBeNotEnergySaving, IsNotEnergySaving, CellState::Active));
    nodes[0].write(START, A, place, None, &saving(ToBeEnergySaving)).unwrap();
    // the state follows
    assert_eq!(state(&nodes[0]), (ToBeEnergySaving, IsNotEnergySaving, CellState::Active));
    let changes = CccSource::change_count(&nodes[0]);
    nodes.iter_mut().for_each(|node| node.advance(START + SECOND));
    assert_eq!(nodes.iter().map(|node| node.cell().ue_count()).collect::<Vec<_>>(), [0, 8]);
    assert_eq!(state(&nodes[0]), (ToBeEnergySaving, IsEnergySaving, CellState::Idle));
    assert_eq!(CccSource::change_count(&nodes[0]), changes + 2);
    nodes[0].write(START + SECOND, A, place, None, &saving(ToBeNotEnergySaving)).unwrap();
    assert_eq!(state(&nodes[0]), (ToBeNotEnergySaving, IsEnergySaving, CellState::Idle));
    nodes.iter_mut().for_each(|node| node.advance(START + SECOND * 2));
    assert_eq!(state(&nodes[0]), (ToBeNotEnergySaving, IsNotEnergySaving, CellState::Active));
}

#[test]
fn transceivers_are_muted_by_mask() {
    let all_attributes = RanConfig { all_ccc_attributes: true, ..RanConfig::default() };
    let mut node = testing::nodes(&all_attributes).remove(0);
    node.advance(START);
    let place = cell_scope(&node);
    let policy =
        |mask: &str| Structure::NesPolicy(NesPolicy { antenna_mask: Some(mask.to_owned()), ..NesPolicy::default() });
    let mask = |node: &Node| match node.read(place, "O-NESPolicy").remove(0) {
        Structure::NesPolicy(policy) => policy.antenna_mask,
        other => panic!("{other:?}"),
    };
    let half = "10".repeat(32);
    let all = NesPolicy::default();
    assert_eq!(mask(&node), Some("1".repeat(64)));
    node.write(START, A, place, None, &policy(&half)).unwrap();
    assert_eq!((node.cell().active_transceivers(), mask(&node)), (32, Some("1".repeat(32) + &"0".repeat(32))));
    for (wanted, attribute, cause) in [
        (policy("1100"), "antennaMask", Cause::SemanticError),
        (policy(&"2".repeat(64)), "antennaMask", Cause::SemanticError),
        (policy(&"0".repeat(64)), "antennaMask", Cause::SemanticError),
        (policy(&"\u{e9}".repeat(32)), "antennaMask", Cause::SemanticError),
        (
            Structure::NesPolicy(NesPolicy { policy_type: Some(NesPolicyType::Asm), ..all.clone() }),
            "policyType",
            Cause::NotSupported,
        ),
        (
            Structure::NesPolicy(NesPolicy { data_dir: Some(DataDirection::Ul), ..all.clone() }),
            "dataDir",
            Cause::NotSupported,
        ),
    ] {
        let refused = node.write(START, A, place, None, &wanted).unwrap_err();
        assert_eq!((refused.attributes, refused.cause), (vec![attribute.to_owned()], cause));
    }
    assert_eq!(node.cell().active_transceivers(), 32);
    let refused = node.write(START, A, place, None, &policy("1100")).unwrap_err();
    assert_eq!(refused.reason, "antenna mask is \"1100\": must have 64 digits, 0 or 1 for each transceiver");
}

#[test]
fn cell_relation_is_set_at_run_time() {
    let scenario = crate::Scenario { cells: vec![Default::default(); 3], ..crate::Scenario::without_traffic(2) };
    let mut node = testing::nodes(&RanConfig { scenario, ..RanConfig::default() }).remove(0);
    node.advance(START);
    let place = cell_scope(&node);
    let relations = node.read(place, "O-NRCellRelation");
    assert_eq!(relations.len(), 2);
    let offset = |db| {
        let offsets = QOffsetRangeList { rsrp_offset_ssb_db: Some(db), ..QOffsetRangeList::default() };
        Structure::NrCellRelation(NrCellRelation { cell_individual_offset: Some(offsets), ..NrCellRelation::default() })
    };
    node.write(START, A, place, Some(&relations[0]), &offset(-6)).unwrap();
    let Structure::NrCellRelation(relation) = &node.read(place, "O-NRCellRelation")[0] else { panic!("a relation") };
    assert_eq!(relation.cell_individual_offset.as_ref().unwrap().rsrp_offset_ssb_db, Some(-6));
    let refused = node.write(START, A, place, Some(&relations[0]), &offset(-7)).unwrap_err();
    assert_eq!(refused.attributes, ["cellIndividualOffset"]);
    let unknown = NrCellRelation { nr_tci: Some(1), ..NrCellRelation::default() };
    let refused = node.write(START, A, place, None, &Structure::NrCellRelation(unknown)).unwrap_err();
    assert_eq!(refused.cause, Cause::NotAvailable);
    // handovers to the second cell are prohibited
    let prohibited = NrCellRelation { is_ho_allowed: Some(false), ..NrCellRelation::default() };
    node.write(START, A, place, Some(&relations[0]), &Structure::NrCellRelation(prohibited)).unwrap();
    node.advance(START + SECOND);
    let ue = ferric::agent::Ue(0);
    assert_eq!(node.hand_over(ue, &testing::cell_of(1)), Err(radio::HandoverError::Prohibited));
    assert_eq!(node.hand_over(ue, &testing::cell_of(2)), Ok(()));
}

#[test]
fn policy_limits_its_slice() {
    let mut node = node();
    let place = cell_scope(&node);
    assert!(share(&mut node, START, 20, 1) > 30.0);
    let limit = policy(1, 0, 10);
    node.write(START + SECOND * 20, A, place, None, &limit).unwrap();
    let bounded = share(&mut node, START + SECOND * 20, 20, 1);
    assert!(bounded <= 10.0, "{bounded}");
    node.write(START + SECOND * 40, A, place, Some(&limit), &policy(1, 0, 100)).unwrap();
    assert!(share(&mut node, START + SECOND * 40, 20, 1) > 30.0);
}

#[test]
fn policies_of_removed_controller_are_deleted() {
    let mut node = node();
    let place = cell_scope(&node);
    node.write(START, A, place, None, &policy(1, 60, 100)).unwrap();
    node.write(START, B, place, None, &policy(2, 10, 100)).unwrap();
    CccSource::controller_removed(&mut node, A);
    assert_eq!(node.read(place, "O-RRMPolicyRatio"), [policy(2, 10, 100)]);
    node.write(START, B, place, None, &policy(1, 90, 100)).unwrap();
    assert_eq!(CccSource::change_count(&node), 4);
}

#[test]
fn names_are_bounded() {
    let mut node = node();
    let name = |length| {
        let gnb_cu_name = Some("n".repeat(length));
        Structure::GnbCuCpFunction(GnbCuCpFunction { gnb_cu_name, ..GnbCuCpFunction::default() })
    };
    node.write(START, A, ConfigScope::Node, None, &name(150)).unwrap();
    for length in [0, 151] {
        let refused = node.write(START, A, ConfigScope::Node, None, &name(length)).unwrap_err();
        assert_eq!(refused.attributes, ["gNBCUName"], "{length}: {}", refused.reason);
    }
}

#[test]
fn conflicting_policies_are_refused() {
    let mut node = node();
    let place = cell_scope(&node);
    node.write(START, A, place, None, &policy(1, 60, 100)).unwrap();
    let refused = node.write(START, B, place, None, &policy(2, 60, 100)).unwrap_err();
    assert_eq!(refused.attributes, ["rRMPolicyMinRatio"]);
    assert_eq!(refused.reason, "minimum ratio 60 % exceeds the 40 % that are left: 60 % reserved by controller 1");
    node.write(START, B, place, None, &policy(2, 40, 100)).unwrap();
    // a policy of another controller
    let taken = node.write(START, B, place, Some(&policy(1, 60, 100)), &policy(1, 0, 100)).unwrap_err();
    assert_eq!((taken.cause, &*taken.reason), (Cause::IncompatibleState, "policy belongs to controller 1"));
    node.write(START, A, place, Some(&policy(1, 60, 100)), &policy(1, 50, 100)).unwrap();

    let with = |change: &dyn Fn(&mut RrmPolicyRatio)| {
        let Structure::RrmPolicyRatio(mut ratio) = policy(3, 0, 100) else { panic!("a policy") };
        change(&mut ratio);
        Structure::RrmPolicyRatio(ratio)
    };
    let network = Some(PlmnIdentity::from_codes(310, 410, 3));
    let none = RrmPolicyMember { plmn_id: None, snssai: None };
    for (wanted, attribute) in [
        (with(&|ratio| ratio.resource_type = None), "resourceType"),
        (with(&|ratio| ratio.resource_type = Some(ResourceType::Drb)), "resourceType"),
        (with(&|ratio| ratio.rrm_policy_member_list = None), "rRMPolicyMemberList"),
        (
            with(&|ratio| {
                let member = RrmPolicyMember { plmn_id: network, snssai: None };
                ratio.rrm_policy_member_list = Some(vec![member]);
            }),
            "rRMPolicyMemberList",
        ),
        (with(&|ratio| ratio.rrm_policy_member_list = Some(vec![none.clone(); 2])), "rRMPolicyMemberList"),
        (policy(2, 0, 50), "rRMPolicyMemberList"),
        (policy(3, 60, 50), "rRMPolicyMinRatio"),
        (with(&|ratio| ratio.rrm_policy_dedicated_ratio = Some(1)), "rRMPolicyDedicatedRatio"),
    ] {
        let refused = node.write(START, A, place, None, &wanted).unwrap_err();
        assert_eq!(refused.attributes, [attribute], "{wanted:?}");
    }
    assert_eq!(node.read(place, "O-RRMPolicyRatio").len(), 2);
}
