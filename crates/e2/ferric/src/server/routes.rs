//! Which way the indications of each subscription go, as the loops without a controller read it.
//!
//! The loop with the controller writes a new edition whenever ways have changed, and nobody ever changes one that was
//! published. A reader compares one number to see that it has the newest; only to take a newer one it needs the lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use e2::{AssocId, Controller, NodeId, SubscriptionId};
use e2ap::{Codec, RanFunctionId};

/// Where the indications of a subscription that stands go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// They come over this association ...
    pub assoc: AssocId,
    /// ... from this function.
    pub ran_function_id: RanFunctionId,
    /// The node's name for xApps.
    pub node: NodeId,
    /// The loops with somebody who takes them, a bit each.
    pub loops: u64,
}

/// Ways are copied in blocks of this many when one of them changes.
const BLOCK: usize = 128;

/// An edition: all ways, by subscription.
#[derive(Clone, Default)]
pub(super) struct Routes {
    blocks: Vec<Arc<[Option<Way>; BLOCK]>>,
}

impl Routes {
    #[inline]
    pub fn get(&self, subscription: SubscriptionId) -> Option<&Way> {
        let at = subscription.0 as usize;
        self.blocks.get(at / BLOCK)?[at % BLOCK].as_ref()
    }

    fn set(&mut self, subscription: SubscriptionId, way: Option<Way>) {
        let at = subscription.0 as usize;
        if at / BLOCK >= self.blocks.len() {
            self.blocks.resize_with(at / BLOCK + 1, || Arc::new([None; BLOCK]));
        }
        Arc::make_mut(&mut self.blocks[at / BLOCK])[at % BLOCK] = way;
    }
}

/// Where editions hang out.
#[derive(Default)]
pub(super) struct Board {
    edition: AtomicU64,
    routes: Mutex<Arc<Routes>>,
}

/// Who writes editions.
#[derive(Default)]
pub(super) struct Editor {
    board: Arc<Board>,
    draft: Routes,
    /// Ways that are new.
    begun: Vec<(Way, Codec)>,
}

impl Editor {
    /// A way that is new since it was last asked, and how its node speaks.
    pub fn next_begun(&mut self) -> Option<(Way, Codec)> {
        self.begun.pop()
    }

    pub fn board(&self) -> Arc<Board> {
        self.board.clone()
    }

    /// Publishes a new edition if ways have changed. `loops` tells on which loops there is somebody among the consumers.
    pub fn publish(&mut self, controller: &mut Controller, loops: impl Fn(&[e2::Consumer]) -> u64) {
        let mut changed = false;
        while let Some(subscription) = controller.poll_route() {
            let route = controller.route_of(subscription);
            let way = route.map(|route| Way {
                assoc: route.assoc,
                ran_function_id: route.ran_function_id,
                node: route.node,
                loops: loops(route.consumers),
            });
            let before = self.draft.get(subscription);
            if before != way.as_ref() {
                if before.is_none() {
                    self.begun.extend(way.zip(route.map(|route| route.codec)));
                }
                self.draft.set(subscription, way);
                changed = true;
            }
        }
        if changed {
            self.board.hang_out(self.draft.clone());
        }
    }
}

impl Board {
    fn hang_out(&self, routes: Routes) {
        *self.routes.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(routes);
        self.edition.fetch_add(1, Ordering::Release);
    }
}

/// Who reads editions.
pub(super) struct Follower {
    board: Arc<Board>,
    edition: u64,
    routes: Arc<Routes>,
}

impl Follower {
    pub fn new(board: Arc<Board>) -> Self {
        Follower { board, edition: 0, routes: Arc::default() }
    }

    /// The newest edition.
    #[inline]
    pub fn routes(&mut self) -> &Routes {
        let edition = self.board.edition.load(Ordering::Acquire);
        if edition != self.edition {
            // One that is hung out after the number was read may come with it, and is taken again the next time.
            self.routes = self.board.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.edition = edition;
        }
        &self.routes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(number: u64) -> Way {
        Way { assoc: AssocId(number), ran_function_id: RanFunctionId(7), node: NodeId(number as u32), loops: 2 }
    }

    #[test]
    fn an_edition_stays_as_it_was_when_the_next_one_is_written() {
        let mut routes = Routes::default();
        let at = |place: usize| SubscriptionId(place as u32);
        for place in [0, 1, BLOCK - 1, BLOCK, 10 * BLOCK + 3] {
            assert_eq!(routes.get(at(place)), None);
            routes.set(at(place), Some(way(place as u64)));
            assert_eq!(routes.get(at(place)), Some(&way(place as u64)));
        }
        let older = routes.clone();
        routes.set(at(BLOCK), None);
        routes.set(at(0), Some(way(99)));
        assert_eq!((routes.get(at(BLOCK)), routes.get(at(0))), (None, Some(&way(99))));
        assert_eq!((older.get(at(BLOCK)), older.get(at(0))), (Some(&way(BLOCK as u64)), Some(&way(0))));
        assert_eq!(routes.get(SubscriptionId(u32::MAX)), None);
        // blocks without a change are the same for both
        assert!(Arc::ptr_eq(&routes.blocks[10], &older.blocks[10]));
        assert!(!Arc::ptr_eq(&routes.blocks[0], &older.blocks[0]));
    }

    #[test]
    fn followers_in_other_threads_see_the_newest_edition_and_none_in_between() {
        const EDITIONS: u64 = 2000;
        let board = Arc::new(Board::default());
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let mut follower = Follower::new(board.clone());
                std::thread::spawn(move || {
                    let mut last = 0;
                    while last < EDITIONS {
                        let routes = follower.routes();
                        let (first, second) = (routes.get(SubscriptionId(0)), routes.get(SubscriptionId(500)));
                        assert_eq!(first, second, "both were written into one edition");
                        let edition = first.map_or(0, |way| way.assoc.0);
                        assert!(edition >= last, "editions do not go back");
                        last = edition;
                    }
                })
            })
            .collect();
        let mut draft = Routes::default();
        for edition in 1..=EDITIONS {
            draft.set(SubscriptionId(0), Some(way(edition)));
            draft.set(SubscriptionId(500), Some(way(edition)));
            board.hang_out(draft.clone());
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    }
}
