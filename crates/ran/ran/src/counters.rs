//! The counters of a UE since it entered its cell, from which measurements are computed.

use std::ops::{AddAssign, Sub};

use radio::rlc::PDCP_HEADER_OCTETS;
use radio::{Cell, UeCounts};

/// The number of reports of each rank, from 1 on, and CQI.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cqis(pub [[u64; 16]; 4]);

impl AddAssign for Cqis {
    fn add_assign(&mut self, other: Self) {
        let each = self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened());
        each.for_each(|(sum, count)| *sum += count);
    }
}

impl Sub for Cqis {
    type Output = Cqis;

    fn sub(self, before: Self) -> Cqis {
        Cqis(std::array::from_fn(|rank| std::array::from_fn(|cqi| self.0[rank][cqi] - before.0[rank][cqi])))
    }
}

macro_rules! counters {
    ($($(#[$comment:meta])* $name:ident: $kind:ty,)*) => {
        /// The counters of a UE, or their sum over several UEs. They never decrease.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Counters {
            $($(#[$comment])* pub $name: $kind,)*
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }

        impl Sub for Counters {
            type Output = Counters;

            fn sub(self, before: Self) -> Counters {
                Counters { $($name: self.$name - before.$name,)* }
            }
        }
    };
}

counters! {
    /// Reports of the channel's quality.
    reports: u64,
    /// Sums over the reports.
    cqi: u64,
    sinr_db: f64,
    rsrp_dbm: f64,
    /// Resource elements for data of the used resource blocks.
    dl_elements: u64,
    ul_elements: u64,
    /// Slots of the direction with data to send.
    dl_active: u64,
    ul_active: u64,
    /// Packets that traffic control received from the core, dropped, and forwarded.
    core_came_packets: u64,
    core_dropped_packets: u64,
    core_went_packets: u64,
    /// The total queueing time of forwarded packets, in nanoseconds.
    core_sojourn_ns: u64,
    /// PDCP SDUs for the radio bearers, and their octets.
    dl_came_packets: u64,
    dl_came_octets: u64,
    dl_dropped_packets: u64,
    dl_sent_packets: u64,
    dl_sent_octets: u64,
    /// Their total queueing time in RLC, in nanoseconds.
    dl_sojourn_ns: u64,
    ul_delivered_packets: u64,
    ul_delivered_octets: u64,
    ul_lost_packets: u64,
    /// The total time in the cell, and the part of it in RRC_INACTIVE, in nanoseconds.
    present_ns: u64,
    inactive_ns: u64,
    cqis: Cqis,
}

/// The octets of packets without PDCP headers.
fn payload(octets: u64, packets: u64) -> u64 {
    octets.saturating_sub(packets * u64::from(PDCP_HEADER_OCTETS))
}

impl Counters {
    /// The counters of the UE at a place of a cell, also after it has left.
    pub fn of(cell: &Cell, place: usize) -> Counters {
        cell.counts(place).map_or_else(Counters::default, |counts| Counters::from(&counts))
    }
}

impl From<&UeCounts> for Counters {
    fn from(counts: &UeCounts) -> Counters {
        let UeCounts { dl: down, ul: up, dl_rlc, ul_rlc, .. } = counts;
        Counters {
            reports: down.reports,
            cqi: down.cqi,
            sinr_db: down.sinr_db,
            rsrp_dbm: down.rsrp_dbm,
            dl_elements: down.elements,
            ul_elements: up.elements,
            dl_active: down.active_slots,
            ul_active: up.active_slots,
            core_came_packets: counts.tc.arrived_packets,
            core_dropped_packets: counts.tc.dropped_packets,
            core_went_packets: counts.tc.departed_packets,
            core_sojourn_ns: counts.tc.sojourn_ns,
            dl_came_packets: dl_rlc.in_packets,
            dl_came_octets: payload(dl_rlc.in_octets, dl_rlc.in_packets),
            dl_dropped_packets: dl_rlc.buffer_full_packets + dl_rlc.discarded_packets,
            dl_sent_packets: dl_rlc.sent_packets,
            dl_sent_octets: dl_rlc.sent_octets,
            dl_sojourn_ns: dl_rlc.sojourn_ns,
            ul_delivered_packets: ul_rlc.delivered_packets,
            ul_delivered_octets: payload(ul_rlc.delivered_octets, ul_rlc.delivered_packets),
            ul_lost_packets: ul_rlc.lost_packets,
            present_ns: counts.present.as_nanos() as u64,
            inactive_ns: counts.inactive.as_nanos() as u64,
            cqis: Cqis(down.cqis),
        }
    }
}
