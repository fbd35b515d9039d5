//! The procedures with an agent, without sockets and clocks.

use std::fmt;
use std::time::Instant;

use flexran::{Body, Direction, Echo, Hello, Message, StatisticsRequest, WireError, ue_flags};

use super::agents::{Agent, State};
use super::{Limits, REFRESH_PERIOD};

/// What statistics contain of each UE.
const UE_STATISTICS: u32 =
    ue_flags::BSR | ue_flags::PHR | ue_flags::DL_CQI | ue_flags::MAC | ue_flags::PDCP | ue_flags::RRC_MEASUREMENTS;

/// Why an agent is disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A message is not one of the protocol.
    Malformed(WireError),
    /// The first message is no hello.
    NoHello,
    /// No hello came in time.
    LateHello,
    /// No whole message came in time, although an echo was requested.
    Silent,
    /// The rest of a message did not come in time.
    Unfinished,
    /// It has ended the connection.
    Disconnect,
    /// Another connection has taken the identity over.
    TakenOver,
    /// The agent of another host has the same identity.
    Duplicate,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Malformed(error) => return write!(f, "a message is malformed: {error}"),
            Fault::NoHello => "its first message is no hello",
            Fault::LateHello => "it has sent no hello in time",
            Fault::Silent => "it has sent nothing, and answers no echo request",
            Fault::Unfinished => "it has not sent the rest of a message in time",
            Fault::Disconnect => "the agent has ended it",
            Fault::TakenOver => "a new connection of its host has the same eNB id",
            Fault::Duplicate => "an agent of another host has the same eNB id",
        })
    }
}

/// What a message leads to, beyond requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing.
    None,
    /// The agent is known from now on.
    Greeted,
    /// The eNB and its cells are known.
    Configured,
}

/// The procedures with an agent.
#[derive(Debug)]
pub(super) struct Session {
    connection: u64,
    period_ms: u32,
    opened: Instant,
    /// When the last whole message came.
    heard: Instant,
    pub is_greeted: bool,
    is_asked: bool,
    refresh: Instant,
    xid: u32,
    /// Requests and replies to send.
    out: Vec<Vec<u8>>,
}

impl Session {
    /// Begins with a hello: some agents wait for it.
    pub fn open(connection: u64, period_ms: u32, now: Instant) -> Self {
        let mut session = Session {
            connection,
            period_ms,
            opened: now,
            heard: now,
            is_greeted: false,
            is_asked: false,
            refresh: now + REFRESH_PERIOD,
            xid: 0,
            out: Vec::new(),
        };
        session.request(Body::Hello(Hello::default()));
        session
    }

    fn request(&mut self, body: Body) {
        self.xid = self.xid.wrapping_add(1);
        self.out.push(Message::request(self.xid, body).encode());
    }

    /// Whether there are messages to send.
    pub fn has_messages(&self) -> bool {
        !self.out.is_empty()
    }

    /// The messages to send.
    pub fn take_messages(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.out)
    }

    /// Handles a message.
    pub fn receive(&mut self, octets: &[u8], now: Instant, peer: &str, state: &mut State) -> Result<Progress, Fault> {
        let message = Message::decode(octets).map_err(Fault::Malformed)?;
        (self.heard, self.is_asked) = (now, false);
        let connection = self.connection;
        match message.body {
            Body::Hello(hello) => {
                if message.direction == Direction::Initiating {
                    self.out.push(Message::reply(message.xid, Body::Hello(Hello::default())).encode());
                }
                state.counters.hellos += 1;
                let is_new = !std::mem::replace(&mut self.is_greeted, true);
                let agent = state
                    .agents
                    .entry(connection)
                    .or_insert_with(|| Agent { peer: peer.to_owned(), ..Agent::default() });
                agent.enb_id = hello.bs_id.or(agent.enb_id);
                if is_new {
                    self.request(Body::EnbConfigRequest);
                    self.request_ues();
                    let statistics = StatisticsRequest::periodical(self.period_ms, UE_STATISTICS);
                    self.request(Body::StatisticsRequest(statistics));
                }
                return Ok(Progress::Greeted);
            }
            _ if !self.is_greeted => return Err(Fault::NoHello),
            Body::EchoRequest(_) => {
                state.counters.echoes += 1;
                self.out.push(Message::reply(message.xid, Body::EchoReply(Echo::default())).encode());
            }
            Body::EnbConfig(config) => {
                state.configure(connection, &config);
                return Ok(Progress::Configured);
            }
            Body::UeConfigs(configs) => state.set_ues(connection, &configs.ues),
            Body::UeStateChange(change) => state.change_ue(connection, &change),
            Body::Statistics(statistics) => state.report(connection, &statistics),
            Body::Disconnect => return Err(Fault::Disconnect),
            _ => {}
        }
        Ok(Progress::None)
    }

    fn request_ues(&mut self) {
        self.request(Body::UeConfigRequest);
        self.request(Body::LogicalChannelRequest);
    }

    /// Time has passed.
    pub fn advance(&mut self, now: Instant, limits: &Limits) -> Result<(), Fault> {
        if !self.is_greeted {
            return match now.saturating_duration_since(self.opened) < limits.hello_timeout {
                true => Ok(()),
                false => Err(Fault::LateHello),
            };
        }
        let silent = now.saturating_duration_since(self.heard);
        if silent >= limits.silence {
            return Err(Fault::Silent);
        }
        if silent >= limits.echo_after && !self.is_asked {
            self.is_asked = true;
            self.request(Body::EchoRequest(Echo::default()));
        }
        if now >= self.refresh {
            self.refresh = now + REFRESH_PERIOD;
            self.request_ues();
        }
        Ok(())
    }
}
