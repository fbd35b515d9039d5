//! The controls of a controller: each goes to the parts that have it, and their answers are one.

use std::collections::HashMap;

use ferric::agent::{ControlFailure, ControllerId};
use ferric::e2::{ControlRequest, NodeId, Ticket};
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId, RicRequestId};
use ferric::server::IappContext;
use tracing::warn;

use super::app::TopologyApp;
use super::ccc::{Composition, DividedControl, divide_control};
use super::exposed::shared_cu;
use super::view::View;

const FAILED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// A control that is not answered yet.
struct PendingControl {
    station: usize,
    function: RanFunctionId,
    of: (ControllerId, RicRequestId),
    /// The parts that have not answered.
    left: usize,
    answer: Answer,
}

/// The answer so far.
enum Answer {
    /// A failure of one part is one of the control.
    Common(Result<Option<Vec<u8>>, ControlFailure>),
    /// That of several parts to their own structures.
    Composed(Composition),
}

/// The controls that are not answered yet.
#[derive(Default)]
pub(super) struct Controls {
    pending: HashMap<u64, PendingControl>,
    /// The control that each control of a part belongs to, and the part.
    tickets: HashMap<Ticket, (u64, NodeId)>,
    next: u64,
}

impl TopologyApp {
    /// Passes a control on to the parts that have it.
    pub(super) fn control(
        &mut self,
        at: usize,
        function: RanFunctionId,
        controller: ControllerId,
        request: &ControlRequest,
        ric: &mut IappContext<'_>,
    ) {
        let station = &mut self.stations[at];
        let of = (controller, request.request_id);
        if station.function(function).is_some_and(|known| known.view == View::Ccc) {
            return match divide_control(&station.ccc, request) {
                Ok(divided) => self.control_structures(at, function, of, (request, divided), ric),
                Err(failure) => station.answer(function, of, Err(failure)),
            };
        }
        let cu = shared_cu(station).and_then(|node| self.cus.get(&node));
        let mut sent = Vec::new();
        let failure = match station.route(function, request, ric.ran()) {
            Ok(parts) => {
                let parts = parts.into_iter().map(|part| (part.node, part.of_part.id, part.view));
                let parts: Vec<_> = parts.collect();
                let result = parts.into_iter().try_for_each(|(node, of_part, view)| {
                    let part = self.nodes.get(&node).map(|node| node.global_id).ok_or(FAILED)?;
                    let (header, message) = view.control(request, &part, cu, at, &station.inserts)?;
                    let ticket = match &request.call_process_id {
                        None => ric.control(node, of_part, &header, &message),
                        Some(process) => ric.answer_insert(node, of_part, process, &header, &message),
                    };
                    let ticket = ticket.map_err(|misuse| {
                        if ric.allows_line(node) {
                            warn!(
                                station = %station.config,
                                function = function.0,
                                "a control of the controller is refused: cannot pass it on: {misuse}"
                            );
                        }
                        FAILED
                    })?;
                    sent.push((ticket, node));
                    Ok::<(), ControlFailure>(())
                });
                result.err()
            }
            Err(failure) => Some(failure),
        };
        if let (None, Some(process)) = (&failure, &request.call_process_id) {
            station.inserts.remove(process);
        }
        let result = failure.map_or(Ok(None), Err);
        if sent.is_empty() {
            return station.answer(function, of, result.and(Err(FAILED.into())));
        }
        self.controls.add(at, function, of, Answer::Common(result), sent);
    }

    /// Passes the structures of a control on to the parts that have them.
    fn control_structures(
        &mut self,
        at: usize,
        function: RanFunctionId,
        of: (ControllerId, RicRequestId),
        (request, divided): (&ControlRequest, DividedControl),
        ric: &mut IappContext<'_>,
    ) {
        let station = &mut self.stations[at];
        let DividedControl { parts, mut composition } = divided;
        let mut sent = Vec::new();
        for (node, of_part, message) in parts {
            match ric.control(node, of_part, &request.header, &message) {
                Ok(ticket) => sent.push((ticket, node)),
                Err(misuse) => {
                    if ric.allows_line(node) {
                        warn!(
                            station = %station.config,
                            function = function.0,
                            "structures of a control of the controller are refused: cannot pass them on: {misuse}"
                        );
                    }
                    composition.add(node, &Err(FAILED.into()));
                }
            }
        }
        if sent.is_empty() {
            return station.answer(function, of, composition.outcome());
        }
        self.controls.add(at, function, of, Answer::Composed(composition), sent);
    }

    /// Records the answer of a part to its part of a control.
    pub(super) fn answered(&mut self, ticket: Ticket, answer: Result<Option<Vec<u8>>, ControlFailure>) {
        if let Some(PendingControl { station, function, of, answer, .. }) = self.controls.answered(ticket, answer) {
            let result = match answer {
                Answer::Common(result) => result,
                Answer::Composed(composition) => composition.outcome(),
            };
            self.stations[station].answer(function, of, result);
        }
    }

    /// Answers for a part that is lost.
    pub(super) fn fail_controls_of(&mut self, lost: NodeId) {
        let of_node = self.controls.tickets.iter().filter(|(_, (_, node))| *node == lost).map(|(ticket, _)| *ticket);
        for ticket in of_node.collect::<Vec<_>>() {
            self.answered(ticket, Err(FAILED.into()));
        }
    }
}

impl Controls {
    fn add(
        &mut self,
        station: usize,
        function: RanFunctionId,
        of: (ControllerId, RicRequestId),
        answer: Answer,
        sent: Vec<(Ticket, NodeId)>,
    ) {
        self.next += 1;
        let number = self.next;
        self.pending.insert(number, PendingControl { station, function, of, left: sent.len(), answer });
        self.tickets.extend(sent.into_iter().map(|(ticket, node)| (ticket, (number, node))));
    }

    /// Records the answer of a part. Returns the control if it was the last one.
    fn answered(&mut self, ticket: Ticket, of_part: Result<Option<Vec<u8>>, ControlFailure>) -> Option<PendingControl> {
        let (number, node) = self.tickets.remove(&ticket)?;
        let control = self.pending.get_mut(&number)?;
        control.left -= 1;
        match &mut control.answer {
            Answer::Common(Err(_)) => {}
            Answer::Common(result) => *result = of_part,
            Answer::Composed(composition) => composition.add(node, &of_part),
        }
        if control.left > 0 {
            return None;
        }
        self.pending.remove(&number)
    }
}
