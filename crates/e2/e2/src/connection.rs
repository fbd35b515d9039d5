//! The E2 Connection Update (E2AP v03.01 8.3.6), as both sides use it.

use e2ap::{
    Cause, E2ConnectionUpdate, E2ConnectionUpdateItem, E2ConnectionUpdateRemoveItem, TnlInformation, TransactionId,
};
use per::IntoOwned;

use crate::change::{all, list};

/// A change of the associations between a node and its RIC. [`TnlInformation::addresses`] returns their endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionUpdate {
    /// Associations to set up, at most 32.
    pub add: Vec<E2ConnectionUpdateItem<'static>>,
    /// Associations to release, at most 32.
    pub remove: Vec<TnlInformation<'static>>,
    /// Associations to use for another purpose, at most 32.
    pub modify: Vec<E2ConnectionUpdateItem<'static>>,
}

/// The outcome of a [`ConnectionUpdate`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionResult {
    /// Associations that were set up.
    pub set_up: Vec<E2ConnectionUpdateItem<'static>>,
    /// Associations that could not be set up, and why.
    pub failed: Vec<(TnlInformation<'static>, Cause)>,
}

/// The maximum number of associations in a list.
pub(crate) const MAX_ASSOCIATIONS: usize = 32;

impl ConnectionUpdate {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty() && self.modify.is_empty()
    }

    /// Whether no list is too long, each port has 16 bits, and no association is in two contradicting lists.
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
