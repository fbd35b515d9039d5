//! The internal app.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use e2sm::rrc::{EventTriggerDefinition, IndicationMessage as RrcMessage};
use e2sm::slice::{
    ControlHeader, ControlMessage, ControlOutcome as SliceOutcome, DeleteSlices, IndicationMessage as SliceMessage,
    Slice,
};
use e2sm::{Arena, Wire};
use ferric::agent::{AgentLoopConfig, ControlFailure, ControllerId, NodeConfig, NodeHandle, SendAgentLoop};
use ferric::e2::{
    Action, ControlOutcome, Function, Indication, Node, NodeId, RequestEvent, SubscribeError, SubscriptionSpec, Ticket,
};
use ferric::e2ap::{Cause, CauseRicRequest, GlobalE2NodeId, RanFunctionId, RicActionId, RicActionType, RicRequestId};
use ferric::link;
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker, Server};
use per::{Gather, PrintableString};
use tracing::{info, warn};

use crate::function::VirtualFunction;
use crate::kpm::offered_definition;
use crate::node::{Command, CommandKind, NodeState, Offered, Outgoing, SharedNode, TenantState};
use crate::physical::{Subscriber, Subscriptions};
use crate::reports::{Content, partition};
use crate::sla::{Sla, Tenant};
use crate::slices::{Part, PhysicalSlices, RANGE, VirtualSlices};
use crate::ues::{Change, Ues};
use crate::waiter::Waiter;

/// How often the app compares the slices of a base station with what it has configured.
const SLICE_PERIOD_MS: u32 = 1000;
/// The maximum number of subscriptions to a base station.
const MAX_PHYSICAL: usize = 512;

/// Replaces the agreements of a running virtualization controller, from any thread.
#[derive(Clone)]
pub struct SlaHandle {
    next: Arc<Mutex<Option<Sla>>>,
    waker: IappWaker,
}

impl SlaHandle {
    /// Has the agreements replaced. Where only shares differ, slices that shrink are changed before slices that grow, and the tenants'
    /// controllers notice nothing: their slices are parts of a cell that is smaller or larger. Otherwise all virtual nodes are
    /// disconnected and connect again.
    pub fn replace(&self, sla: Sla) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(sla);
        self.waker.wake();
    }
}

/// Adds the virtualization controller to a RIC. `links` configures the links to the controllers of tenants.
///
/// # Errors
/// If the system refuses a thread or a file descriptor.
pub fn add_to(server: &mut Server, sla: Sla, links: link::Config) -> Result<SlaHandle, ferric::Error> {
    let waker = server.iapp_waker()?;
    let config = AgentLoopConfig { link: links, ..AgentLoopConfig::default() };
    let agents = SendAgentLoop::new_send(config)?;
    let system = |source| ferric::Error::System { what: "start the thread of virtual nodes", source };
    let descriptor = agents.as_fd().try_clone_to_owned().map_err(system)?;
    let waiter = Waiter::start(descriptor, waker.clone()).map_err(system)?;
    log(&sla);
    let handle = SlaHandle { next: Arc::new(Mutex::new(None)), waker: waker.clone() };
    server.add_iapp(Box::new(VirtualizationApp {
        next_sla: handle.next.clone(),
        sla: Arc::new(sla),
        agents,
        waiter,
        waker,
        is_woken: false,
        nodes: BTreeMap::new(),
        subscriptions: Subscriptions::default(),
        arena: Arena::new(),
    }));
    Ok(handle)
}

/// The part of each cell that a tenant has.
fn part(sla: &Sla, tenant: usize) -> Part {
    Part { share: sla.tenants[tenant].share, tenant: tenant as u32 }
}

