//! Statistics and traffic control of a CU-UP of several DUs.

#[cfg(feature = "tc")]
use std::borrow::Cow;

#[cfg(feature = "statistics")]
use e2sm::gtp::Tunnel;
#[cfg(feature = "statistics")]
use e2sm::pdcp;
#[cfg(feature = "statistics")]
use ferric::agent::Ue;
use ferric::e2::Time;
use ran_functions::kpm::KpmSource;
#[cfg(feature = "statistics")]
use ran_functions::statistics::StatisticsSource;
#[cfg(feature = "tc")]
use ran_functions::tc::{Configuration, QueueCounters, TcSource};

use super::Cu;

#[cfg(feature = "statistics")]
impl StatisticsSource<pdcp::BearerStats> for Cu {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.append_ues(out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<pdcp::BearerStats>) {
        if let Some((node, ue)) = self.at(ue) {
            node.records(ue, out);
        }
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}

#[cfg(feature = "statistics")]
impl StatisticsSource<Tunnel> for Cu {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.append_ues(out);
    }

    fn records(&self, ue: Ue, out: &mut Vec<Tunnel>) {
        if let Some((node, ue)) = self.at(ue) {
            node.records(ue, out);
        }
    }
}

/// All cells have one configuration.
#[cfg(feature = "tc")]
impl TcSource for Cu {
    fn configuration(&self) -> &Configuration {
        self.first().configuration()
    }

    fn configure(&mut self, configuration: Configuration) -> Result<(), Cow<'static, str>> {
        let before = self.configuration().clone();
        for du in 0..self.cells.len() {
            if let Err(refused) = self.cells[du].configure(configuration.clone()) {
                for node in &mut self.cells[..du] {
                    // it was accepted before
                    let _ = node.configure(before.clone());
                }
                return Err(refused);
            }
        }
        Ok(())
    }

    fn queue_counters(&self, queue_id: u32) -> QueueCounters {
        let mut all = QueueCounters::default();
        for node in &self.cells {
            let of_cell = node.queue_counters(queue_id);
            all.shaper_rate_kbps += of_cell.shaper_rate_kbps;
            all.policer_rate_kbps += of_cell.policer_rate_kbps;
            all.policer_dropped_packets = all.policer_dropped_packets.wrapping_add(of_cell.policer_dropped_packets);
            all.policer_marked_packets = all.policer_marked_packets.wrapping_add(of_cell.policer_marked_packets);
            let (queue, more) = (&mut all.queue, of_cell.queue);
            queue.octets = queue.octets.wrapping_add(more.octets);
            queue.packets = queue.packets.wrapping_add(more.packets);
            queue.forwarded_octets = queue.forwarded_octets.wrapping_add(more.forwarded_octets);
            queue.forwarded_packets = queue.forwarded_packets.wrapping_add(more.forwarded_packets);
            queue.dropped_packets = queue.dropped_packets.wrapping_add(more.dropped_packets);
            // the longest of the cells: the queues are separate
            queue.last_sojourn_us = queue.last_sojourn_us.max(more.last_sojourn_us);
            queue.mean_sojourn_us = queue.mean_sojourn_us.max(more.mean_sojourn_us);
        }
        all
    }

    fn pacer_rate_kbps(&self) -> f32 {
        self.cells.iter().map(TcSource::pacer_rate_kbps).sum()
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}
