//! A thread of the generator: its agents, their links, and its schedule.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use anyhow::Context;
use ferric::link::{Events, Interest, Link, Poll, Scratch, State};
use radio::Random;
use rustix::thread::set_current_timer_slack;

use super::node::Node;
use super::schedule::{Plan, Schedule, at_slot};
use super::{Command, FIRST_PROBE, GeneratorConfig, Totals, Window, WindowCounts};
use crate::clock::thread_cpu_ns;
use crate::northbound::Received;
use crate::southbound::{AgentEvent, Report};
use crate::statistics::count;
use crate::target::pin;

/// The token of the waker.
pub(super) const WAKE: u64 = u64::MAX;
/// Plans between two looks at the links.
const BATCH: usize = 64;
/// Octets read of a link before the others have their turn.
const READ_OCTETS: usize = 256 * 1024;
/// The pause before a lost agent connects again.
const RECONNECT_NS: u64 = 100_000_000;
/// A report that is late by more than this is not sent any more: the controller would get a load that was never planned, and a thread that
/// has more to do than it can would never come to the end of a window.
const MAX_LATE_NS: u64 = 5 * SECOND_NS;
const SECOND_NS: u64 = 1_000_000_000;

pub(super) struct Worker {
    config: GeneratorConfig,
    poll: Poll,
    commands: Receiver<Command>,
    totals: Arc<Totals>,
    nodes: Vec<Node>,
    schedule: Schedule,
    random: Random,
    /// When the load began: the first connection.
    begun_ns: Option<u64>,
    window: Option<Window>,
    counts: WindowCounts,
    /// What the controller has read of the window, where the protocol says so.
    confirmed: Received,
    next_second_ns: u64,
    /// When the turn of the present plan came.
    turn_ns: u64,
    cpu_at_begin_ns: u64,
    collector: Option<Sender<WindowCounts>>,
    probe: Option<Probe>,
    out: Vec<u8>,
    scratch: Scratch,
}

/// The agent that is set up again and again.
#[derive(Clone, Copy)]
struct Probe {
    every_ns: u64,
    until_ns: u64,
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

impl Worker {
    pub fn new(
        config: GeneratorConfig,
        number: u64,
        poll: Poll,
        commands: Receiver<Command>,
        totals: Arc<Totals>,
    ) -> Self {
        let random = Random::new(config.seed, number);
        Worker {
            config,
            poll,
            commands,
            totals,
            nodes: Vec::new(),
            schedule: Schedule::default(),
            random,
            begun_ns: None,
            window: None,
            counts: WindowCounts::default(),
            confirmed: Received::default(),
            next_second_ns: 0,
            turn_ns: 0,
            cpu_at_begin_ns: 0,
            collector: None,
            probe: None,
            out: Vec::new(),
            scratch: Scratch::new(),
        }
    }

