//! What a peer may do, where somebody vouches for who it is.
//!
//! The machines keep to it; who the peers are, and what each of them may do, is their caller's to know: from certificates, for
//! one. A peer of which nothing was said may do everything.

use std::collections::BTreeSet;

use e2ap::{GlobalE2NodeId, RanFunctionId, RicActionType};

use crate::{Node, Notice, RanFunction};

/// All of a kind, or some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection<T> {
    /// Every one.
    All,
    /// These.
    Only(BTreeSet<T>),
}

impl<T: Ord> Selection<T> {
    fn has(&self, mut is_it: impl FnMut(&T) -> bool) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(these) => these.iter().any(&mut is_it),
        }
    }
}

impl<T: Ord> FromIterator<T> for Selection<T> {
    fn from_iter<I: IntoIterator<Item = T>>(these: I) -> Self {
        Selection::Only(these.into_iter().collect())
    }
}

/// Who is at the other end of a node's association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRights {
    /// What it goes by. A node that was set up by somebody who was vouched for is only taken over by the same.
    pub identity: Box<str>,
    /// The nodes that it may set up as, as [`GlobalE2NodeId`] is written.
    pub node_ids: Selection<String>,
}

impl NodeRights {
    pub(crate) fn may_be(&self, node: &GlobalE2NodeId) -> bool {
        let name = node.to_string();
        self.node_ids.has(|id| *id == name)
    }
}

/// A RAN function, as rights name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionName {
    /// By its id, which each node chooses.
    Id(RanFunctionId),
    /// By the object identifier of its service model.
    Oid(String),
}

/// Functions of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Of these nodes, as [`GlobalE2NodeId`] is written.
    pub nodes: Selection<String>,
    /// These functions.
    pub functions: Selection<FunctionName>,
}

impl Grant {
    fn covers(&self, name: &str, function: &RanFunction) -> bool {
        let is_it = |wanted: &FunctionName| match wanted {
            FunctionName::Id(id) => *id == function.id,
            FunctionName::Oid(oid) => **oid == *function.oid,
        };
        self.nodes.has(|node| node == name) && self.functions.has(is_it)
    }
}

/// What an xApp may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XappRights {
    /// What it may subscribe to: REPORT actions.
    pub read: Vec<Grant>,
    /// What it may control. INSERT and POLICY actions, which hold up the node or have it act, take this too.
    pub control: Vec<Grant>,
}

impl XappRights {
    /// The functions of a node that it may do something with: those that it is told of.
    pub(crate) fn seen<'n>(&self, node: &'n Node) -> impl Iterator<Item = &'n RanFunction> + use<'_, 'n> {
        let name = node.global_id.to_string();
        let sees = move |function: &&RanFunction| {
            self.read.iter().chain(&self.control).any(|grant| grant.covers(&name, function))
        };
        node.functions.iter().filter(sees)
    }

    /// Whether it is told of a node: not of one that it can do nothing with.
    pub(crate) fn sees(&self, node: &Node) -> bool {
        self.seen(node).next().is_some()
    }

    /// Whether it may ask a node's function for these kinds of actions; where not, whether it lacks only the right to control.
    pub(crate) fn may_subscribe(
        &self,
        node: &Node,
        function: RanFunctionId,
        mut kinds: impl Iterator<Item = RicActionType>,
    ) -> Result<(), Lacking> {
        if !self.may_read(node, function) {
            return Err(Lacking::Read);
        }
        // INSERT holds up the node and POLICY has it act: both are more than reading.
        if kinds.any(|kind| kind != RicActionType::Report) && !self.may_control(node, function) {
            return Err(Lacking::Control);
        }
        Ok(())
    }

    pub(crate) fn may_read(&self, node: &Node, function: RanFunctionId) -> bool {
        covered(&self.read, node, function)
    }

    pub(crate) fn may_control(&self, node: &Node, function: RanFunctionId) -> bool {
        covered(&self.control, node, function)
    }
}

/// The right that an xApp lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    Read,
    Control,
}

/// What the log is told of an xApp that lacks a right to a node's function; `count` such refusals it had until now.
pub(crate) fn not_allowed(node: &Node, function: RanFunctionId, lacking: Lacking, count: u64) -> Notice {
    let oid = node.functions.iter().find(|own| own.id == function).map(|own| own.oid.as_ref().into());
    Notice::XappNotAllowed {
        node: node.global_id,
        ran_function_id: function,
        oid: oid.unwrap_or_default(),
        control: lacking == Lacking::Control,
        count,
    }
}

fn covered(grants: &[Grant], node: &Node, function: RanFunctionId) -> bool {
    // A function that the node does not have is not there to be protected; asking for it is answered as always.
    let Some(function) = node.functions.iter().find(|own| own.id == function) else { return true };
    let name = node.global_id.to_string();
    grants.iter().any(|grant| grant.covers(&name, function))
}
