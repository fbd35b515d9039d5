//! E2 Connection Update (E2AP v03.01 8.3.6): the RIC adds, modifies and removes associations of a node; from v01.01 on.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, E2ConnectionSetupFailedItem, E2ConnectionUpdateItem, E2ConnectionUpdateRemoveItem,
    TimeToWait, TransactionId,
};

messages! {
    /// E2 CONNECTION UPDATE (E2AP v03.01 9.1.2.14).
    E2ConnectionUpdate<'a> = Initiating E2_CONNECTION_UPDATE {
        /// The transaction, repeated in the response.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Associations to set up.
        may add: Items<'a, E2ConnectionUpdateItem<'a>> = 44 Reject [_ O O O],
        /// Associations to remove.
        may remove: Items<'a, E2ConnectionUpdateRemoveItem<'a>> = 46 Reject [_ O O O],
        /// Associations to modify.
        may modify: Items<'a, E2ConnectionUpdateItem<'a>> = 45 Reject [_ O O O],
    }

    /// E2 CONNECTION UPDATE ACKNOWLEDGE (E2AP v03.01 9.1.2.15).
    E2ConnectionUpdateAcknowledge<'a> = Successful E2_CONNECTION_UPDATE {
        /// As in the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Associations that are set up.
        may setup: Items<'a, E2ConnectionUpdateItem<'a>> = 39 Reject [_ O O O],
        /// Associations that failed to be set up.
        may setup_failed: Items<'a, E2ConnectionSetupFailedItem<'a>> = 40 Reject [_ O O O],
    }

    /// E2 CONNECTION UPDATE FAILURE (E2AP v03.01 9.1.2.16).
    E2ConnectionUpdateFailure<'a> = Unsuccessful E2_CONNECTION_UPDATE {
        /// As in the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The cause.
        may cause: Cause = 1 Reject [_ O O O],
        /// The minimum time before the next attempt.
        may time_to_wait: TimeToWait = 31 Ignore [_ O O O],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ O O O],
    }
}
