//! Measurement reporting configuration (RC 7.6.11), and the execution condition of conditional handovers.
//!
//! The parameters are ferric's own, outside the range of the specification, as those of UEs that a base station adds: each has the
//! values of the fields of RRC (TS 38.331 6.3.2, `ReportConfigNR`), in plain units. Controls with other parameters are
//! [`OtherAction`](super::OtherAction)s.

use super::known::{KnownParameter, ParameterFault, Shape, check, number, optional, required};
use super::{RanParameterId, RanParameterItem};
use crate::Error;

const IDENTITY: KnownParameter = required(4_000_000_101, "Measurement identity", Shape::Number(1, 64));
const KIND: KnownParameter = required(4_000_000_102, "Trigger type", Shape::Number(0, 8));
const INTERVAL: KnownParameter = optional(4_000_000_103, "Report interval in ms", Shape::Number(120, 1_800_000));
pub(super) const SERVING: KnownParameter = optional(4_000_000_104, "Serving RSRP in dBm", RSRP);
pub(super) const NEIGHBOUR: KnownParameter = optional(4_000_000_105, "Neighbour RSRP in dBm", RSRP);
pub(super) const OFFSET: KnownParameter = optional(4_000_000_106, "Offset in 0.5 dB", Shape::Number(-30, 30));
pub(super) const HYSTERESIS: KnownParameter = optional(4_000_000_107, "Hysteresis in 0.5 dB", Shape::Number(0, 30));
pub(super) const TIME_TO_TRIGGER: KnownParameter =
    optional(4_000_000_108, "Time to trigger in ms", Shape::Number(0, 5120));
/// The range of RSRP reports (TS 38.133 10.1.6).
const RSRP: Shape = Shape::Number(-156, -31);

pub(super) const OF_ADD: &[KnownParameter] = &[KIND, INTERVAL, SERVING, NEIGHBOUR, OFFSET, HYSTERESIS, TIME_TO_TRIGGER];
pub(super) const OF_MODIFY: &[KnownParameter] =
    &[IDENTITY, KIND, INTERVAL, SERVING, NEIGHBOUR, OFFSET, HYSTERESIS, TIME_TO_TRIGGER];
pub(super) const OF_DELETE: &[KnownParameter] = &[IDENTITY];
/// The trigger type of an execution condition, which may be absent.
pub(super) const OPTIONAL_KIND: KnownParameter = optional(KIND.id.0, KIND.name, KIND.shape);

/// The intervals of periodic reports in milliseconds (ReportInterval of TS 38.331).
pub const REPORT_INTERVALS_MS: [u32; 14] =
    [120, 240, 480, 640, 1024, 2048, 5120, 10_240, 20_480, 40_960, 60_000, 360_000, 720_000, 1_800_000];

/// The times to trigger in milliseconds (TimeToTrigger of TS 38.331).
pub const TIMES_TO_TRIGGER_MS: [u16; 16] =
    [0, 40, 64, 80, 100, 128, 160, 256, 320, 480, 512, 640, 1024, 1280, 2560, 5120];

/// What triggers the reports of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasurementTrigger {
    /// The time.
    Periodic {
        /// The interval, one of [`REPORT_INTERVALS_MS`].
        interval_ms: u32,
    },
    /// An event.
    Event(MeasurementEvent),
}

/// An event on RSRP (TS 38.331 5.5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementEvent {
    /// Its condition.
    pub condition: MeasurementCondition,
    /// The hysteresis in units of 0.5 dB, 0 to 30.
    pub hysteresis_half_db: u8,
    /// timeToTrigger, one of [`TIMES_TO_TRIGGER_MS`].
    pub time_to_trigger_ms: u16,
}

