//! The actions of controls, with named fields.

use core::fmt;

use per::IntoOwned;

use super::{
    ConditionalHandover, DrbQos, Drx, Handover, MeasurementChange, MeasurementTrigger, QosFlowMapping,
    RanParameterItem, RicControlActionId, SlicePrbQuota, dictionary, measurement,
};
use crate::Error;
use crate::common::RicStyleType;

/// An action by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId {
    /// The control style.
    pub style: RicStyleType,
    /// The action of that style.
    pub action: RicControlActionId,
}

impl ActionId {
    /// Returns the action of those numbers.
    #[must_use]
    pub const fn new(style: i64, action: u16) -> Self {
        ActionId { style: RicStyleType(style), action: RicControlActionId(action) }
    }

    /// Returns the name in the specification.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        dictionary::control_action(self.style.0, self.action.0).map(|action| action.name)
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "control style {} action {}", self.style.0, self.action.0)?;
        self.name().map_or(Ok(()), |name| write!(f, " ({name})"))
    }
}

/// The action of a control or a policy. Common actions have named fields; others contain the parameters as sent.
///
/// ```
/// use e2sm::rc::{ActionId, ControlAction, Drx};
///
/// let action = ControlAction::Drx(Drx::long(320));
/// assert_eq!(action.id(), ActionId::new(2, 1));
/// assert_eq!(ControlAction::from_parameters(action.id(), &action.to_parameters())?, action);
/// # Ok::<(), e2sm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ControlAction {
    /// Style 1 action 1: DRB QoS configuration.
    DrbQos(DrbQos),
    /// Style 1 action 2: QoS flow mapping configuration.
    QosFlowMapping(QosFlowMapping),
    /// Style 2 action 1: DRX parameter configuration.
    Drx(Drx),
    /// Style 2 action 6: slice-level PRB quota.
    SlicePrbQuota(SlicePrbQuota),
    /// Style 3 action 1: handover control.
    Handover(Handover),
    /// Style 3 action 2: conditional handover control.
    ConditionalHandover(ConditionalHandover),
    /// Style 9 action 1: a measurement to add; the outcome contains its identity.
    AddMeasurement(MeasurementTrigger),
    /// Style 9 action 2: a measurement to change.
    ModifyMeasurement(MeasurementChange),
    /// Style 9 action 3: the identity of the measurement to delete.
    DeleteMeasurement(u8),
    /// Any other action.
    Other(OtherAction),
}

/// An action without named fields.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherAction {
    /// The action.
    pub id: ActionId,
    /// Its parameters.
    pub parameters: Vec<RanParameterItem<'static>>,
}

impl OtherAction {
    fn new(id: ActionId, parameters: &[RanParameterItem<'_>]) -> Self {
        OtherAction { id, parameters: parameters.iter().map(|item| item.clone().into_owned()).collect() }
    }
}

impl From<OtherAction> for ControlAction {
    fn from(other: OtherAction) -> Self {
        ControlAction::Other(other)
    }
}

impl ControlAction {
    /// [`ControlAction::DrbQos`].
    pub const DRB_QOS: ActionId = ActionId::new(1, 1);
    /// [`ControlAction::QosFlowMapping`].
    pub const QOS_FLOW_MAPPING: ActionId = ActionId::new(1, 2);
    /// [`ControlAction::Drx`].
    pub const DRX: ActionId = ActionId::new(2, 1);
    /// [`ControlAction::SlicePrbQuota`].
    pub const SLICE_PRB_QUOTA: ActionId = ActionId::new(2, 6);
    /// [`ControlAction::Handover`].
    pub const HANDOVER: ActionId = ActionId::new(3, 1);
    /// [`ControlAction::ConditionalHandover`].
    pub const CONDITIONAL_HANDOVER: ActionId = ActionId::new(3, 2);
    /// [`ControlAction::AddMeasurement`].
    pub const ADD_MEASUREMENT: ActionId = ActionId::new(9, 1);
    /// [`ControlAction::ModifyMeasurement`].
    pub const MODIFY_MEASUREMENT: ActionId = ActionId::new(9, 2);
    /// [`ControlAction::DeleteMeasurement`].
    pub const DELETE_MEASUREMENT: ActionId = ActionId::new(9, 3);

