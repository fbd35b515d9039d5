//! What the profiles announce, decoded from the setup requests that their nodes send, and how their nodes behave.

mod flexric_dialogue;
mod flexric_xapps;
mod simulators;
mod srsran;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use e2sm::Arena;
use e2sm::common::UeId;
use e2sm::kpm;
use e2sm::rc;
use ferric::agent::{ControlFailure, ControllerId, FunctionContext, FunctionTransport, RanFunction, RequestKey, Views};
use ferric::e2::{Action, AgentMisuse, ControlRequest, SubscriptionRequest, SubscriptionTimes, Time};
use ferric::e2ap::{self, Cause, GlobalRicId, Pdu, RanFunctionId, RicActionId, RicActionType, RicRequestId, Version};
use per::Gather;
use radio::phy::Carrier;

use super::*;
use crate::node::Node;
use crate::scenario::{CellScenario, Scenario};
use crate::{RanConfig, functions, testing};

const RIC: ControllerId = ControllerId(1);
/// The first read of a node.
const START: Time = Time::from_nanos(5_000_000_000);

/// A profile with one NR cell, and four UEs with mixed traffic.
fn config(profile: &str) -> RanConfig {
    let profile = Profile::named(profile).unwrap();
    RanConfig { scenario: Scenario::with_mixed_traffic(1, 4, 1), ..RanConfig::with_profile(profile) }
}

/// The only node of this type.
fn node_of(config: &RanConfig, node_type: NodeType) -> Node {
    testing::nodes(config).into_iter().find(|node| node.node_type == node_type).unwrap()
}

/// A RAN function as a setup request announces it.
#[derive(Debug)]
struct Announced {
    id: u16,
    revision: u16,
    oid: Option<String>,
    definition: Vec<u8>,
}

/// The RAN functions of a setup request.
fn announced(octets: &[u8], version: Version) -> Vec<Announced> {
    let gather = Gather::new();
    let Pdu::E2SetupRequest(setup) = e2ap::decode(octets, version, &gather).unwrap().pdu else {
        panic!("a setup request")
    };
    let function = |item: &e2ap::RanFunctionItem<'_>| Announced {
        id: item.id.0,
        revision: item.revision.0,
        oid: item.oid.as_ref().map(|oid| oid.to_string()),
        definition: item.definition.to_cow().into_owned(),
    };
    setup.ran_functions_added.iter().flatten().map(function).collect()
}

/// The RAN functions that a node of a profile announces.
fn functions_of(profile: &str, node_type: NodeType) -> Vec<Announced> {
    let config = config(profile);
    announced(&testing::setup_request(node_of(&config, node_type), &config), config.e2ap_version)
}

fn function(announced: &[Announced], id: u16) -> &Announced {
    announced.iter().find(|function| function.id == id).unwrap()
}

/// The definition of KPM v03.00.
fn kpm_definition<'a>(announced: &'a [Announced], arena: &'a Arena) -> kpm::RanFunctionDefinition<'a> {
    kpm::RanFunctionDefinition::decode(&function(announced, 2).definition, kpm::Revision::V3_00, arena).unwrap()
}

fn rc_definition<'a>(
    announced: &'a [Announced],
    revision: rc::Revision,
    arena: &'a Arena,
) -> rc::RanFunctionDefinition<'a> {
    rc::RanFunctionDefinition::decode(&function(announced, 3).definition, revision, arena).unwrap()
}

/// A node whose functions are called as its agent would.
struct Driven {
    node: Rc<RefCell<Node>>,
    functions: Vec<Box<dyn RanFunction>>,
    views: Views,
    sent: Sent,
}

/// Header and message of the indications that were sent.
#[derive(Default)]
struct Sent(Vec<(Vec<u8>, Vec<u8>)>);

