//! E2 Setup (E2AP v03.01 8.3.1): the first procedure of an association.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigAdditionItem,
    E2NodeComponentConfigUpdateAckItemV1, E2NodeComponentConfigUpdateItemV1, GlobalE2NodeId, GlobalRicId,
    RanFunctionIdCauseItem, RanFunctionIdItem, RanFunctionItem, TimeToWait, TnlInformation, TransactionId,
};

messages! {
    /// E2 SETUP REQUEST (E2AP v03.01 9.1.2.2): a node tells who it is and what it offers.
    E2SetupRequest<'a> = Initiating E2_SETUP {
        /// Pairs the answer with this.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Who.
        must global_e2_node_id: GlobalE2NodeId = 3 Reject [M M M M],
        /// What it offers.
        may ran_functions_added: Items<'a, RanFunctionItem<'a>> = 10 Reject [O O M M],
        /// Its components, as v01.01 has them.
        may component_config_update_v1: Items<'a, E2NodeComponentConfigUpdateItemV1<'a>> = 33 Reject [_ O _ _],
        /// Its components.
        may component_config_addition: Items<'a, E2NodeComponentConfigAdditionItem<'a>> = 50 Reject [_ _ M M],
    }

    /// E2 SETUP RESPONSE (E2AP v03.01 9.1.2.3).
    E2SetupResponse<'a> = Successful E2_SETUP {
        /// That of the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Who answers.
        must global_ric_id: GlobalRicId = 4 Reject [M M M M],
        /// What the RIC takes.
        may ran_functions_accepted: Items<'a, RanFunctionIdItem> = 9 Reject [O O O O],
        /// What it does not take.
        may ran_functions_rejected: Items<'a, RanFunctionIdCauseItem> = 13 Reject [O O O O],
        /// What became of the components, as v01.01 has them.
        may component_config_update_ack_v1: Items<'a, E2NodeComponentConfigUpdateAckItemV1> = 35 Reject [_ O _ _],
        /// What became of the components.
        may component_config_addition_ack: Items<'a, E2NodeComponentConfigAdditionAckItem<'a>> = 52 Reject [_ _ M M],
    }

    /// E2 SETUP FAILURE (E2AP v03.01 9.1.2.4).
    E2SetupFailure<'a> = Unsuccessful E2_SETUP {
        /// That of the request.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// Why.
        may cause: Cause = 1 Ignore [M M M M],
        /// Not to be tried again before.
        may time_to_wait: TimeToWait = 31 Ignore [O O O O],
        /// What was wrong.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [O O O O],
        /// To be tried here.
        may tnl_information: TnlInformation<'a> = 48 Ignore [_ O O O],
    }
}
