//! QoS flow mapping configuration (RC 8.4.2.2): the QoS flows of a DRB.

use super::RanParameterItem;
use super::known::{KnownParameter, Shape, check, number, optional, required};
use crate::Error;

const DRB: KnownParameter = required(1, "DRB ID", Shape::Number(1, 32));
const FLOWS: KnownParameter = required(2, "List of QoS Flows to be modified in DRB", Shape::List(&FLOW));
const FLOW: KnownParameter = required(3, "QoS Flow Item", Shape::Structure(&[FLOW_ID, MAPPING]));
const FLOW_ID: KnownParameter = required(4, "QoS Flow Identifier", Shape::Number(0, 63));
const MAPPING: KnownParameter = optional(5, "QoS Flow Mapping Indication", Shape::Number(0, 1));

pub(super) const PARAMETERS: &[KnownParameter] = &[DRB, FLOWS];

/// QoS flow mapping configuration: control style 1, action 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QosFlowMapping {
    /// The bearer, 1 to 32.
    pub drb_id: u8,
    /// The flows to map to it.
    pub flows: Vec<MappedFlow>,
}

/// A flow of a [`QosFlowMapping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedFlow {
    /// Its QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// The direction; if absent, both.
    pub direction: Option<FlowDirection>,
}

/// A direction of a flow (TS 38.473 9.3.1.72).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowDirection {
    /// Uplink.
    Uplink,
    /// Downlink.
    Downlink,
}

impl QosFlowMapping {
    /// Returns the RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let flows = self.flows.iter().map(|flow| {
            let mut items = vec![FLOW_ID.key_of(number(flow.qfi))];
            items.extend(flow.direction.map(|direction| MAPPING.element_of(number(direction as i64))));
            items
        });
        vec![DRB.key_of(number(self.drb_id)), FLOWS.list_of(flows)]
    }

    /// Reads the RAN parameters of the action.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, out of range or unknown.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        check(PARAMETERS, items)?;
        let flow = |items: &[RanParameterItem<'_>]| {
            let direction = |to_ue| if to_ue { FlowDirection::Downlink } else { FlowDirection::Uplink };
            Ok(MappedFlow { qfi: FLOW_ID.required_number(items)?, direction: MAPPING.flag(items)?.map(direction) })
        };
        Ok(QosFlowMapping {
            drb_id: DRB.required_number(items)?,
            flows: FLOWS.list(items).map(flow).collect::<Result<_, Error>>()?,
        })
    }
}
