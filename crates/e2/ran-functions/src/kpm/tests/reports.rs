//! What is reported, and when.

use super::*;

#[test]
fn every_style_is_reported_in_every_revision() {
    let label = [MatchingCondItem { choice: MatchingCondItemChoice::MeasLabel(slice_label(1)), logical_or: None }];
    let (two, some) = ([ue_id(2)], [ue_id(3), ue_id(1)]);
    let gbr = test(TestCondType::Gbr(True), TestCondExpression::Equal, 1);
    let guaranteed = [MatchingUeCondPerSubItem { test_cond_info: gbr, logical_or: None }];
    let ue = |ue, record, value| (Some(ue), record, value, false);
    let (none, int, real) = (|record, value| (None, record, value, false), Value::Integer, Value::Real);
    for revision in Revision::FROM_V2 {
        let cases: [(&[&str], Scope<'_>, Vec<Line>); 7] = [
            (
                &[VOLUME, RRC],
                Scope::Node,
                vec![none(0, int(60)), none(0, real(3.5)), none(1, int(60)), none(1, real(3.5))],
            ),
            (&[VOLUME], Scope::Cell(cell(1)), vec![none(0, int(60)), none(1, int(60))]),
            (
                &[VOLUME, CQI],
                Scope::Ues(&two),
                vec![none(0, int(20)), none(0, real(2.0)), none(1, int(20)), none(1, real(2.0))],
            ),
            (
                &[VOLUME, CQI],
                Scope::Group(&label),
                vec![none(0, int(40)), none(0, real(2.0)), none(1, int(40)), none(1, real(2.0))],
            ),
            (
                &[VOLUME],
                Scope::EveryUe(EveryUe::AnySignal),
                (1..=3).flat_map(|n| [ue(n, 0, int(n as u32 * 10)), ue(n, 1, int(n as u32 * 10))]).collect(),
            ),
            (&[CQI], Scope::MatchingUes(&guaranteed), vec![ue(3, 0, real(3.0)), ue(3, 1, real(3.0))]),
            (
                &[VOLUME],
                Scope::Ues(&some),
                vec![ue(3, 0, int(30)), ue(3, 1, int(30)), ue(1, 0, int(10)), ue(1, 1, int(10))],
            ),
        ];
        for (names, scope, expected) in cases {
            let mut bench = Bench::speaking(revision, &[1, 2, 3]);
            bench.report_request(&report_request(&named(names), 10, 20, scope));
            bench.run_until(45);
            assert_eq!(bench.sent.iter().map(|sent| sent.at_ms).collect::<Vec<_>>(), [20, 40]);
            for sent in 0..2 {
                assert_eq!(bench.lines(sent), expected, "{revision} {scope:?}");
            }
            let formats = bench.message(0).formats;
            let reported = match &formats {
                IndicationMessageFormats::Format1(report) => report.granul_period,
                IndicationMessageFormats::Format2(report) => {
                    let group = &report.meas_cond_ueid_list[0];
                    assert_eq!(group.matching_cond[..], label);
                    let matched: Vec<_> =
                        group.matching_ueid_list.iter().flatten().map(|ue| ue.ue_id.clone()).collect();
                    assert_eq!(matched, [ue_id(1), ue_id(3)]);
                    report.granul_period
                }
                IndicationMessageFormats::Format3(report) => report.ue_meas_report_list[0].meas_report.granul_period,
            };
            assert_eq!(reported, Some(GranularityPeriod(10)));
        }
    }
}

#[test]
fn node_with_several_cells_reports_the_one_that_is_named() {
    let names = named(&[VOLUME]);
    for (scope, kbit) in [(Scope::Node, 60), (Scope::Cell(cell(1)), 40), (Scope::Cell(cell(2)), 20)] {
        let mut bench = Bench::speaking(Revision::V3_00, &[1, 2, 3]);
        bench.source.lock().has_second_cell = true;
        bench.report_request(&report_request(&names, 10, 10, scope));
        bench.run_until(10);
        assert_eq!(bench.lines(0), [(None, 0, Value::Integer(kbit), false)], "{scope:?}");
    }
    // a cell of another node, and a cell for UEs
    let mut bench = Bench::speaking(Revision::V3_00, &[1, 2, 3]);
    bench.source.lock().has_second_cell = true;
    let (trigger, other) = bench.plan(&report_request(&names, 10, 10, Scope::Cell(cell(3))));
    assert_eq!(bench.subscribe(0, 1, &trigger, &[&other]).unwrap_err(), INFORMATION_UNAVAILABLE);
    let mut format = format1(vec![info(by_name(VOLUME), MeasurementLabel::NO_LABEL)], 10);
    format.cell_global_id = Some(cell(1));
    let ue = ActionDefinitionFormat2 { ue_id: ue_id(1), subscript_info: format };
    let ue = ActionDefinition { ric_style_type: RicStyleType(2), formats: ActionDefinitionFormats::Format2(ue) };
    let ue = bench.encode(&ue);
    assert_eq!(bench.subscribe(0, 1, &trigger, &[&ue]).unwrap_err(), INFORMATION_UNAVAILABLE);
}

#[test]
fn periods_do_not_drift() {
    let mut bench = Bench::speaking(Revision::V3_00, &[1]);
    bench.report_request(&report_request(&named(&[VOLUME]), 100, 100, Scope::Node));
    let mut at = Vec::new();
    for report in 1..=50u64 {
        // always late by something, never by a whole period
        let late = report * 37 % 99;
        assert_eq!(bench.function.next_report(), Some(millis(report * 100)));
        bench.at(report * 100 - 1);
        assert_eq!(bench.sent.len() as u64, report - 1, "not before its time");
        bench.at(report * 100 + late);
        bench.at(report * 100 + late);
        at.push(late);
    }
    assert_eq!(bench.sent.len(), 50, "none twice");
    for (report, late) in at.into_iter().enumerate() {
        assert_eq!(bench.lines(report), [(None, 0, Value::Integer(100), false)]);
        assert_eq!(bench.began_before(report), 100 + late, "the wall clock stands still, so lateness shows");
    }
    assert_eq!(bench.function.skipped_reports(), 0);
}

/// A source that computes its counters reports the periods of a late poll one by one, up to a bound, in the order of their ends.
#[test]
fn late_poll_catches_up_where_the_source_can() {
    let config = KpmConfig { catch_up_periods: 3, ..KpmConfig::default() };
    let mut bench = Bench::new(config, &[1]);
    bench.report_request(&report_request(&named(&[VOLUME]), 100, 100, Scope::Node));
    let (trigger, action) = bench.plan(&report_request(&named(&[VOLUME]), 150, 150, Scope::Node));
    bench.subscribe(0, 2, &trigger, &[&action]).unwrap();
    bench.at(310);
    let volumes = |bench: &Bench| -> Vec<f64> {
        (0..bench.sent.len()).map(|sent| bench.lines(sent)[0].2.number().unwrap()).collect()
    };
    // at 100, 150, 200, and at 300 both
    assert_eq!(volumes(&bench), [100.0, 150.0, 100.0, 100.0, 150.0]);
    assert_eq!(bench.function.skipped_reports(), 0);
    // three periods of each of the two, and then the rest
    bench.at(1320);
    let late = &volumes(&bench)[5..];
    assert_eq!(late.iter().filter(|volume| [100.0, 150.0].contains(*volume)).count(), 6, "{late:?}");
    assert_eq!((late.len(), bench.function.skipped_reports() > 0), (8, true), "{late:?}");
    assert_eq!(bench.function.next_report(), Some(millis(1350)));
}

#[test]
fn late_poll_sends_no_burst() {
    let mut bench = Bench::speaking(Revision::V3_00, &[1]);
    bench.report_request(&report_request(&named(&[VOLUME]), 100, 100, Scope::Node));
    bench.at(100);
    bench.at(755);
    assert_eq!(bench.sent.len(), 2);
    assert_eq!(bench.lines(1), [(None, 0, Value::Integer(600), true)], "of more than its period");
    assert_eq!(bench.function.skipped_reports(), 5, "those of 300 to 700");
    assert_eq!(bench.function.next_report(), Some(millis(800)), "still on the old grid");
    bench.at(800);
    assert_eq!(bench.lines(2), [(None, 0, Value::Integer(100), false)]);

    // several records a report: what was missed has no values
    let mut bench = Bench::speaking(Revision::V3_00, &[1]);
    bench.report_request(&report_request(&named(&[VOLUME]), 10, 50, Scope::EveryUe(EveryUe::AnySignal)));
    bench.at(10);
    bench.at(45);
    assert_eq!((bench.sent.len(), bench.function.next_report()), (0, Some(millis(50))));
    bench.at(50);
    let line = |record, value, incomplete| (Some(1), record, value, incomplete);
    let expected = [
        line(0, Value::Integer(10), false),
        line(1, Value::Integer(30), true),
        line(2, Value::NoValue, true),
        line(3, Value::NoValue, true),
        line(4, Value::Integer(10), false),
    ];
    assert_eq!(bench.lines(0), expected);
    bench.at(60);
    bench.at(172);
    let expected = [
        line(0, Value::Integer(10), false),
        line(1, Value::Integer(110), true),
        line(2, Value::NoValue, true),
        line(3, Value::NoValue, true),
        line(4, Value::NoValue, true),
    ];
    assert_eq!(bench.lines(1), expected);
    assert_eq!(bench.function.skipped_reports(), 1, "that of 100 to 150");
    assert_eq!(bench.function.next_report(), Some(millis(180)));
    bench.run_until(200);
    let values: Vec<_> = bench.lines(2).into_iter().map(|(_, _, value, incomplete)| (value, incomplete)).collect();
    let good = (Value::Integer(10), false);
    assert_eq!(values, [(Value::NoValue, true), (Value::NoValue, true), good, good, good]);
    // an age later
    bench.at(u64::MAX / 2_000_000);
    assert_eq!(bench.sent.len(), 4);
}

/// If different UEs match in different periods, the report lists them for each period (v02.03).
#[test]
fn matching_ues_are_listed_for_each_period() {
    use e2sm::kpm::{ActionDefinitionFormat3, MatchedPerGp, MeasurementCondItem};
    let group = |label| MeasurementCondItem {
        meas_type: by_name(VOLUME),
        matching_cond: List::from(vec![MatchingCondItem {
            choice: MatchingCondItemChoice::MeasLabel(label),
            logical_or: None,
        }]),
        bin_range_def: None,
    };
    for revision in Revision::FROM_V2 {
        let mut bench = Bench::speaking(revision, &[1]);
        let formats = ActionDefinitionFormats::Format3(ActionDefinitionFormat3 {
            meas_cond_list: List::from(vec![
                group(slice_label(1)),
                group(MeasurementLabel::NO_LABEL),
                group(slice_label(9)),
            ]),
            granul_period: GranularityPeriod(10),
            cell_global_id: None,
        });
        let mut action = Vec::new();
        ActionDefinition { ric_style_type: RicStyleType(3), formats }.encode(revision, &mut action).unwrap();
        bench.subscribe(0, 1, &every(30, revision), &[&action]).unwrap();
        for (until, ues) in [(10, &[2][..]), (20, &[2, 1]), (30, &[3, 2, 1])] {
            bench.source.lock().ues = ues.iter().map(|ue| Ue(*ue)).collect();
            bench.run_until(until);
        }
        let message = IndicationMessage::decode_owned(&bench.sent[0].message, revision).unwrap();
        let IndicationMessageFormats::Format2(report) = &message.formats else { panic!("format 2") };
        let periods = |at: usize| -> Option<Vec<Vec<UeId<'static>>>> {
            let periods = report.meas_cond_ueid_list[at].matching_ueid_per_gp.as_ref()?;
            let ues = |period: &MatchedPerGp<'static>| match period {
                MatchedPerGp::NoUeMatched(_) => Vec::new(),
                MatchedPerGp::OneOrMoreUeMatched(ues) => ues.iter().map(|ue| ue.ue_id.clone()).collect(),
            };
            Some(periods.iter().map(|period| ues(&period.matched_per_gp)).collect())
        };
        let of = |ues: &[u64]| ues.iter().map(|ue| ue_id(*ue)).collect::<Vec<_>>();
        if revision == Revision::V2_01 {
            assert_eq!((periods(0), periods(1)), (None, None));
            continue;
        }
        assert_eq!(periods(0), Some(vec![of(&[]), of(&[1]), of(&[3, 1])]));
        assert_eq!(periods(1), Some(vec![of(&[2]), of(&[2, 1]), of(&[3, 2, 1])]));
        assert_eq!(periods(2), None, "no UE in any period");
        // in the next report nothing differs
        bench.run_until(60);
        let message = IndicationMessage::decode_owned(&bench.sent[1].message, revision).unwrap();
        let IndicationMessageFormats::Format2(report) = &message.formats else { panic!("format 2") };
        assert!(report.meas_cond_ueid_list.iter().all(|group| group.matching_ueid_per_gp.is_none()));
        assert_eq!(report.meas_cond_ueid_list[1].matching_ueid_list.as_ref().map(|ues| ues.len()), Some(3));
    }
}