/// The condition of an event. Thresholds are in dBm, -156 to -31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasurementCondition {
    /// The serving cell is better than a threshold.
    A1 {
        /// The threshold.
        serving_dbm: i16,
    },
    /// The serving cell is worse than a threshold.
    A2 {
        /// The threshold.
        serving_dbm: i16,
    },
    /// A neighbour is better than the serving cell by an offset.
    A3 {
        /// The offset in units of 0.5 dB, -30 to 30.
        offset_half_db: i8,
    },
    /// A neighbour is better than a threshold.
    A4 {
        /// The threshold.
        neighbour_dbm: i16,
    },
    /// The serving cell is worse than a threshold, and a neighbour better than another.
    A5 {
        /// The threshold of the serving cell.
        serving_dbm: i16,
        /// The threshold of the neighbour.
        neighbour_dbm: i16,
    },
    /// A cell of the other radio access technology is better than a threshold.
    B1 {
        /// The threshold.
        neighbour_dbm: i16,
    },
    /// The serving cell is worse than a threshold, and one of the other radio access technology better than another.
    B2 {
        /// The threshold of the serving cell.
        serving_dbm: i16,
        /// The threshold of the other.
        neighbour_dbm: i16,
    },
}

impl MeasurementCondition {
    /// Its value of the trigger type.
    const fn kind(self) -> u8 {
        match self {
            MeasurementCondition::A1 { .. } => 1,
            MeasurementCondition::A2 { .. } => 2,
            MeasurementCondition::A3 { .. } => 3,
            MeasurementCondition::A4 { .. } => 4,
            MeasurementCondition::A5 { .. } => 5,
            MeasurementCondition::B1 { .. } => 7,
            MeasurementCondition::B2 { .. } => 8,
        }
    }

    fn to_parameters(self) -> Vec<RanParameterItem<'static>> {
        let serving = |dbm: i16| SERVING.element_of(number(dbm));
        let neighbour = |dbm: i16| NEIGHBOUR.element_of(number(dbm));
        match self {
            MeasurementCondition::A1 { serving_dbm } | MeasurementCondition::A2 { serving_dbm } => {
                vec![serving(serving_dbm)]
            }
            MeasurementCondition::A3 { offset_half_db } => vec![OFFSET.element_of(number(offset_half_db))],
            MeasurementCondition::A4 { neighbour_dbm } | MeasurementCondition::B1 { neighbour_dbm } => {
                vec![neighbour(neighbour_dbm)]
            }
            MeasurementCondition::A5 { serving_dbm, neighbour_dbm }
            | MeasurementCondition::B2 { serving_dbm, neighbour_dbm } => {
                vec![serving(serving_dbm), neighbour(neighbour_dbm)]
            }
        }
    }

    fn from_parameters(kind: u8, items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        let serving = || SERVING.required_number(items);
        let neighbour = || NEIGHBOUR.required_number(items);
        Ok(match kind {
            1 => MeasurementCondition::A1 { serving_dbm: serving()? },
            2 => MeasurementCondition::A2 { serving_dbm: serving()? },
            3 => MeasurementCondition::A3 { offset_half_db: OFFSET.required_number(items)? },
            4 => MeasurementCondition::A4 { neighbour_dbm: neighbour()? },
            5 => MeasurementCondition::A5 { serving_dbm: serving()?, neighbour_dbm: neighbour()? },
            7 => MeasurementCondition::B1 { neighbour_dbm: neighbour()? },
            8 => MeasurementCondition::B2 { serving_dbm: serving()?, neighbour_dbm: neighbour()? },
            // event A6 needs secondary cells
            _ => return Err(KIND.error(ParameterFault::OutOfRange)),
        })
    }
}

