//! The ends of a flow: their UDP source, their replies, and their TCP sender and receiver.

use super::path::{Path, Side};
use super::source::Source;
use super::specification::{FlowSpecification, Kind};
use super::tcp::{self, Handshake, Outgoing, Receiver, SYN_OCTETS, Sender, TcpState};
use crate::{Acknowledgement, Content, Ecn, Packet, Random, Segment, Time};

/// An end of a flow.
#[derive(Clone, Debug)]
pub struct End {
    side: Side,
    source: Option<Source>,
    reply: Reply,
    connection: Option<Box<Connection>>,
    due: Time,
    is_stopped: bool,
}

/// The reply to a UDP packet.
#[derive(Clone, Copy, Debug)]
enum Reply {
    None,
    /// A packet of the same size.
    Echo,
    Octets(u32),
}

/// Both ends of a flow.
#[derive(Clone, Debug)]
pub struct Ends {
    pub server: End,
    pub ue: End,
}

impl Ends {
    pub fn of(&mut self, side: Side) -> &mut End {
        match side {
            Side::Server => &mut self.server,
            Side::Ue => &mut self.ue,
        }
    }
}

/// An end of a TCP connection.
#[derive(Clone, Debug)]
struct Connection {
    handshake: Handshake,
    sender: Sender,
    receiver: Receiver,
    /// The ECN field of segments that are not retransmissions.
    ecn: Ecn,
}

impl End {
    pub fn new(side: Side, specification: &FlowSpecification, random: &mut Random) -> Self {
        let kind = &specification.kind;
        let sends = side.sends(specification.direction);
        // with echoes, the sender of the data starts; with keep-alives, the receiver of the data does
        let (is_initiator, reply) = match kind {
            Kind::Echo { .. } | Kind::Voip { echoed: true } => (sends, Reply::Echo),
            Kind::KeepAlive { answer_octets, .. } => (!sends, Reply::Octets(*answer_octets)),
            _ => (sends, Reply::None),
        };
        let mut new_random = || Random::new(random.next_u64(), 0);
        let source = if is_initiator { Source::new(kind, specification.start, new_random()) } else { None };
        let connection = kind.tcp().map(|tcp| {
            Box::new(Connection {
                handshake: Handshake::new(),
                sender: Sender::new(tcp, new_random()),
                receiver: Receiver::new(tcp.delayed_ack_ms),
                ecn: if tcp.ecn { Ecn::Ect } else { Ecn::NotEct },
            })
        });
        let reply = if is_initiator { Reply::None } else { reply };
        let mut end = End { side, source, reply, connection, due: Time::NEVER, is_stopped: false };
        end.update_due();
        end
    }

    pub fn tcp_state(&self) -> Option<TcpState> {
        self.connection.as_ref().map(|connection| connection.sender.state())
    }

    /// When the end next has work to do.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Performs the actions that are due.
    pub fn act(&mut self, now: Time, path: &mut Path) {
        if let Some(source) = self.source.as_mut().filter(|source| source.next() <= now) {
            let octets = source.send();
            path.send(self.side, now, octets, Ecn::NotEct, Content::Filler);
        }
        if let Some(connection) = &mut self.connection {
            if connection.sending_due() <= now {
                connection.sender.expire(now);
                connection.send(self.side, now, path);
            }
            if connection.receiver.due() <= now {
                connection.acknowledge(self.side, now, path);
            }
        }
        self.update_due();
    }

    pub fn stop(&mut self) {
        self.is_stopped = true;
        self.source = None;
        if let Some(connection) = &mut self.connection {
            connection.handshake.stop();
            connection.sender.stop();
        }
        self.update_due();
    }

    /// Processes a UDP packet: sends the reply, if there is one.
    pub fn on_request(&mut self, now: Time, packet: &Packet, path: &mut Path) {
        let octets = match self.reply {
            _ if self.is_stopped => return,
            Reply::None => return,
            Reply::Echo => packet.octets,
            Reply::Octets(octets) => octets,
        };
        let (newest, newest_sent) = (packet.number, packet.sent);
        let answer = Acknowledgement { newest, newest_sent, ..Acknowledgement::default() };
        path.send(self.side, now, octets, Ecn::NotEct, Content::Acknowledgement(answer));
    }

