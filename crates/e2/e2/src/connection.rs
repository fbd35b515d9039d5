//! Associations that a RIC wants a node to have (E2AP v03.01 8.3.8), as both sides know them.

use e2ap::{
    Cause, E2ConnectionUpdate, E2ConnectionUpdateItem, E2ConnectionUpdateRemoveItem, TnlInformation, TransactionId,
};
use per::IntoOwned;

use crate::change::{all, list};

/// What is to become of the associations between a node and its RIC. [`TnlInformation::addresses`] tells where they lead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionUpdate {
    /// To be set up: at most 32.
    pub add: Vec<E2ConnectionUpdateItem<'static>>,
    /// To be given up: at most 32.
    pub remove: Vec<TnlInformation<'static>>,
    /// To be used otherwise: at most 32.
    pub modify: Vec<E2ConnectionUpdateItem<'static>>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionResult {
    /// Set up.
    pub set_up: Vec<E2ConnectionUpdateItem<'static>>,
    /// Not set up, and why.
    pub failed: Vec<(TnlInformation<'static>, Cause)>,
}

/// The most associations that a list of them has.
pub(crate) const MAX_ASSOCIATIONS: usize = 32;

impl ConnectionUpdate {
    /// Whether there is nothing to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty() && self.modify.is_empty()
    }

    /// Whether no list is too long, no port has other than 16 bits, and nothing is wanted and not wanted at once.
    pub(crate) fn is_sound(&self) -> bool {
        let wanted = || self.add.iter().chain(&self.modify).map(|item| &item.tnl_information);
        let carried = |tnl: &TnlInformation<'_>| {
            (1..=160).contains(&tnl.address.len()) && tnl.port.is_none_or(|port| port.count == 16)
        };
        [self.add.len(), self.remove.len(), self.modify.len()].iter().all(|count| *count <= MAX_ASSOCIATIONS)
            && wanted().chain(&self.remove).all(carried)
            && !wanted().any(|tnl| self.remove.contains(tnl))
            && !self.add.iter().any(|item| self.modify.iter().any(|m| m.tnl_information == item.tnl_information))
    }

    pub(crate) fn of(update: &E2ConnectionUpdate<'_>) -> Self {
        ConnectionUpdate {
            add: all(&update.add).map(|item| item.clone().into_owned()).collect(),
            remove: all(&update.remove).map(|item| item.tnl_information.clone().into_owned()).collect(),
            modify: all(&update.modify).map(|item| item.clone().into_owned()).collect(),
        }
    }

    pub(crate) fn message(&self, transaction_id: Option<TransactionId>) -> E2ConnectionUpdate<'static> {
        E2ConnectionUpdate {
            transaction_id,
            add: list(self.add.iter().cloned()),
            remove: list(self.remove.iter().map(|tnl| E2ConnectionUpdateRemoveItem { tnl_information: tnl.clone() })),
            modify: list(self.modify.iter().cloned()),
        }
    }
}
