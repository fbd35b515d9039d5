//! E2 Node Configuration Update (E2AP v03.01 8.3.5): a node updates its components; from v01.01 on.

use crate::items::Items;
use crate::message::messages;
use crate::{
    Cause, CriticalityDiagnostics, E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigAdditionItem,
    E2NodeComponentConfigRemovalAckItem, E2NodeComponentConfigRemovalItem, E2NodeComponentConfigUpdateAckItem,
    E2NodeComponentConfigUpdateAckItemV1, E2NodeComponentConfigUpdateItem, E2NodeComponentConfigUpdateItemV1,
    E2NodeTnlAssociationRemovalItem, GlobalE2NodeId, TimeToWait, TransactionId,
};

messages! {
    /// E2 NODE CONFIGURATION UPDATE (E2AP v03.01 9.1.2.11).
    E2NodeConfigurationUpdate<'a> = Initiating E2_NODE_CONFIGURATION_UPDATE {
        /// The transaction, repeated in the response.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The node, if the association does not identify it.
        may global_e2_node_id: GlobalE2NodeId = 3 Reject [_ _ O O],
        /// Components in the form of v01.01.
        may component_config_update_v1: Items<'a, E2NodeComponentConfigUpdateItemV1<'a>> = 33 Reject [_ O _ _],
        /// Added components.
        may component_config_addition: Items<'a, E2NodeComponentConfigAdditionItem<'a>> = 50 Reject [_ _ O O],
        /// Changed components.
        may component_config_update: Items<'a, E2NodeComponentConfigUpdateItem<'a>> = 33 Reject [_ _ O O],
        /// Removed components.
        may component_config_removal: Items<'a, E2NodeComponentConfigRemovalItem<'a>> = 54 Reject [_ _ O O],
        /// Associations that the node removed.
        may tnl_association_removal: Items<'a, E2NodeTnlAssociationRemovalItem<'a>> = 58 Reject [_ _ O O],
    }

    /// E2 NODE CONFIGURATION UPDATE ACKNOWLEDGE (E2AP v03.01 9.1.2.12).
    E2NodeConfigurationUpdateAcknowledge<'a> = Successful E2_NODE_CONFIGURATION_UPDATE {
        /// As in the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The results in v01.01.
        may component_config_update_ack_v1: Items<'a, E2NodeComponentConfigUpdateAckItemV1> = 35 Reject [_ O _ _],
        /// The results for added components.
        may component_config_addition_ack: Items<'a, E2NodeComponentConfigAdditionAckItem<'a>> = 52 Reject [_ _ O O],
        /// The results for changed components.
        may component_config_update_ack: Items<'a, E2NodeComponentConfigUpdateAckItem<'a>> = 35 Reject [_ _ O O],
        /// The results for removed components.
        may component_config_removal_ack: Items<'a, E2NodeComponentConfigRemovalAckItem<'a>> = 56 Reject [_ _ O O],
    }

    /// E2 NODE CONFIGURATION UPDATE FAILURE (E2AP v03.01 9.1.2.13).
    E2NodeConfigurationUpdateFailure<'a> = Unsuccessful E2_NODE_CONFIGURATION_UPDATE {
        /// As in the update.
        may transaction_id: TransactionId = 49 Reject [_ _ M M],
        /// The cause.
        may cause: Cause = 1 Ignore [_ M M M],
        /// The minimum time before the next attempt.
        may time_to_wait: TimeToWait = 31 Ignore [_ O O O],
        /// The errors in the request.
        may criticality_diagnostics: CriticalityDiagnostics<'a> = 2 Ignore [_ O O O],
    }
}
