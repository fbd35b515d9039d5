//! The five steps of the FlexRIC paper's Fig. 4: a base station of a CU and a DU, a controller of its owner and one of a guest,
//! which is to see the UEs of its own network on the DU. The DU cannot know which those are.
//!
//! 1. A UE attaches.
//! 2. The CU reports it to the owner's controller, with the selected network (RRC notification).
//! 3. The controller decides that it is the guest's.
//! 4. It sends the association to every node of the base station (UE-to-controller association).
//! 5. The guest's controller, which had subscribed long before, sees the UE, and no other.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use e2sm::association::{self, Command, ControlHeader, ControlMessage};
use e2sm::common::{
    AmfUeNgapId, Cgi, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, NrCgi, PlmnIdentity, RntiValue, UeId, UeIdGnb, UeIdGnbDu,
};
use e2sm::kpm::dictionary::Scope as OfferScope;
use e2sm::kpm::{
    EveryUe, IndicationMessage, MeasurementLabel, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision,
    Scope, Value,
};
use e2sm::rrc::{self, Event, EventTriggerDefinition, Notification};
use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, NodeHandle, RanFunction, Ue};
use ferric::e2::{self, ControllerConfig, Indication, NodeId, SubscriptionSpec};
use ferric::e2ap::{GlobalE2NodeId, GlobalRicId, GnbDuId, GnbId, RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server, ServerConfig};
use per::{Bits, Single};
use ran_functions::association::{AssociationFunction, UeDirectory};
use ran_functions::kpm::{KpmConfig, KpmFunction, KpmSource, MeasuredObject, SupportedMeasurement};
use ran_functions::rrc::{RrcConfig, RrcFunction, RrcSource};

const HOME: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
const GUEST: PlmnIdentity = PlmnIdentity::from_codes(2, 2, 2);
const OWNERS_RIC: u32 = 1;
const GUESTS_RIC: u32 = 2;
const KPM: RanFunctionId = RanFunctionId(2);
const RRC: RanFunctionId = RanFunctionId(rrc::MODEL.function_id);
const ASSOCIATION: RanFunctionId = RanFunctionId(association::FUNCTION_ID);

fn cell() -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: HOME, nr_cell_identity: Bits::new(1, 36) })
}

/// A UE's name in the CU: the core's, and that on F1.
fn cu_name(ue: Ue) -> UeId<'static> {
    let f1 = GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue.0 as u32) };
    UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(1000 + ue.0 as i64),
        guami: Guami {
            plmn_identity: HOME,
            amf_region_id: Bits::new(1, 8),
            amf_set_id: Bits::new(1, 10),
            amf_pointer: Bits::new(1, 6),
        },
        gnb_cu_ue_f1ap_id_list: Some(vec![f1].into()),
        gnb_cu_cp_ue_e1ap_id_list: None,
        ran_ueid: None,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }))
}

/// A UE's name in the DU: that on F1, and nothing else.
fn du_name(ue: Ue) -> UeId<'static> {
    let gnb_cu_ue_f1ap_id = GnbCuUeF1apId(ue.0 as u32);
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id, ran_ueid: None, cell_rnti: None })
}

/// The CU, which knows the attached UEs and their networks.
#[derive(Default)]
struct Cu {
    ues: Vec<(Ue, PlmnIdentity)>,
    new_events: Vec<(Ue, Notification<'static>)>,
}

impl Cu {
    fn notification(&self, ue: Ue, event: Event) -> Notification<'static> {
        let plmn = self.ues.iter().find(|(other, _)| *other == ue).map_or(HOME, |(_, plmn)| *plmn);
        let (ue_id, rnti) = (cu_name(ue), RntiValue(ue.0 as u16));
        Notification { event, ue_id, rnti, cell: cell(), plmn, s_nssais: Vec::new().into(), addresses: None }
    }

    fn attach(&mut self, ue: Ue, plmn: PlmnIdentity) {
        self.ues.push((ue, plmn));
        self.new_events.push((ue, self.notification(ue, Event::Attached)));
    }
}

impl RrcSource for Cu {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(self.ues.iter().map(|(ue, _)| *ue));
    }
    fn present(&self, ue: Ue) -> Notification<'static> {
        self.notification(ue, Event::Present)
    }
    fn has_events(&self) -> bool {
        !self.new_events.is_empty()
    }
    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.append(&mut self.new_events);
    }
}

impl UeDirectory for Cu {
    fn find(&self, name: &UeId<'_>) -> Option<Ue> {
        self.ues.iter().map(|(ue, _)| *ue).find(|ue| cu_name(*ue) == *name)
    }
    fn ue_id(&self, ue: Ue) -> Option<UeId<'static>> {
        self.ues.iter().any(|(other, _)| *other == ue).then(|| cu_name(ue))
    }
}