    pub fn run(mut self) -> anyhow::Result<()> {
        pin(&self.config.cpus)?;
        // by default the kernel ends waits up to 50 us late, to end several at once
        set_current_timer_slack(NonZeroU64::new(1)).context("cannot set the timer slack of a thread")?;
        let mut events = Events::new();
        loop {
            if !self.take_commands() {
                return Ok(());
            }
            for _ in 0..BATCH {
                self.turn_ns = self.config.clock.now_ns();
                let Some((due_ns, node, plan)) = self.schedule.pop(self.turn_ns) else { break };
                self.execute(due_ns, node, plan);
            }
            self.answer_collector();
            let timeout = self.schedule.next_ns().map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(self.turn_ns)));
            self.poll.wait(&mut events, timeout).context("cannot wait for events")?;
            for event in events.iter() {
                if event.token != WAKE {
                    self.serve(event.token as usize, event.readable);
                }
            }
        }
    }

    /// Takes all orders. Returns whether there is still somebody who gives them.
    fn take_commands(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Connect(agents)) => {
                    for (number, due_ns) in agents {
                        let node = self.add(number);
                        self.schedule.add(due_ns, node, Plan::Connect);
                    }
                }
                Ok(Command::Keep(highest)) => {
                    for node in 0..self.nodes.len() {
                        if self.nodes[node].number > highest && self.nodes[node].number < FIRST_PROBE {
                            (self.nodes[node].returns, self.nodes[node].is_done) = (false, true);
                            self.close(node);
                        }
                    }
                }
                Ok(Command::Storm { at_ns, share }) => {
                    self.schedule.add(at_ns, 0, Plan::Storm((share.clamp(0.0, 1.0) * 1000.0) as u16));
                }
                Ok(Command::Duplicate { number, at_ns }) => {
                    let node = self.add(number);
                    self.nodes[node].returns = false;
                    self.schedule.add(at_ns, node, Plan::Connect);
                }
                Ok(Command::Probe { number, from_ns, every_ns, until_ns }) => {
                    let known = self.nodes.iter().position(|node| node.number == number);
                    let node = known.unwrap_or_else(|| self.add(number));
                    self.nodes[node].returns = false;
                    self.probe = Some(Probe { every_ns, until_ns });
                    self.schedule.add(from_ns, node, Plan::Probe);
                }
                Ok(Command::Count(window)) => {
                    self.window = Some(window);
                    self.counts = WindowCounts::default();
                    self.confirmed.begin(window);
                    self.schedule.add(window.from_ns, 0, Plan::WindowBegins);
                    self.schedule.add(window.until_ns, 0, Plan::WindowEnds);
                }
                Ok(Command::Collect(reply)) => self.collector = Some(reply),
                Ok(Command::Confirmed(reply)) => {
                    self.end_second(self.config.clock.now_ns());
                    let _ = reply.send(self.confirmed.take());
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Sends the counts when nothing of the window is left in the schedule.
    fn answer_collector(&mut self) {
        let is_over = self.window.is_none_or(|window| self.schedule.next_ns().is_none_or(|at| at > window.until_ns));
        if is_over && let Some(reply) = self.collector.take() {
            // nobody waits any more if the run was stopped
            let _ = reply.send(std::mem::take(&mut self.counts));
            self.window = None;
        }
    }

    fn add(&mut self, number: u32) -> usize {
        let mut agent = self.config.southbound.agent(number);
        // a new machine asks for its first connection, which the schedule has
        while agent.poll_event().is_some() {}
        self.nodes.push(Node::new(number, agent, self.config.ues));
        self.nodes.len() - 1
    }

    fn counts_of(&mut self, due_ns: u64) -> Option<&mut WindowCounts> {
        self.window.filter(|window| window.contains(due_ns)).map(|_| &mut self.counts)
    }

    fn execute(&mut self, due_ns: u64, node: usize, plan: Plan) {
        match plan {
            Plan::Report { slot, generation } => self.report_periodically(node, slot, generation, due_ns),
            Plan::Connect => self.connect(node, due_ns),
            Plan::Expire => {
                if self.nodes[node].expires_ns == Some(due_ns) {
                    self.nodes[node].expires_ns = None;
                    self.nodes[node].agent.expire(self.config.clock.now_ns());
                    self.drain(node);
                }
            }
            Plan::Arrival | Plan::Departure | Plan::Handover | Plan::On | Plan::Off => self.user(node, plan, due_ns),
            Plan::Storm(thousandths) => {
                for node in 0..self.nodes.len() {
                    let is_hit = self.random.uniform() * 1000.0 < f64::from(thousandths);
                    if is_hit && self.nodes[node].is_up && self.nodes[node].number < FIRST_PROBE {
                        self.close(node);
                    }
                }
            }
            Plan::WindowBegins => self.cpu_at_begin_ns = thread_cpu_ns(),
            Plan::WindowEnds => {
                self.counts.cpu_ns = thread_cpu_ns() - self.cpu_at_begin_ns;
                let seconds = self.window.map_or(f64::INFINITY, |window| {
                    // a late thread has worked longer
                    self.config.clock.now_ns().saturating_sub(window.from_ns) as f64 / 1e9
                });
                self.counts.cpu_share = self.counts.cpu_ns as f64 / 1e9 / seconds;
                // the reports since the last confirmations
                for node in 0..self.nodes.len() {
                    if self.nodes[node].unconfirmed.is_waiting() {
                        self.ask(node, false);
                    }
                }
            }
            Plan::Probe => {
                let Some(probe) = self.probe.filter(|probe| due_ns < probe.until_ns) else {
                    return self.close(node);
                };
                // a setup that is not over yet counts when it is
                if self.nodes[node].link.is_none() || self.nodes[node].is_up {
                    self.close(node);
                    self.connect(node, due_ns);
                }
                self.schedule.add(due_ns + probe.every_ns / 2, node, Plan::ProbeEnds);
                self.schedule.add(due_ns + probe.every_ns, node, Plan::Probe);
            }
            // the controller has the other half of the time to forget the probe, apart from its next setup
            Plan::ProbeEnds if self.nodes[node].is_up => self.close(node),
            Plan::ProbeEnds => {}
        }
    }

    fn connect(&mut self, node: usize, due_ns: u64) {
        if self.nodes[node].link.is_some() || self.nodes[node].is_done {
            return;
        }
        self.begun_ns.get_or_insert(due_ns);
        self.nodes[node].due_ns = due_ns;
        let Ok(link) = Link::connect(&self.config.address, &self.config.link) else {
            return self.lost(node);
        };
        if self.poll.add(&link, node as u64, Interest::READ_WRITE).is_err() {
            return self.lost(node);
        }
        self.nodes[node].wants_write = true;
        self.nodes[node].link = Some(link);
        self.serve(node, false);
    }

    /// A connection has failed or ended; the agent connects again after a pause.
    fn lost(&mut self, node: usize) {
        self.totals.lost.fetch_add(1, Relaxed);
        if self.nodes[node].returns {
            self.schedule.add(self.config.clock.now_ns() + RECONNECT_NS, node, Plan::Connect);
        }
    }

    /// Closes the connection of an agent. One that stays connects again at once.
    fn close(&mut self, node: usize) {
        let Some(link) = self.nodes[node].link.take() else { return };
        // it may be gone already
        let _ = self.poll.remove(&link);
        link.close();
        let now_ns = self.config.clock.now_ns();
        self.ended(node, now_ns);
        if self.nodes[node].returns {
            self.schedule.add(now_ns, node, Plan::Connect);
        }
    }

    /// Tells the machine that its connection has ended.
    fn ended(&mut self, node: usize, now_ns: u64) {
        let state = &mut self.nodes[node];
        state.link = None;
        if std::mem::take(&mut state.is_up) {
            self.totals.up.fetch_sub(1, Relaxed);
        }
        if std::mem::take(&mut state.is_open) {
            state.agent.close(now_ns);
        }
        state.unconfirmed.clear();
        self.events(node);
    }

    /// Reads and writes the link of an agent.
    fn serve(&mut self, node: usize, is_readable: bool) {
        let now_ns = self.config.clock.now_ns();
        let Some(state) = self.nodes.get_mut(node) else { return };
        let Some(link) = &mut state.link else { return };
        let mut result = link.finish_connect().map(drop);
        let is_established = link.state() == State::Established;
        if result.is_ok() && is_established && !state.is_open {
            state.is_open = true;
            state.agent.open(now_ns);
        }
        if result.is_ok() && is_readable && is_established {
            let agent = &mut state.agent;
            let sink = &mut |_, message: &[u8]| agent.receive(now_ns, message);
            result = link.receive(&mut self.scratch, READ_OCTETS, sink).map(drop);
        }
        if result.is_err() {
            self.drain(node);
            if let Some(link) = self.nodes[node].link.take() {
                // closing the socket removes it as well
                let _ = self.poll.remove(&link);
            }
            self.ended(node, now_ns);
            return self.lost(node);
        }
        self.drain(node);
    }

    /// Takes events and messages of an agent's machine, and writes what waits.
    fn drain(&mut self, node: usize) {
        if self.events(node) {
            return self.close(node);
        }
        self.transmit(node);
        self.flush(node);
        let state = &mut self.nodes[node];
        let expires_ns = state.agent.timeout_ns();
        if state.is_open && state.expires_ns != expires_ns {
            state.expires_ns = expires_ns;
            if let Some(at_ns) = expires_ns {
                self.schedule.add(at_ns, node, Plan::Expire);
            }
        }
    }

    /// Queues the messages of an agent's machine.
    fn transmit(&mut self, node: usize) {
        loop {
            self.out.clear();
            if !self.nodes[node].agent.poll_transmit(&mut self.out) {
                break;
            }
            self.nodes[node].queue(&self.out);
        }
    }

    /// Asks the controller to confirm the reports of an agent.
    fn ask(&mut self, node: usize, is_behind: bool) {
        let state = &mut self.nodes[node];
        if let Some(number) = state.agent.ask() {
            state.unconfirmed.requested(number, is_behind);
            self.transmit(node);
            self.flush(node);
        }
    }

    /// The controller has confirmed reports of an agent.
    fn confirm(&mut self, node: usize, number: u32) {
        let now_ns = self.config.clock.now_ns();
        self.end_second(now_ns);
        let Worker { nodes, confirmed, .. } = self;
        let agent = nodes[node].number;
        nodes[node].unconfirmed.answered(number, |due_ns, is_timed| match is_timed {
            true => confirmed.report(agent, None, due_ns, now_ns),
            false => confirmed.count_only(agent, due_ns),
        });
    }

    /// Closes a second of the course of what is confirmed, if it is over.
    fn end_second(&mut self, now_ns: u64) {
        if now_ns >= self.next_second_ns {
            self.confirmed.end_second(now_ns);
            self.next_second_ns = (now_ns / SECOND_NS + 1) * SECOND_NS;
        }
    }

    fn flush(&mut self, node: usize) {
        if let Some(link) = &mut self.nodes[node].link {
            // an error is reported by the poll as well, when what was received before it is read
            let _ = link.flush();
        }
        self.watch_writing(node);
    }

    /// Has the poll report when a link can be written on which something waits.
    fn watch_writing(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        let Some(link) = &state.link else { return };
        let wants_write = link.wants_write();
        if wants_write != state.wants_write {
            state.wants_write = wants_write;
            let interest = if wants_write { Interest::READ_WRITE } else { Interest::READ };
            // it fails for a socket that is gone, which the poll reports
            let _ = self.poll.modify(link, node as u64, interest);
        }
    }

    /// Takes the events of an agent's machine. Returns whether the connection must be closed.
    fn events(&mut self, node: usize) -> bool {
        let mut is_over = false;
        while let Some(event) = self.nodes[node].agent.poll_event() {
            match event {
                AgentEvent::Connect if self.nodes[node].returns => {
                    let now_ns = self.config.clock.now_ns();
                    self.schedule.add(now_ns, node, Plan::Connect);
                }
                // a probe connects when that is planned
                AgentEvent::Connect => {}
                AgentEvent::Up => self.set_up(node),
                AgentEvent::Close => is_over = true,
                AgentEvent::Refused => _ = self.totals.refused.fetch_add(1, Relaxed),
                AgentEvent::Fault => _ = self.totals.faults.fetch_add(1, Relaxed),
                AgentEvent::Controlled => _ = self.totals.controls.fetch_add(1, Relaxed),
                AgentEvent::Answered { number } => self.confirm(node, number),
                // a probe is measured until it is set up
                AgentEvent::Subscribed { .. } | AgentEvent::Unsubscribed { .. }
                    if self.nodes[node].number >= FIRST_PROBE => {}
                AgentEvent::Subscribed { slot, period_ns } => {
                    self.totals.period_ns.store(period_ns, Relaxed);
                    self.totals.subscribed.fetch_add(1, Relaxed);
                    let phase_ns = (self.random.uniform() * period_ns as f64) as u64;
                    let first_ns = at_slot(self.config.clock.now_ns() + phase_ns, self.config.slot_ns);
                    let state = self.nodes[node].slot(slot);
                    state.generation += 1;
                    (state.is_active, state.period_ns, state.number) = (true, period_ns, phase_ns);
                    let generation = state.generation;
                    self.schedule.add(first_ns, node, Plan::Report { slot, generation });
                }
                AgentEvent::Unsubscribed { slot } => {
                    self.totals.subscribed.fetch_sub(1, Relaxed);
                    self.nodes[node].slot(slot).is_active = false;
                }
            }
        }
        is_over
    }

    fn set_up(&mut self, node: usize) {
        let now_ns = self.config.clock.now_ns();
        let state = &mut self.nodes[node];
        let is_first = !std::mem::replace(&mut state.is_up, true);
        let (due_ns, is_probe) = (state.due_ns, state.number >= FIRST_PROBE);
        if is_first {
            self.totals.up.fetch_add(1, Relaxed);
            if let Some(counts) = self.counts_of(due_ns) {
                count(&mut counts.setups, now_ns.saturating_sub(due_ns));
            }
            if !is_probe {
                self.plan_users(node, now_ns);
            }
        }
    }

    fn report_periodically(&mut self, node: usize, slot: u16, generation: u32, due_ns: u64) {
        let state = *self.nodes[node].slot(slot);
        if !state.is_active || state.generation != generation {
            return;
        }
        self.schedule.add(due_ns + state.period_ns, node, Plan::Report { slot, generation });
        self.report(node, slot, due_ns);
    }

    fn report(&mut self, node: usize, slot: u16, due_ns: u64) {
        let late_ns = self.turn_ns.saturating_sub(due_ns);
        let time_stamp = self.config.clock.time_stamp(due_ns);
        let state = &mut self.nodes[node];
        let ues = state.active.min(state.users);
        let number = state.slot(slot).number;
        state.slot(slot).number = number.wrapping_add(1);
        self.out.clear();
        if !state.agent.write_report(Report { slot, time_stamp, number, ues }, &mut self.out) {
            return;
        }
        let is_late = late_ns > MAX_LATE_NS;
        let (is_queued, dropped) = if is_late { (false, 0) } else { state.report(&self.out) };
        let octets = self.out.len() as u64;
        if let Some(counts) = self.counts_of(due_ns) {
            counts.offered += 1;
            counts.sent += u64::from(is_queued);
            counts.dropped += dropped;
            counts.octets += octets;
            count(&mut counts.lateness, late_ns);
        }
        if is_queued && self.config.southbound.confirms_reports() {
            let since = self.nodes[node].unconfirmed.sent(due_ns);
            if since >= self.config.confirm_every {
                self.ask(node, true);
            }
        }
        self.watch_writing(node);
    }

    /// Plans the first arrival at an agent, and the departures and transmissions of the users that it has.
    fn plan_users(&mut self, node: usize, now_ns: u64) {
        let Some(users) = self.config.users.clone() else { return };
        if users.arrivals_per_s > 0.0 {
            let at_s = self.load_seconds(now_ns);
            let wait_s = users.arrival_s(at_s, &mut self.random);
            self.schedule.add(now_ns + ns(wait_s), node, Plan::Arrival);
        }
        for _ in 0..self.nodes[node].users {
            self.plan_user(node, now_ns);
        }
    }

    /// Plans how a user leaves an agent, and its transmissions.
    fn plan_user(&mut self, node: usize, now_ns: u64) {
        let Some(users) = &self.config.users else { return };
        if users.arrivals_per_s > 0.0 {
            let stay_s = users.holding_s(&mut self.random);
            let move_s = match users.handovers_per_s {
                rate if rate > 0.0 => self.random.exponential(1.0 / rate),
                _ => f64::INFINITY,
            };
            let plan = if move_s < stay_s { Plan::Handover } else { Plan::Departure };
            self.schedule.add(now_ns + ns(stay_s.min(move_s)), node, plan);
        }
        if let Some(transmissions) = users.transmissions {
            let on_s = self.random.exponential(transmissions.on_mean_s);
            self.schedule.add(now_ns + ns(on_s), node, Plan::Off);
        }
    }

    fn load_seconds(&self, now_ns: u64) -> f64 {
        now_ns.saturating_sub(self.begun_ns.unwrap_or(now_ns)) as f64 / 1e9
    }

    /// Something happens to a user; the agent reports it at once.
    fn user(&mut self, node: usize, plan: Plan, due_ns: u64) {
        let Some(users) = self.config.users.clone() else { return };
        if !self.nodes[node].is_up {
            return;
        }
        let state = &mut self.nodes[node];
        match plan {
            Plan::Arrival => {
                (state.users, state.active) = (state.users.saturating_add(1), state.active.saturating_add(1));
                let wait_s = users.arrival_s(self.load_seconds(due_ns), &mut self.random);
                self.schedule.add(due_ns + ns(wait_s), node, Plan::Arrival);
                self.plan_user(node, due_ns);
            }
            Plan::Departure | Plan::Handover => {
                state.users = state.users.saturating_sub(1);
                state.active = state.active.min(state.users);
                if plan == Plan::Handover {
                    let to = (node + 1) % self.nodes.len();
                    self.nodes[to].users = self.nodes[to].users.saturating_add(1);
                    self.nodes[to].active = self.nodes[to].active.saturating_add(1);
                    self.plan_user(to, due_ns);
                    self.report_event(to, due_ns);
                }
            }
            Plan::Off | Plan::On => {
                let Some(transmissions) = users.transmissions else { return };
                // a user that has left in between is not counted any more
                let (is_on, mean_s, next) = match plan {
                    Plan::Off => (false, transmissions.off_mean_s, Plan::On),
                    _ => (true, transmissions.on_mean_s, Plan::Off),
                };
                state.active = match is_on {
                    true => (state.active + 1).min(state.users),
                    false => state.active.saturating_sub(1),
                };
                let wait_s = self.random.exponential(mean_s);
                self.schedule.add(due_ns + ns(wait_s), node, next);
            }
            _ => return,
        }
        self.report_event(node, due_ns);
    }

    /// Reports for each subscription, outside its period.
    fn report_event(&mut self, node: usize, due_ns: u64) {
        let users = self.nodes[node].users;
        self.nodes[node].agent.set_users(users);
        self.transmit(node);
        for slot in 0..self.nodes[node].slots.len() {
            if self.nodes[node].slots[slot].is_active {
                self.report(node, slot as u16, due_ns);
            }
        }
    }
}
