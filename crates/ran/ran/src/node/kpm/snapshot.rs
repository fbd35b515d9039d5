//! The counters at the start of a period, and their growth since.

use e2sm::common::{FiveQi, PlmnIdentity, SNssai};
use e2sm::kpm::MeasurementLabel;
use ferric::agent::Ue;
use radio::phy::Direction;
use radio::{Cell, MobilityCounts, PrbUsage, Subscription, UeEntry};
use ran_functions::kpm::MeasuredObject;

use super::Kpi;
use crate::counters::Counters;
use crate::node::{Node, place_of, selected_network, selected_slice};

/// The counters at a moment.
#[derive(Debug, Default)]
pub struct CounterSnapshot {
    /// Its number among the snapshots of its node.
    serial: u64,
    /// The counters by place.
    stays: Vec<(UeEntry, Counters)>,
    /// The counters by subscription of UEs whose places have been reused, and of those for which the cell is a secondary cell: a
    /// subscription may be in several entries.
    past: Vec<(Subscription, Counters)>,
    pub(super) at: radio::Time,
    pub(super) dl_usage: PrbUsage,
    pub(super) ul_usage: PrbUsage,
    pub(super) mobility: MobilityCounts,
    /// The energy of the cell, in joules.
    pub(super) energy_j: f64,
}

/// The growth of the counters of an object that was computed last. A report has several measurements of the same object.
#[derive(Debug, Default)]
pub struct GrowthCache {
    snapshots: u64,
    last: Option<(GrowthKey, Counters)>,
}

/// What the growth of counters depends on: the snapshot, the model's time, the UE or the cell, and the label.
#[derive(Debug, PartialEq)]
struct GrowthKey {
    snapshot: u64,
    now: radio::Time,
    ue: Option<Ue>,
    label: MeasurementLabel,
}

impl GrowthCache {
    /// Forgets the last growth: the model or the UEs' contexts may have changed.
    pub fn clear(&mut self) {
        self.last = None;
    }
}

impl Node {
    /// Overwrites a snapshot with the present state.
    pub(super) fn fill_snapshot(&self, mark: &mut CounterSnapshot) {
        let cell = self.cell();
        let mut cache = self.growth.borrow_mut();
        cache.snapshots += 1;
        mark.serial = cache.snapshots;
        mark.stays.clear();
        mark.stays.extend((0..cell.ue_indices()).map(|at| (*cell.ue_entry(at), Counters::of(&cell, at))));
        mark.past.clear();
        mark.past.extend(cell.departed_counts().iter().map(|(chosen, counts)| (*chosen, Counters::from(counts))));
        mark.past.extend(cell.secondary_sums().iter().map(|(chosen, counts)| (*chosen, Counters::from(counts))));
        mark.at = cell.now();
        mark.dl_usage = *cell.usage(Direction::Downlink);
        mark.ul_usage = *cell.usage(Direction::Uplink);
        mark.mobility = *self.simulation.borrow().model.network.mobility_counts(self.cell_number());
        mark.energy_j = cell.energy_j();
    }

    /// The usage of the cell since a snapshot, in the direction of a usage measurement; None for other measurements.
    pub(super) fn usage(&self, since: &CounterSnapshot, kpi: Kpi) -> Option<PrbUsage> {
        let cell = self.cell();
        match kpi {
            Kpi::PrbTotDl | Kpi::PrbDistDl => Some(cell.usage(Direction::Downlink).since(&since.dl_usage)),
            Kpi::PrbTotUl | Kpi::PrbDistUl => Some(cell.usage(Direction::Uplink).since(&since.ul_usage)),
            _ => None,
        }
    }

