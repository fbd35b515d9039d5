//! Measurements of cells by UEs, their layer 3 filter, and measurement reports (TS 38.331 5.5).
//!
//! A UE samples its serving cell and the neighbours on the same carrier every 40 ms, and those on other carriers in measurement
//! gaps, which the carriers share: a result takes eight gaps of each (TS 38.133 9.3.5). RSRP passes the layer 3 filter (TS 38.331 5.5.3.2)
//! and triggers events; SINR and RSRQ in reports are those of the moment.

use std::time::Duration;

use super::conditional::OrderedHandover;
use super::measurement_control::OwnMeasurements;
use super::trigger::Trigger;
use crate::phy::{Channel, Geometry, Interference};
use crate::{SecondaryCell, Time, Ue, UeEntry};

/// The interval of samples of cells on the same carrier, and of measurement gaps.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(40);
/// The sampling interval that filter coefficients refer to (TS 38.133 9.2.5: the measurement period within a carrier).
const FILTER_INTERVAL: Duration = Duration::from_millis(200);
/// The gaps that a result of a cell on another carrier takes.
const GAPS_PER_RESULT: u64 = 8;
/// The most neighbours in a report (maxCellReport of TS 38.331).
pub const MAX_REPORTED_CELLS: usize = 8;

/// What UEs measure and report.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementConfig {
    /// The coefficient k of the layer 3 filter: the weight of a new result is 2^(-k/4) at one result in 200 ms. Default: 4.
    pub filter_coefficient: u8,
    /// The interval of periodic reports of the serving cell and the strongest neighbours. Default: none.
    pub report_interval: Option<Duration>,
    /// The events that are reported. Their measurement identities are 1 and on; that of the periodic reports follows.
    pub events: Vec<MeasurementEvent>,
}

impl Default for MeasurementConfig {
    fn default() -> Self {
        MeasurementConfig { filter_coefficient: 4, report_interval: None, events: Vec::new() }
    }
}

impl MeasurementConfig {
    /// The configured reports by measurement identity: the events, and the periodic reports.
    pub(super) fn reports(&self) -> impl Iterator<Item = (u8, ReportTrigger)> + '_ {
        let events = self.events.iter().map(|event| ReportTrigger::Event(*event));
        (1..).zip(events.chain(self.report_interval.map(ReportTrigger::Periodic)))
    }

    /// The weight of a sample, after an interval.
    fn weight(&self, interval: Duration) -> f64 {
        let kept = 1.0 - 2.0_f64.powf(-f64::from(self.filter_coefficient) / 4.0);
        1.0 - kept.powf(interval.as_secs_f64() / FILTER_INTERVAL.as_secs_f64())
    }
}

/// An event that UEs report, on RSRP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementEvent {
    /// Its condition.
    pub condition: EventCondition,
    /// Hysteresis, in dB.
    pub hysteresis_db: f64,
    /// timeToTrigger.
    pub time_to_trigger: Duration,
}

/// What triggers the reports of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReportTrigger {
    /// The time: reports of the serving cell and the strongest neighbours at this interval.
    Periodic(Duration),
    /// An event.
    Event(MeasurementEvent),
}

/// The condition of an event (TS 38.331 5.5.4.2 to 5.5.4.9). A6, which compares secondary cells
/// with neighbours, is not among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventCondition {
    /// The serving cell is better than a threshold.
    A1 {
        /// In dBm.
        threshold_dbm: f64,
    },
    /// The serving cell is worse than a threshold.
    A2 {
        /// In dBm.
        threshold_dbm: f64,
    },
    /// A neighbour is better than the serving cell by an offset.
    A3 {
        /// In dB.
        offset_db: f64,
    },
    /// A neighbour is better than a threshold.
    A4 {
        /// In dBm.
        threshold_dbm: f64,
    },
    /// The serving cell is worse than a threshold, and a neighbour better than another.
    A5 {
        /// Of the serving cell, in dBm.
        serving_dbm: f64,
        /// Of the neighbour, in dBm.
        neighbour_dbm: f64,
    },
    /// A cell of the other radio access technology is better than a threshold.
    B1 {
        /// In dBm.
        threshold_dbm: f64,
    },
    /// The serving cell is worse than a threshold, and one of the other radio access technology better than another.
    B2 {
        /// Of the serving cell, in dBm.
        serving_dbm: f64,
        /// Of the other, in dBm.
        neighbour_dbm: f64,
    },
}

impl EventCondition {
    /// Whether it concerns the serving cell only.
    fn is_of_serving(self) -> bool {
        matches!(self, EventCondition::A1 { .. } | EventCondition::A2 { .. })
    }

    /// Whether it concerns cells of the other radio access technology.
    fn is_inter_rat(self) -> bool {
        matches!(self, EventCondition::B1 { .. } | EventCondition::B2 { .. })
    }

