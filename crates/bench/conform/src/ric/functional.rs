//! The RIC functional procedures (8.2).

use e2ap::{
    Pdu, RicActionId, RicActionToBeRemoved, RicActionType, RicControlAckRequest, RicControlRequest, RicIndicationType,
    RicQueryRequest, RicRequestId, RicSubscriptionDeleteRequest, RicSubscriptionModificationRequest, Version,
};
use per::Octets;

use super::{RicDialogue, RicSide, UNKNOWN_FUNCTION};
use crate::both::Side;
use crate::both::global::error_indication_check;
use crate::check::{fail, inconclusive};
use crate::{Check, Step, SubscriptionContent, expect};

/// The reports that are looked at.
const REPORTS: u32 = 3;

pub(super) fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    vec![
        Check::new(
            "subscription",
            "8.2.1.2",
            "a subscription is answered for each action",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let subscription = subscribed(side, dialogue)?;
                    delete(dialogue, &subscription)?;
                    Ok(())
                })
            },
        ),
        Check::new(
            "indication",
            "8.2.3.2",
            "reports have the ids and the type of their subscription",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                for _ in 0..REPORTS {
                    dialogue.receive_if_offered("RicIndication", |pdu| match pdu {
                        Pdu::RicIndication(report) => {
                            let ids = (report.request_id, report.ran_function_id.0);
                            Some(expect::same_request("RicIndication", subscription.ids(), ids).and_then(|()| {
                                match (report.action_id, report.kind) {
                                    (RicActionId(1), RicIndicationType::Report) => Ok(()),
                                    (RicActionId(1), kind) => {
                                        fail(format!("a report action sent an indication of {kind:?}"))
                                    }
                                    (id, _) => {
                                        fail(format!("the report is of the action {}, which was not requested", id.0))
                                    }
                                }
                            }))
                        }
                        _ => None,
                    })?;
                }
                delete(&mut dialogue, &subscription)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "subscription-delete",
            "8.2.2.2",
            "a deleted subscription reports no more",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                delete(&mut dialogue, &subscription)?;
                no_more_reports(side, &mut dialogue, subscription.id)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "subscription-unknown-function",
            "8.2.1.4",
            "a subscription for an unknown RAN function fails",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let id = side.request_id();
                    let content = SubscriptionContent {
                        function: UNKNOWN_FUNCTION.0,
                        event_trigger: vec![0],
                        action_definition: None,
                    };
                    dialogue.send(side.subscription(&content, id))?;
                    subscription_failure(dialogue, (id, UNKNOWN_FUNCTION.0))?;
                    Ok(())
                })
            },
        ),
        Check::new(
            "subscription-repeated",
            "8.2.1.4",
            "the same subscription request again fails, and the subscription stays",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                dialogue.send(side.subscription(&subscription.content, subscription.id))?;
                subscription_failure(&mut dialogue, subscription.ids())?;
                delete(&mut dialogue, &subscription)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "subscription-unknown-ie-reject",
            "10.3.4.2",
            "an unknown IE with criticality reject in a subscription request leads to its failure",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let content = side.content()?;
                    let id = side.request_id();
                    let request = side.subscription(&content, id);
                    let octets = crate::dialogue::encode(&request.into(), side.version)?;
                    dialogue.send_octets(&crate::both::criticality::altered(&octets, e2ap::Criticality::Reject)?);
                    subscription_failure(dialogue, (id, content.function))?;
                    Ok(())
                })
            },
        ),
        Check::new(
            "subscription-delete-unknown",
            "8.2.2.3",
            "the deletion of an unknown subscription fails",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let function = offered_function(side)?;
                let request_id = side.request_id();
                dialogue.send(RicSubscriptionDeleteRequest { request_id, ran_function_id: function })?;
                dialogue.receive("RicSubscriptionDeleteFailure", |pdu| match pdu {
                    Pdu::RicSubscriptionDeleteFailure(failure) => {
                        let ids = (failure.request_id, failure.ran_function_id.0);
                        Some(expect::same_request("RicSubscriptionDeleteFailure", (request_id, function.0), ids))
                    }
                    Pdu::RicSubscriptionDeleteResponse(_) => Some(fail("the node says that it deleted it")),
                    _ => None,
                })?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "control-unknown-function",
            "8.2.4.3",
            "a control of an unknown RAN function fails",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let id = side.request_id();
                    dialogue.send(RicControlRequest {
                        request_id: id,
                        ran_function_id: UNKNOWN_FUNCTION,
                        call_process_id: None,
                        header: Octets::from(b"\x00"),
                        message: Octets::from(b"\x00"),
                        ack_request: Some(RicControlAckRequest::Ack),
                    })?;
                    dialogue.receive("RicControlFailure", |pdu| match pdu {
                        Pdu::RicControlFailure(failure) => {
                            let ids = (failure.request_id, failure.ran_function_id.0);
                            Some(expect::same_request("RicControlFailure", (id, UNKNOWN_FUNCTION.0), ids))
                        }
                        Pdu::RicControlAcknowledge(_) => Some(fail("the node acknowledged the control")),
                        _ => None,
                    })
                })
            },
        ),
        Check::new(
            "control",
            "8.2.4.2",
            "a control is acknowledged if the RIC asks for it",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let (control, ids) = control(side, RicControlAckRequest::Ack)?;
                    dialogue.send(control)?;
                    dialogue.receive("RicControlAcknowledge", |pdu| match pdu {
                        Pdu::RicControlAcknowledge(ack) => Some(expect::same_request(
                            "RicControlAcknowledge",
                            ids,
                            (ack.request_id, ack.ran_function_id.0),
                        )),
                        Pdu::RicControlFailure(failure) => {
                            let cause = failure.cause.map_or("no cause".to_owned(), |cause| cause.to_string());
                            Some(inconclusive(format!("the node did not execute the given control: {cause}")))
                        }
                        _ => None,
                    })
                })
            },
        ),
        Check::new(
            "control-no-ack",
            "8.2.4.2",
            "a control is not acknowledged if the RIC asks for nothing",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let (control, _) = control(side, RicControlAckRequest::NoAck)?;
                dialogue.send(control)?;
                side.fence_with(&mut dialogue, |pdu| match pdu {
                    Pdu::RicControlAcknowledge(_) => Some(fail("the node acknowledged the control")),
                    _ => None,
                })?;
                side.end(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "insert",
            "8.2.3.2",
            "an insert has a call process id, by which a control answers it",
            |side: &mut RicSide<'_>| {
                let Some(content) = side.config.insert.clone() else {
                    return inconclusive("no insert is configured");
                };
                let mut dialogue = side.begin()?;
                let subscription = subscribe(side, &mut dialogue, content, RicActionType::Insert)?;
                let call = dialogue.receive_if_offered("RicIndication of an insert", |pdu| match pdu {
                    Pdu::RicIndication(insert) if insert.request_id == subscription.id => {
                        Some(match (&insert.call_process_id, insert.kind) {
                            (Some(call), RicIndicationType::Insert) => Ok(call.clone()),
                            (None, RicIndicationType::Insert) => fail("the insert has no call process id"),
                            (_, kind) => fail(format!("an insert action sent an indication of {kind:?}")),
                        })
                    }
                    _ => None,
                })?;
                let request_id = side.request_id();
                let called = call.to_cow().into_owned();
                dialogue.send(RicControlRequest {
                    request_id,
                    ran_function_id: e2ap::RanFunctionId(subscription.content.function),
                    call_process_id: Some(call),
                    header: Octets::from(b"\x00"),
                    message: Octets::from(b"\x00"),
                    ack_request: Some(RicControlAckRequest::Ack),
                })?;
                let same_call = |name: &str, call: &Option<Octets<'static>>| match call {
                    Some(call) if *call.to_cow() == *called => Ok(()),
                    _ => fail(format!("{name} does not repeat the call process id")),
                };
                dialogue.receive("answer to the RicControlRequest", |pdu| match pdu {
                    Pdu::RicControlAcknowledge(ack) if ack.request_id == request_id => {
                        Some(same_call("RicControlAcknowledge", &ack.call_process_id))
                    }
                    Pdu::RicControlFailure(failure) if failure.request_id == request_id => {
                        Some(same_call("RicControlFailure", &failure.call_process_id))
                    }
                    _ => None,
                })?;
                delete(&mut dialogue, &subscription)?;
                side.end(dialogue);
                Ok(())
            },
        ),
        error_indication_check(),
        Check::new(
            "delete-required",
            "8.2.2A.2",
            "a required deletion names an existing subscription",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                let known = subscription.ids();
                dialogue.receive_if_offered("RicSubscriptionDeleteRequired", |pdu| match pdu {
                    Pdu::RicSubscriptionDeleteRequired(required) => {
                        let named = required.subscriptions.iter().flat_map(|list| list.iter());
                        let mut unknown =
                            named.map(|item| (item.request_id, item.ran_function_id.0)).filter(|ids| *ids != known);
                        Some(
                            unknown.next().map_or(Ok(()), |ids| {
                                expect::same_request("RicSubscriptionDeleteRequired", known, ids)
                            }),
                        )
                    }
                    _ => None,
                })?;
                delete(&mut dialogue, &subscription)?;
                side.end(dialogue);
                Ok(())
            },
        )
        .since(Version::V2_03),
        Check::new(
            "modification",
            "8.2.5.2",
            "the modification of a subscription's event trigger is answered",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                let mut change = no_change(subscription.ids());
                change.event_trigger_definition = Some(Octets::from(subscription.content.event_trigger.clone()));
                dialogue.send(change)?;
                dialogue.receive("answer to the RicSubscriptionModificationRequest", |pdu| match pdu {
                    Pdu::RicSubscriptionModificationResponse(response) => {
                        let ids = (response.request_id, response.ran_function_id.0);
                        Some(expect::same_request("RicSubscriptionModificationResponse", subscription.ids(), ids))
                    }
                    Pdu::RicSubscriptionModificationFailure(failure) => {
                        let ids = (failure.request_id, failure.ran_function_id.0);
                        Some(expect::same_request("RicSubscriptionModificationFailure", subscription.ids(), ids))
                    }
                    _ => None,
                })?;
                delete(&mut dialogue, &subscription)?;
                side.end(dialogue);
                Ok(())
            },
        )
        .since(Version::V3_01),
        Check::new(
            "modification-remove-all",
            "8.2.5.3",
            "the removal of all actions of a subscription fails",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                let mut change = no_change(subscription.ids());
                change.actions_to_be_removed = Some(vec![RicActionToBeRemoved { id: RicActionId(1) }].into());
                dialogue.send(change)?;
                modification_failure(&mut dialogue, subscription.ids())?;
                delete(&mut dialogue, &subscription)?;
                side.end(dialogue);
                Ok(())
            },
        )
        .since(Version::V3_01),
        Check::new(
            "modification-unknown",
            "8.2.5.4",
            "the modification of an unknown subscription fails",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let ids = (side.request_id(), offered_function(side)?.0);
                    let mut change = no_change(ids);
                    change.actions_to_be_removed = Some(vec![RicActionToBeRemoved { id: RicActionId(1) }].into());
                    dialogue.send(change)?;
                    modification_failure(dialogue, ids)?;
                    Ok(())
                })
            },
        )
        .since(Version::V3_01),
        Check::new(
            "modification-required",
            "8.2.6.2",
            "a required modification names an existing subscription",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.begin()?;
                let subscription = subscribed(side, &mut dialogue)?;
                let required = dialogue.receive_if_offered("RicSubscriptionModificationRequired", |pdu| match pdu {
                    Pdu::RicSubscriptionModificationRequired(required) => {
                        let ids = (required.request_id, required.ran_function_id.0);
                        let name = "RicSubscriptionModificationRequired";
                        Some(expect::same_request(name, subscription.ids(), ids).map(|()| pdu.clone()))
                    }
                    _ => None,
                })?;
                dialogue.respond(&required)?;
                delete(&mut dialogue, &subscription)?;
                side.end(dialogue);
                Ok(())
            },
        )
        .since(Version::V3_01),
        Check::new("query", "8.2.7", "a query is answered by its response or failure", |side: &mut RicSide<'_>| {
            side.check(|side, dialogue| {
                let ids = (side.request_id(), offered_function(side)?.0);
                dialogue.send(query(ids))?;
                dialogue.receive("answer to the RicQueryRequest", |pdu| match pdu {
                    Pdu::RicQueryResponse(response) => {
                        let name = "RicQueryResponse";
                        Some(expect::same_request(name, ids, (response.request_id, response.ran_function_id.0)))
                    }
                    Pdu::RicQueryFailure(failure) => Some(expect::same_request(
                        "RicQueryFailure",
                        ids,
                        (failure.request_id, failure.ran_function_id.0),
                    )),
                    _ => None,
                })
            })
        })
        .since(Version::V3_01),
        Check::new(
            "query-unknown-function",
            "8.2.7.3",
            "a query of an unknown RAN function fails",
            |side: &mut RicSide<'_>| {
                side.check(|side, dialogue| {
                    let ids = (side.request_id(), UNKNOWN_FUNCTION.0);
                    dialogue.send(query(ids))?;
                    dialogue.receive("RicQueryFailure", |pdu| match pdu {
                        Pdu::RicQueryFailure(failure) => Some(expect::same_request(
                            "RicQueryFailure",
                            ids,
                            (failure.request_id, failure.ran_function_id.0),
                        )),
                        Pdu::RicQueryResponse(_) => Some(fail("the node answered the query")),
                        _ => None,
                    })
                })
            },
        )
        .since(Version::V3_01),
    ]
}

