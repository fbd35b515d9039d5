//! R-NIB: the nodes of the RIC in the shared data layer, in the layout that xApps of the reference platform read.
//!
//! The namespace is `e2Manager`. What is there:
//!
//! | key | content |
//! |---|---|
//! | `RAN:NAME` | a node: the message `NodebInfo` |
//! | `GNB:PLMN:ID`, `ENB:PLMN:ID`, with the id of a gNB-CU-UP or gNB-DU behind it | the same node |
//! | groups `GNB` and `ENB` | identities of nodes: messages `NbIdentity` |
//! | `GENERAL` | `{"enableRic":true}` |
//!
//! The channel `RAN_CONNECTION_STATUS_CHANGE` gets `NAME_CONNECTED` and `NAME_DISCONNECTED`, `RAN_MANIPULATION` gets
//! `NAME_ADDED`,
//! `NAME_UPDATED` and `NAME_DELETED`. A node that is lost stays with the status DISCONNECTED, up to 1024 of them. Field numbers
//! are those that the platform publishes.
//!
//! In a store that several RICs share, the key `FERRIC.OWNER:NAME` names the RIC that the node has set up at last, and its run. Only
//! that one changes what is stored of the node, until another claims it.

mod components;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ferric::e2::{Indication, Node, NodeId};
use ferric::e2ap::GlobalE2NodeId;
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker};
use ids::{EnbId, NgEnbId};
use protobuf::{Codec, message};
use sdl::{Change, Handle};
use tracing::warn;

use crate::names::{identity_bits, plmn_octets, ran_name};
use components::Component;

/// The namespace, as a prefix of keys and channels.
const NAMESPACE: &str = "e2Manager";
const CONNECTION_CHANNEL: &str = "RAN_CONNECTION_STATUS_CHANGE";
const MANIPULATION_CHANNEL: &str = "RAN_MANIPULATION";
/// The most nodes that are remembered after their loss; then the one that was lost first is removed.
const MAX_LOST: usize = 1024;

/// The key of a node's RIC, in a store that several RICs share.
const OWNER_PREFIX: &str = "FERRIC.OWNER:";

/// The owner of a node whose RIC is gone.
const NOBODY: &[u8] = b"-";

const CONNECTED: u32 = 1;
const DISCONNECTED: u32 = 2;
const ENB: u32 = 1;
const GNB: u32 = 2;

message! {
    /// The global identity of a base station.
    GlobalNbId {
        /// The PLMN in the hexadecimal digits of its encoding.
        plmn_id: String = 1,
        /// The identity in binary digits.
        nb_id: String = 2,
    }
}

message! {
    /// A node in a list.
    NbIdentity {
        /// The name.
        inventory_name: String = 1,
        /// The identity.
        global_nb_id: Option<GlobalNbId> = 2,
        /// Connected, or not.
        connection_status: Option<u32> = 3,
    }
}

message! {
    /// A RAN function.
    RanFunction {
        /// The id in the node.
        ran_function_id: u32 = 1,
        /// The definition in hexadecimal digits.
        ran_function_definition: String = 2,
        /// The revision.
        ran_function_revision: Option<u32> = 3,
        /// The object identifier of the service model.
        ran_function_oid: String = 4,
    }
}

message! {
    /// What is particular to gNBs.
    Gnb {
        /// The functions.
        ran_functions: Vec<RanFunction> = 2,
        /// A gNB, or an en-gNB.
        gnb_type: u32 = 3,
        /// The interfaces.
        node_configs: Vec<Component> = 4,
    }
}

message! {
    /// What is particular to eNBs.
    Enb {
        /// The form of the identity.
        enb_type: u32 = 1,
        /// The interfaces.
        node_configs: Vec<Component> = 4,
    }
}

message! {
    /// A node.
    NodebInfo {
        /// The name.
        ran_name: String = 1,
        /// Connected, or not.
        connection_status: Option<u32> = 5,
        /// The identity.
        global_nb_id: Option<GlobalNbId> = 6,
        /// A gNB, or an eNB.
        node_type: Option<u32> = 7,
        /// Of an eNB.
        enb: Option<Enb> = 8,
        /// Of a gNB.
        gnb: Option<Gnb> = 9,
        /// The node has begun the association.
        setup_from_network: Option<bool> = 13,
        /// When the status has changed, in nanoseconds since 1970.
        status_update_time_stamp: Option<u64> = 14,
        /// The part of a gNB.
        gnb_node_type: Option<String> = 15,
        /// The gNB-CU-UP ID.
        cu_up_id: Option<String> = 16,
        /// The gNB-DU ID.
        du_id: Option<String> = 17,
    }
}

