//! Reports changes of the node's component configurations, its interfaces to the rest of the network.
//!
//! Procedure: E2 Node Configuration Update. Clause: E2AP v03.01 8.3.5. Role: node. Since: v01.01. Scenarios: agent_configuration_update*
//!
//! v01.01 has other component types and cannot report a removal. [`update`](super::update) repeats and postpones the
//! attempts.

use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfigRemovalItem, E2NodeComponentConfigUpdateItem,
    E2NodeComponentConfigUpdateItemV1, E2NodeConfigurationUpdate, E2NodeConfigurationUpdateAcknowledge,
    E2NodeConfigurationUpdateFailure, ProcedureCode, Version,
};

use super::update::{Due, GivenUp, Phase};
use super::{Agent, AgentEvent, AgentMisuse};
use crate::change::{all, list};
use crate::protocol_error::or_unspecified;
use crate::{Notice, Time};

/// The components that were reported to the RIC. One of the lists is empty, depending on the version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Components {
    pub v1: Vec<E2NodeComponentConfigUpdateItemV1<'static>>,
    pub v2: Vec<E2NodeComponentConfigAdditionItem<'static>>,
}

type Item = E2NodeComponentConfigAdditionItem<'static>;

fn find<'s>(items: &'s [Item], like: &Item) -> Option<&'s Item> {
    items.iter().find(|item| item.interface_type == like.interface_type && item.id == like.id)
}

impl Agent {
    // Clause 8.3.5.1/1 node: The E2 node starts the procedure. Tests: agent_configuration_update,
    //   agent_unsupported_procedures. Versions: from v01.01 on.
    /// Replaces the node's components. The agent reports the difference to the RIC, now or after the setup;
    /// [`AgentEvent::ComponentsUpdated`] or [`AgentEvent::GivenUp`] reports the outcome.
    ///
    /// # Errors
    /// In v1, or if E2AP cannot carry them. Nothing has changed then.
    pub fn update_components(&mut self, now: Time, components: Vec<Item>) -> Result<(), AgentMisuse> {
        if self.config.version < Version::V2_03 {
            return Err(AgentMisuse::NotInVersion);
        }
        let before = std::mem::replace(&mut self.config.components, components);
        if let Err(error) = self.config.check() {
            self.config.components = before;
            return Err(AgentMisuse::Config(error));
        }
        self.components.given_up = false;
        self.report_components(now);
        Ok(())
    }

    /// Replaces the node's components in v01.01, as [`Agent::update_components`] does.
    ///
    /// # Errors
    /// In another version, or if E2AP cannot carry them. Nothing has changed then.
    pub fn update_components_v1(
        &mut self,
        now: Time,
        components: Vec<E2NodeComponentConfigUpdateItemV1<'static>>,
    ) -> Result<(), AgentMisuse> {
        if self.config.version != Version::V1_01 {
            return Err(AgentMisuse::NotInVersion);
        }
        let before = std::mem::replace(&mut self.config.components_v1, components);
        if let Err(error) = self.config.check() {
            self.config.components_v1 = before;
            return Err(AgentMisuse::Config(error));
        }
        self.components.given_up = false;
        self.report_components(now);
        Ok(())
    }

    /// Sends the difference to the reported components, if that is possible now.
    pub(super) fn report_components(&mut self, now: Time) {
        if !self.is_up() || !self.components.is_idle() || self.components.given_up || self.removal.is_some() {
            return;
        }
        let then = self.config.all_components();
        if then == self.components.reported {
            return;
        }
        let transaction = self.next_transaction();
        let by = now + self.config.answer_timeout;
        self.components.phase = Phase::Sent { transaction, by, tries: 1, then };
        self.write_components();
    }

    // Clause 8.3.5.2/1 node: The update contains the configuration that the node has taken into use. Tests:
    //   agent_configuration_update, agent_configuration_update_v1, conform:configuration-update. Versions: from v01.01
    //   on; v01.01 has one list and no removals.
    fn write_components(&mut self) {
        let Phase::Sent { transaction, ref then, .. } = self.components.phase else { return };
        let reported = &self.components.reported;
        let changed = |item: &&Item| find(&reported.v2, item).is_some_and(|old| old != *item);
        let update = E2NodeConfigurationUpdate {
            transaction_id: transaction,
            global_e2_node_id: None, // there is one association
            component_config_update_v1: list(then.v1.iter().filter(|item| !reported.v1.contains(item)).cloned()),
            component_config_addition: list(then.v2.iter().filter(|item| find(&reported.v2, item).is_none()).cloned()),
            component_config_update: list(then.v2.iter().filter(changed).cloned().map(|item| {
                let E2NodeComponentConfigAdditionItem { interface_type, id, configuration } = item;
                E2NodeComponentConfigUpdateItem { interface_type, id, configuration }
            })),
            component_config_removal: list(reported.v2.iter().filter(|item| find(&then.v2, item).is_none()).map(
                |item| E2NodeComponentConfigRemovalItem { interface_type: item.interface_type, id: item.id.clone() },
            )),
            tnl_association_removal: None,
        };
        self.outbox.push(super::ASSOC, self.config.version, &update.into());
    }

    pub(super) fn configuration_update_acknowledged(
        &mut self,
        now: Time,
        ack: &E2NodeConfigurationUpdateAcknowledge<'_>,
    ) {
        let v1 = all(&ack.component_config_update_ack_v1).map(|item| item.ack);
        let added = all(&ack.component_config_addition_ack).map(|item| item.ack);
        let changed = all(&ack.component_config_update_ack).map(|item| item.ack);
        let gone = all(&ack.component_config_removal_ack).map(|item| item.ack);
        let rejected = super::setup::rejected(v1.chain(added).chain(changed).chain(gone));
        for cause in &rejected {
            self.events.push_back(AgentEvent::Notice(Notice::ComponentRejected { cause: *cause }));
        }
        self.events.push_back(AgentEvent::ComponentsUpdated { rejected: rejected.len() });
        self.report_components(now);
    }

    // Clause 8.3.5.3/2 node: The node waits for the time to wait of the failure before it repeats the update. Tests:
    //   agent_configuration_update. Versions: from v01.01 on.
    // Clause 8.3.5.3/4 both: After a failure both sides continue with the configuration that they had. Tests:
    //   configuration_update, agent_configuration_update. Versions: from v01.01 on.
    pub(super) fn configuration_update_failed(&mut self, now: Time, failure: &E2NodeConfigurationUpdateFailure<'_>) {
        self.events.push_back(AgentEvent::Notice(Notice::UpdateRefused { cause: or_unspecified(failure.cause) }));
        if !self.components.refused(now, failure.time_to_wait) {
            let (procedure_code, cause) = (ProcedureCode::E2_NODE_CONFIGURATION_UPDATE, failure.cause);
            self.give_up(GivenUp { procedure_code, cause });
        }
    }

    pub(super) fn configuration_update_due(&mut self, now: Time) {
        match self.components.due(now, self.config.answer_timeout) {
            Due::Nothing => {}
            Due::Again => {
                self.timed_out(now, ProcedureCode::E2_NODE_CONFIGURATION_UPDATE, None);
                self.write_components();
            }
            Due::GivenUp => {
                self.timed_out(now, ProcedureCode::E2_NODE_CONFIGURATION_UPDATE, None);
                self.give_up(GivenUp { procedure_code: ProcedureCode::E2_NODE_CONFIGURATION_UPDATE, cause: None });
            }
            Due::Report => self.report_components(now),
        }
    }
}
