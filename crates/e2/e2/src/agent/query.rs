//! Passes the RIC's queries to the functions and sends their answers.
//!
//! Procedure: RIC Query. Clause: E2AP v03.01 8.2.7. Role: node. Since: v03.01. Scenarios: agent_query*

use e2ap::{Cause, CauseRicRequest, RanFunctionId, RicQueryFailure, RicQueryRequest, RicQueryResponse, RicRequestId};

use super::{Agent, AgentEvent, AgentMisuse};

/// A query request of the RIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryRequest {
    /// Its request id.
    pub request_id: RicRequestId,
    /// The RAN function that it addresses.
    pub ran_function_id: RanFunctionId,
    /// The service model's header.
    pub header: Vec<u8>,
    /// The service model's query definition.
    pub definition: Vec<u8>,
}

impl Agent {
    // Clause 8.2.7.2/3 node: The RAN function id selects the function. Tests: agent_query. Versions: from v03 on.
    // Clause 8.2.7.3/1 node: A RAN function that is not supported leads to a failure. Tests: agent_query,
    //   conform:query-unknown-function. Versions: from v03 on.
    pub(super) fn query_request(&mut self, request: &RicQueryRequest<'_>) {
        let (request_id, ran_function_id) = (request.request_id, request.ran_function_id);
        let refusal = if !self.offers(ran_function_id) {
            Some(CauseRicRequest::RanFunctionIdInvalid)
        } else if self.removal.is_some() {
            Some(CauseRicRequest::SystemNotReady)
        } else if self.queries.contains_key(&request_id) {
            Some(CauseRicRequest::DuplicateRicRequestId)
        } else if self.queries.len() >= self.config.max_controls {
            Some(CauseRicRequest::FunctionResourceLimit)
        } else {
            None
        };
        if let Some(cause) = refusal {
            return self.send_query_failure(request_id, ran_function_id, Cause::RicRequest(cause));
        }
        self.queries.insert(request_id, ran_function_id);
        self.events.push_back(AgentEvent::Query(QueryRequest {
            request_id,
            ran_function_id,
            header: request.header.to_cow().into_owned(),
            definition: request.definition.to_cow().into_owned(),
        }));
    }

    // Clause 8.2.7.2/4 node: Header and definition are validated, and available information is sent in the response.
    //   Tests: agent_query, query_returns_current_values, queries_return_current_state. Versions: from v03 on.
    /// Answers a query.
    ///
    /// # Errors
    /// If no such query awaits its answer.
    pub fn answer_query(&mut self, id: RicRequestId, outcome: &[u8]) -> Result<(), AgentMisuse> {
        let ran_function_id = self.queries.remove(&id).ok_or(AgentMisuse::UnknownRequest)?;
        self.send(&RicQueryResponse { request_id: id, ran_function_id, outcome: outcome.into() }.into());
        Ok(())
    }

    // Clause 8.2.7.3/2 node: If none of the information is available, the query fails. Tests: agent_query,
    //   query_returns_current_values. Versions: from v03 on; changed by v06.00: the text of v04.00 was not read.
    /// Reports that a query failed.
    ///
    /// # Errors
    /// If no such query awaits its answer.
    pub fn fail_query(&mut self, id: RicRequestId, cause: Cause) -> Result<(), AgentMisuse> {
        let ran_function_id = self.queries.remove(&id).ok_or(AgentMisuse::UnknownRequest)?;
        self.send_query_failure(id, ran_function_id, cause);
        Ok(())
    }

    fn send_query_failure(&mut self, request_id: RicRequestId, ran_function_id: RanFunctionId, cause: Cause) {
        let cause = Some(cause.in_version(self.config.version));
        self.send(&RicQueryFailure { request_id, ran_function_id, cause, criticality_diagnostics: None }.into());
    }
}
