//! The internal app.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use e2sm::Arena;
use e2sm::rrc::EventTriggerDefinition;
use ferric::agent::{Admission, AgentLoopConfig, NodeConfig, NodeHandle, RequestKey, SendAgentLoop};
use ferric::e2::{
    Action, ControlOutcome, ControllerInstance, Function, Indication, Node, NodeId, RequestEvent, SubscribeError,
    SubscriptionSpec, Ticket,
};
use ferric::e2ap::{Cause, CauseRicRequest, GlobalE2NodeId, RanFunctionId, RicActionId, RicActionType};
use ferric::link;
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker, Server};
use tracing::{info, warn};

use crate::alarm::Alarm;
use crate::base_station::{BaseStation, Changes};
use crate::cells::CellPlmn;
use crate::controls::Controls;
use crate::function::VirtualFunction;
use crate::networks::Networks;
use crate::node::{Command, CommandKind, NodeState, Offered, SharedNode};
use crate::outgoing::Outgoing;
use crate::physical::{Subscriber, Subscription, Subscriptions};
use crate::reconciler::{Job, Reconciler, advance, step_done};
use crate::reports::OwnedRecords;
use crate::share::Share;
use crate::sla::Sla;
use crate::slices::Part;
use crate::{ccc, kpm, rc, tc};

mod relay;

/// How often the app compares the slices of a base station with what it has configured.
const SLICE_PERIOD_MS: u32 = 1000;
/// How often a base station with traffic control of tenants reports it to the app: a change takes two reports at most.
const TC_PERIOD_MS: u32 = 20;

/// The most RAN functions of a virtual node: one of the 256 that a setup carries has the path of controllers in E2AP v01.00.
pub(crate) const MAX_FUNCTIONS: usize = 255;

/// Replaces the agreements of a running virtualization controller, from any thread.
#[derive(Clone)]
pub struct SlaHandle {
    next: Arc<Mutex<Option<Sla>>>,
    waker: IappWaker,
}

impl SlaHandle {
    /// Has the agreements replaced. Slices that shrink are changed before slices that grow, and controllers of tenants whose share alone
    /// differs notice nothing: their slices are parts of a cell that is smaller or larger. The virtual nodes of tenants that are gone are
    /// disconnected. Those of other tenants stay connected, unless their own entry differs in more than the share, or that of another
    /// tenant of their PLMN.
    pub fn replace(&self, sla: Sla) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(sla);
        self.waker.wake();
    }
}

/// Adds the virtualization controller to a RIC. `links` configures the links to the controllers of tenants.
///
/// # Errors
/// If the system refuses a file descriptor.
pub fn add_to(server: &mut Server, sla: Sla, links: link::Config) -> Result<SlaHandle, ferric::Error> {
    let waker = server.iapp_waker()?;
    let config = AgentLoopConfig { link: links, ..AgentLoopConfig::default() };
    let agents = SendAgentLoop::new_send(config)?;
    let alarm = Alarm::start(server, &agents)?;
    let instance = server.share_nodes();
    log(&sla);
    let handle = SlaHandle { next: Arc::new(Mutex::new(None)), waker };
    server.add_iapp(Box::new(VirtualizationApp {
        next_sla: handle.next.clone(),
        sla: Arc::new(sla),
        agents,
        instance,
        alarm,
        nodes: BTreeMap::new(),
        subscriptions: Subscriptions::default(),
        controls: Controls::default(),
        arena: Arena::new(),
        records: OwnedRecords::default(),
        written: Vec::new(),
    }));
    Ok(handle)
}

/// The part of each cell that a tenant has.
fn part(sla: &Sla, tenant: usize) -> Part {
    Part { share: sla.tenants[tenant].share, tenant: tenant as u32 }
}

/// Logs the agreements.
fn log(sla: &Sla) {
    for (at, tenant) in sla.tenants.iter().enumerate().filter(|(at, _)| sla.has_tenant(*at)) {
        let (name, share_percent, ric) = (&tenant.name, 100.0 * tenant.share, &tenant.ric);
        let first_slice = part(sla, at).first();
        info!(tenant = name, share_percent, plmn = %tenant.plmn, %ric, first_slice, "virtual network");
    }
}

