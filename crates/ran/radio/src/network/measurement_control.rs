//! Measurements that a controller configures for single UEs.
//!
//! A UE has the measurements of its cell until one of them is changed; from then on it has its own, until it leaves the cell: the
//! next cell configures its own.

use super::measurement::{EventCondition, MeasurementEvent, ReportTrigger, UeMeasurements};
use super::{MeasurementConfig, Network};

/// The measurement identity of the event of handovers.
pub const HANDOVER_MEASUREMENT: u8 = 64;
/// The largest measurement identity of other measurements (maxNrofMeasId of TS 38.331 is 64).
pub const MAX_MEASUREMENT: u8 = HANDOVER_MEASUREMENT - 1;

/// The measurements of a UE in place of those of its cell.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnMeasurements {
    /// By measurement identity.
    pub reports: Vec<(u8, ReportTrigger)>,
    /// The event of handovers; `None`: no handovers by measurements.
    pub handover: Option<MeasurementEvent>,
}

/// Why a measurement cannot be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasurementError {
    /// The UE is not in the cell.
    UnknownUe,
    /// The UE has no measurement of this identity.
    UnknownMeasurement(u8),
    /// All measurement identities are in use.
    TooMany,
    /// Handovers follow event A3 or A5 only.
    NotForHandovers,
}

impl std::fmt::Display for MeasurementError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MeasurementError::UnknownUe => f.write_str("the UE is not in the cell"),
            MeasurementError::UnknownMeasurement(id) => write!(f, "the UE has no measurement with identity {id}"),
            MeasurementError::TooMany => write!(f, "all measurement identities up to {MAX_MEASUREMENT} are in use"),
            MeasurementError::NotForHandovers => {
                write!(f, "measurement {HANDOVER_MEASUREMENT} decides about handovers: it is event A3 or A5")
            }
        }
    }
}

impl std::error::Error for MeasurementError {}

impl UeMeasurements {
    fn set_handover_event(&mut self, event: Option<MeasurementEvent>) {
        self.own.get_or_insert_default().handover = event;
        (self.handover, self.preparation) = Default::default();
    }
}

impl Network {
    /// The measurements of a UE by measurement identity; the event of handovers has [`HANDOVER_MEASUREMENT`].
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn measurements_of(&self, cell: usize, index: usize) -> Vec<(u8, ReportTrigger)> {
        let site = &self.sites[cell];
        let own = site.measurements.get(index).and_then(|measurements| measurements.own.as_deref());
        let OwnMeasurements { mut reports, handover } = own.cloned().unwrap_or_else(|| self.measurements_of_cell());
        reports.extend(handover.map(|event| (HANDOVER_MEASUREMENT, ReportTrigger::Event(event))));
        reports
    }

    /// Adds a measurement of a UE, which it reports while [reports are wanted](Network::set_reporting). Returns its identity.
    ///
    /// # Errors
    /// [`MeasurementError::UnknownUe`], [`MeasurementError::TooMany`].
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn add_measurement(
        &mut self,
        cell: usize,
        index: usize,
        trigger: ReportTrigger,
    ) -> Result<u8, MeasurementError> {
        let reports = &mut self.own_measurements(cell, index)?.own.get_or_insert_default().reports;
        let is_free = |id: &u8| reports.iter().all(|(used, _)| used != id);
        let id = (1..=MAX_MEASUREMENT).find(is_free).ok_or(MeasurementError::TooMany)?;
        reports.push((id, trigger));
        Ok(id)
    }

    /// Changes a measurement of a UE. [`HANDOVER_MEASUREMENT`] exists always: it sets the event of handovers.
    ///
    /// # Errors
    /// [`MeasurementError`], except for [`MeasurementError::TooMany`].
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn change_measurement(
        &mut self,
        cell: usize,
        index: usize,
        id: u8,
        trigger: ReportTrigger,
    ) -> Result<(), MeasurementError> {
        if id == HANDOVER_MEASUREMENT {
            let ReportTrigger::Event(event) = trigger else { return Err(MeasurementError::NotForHandovers) };
            if !matches!(event.condition, EventCondition::A3 { .. } | EventCondition::A5 { .. }) {
                return Err(MeasurementError::NotForHandovers);
            }
            self.own_measurements(cell, index)?.set_handover_event(Some(event));
            return Ok(());
        }
        self.check_measurement(cell, index, id)?;
        let measurements = self.own_measurements(cell, index)?;
        let own = measurements.own.get_or_insert_default();
        own.reports.iter_mut().filter(|(known, _)| *known == id).for_each(|(_, before)| *before = trigger);
        measurements.states.retain(|(known, _)| *known != id);
        Ok(())
    }

    /// Removes a measurement of a UE. Without [`HANDOVER_MEASUREMENT`] measurements start no handover.
    ///
    /// # Errors
    /// [`MeasurementError::UnknownUe`], [`MeasurementError::UnknownMeasurement`].
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn remove_measurement(&mut self, cell: usize, index: usize, id: u8) -> Result<(), MeasurementError> {
        self.check_measurement(cell, index, id)?;
        let measurements = self.own_measurements(cell, index)?;
        if id == HANDOVER_MEASUREMENT {
            measurements.set_handover_event(None);
            return Ok(());
        }
        measurements.own.get_or_insert_default().reports.retain(|(known, _)| *known != id);
        measurements.states.retain(|(known, _)| *known != id);
        Ok(())
    }

    /// Checks that a UE has a measurement.
    fn check_measurement(&self, cell: usize, index: usize, id: u8) -> Result<(), MeasurementError> {
        if self.sites[cell].cell.ue(index).is_none() {
            return Err(MeasurementError::UnknownUe);
        }
        let has = self.measurements_of(cell, index).iter().any(|(known, _)| *known == id);
        if has { Ok(()) } else { Err(MeasurementError::UnknownMeasurement(id)) }
    }

    /// The measurements of a UE, which are its own from now on.
    fn own_measurements(&mut self, cell: usize, index: usize) -> Result<&mut UeMeasurements, MeasurementError> {
        let of_cell = self.measurements_of_cell();
        let site = &mut self.sites[cell];
        if site.cell.ue(index).is_none() {
            return Err(MeasurementError::UnknownUe);
        }
        site.measurements.resize_with(site.cell.ue_indices(), UeMeasurements::default);
        let measurements = &mut site.measurements[index];
        measurements.own.get_or_insert_with(|| Box::new(of_cell));
        Ok(measurements)
    }

    /// The measurements of UEs that no controller has changed.
    fn measurements_of_cell(&self) -> OwnMeasurements {
        OwnMeasurements {
            reports: MeasurementConfig::reports(&self.measurement).collect(),
            handover: self.handover.event(),
        }
    }
}
