//! v01.00: containers.

use e2sm::kpm::v1::{
    ActionDefinition, Class, Counter, EventTriggerDefinition, GnbName, IndicationHeader, IndicationMessage,
    RanFunctionDefinition, ReportPeriod, Row,
};

use ferric::e2ap::{CauseProtocol, CauseRicRequest};

use super::Bench;
use crate::kpm::*;

fn bench(ues: &[u64]) -> Bench {
    Bench::new(KpmConfig { revision: Revision::V1_00, min_period_ms: 20, ..KpmConfig::default() }, ues)
}

fn every(period: ReportPeriod) -> Vec<u8> {
    let mut out = Vec::new();
    EventTriggerDefinition::every(period).encode(&mut out).unwrap();
    out
}

fn style(number: i64) -> Vec<u8> {
    let mut out = Vec::new();
    ActionDefinition { ric_style_type: e2sm::common::RicStyleType(number) }.encode(&mut out).unwrap();
    out
}

fn rows(bench: &Bench, sent: usize) -> Vec<Row> {
    IndicationMessage::decode_owned(&bench.sent[sent].message).unwrap().rows()
}

#[test]
fn definition_is_of_v1() {
    let function = bench(&[1]).function.definition();
    let detected = e2sm::kpm::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
    assert_eq!(detected.unwrap().revision, Revision::V1_00);
    assert_eq!(e2sm::kpm::Detection::from_ran_function("", 0, &function.definition).unwrap().revision, Revision::V1_00);
    let definition = RanFunctionDefinition::decode_owned(&function.definition).unwrap();
    let styles = definition.e2sm_kpm_ran_function_item.ric_report_style_list.unwrap();
    assert_eq!(styles.iter().map(|style| style.ric_report_style_type.0).collect::<Vec<_>>(), [1, 3, 5]);
}

#[test]
fn reports_of_a_named_gnb_have_the_layout_of_v1_02() {
    let name = per::PrintableString::literal("kpm");
    let config =
        KpmConfig { revision: Revision::V1_00, v1_name: Some(name.clone()), min_period_ms: 20, ..KpmConfig::default() };
    let mut bench = Bench::new(config, &[1, 2, 3]);
    let styles = [style(1), style(3), style(5)];
    bench.subscribe(0, 1, &every(ReportPeriod::Ms40), &[&styles[0], &styles[1], &styles[2]]).unwrap();
    bench.run_until(45);
    assert_eq!(bench.sent.len(), 3);
    let names = [GnbName::GnbDuName(name.clone()), GnbName::GnbCuCpName(name.clone()), GnbName::GnbCuUpName(name)];
    for ((sent, name), style) in bench.sent.iter().zip(names).zip([1, 3, 5]) {
        let IndicationHeader::Format1(header) = IndicationHeader::decode(&sent.header).unwrap();
        assert_eq!(header.gnb_name, Some(name));
        assert!(header.nr_cgi.is_some() && header.plmn_identity.is_some());
        let IndicationMessage::StyleAndFormat1(message) = IndicationMessage::decode_owned(&sent.message).unwrap()
        else {
            panic!("the layout of v01.00");
        };
        assert_eq!(message.ric_style_type.0, style);
    }
    let ues = rows(&bench, 1);
    assert_eq!((ues.len(), ues[0].counter, ues[0].value), (1, Counter::ActiveUes, 3));
}

#[test]
fn containers_contain_counters() {
    let mut bench = bench(&[1, 2, 3]);
    let (du, cu_cp, cu_up) = (style(1), style(3), style(5));
    let admission = bench.subscribe(0, 1, &every(ReportPeriod::Ms40), &[&du, &cu_cp, &cu_up]).unwrap();
    assert_eq!(admission.admitted.len(), 3);
    bench.run_until(85);
    let times: Vec<_> = bench.sent.iter().map(|sent| (sent.at_ms, sent.action)).collect();
    assert_eq!(times, [(40, 0), (40, 1), (40, 2), (80, 0), (80, 1), (80, 2)]);
    for sent in &bench.sent {
        let IndicationHeader::Format1(header) = IndicationHeader::decode(&sent.header).unwrap();
        assert!(header.nr_cgi.is_some() && header.plmn_identity.is_some());
    }
    // the source has no measurements of resource blocks
    assert_eq!(rows(&bench, 3), []);
    let ues = rows(&bench, 4);
    assert_eq!((ues.len(), ues[0].counter, ues[0].value), (1, Counter::ActiveUes, 3));
    let volumes: Vec<_> = rows(&bench, 5)
        .iter()
        .map(|row| (row.counter, row.slice.unwrap().sst.0[0], row.class.unwrap(), row.value))
        .collect();
    // UEs 1 and 3 are in slice 1 and get 4 kbit each ms, UE 2 is in slice 2
    let class = Class::FiveQi(9);
    let expected = [(Counter::PdcpBytesDl, 1, class, 4 * 40 * 125), (Counter::PdcpBytesDl, 2, class, 2 * 40 * 125)];
    assert_eq!(volumes, expected);
    bench.unsubscribe(1);
    assert_eq!(bench.function.next_report(), None);
}

#[test]
fn empty_container_is_not_sent() {
    let mut bench = bench(&[]);
    let (cu_cp, cu_up) = (style(3), style(5));
    bench.subscribe(0, 1, &every(ReportPeriod::Ms40), &[&cu_cp, &cu_up]).unwrap();
    bench.run_until(50);
    assert_eq!(bench.sent.len(), 1, "a container of volumes needs a slice");
    assert_eq!(rows(&bench, 0), []);
}

#[test]
fn invalid_requests_are_refused_with_cause() {
    let mut bench = bench(&[1]);
    let syntax = Cause::Protocol(CauseProtocol::TransferSyntaxError);
    let request = Cause::RicRequest;
    let good = style(1);
    for (trigger, action, cause) in [
        (every(ReportPeriod::Ms10), good.clone(), request(CauseRicRequest::EventTriggerNotSupported)),
        (vec![0x00], good.clone(), request(CauseRicRequest::EventTriggerNotSupported)),
        (vec![0xFF], good.clone(), syntax),
        (every(ReportPeriod::Ms20), style(2), request(CauseRicRequest::ActionNotSupported)),
        (every(ReportPeriod::Ms20), vec![], syntax),
    ] {
        assert_eq!(bench.subscribe(0, 1, &trigger, &[&action]), Err(cause), "{trigger:x?} {action:x?}");
    }
    assert_eq!(bench.function.next_report(), None);
}
