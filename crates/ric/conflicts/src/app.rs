//! The internal app of the mitigation: it subscribes to the KPIs that are protected, and answers REST.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use e2sm::Arena;
use e2sm::kpm::{
    ActionDefinition, Detection, IndicationMessage, LabelInfoItem, MeasurementLabel, MeasurementRequest, ReportRequest,
    Scope,
};
use ferric::e2::{Indication, Node, NodeId, RequestEvent, SubscriptionId, SubscriptionOrder, Ticket};
use ferric::server::{Iapp, IappContext, IappEvent};
use iapp_rest::plan_report;
use tracing::{info, warn};

use crate::rules::{ConflictRules, is_for};
use crate::state::State;

/// The subscription to a KPI of a node.
struct Source {
    node: NodeId,
    node_name: String,
    /// The number of the rule.
    kpi: usize,
    detection: Detection,
    /// The encoded action definition: it names values that the node sends without names.
    action: Vec<u8>,
    /// Whether the rules have been replaced since: then the subscription ends as soon as it exists.
    is_former: bool,
}

/// The internal app.
pub(crate) struct ConflictApp {
    state: Arc<Mutex<State>>,
    requested: HashMap<Ticket, Source>,
    sources: HashMap<SubscriptionId, Source>,
    arena: Arena,
}

impl ConflictApp {
    pub fn new(state: Arc<Mutex<State>>) -> Self {
        ConflictApp { state, requested: HashMap::new(), sources: HashMap::new(), arena: Arena::new() }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to the KPIs of a node that are protected.
    fn watch(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let node_name = node.global_id.to_string();
        let mut wanted = Vec::new();
        for (number, kpi) in self.state().rules.kpis.iter().enumerate() {
            if let Some(protection) = kpi.protection.as_ref().filter(|_| is_for(kpi.nodes.as_deref(), &node_name)) {
                let period_ms = protection.period().as_millis() as u32; // at most 10000
                wanted.push((number, kpi.name.clone(), protection.s_nssai, period_ms));
            }
        }
        for (kpi, name, s_nssai, period_ms) in wanted {
            let label = MeasurementLabel { slice_id: s_nssai, ..MeasurementLabel::default() };
            let labels = [LabelInfoItem { meas_label: label }];
            let labels = if s_nssai.is_some() { &labels[..] } else { &[] };
            let measurements = [MeasurementRequest { name: &name, labels }];
            let request = ReportRequest {
                measurements: &measurements,
                granularity_period_ms: period_ms,
                reporting_period_ms: period_ms,
                scope: Scope::Node,
            };
            let planned =
                plan_report(&request, node).and_then(|planned| planned.ok_or("it has no E2SM-KPM".to_owned()));
            let subscribed = planned.and_then(|(function, detection, spec, action)| {
                let order = SubscriptionOrder { restore: false, ..spec.into() };
                let ticket = ric.subscribe(node.id, function, order).map_err(|misuse| misuse.to_string())?;
                Ok((
                    ticket,
                    Source { node: node.id, node_name: node_name.clone(), kpi, detection, action, is_former: false },
                ))
            });
            match subscribed {
                Ok((ticket, source)) => drop(self.requested.insert(ticket, source)),
                Err(reason) if ric.allows_line(node.id) => {
                    info!(
                        node = node_name,
                        kpi = name,
                        "controls are not judged by the KPI at this node: cannot subscribe to it: {reason}"
                    );
                }
                Err(_) => {}
            }
        }
    }

    /// Replaces the rules, and the subscriptions to the KPIs that they protect.
    fn replace(&mut self, rules: ConflictRules, ric: &mut IappContext<'_>) {
        info!(rules = rules.rules.len(), kpis = rules.kpis.len(), "rules on conflicts: replaced");
        if !self.state().set_rules(rules) {
            return;
        }
        for subscription in std::mem::take(&mut self.sources).into_keys() {
            // it fails for one that has ended
            let _ = ric.unsubscribe(subscription);
        }
        self.requested.values_mut().for_each(|source| source.is_former = true);
        let nodes: Vec<_> = ric.nodes().cloned().collect();
        nodes.iter().for_each(|node| self.watch(node, ric));
    }

    fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(source) = self.requested.remove(ticket) {
                    if source.is_former {
                        // it fails for one that has ended
                        let _ = ric.unsubscribe(*subscription);
                        return;
                    }
                    self.state().watches.begin(source.node, source.kpi);
                    self.sources.insert(*subscription, source);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                if let Some(source) = self.requested.remove(ticket)
                    && !source.is_former
                    && ric.allows_line(source.node)
                {
                    let kpi = self.state().rules.kpis.get(source.kpi).map(|kpi| kpi.name.clone());
                    warn!(
                        node = source.node_name,
                        kpi,
                        "controls are not judged by the KPI at this node: it refuses the subscription: {error}; name other nodes in \
                         the rules"
                    );
                }
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                let Some(source) = self.sources.remove(subscription) else { return };
                self.state().watches.end(source.node, source.kpi);
                if ric.allows_line(source.node) {
                    let kpi = self.state().rules.kpis.get(source.kpi).map(|kpi| kpi.name.clone());
                    warn!(
                        node = source.node_name,
                        kpi,
                        "controls are no longer judged by the KPI at this node: its subscription has ended; have the rules read again"
                    );
                }
            }
            _ => {}
        }
    }
}

impl Iapp for ConflictApp {
    fn name(&self) -> &str {
        "conflict mitigation"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => self.watch(node, ric),
            IappEvent::NodeChanged(node) => self.state().forget_models(node.id),
            IappEvent::NodeLost(node) => {
                self.requested.retain(|_, source| source.node != *node);
                self.sources.retain(|_, source| source.node != *node);
            }
            IappEvent::Request(event) => self.handle_request(event, ric),
            _ => {}
        }
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let next = self.state().next_rules.take();
        if let Some(rules) = next {
            self.replace(rules, ric);
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let ConflictApp { state, sources, arena, .. } = self;
        let Some(source) = sources.get(&indication.subscription) else { return };
        let Some((_, message)) = indication.payload else { return };
        arena.reset();
        let Detection { revision, wire, .. } = source.detection;
        let Ok(message) = IndicationMessage::decode_in(message, revision, wire, arena) else { return };
        let action = ActionDefinition::decode_in(&source.action, revision, wire, arena).ok();
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        for row in message.rows(action.as_ref()) {
            state.kpi_reported(source.node, &source.node_name, source.kpi, row.value.number(), ric.now());
        }
    }
}
