//! The values of measurements, from the growth of the counters.

use e2sm::kpm::Value;
use radio::Cell;
use radio::phy::Direction;

use super::{CounterSnapshot, Kpi};
use crate::counters::Counters;

/// Joules of a kilowatt hour.
const J_PER_KWH: f64 = 3.6e6;

/// Computes a measurement from the counters since a snapshot, in the units of [`e2sm::kpm::dictionary`].
pub fn value(kpi: Kpi, counted: &Counters, since: &CounterSnapshot, cell: &Cell) -> Value {
    let dl = || cell.usage(Direction::Downlink).since(&since.dl_usage);
    let ul = || cell.usage(Direction::Uplink).since(&since.ul_usage);
    let ratio = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    let per_report = |sum: f64| (counted.reports > 0).then(|| sum / counted.reports as f64);
    // TS 28.552 5.1.1.3.1: 0 without a burst of several slots
    let kbps = |octets: u64, ns: u64| Value::Real(ratio(8 * octets, ns).map_or(0.0, |bits_per_ns| 1e6 * bits_per_ns));
    let integer = |value: Option<f64>| value.map_or(Value::NoValue, |value| Value::Integer(value.round() as u32));
    let real = |value: Option<f64>| value.map_or(Value::NoValue, Value::Real);
    let mean = |total_ns: u64| ratio(total_ns, cell.now().since(since.at).as_nanos() as u64);
    let per_million = |part: u64, of: u64| ratio(part, of).map(|ratio| 1e6 * ratio);
    let percent = |part: u64, of: u64| ratio(part, of).map(|ratio| 100.0 * ratio);
    let delay = |ns: u64, packets: u64| real(ratio(ns, packets).map(|ns| ns / 1e5));
    let kbit = |octets: u64| integer(Some(8.0 * octets as f64 / 1e3));
    let count = |count: u64| Value::Integer(u32::try_from(count).unwrap_or(u32::MAX));
    match kpi {
        Kpi::ThroughputDl => kbps(counted.dl_throughput_octets, counted.dl_throughput_ns),
        Kpi::ThroughputUl => kbps(counted.ul_throughput_octets, counted.ul_throughput_ns),
        Kpi::UnrestrictedVolumeDl => {
            let unrestricted = counted.dl_unrestricted_octets;
            real(percent(unrestricted, unrestricted + counted.dl_throughput_octets))
        }
        Kpi::UnrestrictedVolumeUl => {
            let unrestricted = counted.ul_unrestricted_octets;
            real(percent(unrestricted, unrestricted + counted.ul_throughput_octets))
        }
        Kpi::VolumeDl => kbit(counted.dl_came_octets),
        Kpi::VolumeUl => kbit(counted.ul_delivered_octets),
        Kpi::RlcVolumeDl => kbit(counted.dl_received_octets),
        Kpi::RlcVolumeUl => kbit(counted.ul_received_octets),
        Kpi::PdcpPduVolumeDl => kbit(counted.dl_pdu_octets),
        Kpi::DelayDl => delay(counted.dl_sojourn_ns, counted.dl_sent_packets),
        Kpi::AirInterfaceDelayDl => delay(counted.dl_air_ns, counted.dl_complete_packets),
        Kpi::AirInterfaceDelayUl => delay(counted.ul_air_ns, counted.ul_air_pdus),
        Kpi::RlcDelayUl => delay(counted.ul_assembly_ns, counted.ul_complete_packets),
        Kpi::ReorderingDelayUl => delay(counted.ul_reordering_ns, counted.ul_delivered_packets),
        Kpi::CuUpDelayDl => delay(counted.core_sojourn_ns, counted.core_went_packets),
        Kpi::PrbTotDl => integer(percent(counted.dl_elements, dl().elements)),
        Kpi::PrbTotUl => integer(percent(counted.ul_elements, ul().elements)),
        Kpi::PrbUsedDl => integer(ratio(counted.dl_elements, dl().elements_per_prb)),
        Kpi::PrbUsedUl => integer(ratio(counted.ul_elements, ul().elements_per_prb)),
        Kpi::PrbAvailableDl => Value::Integer(cell.prbs(Direction::Downlink)),
        Kpi::PrbAvailableUl => Value::Integer(cell.prbs(Direction::Uplink)),
        // the sum of all bins
        Kpi::PrbDistDl => count(dl().count_slots()),
        Kpi::PrbDistUl => count(ul().count_slots()),
        Kpi::CqiDist => count(counted.reports),
        Kpi::McsDistDl => count(counted.dl_mcs_prbs.sum_in(|_| true, |_| true)),
        Kpi::PacketDropRateDl => {
            // dropped packets may have arrived before the snapshot
            let dropped = counted.dl_dropped_packets;
            integer(per_million(dropped, counted.dl_came_packets.max(dropped)))
        }
        Kpi::CuUpDropRateDl => {
            let dropped = counted.core_dropped_packets;
            integer(per_million(dropped, counted.core_came_packets.max(dropped)))
        }
        Kpi::PacketLossRateUl => {
            let lost = counted.ul_lost_packets;
            integer(per_million(lost, lost + counted.ul_delivered_packets))
        }
        Kpi::PacketSuccessRateUl => {
            let delivered = counted.ul_delivered_packets;
            integer(percent(delivered, delivered + counted.ul_lost_packets))
        }
        Kpi::ActiveDl => real(ratio(counted.dl_active, dl().scheduled_slots)),
        Kpi::ActiveUl => real(ratio(counted.ul_active, ul().scheduled_slots)),
        Kpi::Connected => real(mean(counted.present_ns - counted.inactive_ns)),
        Kpi::Inactive => real(mean(counted.inactive_ns)),
        Kpi::MaxConnected => Value::Integer(cell.max_connections(since.at)),
        Kpi::Cqi => integer(per_report(counted.cqi as f64)),
        Kpi::Sinr => real(per_report(counted.sinr_db)),
        Kpi::Rsrp => real(per_report(counted.rsrp_dbm)),
        Kpi::Rsrq => real(per_report(counted.rsrq_db)),
        Kpi::UplinkRsrp => real((counted.ul_reports > 0).then(|| counted.ul_rsrp_dbm / counted.ul_reports as f64)),
        Kpi::BlocksDl => count(counted.dl_transmissions),
        Kpi::InitialBlocksDl => count(counted.dl_blocks),
        Kpi::ModulationDl(modulation) => count(counted.dl_modulations.0[modulation]),
        Kpi::ErrorBlocksDl => count(counted.dl_failed_transmissions),
        Kpi::InitialErrorBlocksDl => count(counted.dl_failed_blocks),
        Kpi::ResidualErrorBlocksDl => count(counted.dl_lost_blocks),
        Kpi::BlocksUl => count(counted.ul_transmissions),
        Kpi::InitialBlocksUl => count(counted.ul_blocks),
        Kpi::ErrorBlocksUl => count(counted.ul_failed_transmissions),
        Kpi::InitialErrorBlocksUl => count(counted.ul_failed_blocks),
        Kpi::ResidualErrorBlocksUl => count(counted.ul_lost_blocks),
        Kpi::AveragePower => {
            let seconds = cell.now().since(since.at).as_secs_f64();
            real((seconds > 0.0).then(|| (cell.energy_j() - since.energy_j) / seconds))
        }
        Kpi::LeastPower => real(cell.power_range_w(since.at).map(|(least_w, _)| least_w)),
        Kpi::LargestPower => real(cell.power_range_w(since.at).map(|(_, largest_w)| largest_w)),
        Kpi::Energy => Value::Real((cell.energy_j() - since.energy_j) / J_PER_KWH),
        // the node reads them elsewhere: the state of the buffers, where UEs are, and what the network counts and UEs measure
        Kpi::BufferDl
        | Kpi::Mobility(_)
        | Kpi::ContentionPreambles
        | Kpi::DedicatedPreambles
        | Kpi::ServingCell(_)
        | Kpi::StrongestNeighbour(_)
        | Kpi::TimingAdvance => Value::NoValue,
    }
}
