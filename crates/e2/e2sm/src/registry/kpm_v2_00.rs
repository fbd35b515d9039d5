//! E2SM-KPM v02.00.

use super::{Codec, codecs};
use crate::kpm::EventTriggerDefinition;
use crate::kpm::v2_00::*;

pub(super) static TYPES: &[(&str, Codec)] = codecs! {
    "E2SM-KPM-RANfunction-Description": RanFunctionDefinition<'_>,
    "E2SM-KPM-EventTriggerDefinition": EventTriggerDefinition,
    "E2SM-KPM-ActionDefinition": ActionDefinition<'_>,
    "E2SM-KPM-IndicationHeader": IndicationHeader<'_>,
    "E2SM-KPM-IndicationMessage": IndicationMessage<'_>,
    "GlobalKPMnode-ID": GlobalKpmNodeId,
    "MeasurementInfoItem": MeasurementInfoItem<'_>,
    "MeasurementLabel": MeasurementLabel,
};
