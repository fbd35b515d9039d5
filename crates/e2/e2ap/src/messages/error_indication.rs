//! Error Indication (E2AP v03.01 8.3.2): something was wrong with a message that has no failure of its own.

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, RanFunctionId, RicRequestId, TransactionId};

messages! {
    /// ERROR INDICATION (E2AP v03.01 9.1.2.1).
    ErrorIndication<'a> = Initiating ERROR_INDICATION {
        /// The global procedure it is about.
        may transaction_id: TransactionId = 49 Reject [_ _ O O],
        /// The request it is about.
        may request_id: RicRequestId = 29 Reject [O O O O],
        /// The function it is about.
        may ran_function_id: RanFunctionId = 5 Reject [O O O O],
        /// What happened.
        may cause: Cause = 1 Ignore [O O O O],
        /// What was wrong.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }
}
