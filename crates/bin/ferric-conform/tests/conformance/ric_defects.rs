//! A RIC with one defect for each check.

use std::time::Duration;

use conform::{Config, Target, Timeouts};
use e2ap::{
    Cause, CauseMisc, CauseProtocol, CriticalityDiagnostics, E2NodeConfigurationUpdateFailure, E2SetupFailure,
    E2SetupResponse, ErrorIndication, GlobalRicId, Pdu, PlmnIdentity, RanFunctionId, RanFunctionIdItem,
    RanFunctionRevision, ResetResponse, RicRequestId, RicServiceUpdateAcknowledge, RicSubscriptionDeleteRequest,
    RicSubscriptionModificationConfirm, TransactionId, UpdateOutcome, Version,
};

use crate::driver::driven_ric;
use crate::proxy::{
    Defect, Proxy, Side, alter, complain_about, complain_about_undecodable, failed_for, react, replace, run_one,
};
use crate::{PATIENCE, socket};

const CAUSE: Cause = Cause::Misc(CauseMisc::Unspecified);
const OTHER: RicRequestId = RicRequestId { requestor: 9, instance: 9 };
const V1_01: Version = Version::V1_01;
const V2_03: Version = Version::V2_03;
const V3_01: Version = Version::V3_01;

fn other(transaction: Option<TransactionId>) -> Option<TransactionId> {
    transaction.map(|id| TransactionId((id.0 + 1) % 256))
}

fn setup_failure(transaction_id: Option<TransactionId>) -> Pdu<'static> {
    E2SetupFailure {
        transaction_id,
        cause: Some(CAUSE),
        time_to_wait: None,
        criticality_diagnostics: None,
        tnl_information: None,
    }
    .into()
}

fn setup_response(transaction_id: Option<TransactionId>) -> Pdu<'static> {
    E2SetupResponse {
        transaction_id,
        global_ric_id: GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 1),
        ran_functions_accepted: None,
        ran_functions_rejected: None,
        component_config_update_ack_v1: None,
        component_config_addition_ack: Some(
            vec![e2ap::E2NodeComponentConfigAdditionAckItem {
                interface_type: e2ap::E2NodeComponentInterfaceType::Ng,
                id: e2ap::E2NodeComponentId::Ng(e2ap::E2NodeComponentInterfaceNg {
                    amf_name: per::PrintableString::literal("amf"),
                }),
                ack: e2ap::E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None },
            }]
            .into(),
        ),
    }
    .into()
}

fn acknowledgement(transaction_id: Option<TransactionId>) -> Pdu<'static> {
    RicServiceUpdateAcknowledge { transaction_id, ran_functions_accepted: None, ran_functions_rejected: None }.into()
}

/// A setup that is refused is accepted.
fn accepts_bad_setup() -> Defect {
    replace(|pdu| match pdu {
        Pdu::E2SetupFailure(failure) => Some(setup_response(failure.transaction_id)),
        _ => None,
    })
}

/// Octets that cannot be decoded are answered as a reset.
fn obeys_undecodable() -> Defect {
    react(|message, wire| {
        if message.is_none() {
            wire.tell(ResetResponse { transaction_id: Some(TransactionId(1)), criticality_diagnostics: None });
        }
    })
}

/// An Error Indication has another cause.
fn wrong_cause() -> Defect {
    alter(|pdu| {
        if let Pdu::ErrorIndication(indication) = pdu {
            indication.cause = Some(Cause::Protocol(CauseProtocol::SemanticError));
        }
    })
}

fn wrong_update_transaction() -> Defect {
    alter(|pdu| {
        if let Pdu::RicServiceUpdateAcknowledge(ack) = pdu {
            ack.transaction_id = other(ack.transaction_id);
        }
    })
}

/// The acknowledgement of an update does not say which functions are accepted.
fn silent_about_functions() -> Defect {
    alter(|pdu| {
        if let Pdu::RicServiceUpdateAcknowledge(ack) = pdu {
            ack.ran_functions_accepted = None;
        }
    })
}

fn wrong_deletion() -> Defect {
    alter(|pdu| {
        if let Pdu::RicSubscriptionDeleteRequest(delete) = pdu {
            delete.request_id = OTHER;
        }
    })
}

fn confirms_everything() -> Defect {
    replace(|pdu| match pdu {
        Pdu::RicSubscriptionModificationRefuse(refuse) => Some(
            RicSubscriptionModificationConfirm {
                request_id: refuse.request_id,
                ran_function_id: refuse.ran_function_id,
                actions_confirmed_for_modification: None,
                actions_refused_to_be_modified: None,
                actions_confirmed_for_removal: None,
                actions_refused_to_be_removed: None,
            }
            .into(),
        ),
        _ => None,
    })
}

