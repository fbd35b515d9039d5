//! The RIC functional procedures (8.2): those that the RIC begins need a [`Stimulus`](crate::Stimulus), or a RIC that subscribes and
//! controls by itself.

use e2ap::{
    Cause, CauseRicRequest, Pdu, RanFunctionId, RicActionId, RicActionNotAdmitted, RicActionRequiredToBeModified,
    RicActionRequiredToBeRemoved, RicActionType, RicControlAckRequest, RicControlFailure, RicIndication,
    RicIndicationSn, RicIndicationType, RicQueryFailure, RicRequestId, RicSubscriptionDeleteRequired,
    RicSubscriptionFailure, RicSubscriptionModificationRequired, RicSubscriptionResponse, RicSubscriptionWithCause,
    RicTimeToWait, Version,
};
use per::Octets;

use super::responder::Subscription;
use super::{NodeDialogue, NodeSide, empty_update};
use crate::both::Side;
use crate::check::{fail, inconclusive};
use crate::{Action, Check, Step, expect, messages};

/// A request id that the RIC has not used: its requestor belongs to no application.
const UNKNOWN_REQUEST: RicRequestId = RicRequestId { requestor: 65_535, instance: 65_535 };
const CALL_PROCESS: &[u8] = b"conform-call";

pub(super) fn checks<'a>() -> Vec<Check<NodeSide<'a>>> {
    vec![
        Check::new(
            "subscription",
            "8.2.1.2",
            "a RIC Subscription Request is about an offered RAN function and has distinct actions",
            |side: &mut NodeSide<'_>| {
                let (mut dialogue, subscription) = subscribed(side, Action::Subscribe)?;
                if subscription.function != messages::FUNCTION {
                    let id = subscription.function.0;
                    return fail(format!("the subscription is for the RAN function {id}, which is not offered"));
                }
                let ids: Vec<_> = subscription.actions.iter().map(|(id, _)| *id).collect();
                expect::each_once("action", &ids, &ids)?;
                side.fence(&mut dialogue)?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "subscription-refused",
            "8.2.1.3",
            "a refused subscription is over: it is not deleted",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                side.stimulate(Action::Subscribe);
                let request = subscription_request(&mut dialogue)?;
                let Pdu::RicSubscriptionRequest(refused) = &request else { return Ok(()) };
                let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
                let is_v1 = side.version < Version::V2_03;
                let causes = || {
                    let actions = refused.details.actions.iter();
                    actions.map(|action| RicActionNotAdmitted { id: action.id, cause }).collect()
                };
                dialogue.send(RicSubscriptionFailure {
                    request_id: refused.request_id,
                    ran_function_id: refused.ran_function_id,
                    actions_not_admitted: is_v1.then(causes),
                    cause: (!is_v1).then_some(cause),
                    criticality_diagnostics: None,
                })?;
                no_delete_of(side, &mut dialogue, refused.request_id)?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "subscription-unanswered",
            "8.2.1.3",
            "a subscription without an answer is deleted when the RIC's timer expires",
            |side: &mut NodeSide<'_>| {
                side.check(|side, dialogue| {
                    side.stimulate(Action::Subscribe);
                    let Pdu::RicSubscriptionRequest(request) = subscription_request(dialogue)? else { return Ok(()) };
                    let within = dialogue.timeouts.silence;
                    let deleted = dialogue.receive_within("RicSubscriptionDeleteRequest", within, |pdu| match pdu {
                        Pdu::RicSubscriptionDeleteRequest(delete) if delete.request_id == request.request_id => {
                            Some(Ok(pdu.clone()))
                        }
                        _ => None,
                    })?;
                    let Some(delete) = deleted else {
                        return fail(format!(
                            "no RicSubscriptionDeleteRequest within {within:?}; if the RIC's timer is longer, wait longer"
                        ));
                    };
                    dialogue.respond(&delete)
                })
            },
        ),
        Check::new("indication", "8.2.3.2", "reports of a subscription are accepted", |side: &mut NodeSide<'_>| {
            let (mut dialogue, subscription) = subscribed(side, Action::Subscribe)?;
            let (action, _) = subscription.actions[0];
            for sn in 0..3 {
                dialogue.send(indication(&subscription, action, RicIndicationType::Report, sn))?;
            }
            side.fence(&mut dialogue)?;
            dialogue.close();
            Ok(())
        }),
        Check::new(
            "indication-unsubscribed",
            "10.4",
            "a report of a subscription that the RIC does not have does no harm",
            |side: &mut NodeSide<'_>| {
                side.check(|_, dialogue| {
                    let unknown = Subscription {
                        request_id: UNKNOWN_REQUEST,
                        function: messages::FUNCTION,
                        actions: vec![(RicActionId(1), RicActionType::Report)],
                    };
                    dialogue.send(indication(&unknown, RicActionId(1), RicIndicationType::Report, 0))?;
                    // 10.4: an Error Indication is one of the reactions
                    dialogue.forgive(|indication| indication.request_id.is_none_or(|id| id == UNKNOWN_REQUEST));
                    Ok(())
                })
            },
        ),
        Check::new(
            "insert",
            "8.2.3.2, 8.2.4.2",
            "the control that answers an insert has the call process id of the insert",
            |side: &mut NodeSide<'_>| {
                let (mut dialogue, subscription) = subscribed(side, Action::SubscribeInsert)?;
                let insert = subscription.actions.iter().find(|(_, kind)| *kind == RicActionType::Insert);
                let Some((action, _)) = insert else {
                    return inconclusive("the RIC subscribed without an insert action");
                };
                dialogue.send(indication(&subscription, *action, RicIndicationType::Insert, 0))?;
                let control = dialogue.receive_if_offered("RicControlRequest", |pdu| match pdu {
                    Pdu::RicControlRequest(request) => {
                        let call = request.call_process_id.as_ref().map(Octets::to_cow);
                        Some(match call.as_deref() {
                            Some(CALL_PROCESS) => Ok(pdu.clone()),
                            Some(_) => fail("the control has another call process id"),
                            None => fail("the control has no call process id"),
                        })
                    }
                    _ => None,
                })?;
                dialogue.respond(&control)?;
                side.fence(&mut dialogue)?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "subscription-delete",
            "8.2.2.2",
            "a RIC Subscription Delete Request names an existing subscription",
            |side: &mut NodeSide<'_>| {
                let (mut dialogue, subscription) = subscribed(side, Action::Subscribe)?;
                side.stimulate(Action::Unsubscribe);
                let delete = deletion(&mut dialogue, &subscription)?;
                dialogue.respond(&delete)?;
                side.fence(&mut dialogue)?;
                dialogue.close();
                Ok(())
            },
        ),
        Check::new(
            "delete-required",
            "8.2.2A.2",
            "a subscription whose deletion the node requires is deleted",
            |side: &mut NodeSide<'_>| {
                let (mut dialogue, subscription) = subscribed(side, Action::Subscribe)?;
                let required = require_deletion(subscription.request_id, subscription.function);
                dialogue.send(required)?;
                let delete = deletion(&mut dialogue, &subscription)?;
                dialogue.respond(&delete)?;
                side.fence(&mut dialogue)?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V2_03),
        Check::new(
            "delete-required-unknown",
            "8.2.2A.3",
            "a required deletion of an unknown subscription is ignored",
            |side: &mut NodeSide<'_>| {
                side.check(|_, dialogue| dialogue.send(require_deletion(UNKNOWN_REQUEST, RanFunctionId(4095))))
            },
        )
        .since(Version::V2_03),
        Check::new(
            "control",
            "8.2.4.2",
            "a RIC Control Request is about an offered RAN function, and its acknowledgement is accepted",
            |side: &mut NodeSide<'_>| {
                side.check(|side, dialogue| {
                    let control = control_request(side, dialogue)?;
                    dialogue.respond(&control)
                })
            },
        ),
        Check::new("control-failure", "8.2.4.3", "the failure of a control is accepted", |side: &mut NodeSide<'_>| {
            side.check(|side, dialogue| {
                let Pdu::RicControlRequest(control) = control_request(side, dialogue)? else { return Ok(()) };
                dialogue.send(RicControlFailure {
                    request_id: control.request_id,
                    ran_function_id: control.ran_function_id,
                    call_process_id: control.call_process_id,
                    cause: Some(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid)),
                    outcome: None,
                    criticality_diagnostics: None,
                })
            })
        }),
        Check::new(
            "unexpected-answer",
            "10.4",
            "an answer to a request that the RIC has not sent does no harm",
            |side: &mut NodeSide<'_>| {
                side.check(|_, dialogue| {
                    dialogue.send(RicSubscriptionResponse {
                        request_id: UNKNOWN_REQUEST,
                        ran_function_id: messages::FUNCTION,
                        actions_admitted: vec![e2ap::RicActionAdmitted { id: RicActionId(1) }].into(),
                        actions_not_admitted: None,
                    })?;
                    // 10.4: errors in an answer are handled locally
                    Ok(())
                })
            },
        ),
        Check::new(
            "modification",
            "8.2.5.2",
            "a RIC Subscription Modification Request names an existing subscription",
            |side: &mut NodeSide<'_>| {
                let (mut dialogue, subscription) = subscribed(side, Action::Subscribe)?;
                side.stimulate(Action::Modify);
                let request = dialogue.receive_if_offered("RicSubscriptionModificationRequest", |pdu| match pdu {
                    Pdu::RicSubscriptionModificationRequest(request) => {
                        let name = "RicSubscriptionModificationRequest";
                        let ids = (request.request_id, request.ran_function_id.0);
                        let known = (subscription.request_id, subscription.function.0);
                        Some(expect::same_request(name, known, ids).map(|()| pdu.clone()))
                    }
                    _ => None,
                })?;
                dialogue.respond(&request)?;
                side.fence(&mut dialogue)?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V3_01),
        Check::new(
            "modification-required",
            "8.2.6.2",
            "each required modification is confirmed or refused",
            |side: &mut NodeSide<'_>| {
                let (mut dialogue, subscription) = subscribed(side, Action::Subscribe)?;
                let (action, _) = subscription.actions[0];
                dialogue.send(RicSubscriptionModificationRequired {
                    request_id: subscription.request_id,
                    ran_function_id: subscription.function,
                    actions_required_to_be_modified: Some(
                        vec![RicActionRequiredToBeModified { id: action, time_to_wait: RicTimeToWait::W10ms }].into(),
                    ),
                    actions_required_to_be_removed: None,
                })?;
                let known = (subscription.request_id, subscription.function.0);
                dialogue.receive("answer to the RicSubscriptionModificationRequired", |pdu| match pdu {
                    Pdu::RicSubscriptionModificationConfirm(confirm) => {
                        let ids = (confirm.request_id, confirm.ran_function_id.0);
                        let confirmed = confirm.actions_confirmed_for_modification.iter().flat_map(|list| list.iter());
                        let refused = confirm.actions_refused_to_be_modified.iter().flat_map(|list| list.iter());
                        let named: Vec<_> = confirmed.map(|item| item.id).chain(refused.map(|item| item.id)).collect();
                        Some(
                            expect::same_request("RicSubscriptionModificationConfirm", known, ids)
                                .and_then(|()| expect::each_once("action", &[action], &named)),
                        )
                    }
                    Pdu::RicSubscriptionModificationRefuse(refuse) => {
                        let ids = (refuse.request_id, refuse.ran_function_id.0);
                        Some(expect::same_request("RicSubscriptionModificationRefuse", known, ids))
                    }
                    _ => None,
                })?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V3_01),
        Check::new(
            "modification-required-all",
            "8.2.6.3",
            "the removal of all actions of a subscription is refused",
            |side: &mut NodeSide<'_>| {
                let (mut dialogue, subscription) = subscribed(side, Action::Subscribe)?;
                let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
                let all = subscription.actions.iter().map(|(id, _)| RicActionRequiredToBeRemoved { id: *id, cause });
                dialogue.send(RicSubscriptionModificationRequired {
                    request_id: subscription.request_id,
                    ran_function_id: subscription.function,
                    actions_required_to_be_modified: None,
                    actions_required_to_be_removed: Some(all.collect()),
                })?;
                refusal(&mut dialogue, subscription.request_id, subscription.function)?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V3_01),
        Check::new(
            "modification-required-unknown",
            "8.2.6.4",
            "the required modification of an unknown subscription is refused",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let removed = RicActionRequiredToBeModified { id: RicActionId(1), time_to_wait: RicTimeToWait::W10ms };
                dialogue.send(RicSubscriptionModificationRequired {
                    request_id: UNKNOWN_REQUEST,
                    ran_function_id: messages::FUNCTION,
                    actions_required_to_be_modified: Some(vec![removed].into()),
                    actions_required_to_be_removed: None,
                })?;
                refusal(&mut dialogue, UNKNOWN_REQUEST, messages::FUNCTION)?;
                dialogue.close();
                Ok(())
            },
        )
        .since(Version::V3_01),
        Check::new(
            "query",
            "8.2.7.2",
            "a RIC Query Request is about an offered RAN function, and its response is accepted",
            |side: &mut NodeSide<'_>| {
                side.check(|side, dialogue| {
                    let query = query_request(side, dialogue)?;
                    dialogue.respond(&query)
                })
            },
        )
        .since(Version::V3_01),
        Check::new("query-failure", "8.2.7.3", "the failure of a query is accepted", |side: &mut NodeSide<'_>| {
            side.check(|side, dialogue| {
                let Pdu::RicQueryRequest(query) = query_request(side, dialogue)? else { return Ok(()) };
                dialogue.send(RicQueryFailure {
                    request_id: query.request_id,
                    ran_function_id: query.ran_function_id,
                    cause: Some(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable)),
                    criticality_diagnostics: None,
                })
            })
        })
        .since(Version::V3_01),
    ]
}

