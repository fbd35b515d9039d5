//! What an xApp has asked for, so that it can be asked again of a RIC that was lost and is back.
//!
//! A subscription keeps the name that the xApp knows it by. A RIC that comes back gives it another one, so that names are
//! translated from then on; as long as the first RIC is there, both are the same.

use std::collections::{BTreeMap, HashMap};

use e2::{NodeId, SubscriptionId, SubscriptionOrder, Ticket};
use e2ap::{GlobalE2NodeId, RanFunctionId};

/// Something that was asked for and not answered yet.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    Subscribe {
        node: NodeId,
        function: RanFunctionId,
        order: SubscriptionOrder,
        /// The subscription that it is to bring back.
        again: Option<SubscriptionId>,
    },
    Modify(SubscriptionId),
    Control,
    Query,
}

/// A subscription that stands, or is to stand again.
#[derive(Clone, Debug)]
struct Standing {
    node: GlobalE2NodeId,
    function: RanFunctionId,
    order: SubscriptionOrder,
    /// What the RIC calls it; none while the RIC is lost, and until it has taken it again.
    remote: Option<SubscriptionId>,
}

/// What was asked for.
#[derive(Debug, Default)]
pub(super) struct Kept {
    enabled: bool,
    asked: BTreeMap<Ticket, Asked>,
    standing: BTreeMap<SubscriptionId, Standing>,
    /// What the xApp calls a subscription, where that is not what the RIC calls it.
    renamed: HashMap<SubscriptionId, SubscriptionId>,
    /// Subscriptions that were left while the RIC was lost.
    left: Vec<SubscriptionId>,
}

/// What came of a subscription that was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is new; that is its name.
    New(SubscriptionId),
    /// It is back, under its old name, with that node.
    Again(SubscriptionId, NodeId),
}

impl Kept {
    pub fn new(enabled: bool) -> Self {
        Kept { enabled, ..Kept::default() }
    }

    /// Something is asked for.
    pub fn ask(&mut self, ticket: Ticket, asked: impl FnOnce() -> Asked) {
        if self.enabled {
            self.asked.insert(ticket, asked());
        }
    }

    /// Something is answered.
    pub fn answered(&mut self, ticket: Ticket) -> Option<Asked> {
        self.asked.remove(&ticket)
    }

    /// What the xApp calls a subscription.
    #[inline]
    pub fn local(&self, remote: SubscriptionId) -> SubscriptionId {
        if self.renamed.is_empty() { remote } else { self.renamed.get(&remote).copied().unwrap_or(remote) }
    }

    /// What the RIC calls a subscription; none while the RIC does not have it.
    pub fn remote(&self, local: SubscriptionId) -> Option<SubscriptionId> {
        self.standing.get(&local).map_or(Some(local), |standing| standing.remote)
    }

    /// The RIC has set up what a ticket asked for, with the node of that key.
    pub fn subscribed(
        &mut self,
        ticket: Ticket,
        remote: SubscriptionId,
        key: impl FnOnce(NodeId) -> Option<GlobalE2NodeId>,
    ) -> Taken {
        let Some(Asked::Subscribe { node, function, order, again }) = self.answered(ticket) else {
            return Taken::New(remote);
        };
        if let Some(local) = again
            && let Some(standing) = self.standing.get_mut(&local)
        {
            standing.remote = Some(remote);
            self.rename(remote, local);
            return Taken::Again(local, node);
        }
        let Some(node) = key(node) else { return Taken::New(self.local(remote)) };
        // who subscribes whenever a node comes is given what it had: by the RIC, if the node was lost, else here
        let known = self.local(remote);
        if self.standing.get(&known).is_some_and(|standing| standing.remote == Some(remote)) {
            return Taken::New(known);
        }
        let same = |standing: &Standing| {
            standing.remote.is_none()
                && standing.node == node
                && standing.function == function
                && standing.order == order
        };
        if let Some((local, standing)) = self.standing.iter_mut().find(|(_, standing)| same(standing)) {
            standing.remote = Some(remote);
            let local = *local;
            self.rename(remote, local);
            return Taken::New(local);
        }
        // a name of one that is to come back is not given again
        let mut local = remote;
        while self.standing.contains_key(&local) {
            local = SubscriptionId(local.0.wrapping_sub(1));
        }
        self.rename(remote, local);
        self.standing.insert(local, Standing { node, function, order, remote: Some(remote) });
        Taken::New(local)
    }

    fn rename(&mut self, remote: SubscriptionId, local: SubscriptionId) {
        if remote != local {
            self.renamed.insert(remote, local);
        }
    }

    /// A subscription stands no more, and is not to.
    pub fn ended(&mut self, remote: SubscriptionId) -> SubscriptionId {
        let local = self.local(remote);
        self.renamed.remove(&remote);
        self.standing.remove(&local);
        local
    }

    /// A subscription could not be brought back.
    pub fn forget(&mut self, local: SubscriptionId) {
        self.standing.remove(&local);
    }

    /// The xApp leaves a subscription. What to tell the RIC, if it has it.
    pub fn leave(&mut self, local: SubscriptionId) -> Option<SubscriptionId> {
        let remote = self.remote(local);
        if remote.is_none() {
            self.standing.remove(&local);
            self.left.push(local);
        }
        remote
    }

    /// Subscriptions that were left while the RIC was lost, and are to be told as ended.
    pub fn take_left(&mut self) -> Vec<SubscriptionId> {
        std::mem::take(&mut self.left)
    }