struct VirtualizationApp {
    /// Agreements that are to replace the present ones.
    next_sla: Arc<Mutex<Option<Sla>>>,
    sla: Arc<Sla>,
    /// The virtual nodes. Polled on the thread of the RIC.
    agents: SendAgentLoop,
    /// This controller, in the paths of virtual nodes.
    instance: ControllerInstance,
    alarm: Alarm,
    nodes: BTreeMap<NodeId, BaseStation>,
    subscriptions: Subscriptions,
    controls: Controls,
    arena: Arena,
    records: OwnedRecords,
    /// The part of a report that a tenant receives.
    written: Vec<u8>,
}

impl VirtualizationApp {
    /// Has the agents send what tenants receive, and processes what the controllers of tenants have asked for. `reads` says whether
    /// the links to these may have something to read: without it no system call is made but those that write.
    fn serve_agents(&mut self, reads: bool, ric: &mut IappContext<'_>) {
        // commands have answers, which the next round sends; after some rounds, others have their turn
        let mut has_more = false;
        for _ in 0..4 {
            for node in self.nodes.values() {
                if node.has_outgoing.take() {
                    node.virtual_nodes.iter().flatten().for_each(|handle| self.agents.wake(*handle));
                }
            }
            if !reads {
                self.agents.serve_due();
            } else if let Err(error) = self.agents.poll(Some(Duration::ZERO)) {
                warn!(
                    %error,
                    "cannot poll the links to the controllers of tenants, which get nothing; trying again; restart the RIC if \
                     it stays"
                );
            }
            has_more = self.process_commands(ric);
            if !has_more {
                break;
            }
        }
        if has_more {
            ric.call_after_reading();
        }
        self.alarm.set(&self.agents);
    }

    /// Processes the commands of all functions. Returns whether there were any.
    fn process_commands(&mut self, ric: &mut IappContext<'_>) -> bool {
        let mut has_any = false;
        let VirtualizationApp { nodes, subscriptions, controls, .. } = self;
        for (id, node) in nodes.iter_mut().filter(|(_, node)| node.shared.take_has_commands()) {
            loop {
                let command = node.shared.lock().commands.pop_front();
                let Some(Command { tenant, function, kind }) = command else { break };
                has_any = true;
                match kind {
                    CommandKind::Subscribe { key, spec, view, refused } => {
                        let subscriber = Subscriber { tenant, key, view, refused };
                        subscribe(*id, node, function, (spec, subscriber), subscriptions, ric);
                    }
                    CommandKind::Unsubscribe(key) => {
                        let is_gone = |known: &Subscriber| known.tenant == tenant && known.key == key;
                        subscriptions.remove(*id, is_gone, ric);
                    }
                    CommandKind::Slices { controller, id, message, wire } => {
                        node.slices.push(tenant, Job::Control { controller, id, message, wire });
                    }
                    CommandKind::TrafficControl { controller, id, message } => {
                        node.tc.push(tenant, tc::Job::Control { controller, id, message });
                    }
                    CommandKind::Control(control) => controls.send(*id, node, (tenant, function), control, ric),
                    CommandKind::Removed(controller) => {
                        let is_gone = |known: &Subscriber| known.tenant == tenant && known.key.controller == controller;
                        subscriptions.remove(*id, is_gone, ric);
                        match node.function(function) {
                            Some(Offered::Slice(_)) => node.slices.push(tenant, Job::Reset),
                            Some(Offered::Tc(_)) => node.tc.push(tenant, tc::Job::Reset),
                            Some(Offered::Rc(_) | Offered::Ccc) => {
                                controls.renew_policies(*id, node, tenant, true, ric)
                            }
                            _ => {}
                        }
                    }
                }
            }
            advance(*id, node, ric);
            observe_tc(*id, node, subscriptions, ric);
            tc::advance(*id, node, ric);
        }
        has_any
    }

