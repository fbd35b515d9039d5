//! RIC Subscription Modification (E2AP v03.01 8.2.5): the RIC changes a subscription; from v3 on.

use per::Octets;

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, RanFunctionId, RicActionAdded, RicActionFailedToBeAdded,
    RicActionFailedToBeModified, RicActionFailedToBeRemoved, RicActionModified, RicActionRemoved, RicActionToBeAdded,
    RicActionToBeModified, RicActionToBeRemoved, RicRequestId,
};

messages! {
    /// RIC SUBSCRIPTION MODIFICATION REQUEST.
    RicSubscriptionModificationRequest<'a> = Initiating RIC_SUBSCRIPTION_MODIFICATION {
        /// The subscription.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// The new event trigger.
        may event_trigger_definition: Octets<'a> = 64 Ignore [_ _ _ O],
        /// Actions to remove.
        may actions_to_be_removed: Items<'a, RicActionToBeRemoved> = 65 Ignore [_ _ _ O],
        /// Actions to modify.
        may actions_to_be_modified: Items<'a, RicActionToBeModified<'a>> = 67 Ignore [_ _ _ O],
        /// Actions to add.
        may actions_to_be_added: Items<'a, RicActionToBeAdded<'a>> = 69 Ignore [_ _ _ O],
    }

    /// RIC SUBSCRIPTION MODIFICATION RESPONSE.
    RicSubscriptionModificationResponse<'a> = Successful RIC_SUBSCRIPTION_MODIFICATION {
        /// As in the request.
        must request_id: RicRequestId = 29 Reject [_ _ _ M],
        /// As in the request.
        must ran_function_id: RanFunctionId = 5 Reject [_ _ _ M],
        /// Actions that were removed.
        may actions_removed: Items<'a, RicActionRemoved> = 71 Ignore [_ _ _ O],
        /// Actions that were not removed.
        may actions_failed_to_be_removed: Items<'a, RicActionFailedToBeRemoved> = 73 Ignore [_ _ _ O],
        /// Actions that were modified.
        may actions_modified: Items<'a, RicActionModified> = 75 Ignore [_ _ _ O],
        /// Actions that were not modified.
        may actions_failed_to_be_modified: Items<'a, RicActionFailedToBeModified> = 77 Ignore [_ _ _ O],
        /// Actions that were added.
        may actions_added: Items<'a, RicActionAdded> = 79 Ignore [_ _ _ O],
        /// Actions that were not added.
        may actions_failed_to_be_added: Items<'a, RicActionFailedToBeAdded> = 81 Ignore [_ _ _ O],
    }

    /// RIC SUBSCRIPTION MODIFICATION FAILURE.
    RicSubscriptionModificationFailure<'a> = Unsuccessful RIC_SUBSCRIPTION_MODIFICATION {
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
