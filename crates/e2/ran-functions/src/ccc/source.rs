//! The interface to the base station.

use std::borrow::Cow;

use e2sm::ccc::{Cause, RanConfigurationStructure};
use e2sm::common::Cgi;
use ferric::agent::ControllerId;
use ferric::e2::Time;

/// The node or the cell that a configuration structure belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigScope {
    /// The node.
    Node,
    /// A cell.
    Cell(Cgi),
}

/// The level of a configuration structure: node or cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigLevel {
    /// The structure belongs to the node.
    Node,
    /// Each cell has the structure.
    Cell,
}

/// A configuration structure that a base station supports.
#[derive(Clone, Debug)]
pub struct SupportedStructure {
    /// The level that the structure belongs to.
    pub level: ConfigLevel,
    /// The RAN configuration structure name, such as `O-NRCellDU`.
    pub name: Cow<'static, str>,
    /// The supported attributes.
    pub attributes: Cow<'static, [SupportedAttribute]>,
    /// The attributes that identify one of several structures with this name in a scope; empty if there is only one.
    pub key: Cow<'static, [Cow<'static, str>]>,
    /// Whether the RAN function definition lists it. It is accepted in any case.
    pub is_listed: bool,
}

/// An attribute of a configuration structure that a base station supports.
#[derive(Clone, Debug)]
pub struct SupportedAttribute {
    /// The attribute name, such as `cellState`.
    pub name: Cow<'static, str>,
    /// Whether controls can set it.
    pub writable: bool,
    /// Whether subscriptions can request it. Reports contain the key of a structure in any case.
    pub reported: bool,
    /// Whether queries can request it.
    pub queried: bool,
    /// Whether the RAN function definition lists periodic reports of it. They are accepted in any case.
    pub lists_periodic: bool,
}

impl SupportedAttribute {
    /// An attribute that can be read only.
    #[must_use]
    pub const fn read_only(name: &'static str) -> Self {
        SupportedAttribute {
            name: Cow::Borrowed(name),
            writable: false,
            reported: true,
            queried: true,
            lists_periodic: true,
        }
    }

    /// An attribute that can be read and set.
    #[must_use]
    pub const fn writable(name: &'static str) -> Self {
        SupportedAttribute {
            name: Cow::Borrowed(name),
            writable: true,
            reported: true,
            queried: true,
            lists_periodic: true,
        }
    }

    /// The attribute without queries, and without mention of its periodic reports, which shortens the RAN function definition.
    #[must_use]
    pub const fn shortened(mut self) -> Self {
        (self.queried, self.lists_periodic) = (false, false);
        self
    }

    /// An attribute that can be set only; reports contain it if it is part of a key.
    #[must_use]
    pub const fn set_only(name: &'static str) -> Self {
        SupportedAttribute {
            name: Cow::Borrowed(name),
            writable: true,
            reported: false,
            queried: false,
            lists_periodic: false,
        }
    }
}

/// Why a base station refuses to set a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The cause, which the controller receives.
    pub cause: Cause,
    /// The rejected attributes, which the controller receives too; empty for all of them.
    pub attributes: Vec<String>,
    /// The reason with its values, for the log.
    pub reason: Cow<'static, str>,
}

/// What a base station implements to support E2SM-CCC.
pub trait CccSource {
    /// The supported structures: at least one. They never change.
    fn structures(&self) -> &[SupportedStructure];

    /// The cells: at least one if cell-level structures are supported.
    fn cells(&self) -> Vec<Cgi>;

    /// A number that changes whenever a readable value changes. If a value changes other than by a RAN function of the
    /// same node, the base station calls [`AgentLoop::wake`](ferric::agent::AgentLoop::wake).
    fn change_count(&self) -> u64;

    /// The structures with a supported name in a scope, with all attributes that have a value.
    fn read(&self, scope: ConfigScope, name: &str) -> Vec<RanConfigurationStructure>;

    /// Sets the attributes in `requested` at `now`, all or none. They are supported and writable.
    ///
    /// `current` is the structure to change, as returned by [`CccSource::read`]; `None` to add `requested` as a further
    /// one.
    ///
    /// # Errors
    /// If a value is invalid, or conflicts with the configuration by another controller.
    fn write(
        &mut self,
        now: Time,
        origin: ControllerId,
        scope: ConfigScope,
        current: Option<&RanConfigurationStructure>,
        requested: &RanConfigurationStructure,
    ) -> Result<(), Refusal>;

    /// Called when a controller is removed from the node: deletes or releases the configuration that it owns.
    fn controller_removed(&mut self, controller: ControllerId) {
        let _ = controller;
    }
}
