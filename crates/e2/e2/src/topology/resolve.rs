//! The UE that a reference names, among those that nodes have reported.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;

use super::{RanDatabase, Ue, UeName, UeRef, UeReference};
use crate::Time;

/// The most UEs that an error lists.
const MAX_CANDIDATES: usize = 8;
/// The time during which the source of a handover may still report a UE that the target has reported.
const HANDOVER_LAG: Duration = Duration::from_secs(1);

/// Why a reference names no UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// No UE has this name.
    Unknown {
        /// The reference.
        reference: UeReference,
        /// UEs that are known, eight at most.
        known: Vec<String>,
        /// The number of known UEs that are not listed.
        more: usize,
    },
    /// Several UEs have this name.
    Ambiguous {
        /// The reference.
        reference: UeReference,
        /// The UEs, eight at most.
        candidates: Vec<String>,
        /// The number of UEs that are not listed.
        more: usize,
    },
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, ues: &[String], more: usize| {
            f.write_str(&ues.join(", "))?;
            if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
        };
        match self {
            ResolveError::Unknown { reference, known, .. } if known.is_empty() => {
                write!(f, "no UE {reference}: no node has reported a UE")
            }
            ResolveError::Unknown { reference, known, more } => {
                write!(f, "no UE {reference}; known are ")?;
                list(f, known, *more)
            }
            ResolveError::Ambiguous { reference, candidates, more } => {
                write!(f, "{reference} is the name of several UEs: ")?;
                list(f, candidates, *more)
            }
        }
    }
}

impl std::error::Error for ResolveError {}

impl RanDatabase {
    /// Returns the UE that a reference names.
    ///
    /// After a handover the source may still have the UE: it is the one of the base station that began to report it last, unless
    /// both go on reporting it.
    ///
    /// # Errors
    /// No UE, or several ones, have this name.
    pub fn resolve(&self, reference: &UeReference) -> Result<&Ue, ResolveError> {
        let found: Vec<&Ue> = self.current_ues().into_iter().filter(|ue| self.is(ue, reference)).collect();
        let listed = |ues: &[&Ue]| {
            let listed: Vec<_> = ues.iter().take(MAX_CANDIDATES).map(|ue| self.describe(ue)).collect();
            (listed, ues.len().saturating_sub(MAX_CANDIDATES))
        };
        match &found[..] {
            [ue] => Ok(ue),
            [] => {
                let (known, more) = listed(&self.current_ues());
                Err(ResolveError::Unknown { reference: reference.clone(), known, more })
            }
            several => {
                let (candidates, more) = listed(several);
                Err(ResolveError::Ambiguous { reference: reference.clone(), candidates, more })
            }
        }
    }

    /// Returns the UEs, ordered by id, each at the base station that serves it: without those that another base station has
    /// taken over in a handover.
    #[must_use]
    pub fn current_ues(&self) -> Vec<&Ue> {
        let mut latest: HashMap<&UeName, (Time, UeRef)> = HashMap::new();
        for ue in self.ues() {
            let Some(name) = ue.names().find(|name| is_of_core(name)) else { continue };
            let arrived = (ue.arrived(), ue.id());
            let entry = latest.entry(name).or_insert(arrived);
            *entry = arrived.max(*entry);
        }
        let is_served = |ue: &&Ue| {
            let Some((arrived, id)) = ue.names().find(|name| is_of_core(name)).and_then(|name| latest.get(name)) else {
                return true;
            };
            *id == ue.id() || ue.heard() > *arrived + HANDOVER_LAG
        };
        self.ues().filter(is_served).collect()
    }

    /// Whether a reference names a UE.
    #[must_use]
    pub fn is(&self, ue: &Ue, reference: &UeReference) -> bool {
        if let UeReference::Ip(address) = reference {
            return ue.context().addresses.contains(address);
        }
        let station = self.station(ue.station());
        ue.views().iter().any(|view| {
            let node = station.and_then(|station| station.global_id_of(view.node)).map(|id| id.to_string());
            view.names.iter().any(|name| reference.is(name, node.as_deref().unwrap_or_default()))
        })
    }

    /// Returns all names of a UE, and its base station, as text: `amf:17 rnti:0x4601@003804001 at gnb-00101-e00`.
    #[must_use]
    pub fn describe(&self, ue: &Ue) -> String {
        let identity = self.identity(ue);
        self.station(ue.station())
            .map_or_else(|| identity.to_string(), |station| format!("{identity} at {}", station.key()))
    }
}

/// Whether the core network has assigned the name, so that it is kept in handovers.
fn is_of_core(name: &UeName) -> bool {
    matches!(name, UeName::Ngap { .. } | UeName::S1ap { .. })
}
