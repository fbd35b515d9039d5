//! What a RIC answers besides a check, so that the node continues.

use e2ap::{
    E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigAdditionItem, E2NodeComponentConfigRemovalAckItem,
    E2NodeComponentConfigUpdateAckItem, E2NodeComponentConfigUpdateAckItemV1, E2NodeComponentConfigUpdateItemV1,
    E2NodeComponentConfigurationAck, E2NodeConfigurationUpdateAcknowledge, E2RemovalResponse, E2SetupRequest,
    E2SetupResponse, GlobalRicId, Items, Pdu, PlmnIdentity, RanFunctionIdItem, ResetResponse,
    RicActionConfirmedForModification, RicActionConfirmedForRemoval, RicServiceUpdateAcknowledge,
    RicSubscriptionModificationConfirm, UpdateOutcome,
};

use crate::dialogue::Responder;

const ACCEPTED: E2NodeComponentConfigurationAck =
    E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None };

/// The acknowledgement of configurations in v01.01.
fn acknowledged_v1(
    list: &Items<'static, E2NodeComponentConfigUpdateItemV1<'static>>,
) -> Items<'static, E2NodeComponentConfigUpdateAckItemV1> {
    let item = |item: &E2NodeComponentConfigUpdateItemV1<'_>| E2NodeComponentConfigUpdateAckItemV1 {
        component_type: item.component_type,
        id: item.id,
        ack: ACCEPTED,
    };
    list.iter().map(item).collect()
}

/// The acknowledgement of added components.
fn acknowledged(
    list: &Items<'static, E2NodeComponentConfigAdditionItem<'static>>,
) -> Items<'static, E2NodeComponentConfigAdditionAckItem<'static>> {
    let item = |item: &E2NodeComponentConfigAdditionItem<'static>| E2NodeComponentConfigAdditionAckItem {
        interface_type: item.interface_type,
        id: item.id.clone(),
        ack: ACCEPTED,
    };
    list.iter().map(item).collect()
}

/// The response to a setup request: everything is accepted.
pub(super) fn response(request: &E2SetupRequest<'static>) -> E2SetupResponse<'static> {
    let accepted = request.ran_functions_added.as_ref().filter(|list| !list.is_empty());
    E2SetupResponse {
        transaction_id: request.transaction_id,
        global_ric_id: GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 0xc0f),
        ran_functions_accepted: accepted
            .map(|list| list.iter().map(|item| RanFunctionIdItem { id: item.id, revision: item.revision }).collect()),
        ran_functions_rejected: None,
        component_config_update_ack_v1: request.component_config_update_v1.as_ref().map(acknowledged_v1),
        component_config_addition_ack: request.component_config_addition.as_ref().map(acknowledged),
    }
}

/// A RIC that accepts and acknowledges everything.
pub(crate) struct RicResponder;

impl Responder for RicResponder {
    fn respond(&mut self, pdu: &Pdu<'static>) -> Vec<Pdu<'static>> {
        let answer: Pdu<'static> = match pdu {
            Pdu::E2SetupRequest(request) => response(request).into(),
            Pdu::ResetRequest(request) => {
                ResetResponse { transaction_id: request.transaction_id, criticality_diagnostics: None }.into()
            }
            Pdu::RicServiceUpdate(update) => {
                let offered = update.ran_functions_added.iter().chain(&update.ran_functions_modified);
                let offered = offered.flat_map(|list| list.iter().map(|item| (item.id, item.revision)));
                let deleted = update.ran_functions_deleted.iter();
                let deleted = deleted.flat_map(|list| list.iter().map(|item| (item.id, item.revision)));
                let accepted: Vec<_> =
                    offered.chain(deleted).map(|(id, revision)| RanFunctionIdItem { id, revision }).collect();
                RicServiceUpdateAcknowledge {
                    transaction_id: update.transaction_id,
                    ran_functions_accepted: (!accepted.is_empty()).then(|| accepted.into()),
                    ran_functions_rejected: None,
                }
                .into()
            }
            Pdu::E2NodeConfigurationUpdate(update) => E2NodeConfigurationUpdateAcknowledge {
                transaction_id: update.transaction_id,
                component_config_update_ack_v1: update.component_config_update_v1.as_ref().map(acknowledged_v1),
                component_config_addition_ack: update.component_config_addition.as_ref().map(acknowledged),
                component_config_update_ack: update.component_config_update.as_ref().map(|list| {
                    list.iter()
                        .map(|item| E2NodeComponentConfigUpdateAckItem {
                            interface_type: item.interface_type,
                            id: item.id.clone(),
                            ack: ACCEPTED,
                        })
                        .collect()
                }),
                component_config_removal_ack: update.component_config_removal.as_ref().map(|list| {
                    list.iter()
                        .map(|item| E2NodeComponentConfigRemovalAckItem {
                            interface_type: item.interface_type,
                            id: item.id.clone(),
                            ack: ACCEPTED,
                        })
                        .collect()
                }),
            }
            .into(),
            Pdu::RicSubscriptionModificationRequired(required) => RicSubscriptionModificationConfirm {
                request_id: required.request_id,
                ran_function_id: required.ran_function_id,
                actions_confirmed_for_modification: required
                    .actions_required_to_be_modified
                    .as_ref()
                    .map(|list| list.iter().map(|item| RicActionConfirmedForModification { id: item.id }).collect()),
                actions_refused_to_be_modified: None,
                actions_confirmed_for_removal: required
                    .actions_required_to_be_removed
                    .as_ref()
                    .map(|list| list.iter().map(|item| RicActionConfirmedForRemoval { id: item.id }).collect()),
                actions_refused_to_be_removed: None,
            }
            .into(),
            Pdu::E2RemovalRequest(request) => {
                E2RemovalResponse { transaction_id: request.transaction_id, criticality_diagnostics: None }.into()
            }
            // reports, and answers that nothing waits for any more
            _ => return Vec::new(),
        };
        vec![answer]
    }
}
