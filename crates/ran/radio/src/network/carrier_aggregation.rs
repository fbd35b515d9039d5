//! Carrier aggregation (TS 38.300 6.7, TS 36.300 5.5): which cells of a base station are secondary cells of its UEs, and when they
//! are activated.
//!
//! The cells of a base station advance slot by slot together, since the scheduler of each carrier serves the same RLC entities. A
//! cell becomes a secondary cell of a UE by event A4 (TS 38.331 5.5.4.5) and is one until event A2 (5.5.4.3), a handover, or the
//! UE's inactivity. The base station activates it while the UE has much to receive (TS 38.321 5.9).

use std::time::Duration;

use super::site::Site;
use super::trigger::TriggerConfig;
use super::{EventCondition, HandoverConfig, MeasurementConfig, NetworkEvent};
use crate::cell::PrimaryCells;
use crate::phy::Spectrum;
use crate::{Cell, Time, Ue};

/// When cells are secondary cells of UEs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarrierAggregationConfig {
    /// Event A4: a cell of the base station is added when its RSRP is above this, in dBm. Default: -110.
    pub addition_dbm: f64,
    /// Event A2: a secondary cell is released when its RSRP is below this, in dBm. Default: -114.
    pub release_dbm: f64,
    /// Hysteresis of both events, in dB. Default: 1.
    pub hysteresis_db: f64,
    /// timeToTrigger of both events. Default: 160 ms.
    pub time_to_trigger: Duration,
    /// Secondary cells are activated while more than this waits in RLC, in octets. Default: 10,000.
    pub activation_octets: u32,
    /// The time from the MAC CE until the secondary cell can be used. Default: 24 ms, that of a known cell (TS 36.133 7.7.2).
    pub activation_delay: Duration,
    /// sCellDeactivationTimer, without which an activated cell stays so. Default: 160 ms.
    pub deactivation_timer: Option<Duration>,
}

impl Default for CarrierAggregationConfig {
    fn default() -> Self {
        CarrierAggregationConfig {
            addition_dbm: -110.0,
            release_dbm: -114.0,
            hysteresis_db: 1.0,
            time_to_trigger: Duration::from_millis(160),
            activation_octets: 10_000,
            activation_delay: Duration::from_millis(24),
            deactivation_timer: Some(Duration::from_millis(160)),
        }
    }
}

impl CarrierAggregationConfig {
    fn trigger(&self) -> TriggerConfig {
        TriggerConfig { hysteresis_db: self.hysteresis_db, time_to_trigger: self.time_to_trigger }
    }
}

/// The cells of a base station without the one that runs.
struct OtherCells<'a> {
    /// The number of the first cell.
    first: usize,
    before: &'a mut [Site],
    after: &'a mut [Site],
}

impl OtherCells<'_> {
    fn cell(&mut self, cell: usize) -> Option<&mut Cell> {
        let at = cell.checked_sub(self.first)?;
        let site = match at.checked_sub(self.before.len()) {
            None => self.before.get_mut(at)?,
            Some(at) => self.after.get_mut(at.checked_sub(1)?)?,
        };
        Some(&mut site.cell)
    }
}

impl PrimaryCells for OtherCells<'_> {
    fn ue(&mut self, cell: usize, index: usize) -> Option<&mut Ue> {
        self.cell(cell)?.ue_unchanged(index)
    }

    fn ue_mut(&mut self, cell: usize, index: usize) -> Option<&mut Ue> {
        self.cell(cell)?.ue_mut(index)
    }
}

/// Splits the cells of a base station into one and the others.
fn split(sites: &mut [Site], at: usize) -> (&mut Site, OtherCells<'_>) {
    let first = sites[0].number;
    let (before, rest) = sites.split_at_mut(at);
    let Some((site, after)) = rest.split_first_mut() else { unreachable!("a cell of the base station") };
    (site, OtherCells { first, before, after })
}

