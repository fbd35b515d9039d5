//! Two operators on one emulated RAN, each of which controls its own UEs by E2SM-RC, and its own share by E2SM-CCC.

use std::collections::BTreeSet;
use std::time::Instant;

use e2sm::ccc::{self, RanConfigurationStructure as Structure};
use e2sm::common::{Cgi, NrCgi, PlmnIdentity, SNssai, Sst, UeId};
use e2sm::rc::dictionary::node_information;
use e2sm::rc::{
    self, Control, ControlAction, ControlOutcome as RcOutcome, ControlOutcomeFormats, Drx, E2NodeInfoChangeId,
    Handover, Plan, RanParameterValue, RrcState, SlicePrbQuota,
};
use ferric::agent::Admission;
use ferric::e2::{Action, ControlOutcome, NodeId, RequestEvent, SubscribeError, SubscriptionSpec};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicActionId, RicActionType};
use ferric::xapp::{Ric, UeReference, Xapp, XappConfig, XappEvent};
use per::Gather;
use ran::scenario::ScenarioFolders;
use ran::{CccProfile, KpmProfile, NodeProfile, NodeType, Profile, RanConfig, RcProfile, Scenario};
use ran_functions::kpm::MissingValue;
use system_tests::ue_id::by_amf;
use system_tests::{PATIENCE, TestRan, TestRic, eventually, log, two_operators};

const A: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
const B: PlmnIdentity = PlmnIdentity::from_codes(1, 2, 2);

/// Two cells, and two UEs of each operator, which always have data.
const SCENARIO: &str = r#"
[[cell]]
count = 2
[[ue]]
count = 2
plmn = "00101"
[[ue.flow]]
kind = "greedy"
[[ue]]
count = 2
plmn = "00102"
[[ue.flow]]
kind = "greedy"
"#;

struct Network {
    a: TestRic,
    b: TestRic,
    host: TestRic,
    _ran: TestRan,
}

fn network(handovers_per_minute: u16) -> Network {
    let (a, b) = (TestRic::start(), TestRic::start());
    let (host, _) = TestRic::with_virtual_networks(two_operators(&a, 50, &b, 50));
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    let ran = TestRan::start(
        &host.e2,
        RanConfig { scenario, handovers_per_minute, all_ccc_attributes: true, ..RanConfig::default() },
    );
    for cell in ["e00", "e01"] {
        a.await_slices(&format!("gnb-00101-{cell}"));
        b.await_slices(&format!("gnb-00102-{cell}"));
    }
    Network { a, b, host, _ran: ran }
}

fn connect(ric: &TestRic) -> Ric {
    Ric::options().address(ric.xapp.to_string()).name("test").connect().unwrap()
}

fn references(ric: &Ric) -> BTreeSet<UeReference> {
    ric.ues().unwrap().iter().map(|ue| ue.reference().clone()).collect()
}

/// The two UEs of an operator.
fn own_ues(ric: &Ric) -> BTreeSet<UeReference> {
    eventually("the operator knows its UEs", || references(ric).len() == 2);
    references(ric)
}

/// An xApp that sends its own octets.
struct RawXapp {
    xapp: Xapp,
    node: NodeId,
    /// E2SM-RC.
    function: RanFunctionId,
    ccc: RanFunctionId,
    /// Of E2SM-RC.
    revision: rc::Revision,
}

impl RawXapp {
    fn connect(ric: &TestRic) -> RawXapp {
        let xapp = Xapp::connect(&ric.xapp, "raw", XappConfig::default()).unwrap();
        let node = xapp.nodes().min_by_key(|node| node.global_id.to_string()).expect("a node");
        let find = |oid: &str| node.functions.iter().find(|function| function.oid == oid).expect("the function").id;
        let (node, function, ccc) = (node.id, find(rc::OID), find(ccc::OID));
        RawXapp { xapp, node, function, ccc, revision: RanConfig::default().rc_revision }
    }

