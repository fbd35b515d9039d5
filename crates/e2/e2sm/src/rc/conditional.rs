//! Conditional handover control (RC 7.6.4.1, action 2).
//!
//! The target has the parameters of handover control. The execution condition has [parameters of ferric's
//! own](super::MeasurementTrigger); controls with other parameters are [`OtherAction`](super::OtherAction)s.

use super::handover::{Handover, TARGET};
use super::known::{KnownParameter, Shape, check, optional};
use super::measurement::{HYSTERESIS, MeasurementEvent, NEIGHBOUR, OFFSET, OPTIONAL_KIND, SERVING, TIME_TO_TRIGGER};
use super::{RanParameterItem, RanParameterValue};
use crate::Error;
use crate::common::Cgi;

const CANCEL: KnownParameter = optional(4_000_000_109, "Cancel", Shape::Flag);
const OPTIONAL_TARGET: KnownParameter = optional(TARGET.id.0, TARGET.name, TARGET.shape);

pub(super) const PARAMETERS: &[KnownParameter] =
    &[OPTIONAL_TARGET, OPTIONAL_KIND, SERVING, NEIGHBOUR, OFFSET, HYSTERESIS, TIME_TO_TRIGGER, CANCEL];

/// Conditional handover control: control style 3, action 2.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionalHandover {
    /// Prepare a cell, in addition to those prepared before.
    Prepare {
        /// The target cell.
        target: Cgi,
        /// The execution condition, event A3 or A5; `None`: that of the order before, or the event of handovers in the cell.
        condition: Option<MeasurementEvent>,
    },
    /// Cancel all preparations of the UE.
    Cancel,
}

impl ConditionalHandover {
    /// Returns the RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        match self {
            ConditionalHandover::Prepare { target, condition } => {
                let mut items = Handover::to(*target).to_parameters();
                items.extend(condition.map(MeasurementEvent::to_parameters).unwrap_or_default());
                items
            }
            ConditionalHandover::Cancel => vec![CANCEL.element_of(RanParameterValue::ValueBoolean(true))],
        }
    }

    /// Reads the RAN parameters of the action.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, has the wrong type, is out of range or unknown.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        if CANCEL.flag(items)? == Some(true) {
            check(&[CANCEL], items)?;
            return Ok(ConditionalHandover::Cancel);
        }
        let (target, others): (Vec<_>, Vec<_>) =
            items.iter().cloned().partition(|item| item.ran_parameter_id == TARGET.id);
        check(&PARAMETERS[1..], &others)?;
        let Handover { target, .. } = Handover::from_parameters(&target)?;
        Ok(ConditionalHandover::Prepare { target, condition: MeasurementEvent::among(&others)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::{NrCgi, PlmnIdentity};
    use crate::rc::MeasurementCondition;
    use crate::rc::known::{ParameterFault, number};

    fn target() -> Cgi {
        let nr_cell_identity = per::Bits::new(0x38001, 36);
        Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity })
    }

    #[test]
    fn actions_are_read_as_written() {
        let condition = MeasurementCondition::A5 { serving_dbm: -110, neighbour_dbm: -100 };
        let event = MeasurementEvent { condition, hysteresis_half_db: 2, time_to_trigger_ms: 160 };
        for action in [
            ConditionalHandover::Prepare { target: target(), condition: None },
            ConditionalHandover::Prepare { target: target(), condition: Some(event) },
            ConditionalHandover::Cancel,
        ] {
            assert_eq!(ConditionalHandover::from_parameters(&action.to_parameters()).unwrap(), action);
        }
    }

    #[test]
    fn faults_are_named() {
        let fault = |items: Vec<RanParameterItem<'static>>| match ConditionalHandover::from_parameters(&items) {
            Err(Error::Parameter(error)) => (error.id.0, error.fault),
            other => panic!("{other:?}"),
        };
        assert_eq!(fault(vec![]), (TARGET.id.0, ParameterFault::Missing));
        let mut items = Handover::to(target()).to_parameters();
        items.push(OFFSET.element_of(number(3)));
        assert_eq!(fault(items.clone()), (OFFSET.id.0, ParameterFault::Unknown), "without a trigger type");
        items.push(OPTIONAL_KIND.element_of(number(3)));
        assert_eq!(fault(items.clone()), (TIME_TO_TRIGGER.id.0, ParameterFault::Missing));
        items.push(CANCEL.element_of(RanParameterValue::ValueBoolean(true)));
        assert_eq!(fault(items).1, ParameterFault::Unknown, "a cancellation has no other parameter");
    }
}
