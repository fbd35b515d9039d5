//! Faults in the simulation.

use core::time::Duration;
use std::collections::BTreeMap;

use e2::CloseReason;
use e2ap::Version;

use super::super::mutate::mutate;
use super::parties::{AppState, Clock, Connection, Node};
use super::{AGENTS, Simulation};

/// The time after which keep-alives detect a dead peer.
pub const KEEP_ALIVE: Duration = Duration::from_secs(12);

/// A kind of fault. In addition, links have independent delays: PDUs of different links are reordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// PDUs in transit are delayed by seconds, longer than the response timeout.
    Delay,
    /// A link breaks; PDUs in transit are lost, and both ends notice.
    Cut,
    /// A link breaks, and only one end notices before the keep-alive timeout of the other.
    HalfOpen,
    /// No PDU and no connection gets through between a node and the RIC, for two to thirty seconds.
    Partition,
    /// A PDU arrives twice.
    Repetition,
    /// Two PDUs of a link change places.
    Reordering,
    /// A PDU arrives over another link.
    Misdirection,
    /// A PDU arrives with changed octets, or truncated.
    Tampering,
    /// A PDU arrives with a changed value, item or IE, well-formed.
    Mutation,
    /// A PDU arrives that no peer sent.
    Injection,
    /// A node restarts without state; the RIC may not notice.
    NodeRestart,
    /// An xApp disconnects without notice and reconnects later.
    XappRestart,
    /// The RIC restarts without state. It is down for seconds; not all nodes notice.
    RicRestart,
    /// A host's clock jumps, forward or back.
    ClockJump,
    /// An xApp does not read for seconds: reports are dropped, and an xApp with too many other messages is closed.
    SlowReader,
}

impl Fault {
    /// The faults of unreliable networks and hosts.
    pub const BENIGN: [Fault; 9] = [
        Fault::Delay,
        Fault::Cut,
        Fault::HalfOpen,
        Fault::Partition,
        Fault::NodeRestart,
        Fault::XappRestart,
        Fault::RicRestart,
        Fault::ClockJump,
        Fault::SlowReader,
    ];
    /// The faults of hostile peers and networks.
    pub const HOSTILE: [Fault; 6] = [
        Fault::Repetition,
        Fault::Reordering,
        Fault::Misdirection,
        Fault::Tampering,
        Fault::Mutation,
        Fault::Injection,
    ];
}

/// Counts faults and events, to check that they occur.
#[derive(Default)]
pub struct Tally {
    pub faults: BTreeMap<Fault, u64>,
    pub events: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub fn count(&mut self, what: &'static str) {
        *self.events.entry(what).or_default() += 1;
    }

    pub fn add(&mut self, other: &Tally) {
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        for (what, count) in &other.events {
            *self.events.entry(what).or_default() += count;
        }
    }
}

impl Simulation {
    /// Injects a random fault, if possible.
    pub fn fault(&mut self) {
        let kinds = if self.hostile && self.random.once_in(2) { &Fault::HOSTILE[..] } else { &Fault::BENIGN };
        let fault = *self.random.pick(kinds);
        // it leaves little state for other faults
        if fault == Fault::RicRestart && !self.random.once_in(4) {
            return;
        }
        self.inject(fault);
    }

    fn inject(&mut self, fault: Fault) {
        let happened = match fault {
            Fault::Delay => self.delay_queue(),
            Fault::Cut | Fault::HalfOpen => self.break_connection(fault == Fault::Cut),
            Fault::Partition => self.partition_network(),
            Fault::Repetition | Fault::Reordering | Fault::Misdirection | Fault::Tampering | Fault::Mutation => {
                self.corrupt_pdu(fault)
            }
            Fault::Injection => self.inject_pdu(),
            Fault::NodeRestart => self.restart_node(),
            Fault::XappRestart => self.restart_xapp(),
            Fault::RicRestart => self.restart_ric(),
            Fault::ClockJump => self.jump_clock(),
            Fault::SlowReader => self.stop_reading(),
        };
        if happened {
            *self.tally.faults.entry(fault).or_default() += 1;
            self.log(|| format!("fault: {fault:?}"));
        }
    }

    fn some_ms(&mut self, choices: &[u64]) -> Duration {
        Duration::from_millis(*self.random.pick(choices))
    }