    /// The RIC is lost: what waits for an answer gets none. Subscriptions that were being brought back are so again.
    pub fn lose(&mut self) -> (BTreeMap<Ticket, Asked>, Vec<SubscriptionId>) {
        self.renamed.clear();
        let mut suspended = Vec::new();
        for (local, standing) in &mut self.standing {
            if standing.remote.take().is_some() {
                suspended.push(*local);
            }
        }
        let mut unanswered = std::mem::take(&mut self.asked);
        unanswered.retain(|_, asked| !matches!(asked, Asked::Subscribe { again: Some(_), .. }));
        (unanswered, suspended)
    }

    /// What is to be asked again of a node that is there, but for what the xApp has asked it by itself.
    pub fn to_ask(&self, id: NodeId, key: GlobalE2NodeId) -> Vec<(SubscriptionId, RanFunctionId, SubscriptionOrder)> {
        let asked = |of: &Standing| {
            self.asked.values().any(|asked| match asked {
                Asked::Subscribe { node, function, order, .. } => {
                    (*node, *function) == (id, of.function) && *order == of.order
                }
                _ => false,
            })
        };
        let wanting = |standing: &Standing| standing.remote.is_none() && standing.node == key && !asked(standing);
        let wanting = self.standing.iter().filter(|(_, standing)| wanting(standing));
        wanting.map(|(local, standing)| (*local, standing.function, standing.order.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use e2::SubscriptionSpec;
    use e2ap::{GnbId, PlmnIdentity};

    use super::*;

    const NODE: NodeId = NodeId(1);
    const FUNCTION: RanFunctionId = RanFunctionId(2);

    fn key() -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(1, 22))
    }

    /// Asks for what a trigger stands for.
    fn ask(kept: &mut Kept, ticket: u32, trigger: u8, again: Option<u32>) {
        let order = SubscriptionOrder::from(SubscriptionSpec { event_trigger: vec![trigger], actions: vec![] });
        let again = again.map(SubscriptionId);
        kept.ask(Ticket(ticket), || Asked::Subscribe { node: NODE, function: FUNCTION, order, again });
    }

    fn take(kept: &mut Kept, ticket: u32, remote: u32) -> Taken {
        kept.subscribed(Ticket(ticket), SubscriptionId(remote), |_| Some(key()))
    }

    #[test]
    fn names_stay_when_the_ric_gives_others() {
        let mut kept = Kept::new(true);
        for ticket in [1, 2] {
            ask(&mut kept, ticket, ticket as u8, None);
            assert_eq!(take(&mut kept, ticket, ticket + 10), Taken::New(SubscriptionId(ticket + 10)));
        }
        ask(&mut kept, 3, 3, None);
        let (unanswered, suspended) = kept.lose();
        assert_eq!(unanswered.keys().collect::<Vec<_>>(), [&Ticket(3)]);
        assert_eq!(suspended, [SubscriptionId(11), SubscriptionId(12)]);
        assert_eq!(kept.remote(SubscriptionId(11)), None);

        let again: Vec<_> = kept.to_ask(NODE, key()).into_iter().map(|(local, ..)| local.0).collect();
        assert_eq!(again, [11, 12]);
        ask(&mut kept, 4, 1, Some(11));
        assert_eq!(kept.to_ask(NODE, key()).len(), 1, "once");
        // the RIC gives the name of one that is not back yet
        assert_eq!(take(&mut kept, 4, 12), Taken::Again(SubscriptionId(11), NODE));
        assert_eq!(kept.local(SubscriptionId(12)), SubscriptionId(11));
        ask(&mut kept, 5, 2, Some(12));
        assert_eq!(take(&mut kept, 5, 13), Taken::Again(SubscriptionId(12), NODE));
        assert_eq!(
            (kept.local(SubscriptionId(13)), kept.remote(SubscriptionId(12))),
            (SubscriptionId(12), Some(SubscriptionId(13)))
        );
        // a new one whose name by the RIC is somebody's here
        ask(&mut kept, 6, 6, None);
        let Taken::New(fresh) = take(&mut kept, 6, 11) else { panic!("it is new") };
        assert!(![11, 12].contains(&fresh.0));
        assert_eq!((kept.local(SubscriptionId(11)), kept.remote(fresh)), (fresh, Some(SubscriptionId(11))));

        assert_eq!(kept.ended(SubscriptionId(12)), SubscriptionId(11));
        assert_eq!(kept.leave(SubscriptionId(12)), Some(SubscriptionId(13)));
        assert_eq!(kept.ended(SubscriptionId(13)), SubscriptionId(12));
        // one that is left while the RIC is lost
        assert_eq!(kept.lose().1, [fresh]);
        assert_eq!((kept.leave(fresh), kept.take_left(), kept.to_ask(NODE, key()).len()), (None, vec![fresh], 0));
    }

    #[test]
    fn who_does_not_keep_pays_nothing() {
        let mut kept = Kept::new(false);
        ask(&mut kept, 1, 1, None);
        assert!(kept.asked.is_empty());
        assert_eq!(take(&mut kept, 1, 7), Taken::New(SubscriptionId(7)));
        assert!(kept.standing.is_empty() && kept.lose().1.is_empty());
        assert_eq!(
            (kept.local(SubscriptionId(7)), kept.leave(SubscriptionId(7))),
            (SubscriptionId(7), Some(SubscriptionId(7)))
        );
    }
}
