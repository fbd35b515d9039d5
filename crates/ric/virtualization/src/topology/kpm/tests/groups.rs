//! Tests of values over UEs that meet conditions.

use e2sm::common::{FiveQi, True};
use e2sm::kpm::{
    ActionDefinitionFormat3, IndicationMessageFormat2, MatchedPerGp, MatchingCondItem, MatchingCondItemChoice,
    MatchingUeidItem, MatchingUeidItemPerGp, MatchingUeidPerGpItem, MeasurementCondUeidItem, MeasurementType,
};

use super::*;

/// A sum over UEs that DUs measure.
const VOLUME: &str = "DRB.RlcSduTransmittedVolumeDL";

/// The functions of [`functions`], whose DUs also measure a sum, and a share of their cells.
fn with_sums() -> KpmParts {
    let mut all = functions();
    for du in [1, 2] {
        all[du].2 = function(&["Prb"], &[("Thp", None), (VOLUME, None), ("RRU.PrbTotDl", None)]);
    }
    parts_of(&all, false)
}

/// UEs with a 5QI.
fn condition() -> MatchingCondItem<'static> {
    let label = MeasurementLabel { five_qi: Some(FiveQi(9)), ..MeasurementLabel::default() };
    MatchingCondItem { choice: MatchingCondItemChoice::MeasLabel(label), logical_or: None }
}

fn group(parts: &KpmParts, names: &[&str]) -> Action {
    action(parts, names, Scope::Group(&[condition()]), 50)
}

/// The same for a cell.
fn group_in(parts: &KpmParts, names: &[&str], cell: NrCgi) -> Action {
    let action = group(parts, names);
    let mut definition = ActionDefinition::decode_owned(&action.definition.unwrap(), REVISION).unwrap();
    let ActionDefinitionFormats::Format3(format) = &mut definition.formats else { panic!("{definition:?}") };
    format.cell_global_id = Some(Cgi::NrCgi(cell));
    let mut octets = Vec::new();
    definition.encode(REVISION, &mut octets).unwrap();
    Action { definition: Some(octets), ..action }
}

fn format3(split: &Split, part: Part) -> ActionDefinitionFormat3<'static> {
    let definition = ActionDefinition::decode_owned(&split.part(ranked(part)).unwrap().definition, REVISION).unwrap();
    assert_eq!(definition.ric_style_type.0, 13, "the part's number of the style");
    let ActionDefinitionFormats::Format3(format) = definition.formats else { panic!("{definition:?}") };
    format
}

#[test]
fn group_is_asked_of_the_parts_that_measure() {
    let parts = with_sums();
    let split = divide(&parts, &group(&parts, &[VOLUME, "Rsrp", "Vol"])).unwrap();
    let names: Vec<_> = split.parts.iter().map(|part| (part.part.1, part.names.join(","))).collect();
    let expected = [(Part::Control, "Rsrp"), (Part::CuUp(1), "Vol"), (Part::Du(1), VOLUME), (Part::Du(2), VOLUME)];
    assert_eq!(names, expected.map(|(part, names)| (part, names.to_owned())));
    let format = format3(&split, Part::Du(2));
    assert_eq!((&format.meas_cond_list[0].matching_cond[..], format.cell_global_id), (&[condition()][..], None));
    // not a sum over UEs, or not over cells
    for name in ["Thp", "RRU.PrbTotDl"] {
        let not_supported = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        assert_eq!(divide(&parts, &group(&parts, &[name])).unwrap_err(), not_supported, "{name}");
        let of_one = parts_of(&functions()[..2], false);
        assert!(name != "Thp" || divide(&of_one, &group(&of_one, &[name])).is_ok(), "one DU measures it");
    }
    // of a cell, its DU measures
    let in_cell = |cell: NrCgi| {
        let ran = ran_with_cells();
        let context = Context { ran: &ran, cu: CU, cells: None, owns: &|_| true, unable: &BTreeSet::new() };
        split_of(&parts, &group_in(&parts, &["Thp"], cell), &context)
    };
    let split = in_cell(CELLS[1]).unwrap();
    assert_eq!(split.parts.iter().map(|part| part.part.1).collect::<Vec<_>>(), [Part::Du(2)]);
    assert_eq!(format3(&split, Part::Du(2)).cell_global_id, Some(Cgi::NrCgi(CELLS[1])));
    assert_eq!(in_cell(NrCgi::new(A, 99)).unwrap_err(), UNAVAILABLE);
    // another period, and what no part measures
    let wrong = action(&parts, &["Vol"], Scope::Group(&[condition()]), 30);
    assert_eq!(divide(&parts, &wrong).unwrap_err(), Cause::Protocol(CauseProtocol::SemanticError));
    assert_eq!(divide(&parts_of(&functions()[..1], false), &group(&parts, &["Vol"])).unwrap_err(), UNAVAILABLE);
}

