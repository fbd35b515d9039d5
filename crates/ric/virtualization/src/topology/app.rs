//! The internal app.

use std::collections::HashMap;
use std::time::Duration;

use e2sm::common::UeId;
use e2sm::rrc::{self, EventTriggerDefinition};
use e2sm::{Arena, RecordMap};
use ferric::agent::{Admission, AgentLoopConfig, ControlFailure, RequestKey, SendAgentLoop};
use ferric::e2::topology::Part;
use ferric::e2::{
    Action, ControlOutcome, ControllerInstance, Function, Indication, Node, NodeId, RequestEvent, SubscribeError,
    SubscriptionSpec,
};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicActionId, RicActionType, RicIndicationType};
use ferric::link;
use ferric::server::{Iapp, IappContext, IappEvent, Server};
use per::Gather;
use tracing::{info, warn};

use super::actions;
use super::ccc::Ccc;
use super::controls::Controls;
use super::exposed::{Exposed, Station, expose, shared_cu};
use super::file::Topology;
use super::kpm::MergedKpm;
use super::merged::{Env, MergedSubscriptions};
use super::station::{Command, CommandKind};
use super::ues::SharedCu;
use super::view::View;
use crate::alarm::Alarm;
use crate::app::MAX_FUNCTIONS;
use crate::node::View as TenantView;
use crate::outgoing::Outgoing;
use crate::physical::{Subscriber, Subscription, Subscriptions};
use crate::rc::RcView;
use crate::reports::Content;

/// The maximum number of subscriptions to a part.
const MAX_OF_PART: usize = 512;
/// Adds the abstraction of a topology to a RIC. `links` configures the links to the controller that sees the base stations.
///
/// # Errors
/// If the system refuses a file descriptor.
pub fn add_to(server: &mut Server, topology: Topology, links: link::Config) -> Result<(), ferric::Error> {
    let config = AgentLoopConfig { link: links, ..AgentLoopConfig::default() };
    let agents = SendAgentLoop::new_send(config)?;
    let alarm = Alarm::start(server, &agents)?;
    let instance = server.share_nodes();
    info!(stations = topology.stations.len(), ric = %topology.ric, "base stations are exposed to another controller");
    let stations = topology.stations.iter().cloned().map(Station::new).collect();
    server.add_iapp(Box::new(TopologyApp {
        topology,
        agents,
        instance,
        alarm,
        stations,
        nodes: HashMap::new(),
        cus: HashMap::new(),
        subscriptions: Subscriptions::default(),
        kpm: MergedKpm::default(),
        ccc: MergedSubscriptions::default(),
        controls: Controls::default(),
        map: RecordMap::default(),
        arena: Arena::new(),
        written: Vec::new(),
    }));
    Ok(())
}

pub(super) struct TopologyApp {
    topology: Topology,
    /// The base stations. Polled on the thread of the RIC.
    agents: SendAgentLoop,
    /// This controller, in the paths of the base stations.
    instance: ControllerInstance,
    alarm: Alarm,
    pub(super) stations: Vec<Station>,
    /// The nodes that are parts of base stations.
    pub(super) nodes: HashMap<NodeId, Node>,
    /// The CU-CPs of several base stations.
    pub(super) cus: HashMap<NodeId, SharedCu>,
    pub(super) subscriptions: Subscriptions,
    /// The subscriptions to merged functions of KPM.
    kpm: MergedKpm,
    /// The subscriptions to merged functions of CCC.
    ccc: MergedSubscriptions<Ccc>,
    pub(super) controls: Controls,
    map: RecordMap,
    arena: Arena,
    /// The part of a report that a base station has.
    written: Vec<u8>,
}