/// The DU, which does not know the networks of its UEs.
#[derive(Default)]
struct Du {
    ues: Vec<Ue>,
}

impl KpmSource for Du {
    type Snapshot = ();
    fn cell(&self) -> Cgi {
        cell()
    }
    fn measurements(&self) -> &[SupportedMeasurement] {
        &[SupportedMeasurement { name: Cow::Borrowed("DRB.UEThpDl"), id: Some(1), scope: OfferScope::CellAndUe }]
    }
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(&self.ues);
    }
    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        du_name(ue)
    }
    fn take_snapshot(&self, (): &mut ()) {}
    fn value(&self, (): &(), object: MeasuredObject<'_>, _: usize, _: &MeasurementLabel) -> Value {
        match object {
            MeasuredObject::Ues([ue]) => Value::Real(ue.0 as f64),
            _ => Value::NoValue,
        }
    }
}

impl UeDirectory for Du {
    fn find(&self, name: &UeId<'_>) -> Option<Ue> {
        self.ues.iter().copied().find(|ue| du_name(*ue) == *name)
    }
    fn ue_id(&self, ue: Ue) -> Option<UeId<'static>> {
        self.ues.contains(&ue).then(|| du_name(ue))
    }
}

fn subscription(event_trigger: Vec<u8>, definition: Option<Vec<u8>>) -> SubscriptionSpec {
    let action = e2::Action { id: RicActionId(1), kind: RicActionType::Report, definition, subsequent: None };
    SubscriptionSpec { event_trigger, actions: vec![action] }
}

/// The owner's controller, which gets RRC notifications from the CU and sends associations to CU and DU.
#[derive(Default)]
struct Owner {
    acknowledged: Arc<Mutex<u32>>,
}

impl Iapp for Owner {
    fn name(&self) -> &'static str {
        "owner"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) if node.function(RRC).is_some() => {
                let mut trigger = Vec::new();
                EventTriggerDefinition::ALL.encode(e2sm::Wire::Per, &mut trigger).unwrap();
                ric.subscribe(node.id, RRC, subscription(trigger, None)).unwrap();
            }
            IappEvent::Request(RequestEvent::Controlled { outcome, .. }) => {
                assert!(matches!(outcome, e2::ControlOutcome::Acknowledged(_)), "{outcome:?}");
                *self.acknowledged.lock().unwrap() += 1;
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let (_, message) = indication.payload.unwrap();
        let arena = e2sm::Arena::new();
        let message = rrc::IndicationMessage::decode(message, e2sm::Wire::Per, &arena).unwrap();
        let guests: Vec<_> =
            message.notifications.iter().filter(|n| n.plmn == GUEST).map(|n| n.ue_id.clone()).collect();
        let nodes: Vec<(NodeId, bool)> = ric.nodes().map(|node| (node.id, node.id == indication.node)).collect();
        for name in guests {
            let UeId::Gnb(in_cu) = &name else { panic!("the CU's name: {name:?}") };
            let f1 = in_cu.gnb_cu_ue_f1ap_id_list.as_ref().unwrap().iter().next().unwrap().gnb_cu_ue_f1ap_id;
            for (node, is_cu) in &nodes {
                let ue = if *is_cu { per::IntoOwned::into_owned(name.clone()) } else { du_name(Ue(f1.0.into())) };
                let controller = GlobalRicId::new(HOME, GUESTS_RIC);
                let header = ControlHeader { command: Command::Expose }.encode().unwrap();
                let message = ControlMessage { controller, ues: vec![ue].into() }.encode().unwrap();
                ric.control(*node, ASSOCIATION, &header, &message).unwrap();
            }
        }
    }
}

/// The guest's controller: it measures every UE that it sees on the DU.
struct Guest {
    seen: Arc<Mutex<Vec<u32>>>,
}

impl Iapp for Guest {
    fn name(&self) -> &'static str {
        "guest"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        if let IappEvent::NodeUp(node) = event
            && let Some(function) = node.function(KPM)
        {
            let definition = RanFunctionDefinition::decode_owned(&function.definition, Revision::V3_00).unwrap();
            let measurements = [MeasurementRequest::named("DRB.UEThpDl")];
            let scope = Scope::EveryUe(EveryUe::AnySignal);
            let report_request =
                ReportRequest { measurements: &measurements, granularity_period_ms: 5, reporting_period_ms: 5, scope };
            let plan = report_request.plan(&definition, Revision::V3_00).unwrap();
            let (mut trigger, mut action) = (Vec::new(), Vec::new());
            plan.trigger.encode(Revision::V3_00, &mut trigger).unwrap();
            plan.action.encode(Revision::V3_00, &mut action).unwrap();
            ric.subscribe(node.id, KPM, subscription(trigger, Some(action))).unwrap();
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _: &mut IappContext<'_>) {
        let (_, message) = indication.payload.unwrap();
        let message = IndicationMessage::decode_owned(message, Revision::V3_00).unwrap();
        let name = |ue: &UeId<'_>| match ue {
            UeId::GnbDu(ue) => ue.gnb_cu_ue_f1ap_id.0,
            other => panic!("the DU's name: {other:?}"),
        };
        *self.seen.lock().unwrap() = message.rows(None).filter_map(|row| row.ue.map(name)).collect();
    }
}

