//! Formats messages in the short notation.

use std::fmt::Write;

use e2ap::*;
use per::Octets;

fn list<T>(items: impl IntoIterator<Item = T>, show: impl Fn(T) -> String) -> String {
    items.into_iter().map(show).collect::<Vec<_>>().join(",")
}

/// Formats a list as ` key=…`; without a list, returns an empty string.
fn named<T>(key: &str, items: &Option<Items<'_, T>>, show: impl Fn(&T) -> String) -> String {
    items.as_ref().map_or(String::new(), |items| format!(" {key}={}", list(items.iter(), show)))
}

fn wait(wait: Option<TimeToWait>) -> String {
    wait.map_or(String::new(), |wait| format!(" wait={}", wait.seconds()))
}

/// Returns the last octet of an address.
fn host(tnl: &TnlInformation<'_>) -> String {
    tnl.address.to_octets().last().map_or(String::new(), u8::to_string)
}

fn component(id: &E2NodeComponentId<'_>) -> String {
    match id {
        E2NodeComponentId::F1(f1) => f1.gnb_du_id.0.to_string(),
        E2NodeComponentId::Ng(ng) => ng.amf_name.as_str().to_owned(),
        other => format!("{other:?}"),
    }
}

fn component_v1(id: &Option<E2NodeComponentIdV1>) -> String {
    match id {
        Some(E2NodeComponentIdV1::GnbDu(du)) => du.gnb_du_id.0.to_string(),
        other => format!("{other:?}"),
    }
}

fn ack(ack: &E2NodeComponentConfigurationAck) -> String {
    ack.failure_cause.map_or(String::new(), |cause| format!(" ({cause})"))
}

