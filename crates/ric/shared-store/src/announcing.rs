//! Tells xApps the RICs that share nodes, so that an xApp that knows some of them finds all.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ferric::e2::xapp::RicList;
use ferric::e2::{Consumer, Indication};
use ferric::server::{Iapp, IappContext, IappEvent};

use crate::peers::{Peers, Shared};

/// An internal app that is the service [`RicList`]: it answers each xApp that asks, and sends the list again when RICs have come or
/// gone.
pub struct AnnounceRics {
    shared: Option<Arc<Shared>>,
    /// The xApps that have asked.
    asking: BTreeSet<Consumer>,
    generation: u64,
}

impl AnnounceRics {
    /// Announces these RICs. `None` for a RIC that shares nodes with no other, whose list is empty.
    #[must_use]
    pub fn new(peers: Option<&Peers>) -> Self {
        AnnounceRics { shared: peers.map(Peers::shared), asking: BTreeSet::new(), generation: 0 }
    }

    fn document(&self) -> Vec<u8> {
        let list = self.shared.as_ref().map(|shared| shared.members().for_xapps());
        list.unwrap_or_default().encode()
    }
}

impl fmt::Debug for AnnounceRics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnnounceRics").field("asking", &self.asking).finish_non_exhaustive()
    }
}

impl Iapp for AnnounceRics {
    fn name(&self) -> &str {
        "list of RICs"
    }

    fn serves(&self, kind: u32) -> bool {
        kind == RicList::QUERY
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::XappMessage { xapp, .. } => {
                self.asking.insert(*xapp);
                // if its session has ended, the event of that follows
                let _ = ric.send_to_xapp(*xapp, RicList::ANSWER, &self.document());
            }
            IappEvent::XappEnded { xapp, .. } => drop(self.asking.remove(xapp)),
            _ => {}
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let Some(generation) = self.shared.as_ref().map(|shared| shared.members().generation) else { return };
        if std::mem::replace(&mut self.generation, generation) == generation {
            return;
        }
        let document = self.document();
        for xapp in &self.asking {
            // one whose session has just ended is removed by the event of that
            let _ = ric.send_to_xapp(*xapp, RicList::ANSWER, &document);
        }
    }
}
