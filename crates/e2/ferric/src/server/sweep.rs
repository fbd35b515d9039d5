//! What every loop does with its links from time to time: it closes those whose PDU does not arrive whole, and frees the
//! memory of idle ones.

use std::time::{Duration, Instant};

use e2::AssocId;

use crate::peers::Peers;

/// The sweeps within the time limit of a PDU. A PDU is unfinished for at most one sweep more.
const SWEEPS: u32 = 4;

/// The time of the next sweep.
pub(super) struct Sweep {
    interval: Duration,
    next: Instant,
}

impl Sweep {
    pub fn new(pdu_timeout: Duration) -> Self {
        let interval = pdu_timeout / SWEEPS;
        Sweep { interval, next: Instant::now() + interval }
    }

    /// Returns the time until the next sweep.
    pub fn time_left(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Returns whether a sweep is due.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.next;
        if due {
            self.next = now + self.interval;
        }
        due
    }
}

/// Reports the links whose unfinished PDU has not changed its number for [`SWEEPS`] sweeps.
pub(super) fn sweep(peers: &mut Peers, mut lost: impl FnMut(AssocId, link::Error)) {
    for peer in peers.iter_mut() {
        if !std::mem::replace(&mut peer.is_used, false) {
            peer.link.free_spare_memory();
        }
        match (peer.link.unfinished_pdu(), peer.unfinished) {
            // a link whose reading is suspended makes no progress, which is not the peer's fault
            _ if peer.paused => {}
            (Some((number, received_octets)), Some((known, sweeps))) if number == known => {
                peer.unfinished = Some((number, sweeps + 1));
                if sweeps >= SWEEPS {
                    lost(peer.assoc, link::Error::PduTimeout { received_octets });
                }
            }
            (unfinished, _) => peer.unfinished = unfinished.map(|(number, _)| (number, 1)),
        }
    }
}
