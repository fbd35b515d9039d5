//! What controls set, and what the actions of subscriptions concern, as far as their service models are known here.
//!
//! | service model | parameters | what they are of |
//! |---|---|---|
//! | E2SM-RC | `rc/STYLE/ACTION/ID` for each numeric RAN parameter, `rc/STYLE/ACTION` for an action without | the UE or group, and what identifies the item of a list |
//! | SLICE | `slice/dl`, `slice/ul`; `slice/dl/scheduler`, `slice/ul/scheduler`; `slice/association` | the slice; the UE |
//! | TC | `tc/classifier`, `tc/queue`, `tc/policer`, `tc/shaper`, `tc/scheduler`, `tc/pacer` | the filter or queue |
//! | E2SM-CCC | `ccc/STRUCTURE/ATTRIBUTE` | the cell, and what identifies the structure |

mod actions;
mod ccc;
mod parameter;
mod rc;
mod slice;
mod tc;

use core::fmt;
use std::sync::Arc;

use e2sm::Wire;
use e2sm::common::UeId;
use e2sm::rc::Detection;

use crate::RanFunction;
use crate::topology::UeName;

pub(crate) use actions::{ActionContent, ConcernedUes};
pub use parameter::ParameterPattern;

/// The most octets of header and message that are read.
const MAX_OCTETS: usize = 64 * 1024;

/// A number that a control sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The number.
    pub number: f64,
    /// Its unit. Numbers of different units are not combined.
    pub unit: &'static str,
}

/// A UE that a control names.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetUe {
    /// As the programs name it: `ue amf:7`.
    pub text: String,
    /// What the control says of it.
    pub names: Vec<UeName>,
    /// Whether it says more than that.
    pub has_more_names: bool,
}

impl TargetUe {
    /// The UE of a UE ID.
    #[must_use]
    pub fn of(ue: &UeId<'_>) -> Self {
        TargetUe {
            text: format!("ue {}", e2sm::ue_name(ue)),
            names: UeName::all_of(ue),
            has_more_names: UeName::are_partial(ue),
        }
    }

    /// The text of a UE by one of its names, as controls have it; `None` for a name that no UE ID begins with.
    #[must_use]
    pub fn text_of(name: &UeName) -> Option<String> {
        Some(match name {
            UeName::Ngap { amf_ue_ngap_id, .. } => format!("ue amf:{amf_ue_ngap_id}"),
            UeName::S1ap { mme_ue_s1ap_id, .. } => format!("ue mme:{mme_ue_s1ap_id}"),
            UeName::F1ap(id) => format!("ue f1ap:{id}"),
            UeName::W1ap(id) => format!("ue w1ap:{id}"),
            UeName::E1ap(id) => format!("ue e1ap:{id}"),
            UeName::Local(id) => format!("ue x2ap:{id}"),
            UeName::RanUeId(_) | UeName::Rnti { .. } => return None,
        })
    }
}

/// One of the things that a control sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The parameter, by its path: `rc/2/6/11`.
    pub parameter: String,
    /// The UE, if it is of one.
    pub ue: Option<Arc<TargetUe>>,
    /// What the parameter is of beside that; empty for the UE or the node.
    pub scope: String,
    /// The number, if it is one.
    pub amount: Option<Amount>,
}

impl Setting {
    /// A setting that is of no UE.
    fn new(parameter: String, scope: String, amount: Option<Amount>) -> Self {
        Setting { parameter, ue: None, scope, amount }
    }

    /// What the parameter is of, with the UE.
    #[must_use]
    pub fn target(&self) -> String {
        self.ue.as_ref().map_or_else(|| self.scope.clone(), |ue| self.target_as(&ue.text))
    }

    /// The same with another text of the UE.
    #[must_use]
    pub fn target_as(&self, ue: &str) -> String {
        joined(ue, &self.scope)
    }
}