fn subscription_request(dialogue: &mut NodeDialogue) -> Step<Pdu<'static>> {
    dialogue.receive_if_offered("RicSubscriptionRequest", |pdu| match pdu {
        Pdu::RicSubscriptionRequest(_) => Some(Ok(pdu.clone())),
        _ => None,
    })
}

/// Sets up, and admits the first subscription.
fn subscribed(side: &mut NodeSide<'_>, action: Action) -> Step<(NodeDialogue, Subscription)> {
    let mut dialogue = side.set_up()?;
    side.stimulate(action);
    let request = subscription_request(&mut dialogue)?;
    dialogue.respond(&request)?;
    match dialogue.responder.subscriptions.last().cloned() {
        Some(subscription) => Ok((dialogue, subscription)),
        None => inconclusive("the RIC has deleted its subscription"),
    }
}

fn indication(
    subscription: &Subscription,
    action: RicActionId,
    kind: RicIndicationType,
    sn: u16,
) -> RicIndication<'static> {
    RicIndication {
        request_id: subscription.request_id,
        ran_function_id: subscription.function,
        action_id: action,
        sn: Some(RicIndicationSn(sn)),
        kind,
        header: Octets::from(b"\x00"),
        message: Octets::from(b"\x00"),
        call_process_id: (kind == RicIndicationType::Insert).then(|| Octets::from(CALL_PROCESS)),
    }
}