/// The check, a version, what the RIC does wrong, and a part of the reason of the failure.
fn table() -> Vec<(&'static str, Version, Defect, &'static str)> {
    let wrong_setup_transaction = || {
        alter(|pdu| {
            if let Pdu::E2SetupResponse(response) = pdu {
                response.transaction_id = other(response.transaction_id);
            }
        })
    };
    let refuses_setup = || {
        replace(|pdu| match pdu {
            Pdu::E2SetupResponse(response) => Some(setup_failure(response.transaction_id)),
            _ => None,
        })
    };
    vec![
        (
            "setup",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2SetupResponse(response) = pdu {
                    response.ran_functions_accepted = None;
                }
            }),
            "is in none of the lists",
        ),
        ("setup-transaction-ids", V2_03, wrong_setup_transaction(), "has the transaction id 1, its request 0"),
        ("setup-without-functions", V1_01, refuses_setup(), "the RIC refused a valid setup"),
        (
            "setup-repeated",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2SetupResponse(response) = pdu {
                    let first = RanFunctionIdItem { id: RanFunctionId(2), revision: RanFunctionRevision(1) };
                    response.ran_functions_accepted = Some(vec![first].into());
                }
            }),
            "was not part of the request",
        ),
        ("setup-again", V2_03, wrong_setup_transaction(), "has the transaction id"),
        (
            "before-setup",
            V2_03,
            react(|message, wire| {
                if let Some(Pdu::RicServiceUpdate(update)) = message {
                    wire.tell(acknowledgement(update.transaction_id));
                }
            }),
            "the RIC acknowledged it",
        ),
        ("setup-unknown-ie-ignore", V2_03, refuses_setup(), "the RIC refused the setup"),
        ("setup-unknown-ie-reject", V2_03, accepts_bad_setup(), "the RIC accepted the setup"),
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
        (
            "unknown-ie-reject",
            V2_03,
            replace(|pdu| match pdu {
                Pdu::RicServiceUpdateFailure(failure) => Some(acknowledgement(failure.transaction_id)),
                _ => None,
            }),
            "the RIC acknowledged the update",
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
        ("reset-by-ric", V2_03, complain_about("ResetResponse"), "ErrorIndication, cause misc"),
        ("error-indication", V2_03, complain_about("ErrorIndication"), "ErrorIndication, cause misc"),
        ("service-update-add", V2_03, silent_about_functions(), "is in none of the lists"),
        ("service-update-modify", V2_03, silent_about_functions(), "is in none of the lists"),
        ("service-update-delete", V2_03, wrong_update_transaction(), "has the transaction id"),
        (
            "service-update-empty",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicServiceUpdateAcknowledge(ack) = pdu {
                    let item = RanFunctionIdItem { id: RanFunctionId(2), revision: RanFunctionRevision(1) };
                    ack.ran_functions_accepted = Some(vec![item].into());
                }
            }),
            "has lists of RAN functions",
        ),
        (
            "service-query",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicServiceQuery(query) = pdu {
                    let item = RanFunctionIdItem { id: RanFunctionId(99), revision: RanFunctionRevision(1) };
                    query.ran_functions_accepted = Some(vec![item].into());
                }
            }),
            "the RAN function 99, which is not offered",
        ),
        (
            "configuration-update-empty",
            V2_03,
            replace(|pdu| match pdu {
                Pdu::E2NodeConfigurationUpdateAcknowledge(ack) => Some(
                    E2NodeConfigurationUpdateFailure {
                        transaction_id: ack.transaction_id,
                        cause: Some(CAUSE),
                        time_to_wait: None,
                        criticality_diagnostics: None,
                    }
                    .into(),
                ),
                _ => None,
            }),
            "the RIC refused the update",
        ),
        (
            "configuration-update",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2NodeConfigurationUpdateAcknowledge(ack) = pdu {
                    ack.component_config_addition_ack = None;
                }
            }),
            "added component",
        ),
        (
            "configuration-update-undeclared",
            V2_03,
            alter(|pdu| {
                if let Pdu::E2NodeConfigurationUpdateAcknowledge(ack) = pdu
                    && let Some(list) = &ack.component_config_update_ack
                {
                    let mut items = list.to_vec();
                    items.iter_mut().for_each(|item| item.ack.outcome = UpdateOutcome::Success);
                    ack.component_config_update_ack = Some(items.into());
                }
            }),
            "acknowledged the change as a success",
        ),
        ("connection-update", V2_03, complain_about("E2ConnectionUpdateAcknowledge"), "ErrorIndication, cause misc"),
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
        (
            "removal-by-ric",
            V2_03,
            // ahead of the request, since the sound peer ends the association at once
            Box::new(|seen, wire| {
                if let crate::proxy::Seen::Peer(Some(Pdu::E2RemovalRequest(request))) = seen {
                    wire.tell(request.clone());
                    wire.complain();
                    return false;
                }
                true
            }),
            "ErrorIndication, cause misc",
        ),
        (
            "subscription",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicSubscriptionRequest(request) = pdu {
                    request.ran_function_id = RanFunctionId(99);
                }
            }),
            "the RAN function 99, which is not offered",
        ),
        (
            "subscription-refused",
            V2_03,
            react(|message, wire| {
                if let Some(Pdu::RicSubscriptionFailure(failure)) = message {
                    let (request_id, ran_function_id) = (failure.request_id, failure.ran_function_id);
                    wire.tell(RicSubscriptionDeleteRequest { request_id, ran_function_id });
                }
            }),
            "deletes the subscription, which was refused",
        ),
        (
            "subscription-unanswered",
            V2_03,
            Box::new(|seen, _| !matches!(seen, crate::proxy::Seen::Peer(Some(Pdu::RicSubscriptionDeleteRequest(_))))),
            "no RicSubscriptionDeleteRequest within",
        ),
        ("indication", V2_03, complain_about("RicIndication"), "ErrorIndication, cause misc"),
        (
            "indication-unsubscribed",
            V2_03,
            react(|message, wire| {
                if let Some(Pdu::RicIndication(_)) = message {
                    wire.tell(ErrorIndication {
                        transaction_id: None,
                        request_id: Some(OTHER),
                        ran_function_id: None,
                        cause: Some(CAUSE),
                        criticality_diagnostics: None,
                    });
                }
            }),
            "ErrorIndication, cause misc",
        ),
        (
            "insert",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicControlRequest(request) = pdu {
                    request.call_process_id = None;
                }
            }),
            "no call process id",
        ),
        ("subscription-delete", V2_03, wrong_deletion(), "RicSubscriptionDeleteRequest has the request id 9/9"),
        ("delete-required", V2_03, wrong_deletion(), "RicSubscriptionDeleteRequest has the request id 9/9"),
        (
            "delete-required-unknown",
            V2_03,
            complain_about("RicSubscriptionDeleteRequired"),
            "ErrorIndication, cause misc",
        ),
        (
            "control",
            V2_03,
            alter(|pdu| {
                if let Pdu::RicControlRequest(request) = pdu {
                    request.ran_function_id = RanFunctionId(99);
                }
            }),
            "the RAN function 99, which is not offered",
        ),
        ("control-failure", V2_03, complain_about("RicControlFailure"), "ErrorIndication, cause misc"),
        ("unexpected-answer", V2_03, complain_about("RicSubscriptionResponse"), "ErrorIndication, cause misc"),
        (
            "modification",
            V3_01,
            alter(|pdu| {
                if let Pdu::RicSubscriptionModificationRequest(request) = pdu {
                    request.request_id = OTHER;
                }
            }),
            "has the request id 9/9",
        ),
        (
            "modification-required",
            V3_01,
            alter(|pdu| {
                if let Pdu::RicSubscriptionModificationConfirm(confirm) = pdu {
                    confirm.actions_confirmed_for_modification = None;
                }
            }),
            "is in none of the lists",
        ),
        ("modification-required-all", V3_01, confirms_everything(), "the RIC confirmed the modification"),
        ("modification-required-unknown", V3_01, confirms_everything(), "the RIC confirmed the modification"),
        (
            "query",
            V3_01,
            alter(|pdu| {
                if let Pdu::RicQueryRequest(request) = pdu {
                    request.ran_function_id = RanFunctionId(99);
                }
            }),
            "the RAN function 99, which is not offered",
        ),
        ("query-failure", V3_01, complain_about("RicQueryFailure"), "ErrorIndication, cause misc"),
        ("garbage", V2_03, obeys_undecodable(), "the RIC answered by ResetResponse"),
        ("truncated", V2_03, obeys_undecodable(), "the RIC answered by ResetResponse"),
        ("length-beyond-end", V2_03, obeys_undecodable(), "the RIC answered by ResetResponse"),
        ("missing-ie", V2_03, accepts_bad_setup(), "the RIC accepted the setup"),
        ("repeated-ie", V2_03, accepts_bad_setup(), "the RIC accepted the setup"),
        ("invalid-value", V2_03, accepts_bad_setup(), "the RIC accepted the setup"),
        ("many-unknown-ies", V2_03, complain_about("ResetRequest"), "ErrorIndication, cause misc"),
    ]
}

#[test]
fn each_defect_of_a_ric_fails_its_check() {
    let (ric, mut driver) = driven_ric();
    let mut wrong = Vec::new();
    let mut named = Vec::new();
    for (id, version, defect, reason) in table() {
        let proxy = Proxy::start(socket("ric"), ric.e2.clone(), Side::Checker, version, defect);
        let mut config = Config::new(Target::Ric(proxy.address.clone()));
        config.versions = vec![version];
        // only one defect is a silence
        let silence = Duration::from_millis(1500);
        config.timeouts = Timeouts { answer: PATIENCE, action: PATIENCE, silence, connect: PATIENCE };
        let report = run_one(&mut config, id, &mut driver);
        wrong.extend(failed_for(&report, id, reason).err());
        named.push(id);
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(named, conform::node::checks().iter().map(|check| check.id).collect::<Vec<_>>());
}