/// A node as it was stored.
#[derive(Clone, Debug)]
struct Stored {
    info: NodebInfo,
}

impl Stored {
    fn of(node: &Node) -> Self {
        let id = &node.global_id;
        let global = GlobalNbId { plmn_id: plmn_octets(id), nb_id: identity_bits(id) };
        let (cu_up, du) = match id {
            GlobalE2NodeId::Gnb(id) => (id.gnb_cu_up_id.map(|id| id.0), id.gnb_du_id.map(|id| id.0)),
            GlobalE2NodeId::EnGnb(id) => (id.en_gnb_cu_up_id.map(|id| id.0), id.en_gnb_du_id.map(|id| id.0)),
            GlobalE2NodeId::NgEnb(_) | GlobalE2NodeId::Enb(_) => (None, None),
        };
        let is_gnb = matches!(id, GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_));
        let node_kind = match (cu_up, du) {
            (Some(_), None) => "gNB_CU_UP",
            (None, Some(_)) => "gNB_DU",
            _ => "gNB",
        };
        let gnb = is_gnb.then(|| Gnb {
            ran_functions: node.functions.iter().map(RanFunction::of).collect(),
            gnb_type: gnb_type(id),
            node_configs: components::of(&node.components),
        });
        let info = NodebInfo {
            ran_name: ran_name(id),
            connection_status: Some(CONNECTED),
            global_nb_id: Some(global),
            node_type: Some(if is_gnb { GNB } else { ENB }),
            enb: enb_type(id).map(|enb_type| Enb { enb_type, node_configs: components::of(&node.components) }),
            gnb,
            setup_from_network: Some(true),
            status_update_time_stamp: Some(now_ns()),
            gnb_node_type: is_gnb.then(|| node_kind.to_owned()),
            cu_up_id: cu_up.map(|id| id.to_string()),
            du_id: du.map(|id| id.to_string()),
        };
        Stored { info }
    }

    /// The group that lists it.
    fn group(&self) -> Vec<u8> {
        key(if self.info.gnb.is_some() { "GNB" } else { "ENB" })
    }

    /// Its place in the group.
    fn member(&self) -> Vec<u8> {
        let identity = NbIdentity {
            inventory_name: self.info.ran_name.clone(),
            global_nb_id: self.info.global_nb_id.clone(),
            connection_status: self.info.connection_status,
        };
        identity.encode()
    }

    /// The keys of its name and of its identity.
    fn keys(&self) -> [Vec<u8>; 2] {
        let info = &self.info;
        let kind = if info.gnb.is_some() { "GNB" } else { "ENB" };
        let part = match (&info.cu_up_id, &info.du_id) {
            (Some(part), None) | (None, Some(part)) => format!(":{part}"),
            _ => String::new(),
        };
        let id = info.global_nb_id.as_ref().map_or_else(String::new, |id| format!("{}:{}", id.plmn_id, id.nb_id));
        [key(&format!("RAN:{}", info.ran_name)), key(&format!("{kind}:{id}{part}"))]
    }

    fn owner_key(&self) -> Vec<u8> {
        key(&format!("{OWNER_PREFIX}{}", self.info.ran_name))
    }

    fn is_connected(&self) -> bool {
        self.info.connection_status == Some(CONNECTED)
    }

    fn disconnect(&mut self) {
        self.info.connection_status = Some(DISCONNECTED);
        self.info.status_update_time_stamp = Some(now_ns());
    }

    /// The changes that store it.
    fn put(&self) -> impl Iterator<Item = Change> {
        let octets = self.info.encode();
        let member = Change::AddMember { key: self.group(), member: self.member() };
        self.keys().into_iter().map(move |key| Change::Set { key, octets: octets.clone() }).chain([member])
    }

    /// The changes that remove it.
    fn remove(&self) -> impl Iterator<Item = Change> {
        self.keys().into_iter().map(|key| Change::Remove { key }).chain([self.leave()])
    }

    /// The change that takes it out of its group.
    fn leave(&self) -> Change {
        Change::RemoveMember { key: self.group(), member: self.member() }
    }

    /// The change that takes it out of its group with the other status, which another RIC may have written.
    fn leave_other(&self) -> Change {
        let mut other = self.clone();
        other.info.connection_status = Some(if self.is_connected() { DISCONNECTED } else { CONNECTED });
        other.leave()
    }

    fn event(&self, channel: &str, what: &str) -> Change {
        Change::Publish { channel: key(channel), message: format!("{}_{what}", self.info.ran_name).into_bytes() }
    }
}

