//! What controls set, by service model, and other numbers in their place.

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::rc::{Control, ControlAction, Drx, Revision, RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota};
use e2sm::tc::{ChangeShaper, ControlMessage, ShaperControl};

use super::*;

fn rc() -> ControlModel {
    ControlModel::Rc(Detection::configured(Revision::V1_03))
}

fn settings_of(model: &ControlModel, header: &[u8], message: &[u8]) -> Result<Vec<Setting>, Unreadable> {
    let mut settings = Vec::new();
    model.visit(header, message, &mut |setting| {
        settings.push(setting);
        None
    })?;
    Ok(settings)
}

fn names(settings: &[Setting]) -> Vec<(&str, String, Option<f64>)> {
    let name = |setting: &'_ Setting| setting.amount.map(|amount| amount.number);
    settings.iter().map(|setting| (&*setting.parameter, setting.target(), name(setting))).collect()
}

fn quota(policies: &[(u8, u8, u8)]) -> Control {
    let policy = |(sst, min, max): &(u8, u8, u8)| RrmPolicyRatio {
        members: vec![RrmPolicyMember {
            plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
            slice: SNssai { sst: Sst([*sst]), sd: None },
        }],
        min_percent: Some(*min),
        max_percent: Some(*max),
        dedicated_percent: Some(0),
    };
    Control::of_cell(ControlAction::SlicePrbQuota(SlicePrbQuota { policies: policies.iter().map(policy).collect() }))
}

#[test]
fn quotas_of_slices_are_told_apart_and_their_numbers_replaced() {
    let (header, message) = quota(&[(1, 10, 50), (2, 20, 60)]).encode(Revision::V1_03).unwrap();
    let settings = settings_of(&rc(), &header, &message).unwrap();
    let all = names(&settings);
    let values: Vec<_> = all.iter().map(|(.., value)| value.unwrap()).collect();
    assert_eq!(values, [10.0, 50.0, 0.0, 20.0, 60.0, 0.0]);
    assert!(all.iter().all(|(parameter, ..)| parameter.starts_with("rc/2/6/")), "{all:?}");
    let scopes: std::collections::BTreeSet<_> = all.iter().map(|(_, scope, _)| scope.clone()).collect();
    assert_eq!(scopes.len(), 2, "{all:?}");
    let numbers = [None, Some(40.0), None, None, None, None];
    let (header, message) = rc().with_numbers(&header, &message, &numbers).unwrap();
    assert_eq!(Control::decode(&header, &message, Revision::V1_03).unwrap(), quota(&[(1, 10, 40), (2, 20, 60)]));
}

#[test]
fn action_without_numbers_is_one_setting_of_its_ue() {
    use e2sm::common::{Cgi, NrCgi};
    use e2sm::rc::Handover;
    let plmn = PlmnIdentity::from_codes(1, 1, 2);
    let cell = Cgi::NrCgi(NrCgi::new(plmn, 0x38001));
    let ue = |id: u32| {
        let id = e2sm::common::GnbCuUeF1apId(id);
        e2sm::common::UeId::GnbDu(e2sm::common::UeIdGnbDu { gnb_cu_ue_f1ap_id: id, ran_ueid: None, cell_rnti: None })
    };
    let handover = Control::of_ue(ue(7), ControlAction::Handover(Handover::to(cell)));
    let (header, message) = handover.encode(Revision::V1_03).unwrap();
    let settings = settings_of(&rc(), &header, &message).unwrap();
    assert_eq!(names(&settings), [("rc/3/1", "ue f1ap:7".to_owned(), None)]);
    let drx = Control::of_ue(ue(8), ControlAction::Drx(Drx::long(320)));
    let (header, message) = drx.encode(Revision::V1_03).unwrap();
    let settings = settings_of(&rc(), &header, &message).unwrap();
    assert!(!settings.is_empty() && settings.iter().all(|one| one.parameter.starts_with("rc/2/1/")), "{settings:?}");
    assert!(settings.iter().all(|one| one.target() == "ue f1ap:8"), "{settings:?}");
}

