//! What becomes of packets that wait in a queue. The queue itself keeps them, first in, first out, and bounded.

mod codel;

use super::Amount;
use super::configuration::DisciplineChoice;
use crate::{Packet, Time};
use codel::CoDel;

/// What becomes of packets that wait in a queue. A packet's time of entry is [`Packet::entered`].
pub trait Discipline: Send {
    /// A packet comes, and the queue has room for it; `waiting` is what waits before it. `None` is a fault: it passes.
    fn arriving(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict> {
        let _ = (now, packet, waiting);
        Some(Verdict::Pass)
    }

    /// A packet is to go on; `waiting` is what waits behind it. Where it is dropped, the next one is asked about at once.
    /// `None` is a fault: it passes.
    fn leaving(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict>;
}

/// What is to become of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes its way.
    Pass,
    /// It goes its way with a congestion mark. One that cannot be marked is dropped (RFC 3168 5).
    Mark,
    /// It goes no further.
    Drop,
}

/// What the configuration names.
pub(super) fn make(choice: &DisciplineChoice) -> Box<dyn Discipline> {
    match choice {
        DisciplineChoice::Fifo => Box::new(Fifo),
        DisciplineChoice::CoDel(target) => Box::new(CoDel::dropping(*target)),
        DisciplineChoice::EcnCoDel(target) => Box::new(CoDel::marking(*target)),
        DisciplineChoice::Own(own) => own.make(),
    }
}

/// First in, first out, and nothing else.
struct Fifo;

impl Discipline for Fifo {
    fn leaving(&mut self, _now: Time, _packet: &Packet, _waiting: Amount) -> Option<Verdict> {
        Some(Verdict::Pass)
    }
}