#[test]
fn ues_without_values_in_some_periods() {
    let mut bench = Bench::speaking(Revision::V3_00, &[]);
    bench.report_request(&report_request(&named(&[VOLUME]), 10, 30, Scope::EveryUe(EveryUe::AnySignal)));
    bench.run_until(35);
    assert_eq!(bench.sent.len(), 0, "no UEs to report on");
    let ues = |bench: &Bench, ues: &[u64]| bench.source.lock().ues = ues.iter().map(|ue| Ue(*ue)).collect();
    ues(&bench, &[5]);
    bench.run_until(40);
    ues(&bench, &[4, 5]);
    bench.run_until(50);
    ues(&bench, &[4]);
    bench.run_until(60);
    let none = Value::NoValue;
    let values: Vec<_> = bench.lines(0).into_iter().map(|(ue, _, value, _)| (ue, value)).collect();
    let (four, five) = (Value::Integer(40), Value::Integer(50));
    let expected = [(5, five), (5, five), (5, none), (4, none), (4, four), (4, four)];
    assert_eq!(values, expected.map(|(ue, value)| (Some(ue), value)));

    // a listed UE that has detached
    let mut bench = Bench::speaking(Revision::V3_00, &[1, 2]);
    let (one, two) = ([ue_id(1)], [ue_id(1), ue_id(2)]);
    bench.report_request(&report_request(&named(&[VOLUME]), 10, 10, Scope::Ues(&one)));
    let (trigger, action) = bench.plan(&report_request(&named(&[VOLUME]), 10, 10, Scope::Ues(&two)));
    bench.subscribe(0, 2, &trigger, &[&action]).unwrap();
    ues(&bench, &[2]);
    bench.run_until(10);
    assert_eq!(bench.lines(0), [(None, 0, none, false)]);
    assert_eq!(bench.lines(1), [(Some(2), 0, Value::Integer(20), false)]);
}

