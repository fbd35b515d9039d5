//! FlexRAN agents of eNBs, beside E2 nodes: they are greeted, asked for their configurations, and report statistics.
//!
//! A thread of its own serves them, with one epoll instance: a message is a protocol buffer behind its length in four octets, as
//! links of TCP have it. What agents report is [`FlexRanAgents`], which REST and the metrics read. xApps do not see these agents.
//!
//! The limits are those of E2: `max_connections` and `max_host_percent` bound agents, `setup_timeout` the time until the hello,
//! `pdu_timeout` that until the rest of a message. An agent that sends no whole message for [`SILENCE`] is disconnected, although it
//! was asked for an echo; so is one that sends something else than the protocol, or does not read.

mod agents;
mod server;
mod session;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ferric::link::{Address, Config, Listener, MemoryBudget, Poll, Waker};
use ferric::server::ServerConfig;
use log_lines::LogBudget;
use tracing::warn;

pub use agents::{Agent, Cell, Counters, FlexRanAgents, Ue};
use server::{LISTENER, Server, WAKE};

/// The time without a whole message after which an agent is asked for an echo.
const ECHO_AFTER: Duration = Duration::from_secs(5);
/// The time without a whole message after which an agent is disconnected.
pub const SILENCE: Duration = Duration::from_secs(15);
/// How often the configurations of UEs are requested: not all of their changes are notified.
const REFRESH_PERIOD: Duration = Duration::from_secs(30);
/// The longest message of an agent.
const MAX_MESSAGE_OCTETS: usize = 256 << 10;
/// Requests that may wait until an agent reads.
const OUTBOX_OCTETS: usize = 64 << 10;
/// The memory for messages of which a part has arrived, and for requests that wait, of all agents together.
const BUDGET_OCTETS: usize = 64 << 20;

/// Where FlexRAN agents connect, and how often they report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlexRanConfig {
    /// The address: `tcp://` or `unix:`. Default: none; agents are not served.
    pub address: Option<Address>,
    /// The period of statistics in milliseconds. Default: 1000.
    pub period_ms: u32,
}

impl Default for FlexRanConfig {
    fn default() -> Self {
        FlexRanConfig { address: None, period_ms: 1000 }
    }
}

impl FlexRanConfig {
    /// Reads the URL of an address for agents: `tcp://HOST:PORT`, whose default port is 2210, or `unix:PATH`.
    ///
    /// # Errors
    /// Why it is none.
    pub fn address(url: &str) -> Result<Address, String> {
        match Address::from_url(url, ::flexran::DEFAULT_PORT).map_err(|error| error.to_string())? {
            address @ (Address::Tcp { .. } | Address::Unix(_)) => Ok(address),
            address => {
                Err(format!("FlexRAN agents connect over TCP: use tcp://HOST:PORT or unix:PATH instead of {address}"))
            }
        }
    }
}

/// The limits of agents.
#[derive(Clone, Debug)]
struct Limits {
    max_agents: usize,
    max_agents_per_host: usize,
    hello_timeout: Duration,
    message_timeout: Duration,
    echo_after: Duration,
    silence: Duration,
}

impl Limits {
    fn of(config: &ServerConfig) -> Self {
        let share = config.max_connections * usize::from(config.controller.max_host_percent) / 100;
        Limits {
            max_agents: config.max_connections,
            max_agents_per_host: share.max(1),
            hello_timeout: config.controller.setup_timeout,
            message_timeout: config.pdu_timeout,
            echo_after: ECHO_AFTER,
            silence: SILENCE,
        }
    }
}

/// A listener for FlexRAN agents. It ends when it is dropped.
pub struct FlexRan {
    address: Address,
    agents: FlexRanAgents,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

/// What the listener takes of the configuration of the server, before the server takes it.
pub(crate) struct FlexRanSetup {
    address: Address,
    period_ms: u32,
    limits: Limits,
    link: Config,
    /// Whether IPsec protects addresses beyond this host.
    is_protected: bool,
}

impl FlexRanSetup {
    /// `None` without an address.
    pub fn new(config: FlexRanConfig, server: &ServerConfig) -> Option<Self> {
        let link = Config {
            max_pdu_octets: MAX_MESSAGE_OCTETS.min(server.link.max_pdu_octets),
            outbox_octets: OUTBOX_OCTETS,
            receive_budget: Some(MemoryBudget::new(BUDGET_OCTETS)),
            send_budget: Some(MemoryBudget::new(BUDGET_OCTETS)),
            // recordings are of E2AP
            tap: None,
            ..server.link.clone()
        };
        let FlexRanConfig { address, period_ms } = config;
        Some(FlexRanSetup {
            address: address?,
            period_ms,
            limits: Limits::of(server),
            link,
            is_protected: server.ipsec,
        })
    }

    /// Listens for agents.
    pub fn start(self, log: LogBudget) -> Result<FlexRan, ferric::Error> {
        let listener = Listener::bind(&self.address, &self.link)?;
        let address = listener.local_address().clone();
        if !address.is_local() && !self.is_protected {
            warn!(
                "FlexRAN agents at {address} are not authenticated: let only eNBs reach it, or use IPsec (ipsec = true)"
            );
        }
        let system = |source: io::Error| ferric::Error::System { what: "serve FlexRAN agents", source };
        let poll = Poll::new().map_err(system)?;
        poll.add(&listener, LISTENER, ferric::link::Interest::READ).map_err(system)?;
        let waker = Waker::new(&poll, WAKE).map_err(system)?;
        let (agents, stop) = (FlexRanAgents::default(), Arc::new(AtomicBool::new(false)));
        let server = Server::new(listener, poll, self.limits, self.period_ms, agents.clone(), log);
        let server = server.map_err(system)?;
        let thread = std::thread::Builder::new().name("flexran".to_owned()).spawn({
            let stop = Arc::clone(&stop);
            move || server.run(&|| stop.load(Ordering::Acquire))
        });
        Ok(FlexRan { address, agents, stop, waker, thread: Some(thread.map_err(system)?) })
    }
}

impl FlexRan {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The agents that are connected.
    #[must_use]
    pub fn agents(&self) -> &FlexRanAgents {
        &self.agents
    }
}

impl Drop for FlexRan {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}
