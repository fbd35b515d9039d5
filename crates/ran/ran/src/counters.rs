//! The counters of a UE since it entered its cell, from which measurements are computed.

use std::ops::{AddAssign, SubAssign};

use radio::rlc::PDCP_HEADER_OCTETS;
use radio::{Cell, UeCounts};

/// A number of counters with an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Histogram<const N: usize>(pub [u64; N]);

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Histogram([0; N])
    }
}

impl<const N: usize> AddAssign for Histogram<N> {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum += count);
    }
}

impl<const N: usize> SubAssign for Histogram<N> {
    fn sub_assign(&mut self, before: Self) {
        self.0.iter_mut().zip(before.0).for_each(|(count, before)| *count -= before);
    }
}

/// Histograms of ranks 1 to 4.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByRank<const N: usize>([Histogram<N>; 4]);

impl<const N: usize> ByRank<N> {
    fn new(counts: [[u64; N]; 4]) -> Self {
        ByRank(counts.map(Histogram))
    }

    /// The sum of the counters whose rank and index are wanted.
    pub fn sum_in(&self, is_rank: impl Fn(f64) -> bool, is_index: impl Fn(f64) -> bool) -> u64 {
        let ranks = (1..).zip(&self.0).filter(|(rank, _)| is_rank(f64::from(*rank)));
        let counts = ranks.flat_map(|(_, histogram)| histogram.0.iter().enumerate());
        counts.filter(|(index, _)| is_index(*index as f64)).map(|(_, count)| count).sum()
    }
}

impl<const N: usize> AddAssign for ByRank<N> {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, counts)| *sum += counts);
    }
}

impl<const N: usize> SubAssign for ByRank<N> {
    fn sub_assign(&mut self, before: Self) {
        self.0.iter_mut().zip(before.0).for_each(|(counts, before)| *counts -= before);
    }
}

macro_rules! counters {
    ($($(#[$comment:meta])* $name:ident: $kind:ty,)*) => {
        /// The counters of a UE, or their sum over several UEs. They never decrease.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Counters {
            $($(#[$comment])* pub $name: $kind,)*
        }

        impl AddAssign<&Counters> for Counters {
            fn add_assign(&mut self, other: &Counters) {
                $(self.$name += other.$name;)*
            }
        }

        impl SubAssign<&Counters> for Counters {
            fn sub_assign(&mut self, before: &Counters) {
                $(self.$name -= before.$name;)*
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
    rsrq_db: f64,
    /// Measurements of the uplink, and the sum of the received powers.
    ul_reports: u64,
    ul_rsrp_dbm: f64,
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
    /// PDCP SDUs for the radio bearers, and their octets; of the PDUs they become, PDCP headers included.
    dl_came_packets: u64,
    dl_came_octets: u64,
    dl_pdu_octets: u64,
    dl_dropped_packets: u64,
    dl_sent_packets: u64,
    /// Octets of RLC SDUs that the UE has received.
    dl_received_octets: u64,
    /// The total queueing time of sent packets in RLC, in nanoseconds.
    dl_sojourn_ns: u64,
    /// Packets that the UE has received completely, and the total time of their last parts on the air.
    dl_complete_packets: u64,
    dl_air_ns: u64,
    /// Volume and time of bursts that took several slots, and the volume of others.
    dl_throughput_octets: u64,
    dl_throughput_ns: u64,
    dl_unrestricted_octets: u64,
    ul_throughput_octets: u64,
    ul_throughput_ns: u64,
    ul_unrestricted_octets: u64,
    ul_received_octets: u64,
    ul_delivered_packets: u64,
    ul_delivered_octets: u64,
    ul_lost_packets: u64,
    /// MAC SDUs received, and their total time on the air.
    ul_air_pdus: u64,
    ul_air_ns: u64,
    /// Packets received completely, the total time from their first part to the last, and that until delivery in order.
    ul_complete_packets: u64,
    ul_assembly_ns: u64,
    ul_reordering_ns: u64,
    /// Transport blocks: transmissions, failed ones, new blocks, those that failed at first, and those lost at last.
    dl_transmissions: u64,
    dl_failed_transmissions: u64,
    dl_blocks: u64,
    dl_failed_blocks: u64,
    dl_lost_blocks: u64,
    ul_transmissions: u64,
    ul_failed_transmissions: u64,
    ul_blocks: u64,
    ul_failed_blocks: u64,
    ul_lost_blocks: u64,
    /// New blocks of the downlink by modulation.
    dl_modulations: Histogram<4>,
    /// Resource blocks of the downlink by layers and MCS.
    dl_mcs_prbs: ByRank<32>,
    /// The total time in the cell, and the part of it in RRC_INACTIVE, in nanoseconds.
    present_ns: u64,
    inactive_ns: u64,
    /// Reports by rank and CQI.
    cqis: ByRank<16>,
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
            rsrq_db: down.rsrq_db,
            ul_reports: up.reports,
            ul_rsrp_dbm: up.rsrp_dbm,
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
            dl_pdu_octets: dl_rlc.in_octets,
            dl_dropped_packets: dl_rlc.buffer_full_packets + dl_rlc.discarded_packets,
            dl_sent_packets: dl_rlc.sent_packets,
            dl_received_octets: dl_rlc.received_octets,
            dl_sojourn_ns: dl_rlc.sojourn_ns,
            dl_complete_packets: dl_rlc.complete_packets,
            dl_air_ns: dl_rlc.air_ns,
            dl_throughput_octets: dl_rlc.throughput_octets,
            dl_throughput_ns: dl_rlc.throughput_ns,
            dl_unrestricted_octets: dl_rlc.unrestricted_octets,
            ul_throughput_octets: ul_rlc.throughput_octets,
            ul_throughput_ns: ul_rlc.throughput_ns,
            ul_unrestricted_octets: ul_rlc.unrestricted_octets,
            ul_received_octets: ul_rlc.received_octets,
            ul_delivered_packets: ul_rlc.delivered_packets,
            ul_delivered_octets: payload(ul_rlc.delivered_octets, ul_rlc.delivered_packets),
            ul_lost_packets: ul_rlc.lost_packets,
            ul_air_pdus: up.air_pdus,
            ul_air_ns: up.air_ns,
            ul_complete_packets: ul_rlc.complete_packets,
            ul_assembly_ns: ul_rlc.assembly_ns,
            ul_reordering_ns: ul_rlc.reordering_ns,
            dl_transmissions: down.transmissions,
            dl_failed_transmissions: down.failed_transmissions,
            dl_blocks: down.blocks,
            dl_failed_blocks: down.failed_blocks,
            dl_lost_blocks: down.lost_blocks,
            ul_transmissions: up.transmissions,
            ul_failed_transmissions: up.failed_transmissions,
            ul_blocks: up.blocks,
            ul_failed_blocks: up.failed_blocks,
            ul_lost_blocks: up.lost_blocks,
            dl_modulations: Histogram(down.modulations),
            dl_mcs_prbs: ByRank::new(down.mcs_prbs),
            present_ns: counts.present.as_nanos() as u64,
            inactive_ns: counts.inactive.as_nanos() as u64,
            cqis: ByRank::new(down.cqis),
        }
    }
}
