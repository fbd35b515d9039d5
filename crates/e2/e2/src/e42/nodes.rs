//! The nodes in the setup response to FlexRIC's xApps.

use e2ap::e42::{ConnectedNode, E42Version};
use e2ap::{EnbId, GlobalE2NodeId, RanFunctionId, RanFunctionItem};
use per::{Octets, PrintableString};

use crate::{Node, RanFunction, Selection, XappRights};

/// The maximum encoding overhead per node.
const OVERHEAD_OCTETS: usize = 64;
/// The maximum number of components that FlexRIC's xApps read.
const MAX_COMPONENTS: usize = 255;
/// The maximum number of functions in a list.
const MAX_FUNCTIONS: usize = 256;

/// Returns the nodes for an xApp with these rights, with those of their functions that are to be listed, within `room_octets`, and the number of nodes left out.
pub(super) fn connected<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    rights: Option<&XappRights>,
    functions: &Selection<RanFunctionId>,
    version: E42Version,
    mut room_octets: usize,
) -> (Vec<ConnectedNode<'a>>, usize) {
    let (mut listed, mut omitted, mut scratch) = (Vec::new(), 0, Vec::new());
    for node in nodes.filter(|node| rights.is_none_or(|rights| rights.sees(node))) {
        let node =
            connected_node(node, rights, functions, version).filter(|_| listed.len() < usize::from(u16::MAX) - 1);
        match node.map(|node| (octets(&node, version, &mut scratch), node)) {
            Some((Some(octets), node)) if octets <= room_octets => {
                room_octets -= octets;
                listed.push(node);
            }
            _ => omitted += 1,
        }
    }
    (listed, omitted)
}

/// Returns `None` for a node that FlexRIC's xApps would abort on.
fn connected_node<'n>(
    node: &'n Node,
    rights: Option<&XappRights>,
    listed: &Selection<RanFunctionId>,
    version: E42Version,
) -> Option<ConnectedNode<'n>> {
    let known = match node.global_id {
        GlobalE2NodeId::Gnb(_) => true,
        GlobalE2NodeId::Enb(id) => matches!(id.global_enb_id.enb_id, EnbId::MacroEnbId(_)),
        GlobalE2NodeId::EnGnb(_) | GlobalE2NodeId::NgEnb(_) => false,
    };
    let listed = |function: &&RanFunction| listed.contains(&function.id);
    let functions: Vec<_> = match rights {
        Some(rights) => rights.seen(node).filter(listed).filter_map(function).take(MAX_FUNCTIONS).collect(),
        None => node.functions.iter().filter(listed).filter_map(function).take(MAX_FUNCTIONS).collect(),
    };
    if !known || functions.is_empty() {
        return None;
    }
    let components = &node.components.listed;
    let components = match version {
        E42Version::V1 => None,
        E42Version::V2 | E42Version::V3 if (1..=MAX_COMPONENTS).contains(&components.len()) => {
            Some(components.clone().into())
        }
        E42Version::V2 | E42Version::V3 => return None,
    };
    let functions = e2ap::Items::from(functions).marked(e2ap::Criticality::Reject); // as FlexRIC's RIC marks them
    Some(ConnectedNode { global_e2_node_id: node.global_id, components, ran_functions: functions })
}

fn function(function: &RanFunction) -> Option<RanFunctionItem<'_>> {
    let oid = PrintableString::try_from(&*function.oid).ok().filter(|oid| !oid.as_str().is_empty())?;
    let (id, revision, definition) = (function.id, function.revision, Octets::from(&*function.definition));
    Some(RanFunctionItem { id, definition, revision, oid: Some(oid) })
}

/// Returns the maximum octets of a node; `None` if the version cannot carry it. The node was decoded in its own version and
/// encoding: v1 has no en-gNB id within a gNB, and FlatBuffers have no versions.
fn octets(node: &ConnectedNode<'_>, version: E42Version, scratch: &mut Vec<u8>) -> Option<usize> {
    scratch.clear();
    per::encode(node, version.e2ap().revision(), scratch).ok()?;
    // fragments' headers at three levels
    Some(OVERHEAD_OCTETS + scratch.len() + scratch.len() / 1024)
}
