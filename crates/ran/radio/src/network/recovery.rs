//! UEs without a cell: the search for a cell after a failure, and RRC_IDLE.
//!
//! After a radio link failure or a handover failure a UE selects a cell and re-establishes its connection there (TS 38.331
//! 5.3.7); its packets wait. When T311 or T301 expires it is released to RRC_IDLE: its packets are lost. From then on it
//! sets up a new connection as soon as it finds a suitable cell.

use std::time::Duration;

use super::site::Arrival;
use super::{ArrivalCause, HandoverConfig, Network};
use crate::phy::Surroundings;
use crate::{Time, Ue, UeEntry};

/// The interval in which a UE in RRC_IDLE looks for a cell.
const IDLE_SEARCH: Duration = Duration::from_millis(200);

/// A UE without a cell.
#[derive(Debug)]
pub(super) struct Absent {
    pub ue: Box<Ue>,
    /// The cell that it was last connected to, or tried to, and its identity there.
    pub last: (usize, Option<UeEntry>),
    pub phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It selects a cell for a re-establishment until T311 expires.
    Searching { from: Time, t311: Time },
    /// It is in RRC_IDLE.
    Idle { next: Time },
}

impl Phase {
    /// When the UE looks for a cell next, in the first epoch from then on.
    fn next_step(self) -> Time {
        match self {
            Phase::Searching { from, .. } => from,
            Phase::Idle { next } => next,
        }
    }
}

impl Absent {
    /// When the network has to process it next.
    pub fn next_step(&self) -> Time {
        self.phase.next_step().min(self.ue.leaves_at())
    }

    /// A UE that begins the search after a failure.
    pub fn searching(ue: Box<Ue>, last: (usize, Option<UeEntry>), now: Time, config: &HandoverConfig) -> Self {
        let phase = Phase::Searching { from: now + config.link.search, t311: now + config.link.t311 };
        Absent { ue, last, phase }
    }

    /// A UE that is released.
    pub fn idle(mut ue: Box<Ue>, cell: usize, next: Time) -> Self {
        ue.release_bearers();
        Absent { ue, last: (cell, None), phase: Phase::Idle { next } }
    }
}

impl Network {
    /// Lets the UEs without a cell search for one.
    pub(super) fn search_cells(&mut self) {
        for mut absent in std::mem::take(&mut self.absent) {
            let now = self.sites[absent.last.0].cell.now();
            let ue = &mut absent.ue;
            if ue.leaves_at() <= now {
                continue;
            }
            if now < absent.phase.next_step() {
                self.absent.push(absent);
                continue;
            }
            ue.channel.update(now, &Surroundings::undisturbed(), &mut ue.random);
            ue.flows_at(now);
            match absent.phase {
                Phase::Searching { t311, .. } => {
                    if let Some(cell) = self.best_cell(&absent.ue, absent.last.0, None) {
                        self.begin_access(absent, cell, ArrivalCause::Reestablishment, now);
                    } else if t311 <= now {
                        let cell = absent.last.0;
                        self.sites[cell].counts.released_lost += 1;
                        self.absent.push(Absent::idle(absent.ue, cell, now));
                    } else {
                        self.absent.push(absent);
                    }
                }
                Phase::Idle { .. } => {
                    absent.ue.release_bearers();
                    if let Some(cell) = self.best_cell(&absent.ue, absent.last.0, None) {
                        self.begin_access(absent, cell, ArrivalCause::Setup, now);
                    } else {
                        absent.phase = Phase::Idle { next: now + IDLE_SEARCH };
                        self.absent.push(absent);
                    }
                }
            }
        }
    }

    /// Begins the random access to the selected cell.
    fn begin_access(&mut self, absent: Absent, cell: usize, cause: ArrivalCause, now: Time) {
        let Absent { mut ue, last: (last, entry), .. } = absent;
        let at = now + self.handover.interruption();
        let counts = &mut self.sites[cell].counts;
        let (timer, from) = if cause == ArrivalCause::Reestablishment {
            counts.reestablishments_attempted += 1;
            (self.handover.link.t301, entry.map(|entry| (last, entry)))
        } else {
            counts.setups_attempted += 1;
            (self.handover.access.t300, None)
        };
        ue.set_serving_cell(cell);
        let deadline = now + timer;
        self.sites[cell].schedule_arrival(Arrival {
            at,
            cell,
            cause,
            from,
            deadline,
            is_dedicated: false,
            attempts: 0,
            ue,
        });
    }

    /// The strongest cell that admits a UE and is strong enough; among cells of equal strength the one with the fewest UEs.
    /// `last` is the cell that it was last in, whose radio access technology it uses.
    pub(super) fn best_cell(&self, ue: &Ue, last: usize, except: Option<usize>) -> Option<usize> {
        let rat = self.sites[last].cell.config().carrier.rat;
        let (mut best, mut best_dbm) = (None::<usize>, self.handover.min_rsrp_dbm);
        for (cell, site) in self.sites.iter().enumerate() {
            if Some(cell) == except
                || !site.cell.admits_ues()
                || !site.has_room()
                || site.cell.config().carrier.rat != rat
            {
                continue;
            }
            let rsrp_dbm = received_dbm(ue, cell);
            let is_better = match best {
                None => rsrp_dbm >= best_dbm,
                Some(other) => {
                    rsrp_dbm > best_dbm
                        || rsrp_dbm == best_dbm
                            && (site.load() < self.sites[other].load() && other != last || cell == last)
                }
            };
            if is_better {
                (best, best_dbm) = (Some(cell), rsrp_dbm);
            }
        }
        best
    }
}

/// RSRP of a cell at a UE. A channel that does not depend on the position is the same in every cell.
pub(super) fn received_dbm(ue: &Ue, cell: usize) -> f64 {
    match ue.channel.geometry() {
        Some(geometry) if geometry.sites().len() > 1 => geometry.rsrp_dbm(cell),
        _ => ue.channel.rsrp_dbm(),
    }
}
