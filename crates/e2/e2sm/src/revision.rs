//! The revision of a service model that an E2 node uses, and how it was determined.

use core::fmt;

use crate::{Error, Wire};

/// A revision of a service model that has several: KPM's or RC's.
pub trait ModelRevision: Copy + PartialEq + fmt::Display + 'static {
    /// The service model, such as `E2SM-KPM`.
    const MODEL: &'static str;
    /// All revisions, oldest first; at most eight.
    const ALL: &'static [Self];
    /// The error for a text that is no revision of this model.
    const UNKNOWN: Error;

    /// The bit of this revision in a set of revisions.
    #[doc(hidden)]
    fn bit(self) -> u8 {
        Self::ALL.iter().position(|other| *other == self).map_or(0, |index| 1 << index)
    }
}

/// Parses `3.00`, `03.00` or `v03.00`.
pub(crate) fn parse<R: ModelRevision>(text: &str) -> Result<R, Error> {
    let digits = text.strip_prefix('v').unwrap_or(text);
    let digits = digits.strip_prefix('0').unwrap_or(digits);
    let is_named = |revision: &&R| revision.to_string().strip_prefix("v0") == Some(digits);
    R::ALL.iter().find(is_named).copied().ok_or(R::UNKNOWN)
}

/// What determined a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// It is configured.
    Configured,
    /// The object identifier; if several revisions share it, the one that most nodes use.
    Oid,
    /// No evidence of a revision newer than the oldest.
    Oldest,
    /// The RAN function revision, which follows the revision of the specification in existing nodes.
    FunctionRevision,
    /// The RAN function definition contains components that only some revisions have.
    Definition,
    /// The size of the time stamp in an indication header.
    TimeStamp,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Configured => "configured",
            Reason::Oid => "by object identifier",
            Reason::Oldest => "no evidence of a newer one",
            Reason::FunctionRevision => "by RAN function revision",
            Reason::Definition => "by RAN function definition",
            Reason::TimeStamp => "by time stamp size",
        })
    }
}

/// The revision that a node uses, what determined it, and the revisions that are possible as well.
///
/// It is displayed as one phrase for the log: `E2SM-KPM v03.00, by object identifier; possibly v02.01, v02.03`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detection<R> {
    /// The revision to use.
    pub revision: R,
    /// What determined it.
    pub reason: Reason,
    /// The encoding, which follows from the object identifier.
    pub wire: Wire,
    /// One bit for each possible revision.
    candidates: u8,
}

impl<R: ModelRevision> Detection<R> {
    /// A configured revision, which no evidence overrides, in PER.
    #[must_use]
    pub fn configured(revision: R) -> Self {
        Detection { revision, reason: Reason::Configured, wire: Wire::Per, candidates: revision.bit() }
    }

    /// The same revision in the encoding that an object identifier denotes.
    #[must_use]
    pub fn in_wire_of(self, oid: &str) -> Self {
        Detection { wire: Wire::of(oid.trim()).0, ..self }
    }

    pub(crate) fn new(revision: R, reason: Reason, wire: Wire, candidates: u8) -> Self {
        Detection { revision, reason, wire, candidates }
    }

    /// The revisions that the node may use, oldest first.
    pub fn candidates(&self) -> impl DoubleEndedIterator<Item = R> + use<R> {
        let candidates = self.candidates;
        R::ALL.iter().copied().filter(move |revision| candidates & revision.bit() != 0)
    }
}

impl<R: ModelRevision> fmt::Display for Detection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}", R::MODEL, self.revision, self.reason)?;
        if self.wire != Wire::Per {
            write!(f, ", encoded as {}", self.wire)?;
        }
        for (i, other) in self.candidates().filter(|other| *other != self.revision).enumerate() {
            write!(f, "{}{other}", if i == 0 { "; possibly " } else { ", " })?;
        }
        Ok(())
    }
}
