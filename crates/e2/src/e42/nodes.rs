//! The nodes as FlexRIC's xApps are told of them.

use e2ap::e42::{ConnectedNode, E42Version};
use e2ap::{EnbId, GlobalE2NodeId, RanFunctionItem};
use per::{Octets, PrintableString};

use crate::{Node, RanFunction, XappRights};

/// What is written around a node and each of its parts, at most.
const OVERHEAD_OCTETS: usize = 64;
/// The components that FlexRIC's xApps read.
const MAX_COMPONENTS: usize = 255;
/// The functions of one list.
const MAX_FUNCTIONS: usize = 256;

/// The nodes to tell of, as far as `room_octets` go, and how many others there are that an xApp with these rights may know.
pub(super) fn connected<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    rights: Option<&XappRights>,
    version: E42Version,
    mut room_octets: usize,
) -> (Vec<ConnectedNode<'a>>, usize) {
    let (mut told, mut untold) = (Vec::new(), 0);
    for node in nodes.filter(|node| rights.is_none_or(|rights| rights.sees(node))) {
        match connected_node(node, rights, version).filter(|_| told.len() < usize::from(u16::MAX) - 1) {
            Some(connected) if octets(&connected) <= room_octets => {
                room_octets -= octets(&connected);
                told.push(connected);
            }
            _ => untold += 1,
        }
    }
    (told, untold)
}

/// `None` for a node that FlexRIC's xApps would end themselves over, or that their version cannot name.
fn connected_node<'n>(node: &'n Node, rights: Option<&XappRights>, version: E42Version) -> Option<ConnectedNode<'n>> {
    let known = match node.global_id {
        // v1 has no place for the en-gNB that a gNB is too, and without it the name would be another node's
        GlobalE2NodeId::Gnb(id) => version != E42Version::V1 || id.global_en_gnb_id.is_none(),
        GlobalE2NodeId::Enb(id) => matches!(id.global_enb_id.enb_id, EnbId::Macro(_)),
        GlobalE2NodeId::EnGnb(_) | GlobalE2NodeId::NgEnb(_) => false,
    };
    let functions: Vec<_> = match rights {
        Some(rights) => rights.seen(node).filter_map(function).take(MAX_FUNCTIONS).collect(),
        None => node.functions.iter().filter_map(function).take(MAX_FUNCTIONS).collect(),
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

/// Octets that a node takes, at most.
fn octets(node: &ConnectedNode<'_>) -> usize {
    let of_functions = node.ran_functions.iter().map(|function| {
        OVERHEAD_OCTETS + function.definition.len() + function.oid.as_ref().map_or(0, |oid| oid.as_str().len())
    });
    let of_components = node.components.iter().flat_map(|items| items.iter()).map(|component| {
        let configuration = &component.configuration;
        // a component's name has 150 octets at most
        OVERHEAD_OCTETS + 150 + configuration.request_part.len() + configuration.response_part.len()
    });
    let octets = OVERHEAD_OCTETS + of_functions.sum::<usize>() + of_components.sum::<usize>();
    // fragments' headers at three levels
    octets + octets / 1024
}
