//! What is offered, and what is refused.

use super::*;

/// All of the cell is one network's: its share is the whole, and another's is none.
#[test]
fn label_with_own_plmn_is_supported() {
    let network = |mcc| Some(PlmnIdentity::from_codes(mcc, 1, 2));
    let asked = |label| {
        let mut bytes = Vec::new();
        style1(format1(vec![info(by_name(VOLUME), label)], 10)).encode(Revision::V3_00, &mut bytes).unwrap();
        bytes
    };
    let label = |mcc, rest| MeasurementLabel { plmn_id: network(mcc), ..rest };
    for (label, expected) in [
        (label(1, MeasurementLabel::default()), Ok(30)),
        (label(1, slice_label(1)), Ok(10)),
        (label(2, MeasurementLabel::default()), Err(())),
        (label(2, slice_label(1)), Err(())),
        (label(1, slice_label(2)), Err(())),
    ] {
        let mut bench = Bench::speaking(Revision::V3_00, &[1, 2]);
        let subscribed = bench.subscribe(0, 1, &every(10, Revision::V3_00), &[&asked(label)]);
        let none = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
        assert_eq!(subscribed.err(), expected.err().map(|()| none), "{label:?}");
        bench.run_until(10);
        let reported: Vec<_> = (0..bench.sent.len()).flat_map(|at| bench.lines(at)).map(|line| line.2).collect();
        assert_eq!(reported, expected.ok().map(Value::Integer).into_iter().collect::<Vec<_>>());
    }
}

/// A part of the cell is another network's: its whole is not that of its own.
#[test]
fn label_with_own_plmn_is_refused_by_a_cell_of_several_plmns() {
    let label = MeasurementLabel { plmn_id: Some(PlmnIdentity::from_codes(1, 1, 2)), ..MeasurementLabel::default() };
    let mut bench = Bench::speaking(Revision::V3_00, &[1, 2]);
    bench.source.lock().serves_several_plmns = true;
    for (label, expected) in [(label, false), (MeasurementLabel { no_label: None, ..slice_label(1) }, true)] {
        let asked = bench.encode(&style1(format1(vec![info(by_name(VOLUME), label)], 10)));
        let subscribed = bench.subscribe(0, 1, &every(10, Revision::V3_00), &[&asked]);
        assert_eq!(subscribed.is_ok(), expected, "{label:?}");
    }
}

#[test]
fn definition_contains_styles_and_measurements() {
    let styles = vec![ReportStyle::CommonConditions];
    for revision in Revision::FROM_V2 {
        let bench = Bench::new(KpmConfig { revision, styles: styles.clone(), ..KpmConfig::default() }, &[1]);
        let function = bench.function.definition();
        assert_eq!((function.id, function.oid.as_str()), (RanFunctionId(2), revision.oid()));
        let detected =
            e2sm::kpm::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
        assert!(detected.unwrap().candidates().any(|candidate| candidate == revision));
        let definition = bench.definition();
        let [style] = &definition.ric_report_style_list.as_ref().unwrap()[..] else { panic!("one style") };
        assert_eq!(style.ric_report_style_type, RicStyleType(4));
        let names: Vec<_> = style.meas_info_action_list.iter().map(|item| &*item.meas_name).collect();
        assert_eq!(names, [VOLUME, CQI], "not what only the cell has");
    }
    let mut bench = Bench::new(KpmConfig { styles, ..KpmConfig::default() }, &[1]);
    let action = bench.encode(&style1(format1(vec![info(by_name(VOLUME), MeasurementLabel::NO_LABEL)], 10)));
    let refused = bench.subscribe(0, 1, &every(10, bench.revision), &[&action]);
    assert_eq!(refused, Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)));
}

