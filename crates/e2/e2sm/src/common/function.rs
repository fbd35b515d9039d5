//! The name of a RAN function, and the numbers and names of its styles.

use per::{Per, PrintableString};

/// RANfunction-Name: the first field of every RAN function definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionName<'a> {
    /// The short name, such as `ORAN-E2SM-KPM`.
    #[per(size = 1..=150, extensible)]
    pub short_name: PrintableString<'a>,
    /// The object identifier of the service model, in dotted notation.
    #[per(size = 1..=1000, extensible)]
    pub e2sm_oid: PrintableString<'a>,
    /// A description for human readers.
    #[per(size = 1..=150, extensible)]
    pub description: PrintableString<'a>,
    /// The instance, if the node has several functions of this service model.
    pub instance: Option<i64>,
}

impl RanFunctionName<'_> {
    /// The short name, or the description if it is empty, as O-RAN SC's simulator leaves it.
    #[must_use]
    pub fn shown(&self) -> &str {
        if self.short_name.is_empty() { &self.description } else { &self.short_name }
    }
}

/// RIC-Style-Type: the number of a style within its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct RicStyleType(pub i64);

/// RIC-Format-Type: the number of an IE's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct RicFormatType(pub i64);

/// RIC-Style-Name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(size = 1..=150, extensible)]
pub struct RicStyleName<'a>(pub PrintableString<'a>);
