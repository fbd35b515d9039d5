//! A base station, as the app has it: its parts, and the functions that it has of them.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use e2sm::Wire;
use e2sm::rc::{ActionId, Control, ControlAction, ControlTarget};
use e2sm::rrc::{self, Notification};
use ferric::agent::{ControlFailure, ControllerId, NodeConfig, NodeHandle, RanFunction, RequestKey, SendAgentLoop};
use ferric::e2::topology::{Part, RanDatabase, UeName};
use ferric::e2::{ControlRequest, ControllerInstance, Function, Node, NodeId};
use ferric::e2ap::{CauseRicRequest, RanFunctionId, RicActionId, RicRequestId};
use per::List;
use tracing::warn;

use super::actions;
use super::ccc::CccParts;
use super::file::{ExposedStation, Topology};
use super::function::PartFunction;
use super::kpm::KpmParts;
use super::station::SharedStation;
use super::ues::is_at;
use super::view::View;
use crate::outgoing::Outgoing;
use crate::rc::{PendingInserts, refusal};

/// The first RAN function id for functions whose own id another part has. Service models have lower ones.
const FIRST_FREE: u16 = 1024;
/// The highest RAN function id (E2AP 9.2.8).
const LAST_FUNCTION: u16 = 4095;

/// A function of a base station.
pub(super) struct Exposed {
    /// Its id towards the controller.
    pub id: RanFunctionId,
    pub part: Part,
    pub node: NodeId,
    /// The function of the part.
    pub of_part: Function,
    pub view: View,
    /// The control actions of E2SM-RC that the part has.
    pub actions: Vec<ActionId>,
}

impl Exposed {
    fn has_actions(&self, ids: &[ActionId]) -> bool {
        ids.iter().all(|id| self.actions.contains(id))
    }
}

/// A function of a part with the definition of all parts.
fn of_all(function: &ferric::e2::RanFunction, definition: &[u8]) -> Function {
    let definition = definition.to_vec();
    Function { id: function.id, revision: function.revision, definition, oid: function.oid.to_string() }
}

/// A base station that is exposed.
pub(super) struct Station {
    pub config: ExposedStation,
    pub parts: BTreeMap<Part, NodeId>,
    /// Present while the base station has its CU and a DU.
    pub handle: Option<NodeHandle>,
    pub functions: Vec<Exposed>,
    /// The ids of functions, which they have again when their part comes back.
    ids: BTreeMap<(Part, RanFunctionId), RanFunctionId>,
    /// The KPM functions that are one.
    pub kpm: KpmParts,
    /// The CCC functions that are one.
    pub ccc: CccParts,
    /// The procedures of UEs that a shared CU has suspended for the controller.
    pub inserts: PendingInserts,
    pub shared: SharedStation,
    pub has_outgoing: bool,
}

impl Station {
    pub fn new(config: ExposedStation) -> Self {
        Station {
            config,
            parts: BTreeMap::new(),
            handle: None,
            functions: Vec::new(),
            ids: BTreeMap::new(),
            kpm: KpmParts::default(),
            ccc: CccParts::default(),
            inserts: PendingInserts::default(),
            shared: SharedStation::default(),
            has_outgoing: false,
        }
    }

    /// Has the CU's function of E2SM-RC offer the actions of the other parts too.
    pub fn merge_actions(&self, functions: &mut [Exposed]) {
        let is_of_cu = |function: &Exposed| function.part == Part::Control && matches!(function.view, View::Rc(_));
        let Some(at) = functions.iter().position(is_of_cu) else { return };
        let View::Rc(detection) = functions[at].view else { return };
        let is_same_format = |function: &&Exposed| match function.view {
            View::Rc(other) => (other.revision, other.wire) == (detection.revision, detection.wire),
            _ => false,
        };
        let others = functions.iter().filter(|function| function.part != Part::Control).filter(is_same_format);
        let others: Vec<&[u8]> = others.map(|function| &*function.of_part.definition).collect();
        match actions::merged(&detection, &functions[at].of_part.definition, &others) {
            Ok(definition) => functions[at].of_part.definition = definition,
            // each function offers its own actions
            Err(error) => {
                warn!(
                    station = %self.config,
                    "each part offers its own control actions, not the base station those of all: cannot merge them: {error}"
                )
            }
        }
    }

    /// Takes over the functions of the parts that are merged.
    pub fn update_merged(&mut self, nodes: &HashMap<NodeId, Node>) {
        if !self.is_whole() || !self.config.is_split() {
            self.kpm.clear();
            return self.ccc.clear();
        }
        let parts = self.parts.iter().filter_map(|(part, node)| Some((*part, nodes.get(node)?)));
        let functions =
            parts.flat_map(|(part, node)| node.functions.iter().map(move |function| (part, node.id, function)));
        let shares_cu = self.config.shares_cu();
        if let Err(error) = self.kpm.update(functions.clone(), shares_cu) {
            warn!(station = %self.config, "cannot merge the KPM functions of the parts: {error}");
            self.kpm.clear();
        }
        if let Err(error) = self.ccc.update(functions, shares_cu) {
            warn!(station = %self.config, "cannot merge the CCC functions of the parts: {error}");
            self.ccc.clear();
        }
    }

