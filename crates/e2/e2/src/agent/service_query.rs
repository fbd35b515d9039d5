//! The RIC asks for the node's functions; the answer is a Service Update with the difference to what the RIC names.
//!
//! Procedure: RIC Service Query. Clause: E2AP v03.01 8.3.5. Role: node. Since: v01.00. Scenarios: agent_service_query*
//!
//! While an update is under way, that one is the answer: what it tells the RIC did not know when it asked.

use e2ap::RicServiceQuery;

use super::Agent;
use super::service_update::revisions;
use super::telling::Phase;
use crate::Time;
use crate::change::all;

impl Agent {
    pub(super) fn service_query(&mut self, now: Time, query: &RicServiceQuery<'_>) {
        if matches!(self.functions.phase, Phase::Sent { .. }) {
            return;
        }
        // The RIC wants to hear it: no time to wait holds it up any more.
        self.functions.begin(all(&query.ran_functions_accepted).map(|item| (item.id, item.revision)).collect());
        let then = revisions(&self.config.functions);
        self.send_functions(now, then);
    }
}
