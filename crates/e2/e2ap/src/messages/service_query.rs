//! RIC Service Query (E2AP v03.01 8.3.4): the RIC requests the RAN functions of a node.

use crate::items::Items;
use crate::message::messages;
use crate::{RanFunctionIdItem, TransactionId};

messages! {
    /// RIC SERVICE QUERY (E2AP v03.01 9.1.2.10).
    RicServiceQuery<'a> = Initiating RIC_SERVICE_QUERY {
        /// The transaction, repeated in the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The RAN functions that the RIC knows.
        may ran_functions_accepted: Items<'a, RanFunctionIdItem> = 9 Reject [O O O O],
    }
}
