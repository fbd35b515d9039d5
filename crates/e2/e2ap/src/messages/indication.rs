//! RIC Indication (E2AP v03.01 8.2.5): it carries the reports and inserts of a subscription.

use per::Octets;

use crate::message::messages;
use crate::{RanFunctionId, RicActionId, RicIndicationSn, RicIndicationType, RicRequestId};

messages! {
    /// RIC INDICATION (E2AP v03.01 9.1.1.7).
    RicIndication<'a> = Initiating RIC_INDICATION {
        /// The subscription.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// The action.
        must action_id: RicActionId = 15 Reject [M M M M],
        /// The sequence number.
        may sn: RicIndicationSn = 27 Reject [O O O O],
        /// Report or insert.
        must kind: RicIndicationType = 28 Reject [M M M M],
        /// The service model's header.
        must header: Octets<'a> = 25 Reject [M M M M],
        /// The service model's message.
        must message: Octets<'a> = 26 Reject [M M M M],
        /// The call process that waits for a control.
        may call_process_id: Octets<'a> = 20 Reject [O O O O],
    }
}
