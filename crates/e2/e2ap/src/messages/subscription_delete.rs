//! RIC Subscription Delete (E2AP v03.01 8.2.2) and Delete Required (8.2.2A).

use crate::items::Items;
use crate::message::messages;
use crate::{Cause, CriticalityDiagnostics, RanFunctionId, RicRequestId, RicSubscriptionWithCause};

messages! {
    /// RIC SUBSCRIPTION DELETE REQUEST (E2AP v03.01 9.1.1.4).
    RicSubscriptionDeleteRequest = Initiating RIC_SUBSCRIPTION_DELETE {
        /// The subscription.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
    }

    /// RIC SUBSCRIPTION DELETE RESPONSE (E2AP v03.01 9.1.1.5).
    RicSubscriptionDeleteResponse = Successful RIC_SUBSCRIPTION_DELETE {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
    }

    /// RIC SUBSCRIPTION DELETE FAILURE (E2AP v03.01 9.1.1.6).
    RicSubscriptionDeleteFailure<'a> = Unsuccessful RIC_SUBSCRIPTION_DELETE {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// The cause.
        may cause: Cause = 1 Ignore [M M M M],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }

    /// RIC SUBSCRIPTION DELETE REQUIRED: the node requests the deletion of subscriptions; from v2 on.
    RicSubscriptionDeleteRequired<'a> = Initiating RIC_SUBSCRIPTION_DELETE_REQUIRED {
        /// The subscriptions, each with its cause.
        may subscriptions: Items<'a, RicSubscriptionWithCause> = 60 Ignore [_ _ M M],
    }
}