/// A UE is the same one with and without the optional parts of its UE ID.
#[test]
fn ue_is_found_by_the_mandatory_parts_of_its_id() {
    let UeId::GnbDu(of_node) = ue_id(2) else { unreachable!("it is that of a DU") };
    let named_ue = [UeId::GnbDu(UeIdGnbDu { ran_ueid: Some(RanUeId([7; 8])), ..of_node })];
    let mut bench = Bench::speaking(Revision::V3_00, &[1, 2]);
    bench.report_request(&report_request(&named(&[VOLUME]), 10, 10, Scope::Ues(&named_ue)));
    bench.run_until(10);
    assert_eq!(bench.lines(0), [(None, 0, Value::Integer(20), false)]);
}

#[test]
fn subscriptions_are_independent() {
    let mut bench = Bench::speaking(Revision::V3_00, &[1]);
    assert_eq!(bench.function.next_report(), None);
    let (fast_trigger, fast) = bench.plan(&report_request(&named(&[VOLUME]), 10, 10, Scope::Node));
    let (slow_trigger, slow) = bench.plan(&report_request(&named(&[VOLUME, RRC]), 25, 25, Scope::Node));
    bench.subscribe(3, 1, &fast_trigger, &[&fast, &fast]).unwrap();
    bench.subscribe(7, 2, &slow_trigger, &[&slow]).unwrap();
    bench.run_until(40);
    let times: Vec<_> = bench.sent.iter().map(|sent| (sent.at_ms, sent.action)).collect();
    assert_eq!(times, [(13, 0), (13, 1), (23, 0), (23, 1), (32, 0), (33, 0), (33, 1)]);
    assert_eq!(bench.lines(4)[0].2, Value::Integer(25));
    assert!([0, 1, 2, 3, 5, 6].iter().all(|at| bench.lines(*at)[0].2 == Value::Integer(10)));
    bench.unsubscribe(1);
    assert_eq!(bench.function.next_report(), Some(millis(57)));
    bench.unsubscribe(2);
    bench.unsubscribe(2);
    assert_eq!(bench.function.next_report(), None);
}

