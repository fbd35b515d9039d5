//! E2 Removal (E2AP v03.01 8.3.7): it ends the association; from v2 on.

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, TransactionId};

messages! {
    /// E2 REMOVAL REQUEST.
    E2RemovalRequest = Initiating E2_REMOVAL {
        /// The transaction, repeated in the response.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
    }

    /// E2 REMOVAL RESPONSE.
    E2RemovalResponse<'a> = Successful E2_REMOVAL {
        /// As in the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ _ O O],
    }

    /// E2 REMOVAL FAILURE.
    E2RemovalFailure<'a> = Unsuccessful E2_REMOVAL {
        /// As in the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The cause.
        may cause: Cause = 1 Ignore [_ _ M M],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ _ O O],
    }
}
