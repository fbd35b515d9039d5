//! The rights of authenticated peers.
//!
//! The machines enforce the rights; the caller identifies the peers and assigns the rights, for example by certificates. A peer
//! without assigned rights may do everything.

#[cfg(feature = "content")]
mod limits;

use core::fmt;
use std::collections::BTreeSet;

use e2ap::{GlobalE2NodeId, RanFunctionId, RicActionType};

use crate::topology::RanDatabase;
use crate::{Action, Node, Notice, RanFunction, SubscriptionSpec};

#[cfg(feature = "content")]
pub use limits::GrantLimits;

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
#[non_exhaustive]
pub struct Grant {
    /// The nodes, in the display form of [`GlobalE2NodeId`].
    pub nodes: Selection<String>,
    /// The functions.
    pub functions: Selection<FunctionName>,
    /// What of the functions.
    #[cfg(feature = "content")]
    pub limits: GrantLimits,
}

impl Grant {
    /// Returns a grant of functions of nodes without further limits.
    #[must_use]
    pub fn new(nodes: Selection<String>, functions: Selection<FunctionName>) -> Self {
        Grant {
            nodes,
            functions,
            #[cfg(feature = "content")]
            limits: GrantLimits::default(),
        }
    }

    fn covers(&self, name: &str, function: &RanFunction) -> bool {
        let is_it = |wanted: &FunctionName| match wanted {
            FunctionName::Id(id) => *id == function.id,
            FunctionName::Oid(oid) => **oid == *function.oid,
        };
        self.nodes.has(|node| node == name) && self.functions.has(is_it)
    }

    /// Whether it has no limits beside nodes and functions.
    fn is_whole(&self) -> bool {
        #[cfg(feature = "content")]
        return self.limits == GrantLimits::default();
        #[cfg(not(feature = "content"))]
        true
    }
}

/// The rights of an xApp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XappRights {
    /// What it may subscribe to with REPORT actions, and query.
    pub read: Vec<Grant>,
    /// What it may control. INSERT and POLICY actions, which suspend or direct the node, need this right, too.
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

    /// Checks that it may have a subscription. A function that the node does not have is no matter of rights: the command fails in
    /// the usual way.
    ///
    /// # Errors
    /// The right that it lacks.
    pub fn may_subscribe(
        &self,
        ran: &RanDatabase,
        node: &Node,
        function: RanFunctionId,
        spec: &SubscriptionSpec,
    ) -> Result<(), Lacking> {
        for action in &spec.actions {
            check_action(&self.read, Right::Read, ran, (node, function), spec, action)?;
            // INSERT suspends a procedure of the node and POLICY directs it: both are more than reading
            if action.kind != RicActionType::Report {
                check_action(&self.control, Right::Control, ran, (node, function), spec, action)?;
            }
        }
        if spec.actions.is_empty() { self.may_query(node, function) } else { Ok(()) }
    }

    /// Whether it has a grant for a subscription, whatever the limits of the grant.
    #[must_use]
    pub fn has_grant(&self, node: &Node, function: RanFunctionId, spec: &SubscriptionSpec) -> bool {
        let is_more = spec.actions.iter().any(|action| action.kind != RicActionType::Report);
        covering(&self.read, Right::Read, node, function).is_ok()
            && (!is_more || covering(&self.control, Right::Control, node, function).is_ok())
    }

    /// Checks that it may query a function. The answer is not limited to some UEs.
    ///
    /// # Errors
    /// The right that it lacks.
    pub fn may_query(&self, node: &Node, function: RanFunctionId) -> Result<(), Lacking> {
        let Some(grants) = covering(&self.read, Right::Read, node, function)? else { return Ok(()) };
        if grants.iter().any(|grant| grant.is_whole()) {
            return Ok(());
        }
        Err(Lacking { right: Right::Read, what: Some("a query, whose answer may be about any UE".into()) })
    }

    /// Checks that it may send a control.
    ///
    /// # Errors
    /// The right that it lacks.
    pub fn may_control(
        &self,
        ran: &RanDatabase,
        node: &Node,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), Lacking> {
        let Some(grants) = covering(&self.control, Right::Control, node, function)? else { return Ok(()) };
        if grants.iter().any(|grant| grant.is_whole()) {
            return Ok(());
        }
        #[cfg(feature = "content")]
        limits::check_control(&grants, ran, node, function, header, message)
            .map_err(|what| Lacking { right: Right::Control, what: Some(what.into()) })?;
        let _ = (ran, header, message);
        Ok(())
    }

    /// The rights in a few words, for an audit log.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("{} grants to read, {} to control", self.read.len(), self.control.len())
    }
}

/// The grants for a function of a node; `None` if the node has no such function, which needs no protection then: the command fails
/// in the usual way.
fn covering<'g>(
    grants: &'g [Grant],
    right: Right,
    node: &Node,
    function: RanFunctionId,
) -> Result<Option<Vec<&'g Grant>>, Lacking> {
    let Some(function) = node.function(function) else { return Ok(None) };
    let name = node.global_id.to_string();
    let grants: Vec<_> = grants.iter().filter(|grant| grant.covers(&name, function)).collect();
    if grants.is_empty() { Err(Lacking { right, what: None }) } else { Ok(Some(grants)) }
}

fn check_action(
    grants: &[Grant],
    right: Right,
    ran: &RanDatabase,
    (node, function): (&Node, RanFunctionId),
    spec: &SubscriptionSpec,
    action: &Action,
) -> Result<(), Lacking> {
    let Some(grants) = covering(grants, right, node, function)? else { return Ok(()) };
    if grants.iter().any(|grant| grant.is_whole()) {
        return Ok(());
    }
    #[cfg(feature = "content")]
    limits::check_action(&grants, right, ran, node, function, spec, action)
        .map_err(|what| Lacking { right, what: Some(what.into()) })?;
    let _ = (ran, spec, action);
    Ok(())
}

/// A kind of right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// [`XappRights::read`].
    Read,
    /// [`XappRights::control`].
    Control,
}

/// The right that an xApp lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Its kind.
    pub right: Right,
    /// What its grants do not have, such as `rc/3/1 of ue amf:7`; `None` if it has no grant of the function.
    pub what: Option<Box<str>>,
}

impl Lacking {
    /// The name of the right in the configuration.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.right {
            Right::Read => "read",
            Right::Control => "control",
        }
    }
}

/// no right `control` to rc/3/1 of ue amf:7
impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no right `{}` to {}", self.name(), self.what.as_deref().unwrap_or("it"))
    }
}

/// Returns the notice about an xApp that lacks a right to a function; `count` is the number of its refusals so far.
pub(crate) fn not_allowed(node: &Node, function: RanFunctionId, lacking: Lacking, count: u64) -> Notice {
    let oid = node.function(function).map(|own| own.oid.as_ref().into());
    Notice::XappNotAllowed {
        node: node.global_id,
        ran_function_id: function,
        oid: oid.unwrap_or_default(),
        lacking,
        count,
    }
}