/// Formats a message; [`super::notation::parse_pdu`] parses the result for those messages that the state machines send.
pub fn format_pdu(pdu: &Pdu<'_>) -> String {
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
            write!(line, "setup-failure{} ({})", tx(m.transaction_id), why(m.cause)).unwrap();
            if let Some(wait) = m.time_to_wait {
                write!(line, " wait={}", wait.seconds()).unwrap();
            }
            if let Some((Some(address), _)) = m.tnl_information.as_ref().map(|tnl| tnl.addresses()) {
                write!(line, " tnl={}", address.octets()[3]).unwrap();
            }
            write!(line, "{}", diagnostics(&m.criticality_diagnostics))
        }
        Pdu::RicSubscriptionRequest(m) => {
            let time = |key: &str, time: Option<RicSubscriptionTime>| {
                time.map_or(String::new(), |time| format!(" {key}={}", u64::from_be_bytes(time.0)))
            };
            write!(
                line,
                "sub-request{}{} actions={}{}{}",
                of(m.request_id, m.ran_function_id),
                octets("trigger", &m.details.event_trigger_definition),
                list(m.details.actions.iter(), |a| match a.execution_order {
                    Some(order) => format!("{}:{}", a.id.0, order.0),
                    None => a.id.0.to_string(),
                }),
                time("start", m.start_time),
                time("end", m.end_time)
            )
        }
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
            why(m.cause),
            diagnostics(&m.criticality_diagnostics)
        ),
        Pdu::RicIndication(m) => write!(
            line,
            "indication{} action={}{} {:?}{}{}{}",
            of(m.request_id, m.ran_function_id),
            m.action_id.0,
            m.sn.map_or(String::new(), |sn| format!(" sn={}", sn.0)),
            m.kind,
            octets("header", &m.header),
            octets("message", &m.message),
            maybe("call", &m.call_process_id)
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
            why(m.cause),
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
        Pdu::ResetRequest(m) => write!(line, "reset{} ({})", tx(m.transaction_id), why(m.cause)),
        Pdu::ResetResponse(m) => {
            write!(line, "reset-response{}{}", tx(m.transaction_id), diagnostics(&m.criticality_diagnostics))
        }
        Pdu::RicServiceUpdate(m) => {
            write!(line, "service-update{}", tx(m.transaction_id)).unwrap();
            for (key, items) in [("add", &m.ran_functions_added), ("modify", &m.ran_functions_modified)] {
                write!(line, "{}", named(key, items, |f| format!("{}r{}", f.id.0, f.revision.0))).unwrap();
            }
            write!(line, "{}", named("delete", &m.ran_functions_deleted, |f| f.id.0.to_string()))
        }
        Pdu::RicServiceUpdateAcknowledge(m) => write!(
            line,
            "service-update-ack{}{}{}",
            tx(m.transaction_id),
            named("accept", &m.ran_functions_accepted, |f| format!("{}r{}", f.id.0, f.revision.0)),
            named("reject", &m.ran_functions_rejected, |f| format!("{} ({})", f.id.0, f.cause))
        ),
        Pdu::RicServiceUpdateFailure(m) => write!(
            line,
            "service-update-failure{}{}{}{}",
            tx(m.transaction_id),
            m.cause.map_or(String::new(), |cause| format!(" ({cause})")),
            named("reject", &m.ran_functions_rejected, |f| format!("{} ({})", f.id.0, f.cause)),
            wait(m.time_to_wait)
        ),
        Pdu::RicServiceQuery(m) => write!(
            line,
            "service-query{}{}",
            tx(m.transaction_id),
            named("accept", &m.ran_functions_accepted, |f| format!("{}r{}", f.id.0, f.revision.0))
        ),
        Pdu::E2NodeConfigurationUpdate(m) => {
            let octets = |c: &E2NodeComponentConfiguration<'_>| c.request_part.len() + c.response_part.len();
            let added = named("add", &m.component_config_addition, |i| {
                format!("{}:{}", component(&i.id), octets(&i.configuration))
            });
            let changed = named("change", &m.component_config_update, |i| {
                format!("{}:{}", component(&i.id), octets(&i.configuration))
            });
            let removed = named("remove", &m.component_config_removal, |i| component(&i.id));
            let v1 = named("add", &m.component_config_update_v1, |i| component_v1(&i.id));
            write!(line, "config-update{}{v1}{added}{changed}{removed}", tx(m.transaction_id))
        }
        Pdu::E2NodeConfigurationUpdateAcknowledge(m) => {
            let v1 = named("add", &m.component_config_update_ack_v1, |i| component_v1(&i.id) + &ack(&i.ack));
            let added = named("add", &m.component_config_addition_ack, |i| component(&i.id) + &ack(&i.ack));
            let changed = named("change", &m.component_config_update_ack, |i| component(&i.id) + &ack(&i.ack));
            let removed = named("remove", &m.component_config_removal_ack, |i| component(&i.id) + &ack(&i.ack));
            write!(line, "config-update-ack{}{v1}{added}{changed}{removed}", tx(m.transaction_id))
        }
        Pdu::E2NodeConfigurationUpdateFailure(m) => {
            let (tx, wait) = (tx(m.transaction_id), wait(m.time_to_wait));
            write!(line, "config-update-failure{tx} ({}){wait}", why(m.cause))
        }
        Pdu::E2ConnectionUpdate(m) => write!(
            line,
            "connection-update{}{}{}{}",
            tx(m.transaction_id),
            named("add", &m.add, |i| host(&i.tnl_information)),
            named("remove", &m.remove, |i| host(&i.tnl_information)),
            named("modify", &m.modify, |i| host(&i.tnl_information))
        ),
        Pdu::E2ConnectionUpdateAcknowledge(m) => write!(
            line,
            "connection-update-ack{}{}{}",
            tx(m.transaction_id),
            named("setup", &m.setup, |i| host(&i.tnl_information)),
            named("failed", &m.setup_failed, |i| format!("{} ({})", host(&i.tnl_information), i.cause))
        ),
        Pdu::E2ConnectionUpdateFailure(m) => write!(
            line,
            "connection-update-failure{}{}{}",
            tx(m.transaction_id),
            m.cause.map_or(String::new(), |cause| format!(" ({cause})")),
            wait(m.time_to_wait)
        ),
        Pdu::E2RemovalRequest(m) => write!(line, "removal{}", tx(m.transaction_id)),
        Pdu::E2RemovalResponse(m) => {
            write!(line, "removal-response{}{}", tx(m.transaction_id), diagnostics(&m.criticality_diagnostics))
        }
        Pdu::E2RemovalFailure(m) => write!(line, "removal-failure{} ({})", tx(m.transaction_id), why(m.cause)),
        Pdu::RicQueryRequest(m) => write!(
            line,
            "query{}{}{}",
            of(m.request_id, m.ran_function_id),
            octets("header", &m.header),
            octets("definition", &m.definition)
        ),
        Pdu::RicQueryResponse(m) => {
            write!(line, "query-response{}{}", of(m.request_id, m.ran_function_id), octets("outcome", &m.outcome))
        }
        Pdu::RicQueryFailure(m) => write!(
            line,
            "query-failure{} ({}){}",
            of(m.request_id, m.ran_function_id),
            why(m.cause),
            diagnostics(&m.criticality_diagnostics)
        ),
        Pdu::RicSubscriptionModificationRequest(m) => write!(
            line,
            "modification{}{}{}{}{}",
            of(m.request_id, m.ran_function_id),
            maybe("trigger", &m.event_trigger_definition),
            named("remove", &m.actions_to_be_removed, |a| a.id.0.to_string()),
            named("modify", &m.actions_to_be_modified, |a| a.id.0.to_string()),
            named("add", &m.actions_to_be_added, |a| a.id.0.to_string())
        ),
        Pdu::RicSubscriptionModificationResponse(m) => write!(
            line,
            "modification-response{}{}{}{}{}{}{}",
            of(m.request_id, m.ran_function_id),
            named("removed", &m.actions_removed, |a| a.id.0.to_string()),
            named("not-removed", &m.actions_failed_to_be_removed, |a| format!("{} ({})", a.id.0, a.cause)),
            named("modified", &m.actions_modified, |a| a.id.0.to_string()),
            named("not-modified", &m.actions_failed_to_be_modified, |a| format!("{} ({})", a.id.0, a.cause)),
            named("added", &m.actions_added, |a| a.id.0.to_string()),
            named("not-added", &m.actions_failed_to_be_added, |a| format!("{} ({})", a.id.0, a.cause))
        ),
        Pdu::RicSubscriptionModificationFailure(m) => write!(
            line,
            "modification-failure{} ({}){}",
            of(m.request_id, m.ran_function_id),
            m.cause,
            diagnostics(&m.criticality_diagnostics)
        ),
        Pdu::RicSubscriptionModificationRequired(m) => write!(
            line,
            "modification-required{}{}{}",
            of(m.request_id, m.ran_function_id),
            named("modify", &m.actions_required_to_be_modified, |a| format!("{}:{:?}", a.id.0, a.time_to_wait)),
            named("remove", &m.actions_required_to_be_removed, |a| format!("{} ({})", a.id.0, a.cause))
        ),
        Pdu::RicSubscriptionModificationConfirm(m) => write!(
            line,
            "modification-confirm{}{}{}{}{}",
            of(m.request_id, m.ran_function_id),
            named("modified", &m.actions_confirmed_for_modification, |a| a.id.0.to_string()),
            named("not-modified", &m.actions_refused_to_be_modified, |a| format!("{} ({})", a.id.0, a.cause)),
            named("removed", &m.actions_confirmed_for_removal, |a| a.id.0.to_string()),
            named("not-removed", &m.actions_refused_to_be_removed, |a| format!("{} ({})", a.id.0, a.cause))
        ),
        Pdu::RicSubscriptionModificationRefuse(m) => {
            write!(line, "modification-refuse{} ({})", of(m.request_id, m.ran_function_id), m.cause)
        }
        Pdu::RicSubscriptionDeleteRequired(m) => {
            let items = list(m.subscriptions.iter().flat_map(|items| items.iter()), |s| {
                format!("{}/{} ({})", s.request_id.requestor, s.request_id.instance, s.cause)
            });
            write!(line, "delete-required {items}")
        }
        other => unreachable!("no text of {}: add it here", other.name()),
    }
    .unwrap();
    line
}

fn why(cause: Option<e2ap::Cause>) -> String {
    cause.map_or_else(|| "no cause".to_owned(), |cause| cause.to_string())
}