impl MeasurementEvent {
    /// Returns the RAN parameters, the trigger type first.
    pub(super) fn to_parameters(self) -> Vec<RanParameterItem<'static>> {
        let mut items = vec![KIND.element_of(number(self.condition.kind()))];
        items.extend(self.condition.to_parameters());
        items.push(HYSTERESIS.element_of(number(self.hysteresis_half_db)));
        items.push(TIME_TO_TRIGGER.element_of(number(self.time_to_trigger_ms)));
        items
    }

    /// Reads the RAN parameters of an event whose trigger type is known.
    fn from_parameters(kind: u8, items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        let time_to_trigger_ms = TIME_TO_TRIGGER.required_number(items)?;
        if !TIMES_TO_TRIGGER_MS.contains(&time_to_trigger_ms) {
            return Err(TIME_TO_TRIGGER.error(ParameterFault::OutOfRange));
        }
        Ok(MeasurementEvent {
            condition: MeasurementCondition::from_parameters(kind, items)?,
            hysteresis_half_db: HYSTERESIS.number(items)?.unwrap_or(0),
            time_to_trigger_ms,
        })
    }

    /// Reads an event among other parameters, if it is present.
    pub(super) fn among(items: &[RanParameterItem<'_>]) -> Result<Option<Self>, Error> {
        let kind = KIND.number(items)?;
        let event = kind.map(|kind| MeasurementEvent::from_parameters(kind, items)).transpose()?;
        let of_event = event.map(MeasurementEvent::to_parameters).unwrap_or_default();
        refuse_unused(items, &of_event)?;
        Ok(event)
    }
}

/// Refuses parameters that have no meaning with the trigger type: all but those that `used` has.
fn refuse_unused(items: &[RanParameterItem<'_>], used: &[RanParameterItem<'_>]) -> Result<(), Error> {
    let unused = OF_ADD.iter().find(|known| known.among(items).is_some() && known.among(used).is_none());
    unused.map_or(Ok(()), |known| Err(known.error(ParameterFault::Unknown)))
}

impl MeasurementTrigger {
    /// Returns the RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        match self {
            MeasurementTrigger::Periodic { interval_ms } => {
                vec![KIND.element_of(number(0)), INTERVAL.element_of(number(*interval_ms))]
            }
            MeasurementTrigger::Event(event) => event.to_parameters(),
        }
    }

    /// Reads the RAN parameters of a measurement to add.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, out of range, unknown, or has no meaning with this trigger type.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        check(OF_ADD, items)?;
        let trigger = match KIND.required_number(items)? {
            0 => {
                let interval_ms = INTERVAL.required_number(items)?;
                if !REPORT_INTERVALS_MS.contains(&interval_ms) {
                    return Err(INTERVAL.error(ParameterFault::OutOfRange));
                }
                MeasurementTrigger::Periodic { interval_ms }
            }
            kind => MeasurementTrigger::Event(MeasurementEvent::from_parameters(kind, items)?),
        };
        refuse_unused(items, &trigger.to_parameters())?;
        Ok(trigger)
    }
}

/// A change of a measurement: control style 9, action 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementChange {
    /// The measurement identity, 1 to 64.
    pub id: u8,
    /// What triggers its reports from now on.
    pub trigger: MeasurementTrigger,
}

impl MeasurementChange {
    /// Returns the RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let mut items = vec![identity_item(self.id)];
        items.extend(self.trigger.to_parameters());
        items
    }

    /// Reads the RAN parameters of the action.
    ///
    /// # Errors
    /// As [`MeasurementTrigger::from_parameters`].
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        check(OF_MODIFY, items)?;
        let (identity, others): (Vec<_>, Vec<_>) =
            items.iter().cloned().partition(|item| item.ran_parameter_id == IDENTITY.id);
        let trigger = MeasurementTrigger::from_parameters(&others)?;
        Ok(MeasurementChange { id: IDENTITY.required_number(&identity)?, trigger })
    }
}

/// The RAN parameter of a measurement identity, which the outcome of an addition contains too.
pub(super) fn identity_item(id: u8) -> RanParameterItem<'static> {
    IDENTITY.element_of(number(id))
}

