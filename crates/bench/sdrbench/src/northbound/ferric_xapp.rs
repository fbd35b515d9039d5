//! xApps on ferric's RIC-xApp protocol.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::Wire;
use e2sm::slice::{
    ControlMessage, DeleteSlices, DirectionSlices, NvsParameters, Parameters, Share, Slice, SliceConfiguration,
};
use ferric::e2::{Action, ControlOutcome, NodeId, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket};
use ferric::link::Address;
use ferric::xapp::{Commands, RequestEvent, Xapp, XappConfig, XappEvent};
use per::PrintableString;
use radio::Random;

use super::{Northbound, NorthboundConfig, Order, Progress, Received};
use crate::content::{REVISION_OID, SLICE_FUNCTION, time_stamp};
use crate::generator::FIRST_PROBE;
use crate::southbound::e2::node_number;
use crate::statistics::count;

/// Subscriptions that wait for their answers at the same time: the RIC bounds what a consumer has waiting.
const IN_FLIGHT: usize = 64;
/// How long an event may wait for an order.
const TICK: Duration = Duration::from_millis(5);
const SECOND_NS: u64 = 1_000_000_000;

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
            loop {
                match orders.try_recv() {
                    Ok(Order::Subscribe { period_ms }) => session.set_period(period_ms, &mut xapp.commands())?,
                    Ok(Order::Count(window)) => session.received.begin(window),
                    Ok(Order::Collect(reply)) => {
                        // nobody waits any more if the run was stopped
                        let _ = reply.send(session.received.take());
                    }
                    Ok(Order::Sleep(length)) => std::thread::sleep(length),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            session.request(&mut xapp.commands())?;
            let timeout = session.until_request().min(TICK);
            xapp.poll(Some(timeout), |event, commands| session.event(&event, commands))?;
        }
        Ok(())
    }
}

/// A request that awaits its answer.
enum Pending {
    Subscribe { node: NodeId, since_ns: u64 },
    Control { due_ns: u64 },
}

struct Session<'p> {
    config: NorthboundConfig,
    progress: &'p Progress,
    random: Random,
    received: Received,
    order: Option<SubscriptionOrder>,
    /// The nodes of the load, with the functions for reports and slices.
    nodes: Vec<(NodeId, RanFunctionId)>,
    /// Nodes that are not subscribed to yet.
    waiting: Vec<(NodeId, RanFunctionId)>,
    pending: HashMap<Ticket, Pending>,
    in_flight: usize,
    subscriptions: HashMap<SubscriptionId, NodeId>,
    next_slice_ns: Option<u64>,
    next_resubscription_ns: Option<u64>,
    next_second_ns: u64,
    slices: u32,
}

impl<'p> Session<'p> {
    fn new(config: &NorthboundConfig, progress: &'p Progress) -> Self {
        Session {
            config: config.clone(),
            progress,
            // streams apart from those of the generator's threads
            random: Random::new(config.seed, 1000 + u64::from(config.number)),
            received: Received::default(),
            order: None,
            nodes: Vec::new(),
            waiting: Vec::new(),
            pending: HashMap::new(),
            in_flight: 0,
            subscriptions: HashMap::new(),
            next_slice_ns: None,
            next_resubscription_ns: None,
            next_second_ns: 0,
            slices: 0,
        }
    }

    fn set_period(&mut self, period_ms: u32, commands: &mut Commands<'_>) -> anyhow::Result<()> {
        let (event_trigger, definition) = self.config.content.subscription(period_ms)?;
        let action =
            Action { id: RicActionId(1), kind: RicActionType::Report, definition: Some(definition), subsequent: None };
        self.order = Some(SubscriptionSpec { event_trigger, actions: vec![action] }.into());
        for (subscription, _) in self.subscriptions.drain() {
            commands.unsubscribe(subscription);
        }
        self.progress.subscribed.store(0, Ordering::Relaxed);
        self.waiting.clone_from(&self.nodes);
        let now_ns = self.config.clock.now_ns();
        self.next_slice_ns = self.plan(self.config.requests.slices_per_s, now_ns);
        self.next_resubscription_ns = self.plan(self.config.requests.resubscriptions_per_s, now_ns);
        self.subscribe(commands);
        Ok(())
    }

