//! Parses messages from the short notation.

use e2ap::*;
use per::{Octets, PrintableString};

use super::notation::Args;

pub fn gnb(number: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 28))
}

/// Returns a setup request of v02.03 or (without a transaction id) of v01.01.
pub fn setup(tx: Option<TransactionId>, node: u32, functions: &[u16]) -> E2SetupRequest<'static> {
    let components = vec![E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("amf") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    }];
    E2SetupRequest {
        transaction_id: tx,
        global_e2_node_id: gnb(node),
        ran_functions_added: Some(
            functions
                .iter()
                .map(|id| RanFunctionItem {
                    id: RanFunctionId(*id),
                    definition: vec![0xDE, 0xF0].into(),
                    revision: RanFunctionRevision(1),
                    oid: Some(PrintableString::literal("1.3.6.1")),
                })
                .collect(),
        ),
        component_config_update_v1: None,
        component_config_addition: tx.map(|_| components.into()),
    }
}

/// Returns the list of items numbered by `key`; `None` without `key`.
fn some<T, N: std::str::FromStr>(args: &Args<'_>, key: &str, item: impl Fn(N) -> T) -> Option<Items<'static, T>> {
    args.has(key).then(|| args.numbers(key).into_iter().map(item).collect())
}

fn functions(args: &Args<'_>, key: &str) -> Option<Items<'static, RanFunctionItem<'static>>> {
    some(args, key, |id| RanFunctionItem {
        id: RanFunctionId(id),
        definition: vec![0xDE; args.number("octets").unwrap_or(2)].into(),
        revision: RanFunctionRevision(args.number("rev").unwrap_or(1)),
        oid: Some(PrintableString::literal("1.3.6.1")),
    })
}

fn rejected(args: &Args<'_>) -> Option<Items<'static, RanFunctionIdCauseItem>> {
    some(args, "reject", |id| RanFunctionIdCauseItem { id: RanFunctionId(id), cause: args.cause() })
}

/// Returns the address 10.0.0.n with the port of E2.
pub fn tnl(n: u8) -> TnlInformation<'static> {
    let address = per::BitString::new(u64::from(u32::from_be_bytes([10, 0, 0, n])), 32);
    TnlInformation { address, port: Some(per::Bits::new(36421, 16)) }
}

pub fn connection(n: u8) -> E2ConnectionUpdateItem<'static> {
    E2ConnectionUpdateItem { tnl_information: tnl(n), tnl_usage: TnlUsage::Both }
}

/// Returns the component of the F1 interface to a DU, with setup messages of this length.
pub fn component(du: i64, octets: usize) -> E2NodeComponentConfigAdditionItem<'static> {
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::F1,
        id: E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(du) }),
        configuration: E2NodeComponentConfiguration {
            request_part: vec![0xF1; octets].into(),
            response_part: Octets::default(),
        },
    }
}

/// Returns the same component in the form of v01.01.
pub fn component_v1(du: i64, octets: usize) -> E2NodeComponentConfigUpdateItemV1<'static> {
    E2NodeComponentConfigUpdateItemV1 {
        component_type: E2NodeComponentTypeV1::GnbDu,
        id: Some(E2NodeComponentIdV1::GnbDu(E2NodeComponentGnbDuIdV1 { gnb_du_id: GnbDuId(du) })),
        configuration: E2NodeComponentConfigUpdateV1::Gnb(E2NodeComponentConfigUpdateGnbV1 {
            ng_ap: None,
            xn_ap: None,
            e1_ap: None,
            f1_ap: Some(vec![0xF1; octets].into()),
        }),
    }
}