    /// Processes a SYN, or a SYN-ACK, which carries `syn_sent`.
    pub fn on_syn(&mut self, now: Time, packet: &Packet, syn_sent: Option<Time>, path: &mut Path) {
        let connection = self.connection.as_mut().expect("only TCP flows have SYNs");
        if self.is_stopped {
            return;
        }
        match syn_sent {
            None => {
                connection.handshake.on_syn();
                let content = Content::Syn { syn_sent: Some(packet.sent) };
                path.send(self.side, now, SYN_OCTETS, Ecn::NotEct, content);
            }
            Some(sent) => {
                if let Some(established) = connection.handshake.on_syn_ack() {
                    let rtt_ns = now.as_nanos().saturating_sub(sent.as_nanos());
                    connection.sender.on_established(now, rtt_ns, established);
                    connection.send(self.side, now, path);
                }
            }
        }
        self.update_due();
    }

    /// Processes a TCP segment.
    pub fn on_segment(&mut self, now: Time, packet: &Packet, segment: Segment, path: &mut Path) {
        let connection = self.connection.as_mut().expect("only TCP flows have segments");
        connection.handshake.on_data();
        if !connection.receiver.receive(now, packet, segment) {
            path.count_duplicate(self.side);
        }
        if connection.receiver.due() <= now && !self.is_stopped {
            connection.acknowledge(self.side, now, path);
        }
        self.update_due();
    }

    /// Processes a TCP acknowledgement, or the reply to a UDP packet.
    pub fn on_acknowledgement(&mut self, now: Time, ack: &Acknowledgement, path: &mut Path) {
        let rtt_ns = match &mut self.connection {
            Some(_) if self.is_stopped => return,
            Some(connection) => {
                let rtt_ns = connection.sender.on_acknowledgement(now, ack);
                connection.send(self.side, now, path);
                self.update_due();
                rtt_ns
            }
            None => now.as_nanos().saturating_sub(ack.newest_sent.as_nanos()),
        };
        path.count_rtt(now, rtt_ns);
    }

    /// All TCP segments below this number have been received.
    pub fn received(&self) -> u64 {
        self.connection.as_ref().map_or(0, |connection| connection.receiver.cumulative())
    }

    /// Writes data of the application. Returns the number of the segment that follows the data.
    pub fn write(&mut self, now: Time, octets: u64, path: &mut Path) -> u64 {
        let connection = self.connection.as_mut().expect("only TCP flows have applications");
        let end = connection.sender.write(octets);
        connection.send(self.side, now, path);
        self.update_due();
        end
    }

    /// Recomputes when the next action is due.
    fn update_due(&mut self) {
        if self.is_stopped {
            self.due = Time::NEVER;
            return;
        }
        let source = self.source.as_ref().map_or(Time::NEVER, Source::next);
        let tcp = |connection: &Connection| connection.sending_due().min(connection.receiver.due());
        self.due = source.min(self.connection.as_deref().map_or(Time::NEVER, tcp));
    }
}

impl Connection {
    fn sending_due(&self) -> Time {
        self.handshake.due().min(self.sender.due())
    }

    /// Opens the connection if necessary, and sends the segments that may be sent.
    fn send(&mut self, side: Side, now: Time, path: &mut Path) {
        if !self.handshake.is_established() {
            if self.sender.has_data() && self.handshake.poll_syn(now) {
                path.send(side, now, SYN_OCTETS, Ecn::NotEct, Content::Syn { syn_sent: None });
            }
            return;
        }
        let ecn = self.ecn;
        self.sender.send(now, |Outgoing { segment, octets, is_retransmission }| {
            // retransmissions are not ECN-capable (RFC 3168 6.1.5)
            let ecn = if is_retransmission { Ecn::NotEct } else { ecn };
            path.send(side, now, octets + tcp::HEADERS_OCTETS, ecn, Content::Segment(segment));
        });
    }

    fn acknowledge(&mut self, side: Side, now: Time, path: &mut Path) {
        let (ack, blocks) = self.receiver.acknowledge();
        let octets = tcp::acknowledgement_octets(blocks);
        path.send(side, now, octets, Ecn::NotEct, Content::Acknowledgement(ack));
    }
}
