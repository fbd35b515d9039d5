//! Where UEs go: handovers between the cells of the RAN, told, begun by themselves, and held; and their RRC states.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use e2sm::common::Cgi;
use e2sm::rc::dictionary::{HANDOVER_PREPARATION, node_change};
use e2sm::rc::{ControlAction, Handover, RrcState};
use e2sm::rrc::{self, Notification};
use ferric::agent::Ue;
use functions::rc::{Event, Procedure};
use functions::rrc::RrcSource;

use crate::RanConfig;
use crate::model;
use crate::node::{Node, cell_of};

/// UEs on their way to a node: more are refused.
const MAX_ON_THE_WAY: usize = 64;
/// UEs that ever come to a node: more are refused, since each keeps its number and its counters.
const MAX_ARRIVALS: usize = 3072;
/// Events that wait to be told: more are forgotten, since RRC states will be told again.
const MAX_EVENTS: usize = 1024;
/// Comings and goings that wait to be told: more are forgotten, the oldest first.
const MAX_NEWS: usize = 256;
/// A UE that was neither sent nor has sent anything for so long is `RRC_INACTIVE`, in seconds.
pub const INACTIVE_S: f64 = 2.0;

/// What lies between the cells: UEs on their way.
#[derive(Debug, Default)]
pub struct Air {
    /// By the number of the node where they are to arrive.
    arrivals: Vec<Arrivals>,
}

/// A message from neighbour to neighbour.
#[derive(Debug)]
pub struct Letter {
    /// The node that sent it.
    pub from: u16,
    /// The UE that it is about, as the node calls it that gets it.
    pub ue: Option<Ue>,
    /// The PDU of XnAP.
    pub octets: Vec<u8>,
}

/// What goes to a node.
#[derive(Debug, Default)]
struct Arrivals {
    letters: VecDeque<Letter>,
    /// Each with the number of the node that it comes from, and what that one called it.
    on_the_way: VecDeque<(u16, Ue, model::Ue)>,
    /// How many have come, or are to.
    all: usize,
}

impl Air {
    pub fn new(nodes: u16) -> Self {
        Air { arrivals: (0..nodes).map(|_| Arrivals::default()).collect() }
    }

    /// The number of the node with that cell.
    fn node_of(&self, cell: &Cgi) -> Option<u16> {
        (0..self.nodes()).find(|number| cell_of(*number) == *cell)
    }

    fn nodes(&self) -> u16 {
        self.arrivals.len() as u16 // made from a u16
    }
}

/// Messages on their way to a node: more get lost.
const MAX_LETTERS: usize = 256;

/// Why a UE does not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    NoSuchUe,
    NoSuchCell,
    IsThere,
    NoRoom,
}

impl Stays {
    pub fn why(self) -> &'static str {
        match self {
            Stays::NoSuchUe => "the UE has left",
            Stays::NoSuchCell => "there is no such cell in this RAN",
            Stays::IsThere => "the UE is in that cell",
            Stays::NoRoom => "too many UEs have gone to that cell",
        }
    }
}

/// What a node knows of its UEs' coming and going.
#[derive(Debug)]
pub struct Mobility {
    number: u16,
    air: Rc<RefCell<Air>>,
    /// Steps from one handover of its own to the next.
    period_steps: Option<u64>,
    /// Handovers that wait for a word.
    waiting: BTreeMap<Procedure, (Ue, Cgi)>,
    last_procedure: u64,
    events: VecDeque<Event>,
    news: VecDeque<(Ue, Notification<'static>)>,
    is_watched: bool,
    /// UEs that have come: from which node, and what that one called them.
    came_as: BTreeMap<Ue, (u16, Ue)>,
    /// By place in the cell: steps without traffic, and whether that was told.
    quiet: Vec<(u64, bool)>,
}

impl Mobility {
    pub fn new(number: u16, config: &RanConfig, air: Rc<RefCell<Air>>) -> Self {
        let per_minute = u64::from(config.handovers_per_minute);
        let period_steps = (60_000 / u64::from(config.step_ms)).checked_div(per_minute).map(|steps| steps.max(1));
        Mobility {
            number,
            air,
            period_steps,
            waiting: BTreeMap::new(),
            last_procedure: 0,
            events: VecDeque::new(),
            news: VecDeque::new(),
            is_watched: false,
            came_as: BTreeMap::new(),
            quiet: Vec::new(),
        }
    }

