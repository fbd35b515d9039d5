//! The statistics forwarder: an internal app that subscribes to RLC and TC of every node that offers them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use e2sm::Wire;
use ferric::e2::{Indication, Node, NodeId, SubscribeError, Ticket};
use ferric::e2ap::RanFunctionId;
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent};
use per::Gather;
use tracing::{info, warn};

use super::backlog::{Backlog, Report};
use super::publisher::{self, RedisConfig};
use super::{MODELS, subscription};

/// Forwards the statistics of RLC and TC to Redis: each indication is one JSON record, which is published on a channel and added
/// to a stream.
///
/// The RIC's loop only copies an indication into a bounded queue; a thread of its own decodes and sends. If Redis is lost, slow or
/// refuses, the oldest reports are dropped and counted, the remedy is logged once, and the thread reconnects after pauses of up to
/// 10 s. Nodes and xApps are not affected.
#[derive(Debug)]
pub struct Forwarder {
    period_ms: u32,
    backlog: Arc<Backlog>,
    counters: Arc<Counters>,
    sources: HashMap<(NodeId, RanFunctionId), Source>,
    requested: HashMap<Ticket, (NodeId, Arc<str>, &'static str)>,
}

/// A RAN function with a subscription.
#[derive(Debug)]
struct Source {
    node: Arc<str>,
    model: usize,
    wire: Wire,
}

/// Counters of reports.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub forwarded: AtomicU64,
    pub lost: AtomicU64,
    pub unreadable: AtomicU64,
}

/// The counts of a forwarder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwarderStats {
    /// Records that Redis has accepted.
    pub records: u64,
    /// Reports that were dropped while Redis was lost or slow, and records that it refused or did not confirm.
    pub dropped: u64,
    /// Reports that could not be decoded.
    pub unreadable: u64,
}

impl Forwarder {
    /// Creates a forwarder and its thread, which ends when it is dropped. Redis need not be running yet.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(config: RedisConfig) -> std::io::Result<Self> {
        let backlog = Arc::new(Backlog::new(config.queue_octets));
        let counters = Arc::new(Counters::default());
        let period_ms = config.period_ms;
        publisher::start(config, Arc::clone(&backlog), Arc::clone(&counters))?;
        Ok(Forwarder { period_ms, backlog, counters, sources: HashMap::new(), requested: HashMap::new() })
    }

    /// Returns a function that reads the counts, from any thread.
    pub fn watch(&self) -> impl Fn() -> ForwarderStats + Send + use<> {
        let (backlog, counters) = (Arc::clone(&self.backlog), Arc::clone(&self.counters));
        move || ForwarderStats {
            records: counters.forwarded.load(Relaxed),
            dropped: backlog.dropped() + counters.lost.load(Relaxed),
            unreadable: counters.unreadable.load(Relaxed),
        }
    }

    fn subscribe(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        let name: Arc<str> = node.global_id.to_string().into();
        for function in &node.functions {
            let mut models = MODELS.iter().enumerate();
            let found = models.find_map(|(at, (_, model))| Some((at, model.wire_of(&function.oid)?)));
            let Some((model, wire)) = found else { continue };
            let source = Source { node: Arc::clone(&name), model, wire };
            if self.sources.insert((node.id, function.id), source).is_some() {
                continue; // it is subscribed to
            }
            match ric.subscribe(node.id, function.id, subscription(self.period_ms, wire)) {
                Ok(ticket) => drop(self.requested.insert(ticket, (node.id, Arc::clone(&name), MODELS[model].0))),
                Err(misuse) if ric.allows_line(node.id) => warn!(
                    node = &*name,
                    function = function.id.0,
                    error = %misuse,
                    "cannot subscribe: statistics are not forwarded"
                ),
                Err(_) => {}
            }
        }
    }

    fn refused(&mut self, ticket: Ticket, error: &SubscribeError, ric: &IappContext<'_>) {
        if let Some((id, node, model)) = self.requested.remove(&ticket)
            && ric.allows_line(id)
        {
            warn!(node = &*node, model, %error, "subscription failed: statistics are not forwarded");
        }
    }
}

impl Iapp for Forwarder {
    fn name(&self) -> &str {
        "statistics forwarder"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) | IappEvent::NodeChanged(node) => self.subscribe(node, ric),
            IappEvent::NodeLost(node) => self.sources.retain(|(of, _), _| of != node),
            IappEvent::Request(RequestEvent::Subscribed { ticket, .. }) => {
                if let Some((id, node, model)) = self.requested.remove(ticket)
                    && ric.allows_line(id)
                {
                    info!(node = &*node, model, period_ms = self.period_ms, "forwarding statistics to Redis");
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => self.refused(*ticket, error, ric),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _: &mut IappContext<'_>) {
        let Some(source) = self.sources.get(&(indication.node, indication.ran_function_id)) else { return };
        let message = match indication.payload {
            Some((_, message)) => message.into(),
            None => {
                let gather = Gather::new();
                match indication.decode(&gather) {
                    Ok(decoded) => decoded.message.to_cow().into_owned().into(),
                    Err(_) => {
                        self.counters.unreadable.fetch_add(1, Relaxed);
                        return;
                    }
                }
            }
        };
        let Source { node, model, wire } = source;
        self.backlog.push(Report { node: Arc::clone(node), model: *model, wire: *wire, message });
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let ForwarderStats { records, dropped, unreadable } = self.watch()();
        // the thread is not joined: Redis may be slow
        let left = self.backlog.end();
        info!(records, dropped, unreadable, left, "forwarding of statistics ended");
    }
}