impl RanFunction {
    fn of(function: &ferric::e2::RanFunction) -> Self {
        RanFunction {
            ran_function_id: function.id.0.into(),
            ran_function_definition: function.definition.iter().map(|octet| format!("{octet:02x}")).collect(),
            ran_function_revision: Some(function.revision.0.into()),
            ran_function_oid: function.oid.to_string(),
        }
    }
}

fn gnb_type(id: &GlobalE2NodeId) -> u32 {
    if matches!(id, GlobalE2NodeId::Gnb(_)) { 1 } else { 2 }
}

fn enb_type(id: &GlobalE2NodeId) -> Option<u32> {
    Some(match id {
        GlobalE2NodeId::Enb(id) => match id.global_enb_id.enb_id {
            EnbId::MacroEnbId(_) => 1,
            EnbId::HomeEnbId(_) => 2,
            EnbId::ShortMacroEnbId(_) => 3,
            EnbId::LongMacroEnbId(_) => 4,
        },
        GlobalE2NodeId::NgEnb(id) => match id.global_ng_enb_id.ng_enb_id {
            NgEnbId::MacroNgEnbId(_) => 5,
            NgEnbId::ShortMacroNgEnbId(_) => 6,
            NgEnbId::LongMacroNgEnbId(_) => 7,
        },
        GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => return None,
    })
}

