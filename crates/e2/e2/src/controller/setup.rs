//! Sets nodes up, also repeatedly and on another association.
//!
//! Procedure: E2 Setup. Clause: E2AP v03.01 8.3.1. Role: ric. Since: v01.00. Scenarios: setup*

use e2ap::{
    Cause, CauseMisc, Codec, E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigUpdateAckItemV1,
    E2SetupRequest, E2SetupResponse, GlobalE2NodeId, RanFunctionIdItem, RanFunctionItem, TimeToWait, Version,
};
use per::IntoOwned;

use super::associations::Handover;
use super::hosts::Refusal;
use super::node::{Components, FunctionList, component_octets, component_octets_v1, item_octets};
use super::procedures::Procedures;
use super::{Controller, Event, LostReason, Node, NodeId};
use crate::change::all;
use crate::controller_path::{ControllerInstance, ControllerPath, PathTooLong, is_path};
use crate::{AssocId, CloseReason, Host, NodeRights, NodeTakeover, Notice, Origin, Selection, Time};

impl Controller {
    // Clause 8.3.1.2/1 ric: The response lists the accepted and the rejected RAN functions. Tests:
    //   setup_in_each_version, setup_with_rejected_functions, conform:setup.
    // Clause 8.3.1.2/2 ric: The response has an acknowledgement for each component. Tests: configuration_update,
    //   configuration_update_v1, conform:setup. Versions: from v01.01 on; v01.01 has another list.
    pub(super) fn setup(&mut self, now: Time, assoc: AssocId, version: Version, request: E2SetupRequest<'_>) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        let was = state.node;
        let key = request.global_e2_node_id;
        let alike = |known: &Version| (*known < Version::V2_03) == (version < Version::V2_03);
        let versions = &self.config.node_versions;
        let known = if versions.is_empty() { None } else { versions.get(&key.to_string()).copied() };
        let version = known.filter(alike).unwrap_or(version);
        // each repetition costs two messages to every xApp
        if was.is_some() && !state.answers.take(now) {
            return self.withheld(assoc);
        }

        let known = self.by_key.get(&key).copied();
        if was.is_none() && known.is_none() && self.nodes.len() >= self.config.max_nodes {
            let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
            self.refuse_setup(now, assoc, version, request.transaction_id, cause, Some(TimeToWait::V60s), None);
            return;
        }
        let (origin, is_new) =
            (self.assocs.get(&assoc).and_then(|state| state.origin.host()), was.is_none() && known.is_none());
        let is_listed = self.is_listed(assoc, &key);
        if let Err(refusal) = self.hosts.check(now, origin, &key, self.nodes.len(), is_new, is_listed) {
            let wait = match refusal {
                Refusal::TooManySetups => TimeToWait::V5s,
                Refusal::TooManyNodes | Refusal::Reserved => TimeToWait::V60s,
            };
            self.remark(now, assoc, Notice::HostLimit { node: key, host: origin, limit: refusal.limit() });
            let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
            self.refuse_setup(now, assoc, version, request.transaction_id, cause, Some(wait), None);
            return;
        }
        let path = ControllerPath::of_setup(&request);
        if let Some(looped) = self.virtualization_loop(key, &path) {
            self.remark(now, assoc, looped);
            let cause = Cause::Misc(CauseMisc::OmIntervention);
            self.refuse_setup(now, assoc, version, request.transaction_id, cause, Some(TimeToWait::V60s), None);
            return;
        }
        if let Some(denial) = self.denial(assoc, &key, known) {
            self.remark(now, assoc, denial);
            let cause = Cause::Misc(CauseMisc::OmIntervention);
            self.refuse_setup(now, assoc, version, request.transaction_id, cause, Some(TimeToWait::V60s), None);
            return;
        }
        if let Some(holder) = self.holder_that_stays(assoc, known.filter(|id| Some(*id) != was)) {
            self.refuse_takeover(now, assoc, holder, key);
            let (cause, wait) = (Cause::Misc(CauseMisc::OmIntervention), Some(TimeToWait::V10s));
            self.refuse_setup(now, assoc, version, request.transaction_id, cause, wait, None);
            return;
        }
        if was.is_none()
            && let Some(tnl) = self.elsewhere(now, &key)
        {
            return self.direct(now, assoc, version, request.transaction_id, key, tnl);
        }
        // one that is too long is refused by a controller that shares its nodes, and is of no use to others
        let controller_path = path.unwrap_or_default();
        let octets = controller_path.octets() + self.octets_with(&request, was.into_iter().chain(known));
        if octets > self.config.max_octets_of_nodes {
            let limit_octets = self.config.max_octets_of_nodes;
            self.remark(now, assoc, Notice::NodesTooLarge { node: key, octets, limit_octets });
            let cause = Cause::Misc(CauseMisc::ControlProcessingOverload);
            self.refuse_setup(now, assoc, version, request.transaction_id, cause, Some(TimeToWait::V60s), None);
            return;
        }
        // the same association: the node restarts, perhaps under another id
        if let Some(node) = was.and_then(|id| self.nodes.get(&id)) {
            self.notice(assoc, Notice::RepeatedSetup { was: node.global_id, is: key });
        }
        if let Some(id) = was {
            // the association of the newest setup becomes the first
            if self.first_of(id, assoc) != assoc {
                self.make_first(id, assoc, Handover::default());
            }
            self.lose_node(now, id, LostReason::SetupAgain);
        }
        // another association, which may take the node over
        if let Some(id) = known.filter(|id| Some(*id) != was)
            && let Some(older) = self.nodes.get(&id).map(|n| n.assoc)
        {
            self.notice(assoc, Notice::TakenOver { node: key });
            if let Some(older) = self.assocs.get_mut(&older) {
                older.node = None;
            }
            self.lose_node(now, id, LostReason::SetupAgain);
            self.close(now, older, CloseReason::TakenOver);
        }

        let id = self.next_node_id();
        let mut functions = FunctionList::of(Vec::new(), self.config.max_function_octets);
        // the path of a virtual node in v01.00 is no function to anybody else
        let is_path = |item: &&RanFunctionItem<'_>| version < Version::V2_03 && is_path(item);
        all(&request.ran_functions_added).filter(|item| !is_path(item)).for_each(|item| functions.add(item));
        let FunctionList { accepted: functions, rejected, .. } = functions;
        for item in &rejected {
            let notice = Notice::FunctionRejected { ran_function_id: item.id, cause: item.cause };
            self.remark(now, assoc, notice);
        }
        let (mut components, max) = (Components::default(), self.config.max_component_octets);
        let accepted = functions.iter().map(|f| RanFunctionIdItem { id: f.id, revision: f.revision });
        let path = all(&request.ran_functions_added).filter(is_path);
        let path = path.map(|item| RanFunctionIdItem { id: item.id, revision: item.revision });
        let accepted: Vec<_> = accepted.chain(path).collect();
        let response = E2SetupResponse {
            transaction_id: request.transaction_id,
            global_ric_id: self.config.ric_id,
            ran_functions_accepted: (!accepted.is_empty()).then(|| accepted.into()),
            ran_functions_rejected: (!rejected.is_empty()).then(|| rejected.into()),
            component_config_update_ack_v1: request.component_config_update_v1.map(|items| {
                items
                    .iter()
                    .map(|item| E2NodeComponentConfigUpdateAckItemV1 {
                        component_type: item.component_type,
                        id: item.id,
                        ack: components.add_v1(item, max),
                    })
                    .collect()
            }),
            component_config_addition_ack: request.component_config_addition.map(|items| {
                items
                    .iter()
                    .map(|item| E2NodeComponentConfigAdditionAckItem {
                        interface_type: item.interface_type,
                        id: item.id.clone().into_owned(),
                        ack: components.add(item, max, version),
                    })
                    .collect()
            }),
        };
        self.outbox.push(assoc, version, &response.into());

        let mut codec = Codec::Per;
        if let Some(state) = self.assocs.get_mut(&assoc) {
            codec = state.codec;
            (state.node, state.version) = (Some(id), version);
            (state.procedures, state.connection_not_before) = (Procedures::default(), now);
        }
        self.by_key.insert(key, id);
        let node = Node { id, global_id: key, assoc, version, codec, functions, components, controller_path };
        self.octets_of_nodes += node.octets();
        self.hosts.add(id, key, origin);
        self.nodes.insert(id, node);
        self.events.push_back(Event::NodeUp(id));
        self.delete_orphans(assoc, id);
        self.restore(now, id);
    }