    fn delay_queue(&mut self) -> bool {
        let Some((at, up)) = self.pick_queue(|queue, _| !queue.pdus.is_empty()) else { return false };
        let until = self.now + self.some_ms(&[200, 1000, 3000, 5500, 9000]);
        self.connections[at].queue(up).delay_until(until);
        true
    }

    /// Breaks an association: both ends notice, or one.
    fn break_connection(&mut self, both: bool) -> bool {
        let Some(at) = self.pick_connection() else { return false };
        let agent_learns = self.random.once_in(2);
        if both || agent_learns {
            self.close_at_agent(at);
        }
        if both || !agent_learns {
            self.close_at_ric(at);
        }
        true
    }

    fn partition_network(&mut self) -> bool {
        let span = self.some_ms(&[2000, 7000, 15_000, 30_000]);
        let (at, until) = (self.random.below(AGENTS), self.now + span);
        self.nodes[at].cut_off_until = until;
        let Some(connection) = self.nodes[at].connection else { return false };
        let connection = &mut self.connections[connection];
        connection.up.delay_until(until);
        connection.down.delay_until(until);
        if span > KEEP_ALIVE {
            connection.noticed_at.get_or_insert(self.now + KEEP_ALIVE);
        }
        true
    }

    /// Repeats, reorders, misdirects or changes a PDU in transit.
    fn corrupt_pdu(&mut self, fault: Fault) -> bool {
        let several = if fault == Fault::Reordering { 2 } else { 1 };
        let queue = self.pick_queue(|queue, _| queue.pdus.len() >= several);
        let (Some((at, up)), Some(to)) = (queue, self.pick_connection()) else { return false };
        let len = self.connections[at].queue(up).pdus.len();
        let (one, other) = (self.random.below(len), self.random.below(len));
        let pdus = &mut self.connections[at].queue(up).pdus;
        match fault {
            Fault::Repetition => pdus.push_back(pdus[one].clone()),
            Fault::Reordering => {
                pdus.swap(one, other);
                return one != other;
            }
            Fault::Misdirection => {
                let pdu = pdus[one].clone();
                let up = up != self.random.once_in(10);
                let is_open = if up { self.connections[to].ric_open } else { self.connections[to].agent_open };
                if !is_open || to == at {
                    return false;
                }
                self.connections[to].queue(up).pdus.push_back(pdu);
            }
            _ => {
                let mut changed = pdus[one].clone();
                if fault == Fault::Mutation {
                    let version = *self.random.pick(&Version::ALL);
                    mutate(&mut changed, version, &mut self.random);
                } else {
                    self.tamper(&mut changed);
                }
                let pdus = &mut self.connections[at].queue(up).pdus;
                let same = pdus[one] == changed;
                // the original is lost, or follows
                match self.random.once_in(2) {
                    true => pdus[one] = changed,
                    false => pdus.insert(one, changed),
                }
                return !same;
            }
        }
        true
    }

    fn tamper(&mut self, pdu: &mut Vec<u8>) {
        for _ in 0..1 + self.random.below(3) {
            if pdu.is_empty() {
                break;
            }
            let at = self.random.below(pdu.len());
            match self.random.below(3) {
                0 => pdu[at] ^= 1 << self.random.below(8),
                1 => pdu.truncate(at),
                _ => pdu[at] = self.random.next() as u8,
            }
        }
    }

    fn inject_pdu(&mut self) -> bool {
        let Some(to) = self.pick_connection() else { return false };
        let mut pdu: Vec<u8> = (0..self.random.below(40)).map(|_| self.random.next() as u8).collect();
        if let Some(head) = pdu.first_chunk_mut::<2>().filter(|_| self.random.once_in(2)) {
            // an existing procedure
            *head = [*self.random.pick(&[0x00, 0x20, 0x40]), self.random.below(16) as u8];
        }
        let up = self.random.once_in(2);
        self.connections[to].queue(up).pdus.push_back(pdu);
        true
    }

    fn restart_node(&mut self) -> bool {
        let at = self.random.below(AGENTS);
        if let Some(connection) = self.nodes[at].connection {
            self.drop_agent_end(connection);
        }
        let was = &self.nodes[at];
        let (clock, cut_off_until) = (was.clock, was.cut_off_until);
        self.nodes[at] = Node { clock, cut_off_until, ..Node::new(was.number, was.version) };
        true
    }