fn ric(address: &str, number: u32, iapp: Box<dyn Iapp>) -> Server {
    let address: Address = address.parse().unwrap();
    let ric_id = GlobalRicId::new(HOME, number);
    let controller = ControllerConfig { ric_id, ..ControllerConfig::default() };
    let config = ServerConfig { e2: vec![address.into()], xapp: None, controller, ..ServerConfig::default() };
    let mut server = Server::bind(config).unwrap();
    server.add_iapp(iapp);
    server
}

fn node(du: Option<i64>) -> GlobalE2NodeId {
    let whole = GlobalE2NodeId::gnb(HOME, GnbId::new(0xe00, 22));
    let GlobalE2NodeId::Gnb(mut id) = whole else { panic!("a gNB") };
    id.gnb_du_id = du.map(GnbDuId);
    GlobalE2NodeId::Gnb(id)
}

struct Scene {
    agents: AgentLoop,
    servers: [Server; 2],
    cu: (NodeHandle, Rc<RefCell<Cu>>),
    du: (NodeHandle, Rc<RefCell<Du>>),
}

impl Scene {
    fn run(&mut self, what: &str, mut done: impl FnMut(&AgentLoop) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !done(&self.agents) {
            assert!(Instant::now() < deadline, "timeout waiting for {what}");
            self.agents.poll(Some(Duration::from_millis(1))).unwrap();
            for server in &mut self.servers {
                server.poll(Some(Duration::ZERO)).unwrap();
            }
        }
    }

    /// A UE attaches: the CU learns its network, the DU serves it.
    fn attach(&mut self, ue: u64, plmn: PlmnIdentity) {
        self.du.1.borrow_mut().ues.push(Ue(ue));
        self.cu.1.borrow_mut().attach(Ue(ue), plmn);
        self.agents.wake(self.cu.0);
    }
}

#[test]
fn guest_sees_its_ues_on_the_du() {
    let (owner, seen) = (Owner::default(), Arc::new(Mutex::new(Vec::new())));
    let acknowledged = owner.acknowledged.clone();
    let addresses = ["memory:figure4-owner", "memory:figure4-guest"];
    let servers = [
        ric(addresses[0], OWNERS_RIC, Box::new(owner)),
        ric(addresses[1], GUESTS_RIC, Box::new(Guest { seen: seen.clone() })),
    ];
    let mut agents = AgentLoop::new(AgentLoopConfig::default()).unwrap();
    let (cu, du) = (Rc::new(RefCell::new(Cu::default())), Rc::new(RefCell::new(Du::default())));
    let of_cu: Vec<Box<dyn RanFunction>> = vec![
        Box::new(RrcFunction::new(cu.clone(), RrcConfig::default())),
        Box::new(AssociationFunction::new(cu.clone())),
    ];
    let of_du: Vec<Box<dyn RanFunction>> = vec![
        Box::new(KpmFunction::new(du.clone(), KpmConfig::default())),
        Box::new(AssociationFunction::new(du.clone())),
    ];
    let cu_node = agents.add_node(NodeConfig::new(node(None)), of_cu);
    let du_node = agents.add_node(NodeConfig::new(node(Some(5))), of_du);
    for address in addresses {
        for node in [cu_node, du_node] {
            agents.add_controller(node, address.parse().unwrap());
        }
    }
    let mut scene = Scene { agents, servers, cu: (cu_node, cu), du: (du_node, du) };
    scene.run("all setups", |agents| agents.connected_controllers() == 4);

    // 1 to 5, for a UE of the guest's among two of the owner's
    scene.attach(20, HOME);
    scene.attach(21, GUEST);
    scene.attach(22, HOME);
    scene.run("the association at both parts", |_| *acknowledged.lock().unwrap() == 2);
    scene.run("the guest's UE", |_| *seen.lock().unwrap() == [21]);
    // more of both
    scene.attach(23, GUEST);
    scene.attach(24, HOME);
    scene.run("the next one", |_| *seen.lock().unwrap() == [21, 23]);
    assert_eq!(*acknowledged.lock().unwrap(), 4);
    for node in [cu_node, du_node] {
        let controllers: Vec<_> = scene.agents.controllers(node).map(|controller| controller.id).collect();
        let views = scene.agents.views(node);
        assert!(views.sees_all(controllers[0]));
        assert_eq!(views.exposed(controllers[1]).collect::<Vec<_>>(), [Ue(21), Ue(23)]);
    }
}
