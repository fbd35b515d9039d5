//! The model that all nodes of a RAN look at, and its time.
//!
//! Time goes on when somebody looks. Where no UE goes to another cell by itself, each cell has a time of its own: nobody
//! pays for cells that nobody looks at.

mod pace;
mod steps;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use e2sm::common::{Cgi, FiveQi};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::Stays;
use tracing::warn;

use crate::interfaces::setup::ServedNetwork;
use crate::node::FIRST_GNB;
use crate::part::cell_of;
use crate::scenario::{Model, Scenario, ScenarioError};
use pace::Pace;
pub use steps::Steps;

/// When nobody has looked for longer than this, the time between was not.
const MAX_CATCH_UP: Duration = Duration::from_secs(60);
/// The same where the model is slower than time.
const MAX_CATCH_UP_SLOW: Duration = Duration::from_millis(100);
/// How often it is told that time is left out.
const TELL: Duration = Duration::from_secs(10);
/// Physical cell identities are 0 to 1007 (TS 38.211 7.4.2.1).
const PCIS: usize = 1008;
/// Messages on their way to a node: more get lost.
const MAX_LETTERS: usize = 256;

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

/// What was changed of UEs' bearers, for all nodes: a UE takes it along.
#[derive(Debug, Default)]
pub struct Bearers {
    /// Grows with each change.
    pub changes: u64,
    /// By the UE's number in the RAN.
    pub of_ues: BTreeMap<u64, ChangedBearer>,
}

/// A UE's bearer as it is now.
#[derive(Clone, Copy, Debug)]
pub struct ChangedBearer {
    pub five_qi: FiveQi,
    pub drb: u8,
}

/// At that time of the loop it is that time in the model.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: Time,
    model: radio::Time,
}

/// The model and its time.
#[derive(Debug)]
pub struct World {
    pub model: Model,
    /// The cells' names.
    pub cells: Rc<[Cgi]>,
    /// By cell: its physical identity.
    pub nr_pcis: Vec<u16>,
    /// The networks and slices that all cells serve.
    pub networks: Rc<[ServedNetwork]>,
    /// What was changed of bearers.
    pub bearers: Bearers,
    is_coupled: bool,
    speed: f64,
    warm_up: Duration,
    /// One for all cells where they are coupled; else one for each.
    anchors: Vec<Option<Anchor>>,
    pace: Pace,
    /// Who says how late it is, where the clock does not.
    steps: Option<Steps>,
    /// When it was told last that time is left out.
    told: Option<Time>,
    letters: Vec<VecDeque<Letter>>,
}

impl World {
    /// The model of a scenario.
    ///
    /// # Errors
    /// A scenario that cannot be.
    pub fn new(scenario: &Scenario) -> Result<Rc<RefCell<World>>, ScenarioError> {
        let model = Model::new(scenario)?;
        let cells = model.network.cells();
        Ok(Rc::new(RefCell::new(World {
            model,
            cells: scenario
                .cells
                .iter()
                .zip(0..)
                .map(|(cell, number)| cell_of(number, cell.radio.carrier.rat))
                .collect(),
            nr_pcis: (0..cells).map(|cell| ((FIRST_GNB as usize + cell) % PCIS) as u16).collect(),
            networks: ServedNetwork::of(scenario).into(),
            bearers: Bearers::default(),
            is_coupled: scenario.is_coupled(),
            speed: scenario.speed,
            warm_up: scenario.warm_up,
            anchors: vec![None; cells],
            pace: Pace::default(),
            steps: None,
            told: None,
            letters: (0..cells).map(|_| VecDeque::new()).collect(),
        })))
    }

    /// Time goes on as `steps` say, not as the clock does.
    pub fn step_by(&mut self, steps: Steps) {
        self.steps = Some(steps);
    }

    /// The model's time at a cell.
    pub fn now(&self, cell: usize) -> radio::Time {
        self.model.network.cell(cell).now()
    }

    /// Whether time has begun.
    pub fn has_begun(&self) -> bool {
        self.anchors[0].is_some()
    }

