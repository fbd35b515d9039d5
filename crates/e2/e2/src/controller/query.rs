//! Sends the queries of consumers and handles their answers.
//!
//! Procedure: RIC Query. Clause: E2AP v03.01 8.2.7. Role: ric. Since: v03.01. Scenarios: query*

use e2ap::{
    Cause, ProcedureCode, RanFunctionId, RicQueryFailure, RicQueryRequest, RicQueryResponse, RicRequestId, Version,
};

use super::records::{Query, Request};
use super::{Consumer, Controller, Event, Misuse, NodeId, QueryOutcome, RequestEvent, Ticket};
use crate::protocol_error::or_unspecified;
use crate::{Notice, Time};

impl Controller {
    // Clause 8.2.7.1/1 ric: The near-RT RIC starts the procedure. Tests: query, unsupported_procedures. Versions:
    //   from v03 on.
    // Clause 8.2.7.2/1 ric: The request contains a request id that no other request has. Tests: query. Versions: from
    //   v03 on.
    // Clause 8.2.7.2/2 ric: TRICquery starts with the request. Does: `query_timeout`, 5 s by default. Tests: query.
    //   Versions: from v03 on.
    /// Sends a query to a RAN function. [`RequestEvent::Queried`] reports the outcome.
    ///
    /// # Errors
    /// If the command is invalid; nothing was sent then.
    #[allow(clippy::too_many_arguments)] // the fields of the message
    pub fn query(
        &mut self,
        now: Time,
        consumer: Consumer,
        ticket: Ticket,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        definition: &[u8],
    ) -> Result<(), Misuse> {
        let version = self.check_function(node, function)?.version;
        if version < Version::V3_01 {
            return Err(Misuse::NoProcedure { procedure_code: ProcedureCode::RIC_QUERY, version });
        }
        self.check_room(consumer, header.len() + definition.len(), 0)?;
        self.check_share(consumer, node, header.len() + definition.len())?;
        let query = Query { node, function, consumer, ticket };
        let place = self.requests.add(now, Request::Query(query)).ok_or(Misuse::NoRequestId)?;
        self.quotas.charge(consumer, place, 0);
        let request = RicQueryRequest {
            request_id: self.requests.id(place),
            ran_function_id: function,
            header: header.into(),
            definition: definition.into(),
        };
        self.send_of(consumer, node, &request.into());
        self.set_deadline(now + self.config.query_timeout, place);
        Ok(())
    }

    // Clause 8.2.7.2/5 ric: The response stops TRICquery and ends the procedure. Tests: query, conform:query.
    //   Versions: from v03 on.
    pub(super) fn query_response(&mut self, now: Time, node: NodeId, response: &RicQueryResponse<'_>) {
        let outcome = QueryOutcome::Answered(response.outcome.to_cow().into());
        self.query_answer(now, node, response.request_id, response.ran_function_id, "RicQueryResponse", outcome);
    }

    // Clause 8.2.7.3/3 ric: The failure stops TRICquery and ends the procedure. Tests: query, conform:query-failure.
    //   Versions: from v03 on.
    pub(super) fn query_failure(&mut self, now: Time, node: NodeId, failure: &RicQueryFailure<'_>) {
        let outcome = QueryOutcome::Failed(or_unspecified(failure.cause));
        self.query_answer(now, node, failure.request_id, failure.ran_function_id, "RicQueryFailure", outcome);
    }

    fn query_answer(
        &mut self,
        now: Time,
        node: NodeId,
        id: RicRequestId,
        function: RanFunctionId,
        message: &'static str,
        outcome: QueryOutcome,
    ) {
        let place = self.requests.place(id);
        match (place, place.and_then(|p| self.requests.get(p))) {
            (Some(place), Some(Request::Query(q))) if q.node == node && q.function == function => {
                self.finish_query(now, place, outcome);
            }
            // its timeout has passed and was reported
            (Some(place), None) if self.requests.is_in_reuse_delay(place) => self.late_answer(),
            _ => self.answer_to_unknown(now, node, id, message),
        }
    }

    pub(super) fn finish_query(&mut self, now: Time, place: u32, outcome: QueryOutcome) {
        if let Some(Request::Query(Query { consumer, ticket, .. })) = self.free(now, place) {
            self.events.push_back(Event::Request { consumer, event: RequestEvent::Queried { ticket, outcome } });
        }
    }

    pub(super) fn query_timeout(&mut self, now: Time, place: u32) {
        let Some(Request::Query(query)) = self.requests.get(place) else { return };
        if let Some(assoc) = self.nodes.get(&query.node).map(|n| n.assoc) {
            let (procedure_code, request_id) = (ProcedureCode::RIC_QUERY, Some(self.requests.id(place)));
            self.remark(now, assoc, Notice::TimedOut { procedure_code, request_id });
        }
        self.finish_query(now, place, QueryOutcome::TimedOut);
    }

    /// Reports the loss or reset of the node of a query that is no longer in the table.
    pub(super) fn query_gone(&mut self, query: &Query) {
        let Query { consumer, ticket, .. } = *query;
        self.events.push_back(Event::Request {
            consumer,
            event: RequestEvent::Queried { ticket, outcome: QueryOutcome::NodeLost },
        });
    }

    /// Reports the removal of the function of a query that is no longer in the table.
    pub(super) fn query_refused(&mut self, query: &Query, cause: Cause) {
        let Query { consumer, ticket, .. } = *query;
        self.events.push_back(Event::Request {
            consumer,
            event: RequestEvent::Queried { ticket, outcome: QueryOutcome::Failed(cause) },
        });
    }
}