    /// Returns its number.
    #[must_use]
    pub const fn id(&self) -> ActionId {
        match self {
            ControlAction::DrbQos(_) => Self::DRB_QOS,
            ControlAction::QosFlowMapping(_) => Self::QOS_FLOW_MAPPING,
            ControlAction::Drx(_) => Self::DRX,
            ControlAction::SlicePrbQuota(_) => Self::SLICE_PRB_QUOTA,
            ControlAction::Handover(_) => Self::HANDOVER,
            ControlAction::ConditionalHandover(_) => Self::CONDITIONAL_HANDOVER,
            ControlAction::AddMeasurement(_) => Self::ADD_MEASUREMENT,
            ControlAction::ModifyMeasurement(_) => Self::MODIFY_MEASUREMENT,
            ControlAction::DeleteMeasurement(_) => Self::DELETE_MEASUREMENT,
            ControlAction::Other(other) => other.id,
        }
    }

    /// Whether the action concerns one UE: true for all but the slice-level PRB quota.
    #[must_use]
    pub const fn is_about_ue(&self) -> bool {
        !matches!(self, ControlAction::SlicePrbQuota(_))
    }

    /// Returns its RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        match self {
            ControlAction::DrbQos(qos) => qos.to_parameters(),
            ControlAction::QosFlowMapping(mapping) => mapping.to_parameters(),
            ControlAction::Drx(drx) => drx.to_parameters(),
            ControlAction::SlicePrbQuota(quota) => quota.to_parameters(),
            ControlAction::Handover(handover) => handover.to_parameters(),
            ControlAction::ConditionalHandover(handover) => handover.to_parameters(),
            ControlAction::AddMeasurement(trigger) => trigger.to_parameters(),
            ControlAction::ModifyMeasurement(change) => change.to_parameters(),
            ControlAction::DeleteMeasurement(id) => vec![measurement::identity_item(*id)],
            ControlAction::Other(other) => other.parameters.clone(),
        }
    }

    /// Reads the RAN parameters of an action. A style 3 action 2 or style 9 without parameters, or with some that this crate does
    /// not have, is an [`OtherAction`]: it may have the numbers of another base station.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, has the wrong type, is out of range or unknown.
    pub fn from_parameters(id: ActionId, parameters: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        let known = dictionary::control_parameters(id.style.0, id.action.0);
        let is_known = |item: &RanParameterItem<'_>| known.iter().any(|known| known.id == item.ran_parameter_id);
        match id {
            Self::CONDITIONAL_HANDOVER
            | Self::ADD_MEASUREMENT
            | Self::MODIFY_MEASUREMENT
            | Self::DELETE_MEASUREMENT
                if parameters.is_empty() || !parameters.iter().all(is_known) =>
            {
                Ok(OtherAction::new(id, parameters).into())
            }
            Self::CONDITIONAL_HANDOVER => {
                ConditionalHandover::from_parameters(parameters).map(ControlAction::ConditionalHandover)
            }
            Self::ADD_MEASUREMENT => MeasurementTrigger::from_parameters(parameters).map(ControlAction::AddMeasurement),
            Self::MODIFY_MEASUREMENT => {
                MeasurementChange::from_parameters(parameters).map(ControlAction::ModifyMeasurement)
            }
            Self::DELETE_MEASUREMENT => measurement::deleted(parameters).map(ControlAction::DeleteMeasurement),
            Self::DRB_QOS => DrbQos::from_parameters(parameters).map(ControlAction::DrbQos),
            Self::QOS_FLOW_MAPPING => QosFlowMapping::from_parameters(parameters).map(ControlAction::QosFlowMapping),
            Self::DRX => Drx::from_parameters(parameters).map(ControlAction::Drx),
            Self::SLICE_PRB_QUOTA => SlicePrbQuota::from_parameters(parameters).map(ControlAction::SlicePrbQuota),
            Self::HANDOVER => Handover::from_parameters(parameters).map(ControlAction::Handover),
            _ => Ok(OtherAction::new(id, parameters).into()),
        }
    }
}
