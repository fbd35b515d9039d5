//! RIC Service Update (E2AP v03.01 8.3.4): a node updates its RAN functions.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, RanFunctionIdCauseItem, RanFunctionIdItem, RanFunctionItem, TimeToWait,
    TransactionId,
};

messages! {
    /// RIC SERVICE UPDATE (E2AP v03.01 9.1.2.7).
    RicServiceUpdate<'a> = Initiating RIC_SERVICE_UPDATE {
        /// The transaction, repeated in the response.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// New RAN functions.
        may ran_functions_added: Items<'a, RanFunctionItem<'a>> = 10 Reject [O O O O],
        /// Modified RAN functions.
        may ran_functions_modified: Items<'a, RanFunctionItem<'a>> = 12 Reject [O O O O],
        /// Removed RAN functions.
        may ran_functions_deleted: Items<'a, RanFunctionIdItem> = 11 Reject [O O O O],
    }

    /// RIC SERVICE UPDATE ACKNOWLEDGE (E2AP v03.01 9.1.2.8).
    RicServiceUpdateAcknowledge<'a> = Successful RIC_SERVICE_UPDATE {
        /// As in the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The RAN functions that the RIC accepts.
        may ran_functions_accepted: Items<'a, RanFunctionIdItem> = 9 Reject [O O O O],
        /// The RAN functions that the RIC rejects.
        may ran_functions_rejected: Items<'a, RanFunctionIdCauseItem> = 13 Reject [O O O O],
    }

    /// RIC SERVICE UPDATE FAILURE (E2AP v03.01 9.1.2.9).
    RicServiceUpdateFailure<'a> = Unsuccessful RIC_SERVICE_UPDATE {
        /// As in the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The rejected RAN functions, in v1.
        may ran_functions_rejected: Items<'a, RanFunctionIdCauseItem> = 13 Ignore [O O _ _],
        /// The cause, from v2 on.
        may cause: Cause = 1 Reject [_ _ M M],
        /// The minimum time before the next attempt.
        may time_to_wait: TimeToWait = 31 Ignore [O O O O],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }
}