/// Returns an update of components by the numbers of their DUs; without a transaction id in the form of v01.01.
fn config_update(args: &Args<'_>) -> E2NodeConfigurationUpdate<'static> {
    let octets = args.number("octets").unwrap_or(2);
    let v1 = args.tx().is_none();
    E2NodeConfigurationUpdate {
        transaction_id: args.tx(),
        global_e2_node_id: args.number("gnb").map(gnb),
        component_config_update_v1: some(args, "add", |du| component_v1(du, octets)).filter(|_| v1),
        component_config_addition: some(args, "add", |du| component(du, octets)).filter(|_| !v1),
        component_config_update: some(args, "change", |du| {
            let E2NodeComponentConfigAdditionItem { interface_type, id, configuration } = component(du, octets);
            E2NodeComponentConfigUpdateItem { interface_type, id, configuration }
        }),
        component_config_removal: some(args, "remove", |du| {
            let E2NodeComponentConfigAdditionItem { interface_type, id, .. } = component(du, 0);
            E2NodeComponentConfigRemovalItem { interface_type, id }
        }),
        tnl_association_removal: some(args, "gone", |n| E2NodeTnlAssociationRemovalItem {
            tnl_information: tnl(n),
            tnl_information_ric: tnl(1),
        }),
    }
}

fn config_update_ack(args: &Args<'_>) -> E2NodeConfigurationUpdateAcknowledge<'static> {
    let v1 = args.tx().is_none();
    let ack = match args.has("failed") {
        true => E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Failure, failure_cause: Some(args.cause()) },
        false => E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None },
    };
    let named = |du| {
        let E2NodeComponentConfigAdditionItem { interface_type, id, .. } = component(du, 0);
        (interface_type, id)
    };
    E2NodeConfigurationUpdateAcknowledge {
        transaction_id: args.tx(),
        component_config_update_ack_v1: some(args, "add", |du| E2NodeComponentConfigUpdateAckItemV1 {
            component_type: E2NodeComponentTypeV1::GnbDu,
            id: component_v1(du, 0).id,
            ack,
        })
        .filter(|_| v1),
        component_config_addition_ack: some(args, "add", |du| {
            let (interface_type, id) = named(du);
            E2NodeComponentConfigAdditionAckItem { interface_type, id, ack }
        })
        .filter(|_| !v1),
        component_config_update_ack: some(args, "change", |du| {
            let (interface_type, id) = named(du);
            E2NodeComponentConfigUpdateAckItem { interface_type, id, ack }
        }),
        component_config_removal_ack: some(args, "remove", |du| {
            let (interface_type, id) = named(du);
            E2NodeComponentConfigRemovalAckItem { interface_type, id, ack }
        }),
    }
}

