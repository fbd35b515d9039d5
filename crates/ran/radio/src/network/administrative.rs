//! Cells that are locked or shutting down (TS 28.625 6, ITU-T X.731): their UEs are handed over to the best neighbour or released.

use super::recovery::Absent;
use super::{DepartureCause, Network};
use crate::{AdministrativeState, Time};

impl Network {
    /// Moves the UEs out of a cell that is locked or shutting down, as many in an epoch as the neighbours have dedicated
    /// preambles. A UE that no neighbour can take is released when the cell is locked.
    pub(super) fn evacuate(&mut self, cell: usize, now: Time) {
        let handover = self.handover;
        self.sites[cell].update_administrative_state(now, &handover);
        let state = self.sites[cell].cell.administrative_state();
        if state == AdministrativeState::Unlocked || self.sites[cell].cell.ue_count() == 0 {
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
                None if state == AdministrativeState::Locked => self.release(cell, index, now),
                None => {}
            }
        }
    }

    /// Releases a UE of a locked cell to RRC_IDLE.
    fn release(&mut self, cell: usize, index: usize, now: Time) {
        if let Some(ue) = self.sites[cell].leave(index, DepartureCause::CellLocked) {
            self.sites[cell].counts.released_locked += 1;
            self.absent.push(Absent::idle(ue, cell, now));
        }
    }
}