impl TopologyApp {
    /// Has the agents send what the controller receives, and processes what it has asked for. `reads` says whether the links may have
    /// something to read.
    fn serve_agents(&mut self, reads: bool, ric: &mut IappContext<'_>) {
        // commands have answers, which the next round sends; after some rounds, others have their turn
        let mut has_more = false;
        for _ in 0..4 {
            for station in &mut self.stations {
                if let (true, Some(handle)) = (std::mem::take(&mut station.has_outgoing), station.handle) {
                    self.agents.wake(handle);
                }
            }
            if !reads {
                self.agents.serve_due();
            } else if let Err(error) = self.agents.poll(Some(Duration::ZERO)) {
                warn!(
                    %error,
                    "cannot poll the links to the controller of base stations, which gets nothing; trying again; restart the \
                     RIC if it stays"
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
        for at in 0..self.stations.len() {
            if !self.stations[at].shared.take_has_commands() {
                continue;
            }
            loop {
                let command = self.stations[at].shared.lock().commands.pop_front();
                let Some(Command { function, kind }) = command else { break };
                has_any = true;
                match kind {
                    CommandKind::Subscribe(key, spec) => self.subscribe(at, function, key, spec, ric),
                    CommandKind::Unsubscribe(key) => {
                        let Some(node) = self.stations[at].function(function).map(|of| of.node) else { continue };
                        self.kpm.remove(at, |known| known == key, ric);
                        self.ccc.remove(at, |known| known == key, ric);
                        self.subscriptions.remove(node, |known| known.tenant == at && known.key == key, ric);
                    }
                    CommandKind::Control(controller, request) => self.control(at, function, controller, &request, ric),
                    CommandKind::Removed(controller) => {
                        let is_gone = |known: &Subscriber| known.tenant == at && known.key.controller == controller;
                        let Some(node) = self.stations[at].function(function).map(|of| of.node) else { continue };
                        self.kpm.remove(at, |known| known.controller == controller, ric);
                        self.ccc.remove(at, |known| known.controller == controller, ric);
                        self.subscriptions.remove(node, is_gone, ric);
                    }
                }
            }
        }
        has_any
    }

    fn subscribe(
        &mut self,
        at: usize,
        function: RanFunctionId,
        key: RequestKey,
        mut spec: SubscriptionSpec,
        ric: &mut IappContext<'_>,
    ) {
        let station = &mut self.stations[at];
        let Some((node, of_part, view)) =
            station.function(function).map(|known| (known.node, known.of_part.id, known.view))
        else {
            return;
        };
        match view {
            View::Kpm => return self.with_merged(ric, |kpm, _, env| kpm.subscribe((at, function), key, spec, env)),
            View::Ccc => return self.with_merged(ric, |_, ccc, env| ccc.subscribe((at, function), key, spec, env)),
            _ => {}
        }
        let mut asked = TenantView::Plain;
        if let View::OwnUes(detection) = view {
            let cu = shared_cu(station).and_then(|node| self.cus.get(&node));
            let find = |ue_id: &UeId<'_>| cu.and_then(|cu| cu.find(at, ue_id)).cloned();
            match RcView::of_ues(&detection, &mut spec, &find) {
                Ok(view) => asked = TenantView::Rc(view),
                Err(cause) => return station.send(function, Outgoing::Subscribed { key, answer: Err(cause) }),
            }
        }
        let subscriber = Subscriber { tenant: at, key, view: asked, refused: Vec::new() };
        let added = if self.subscriptions.count(node) >= MAX_OF_PART {
            Err(format!("{MAX_OF_PART} subscriptions to a part"))
        } else if matches!(view, View::All | View::Rc(_) | View::OwnUes(_)) {
            self.subscriptions.add_single(node, of_part, spec, subscriber, ric).map(|()| None)
        } else {
            self.subscriptions.add(node, of_part, spec, Some(subscriber), ric)
        };
        match added {
            // the part answers
            Ok(None) => {}
            Ok(Some(admission)) => {
                station.send(function, Outgoing::Subscribed { key, answer: Ok(admission) });
                // the CU reports the present UEs to the first subscriber only
                if let (View::Events(wire), Some(cu)) = (view, shared_cu(station).and_then(|node| self.cus.get(&node)))
                {
                    station.report_present(function, key, wire, cu.present(at));
                }
            }
            Err(reason) => {
                if ric.allows_line(node) {
                    warn!(
                        station = %station.config,
                        function = function.0,
                        "a subscription of the controller is refused: {reason}"
                    );
                }
                let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
                station.send(function, Outgoing::Subscribed { key, answer: Err(cause) });
            }
        }
    }

    /// Adds a node, or takes over its changes.
    fn node_up(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let mut is_part = false;
        for station in &mut self.stations {
            if let Some(part) = station.config.part_of(&node.global_id) {
                is_part = true;
                station.parts.insert(part, node.id);
            }
        }
        if !is_part {
            return;
        }
        self.nodes.insert(node.id, node.clone());
        self.update(ric);
    }

    fn node_lost(&mut self, id: NodeId, ric: &mut IappContext<'_>) {
        if self.nodes.remove(&id).is_none() {
            return;
        }
        self.subscriptions.forget_node(id);
        self.with_merged(ric, |kpm, ccc, env| {
            kpm.node_lost(id, env);
            ccc.node_lost(id, env);
        });
        self.cus.remove(&id);
        self.fail_controls_of(id);
        for station in &mut self.stations {
            station.parts.retain(|_, node| *node != id);
        }
        self.update(ric);
    }

    /// Brings all base stations to what their parts are now.
    fn update(&mut self, ric: &mut IappContext<'_>) {
        self.update_cells(ric);
        for at in 0..self.stations.len() {
            let station = &mut self.stations[at];
            let mut wanted = Vec::new();
            let (kpm, ccc) = (station.kpm.definition().to_vec(), station.ccc.definition().to_vec());
            station.update_merged(&self.nodes);
            if station.is_whole() {
                wanted.extend(station.merged_kpm());
                wanted.extend(station.merged_ccc());
                for (part, node) in station.parts.clone() {
                    let Some(node) = self.nodes.get(&node) else { continue };
                    for function in &node.functions {
                        if station.kpm.has(part, function.id) || station.ccc.has(part, function.id) {
                            continue;
                        }
                        let shares_cu = station.config.shares_cu();
                        let Some((view, definition)) = View::of(function, part, shares_cu) else { continue };
                        let Some(id) = station.id_of(part, function.id) else { continue };
                        let of_part = Function {
                            id: function.id,
                            revision: function.revision,
                            definition,
                            oid: function.oid.to_string(),
                        };
                        let actions = match view {
                            View::Rc(detection) => actions::offered(&detection, &function.definition),
                            _ => Vec::new(),
                        };
                        wanted.push(Exposed { id, part, node: node.id, of_part, view, actions });
                    }
                }
                station.merge_actions(&mut wanted);
            }
            if wanted.len() > MAX_FUNCTIONS {
                warn!(
                    station = %station.config,
                    "the base station has {} functions: the first {MAX_FUNCTIONS} are exposed; give its parts fewer",
                    wanted.len()
                );
                wanted.truncate(MAX_FUNCTIONS);
            }
            // the function that replaces another one has no subscriptions
            if kpm != station.kpm.definition() {
                self.kpm.remove(at, |_| true, ric);
            }
            if ccc != station.ccc.definition() {
                self.ccc.remove(at, |_| true, ric);
            }
            let was_exposed = station.handle.is_some();
            expose(station, wanted, &self.nodes, &mut self.agents, (&self.topology, self.instance));
            if was_exposed && station.handle.is_none() {
                let nodes = self.nodes.keys();
                nodes.for_each(|node| self.subscriptions.remove(*node, |known| known.tenant == at, ric));
            }
        }
        self.observe_cus(ric);
        let Self { kpm, ccc, stations, agents, cus, nodes, .. } = self;
        let env = &mut Env { stations, agents, cus, ric };
        kpm.refresh(nodes, env);
        ccc.refresh(env);
        ric.call_after_reading();
    }

    fn with_merged<T>(
        &mut self,
        ric: &mut IappContext<'_>,
        act: impl FnOnce(&mut MergedKpm, &mut MergedSubscriptions<Ccc>, &mut Env<'_, '_>) -> T,
    ) -> T {
        let Self { kpm, ccc, stations, agents, cus, .. } = self;
        act(kpm, ccc, &mut Env { stations, agents, cus, ric })
    }

    /// Reads which cells the DUs of base stations with a shared CU have. Those of a lost DU stay as they were: until it is back they are
    /// cells of the CU-CP only, which all of its base stations have.
    fn update_cells(&mut self, ric: &IappContext<'_>) {
        for (at, station) in self.stations.iter().enumerate() {
            let Some(cu) = shared_cu(station) else { continue };
            let shared = self.cus.entry(cu).or_default();
            let Some(topology) = ric.ran().station_of(cu) else { continue };
            for (part, du) in station.parts.iter().filter(|(part, _)| matches!(part, Part::Du(_))) {
                let own = topology.cells().filter(|(node, _)| node == du).map(|(_, cell)| cell);
                shared.set_cells(at, *part, own);
            }
        }
    }

    /// Subscribes to the events of the UEs of shared CUs.
    fn observe_cus(&mut self, ric: &mut IappContext<'_>) {
        for id in self.cus.keys() {
            let Some(node) = self.nodes.get(id) else { continue };
            let events = node.functions.iter().find_map(|function| {
                let wire = rrc::MODEL.wire_of(&function.oid)?;
                Some((function.id, wire))
            });
            let Some((function, wire)) = events else {
                if ric.allows_line(*id) {
                    warn!(
                        node = %node.global_id,
                        "the CU reports no events of UEs: its base stations have none; let it offer the RRC service model"
                    );
                }
                continue;
            };
            if self.subscriptions.is_own(*id, function) {
                continue;
            }
            let mut event_trigger = Vec::new();
            let encoded = EventTriggerDefinition::ALL.encode(wire, &mut event_trigger);
            let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
            let spec = SubscriptionSpec { event_trigger, actions: vec![report] };
            let added = encoded
                .map_err(|error| error.to_string())
                .and_then(|()| self.subscriptions.add(*id, function, spec, None, ric).map(drop));
            if let Err(reason) = added
                && ric.allows_line(*id)
            {
                warn!(
                    node = %node.global_id,
                    function = function.0,
                    "cannot subscribe to the UEs of the CU: its base stations have none: {reason}"
                );
            }
        }
    }

    /// Passes an indication to the base stations that have subscribed to it.
    fn relay(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let gather = Gather::new();
        if indication.kind == RicIndicationType::Insert && self.cus.contains_key(&indication.node) {
            let Ok(insert) = indication.decode(&gather) else { return };
            return self.relay_insert(indication, &insert, ric);
        }
        let (node, of_part, action) = (indication.node, indication.ran_function_id, indication.action_id);
        let decoded;
        let (owned_header, owned_message);
        let (header, message, process): (&[u8], &[u8], Option<Vec<u8>>) =
            match indication.payload.filter(|_| indication.kind == RicIndicationType::Report) {
                Some((header, message)) => (header, message, None),
                None => {
                    let Ok(it) = indication.decode(&gather) else { return };
                    decoded = it;
                    (owned_header, owned_message) = (decoded.header.to_cow(), decoded.message.to_cow());
                    let process = decoded.call_process_id.as_ref().map(|process| process.to_cow().into_owned());
                    (&owned_header, &owned_message, process)
                }
            };
        self.arena.reset();
        let Self { kpm, ccc, stations, agents, cus, arena, .. } = self;
        let (env, of) = (&mut Env { stations, agents, cus, ric }, (node, indication.subscription, action));
        if kpm.report(of, (header, message), arena, env) || ccc.report(of, (header, message), arena, env) {
            return ric.call_after_reading();
        }
        let Some(subscription) = self.subscriptions.get(indication.subscription) else { return };
        if let (true, Some(cu)) = (subscription.is_own, self.cus.get_mut(&node))
            && let Some(wire) = self.nodes.get(&node).and_then(|node| rrc::MODEL.wire_of(&node.function(of_part)?.oid))
            && let Ok(report) = rrc::IndicationMessage::decode(message, wire, &self.arena)
        {
            cu.observe(&report);
        }
        for Subscriber { tenant: at, key, view: asked, .. } in &subscription.subscribers {
            let station = &mut self.stations[*at];
            let Some((id, view)) = station.function_of(node, of_part).map(|known| (known.id, known.view)) else {
                continue;
            };
            self.written.clear();
            let cu = shared_cu(station).and_then(|node| self.cus.get(&node));
            let content = match cu {
                None => Ok(Content::Unchanged),
                Some(cu) => {
                    view.filter(cu, *at, (action, asked), message, (&mut self.map, &self.arena), &mut self.written)
                }
            };
            let message = match content {
                Ok(Content::Unchanged) => message,
                Ok(Content::Written) => &self.written,
                Ok(Content::Nothing) => continue,
                Err(error) => {
                    if ric.allows_line(node) {
                        let station = &station.config;
                        warn!(
                            %station,
                            function = id.0,
                            "a report is not passed on to the controller: cannot tell the part of the base station: {error}"
                        );
                    }
                    continue;
                }
            };
            let mut shared = station.shared.lock();
            match &process {
                None => {
                    station.has_outgoing |= shared.outbox.report(&mut self.agents, id, (*key, action), header, message);
                }
                process => {
                    shared.outbox.queue(id).report(*key, action, process.clone(), header, message);
                    station.has_outgoing = true;
                }
            }
        }
        ric.call_after_reading();
    }

    fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        if self.with_merged(ric, |kpm, ccc, env| kpm.handle_request(event, env) || ccc.handle_request(event, env)) {
            return ric.call_after_reading();
        }
        match event {
            RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                let admission = Admission { admitted: admitted.clone(), not_admitted: not_admitted.clone() };
                let Some(active) = self.subscriptions.subscribed(*ticket, *subscription, admission.clone(), ric) else {
                    return;
                };
                tell(&mut self.stations, active, |key| Outgoing::Subscribed { key, answer: Ok(admission.clone()) });
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let cause = match error {
                    SubscribeError::Refused { cause, .. } => *cause,
                    _ => Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable),
                };
                if let Some(failed) = self.subscriptions.failed(*ticket) {
                    tell(&mut self.stations, &failed, |key| Outgoing::Subscribed { key, answer: Err(cause) });
                }
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                let cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
                if let Some(ended) = self.subscriptions.ended(*subscription) {
                    tell(&mut self.stations, &ended, |key| Outgoing::Ended { key, cause });
                }
            }
            // what the part does not do any more, the base station does not
            RequestEvent::ChangeRequired { subscription, .. } => {
                // fails only for one that has ended
                let _ = ric.answer_change(*subscription, &[]);
            }
            RequestEvent::Controlled { ticket, outcome } => {
                let octets = match outcome {
                    ControlOutcome::Acknowledged(outcome) | ControlOutcome::Failed { outcome, .. } => {
                        outcome.as_ref().map(|octets| octets.to_vec())
                    }
                    _ => None,
                };
                let result = match outcome {
                    ControlOutcome::Acknowledged(_) => Ok(octets),
                    ControlOutcome::Failed { cause, .. } => Err(ControlFailure { cause: *cause, outcome: octets }),
                    _ => Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute).into()),
                };
                self.answered(*ticket, result);
            }
            _ => return,
        }
        ric.call_after_reading();
    }
}

/// Sends something to the base stations that a subscription to a part serves.
fn tell(stations: &mut [Station], of: &Subscription, message: impl Fn(RequestKey) -> Outgoing) {
    for Subscriber { tenant, key, .. } in &of.subscribers {
        let station = &mut stations[*tenant];
        if let Some(function) = station.function_of(of.node, of.function).map(|known| known.id) {
            station.send(function, message(*key));
        }
    }
}

impl Iapp for TopologyApp {
    fn name(&self) -> &'static str {
        "topology abstraction"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                self.node_lost(node.id, ric);
                self.node_up(node, ric);
            }
            IappEvent::NodeChanged(node) => self.node_up(node, ric),
            IappEvent::NodeLost(id) => self.node_lost(*id, ric),
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
        self.serve_agents(true, ric);
    }
}
