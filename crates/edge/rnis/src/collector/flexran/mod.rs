//! The collector on the FlexRAN protocol: agents of eNBs connect over TCP, and report configurations and statistics (paper 003, 3).
//!
//! A message is a protocol buffer behind its length in four octets. The collector greets an agent, requests the configurations of the
//! eNB, its UEs and their logical channels, and periodic statistics. The FlexRAN protocol has no timing advance.
//!
//! | messages | become |
//! |---|---|
//! | eNB configuration | cells |
//! | UE configuration, UE state change | UEs by IMSI, cell changes, secondary cells |
//! | logical channels | bearers with their QoS |
//! | statistics | measurement reports of E-UTRA, tunnels, usage of cells, data volume of UEs |

mod agent;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flexran::{Body, Direction, Echo, Hello, Message, StatisticsRequest, ue_flags};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;
use tokio::time::{Instant as TokioInstant, MissedTickBehavior, interval, timeout, timeout_at};
use tracing::{info, warn};

use super::Output;
use super::ues::{Moment, Scope, Ues};
use crate::directory::Directory;
use crate::faults::Faults;
use agent::{Agent, Shared};

/// How often the configurations are requested, which have no notifications of all their changes, and an echo.
const REFRESH_PERIOD: Duration = Duration::from_secs(5);
/// What statistics contain of each UE.
const UE_STATISTICS: u32 = ue_flags::RRC_MEASUREMENTS | ue_flags::GTP | ue_flags::MAC;

/// The configuration of [`FlexRanCollector`].
#[derive(Clone, Debug)]
pub struct FlexRanConfig {
    /// Where agents connect.
    pub address: SocketAddr,
    /// The period of statistics, in milliseconds. Default: 1000.
    pub period_ms: u32,
    /// The most agents. Default: 256.
    pub max_agents: usize,
    /// The most agents of a host. Default: 16.
    pub max_agents_per_host: usize,
    /// The largest message, in octets: a longer one ends the connection. Default: 256 KiB.
    pub max_message_octets: usize,
    /// How long a connection may last without a whole message; the first one is the hello. Default: 15 s.
    pub silence: Duration,
}

impl FlexRanConfig {
    /// The default configuration.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        FlexRanConfig {
            address,
            period_ms: 1000,
            max_agents: 256,
            max_agents_per_host: 16,
            max_message_octets: 256 << 10,
            silence: Duration::from_secs(15),
        }
    }
}

/// The collector: a thread that serves agents. It ends when it is dropped.
pub struct FlexRanCollector {
    address: SocketAddr,
    commands: Option<UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

enum Command {
    ResolveAgain,
}

impl fmt::Debug for FlexRanCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlexRanCollector").field("address", &self.address).finish_non_exhaustive()
    }
}