/// Waits for the deletion of a subscription.
fn deletion(dialogue: &mut NodeDialogue, subscription: &Subscription) -> Step<Pdu<'static>> {
    let known = (subscription.request_id, subscription.function.0);
    dialogue.receive_if_offered("RicSubscriptionDeleteRequest", |pdu| match pdu {
        Pdu::RicSubscriptionDeleteRequest(delete) => {
            let ids = (delete.request_id, delete.ran_function_id.0);
            Some(expect::same_request("RicSubscriptionDeleteRequest", known, ids).map(|()| pdu.clone()))
        }
        _ => None,
    })
}

/// Checks that the RIC goes on, and does not delete a request that is over.
fn no_delete_of(side: &mut NodeSide<'_>, dialogue: &mut NodeDialogue, over: RicRequestId) -> Step {
    let transaction_id = side.transaction();
    dialogue.send(empty_update(transaction_id))?;
    dialogue.receive("answer to an empty RicServiceUpdate", |pdu| match pdu {
        Pdu::RicSubscriptionDeleteRequest(delete) if delete.request_id == over => {
            Some(fail("the RIC deletes the subscription, which was refused"))
        }
        Pdu::RicServiceUpdateAcknowledge(_) => Some(Ok(())),
        _ => None,
    })
}

fn require_deletion(
    request_id: RicRequestId,
    ran_function_id: RanFunctionId,
) -> RicSubscriptionDeleteRequired<'static> {
    let cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
    RicSubscriptionDeleteRequired {
        subscriptions: Some(vec![RicSubscriptionWithCause { request_id, ran_function_id, cause }].into()),
    }
}

