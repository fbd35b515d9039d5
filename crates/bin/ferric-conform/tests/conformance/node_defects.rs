//! An E2 node with one defect for each check.

use conform::{Config, ControlContent, NoStimulus, SubscriptionContent, Target, Timeouts};
use e2ap::{
    Cause, CauseMisc, CauseProtocol, CriticalityDiagnostics, E2NodeConfigurationUpdate, GlobalE2NodeId, GnbId, Pdu,
    PlmnIdentity, RanFunctionId, ResetRequest, ResetResponse, RicActionAdmitted, RicActionId, RicActionType,
    RicControlAcknowledge, RicIndication, RicIndicationType, RicQueryResponse, RicRequestId, RicServiceUpdate,
    RicSubscriptionDeleteRequired, RicSubscriptionDeleteResponse, RicSubscriptionModificationRequired,
    RicSubscriptionModificationResponse, RicSubscriptionResponse, RicSubscriptionWithCause, TransactionId, Version,
};
use per::Octets;

use crate::proxy::{
    Defect, Proxy, Seen, Side, Wire, alter, complain_about, complain_about_undecodable, failed_for, react, replace,
    run_one,
};
use crate::{PATIENCE, socket, station};

const CAUSE: Cause = Cause::Misc(CauseMisc::Unspecified);
const OTHER: RicRequestId = RicRequestId { requestor: 9, instance: 9 };
const V2_03: Version = Version::V2_03;
const V3_01: Version = Version::V3_01;
const FIRST: RicActionId = RicActionId(1);

fn other(transaction: Option<TransactionId>) -> Option<TransactionId> {
    transaction.map(|id| TransactionId((id.0 + 1) % 256))
}

fn indication(request_id: RicRequestId, function: RanFunctionId, kind: RicIndicationType) -> RicIndication<'static> {
    RicIndication {
        request_id,
        ran_function_id: function,
        action_id: FIRST,
        sn: None,
        kind,
        header: Octets::from(b"header"),
        message: Octets::from(b"message"),
        call_process_id: None,
    }
}

fn admission(request_id: RicRequestId, function: RanFunctionId) -> RicSubscriptionResponse<'static> {
    RicSubscriptionResponse {
        request_id,
        ran_function_id: function,
        actions_admitted: vec![RicActionAdmitted { id: FIRST }].into(),
        actions_not_admitted: None,
    }
}

/// Subscriptions that are refused are admitted.
fn admits_everything() -> Defect {
    replace(|pdu| match pdu {
        Pdu::RicSubscriptionFailure(failure) => Some(admission(failure.request_id, failure.ran_function_id).into()),
        _ => None,
    })
}

/// Unknown subscriptions are deleted.
fn deletes_everything() -> Defect {
    replace(|pdu| match pdu {
        Pdu::RicSubscriptionDeleteFailure(failure) => {
            let (request_id, ran_function_id) = (failure.request_id, failure.ran_function_id);
            Some(RicSubscriptionDeleteResponse { request_id, ran_function_id }.into())
        }
        _ => None,
    })
}

fn modifies_everything() -> Defect {
    replace(|pdu| match pdu {
        Pdu::RicSubscriptionModificationFailure(failure) => Some(
            RicSubscriptionModificationResponse {
                request_id: failure.request_id,
                ran_function_id: failure.ran_function_id,
                actions_removed: None,
                actions_failed_to_be_removed: None,
                actions_modified: None,
                actions_failed_to_be_modified: None,
                actions_added: None,
                actions_failed_to_be_added: None,
            }
            .into(),
        ),
        _ => None,
    })
}

fn wrong_cause() -> Defect {
    alter(|pdu| {
        if let Pdu::ErrorIndication(indication) = pdu {
            indication.cause = Some(Cause::Protocol(CauseProtocol::SemanticError));
        }
    })
}

fn wrong_delete_cause() -> Defect {
    alter(|pdu| {
        let cause = Some(Cause::Protocol(CauseProtocol::SemanticError));
        match pdu {
            Pdu::RicSubscriptionDeleteFailure(failure) => failure.cause = cause,
            Pdu::ErrorIndication(indication) => indication.cause = cause,
            _ => {}
        }
    })
}

fn obeys_undecodable() -> Defect {
    react(|message, wire| {
        if message.is_none() {
            wire.tell(ResetResponse { transaction_id: Some(TransactionId(1)), criticality_diagnostics: None });
        }
    })
}

