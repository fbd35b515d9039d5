//! What a control sets: its parameters, what they are of, and their numbers.
//!
//! | service model | parameters | what they are of |
//! |---|---|---|
//! | E2SM-RC | `rc/STYLE/ACTION/ID` for each numeric RAN parameter, `rc/STYLE/ACTION` for an action without | the UE or group, and what identifies the item of a list |
//! | SLICE | `slice/dl`, `slice/ul`; `slice/dl/scheduler`, `slice/ul/scheduler`; `slice/association` | the slice; the UE |
//! | TC | `tc/classifier`, `tc/queue`, `tc/policer`, `tc/shaper`, `tc/scheduler`, `tc/pacer` | the filter or queue |
//! | E2SM-CCC | `ccc/STRUCTURE/ATTRIBUTE` | the cell, and what identifies the structure |

mod ccc;
mod rc;
mod slice;
mod tc;

use std::fmt;
use std::sync::Arc;

use e2sm::Wire;
use e2sm::rc::Detection;
use ferric::e2::topology::UeName;

/// The most settings of one control.
const MAX_SETTINGS: usize = 256;
/// The most octets of header and message that are read.
const MAX_OCTETS: usize = 64 * 1024;
/// The most octets of a scope as text; a longer one is cut and gets a digest.
const MAX_SCOPE: usize = 96;

/// A number that a control sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Amount {
    pub number: f64,
    /// Numbers of different units are not combined.
    pub unit: &'static str,
}

/// A UE that a control names.
#[derive(Debug, PartialEq)]
pub(crate) struct TargetUe {
    /// As the programs name it: `ue amf:7`.
    pub text: String,
    /// All that the control says of it.
    pub names: Vec<UeName>,
}

/// One of the things that a control sets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
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
    pub fn target(&self) -> String {
        self.ue.as_ref().map_or_else(|| self.scope.clone(), |ue| joined(&ue.text, &self.scope))
    }
}

/// The text of a UE by one of its names, as controls have it; `None` for a name that no control of a UE has.
pub(crate) fn ue_text(name: &UeName) -> Option<String> {
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

/// Why the settings of a control are not known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unreadable {
    Codec(e2sm::Error),
    Json(String),
    TooLong(usize),
    TooManySettings,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Codec(error) => error.fmt(f),
            Unreadable::Json(error) => f.write_str(error),
            Unreadable::TooLong(octets) => write!(f, "{octets} octets; at most {MAX_OCTETS} are read"),
            Unreadable::TooManySettings => write!(f, "more than {MAX_SETTINGS} settings"),
        }
    }
}

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
type Content = (Vec<u8>, Vec<u8>);

/// A service model whose controls are understood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Model {
    Rc(Detection),
    Slice(Wire),
    Tc(Wire),
    Ccc,
}

impl Model {
    /// Identifies the model of a RAN function; `None` if its controls are not understood.
    pub fn of(oid: &str, function_revision: u16, definition: &[u8]) -> Option<Model> {
        let oid = oid.trim();
        if let Some(wire) = e2sm::slice::MODEL.wire_of(oid) {
            return Some(Model::Slice(wire));
        }
        if let Some(wire) = e2sm::tc::MODEL.wire_of(oid) {
            return Some(Model::Tc(wire));
        }
        if oid == e2sm::ccc::OID {
            return Some(Model::Ccc);
        }
        Detection::from_ran_function(oid, function_revision, definition).ok().map(Model::Rc)
    }

    /// The first part of the names of its parameters.
    pub fn name(&self) -> &'static str {
        match self {
            Model::Rc(_) => "rc",
            Model::Slice(_) => "slice",
            Model::Tc(_) => "tc",
            Model::Ccc => "ccc",
        }
    }

    fn walk(&self, header: &[u8], message: &[u8], visit: Visit<'_>) -> Result<Option<Content>, Unreadable> {
        let octets = header.len() + message.len();
        if octets > MAX_OCTETS {
            return Err(Unreadable::TooLong(octets));
        }
        match self {
            Model::Rc(detection) => rc::walk(detection, header, message, visit),
            Model::Slice(wire) => slice::walk(*wire, header, message, visit),
            Model::Tc(wire) => tc::walk(*wire, header, message, visit),
            Model::Ccc => ccc::walk(header, message, visit),
        }
    }

    /// Returns what a control sets, in the order of the message. Empty for one that only asks.
    pub fn settings(&self, header: &[u8], message: &[u8]) -> Result<Vec<Setting>, Unreadable> {
        let mut settings = Vec::new();
        let mut is_too_many = false;
        self.walk(header, message, &mut |mut setting| {
            if settings.len() < MAX_SETTINGS {
                setting.scope = bounded(setting.scope);
                settings.push(setting);
            } else {
                is_too_many = true;
            }
            None
        })?;
        if is_too_many { Err(Unreadable::TooManySettings) } else { Ok(settings) }
    }

    /// Returns a control with other numbers: `numbers` has one for each of its settings that changes.
    pub fn with_numbers(&self, header: &[u8], message: &[u8], numbers: &[Option<f64>]) -> Result<Content, Unreadable> {
        let mut numbers = numbers.iter().copied();
        let changed = self.walk(header, message, &mut |_| numbers.next().flatten())?;
        Ok(changed.unwrap_or_else(|| (header.to_vec(), message.to_vec())))
    }
}

/// A scope within its bound: the digest keeps long ones apart.
fn bounded(scope: String) -> String {
    if scope.len() <= MAX_SCOPE {
        return scope;
    }
    let digest = audit::digest(scope.as_bytes());
    let cut: String = scope.chars().take(MAX_SCOPE - 20).filter(char::is_ascii).collect();
    format!("{cut}#{}", &digest.to_string()[..16])
}

/// Joins the parts of a scope.
pub(crate) fn joined(scope: &str, part: &str) -> String {
    match (scope, part) {
        ("", part) => part.to_owned(),
        (scope, "") => scope.to_owned(),
        (scope, part) => format!("{scope} {part}"),
    }
}

#[cfg(test)]
mod tests;
