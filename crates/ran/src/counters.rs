//! What is counted of a UE since it came to its cell, as measurements are made of it.

use std::ops::{AddAssign, Sub};

use radio::rlc::{PDCP_HEADER_OCTETS, RlcCounts};
use radio::{Cell, LinkCounts, Ue};

/// How often each CQI was reported.
pub type Cqis = [u64; 16];

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
    /// PDCP SDUs that came from the core for the radio bearers, and their octets.
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
}

/// Octets of packets without PDCP's headers.
fn payload(octets: u64, packets: u64) -> u64 {
    octets.saturating_sub(packets * u64::from(PDCP_HEADER_OCTETS))
}

impl Counters {
    /// Of the UE at a place in a cell, also after it has left.
    pub fn of(cell: &Cell, place: usize) -> Counters {
        match cell.ue(place) {
            Some(ue) => Counters::of_ue(ue),
            None => cell.counts(place).map_or_else(Counters::default, |counts| {
                Counters::from_layers(&counts.down, &counts.up, &counts.down_rlc, &counts.up_rlc)
            }),
        }
    }

    fn of_ue(ue: &Ue) -> Counters {
        let (mut down, mut up) = (RlcCounts::default(), RlcCounts::default());
        for bearer in ue.bearers() {
            down += *bearer.downlink().counts();
            up += *bearer.uplink().counts();
        }
        Counters::from_layers(ue.downlink().counts(), ue.uplink().counts(), &down, &up)
    }

    fn from_layers(down: &LinkCounts, up: &LinkCounts, down_rlc: &RlcCounts, up_rlc: &RlcCounts) -> Counters {
        Counters {
            reports: down.reports,
            cqi: down.cqi,
            sinr_db: down.sinr_db,
            rsrp_dbm: down.rsrp_dbm,
            downlink_prbs: down.prbs,
            uplink_prbs: up.prbs,
            downlink_active: down.active_slots,
            uplink_active: up.active_slots,
            downlink_came_packets: down_rlc.in_packets,
            downlink_came_octets: payload(down_rlc.in_octets, down_rlc.in_packets),
            downlink_dropped_packets: down_rlc.full_packets + down_rlc.discarded_packets,
            downlink_sent_packets: down_rlc.sent_packets,
            downlink_sent_octets: down_rlc.sent_octets,
            downlink_sojourn_nanos: down_rlc.sojourn_nanos,
            uplink_delivered_packets: up_rlc.delivered_packets,
            uplink_delivered_octets: payload(up_rlc.delivered_octets, up_rlc.delivered_packets),
            uplink_lost_packets: up_rlc.lost_packets,
        }
    }
}

/// How often the UE at a place reported each CQI.
pub fn cqis(cell: &Cell, place: usize) -> Cqis {
    match cell.ue(place) {
        Some(ue) => ue.downlink().counts().cqis,
        None => cell.counts(place).map_or([0; 16], |counts| counts.down.cqis),
    }
}