/// A subscription that the node has admitted.
pub(super) struct Subscription {
    pub id: RicRequestId,
    pub content: SubscriptionContent,
}

impl Subscription {
    pub fn ids(&self) -> (RicRequestId, u16) {
        (self.id, self.content.function)
    }
}

/// Subscribes to reports.
pub(super) fn subscribed(side: &mut RicSide<'_>, dialogue: &mut RicDialogue) -> Step<Subscription> {
    let content = side.content()?;
    subscribe(side, dialogue, content, RicActionType::Report)
}

fn subscribe(
    side: &mut RicSide<'_>,
    dialogue: &mut RicDialogue,
    content: SubscriptionContent,
    kind: RicActionType,
) -> Step<Subscription> {
    let subscription = Subscription { id: side.request_id(), content };
    let mut request = side.subscription(&subscription.content, subscription.id);
    let actions: Vec<_> =
        request.details.actions.iter().map(|action| e2ap::RicActionToBeSetup { kind, ..action.clone() }).collect();
    request.details.actions = actions.into();
    dialogue.send(request)?;
    dialogue.receive("answer to the RicSubscriptionRequest", |pdu| match pdu {
        Pdu::RicSubscriptionResponse(response) => {
            let ids = (response.request_id, response.ran_function_id.0);
            let admitted = response.actions_admitted.iter().map(|action| action.id);
            let refused = response.actions_not_admitted.iter().flat_map(|list| list.iter().map(|action| action.id));
            let named: Vec<_> = admitted.chain(refused).collect();
            Some(
                expect::same_request("RicSubscriptionResponse", subscription.ids(), ids)
                    .and_then(|()| expect::each_once("action", &[RicActionId(1)], &named)),
            )
        }
        Pdu::RicSubscriptionFailure(failure) => {
            let cause = failure.cause.map_or("no cause".to_owned(), |cause| cause.to_string());
            Some(inconclusive(format!("the node refused the subscription: {cause}")))
        }
        _ => None,
    })?;
    Ok(subscription)
}

