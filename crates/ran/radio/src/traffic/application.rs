//! What uses a TCP connection: one transfer, or a user who asks for one thing after the other.

use super::dialogue::Dialogue;
use super::end::Ends;
use super::path::{Path, Side};
use super::specification::{Direction, FlowSpecification, Kind};
use crate::{Random, Time};

/// What uses a connection.
#[derive(Clone, Debug)]
pub enum Application {
    None,
    Transfer(Transfer),
    Dialogue(Box<Dialogue>),
}

/// So much data, once.
#[derive(Clone, Debug)]
pub struct Transfer {
    start: Time,
    is_begun: bool,
    /// [`u64::MAX`]: without end.
    octets: u64,
    direction: Direction,
    /// Which segment follows the last, of what the server sends and of what the UE does.
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
        Application::Transfer(Transfer { start, is_begun: false, octets, direction, ends: [u64::MAX; 2] })
    }

    /// When it does something of its own accord.
    pub fn due(&self) -> Time {
        match self {
            Application::Transfer(transfer) if !transfer.is_begun => transfer.start,
            Application::None | Application::Transfer(_) => Time::NEVER,
            Application::Dialogue(dialogue) => dialogue.due(),
        }
    }

    /// Does what is due.
    pub fn act(&mut self, now: Time, ends: &mut Ends, path: &mut Path) {
        match self {
            Application::None => {}
            Application::Transfer(transfer) => transfer.begin(now, ends, path),
            Application::Dialogue(dialogue) => dialogue.act(now, ends, path),
        }
    }

    /// A segment has come to that side.
    pub fn arrived(&mut self, side: Side, now: Time, ends: &mut Ends, path: &mut Path) {
        match self {
            Application::None => {}
            Application::Transfer(transfer) => transfer.arrived(side, now, ends, path),
            Application::Dialogue(dialogue) => dialogue.arrived(side, now, ends, path),
        }
    }
}

impl Transfer {
    fn begin(&mut self, now: Time, ends: &mut Ends, path: &mut Path) {
        self.is_begun = true;
        for side in [Side::Server, Side::Ue] {
            if side.sends(self.direction) {
                self.ends[side as usize] = ends.of(side).write(now, self.octets, path);
            }
        }
    }

    fn arrived(&mut self, side: Side, now: Time, ends: &mut Ends, path: &mut Path) {
        let end = &mut self.ends[side.other() as usize];
        if ends.of(side).received() >= *end {
            *end = u64::MAX;
            path.count_completed(now, self.start);
        }
    }
}
