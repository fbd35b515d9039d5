//! Where UEs go: handovers between the cells of the RAN, told, begun by themselves, and held; and their RRC states.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use e2sm::common::Cgi;
use e2sm::rc::dictionary::{HANDOVER_PREPARATION, node_change};
use e2sm::rc::{ControlAction, Handover, RrcState};
use e2sm::rrc::{self, Notification};
use ferric::agent::Ue;
use radio::{Happening, MAX_PLACES, REST, Stays};
use ran_functions::rc::{Event, ProcedureId};
use ran_functions::rrc::RrcSource;
use tracing::warn;

use crate::RanConfig;
use crate::node::{Node, called};
use crate::part::Part;
use crate::world::Letter;

/// Events that wait to be told: more are forgotten, since RRC states will be told again.
const MAX_EVENTS: usize = 1024;
/// Comings and goings that wait to be told: more are forgotten, the oldest first.
const MAX_NEWS: usize = 256;

/// What a node knows of its UEs' coming and going.
#[derive(Debug)]
pub struct Mobility {
    number: u16,
    /// The names of all cells.
    cells: Rc<[Cgi]>,
    /// From one handover of its own to the next, and when the next one is.
    period: Option<(Duration, radio::Time)>,
    /// Whether UEs want to go by themselves, and a word is waited for.
    are_moving: bool,
    /// Handovers that wait for a word.
    waiting: BTreeMap<ProcedureId, (Ue, Cgi)>,
    last_procedure: u64,
    events: VecDeque<Event>,
    news: VecDeque<(Ue, Notification<'static>)>,
    is_watched: bool,
    /// UEs that the cell had no place for, as far as the log has told.
    turned_away: u64,
    /// UEs that are there and have come: from which node, and what that one called them.
    came_as: BTreeMap<Ue, (u16, Ue)>,
    /// UEs that were told to be inactive.
    inactive: BTreeSet<Ue>,
}

impl Mobility {
    pub fn new(number: u16, config: &RanConfig, cells: Rc<[Cgi]>) -> Self {
        let per_minute = u32::from(config.handovers_per_minute);
        let period = Duration::from_secs(60).checked_div(per_minute).filter(|_| cells.len() > 1);
        Mobility {
            number,
            cells,
            period: period.map(|period| (period, radio::Time::START + period)),
            are_moving: config.scenario.has_moving_ues(),
            waiting: BTreeMap::new(),
            last_procedure: 0,
            events: VecDeque::new(),
            news: VecDeque::new(),
            is_watched: false,
            turned_away: 0,
            came_as: BTreeMap::new(),
            inactive: BTreeSet::new(),
        }
    }

    /// The node's number in the RAN.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The other nodes, the next one first.
    pub fn others(&self) -> impl Iterator<Item = u16> + use<> {
        let (number, nodes) = (self.number, self.cells.len() as u16); // bounded by the scenario
        (1..nodes).map(move |further| (number + further) % nodes)
    }

    /// The cell of a node of the RAN.
    pub fn cell(&self, number: u16) -> Cgi {
        self.cells[usize::from(number)]
    }

    /// What a UE was called by the node that it came from, if that is the one.
    pub fn came_as(&self, ue: Ue, node: u16) -> Option<Ue> {
        self.came_as.get(&ue).filter(|(from, _)| *from == node).map(|(_, ue)| *ue)
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
        self.is_watched || self.period.is_some() || self.are_moving
    }

    /// Somebody watches, and finds these UEs inactive; or nobody does.
    fn watched(&mut self, is_watched: bool, inactive: BTreeSet<Ue>) {
        self.is_watched = is_watched;
        self.inactive = inactive;
        self.events.retain(|event| matches!(event, Event::Breakpoint { .. }));
    }

    /// A handover that waited.
    pub fn take(&mut self, procedure: ProcedureId) -> Option<(Ue, Cgi)> {
        self.waiting.remove(&procedure)
    }