/// Whether two cells can serve a UE together: of one technology, on carriers that do not overlap.
pub(super) fn can_aggregate(one: &Cell, other: &Cell) -> bool {
    let [a, b] = [one, other].map(|cell| cell.grid());
    a.carrier().rat == b.carrier().rat && !Spectrum::new(a).overlaps(&Spectrum::new(b))
}

/// Runs the cells of a base station until `until`, but not beyond `interaction`: see [`Site::advance`].
pub(super) fn advance(
    sites: &mut [Site],
    until: Time,
    (interaction, is_exchange): (Time, bool),
    config: (&HandoverConfig, &MeasurementConfig, &CarrierAggregationConfig),
) {
    let (handover, measurement, aggregation) = config;
    if let [site] = sites {
        return site.advance(until, (interaction, is_exchange), handover, measurement);
    }
    while sites.first().is_some_and(|site| site.next_epoch <= until.min(interaction)) {
        let epoch = sites[0].next_epoch;
        run(sites, epoch);
        for site in sites.iter_mut() {
            site.end_epoch(is_exchange && epoch == interaction, handover, measurement);
        }
        release_departed(sites);
        (0..sites.len()).for_each(|primary| update_primary(sites, primary, epoch, aggregation));
    }
    if until < interaction {
        run(sites, until);
    }
}

/// Runs all slots that begin before `until`, in the order of time, and of cells at equal times.
fn run(sites: &mut [Site], until: Time) {
    if sites.iter().all(|site| site.cell.has_no_guests()) {
        return sites.iter_mut().for_each(|site| site.cell.advance(until));
    }
    while let Some((at, _)) = sites
        .iter()
        .enumerate()
        .map(|(at, site)| (at, site.cell.now()))
        .filter(|(_, now)| *now < until)
        .min_by_key(|(at, now)| (*now, *at))
    {
        let (site, mut others) = split(sites, at);
        site.cell.step_among(&mut others);
    }
}

/// Releases the cells of UEs that have left their primary cell.
fn release_departed(sites: &mut [Site]) {
    for at in 0..sites.len() {
        if sites[at].cell.has_no_guests() {
            continue;
        }
        let (site, mut others) = split(sites, at);
        let mut is_gone = |primary, index, number, secondary| {
            others
                .ue(primary, index)
                .is_none_or(|ue| ue.number() != number || !ue.secondary_cells().contains(&secondary))
        };
        let guests = site.cell.guests();
        let gone: Vec<u32> = guests
            .filter(|(_, guest)| is_gone(guest.primary, guest.index, guest.number, guest.secondary))
            .map(|(place, _)| place)
            .collect();
        gone.into_iter().for_each(|place| site.cell.release_guest(place, None));
    }
}

/// Releases, adds and activates the secondary cells of the UEs of a cell.
fn update_primary(sites: &mut [Site], primary: usize, now: Time, config: &CarrierAggregationConfig) {
    let first = sites[0].number;
    for index in 0..sites[primary].cell.ue_indices() {
        let changes = {
            let Site { cell, measurements, neighbours, number, .. } = &mut sites[primary];
            let Some(ue) = cell.ue(index).filter(|ue| ue.max_carriers() > 1) else { continue };
            let Some(measurements) = measurements.get_mut(index) else { continue };
            let decision = measurements.evaluate_carriers(now, ue, *number, neighbours, config);
            Changes { decision, is_connected: ue.is_connected, waiting: ue.downlink_demand(now) }
        };
        let of_ue =
            |sites: &[Site]| sites[primary].cell.ue(index).map_or(Vec::new(), |ue| ue.secondary_cells().to_vec());
        for secondary in of_ue(sites) {
            let (site, mut others) = split(sites, secondary.cell - first);
            let is_weak = changes.decision.weak.contains(&secondary.cell);
            if is_weak || !changes.is_connected || !site.cell.admits_ues() {
                let ue = others.ue_mut(first + primary, index);
                site.cell.release_guest(secondary.guest, ue);
                let ue = *sites[primary].cell.ue_entry(index);
                sites[primary].push_event(NetworkEvent::SecondaryCellReleased { ue, secondary });
            } else if changes.waiting > config.activation_octets {
                site.cell.activate_guest(secondary.guest, config.activation_delay, config.deactivation_timer);
            }
        }
        if !changes.is_connected {
            continue;
        }
        for candidate in &changes.decision.strong {
            let (site, mut others) = split(sites, candidate - first);
            let Some(ue) = others.ue_mut(first + primary, index) else { continue };
            let used = ue.secondary_cells();
            let has_room = used.len() + 1 < usize::from(ue.max_carriers());
            let is_compatible = used.iter().all(|other| site.neighbours[other.cell].is_aggregable);
            if has_room && is_compatible && !ue.is_secondary(*candidate) && site.cell.admits_ues() {
                let free = (1..).find(|index| used.iter().all(|other| other.index != *index)).unwrap_or(u8::MAX);
                let secondary = site.cell.add_guest((first + primary, index), *candidate, ue, free);
                let ue = *sites[primary].cell.ue_entry(index);
                sites[primary].push_event(NetworkEvent::SecondaryCellAdded { ue, secondary });
            }
        }
    }
}

