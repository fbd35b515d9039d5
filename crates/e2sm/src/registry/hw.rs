//! The ping.

use super::{Read, readers};
use crate::hw::RanFunctionDefinition;

pub(super) const TYPES: &[(&str, Read)] = readers! {
    "HW-RANfunction-Definition": RanFunctionDefinition<'_>,
};