#[test]
fn invalid_actions_are_refused_with_cause() {
    use CauseRicRequest::{
        ActionNotSupported, EventTriggerNotSupported, FunctionResourceLimit, RequestedInformationUnavailable,
    };
    let request = Cause::RicRequest;
    let transfer = Cause::Protocol(CauseProtocol::TransferSyntaxError);
    let semantic = Cause::Protocol(CauseProtocol::SemanticError);
    let config = KpmConfig { max_values: 100, min_period_ms: 5, ..KpmConfig::default() };
    let volume = || info(by_name(VOLUME), MeasurementLabel::NO_LABEL);
    let good = || style1(format1(vec![volume()], 10));
    let of = |info, granularity| style1(format1(vec![info], granularity));
    let other_cell = || {
        let mut format = format1(vec![volume()], 10);
        format.cell_global_id = Some(cell(2));
        style1(format)
    };
    let style = |number| ActionDefinition { ric_style_type: RicStyleType(number), ..good() };
    let labelled = |label| of(info(by_name(VOLUME), label), 10);
    let unknown_test = style4(vec![(test(TestCondType::Ambr(True), TestCondExpression::Equal, 1), false)]);
    let odd_test = style4(vec![(test(TestCondType::Cqi(True), TestCondExpression::Contains, 1), false)]);
    let unknown_slice = style4(vec![(test(TestCondType::SNssai(True), TestCondExpression::LessThan, 1), false)]);
    let many = style4(vec![(test(TestCondType::Cqi(True), TestCondExpression::Equal, 1), false); 257]);
    let cases = [
        (of(info(by_name("DRB.Unheard"), MeasurementLabel::NO_LABEL), 10), request(RequestedInformationUnavailable)),
        (of(info(by_name(CQI), MeasurementLabel::NO_LABEL), 10), request(RequestedInformationUnavailable)),
        (
            of(info(MeasurementType::MeasId(MeasurementTypeId(9)), MeasurementLabel::NO_LABEL), 10),
            request(RequestedInformationUnavailable),
        ),
        (
            of(info(MeasurementType::MeasId(MeasurementTypeId(8)), MeasurementLabel::NO_LABEL), 10),
            request(RequestedInformationUnavailable),
        ),
        (labelled(slice_label(2)), request(RequestedInformationUnavailable)),
        (
            labelled(MeasurementLabel { sum: Some(True), ..MeasurementLabel::default() }),
            request(RequestedInformationUnavailable),
        ),
        (other_cell(), request(RequestedInformationUnavailable)),
        (of(volume(), 7), semantic),
        (of(volume(), 20), semantic),
        (of(volume(), 2), semantic),
        (style1(format1(vec![volume(); 101], 10)), request(FunctionResourceLimit)),
        (style1(format1(vec![volume(); 51], 5)), request(FunctionResourceLimit)),
        (style(2), semantic),
        (style(6), request(ActionNotSupported)),
        (style(-1), request(ActionNotSupported)),
        (unknown_test, request(RequestedInformationUnavailable)),
        (odd_test, request(RequestedInformationUnavailable)),
        (unknown_slice, request(RequestedInformationUnavailable)),
        (many, request(FunctionResourceLimit)),
    ];
    let mut bench = Bench::new(config, &[1, 2, 3]);
    let trigger = every(10, bench.revision);
    let good = bench.encode(&good());
    for (definition, cause) in cases {
        let bad = bench.encode(&definition);
        assert_eq!(bench.subscribe(0, 1, &trigger, &[&bad]), Err(cause), "{definition:?}");
        // one by one: the others stand
        let admission = bench.subscribe(0, 1, &trigger, &[&good, &bad, &good]).unwrap();
        assert_eq!(admission.admitted, [RicActionId(0), RicActionId(2)]);
        assert_eq!(admission.not_admitted, [(RicActionId(1), cause)]);
        bench.unsubscribe(1);
    }

    let unknown = [ue_id(9)];
    let (_, action) = bench.plan(&report_request(&named(&[VOLUME]), 10, 10, Scope::Ues(&unknown)));
    assert_eq!(bench.subscribe(0, 1, &trigger, &[&action]), Err(request(RequestedInformationUnavailable)));
    assert_eq!(bench.subscribe(0, 1, &trigger, &[&[]]), Err(transfer));
    assert_eq!(bench.subscribe(0, 1, &[], &[&good]), Err(transfer));
    assert_eq!(bench.subscribe(0, 1, &every(4, bench.revision), &[&good]), Err(request(EventTriggerNotSupported)));
    assert_eq!(bench.subscribe(0, 1, &trigger, &[]), Err(semantic));
    let mut without = super::request(1, &trigger, &[&good]);
    without.actions[0].definition = None;
    assert_eq!(bench.function.subscribe(millis(0), FIRST, &without, &bench.views), Err(semantic));
    without.actions[0].kind = RicActionType::Policy;
    assert_eq!(bench.function.subscribe(millis(0), FIRST, &without, &bench.views), Err(request(ActionNotSupported)));
    assert_eq!(bench.function.next_report(), None, "nothing is left of any of them");

    let mut bench = Bench::new(KpmConfig { max_actions: 3, ..KpmConfig::default() }, &[1]);
    bench.subscribe(0, 1, &trigger, &[&good, &good]).unwrap();
    let admission = bench.subscribe(0, 2, &trigger, &[&good, &good]).unwrap();
    assert_eq!(admission.not_admitted, [(RicActionId(1), request(FunctionResourceLimit))]);
}

