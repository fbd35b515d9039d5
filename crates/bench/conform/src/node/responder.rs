//! What an E2 node answers besides a check, so that the RIC and its xApps continue.

use e2ap::{
    Cause, CauseTransport, E2ConnectionSetupFailedItem, E2ConnectionUpdateAcknowledge, E2RemovalResponse, Pdu,
    RanFunctionId, ResetResponse, RicActionAdded, RicActionAdmitted, RicActionId, RicActionModified, RicActionRemoved,
    RicActionType, RicControlAckRequest, RicControlAcknowledge, RicControlStatus, RicQueryResponse, RicRequestId,
    RicServiceUpdate, RicSubscriptionDeleteResponse, RicSubscriptionModificationResponse, RicSubscriptionResponse,
    Version,
};
use per::Octets;

use crate::dialogue::Responder;
use crate::messages;

/// A subscription of the RIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub request_id: RicRequestId,
    pub function: RanFunctionId,
    pub actions: Vec<(RicActionId, RicActionType)>,
}

/// An E2 node that admits and acknowledges everything.
pub(crate) struct NodeResponder {
    version: Version,
    transactions: u32,
    pub subscriptions: Vec<Subscription>,
}

impl NodeResponder {
    pub fn new(version: Version) -> Self {
        NodeResponder { version, transactions: 128, subscriptions: Vec::new() }
    }
}

impl Responder for NodeResponder {
    fn respond(&mut self, pdu: &Pdu<'static>) -> Vec<Pdu<'static>> {
        let answer: Pdu<'static> = match pdu {
            Pdu::RicSubscriptionRequest(request) => {
                let actions: Vec<_> = request.details.actions.iter().map(|action| (action.id, action.kind)).collect();
                let admitted = actions.iter().map(|(id, _)| RicActionAdmitted { id: *id }).collect();
                let (request_id, function) = (request.request_id, request.ran_function_id);
                self.subscriptions.push(Subscription { request_id, function, actions });
                RicSubscriptionResponse {
                    request_id,
                    ran_function_id: function,
                    actions_admitted: admitted,
                    actions_not_admitted: None,
                }
                .into()
            }
            Pdu::RicSubscriptionDeleteRequest(request) => {
                self.subscriptions.retain(|subscription| subscription.request_id != request.request_id);
                let (request_id, ran_function_id) = (request.request_id, request.ran_function_id);
                RicSubscriptionDeleteResponse { request_id, ran_function_id }.into()
            }
            Pdu::RicSubscriptionModificationRequest(request) => RicSubscriptionModificationResponse {
                request_id: request.request_id,
                ran_function_id: request.ran_function_id,
                actions_removed: request
                    .actions_to_be_removed
                    .as_ref()
                    .map(|actions| actions.iter().map(|action| RicActionRemoved { id: action.id }).collect()),
                actions_failed_to_be_removed: None,
                actions_modified: request
                    .actions_to_be_modified
                    .as_ref()
                    .map(|actions| actions.iter().map(|action| RicActionModified { id: action.id }).collect()),
                actions_failed_to_be_modified: None,
                actions_added: request
                    .actions_to_be_added
                    .as_ref()
                    .map(|actions| actions.iter().map(|action| RicActionAdded { id: action.id }).collect()),
                actions_failed_to_be_added: None,
            }
            .into(),
            Pdu::RicControlRequest(request) => {
                // 8.2.4.2: an acknowledgement is sent unless the RIC does without
                if matches!(request.ack_request, Some(RicControlAckRequest::NoAck | RicControlAckRequest::NAck)) {
                    return Vec::new();
                }
                RicControlAcknowledge {
                    request_id: request.request_id,
                    ran_function_id: request.ran_function_id,
                    call_process_id: request.call_process_id.clone(),
                    status: (self.version < Version::V2_03).then_some(RicControlStatus::Success),
                    outcome: None,
                }
                .into()
            }
            Pdu::RicQueryRequest(request) => RicQueryResponse {
                request_id: request.request_id,
                ran_function_id: request.ran_function_id,
                outcome: Octets::from(b"\x00"),
            }
            .into(),
            Pdu::ResetRequest(request) => {
                self.subscriptions.clear();
                ResetResponse { transaction_id: request.transaction_id, criticality_diagnostics: None }.into()
            }
            Pdu::RicServiceQuery(query) => {
                self.transactions += 1;
                let knows = |id| query.ran_functions_accepted.as_ref().is_some_and(|l| l.iter().any(|f| f.id == id));
                let function = messages::kpm_function(messages::FUNCTION, 1, self.version);
                RicServiceUpdate {
                    transaction_id: messages::transaction(self.version, self.transactions),
                    ran_functions_added: (!knows(function.id)).then(|| vec![function].into()),
                    ran_functions_modified: None,
                    ran_functions_deleted: None,
                }
                .into()
            }
            Pdu::E2ConnectionUpdate(update) => {
                let wanted = update.add.iter().chain(&update.modify).flat_map(|items| items.iter());
                let failed: Vec<_> = wanted
                    .map(|item| E2ConnectionSetupFailedItem {
                        tnl_information: item.tnl_information.clone(),
                        cause: Cause::Transport(CauseTransport::TransportResourceUnavailable),
                    })
                    .collect();
                E2ConnectionUpdateAcknowledge {
                    transaction_id: update.transaction_id,
                    setup: None,
                    setup_failed: (!failed.is_empty()).then(|| failed.into()),
                }
                .into()
            }
            Pdu::E2RemovalRequest(request) => {
                E2RemovalResponse { transaction_id: request.transaction_id, criticality_diagnostics: None }.into()
            }
            // answers, which nothing waits for any more
            _ => return Vec::new(),
        };
        vec![answer]
    }
}