    fn await_event<T>(&mut self, what: &str, mut read: impl FnMut(&RequestEvent) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut found = None;
        while found.is_none() {
            assert!(Instant::now() < deadline, "no {what}");
            let poll = self.xapp.poll(Some(PATIENCE), |event, _| {
                if let XappEvent::Request(event) = &event
                    && found.is_none()
                {
                    found = read(event);
                }
            });
            poll.unwrap();
        }
        found.unwrap()
    }

    fn control(&mut self, control: &Control) -> ControlOutcome {
        let (header, message) = control.encode(self.revision).unwrap();
        self.control_function(self.function, &header, &message)
    }

    fn control_function(&mut self, function: RanFunctionId, header: &[u8], message: &[u8]) -> ControlOutcome {
        let asked = self.xapp.commands().control(self.node, function, header, message);
        self.await_event("answer to the control", |event| match event {
            RequestEvent::Controlled { ticket, outcome } if *ticket == asked => Some(outcome.clone()),
            _ => None,
        })
    }

    /// Controls a structure of the cell.
    fn set(&mut self, cell: Cgi, structure: Structure) -> ControlOutcome {
        let old_values = structure.only(|_| false);
        let structures = vec![ccc::StructureControlled { old_values, new_values: structure }];
        let cells = vec![ccc::CellControlled { cell_global_id: cell, structures }];
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let format = ccc::ControlHeaderFormat1 { ric_style_type: ccc::CELL_STYLE };
        ccc::ControlHeader { format }.encode(&mut header).unwrap();
        ccc::ControlMessage { format: ccc::ControlMessageFormat::CellLevel(cells) }.encode(&mut message).unwrap();
        self.control_function(self.ccc, &header, &message)
    }

    /// Reports structures of all cells once.
    fn structures(&mut self, names: &[&str]) -> Vec<ccc::CellReported> {
        self.structures_of(None, names)
    }

    /// Reports structures of a cell once, or of all.
    fn structures_of(&mut self, cell: Option<Cgi>, names: &[&str]) -> Vec<ccc::CellReported> {
        let structure = |name: &&str| ccc::StructureForAction {
            report_type: ccc::ReportType::All,
            name: (*name).to_owned(),
            attributes: None,
        };
        let cell = ccc::CellForAction { cell_global_id: cell, structures: names.iter().map(structure).collect() };
        let definition = ccc::ActionDefinition {
            ric_style_type: ccc::CELL_STYLE,
            format: ccc::ActionDefinitionFormat::CellLevel(vec![cell]),
        };
        let (mut event_trigger, mut octets) = (Vec::new(), Vec::new());
        let format = ccc::EventTriggerDefinitionFormat::PeriodMs(1000);
        ccc::EventTriggerDefinition { format }.encode(&mut event_trigger).unwrap();
        definition.encode(&mut octets).unwrap();
        let (id, kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: Some(octets), subsequent: None }];
        self.xapp.commands().subscribe(self.node, self.ccc, SubscriptionSpec { event_trigger, actions });
        let deadline = Instant::now() + PATIENCE;
        let (mut subscribed, mut cells) = (None, None);
        while cells.is_none() {
            assert!(Instant::now() < deadline, "no report of the cell");
            let poll = self.xapp.poll(Some(PATIENCE), |event, _| match event {
                XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => subscribed = Some(subscription),
                XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => panic!("{error}"),
                XappEvent::Indication(indication) if subscribed == Some(indication.subscription) => {
                    let gather = Gather::new();
                    let message = indication.decode(&gather).unwrap().message.to_cow().into_owned();
                    match ccc::IndicationMessage::decode(&message).unwrap().format {
                        ccc::IndicationMessageFormat::CellLevel(of_cells) => cells = Some(of_cells),
                        other => panic!("{other:?}"),
                    }
                }
                _ => {}
            });
            poll.unwrap();
        }
        self.xapp.commands().unsubscribe(subscribed.expect("an answer before the report"));
        cells.unwrap()
    }

    /// Subscribes with actions 1, 2, …, and returns what is admitted and what is not.
    fn subscribe(&mut self, plans: &[Plan]) -> Result<Admission, SubscribeError> {
        let actions = (1..).zip(plans).map(|(id, plan)| {
            let (_, definition) = plan.encode(self.revision).unwrap();
            let kind = RicActionType::Report;
            Action { id: RicActionId(id), kind, definition: Some(definition), subsequent: None }
        });
        let (event_trigger, _) = plans[0].encode(self.revision).unwrap();
        let spec = SubscriptionSpec { event_trigger, actions: actions.collect() };
        let asked = self.xapp.commands().subscribe(self.node, self.function, spec);
        self.await_event("answer to the subscription", |event| match event {
            RequestEvent::Subscribed { ticket, admitted, not_admitted, .. } if *ticket == asked => {
                Some(Ok(Admission { admitted: admitted.clone(), not_admitted: not_admitted.clone() }))
            }
            RequestEvent::SubscriptionFailed { ticket, error } if *ticket == asked => Some(Err(error.clone())),
            _ => None,
        })
    }
}