#[test]
fn arbitrary_octets_do_not_panic() {
    let label = [MatchingCondItem { choice: MatchingCondItemChoice::MeasLabel(slice_label(1)), logical_or: None }];
    let some = [ue_id(3), ue_id(1)];
    let scopes = [
        Scope::Node,
        Scope::Ues(&some[..1]),
        Scope::Group(&label),
        Scope::EveryUe(EveryUe::AnySignal),
        Scope::Ues(&some),
    ];
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for revision in Revision::FROM_V2 {
        let mut bench = Bench::speaking(revision, &[1, 2, 3]);
        let mut now_ms = 0;
        for scope in scopes {
            let (trigger, action) = bench.plan(&report_request(&named(&[VOLUME]), 10, 20, scope));
            for _ in 0..400 {
                let (mut trigger, mut action) = (trigger.clone(), action.clone());
                for _ in 0..1 + random() % 3 {
                    let at = random() % action.len();
                    action[at] = random() as u8;
                }
                if random() % 4 == 0 {
                    action.truncate(random() % action.len());
                    trigger[random() % 2] ^= random() as u8;
                }
                let _ = bench.subscribe(now_ms, 1, &trigger, &[&action, &action]);
                now_ms += 20;
                bench.at(now_ms);
                let id = RicRequestId { requestor: 1, instance: 1 };
                bench.function.unsubscribe(RequestKey { controller: FIRST, id });
            }
        }
        assert!(!bench.sent.is_empty());
    }
}

#[test]
#[should_panic(expected = "has no measurements")]
fn source_without_measurements_for_the_styles_panics() {
    struct Nothing;
    impl KpmSource for Nothing {
        type Snapshot = ();
        fn cell(&self) -> Cgi {
            cell(1)
        }
        fn measurements(&self) -> &[SupportedMeasurement] {
            &[]
        }
        fn ues(&self, _out: &mut Vec<Ue>) {}
        fn ue_id(&self, ue: Ue) -> UeId<'static> {
            ue_id(ue.0)
        }
        fn take_snapshot(&self, (): &mut ()) {}
        fn value(&self, (): &(), _: MeasuredObject<'_>, _: usize, _: &MeasurementLabel) -> Value {
            Value::NoValue
        }
    }
    let _ = KpmFunction::new(ExclusiveSource::new(Nothing), KpmConfig::default());
}

#[test]
fn function_without_styles_is_announced_and_refuses_subscriptions() {
    let styles = Vec::new();
    let mut bench = Bench::new(KpmConfig { styles, ..KpmConfig::default() }, &[]);
    let definition = bench.function.definition().definition;
    let arena = e2sm::Arena::new();
    let definition = RanFunctionDefinition::decode(&definition, Revision::V3_00, &arena).unwrap();
    assert_eq!(definition.ric_report_style_list, None);
    let mut action = Vec::new();
    style1(format1(vec![info(by_name(VOLUME), MeasurementLabel::NO_LABEL)], 10))
        .encode(Revision::V3_00, &mut action)
        .unwrap();
    let refused = bench.subscribe(0, 1, &every(10, Revision::V3_00), &[&action]);
    assert_eq!(refused.unwrap_err(), Cause::RicRequest(CauseRicRequest::ActionNotSupported));
}