/// Reads the measurement identity to delete.
///
/// # Errors
/// [`Error::Parameter`]: it is missing, out of range, or not alone.
pub(super) fn deleted(items: &[RanParameterItem<'_>]) -> Result<u8, Error> {
    check(OF_DELETE, items)?;
    IDENTITY.required_number(items)
}

/// The RAN parameter that contains a measurement identity.
pub const MEASUREMENT_IDENTITY: RanParameterId = IDENTITY.id;

#[cfg(test)]
mod tests {
    use super::*;

    fn event(condition: MeasurementCondition) -> MeasurementTrigger {
        MeasurementTrigger::Event(MeasurementEvent { condition, hysteresis_half_db: 3, time_to_trigger_ms: 160 })
    }

    fn fault(result: Result<impl std::fmt::Debug, Error>) -> (u32, ParameterFault) {
        match result {
            Err(Error::Parameter(error)) => (error.id.0, error.fault),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_trigger_is_read_as_written() {
        use MeasurementCondition::*;
        for condition in [
            A1 { serving_dbm: -80 },
            A2 { serving_dbm: -156 },
            A3 { offset_half_db: -30 },
            A4 { neighbour_dbm: -31 },
            A5 { serving_dbm: -110, neighbour_dbm: -100 },
            B1 { neighbour_dbm: -90 },
            B2 { serving_dbm: -110, neighbour_dbm: -100 },
        ] {
            let trigger = event(condition);
            assert_eq!(MeasurementTrigger::from_parameters(&trigger.to_parameters()).unwrap(), trigger);
            let change = MeasurementChange { id: 64, trigger };
            assert_eq!(MeasurementChange::from_parameters(&change.to_parameters()).unwrap(), change);
        }
        for interval_ms in REPORT_INTERVALS_MS {
            let trigger = MeasurementTrigger::Periodic { interval_ms };
            assert_eq!(MeasurementTrigger::from_parameters(&trigger.to_parameters()).unwrap(), trigger);
        }
        assert_eq!(deleted(&[identity_item(9)]).unwrap(), 9);
    }

    #[test]
    fn parameters_out_of_place_are_named() {
        use ParameterFault::*;
        let read = |items: Vec<RanParameterItem<'static>>| fault(MeasurementTrigger::from_parameters(&items));
        let a3 = event(MeasurementCondition::A3 { offset_half_db: 4 }).to_parameters();
        let with = |item: RanParameterItem<'static>| {
            let mut items = a3.clone();
            items.retain(|other| other.ran_parameter_id != item.ran_parameter_id);
            items.push(item);
            items
        };
        let without = |id: RanParameterId| {
            let mut items = a3.clone();
            items.retain(|item| item.ran_parameter_id != id);
            items
        };
        assert_eq!(read(with(KIND.element_of(number(6)))), (KIND.id.0, OutOfRange), "event A6");
        assert_eq!(read(with(KIND.element_of(number(9)))), (KIND.id.0, OutOfRange));
        assert_eq!(read(with(OFFSET.element_of(number(31)))), (OFFSET.id.0, OutOfRange));
        assert_eq!(read(with(TIME_TO_TRIGGER.element_of(number(161)))), (TIME_TO_TRIGGER.id.0, OutOfRange));
        assert_eq!(read(with(SERVING.element_of(number(-90)))), (SERVING.id.0, Unknown));
        assert_eq!(read(with(INTERVAL.element_of(number(120)))), (INTERVAL.id.0, Unknown));
        assert_eq!(read(without(OFFSET.id)), (OFFSET.id.0, Missing));
        assert_eq!(read(without(TIME_TO_TRIGGER.id)), (TIME_TO_TRIGGER.id.0, Missing));
        assert!(MeasurementTrigger::from_parameters(&without(HYSTERESIS.id)).is_ok(), "0 by default");

        let periodic = MeasurementTrigger::Periodic { interval_ms: 240 }.to_parameters();
        let mut odd = periodic.clone();
        odd[1] = INTERVAL.element_of(number(250));
        assert_eq!(read(odd), (INTERVAL.id.0, OutOfRange));
        let mut more = periodic;
        more.push(HYSTERESIS.element_of(number(1)));
        assert_eq!(read(more), (HYSTERESIS.id.0, Unknown));
        assert_eq!(fault(MeasurementChange::from_parameters(&a3)), (IDENTITY.id.0, Missing));
        assert_eq!(fault(deleted(&[])), (IDENTITY.id.0, Missing));
        assert_eq!(fault(deleted(&[identity_item(65)])), (IDENTITY.id.0, OutOfRange));
    }
}
