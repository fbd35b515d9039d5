//! The model that all nodes of a RAN share, and its time.
//!
//! Time advances when a node is read. All cells have the same time, since UEs may move between them at any time.

mod real_time_factor;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
#[cfg(feature = "control")]
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use e2sm::common::{Cgi, FiveQi};
#[cfg(feature = "control")]
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::HandoverError;
use radio::phy::Rat;
use tracing::warn;

use crate::gnb_cells::{GnbCell, gnb_cells};
use crate::node::FIRST_GNB;
use crate::node_type::cell_at;
use crate::scenario::{Model, Scenario, ScenarioError};
use ap::ServedPlmn;
use real_time_factor::RealTimeFactor;

/// The longest time that one advance catches up. After a longer break the model continues without the time between.
const MAX_CATCH_UP: Duration = Duration::from_secs(60);
/// The same on a machine that is too slow for the model.
const MAX_CATCH_UP_SLOW: Duration = Duration::from_millis(100);
/// The shortest time between two warnings about skipped time.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);
/// Physical cell identities are 0 to 1007 (TS 38.211 7.4.2.1), those of E-UTRA 0 to 503 (TS 36.211 6.11).
const PCIS: usize = 1008;
const EUTRA_PCIS: usize = 504;
/// Messages in transit to one node. Further ones are lost.
#[cfg(feature = "control")]
const MAX_MESSAGES: usize = 256;

/// An upper limit of the model's time, for a caller that controls the model step by step.
///
/// With it ([`RanConfig::steps`](crate::RanConfig::steps)) every read advances the model to the limit, independent of the
/// clock. A controller that raises the limit, reads the reports, sends its controls and waits for their acknowledgements
/// before it raises the limit again meets the same states of the model on a slow machine as on a fast one. Reports are still
/// sent by the clock.
#[derive(Clone, Debug, Default)]
pub struct Steps(Arc<AtomicU64>);

impl Steps {
    /// Raises the limit to `until`. A lower limit than the present one has no effect.
    pub fn allow_until(&self, until: radio::Time) {
        self.0.fetch_max(until.as_nanos(), Ordering::Release);
    }

    /// The limit.
    #[must_use]
    pub fn until(&self) -> radio::Time {
        radio::Time::from_nanos(self.0.load(Ordering::Acquire))
    }
}

/// A message between neighbouring nodes.
#[cfg(feature = "control")]
#[derive(Debug)]
pub struct NeighbourMessage {
    /// The sending node.
    pub from: u16,
    /// The UE that the message concerns, by its id at the receiving node.
    pub ue: Option<Ue>,
    /// The XnAP or X2AP PDU.
    pub octets: Vec<u8>,
    /// What the receiver answers: the model has decided it already.
    pub answer: Option<Answer>,
}

/// The answer to a message of a neighbour.
#[cfg(feature = "control")]
#[derive(Debug)]
pub struct Answer {
    /// The UE that it concerns, by its id at the node that gets the answer.
    pub ue: Ue,
    /// The XnAP PDU.
    pub octets: Vec<u8>,
}

/// Changes to UEs' bearers. All nodes share them: a UE keeps its bearer when it is handed over.
#[derive(Debug, Default)]
pub struct BearerChanges {
    /// The number of changes so far.
    pub version: u64,
    /// The changed bearers by the UE's number in the RAN.
    pub by_ue: BTreeMap<u64, UeBearer>,
}

/// The bearer of a UE's flow.
#[derive(Clone, Copy, Debug)]
pub struct UeBearer {
    pub five_qi: FiveQi,
    pub drb: u8,
    /// Whether the UE has its PDU session.
    pub has_session: bool,
}

/// A pair of equal times: one of the event loop at the model's pace, one of the model.
#[derive(Clone, Copy, Debug)]
struct TimeAnchor {
    now: Time,
    model: radio::Time,
}

/// How the model has followed the clock since its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaceCounts {
    /// The time of the model that has been computed.
    pub model: Duration,
    /// The time that it took.
    pub processing: Duration,
    /// The longest single computation: reports and controls wait for it.
    pub longest: Duration,
    /// The time of the model that was left out because the machine was too slow, or stood still.
    pub skipped: Duration,
}

/// The model of a scenario, its time, and what its nodes share.
#[derive(Debug)]
pub struct RanSimulation {
    pub model: Model,
    /// The identities of the cells.
    pub cells: Rc<[Cgi]>,
    /// The places of the cells in their base stations.
    pub places: Rc<[GnbCell]>,
    /// The physical cell identities.
    pub pcis: Vec<u16>,
    /// The networks and slices that all cells serve.
    pub networks: Rc<[ServedPlmn]>,
    pub bearers: BearerChanges,
    speed: f64,
    warm_up: Duration,
    anchor: Option<TimeAnchor>,
    real_time_factor: RealTimeFactor,
    /// Replaces the clock where present.
    steps: Option<Steps>,
    last_warning: Option<Time>,
    counts: PaceCounts,
    /// Messages in transit, by receiving node.
    #[cfg(feature = "control")]
    messages: Vec<VecDeque<NeighbourMessage>>,
}

/// The physical cell identity of a cell at the start.
fn first_pci(cell: usize, rat: Rat) -> u16 {
    let pcis = match rat {
        Rat::Nr => PCIS,
        Rat::Lte => EUTRA_PCIS,
    };
    ((FIRST_GNB as usize + cell) % pcis) as u16
}

