//! Queue disciplines: they mark or drop packets. The queue itself is a bounded FIFO.

mod codel;

use super::Amount;
use super::configuration::DisciplineChoice;
use crate::{Packet, Time};
use codel::CoDel;

/// Decides which packets of a queue are marked or dropped. [`Packet::entered`] is the time of arrival.
pub trait Discipline: Send {
    /// Judges an arriving packet that fits into the queue, behind `waiting`. `None` is a fault: the packet passes.
    fn on_enqueue(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict> {
        let _ = (now, packet, waiting);
        Some(Verdict::Pass)
    }

    /// Judges a departing packet, with `waiting` behind it. After a drop, the next packet is judged at once. `None` is a
    /// fault: the packet passes.
    fn on_dequeue(&mut self, now: Time, packet: &Packet, waiting: Amount) -> Option<Verdict>;
}

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it.
    Pass,
    /// Forward it with a congestion mark; drop it when it is not ECN-capable (RFC 3168 5).
    Mark,
    /// Drop it.
    Drop,
}

/// Creates the configured discipline.
pub(super) fn make(choice: &DisciplineChoice) -> Box<dyn Discipline> {
    match choice {
        DisciplineChoice::Fifo => Box::new(Fifo),
        DisciplineChoice::CoDel(target) => Box::new(CoDel::dropping(*target)),
        DisciplineChoice::EcnCoDel(target) => Box::new(CoDel::marking(*target)),
        DisciplineChoice::Custom(custom) => custom.make(),
    }
}

/// A plain FIFO.
struct Fifo;

impl Discipline for Fifo {
    fn on_dequeue(&mut self, _now: Time, _packet: &Packet, _waiting: Amount) -> Option<Verdict> {
        Some(Verdict::Pass)
    }
}