#[test]
fn group_of_a_shared_cu_has_the_ues_of_a_cell() {
    let mut all = functions();
    all[0].2 = function(&[], &[("Rsrp", None)]);
    let parts = parts_of(&all, true);
    let ran = ran_with_cells();
    let of = |own: &[NrCgi], name: &str| {
        let context =
            Context { ran: &ran, cu: CU, cells: Some(own.to_vec()), owns: &|_| true, unable: &BTreeSet::new() };
        split_of(&parts, &group(&parts, &[name]), &context)
    };
    let split = of(&CELLS[..1], "Rsrp").unwrap();
    assert_eq!(format3(&split, Part::Control).cell_global_id, Some(Cgi::NrCgi(CELLS[0])));
    assert_eq!(of(&CELLS, "Rsrp").unwrap_err(), UNAVAILABLE, "of two cells");
    let not_supported = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    assert_eq!(of(&CELLS[..1], "Vol").unwrap_err(), not_supported, "the CU-UP counts the UEs of all base stations");
}

/// A report of a part: its measurements, its records, and the UEs of all of them and of each.
fn report_of(
    names: &[&'static str],
    records: &[Values],
    ues: &[UeId<'static>],
    periods: &[&[UeId<'static>]],
) -> Vec<u8> {
    let period = |ues: &&[UeId<'static>]| MatchingUeidPerGpItem {
        matched_per_gp: if ues.is_empty() {
            MatchedPerGp::NoUeMatched(True)
        } else {
            MatchedPerGp::OneOrMoreUeMatched(
                ues.iter().map(|ue_id| MatchingUeidItemPerGp { ue_id: ue_id.clone() }).collect(),
            )
        },
    };
    let ues: List<'_, _> = ues.iter().map(|ue_id| MatchingUeidItem { ue_id: ue_id.clone() }).collect();
    let item = |name: &&'static str| MeasurementCondUeidItem {
        meas_type: MeasurementType::MeasName(MeasurementTypeName(PrintableString::literal(name))),
        matching_cond: vec![condition()].into(),
        matching_ueid_list: Some(ues.clone()).filter(|ues| !ues.is_empty()),
        matching_ueid_per_gp: Some(periods.iter().map(period).collect::<List<'_, _>>()).filter(|of| !of.is_empty()),
    };
    encoded(IndicationMessageFormats::Format2(IndicationMessageFormat2 {
        meas_data: report(records).meas_data,
        meas_cond_ueid_list: names.iter().map(item).collect(),
        granul_period: None,
    }))
}

/// The header, the records, and for each measurement the UEs of all records, and of each if they differ.
type Groups = (Vec<u8>, Vec<(Values, bool)>, Vec<(Vec<UeId<'static>>, Vec<Vec<UeId<'static>>>)>);

fn groups_in(pending: Pending<PartReport>, split: &Split) -> Groups {
    let mut message = Vec::new();
    let detection = e2sm::kpm::Detection::configured(REVISION);
    let header = write(pending, split, &detection, &mut message).unwrap().unwrap();
    let message = IndicationMessage::decode_owned(&message, REVISION).unwrap();
    let IndicationMessageFormats::Format2(format) = message.formats else { panic!("{message:?}") };
    let record = |data: &MeasurementDataItem<'static>| {
        (data.meas_record.iter().cloned().collect(), data.incomplete_flag.is_some())
    };
    let period = |of: &MatchingUeidPerGpItem<'static>| match &of.matched_per_gp {
        MatchedPerGp::NoUeMatched(_) => Vec::new(),
        MatchedPerGp::OneOrMoreUeMatched(ues) => ues.iter().map(|item| item.ue_id.clone()).collect(),
    };
    let item = |item: &MeasurementCondUeidItem<'static>| {
        assert_eq!(item.matching_cond[..], [condition()]);
        let ues = item.matching_ueid_list.iter().flatten().map(|item| item.ue_id.clone());
        (ues.collect(), item.matching_ueid_per_gp.iter().flatten().map(period).collect())
    };
    (header, format.meas_data.iter().map(record).collect(), format.meas_cond_ueid_list.iter().map(item).collect())
}

#[test]
fn groups_of_several_dus_are_added() {
    let parts = with_sums();
    let split = divide(&parts, &group(&parts, &[VOLUME, "Vol"])).unwrap();
    let [du_1, du_2, cu_up] = [Part::Du(1), Part::Du(2), Part::CuUp(1)];
    let mut collector = Collector::default();
    let mut add = |part: Part, message: &[u8]| {
        let read = read_of(&split, part, message).unwrap();
        let found = (read.mismatches, read.left_out);
        assert!(collector.add(parts_in(&split), ranked(part), b"header", read).is_none());
        found
    };
    let one = report_of(&[VOLUME], &[integers(&[5]), integers(&[7])], &[at_du(1)], &[]);
    // no UE in the first period; one that the CU-CP does not know
    let no_value = vec![NONE];
    let two = report_of(&[VOLUME], &[no_value, integers(&[30])], &[at_du(2), at_du(9)], &[&[], &[at_du(2)]]);
    let up = report_of(&["Vol"], &[integers(&[1]), integers(&[2])], &[at_cu_up(2)], &[]);
    assert_eq!([add(du_1, &one), add(du_2, &two), add(cu_up, &up)], [(0, 0), (0, 1), (0, 0)]);
    let (header, records, matched) = groups_in(collector.take_complete(parts_in(&split), |_| true).unwrap(), &split);
    assert_eq!(header, b"header");
    assert_eq!(records, [(integers(&[5, 1]), false), (integers(&[37, 2]), false)]);
    let both = vec![at_cu(1), at_cu(2)];
    assert_eq!(matched, [(both.clone(), vec![vec![at_cu(1)], both]), (vec![at_cu(2)], vec![])]);
    // a DU is lost: what is left does not count its UEs
    let mut collector = Collector::default();
    collector.add(parts_in(&split), ranked(du_1), b"", read_of(&split, du_1, &one).unwrap());
    let lost = groups_in(collector.take_complete(parts_in(&split), |part| part == ranked(du_1)).unwrap(), &split);
    let expected = |value| (vec![MeasurementRecordItem::Integer(value), NONE], true);
    assert_eq!(lost.1, [expected(5), expected(7)]);
}

#[test]
fn group_report_that_does_not_fit_has_no_values() {
    let parts = with_sums();
    let split = divide(&parts, &group(&parts, &[VOLUME])).unwrap();
    let read = |message: &[u8]| read_of(&split, Part::Du(1), message).unwrap();
    let long = read(&report_of(&[VOLUME], &[integers(&[1, 2])], &[], &[]));
    assert_eq!((long.mismatches, &long.rows[0].records[0].values[..]), (1, &[NONE][..]));
    let other = read(&report_of(&["Thp"], &[integers(&[1])], &[at_du(1)], &[]));
    assert_eq!((other.mismatches, &other.rows[0].records[0].values[..]), (0, &[NONE][..]));
    // more records than periods
    let many = vec![integers(&[1]); 3];
    assert_eq!(read(&report_of(&[VOLUME], &many, &[], &[])).rows[0].records.len(), 2);
    // a UE that is repeated
    let repeated = read(&report_of(&[VOLUME], &many[..1], &[at_du(1), at_du(1)], &[]));
    assert_eq!(repeated.left_out, 1);
    assert_eq!(read(&of_ues(&[(at_du(1), integers(&[1]))])).mismatches, 1, "the format of another style");
}

/// A sum over UEs that the CU-UP measures.
const PDCP_VOLUME: &str = "DRB.PdcpSduVolumeUL";

/// A CU-CP, a CU-UP and two DUs, of which the CU-UP measures sums.
fn with_cu_up_sums() -> KpmParts {
    let mut all = functions();
    all[3].2 = function(&[], &[(PDCP_VOLUME, None), ("Vol", None)]);
    parts_of(&all, false)
}

fn without(parts: &KpmParts, action: &Action, unable: &BTreeSet<Ranked>) -> Result<Split, Cause> {
    split_of(parts, action, &Context { ran: &ran(), cu: CU, cells: None, owns: &|_| true, unable })
}

/// The parts, their styles, whether they check the conditions, and the number of measurements that are wanted.
fn checking(split: &Split) -> Vec<(Part, i64, Option<bool>, usize)> {
    let of_part = |part: &super::super::plan::PartAction| {
        let definition = ActionDefinition::decode_owned(&part.definition, REVISION).unwrap();
        (part.part.1, definition.ric_style_type.0, part.selects, part.columns.len())
    };
    split.parts.iter().map(of_part).collect()
}

#[test]
fn conditions_that_a_part_refuses_are_checked_by_another_one() {
    let parts = with_cu_up_sums();
    let [cu, cu_up] = [Part::Control, Part::CuUp(1)].map(ranked);
    let unable: BTreeSet<_> = [cu_up].into();
    // of each UE: the CU-UP reports every UE, the DUs those that meet the conditions
    let every = || Scope::EveryUe(EveryUe::default());
    let of_ues = action(&parts, &[PDCP_VOLUME, "Thp"], every(), 100);
    let split = without(&parts, &of_ues, &unable).unwrap();
    let du = |number| (Part::Du(number), 14, Some(true), 1);
    assert_eq!(checking(&split), [(Part::CuUp(1), 14, Some(false), 1), du(1), du(2)]);
    // no other part measures: the first one that is able is asked for the UEs only
    let of_cu_up = action(&parts, &[PDCP_VOLUME], every(), 100);
    let only = |split: &Split, selecting: Part| {
        assert_eq!(checking(split), [(selecting, 14, Some(true), 0), (Part::CuUp(1), 14, Some(false), 1)]);
    };
    only(&without(&parts, &of_cu_up, &unable).unwrap(), Part::Control);
    let all_but_dus: BTreeSet<_> = [cu, cu_up].into();
    let by_dus = without(&parts, &of_cu_up, &all_but_dus).unwrap();
    assert_eq!(checking(&by_dus).iter().filter(|(.., selects, _)| *selects == Some(true)).count(), 2);
    let nobody: BTreeSet<_> = [cu, cu_up, ranked(Part::Du(1)), ranked(Part::Du(2))].into();
    let not_supported = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    assert_eq!(without(&parts, &of_cu_up, &nobody).unwrap_err(), not_supported);
    // of groups the same, if the values of UEs add up
    let of_group = without(&parts, &group(&parts, &[PDCP_VOLUME]), &unable).unwrap();
    only(&of_group, Part::Control);
    assert_eq!(
        (of_group.subject, &of_group.conditions[0][..]),
        (super::super::plan::Subject::GroupsOfUes, &[condition()][..])
    );
    assert_eq!(without(&parts, &group(&parts, &["Vol"]), &unable).unwrap_err(), not_supported);
    let in_cell = group_in(&parts, &[PDCP_VOLUME], CELLS[0]);
    assert_eq!(without(&parts, &in_cell, &unable).unwrap_err(), not_supported);
}

#[test]
fn values_are_joined_with_the_ues_that_meet_the_conditions() {
    let parts = with_cu_up_sums();
    let unable: BTreeSet<_> = [ranked(Part::CuUp(1))].into();
    let read = |split: &Split, part: Part, rows: &[(UeId<'static>, Values)]| {
        let read = read_of(split, part, &of_ues(rows)).unwrap();
        assert_eq!(read.mismatches, 0);
        (ranked(part), read)
    };
    let of_cu_up = [(at_cu_up(1), integers(&[10])), (at_cu_up(2), integers(&[20])), (at_cu_up(3), integers(&[40]))];
    let of_cu = [(at_cu(1), integers(&[7])), (at_cu(3), integers(&[7]))];
    let pending = |split: &Split| Pending {
        header: Some((ranked(Part::Control), b"cu".to_vec())),
        reports: [read(split, Part::CuUp(1), &of_cu_up), read(split, Part::Control, &of_cu)].into(),
    };
    let of_ues = action(&parts, &[PDCP_VOLUME], Scope::EveryUe(EveryUe::default()), 100);
    let split = without(&parts, &of_ues, &unable).unwrap();
    let (_, rows) = merged(pending(&split), &split);
    assert_eq!(rows, [(at_cu(1), integers(&[10])), (at_cu(3), integers(&[40]))]);
    let split = without(&parts, &action(&parts, &[PDCP_VOLUME], Scope::Group(&[condition()]), 100), &unable).unwrap();
    let (header, records, matched) = groups_in(pending(&split), &split);
    assert_eq!((&header[..], records), (&b"cu"[..], vec![(integers(&[50]), false)]));
    assert_eq!(matched, [(vec![at_cu(1), at_cu(3)], vec![])]);
    // without the report of the part that checks
    let mut late = pending(&split);
    late.reports.remove(&ranked(Part::Control));
    let (_, records, matched) = groups_in(late, &split);
    assert_eq!((records, matched), (vec![(vec![NONE], true)], vec![(vec![], vec![])]));
}
