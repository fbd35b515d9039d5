//! Collectors: what a RAN reports becomes events, and the latest state.
//!
//! | collector | peers |
//! |---|---|
//! | [`e2`] | E2 nodes, by way of a RIC |
//! | [`flexran`] | FlexRAN agents of eNBs |
//!
//! Both keep the UEs that they see in one table of the same kind, which finds out what has changed.

pub mod e2;
pub mod flexran;
mod ues;

use std::time::{SystemTime, UNIX_EPOCH};

use crate::event::Event;
use crate::service::Service;
use crate::state::State;

/// What collectors write to.
pub trait Output {
    /// Takes an event.
    fn publish(&self, event: Event);

    /// Changes the latest state.
    fn update(&self, change: &mut dyn FnMut(&mut State));
}

impl Output for Service {
    fn publish(&self, event: Event) {
        Service::publish(self, event);
    }

    fn update(&self, change: &mut dyn FnMut(&mut State)) {
        Service::update(self, |state| change(state));
    }
}

/// The time of a reception, in nanoseconds of Unix time.
fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod testing {
    //! An output that keeps everything.

    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    pub struct Recorder {
        pub events: Mutex<Vec<Event>>,
        pub state: Mutex<State>,
    }

    impl Recorder {
        pub fn take(&self) -> Vec<Event> {
            std::mem::take(&mut self.events.lock().unwrap())
        }
    }

    impl Output for Recorder {
        fn publish(&self, event: Event) {
            self.events.lock().unwrap().push(event);
        }

        fn update(&self, change: &mut dyn FnMut(&mut State)) {
            change(&mut self.state.lock().unwrap());
        }
    }
}
