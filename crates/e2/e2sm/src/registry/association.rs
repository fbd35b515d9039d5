//! The UE-to-controller association.

use super::{Read, readers};
use crate::association::*;

pub(super) static TYPES: &[(&str, Read)] = readers! {
    "UEA-RANfunction-Definition": RanFunctionDefinition<'_>,
    "UEA-EventTrigger": EventTrigger,
    "UEA-ControlHeader": ControlHeader,
    "UEA-ControlMessage": ControlMessage<'_>,
    "UEA-ControlOutcome": ControlOutcome<'_>,
    "UEA-IndicationMessage": IndicationMessage<'_>,
};