#[test]
fn conditions_select_ues() {
    use TestCondExpression::{Contains, Equal, GreaterThan, LessThan, Present};
    let cqi = TestCondType::Cqi(True);
    let octets = |octets: &'static [u8]| TestCondInfo {
        test_type: TestCondType::SNssai(True),
        test_expr: Some(Equal),
        test_value: Some(TestCondValue::ValueOctS(Octets::from(octets))),
    };
    let gbr = |test_expr, test_value| TestCondInfo { test_type: TestCondType::Gbr(True), test_expr, test_value };
    let cases: [(Conditions, &[u64]); 11] = [
        (vec![(test(cqi, GreaterThan, 2), false)], &[3, 4]),
        (vec![(test(cqi, LessThan, 2), false)], &[1]),
        (vec![(test(cqi, Equal, 2), false)], &[2]),
        (vec![(test(cqi, Equal, 2), true), (test(cqi, Equal, 4), false)], &[2, 4]),
        (vec![(test(cqi, GreaterThan, 1), false), (test(cqi, LessThan, 4), false)], &[2, 3]),
        // (1 or 4) and above 1
        (vec![(test(cqi, Equal, 1), true), (test(cqi, Equal, 4), false), (test(cqi, GreaterThan, 1), true)], &[4]),
        (vec![(octets(&[1]), false)], &[1, 3]),
        (vec![(test(TestCondType::FiveQi(True), Contains, 9), false), (octets(&[2]), false)], &[2, 4]),
        (vec![(test(TestCondType::FiveQi(True), Equal, 8), true), (octets(&[1]), false)], &[1, 3]),
        (vec![(gbr(Some(Present), None), false)], &[3]),
        (vec![(gbr(None, Some(TestCondValue::ValueBool(false))), false)], &[1, 2, 4]),
    ];
    for (conditions, expected) in cases {
        let mut bench = Bench::speaking(Revision::V3_00, &[1, 2, 3, 4]);
        let action = bench.encode(&style4(conditions.clone()));
        bench.subscribe(0, 1, &every(10, bench.revision), &[&action]).unwrap();
        bench.run_until(10);
        let ues: Vec<_> = bench.lines(0).into_iter().filter_map(|line| line.0).collect();
        assert_eq!(ues, expected, "{conditions:?}");
    }
}

