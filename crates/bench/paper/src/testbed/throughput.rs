//! The throughput of each UE over the model's time.

use std::collections::BTreeMap;

use e2sm::mac;

/// The octets that UEs have received, by C-RNTI.
#[derive(Debug, Default)]
pub struct Throughput {
    ues: BTreeMap<u32, Received>,
}

/// Times in seconds, in order, and the octets until then.
#[derive(Debug, Default)]
struct Received(Vec<(f64, f64)>);

impl Received {
    /// The octets until a time, interpolated between two reports.
    fn until(&self, at_s: f64) -> f64 {
        let after = self.0.partition_point(|(time_s, _)| *time_s <= at_s);
        match (after.checked_sub(1).and_then(|before| self.0.get(before)), self.0.get(after)) {
            (Some((from_s, from)), Some((to_s, to))) => from + (to - from) * (at_s - from_s) / (to_s - from_s),
            (Some((_, octets)), None) | (None, Some((_, octets))) => *octets,
            (None, None) => 0.0,
        }
    }
}

impl Throughput {
    /// Adds a report of MAC.
    pub fn add_report(&mut self, now_s: f64, report: &mac::IndicationMessage<'_>) {
        report.ues.iter().for_each(|ue| self.add(now_s, ue.rnti, ue.dl_aggr_sdu_octets));
    }

    /// Adds the octets that a UE has received until now.
    pub fn add(&mut self, now_s: f64, rnti: u32, octets: u64) {
        let samples = &mut self.ues.entry(rnti).or_default().0;
        if samples.last().is_none_or(|(last_s, _)| *last_s < now_s) {
            samples.push((now_s, octets as f64));
        }
    }

    /// The throughput in Mbit/s between two times of the first `UES` UEs; 0 for UEs that have not arrived.
    pub fn mbps<const UES: usize>(&self, from_s: f64, to_s: f64) -> [f64; UES] {
        let mut mbps = [0.0; UES];
        for (mbps, received) in mbps.iter_mut().zip(self.ues.values()) {
            *mbps = (received.until(to_s) - received.until(from_s)) * 8e-6 / (to_s - from_s);
        }
        mbps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_interpolated() {
        let mut throughput = Throughput::default();
        assert_eq!(throughput.mbps(0.0, 1.0), [0.0]);
        for (at_s, octets) in [(1.0, 0), (2.0, 1_000_000), (2.0, 7), (4.0, 1_500_000)] {
            throughput.add(at_s, 0x4602, octets);
        }
        throughput.add(4.0, 0x4601, 5);
        assert_eq!(throughput.mbps(1.0, 2.0), [0.0, 8.0, 0.0]);
        assert_eq!(throughput.mbps(1.5, 3.0), [0.0, 4.0]);
        assert_eq!(throughput.mbps(3.0, 5.0), [0.0, 1.0], "no octets after the last report");
    }
}
