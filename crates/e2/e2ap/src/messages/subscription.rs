//! RIC Subscription (E2AP v03.01 8.2.1).

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, RanFunctionId, RicActionAdmitted, RicActionNotAdmitted, RicRequestId,
    RicSubscriptionDetails, RicSubscriptionTime,
};

messages! {
    /// RIC SUBSCRIPTION REQUEST (E2AP v03.01 9.1.1.1).
    RicSubscriptionRequest<'a> = Initiating RIC_SUBSCRIPTION {
        /// Identifies the subscription.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// The event trigger and the actions.
        must details: RicSubscriptionDetails<'a> = 30 Reject [M M M M],
        /// The time at which the subscription starts.
        may start_time: RicSubscriptionTime = 62 Reject [_ _ _ O],
        /// The time at which the subscription ends.
        may end_time: RicSubscriptionTime = 63 Reject [_ _ _ O],
    }

    /// RIC SUBSCRIPTION RESPONSE (E2AP v03.01 9.1.1.2).
    RicSubscriptionResponse<'a> = Successful RIC_SUBSCRIPTION {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// Actions that are set up.
        must actions_admitted: Items<'a, RicActionAdmitted> = 17 Reject [M M M M],
        /// Actions that are not set up.
        may actions_not_admitted: Items<'a, RicActionNotAdmitted> = 18 Reject [O O O O],
    }

    /// RIC SUBSCRIPTION FAILURE (E2AP v03.01 9.1.1.3).
    RicSubscriptionFailure<'a> = Unsuccessful RIC_SUBSCRIPTION {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// The causes by action, in v1.
        may actions_not_admitted: Items<'a, RicActionNotAdmitted> = 18 Reject [M M _ _],
        /// The cause, from v2 on.
        may cause: Cause = 1 Reject [_ _ M M],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
    }
}
