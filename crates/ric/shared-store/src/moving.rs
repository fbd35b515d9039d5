//! Hands nodes over to the RICs that should serve them, after RICs have come or gone.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferric::e2::Indication;
use ferric::server::{Iapp, IappContext, IappEvent};
use tracing::info;

use crate::peers::{Peers, Shared};

/// Nodes that are handed over in a second.
const NODES_PER_SECOND: usize = 20;

/// An internal app that hands nodes over: it closes their associations, and they set up at the RIC that should serve them. It waits
/// until no RIC has come or gone for some time, hands over 20 nodes per second, and each node once until RICs change again.
pub struct MoveNodes {
    shared: Arc<Shared>,
    settling: Duration,
    generation: u64,
    since: Instant,
    last: Instant,
}

impl MoveNodes {
    /// Hands nodes over once the RICs have not changed for so long.
    #[must_use]
    pub fn new(peers: &Peers, settling: Duration) -> Self {
        let now = Instant::now();
        MoveNodes { shared: peers.shared(), settling, generation: 0, since: now, last: now }
    }
}

impl fmt::Debug for MoveNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MoveNodes").field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Iapp for MoveNodes {
    fn name(&self) -> &str {
        "node placement"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let now = Instant::now();
        let mut members = self.shared.members();
        if members.generation != self.generation {
            (self.generation, self.since) = (members.generation, now);
        }
        let has_settled = now.duration_since(self.since) >= self.settling;
        // other threads wake apps as well
        if !has_settled || now.duration_since(self.last) < Duration::from_millis(900) {
            return;
        }
        self.last = now;
        let others = ric.nodes().filter(|node| members.belongs_elsewhere(&node.global_id));
        let others: Vec<_> = others.map(|node| (node.id, node.global_id)).take(NODES_PER_SECOND).collect();
        for (_, global_id) in &others {
            members.hand_over(*global_id);
        }
        drop(members);
        for (id, _) in &others {
            ric.release(*id);
        }
        if !others.is_empty() {
            info!("nodes are handed over to the RICs that they belong to: {}", others.len());
        }
    }
}
