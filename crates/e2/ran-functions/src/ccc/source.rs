//! What a base station implements.

use std::borrow::Cow;

use e2sm::ccc::{Cause, RanConfigurationStructure};
use e2sm::common::Cgi;
use ferric::agent::ControllerId;
use ferric::e2::Time;

/// Whose a structure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigScope {
    /// The node's.
    Node,
    /// A cell's.
    Cell(Cgi),
}

/// Whether a structure is the node's or the cells'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigLevel {
    /// The node's.
    Node,
    /// Each cell's.
    Cell,
}

/// A structure that a base station offers.
#[derive(Clone, Copy, Debug)]
pub struct SupportedStructure {
    /// Whose it is.
    pub level: ConfigLevel,
    /// Its name, such as `O-NRCellDU`.
    pub name: &'static str,
    /// The attributes that can be read.
    pub attributes: &'static [SupportedAttribute],
    /// The attributes that tell several structures of that name at one place apart; none where there is one only.
    pub key: &'static [&'static str],
}

/// An attribute that a base station offers.
#[derive(Clone, Copy, Debug)]
pub struct SupportedAttribute {
    /// Its name, such as `cellState`.
    pub name: &'static str,
    /// Whether it can be set.
    pub writable: bool,
}

impl SupportedAttribute {
    /// An attribute that can be read.
    #[must_use]
    pub const fn read_only(name: &'static str) -> Self {
        SupportedAttribute { name, writable: false }
    }

    /// An attribute that can be read and set.
    #[must_use]
    pub const fn writable(name: &'static str) -> Self {
        SupportedAttribute { name, writable: true }
    }
}

/// Why a base station does not set a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The cause that the controller is told.
    pub cause: Cause,
    /// The attributes at fault, which the controller is told too; none where it is all of them.
    pub attributes: Vec<String>,
    /// The reason, numbers included, for the log.
    pub reason: Cow<'static, str>,
}

/// What a base station implements, to offer E2SM-CCC.
pub trait CccSource {
    /// The structures on offer: at least one, never changing.
    fn structures(&self) -> &[SupportedStructure];

    /// The cells: at least one where cell-level structures are offered.
    fn cells(&self) -> Vec<Cgi>;

    /// A count that is another whenever something that can be read is another. When it changes other than by a call of
    /// a RAN function of the same node, the host says [`AgentLoop::wake`](ferric::agent::AgentLoop::wake).
    fn change_count(&self) -> u64;

    /// The structures of an offered name at a place, with all attributes that have a value.
    fn read(&self, place: ConfigScope, name: &str) -> Vec<RanConfigurationStructure>;

    /// Sets attributes at this moment, all or none. Each was offered as writable, and `wanted` holds no others.
    ///
    /// `current` is the structure to change, as [`CccSource::read`] tells it; without it `wanted` is a further one, to be
    /// added.
    ///
    /// # Errors
    /// Why not: a value that cannot be, or that another controller's share forbids.
    fn write(
        &mut self,
        now: Time,
        origin: ControllerId,
        place: ConfigScope,
        current: Option<&RanConfigurationStructure>,
        wanted: &RanConfigurationStructure,
    ) -> Result<(), Refusal>;

    /// The host has removed a controller: what others cannot change while it is that one's ends, or is nobody's.
    fn controller_removed(&mut self, controller: ControllerId) {
        let _ = controller;
    }
}
