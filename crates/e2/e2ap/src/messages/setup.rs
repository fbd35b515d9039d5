//! E2 Setup (E2AP v03.01 8.3.1): the first procedure of an association.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigAdditionItem,
    E2NodeComponentConfigUpdateAckItemV1, E2NodeComponentConfigUpdateItemV1, GlobalE2NodeId, GlobalRicId,
    RanFunctionIdCauseItem, RanFunctionIdItem, RanFunctionItem, TimeToWait, TnlInformation, TransactionId,
};

messages! {
    /// E2 SETUP REQUEST (E2AP v03.01 9.1.2.2): a node identifies itself and offers its RAN functions.
    E2SetupRequest<'a> = Initiating E2_SETUP {
        /// The transaction, repeated in the response.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The node.
        must global_e2_node_id: GlobalE2NodeId = 3 Reject [M M M M],
        /// The RAN functions that the node offers.
        may ran_functions_added: Items<'a, RanFunctionItem<'a>> = 10 Reject [O O M M],
        /// The node's components in the form of v01.01.
        may component_config_update_v1: Items<'a, E2NodeComponentConfigUpdateItemV1<'a>> = 33 Reject [_ O _ _],
        /// The node's components.
        may component_config_addition: Items<'a, E2NodeComponentConfigAdditionItem<'a>> = 50 Reject [_ _ M M],
    }

    /// E2 SETUP RESPONSE (E2AP v03.01 9.1.2.3).
    E2SetupResponse<'a> = Successful E2_SETUP {
        /// As in the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The RIC.
        must global_ric_id: GlobalRicId = 4 Reject [M M M M],
        /// The RAN functions that the RIC accepts.
        may ran_functions_accepted: Items<'a, RanFunctionIdItem> = 9 Reject [O O O O],
        /// The RAN functions that the RIC rejects.
        may ran_functions_rejected: Items<'a, RanFunctionIdCauseItem> = 13 Reject [O O O O],
        /// The results for the components in v01.01.
        may component_config_update_ack_v1: Items<'a, E2NodeComponentConfigUpdateAckItemV1> = 35 Reject [_ O _ _],
        /// The results for the components.
        may component_config_addition_ack: Items<'a, E2NodeComponentConfigAdditionAckItem<'a>> = 52 Reject [_ _ M M],
    }

    /// E2 SETUP FAILURE (E2AP v03.01 9.1.2.4).
    E2SetupFailure<'a> = Unsuccessful E2_SETUP {
        /// As in the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The cause.
        may cause: Cause = 1 Ignore [M M M M],
        /// The minimum time before the next attempt.
        may time_to_wait: TimeToWait = 31 Ignore [O O O O],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
        /// The address for the next attempt.
        may tnl_information: TnlInformation<'a> = 48 Ignore [_ O O O],
    }
}
