//! E2 Connection Update (E2AP v03.01 8.3.8): the RIC changes a node's associations; from v01.01 on.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, E2ConnectionSetupFailedItem, E2ConnectionUpdateItem, E2ConnectionUpdateRemoveItem,
    TimeToWait, TransactionId,
};

messages! {
    /// E2 CONNECTION UPDATE (E2AP v03.01 9.1.2.14).
    E2ConnectionUpdate<'a> = Initiating E2_CONNECTION_UPDATE {
        /// Pairs the answer with this.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// To be set up.
        may add: Items<'a, E2ConnectionUpdateItem<'a>> = 44 Reject [_ O O O],
        /// To be removed.
        may remove: Items<'a, E2ConnectionUpdateRemoveItem<'a>> = 46 Reject [_ O O O],
        /// To be changed.
        may modify: Items<'a, E2ConnectionUpdateItem<'a>> = 45 Reject [_ O O O],
    }

    /// E2 CONNECTION UPDATE ACKNOWLEDGE (E2AP v03.01 9.1.2.15).
    E2ConnectionUpdateAcknowledge<'a> = Successful E2_CONNECTION_UPDATE {
        /// That of the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Set up.
        may setup: Items<'a, E2ConnectionUpdateItem<'a>> = 39 Reject [_ O O O],
        /// Failed.
        may setup_failed: Items<'a, E2ConnectionSetupFailedItem<'a>> = 40 Reject [_ O O O],
    }

    /// E2 CONNECTION UPDATE FAILURE (E2AP v03.01 9.1.2.16).
    E2ConnectionUpdateFailure<'a> = Unsuccessful E2_CONNECTION_UPDATE {
        /// That of the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Why.
        may cause: Cause = 1 Reject [_ O O O],
        /// Not to be tried again before.
        may time_to_wait: TimeToWait = 31 Ignore [_ O O O],
        /// What was wrong.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ O O O],
    }
}