/// Logs the agreements.
fn log(sla: &Sla) {
    for (at, tenant) in sla.tenants.iter().enumerate() {
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
    waiter: Waiter,
    waker: IappWaker,
    /// Whether the app has woken itself to poll the agents.
    is_woken: bool,
    nodes: BTreeMap<NodeId, PhysicalNode>,
    subscriptions: Subscriptions,
    arena: Arena,
}

/// A base station.
struct PhysicalNode {
    global_id: GlobalE2NodeId,
    functions: Vec<(RanFunctionId, Offered)>,
    shared: SharedNode,
    /// By the place of the tenant.
    virtual_nodes: Vec<NodeHandle>,
    slices: Reconciler,
}

/// Brings the slices of a base station to what the tenants have configured, one control at a time.
#[derive(Default)]
struct Reconciler {
    /// What the base station has for each tenant; `None` before its first report.
    actual: Option<Vec<PhysicalSlices>>,
    /// What is to be deleted before anything else: slices of tenants that are gone.
    stale: Option<ControlMessage<'static>>,
    queue: VecDeque<(usize, Job)>,
    running: Option<Running>,
}

/// A change of a tenant's slices.
enum Job {
    /// Its controller asked for it.
    Control { controller: ControllerId, id: RicRequestId, message: ControlMessage<'static>, wire: Wire },
    /// UEs have come or gone, or the base station differs.
    Refresh,
    /// The tenant's controller was removed.
    Reset,
}

/// The slices of the base station that belong to no tenant although their ids are reserved: those of tenants that are gone.
fn stale(report: &SliceMessage<'static>, tenants: usize) -> Option<ControlMessage<'static>> {
    let of_none = |slices: &[Slice<'static>]| -> Vec<u32> {
        slices.iter().map(|slice| slice.id).filter(|id| *id >= RANGE && owner(*id, tenants).is_none()).collect()
    };
    let (dl, ul) = (of_none(&report.slices.dl.slices), of_none(&report.slices.ul.slices));
    let is_any = !dl.is_empty() || !ul.is_empty();
    is_any.then(|| ControlMessage::Delete(DeleteSlices { dl: dl.into(), ul: ul.into() }))
}

/// The tenant of a slice of the base station.
fn owner(id: u32, tenants: usize) -> Option<usize> {
    Part::tenant_of(id).map(|at| at as usize).filter(|at| *at < tenants)
}

struct Running {
    tenant: usize,
    job: Job,
    ticket: Ticket,
    step: ControlMessage<'static>,
}

impl Reconciler {
    /// Queues a refresh, unless one is waiting.
    fn refresh(&mut self, tenant: usize) {
        let waits = |(other, job): &(usize, Job)| *other == tenant && matches!(job, Job::Refresh);
        if !self.queue.iter().any(waits) {
            self.queue.push_back((tenant, Job::Refresh));
        }
    }
}

impl PhysicalNode {
    fn function(&self, id: RanFunctionId) -> Option<Offered> {
        self.functions.iter().find(|(function, _)| *function == id).map(|(_, model)| *model)
    }

    fn slice_function(&self) -> Option<(RanFunctionId, Wire)> {
        self.functions.iter().find_map(|(id, model)| match model {
            Offered::Slice(wire) => Some((*id, *wire)),
            _ => None,
        })
    }

    /// Sends something to a tenant's controller.
    fn send(&self, tenant: usize, function: RanFunctionId, outgoing: Outgoing) {
        self.shared.lock().tenants[tenant].outgoing.push((function, outgoing));
    }

    fn answer(
        &self,
        tenant: usize,
        controller: ControllerId,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) {
        let Some((function, _)) = self.slice_function() else { return };
        let mut node = self.shared.lock();
        let state = &mut node.tenants[tenant];
        state.controls = state.controls.saturating_sub(1);
        state.outgoing.push((function, Outgoing::Answer { controller, id, result }));
    }
}

/// The control outcome of SLICE, with a diagnostic text.
fn outcome(text: &str, wire: Wire) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let diagnostic = PrintableString::try_from(text).ok()?;
    SliceOutcome { diagnostic }.encode(wire, &mut out).ok()?;
    Some(out)
}

impl VirtualizationApp {
    /// Has the agents polled once the RIC has processed what it has read.
    fn poll_soon(&mut self) {
        if !self.is_woken {
            self.is_woken = true;
            self.waker.wake();
        }
    }

    /// Polls the agents, and processes what the controllers of tenants have asked for.
    fn poll(&mut self, ric: &mut IappContext<'_>) {
        // commands have answers, which the next round sends; after some rounds, others have their turn
        let mut has_more = false;
        for _ in 0..4 {
            for node in self.nodes.values() {
                for (tenant, handle) in node.virtual_nodes.iter().enumerate() {
                    if !node.shared.lock().tenants[tenant].outgoing.is_empty() {
                        self.agents.wake(*handle);
                    }
                }
            }
            if let Err(error) = self.agents.poll(Some(Duration::ZERO)) {
                warn!(%error, "cannot poll the links to the controllers of tenants");
            }
            has_more = self.process_commands(ric);
            if !has_more {
                break;
            }
        }
        if has_more {
            self.poll_soon();
        }
        let timeout = self.agents.next_deadline().map(|deadline| deadline - self.agents.now());
        self.waiter.wait(timeout);
    }

    /// Processes the commands of all functions. Returns whether there were any.
    fn process_commands(&mut self, ric: &mut IappContext<'_>) -> bool {
        let mut has_any = false;
        for (id, node) in &mut self.nodes {
            loop {
                let command = node.shared.lock().commands.pop_front();
                let Some(Command { tenant, function, kind }) = command else { break };
                has_any = true;
                match kind {
                    CommandKind::Subscribe { key, spec, kpm } => {
                        let subscriber = Subscriber { tenant, key, kpm };
                        let result = if self.subscriptions.count(*id) < MAX_PHYSICAL {
                            self.subscriptions.add(*id, function, spec, Some(subscriber), ric)
                        } else {
                            Err(format!("{MAX_PHYSICAL} subscriptions to the base station"))
                        };
                        if let (Ok(true), Some(Offered::Rrc(wire))) = (&result, node.function(function)) {
                            // the base station reports the present UEs to the first subscriber only
                            node.shared.lock().report_present(tenant, function, key, wire);
                        }
                        if let Err(reason) = result {
                            if ric.allows_line(*id) {
                                let shared = node.shared.lock();
                                let (node, tenant) = (&shared.name, &shared.sla.tenants[tenant].name);
                                warn!(node, tenant, "cannot subscribe for a tenant: {reason}");
                            }
                            let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
                            node.send(tenant, function, Outgoing::Ended { key, cause });
                        }
                    }
                    CommandKind::Unsubscribe(key) => {
                        let is_gone = |known: &Subscriber| known.tenant == tenant && known.key == key;
                        self.subscriptions.remove(*id, is_gone, ric);
                    }
                    CommandKind::Slices { controller, id, message, wire } => {
                        node.slices.queue.push_back((tenant, Job::Control { controller, id, message, wire }));
                    }
                    CommandKind::Removed(controller) => {
                        let is_gone = |known: &Subscriber| known.tenant == tenant && known.key.controller == controller;
                        self.subscriptions.remove(*id, is_gone, ric);
                        if matches!(node.function(function), Some(Offered::Slice(_))) {
                            node.slices.queue.push_back((tenant, Job::Reset));
                        }
                    }
                }
            }
            advance(*id, node, ric);
        }
        has_any
    }

    /// Adds a base station and its virtual nodes.
    fn add_node(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let name = node.global_id.to_string();
        let is_virtual = |of: &GlobalE2NodeId| {
            let mut plmns = self.sla.tenants.iter().map(|tenant| tenant.plmn);
            *of != node.global_id && plmns.any(|plmn| virtual_id(*of, plmn) == node.global_id)
        };
        if let Some(of) = self.nodes.values().map(|known| known.global_id).find(is_virtual) {
            if ric.allows_line(node.id) {
                warn!(
                    node = name,
                    "node refused: it is a virtual node of {of} that this controller offers; give each tenant the address of another controller"
                );
            }
            let _ = ric.remove(node.id);
            return;
        }
        let mut functions = Vec::new();
        let mut definitions = Vec::new();
        for function in &node.functions {
            let Some(model) = Offered::of(function) else { continue };
            let definition = match &model {
                Offered::Kpm(detection) => match offered_definition(detection, &function.definition) {
                    Ok(definition) => definition,
                    Err(_) => continue,
                },
                _ => function.definition.to_vec(),
            };
            functions.push((function.id, model));
            definitions.push((
                Function { id: function.id, revision: function.revision, definition, oid: function.oid.to_string() },
                model,
            ));
        }
        let sla = self.sla.clone();
        let tenants = (0..sla.tenants.len()).map(|at| TenantState {
            part: part(&sla, at),
            slices: VirtualSlices::default(),
            outgoing: Vec::new(),
            subscriptions: 0,
            controls: 0,
        });
        let shared = SharedNode::new(NodeState {
            name: name.clone(),
            tenants: tenants.collect(),
            sla: sla.clone(),
            ues: Ues::default(),
            schedulers: [PrintableString::literal(""), PrintableString::literal("")],
            commands: VecDeque::new(),
        });
        if !functions.iter().any(|(_, model)| matches!(model, Offered::Rrc(_))) && ric.allows_line(node.id) {
            warn!(node = name, "the base station reports no events of UEs (RRC): tenants do not see any UE of it");
        }
        let mut virtual_nodes = Vec::new();
        for (tenant, agreement) in sla.tenants.iter().enumerate() {
            let functions = definitions.iter().map(|(definition, model)| {
                Box::new(VirtualFunction {
                    node: shared.clone(),
                    tenant,
                    definition: definition.clone(),
                    model: *model,
                }) as Box<dyn ferric::agent::RanFunction + Send>
            });
            let config = NodeConfig {
                version: Some(node.version),
                about: format!("virtual node of {}, {:.0} % of {name}", agreement.name, 100.0 * agreement.share),
                ..NodeConfig::new(virtual_id(node.global_id, agreement.plmn))
            };
            let handle = self.agents.add_node(config, functions.collect());
            self.agents.add_controller(handle, agreement.ric.clone());
            virtual_nodes.push(handle);
        }
        for (id, model) in &functions {
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
                warn!(node = name, function = id.0, "cannot subscribe: {reason}");
            }
        }
        let physical =
            PhysicalNode { global_id: node.global_id, functions, shared, virtual_nodes, slices: Reconciler::default() };
        self.nodes.insert(node.id, physical);
        self.poll_soon();
    }

    /// Replaces the agreements.
    fn replace_sla(&mut self, next: Sla, ric: &mut IappContext<'_>) {
        if next == *self.sla {
            return info!("service level agreements: not changed");
        }
        log(&next);
        let shares: Vec<(f64, f64)> =
            self.sla.tenants.iter().zip(&next.tenants).map(|(a, b)| (a.share, b.share)).collect();
        let only_shares = self.sla.tenants.len() == next.tenants.len()
            && self.sla.tenants.iter().zip(&next.tenants).all(|(a, b)| Tenant { share: b.share, ..a.clone() } == *b);
        self.sla = Arc::new(next);
        if !only_shares {
            let nodes: Vec<Node> = ric.nodes().filter(|node| self.nodes.contains_key(&node.id)).cloned().collect();
            for node in nodes {
                // its subscriptions would be active beside the new ones
                self.subscriptions.cancel_node(node.id, ric);
                self.remove_virtual_nodes(node.id);
                self.add_node(&node, ric);
            }
            return;
        }
        // what shrinks goes first: the sum never exceeds the cell
        let mut order: Vec<usize> = (0..shares.len()).filter(|at| shares[*at].0 != shares[*at].1).collect();
        order.sort_by(|a, b| (shares[*a].1 - shares[*a].0).total_cmp(&(shares[*b].1 - shares[*b].0)));
        for (id, node) in &mut self.nodes {
            let mut shared = node.shared.lock();
            shared.sla = self.sla.clone();
            for at in &order {
                shared.tenants[*at].part.share = shares[*at].1;
            }
            drop(shared);
            order.iter().for_each(|at| node.slices.refresh(*at));
            advance(*id, node, ric);
        }
    }

    /// Removes a base station that is lost, and its virtual nodes.
    fn remove_node(&mut self, id: NodeId) {
        self.subscriptions.forget_node(id);
        self.remove_virtual_nodes(id);
    }

    fn remove_virtual_nodes(&mut self, id: NodeId) {
        let Some(node) = self.nodes.remove(&id) else { return };
        node.virtual_nodes.into_iter().for_each(|handle| self.agents.remove_node(handle));
        self.poll_soon();
    }

    fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                self.subscriptions.subscribed(*ticket, *subscription, ric);
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let cause = match error {
                    SubscribeError::Refused { cause, .. } => *cause,
                    _ => Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable),
                };
                if let Some(ended) = self.subscriptions.failed(*ticket) {
                    self.end(&ended, cause);
                }
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                if let Some(ended) = self.subscriptions.ended(*subscription) {
                    self.end(&ended, Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable));
                }
            }
            RequestEvent::Controlled { ticket, outcome } => {
                let of = |node: &PhysicalNode| node.slices.running.as_ref().is_some_and(|run| run.ticket == *ticket);
                if let Some((id, node)) = self.nodes.iter_mut().find(|(_, node)| of(node)) {
                    let id = *id;
                    step_done(node, outcome, ric.allows_line(id));
                    advance(id, node, ric);
                    self.poll_soon();
                }
            }
            _ => {}
        }
    }

    /// Ends the subscriptions of tenants that a subscription to the base station served.
    fn end(&mut self, ended: &crate::physical::Subscription, cause: Cause) {
        let Some(node) = self.nodes.get(&ended.node) else { return };
        for Subscriber { tenant, key, .. } in &ended.subscribers {
            node.send(*tenant, ended.function, Outgoing::Ended { key: *key, cause });
        }
        self.poll_soon();
    }

    /// Passes a report to the tenants that have subscribed to it.
    fn relay(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let VirtualizationApp { nodes, subscriptions, arena, .. } = self;
        let Some(subscription) = subscriptions.get(indication.subscription) else { return };
        let Some(node) = nodes.get_mut(&indication.node) else { return };
        let Some(model) = node.function(indication.ran_function_id) else { return };
        let gather = Gather::new();
        let decoded;
        let (header, message) = match indication.payload {
            Some((header, message)) => (header.into(), message.into()),
            None => match indication.decode(&gather) {
                Ok(indication) => {
                    decoded = indication;
                    (decoded.header.to_cow(), decoded.message.to_cow())
                }
                Err(_) => return,
            },
        };
        let (header, message): (std::borrow::Cow<'_, [u8]>, std::borrow::Cow<'_, [u8]>) = (header, message);
        if subscription.is_own {
            arena.reset();
            observe(node, model, &message, arena);
            advance(indication.node, node, ric);
        }
        let mut shared = node.shared.lock();
        for Subscriber { tenant, key, kpm } in &subscription.subscribers {
            arena.reset();
            let mut written = Vec::new();
            let content = match (&model, kpm) {
                (Offered::Kpm(detection), Some(view)) => {
                    let report = (indication.action_id, &*message);
                    view.partition(detection, &shared, *tenant, report, arena, &mut written)
                }
                _ => partition(model, &shared, *tenant, &message, arena, &mut written),
            };
            let message = match content {
                Ok(Content::Unchanged) => message.to_vec(),
                Ok(Content::Written) => written,
                Ok(Content::Nothing) => continue,
                Err(error) => {
                    // what cannot be decoded cannot be partitioned
                    if ric.allows_line(indication.node) {
                        warn!(node = shared.name, function = indication.ran_function_id.0, %error, "cannot decode a report: no tenant receives it");
                    }
                    break;
                }
            };
            let report = Outgoing::Report { key: *key, action: indication.action_id, header: header.to_vec(), message };
            shared.tenants[*tenant].outgoing.push((indication.ran_function_id, report));
        }
        drop(shared);
        self.poll_soon();
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

/// Reads a report for the app itself: events of UEs, and the slices of the base station.
fn observe(node: &mut PhysicalNode, model: Offered, message: &[u8], arena: &Arena) {
    match model {
        Offered::Rrc(wire) => {
            let Ok(report) = RrcMessage::decode(message, wire, arena) else { return };
            let mut shared = node.shared.lock();
            for notification in &report.notifications {
                let sla = shared.sla.clone();
                match shared.ues.notified(notification, &sla) {
                    Some(Change::Arrived(tenant)) => node.slices.refresh(tenant),
                    Some(Change::Left(tenant)) => {
                        let rnti = notification.rnti.0;
                        shared.tenants[tenant].slices.ues.remove(&rnti);
                        if let Some(actual) = &mut node.slices.actual {
                            actual[tenant].ues.remove(&rnti);
                        }
                    }
                    None => {}
                }
            }
        }
        Offered::Slice(wire) if node.slices.running.is_none() => {
            let Ok(report) = SliceMessage::decode_owned(message, wire) else { return };
            node.shared.lock().schedulers = [report.slices.dl.scheduler.clone(), report.slices.ul.scheduler.clone()];
            let tenants = node.virtual_nodes.len();
            node.slices.stale = stale(&report, tenants);
            let reported = reported(&report, tenants);
            if node.slices.actual.as_ref() != Some(&reported) {
                for tenant in 0..reported.len() {
                    let is_same = node.slices.actual.as_ref().is_some_and(|actual| actual[tenant] == reported[tenant]);
                    if !is_same {
                        node.slices.refresh(tenant);
                    }
                }
                node.slices.actual = Some(reported);
            }
        }
        _ => {}
    }
}

/// What a base station reports to have for each tenant.
fn reported(report: &SliceMessage<'static>, tenants: usize) -> Vec<PhysicalSlices> {
    let mut all = vec![PhysicalSlices::default(); tenants];
    let owner = |id: u32| owner(id, tenants);
    for (at, direction) in [&report.slices.dl, &report.slices.ul].into_iter().enumerate() {
        for slice in direction.slices.iter() {
            if let Some(tenant) = owner(slice.id) {
                all[tenant].slices[at].insert(slice.id, slice.clone());
            }
        }
    }
    for ue in report.ues.iter() {
        if let Some(tenant) = owner(ue.dl_id).or(owner(ue.ul_id)) {
            all[tenant].ues.insert(ue.rnti, [ue.dl_id, ue.ul_id]);
        }
    }
    all
}

/// Begins the next change of slices of a base station, unless one is in progress.
fn advance(id: NodeId, node: &mut PhysicalNode, ric: &mut IappContext<'_>) {
    let Some((function, wire)) = node.slice_function() else { return };
    while node.slices.running.is_none() && node.slices.actual.is_some() {
        if let Some(step) = node.slices.stale.take()
            && let Ok(ticket) = send(id, function, wire, &step, ric)
        {
            node.slices.running = Some(Running { tenant: 0, job: Job::Refresh, ticket, step });
            return;
        }
        let Some((tenant, job)) = node.slices.queue.pop_front() else { return };
        let shared = node.shared.lock();
        let ues: Vec<u16> = shared.ues.of(tenant).collect();
        let state = &shared.tenants[tenant];
        let target = match &job {
            Job::Control { message, .. } => {
                state.slices.after(message, &shared.schedulers, |rnti| ues.binary_search(&rnti).is_ok())
            }
            Job::Refresh => Ok(state.slices.clone()),
            Job::Reset => Ok(VirtualSlices::default()),
        };
        let part = state.part;
        drop(shared);
        let target = match target {
            Ok(target) => target,
            Err(refusal) => {
                if let Job::Control { controller, id, wire, .. } = job {
                    let text = refusal.to_string();
                    let cause = Cause::RicRequest(refusal.cause());
                    node.answer(tenant, controller, id, Err(ControlFailure { cause, outcome: outcome(&text, wire) }));
                }
                continue;
            }
        };
        let physical = target.physical(part, ues.into_iter());
        let actual = node.slices.actual.as_ref().map(|actual| actual[tenant].clone()).unwrap_or_default();
        // the others are planned again after the answer
        let Some(step) = actual.steps_to(&physical).into_iter().next() else {
            node.shared.lock().tenants[tenant].slices = target;
            if let Job::Control { controller, id, wire, .. } = job {
                node.answer(tenant, controller, id, Ok(outcome("", wire)));
            }
            continue;
        };
        match send(id, function, wire, &step, ric) {
            Ok(ticket) => node.slices.running = Some(Running { tenant, job, ticket, step }),
            Err(reason) => fail(node, tenant, job, &reason),
        }
    }
}

/// Sends a control of slices.
fn send(
    id: NodeId,
    function: RanFunctionId,
    wire: Wire,
    step: &ControlMessage<'static>,
    ric: &mut IappContext<'_>,
) -> Result<Ticket, String> {
    let (mut header, mut message) = (Vec::new(), Vec::new());
    let encoded = ControlHeader::default().encode(wire, &mut header).and_then(|()| step.encode(wire, &mut message));
    encoded.map_err(|error| error.to_string())?;
    ric.control(id, function, &header, &message).map_err(|misuse| misuse.to_string())
}

/// Answers a control of a tenant that the base station did not execute.
fn fail(node: &PhysicalNode, tenant: usize, job: Job, reason: &str) {
    if let Job::Control { controller, id, wire, .. } = job {
        let text: String = reason.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
        node.answer(tenant, controller, id, Err(ControlFailure { cause, outcome: outcome(&text, wire) }));
    }
}

/// Handles the answer of a base station to a control.
fn step_done(node: &mut PhysicalNode, answer: &ControlOutcome, may_log: bool) {
    let Some(Running { tenant, job, step, .. }) = node.slices.running.take() else { return };
    if let ControlOutcome::Acknowledged(_) = answer {
        if let Some(actual) = &mut node.slices.actual {
            actual[tenant].apply(&step);
        }
        node.slices.queue.push_front((tenant, job));
        return;
    }
    if may_log {
        let shared = node.shared.lock();
        let (name, tenant) = (&shared.name, &shared.sla.tenants[tenant].name);
        warn!(node = name, tenant, "the base station does not take the slices of a tenant: {answer}");
    }
    if matches!(job, Job::Control { .. }) {
        // back to what the tenant had
        node.slices.refresh(tenant);
    }
    fail(node, tenant, job, &answer.to_string());
}

impl Iapp for VirtualizationApp {
    fn name(&self) -> &'static str {
        "virtualization controller"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                self.remove_node(node.id);
                self.add_node(node, ric);
            }
            IappEvent::NodeChanged(node) => {
                let offered: Vec<_> =
                    node.functions.iter().filter_map(|function| Some((function.id, Offered::of(function)?))).collect();
                if self.nodes.get(&node.id).is_none_or(|known| known.functions != offered) {
                    self.remove_node(node.id);
                    self.add_node(node, ric);
                }
            }
            IappEvent::NodeLost(id) => self.remove_node(*id),
            IappEvent::Request(event) => self.handle_request(event, ric),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        self.relay(indication, ric);
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        self.is_woken = false;
        let next = self.next_sla.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(next) = next {
            self.replace_sla(next, ric);
        }
        self.poll(ric);
    }
}
