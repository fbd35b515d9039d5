//! Cells that are locked or shutting down (TS 28.625 6, ITU-T X.731), or are ordered to save energy (TS 28.310 5.1.3): their UEs are
//! handed over to the best neighbour or released.

use super::recovery::Absent;
use super::{DepartureCause, Network};
use crate::{AdministrativeState, Time};

impl Network {
    /// Moves the UEs out of a cell that is locked, shutting down or about to sleep, as many in an epoch as the neighbours have
    /// dedicated preambles. A UE that no neighbour can take is released when the cell is locked, or the grace before its sleep is
    /// over.
    pub(super) fn evacuate(&mut self, cell: usize, now: Time) {
        let handover = self.handover;
        let is_grace_over = self.sites[cell].update_administrative_state(now, &handover);
        let site = &self.sites[cell].cell;
        let released = match site.administrative_state() {
            AdministrativeState::Locked => Some(DepartureCause::CellLocked),
            _ if site.saves_energy() => is_grace_over.then_some(DepartureCause::CellAsleep),
            AdministrativeState::ShuttingDown => None,
            AdministrativeState::Unlocked => return,
        };
        if site.ue_count() == 0 {
            return;
        }
        let mut free: Vec<usize> = vec![usize::from(handover.access.dedicated_preambles.max(1)); self.sites.len()];
        for (free, site) in free.iter_mut().zip(&self.sites) {
            *free = free.saturating_sub(site.dedicated_in_use());
        }
        for index in 0..self.sites[cell].cell.ue_indices() {
            let Some(ue) = self.sites[cell].cell.ue(index) else { continue };
            if self.sites[cell].commands.iter().any(|command| command.index == index) {
                continue;
            }
            match self.best_cell(ue, cell, Some(cell)) {
                Some(to) if free[to] > 0 => {
                    free[to] -= 1;
                    // a refused handover is tried again in the next epoch
                    let _ = self.begin_handover(cell, index, to);
                }
                Some(_) => {}
                None => {
                    if let Some(cause) = released {
                        self.release(cell, index, cause, now);
                    }
                }
            }
        }
    }

    /// Informs all cells of which of them can be measured, when this has changed.
    pub(super) fn update_silent_cells(&mut self) {
        for cell in 0..self.sites.len() {
            let is_silent = !self.sites[cell].cell.is_on_air();
            if self.sites[cell].neighbours[cell].is_silent != is_silent {
                self.sites.iter_mut().for_each(|site| site.neighbours[cell].is_silent = is_silent);
            }
        }
    }

    /// Releases a UE of a cell that is locked or goes to sleep to RRC_IDLE.
    fn release(&mut self, cell: usize, index: usize, cause: DepartureCause, now: Time) {
        if let Some(ue) = self.sites[cell].leave(index, cause) {
            let counts = &mut self.sites[cell].counts;
            match cause {
                DepartureCause::CellAsleep => counts.released_asleep += 1,
                _ => counts.released_locked += 1,
            }
            self.absent.push(Absent::idle(ue, cell, now));
        }
    }
}
