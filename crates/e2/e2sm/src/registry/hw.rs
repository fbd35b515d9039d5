//! The ping.

use super::{Read, readers};
use crate::hw::{Ping, RanFunctionDefinition};

pub(super) static TYPES: &[(&str, Read)] = readers! {
    "HW-RANfunction-Definition": RanFunctionDefinition<'_>,
    "HW-Ping": Ping<'_>,
};