    /// Adds a base station and its virtual nodes.
    fn add_node(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let name = node.global_id.to_string();
        // tenants would have one node twice, each time another one
        let plmn = node.global_id.plmn_identity();
        let is_alike = |known: &&BaseStation| virtual_id(known.global_id, plmn) == node.global_id;
        if let Some(known) = self.nodes.values().find(is_alike) {
            if ric.allows_line(node.id) {
                warn!(
                    node = name,
                    "the base station is not shared: but for its PLMN it has the identity of {}, and tenants would have two nodes with \
                     one identity; give one of them another id",
                    known.global_id
                );
            }
            return;
        }
        let functions = offered(node);
        // a setup names one at least
        if functions.is_empty() {
            if ric.allows_line(node.id) {
                warn!(
                    node = name,
                    "the base station is not shared: it has no RAN function that tenants can have; let it offer one of the service models \
                     that are shared, such as E2SM-KPM"
                );
            }
            return;
        }
        let sla = self.sla.clone();
        let has_slices = functions.iter().any(|(_, model)| matches!(model, Offered::Slice(_)));
        let shared = SharedNode::new(NodeState { has_slices, ..NodeState::new(name.clone(), plmn, sla.clone()) });
        if !functions.iter().any(|(_, model)| matches!(model, Offered::Rrc(_))) && ric.allows_line(node.id) {
            warn!(
                node = name,
                "the base station reports no events of UEs: tenants do not see any UE of it; let it offer the RRC service model"
            );
        }
        if node.functions.len() > MAX_FUNCTIONS && ric.allows_line(node.id) {
            warn!(
                node = name,
                "the base station has {} RAN functions: tenants have the first {MAX_FUNCTIONS} of those that are shared; let it offer fewer",
                node.functions.len()
            );
        }
        warn_of_unsupported_kpm(node, ric);
        warn_of_tenants_without_ues(node, &sla, ric);
        let virtual_node = |tenant: usize| {
            let of = (self.instance, &*sla, tenant);
            sla.has_tenant(tenant)
                .then(|| add_virtual_node(&mut self.agents, node, &shared, &functions, of, ric))
                .flatten()
        };
        let virtual_nodes = (0..sla.tenants.len()).map(virtual_node).collect();
        for (Function { id, .. }, model) in &functions {
            let mut event_trigger = Vec::new();
            let encoded = match model {
                Offered::Rrc(wire) => EventTriggerDefinition::ALL.encode(*wire, &mut event_trigger),
                Offered::Slice(wire) => {
                    e2sm::slice::EventTriggerDefinition { period_ms: SLICE_PERIOD_MS }.encode(*wire, &mut event_trigger)
                }
                _ => continue,
            };
            let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
            let spec = SubscriptionSpec { event_trigger, actions: vec![report] };
            let added = encoded
                .map_err(|error| error.to_string())
                .and_then(|()| self.subscriptions.add(node.id, *id, spec, None, ric).map(drop));
            if let Err(reason) = added
                && ric.allows_line(node.id)
            {
                warn!(
                    node = name,
                    function = id.0,
                    "cannot subscribe to UEs and slices, which tenants do not see: {reason}"
                );
            }
        }
        let station = BaseStation {
            global_id: node.global_id,
            functions,
            shared,
            virtual_nodes,
            slices: Reconciler::default(),
            tc: tc::Jobs::default(),
            has_outgoing: Cell::new(false),
        };
        self.nodes.insert(node.id, station);
        ric.call_after_reading();
    }

    /// Replaces the agreements.
    fn replace_sla(&mut self, next: Sla, ric: &mut IappContext<'_>) {
        let next = self.sla.succeeded_by(next);
        if next == *self.sla {
            return info!("service level agreements: the file has those that are in force");
        }
        log(&next);
        let changes = Changes::between(&self.sla, &next);
        self.sla = Arc::new(next);
        let nodes: Vec<Node> = ric.nodes().filter(|node| self.nodes.contains_key(&node.id)).cloned().collect();
        for node in &nodes {
            let Some(station) = self.nodes.get_mut(&node.id) else { continue };
            for tenant in &changes.removed {
                self.controls.remove_tenant(node.id, station, *tenant, ric);
                self.subscriptions.remove(node.id, |known| known.tenant == *tenant, ric);
                if let Some(handle) = station.virtual_nodes[*tenant].take() {
                    self.agents.remove_node(handle);
                }
            }
            station.replace_sla(&self.sla, &changes);
            if !changes.added.is_empty() {
                warn_of_tenants_without_ues(node, &self.sla, ric);
            }
            for tenant in &changes.added {
                let of = (self.instance, &*self.sla, *tenant);
                station.virtual_nodes[*tenant] =
                    add_virtual_node(&mut self.agents, node, &station.shared, &station.functions, of, ric);
            }
            for tenant in &changes.resized {
                self.controls.renew_policies(node.id, station, *tenant, false, ric);
            }
            advance(node.id, station, ric);
            observe_tc(node.id, station, &mut self.subscriptions, ric);
            tc::advance(node.id, station, ric);
        }
        ric.call_after_reading();
    }