impl RanSimulation {
    /// Creates the simulation of a scenario.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn new(scenario: &Scenario) -> Result<Rc<RefCell<RanSimulation>>, ScenarioError> {
        let model = Model::new(scenario)?;
        let cells = model.network.cells();
        let places = gnb_cells(scenario);
        Ok(Rc::new(RefCell::new(RanSimulation {
            model,
            cells: scenario
                .cells
                .iter()
                .zip(&places)
                .map(|(cell, place)| cell_at(*place, cell.radio.carrier.rat))
                .collect(),
            places: places.into(),
            pcis: (0..cells).map(|cell| first_pci(cell, scenario.cells[cell].radio.carrier.rat)).collect(),
            networks: crate::interfaces::served_plmns(scenario).into(),
            bearers: BearerChanges::default(),
            speed: scenario.speed,
            warm_up: scenario.warm_up,
            anchor: None,
            real_time_factor: RealTimeFactor::default(),
            steps: None,
            last_warning: None,
            counts: PaceCounts::default(),
            #[cfg(feature = "control")]
            messages: (0..cells).map(|_| VecDeque::new()).collect(),
        })))
    }

    /// Replaces the clock by `steps`.
    pub fn set_steps(&mut self, steps: Steps) {
        self.steps = Some(steps);
    }

    /// How the model has followed the clock.
    pub fn pace_counts(&self) -> PaceCounts {
        self.counts
    }

    /// The model's time at a cell.
    pub fn now(&self, cell: usize) -> radio::Time {
        self.model.network.cell(cell).now()
    }

    /// The model's time at a time at its pace. In steps the model stands at the end of its last step.
    #[cfg(feature = "llc")]
    pub fn time_at(&self, now: Time) -> radio::Time {
        match (&self.steps, self.anchor) {
            (Some(steps), _) => steps.until(),
            (None, Some(anchor)) => anchor.model + (now - anchor.now),
            (None, None) => self.now(0),
        }
    }

    /// Whether the model's time has started.
    #[cfg(feature = "live")]
    pub fn has_started(&self) -> bool {
        self.anchor.is_some()
    }

    /// The time from `now` to the next slot of the first cell.
    #[cfg(feature = "live")]
    pub fn until_next_slot(&self, now: Time) -> Duration {
        let Some(anchor) = self.anchor else { return Duration::ZERO };
        let due = anchor.model + (now - anchor.now);
        self.now(0).since(due)
    }

    /// Advances all cells to the model time of `now`, a time at the model's pace.
    pub fn advance(&mut self, now: Time) {
        if let Some(steps) = &self.steps {
            let until = steps.until();
            return self.model.advance(until);
        }
        let model = self.now(0);
        let is_first = self.anchor.is_none();
        let due = match self.anchor {
            None => self.set_anchor(now, model + self.warm_up),
            Some(anchor) => {
                let is_slow = self.real_time_factor.is_too_slow();
                let max = if is_slow { MAX_CATCH_UP_SLOW } else { MAX_CATCH_UP }.mul_f64(self.speed.max(1.0));
                let due = anchor.model + (now - anchor.now);
                if due.since(model) <= max {
                    due
                } else {
                    let next = if is_slow { model + max } else { model + self.warm_up };
                    if is_slow {
                        self.warn_slow(now);
                    }
                    self.counts.skipped += due.since(next);
                    self.set_anchor(now, next)
                }
            }
        };
        let length = due.since(model);
        if length.is_zero() {
            return;
        }
        let started = Instant::now();
        // no controller is connected during the warm-up: handovers need no decision
        self.model.network.set_automatic_handover(is_first);
        self.model.advance(due);
        self.model.network.set_automatic_handover(false);
        let processing = started.elapsed();
        self.real_time_factor.update(processing, length.div_f64(self.speed));
        if !is_first {
            self.counts.model += length;
            self.counts.processing += processing;
            self.counts.longest = self.counts.longest.max(processing);
        }
    }

    /// Sets the model time that belongs to `now`, and returns it.
    fn set_anchor(&mut self, now: Time, model: radio::Time) -> radio::Time {
        self.anchor = Some(TimeAnchor { now, model });
        model
    }

    fn warn_slow(&mut self, now: Time) {
        if self.last_warning.is_none_or(|last| now - last >= WARNING_INTERVAL.mul_f64(self.speed)) {
            self.last_warning = Some(now);
            warn!(
                "machine too slow for the RAN: {:.1} s of processing for one second of the model; model time is skipped; \
                 use fewer UEs, fewer cells or more threads",
                self.real_time_factor.value()
            );
        }
    }

    /// Hands a UE over to another cell.
    ///
    /// # Errors
    /// The reason why it stays where it is.
    pub fn hand_over(&mut self, cell: usize, place: usize, to: usize) -> Result<(), HandoverError> {
        self.model.network.hand_over(cell, place, to)
    }

    /// Sends a message to another node.
    #[cfg(feature = "control")]
    pub fn send(&mut self, node: u16, message: NeighbourMessage) {
        if let Some(messages) = self.messages.get_mut(usize::from(node))
            && messages.len() < MAX_MESSAGES
        {
            messages.push_back(message);
        }
    }

    /// Takes the messages that were sent to a node.
    #[cfg(feature = "control")]
    pub fn take_messages(&mut self, node: u16) -> VecDeque<NeighbourMessage> {
        self.messages.get_mut(usize::from(node)).map(std::mem::take).unwrap_or_default()
    }
}