    /// The node's number in the RAN.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The other nodes, the next one first.
    pub fn others(&self) -> impl Iterator<Item = u16> + use<> {
        let (number, nodes) = (self.number, self.air.borrow().nodes());
        (1..nodes).map(move |further| (number + further) % nodes)
    }

    /// Their cells.
    pub fn other_cells(&self) -> impl Iterator<Item = Cgi> + use<> {
        self.others().map(cell_of)
    }

    /// What a UE was called by the node that it came from, if that is the one.
    pub fn came_as(&self, ue: Ue, node: u16) -> Option<Ue> {
        self.came_as.get(&ue).filter(|(from, _)| *from == node).map(|(_, ue)| *ue)
    }

    /// A message goes to another node.
    pub fn send(&self, node: u16, letter: Letter) {
        let mut air = self.air.borrow_mut();
        if let Some(arrivals) = air.arrivals.get_mut(usize::from(node))
            && arrivals.letters.len() < MAX_LETTERS
        {
            arrivals.letters.push_back(letter);
        }
    }

    /// A message is copied, where somebody watches.
    pub fn tell_message(&mut self, message: Event) {
        if self.is_watched {
            self.tell(message);
        }
    }

    /// Whether something happens by itself, or has and is not told yet.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether somebody has to look now and then for something to happen.
    pub fn is_busy(&self) -> bool {
        self.is_watched || self.period_steps.is_some() && self.air.borrow().nodes() > 1
    }

    pub fn watched(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
        self.quiet.clear();
        self.events.retain(|event| matches!(event, Event::Breakpoint { .. }));
    }

    /// A handover that waited.
    pub fn take(&mut self, procedure: Procedure) -> Option<(Ue, Cgi)> {
        self.waiting.remove(&procedure)
    }

    /// Whether UEs have come or gone since that was told.
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    pub fn take_news(&mut self) -> impl Iterator<Item = (Ue, Notification<'static>)> + '_ {
        self.news.drain(..)
    }

    fn remember(&mut self, ue: Ue, notification: Notification<'static>) {
        if self.news.len() >= MAX_NEWS {
            self.news.pop_front();
        }
        self.news.push_back((ue, notification));
    }

    /// The cell is configured otherwise.
    pub fn cell_changed(&mut self) {
        if self.is_watched {
            let change = node_change::CELL_CONFIGURATION;
            self.tell(Event::CellChanged { cell: cell_of(self.number), change });
        }
    }

    /// Tells of an event, where there is room.
    fn tell(&mut self, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push_back(event);
        }
    }
}

impl Node {
    /// Takes in the UEs and the messages that have come.
    pub fn take_arrivals(&mut self) {
        let (arrived, letters) = {
            let mut air = self.mobility.air.borrow_mut();
            let Some(arrivals) = air.arrivals.get_mut(usize::from(self.mobility.number)) else { return };
            (std::mem::take(&mut arrivals.on_the_way), std::mem::take(&mut arrivals.letters))
        };
        for letter in letters {
            self.hears(letter);
        }
        for (from, source_ue, arrived) in arrived {
            self.cell.arrive(arrived);
            let ue = Ue(self.cell.ues().len() as u64 - 1);
            self.mobility.came_as.insert(ue, (from, source_ue));
            let notification = Notification { event: rrc::Event::HandedOver(cell_of(from)), ..self.present(ue) };
            self.mobility.remember(ue, notification);
            self.tell_source(from, source_ue, ue);
        }
    }

