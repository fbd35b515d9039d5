//! The errors of the high-level API.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use e2::RefusalCode;
use e2ap::Cause;

/// Why a verb of the API failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The RIC's address cannot be read.
    Address {
        /// The text.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no session: nothing listens in time, or the RIC refused it.
    Connect {
        /// The address.
        address: String,
        /// Why.
        source: Arc<crate::Error>,
    },
    /// The deadline has passed.
    Timeout {
        /// What was waited for.
        what: String,
        /// For how long.
        after: Duration,
    },
    /// The session was closed, or has ended with an error before.
    Closed,
    /// This process is a child of the one that opened the session, which has no thread here.
    Forked,
    /// There is no such node, cell, UE or slice.
    Unknown {
        /// Which of them.
        kind: Noun,
        /// Its name.
        name: String,
        /// The nearest known names.
        nearest: Vec<String>,
    },
    /// A node does not offer it; without a node, none does.
    NotOffered {
        /// The node.
        node: Option<String>,
        /// What it does not offer: a measurement, a control.
        what: String,
        /// What it offers instead, the nearest first.
        nearest: Vec<String>,
    },
    /// An argument is outside of its range.
    Invalid {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: String,
        /// What is accepted.
        expected: String,
    },
    /// The node refused.
    Refused {
        /// The node.
        node: String,
        /// The cause in its E2AP message.
        cause: Cause,
        /// The parameter at fault, where the node names it.
        parameter: Option<String>,
        /// What the node says in the outcome of its service model.
        text: Option<String>,
    },
    /// The RIC refused, and sent nothing to the node.
    RefusedByRic {
        /// The node.
        node: String,
        /// Why.
        code: RefusalCode,
    },
    /// The node, or the RIC, was lost before it answered.
    NodeLost {
        /// The node.
        node: String,
    },
    /// The node does not answer as its service model specifies.
    Malformed {
        /// The node.
        node: String,
        /// What cannot be read.
        reason: String,
    },
    /// The node acknowledged the control, and no report shows its effect.
    Unverified {
        /// The node.
        node: String,
        /// What was expected, and what the reports show.
        what: String,
    },
    /// A service of the RIC that is not E2 cannot do it.
    Service {
        /// What was asked for.
        what: String,
        /// Why.
        detail: String,
    },
}

/// What an [`Error::Unknown`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Noun {
    /// An E2 node.
    Node,
    /// A cell.
    Cell,
    /// A UE.
    Ue,
    /// A slice of a node.
    Slice,
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Noun::Node => "node",
            Noun::Cell => "cell",
            Noun::Ue => "UE",
            Noun::Slice => "slice",
        })
    }
}

impl Error {
    /// The error's name in other languages: `docs/xapp-api.md` lists them.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Address { .. } => "address",
            Error::Connect { .. } => "connect",
            Error::Timeout { .. } => "timeout",
            Error::Closed => "closed",
            Error::Forked => "forked",
            Error::Unknown { .. } => "unknown",
            Error::NotOffered { .. } => "not-offered",
            Error::Invalid { .. } => "invalid",
            Error::Refused { .. } => "refused",
            Error::RefusedByRic { .. } => "refused-by-ric",
            Error::NodeLost { .. } => "node-lost",
            Error::Malformed { .. } => "malformed",
            Error::Unverified { .. } => "unverified",
            Error::Service { .. } => "service",
        }
    }

    /// The E2AP cause, if a node refused.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        if let Error::Refused { cause, .. } = self { Some(*cause) } else { None }
    }

    /// The parameter at fault, if one is.
    #[must_use]
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Error::Invalid { parameter, .. } => Some(parameter),
            Error::Refused { parameter, .. } => parameter.as_deref(),
            _ => None,
        }
    }

    /// The names that are nearest to one that is unknown or not offered.
    #[must_use]
    pub fn nearest(&self) -> &[String] {
        match self {
            Error::Unknown { nearest, .. } | Error::NotOffered { nearest, .. } => nearest,
            _ => &[],
        }
    }

    /// The node that it is about, if it is about one.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        match self {
            Error::NotOffered { node, .. } => node.as_deref(),
            Error::Refused { node, .. }
            | Error::RefusedByRic { node, .. }
            | Error::NodeLost { node }
            | Error::Malformed { node, .. }
            | Error::Unverified { node, .. } => Some(node),
            _ => None,
        }
    }

    pub(super) fn invalid(parameter: impl Into<String>, value: impl fmt::Display, expected: impl Into<String>) -> Self {
        Error::Invalid { parameter: parameter.into(), value: value.to_string(), expected: expected.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Address { address, reason } => write!(f, "cannot read the RIC's address `{address}`: {reason}"),
            Error::Connect { address, source } => write!(
                f,
                "cannot use the RIC at {address}: {source} (`ferric ric` starts one and prints its address for xApps: xapp=URL)"
            ),
            Error::Timeout { what, after } => {
                write!(f, "timed out after {} ms: {what}", after.as_millis())
            }
            Error::Closed => f.write_str("the session with the RIC is closed"),
            Error::Forked => f.write_str(
                "the session with the RIC belongs to the parent process: connect again in this process after the fork",
            ),
            Error::Unknown { kind, name, nearest } => {
                write!(f, "unknown {kind} {name}")?;
                list(f, "; known: ", nearest)
            }
            Error::NotOffered { node: Some(node), what, nearest } => {
                write!(f, "{node} does not offer {what}")?;
                list(f, "; it offers: ", nearest)
            }
            Error::NotOffered { node: None, what, nearest } => {
                write!(f, "no node offers {what}")?;
                list(f, "; offered: ", nearest)
            }
            Error::Invalid { parameter, value, expected } => {
                write!(f, "invalid {parameter} `{value}`: expected {expected}")
            }
            Error::Refused { node, cause, parameter, text } => {
                write!(f, "{node} refused: {cause}")?;
                text.as_ref().map_or(Ok(()), |text| write!(f, ", {text}"))?;
                parameter.as_ref().map_or(Ok(()), |parameter| write!(f, " ({parameter})"))
            }
            Error::RefusedByRic { node, code } => write!(f, "the RIC refused a request to {node}: {code}"),
            Error::NodeLost { node } => write!(f, "{node} was lost before it answered"),
            Error::Malformed { node, reason } => write!(f, "{node} sent what cannot be read: {reason}"),
            Error::Unverified { node, what } => write!(f, "{node} acknowledged without effect: {what}"),
            Error::Service { what, detail } => write!(f, "{what}: {detail}"),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, begin: &str, names: &[String]) -> fmt::Result {
    if names.is_empty() { Ok(()) } else { write!(f, "{begin}{}", names.join(", ")) }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // the text is that of the inner error: its source is theirs
            Error::Connect { source, .. } => std::error::Error::source(&**source),
            _ => None,
        }
    }
}