impl FunctionTransport for Sent {
    fn send(
        &mut self,
        _key: RequestKey,
        _action: RicActionId,
        _call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        self.0.push((header.to_vec(), message.to_vec()));
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

impl Driven {
    fn new(config: &RanConfig, node_type: NodeType) -> Driven {
        let node = Rc::new(RefCell::new(node_of(config, node_type)));
        let functions = functions::of_node(&node, config, &functions::clock(config, None));
        Driven { node, functions, views: Views::with_first(RIC), sent: Sent::default() }
    }

    /// Subscribes to a function; the cause if it refuses.
    fn subscribe(&mut self, id: u16, event_trigger: Vec<u8>, actions: Vec<Action>) -> Result<(), Cause> {
        let request = SubscriptionRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(id),
            event_trigger,
            actions,
            times: SubscriptionTimes::default(),
        };
        let Driven { functions, views, .. } = self;
        let function = functions.iter_mut().find(|function| function.id().0 == id).unwrap();
        let admission = function.subscribe(START, RIC, &request, views)?;
        admission.not_admitted.first().map_or(Ok(()), |(_, cause)| Err(*cause))
    }

    /// Calls a function when its reports are due, until it has sent one or two seconds have passed.
    fn report(&mut self, id: u16) -> Option<(Vec<u8>, Vec<u8>)> {
        let Driven { functions, views, sent, .. } = self;
        let function = functions.iter_mut().find(|function| function.id().0 == id).unwrap();
        while sent.0.is_empty() {
            let due = function.next_report().filter(|due| *due <= START + Duration::from_secs(2))?;
            function.report(due.max(START), &mut FunctionContext::new(views, sent));
        }
        Some(sent.0.remove(0))
    }

    fn control(&mut self, id: u16, header: Vec<u8>, message: Vec<u8>) -> Result<Option<Vec<u8>>, ControlFailure> {
        let request = ControlRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(id),
            call_process_id: None,
            header,
            message,
        };
        let Driven { functions, views, sent, .. } = self;
        let function = functions.iter_mut().find(|function| function.id().0 == id).unwrap();
        function.control(START, RIC, &request, &mut FunctionContext::new(views, sent))
    }

    /// The UE IDs of the node's UEs.
    fn ue_ids(&mut self) -> Vec<UeId<'static>> {
        use ran_functions::kpm::KpmSource;
        let mut node = self.node.borrow_mut();
        KpmSource::advance(&mut *node, START);
        let mut ues = Vec::new();
        KpmSource::ues(&*node, &mut ues);
        ues.into_iter().map(|ue| KpmSource::ue_id(&*node, ue)).collect()
    }
}

/// A report action with this definition.
fn report_action(id: u8, definition: Option<Vec<u8>>) -> Action {
    Action { id: RicActionId(id), kind: RicActionType::Report, definition, subsequent: None }
}

/// A subscription to KPM v03.00: the event trigger and the action definition of a plan.
fn kpm_subscription(definition: &kpm::ActionDefinition<'_>, period_ms: u32) -> (Vec<u8>, Vec<u8>) {
    let (mut trigger, mut action) = (Vec::new(), Vec::new());
    kpm::EventTriggerDefinition::every(period_ms).encode(kpm::Revision::V3_00, &mut trigger).unwrap();
    definition.encode(kpm::Revision::V3_00, &mut action).unwrap();
    (trigger, action)
}

/// The octets below 16 kB that the setup request of the profile `full` leaves.
const SPARE_OCTETS: usize = 300;

#[test]
fn setup_requests_fit_into_16_kb() {
    let mut lte = CellScenario::default();
    lte.radio.carrier = Carrier::lte();
    for profile in Profile::all() {
        for (cell, is_split) in
            [(CellScenario::default(), false), (CellScenario::default(), true), (lte.clone(), false)]
        {
            let cell = CellScenario { is_split, ..cell };
            let scenario = Scenario { cells: vec![cell], ..Scenario::with_mixed_traffic(1, 32, 1) };
            let config = RanConfig { scenario, ..RanConfig::with_profile(profile) };
            for node in testing::nodes(&config) {
                let node_type = node.node_type;
                let request = testing::setup_request(node, &config);
                let octets = request.len();
                for function in announced(&request, config.e2ap_version) {
                    println!("- function {}: {} octets", function.id, function.definition.len());
                }
                println!("{} {node_type:?}: {octets} octets", profile.name);
                // room for a table of measurements that grows
                let spare = if profile.name == "full" { SPARE_OCTETS } else { 0 };
                assert!(octets + spare < 16_384, "{} {node_type:?}: {octets} octets", profile.name);
            }
        }
    }
}

#[test]
fn profiles_are_found_by_name() {
    for name in ["full", "oai", "flexric", "srsran", "osc", "srsran-du", "srsran-cucp", "srsran-cuup", "osc-v1", "onos"]
    {
        assert_eq!(Profile::named(name).unwrap().name, name);
        assert!(Profile::names().contains(name));
    }
    assert!(Profile::named("srs").is_none());
}