/// Deletes a subscription.
pub(super) fn delete(dialogue: &mut RicDialogue, subscription: &Subscription) -> Step {
    let (request_id, function) = subscription.ids();
    dialogue.send(RicSubscriptionDeleteRequest { request_id, ran_function_id: e2ap::RanFunctionId(function) })?;
    dialogue.receive("RicSubscriptionDeleteResponse", |pdu| match pdu {
        Pdu::RicSubscriptionDeleteResponse(response) => {
            let ids = (response.request_id, response.ran_function_id.0);
            Some(expect::same_request("RicSubscriptionDeleteResponse", subscription.ids(), ids))
        }
        Pdu::RicSubscriptionDeleteFailure(failure) => {
            Some(fail(format!("the node refused to delete the subscription: {:?}", failure.cause)))
        }
        _ => None,
    })
}

/// Checks that a subscription that is over reports no more.
pub(super) fn no_more_reports(side: &mut RicSide<'_>, dialogue: &mut RicDialogue, over: RicRequestId) -> Step {
    let no_report = |pdu: &Pdu<'static>| match pdu {
        Pdu::RicIndication(report) if report.request_id == over => {
            Some(fail("the node reports for a subscription that is over"))
        }
        _ => None,
    };
    // several periods of the reports
    let within = dialogue.timeouts.answer / 10;
    dialogue.receive_within("nothing", within, no_report)?;
    side.fence_with(dialogue, no_report)
}

