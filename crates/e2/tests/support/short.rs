//! Messages as short lines: `sub-response id=1021/0 fn=2 admit=1`.

use std::collections::HashMap;
use std::fmt::Write;

use e2ap::*;
use per::{Octets, PrintableString};

/// The words of a line behind the message's name: `key=value`, or a lone `flag`.
pub struct Args<'l>(HashMap<&'l str, &'l str>);

impl<'l> Args<'l> {
    pub fn new(words: &[&'l str]) -> Self {
        Args(words.iter().map(|word| word.split_once('=').unwrap_or((word, ""))).collect())
    }

    pub fn get(&self, key: &str) -> Option<&'l str> {
        self.0.get(key).copied()
    }

    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key).map(|text| text.parse().unwrap_or_else(|_| panic!("{key}={text} is no number")))
    }

    pub fn numbers<T: std::str::FromStr>(&self, key: &str) -> Vec<T> {
        let numbers = self.get(key).unwrap_or_default().split(',').filter(|n| !n.is_empty());
        numbers.map(|text| text.parse().unwrap_or_else(|_| panic!("{key}: {text} is no number"))).collect()
    }

    pub fn tx(&self) -> Option<TransactionId> {
        self.number("tx").map(TransactionId)
    }

    pub fn id(&self) -> RicRequestId {
        self.maybe_id().expect("id=requestor/instance")
    }

    pub fn maybe_id(&self) -> Option<RicRequestId> {
        let (requestor, instance) = self.get("id")?.split_once('/').expect("id=requestor/instance");
        Some(RicRequestId { requestor: requestor.parse().unwrap(), instance: instance.parse().unwrap() })
    }

    pub fn function(&self) -> RanFunctionId {
        RanFunctionId(self.number("fn").expect("fn="))
    }

    pub fn octets(&self, key: &str) -> Vec<u8> {
        self.get(key).map(hex).unwrap_or_default()
    }

    pub fn cause(&self) -> Cause {
        cause(self.get("cause").unwrap_or("unspecified"))
    }

    fn wait(&self) -> Option<TimeToWait> {
        use TimeToWait::*;
        let seconds: u32 = self.number("wait")?;
        [V1s, V2s, V5s, V10s, V20s, V60s].into_iter().find(|w| w.seconds() == seconds)
    }
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    assert!(digits.len().is_multiple_of(2), "{text}: half an octet");
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

pub fn cause(name: &str) -> Cause {
    match name {
        "unspecified" => Cause::RicRequest(CauseRicRequest::Unspecified),
        "no-room" => Cause::RicRequest(CauseRicRequest::FunctionResourceLimit),
        "unknown-id" => Cause::RicRequest(CauseRicRequest::RequestIdUnknown),
        "not-ready" => Cause::RicRequest(CauseRicRequest::SystemNotReady),
        "not-supported" => Cause::RicRequest(CauseRicRequest::ActionNotSupported),
        "overload" => Cause::Misc(CauseMisc::ControlProcessingOverload),
        "om" => Cause::Misc(CauseMisc::OmIntervention),
        "reject" => Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject),
        other => panic!("no cause is called {other}"),
    }
}

pub fn gnb(number: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 28))
}

/// A setup request, as v02.03 or (without a transaction id) as v01.01.
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

/// The message that a line says.
pub fn build(name: &str, args: &Args<'_>) -> Pdu<'static> {
    let accepted = |functions: Vec<u16>| {
        let items = functions
            .into_iter()
            .map(|id| RanFunctionIdItem { id: RanFunctionId(id), revision: RanFunctionRevision(1) });
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
            cause: args.cause(),
            time_to_wait: args.wait(),
            criticality_diagnostics: None,
            tnl_information: None,
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
                    .map(|id| RicActionToBeSetup {
                        id: RicActionId(id),
                        kind: RicActionType::Report,
                        definition: None,
                        subsequent_action: None,
                        execution_order: None,
                    })
                    .collect(),
            },
            start_time: None,
            end_time: None,
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
            cause: args.cause(),
            criticality_diagnostics: None,
        }
        .into(),
        "delete-required" => RicSubscriptionDeleteRequired {
            subscriptions: vec![RicSubscriptionWithCause {
                request_id: args.id(),
                ran_function_id: args.function(),
                cause: args.cause(),
            }]
            .into(),
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
            call_process_id: None,
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
            cause: args.cause(),
            outcome: args.has("outcome").then(|| args.octets("outcome").into()),
            criticality_diagnostics: None,
        }
        .into(),
        "error" => ErrorIndication {
            transaction_id: args.tx(),
            request_id: args.maybe_id(),
            ran_function_id: args.number("fn").map(RanFunctionId),
            cause: Some(args.cause()),
            criticality_diagnostics: None,
        }
        .into(),
        "reset" => ResetRequest { transaction_id: args.tx(), cause: args.cause() }.into(),
        "reset-response" => ResetResponse { transaction_id: args.tx(), criticality_diagnostics: None }.into(),
        "service-update" => RicServiceUpdate {
            transaction_id: args.tx(),
            ran_functions_added: None,
            ran_functions_modified: None,
            ran_functions_deleted: accepted(args.numbers("delete")),
        }
        .into(),
        "service-query" => RicServiceQuery { transaction_id: args.tx(), ran_functions_accepted: None }.into(),
        "config-update" => E2NodeConfigurationUpdate {
            transaction_id: args.tx(),
            global_e2_node_id: None,
            component_config_update_v1: None,
            component_config_addition: None,
            component_config_update: None,
            component_config_removal: None,
            tnl_association_removal: None,
        }
        .into(),
        "connection-update" => {
            E2ConnectionUpdate { transaction_id: args.tx(), add: None, remove: None, modify: None }.into()
        }
        "removal" => E2RemovalRequest { transaction_id: args.tx() }.into(),
        "query" => RicQueryRequest {
            request_id: args.id(),
            ran_function_id: args.function(),
            header: Octets::default(),
            definition: Octets::default(),
        }
        .into(),
        "modification" => RicSubscriptionModificationRequest {
            request_id: args.id(),
            ran_function_id: args.function(),
            event_trigger_definition: None,
            actions_to_be_removed: None,
            actions_to_be_modified: None,
            actions_to_be_added: None,
        }
        .into(),
        "modification-required" => RicSubscriptionModificationRequired {
            request_id: args.id(),
            ran_function_id: args.function(),
            actions_required_to_be_modified: None,
            actions_required_to_be_removed: None,
        }
        .into(),
        other => panic!("no message is called {other}"),
    }
}