    /// Sets the number of this controller, which shares its nodes: virtual nodes of them are refused.
    pub fn set_instance(&mut self, instance: ControllerInstance) {
        self.instance = Some(instance);
    }

    /// Returns why a virtual node must not set up here.
    fn virtualization_loop(&self, node: GlobalE2NodeId, path: &Result<ControllerPath, PathTooLong>) -> Option<Notice> {
        let own = self.instance?;
        let Ok(path) = path else { return Some(Notice::TooManyLevels { node }) };
        let (of, controllers) = path.find(own)?;
        Some(Notice::VirtualizationLoop { node, of: of.to_owned(), controllers })
    }

    /// Whether the configuration names a node: its version, or a right of its peer's certificate.
    fn is_listed(&self, assoc: AssocId, key: &GlobalE2NodeId) -> bool {
        let listed = |rights: &NodeRights| matches!(rights.node_ids, Selection::Only(_)) && rights.may_be(key);
        (!self.config.node_versions.is_empty() && self.config.node_versions.contains_key(&key.to_string()))
            || self.assocs.get(&assoc).and_then(|state| state.rights.as_ref()).is_some_and(listed)
    }

    /// Returns the octets stored of all nodes if this one replaces `others`.
    fn octets_with(&self, request: &E2SetupRequest<'_>, others: impl Iterator<Item = NodeId>) -> usize {
        let functions = all(&request.ran_functions_added).map(item_octets).sum::<usize>();
        let components = all(&request.component_config_addition).map(component_octets).sum::<usize>()
            + all(&request.component_config_update_v1).map(component_octets_v1).sum::<usize>();
        let mut kept = self.octets_of_nodes
            + functions.min(self.config.max_function_octets)
            + components.min(self.config.max_component_octets);
        let mut gone = None;
        for other in others.filter_map(|id| self.nodes.get(&id)) {
            // both may be the same node
            if gone.replace(other.id) != Some(other.id) {
                kept -= other.octets();
            }
        }
        kept
    }

