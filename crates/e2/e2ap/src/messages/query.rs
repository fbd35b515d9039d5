//! RIC Query (E2AP v03.01 8.2.7): the RIC queries a RAN function; from v3 on.

use per::Octets;

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, RanFunctionId, RicRequestId};

messages! {
    /// RIC QUERY REQUEST.
    RicQueryRequest<'a> = Initiating RIC_QUERY {
        /// Identifies the query.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// The service model's header.
        must header: Octets<'a> = 95 Reject [_ _ _ M],
        /// The service model's query definition.
        must definition: Octets<'a> = 96 Reject [_ _ _ M],
    }

    /// RIC QUERY RESPONSE.
    RicQueryResponse<'a> = Successful RIC_QUERY {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// The service model's query outcome.
        must outcome: Octets<'a> = 97 Reject [_ _ _ M],
    }

    /// RIC QUERY FAILURE.
    RicQueryFailure<'a> = Unsuccessful RIC_QUERY {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// The cause.
        may cause: Cause = 1 Ignore [_ _ _ M],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ _ _ O],
    }
}