    /// By how much it holds for RSRPs of the serving cell and a neighbour, the neighbour's offset included.
    pub(super) fn margin_db(self, own_dbm: f64, other_dbm: f64) -> f64 {
        match self {
            EventCondition::A1 { threshold_dbm } => own_dbm - threshold_dbm,
            EventCondition::A2 { threshold_dbm } => threshold_dbm - own_dbm,
            EventCondition::A3 { offset_db } => other_dbm - own_dbm - offset_db,
            EventCondition::A4 { threshold_dbm } | EventCondition::B1 { threshold_dbm } => other_dbm - threshold_dbm,
            EventCondition::A5 { serving_dbm, neighbour_dbm } | EventCondition::B2 { serving_dbm, neighbour_dbm } => {
                (serving_dbm - own_dbm).min(other_dbm - neighbour_dbm)
            }
        }
    }
}

/// What a cell's UEs have to know of a neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Neighbour {
    /// cellIndividualOffset (Ocn), in dB.
    pub offset_db: f64,
    /// Whether handovers to it are prohibited.
    pub is_prohibited: bool,
    /// Whether it has another carrier.
    pub is_inter_frequency: bool,
    /// Whether it has another radio access technology.
    pub is_inter_rat: bool,
    /// Whether it can serve a UE of the cell as a secondary cell.
    pub is_aggregable: bool,
    /// Whether it transmits nothing that could be measured: it is locked or asleep.
    pub is_silent: bool,
}

/// A measured cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellMeasurement {
    /// The cell.
    pub cell: usize,
    /// RSRP after the layer 3 filter, in dBm.
    pub rsrp_dbm: f64,
    /// RSRQ, in dB.
    pub rsrq_db: f64,
    /// SINR, in dB.
    pub sinr_db: f64,
}

/// A measurement report of a UE.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementReport {
    /// The UE.
    pub ue: UeEntry,
    /// The measurement identity, from 1 on: the event's place in [`MeasurementConfig::events`], or the one after them.
    pub id: u8,
    /// The serving cell: the primary one.
    pub serving: CellMeasurement,
    /// The secondary cells, by sCellIndex.
    pub secondary: Vec<(u8, CellMeasurement)>,
    /// The cells for which the event is triggered, or all in a periodic report; the strongest first, at most
    /// [`MAX_REPORTED_CELLS`].
    pub neighbours: Vec<CellMeasurement>,
}

/// The measurements of a UE in its cell.
#[derive(Debug, Default)]
pub(super) struct UeMeasurements {
    /// Filtered RSRP of each cell that the UE receives; empty before the first sample. NaN: not measured yet.
    filtered_dbm: Vec<f32>,
    /// The number of samples so far.
    samples: u64,
    next_sample: Time,
    /// Event A3 of handovers, and the preparation of conditional ones.
    pub handover: Trigger,
    pub preparation: Trigger,
    /// Event A4 of cells of the base station, and event A2 of secondary cells.
    pub addition: Trigger,
    pub release: Trigger,
    /// The cells that are prepared for a conditional handover.
    pub prepared: Vec<usize>,
    /// The conditional handover that a controller has ordered.
    pub ordered: Option<Box<OrderedHandover>>,
    /// What a controller has configured in place of the configuration of the cell.
    pub own: Option<Box<OwnMeasurements>>,
    /// The state of reports by measurement identity.
    pub states: Vec<(u8, ReportState)>,
}

/// The state of a report.
#[derive(Debug, Default)]
pub(super) struct ReportState {
    trigger: Trigger,
    /// When the next periodic report is due.
    next: Option<Time>,
}

impl UeMeasurements {
    /// Samples the cells when it is due. `gap_carriers` is the number of carriers that share the measurement gaps.
    pub fn sample(
        &mut self,
        now: Time,
        ue: &Ue,
        neighbours: &[Neighbour],
        gap_carriers: u64,
        config: &MeasurementConfig,
    ) {
        if now < self.next_sample {
            return;
        }
        self.next_sample = now + SAMPLE_INTERVAL;
        let Some(geometry) = several_cells(ue.channel()) else { return };
        let is_first = self.filtered_dbm.is_empty();
        self.filtered_dbm.resize(geometry.sites().len(), f32::NAN);
        let gaps = GAPS_PER_RESULT * gap_carriers;
        let has_gap_result = self.samples % gaps.max(1) == gaps.saturating_sub(1);
        let [within, between] = [1, gaps].map(|samples| config.weight(SAMPLE_INTERVAL * samples as u32) as f32);
        for (site, filtered_dbm) in self.filtered_dbm.iter_mut().enumerate() {
            if neighbours.get(site).is_some_and(|neighbour| neighbour.is_silent) {
                *filtered_dbm = f32::NAN;
                continue;
            }
            // secondary cells need no gaps
            let is_inter_frequency =
                neighbours.get(site).is_some_and(|neighbour| neighbour.is_inter_frequency) && !ue.is_secondary(site);
            if is_inter_frequency && !has_gap_result {
                continue;
            }
            let sample_dbm = geometry.rsrp_dbm(site) as f32;
            let weight = if is_inter_frequency { between } else { within };
            *filtered_dbm = match filtered_dbm.is_nan() || is_first {
                true => sample_dbm,
                false => *filtered_dbm + weight * (sample_dbm - *filtered_dbm),
            };
        }
        self.samples += 1;
    }

