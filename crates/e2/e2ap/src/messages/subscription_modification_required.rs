//! RIC Subscription Modification Required (E2AP v03.01 8.2.6): the node wants a subscription changed; from v3 on.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, RanFunctionId, RicActionConfirmedForModification, RicActionConfirmedForRemoval,
    RicActionRefusedToBeModified, RicActionRefusedToBeRemoved, RicActionRequiredToBeModified,
    RicActionRequiredToBeRemoved, RicRequestId,
};

messages! {
    /// RIC SUBSCRIPTION MODIFICATION REQUIRED.
    RicSubscriptionModificationRequired<'a> = Initiating RIC_SUBSCRIPTION_MODIFICATION_REQUIRED {
        /// The subscription.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// Associations to modify.
        may actions_required_to_be_modified: Items<'a, RicActionRequiredToBeModified> = 83 Ignore [_ _ _ O],
        /// Associations to remove.
        may actions_required_to_be_removed: Items<'a, RicActionRequiredToBeRemoved> = 85 Ignore [_ _ _ O],
    }

    /// RIC SUBSCRIPTION MODIFICATION CONFIRM.
    RicSubscriptionModificationConfirm<'a> = Successful RIC_SUBSCRIPTION_MODIFICATION_REQUIRED {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// Agreed changes.
        may actions_confirmed_for_modification: Items<'a, RicActionConfirmedForModification> = 87 Ignore [_ _ _ O],
        /// Refused changes.
        may actions_refused_to_be_modified: Items<'a, RicActionRefusedToBeModified> = 89 Ignore [_ _ _ O],
        /// Agreed removals.
        may actions_confirmed_for_removal: Items<'a, RicActionConfirmedForRemoval> = 91 Ignore [_ _ _ O],
        /// Refused removals.
        may actions_refused_to_be_removed: Items<'a, RicActionRefusedToBeRemoved> = 93 Ignore [_ _ _ O],
    }

    /// RIC SUBSCRIPTION MODIFICATION REFUSE.
    RicSubscriptionModificationRefuse<'a> = Unsuccessful RIC_SUBSCRIPTION_MODIFICATION_REQUIRED {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// The cause.
        must cause: Cause = 1 Reject [_ _ _ M],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ _ _ O],
    }
}