    fn plan(&mut self, per_s: f64, after_ns: u64) -> Option<u64> {
        (per_s > 0.0).then(|| after_ns + (self.random.exponential(1.0 / per_s) * 1e9) as u64)
    }

    /// Subscribes to nodes that wait, as far as the bound allows.
    fn subscribe(&mut self, commands: &mut Commands<'_>) {
        let Some(order) = &self.order else { return };
        while self.in_flight < IN_FLIGHT
            && let Some((node, function)) = self.waiting.pop()
        {
            let ticket = commands.subscribe(node, function, order.clone());
            self.pending.insert(ticket, Pending::Subscribe { node, since_ns: self.config.clock.now_ns() });
            self.in_flight += 1;
        }
    }

    /// The time until the next planned request.
    fn until_request(&self) -> Duration {
        let next_ns = [self.next_slice_ns, self.next_resubscription_ns].into_iter().flatten().min();
        let now_ns = self.config.clock.now_ns();
        next_ns.map_or(Duration::MAX, |at_ns| Duration::from_nanos(at_ns.saturating_sub(now_ns)))
    }

    /// Sends the requests that are due, and closes a second of the course.
    fn request(&mut self, commands: &mut Commands<'_>) -> anyhow::Result<()> {
        let now_ns = self.config.clock.now_ns();
        while let Some(due_ns) = self.next_slice_ns.filter(|due_ns| *due_ns <= now_ns) {
            self.next_slice_ns = self.plan(self.config.requests.slices_per_s, due_ns);
            if !self.nodes.is_empty() {
                let (node, _) = self.nodes[self.random.next_u64() as usize % self.nodes.len()];
                let message = self.slice_request()?;
                let ticket = commands.control(node, SLICE_FUNCTION, &[], &message);
                self.pending.insert(ticket, Pending::Control { due_ns });
            }
        }
        while let Some(due_ns) = self.next_resubscription_ns.filter(|due_ns| *due_ns <= now_ns) {
            self.next_resubscription_ns = self.plan(self.config.requests.resubscriptions_per_s, due_ns);
            let at = self.random.next_u64() as usize % self.subscriptions.len().max(1);
            let chosen = self.subscriptions.iter().nth(at).map(|(subscription, node)| (*subscription, *node));
            if let Some((subscription, node)) = chosen {
                self.subscriptions.remove(&subscription);
                self.progress.subscribed.fetch_sub(1, Ordering::Relaxed);
                commands.unsubscribe(subscription);
                let function = self.nodes.iter().find(|(known, _)| *known == node).map(|(_, function)| *function);
                self.waiting.extend(function.map(|function| (node, function)));
            }
        }
        self.subscribe(commands);
        if now_ns >= self.next_second_ns {
            self.received.end_second(now_ns);
            self.next_second_ns = (now_ns / SECOND_NS + 1) * SECOND_NS;
        }
        Ok(())
    }

    /// A control of FlexRIC's slice function: in turn a slice is created, changed and deleted.
    fn slice_request(&mut self) -> anyhow::Result<Vec<u8>> {
        let (id, step) = (self.slices / 3 % 8 + 1, self.slices % 3);
        self.slices += 1;
        let message = match step {
            2 => ControlMessage::Delete(DeleteSlices { dl: vec![id].into(), ul: per::List::default() }),
            _ => {
                let percent = 5 * (step + 1);
                let share = NvsParameters::Capacity(Share { reserved: percent as f32 / 100.0 });
                let slice = Slice {
                    id,
                    label: PrintableString::literal("tenant"),
                    ue_scheduler: PrintableString::literal("PF"),
                    parameters: Parameters::Nvs(share),
                };
                let dl = DirectionSlices { scheduler: PrintableString::literal("PF"), slices: vec![slice].into() };
                ControlMessage::AddOrModify(SliceConfiguration { dl, ul: DirectionSlices::default() })
            }
        };
        let mut octets = Vec::new();
        message.encode(Wire::Plain, &mut octets)?;
        Ok(octets)
    }