    /// Filtered RSRP of a cell, if it has been measured.
    pub(super) fn rsrp_dbm(&self, ue: &Ue, cell: usize) -> Option<f64> {
        match several_cells(ue.channel()) {
            // nothing is configured to be measured
            Some(geometry) if self.filtered_dbm.is_empty() => {
                (cell < geometry.sites().len()).then(|| geometry.rsrp_dbm(cell))
            }
            Some(_) => self.filtered_dbm.get(cell).map(|dbm| f64::from(*dbm)).filter(|dbm| !dbm.is_nan()),
            None => Some(ue.channel().rsrp_dbm()),
        }
    }

    /// The margins of a condition for the cells that it concerns.
    pub fn margins<'m>(
        &'m self,
        condition: EventCondition,
        serving: usize,
        neighbours: &'m [Neighbour],
    ) -> impl Iterator<Item = (usize, f64)> + 'm {
        let own_dbm = self.filtered_dbm.get(serving).map_or(f64::NAN, |dbm| f64::from(*dbm));
        let own_offset_db = neighbours.get(serving).map_or(0.0, |own| own.offset_db);
        self.filtered_dbm.iter().enumerate().filter_map(move |(cell, dbm)| {
            let neighbour = neighbours.get(cell)?;
            let is_concerned = cell != serving && neighbour.is_inter_rat == condition.is_inter_rat() && !dbm.is_nan();
            let own_dbm =
                if matches!(condition, EventCondition::A3 { .. }) { own_dbm + own_offset_db } else { own_dbm };
            is_concerned.then(|| (cell, condition.margin_db(own_dbm, f64::from(*dbm) + neighbour.offset_db)))
        })
    }

    /// Evaluates the events, and appends the reports that are due.
    pub fn report(
        &mut self,
        now: Time,
        (ue, entry, serving): (&Ue, UeEntry, usize),
        interference: &Interference,
        neighbours: &[Neighbour],
        config: &MeasurementConfig,
        out: &mut Vec<MeasurementReport>,
    ) {
        let mut states = std::mem::take(&mut self.states);
        let mut report = |id: u8, trigger: ReportTrigger| {
            let at = states.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
                states.push((id, ReportState::default()));
                states.len() - 1
            });
            let cells = self.cells_to_report(now, (ue, serving), neighbours, trigger, &mut states[at].1);
            out.extend(cells.and_then(|cells| self.build((ue, entry, serving), interference, id, cells)));
        };
        match &self.own {
            Some(own) => own.reports.iter().for_each(|(id, trigger)| report(*id, *trigger)),
            None => config.reports().for_each(|(id, trigger)| report(id, trigger)),
        }
        self.states = states;
    }

    /// The neighbours in a report, if it is due.
    fn cells_to_report(
        &self,
        now: Time,
        (ue, serving): (&Ue, usize),
        neighbours: &[Neighbour],
        trigger: ReportTrigger,
        state: &mut ReportState,
    ) -> Option<Vec<usize>> {
        match trigger {
            ReportTrigger::Periodic(interval) => {
                let next = *state.next.get_or_insert(now + interval);
                if now < next {
                    return None;
                }
                state.next = Some(next + interval);
                Some((0..self.filtered_dbm.len()).filter(|cell| *cell != serving && !ue.is_secondary(*cell)).collect())
            }
            ReportTrigger::Event(event) => {
                let (condition, parameters) = (event.condition, event.into());
                let is_reported = if condition.is_of_serving() {
                    let own_dbm = self.rsrp_dbm(ue, serving);
                    let margin = own_dbm.map(|own_dbm| (serving, condition.margin_db(own_dbm, f64::NAN)));
                    state.trigger.evaluate(now, margin.into_iter(), parameters)
                } else {
                    state.trigger.evaluate(now, self.margins(condition, serving, neighbours), parameters)
                };
                is_reported?;
                // by A3 and A5 a secondary cell may become the primary one (TS 38.331 5.5.3.1)
                let is_neighbour = |cell: &usize| {
                    let may_replace = matches!(condition, EventCondition::A3 { .. } | EventCondition::A5 { .. });
                    *cell != serving && (may_replace || !ue.is_secondary(*cell))
                };
                let neighbours: Vec<usize> = state.trigger.triggered().filter(is_neighbour).collect();
                (condition.is_of_serving() || !neighbours.is_empty()).then_some(neighbours)
            }
        }
    }

    fn build(
        &self,
        (ue, entry, serving): (&Ue, UeEntry, usize),
        interference: &Interference,
        id: u8,
        cells: Vec<usize>,
    ) -> Option<MeasurementReport> {
        let mut neighbours = self.measured(ue, interference, cells.into_iter());
        neighbours.truncate(MAX_REPORTED_CELLS);
        let serving = self.measured(ue, interference, std::iter::once(serving)).pop()?;
        let secondary = self.measured_secondary(ue, interference);
        Some(MeasurementReport { ue: entry, id, serving, secondary, neighbours })
    }

    /// Measurements of the secondary cells, by sCellIndex.
    pub fn measured_secondary(&self, ue: &Ue, interference: &Interference) -> Vec<(u8, CellMeasurement)> {
        let measured = |secondary: &SecondaryCell| {
            Some((secondary.index, self.measured(ue, interference, std::iter::once(secondary.cell)).pop()?))
        };
        ue.secondary_cells().iter().filter_map(measured).collect()
    }

    /// Measurements of cells under `interference`, the strongest first; cells that are not measured are left out.
    pub fn measured(
        &self,
        ue: &Ue,
        interference: &Interference,
        cells: impl Iterator<Item = usize>,
    ) -> Vec<CellMeasurement> {
        let measurement = |cell| {
            let rsrp_dbm = self.rsrp_dbm(ue, cell)?;
            let sinr_db = match several_cells(ue.channel()) {
                Some(geometry) => geometry.site_sinr_db(cell, interference),
                None => ue.channel().sinr_db(),
            };
            Some(CellMeasurement { cell, rsrp_dbm, rsrq_db: rsrq_db(sinr_db), sinr_db })
        };
        let mut measured: Vec<CellMeasurement> = cells.filter_map(measurement).collect();
        measured.sort_by(|a, b| b.rsrp_dbm.total_cmp(&a.rsrp_dbm));
        measured
    }
}