    /// Removes a base station that is lost, and its virtual nodes.
    fn remove_node(&mut self, id: NodeId, ric: &mut IappContext<'_>) {
        self.subscriptions.forget_node(id);
        self.controls.forget_node(id);
        let Some(node) = self.nodes.remove(&id) else { return };
        node.virtual_nodes.into_iter().flatten().for_each(|handle| self.agents.remove_node(handle));
        ric.call_after_reading();
    }

    fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                let admission = Admission { admitted: admitted.clone(), not_admitted: not_admitted.clone() };
                let active = self.subscriptions.subscribed(*ticket, *subscription, admission.clone(), ric);
                if let Some((active, node)) = active.and_then(|active| Some((active, self.nodes.get(&active.node)?))) {
                    for subscriber in &active.subscribers {
                        let answer = Ok(subscriber.admission(&admission));
                        let answer = Outgoing::Subscribed { key: subscriber.key, answer };
                        node.send(subscriber.tenant, active.function, answer);
                    }
                    ric.call_after_reading();
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let cause = match error {
                    SubscribeError::Refused { cause, .. } => *cause,
                    _ => Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable),
                };
                if let Some(failed) = self.subscriptions.failed(*ticket) {
                    self.own_lost(&failed);
                    self.end(&failed, |key| Outgoing::Subscribed { key, answer: Err(cause) }, ric);
                }
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                if let Some(ended) = self.subscriptions.ended(*subscription) {
                    self.own_lost(&ended);
                    let cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
                    self.end(&ended, |key| Outgoing::Ended { key, cause }, ric);
                }
            }
            RequestEvent::Controlled { ticket, outcome } => self.handle_answer(*ticket, outcome, ric),
            _ => {}
        }
    }

    /// Handles the end of a subscription of the app itself.
    fn own_lost(&mut self, lost: &Subscription) {
        if let Some(node) = self.nodes.get_mut(&lost.node).filter(|_| lost.is_own)
            && matches!(node.function(lost.function), Some(Offered::Tc(_)))
        {
            tc::subscription_lost(node);
        }
    }

    /// Handles the answer of a base station to a control.
    fn handle_answer(&mut self, ticket: Ticket, outcome: &ControlOutcome, ric: &mut IappContext<'_>) {
        if let Some(id) = self.controls.node_of(ticket) {
            if let Some(node) = self.nodes.get(&id) {
                self.controls.answered(ticket, node, outcome, ric.allows_line(id));
                ric.call_after_reading();
            }
            return;
        }
        if let Some((id, node)) = self.nodes.iter_mut().find(|(_, node)| node.tc.is_awaited(ticket)) {
            tc::acknowledge(node, outcome, ric.allows_line(*id));
            tc::advance(*id, node, ric);
            return ric.call_after_reading();
        }
        if let Some((id, node)) = self.nodes.iter_mut().find(|(_, node)| node.slices.is_awaited(ticket)) {
            let id = *id;
            step_done(node, outcome, ric.allows_line(id));
            advance(id, node, ric);
            ric.call_after_reading();
        }
    }

    /// Sends something to the tenants that a subscription to the base station served.
    fn end(&mut self, ended: &Subscription, message: impl Fn(RequestKey) -> Outgoing, ric: &mut IappContext<'_>) {
        let Some(node) = self.nodes.get(&ended.node) else { return };
        for Subscriber { tenant, key, .. } in &ended.subscribers {
            node.send(*tenant, ended.function, message(*key));
        }
        ric.call_after_reading();
    }
}