    fn event(&mut self, event: &XappEvent<'_>, commands: &mut Commands<'_>) {
        match event {
            XappEvent::Indication(indication) => {
                let Some(peeked) = indication.peek() else { return };
                let due_ns = time_stamp(peeked.header).and_then(|stamp| self.config.clock.at_ns(stamp));
                if let Some(due_ns) = due_ns {
                    let sn = peeked.sn.map(|sn| sn.0);
                    self.received.report(indication.subscription.0, sn, due_ns, self.config.clock.now_ns());
                }
            }
            XappEvent::NodeUp(node) => {
                let function = node.functions.iter().find(|function| function.oid == REVISION_OID);
                let is_load = node_number(node.global_id).is_some_and(|number| number < FIRST_PROBE);
                if let Some(function) = function.filter(|_| is_load) {
                    self.nodes.push((node.id, function.id));
                    self.progress.nodes.store(self.nodes.len() as u64, Ordering::Relaxed);
                    if self.order.is_some() && !self.subscriptions.values().any(|known| *known == node.id) {
                        self.waiting.push((node.id, function.id));
                        self.subscribe(commands);
                    }
                }
            }
            XappEvent::NodeLost(node) => {
                self.nodes.retain(|(id, _)| *id != node.id);
                self.waiting.retain(|(id, _)| *id != node.id);
                self.progress.nodes.store(self.nodes.len() as u64, Ordering::Relaxed);
            }
            XappEvent::Request(event) => self.answer(event, commands),
            _ => {}
        }
    }

    fn answer(&mut self, event: &RequestEvent, commands: &mut Commands<'_>) {
        let now_ns = self.config.clock.now_ns();
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(Pending::Subscribe { node, since_ns }) = self.pending.remove(ticket) {
                    self.in_flight -= 1;
                    count(&mut self.received.subscriptions, now_ns - since_ns);
                    self.subscriptions.insert(*subscription, node);
                    self.progress.subscribed.fetch_add(1, Ordering::Relaxed);
                }
                self.subscribe(commands);
            }
            RequestEvent::SubscriptionFailed { ticket, .. } => {
                if let Some(Pending::Subscribe { .. }) = self.pending.remove(ticket) {
                    self.in_flight -= 1;
                    self.failed();
                }
                self.subscribe(commands);
            }
            RequestEvent::SubscriptionResumed { subscription, node, .. } => {
                self.received.renumbered(subscription.0);
                self.subscriptions.insert(*subscription, *node);
                self.waiting.retain(|(waiting, _)| waiting != node);
                self.progress.subscribed.fetch_add(1, Ordering::Relaxed);
            }
            RequestEvent::SubscriptionSuspended(_) => _ = self.progress.subscribed.fetch_sub(1, Ordering::Relaxed),
            RequestEvent::SubscriptionEnded { subscription, .. }
                if self.subscriptions.remove(subscription).is_some() =>
            {
                self.progress.subscribed.fetch_sub(1, Ordering::Relaxed);
            }
            RequestEvent::Controlled { ticket, outcome } => {
                let Some(Pending::Control { due_ns }) = self.pending.remove(ticket) else { return };
                match outcome {
                    ControlOutcome::Acknowledged(_) if self.received.counts(due_ns) => {
                        count(&mut self.received.controls, now_ns.saturating_sub(due_ns));
                    }
                    ControlOutcome::Acknowledged(_) => {}
                    _ => self.failed(),
                }
            }
            _ => {}
        }
    }

    fn failed(&mut self) {
        self.received.failed += 1;
        self.progress.failed.fetch_add(1, Ordering::Relaxed);
    }
}
