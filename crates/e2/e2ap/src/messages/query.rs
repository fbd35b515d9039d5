//! RIC Query (E2AP v03.01 8.2.9): the RIC asks a function; from v3 on.

use per::Octets;

use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, RanFunctionId, RicRequestId};

messages! {
    /// RIC QUERY REQUEST.
    RicQueryRequest<'a> = Initiating RIC_QUERY {
        /// Names this query.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// The function that is asked.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// The service model's header.
        must header: Octets<'a> = 95 Reject [_ _ _ M],
        /// The service model's question.
        must definition: Octets<'a> = 96 Reject [_ _ _ M],
    }

    /// RIC QUERY RESPONSE.
    RicQueryResponse<'a> = Successful RIC_QUERY {
        /// That of the request.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// That of the request.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// The service model's answer.
        must outcome: Octets<'a> = 97 Reject [_ _ _ M],
    }

    /// RIC QUERY FAILURE.
    RicQueryFailure<'a> = Unsuccessful RIC_QUERY {
        /// That of the request.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// That of the request.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// Why.
        may cause: Cause = 1 Ignore [_ _ _ M],
        /// What was wrong.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ _ _ O],
    }
}
