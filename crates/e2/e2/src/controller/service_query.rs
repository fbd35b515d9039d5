//! Requests the list of RAN functions from a node, which answers by a RIC Service Update.
//!
//! Procedure: RIC Service Query. Clause: E2AP v03.01 8.3.4. Role: ric. Since: v01.00. Scenarios: service_query*

use e2ap::{ProcedureCode, RanFunctionIdItem, RicServiceQuery, Version};

use super::{Controller, Misuse, NodeId};
use crate::Time;
use crate::change::list;

impl Controller {
    // Clause 8.3.4A.1/1 ric: The near-RT RIC starts the procedure. Tests: service_query, unsupported_procedures.
    //   Versions: part of 8.3.4 up to v05.
    /// Asks a node for its RAN functions and lists the known ones. [`Event::NodeChanged`](super::Event::NodeChanged) reports
    /// changes; without changes there is no event.
    ///
    /// # Errors
    /// If there is no such node, or a service query is in progress.
    pub fn service_query(&mut self, now: Time, node: NodeId) -> Result<(), Misuse> {
        let patience = self.config.answer_timeout;
        let transaction_id = self.begin(now, node, ProcedureCode::RIC_SERVICE_QUERY, Version::V1_00, patience)?;
        let known = self.nodes.get(&node).into_iter().flat_map(|node| &node.functions);
        let accepted = list(known.map(|f| RanFunctionIdItem { id: f.id, revision: f.revision }));
        self.send(node, &RicServiceQuery { transaction_id, ran_functions_accepted: accepted }.into());
        Ok(())
    }
}