    fn restart_xapp(&mut self) -> bool {
        let at = self.random.below(self.xapps.len());
        let Some(xapp) = self.xapps[at].take() else { return false };
        self.host.handle_close(self.ric_now(), xapp.assoc, &mut self.controller);
        true
    }

    fn restart_ric(&mut self) -> bool {
        self.ric_down_until = self.now + self.some_ms(&[0, 800, 4000, 12_000]);
        self.start_ric();
        self.xapps.fill_with(|| None);
        self.iapp = AppState::default();
        for at in 0..self.connections.len() {
            if !std::mem::take(&mut self.connections[at].ric_open) {
                continue;
            }
            self.connections[at].up.pdus.clear();
            self.connections[at].noticed_at.get_or_insert(self.now + KEEP_ALIVE);
            if !self.random.once_in(3) {
                self.close_at_agent(at);
            }
        }
        true
    }

    fn jump_clock(&mut self) -> bool {
        // backward jumps are small: otherwise all timers outlast the run
        let forward = !self.random.once_in(3);
        let span = if forward { self.some_ms(&[900, 6000, 40_000]) } else { self.some_ms(&[30, 700, 2500]) };
        let which = self.random.below(AGENTS + 1);
        let clock: &mut Clock = match self.nodes.get_mut(which) {
            Some(node) => &mut node.clock,
            None => &mut self.ric_clock,
        };
        clock.jump(forward, span);
        true
    }

    fn stop_reading(&mut self) -> bool {
        let (at, span) = (self.random.below(self.xapps.len()), self.some_ms(&[1000, 5000, 20_000]));
        let Some(xapp) = &mut self.xapps[at] else { return false };
        xapp.reads_at = self.now + span;
        true
    }

    /// Ends all faults. Hostile runs recover by new associations, other runs without help.
    pub fn end_faults(&mut self) {
        for node in &mut self.nodes {
            node.cut_off_until = self.now;
        }
        for connection in &mut self.connections {
            (connection.up.delayed_until, connection.down.delayed_until) = (self.now, self.now);
        }
        for xapp in self.xapps.iter_mut().flatten() {
            xapp.reads_at = self.now;
        }
        self.ric_down_until = self.now;
        if self.hostile {
            for at in 0..self.connections.len() {
                self.connections[at].up.pdus.clear();
                self.close_at_agent(at);
                self.close_at_ric(at);
            }
        }
    }

    /// Picks a connection that is open at one end or both.
    fn pick_connection(&mut self) -> Option<usize> {
        let is_open = |(_, connection): &(usize, &Connection)| connection.agent_open || connection.ric_open;
        let open: Vec<usize> = self.connections.iter().enumerate().filter(is_open).map(|(at, _)| at).collect();
        (!open.is_empty()).then(|| *self.random.pick(&open))
    }

    pub fn close_at_agent(&mut self, at: usize) {
        self.drop_agent_end(at);
        if let Some(node) = self.nodes.iter_mut().find(|n| n.connection == Some(at)) {
            node.connection = None;
            node.agent.handle_close(node.clock.at(self.now), CloseReason::Transport);
        }
    }

    /// Drops the agent's end of a connection.
    pub fn drop_agent_end(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        connection.agent_open = false;
        connection.down.pdus.clear();
        if connection.ric_open {
            connection.noticed_at.get_or_insert(self.now + KEEP_ALIVE);
        }
    }

    pub fn close_at_ric(&mut self, at: usize) {
        let now = self.ric_now();
        let connection = &mut self.connections[at];
        if connection.ric_open {
            connection.ric_open = false;
            connection.up.pdus.clear();
            if connection.agent_open {
                connection.noticed_at.get_or_insert(self.now + KEEP_ALIVE);
            }
            self.controller.handle_close(now, connection.assoc, CloseReason::Transport);
        }
    }

    /// Closes links whose keep-alives have expired.
    pub fn keep_alive(&mut self) {
        for at in 0..self.connections.len() {
            let connection = &mut self.connections[at];
            if connection.noticed_at.is_none_or(|noticed| noticed > self.now) {
                continue;
            }
            connection.noticed_at = None;
            if connection.agent_open || connection.ric_open {
                self.tally.count("keep-alives closed a link");
                self.close_at_agent(at);
                self.close_at_ric(at);
                self.connections[at].noticed_at = None;
            }
        }
    }
}