/// Why the settings of a control are not known.
#[derive(Clone, Debug, PartialEq)]
pub enum Unreadable {
    /// It cannot be decoded.
    Codec(e2sm::Error),
    /// It is no JSON of E2SM-CCC.
    Json(String),
    /// It has too many octets.
    TooLong {
        /// The octets of header and message.
        octets: usize,
    },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Codec(error) => error.fmt(f),
            Unreadable::Json(error) => f.write_str(error),
            Unreadable::TooLong { octets } => write!(f, "{octets} octets; at most {MAX_OCTETS} are read"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl From<e2sm::Error> for Unreadable {
    fn from(error: e2sm::Error) -> Self {
        Unreadable::Codec(error)
    }
}

impl From<per::Error> for Unreadable {
    fn from(error: per::Error) -> Self {
        Unreadable::Codec(error.into())
    }
}

/// Sees each setting of a control in turn, and returns the number that replaces its own.
type Visit<'v> = &'v mut dyn FnMut(Setting) -> Option<f64>;

/// The header and message of a control.
pub type ControlContent = (Vec<u8>, Vec<u8>);

/// A service model whose controls are understood.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlModel {
    /// E2SM-RC.
    Rc(Detection),
    /// FlexRIC's slices.
    Slice(Wire),
    /// FlexRIC's traffic control.
    Tc(Wire),
    /// E2SM-CCC.
    Ccc,
}

impl ControlModel {
    /// Identifies the model of a RAN function; `None` if its controls are not understood.
    #[must_use]
    pub fn of(function: &RanFunction) -> Option<ControlModel> {
        let oid = function.oid.trim();
        if let Some(wire) = e2sm::slice::MODEL.wire_of(oid) {
            return Some(ControlModel::Slice(wire));
        }
        if let Some(wire) = e2sm::tc::MODEL.wire_of(oid) {
            return Some(ControlModel::Tc(wire));
        }
        if oid == e2sm::ccc::OID {
            return Some(ControlModel::Ccc);
        }
        let detection = Detection::from_ran_function(oid, function.revision.0, &function.definition);
        detection.ok().map(ControlModel::Rc)
    }

    /// The first part of the names of its parameters.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            ControlModel::Rc(_) => "rc",
            ControlModel::Slice(_) => "slice",
            ControlModel::Tc(_) => "tc",
            ControlModel::Ccc => "ccc",
        }
    }

    /// Has each setting of a control seen, in the order of the message: none for a control that only asks. Returns the control with
    /// the numbers that `visit` has returned, if there are any.
    ///
    /// # Errors
    /// If the control cannot be read, or the new numbers cannot be encoded.
    pub fn visit(
        &self,
        header: &[u8],
        message: &[u8],
        visit: &mut dyn FnMut(Setting) -> Option<f64>,
    ) -> Result<Option<ControlContent>, Unreadable> {
        let octets = header.len() + message.len();
        if octets > MAX_OCTETS {
            return Err(Unreadable::TooLong { octets });
        }
        match self {
            ControlModel::Rc(detection) => rc::walk(detection, header, message, visit),
            ControlModel::Slice(wire) => slice::walk(*wire, header, message, visit),
            ControlModel::Tc(wire) => tc::walk(*wire, header, message, visit),
            ControlModel::Ccc => ccc::walk(header, message, visit),
        }
    }

    /// Returns a control with other numbers: `numbers` has one for each of its settings that changes.
    ///
    /// # Errors
    /// If the control cannot be read, or the new numbers cannot be encoded.
    pub fn with_numbers(
        &self,
        header: &[u8],
        message: &[u8],
        numbers: &[Option<f64>],
    ) -> Result<ControlContent, Unreadable> {
        let mut numbers = numbers.iter().copied();
        let changed = self.visit(header, message, &mut |_| numbers.next().flatten())?;
        Ok(changed.unwrap_or_else(|| (header.to_vec(), message.to_vec())))
    }
}

/// Joins the parts of a scope.
fn joined(scope: &str, part: &str) -> String {
    match (scope, part) {
        ("", part) => part.to_owned(),
        (scope, "") => scope.to_owned(),
        (scope, part) => format!("{scope} {part}"),
    }
}

#[cfg(test)]
mod tests;