    /// Returns the association of a connected node that another one must not take over.
    fn holder_that_stays(&self, assoc: AssocId, known: Option<NodeId>) -> Option<AssocId> {
        let holder = self.nodes.get(&known?)?.assoc;
        let may = match self.config.node_takeover {
            NodeTakeover::Always => true,
            NodeTakeover::SameHost => self.is_same_peer(assoc, holder),
            NodeTakeover::DeadOnly => false,
        };
        (!may).then_some(holder)
    }

    /// Whether two associations are, as far as can be seen, of one peer: both are authenticated, with the same identity
    /// as [`Controller::denial`] has checked, or they come from the same host.
    pub(super) fn is_same_peer(&self, one: AssocId, other: AssocId) -> bool {
        let (Some(one), Some(other)) = (self.assocs.get(&one), self.assocs.get(&other)) else { return false };
        (one.rights.is_some() && other.rights.is_some()) || one.origin.is_same_host(&other.origin)
    }

    /// Reports a setup or join that must not take a connected node over, for both ends, and has the caller check whether
    /// the node is still there.
    pub(super) fn refuse_takeover(&mut self, now: Time, assoc: AssocId, holder: AssocId, node: GlobalE2NodeId) {
        let origin = |assoc: AssocId| self.assocs.get(&assoc).map(|state| state.origin.clone()).unwrap_or_default();
        let (by, of) = (origin(assoc), origin(holder));
        if let Some(state) = self.assocs.get_mut(&holder)
            && !std::mem::replace(&mut state.is_probed, true)
        {
            self.probes.push_back(holder);
        }
        if self.assocs.get_mut(&assoc).is_some_and(|state| state.remarks.take(now)) {
            self.notice(assoc, Notice::NodeConnected { node, of });
            self.notice(holder, Notice::TakeoverAttempted { node, by });
        }
    }

    /// Returns whether nodes of a host have set up, now or before.
    #[must_use]
    pub fn is_known_host(&self, host: Host) -> bool {
        self.hosts.is_known_host(host)
    }

    /// Sets the host that an association comes from.
    pub fn set_origin(&mut self, assoc: AssocId, origin: Origin) {
        if let Some(state) = self.assocs.get_mut(&assoc) {
            state.origin = origin;
        }
    }

    /// Sets the authenticated identity of a peer and the nodes that it may set up as. Without it, it may be any node.
    pub fn set_node_rights(&mut self, assoc: AssocId, rights: NodeRights) {
        if let Some(state) = self.assocs.get_mut(&assoc) {
            state.rights = Some(rights);
        }
    }

    /// Returns why the peer of an association must not set up as this node; `known` is the node's present id.
    pub(super) fn denial(&self, assoc: AssocId, key: &GlobalE2NodeId, known: Option<NodeId>) -> Option<Notice> {
        let rights = |assoc: &AssocId| self.assocs.get(assoc)?.rights.as_ref();
        let own = rights(&assoc);
        if own.is_some_and(|own| !own.may_be(key)) {
            return Some(Notice::NodeNotAllowed { node: *key });
        }
        // otherwise any peer could take over a node
        let holder = known.and_then(|id| self.nodes.get(&id)).and_then(|node| rights(&node.assoc));
        let is_same = holder.is_none_or(|holder| own.is_some_and(|own| own.identity == holder.identity));
        (!is_same).then_some(Notice::TakeoverRefused { node: *key })
    }

    fn next_node_id(&mut self) -> NodeId {
        // terminates: there are fewer nodes than numbers
        loop {
            let id = NodeId(self.next_node);
            self.next_node = self.next_node.wrapping_add(1);
            if !self.nodes.contains_key(&id) {
                return id;
            }
        }
    }
}