/// The UE ID of a UE of the emulated RAN.
fn ue_id(reference: &UeReference) -> UeId<'static> {
    by_amf(reference.to_string().strip_prefix("amf:").expect("an AMF UE NGAP ID").parse().unwrap())
}

fn failure(outcome: &ControlOutcome, revision: rc::Revision) -> (Cause, String) {
    let ControlOutcome::Failed { cause, outcome: Some(octets) } = outcome else { panic!("{outcome:?}") };
    let arena = e2sm::Arena::new();
    let ControlOutcomeFormats::Format1(format) = RcOutcome::decode(octets, revision, &arena).unwrap().formats else {
        panic!("{octets:?}")
    };
    match &format.ran_p_list[0].value {
        RanParameterValue::ValuePrintableString(text) => (*cause, text.to_string()),
        other => panic!("{other:?}"),
    }
}

/// Each operator hands over its own UE, though its nodes and cells have its own PLMN; the other's UEs stay.
#[test]
fn each_operator_hands_its_own_ue_over() {
    let network = network(0);
    let host = connect(&network.host);
    eventually("the owner knows all UEs", || references(&host).len() == 4);
    for (ric, plmn) in [(&network.a, "00101"), (&network.b, "00102")] {
        let ric = connect(ric);
        let ue = ric.ue(own_ues(&ric).first().unwrap().clone()).unwrap();
        let from = ue.cell().unwrap().unwrap();
        let others = || references(&host).into_iter().filter(|other| other != ue.reference());
        let cells = || -> Vec<_> { others().map(|other| host.ue(other).unwrap().cell().unwrap()).collect() };
        let before = cells();
        let to = ric.cells().unwrap().iter().map(ferric::xapp::Cell::id).find(|cell| *cell != from).unwrap();
        let answer = ue.handover(to).unwrap();
        assert!(answer.node.starts_with(&format!("gnb-{plmn}-")), "{answer:?}");
        eventually("the UE is in the other cell", || ue.cell().unwrap() == Some(to));
        let at_host = host.ue(ue.reference().clone()).unwrap();
        eventually("the owner sees it there", || at_host.cell().unwrap() == Some(to));
        assert_eq!(cells(), before, "the others have not moved");
    }
}