/// The octets that a line says: a message in `version`; `hex` and octets; or a message that was tampered with: `cut=5`
/// takes octets from its end, `plus=200` adds an IE with that id and criticality reject (`plusi` with ignore), and
/// `minus` drops its last IE, if that has one octet.
pub fn bytes(words: &[&str], version: Version) -> Vec<u8> {
    if words[0] == "hex" {
        return hex(&words[1..].concat());
    }
    let args = Args::new(&words[1..]);
    let version = args.get("v").map_or(version, |text| text.parse().unwrap());
    let mut out = Vec::new();
    build(words[0], &args).encode(version, &mut out).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    for (key, criticality) in [("plus", 0), ("plusi", 0x40)] {
        if let Some(id) = args.number::<u16>(key) {
            // a short message: its length is one octet, its number of IEs stands three behind it
            assert!(out[3] < 0x80 - 5, "too long to be tampered with");
            out[3] += 5;
            out[6] += 1;
            out.extend(id.to_be_bytes());
            out.extend([criticality, 1, 0]);
        }
    }
    if args.has("minus") {
        let ie = out.split_off(out.len() - 5);
        assert_eq!(ie[3], 1, "the last IE has one octet");
        out[3] -= 5;
        out[6] -= 1;
    }
    if let Some(cut) = args.number::<usize>("cut") {
        out.truncate(out.len() - cut);
    }
    out
}

fn list<T>(items: impl IntoIterator<Item = T>, show: impl Fn(T) -> String) -> String {
    items.into_iter().map(show).collect::<Vec<_>>().join(",")
}