/// Subscribes to the traffic control of a base station for the app itself, once that is necessary.
fn observe_tc(id: NodeId, node: &mut BaseStation, subscriptions: &mut Subscriptions, ric: &mut IappContext<'_>) {
    let Some((function, wire)) = node.tc_function().filter(|_| node.tc.has_work() && !node.tc.is_subscribed) else {
        return;
    };
    let mut event_trigger = Vec::new();
    let added = e2sm::tc::EventTriggerDefinition { period_ms: TC_PERIOD_MS }
        .encode(wire, &mut event_trigger)
        .map_err(|error| error.to_string())
        .and_then(|()| {
            let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
            let spec = SubscriptionSpec { event_trigger, actions: vec![report] };
            subscriptions.add(id, function, spec, None, ric)
        });
    match added {
        Ok(_) => node.tc.is_subscribed = true,
        Err(reason) if ric.allows_line(id) => {
            let name = &node.shared.lock().name;
            warn!(
                node = name,
                function = function.0,
                "cannot subscribe to the state of TC, which tenants cannot change: {reason}"
            );
        }
        Err(_) => {}
    }
}

/// Subscribes for a tenant.
fn subscribe(
    id: NodeId,
    node: &BaseStation,
    function: RanFunctionId,
    (spec, subscriber): (SubscriptionSpec, Subscriber),
    subscriptions: &mut Subscriptions,
    ric: &mut IappContext<'_>,
) {
    let (tenant, key) = (subscriber.tenant, subscriber.key);
    let result = Share::of(node.virtual_nodes.iter().flatten().count())
        .check(&subscriptions.usage_of(id, tenant), &spec)
        .and_then(|()| {
            let added = match node.function(function) {
                // reports of changes begin with the present configuration, which a later subscriber would not get
                Some(Offered::Ccc) => {
                    subscriptions.add_single(id, function, spec, subscriber.clone(), ric).map(|()| None)
                }
                _ => subscriptions.add(id, function, spec, Some(subscriber.clone()), ric),
            };
            added.map(|admission| admission.map(|admission| subscriber.admission(&admission)))
        });
    match result {
        // the base station answers
        Ok(None) => {}
        Ok(Some(admission)) => {
            node.send(tenant, function, Outgoing::Subscribed { key, answer: Ok(admission) });
            if let Some(Offered::Rrc(wire)) = node.function(function) {
                // the base station reports the present UEs to the first subscriber only
                node.shared.lock().report_present(tenant, function, key, wire);
            }
        }
        Err(reason) => {
            if ric.allows_line(id) {
                let shared = node.shared.lock();
                let (node, tenant) = (&shared.name, &shared.sla.tenants[tenant].name);
                let function = function.0;
                warn!(node, function, tenant, "a subscription of a tenant is refused: {reason}");
            }
            let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
            node.send(tenant, function, Outgoing::Subscribed { key, answer: Err(cause) });
        }
    }
}

/// Logs the tenants whose network a base station does not serve.
fn warn_of_tenants_without_ues(node: &Node, sla: &Sla, ric: &mut IappContext<'_>) {
    let networks = Networks::of(node);
    if let Some(tenants) = networks.without_ues(sla)
        && ric.allows_line(node.id)
    {
        warn!(
            node = %node.global_id,
            "no cell of the base station serves the network of the tenants {tenants}, which have no UE of it; it serves {}. Correct \
             `plmn` and `s_nssais` of their [[tenant]], or have the base station broadcast their networks",
            networks.text()
        );
    }
}

/// The functions of a base station that tenants have, with the definitions that they see.
fn offered(node: &Node) -> Vec<(Function, Offered)> {
    let offered = node.functions.iter().filter_map(|function| {
        let model = Offered::of(function)?;
        let definition = match &model {
            Offered::Kpm(detection) => kpm::offered_definition(detection, &function.definition).ok()?,
            Offered::Rc(detection) => rc::offered_definition(detection, &function.definition).ok()?,
            Offered::Ccc => ccc::offered_definition(&function.definition).ok()?,
            _ => function.definition.to_vec(),
        };
        let (id, revision, oid) = (function.id, function.revision, function.oid.to_string());
        Some((Function { id, revision, definition, oid }, model))
    });
    offered.take(MAX_FUNCTIONS).collect()
}

