//! What every loop does with its links from time to time: it closes those whose PDU does not arrive whole, and frees the
//! memory of idle ones.

use std::io;
use std::time::Duration;

use e2::AssocId;
use link::{Poll, Ticker};

use super::KIND_TICK;
use crate::peers::{self, Peers};

/// The sweeps within the time limit of a PDU. A PDU is unfinished for at most one sweep more.
const SWEEPS: u32 = 4;

/// Creates the ticker of a loop's sweeps; its token is that of [`KIND_TICK`].
pub(super) fn ticker(poll: &Poll, pdu_timeout: Duration) -> io::Result<Ticker> {
    Ticker::new(poll, peers::token(KIND_TICK, 0), pdu_timeout / SWEEPS)
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