    /// Calls `read` with the growth of an object's counters since a snapshot.
    pub(super) fn growth<T>(
        &self,
        since: &CounterSnapshot,
        object: MeasuredObject<'_>,
        label: &MeasurementLabel,
        read: impl FnOnce(&Counters) -> T,
    ) -> T {
        let ue = match object {
            MeasuredObject::Cell | MeasuredObject::OneCell(_) => None,
            MeasuredObject::Ues([ue]) => Some(*ue),
            MeasuredObject::Ues(_) => return read(&self.counted(since, object, label)),
        };
        let key = GrowthKey { snapshot: since.serial, now: self.cell().now(), ue, label: *label };
        let mut cache = self.growth.borrow_mut();
        match &cache.last {
            Some((of, counters)) if *of == key => read(counters),
            _ => {
                let counters = self.counted(since, object, label);
                let value = read(&counters);
                cache.last = Some((key, counters));
                value
            }
        }
    }

    /// The counters since a snapshot.
    pub(super) fn counted(
        &self,
        since: &CounterSnapshot,
        object: MeasuredObject<'_>,
        label: &MeasurementLabel,
    ) -> Counters {
        let cell = self.cell();
        let mut sum = Counters::default();
        self.for_each_place(object, label, &mut |at| {
            sum += &Counters::of(&cell, at);
            if let Some((_, before)) = since.stays.get(at).filter(|(stay, _)| stay == cell.ue_entry(at)) {
                sum -= before;
            }
        });
        if !matches!(object, MeasuredObject::Ues(_)) {
            sum += &since.former_ues(&cell, label);
        }
        sum
    }

    /// Calls `take` with the places of the UEs that belong to the object and match the label.
    pub(super) fn for_each_place(
        &self,
        object: MeasuredObject<'_>,
        label: &MeasurementLabel,
        take: &mut dyn FnMut(usize),
    ) {
        let mut take = |at: usize| {
            let Some(context) = self.contexts.get(at) else { return };
            if matches_label(label, context.plmn, context.slice[0], context.five_qi[0], context.qfi) {
                take(at);
            }
        };
        match object {
            MeasuredObject::Cell | MeasuredObject::OneCell(_) => (0..self.contexts.len()).for_each(take),
            // also UEs that have left, until their place is reused
            MeasuredObject::Ues(ues) => {
                let is_current = |ue: &&Ue| self.contexts.get(place_of(**ue)).is_some_and(|context| context.ue == **ue);
                ues.iter().filter(is_current).for_each(|ue| take(place_of(*ue)));
            }
        }
    }
}

/// Whether a label matches a UE of a network and a slice, with a bearer of a 5QI and a flow of an identifier.
fn matches_label(label: &MeasurementLabel, plmn: PlmnIdentity, slice: SNssai, five_qi: FiveQi, qfi: u8) -> bool {
    label.plmn_id.is_none_or(|wanted| wanted == plmn)
        && label.slice_id.is_none_or(|wanted| wanted == slice)
        && label.qfi.is_none_or(|wanted| wanted.0 == qfi)
        && label.five_qi.is_none_or(|wanted| wanted == five_qi)
}

impl CounterSnapshot {
    /// The counters since the snapshot of UEs that have left and whose places have been reused, and of those for which the cell is
    /// a secondary cell. They are known by subscription, which does not contain later changes of their 5QI.
    fn former_ues(&self, cell: &Cell, label: &MeasurementLabel) -> Counters {
        let is_matched = |chosen: &Subscription| {
            let network = selected_network(chosen);
            matches_label(label, network, selected_slice(chosen), FiveQi(chosen.five_qi), chosen.five_qi)
        };
        let mut sum = Counters::default();
        let secondary = cell.secondary_sums();
        let sums = cell.departed_counts().iter().chain(&secondary);
        sums.filter(|(chosen, _)| is_matched(chosen)).for_each(|(_, counts)| sum += &Counters::from(counts));
        self.past.iter().filter(|(chosen, _)| is_matched(chosen)).for_each(|(_, before)| sum -= before);
        // subtracts what was counted before the snapshot
        let former =
            self.stays.iter().filter(|(stay, _)| stay != cell.ue_entry(stay.index) && is_matched(&stay.subscription));
        former.for_each(|(_, counters)| sum -= counters);
        sum
    }
}
