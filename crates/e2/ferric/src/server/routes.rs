//! The routes of indications, by subscription, as the workers read them.
//!
//! The main loop publishes a new version of the table when routes have changed; a published version never changes. A
//! reader compares a number to see whether it has the newest version, and takes the lock only to get a newer one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use e2::{AssocId, Controller, NodeId, SubscriptionId};
use e2ap::{Codec, RanFunctionId};

/// The route of a subscription's indications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The association of the node.
    pub assoc: AssocId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
    /// The node's id for xApps.
    pub node: NodeId,
    /// The loops with a consumer, one bit each.
    pub loops: u64,
}

/// Routes are copied in blocks of this many when one of them changes.
const BLOCK: usize = 128;

/// A version of the table: all routes, by subscription.
#[derive(Clone, Default)]
pub(super) struct RouteTable {
    blocks: Vec<Arc<[Option<Route>; BLOCK]>>,
}

impl RouteTable {
    #[inline]
    pub fn get(&self, subscription: SubscriptionId) -> Option<&Route> {
        let at = subscription.0 as usize;
        self.blocks.get(at / BLOCK)?[at % BLOCK].as_ref()
    }

    fn set(&mut self, subscription: SubscriptionId, route: Option<Route>) {
        let at = subscription.0 as usize;
        if at / BLOCK >= self.blocks.len() {
            self.blocks.resize_with(at / BLOCK + 1, || Arc::new([None; BLOCK]));
        }
        Arc::make_mut(&mut self.blocks[at / BLOCK])[at % BLOCK] = route;
    }
}

/// The published version.
#[derive(Default)]
pub(super) struct SharedRoutes {
    edition: AtomicU64,
    routes: Mutex<Arc<RouteTable>>,
}

/// The writer, in the main loop.
#[derive(Default)]
pub(super) struct RouteWriter {
    board: Arc<SharedRoutes>,
    draft: RouteTable,
    /// New routes.
    new_routes: Vec<(Route, Codec)>,
}

impl RouteWriter {
    /// Returns a route that is new since the previous call, with the encoding of its node.
    pub fn next_new_route(&mut self) -> Option<(Route, Codec)> {
        self.new_routes.pop()
    }

    pub fn board(&self) -> Arc<SharedRoutes> {
        self.board.clone()
    }

    /// Publishes a new version if routes have changed. `loops` returns the loops of the given consumers.
    pub fn publish(&mut self, controller: &mut Controller, loops: impl Fn(&[e2::Consumer]) -> u64) {
        let mut changed = false;
        while let Some(subscription) = controller.poll_route() {
            let before = self.draft.get(subscription);
            let (route, codec) = controller
                .route_of(subscription)
                .map(|route| {
                    let loops = loops(route.consumers);
                    let (assoc, ran_function_id, node) = (route.assoc, route.ran_function_id, route.node);
                    (Route { assoc, ran_function_id, node, loops }, route.codec)
                })
                .unzip();
            if before != route.as_ref() {
                if before.is_none() {
                    self.new_routes.extend(route.zip(codec));
                }
                self.draft.set(subscription, route);
                changed = true;
            }
        }
        if changed {
            self.board.publish(self.draft.clone());
        }
    }
}

impl SharedRoutes {
    fn publish(&self, routes: RouteTable) {
        *self.routes.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(routes);
        self.edition.fetch_add(1, Ordering::Release);
    }
}

/// A reader, in a worker.
pub(super) struct RouteReader {
    board: Arc<SharedRoutes>,
    edition: u64,
    routes: Arc<RouteTable>,
}

impl RouteReader {
    pub fn new(board: Arc<SharedRoutes>) -> Self {
        RouteReader { board, edition: 0, routes: Arc::default() }
    }

    /// Returns the newest version.
    #[inline]
    pub fn routes(&mut self) -> &RouteTable {
        let edition = self.board.edition.load(Ordering::Acquire);
        if edition != self.edition {
            // if a newer one is published between the two reads, it is taken again the next time
            self.routes = self.board.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.edition = edition;
        }
        &self.routes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(number: u64) -> Route {
        Route { assoc: AssocId(number), ran_function_id: RanFunctionId(7), node: NodeId(number as u32), loops: 2 }
    }

    #[test]
    fn published_version_does_not_change() {
        let mut routes = RouteTable::default();
        let at = |place: usize| SubscriptionId(place as u32);
        for place in [0, 1, BLOCK - 1, BLOCK, 10 * BLOCK + 3] {
            assert_eq!(routes.get(at(place)), None);
            routes.set(at(place), Some(route(place as u64)));
            assert_eq!(routes.get(at(place)), Some(&route(place as u64)));
        }
        let older = routes.clone();
        routes.set(at(BLOCK), None);
        routes.set(at(0), Some(route(99)));
        assert_eq!((routes.get(at(BLOCK)), routes.get(at(0))), (None, Some(&route(99))));
        assert_eq!((older.get(at(BLOCK)), older.get(at(0))), (Some(&route(BLOCK as u64)), Some(&route(0))));
        assert_eq!(routes.get(SubscriptionId(u32::MAX)), None);
        // both share the blocks that did not change
        assert!(Arc::ptr_eq(&routes.blocks[10], &older.blocks[10]));
        assert!(!Arc::ptr_eq(&routes.blocks[0], &older.blocks[0]));
    }

    #[test]
    fn readers_in_other_threads_see_only_whole_versions() {
        const EDITIONS: u64 = 2000;
        let board = Arc::new(SharedRoutes::default());
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let mut follower = RouteReader::new(board.clone());
                std::thread::spawn(move || {
                    let mut last = 0;
                    while last < EDITIONS {
                        let routes = follower.routes();
                        let (first, second) = (routes.get(SubscriptionId(0)), routes.get(SubscriptionId(500)));
                        assert_eq!(first, second, "both are part of one version");
                        let edition = first.map_or(0, |route| route.assoc.0);
                        assert!(edition >= last, "versions do not go back");
                        last = edition;
                    }
                })
            })
            .collect();
        let mut draft = RouteTable::default();
        for edition in 1..=EDITIONS {
            draft.set(SubscriptionId(0), Some(route(edition)));
            draft.set(SubscriptionId(500), Some(route(edition)));
            board.publish(draft.clone());
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    }
}