/// In the network of an operator, each cell has its PLMN in all that it receives, and it names the cells so.
#[test]
fn cells_have_the_plmn_of_the_operator() {
    const PRBS: &str = "RRU.PrbTotDl";
    let network = network(0);
    // one entry for each of the two cells, whether it is known by events of UEs or by reports of E2SM-CCC
    for (ric, plmn) in [(&network.host, "00101"), (&network.a, "00101"), (&network.b, "00102")] {
        ric.rest.eventually("/v1/cells", |cells| {
            cells["cells"].as_array().is_some_and(|all| all.len() == 2 && all.iter().all(|cell| cell["plmn"] == plmn))
        });
    }
    let b = connect(&network.b);
    let ue = b.ue(own_ues(&b).first().unwrap().clone()).unwrap();
    eventually("the cell of the UE is known", || ue.cell().unwrap().is_some());
    let from = ue.cell().unwrap().unwrap();
    let mut stream = b.kpm([PRBS]).cell(from).every(100).unwrap();
    assert!(stream.next_within(PATIENCE).unwrap().unwrap().number(PRBS).is_some(), "a measurement of the cell");

    let mut xapp = RawXapp::connect(&network.b);
    let cells = xapp.structures(&["O-NRCellDU"]);
    let Cgi::NrCgi(own) = cells[0].cell_global_id else { panic!("{cells:?}") };
    assert_eq!((cells.len(), own.plmn_identity), (1, B), "the cell of the first base station");
    let own = Cgi::NrCgi(own);
    let read = xapp.structures_of(Some(own), &["O-NRCellDU"]);
    assert_eq!((read.len(), read[0].cell_global_id), (1, own));
    // named as the base station names it, it is the same cell
    let physical = nr_cell(&mut RawXapp::connect(&network.host));
    assert_eq!(physical.plmn_identity, A);
    let read = xapp.structures_of(Some(Cgi::NrCgi(physical)), &["O-NRCellDU"]);
    assert_eq!(read[0].cell_global_id, own);

    let to = b.cells().unwrap().iter().map(ferric::xapp::Cell::id).find(|cell| *cell != from).unwrap();
    let ids: Vec<NodeId> = xapp.xapp.nodes().map(|node| node.id).collect();
    let target = |plmn| Handover::to(Cgi::NrCgi(NrCgi::new(plmn, to.identity())));
    let control = Control::of_ue(ue_id(ue.reference()), ControlAction::Handover(target(B)));
    // the other base station has no such UE
    let acknowledged = ids.into_iter().filter(|node| {
        xapp.node = *node;
        matches!(xapp.control(&control), ControlOutcome::Acknowledged(_))
    });
    assert_eq!(acknowledged.count(), 1);
    eventually("the UE is in the other cell", || ue.cell().unwrap() == Some(to));
}

#[test]
fn controls_of_foreign_ues_and_slices_are_refused() {
    let network = network(0);
    let foreign = own_ues(&connect(&network.b)).first().unwrap().clone();
    let own = own_ues(&connect(&network.a)).first().unwrap().clone();
    let mut xapp = RawXapp::connect(&network.a);
    let revision = xapp.revision;
    let drx = |ue: &UeReference| Control::of_ue(ue_id(ue), ControlAction::Drx(Drx::long(320)));
    let failed = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
    assert_eq!(failure(&xapp.control(&drx(&foreign)), revision), (failed, "there is no such UE".to_owned()));
    let quota = |plmn| {
        let quota = SlicePrbQuota::of_slice(plmn, SNssai { sst: Sst([1]), sd: None }, 10, 100);
        Control::of_cell(ControlAction::SlicePrbQuota(quota))
    };
    let (cause, text) = failure(&xapp.control(&quota(B)), revision);
    assert_eq!((cause, &*text), (failed, "slice 1 of PLMN 00102 does not belong to this network alone"));
    // the cell is divided already
    let (cause, text) = failure(&xapp.control(&quota(A)), revision);
    assert_eq!((cause, &*text), (failed, "slices of the SLICE model divide the cell among operators: use these"));
    assert_eq!(own_ues(&connect(&network.b)).len(), 2);
    // its own UE, by the same way
    let answer = xapp.control(&drx(&own));
    assert!(matches!(answer, ControlOutcome::Acknowledged(_)), "{answer:?}");
}