    /// The KPM function of all parts.
    pub fn merged_kpm(&mut self) -> Option<Exposed> {
        let (_, part, function, definition) = self.kpm.merged()?;
        let of_part = of_all(function, definition);
        self.merged(part, of_part, View::Kpm)
    }

    /// The CCC function of all parts.
    pub fn merged_ccc(&mut self) -> Option<Exposed> {
        let (part, function, definition) = self.ccc.merged()?;
        let of_part = of_all(function, definition);
        self.merged(part, of_part, View::Ccc)
    }

    fn merged(&mut self, part: Part, of_part: Function, view: View) -> Option<Exposed> {
        let node = self.parts.get(&Part::Control).copied()?;
        let id = self.id_of(part, of_part.id)?;
        Some(Exposed { id, part, node, of_part, view, actions: Vec::new() })
    }

    /// The functions of the parts that a control is for: one, or that of each DU if it concerns no particular UE.
    ///
    /// # Errors
    /// The cause with which the control is refused.
    pub fn route(
        &self,
        function: RanFunctionId,
        request: &ControlRequest,
        ran: &RanDatabase,
    ) -> Result<Vec<&Exposed>, ControlFailure> {
        let Some(asked) = self.function(function) else { return Ok(Vec::new()) };
        let View::Rc(detection) = asked.view else { return Ok(vec![asked]) };
        let decoded = Control::decode_in(&request.header, &request.message, detection.revision, detection.wire);
        // the part says what is wrong
        let Ok(control) = decoded else { return Ok(vec![asked]) };
        let ids = actions::of_control(&control);
        if asked.part != Part::Control || asked.has_actions(&ids) || request.call_process_id.is_some() {
            return Ok(vec![asked]);
        }
        let able: Vec<_> = self.functions.iter().filter(|other| other.has_actions(&ids)).collect();
        match able.len() {
            0 if ids.iter().all(|id| self.functions.iter().any(|other| other.has_actions(&[*id]))) => {
                let reason = "the actions are those of different parts: send a control for each";
                Err(refusal(&detection, CauseRicRequest::ActionNotSupported, reason))
            }
            0 => Ok(vec![asked]),
            1 => Ok(able),
            _ if ids.iter().all(|id| *id == ControlAction::SLICE_PRB_QUOTA) => Ok(able),
            _ => {
                let names = match &control.target {
                    ControlTarget::Ue(ue_id) => UeName::all_of(ue_id),
                    _ => Vec::new(),
                };
                let knows = |node: NodeId| {
                    names.iter().filter_map(|name| ran.find_ue(node, name)).any(|ue| is_at(ue, node, asked.node))
                };
                match able.iter().find(|other| knows(other.node)) {
                    Some(of_ue) => Ok(vec![*of_ue]),
                    None => {
                        let reason = "it is not known which part has the UE";
                        Err(refusal(&detection, CauseRicRequest::ControlFailedToExecute, reason))
                    }
                }
            }
        }
    }

    /// Whether the parts are a base station.
    pub fn is_whole(&self) -> bool {
        let has_du = self.parts.keys().any(|part| matches!(part, Part::Du(_)));
        self.parts.contains_key(&Part::Control) && (has_du || !self.config.is_split())
    }

    /// The id of a function of a part: its own, unless another part has that.
    pub fn id_of(&mut self, part: Part, own: RanFunctionId) -> Option<RanFunctionId> {
        if let Some(id) = self.ids.get(&(part, own)) {
            return Some(*id);
        }
        let is_free = |id: &RanFunctionId| !self.ids.values().any(|used| used == id);
        let free = [own].into_iter().chain((FIRST_FREE..=LAST_FUNCTION).map(RanFunctionId)).find(is_free)?;
        self.ids.insert((part, own), free);
        Some(free)
    }

    pub fn function(&self, id: RanFunctionId) -> Option<&Exposed> {
        self.functions.iter().find(|function| function.id == id)
    }

    /// A function of a part that is none of the merged ones.
    pub fn function_of(&self, node: NodeId, of_part: RanFunctionId) -> Option<&Exposed> {
        let is_single = |function: &Exposed| !matches!(function.view, View::Kpm | View::Ccc);
        let is_it =
            |function: &&Exposed| function.node == node && function.of_part.id == of_part && is_single(function);
        self.functions.iter().find(is_it)
    }