#[test]
fn rate_of_a_shaper_is_a_number_of_its_queue() {
    let shaper = |max_rate_kbps| {
        let change = ChangeShaper { id: 3, window_ms: 50, max_rate_kbps, active: true };
        let mut out = Vec::new();
        ControlMessage::Shaper(ShaperControl::Modify(change)).encode(Wire::Per, &mut out).unwrap();
        out
    };
    let model = ControlModel::Tc(Wire::Per);
    let settings = settings_of(&model, &[], &shaper(5000)).unwrap();
    assert_eq!(names(&settings), [("tc/shaper", "queue 3".to_owned(), Some(5000.0))]);
    assert_eq!(model.with_numbers(&[], &shaper(5000), &[Some(4000.0)]).unwrap().1, shaper(4000));
}

#[test]
fn attributes_of_ccc_are_settings_of_their_cell_and_policy() {
    use e2sm::ccc::{
        CellControlled, ControlMessage, ControlMessageFormat, RanConfigurationStructure, RrmPolicyMember,
        RrmPolicyRatio, StructureControlled,
    };
    use e2sm::common::{Cgi, NrCgi};
    let member = RrmPolicyMember { plmn_id: None, snssai: Some(SNssai { sst: Sst([1]), sd: None }) };
    let policy = |rrm_policy_max_ratio| {
        RanConfigurationStructure::RrmPolicyRatio(RrmPolicyRatio {
            resource_type: Some(e2sm::ccc::ResourceType::PrbDl),
            rrm_policy_member_list: Some(vec![member.clone()]),
            rrm_policy_max_ratio,
            ..RrmPolicyRatio::default()
        })
    };
    let cell = CellControlled {
        cell_global_id: Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), 0x38001)),
        structures: vec![StructureControlled { old_values: policy(None), new_values: policy(Some(50)) }],
    };
    let mut message = Vec::new();
    let control = ControlMessage { format: ControlMessageFormat::CellLevel(vec![cell]) };
    control.encode(&mut message).unwrap();
    let settings = settings_of(&ControlModel::Ccc, b"{}", &message).unwrap();
    let [("ccc/O-RRMPolicyRatio/rRMPolicyMaxRatio", ref scope, Some(50.0))] = names(&settings)[..] else {
        panic!("{settings:?}");
    };
    assert!(!scope.is_empty() && scope.len() < 200, "{scope}");
    let (_, changed) = ControlModel::Ccc.with_numbers(b"{}", &message, &[Some(30.0)]).unwrap();
    assert!(String::from_utf8(changed).unwrap().contains("\"rRMPolicyMaxRatio\":30"));
    assert!(matches!(settings_of(&ControlModel::Ccc, b"{}", b"{"), Err(Unreadable::Json(_))));
}

/// Random octets and damaged messages end in a result, whatever the model.
#[test]
fn octets_of_anybody_end_in_a_result() {
    let (header, message) = quota(&[(1, 10, 50)]).encode(Revision::V1_03).unwrap();
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut readable = 0;
    for _ in 0..20_000 {
        let (mut header, mut message) = (header.clone(), message.clone());
        for _ in 0..=next() % 3 {
            let at = next() % message.len();
            message[at] = next() as u8;
            let at = next() % header.len();
            header[at] ^= (next() % 2) as u8;
        }
        for model in [rc(), ControlModel::Slice(Wire::Per), ControlModel::Tc(Wire::Plain), ControlModel::Ccc] {
            if let Ok(settings) = settings_of(&model, &header, &message) {
                readable += usize::from(!settings.is_empty());
                let numbers: Vec<_> = settings.iter().map(|setting| setting.amount.map(|_| 7.0)).collect();
                // a number that the revision does not carry is an error
                let _ = model.with_numbers(&header, &message, &numbers);
            }
        }
    }
    assert!(readable > 1000, "{readable}");
}