    /// How long it is from then until the first cell's next slot.
    pub fn until_next_slot(&self, now: Time) -> Duration {
        let Some(anchor) = self.anchors[0] else { return Duration::ZERO };
        let due = anchor.model + (now - anchor.at).mul_f64(self.speed);
        self.now(0).since(due).div_f64(self.speed)
    }

    /// A cell goes on until it is so late, and with it all cells to which UEs may go by themselves.
    pub fn advance(&mut self, cell: usize, until: Time) {
        if let Some(steps) = &self.steps {
            let until = steps.until();
            return self.run(cell, until);
        }
        let at = if self.is_coupled { 0 } else { cell };
        let model = self.now(cell);
        let is_first = self.anchors[at].is_none();
        let due = match self.anchors[at] {
            None => self.begin(at, until, model + self.warm_up),
            Some(anchor) => {
                let is_slow = self.pace.is_slow();
                let most = if is_slow { MAX_CATCH_UP_SLOW } else { MAX_CATCH_UP }.mul_f64(self.speed.max(1.0));
                let due = anchor.model + (until - anchor.at).mul_f64(self.speed);
                match due.since(model) > most {
                    false => due,
                    true if is_slow => {
                        self.tell_slow(until);
                        self.begin(at, until, model + most)
                    }
                    true => self.begin(at, until, model + self.warm_up),
                }
            }
        };
        let length = due.since(model);
        if length.is_zero() {
            return;
        }
        let begin = Instant::now();
        // nobody can have a say in the warm-up: UEs go where they want to
        self.model.network.set_automatic(is_first);
        self.run(cell, due);
        self.model.network.set_automatic(false);
        self.pace.took(begin.elapsed(), length.div_f64(self.speed));
    }

    fn run(&mut self, cell: usize, until: radio::Time) {
        if self.is_coupled {
            self.model.advance(until);
        } else {
            self.model.advance_cell(cell, until);
        }
    }

    /// Time begins, or begins anew: then it is so late in the model.
    fn begin(&mut self, at: usize, now: Time, model: radio::Time) -> radio::Time {
        self.anchors[at] = Some(Anchor { at: now, model });
        model
    }

    fn tell_slow(&mut self, now: Time) {
        if self.told.is_none_or(|told| now - told >= TELL) {
            self.told = Some(now);
            warn!(
                "this machine is too slow for the RAN: {:.1} s for a second of the model. Time is left out; take fewer \
                 UEs, fewer cells, or more threads",
                self.pace.seconds()
            );
        }
    }

    /// A UE goes to another cell.
    ///
    /// # Errors
    /// Where it cannot go; then it stays.
    pub fn hand_over(&mut self, cell: usize, place: usize, to: usize) -> Result<(), Stays> {
        if !self.is_coupled && to < self.model.network.cells() {
            self.keep_together(cell, to);
        }
        self.model.network.hand_over(cell, place, to)
    }

    /// Where cells have times of their own, the one that is behind makes up for it before a UE goes from one to the other,
    /// since a UE's traffic has the time of its cell: as far as it would if somebody looked. Where that is not enough, the UE
    /// stays, and the next one that is to go brings them closer.
    fn keep_together(&mut self, a: usize, b: usize) {
        let (behind, ahead) = if self.now(a) < self.now(b) { (a, b) } else { (b, a) };
        let from = self.now(behind);
        let until = self.now(ahead).min(from + MAX_CATCH_UP);
        self.model.advance_cell(behind, until);
        if let Some(anchor) = &mut self.anchors[behind] {
            anchor.model += until - from;
        }
    }

    /// A message goes to another node.
    pub fn send(&mut self, node: u16, letter: Letter) {
        if let Some(letters) = self.letters.get_mut(usize::from(node))
            && letters.len() < MAX_LETTERS
        {
            letters.push_back(letter);
        }
    }

    /// The messages that have come for a node.
    pub fn take_letters(&mut self, node: u16) -> VecDeque<Letter> {
        self.letters.get_mut(usize::from(node)).map(std::mem::take).unwrap_or_default()
    }
}