impl FlexRanCollector {
    /// Listens for agents. `directory` has identities of UEs by IMSI.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn start(
        config: FlexRanConfig,
        directory: Arc<Directory>,
        output: Arc<dyn Output + Send + Sync>,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(config.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (commands, received) = unbounded_channel();
        let thread = std::thread::Builder::new().name("flexran".to_owned()).spawn(move || {
            let serve = async {
                match TcpListener::from_std(listener) {
                    Ok(listener) => serve(listener, Rc::new(Server::new(config, directory, output)), received).await,
                    Err(error) => warn!("FlexRAN agents are not served: {error}"),
                }
            };
            LocalSet::new().block_on(&runtime, serve);
        })?;
        Ok(FlexRanCollector { address, commands: Some(commands), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks all UEs up in the directory again, after it has changed.
    pub fn resolve_again(&self) {
        if let Some(commands) = &self.commands {
            // fails only if the thread has ended, which is logged
            let _ = commands.send(Command::ResolveAgain);
        }
    }
}

impl Drop for FlexRanCollector {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }
}

struct Server {
    config: FlexRanConfig,
    output: Arc<dyn Output + Send + Sync>,
    state: RefCell<ServerState>,
}

struct ServerState {
    shared: Shared,
    /// Connections by host.
    hosts: HashMap<IpAddr, usize>,
    last_scope: Scope,
    refused: Faults,
    ended: Faults,
}

impl Server {
    fn new(config: FlexRanConfig, directory: Arc<Directory>, output: Arc<dyn Output + Send + Sync>) -> Self {
        let shared = Shared { ues: Ues::new(directory), cells: BTreeMap::new() };
        let (refused, ended) = (Faults::default(), Faults::default());
        let state = ServerState { shared, hosts: HashMap::new(), last_scope: 0, refused, ended };
        let server = Server { config, output, state: RefCell::new(state) };
        server.report(0);
        server
    }

    /// Writes the number of agents.
    fn report(&self, agents: usize) {
        self.output.update(&mut |state| state.sources.flexran_agents = Some(agents));
    }

    /// Admits a connection. Returns its number.
    fn admit(&self, host: IpAddr) -> Option<Scope> {
        let mut state = self.state.borrow_mut();
        let all: usize = state.hosts.values().sum();
        let of_host = state.hosts.get(&host).copied().unwrap_or(0);
        if all >= self.config.max_agents || of_host >= self.config.max_agents_per_host {
            if let Some(refused) = state.refused.count() {
                let FlexRanConfig { max_agents, max_agents_per_host, .. } = self.config;
                warn!(
                    refused,
                    "a FlexRAN agent of {host} is refused: {all} agents are connected and {of_host} of this host; \
                     {max_agents} and {max_agents_per_host} are allowed"
                );
            }
            return None;
        }
        *state.hosts.entry(host).or_default() += 1;
        state.last_scope += 1;
        self.report(all + 1);
        Some(state.last_scope)
    }

    /// A connection has ended.
    fn end(&self, host: IpAddr, agent: &mut Agent, error: &io::Error) {
        let state = &mut *self.state.borrow_mut();
        if let Some(count) = state.hosts.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                state.hosts.remove(&host);
            }
        }
        self.report(state.hosts.values().sum());
        agent.lose(&mut state.shared, &*self.output);
        if let Some(ended) = state.ended.count() {
            warn!(ended, "the connection of the FlexRAN agent of {host} (eNB {:#x}) has ended: {error}", agent.enb_id);
        }
    }
}

async fn serve(listener: TcpListener, server: Rc<Server>, mut commands: UnboundedReceiver<Command>) {
    let mut ticks = interval(Duration::from_millis(500));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    // a refused connection is closed by its drop
                    if let Some(scope) = server.admit(peer.ip()) {
                        tokio::task::spawn_local(connection(stream, peer, scope, Rc::clone(&server)));
                    }
                }
                Err(error) => {
                    warn!("a FlexRAN agent cannot be accepted: {error}; trying again in 1 s");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            },
            command = commands.recv() => match command {
                Some(Command::ResolveAgain) => server.state.borrow_mut().shared.ues.resolve_again(&*server.output),
                None => return,
            },
            _ = ticks.tick() => server.state.borrow_mut().shared.ues.expire(Moment::now(), &*server.output),
        }
    }
}

async fn connection(mut stream: TcpStream, peer: SocketAddr, scope: Scope, server: Rc<Server>) {
    let mut agent = Agent::new(scope);
    let Err(error) = converse(&mut stream, peer, &mut agent, &server).await;
    server.end(peer.ip(), &mut agent, &error);
}