fn key(name: &str) -> Vec<u8> {
    format!("{{{NAMESPACE}}},{name}").into_bytes()
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Marks the nodes of another RIC as disconnected, which is gone, unless they have set up elsewhere. It waits for the store: it is for a
/// thread of its own.
pub fn disconnect_nodes_of_ric(handle: &Handle, ric: &str) {
    let prefix = format!("{ric} ").into_bytes();
    disconnect_nodes_of(handle, |owner| owner.starts_with(&prefix));
}

/// Marks the nodes as disconnected whose owner is gone. It waits for the store.
fn disconnect_nodes_of(handle: &Handle, is_gone: impl Fn(&[u8]) -> bool) {
    let entries: BTreeMap<_, _> = handle.read(NAMESPACE.as_bytes()).into_iter().collect();
    let prefix = key(OWNER_PREFIX);
    for (owner_key, owner) in entries.range(prefix.clone()..).take_while(|(of, _)| of.starts_with(&prefix)) {
        let name = String::from_utf8_lossy(&owner_key[prefix.len()..]);
        let info = entries.get(&key(&format!("RAN:{name}"))).and_then(|octets| NodebInfo::decode(octets).ok());
        let Some(mut stored) = info.map(|info| Stored { info }).filter(|_| is_gone(owner)) else { continue };
        if !stored.is_connected() {
            continue;
        }
        let mut changes = vec![stored.leave()];
        stored.disconnect();
        changes.extend(stored.put());
        changes.push(stored.event(CONNECTION_CHANNEL, "DISCONNECTED"));
        // others that do the same find it done
        changes.push(Change::Set { key: owner_key.clone(), octets: NOBODY.to_vec() });
        if !handle.apply(vec![Change::Guarded { key: owner_key.clone(), octets: owner.clone(), changes }]) {
            return warn!(
                "the RIC of {name} and other nodes is gone: R-NIB keeps them as connected until they set up again: {}",
                sdl::NO_ROOM
            );
        }
    }
}

/// An internal app that keeps R-NIB current.
#[derive(Debug)]
pub struct Rnib {
    handle: Handle,
    /// In a store that several RICs share, this one and its run.
    owner: Option<Vec<u8>>,
    /// The store was away, and may have lost what it had.
    has_returned: Arc<AtomicBool>,
    nodes: BTreeMap<NodeId, Stored>,
    /// Nodes that were lost, the first one in front.
    lost: VecDeque<Stored>,
    /// The shared data layer has refused changes: everything is written again.
    is_behind: bool,
}

impl Rnib {
    /// Removes what an earlier run has left in the namespace, and writes nodes from now on.
    #[must_use]
    pub fn new(handle: Handle) -> Self {
        let mut rnib = Rnib::with(handle, None);
        rnib.write_all();
        rnib
    }

    /// Writes nodes beside other RICs that share the store. What an earlier run of the RIC of this name, without white space, has left
    /// becomes disconnected. `waker` is one of the server that this is added to.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn shared(handle: Handle, ric: &str, waker: IappWaker) -> io::Result<Self> {
        let owner = format!("{ric} {}", now_ns()).into_bytes();
        let mut rnib = Rnib::with(handle, Some(owner.clone()));
        rnib.write_all();
        let has_returned = Arc::clone(&rnib.has_returned);
        rnib.handle.on_return(Box::new(move || {
            has_returned.store(true, Ordering::Release);
            waker.wake();
        }));
        let (handle, prefix) = (rnib.handle.clone(), format!("{ric} ").into_bytes());
        // it waits for the store
        let sweep = move || disconnect_nodes_of(&handle, |of| of.starts_with(&prefix) && of != owner);
        std::thread::Builder::new().name("rnib".to_owned()).spawn(sweep)?;
        Ok(rnib)
    }

    fn with(handle: Handle, owner: Option<Vec<u8>>) -> Self {
        let (nodes, lost) = (BTreeMap::new(), VecDeque::new());
        Rnib { handle, owner, has_returned: Arc::default(), nodes, lost, is_behind: false }
    }

    /// The changes of a node, which in a shared store claim it, if it is connected, or are made if another RIC has not claimed it.
    fn of(&self, stored: &Stored, mut changes: Vec<Change>) -> Vec<Change> {
        let Some(owner) = &self.owner else { return changes };
        let (key, octets) = (stored.owner_key(), owner.clone());
        changes.insert(0, stored.leave_other());
        if stored.is_connected() {
            changes.push(Change::Set { key, octets });
            changes
        } else {
            vec![Change::Guarded { key, octets, changes }]
        }
    }

    fn apply(&mut self, changes: Vec<Change>) {
        if !self.is_behind && !self.handle.apply(changes) {
            self.is_behind = true;
            warn!("R-NIB is behind the RIC's nodes, and will be written again as a whole: {}", sdl::NO_ROOM);
        }
    }

    /// Writes everything.
    fn write_all(&mut self) {
        // what others have written stays
        let clear = self.owner.is_none().then(|| Change::Clear { namespace: NAMESPACE.into() });
        let general = Change::Set { key: key("GENERAL"), octets: b"{\"enableRic\":true}".to_vec() };
        let nodes = self.nodes.values().chain(&self.lost);
        let nodes = nodes.flat_map(|stored| self.of(stored, stored.put().collect()));
        let changes = clear.into_iter().chain([general]).chain(nodes).collect();
        self.is_behind = !self.handle.apply(changes);
    }

    fn connect(&mut self, node: &Node) {
        let stored = Stored::of(node);
        let former = self.lost.iter().position(|lost| lost.info.ran_name == stored.info.ran_name);
        let former = former.and_then(|at| self.lost.remove(at));
        // a setup that replaces an association without its loss
        let former = self.nodes.insert(node.id, stored.clone()).or(former);
        let what = if former.is_some() { "UPDATED" } else { "ADDED" };
        let was_connected = former.as_ref().is_some_and(Stored::is_connected);
        let mut changes: Vec<_> = former.iter().map(Stored::leave).chain(stored.put()).collect();
        changes.push(stored.event(MANIPULATION_CHANNEL, what));
        if !was_connected {
            changes.push(stored.event(CONNECTION_CHANNEL, "CONNECTED"));
        }
        let changes = self.of(&stored, changes);
        self.apply(changes);
    }

    fn disconnect(&mut self, node: NodeId) {
        let Some(mut stored) = self.nodes.remove(&node) else { return };
        let mut changes = vec![stored.leave()];
        stored.disconnect();
        changes.extend(stored.put());
        changes.push(stored.event(CONNECTION_CHANNEL, "DISCONNECTED"));
        let mut changes = self.of(&stored, changes);
        self.lost.push_back(stored);
        if self.lost.len() > MAX_LOST
            && let Some(first) = self.lost.pop_front()
        {
            let mut removal: Vec<_> = first.remove().collect();
            removal.push(first.event(MANIPULATION_CHANNEL, "DELETED"));
            if self.owner.is_some() {
                removal.push(Change::Remove { key: first.owner_key() });
            }
            changes.extend(self.of(&first, removal));
        }
        self.apply(changes);
    }
}

impl Iapp for Rnib {
    fn name(&self) -> &str {
        "R-NIB"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, _: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) | IappEvent::NodeChanged(node) => self.connect(node),
            IappEvent::NodeLost(node) => self.disconnect(*node),
            _ => {}
        }
        if self.is_behind {
            self.write_all();
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, _: &mut IappContext<'_>) {
        if self.is_behind || self.has_returned.swap(false, Ordering::AcqRel) {
            self.write_all();
        }
    }
}
