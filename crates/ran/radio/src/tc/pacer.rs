//! What decides how much goes on to PDCP and RLC.

mod bdp;

use super::configuration::PacerChoice;
use crate::Time;
use bdp::Bdp;

/// What decides how much goes on to PDCP and RLC.
pub trait Pacer: Send {
    /// How many octets may go on now. A packet goes on while this is above 0, whatever its length, and then it is asked again;
    /// it is asked only while a packet waits. `None` is a fault: the packet goes on.
    fn allowance(&mut self, now: Time, below: Below) -> Option<u32>;

    /// A packet of that length went on.
    fn handed_on(&mut self, now: Time, octets: u32) {
        let _ = (now, octets);
    }

    /// The bearer had an opportunity to transmit.
    fn transmitted(&mut self, now: Time, transmission: Transmission) {
        let _ = (now, transmission);
    }
}

/// What stands below traffic control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// What waits in RLC.
    pub rlc_octets: u32,
    /// What its buffer still takes.
    pub rlc_room_octets: u32,
}

/// What became of an opportunity to transmit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// What the MAC drained from RLC.
    pub octets: u32,
    /// Whether RLC was then empty: the opportunity might have taken more.
    pub rlc_was_emptied: bool,
    /// What waited in traffic control and could have gone on, had the pacer let it.
    pub waiting_octets: u64,
}

/// What the configuration names.
pub(super) fn make(choice: &PacerChoice) -> Box<dyn Pacer> {
    match choice {
        PacerChoice::Off => Box::new(Off),
        PacerChoice::Bdp5g => Box::new(Bdp::default()),
        PacerChoice::Own(own) => own.make(),
    }
}

/// Everything goes on.
struct Off;

impl Pacer for Off {
    fn allowance(&mut self, _now: Time, _below: Below) -> Option<u32> {
        Some(u32::MAX)
    }
}
