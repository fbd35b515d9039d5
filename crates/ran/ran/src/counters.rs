//! What is counted of a UE since it came to its cell, as measurements are made of it.

use std::ops::{AddAssign, Sub};

use radio::rlc::PDCP_HEADER_OCTETS;
use radio::{Cell, UeCounts};

/// How often each CQI was reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cqis(pub [u64; 16]);

impl AddAssign for Cqis {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }
}

impl Sub for Cqis {
    type Output = Cqis;

    fn sub(self, before: Self) -> Cqis {
        Cqis(std::array::from_fn(|cqi| self.0[cqi] - before.0[cqi]))
    }
}

macro_rules! counters {
    ($($(#[$comment:meta])* $name:ident: $kind:ty,)*) => {
        /// Of a UE, or of several together. They only ever grow.
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
    /// Sums over them.
    cqi: u64,
    sinr_db: f64,
    rsrp_dbm: f64,
    downlink_prbs: u64,
    uplink_prbs: u64,
    /// Slots of the direction with something to send.
    downlink_active: u64,
    uplink_active: u64,
    /// Packets that came from the core for traffic control, that it dropped, and that it let go on.
    core_came_packets: u64,
    core_dropped_packets: u64,
    core_went_packets: u64,
    /// How long the latter waited there, in nanoseconds.
    core_sojourn_nanos: u64,
    /// PDCP SDUs that came from there for the radio bearers, and their octets.
    downlink_came_packets: u64,
    downlink_came_octets: u64,
    downlink_dropped_packets: u64,
    downlink_sent_packets: u64,
    downlink_sent_octets: u64,
    /// How long they waited in RLC, in nanoseconds.
    downlink_sojourn_nanos: u64,
    uplink_delivered_packets: u64,
    uplink_delivered_octets: u64,
    uplink_lost_packets: u64,
    /// How long UEs were there, and how long of that inactive.
    present_nanos: u64,
    inactive_nanos: u64,
    cqis: Cqis,
}

/// Octets of packets without PDCP's headers.
fn payload(octets: u64, packets: u64) -> u64 {
    octets.saturating_sub(packets * u64::from(PDCP_HEADER_OCTETS))
}

impl Counters {
    /// Of the UE at a place in a cell, also after it has left.
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
            downlink_prbs: down.prbs,
            uplink_prbs: up.prbs,
            downlink_active: down.active_slots,
            uplink_active: up.active_slots,
            core_came_packets: counts.tc.came_packets,
            core_dropped_packets: counts.tc.dropped_packets,
            core_went_packets: counts.tc.went_packets,
            core_sojourn_nanos: counts.tc.sojourn_ns,
            downlink_came_packets: dl_rlc.in_packets,
            downlink_came_octets: payload(dl_rlc.in_octets, dl_rlc.in_packets),
            downlink_dropped_packets: dl_rlc.full_packets + dl_rlc.discarded_packets,
            downlink_sent_packets: dl_rlc.sent_packets,
            downlink_sent_octets: dl_rlc.sent_octets,
            downlink_sojourn_nanos: dl_rlc.sojourn_ns,
            uplink_delivered_packets: ul_rlc.delivered_packets,
            uplink_delivered_octets: payload(ul_rlc.delivered_octets, ul_rlc.delivered_packets),
            uplink_lost_packets: ul_rlc.lost_packets,
            present_nanos: counts.present.as_nanos() as u64,
            inactive_nanos: counts.inactive.as_nanos() as u64,
            cqis: Cqis(down.cqis),
        }
    }
}