/// Returns the message of a line.
pub fn parse_pdu(name: &str, args: &Args<'_>) -> Pdu<'static> {
    let revision = RanFunctionRevision(args.number("rev").unwrap_or(1));
    let accepted = |functions: Vec<u16>| {
        let items = functions.into_iter().map(|id| RanFunctionIdItem { id: RanFunctionId(id), revision });
        Some(items.collect::<Items<'_, _>>()).filter(|items| !items.is_empty())
    };
    match name {
        "setup" => setup(args.tx(), args.number("gnb").unwrap_or(1), &args.numbers("fns")).into(),
        "setup-response" => E2SetupResponse {
            transaction_id: args.tx(),
            global_ric_id: GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 9),
            ran_functions_accepted: accepted(args.numbers("accept")),
            ran_functions_rejected: None,
            component_config_update_ack_v1: None,
            component_config_addition_ack: args.tx().map(|_| {
                let addition = setup(args.tx(), 1, &[]).component_config_addition.unwrap();
                let ack = E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None };
                let items = addition.iter().map(|item| E2NodeComponentConfigAdditionAckItem {
                    interface_type: item.interface_type,
                    id: item.id.clone(),
                    ack,
                });
                items.collect()
            }),
        }
        .into(),
        "setup-failure" => E2SetupFailure {
            transaction_id: args.tx(),
            cause: Some(args.cause()),
            time_to_wait: args.wait(),
            criticality_diagnostics: None,
            tnl_information: args.number("tnl").map(tnl),
        }
        .into(),
        "sub-request" => RicSubscriptionRequest {
            request_id: args.id(),
            ran_function_id: args.function(),
            details: RicSubscriptionDetails {
                event_trigger_definition: args.octets("trigger").into(),
                actions: args
                    .numbers("actions")
                    .into_iter()
                    .enumerate()
                    .map(|(at, id)| RicActionToBeSetup {
                        id: RicActionId(id),
                        kind: match () {
                            () if args.has("insert") => RicActionType::Insert,
                            () if args.has("policy") => RicActionType::Policy,
                            () => RicActionType::Report,
                        },
                        definition: None,
                        subsequent_action: None,
                        execution_order: args.numbers("order").get(at).map(|order| RicActionExecutionOrder(*order)),
                    })
                    .collect(),
            },
            start_time: args.number("start").map(|at: u64| RicSubscriptionTime(at.to_be_bytes())),
            end_time: args.number("end").map(|at: u64| RicSubscriptionTime(at.to_be_bytes())),
        }
        .into(),
        "sub-response" => RicSubscriptionResponse {
            request_id: args.id(),
            ran_function_id: args.function(),
            actions_admitted: args
                .numbers("admit")
                .into_iter()
                .map(|id| RicActionAdmitted { id: RicActionId(id) })
                .collect(),
            actions_not_admitted: args.has("not").then(|| {
                let cause = args.cause();
                args.numbers("not").into_iter().map(|id| RicActionNotAdmitted { id: RicActionId(id), cause }).collect()
            }),
        }
        .into(),
        "sub-failure" => RicSubscriptionFailure {
            request_id: args.id(),
            ran_function_id: args.function(),
            actions_not_admitted: args.has("not").then(|| {
                let cause = args.cause();
                args.numbers("not").into_iter().map(|id| RicActionNotAdmitted { id: RicActionId(id), cause }).collect()
            }),
            cause: (!args.has("not")).then(|| args.cause()),
            criticality_diagnostics: None,
        }
        .into(),
        "delete-request" => {
            RicSubscriptionDeleteRequest { request_id: args.id(), ran_function_id: args.function() }.into()
        }
        "delete-response" => {
            RicSubscriptionDeleteResponse { request_id: args.id(), ran_function_id: args.function() }.into()
        }
        "delete-failure" => RicSubscriptionDeleteFailure {
            request_id: args.id(),
            ran_function_id: args.function(),
            cause: Some(args.cause()),
            criticality_diagnostics: None,
        }
        .into(),
        "delete-required" => RicSubscriptionDeleteRequired {
            subscriptions: Some(
                vec![RicSubscriptionWithCause {
                    request_id: args.id(),
                    ran_function_id: args.function(),
                    cause: args.cause(),
                }]
                .into(),
            ),
        }
        .into(),
        "indication" => RicIndication {
            request_id: args.id(),
            ran_function_id: args.function(),
            action_id: RicActionId(args.number("action").unwrap_or(1)),
            sn: args.number("sn").map(RicIndicationSn),
            kind: if args.has("insert") { RicIndicationType::Insert } else { RicIndicationType::Report },
            header: args.octets("header").into(),
            message: vec![0xAB; args.number("octets").unwrap_or(2)].into(),
            call_process_id: args.has("call").then(|| args.octets("call").into()),
        }
        .into(),
        "control" => RicControlRequest {
            request_id: args.id(),
            ran_function_id: args.function(),
            call_process_id: args.has("call").then(|| args.octets("call").into()),
            header: args.octets("header").into(),
            message: args.octets("message").into(),
            ack_request: match args.get("ack") {
                Some("no") => Some(RicControlAckRequest::NoAck),
                Some("nack") => Some(RicControlAckRequest::NAck),
                Some(_) => Some(RicControlAckRequest::Ack),
                None => None,
            },
        }
        .into(),
        "control-ack" => RicControlAcknowledge {
            request_id: args.id(),
            ran_function_id: args.function(),
            call_process_id: None,
            status: match args.get("status") {
                Some("success") => Some(RicControlStatus::Success),
                Some("rejected") => Some(RicControlStatus::Rejected),
                Some("failed") => Some(RicControlStatus::Failed),
                _ => None,
            },
            outcome: args.has("outcome").then(|| args.octets("outcome").into()),
        }
        .into(),
        "control-failure" => RicControlFailure {
            request_id: args.id(),
            ran_function_id: args.function(),
            call_process_id: None,
            cause: Some(args.cause()),
            outcome: args.has("outcome").then(|| args.octets("outcome").into()),
            criticality_diagnostics: None,
        }
        .into(),
        "error" => ErrorIndication {
            transaction_id: args.tx(),
            request_id: args.maybe_id(),
            ran_function_id: args.number("fn").map(RanFunctionId),
            cause: Some(args.cause()),
            criticality_diagnostics: args.number("about").map(|id| CriticalityDiagnostics {
                ies: Some(
                    vec![CriticalityDiagnosticsIe {
                        criticality: Criticality::Notify,
                        ie_id: ProtocolIeId(id),
                        type_of_error: TypeOfError::NotUnderstood,
                    }]
                    .into(),
                ),
                ..Default::default()
            }),
        }
        .into(),
        "reset" => ResetRequest { transaction_id: args.tx(), cause: Some(args.cause()) }.into(),
        "reset-response" => ResetResponse { transaction_id: args.tx(), criticality_diagnostics: None }.into(),
        "service-update" => RicServiceUpdate {
            transaction_id: args.tx(),
            ran_functions_added: functions(args, "add"),
            ran_functions_modified: functions(args, "modify"),
            ran_functions_deleted: accepted(args.numbers("delete")),
        }
        .into(),
        "service-update-ack" => RicServiceUpdateAcknowledge {
            transaction_id: args.tx(),
            ran_functions_accepted: accepted(args.numbers("accept")),
            ran_functions_rejected: rejected(args),
        }
        .into(),
        "service-update-failure" => RicServiceUpdateFailure {
            transaction_id: args.tx(),
            ran_functions_rejected: rejected(args).filter(|_| args.tx().is_none()),
            cause: args.tx().map(|_| args.cause()),
            time_to_wait: args.wait(),
            criticality_diagnostics: None,
        }
        .into(),
        "service-query" => {
            RicServiceQuery { transaction_id: args.tx(), ran_functions_accepted: accepted(args.numbers("accept")) }
                .into()
        }
        "config-update" => config_update(args).into(),
        "config-update-ack" => config_update_ack(args).into(),
        "config-update-failure" => E2NodeConfigurationUpdateFailure {
            transaction_id: args.tx(),
            cause: Some(args.cause()),
            time_to_wait: args.wait(),
            criticality_diagnostics: None,
        }
        .into(),
        "connection-update" => E2ConnectionUpdate {
            transaction_id: args.tx(),
            add: some(args, "add", connection),
            remove: some(args, "remove", |n| E2ConnectionUpdateRemoveItem { tnl_information: tnl(n) }),
            modify: some(args, "modify", connection),
        }
        .into(),
        "connection-update-ack" => E2ConnectionUpdateAcknowledge {
            transaction_id: args.tx(),
            setup: some(args, "setup", connection),
            setup_failed: some(args, "failed", |n| E2ConnectionSetupFailedItem {
                tnl_information: tnl(n),
                cause: args.cause(),
            }),
        }
        .into(),
        "connection-update-failure" => E2ConnectionUpdateFailure {
            transaction_id: args.tx(),
            cause: Some(args.cause()),
            time_to_wait: args.wait(),
            criticality_diagnostics: None,
        }
        .into(),
        "removal" => E2RemovalRequest { transaction_id: args.tx() }.into(),
        "removal-response" => E2RemovalResponse { transaction_id: args.tx(), criticality_diagnostics: None }.into(),
        "removal-failure" => {
            let (transaction_id, cause) = (args.tx(), Some(args.cause()));
            E2RemovalFailure { transaction_id, cause, criticality_diagnostics: None }.into()
        }
        "query" => RicQueryRequest {
            request_id: args.id(),
            ran_function_id: args.function(),
            header: args.octets("header").into(),
            definition: args.octets("definition").into(),
        }
        .into(),
        "query-response" => RicQueryResponse {
            request_id: args.id(),
            ran_function_id: args.function(),
            outcome: args.octets("outcome").into(),
        }
        .into(),
        "query-failure" => RicQueryFailure {
            request_id: args.id(),
            ran_function_id: args.function(),
            cause: Some(args.cause()),
            criticality_diagnostics: None,
        }
        .into(),
        "modification" => RicSubscriptionModificationRequest {
            request_id: args.id(),
            ran_function_id: args.function(),
            event_trigger_definition: args.has("trigger").then(|| args.octets("trigger").into()),
            actions_to_be_removed: some(args, "remove", |id| RicActionToBeRemoved { id: RicActionId(id) }),
            actions_to_be_modified: some(args, "modify", |id| RicActionToBeModified {
                id: RicActionId(id),
                definition: args.has("def").then(|| args.octets("def").into()),
                execution_order: None,
                subsequent_action: None,
            }),
            actions_to_be_added: some(args, "add", |id| RicActionToBeAdded {
                id: RicActionId(id),
                kind: RicActionType::Report,
                definition: args.octets("def").into(),
                execution_order: RicActionExecutionOrder(1),
                subsequent_action: None,
            }),
        }
        .into(),
        "modification-response" => {
            let cause = args.cause();
            RicSubscriptionModificationResponse {
                request_id: args.id(),
                ran_function_id: args.function(),
                actions_removed: some(args, "removed", |id| RicActionRemoved { id: RicActionId(id) }),
                actions_failed_to_be_removed: some(args, "not-removed", |id| RicActionFailedToBeRemoved {
                    id: RicActionId(id),
                    cause,
                }),
                actions_modified: some(args, "modified", |id| RicActionModified { id: RicActionId(id) }),
                actions_failed_to_be_modified: some(args, "not-modified", |id| RicActionFailedToBeModified {
                    id: RicActionId(id),
                    cause,
                }),
                actions_added: some(args, "added", |id| RicActionAdded { id: RicActionId(id) }),
                actions_failed_to_be_added: some(args, "not-added", |id| RicActionFailedToBeAdded {
                    id: RicActionId(id),
                    cause,
                }),
            }
            .into()
        }
        "modification-failure" => RicSubscriptionModificationFailure {
            request_id: args.id(),
            ran_function_id: args.function(),
            cause: args.cause(),
            criticality_diagnostics: None,
        }
        .into(),
        "modification-required" => RicSubscriptionModificationRequired {
            request_id: args.id(),
            ran_function_id: args.function(),
            actions_required_to_be_modified: some(args, "modify", |id| RicActionRequiredToBeModified {
                id: RicActionId(id),
                time_to_wait: RicTimeToWait::W1s,
            }),
            actions_required_to_be_removed: some(args, "remove", |id| RicActionRequiredToBeRemoved {
                id: RicActionId(id),
                cause: args.cause(),
            }),
        }
        .into(),
        "modification-confirm" => RicSubscriptionModificationConfirm {
            request_id: args.id(),
            ran_function_id: args.function(),
            actions_confirmed_for_modification: some(args, "modified", |id| RicActionConfirmedForModification {
                id: RicActionId(id),
            }),
            actions_refused_to_be_modified: some(args, "not-modified", |id| RicActionRefusedToBeModified {
                id: RicActionId(id),
                cause: args.cause(),
            }),
            actions_confirmed_for_removal: some(args, "removed", |id| RicActionConfirmedForRemoval {
                id: RicActionId(id),
            }),
            actions_refused_to_be_removed: some(args, "not-removed", |id| RicActionRefusedToBeRemoved {
                id: RicActionId(id),
                cause: args.cause(),
            }),
        }
        .into(),
        "modification-refuse" => RicSubscriptionModificationRefuse {
            request_id: args.id(),
            ran_function_id: args.function(),
            cause: args.cause(),
            criticality_diagnostics: None,
        }
        .into(),
        other => panic!("unknown message {other}"),
    }
}
