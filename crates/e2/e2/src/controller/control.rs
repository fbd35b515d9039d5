//! Sends the controls of consumers and handles their answers.
//!
//! Procedure: RIC Control. Clause: E2AP v03.01 8.2.4. Role: ric. Since: v01.00. Scenarios: control*

use e2ap::{
    Cause, ProcedureCode, RanFunctionId, RicControlAckRequest, RicControlAcknowledge, RicControlFailure,
    RicControlRequest,
};
use per::Octets;

use super::mediation::{Mediation, RequestedControl};
use super::records::{Control, Request};
use super::{Consumer, ControlOutcome, Controller, EndedControl, Event, Misuse, NodeId, RequestEvent, Ticket};
use crate::protocol_error::or_unspecified;
use crate::{Notice, Time};

/// A control that a consumer orders.
#[derive(Clone, Copy)]
pub(super) struct ControlOrder<'a> {
    pub consumer: Consumer,
    pub ticket: Ticket,
    pub node: NodeId,
    pub function: RanFunctionId,
    pub header: &'a [u8],
    pub message: &'a [u8],
    pub call_process_id: Option<&'a [u8]>,
    /// Whether an acknowledgement is requested.
    pub ack: bool,
}

impl Controller {
    // Clause 8.2.4.1/1 ric: The near-RT RIC starts the procedure. Tests: control, unsupported_procedures.
    // Clause 8.2.4.2/1 ric: TRICcontrol starts with the request if an acknowledgement is requested. Does:
    //   `control_timeout`, 5 s by default. It also runs without a request for an acknowledgement, since a failure may
    //   follow. The RIC always includes RIC Control Ack Request. Tests: control, controls_report_every_outcome.
    /// Sends a control to a RAN function. [`RequestEvent::Controlled`] reports the outcome.
    ///
    /// # Errors
    /// If the command is invalid; nothing was sent then.
    #[allow(clippy::too_many_arguments)] // the fields of the message
    pub fn control(
        &mut self,
        now: Time,
        consumer: Consumer,
        ticket: Ticket,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
        call_process_id: Option<&[u8]>,
        ack: bool,
    ) -> Result<(), Misuse> {
        let control = ControlOrder { consumer, ticket, node, function, header, message, call_process_id, ack };
        self.check_control(&control)?;
        let Controller { mediator, nodes, identities, ran, .. } = self;
        let (Some(mediator), Some(of)) = (mediator, nodes.get(&node)) else {
            return self.send_control(now, &control);
        };
        let identity = identities.get(&consumer);
        let requested = RequestedControl {
            now,
            consumer,
            identity,
            ticket,
            node: of,
            ran,
            function,
            header,
            message,
            call_process_id,
            ack,
        };
        match mediator.mediate(&requested) {
            Mediation::Send => self.send_admitted(now, &control),
            Mediation::Change { header, message } => {
                self.send_admitted(now, &ControlOrder { header: &header, message: &message, ..control })
            }
            Mediation::Refuse(cause) => {
                let control = Control { node, function, consumer, ticket, ack, sent: now, content: None };
                self.control_ended(now, control, ControlOutcome::Failed { cause, outcome: None });
                Ok(())
            }
            Mediation::Hold => Ok(()),
        }
    }

    /// Sends a control that the mediator has admitted, and tells the mediator if that fails.
    fn send_admitted(&mut self, now: Time, control: &ControlOrder<'_>) -> Result<(), Misuse> {
        let sent = self.send_control(now, control);
        if let (Err(_), Some(mediator)) = (&sent, &mut self.mediator) {
            // all other faults were excluded before
            let outcome = ControlOutcome::Misuse(super::RefusalCode::NoRequestId);
            mediator.control_ended(now, control.consumer, control.ticket, &outcome);
        }
        sent
    }

    /// Checks that a control can be sent.
    pub(super) fn check_control(&self, control: &ControlOrder<'_>) -> Result<(), Misuse> {
        let ControlOrder { consumer, node, header, message, .. } = *control;
        self.check_function(node, control.function)?;
        let octets = header.len() + message.len() + control.call_process_id.map_or(0, <[u8]>::len);
        self.check_room(consumer, octets, 0)?;
        self.check_share(consumer, node, octets)
    }

