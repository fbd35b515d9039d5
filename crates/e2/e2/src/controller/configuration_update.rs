//! Applies changes of a node's component configurations to the RAN database.
//!
//! Procedure: E2 Node Configuration Update. Clause: E2AP v03.01 8.3.5. Role: ric. Since: v01.01. Scenarios: configuration_update*
//!
//! An update that names another node than the association's fails, and so does one of the controllers that a virtual node stems from. Removals of associations are left to the links.

use e2ap::{
    Cause, CauseMisc, CauseProtocol, E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigAdditionItem,
    E2NodeComponentConfigRemovalAckItem, E2NodeComponentConfigUpdateAckItem, E2NodeComponentConfigUpdateAckItemV1,
    E2NodeConfigurationUpdate, E2NodeConfigurationUpdateAcknowledge, E2NodeConfigurationUpdateFailure,
};
use per::IntoOwned;

use super::{Controller, Event, NodeId};
use crate::change::{all, list};
use crate::{Notice, Time};

impl Controller {
    // Clause 8.3.5.2/2 ric: Added components are stored. Tests: configuration_update, configuration_update_v1,
    //   conform:configuration-update. Versions: from v01.01 on.
    // Clause 8.3.5.2/3 ric: Updated components get the new configuration. Tests: configuration_update,
    //   conform:configuration-update. Versions: from v02 on.
    // Clause 8.3.5.2/4 ric: Removed components are deleted. Tests: configuration_update,
    //   conform:configuration-update. Versions: from v02 on.
    // Clause 8.3.5.2/6 ric: If supported: associations whose two endpoints the node lists are expected to be removed.
    //   Tests: configuration_update. Deviation: not supported: they are counted and logged, and end when their link
    //   closes. Versions: from v02 on.
    // Clause 8.3.5.2/7 ric: If supported: the same for associations that are listed by address, or for one endpoint.
    //   Tests: configuration_update. Deviation: as before. Versions: from v02 on.
    // Clause 8.3.5.2/8 ric: A processed update is acknowledged. Tests: configuration_update,
    //   conform:configuration-update. Versions: from v01.01 on.
    // Clause 8.3.5.2/9 ric: An update without content is acknowledged and changes nothing. Tests:
    //   configuration_update, conform:configuration-update-empty. Versions: from v01.01 on.
    // Clause 8.3.5.3/1 ric: An update that cannot be accepted is answered by the failure message with a cause. Does:
    //   if it names another node, or controllers that a virtual node stems from and its setup did not name. Tests:
    //   configuration_update. Versions: from v01.01 on.
    // Clause 8.3.5.3/3 ric: The update of a component that was not added fails with a cause. Does: in the
    //   acknowledgement of that component. Tests: configuration_update, conform:configuration-update-undeclared.
    //   Versions: from v02 on.
    pub(super) fn configuration_update(&mut self, now: Time, id: NodeId, update: &E2NodeConfigurationUpdate<'_>) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (assoc, version, key, transaction_id) = (node.assoc, node.version, node.global_id, update.transaction_id);
        let is_path_changed = node.controller_path.is_changed_by(update);
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        // each update costs a message to every xApp
        if !state.answers.take(now) {
            return self.withheld(assoc);
        }
        let semantic = Cause::Protocol(CauseProtocol::SemanticError);
        let is_other = update.global_e2_node_id.is_some_and(|named| named != key);
        let refusal = if is_other {
            Some((semantic, Notice::UpdateRefused { cause: semantic }))
        } else if is_path_changed {
            Some((Cause::Misc(CauseMisc::OmIntervention), Notice::ControllerPathChanged { node: key }))
        } else {
            None
        };
        if let Some((cause, notice)) = refusal {
            self.remark(now, assoc, notice);
            let failure = E2NodeConfigurationUpdateFailure {
                transaction_id,
                cause: Some(cause),
                time_to_wait: None,
                criticality_diagnostics: None,
            };
            return self.send(id, &failure.into());
        }
        let count = all(&update.tnl_association_removal).count();
        if count > 0 {
            self.remark(now, assoc, Notice::AssociationsGivenUp { count });
        }
        let Some(kept) = self.nodes.get(&id).map(|node| node.components.octets()) else { return };
        let max = self.room_of_nodes(self.config.max_component_octets, kept);
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let before = node.components.clone();
        let components = &mut node.components;
        let v1 = all(&update.component_config_update_v1).map(|item| E2NodeComponentConfigUpdateAckItemV1 {
            component_type: item.component_type,
            id: item.id,
            ack: components.add_v1(item, max),
        });
        let v1 = list(v1);
        let added = all(&update.component_config_addition).map(|item| E2NodeComponentConfigAdditionAckItem {
            interface_type: item.interface_type,
            id: item.id.clone().into_owned(),
            ack: components.add(item, max, version),
        });
        let added = list(added);
        let changed = all(&update.component_config_update).map(|item| {
            let (interface_type, id) = (item.interface_type, item.id.clone().into_owned());
            let configuration = item.configuration.clone();
            let item = E2NodeComponentConfigAdditionItem { interface_type, id: id.clone(), configuration };
            E2NodeComponentConfigUpdateAckItem { interface_type, id, ack: components.update(&item, max, version) }
        });
        let changed = list(changed);
        let gone = all(&update.component_config_removal).map(|item| E2NodeComponentConfigRemovalAckItem {
            interface_type: item.interface_type,
            id: item.id.clone().into_owned(),
            ack: components.remove(item, version),
        });
        let gone = list(gone);
        let changed_any = node.components != before;
        self.octets_of_nodes = self.octets_of_nodes - before.octets() + node.components.octets();
        let ack = E2NodeConfigurationUpdateAcknowledge {
            transaction_id,
            component_config_update_ack_v1: v1,
            component_config_addition_ack: added,
            component_config_update_ack: changed,
            component_config_removal_ack: gone,
        };
        self.send(id, &ack.into());
        if changed_any {
            self.events.push_back(Event::NodeChanged(id));
        }
    }
}