#[test]
fn values_that_fail_conditions_are_not_reported() {
    let above = |value, or: bool| MatchCondReportItem {
        meas_value_report_cond: MeasValueReportCond {
            test_expr: TestCondExpression::GreaterThan,
            test_value: TestCondValue::ValueInt(value),
        },
        logical_or: or.then_some(True),
    };
    let mut bench = Bench::speaking(Revision::V4_00, &[1, 2]);
    let mut satisfied = info(by_name(VOLUME), MeasurementLabel::NO_LABEL);
    satisfied.match_cond_report_list = Some(List::from(vec![above(1000, true), above(29, false)]));
    let mut not = satisfied.clone();
    not.match_cond_report_list = Some(List::from(vec![above(1000, false), above(29, false)]));
    let action = bench.encode(&style1(format1(vec![satisfied, not], 10)));
    bench.subscribe(0, 1, &every(10, bench.revision), &[&action]).unwrap();
    bench.run_until(10);
    let values: Vec<_> = bench.lines(0).into_iter().map(|line| line.2).collect();
    assert_eq!(values, [Value::Integer(30), Value::NotSatisfied]);
}

#[test]
fn report_size_is_limited() {
    let ues: Vec<u64> = (1..=50).collect();
    let mut bench = Bench::new(KpmConfig { max_values: 100, ..KpmConfig::default() }, &ues);
    bench.report_request(&report_request(&named(&[VOLUME, CQI]), 10, 20, Scope::EveryUe(EveryUe::AnySignal)));
    bench.run_until(40);
    for sent in 0..2 {
        let lines = bench.lines(sent);
        assert_eq!(lines.len(), 100);
        assert_eq!(lines.last().unwrap().0, Some(25));
    }
}

#[test]
fn guest_gets_reports_of_exposed_ues() {
    let mut bench = Bench::speaking(Revision::V3_00, &[1, 2, 3]);
    let every = named(&[VOLUME]);
    let (trigger, action) = bench.plan(&report_request(&every, 10, 10, Scope::EveryUe(EveryUe::AnySignal)));
    bench.views.expose(GUEST, Ue(2)).unwrap();
    for controller in [FIRST, GUEST] {
        let request = request(1, &trigger, &[&action]);
        bench.function.subscribe(millis(0), controller, &request, &bench.views).unwrap();
    }
    bench.run_until(10);
    bench.views.expose(GUEST, Ue(3)).unwrap();
    bench.run_until(20);
    let ues = |sent: usize| bench.lines(sent).into_iter().filter_map(|line| line.0).collect::<Vec<_>>();
    let reported: Vec<_> = (0..4).map(|sent| (bench.sent[sent].controller, ues(sent))).collect();
    let all = vec![1, 2, 3];
    assert_eq!(reported, [(FIRST, all.clone()), (GUEST, vec![2]), (FIRST, all), (GUEST, vec![2, 3])]);

    // a UE that is not exposed to the guest does not exist for it
    let one = ue_id(1);
    let (trigger, action) = bench.plan(&report_request(&every, 10, 10, Scope::Ues(std::slice::from_ref(&one))));
    let request = request(2, &trigger, &[&action]);
    let refused = bench.function.subscribe(millis(20), GUEST, &request, &bench.views);
    assert_eq!(refused, Err(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable)));
}

