//! RIC Control (E2AP v03.01 8.2.4).

use per::Octets;

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, RanFunctionId, RicControlAckRequest, RicControlStatus, RicRequestId};

messages! {
    /// RIC CONTROL REQUEST (E2AP v03.01 9.1.1.8).
    RicControlRequest<'a> = Initiating RIC_CONTROL {
        /// Identifies the control.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// The call process that waits for this control.
        may call_process_id: Octets<'a> = 20 Reject [O O O O],
        /// The service model's header.
        must header: Octets<'a> = 22 Reject [M M M M],
        /// The service model's message.
        must message: Octets<'a> = 23 Reject [M M M M],
        /// Whether an acknowledgement is requested.
        may ack_request: RicControlAckRequest = 21 Reject [O O O O],
    }

    /// RIC CONTROL ACKNOWLEDGE (E2AP v03.01 9.1.1.9).
    RicControlAcknowledge<'a> = Successful RIC_CONTROL {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// As in the request.
        may call_process_id: Octets<'a> = 20 Reject [O O O O],
        /// The status, in v1.
        may status: RicControlStatus = 24 Reject [M M _ _],
        /// The service model's outcome.
        may outcome: Octets<'a> = 32 Reject [O O O O],
    }

    /// RIC CONTROL FAILURE (E2AP v03.01 9.1.1.10).
    RicControlFailure<'a> = Unsuccessful RIC_CONTROL {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// As in the request.
        may call_process_id: Octets<'a> = 20 Reject [O O O O],
        /// The cause.
        may cause: Cause = 1 Ignore [M M M M],
        /// The service model's outcome.
        may outcome: Octets<'a> = 32 Reject [O O O O],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ _ O O],
    }
}
