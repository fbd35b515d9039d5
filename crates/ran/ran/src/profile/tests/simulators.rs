//! kpm_sim of O-RAN SC, and ONOS's ran-simulator.

use e2sm::common::RicStyleType;
use e2sm::kpm::v1;

use super::*;

#[test]
fn kpm_sim_has_neither_object_identifier_nor_short_name() {
    for profile in ["osc", "osc-v1"] {
        let announced = functions_of(profile, NodeType::Gnb);
        let [kpm] = &announced[..] else { panic!("one function") };
        assert_eq!((kpm.id, kpm.revision, &kpm.oid), (0, 1, &None), "E2AP v01.00 has no object identifiers");
        let arena = Arena::new();
        let definition = v1::RanFunctionDefinition::decode(&kpm.definition, &arena).unwrap();
        let name = &definition.ran_function_name;
        assert_eq!((&*name.short_name, &*name.e2sm_oid, &*name.description), ("", "OID123", "KPM Monitor"));
    }
}

#[test]
fn kpm_sim_reports_in_the_layout_of_v1_02() {
    let (mut trigger, mut definition) = (Vec::new(), Vec::new());
    v1::EventTriggerDefinition::every(v1::ReportPeriod::ALL[0]).encode(&mut trigger).unwrap();
    v1::ActionDefinition { ric_style_type: RicStyleType(3) }.encode(&mut definition).unwrap();
    let mut node = Driven::new(&config("osc"), NodeType::Gnb);
    node.subscribe(0, trigger, vec![report_action(0, Some(definition))]).unwrap();
    let (header, message) = node.report(0).unwrap();
    let v1::IndicationHeader::Format1(header) = v1::IndicationHeader::decode(&header).unwrap();
    assert_eq!(header.gnb_name, Some(v1::GnbName::GnbCuCpName(per::PrintableString::literal("kpm_sim"))));
    let message = v1::IndicationMessage::decode_owned(&message).unwrap();
    assert!(matches!(message, v1::IndicationMessage::StyleAndFormat1(_)), "{message:?}");
}

#[test]
fn kpm_sim_takes_subscriptions_with_one_action_only() {
    let (mut trigger, mut definition) = (Vec::new(), Vec::new());
    v1::EventTriggerDefinition::every(v1::ReportPeriod::ALL[0]).encode(&mut trigger).unwrap();
    v1::ActionDefinition { ric_style_type: RicStyleType(1) }.encode(&mut definition).unwrap();
    let subscribe = |actions: u8| {
        let mut node = Driven::new(&config("osc-v1"), NodeType::Gnb);
        let actions = (0..actions).map(|id| report_action(id, Some(definition.clone()))).collect();
        node.subscribe(0, trigger.clone(), actions).map(|()| node.report(0).is_some())
    };
    assert_eq!(subscribe(1), Ok(true));
    assert_eq!(subscribe(2), Err(Cause::RicRequest(e2ap::CauseRicRequest::FunctionResourceLimit)));
}

#[test]
fn onos_setup_has_the_transaction_id_third() {
    let config = config("onos");
    let octets = testing::setup_request(node_of(&config, NodeType::Gnb), &config);
    // E2setupRequest: its IEs begin after the choice, the procedure, the criticality, a length of two octets, and their number
    assert_eq!(octets[..3], [0, 1, 0]);
    let mut rest = &octets[3 + 2 + 3..];
    let mut ids = Vec::new();
    while let [high, low, _, length, after @ ..] = rest {
        ids.push(u16::from_be_bytes([*high, *low]));
        let (length, octets) = match length {
            0..=0x7f => (usize::from(*length), 0),
            _ => (usize::from(*length & 0x3f) << 8 | usize::from(after[0]), 1),
        };
        rest = &after[octets + length..];
    }
    assert_eq!(ids, [3, 10, 49, 50]);
}