/// The geometry of a UE that receives several cells.
fn several_cells(channel: &Channel) -> Option<&Geometry> {
    channel.geometry().filter(|geometry| geometry.sites().len() > 1)
}

/// RSRQ (TS 38.215 5.1.3) from the SINR: the RSSI is measured in symbols whose resource elements the cell occupies all.
fn rsrq_db(sinr_db: f64) -> f64 {
    -10.0 * (12.0 * (1.0 + 10.0_f64.powf(-sinr_db / 10.0))).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_keeps_its_time_characteristic_at_any_rate() {
        let config = MeasurementConfig { filter_coefficient: 4, ..MeasurementConfig::default() };
        assert!((config.weight(FILTER_INTERVAL) - 0.5).abs() < 1e-12);
        // five samples of 40 ms weigh as one of 200 ms
        let kept = (1.0 - config.weight(SAMPLE_INTERVAL)).powi(5);
        assert!((kept - 0.5).abs() < 1e-12);
        assert_eq!(MeasurementConfig { filter_coefficient: 0, ..config }.weight(SAMPLE_INTERVAL), 1.0);
    }

    #[test]
    fn conditions_hold_where_the_specification_says() {
        let margin = |condition: EventCondition, own, other| condition.margin_db(own, other);
        assert_eq!(margin(EventCondition::A1 { threshold_dbm: -90.0 }, -85.0, f64::NAN), 5.0);
        assert_eq!(margin(EventCondition::A2 { threshold_dbm: -90.0 }, -85.0, f64::NAN), -5.0);
        assert_eq!(margin(EventCondition::A3 { offset_db: 3.0 }, -85.0, -80.0), 2.0);
        assert_eq!(margin(EventCondition::A4 { threshold_dbm: -90.0 }, -85.0, -92.0), -2.0);
        let a5 = EventCondition::A5 { serving_dbm: -100.0, neighbour_dbm: -95.0 };
        // both conditions must hold
        assert_eq!([margin(a5, -105.0, -90.0), margin(a5, -99.0, -80.0), margin(a5, -110.0, -96.0)], [5.0, -1.0, -1.0]);
        assert_eq!(margin(EventCondition::B1 { threshold_dbm: -90.0 }, -85.0, -89.0), 1.0);
        assert_eq!(margin(EventCondition::B2 { serving_dbm: -80.0, neighbour_dbm: -90.0 }, -85.0, -89.0), 1.0);
    }

    #[test]
    fn rsrq_follows_sinr() {
        // without interference, and with as much interference as signal
        assert!((rsrq_db(60.0) + 10.79).abs() < 0.01 && (rsrq_db(0.0) + 13.80).abs() < 0.01);
    }
}