fn subscription_failure(dialogue: &mut RicDialogue, sent: (RicRequestId, u16)) -> Step {
    dialogue.receive("RicSubscriptionFailure", |pdu| match pdu {
        Pdu::RicSubscriptionFailure(failure) => {
            let ids = (failure.request_id, failure.ran_function_id.0);
            Some(expect::same_request("RicSubscriptionFailure", sent, ids))
        }
        Pdu::RicSubscriptionResponse(_) => Some(fail("the node admitted the subscription")),
        _ => None,
    })
}

fn modification_failure(dialogue: &mut RicDialogue, sent: (RicRequestId, u16)) -> Step {
    dialogue.receive("RicSubscriptionModificationFailure", |pdu| match pdu {
        Pdu::RicSubscriptionModificationFailure(failure) => {
            let ids = (failure.request_id, failure.ran_function_id.0);
            Some(expect::same_request("RicSubscriptionModificationFailure", sent, ids))
        }
        Pdu::RicSubscriptionModificationResponse(_) => Some(fail("the node made the modification")),
        _ => None,
    })
}

fn no_change((request_id, function): (RicRequestId, u16)) -> RicSubscriptionModificationRequest<'static> {
    RicSubscriptionModificationRequest {
        request_id,
        ran_function_id: e2ap::RanFunctionId(function),
        event_trigger_definition: None,
        actions_to_be_removed: None,
        actions_to_be_modified: None,
        actions_to_be_added: None,
    }
}