/// Reports once more for the last subscription, after a message of the node.
fn reports_after(is_last: impl Fn(&Pdu<'static>) -> bool + Send + 'static) -> Defect {
    let mut last = None;
    Box::new(move |seen, wire| {
        if let Seen::Peer(Some(message)) = seen {
            if let Pdu::RicSubscriptionResponse(response) = message {
                last = Some((response.request_id, response.ran_function_id));
            }
            if is_last(message)
                && let Some((id, function)) = last
            {
                wire.tell(message.clone());
                wire.tell(indication(id, function, RicIndicationType::Report));
                return false;
            }
        }
        true
    })
}

/// The node sends something after the RIC's setup response.
fn begins(tell: impl Fn(&mut Wire) + Send + 'static, then: &'static str) -> Defect {
    react(move |message, wire| match message {
        Some(Pdu::E2SetupResponse(_)) => tell(wire),
        Some(message) if message.name() == then => wire.complain(),
        _ => {}
    })
}

/// The control of the test is acknowledged, asked for or not. What the sound node says to it is dropped.
fn control_answered(request: RicRequestId) -> Defect {
    Box::new(move |seen, wire| match seen {
        Seen::Checker(Some(Pdu::RicControlRequest(control))) => {
            let request_id = if request == OTHER { OTHER } else { control.request_id };
            wire.tell(RicControlAcknowledge {
                request_id,
                ran_function_id: control.ran_function_id,
                call_process_id: None,
                status: None,
                outcome: None,
            });
            true
        }
        Seen::Peer(Some(Pdu::RicControlAcknowledge(_) | Pdu::RicControlFailure(_))) => false,
        _ => true,
    })
}

/// The check, a version, what the node does wrong, and a part of the reason of the failure.
fn table() -> Vec<(&'static str, Version, Defect, &'static str)> {
    let mut identities = 0;
    let mut setup = None;
    vec![
        (
            "setup",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2SetupRequest(request) = pdu
                    && let Some(list) = &request.ran_functions_added
                {
                    let mut functions = list.to_vec();
                    functions.push(functions[0].clone());
                    request.ran_functions_added = Some(functions.into());
                }
            }),
            "is listed twice",
        ),
        (
            "setup-unanswered",
            V2_03,
            Box::new(|seen, wire| {
                if let Seen::Peer(Some(Pdu::E2SetupRequest(request))) = seen {
                    wire.tell(request.clone());
                    wire.tell(RicServiceUpdate {
                        transaction_id: Some(TransactionId(1)),
                        ran_functions_added: None,
                        ran_functions_modified: None,
                        ran_functions_deleted: None,
                    });
                    return false;
                }
                true
            }),
            "the node sent RicServiceUpdate before its setup",
        ),
        (
            "setup-refused",
            V2_03,
            Box::new(move |seen, wire| {
                match seen {
                    Seen::Peer(Some(Pdu::E2SetupRequest(request))) => setup = Some(request.clone()),
                    Seen::Checker(Some(Pdu::E2SetupFailure(_))) => {
                        if let Some(request) = setup.clone() {
                            wire.tell(request);
                        }
                    }
                    _ => {}
                }
                true
            }),
            "and had to wait 2s",
        ),
        ("setup-response-unknown-ie", V2_03, complain_about("E2SetupResponse"), "ErrorIndication, cause misc"),
        ("setup-response-in-parts", V2_03, complain_about("E2SetupResponse"), "ErrorIndication, cause misc"),
        (
            "setup-again",
            V2_03,
            alter(move |pdu| {
                if let Pdu::E2SetupRequest(request) = pdu {
                    identities += 1;
                    let id = GnbId::new(0xe00 + identities, 32);
                    request.global_e2_node_id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), id);
                }
            }),
            "the node came back as",
        ),
        (
            "setup-components",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2SetupRequest(request) = pdu
                    && let Some(list) = &request.component_config_addition
                {
                    let mut components = list.to_vec();
                    components.push(components[0].clone());
                    request.component_config_addition = Some(components.into());
                }
            }),
            "is listed twice",
        ),
        ("unknown-procedure-reject", V2_03, wrong_cause(), "SemanticError, not protocol"),
        ("unknown-procedure-notify", V2_03, wrong_cause(), "SemanticError, not protocol"),
        ("unknown-procedure-ignore", V2_03, complain_about_undecodable(), "ErrorIndication, cause misc"),
        (
            "unknown-ie-ignore",
            V2_03,
            alter(|pdu| {
                if let Pdu::ResetResponse(response) = pdu {
                    response.criticality_diagnostics = Some(CriticalityDiagnostics::default());
                }
            }),
            "reports the IE",
        ),
        (
            "unknown-ie-notify",
            V2_03,
            alter(|pdu| {
                if let Pdu::ResetResponse(response) = pdu {
                    response.criticality_diagnostics = None;
                }
            }),
            "neither the ResetResponse nor an ErrorIndication",
        ),
        ("unknown-ie-reject", V2_03, wrong_delete_cause(), "SemanticError, not protocol"),
        (
            "subscription",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicSubscriptionResponse(response) = pdu {
                    response.actions_admitted = vec![RicActionAdmitted { id: RicActionId(9) }].into();
                }
            }),
            "was not part of the request",
        ),
        (
            "indication",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicIndication(report) = pdu {
                    report.action_id = RicActionId(9);
                }
            }),
            "the report is of the action 9",
        ),
        (
            "subscription-delete",
            V2_03,
            reports_after(|pdu| matches!(pdu, Pdu::RicSubscriptionDeleteResponse(_))),
            "a subscription that is over",
        ),
        ("subscription-unknown-function", V2_03, admits_everything(), "the node admitted the subscription"),
        ("subscription-repeated", V2_03, admits_everything(), "the node admitted the subscription"),
        ("subscription-unknown-ie-reject", V2_03, admits_everything(), "the node admitted the subscription"),
        ("subscription-delete-unknown", V2_03, deletes_everything(), "the node says that it deleted it"),
        (
            "control-unknown-function",
            V2_03,
            replace(|pdu| match pdu {
                Pdu::RicControlFailure(failure) => Some(
                    RicControlAcknowledge {
                        request_id: failure.request_id,
                        ran_function_id: failure.ran_function_id,
                        call_process_id: None,
                        status: None,
                        outcome: None,
                    }
                    .into(),
                ),
                _ => None,
            }),
            "the node acknowledged the control",
        ),
        ("control", V2_03, control_answered(OTHER), "RicControlAcknowledge has the request id 9/9"),
        (
            "control-no-ack",
            V2_03,
            control_answered(RicRequestId { requestor: 0, instance: 0 }),
            "the node acknowledged the control",
        ),
        (
            "insert",
            V2_03,
            // the subscription of an insert, which the emulated base station does not have, is admitted
            Box::new(|seen, wire| match seen {
                Seen::Checker(Some(Pdu::RicSubscriptionRequest(request)))
                    if request.details.actions.iter().any(|action| action.kind == RicActionType::Insert) =>
                {
                    wire.tell(admission(request.request_id, request.ran_function_id));
                    wire.tell(indication(request.request_id, request.ran_function_id, RicIndicationType::Insert));
                    false
                }
                _ => true,
            }),
            "the insert has no call process id",
        ),
        ("error-indication", V2_03, complain_about("ErrorIndication"), "ErrorIndication, cause misc"),
        (
            "delete-required",
            V2_03,
            Box::new(|seen, wire| {
                if let Seen::Peer(Some(Pdu::RicSubscriptionResponse(response))) = seen {
                    let (cause, ran_function_id) = (CAUSE, response.ran_function_id);
                    let item = RicSubscriptionWithCause { request_id: OTHER, ran_function_id, cause };
                    wire.tell(response.clone());
                    wire.tell(RicSubscriptionDeleteRequired { subscriptions: Some(vec![item].into()) });
                    return false;
                }
                true
            }),
            "RicSubscriptionDeleteRequired has the request id 9/9",
        ),
        (
            "modification",
            V3_01,
            alter(|pdu| match pdu {
                Pdu::RicSubscriptionModificationResponse(response) => response.request_id = OTHER,
                Pdu::RicSubscriptionModificationFailure(failure) => failure.request_id = OTHER,
                _ => {}
            }),
            "has the request id 9/9",
        ),
        ("modification-remove-all", V3_01, modifies_everything(), "the node made the modification"),
        ("modification-unknown", V3_01, modifies_everything(), "the node made the modification"),
        (
            "modification-required",
            V3_01,
            Box::new(|seen, wire| {
                if let Seen::Peer(Some(Pdu::RicSubscriptionResponse(response))) = seen {
                    wire.tell(response.clone());
                    wire.tell(RicSubscriptionModificationRequired {
                        request_id: OTHER,
                        ran_function_id: response.ran_function_id,
                        actions_required_to_be_modified: None,
                        actions_required_to_be_removed: None,
                    });
                    return false;
                }
                true
            }),
            "RicSubscriptionModificationRequired has the request id 9/9",
        ),
        (
            "query",
            V3_01,
            alter(|pdu| match pdu {
                Pdu::RicQueryResponse(response) => response.request_id = OTHER,
                Pdu::RicQueryFailure(failure) => failure.request_id = OTHER,
                _ => {}
            }),
            "has the request id 9/9",
        ),
        (
            "query-unknown-function",
            V3_01,
            replace(|pdu| match pdu {
                Pdu::RicQueryFailure(failure) => Some(
                    RicQueryResponse {
                        request_id: failure.request_id,
                        ran_function_id: failure.ran_function_id,
                        outcome: Octets::from(b"outcome"),
                    }
                    .into(),
                ),
                _ => None,
            }),
            "the node answered the query",
        ),
        (
            "reset",
            V2_03,
            alter(|pdu| {
                if let Pdu::ResetResponse(response) = pdu {
                    response.transaction_id = other(response.transaction_id);
                }
            }),
            "ResetResponse has the transaction id",
        ),
        (
            "reset-ends-subscriptions",
            V2_03,
            reports_after(|pdu| matches!(pdu, Pdu::ResetResponse(_))),
            "a subscription that is over",
        ),
        (
            "reset-by-node",
            V2_03,
            begins(
                |wire| wire.tell(ResetRequest { transaction_id: Some(TransactionId(1)), cause: Some(CAUSE) }),
                "ResetResponse",
            ),
            "ErrorIndication, cause misc",
        ),
        (
            "service-query",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicServiceUpdate(update) = pdu
                    && let Some(list) = &update.ran_functions_added
                {
                    update.ran_functions_added = Some(list[1..].to_vec().into());
                }
            }),
            "is in none of the lists",
        ),
        (
            "service-query-aligned",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicServiceUpdate(update) = pdu {
                    let id = RanFunctionId(7);
                    let revision = e2ap::RanFunctionRevision(1);
                    update.ran_functions_deleted = Some(vec![e2ap::RanFunctionIdItem { id, revision }].into());
                }
            }),
            "the RicServiceUpdate has lists",
        ),
        (
            "configuration-update",
            V2_03,
            begins(
                |wire| {
                    wire.tell(E2NodeConfigurationUpdate {
                        transaction_id: Some(TransactionId(1)),
                        global_e2_node_id: None,
                        component_config_update_v1: None,
                        component_config_addition: None,
                        component_config_update: None,
                        component_config_removal: None,
                        tnl_association_removal: None,
                    });
                },
                "E2NodeConfigurationUpdateAcknowledge",
            ),
            "ErrorIndication, cause misc",
        ),
        (
            "connection-update-empty",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2ConnectionUpdateAcknowledge(ack) = pdu {
                    ack.transaction_id = other(ack.transaction_id);
                }
            }),
            "E2ConnectionUpdateAcknowledge has the transaction id",
        ),
        ("garbage", V2_03, obeys_undecodable(), "the node answered by ResetResponse"),
        ("truncated", V2_03, obeys_undecodable(), "the node answered by ResetResponse"),
        ("length-beyond-end", V2_03, obeys_undecodable(), "the node answered by ResetResponse"),
        ("missing-ie", V2_03, wrong_delete_cause(), "SemanticError, not protocol"),
        ("repeated-ie", V2_03, wrong_delete_cause(), "SemanticError, not protocol"),
        ("invalid-value", V2_03, wrong_delete_cause(), "SemanticError, not protocol"),
        ("many-unknown-ies", V2_03, complain_about("ResetRequest"), "ErrorIndication, cause misc"),
        (
            "removal",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2RemovalResponse(response) = pdu {
                    response.transaction_id = other(response.transaction_id);
                }
            }),
            "E2RemovalResponse has the transaction id",
        ),
    ]
}

#[test]
fn each_defect_of_a_node_fails_its_check() {
    let mut wrong = Vec::new();
    let mut named = Vec::new();
    for (id, version, defect, reason) in table() {
        let (checker, near) = (socket("checker"), socket("node"));
        let proxy = Proxy::start(near, checker.clone(), Side::Peer, version, defect);
        let node = station(&proxy.address, version);
        let mut config = Config::new(Target::Node(checker));
        config.versions = vec![version];
        config.timeouts = Timeouts { answer: PATIENCE, action: PATIENCE, silence: PATIENCE, connect: PATIENCE };
        config.control = Some(ControlContent { function: 2, header: vec![0], message: vec![0] });
        config.insert =
            Some(SubscriptionContent { function: 2, event_trigger: vec![0], action_definition: Some(vec![0]) });
        let report = run_one(&mut config, id, &mut NoStimulus);
        wrong.extend(failed_for(&report, id, reason).err());
        named.push(id);
        drop(node);
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(named, conform::ric::checks().iter().map(|check| check.id).collect::<Vec<_>>());
}
