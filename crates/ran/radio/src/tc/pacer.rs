//! Pacers: they decide how much is forwarded to PDCP and RLC.

mod bdp;

use super::configuration::PacerChoice;
use crate::Time;
use bdp::Bdp;

/// Decides how much is forwarded to PDCP and RLC.
pub trait Pacer: Send {
    /// How many octets may be forwarded now. While this is above 0 one packet of any length is forwarded, then it is called
    /// again; it is called only while a packet waits. `None` is a fault: the packet is forwarded.
    fn allowance(&mut self, now: Time, below: RlcState) -> Option<u32>;

    /// Reports that a packet was forwarded.
    fn forwarded(&mut self, now: Time, octets: u32) {
        let _ = (now, octets);
    }

    /// Reports a transmission opportunity of the bearer.
    fn transmitted(&mut self, now: Time, transmission: Transmission) {
        let _ = (now, transmission);
    }
}

/// The state of the RLC buffer below traffic control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcState {
    /// Octets in the RLC buffer.
    pub rlc_octets: u32,
    /// Free space of the RLC buffer.
    pub rlc_room_octets: u32,
}

/// The outcome of a transmission opportunity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// Octets that the MAC took from RLC.
    pub octets: u32,
    /// Whether RLC was empty afterwards: the opportunity may have had room for more.
    pub rlc_was_emptied: bool,
    /// Octets in traffic control that only the pacer held back.
    pub waiting_octets: u64,
}

/// Creates the configured pacer.
pub(super) fn make(choice: &PacerChoice) -> Box<dyn Pacer> {
    match choice {
        PacerChoice::Off => Box::new(Off),
        PacerChoice::Bdp5g => Box::new(Bdp::default()),
        PacerChoice::Custom(custom) => custom.make(),
    }
}

/// Forwards everything.
struct Off;

impl Pacer for Off {
    fn allowance(&mut self, _now: Time, _below: RlcState) -> Option<u32> {
        Some(u32::MAX)
    }
}