fn query((request_id, function): (RicRequestId, u16)) -> RicQueryRequest<'static> {
    RicQueryRequest {
        request_id,
        ran_function_id: e2ap::RanFunctionId(function),
        header: Octets::from(b"\x00"),
        definition: Octets::from(b"\x00"),
    }
}

/// A RAN function of the node.
fn offered_function(side: &RicSide<'_>) -> Step<e2ap::RanFunctionId> {
    let offered = side.node.iter().flat_map(|node| &node.ran_functions_added).flat_map(|list| list.iter()).next();
    offered.map_or_else(|| inconclusive("the node offers no RAN function"), |function| Ok(function.id))
}

/// The control that the user has given.
fn control(
    side: &mut RicSide<'_>,
    ack: RicControlAckRequest,
) -> Step<(RicControlRequest<'static>, (RicRequestId, u16))> {
    let Some(content) = side.config.control.clone() else {
        return inconclusive("no control is configured that the node can execute");
    };
    let request_id = side.request_id();
    let request = RicControlRequest {
        request_id,
        ran_function_id: e2ap::RanFunctionId(content.function),
        call_process_id: None,
        header: Octets::from(content.header),
        message: Octets::from(content.message),
        ack_request: Some(ack),
    };
    Ok((request, (request_id, content.function)))
}
