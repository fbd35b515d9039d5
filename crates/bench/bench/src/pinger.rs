//! A controller whose internal app pings one node: the E2SM-HW ping of the FlexRIC paper.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::{Arena, Wire, hw};
use ferric::e2::{Action, Indication, NodeId, SubscriptionSpec};
use ferric::link;
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server, ServerConfig};
use ferric::{Endpoint, StopHandle};

/// The parameters of a series of pings.
pub struct PingConfig {
    /// The address for the node, which determines the encoding of E2AP.
    pub endpoint: Endpoint,
    /// The configuration of the link.
    pub link: link::Config,
    /// The encoding of the service model.
    pub wire: Wire,
    /// The size of the payload.
    pub octets: usize,
    /// The number of pings.
    pub count: usize,
    /// The period; without it, each ping follows the answer to the one before.
    pub period: Option<Duration>,
}

/// A running controller, on a thread.
pub struct PingController {
    /// The address for the node.
    pub endpoint: Endpoint,
    times: Receiver<Vec<u64>>,
    stop: StopHandle,
    thread: JoinHandle<Result<(), ferric::Error>>,
}

impl PingConfig {
    /// Starts the controller.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn start(self) -> anyhow::Result<PingController> {
        let (done, times) = mpsc::channel();
        let PingConfig { endpoint, link, wire, octets, count, period } = self;
        let mut server =
            Server::bind(ServerConfig { e2: vec![endpoint], xapp: None, link, ..ServerConfig::default() })?;
        server.add_iapp(Box::new(Pinger {
            wire,
            payload: vec![7; octets],
            period,
            node: None,
            started: Instant::now(),
            number: 0,
            left: count,
            times: Vec::with_capacity(count.min(1 << 16)),
            message: Vec::new(),
            arena: Arena::new(),
            is_answered: false,
            is_acknowledged: false,
            done,
        }));
        let endpoint = server.e2_endpoints().next().context("the controller has no address for E2")?;
        let stop = server.stop_handle();
        Ok(PingController { endpoint, times, stop, thread: thread::spawn(move || server.run()) })
    }
}

impl PingController {
    /// Waits at most `patience` for all round trips; returns their times in nanoseconds.
    ///
    /// # Errors
    /// If a ping is not answered in time.
    pub fn times_ns(&self, patience: Duration) -> anyhow::Result<Vec<u64>> {
        self.times.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => anyhow!("a ping was not answered"),
            RecvTimeoutError::Disconnected => anyhow!("the controller ended"),
        })
    }

    /// Stops the controller.
    ///
    /// # Errors
    /// If its event loop has failed.
    pub fn end(self) -> anyhow::Result<()> {
        self.stop.stop();
        Ok(self.thread.join().map_err(|_| anyhow!("the controller panicked"))??)
    }
}

/// The internal app.
struct Pinger {
    wire: Wire,
    payload: Vec<u8>,
    period: Option<Duration>,
    node: Option<(NodeId, RanFunctionId)>,
    started: Instant,
    number: u32,
    left: usize,
    times: Vec<u64>,
    message: Vec<u8>,
    arena: Arena,
    /// Whether the current ping's indication, and its control's acknowledgement, have arrived.
    is_answered: bool,
    is_acknowledged: bool,
    done: Sender<Vec<u64>>,
}

impl Pinger {
    fn ping(&mut self, ric: &mut IappContext<'_>) {
        let Some((node, function)) = self.node else { return };
        (self.is_answered, self.is_acknowledged) = (false, false);
        self.started = Instant::now();
        self.number += 1;
        self.message.clear();
        let ping = hw::Ping { number: self.number, payload: self.payload.as_slice().into() };
        // a ping that cannot be sent times out
        if ping.encode(self.wire, &mut self.message).is_ok() {
            let _ = ric.control(node, function, &[], &self.message);
        }
    }

    /// Sends the next ping when it is due, or reports the times after the last one.
    fn advance(&mut self, ric: &mut IappContext<'_>) {
        if self.left == 0 {
            let times = std::mem::take(&mut self.times);
            if !times.is_empty() {
                let _ = self.done.send(times);
            }
        } else if let Some(period) = self.period {
            // the loop has nothing else to do; an acknowledgement that is read later would count in the next ping's time
            if self.is_answered && self.is_acknowledged {
                thread::sleep(period.saturating_sub(self.started.elapsed()));
                self.ping(ric);
            }
        } else if self.is_answered {
            self.ping(ric);
        }
    }
}

impl Iapp for Pinger {
    fn name(&self) -> &str {
        "pinger"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                let Some(function) = node.functions.iter().find(|f| hw::wire_of(&f.oid) == Some(self.wire)) else {
                    return;
                };
                let action =
                    Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
                let spec = SubscriptionSpec { event_trigger: hw::EVENT_TRIGGER.to_vec(), actions: vec![action] };
                self.node = Some((node.id, function.id));
                let _ = ric.subscribe(node.id, function.id, spec);
            }
            IappEvent::Request(RequestEvent::Subscribed { .. }) => self.ping(ric),
            IappEvent::Request(RequestEvent::Controlled { .. }) => {
                self.is_acknowledged = true;
                if self.period.is_some() {
                    self.advance(ric);
                }
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        self.arena.reset();
        let Some((_, message)) = indication.payload else { return };
        match hw::Ping::decode(message, self.wire, &self.arena) {
            Ok(ping) if ping.number == self.number && ping.payload.len() == self.payload.len() => {}
            _ => return,
        }
        self.times.push(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.left = self.left.saturating_sub(1);
        self.is_answered = true;
        self.advance(ric);
    }
}