fn broken(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

/// Exchanges messages until the connection ends, for the reason that is returned.
async fn converse(
    stream: &mut TcpStream,
    peer: SocketAddr,
    agent: &mut Agent,
    server: &Server,
) -> io::Result<std::convert::Infallible> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = stream.split();
    let mut xid = 0;
    let mut is_greeted = false;
    let mut refresh = interval(REFRESH_PERIOD);
    refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut frame = Frame::default();
    let mut heard = Instant::now();
    send(&mut writer, [Body::Hello(Hello::default())], &mut xid).await?;
    loop {
        let deadline = TokioInstant::from_std(heard + server.config.silence);
        tokio::select! {
            received = timeout_at(deadline, frame.read(&mut reader, server.config.max_message_octets)) => {
                let silent = |_| io::Error::new(io::ErrorKind::TimedOut, "it has sent no whole message in time");
                let octets = received.map_err(silent)??;
                let at = Moment::now();
                let message = Message::decode(&octets).map_err(|error| broken(error.to_string()))?;
                heard = Instant::now();
                match message.body {
                    Body::Hello(hello) => {
                        if message.direction == Direction::Initiating {
                            let reply = Message::reply(message.xid, Body::Hello(Hello::default()));
                            write(&mut writer, &reply.encode()).await?;
                        }
                        agent.read(Body::Hello(hello), at, &mut server.state.borrow_mut().shared, &*server.output);
                        if !is_greeted {
                            is_greeted = true;
                            info!("a FlexRAN agent has connected from {peer}");
                            let statistics = StatisticsRequest::periodical(server.config.period_ms, UE_STATISTICS);
                            let statistics = Body::StatisticsRequest(statistics);
                            let configurations =
                                [Body::EnbConfigRequest, Body::UeConfigRequest, Body::LogicalChannelRequest];
                            send(&mut writer, configurations.into_iter().chain([statistics]), &mut xid).await?;
                        }
                    }
                    _ if !is_greeted => return Err(broken("its first message is no hello")),
                    Body::EchoRequest(_) => {
                        let reply = Message::reply(message.xid, Body::EchoReply(Echo::default()));
                        write(&mut writer, &reply.encode()).await?;
                    }
                    Body::Disconnect => {
                        return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the agent has ended it"));
                    }
                    body => {
                        let has_changed = {
                            let state = &mut *server.state.borrow_mut();
                            agent.read(body, at, &mut state.shared, &*server.output)
                        };
                        if has_changed {
                            send(&mut writer, [Body::LogicalChannelRequest], &mut xid).await?;
                        }
                    }
                }
            }
            _ = refresh.tick(), if is_greeted => {
                let echo = Body::EchoRequest(Echo::default());
                send(&mut writer, [echo, Body::UeConfigRequest, Body::LogicalChannelRequest], &mut xid).await?;
            }
        }
    }
}

async fn send(
    writer: &mut (impl AsyncWriteExt + Unpin),
    requests: impl IntoIterator<Item = Body>,
    xid: &mut u32,
) -> io::Result<()> {
    for request in requests {
        *xid = xid.wrapping_add(1);
        write(writer, &Message::request(*xid, request).encode()).await?;
    }
    Ok(())
}

/// Writes a message behind its length. A peer that does not read is given up after a while.
async fn write(writer: &mut (impl AsyncWriteExt + Unpin), message: &[u8]) -> io::Result<()> {
    // requests have some dozens of octets
    let mut octets = (message.len() as u32).to_be_bytes().to_vec();
    octets.extend(message);
    let slow = |_| io::Error::new(io::ErrorKind::TimedOut, "it does not read");
    timeout(Duration::from_secs(5), writer.write_all(&octets)).await.map_err(slow)?
}

/// The part of a message that has arrived. A read that is given up loses nothing.
#[derive(Debug, Default)]
struct Frame {
    octets: Vec<u8>,
}

impl Frame {
    const PREFIX: usize = 4;

    /// Waits for a whole message. Memory is taken for octets that have arrived, not for those that are announced.
    async fn read(&mut self, reader: &mut (impl AsyncReadExt + Unpin), max: usize) -> io::Result<Vec<u8>> {
        loop {
            let mut wanted = Self::PREFIX;
            if let Some(prefix) = self.octets.first_chunk::<4>() {
                let length = u32::from_be_bytes(*prefix) as usize;
                if length > max {
                    return Err(broken(format!("it announces a message of {length} octets; {max} are allowed")));
                }
                wanted += length;
                if self.octets.len() >= wanted {
                    let message = self.octets[Self::PREFIX..].to_vec();
                    self.octets = Vec::new();
                    return Ok(message);
                }
            }
            let missing = (wanted - self.octets.len()) as u64;
            let received = (&mut *reader).take(missing).read_buf(&mut self.octets).await?;
            if received == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the agent has closed it"));
            }
        }
    }
}