#[test]
fn time_stamp_has_the_configured_format_and_moment() {
    let end = wall_clock(); // reports end when the wall clock stands at this second
    for (format, moment, revision, stated) in [
        (TimestampFormat::Ntp, TimestampMoment::PeriodStart, Revision::V3_00, end - Duration::from_millis(20)),
        (TimestampFormat::Ntp, TimestampMoment::Report, Revision::V3_00, end),
        (TimestampFormat::UnixMicros, TimestampMoment::Report, Revision::V3_00, end),
        (TimestampFormat::UnixMicros, TimestampMoment::PeriodStart, Revision::V4_00, end - Duration::from_millis(20)),
        (TimestampFormat::UnixSeconds, TimestampMoment::Report, Revision::V2_03, end),
        (TimestampFormat::Ntp, TimestampMoment::Report, Revision::V2_01, end),
    ] {
        let config = KpmConfig { revision, timestamp_format: format, timestamp_moment: moment, ..KpmConfig::default() };
        let mut bench = Bench::new(config, &[1]);
        bench.report_request(&report_request(&named(&[VOLUME]), 10, 20, Scope::Node));
        bench.run_until(20);
        let header = IndicationHeader::decode(&bench.sent[0].header, revision).unwrap();
        let IndicationHeaderFormats::Format1(header) = header.formats;
        let stamp = header.collet_start_time;
        assert_eq!(TimestampFormat::detect(stamp, end), Some(format), "{revision}");
        let read = format.time(stamp, end).unwrap();
        let difference = stated.duration_since(read).unwrap_or_else(|error| error.duration());
        assert!(difference < Duration::from_nanos(2), "{format} {moment}: {difference:?}");
    }
}

#[test]
fn v2_00_reports_on_the_named_cell_alone() {
    use e2sm::kpm::v2_00;
    let mut bench = Bench::speaking(Revision::V2_00, &[1, 2, 3]);
    let function = bench.function.definition();
    let detected = e2sm::kpm::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
    assert_eq!(detected.unwrap().revision, Revision::V2_00);
    let definition = v2_00::RanFunctionDefinition::decode_owned(&function.definition).unwrap();
    let request = v2_00::CellReports { measurements: &[VOLUME, RRC], granularity_period_ms: 10 };
    let mut actions = request.actions(&definition).unwrap();
    assert_eq!(actions.len(), 1);
    let encode = |action: &v2_00::ActionDefinition<'_>| {
        let mut bytes = Vec::new();
        action.encode(&mut bytes).unwrap();
        bytes
    };
    let own = encode(&actions[0]);
    let v2_00::ActionDefinitionFormats::Format1(format1) = &mut actions[0].formats else { panic!("of another format") };
    format1.cell_obj_id = v2_00::CellObjectId(PrintableString::literal("another cell"));
    let other = encode(&actions[0]);
    let admission = bench.subscribe(0, 1, &every(20, Revision::V2_01), &[&own, &other]).unwrap();
    assert_eq!(admission.admitted, [RicActionId(0)]);
    assert_eq!(admission.not_admitted, [(RicActionId(1), INFORMATION_UNAVAILABLE)]);
    bench.run_until(20);
    let message = v2_00::IndicationMessage::decode_owned(&bench.sent[0].message).unwrap();
    assert_eq!(message.subscript_id(), v2_00::SubscriptionId(1));
    assert!(message.cell_obj_id().is_some_and(|cell| !cell.is_empty()));
    let current = message.to_current();
    let values: Vec<_> = current.rows(None).map(|row| (row.record, row.value)).collect();
    let of = |record| [(record, Value::Integer(60)), (record, Value::Real(3.5))];
    assert_eq!(values, [of(0), of(1)].concat());
    assert!(current.rows(None).all(|row| row.measurement.is_some() && row.label.is_some()));
    let header = v2_00::IndicationHeader::decode(&bench.sent[0].header).unwrap();
    let v2_00::IndicationHeaderFormats::Format1(header) = header.formats;
    assert_eq!(header.collet_start_time, TimestampFormat::Ntp.short(wall_clock() - Duration::from_millis(20)));
}
