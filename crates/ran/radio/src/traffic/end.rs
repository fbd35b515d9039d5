//! An end of a flow: what it sends of its own accord, what it answers, and its halves of TCP.

use super::path::{Path, Side};
use super::source::Source;
use super::specification::{FlowSpecification, Kind};
use super::tcp::{self, Handshake, Outgoing, Receiver, SYNCHRONIZE_OCTETS, Sender, TcpState};
use crate::{Acknowledgement, Content, Ecn, Packet, Random, Segment, Time};

/// An end.
#[derive(Clone, Debug)]
pub struct End {
    side: Side,
    source: Option<Source>,
    answer: Answer,
    connection: Option<Box<Connection>>,
    due: Time,
    is_stopped: bool,
}

/// What it sends when something comes that is no part of TCP.
#[derive(Clone, Copy, Debug)]
enum Answer {
    None,
    /// As much as came.
    Same,
    Octets(u32),
}

/// Both ends.
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
    /// The congestion notification of what is sent for the first time.
    ecn: Ecn,
}

impl End {
    pub fn new(side: Side, specification: &FlowSpecification, random: &mut Random) -> Self {
        let kind = &specification.kind;
        let sends = side.sends(specification.direction);
        // who echoes does so with what came; who answers sends the data, and the other end asks
        let (needs_scheduling_request, answer) = match kind {
            Kind::Echo { .. } | Kind::Voip { echoed: true } => (sends, Answer::Same),
            Kind::KeepAlive { answer_octets, .. } => (!sends, Answer::Octets(*answer_octets)),
            _ => (sends, Answer::None),
        };
        let mut chance = || Random::new(random.next_u64(), 0);
        let source = if needs_scheduling_request { Source::new(kind, specification.start, chance()) } else { None };
        let connection = kind.tcp().map(|tcp| {
            Box::new(Connection {
                handshake: Handshake::new(),
                sender: Sender::new(tcp, chance()),
                receiver: Receiver::new(tcp.delayed_ack_ms),
                ecn: if tcp.ecn { Ecn::Ect } else { Ecn::NotEct },
            })
        });
        let answer = if needs_scheduling_request { Answer::None } else { answer };
        let mut end = End { side, source, answer, connection, due: Time::NEVER, is_stopped: false };
        end.settle();
        end
    }

    pub fn tcp_state(&self) -> Option<TcpState> {
        self.connection.as_ref().map(|connection| connection.sender.state())
    }

    /// When it has something to do.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Does what is due.
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
        self.settle();
    }

    pub fn stop(&mut self) {
        self.is_stopped = true;
        self.source = None;
        if let Some(connection) = &mut self.connection {
            connection.handshake.stop();
            connection.sender.stop();
        }
        self.settle();
    }

    /// A packet comes that is no part of TCP.
    pub fn request(&mut self, now: Time, packet: &Packet, path: &mut Path) {
        let octets = match self.answer {
            _ if self.is_stopped => return,
            Answer::None => return,
            Answer::Same => packet.octets,
            Answer::Octets(octets) => octets,
        };
        let (newest, newest_sent) = (packet.number, packet.sent);
        let answer = Acknowledgement { newest, newest_sent, ..Acknowledgement::default() };
        path.send(self.side, now, octets, Ecn::NotEct, Content::Acknowledgement(answer));
    }

    /// The other end opens the connection, or answers.
    pub fn synchronize(&mut self, now: Time, packet: &Packet, answers: Option<Time>, path: &mut Path) {
        let connection = self.connection.as_mut().expect("only TCP opens connections");
        if self.is_stopped {
            return;
        }
        match answers {
            None => {
                connection.handshake.asked();
                let content = Content::Synchronize { answers: Some(packet.sent) };
                path.send(self.side, now, SYNCHRONIZE_OCTETS, Ecn::NotEct, content);
            }
            Some(sent) => {
                if let Some(opened) = connection.handshake.apply_harq_feedback() {
                    let rtt_ns = now.as_nanos().saturating_sub(sent.as_nanos());
                    connection.sender.opened(now, rtt_ns, opened);
                    connection.send(self.side, now, path);
                }
            }
        }
        self.settle();
    }

    /// A TCP segment comes.
    pub fn segment(&mut self, now: Time, packet: &Packet, segment: Segment, path: &mut Path) {
        let connection = self.connection.as_mut().expect("only TCP sends segments");
        connection.handshake.heard();
        if !connection.receiver.take(now, packet, segment) {
            path.count_duplicate(self.side);
        }
        if connection.receiver.due() <= now && !self.is_stopped {
            connection.acknowledge(self.side, now, path);
        }
        self.settle();
    }

    /// An acknowledgement comes, or a reply to a request.
    pub fn acknowledgement(&mut self, now: Time, told: &Acknowledgement, path: &mut Path) {
        let rtt_ns = match &mut self.connection {
            Some(_) if self.is_stopped => return,
            Some(connection) => {
                let rtt_ns = connection.sender.acknowledge(now, told);
                connection.send(self.side, now, path);
                self.settle();
                rtt_ns
            }
            None => now.as_nanos().saturating_sub(told.newest_sent.as_nanos()),
        };
        path.count_rtt(now, rtt_ns);
    }

    /// All TCP segments below this have come.
    pub fn received(&self) -> u64 {
        self.connection.as_ref().map_or(0, |connection| connection.receiver.cumulative())
    }

    /// The application writes: the number of the segment that follows what it has written.
    pub fn write(&mut self, now: Time, octets: u64, path: &mut Path) -> u64 {
        let connection = self.connection.as_mut().expect("only applications over TCP write");
        let end = connection.sender.write(octets);
        connection.send(self.side, now, path);
        self.settle();
        end
    }

    fn settle(&mut self) {
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

    /// Sends what may be sent, and first of all opens the connection.
    fn send(&mut self, side: Side, now: Time, path: &mut Path) {
        if !self.handshake.is_open() {
            if self.sender.has_data() && self.handshake.needs_scheduling_request(now) {
                path.send(side, now, SYNCHRONIZE_OCTETS, Ecn::NotEct, Content::Synchronize { answers: None });
            }
            return;
        }
        let ecn = self.ecn;
        self.sender.send(now, |Outgoing { segment, octets, is_retransmission }| {
            // what is sent again is not to be marked (RFC 3168 6.1.5)
            let ecn = if is_retransmission { Ecn::NotEct } else { ecn };
            path.send(side, now, octets + tcp::HEADERS_OCTETS, ecn, Content::Segment(segment));
        });
    }

    fn acknowledge(&mut self, side: Side, now: Time, path: &mut Path) {
        let (told, blocks) = self.receiver.acknowledge();
        let octets = tcp::acknowledgement_octets(blocks);
        path.send(side, now, octets, Ecn::NotEct, Content::Acknowledgement(told));
    }
}
