//! RIC Service Update (E2AP v03.01 8.3.4): a node tells that its functions changed.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, RanFunctionIdCauseItem, RanFunctionIdItem, RanFunctionItem, TimeToWait,
    TransactionId,
};

messages! {
    /// RIC SERVICE UPDATE (E2AP v03.01 9.1.2.7).
    RicServiceUpdate<'a> = Initiating RIC_SERVICE_UPDATE {
        /// Pairs the answer with this.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// New ones.
        may ran_functions_added: Items<'a, RanFunctionItem<'a>> = 10 Reject [O O O O],
        /// Changed ones.
        may ran_functions_modified: Items<'a, RanFunctionItem<'a>> = 12 Reject [O O O O],
        /// Gone ones.
        may ran_functions_deleted: Items<'a, RanFunctionIdItem> = 11 Reject [O O O O],
    }

    /// RIC SERVICE UPDATE ACKNOWLEDGE (E2AP v03.01 9.1.2.8).
    RicServiceUpdateAcknowledge<'a> = Successful RIC_SERVICE_UPDATE {
        /// That of the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// What the RIC takes.
        may ran_functions_accepted: Items<'a, RanFunctionIdItem> = 9 Reject [O O O O],
        /// What it does not take.
        may ran_functions_rejected: Items<'a, RanFunctionIdCauseItem> = 13 Reject [O O O O],
    }

    /// RIC SERVICE UPDATE FAILURE (E2AP v03.01 9.1.2.9).
    RicServiceUpdateFailure<'a> = Unsuccessful RIC_SERVICE_UPDATE {
        /// That of the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// What v1 does not take.
        may ran_functions_rejected: Items<'a, RanFunctionIdCauseItem> = 13 Ignore [O O _ _],
        /// Why, from v2 on.
        may cause: Cause = 1 Reject [_ _ M M],
        /// Not to be tried again before.
        may time_to_wait: TimeToWait = 31 Ignore [O O O O],
        /// What was wrong.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }
}
