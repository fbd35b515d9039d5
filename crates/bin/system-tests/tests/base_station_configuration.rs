//! The configuration (E2SM-CCC) of a base station whose CU-CP, CU-UP and DU another RIC has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use e2sm::ccc::{self, RanConfigurationStructure as Structure};
use e2sm::common::{Cgi, NrCgi, PlmnIdentity};
use ferric::e2::ControlOutcome;
use ferric::xapp::Ric;
use ran::scenario::CellScenario;
use ran::{RanConfig, Scenario};
use system_tests::raw_xapp::RawXapp;
use system_tests::{PATIENCE, TestRan, TestRic};
use virtualization::topology::Topology;

const STATION: &str = "gnb-00101-e00";
/// The cell of CU-CP and DU.
const CELL: Cgi = Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), 0x0380_0001));

/// A controller of the base station, the RIC that has its parts, and the parts.
fn network() -> (TestRic, TestRic, TestRan) {
    let controller = TestRic::start();
    let text = format!("ric = \"{}\"\n[[base_station]]\ngnb = \"{STATION}\"\n", controller.e2);
    let owner = TestRic::with(|config| config.topology = Some(Topology::parse(&text).unwrap()));
    let cells = vec![CellScenario { is_split: true, ..CellScenario::default() }];
    let scenario = Scenario { cells, ..Scenario::with_mixed_traffic(1, 2, 1) };
    let config = RanConfig { scenario, all_ccc_attributes: true, ..RanConfig::default() };
    let ran = TestRan::start(&owner.e2, config);
    controller.await_slices(STATION);
    (controller, owner, ran)
}

fn control(xapp: &mut RawXapp, style: i64, format: ccc::ControlMessageFormat) -> ControlOutcome {
    let (mut header, mut message) = (Vec::new(), Vec::new());
    let of_style = ccc::ControlHeaderFormat1 { ric_style_type: style };
    ccc::ControlHeader { format: of_style }.encode(&mut header).unwrap();
    ccc::ControlMessage { format }.encode(&mut message).unwrap();
    xapp.control(&header, &message)
}

/// Subscribes to reports of structures each 100 ms.
fn subscribe(xapp: &mut RawXapp, style: i64, format: ccc::ActionDefinitionFormat) {
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    let period = ccc::EventTriggerDefinitionFormat::PeriodMs(100);
    ccc::EventTriggerDefinition { format: period }.encode(&mut event_trigger).unwrap();
    ccc::ActionDefinition { ric_style_type: style, format }.encode(&mut definition).unwrap();
    xapp.subscribe(event_trigger, definition).unwrap();
}

fn next_report(xapp: &mut RawXapp) -> ccc::IndicationMessageFormat {
    ccc::IndicationMessage::decode(&xapp.next_report()).unwrap().format
}

fn of_action(name: &str) -> ccc::StructureForAction {
    ccc::StructureForAction { report_type: ccc::ReportType::All, name: name.to_owned(), attributes: None }
}

fn name_of_cu(name: &str) -> Structure {
    let gnb_cu_name = Some(name.to_owned());
    Structure::GnbCuCpFunction(ccc::GnbCuCpFunction { gnb_cu_name, ..ccc::GnbCuCpFunction::default() })
}

fn name_of_du(name: &str) -> Structure {
    let gnb_du_name = Some(name.to_owned());
    Structure::GnbDuFunction(ccc::GnbDuFunction { gnb_du_name, ..ccc::GnbDuFunction::default() })
}

fn set(structure: Structure) -> ccc::StructureControlled {
    ccc::StructureControlled { old_values: structure.only(|_| false), new_values: structure }
}