#[test]
fn full_profile_announces_every_function() {
    let ids = |node_type: NodeType, is_split| {
        let scenario =
            Scenario { cells: vec![CellScenario { is_split, ..CellScenario::default() }], ..Scenario::default() };
        let config = RanConfig { scenario, ..RanConfig::default() };
        let octets = testing::setup_request(node_of(&config, node_type), &config);
        announced(&octets, config.e2ap_version).iter().map(|function| function.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(NodeType::Gnb, false), [2, 4, 5, 3, 139, 6, 140, 142, 143, 144, 148, 145, 146, 149]);
    assert_eq!(ids(NodeType::CuUp, true), [2, 140, 144, 148, 146]);
}

#[test]
fn all_ccc_attributes_are_announced_on_request() {
    use e2sm::ccc::RanFunctionDefinition;
    let attributes = |all_ccc_attributes| {
        let config = RanConfig { all_ccc_attributes, ..config("full") };
        let octets = testing::setup_request(node_of(&config, NodeType::Gnb), &config);
        let announced = announced(&octets, config.e2ap_version);
        let definition = RanFunctionDefinition::decode(&function(&announced, 4).definition).unwrap();
        let cell = &definition.cells.as_ref().unwrap()[0];
        let structures = definition.node_level.iter().flatten().chain(&cell.structures);
        structures
            .flat_map(|structure| &structure.attributes)
            .map(|attribute| attribute.name.clone())
            .collect::<Vec<_>>()
    };
    let short = attributes(false);
    assert_eq!(short[..3], ["administrativeState", "cellState", "nRPCI"]);
    assert_eq!((short.len(), attributes(true).len()), (13, 32));
}

#[test]
fn profile_without_a_node_for_the_cells_is_refused() {
    let mut cell = CellScenario::default();
    cell.radio.carrier = Carrier::lte();
    let scenario = Scenario { cells: vec![cell], ..Scenario::default() };
    let config = RanConfig { scenario, ..RanConfig::with_profile(Profile::named("srsran").unwrap()) };
    let refused = config.check().unwrap_err().to_string();
    assert!(refused.contains("profile srsran"), "{refused}");
}

/// The definition lists most measurements of UEs in one style for UEs only, and the node accepts them in each.
#[test]
fn measurements_of_ues_are_accepted_in_every_style_for_ues() {
    use e2sm::kpm::{EveryUe, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision, Scope};

    let config = config("full");
    let ues = Driven::new(&config, NodeType::Gnb).ue_ids();
    let octets = testing::setup_request(node_of(&config, NodeType::Gnb), &config);
    let definition = function(&announced(&octets, config.e2ap_version), 2).definition.clone();
    let offered = RanFunctionDefinition::decode_owned(&definition, Revision::V3_00).unwrap();
    let style = |number: i64| {
        let mut styles = offered.ric_report_style_list.iter().flatten();
        let style = styles.find(|style| style.ric_report_style_type.0 == number).unwrap();
        style.meas_info_action_list.iter().map(|item| item.meas_name.as_str()).collect::<Vec<_>>()
    };
    assert!(style(4).contains(&"RSRQ") && [2, 3, 5].iter().all(|number| !style(*number).contains(&"RSRQ")));
    assert!([2, 3, 4, 5].iter().all(|number| style(*number).contains(&"DRB.UEThpDl")));
    let measurements = [MeasurementRequest::named("RSRQ"), MeasurementRequest::named("DRB.UEThpDl")];
    for scope in [Scope::Ues(&ues[..1]), Scope::Ues(&ues[..2]), Scope::EveryUe(EveryUe::AnySignal)] {
        let request = ReportRequest {
            measurements: &measurements,
            granularity_period_ms: 1000,
            reporting_period_ms: 1000,
            scope,
        };
        let plan = request.plan(&offered, Revision::V3_00).unwrap();
        let (trigger, action) = kpm_subscription(&plan.action, 1000);
        let mut node = Driven::new(&config, NodeType::Gnb);
        node.subscribe(2, trigger, vec![report_action(0, Some(action))]).unwrap();
        let (_, message) = node.report(2).unwrap();
        let message = kpm::IndicationMessage::decode_owned(&message, Revision::V3_00).unwrap();
        let rsrq: Vec<_> = message.rows(None).step_by(2).map(|row| row.value.number().unwrap()).collect();
        let best = -10.0 * 12.0_f64.log10();
        assert!(rsrq.iter().all(|rsrq| (-40.0..=best).contains(rsrq)), "{rsrq:?}");
    }
}
