//! Reset (E2AP v03.01 8.3.2): it ends all subscriptions and running procedures.

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, TransactionId};

messages! {
    /// RESET REQUEST (E2AP v03.01 9.1.2.5).
    ResetRequest = Initiating RESET {
        /// The transaction, repeated in the response.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The cause.
        may cause: Cause = 1 Ignore [M M M M],
    }

    /// RESET RESPONSE (E2AP v03.01 9.1.2.6).
    ResetResponse<'a> = Successful RESET {
        /// As in the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }
}