/// Warns of KPM functions of a base station that tenants do not have because of their revision.
fn warn_of_unsupported_kpm(node: &Node, ric: &mut IappContext<'_>) {
    for function in &node.functions {
        let detected =
            e2sm::kpm::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
        if let Ok(detected) = detected
            && !kpm::is_supported(detected.revision)
            && ric.allows_line(node.id)
        {
            warn!(
                node = %node.global_id,
                function = function.id.0,
                "tenants do not have the KPM function of the base station: it is {}; let the base station offer v02.01 or later",
                detected.revision
            );
        }
    }
}

/// Adds the virtual node of a tenant for a base station; `None` if E2AP cannot carry its functions.
fn add_virtual_node(
    agents: &mut SendAgentLoop,
    node: &Node,
    shared: &SharedNode,
    offered: &[(Function, Offered)],
    (instance, sla, tenant): (ControllerInstance, &Sla, usize),
    ric: &mut IappContext<'_>,
) -> Option<NodeHandle> {
    let agreement = &sla.tenants[tenant];
    let plmn = CellPlmn::to_tenant(&shared.lock(), tenant);
    let functions = offered.iter().map(|(function, model)| {
        let mut function = function.clone();
        if matches!(model, Offered::Ccc)
            && !plmn.is_same()
            && let Ok(definition) = ccc::definition_for(plmn, &function.definition)
        {
            function.definition = definition;
        }
        let function = VirtualFunction::new(shared.clone(), tenant, function, *model);
        Box::new(function) as Box<dyn ferric::agent::RanFunction + Send>
    });
    let config = NodeConfig {
        version: Some(node.version),
        about: format!("virtual node of {}, {:.0} % of {}", agreement.name, 100.0 * agreement.share, node.global_id),
        controller_path: node.controller_path.with(instance, &node.global_id),
        ..NodeConfig::new(virtual_id(node.global_id, agreement.plmn))
    };
    let handle = agents.add_node(config, functions.collect());
    match agents.try_add_controller(handle, agreement.ric.clone()) {
        Ok(_) => Some(handle),
        Err(error) => {
            agents.remove_node(handle);
            if ric.allows_line(node.id) {
                warn!(
                    node = %node.global_id,
                    tenant = agreement.name,
                    "the tenant does not see the base station: E2AP cannot carry its RAN functions: {error}; correct the base station"
                );
            }
            None
        }
    }
}

/// The global id of a virtual node: the base station in the tenant's network.
fn virtual_id(mut id: GlobalE2NodeId, plmn: ids::PlmnIdentity) -> GlobalE2NodeId {
    match &mut id {
        GlobalE2NodeId::Gnb(id) => id.global_gnb_id.plmn_identity = plmn,
        GlobalE2NodeId::EnGnb(id) => id.global_en_gnb_id.plmn_identity = plmn,
        GlobalE2NodeId::NgEnb(id) => id.global_ng_enb_id.plmn_identity = plmn,
        GlobalE2NodeId::Enb(id) => id.global_enb_id.plmn_identity = plmn,
    }
    id
}

impl Iapp for VirtualizationApp {
    fn name(&self) -> &'static str {
        "virtualization controller"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                self.remove_node(node.id, ric);
                self.add_node(node, ric);
            }
            IappEvent::NodeChanged(node)
                if self.nodes.get(&node.id).is_none_or(|known| known.functions != offered(node)) =>
            {
                self.remove_node(node.id, ric);
                self.add_node(node, ric);
            }
            IappEvent::NodeLost(id) => self.remove_node(*id, ric),
            IappEvent::Request(event) => self.handle_request(event, ric),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        self.relay(indication, ric);
    }

    fn after_reading(&mut self, ric: &mut IappContext<'_>) {
        self.serve_agents(false, ric);
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let next = self.next_sla.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(next) = next {
            self.replace_sla(next, ric);
        }
        self.serve_agents(true, ric);
    }
}
