//! How far cells can run without each other.
//!
//! Cells interact in epochs: interference is exchanged every [`INTERVAL`], and UEs that move, fail or search for a cell concern
//! several cells. An epoch in which nothing of that happens needs no other cell, so a cell runs through it alone, while its
//! state is in the caches. What follows says for each cell the earliest epoch in which something can happen, never a later
//! one: the results are those of cells that meet in every epoch.

use super::interference::INTERVAL;
use super::recovery::Absent;
use super::site::Site;
use super::{EPOCH, HandoverConfig, Network};
use crate::{AdministrativeState, Time};

impl Network {
    /// The next epoch in which cells may interact, for an advance until `until`.
    pub(super) fn next_interaction(&self, until: Time) -> Time {
        let Some(next) = self.sites.first().map(|site| site.next_epoch) else { return Time::NEVER };
        if until < next + EPOCH || self.sites.iter().any(Site::needs_others) {
            return next;
        }
        let exchange = if self.exchange.is_shared() { first_at_or_after(next, INTERVAL) } else { Time::NEVER };
        let searches = self.absent.iter().map(Absent::next_step);
        let sites = self.sites.iter().map(|site| site.next_outcome(&self.handover));
        searches.chain(sites).min().map_or(exchange, |at| first_at_or_after(at, EPOCH).clamp(next, exchange))
    }
}

impl Site {
    /// Whether the next epoch needs other cells: a message of a handover is pending, UEs are to leave the cell, or it begins or
    /// ends to transmit.
    fn needs_others(&self) -> bool {
        !self.commands.is_empty()
            || !self.conditional_orders.is_empty()
            || self.is_power_state_changing()
            || self.cell.saves_energy()
            || self.shutdown_ends.is_some()
            || match self.cell.administrative_state() {
                AdministrativeState::Unlocked => false,
                AdministrativeState::ShuttingDown => true,
                AdministrativeState::Locked => self.cell.ue_count() > 0,
            }
    }

    /// The earliest time at which an epoch of the cell can concern other cells, UEs that arrive until then included.
    fn next_outcome(&self, config: &HandoverConfig) -> Time {
        let (next, mut first) = (self.next_epoch, self.next_refusal(config));
        if config.link.is_enabled {
            // a UE whose link fails looks for a cell some time later
            let failures = self.monitors.iter().map(|monitor| monitor.next_failure(next, &config.link));
            first = first.min(failures.fold(next + config.link.t310, Time::min) + config.link.search);
        }
        let (event, is_conditional) = (config.event(), config.conditional.is_some());
        let triggers = self.measurements.iter().filter_map(|of_ue| of_ue.next_trigger(next, event, is_conditional));
        // a UE that arrives is measured by the event of the cell
        let arriving = event.map(|event| next + event.time_to_trigger);
        triggers.chain(arriving).fold(first, Time::min)
    }
}

/// The first multiple of a period at or after a time.
fn first_at_or_after(at: Time, period: std::time::Duration) -> Time {
    let period = period.as_nanos() as u64;
    at.as_nanos().checked_next_multiple_of(period).map_or(Time::NEVER, Time::from_nanos)
}