/// What the base station decides about the carriers of a UE.
struct Changes {
    decision: CarrierDecision,
    is_connected: bool,
    /// What waits in RLC, in octets.
    waiting: u32,
}

/// What the measurements of a UE say about the cells of its base station.
#[derive(Debug, Default)]
pub(super) struct CarrierDecision {
    /// Cells for which event A4 is triggered, the strongest first.
    pub strong: Vec<usize>,
    /// Secondary cells for which event A2 is triggered.
    pub weak: Vec<usize>,
}

impl super::UeMeasurements {
    /// Evaluates event A4 of the cells of the base station that are not serving, and event A2 of the secondary cells.
    fn evaluate_carriers(
        &mut self,
        now: Time,
        ue: &Ue,
        serving: usize,
        neighbours: &[super::Neighbour],
        config: &CarrierAggregationConfig,
    ) -> CarrierDecision {
        let measured = |cell: usize| Some((cell, self.rsrp_dbm(ue, cell)?));
        let margins = |condition: EventCondition, cells: &[(usize, f64)]| -> Vec<(usize, f64)> {
            let margin = |(cell, dbm): &(usize, f64)| match condition {
                EventCondition::A2 { .. } => (*cell, condition.margin_db(*dbm, f64::NAN)),
                _ => (*cell, condition.margin_db(f64::NAN, *dbm)),
            };
            cells.iter().map(margin).collect()
        };
        let is_candidate =
            |cell: &usize| *cell != serving && neighbours[*cell].is_aggregable && !ue.is_secondary(*cell);
        let others: Vec<_> = (0..neighbours.len()).filter(is_candidate).filter_map(measured).collect();
        let secondary: Vec<_> = ue.secondary_cells().iter().filter_map(|secondary| measured(secondary.cell)).collect();
        let strong = margins(EventCondition::A4 { threshold_dbm: config.addition_dbm }, &others);
        let weak = margins(EventCondition::A2 { threshold_dbm: config.release_dbm }, &secondary);
        let mut decision = CarrierDecision::default();
        self.addition.evaluate(now, strong.iter().copied(), config.trigger());
        self.release.evaluate(now, weak.iter().copied(), config.trigger());
        let dbm = |cell: usize| others.iter().find(|(other, _)| *other == cell).map(|(_, dbm)| *dbm);
        decision.strong = self.addition.triggered().filter(|cell| dbm(*cell).is_some()).collect();
        decision.strong.sort_by(|a, b| dbm(*b).unwrap_or_default().total_cmp(&dbm(*a).unwrap_or_default()));
        decision.weak = self.release.triggered().filter(|cell| ue.is_secondary(*cell)).collect();
        self.addition.keep(|cell| others.iter().any(|(other, _)| *other == cell));
        self.release.keep(|cell| ue.is_secondary(cell));
        decision
    }
}
