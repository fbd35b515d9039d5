//! Links of nodes on their way from a worker back to the main loop, which keeps them or moves them on.
//!
//! A worker executes the records of the main loop in order, so that all that was sent to the link before is in its outbox when it is
//! returned, and all that the link has received is in the ring before it. What concerns the link meanwhile is kept here.

use std::collections::HashMap;
use std::sync::Arc;

use e2::AssocId;
use link::{Class, Link, LinkObserver};

/// What is to be done with a link once it is here.
#[derive(Default)]
pub(super) struct Recalled {
    /// The loop that it is to be on.
    pub event_loop: usize,
    /// PDUs to send.
    pub unsent: Vec<Vec<u8>>,
    /// The observer of its PDUs, if that has changed.
    pub observer: Option<Option<Arc<dyn LinkObserver>>>,
    /// Whether its transport is to find out if the node is still there.
    pub is_probed: bool,
}

impl Recalled {
    /// Does it. PDUs that do not fit into the outbox end the link, as they do elsewhere.
    ///
    /// # Errors
    /// Why the link is lost.
    pub fn apply(&mut self, link: &mut Link) -> Result<(), link::Error> {
        if let Some(observer) = self.observer.take() {
            link.watch(observer);
        }
        if self.is_probed {
            link.probe();
        }
        for pdu in self.unsent.drain(..) {
            match link.send(link::StreamId(0), &[&pdu], Class::Keep) {
                // as for other links
                Ok(_) | Err(link::Error::SendTooLong { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Links that were closed on their way.
#[derive(Default)]
pub(super) struct ClosedOnTheWay(HashMap<AssocId, Box<Recalled>>);

impl ClosedOnTheWay {
    pub fn insert(&mut self, assoc: AssocId, recalled: Box<Recalled>) {
        self.0.insert(assoc, recalled);
    }

    /// Notes that a link will not come.
    pub fn forget(&mut self, assoc: AssocId) {
        self.0.remove(&assoc);
    }

    /// Writes what is to be sent on a link that has come, and closes it.
    pub fn close(&mut self, assoc: AssocId, mut link: Link) {
        if let Some(mut recalled) = self.0.remove(&assoc) {
            // what a lost link cannot send is lost
            let _ = recalled.apply(&mut link);
        }
        link.close();
    }
}
