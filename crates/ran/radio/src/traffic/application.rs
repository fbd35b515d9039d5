//! Applications over a TCP connection.

use super::dialogue::Dialogue;
use super::end::Ends;
use super::path::{Path, Side};
use super::specification::{Direction, FlowSpecification, Kind};
use crate::{Random, Time};

/// The application of a flow.
#[derive(Clone, Debug)]
pub enum Application {
    None,
    Transfer(Transfer),
    Dialogue(Box<Dialogue>),
}

/// A transfer of data in one or both directions.
#[derive(Clone, Debug)]
pub struct Transfer {
    start: Time,
    has_started: bool,
    /// [`u64::MAX`] for unlimited data.
    octets: u64,
    direction: Direction,
    /// The segment that follows the last one, in the server's stream and in the UE's.
    ends: [u64; 2],
}

impl Application {
    pub fn new(specification: &FlowSpecification, random: Random) -> Self {
        let FlowSpecification { kind, start, direction, .. } = specification;
        let octets = match kind {
            Kind::Greedy(_) => u64::MAX,
            Kind::Transfer { octets, .. } => *octets,
            Kind::Web(_) | Kind::VideoPlayer(_) => {
                return Application::Dialogue(Box::new(Dialogue::new(specification, random)));
            }
            _ => return Application::None,
        };
        let (start, direction) = (*start, *direction);
        Application::Transfer(Transfer { start, has_started: false, octets, direction, ends: [u64::MAX; 2] })
    }

    /// When the application next acts by itself.
    pub fn due(&self) -> Time {
        match self {
            Application::Transfer(transfer) if !transfer.has_started => transfer.start,
            Application::None | Application::Transfer(_) => Time::NEVER,
            Application::Dialogue(dialogue) => dialogue.due(),
        }
    }

    /// Performs the action that is due.
    pub fn act(&mut self, now: Time, ends: &mut Ends, path: &mut Path) {
        match self {
            Application::None => {}
            Application::Transfer(transfer) => transfer.start(now, ends, path),
            Application::Dialogue(dialogue) => dialogue.act(now, ends, path),
        }
    }

    /// Processes a segment that has arrived at `side`.
    pub fn on_segment(&mut self, side: Side, now: Time, ends: &mut Ends, path: &mut Path) {
        match self {
            Application::None => {}
            Application::Transfer(transfer) => transfer.on_segment(side, now, ends, path),
            Application::Dialogue(dialogue) => dialogue.on_segment(side, now, ends, path),
        }
    }
}

impl Transfer {
    fn start(&mut self, now: Time, ends: &mut Ends, path: &mut Path) {
        self.has_started = true;
        for side in [Side::Server, Side::Ue] {
            if side.sends(self.direction) {
                self.ends[side as usize] = ends.of(side).write(now, self.octets, path);
            }
        }
    }

    fn on_segment(&mut self, side: Side, now: Time, ends: &mut Ends, path: &mut Path) {
        let end = &mut self.ends[side.other() as usize];
        if ends.of(side).received() >= *end {
            *end = u64::MAX;
            path.count_completed(now, self.start);
        }
    }
}