    pub fn send(&mut self, function: RanFunctionId, outgoing: Outgoing) {
        self.shared.lock().outbox.queue(function).push(outgoing);
        self.has_outgoing = true;
    }

    /// Reports the present UEs to a new subscriber to RRC events.
    pub fn report_present(
        &mut self,
        function: RanFunctionId,
        key: RequestKey,
        wire: Wire,
        notifications: List<'_, Notification<'_>>,
    ) {
        if notifications.is_empty() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp_us = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let encoded = rrc::IndicationHeader { timestamp_us }
            .encode(wire, &mut header)
            .and_then(|()| rrc::IndicationMessage { notifications }.encode(wire, &mut message));
        if encoded.is_ok() {
            self.shared.lock().outbox.queue(function).report(key, RicActionId(1), None, &header, &message);
            self.has_outgoing = true;
        }
    }

    pub fn answer(
        &mut self,
        function: RanFunctionId,
        (controller, id): (ControllerId, RicRequestId),
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) {
        let mut shared = self.shared.lock();
        shared.controls = shared.controls.saturating_sub(1);
        drop(shared);
        self.send(function, Outgoing::Answer { controller, id, result });
    }
}

/// The node of the CU-CP that a base station shares with others.
pub(super) fn shared_cu(station: &Station) -> Option<NodeId> {
    station.parts.get(&Part::Control).copied().filter(|_| station.config.shares_cu())
}

/// Has a base station offer these functions: it connects with the first ones, and reports changes by RIC Service Update.
pub(super) fn expose(
    station: &mut Station,
    wanted: Vec<Exposed>,
    nodes: &HashMap<NodeId, Node>,
    agents: &mut SendAgentLoop,
    (topology, instance): (&Topology, ControllerInstance),
) {
    let shared = station.shared.clone();
    let make = |exposed: &Exposed| {
        let definition = Function { id: exposed.id, ..exposed.of_part.clone() };
        Box::new(PartFunction::new(shared.clone(), definition)) as Box<dyn RanFunction + Send>
    };
    let before = std::mem::replace(&mut station.functions, wanted);
    let cu = station.parts.get(&Part::Control).and_then(|node| nodes.get(node));
    let (Some(cu), false) = (cu, station.functions.is_empty()) else {
        if let Some(handle) = station.handle.take() {
            warn!(
                station = %station.config,
                "base station is not exposed any more: it has lost its CU or its last DU; it is exposed again when both are \
                 connected"
            );
            agents.remove_node(handle);
            // its functions are gone, and with them who asked
            station.shared = SharedStation::default();
        }
        return;
    };
    let Some(handle) = station.handle else {
        let config = NodeConfig {
            version: Some(cu.version),
            about: format!("{} parts of {}", station.parts.len(), cu.global_id),
            controller_path: cu.controller_path.with(instance, &cu.global_id),
            ..NodeConfig::new(station.config.global_id(&cu.global_id))
        };
        let handle = agents.add_node(config, station.functions.iter().map(make).collect());
        match agents.try_add_controller(handle, topology.ric.clone()) {
            Ok(_) => station.handle = Some(handle),
            Err(error) => {
                warn!(
                    station = %station.config,
                    "base station is not exposed: its parts have RAN functions that cannot be offered together: {error}; correct the parts"
                );
                agents.remove_node(handle);
                station.functions.clear();
            }
        }
        return;
    };
    let is_same = |a: &Exposed, b: &Exposed| a.id == b.id && a.node == b.node && a.of_part == b.of_part;
    // what is new comes first: a base station is never without functions
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for exposed in &station.functions {
        if !before.iter().any(|old| is_same(old, exposed)) {
            let is_known = before.iter().any(|old| old.id == exposed.id);
            if is_known { changed.push(exposed) } else { added.push(exposed) }
        }
    }
    let mut refused = Vec::new();
    for exposed in added {
        if let Err(misuse) = agents.add_function(handle, make(exposed)) {
            refused.push((exposed.id, misuse));
        }
    }
    let gone = before.iter().filter(|old| !station.functions.iter().any(|exposed| is_same(old, exposed)));
    gone.for_each(|old| drop(agents.remove_function(handle, old.id)));
    for exposed in changed {
        if let Err(misuse) = agents.add_function(handle, make(exposed)) {
            refused.push((exposed.id, misuse));
        }
    }
    for (id, misuse) in refused {
        warn!(
            station = %station.config,
            function = id.0,
            "a function of the base station is not exposed: {misuse}; give its parts functions with different ids"
        );
        station.functions.retain(|exposed| exposed.id != id);
    }
}

