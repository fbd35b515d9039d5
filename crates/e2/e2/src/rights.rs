//! The rights of authenticated peers.
//!
//! The machines enforce the rights; the caller identifies the peers and assigns the rights, for example by certificates. A peer
//! without assigned rights may do everything.

use std::collections::BTreeSet;

use e2ap::{GlobalE2NodeId, RanFunctionId, RicActionType};

use crate::{Node, Notice, RanFunction};

/// A set that is either everything or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection<T> {
    /// Everything.
    All,
    /// The listed items.
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

impl<T: Ord> Selection<T> {
    /// Whether the selection contains an item.
    pub fn contains(&self, item: &T) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(these) => these.contains(item),
        }
    }
}

impl<T: Ord> FromIterator<T> for Selection<T> {
    fn from_iter<I: IntoIterator<Item = T>>(these: I) -> Self {
        Selection::Only(these.into_iter().collect())
    }
}

/// The identity of a node's peer and the nodes that it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRights {
    /// Its identity. Only a peer with the same identity can take over a node that an authenticated peer has set up.
    pub identity: Box<str>,
    /// The nodes that it may set up as, in the display form of [`GlobalE2NodeId`].
    pub node_ids: Selection<String>,
}

impl NodeRights {
    pub(crate) fn may_be(&self, node: &GlobalE2NodeId) -> bool {
        let name = node.to_string();
        self.node_ids.has(|id| *id == name)
    }
}

/// The way in which a grant names a RAN function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionName {
    /// By its id, which each node chooses.
    Id(RanFunctionId),
    /// By the object identifier of its service model.
    Oid(String),
}

/// A grant of RAN functions of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The nodes, in the display form of [`GlobalE2NodeId`].
    pub nodes: Selection<String>,
    /// The functions.
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

/// The rights of an xApp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XappRights {
    /// Functions that it may subscribe to with REPORT actions, and query.
    pub read: Vec<Grant>,
    /// Functions that it may control. INSERT and POLICY actions, which suspend or direct the node, need this right, too.
    pub control: Vec<Grant>,
}

impl XappRights {
    /// Returns the functions of a node that are visible to it: those it has any right to.
    pub(crate) fn seen<'n>(&self, node: &'n Node) -> impl Iterator<Item = &'n RanFunction> + use<'_, 'n> {
        let name = node.global_id.to_string();
        let sees = move |function: &&RanFunction| {
            self.read.iter().chain(&self.control).any(|grant| grant.covers(&name, function))
        };
        node.functions.iter().filter(sees)
    }

    /// Whether a node is visible to it.
    pub(crate) fn sees(&self, node: &Node) -> bool {
        self.seen(node).next().is_some()
    }

    /// Checks that it may subscribe to a function with these types of actions. A function that the node does not have is no matter
    /// of rights: the command fails in the usual way.
    ///
    /// # Errors
    /// The right that it lacks.
    pub fn may_subscribe(
        &self,
        node: &Node,
        function: RanFunctionId,
        mut kinds: impl Iterator<Item = RicActionType>,
    ) -> Result<(), Lacking> {
        if !self.may_read(node, function) {
            return Err(Lacking::Read);
        }
        // INSERT suspends a procedure of the node and POLICY directs it: both are more than reading
        if kinds.any(|kind| kind != RicActionType::Report) && !self.may_control(node, function) {
            return Err(Lacking::Control);
        }
        Ok(())
    }

    /// The rights in a few words, for an audit log.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("{} grants to read, {} to control", self.read.len(), self.control.len())
    }

    pub(crate) fn may_read(&self, node: &Node, function: RanFunctionId) -> bool {
        covered(&self.read, node, function)
    }

    /// Whether it may control a function.
    #[must_use]
    pub fn may_control(&self, node: &Node, function: RanFunctionId) -> bool {
        covered(&self.control, node, function)
    }
}

/// The right that an xApp lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// [`XappRights::read`].
    Read,
    /// [`XappRights::control`].
    Control,
}

impl Lacking {
    /// Its name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Lacking::Read => "read",
            Lacking::Control => "control",
        }
    }
}

/// Returns the notice about an xApp that lacks a right to a function; `count` is the number of its refusals so far.
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
    // an unknown function needs no protection: the command fails in the usual way
    let Some(function) = node.functions.iter().find(|own| own.id == function) else { return true };
    let name = node.global_id.to_string();
    grants.iter().any(|grant| grant.covers(&name, function))
}
