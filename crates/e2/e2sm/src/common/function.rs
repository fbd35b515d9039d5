//! How a RAN function presents itself.

use per::{Per, PrintableString};

/// RANfunction-Name: the head of every RAN function definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionName<'a> {
    /// Such as `ORAN-E2SM-KPM`.
    #[per(size = 1..=150, extensible)]
    pub short_name: PrintableString<'a>,
    /// The service model's object identifier, dotted.
    #[per(size = 1..=1000, extensible)]
    pub e2sm_oid: PrintableString<'a>,
    /// What the function does, for people.
    #[per(size = 1..=150, extensible)]
    pub description: PrintableString<'a>,
    /// Which of several functions of this model in the node.
    pub instance: Option<i64>,
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