fn refusal(dialogue: &mut NodeDialogue, request_id: RicRequestId, function: RanFunctionId) -> Step {
    dialogue.receive("RicSubscriptionModificationRefuse", |pdu| match pdu {
        Pdu::RicSubscriptionModificationRefuse(refuse) => {
            let ids = (refuse.request_id, refuse.ran_function_id.0);
            Some(expect::same_request("RicSubscriptionModificationRefuse", (request_id, function.0), ids))
        }
        Pdu::RicSubscriptionModificationConfirm(_) => Some(fail("the RIC confirmed the modification")),
        _ => None,
    })
}

/// Has the RIC send a control whose answer it waits for.
fn control_request(side: &mut NodeSide<'_>, dialogue: &mut NodeDialogue) -> Step<Pdu<'static>> {
    side.stimulate(Action::Control);
    dialogue.receive_if_offered("RicControlRequest", |pdu| match pdu {
        Pdu::RicControlRequest(request) if request.ran_function_id != messages::FUNCTION => {
            let id = request.ran_function_id.0;
            Some(fail(format!("the control is for the RAN function {id}, which is not offered")))
        }
        Pdu::RicControlRequest(request) => match request.ack_request {
            Some(RicControlAckRequest::NoAck | RicControlAckRequest::NAck) => None,
            _ => Some(Ok(pdu.clone())),
        },
        _ => None,
    })
}

fn query_request(side: &mut NodeSide<'_>, dialogue: &mut NodeDialogue) -> Step<Pdu<'static>> {
    side.stimulate(Action::Query);
    dialogue.receive_if_offered("RicQueryRequest", |pdu| match pdu {
        Pdu::RicQueryRequest(request) if request.ran_function_id != messages::FUNCTION => {
            let id = request.ran_function_id.0;
            Some(fail(format!("the query is for the RAN function {id}, which is not offered")))
        }
        Pdu::RicQueryRequest(_) => Some(Ok(pdu.clone())),
        _ => None,
    })
}