    /// Whether UEs have come or gone since that was told.
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    pub fn take_news(&mut self) -> impl Iterator<Item = (Ue, Notification<'static>)> + '_ {
        self.news.drain(..)
    }

    fn note(&mut self, ue: Ue, notification: Notification<'static>) {
        if self.news.len() >= MAX_NEWS {
            self.news.pop_front();
        }
        self.news.push_back((ue, notification));
    }

    /// The cell is configured otherwise.
    pub fn cell_changed(&mut self) {
        if self.is_watched {
            let change = node_change::CELL_CONFIGURATION;
            self.tell(Event::CellChanged { cell: self.cell(self.number), change });
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
    /// Takes in what has happened in the cell, and the messages that have come.
    pub fn take_news_of_cell(&mut self) {
        if !self.part.has_rrc() {
            return;
        }
        let (happenings, letters, turned_away) = {
            let mut world = self.world.borrow_mut();
            let happenings: Vec<Happening> = world.model.network.happenings(self.at()).collect();
            let turned_away = world.model.network.turned_away(self.at());
            (happenings, world.take_letters(self.mobility.number), turned_away)
        };
        self.tell_of_turned_away(turned_away);
        for letter in letters {
            self.hears(letter);
        }
        for happening in happenings {
            match happening {
                Happening::Came { ue: stay, from } => {
                    self.remember(&stay);
                    let (ue, from) = (called(&stay), from.map(|(cell, stay)| (cell as u16, called(&stay))));
                    let present = self.present(ue);
                    let Some((node, source_ue)) = from else {
                        self.mobility.note(ue, Notification { event: rrc::Event::Attached, ..present });
                        continue;
                    };
                    self.mobility.came_as.insert(ue, (node, source_ue));
                    let event = rrc::Event::HandedOver(self.mobility.cell(node));
                    self.mobility.note(ue, Notification { event, ..present });
                    self.tell_source(node, source_ue, ue);
                }
                Happening::Left { ue: stay, to } => {
                    self.remember(&stay);
                    if to.is_none() {
                        self.world.borrow_mut().bearers.of_ues.remove(&stay.number);
                    }
                    let ue = called(&stay);
                    let notification = Notification { event: rrc::Event::Detached, ..self.present(ue) };
                    self.mobility.came_as.remove(&ue);
                    self.mobility.note(ue, notification);
                }
                Happening::Wants { ue: stay, to } => {
                    let target = self.mobility.cell(to as u16);
                    self.begin_handover(called(&stay), target);
                }
            }
        }
        let now = self.cell().now();
        self.begin_handovers(now);
        if self.mobility.is_watched {
            self.notice_silence();
        }
    }

    /// Has the log tell that the cell had no place for UEs: of the first one, and then where they are twice as many.
    fn tell_of_turned_away(&mut self, turned_away: u64) {
        if turned_away >= self.mobility.turned_away.saturating_mul(2).max(1) {
            self.mobility.turned_away = turned_away;
            warn!(
                cell = self.at(),
                turned_away,
                "UEs that came found no place in their cell and were turned away: at most {MAX_PLACES} may be there, or have \
                 been within the last {} s. Have fewer come, or stay shorter (arrivals_per_min, mean_stay_s), or to more cells",
                REST.as_secs()
            );
        }
    }

    /// A UE goes to another cell of the RAN.
    pub fn hand_over(&mut self, ue: Ue, target: &Cgi) -> Result<(), Stays> {
        let place = self.place(ue).ok_or(Stays::NoSuchUe)?;
        let to = self.mobility.cells.iter().position(|cell| cell == target).ok_or(Stays::NoSuchCell)?;
        self.world.borrow_mut().hand_over(self.at(), place, to)?;
        self.take_news_of_cell();
        Ok(())
    }

    /// Those that the configuration asks for: each time the UE that is heard worst goes to the next cell.
    fn begin_handovers(&mut self, now: radio::Time) {
        let Some((period, next)) = self.mobility.period else { return };
        if now < next {
            return;
        }
        self.mobility.period = Some((period, if now.since(next) > period { now + period } else { next + period }));
        let Some(target) = self.mobility.others().next().map(|number| self.mobility.cell(number)) else { return };
        let cell = self.cell();
        let waits = |place: usize| self.mobility.waiting.values().any(|(ue, _)| *ue == called(cell.stay(place)));
        let worst = cell
            .ues()
            .filter(|(place, _)| !waits(*place))
            .min_by(|(_, a), (_, b)| a.channel().rsrp_dbm().total_cmp(&b.channel().rsrp_dbm()));
        let Some(ue) = worst.map(|(place, _)| called(cell.stay(place))) else { return };
        drop(cell);
        self.begin_handover(ue, target);
    }

    /// A UE wants to go: who wants a say is asked.
    fn begin_handover(&mut self, ue: Ue, target: Cgi) {
        if self.mobility.waiting.values().any(|(waiting, _)| *waiting == ue) {
            return;
        }
        self.mobility.last_procedure += 1;
        let procedure = ProcedureId(self.mobility.last_procedure);
        self.mobility.waiting.insert(procedure, (ue, target));
        let wants = ControlAction::Handover(Handover::to(target));
        // bounded by the UEs, each of which waits once
        self.mobility.events.push_back(Event::Breakpoint { procedure, breakpoint: HANDOVER_PREPARATION, ue, wants });
    }

    /// The UEs that are there and inactive now.
    pub fn inactive_ues(&self) -> BTreeSet<Ue> {
        let cell = self.cell();
        let is_inactive =
            |(place, ue): (usize, &radio::Ue)| ue.is_inactive(cell.now()).then(|| called(cell.stay(place)));
        cell.ues().filter_map(is_inactive).collect()
    }

    /// Somebody watches what happens, or nobody does.
    pub fn watch_events(&mut self, is_watched: bool) {
        let inactive = self.inactive_ues();
        self.mobility.watched(is_watched, inactive);
    }

    fn notice_silence(&mut self) {
        let now = self.inactive_ues();
        let before = std::mem::replace(&mut self.mobility.inactive, now.clone());
        for ue in now.symmetric_difference(&before).copied() {
            // who has left is in no state
            if self.facts(ue).is_none() {
                continue;
            }
            let is_inactive = now.contains(&ue);
            let state = self.rrc_state_of(is_inactive);
            self.mobility.tell(Event::RrcState { ue, state });
            let message = self.transition_report(ue, is_inactive);
            self.mobility.tell(message);
        }
    }

    /// The state of a UE that is inactive, or is not: an eNB keeps the context of one that is idle.
    pub fn rrc_state_of(&self, is_inactive: bool) -> RrcState {
        match (is_inactive, self.part) {
            (false, _) => RrcState::RrcConnected,
            (true, Part::Enb) => RrcState::RrcIdle,
            (true, _) => RrcState::RrcInactive,
        }
    }

    /// Whether something happened by itself that nobody was told of yet.
    pub fn has_something_to_tell(&self) -> bool {
        self.mobility.has_events() || self.mobility.has_news()
    }

    /// A message goes to another node.
    pub fn send(&self, node: u16, letter: Letter) {
        self.world.borrow_mut().send(node, letter);
    }
}
