//! Dispatches every received PDU except RIC indications of active subscriptions, which [`Controller::handle_pdu`] returns.

use e2ap::{CriticalityDiagnostics, Decoded, Kind, Pdu, Version};
use per::Gather;

use super::{Controller, Event, Indication, NodeId, Routed};
use crate::{AssocId, Notice, Time, protocol_error};

impl Controller {
    /// Decodes and dispatches a PDU that is not a plain indication of an active subscription.
    pub(super) fn dispatch<'a>(&mut self, now: Time, assoc: AssocId, pdu: &'a [u8]) -> Routed<'a> {
        let Some(state) = self.assocs.get_mut(&assoc) else { return Routed::Done };
        // a setup request implies the version, a repeated one too; it applies once the setup is accepted
        let codec = state.codec;
        let implied = codec.version_of_setup(pdu).map(|version| self.config.version.unwrap_or(version));
        if let (Some(implied), None) = (implied, state.node) {
            state.version = implied;
        }
        let (mut version, node) = (implied.unwrap_or(state.version), state.node);
        let gather = Gather::new();
        let decoded = match codec.decode(pdu, version, &gather) {
            Ok(decoded) => decoded,
            Err(error) => match self.decode_as_v3(assoc, pdu, version, &error, &gather) {
                Some(decoded) => {
                    version = Version::V3_01;
                    decoded
                }
                None => {
                    self.answer_malformed(now, assoc, pdu, version, error);
                    return Routed::Done;
                }
            },
        };
        if let Some(&error) = decoded.out_of_order() {
            if self.config.strict_ie_order {
                self.answer_malformed(now, assoc, pdu, version, error);
                return Routed::Done;
            }
            self.accept_disorder(assoc, error);
        }
        let report = match Notice::overlooked(&decoded) {
            Some(notice) => self.overlooked(now, assoc, pdu, &decoded, notice),
            None => None,
        };
        match (decoded.pdu, node) {
            (Pdu::E2SetupRequest(request), _) => self.setup(now, assoc, version, request),
            (Pdu::ErrorIndication(indication), _) => self.error_indication(now, assoc, indication),
            (Pdu::E2NodeConfigurationUpdate(update), None) if update.global_e2_node_id.is_some() => {
                if let Some(key) = update.global_e2_node_id {
                    self.join_node(now, assoc, key, &update);
                }
            }
            (indication @ Pdu::RicIndication(_), None) => self.indication_before_setup(now, assoc, &indication, pdu),
            // an answer to the RIC before a restart
            (other, None) if other.kind() != Kind::Initiating => self.unexpected_answer(now, assoc, &other),
            (other, None) => self.before_setup(now, assoc, &other, pdu),
            (Pdu::RicIndication(indication), Some(node)) => {
                if let Some(subscription) = self.route(node, indication.request_id, indication.ran_function_id) {
                    return Routed::Indication(Indication {
                        node,
                        subscription,
                        ran_function_id: indication.ran_function_id,
                        action_id: indication.action_id,
                        sn: indication.sn,
                        kind: indication.kind,
                        version,
                        codec,
                        pdu,
                        payload: None,
                    });
                }
                self.stray_indication(now, assoc, node, &indication);
            }
            (other, Some(node)) if other.kind() == Kind::Initiating => {
                self.request(now, assoc, node, other, pdu, report)
            }
            (other, Some(node)) => self.answer(now, assoc, node, other),
        }
        Routed::Done
    }

    /// Reports the first message of an association whose IEs are out of order.
    #[cold]
    fn accept_disorder(&mut self, assoc: AssocId, error: e2ap::Error) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        if !std::mem::replace(&mut state.disorder_reported, true) {
            self.notice(assoc, Notice::OutOfOrder(error));
        }
    }

    // Clause 10.3.4.2/5 ric: An ignored IE with criticality ignore and notify in a request is reported in the answer.
    //   Does: in Reset Response and E2 Removal Response; E2AP gives other answers no criticality diagnostics, so that
    //   an Error Indication reports it. Tests: criticality_notify, conform:unknown-ie-notify.
    /// Reports IEs that were ignored in a message that is processed nevertheless: at once, or, if the procedure's answer can
    /// carry them, by returning the diagnostics (E2AP v03.01 10.3.4.2, 10.3.5).
    #[cold]
    fn overlooked(
        &mut self,
        now: Time,
        assoc: AssocId,
        pdu: &[u8],
        decoded: &Decoded<'_>,
        notice: Notice,
    ) -> Option<CriticalityDiagnostics<'static>> {
        let state = self.assocs.get(&assoc)?;
        match (&decoded.pdu, decoded.to_report()) {
            (Pdu::ResetRequest(_) | Pdu::E2RemovalRequest(_), Some(report)) if state.node.is_some() => {
                self.remark(now, assoc, notice);
                return Some(report);
            }
            (message, Some(diagnostics)) => {
                let answer = protocol_error::report(message, state.codec.outline(pdu), diagnostics);
                self.complain(now, assoc, notice, answer);
            }
            (_, None) => self.remark(now, assoc, notice),
        }
        None
    }

    /// Dispatches an initiating message of a node; `report` belongs into its answer.
    fn request(
        &mut self,
        now: Time,
        assoc: AssocId,
        node: NodeId,
        message: Pdu<'_>,
        pdu: &[u8],
        report: Option<CriticalityDiagnostics<'static>>,
    ) {
        match message {
            Pdu::RicSubscriptionDeleteRequired(required) => self.delete_required(now, node, &required),
            Pdu::RicSubscriptionModificationRequired(m) => self.modification_required(now, node, &m),
            Pdu::RicServiceUpdate(update) => self.service_update(now, node, &update),
            Pdu::E2NodeConfigurationUpdate(update) => self.configuration_update(now, node, &update),
            Pdu::ResetRequest(request) => self.reset_request(now, node, &request, report),
            Pdu::E2RemovalRequest(request) => {
                let assoc = self.first_of(node, assoc);
                self.removal_request(now, assoc, node, &request, report);
            }
            other => self.not_supported(now, assoc, &other, pdu),
        }
    }

    /// Dispatches an answer to one of the RIC's procedures.
    fn answer(&mut self, now: Time, assoc: AssocId, node: NodeId, message: Pdu<'_>) {
        let code = message.procedure_code();
        // answers may arrive on any association of the node
        let assoc = self.first_of(node, assoc);
        match message {
            Pdu::RicSubscriptionResponse(response) => self.subscription_response(now, node, &response),
            Pdu::RicSubscriptionFailure(failure) => self.subscription_failure(now, node, &failure),
            Pdu::RicSubscriptionDeleteResponse(m) => {
                let name = "RicSubscriptionDeleteResponse";
                self.delete_response(now, node, m.request_id, m.ran_function_id, name);
            }
            Pdu::RicSubscriptionDeleteFailure(m) => {
                let name = "RicSubscriptionDeleteFailure";
                self.delete_response(now, node, m.request_id, m.ran_function_id, name);
            }
            Pdu::RicSubscriptionModificationResponse(m) => self.modification_response(now, node, &m),
            Pdu::RicSubscriptionModificationFailure(m) => self.modification_failure(now, node, &m),
            Pdu::RicControlAcknowledge(ack) => self.control_acknowledge(now, node, &ack),
            Pdu::RicControlFailure(failure) => self.control_failure(now, node, &failure),
            Pdu::RicQueryResponse(response) => self.query_response(now, node, &response),
            Pdu::RicQueryFailure(failure) => self.query_failure(now, node, &failure),
            Pdu::ResetResponse(m) if self.ends(assoc, code, m.transaction_id) => {}
            Pdu::E2ConnectionUpdateAcknowledge(m) if self.ends(assoc, code, m.transaction_id) => {
                self.connection_updated(node, &m);
            }
            Pdu::E2ConnectionUpdateFailure(m) if self.ends(assoc, code, m.transaction_id) => {
                self.connection_refused(now, node, &m);
            }
            Pdu::E2RemovalResponse(m) if self.ends(assoc, code, m.transaction_id) => self.removed(now, assoc, node),
            Pdu::E2RemovalFailure(m) if self.ends(assoc, code, m.transaction_id) => self.removal_refused(node, m.cause),
            // nothing was requested
            other => self.unexpected_answer(now, assoc, &other),
        }
    }

    /// Detects a v03.01 peer, whose setup request is identical to that of v02.03, by a message that only v03.01 has.
    fn decode_as_v3<'a>(
        &mut self,
        assoc: AssocId,
        pdu: &'a [u8],
        version: Version,
        error: &e2ap::Error,
        gather: &'a Gather,
    ) -> Option<Decoded<'a>> {
        if version != Version::V2_03 || self.config.version.is_some() || matches!(error, e2ap::Error::Header(_)) {
            return None;
        }
        let state = self.assocs.get_mut(&assoc)?;
        let decoded = state.codec.decode(pdu, Version::V3_01, gather).ok()?;
        // the version of a setup applies once the setup is accepted
        if !matches!(decoded.pdu, Pdu::E2SetupRequest(_)) {
            state.version = Version::V3_01;
            if let Some(node) = state.node.and_then(|id| self.nodes.get_mut(&id)) {
                node.version = Version::V3_01;
                self.events.push_back(Event::NodeChanged(node.id));
            }
        }
        Some(decoded)
    }
}