/// The line that says a message; as [`build`] reads it where machines send it.
pub fn show(pdu: &Pdu<'_>) -> String {
    let mut line = String::new();
    let tx = |tx: Option<TransactionId>| tx.map_or(String::new(), |tx| format!(" tx={}", tx.0));
    let of =
        |id: RicRequestId, function: RanFunctionId| format!(" id={}/{} fn={}", id.requestor, id.instance, function.0);
    let octets = |name: &str, octets: &Octets<'_>| {
        let text: String = octets.to_cow().iter().map(|octet| format!("{octet:02x}")).collect();
        if text.is_empty() { String::new() } else { format!(" {name}={text}") }
    };
    let maybe = |name: &str, value: &Option<Octets<'_>>| match value {
        Some(value) if value.is_empty() => format!(" {name}="),
        Some(value) => octets(name, value),
        None => String::new(),
    };
    let diagnostics = |diagnostics: &Option<CriticalityDiagnostics<'_>>| {
        let Some(d) = diagnostics else { return String::new() };
        let mut text = String::from(" about");
        if let Some(code) = d.procedure_code {
            write!(text, " {code:?}").unwrap();
        }
        if let Some(message) = d.triggering_message {
            write!(text, " {message:?}").unwrap();
        }
        if let Some(criticality) = d.procedure_criticality {
            write!(text, " {criticality:?}").unwrap();
        }
        for ie in d.ies.iter().flat_map(|ies| ies.iter()) {
            write!(text, " IE {} {:?} {:?}", ie.ie_id.0, ie.criticality, ie.type_of_error).unwrap();
        }
        text
    };
    match pdu {
        Pdu::E2SetupRequest(m) => {
            let functions = list(m.ran_functions_added.iter().flat_map(|i| i.iter()), |f| f.id.0.to_string());
            write!(line, "setup{} {} fns={functions}", tx(m.transaction_id), m.global_e2_node_id)
        }
        Pdu::E2SetupResponse(m) => {
            let accepted = list(m.ran_functions_accepted.iter().flat_map(|i| i.iter()), |f| f.id.0.to_string());
            write!(line, "setup-response{} accept={accepted}", tx(m.transaction_id)).unwrap();
            for item in m.ran_functions_rejected.iter().flat_map(|i| i.iter()) {
                write!(line, " reject={} ({})", item.id.0, item.cause).unwrap();
            }
            Ok(())
        }
        Pdu::E2SetupFailure(m) => {
            write!(line, "setup-failure{} ({})", tx(m.transaction_id), m.cause).unwrap();
            if let Some(wait) = m.time_to_wait {
                write!(line, " wait={}", wait.seconds()).unwrap();
            }
            write!(line, "{}", diagnostics(&m.criticality_diagnostics))
        }
        Pdu::RicSubscriptionRequest(m) => write!(
            line,
            "sub-request{}{} actions={}",
            of(m.request_id, m.ran_function_id),
            octets("trigger", &m.details.event_trigger_definition),
            list(m.details.actions.iter(), |a| a.id.0.to_string())
        ),
        Pdu::RicSubscriptionResponse(m) => {
            let admitted = list(m.actions_admitted.iter(), |a| a.id.0.to_string());
            write!(line, "sub-response{} admit={admitted}", of(m.request_id, m.ran_function_id)).unwrap();
            for item in m.actions_not_admitted.iter().flat_map(|i| i.iter()) {
                write!(line, " not={} ({})", item.id.0, item.cause).unwrap();
            }
            Ok(())
        }
        Pdu::RicSubscriptionFailure(m) => {
            write!(line, "sub-failure{}", of(m.request_id, m.ran_function_id)).unwrap();
            if let Some(cause) = m.cause {
                write!(line, " ({cause})").unwrap();
            }
            for item in m.actions_not_admitted.iter().flat_map(|i| i.iter()) {
                write!(line, " not={} ({})", item.id.0, item.cause).unwrap();
            }
            write!(line, "{}", diagnostics(&m.criticality_diagnostics))
        }
        Pdu::RicSubscriptionDeleteRequest(m) => write!(line, "delete-request{}", of(m.request_id, m.ran_function_id)),
        Pdu::RicSubscriptionDeleteResponse(m) => write!(line, "delete-response{}", of(m.request_id, m.ran_function_id)),
        Pdu::RicSubscriptionDeleteFailure(m) => write!(
            line,
            "delete-failure{} ({}){}",
            of(m.request_id, m.ran_function_id),
            m.cause,
            diagnostics(&m.criticality_diagnostics)
        ),
        Pdu::RicIndication(m) => write!(
            line,
            "indication{} action={}{} {:?}{}{}",
            of(m.request_id, m.ran_function_id),
            m.action_id.0,
            m.sn.map_or(String::new(), |sn| format!(" sn={}", sn.0)),
            m.kind,
            octets("header", &m.header),
            octets("message", &m.message)
        ),
        Pdu::RicControlRequest(m) => write!(
            line,
            "control{}{}{}{} {:?}",
            of(m.request_id, m.ran_function_id),
            maybe("call", &m.call_process_id),
            octets("header", &m.header),
            octets("message", &m.message),
            m.ack_request
        ),
        Pdu::RicControlAcknowledge(m) => write!(
            line,
            "control-ack{}{}{}{}",
            of(m.request_id, m.ran_function_id),
            maybe("call", &m.call_process_id),
            m.status.map_or(String::new(), |s| format!(" {s:?}")),
            maybe("outcome", &m.outcome)
        ),
        Pdu::RicControlFailure(m) => write!(
            line,
            "control-failure{}{} ({}){}{}",
            of(m.request_id, m.ran_function_id),
            maybe("call", &m.call_process_id),
            m.cause,
            maybe("outcome", &m.outcome),
            diagnostics(&m.criticality_diagnostics)
        ),
        Pdu::ErrorIndication(m) => {
            write!(line, "error{}", tx(m.transaction_id)).unwrap();
            if let Some(id) = m.request_id {
                write!(line, " id={}/{}", id.requestor, id.instance).unwrap();
            }
            if let Some(function) = m.ran_function_id {
                write!(line, " fn={}", function.0).unwrap();
            }
            if let Some(cause) = m.cause {
                write!(line, " ({cause})").unwrap();
            }
            write!(line, "{}", diagnostics(&m.criticality_diagnostics))
        }
        Pdu::ResetRequest(m) => write!(line, "reset{} ({})", tx(m.transaction_id), m.cause),
        Pdu::ResetResponse(m) => write!(line, "reset-response{}", tx(m.transaction_id)),
        other => write!(line, "{other:?}"),
    }
    .unwrap();
    line
}