#[cfg(test)]
mod tests {
    use e2sm::common::{Cgi, NrCgi, SNssai, Sst, UeId};
    use e2sm::rc::{Detection, Drx, Handover, Revision, RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota};
    use ferric::e2::topology::RanDatabase;
    use ferric::e2::{Components, Time};
    use ferric::e2ap::{Cause, GlobalE2NodeId, GnbDuId, GnbId, RanFunctionRevision, RicRequestId};

    use super::*;
    use crate::testing::{A, ue_id};

    const CU: NodeId = NodeId(1);
    const DUS: [NodeId; 2] = [NodeId(2), NodeId(3)];

    /// A base station of a CU-CP and two DUs, each with a function of E2SM-RC.
    fn station() -> Station {
        let text = "ric = \"tcp://127.0.0.1:1\"\n[[base_station]]\ngnb = \"gnb-00101-1\"\n";
        let mut station = Station::new(Topology::parse(text).unwrap().stations[0].clone());
        let parts = [(Part::Control, CU), (Part::Du(1), DUS[0]), (Part::Du(2), DUS[1])];
        for (at, (part, node)) in parts.into_iter().enumerate() {
            let of_part = Function {
                id: RanFunctionId(3),
                revision: RanFunctionRevision(1),
                definition: Vec::new(),
                oid: String::new(),
            };
            let actions = match part {
                Part::Control => vec![ControlAction::HANDOVER],
                _ => vec![ControlAction::DRX, ControlAction::SLICE_PRB_QUOTA],
            };
            let (id, view) = (RanFunctionId(3 + at as u16), View::Rc(Detection::configured(Revision::V3_00)));
            station.functions.push(Exposed { id, part, node, of_part, view, actions });
        }
        station
    }

    /// The parts that a control to the CU's function goes to.
    fn routed(control: &Control, ran: &RanDatabase) -> Result<Vec<NodeId>, Cause> {
        let (header, message) = control.encode(Revision::V3_00).unwrap();
        let request = ControlRequest {
            request_id: RicRequestId { requestor: 1, instance: 1 },
            ran_function_id: RanFunctionId(3),
            call_process_id: None,
            header,
            message,
        };
        let station = station();
        let parts = station.route(RanFunctionId(3), &request, ran);
        parts.map(|parts| parts.iter().map(|part| part.node).collect()).map_err(|failure| failure.cause)
    }

    /// The second DU knows UE 5.
    fn ran() -> RanDatabase {
        let mut ran = RanDatabase::new(10);
        for (node, du) in [(CU, None), (DUS[0], Some(1)), (DUS[1], Some(2))] {
            let mut id = GlobalE2NodeId::gnb(A, GnbId::new(1, 22));
            if let GlobalE2NodeId::Gnb(gnb) = &mut id {
                gnb.gnb_du_id = du.map(GnbDuId);
            }
            ran.update_node(node, id, &Components::default());
        }
        ran.learn_ue_id(Time::default(), DUS[1], &ue_id(5));
        ran
    }

    fn drx(ue_id: UeId<'static>) -> Control {
        Control::of_ue(ue_id, ControlAction::Drx(Drx::long(320)))
    }

    #[test]
    fn control_goes_to_the_part_that_has_the_action() {
        let ran = ran();
        let cell = Cgi::NrCgi(NrCgi::new(A, 1));
        let handover = Control::of_ue(ue_id(5), ControlAction::Handover(Handover::to(cell)));
        assert_eq!(routed(&handover, &ran), Ok(vec![CU]));
        assert_eq!(routed(&drx(ue_id(5)), &ran), Ok(vec![DUS[1]]));
        // a quota concerns all UEs
        let policy = RrmPolicyRatio {
            members: vec![RrmPolicyMember { plmn_identity: A, slice: SNssai { sst: Sst([1]), sd: None } }],
            min_percent: Some(1),
            max_percent: None,
            dedicated_percent: None,
        };
        let quota = ControlAction::SlicePrbQuota(SlicePrbQuota { policies: vec![policy] });
        assert_eq!(routed(&Control::of_cell(quota), &ran), Ok(DUS.to_vec()));
    }

    #[test]
    fn control_without_a_part_of_its_own_is_refused() {
        let failed = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
        assert_eq!(routed(&drx(ue_id(6)), &ran()), Err(failed), "no DU knows the UE");
    }

    #[test]
    fn function_has_its_id_again() {
        let mut station = station();
        let own = RanFunctionId(2);
        assert_eq!(station.id_of(Part::Control, own), Some(own));
        assert_eq!(station.id_of(Part::Du(1), own), Some(RanFunctionId(FIRST_FREE)));
        assert_eq!(station.id_of(Part::Du(2), own), Some(RanFunctionId(FIRST_FREE + 1)));
        assert_eq!(station.id_of(Part::Du(1), own), Some(RanFunctionId(FIRST_FREE)));
        assert_eq!(station.id_of(Part::Control, own), Some(own));
    }
}