/// One function has the structures of CU-CP and DU: reports contain those of both, and a control sets those of both.
#[test]
fn configuration_of_all_parts_is_that_of_one_function() {
    let (controller, _owner, _ran) = network();
    let mut xapp = RawXapp::connect(&controller, &[ccc::OID]);
    let names = |structures: &[ccc::SupportedStructure]| -> BTreeSet<String> {
        structures.iter().map(|structure| structure.name.clone()).collect()
    };
    let definition = ccc::RanFunctionDefinition::decode(&xapp.definition).unwrap();
    let node_level = names(definition.node_level.as_ref().unwrap());
    assert_eq!(node_level.iter().map(String::as_str).collect::<Vec<_>>(), ["O-GNBCUCPFunction", "O-GNBDUFunction"]);
    let [cell] = &definition.cells.as_ref().unwrap()[..] else { panic!("{definition:?}") };
    let of_cell = names(&cell.structures);
    assert!(["O-NRCellCU", "O-NRCellDU", "O-RRMPolicyRatio"].iter().all(|name| of_cell.contains(*name)), "{of_cell:?}");
    assert_eq!(cell.cell_global_id, CELL);

    // structures of the node: the DU refuses a name without letters
    let of_node = |structures: Vec<_>| ccc::ControlMessageFormat::NodeLevel(structures);
    let outcome =
        control(&mut xapp, 1, of_node(vec![set(name_of_cu("north")), set(name_of_du("")), set(name_of_du("south"))]));
    let ControlOutcome::Acknowledged(Some(octets)) = outcome else { panic!("{outcome:?}") };
    let ccc::ControlOutcomeFormat::NodeLevel { accepted, failed, .. } =
        ccc::ControlOutcome::decode(&octets).unwrap().format
    else {
        panic!("an outcome of the node")
    };
    let accepted: Vec<_> = accepted.unwrap().into_iter().map(|accepted| accepted.current_values).collect();
    assert_eq!(accepted, [name_of_cu("north"), name_of_du("south")]);
    assert_eq!(failed.unwrap()[0].cause, ccc::Cause::SemanticError);
    let outcome = control(&mut xapp, 1, of_node(vec![set(name_of_du(""))]));
    assert!(matches!(outcome, ControlOutcome::Failed { .. }), "{outcome:?}");
    let structures = ["O-GNBDUFunction", "O-GNBCUCPFunction"].map(of_action).to_vec();
    subscribe(&mut xapp, 1, ccc::ActionDefinitionFormat::NodeLevel(structures));
    let ccc::IndicationMessageFormat::NodeLevel(reported) = next_report(&mut xapp) else {
        panic!("a report of the node")
    };
    let has = |part: &Structure| reported.iter().any(|structure| structure.values.agrees_with(part));
    assert!(reported.len() == 2 && has(&name_of_cu("north")) && has(&name_of_du("south")), "{reported:?}");

    // structures of the cell
    let mut xapp = RawXapp::connect(&controller, &[ccc::OID]);
    let state = Structure::NrCellDu(ccc::NrCellDu { nr_pci: Some(77), ..ccc::NrCellDu::default() });
    let not_writable = Structure::NrCellCu(ccc::NrCellCu { cell_local_id: Some(2), ..ccc::NrCellCu::default() });
    let structures = vec![set(not_writable), set(state.clone())];
    let cells = vec![ccc::CellControlled { cell_global_id: CELL, structures }];
    let outcome = control(&mut xapp, 2, ccc::ControlMessageFormat::CellLevel(cells));
    let ControlOutcome::Acknowledged(Some(octets)) = outcome else { panic!("{outcome:?}") };
    let ccc::ControlOutcomeFormat::CellLevel { cells, .. } = ccc::ControlOutcome::decode(&octets).unwrap().format
    else {
        panic!("an outcome of the cell")
    };
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].failed.as_ref().unwrap()[0].cause, ccc::Cause::NotSupported);
    assert_eq!(cells[0].accepted.as_ref().unwrap()[0].current_values, state);
    let structures = ["O-NRCellCU", "O-NRCellDU"].map(of_action).to_vec();
    let every = ccc::CellForAction { cell_global_id: None, structures };
    subscribe(&mut xapp, 2, ccc::ActionDefinitionFormat::CellLevel(vec![every]));
    let ccc::IndicationMessageFormat::CellLevel(cells) = next_report(&mut xapp) else { panic!("a report of the cell") };
    let [cell] = &cells[..] else { panic!("{cells:?}") };
    let structures: BTreeMap<_, _> =
        cell.structures.iter().map(|structure| (structure.values.name(), &structure.values)).collect();
    assert!(structures.len() == 2 && structures["O-NRCellDU"].agrees_with(&state), "{structures:?}");
}

/// Changes are reported by the part that has seen them, under the subscription of the controller.
#[test]
fn changes_at_all_parts_are_reported() {
    let (controller, _owner, _ran) = network();
    let ric = Ric::options().address(controller.xapp.to_string()).name("test").connect().unwrap();
    let mut reports = ric.configuration(["O-NRCellCU", "O-NRCellDU"]).unwrap();
    let mut await_structure = |what: &str, is_it: &mut dyn FnMut(&Structure) -> bool| {
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "no report of {what}");
            let Some(report) = reports.next_within(Duration::from_secs(1)).unwrap() else { continue };
            assert_eq!(&*report.node, STATION);
            if report.structures.iter().any(|structure| is_it(&structure.values)) {
                break;
            }
        }
    };
    let mut seen = BTreeSet::new();
    await_structure("the structures of CU-CP and DU", &mut |values| {
        seen.insert(values.name().to_owned());
        seen.len() == 2
    });
    let pci = Structure::NrCellDu(ccc::NrCellDu { nr_pci: Some(78), ..ccc::NrCellDu::default() });
    ric.node(STATION).unwrap().configure([pci.clone()]).unwrap();
    await_structure("the new identity", &mut |values| values.agrees_with(&pci));
}