/// The base station admits one of two actions: its answer to the tenant is that to the owner.
#[test]
fn actions_that_the_base_station_does_not_admit_are_named() {
    let network = network(0);
    let states = Plan::report_rrc_states(&[RrcState::RrcConnected]);
    // a report of changes of the node needs another event trigger
    let changes = Plan::report_node_changes(&[E2NodeInfoChangeId(1)], &[node_information::CELL_DELETED]);
    let wrong = Plan { trigger: states.trigger.clone(), ..changes };
    let of_owner = RawXapp::connect(&network.host).subscribe(&[states.clone(), wrong.clone()]).unwrap();
    assert_eq!(of_owner.admitted, [RicActionId(1)]);
    assert_eq!(of_owner.not_admitted.len(), 1, "{of_owner:?}");
    for ric in [&network.a, &network.b] {
        let mut xapp = RawXapp::connect(ric);
        assert_eq!(xapp.subscribe(&[states.clone(), wrong.clone()]), Ok(of_owner.clone()));
        // nothing is left of a subscription that is refused as a whole
        let refused = xapp.subscribe(std::slice::from_ref(&wrong)).unwrap_err();
        let SubscribeError::Refused { cause, .. } = refused else { panic!("{refused:?}") };
        assert_eq!(cause, of_owner.not_admitted[0].1);
    }
}

/// Handovers of the base station wait for the decision of the operator of the UE.
#[test]
fn decisions_on_handovers_are_those_of_the_operator() {
    let network = network(600);
    let (a, b) = (connect(&network.a), connect(&network.b));
    let (mut of_a, mut of_b) = (a.handover_requests().unwrap(), b.handover_requests().unwrap());
    let (mut seen_a, mut seen_b) = (BTreeSet::new(), BTreeSet::new());
    // base stations do not wait for ever: the first ones may have gone on
    eventually("a handover is denied", || {
        let request = of_a.next_within(PATIENCE).unwrap().unwrap();
        seen_a.insert(request.ue.clone());
        request.deny().is_ok()
    });
    for _ in 0..4 {
        seen_b.insert(of_b.next_within(PATIENCE).unwrap().unwrap().ue.clone());
    }
    assert!(seen_a.is_disjoint(&seen_b), "{seen_a:?} {seen_b:?}");
    // in a handover a UE has another name for a moment
    for (ric, seen) in [(&a, &seen_a), (&b, &seen_b)] {
        eventually("the UEs of the requests are the operator's", || seen.is_subset(&own_ues(ric)));
    }
}

