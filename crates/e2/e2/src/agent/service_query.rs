//! Answers a service query by a RIC Service Update with the difference to the functions that the RIC lists.
//!
//! Procedure: RIC Service Query. Clause: E2AP v03.01 8.3.4. Role: node. Since: v01.00. Scenarios: agent_service_query*
//!
//! An update that is in progress already counts as the answer.

use e2ap::RicServiceQuery;

use super::Agent;
use super::service_update::revisions;
use super::update::Phase;
use crate::Time;
use crate::change::all;

impl Agent {
    // Clause 8.3.4A.2/1 node: A query without a list is answered by an update that adds all RAN functions. Does: an
    //   update in progress counts as the answer. Tests: agent_service_query, conform:service-query. Versions: part of
    //   8.3.4 up to v05.
    // Clause 8.3.4A.2/2 node: A query whose list equals the node's is answered by an update without content. Tests:
    //   agent_service_query, conform:service-query-aligned. Versions: part of 8.3.4 up to v05.
    // Clause 8.3.4A.2/3 node: A query whose list differs is answered by an update with the difference. Tests:
    //   agent_service_query. Versions: part of 8.3.4 up to v05.
    pub(super) fn service_query(&mut self, now: Time, query: &RicServiceQuery<'_>) {
        if matches!(self.functions.phase, Phase::Sent { .. }) {
            return;
        }
        // the query ends a pending time to wait
        self.functions.begin(all(&query.ran_functions_accepted).map(|item| (item.id, item.revision)).collect());
        let then = revisions(&self.config.functions);
        self.send_functions(now, then);
    }
}
