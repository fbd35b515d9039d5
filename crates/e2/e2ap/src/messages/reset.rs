//! Reset (E2AP v03.01 8.3.3): either side forgets all subscriptions and running procedures.

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, TransactionId};

messages! {
    /// RESET REQUEST (E2AP v03.01 9.1.2.5).
    ResetRequest = Initiating RESET {
        /// Pairs the answer with this.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Why.
        may cause: Cause = 1 Ignore [M M M M],
    }

    /// RESET RESPONSE (E2AP v03.01 9.1.2.6).
    ResetResponse<'a> = Successful RESET {
        /// That of the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// What was wrong.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }
}
