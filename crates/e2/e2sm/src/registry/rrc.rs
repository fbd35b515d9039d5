//! RRC notifications.

use super::{Read, readers};
use crate::rrc::*;

pub(super) static TYPES: &[(&str, Read)] = readers! {
    "RanFunctionDefinition": RanFunctionDefinition<'_>,
    "EventTriggerDefinition": EventTriggerDefinition,
    "IndicationHeader": IndicationHeader,
    "IndicationMessage": IndicationMessage<'_>,
};