/// What an operator may not set by E2SM-CCC is refused, and the RAN is as before.
#[test]
fn cells_are_configured_by_nobody_but_the_owner() {
    let network = network(0);
    let names = ["O-NRCellDU", "O-RRMPolicyRatio"];
    let mut owner = RawXapp::connect(&network.host);
    let before = owner.structures(&names);
    let cell = before[0].cell_global_id;
    let policy = |plmn: PlmnIdentity| {
        let member = ccc::RrmPolicyMember { plmn_id: Some(plmn), snssai: Some(SNssai { sst: Sst([1]), sd: None }) };
        Structure::RrmPolicyRatio(ccc::RrmPolicyRatio {
            resource_type: Some(ccc::ResourceType::PrbDl),
            rrm_policy_member_list: Some(vec![member]),
            rrm_policy_max_ratio: Some(100),
            rrm_policy_min_ratio: Some(60),
            rrm_policy_dedicated_ratio: Some(0),
        })
    };
    let locked = Structure::NrCellDu(ccc::NrCellDu {
        administrative_state: Some(ccc::AdministrativeState::Locked),
        ..ccc::NrCellDu::default()
    });
    for (ric, own, foreign) in [(&network.a, A, B), (&network.b, B, A)] {
        let mut xapp = RawXapp::connect(ric);
        let cases = [
            (locked.clone(), ccc::Cause::NotSupported),
            (policy(foreign), ccc::Cause::NotAvailable),
            // slices of the SLICE model divide the cell
            (policy(own), ccc::Cause::IncompatibleState),
        ];
        for (structure, why) in cases {
            let outcome = xapp.set(cell, structure.clone());
            let ControlOutcome::Failed { cause, outcome: Some(octets) } = &outcome else { panic!("{outcome:?}") };
            assert_eq!(*cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
            let outcome = ccc::ControlOutcome::decode(octets).unwrap();
            let ccc::ControlOutcomeFormat::CellLevel { cells, .. } = outcome.format else { panic!() };
            let failed = &cells[0].failed.as_ref().unwrap()[0];
            assert_eq!((failed.cause, &failed.requested_values), (why, &structure), "as it was asked for");
        }
        // it reads the cell, with its own network only
        let read = xapp.structures(&names[..1]);
        let Structure::NrCellDu(of_cell) = &read[0].structures[0].values else { panic!("{read:?}") };
        assert_eq!(of_cell.administrative_state, Some(ccc::AdministrativeState::Unlocked));
        let networks = of_cell.plmn_info_list.iter().flatten();
        assert!(networks.clone().count() > 0 && networks.clone().all(|info| info.plmn_id == Some(own)), "{of_cell:?}");
    }
    assert_eq!(owner.structures(&names), before);
}

/// A base station without slices of the SLICE model: E2SM-RC, E2SM-CCC, MAC statistics and events of UEs.
static WITHOUT_SLICES: Profile = Profile {
    name: "without-slices",
    e2ap_version: None,
    kpm_revision: None,
    rc_revision: None,
    is_split: false,
    nodes: Some(&[(NodeType::Gnb, NODE)]),
    setup_order: &[],
};

/// A base station with interface messages (E2SM-NI), and KPM by an identifier that nobody knows.
static WITHOUT_SHARED_FUNCTIONS: Profile = Profile {
    name: "without-shared-functions",
    e2ap_version: None,
    kpm_revision: None,
    rc_revision: None,
    is_split: false,
    nodes: Some(&[(
        NodeType::Gnb,
        NodeProfile { functions: Some(&[5]), kpm: KpmProfile { oid: Some("1.1.1"), ..NODE.kpm }, ..NODE },
    )]),
    setup_order: &[],
};

const NODE: NodeProfile = NodeProfile {
    functions: Some(&[3, 4, 142, 149]),
    kpm: KpmProfile {
        function_id: 2,
        styles: None,
        measurements: None,
        revision: None,
        oid: None,
        definition_oid: None,
        short_name: None,
        v1_name: None,
        missing_value: MissingValue::NoValue,
        timestamps: None,
        evaluates_conditions: true,
        max_actions_per_subscription: 16,
    },
    rc: RcProfile {
        revision: None,
        actions: None,
        events: None,
        has_ue_parameters: true,
        has_procedures: true,
        offer: None,
    },
    ccc: CccProfile::Short,
    accepts_unknown: false,
    has_ran_ue_id: true,
    has_ng_only: false,
};

/// The guaranteed shares of network slices, by PLMN.
fn shares(owner: &mut RawXapp) -> BTreeSet<(PlmnIdentity, u8)> {
    let cells = owner.structures(&["O-NRCellDU", "O-RRMPolicyRatio"]);
    let policies = cells.iter().flat_map(|cell| &cell.structures).filter_map(|structure| match &structure.values {
        Structure::RrmPolicyRatio(policy) => Some(policy),
        _ => None,
    });
    let share = |policy: &ccc::RrmPolicyRatio| {
        let members = policy.rrm_policy_member_list.as_ref().expect("members");
        (members[0].plmn_id.expect("a PLMN"), policy.rrm_policy_min_ratio.expect("a share"))
    };
    policies.map(share).collect()
}

/// Quotas and RRM policies are parts of the share of each operator, follow new agreements, and end with this operator only.
#[test]
fn quotas_and_policies_are_parts_of_the_share() {
    let (a, b) = (TestRic::start(), TestRic::start());
    let (host, sla) = TestRic::with_virtual_networks(two_operators(&a, 50, &b, 50));
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
    let _ran = TestRan::start(&host.e2, RanConfig { scenario, profile: &WITHOUT_SLICES, ..RanConfig::default() });
    for (ric, node) in [(&host, "gnb-00101-e00"), (&a, "gnb-00101-e00"), (&b, "gnb-00102-e00")] {
        ric.rest.eventually(&format!("/v1/nodes/{node}"), |_| true);
    }
    let mut owner = RawXapp::connect(&host);
    assert_eq!(shares(&mut owner), BTreeSet::new());
    let (mut of_a, mut of_b) = (RawXapp::connect(&a), RawXapp::connect(&b));
    let slice = SNssai { sst: Sst([1]), sd: None };
    let quota = |plmn| Control::of_cell(ControlAction::SlicePrbQuota(SlicePrbQuota::of_slice(plmn, slice, 60, 100)));
    let answer = of_a.control(&quota(A));
    assert!(matches!(answer, ControlOutcome::Acknowledged(_)), "{answer:?}");
    assert_eq!(shares(&mut owner), BTreeSet::from([(A, 30)]));
    // the other one by E2SM-CCC, for a cell of its own network
    let cell = Cgi::NrCgi(NrCgi { plmn_identity: B, ..nr_cell(&mut owner) });
    let member = ccc::RrmPolicyMember { plmn_id: None, snssai: Some(slice) };
    let policy = Structure::RrmPolicyRatio(ccc::RrmPolicyRatio {
        resource_type: Some(ccc::ResourceType::PrbDl),
        rrm_policy_member_list: Some(vec![member]),
        rrm_policy_max_ratio: Some(100),
        rrm_policy_min_ratio: Some(80),
        rrm_policy_dedicated_ratio: Some(0),
    });
    let answer = of_b.set(cell, policy);
    let ControlOutcome::Acknowledged(Some(octets)) = &answer else { panic!("{answer:?}") };
    let ccc::ControlOutcomeFormat::CellLevel { cells, .. } = ccc::ControlOutcome::decode(octets).unwrap().format else {
        panic!("{answer:?}")
    };
    assert_eq!(cells[0].cell_global_id, cell, "the outcome is of the cell that was named");
    let both = BTreeSet::from([(A, 30), (B, 40)]);
    assert_eq!(shares(&mut owner), both);
    // each reads its own policies as it has set them, and sets none of the other
    assert_eq!(shares(&mut of_b), BTreeSet::from([(B, 80)]));
    assert_eq!(shares(&mut of_a), BTreeSet::from([(A, 60)]));
    let (cause, _) = failure(&of_a.control(&quota(B)), of_a.revision);
    assert_eq!(cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    assert_eq!(shares(&mut owner), both);

    sla.replace(two_operators(&a, 20, &b, 80));
    eventually("the new agreements", || shares(&mut owner) == BTreeSet::from([(A, 12), (B, 64)]));
    let mut one = two_operators(&a, 20, &b, 80);
    one.tenants.truncate(1);
    sla.replace(one);
    eventually("nothing is left of b's policies", || shares(&mut owner) == BTreeSet::from([(A, 12), (B, 0)]));
}

/// The cell of the base station.
fn nr_cell(owner: &mut RawXapp) -> NrCgi {
    match owner.structures(&["O-NRCellDU"])[0].cell_global_id {
        Cgi::NrCgi(cell) => cell,
        other @ Cgi::EutraCgi(_) => panic!("{other:?}"),
    }
}

/// A virtual node would have no function, which no setup of E2AP v02 and later can name.
#[test]
fn base_station_without_functions_for_tenants_is_not_shared() {
    let tenant = TestRic::start();
    let (host, _) = TestRic::with_virtual_networks(two_operators(&tenant, 50, &tenant, 50));
    let config = RanConfig { profile: &WITHOUT_SHARED_FUNCTIONS, ..RanConfig::default() };
    let ran = TestRan::start(&host.e2, RanConfig { scenario: Scenario::without_traffic(1), ..config });
    host.rest.eventually("/v1/nodes/gnb-00101-e00", |_| true);
    eventually("the reason", || log().contains("the base station is not shared: it has no RAN function that tenants"));
    assert_eq!(tenant.rest.get("/v1/nodes")["nodes"].as_array().unwrap().len(), 0);
    drop(ran);
    // the controller goes on
    let scenario = Scenario::without_traffic(1);
    let _ran = TestRan::start(&host.e2, RanConfig { scenario, ..RanConfig::default() });
    tenant.rest.eventually("/v1/nodes/gnb-00102-e00", |_| true);
}
