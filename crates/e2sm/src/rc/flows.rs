//! QoS flow mapping configuration (RC 8.4.2.2): which flows go over which bearer.

use super::RanParameterItem;
use super::fields::{Name, integer, only};
use crate::Error;

const DRB: Name = Name(1, "DRB ID");
const FLOWS: Name = Name(2, "List of QoS Flows to be modified in DRB");
const FLOW: Name = Name(3, "QoS Flow Item");
const FLOW_ID: Name = Name(4, "QoS Flow Identifier");
const MAPPING: Name = Name(5, "QoS Flow Mapping Indication");

/// QoS flow mapping configuration: control style 1, action 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QosFlowMapping {
    /// The bearer, 1 to 32.
    pub drb_id: u8,
    /// The flows that are to go over it.
    pub flows: Vec<MappedFlow>,
}

/// A flow of a [`QosFlowMapping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedFlow {
    /// Its QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// The one direction that is meant; both where nothing is said.
    pub direction: Option<FlowDirection>,
}

/// A direction of a flow (TS 38.473 9.3.1.72).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowDirection {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

impl QosFlowMapping {
    /// The RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let flows = self.flows.iter().map(|flow| {
            let mut items = vec![FLOW_ID.key(integer(flow.qfi))];
            items.extend(flow.direction.map(|direction| MAPPING.element(integer(direction as i64))));
            items
        });
        vec![DRB.key(integer(self.drb_id)), FLOWS.list_of(flows)]
    }

    /// Reads the RAN parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`]: what is missing, out of range or unknown.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        only(items, &[DRB, FLOWS])?;
        let flow = |items: &[RanParameterItem<'_>]| {
            only(items, &[FLOW_ID, MAPPING])?;
            let direction = MAPPING.among(items).map(|value| MAPPING.integer(value, 0i64, 1)).transpose()?;
            Ok(MappedFlow {
                qfi: FLOW_ID.integer(FLOW_ID.required(items)?, 0, 63)?,
                direction: direction.map(|to_ue| match to_ue {
                    0 => FlowDirection::Uplink,
                    _ => FlowDirection::Downlink,
                }),
            })
        };
        Ok(QosFlowMapping {
            drb_id: DRB.integer(DRB.required(items)?, 1, 32)?,
            flows: FLOWS.list(FLOWS.required(items)?, FLOW)?.map(flow).collect::<Result<_, Error>>()?,
        })
    }
}