    /// Sends a control that was checked.
    pub(super) fn send_control(&mut self, now: Time, control: &ControlOrder<'_>) -> Result<(), Misuse> {
        let ControlOrder { consumer, ticket, node, function, header, message, call_process_id, ack } = *control;
        let octets = header.len() + message.len();
        let content =
            self.kept_controls.has_room(consumer, octets).then(|| Box::new((header.to_vec(), message.to_vec())));
        let control = Control { node, function, consumer, ticket, ack, sent: now, content };
        let kept_octets = control.kept_octets();
        let place = self.requests.add(now, Request::Control(control)).ok_or(Misuse::NoRequestId)?;
        self.kept_controls.charge(consumer, kept_octets);
        self.quotas.charge(consumer, place, 0);
        let request = RicControlRequest {
            request_id: self.requests.id(place),
            ran_function_id: function,
            call_process_id: call_process_id.map(Octets::from),
            header: header.into(),
            message: message.into(),
            ack_request: Some(if ack { RicControlAckRequest::Ack } else { RicControlAckRequest::NoAck }),
        };
        self.send_of(consumer, node, &request.into());
        self.set_deadline(now + self.config.control_timeout, place);
        Ok(())
    }

    // Clause 8.2.4.2/6 ric: The acknowledgement stops TRICcontrol and ends the procedure. Tests: control,
    //   control_in_each_version, conform:control.
    pub(super) fn control_acknowledge(&mut self, now: Time, node: NodeId, ack: &RicControlAcknowledge<'_>) {
        let outcome = ack.outcome.as_ref().map(|o| o.to_cow().into());
        // a v1 acknowledgement carries a status, where later versions send a failure
        let refused = ack.status.is_some_and(|status| status != e2ap::RicControlStatus::Success);
        let outcome = if refused {
            let cause = Cause::RicRequest(e2ap::CauseRicRequest::ControlFailedToExecute);
            ControlOutcome::Failed { cause, outcome }
        } else {
            ControlOutcome::Acknowledged(outcome)
        };
        self.control_answer(now, node, ack.request_id, ack.ran_function_id, "RicControlAcknowledge", outcome);
    }

    // Clause 8.2.4.3/7 ric: The failure stops TRICcontrol and ends the procedure. Tests: control,
    //   conform:control-failure.
    pub(super) fn control_failure(&mut self, now: Time, node: NodeId, failure: &RicControlFailure<'_>) {
        let outcome = ControlOutcome::Failed {
            cause: or_unspecified(failure.cause),
            outcome: failure.outcome.as_ref().map(|o| o.to_cow().into()),
        };
        self.control_answer(now, node, failure.request_id, failure.ran_function_id, "RicControlFailure", outcome);
    }

    fn control_answer(
        &mut self,
        now: Time,
        node: NodeId,
        id: e2ap::RicRequestId,
        function: RanFunctionId,
        message: &'static str,
        outcome: ControlOutcome,
    ) {
        let place = self.requests.place(id);
        let known = place.and_then(|p| self.requests.get(p));
        match (place, known) {
            (Some(place), Some(Request::Control(c))) if c.node == node && c.function == function => {
                self.finish_control(now, place, outcome);
            }
            // its timeout has passed and was reported
            (Some(place), None) if self.requests.is_in_reuse_delay(place) => self.late_answer(),
            _ => self.answer_to_unknown(now, node, id, message),
        }
    }

    pub(super) fn finish_control(&mut self, now: Time, place: u32, outcome: ControlOutcome) {
        if let Some(Request::Control(control)) = self.free(now, place) {
            self.control_ended(now, control, outcome);
        }
    }

    // Clause 8.2.4.4/2 ric: If TRICcontrol expires, the RIC sends an Error Indication. Tests: control. Deviation: the
    //   consumer gets the error, and nothing is sent: FlexRIC's agents abort when they receive one
    //   (docs/error-indications.md), and the node waits for nothing.
    pub(super) fn control_timeout(&mut self, now: Time, place: u32) {
        let Some(Request::Control(control)) = self.requests.get(place) else { return };
        if !control.ack {
            return self.finish_control(now, place, ControlOutcome::Sent);
        }
        if let Some(assoc) = self.nodes.get(&control.node).map(|n| n.assoc) {
            let request_id = Some(self.requests.id(place));
            let procedure_code = ProcedureCode::RIC_CONTROL;
            self.remark(now, assoc, Notice::TimedOut { procedure_code, request_id });
        }
        self.finish_control(now, place, ControlOutcome::TimedOut);
    }

    /// Reports the outcome of a control that is no longer in the table.
    pub(super) fn control_ended(&mut self, now: Time, control: Control, outcome: ControlOutcome) {
        let Control { node, function, consumer, ticket, sent, content, .. } = control;
        if let Some(mediator) = &mut self.mediator {
            mediator.control_ended(now, consumer, ticket, &outcome);
        }
        if self.config.kept_control_octets > 0 {
            let (duration, outcome) = (now - sent, outcome.clone());
            let ended = EndedControl { consumer, node, function, content, duration, outcome };
            self.events.push_back(Event::ControlEnded(Box::new(ended)));
        }
        self.events.push_back(Event::Request { consumer, event: RequestEvent::Controlled { ticket, outcome } });
    }
}
