//! Passes the indications of base stations to tenants.

use e2sm::rc::Detection;
use ferric::e2::{Indication, NodeId};
use ferric::e2ap::{RanFunctionId, RicIndication, RicIndicationType};
use ferric::server::IappContext;
use per::Gather;
use tracing::warn;

use super::VirtualizationApp;
use crate::base_station::{BaseStation, observe};
use crate::cells::CellPlmn;
use crate::node::{NodeState, Offered, View};
use crate::physical::Subscriber;
use crate::rc::Insert;
use crate::reconciler::advance;
use crate::reports::{Content, Report};

impl VirtualizationApp {
    /// Passes an indication to the tenants that have subscribed to it.
    pub(super) fn relay(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let gather = Gather::new();
        if indication.kind == RicIndicationType::Insert {
            if let Ok(insert) = indication.decode(&gather) {
                self.relay_insert(indication, &insert, ric);
            }
            return;
        }
        match indication.payload {
            Some((header, message)) => self.relay_report(indication, header, message, ric),
            None => {
                if let Ok(decoded) = indication.decode(&gather) {
                    self.relay_report(indication, &decoded.header.to_cow(), &decoded.message.to_cow(), ric);
                }
            }
        }
    }

    /// Passes a report to the tenants that have subscribed to it.
    fn relay_report(&mut self, indication: &Indication<'_>, header: &[u8], message: &[u8], ric: &mut IappContext<'_>) {
        let VirtualizationApp { nodes, agents, subscriptions, arena, records, written, .. } = self;
        let Some(subscription) = subscriptions.get(indication.subscription) else { return };
        let Some(node) = nodes.get_mut(&indication.node) else { return };
        let (function, action) = (indication.ran_function_id, indication.action_id);
        let Some(model) = node.function(function) else { return };
        arena.reset();
        if subscription.is_own {
            observe(node, model, message, arena);
            advance(indication.node, node, ric);
            crate::tc::advance(indication.node, node, ric);
            ric.call_after_reading();
        }
        if subscription.subscribers.is_empty() {
            return;
        }
        let mut shared = node.shared.lock();
        let refused = |node: &NodeState, reason: &str| {
            if ric.allows_line(indication.node) {
                let (node, function) = (&node.name, function.0);
                warn!(node, function, "a report is not passed on to tenants: cannot tell their parts: {reason}");
            }
        };
        let report = match Report::read(model, &shared, message, records, arena) {
            Ok(report) => report,
            Err(reason) => return refused(&shared, &reason),
        };
        for Subscriber { tenant, key, view, .. } in &subscription.subscribers {
            written.clear();
            let message = match report.partition(view, &shared, *tenant, (action, message), written) {
                Ok(Content::Unchanged) => message,
                Ok(Content::Written) => written,
                Ok(Content::Nothing) => continue,
                Err(reason) => {
                    refused(&shared, &reason);
                    continue;
                }
            };
            let outbox = &mut shared.tenants[*tenant].outbox;
            if outbox.report(agents, function, (*key, action), header, message) {
                node.has_outgoing.set(true);
            }
        }
        drop(shared);
        ric.call_after_reading();
    }

    /// Passes an insert to the tenant of the UE, whichever subscription it came by: a base station asks one subscription of a
    /// controller only. A procedure that no tenant has subscribed to continues.
    fn relay_insert(&mut self, indication: &Indication<'_>, insert: &RicIndication<'_>, ric: &mut IappContext<'_>) {
        let VirtualizationApp { nodes, subscriptions, .. } = self;
        let (id, function) = (indication.node, indication.ran_function_id);
        let Some(node) = nodes.get_mut(&id) else { return };
        let (Some(Offered::Rc(detection)), Some(process)) = (node.function(function), &insert.call_process_id) else {
            return;
        };
        let (process, header, message) = (process.to_cow(), insert.header.to_cow(), insert.message.to_cow());
        let Some(asked) = Insert::decode(&detection, &header, &message) else { return };
        let mut shared = node.shared.lock();
        // the base station uses ids again
        shared.tenants.iter_mut().for_each(|tenant| tenant.inserts.remove(&process));
        let owner = shared.ues.owner(&asked.ue_id);
        let subscriber = owner.and_then(|tenant| {
            let action = |known: &Subscriber| match &known.view {
                View::Rc(view) => view.insert_for(&asked.ue_id).map(|action| (tenant, known.key, action)),
                _ => None,
            };
            subscriptions.of_tenant(id, function, tenant).find_map(action)
        });
        match subscriber {
            Some((tenant, key, action)) => {
                let translated = asked.message_for(&detection, CellPlmn::to_tenant(&shared, tenant), &message);
                let message = translated.as_deref().unwrap_or(&message);
                let state = &mut shared.tenants[tenant];
                state.inserts.add(&process);
                state.outbox.queue(function).report(key, action, Some(process.to_vec()), &header, message);
                node.has_outgoing.set(true);
                drop(shared);
                ric.call_after_reading();
            }
            None => {
                drop(shared);
                accept_insert(id, node, &detection, (function, &process), &asked, ric);
            }
        }
    }
}

/// Continues a suspended procedure.
fn accept_insert(
    id: NodeId,
    node: &BaseStation,
    detection: &Detection,
    (function, process): (RanFunctionId, &[u8]),
    insert: &Insert,
    ric: &mut IappContext<'_>,
) {
    let accepted = insert.accepted(detection).map_err(|error| error.to_string());
    let sent = accepted.and_then(|(header, message)| {
        ric.answer_insert(id, function, process, &header, &message).map_err(|misuse| misuse.to_string())
    });
    if let Err(reason) = sent
        && ric.allows_line(id)
    {
        let name = &node.shared.lock().name;
        warn!(
            node = name,
            "cannot continue a procedure of a UE without tenant: {reason}; the base station continues it after its own time"
        );
    }
}
