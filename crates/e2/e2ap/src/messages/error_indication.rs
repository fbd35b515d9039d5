//! Error Indication (E2AP v03.01 8.3.3): it reports an error in a message whose procedure has no failure message.

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, RanFunctionId, RicRequestId, TransactionId};

messages! {
    /// ERROR INDICATION (E2AP v03.01 9.1.2.1).
    ErrorIndication<'a> = Initiating ERROR_INDICATION {
        /// The transaction of the message in error.
        may transaction_id: TransactionId = 49 Reject [_ _ O O],
        /// The request in error.
        may request_id: RicRequestId = 29 Reject [O O O O],
        /// The RAN function in error.
        may ran_function_id: RanFunctionId = 5 Reject [O O O O],
        /// The cause.
        may cause: Cause = 1 Ignore [O O O O],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }
}
