//! xApps on ferric's RIC-xApp protocol.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::e2::{Action, ControlOutcome, NodeId, SubscriptionId, SubscriptionSpec};
use ferric::link::Address;
use ferric::xapp::{Commands, Indication, RequestEvent, Xapp, XappConfig, XappEvent};
use per::Gather;

use super::session::{Interface, Reports, Session, TICK};
use super::{Northbound, NorthboundConfig, Order, Progress};
use crate::content::REVISION_OID;
use crate::southbound::e2::node_number;

/// xApps of a ferric RIC.
pub struct FerricXapp {
    /// The RIC's address for xApps.
    pub address: Address,
    /// The configuration of their sessions.
    pub config: XappConfig,
}

impl Northbound for FerricXapp {
    fn name(&self) -> String {
        format!("xApps of ferric on {}", self.address)
    }

    fn run(
        &self,
        config: NorthboundConfig,
        orders: Receiver<Order>,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let config_of_session = XappConfig { reconnect: None, ..self.config.clone() };
        let mut xapp = Xapp::connect(&self.address, &format!("sdrbench-{}", config.number), config_of_session)?;
        let mut session = Session::new(&config, progress);
        while !stop.load(Ordering::Acquire) {
            if !session.take_orders(&orders, &mut xapp.commands())? {
                return Ok(());
            }
            session.request(&mut xapp.commands())?;
            let timeout = session.until_request().min(TICK);
            let mut result = Ok(());
            xapp.poll(Some(timeout), |event, commands| {
                if result.is_ok() {
                    result = handle(&mut session, &event, commands);
                }
            })?;
            result?;
            session.pause();
        }
        Ok(())
    }
}

impl Interface for Commands<'_> {
    type Node = NodeId;
    const FOLLOWS_NODES: bool = true;

    fn subscribe(&mut self, node: NodeId, function: RanFunctionId, reports: &Reports) -> anyhow::Result<u32> {
        let Reports { event_trigger, action } = reports.clone();
        let action =
            Action { id: RicActionId(1), kind: RicActionType::Report, definition: Some(action), subsequent: None };
        let spec = SubscriptionSpec { event_trigger, actions: vec![action] };
        Ok(Commands::subscribe(self, node, function, spec).0)
    }

    fn unsubscribe(&mut self, subscription: u32) -> anyhow::Result<()> {
        Commands::unsubscribe(self, SubscriptionId(subscription));
        Ok(())
    }

    fn control(&mut self, node: NodeId, function: RanFunctionId, message: &[u8]) -> anyhow::Result<u32> {
        Ok(Commands::control(self, node, function, &[], message).0)
    }
}

fn handle(session: &mut Session<'_, NodeId>, event: &XappEvent<'_>, commands: &mut Commands<'_>) -> anyhow::Result<()> {
    match event {
        XappEvent::Indication(indication) => report(session, indication),
        XappEvent::NodeUp(node) => {
            let function = node.functions.iter().find(|function| function.oid == REVISION_OID);
            if let Some((function, number)) = function.zip(node_number(node.global_id)) {
                session.node_up(node.id, function.id, number, commands)?;
            }
        }
        XappEvent::NodeLost(node) => session.node_lost(node.id),
        XappEvent::Request(event) => return answer(session, event, commands),
        _ => {}
    }
    Ok(())
}

fn report(session: &mut Session<'_, NodeId>, indication: &Indication<'_>) {
    let subscription = indication.subscription.0;
    if let Some(peeked) = indication.peek() {
        return session.report(subscription, peeked.sn.map(|sn| sn.0), peeked.header);
    }
    // a fragmented message
    let gather = Gather::new();
    if let Ok(decoded) = indication.decode(&gather) {
        session.report(subscription, decoded.sn.map(|sn| sn.0), &decoded.header.to_cow());
    }
}

fn answer(session: &mut Session<'_, NodeId>, event: &RequestEvent, commands: &mut Commands<'_>) -> anyhow::Result<()> {
    match event {
        RequestEvent::Subscribed { ticket, subscription, .. } => {
            return session.subscribed(ticket.0, subscription.0, commands);
        }
        RequestEvent::SubscriptionFailed { ticket, error } => {
            return session.subscription_failed(ticket.0, &error.to_string(), commands);
        }
        RequestEvent::SubscriptionResumed { subscription, node, .. } => session.resumed(subscription.0, *node),
        RequestEvent::SubscriptionSuspended(subscription) => session.suspended(subscription.0),
        RequestEvent::SubscriptionEnded { subscription, .. } => session.ended(subscription.0),
        RequestEvent::Controlled { ticket, outcome } => {
            session.controlled(ticket.0, matches!(outcome, ControlOutcome::Acknowledged(_)));
        }
        _ => {}
    }
    Ok(())
}