    /// A UE goes to another cell of the RAN.
    pub fn hand_over(&mut self, ue: Ue, target: &Cgi) -> Result<(), Stays> {
        let at = usize::try_from(ue.0).map_err(|_| Stays::NoSuchUe)?;
        let air = Rc::clone(&self.mobility.air);
        let mut air = air.borrow_mut();
        let number = air.node_of(target).ok_or(Stays::NoSuchCell)?;
        if number == self.mobility.number {
            return Err(Stays::IsThere);
        }
        let arrivals = &mut air.arrivals[usize::from(number)];
        if arrivals.on_the_way.len() >= MAX_ON_THE_WAY || arrivals.all >= MAX_ARRIVALS {
            return Err(Stays::NoRoom);
        }
        if self.cell.ue(at).is_none() {
            return Err(Stays::NoSuchUe);
        }
        let notification = Notification { event: rrc::Event::Detached, ..self.present(ue) };
        arrivals.on_the_way.extend(self.cell.leave(at).map(|left| (self.mobility.number, ue, left)));
        arrivals.all += 1;
        self.mobility.remember(ue, notification);
        Ok(())
    }

    /// What happens by itself: handovers begin, UEs fall silent and speak again.
    pub fn after_step(&mut self) {
        let is_due = self.mobility.period_steps.is_some_and(|period| self.cell.steps().is_multiple_of(period));
        if is_due && let Some(target) = self.mobility.other_cells().next() {
            self.begin_handover(target);
        }
        if self.mobility.is_watched {
            self.notice_silence();
        }
    }

    /// The UE that is heard worst wants to go.
    fn begin_handover(&mut self, target: Cgi) {
        let waits = |at: &usize| self.mobility.waiting.values().any(|(ue, _)| ue.0 == *at as u64);
        let heard = |at: &usize| self.cell.ues()[*at].rsrp_dbm();
        let worst = self.cell.here().filter(|at| !waits(at)).min_by(|a, b| heard(a).total_cmp(&heard(b)));
        let Some(ue) = worst.map(|at| Ue(at as u64)) else { return };
        self.mobility.last_procedure += 1;
        let procedure = Procedure(self.mobility.last_procedure);
        self.mobility.waiting.insert(procedure, (ue, target));
        let wants = ControlAction::Handover(Handover::to(target));
        // bounded by the UEs, each of which waits once
        self.mobility.events.push_back(Event::Breakpoint { procedure, breakpoint: HANDOVER_PREPARATION, ue, wants });
    }

    fn notice_silence(&mut self) {
        let mut changes = Vec::new();
        let (cell, mobility) = (&self.cell, &mut self.mobility);
        mobility.quiet.resize(cell.ues().len(), (0, false));
        let limit = (INACTIVE_S / cell.step_s()) as u64;
        for at in cell.here() {
            let last = cell.last_step(at);
            let is_quiet = last.downlink_active == 0 && last.uplink_active == 0;
            let (steps, was_told) = mobility.quiet[at];
            mobility.quiet[at].0 = if is_quiet { steps + 1 } else { 0 };
            let state = match (is_quiet && steps >= limit, was_told) {
                (true, false) => RrcState::RrcInactive,
                (false, true) if !is_quiet => RrcState::RrcConnected,
                _ => continue,
            };
            mobility.quiet[at].1 = state == RrcState::RrcInactive;
            changes.push((Ue(at as u64), state));
        }
        for (ue, state) in changes {
            let message = self.transition_report(ue, state == RrcState::RrcInactive);
            self.mobility.tell(Event::RrcState { ue, state });
            self.mobility.tell(message);
        }
    }

    /// Whether a UE is known to be silent.
    pub fn is_silent(&self, ue: Ue) -> bool {
        self.mobility.quiet.get(ue.0 as usize).is_some_and(|(_, is_silent)| *is_silent)
    }
}
