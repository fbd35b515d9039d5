//! Parameters of handovers, radio link monitoring and random access.

use std::time::Duration;

use super::EPOCH;
use super::measurement::{EventCondition, MeasurementEvent};

/// Handover parameters, and those of what follows when one fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoverConfig {
    /// Offset of event A3 (TS 38.331 5.5.4.4) in dB: how much stronger than the serving cell a neighbour must be; `None`: no
    /// measurement-based handovers. Default: none.
    pub a3_offset_db: Option<f64>,
    /// Hysteresis of the event, in dB, added for entering and subtracted for leaving. Default: 0.
    pub hysteresis_db: f64,
    /// timeToTrigger, at least [`EPOCH`]. Default: 160 ms.
    pub time_to_trigger: Duration,
    /// Interruption time between source and target cell when the first random access succeeds, at least [`EPOCH`].
    /// Default: 30 ms.
    pub interruption: Duration,
    /// Whether event A3 starts the handover. Otherwise it only raises
    /// [`NetworkEvent::HandoverTriggered`](super::NetworkEvent::HandoverTriggered). Default: true.
    pub is_automatic: bool,
    /// T304: the handover fails when the UE has not accessed the target by then (TS 38.331 5.3.5.8.3). Default: 1 s.
    pub t304: Duration,
    /// The weakest RSRP of a cell that a UE may select (q-RxLevMin of TS 38.304 5.2.3.2), in dBm. Default: -120.
    pub min_rsrp_dbm: f64,
    /// How long a cell that is shutting down or about to sleep serves the UEs that no neighbour can take, before it is locked or
    /// releases them. Default: 10 s.
    pub shutdown_grace: Duration,
    /// A radio link failure within this time after a handover is counted as too early or to the wrong cell
    /// (Tstore_UE_cntxt of TS 38.300 15.5.2.2). Default: 5 s.
    pub failure_window: Duration,
    /// A handover back within this time is counted as ping-pong (minimum time of stay of TR 36.839 5.2.2). Default: 1 s.
    pub ping_pong_window: Duration,
    /// Conditional handover in place of handovers that the cell commands; `None`: none. Default: none.
    pub conditional: Option<ConditionalConfig>,
    /// Radio link monitoring and re-establishment.
    pub link: LinkFailureConfig,
    /// Random access.
    pub access: RandomAccessConfig,
}

impl Default for HandoverConfig {
    fn default() -> Self {
        HandoverConfig {
            a3_offset_db: None,
            hysteresis_db: 0.0,
            time_to_trigger: Duration::from_millis(160),
            interruption: Duration::from_millis(30),
            is_automatic: true,
            t304: Duration::from_secs(1),
            min_rsrp_dbm: -120.0,
            shutdown_grace: Duration::from_secs(10),
            failure_window: Duration::from_secs(5),
            ping_pong_window: Duration::from_secs(1),
            conditional: None,
            link: LinkFailureConfig::default(),
            access: RandomAccessConfig::default(),
        }
    }
}

impl HandoverConfig {
    /// The event of handovers: that of conditional handover, or event A3.
    pub(super) fn event(&self) -> Option<MeasurementEvent> {
        let HandoverConfig { hysteresis_db, time_to_trigger, .. } = *self;
        let a5 = self.conditional.and_then(|conditional| conditional.a5);
        let condition = a5
            .map(|a5| EventCondition::A5 { serving_dbm: a5.serving_dbm, neighbour_dbm: a5.neighbour_dbm })
            .or(self.a3_offset_db.map(|offset_db| EventCondition::A3 { offset_db }))?;
        Some(MeasurementEvent { condition, hysteresis_db, time_to_trigger })
    }

    /// [`HandoverConfig::interruption`], at least an epoch.
    pub(super) fn interruption(&self) -> Duration {
        self.interruption.max(EPOCH)
    }
}

/// Conditional handover (TS 38.331 5.3.5.13): the cell prepares neighbours ahead of time, and the UE itself executes the
/// handover to one of them when the execution condition holds. The condition is event A3 with
/// [`HandoverConfig::a3_offset_db`], or event A5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConditionalConfig {
    /// Event A5 as the execution condition. Default: event A3.
    pub a5: Option<A5Thresholds>,
    /// A neighbour is prepared when it misses the execution condition by less than this, in dB. Default: 6.
    pub preparation_margin_db: f64,
}

impl Default for ConditionalConfig {
    fn default() -> Self {
        ConditionalConfig { a5: None, preparation_margin_db: 6.0 }
    }
}

/// The thresholds of event A5 (TS 38.331 5.5.4.6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct A5Thresholds {
    /// The serving cell is worse than this, in dBm.
    pub serving_dbm: f64,
    /// The neighbour is better than this, in dBm.
    pub neighbour_dbm: f64,
}

/// Radio link monitoring (TS 38.331 5.3.10, TS 38.133 8.1) and re-establishment (TS 38.331 5.3.7). Default values of the
/// thresholds, N310, N311 and T310 are those of TR 36.839 5.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFailureConfig {
    /// Whether radio links are monitored. Default: yes.
    pub is_enabled: bool,
    /// Qout: the SINR below which 10 % of hypothetical PDCCH transmissions are lost, in dB. Default: -8.
    pub out_of_sync_db: f64,
    /// Qin: the SINR above which less than 2 % are lost, in dB; above Qout. Default: -6.
    pub in_sync_db: f64,
    /// Consecutive out-of-sync indications that start T310. Default: 1.
    pub n310: u8,
    /// Consecutive in-sync indications that stop T310. Default: 1.
    pub n311: u8,
    /// The time from the first problem to the radio link failure. Default: 1 s.
    pub t310: Duration,
    /// The longest time of the search for a cell after a failure. Default: 3 s.
    pub t311: Duration,
    /// The longest time of the access to the selected cell. Default: 1 s.
    pub t301: Duration,
    /// The time that the selection of a known cell takes (TS 38.133 6.2.1). Default: 200 ms.
    pub search: Duration,
}

impl Default for LinkFailureConfig {
    fn default() -> Self {
        LinkFailureConfig {
            is_enabled: true,
            out_of_sync_db: -8.0,
            in_sync_db: -6.0,
            n310: 1,
            n311: 1,
            t310: Duration::from_secs(1),
            t311: Duration::from_secs(3),
            t301: Duration::from_secs(1),
            search: Duration::from_millis(200),
        }
    }
}

impl LinkFailureConfig {
    /// The probability that a PDCCH transmission is lost: log-linear through 10 % at Qout and 2 % at Qin.
    pub(super) fn control_error_rate(&self, sinr_db: f64) -> f64 {
        let slope = (0.1_f64 / 0.02).log10() / (self.in_sync_db - self.out_of_sync_db).max(0.01);
        10.0_f64.powf(-1.0 - slope * (sinr_db - self.out_of_sync_db)).min(1.0)
    }
}

/// Random access (TS 38.321 5.1), with one PRACH occasion in each [`EPOCH`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomAccessConfig {
    /// Contention-based preambles of a cell. Two UEs that choose the same in one occasion both fail. Default: 52.
    pub contention_preambles: u8,
    /// Preambles of a cell that are reserved for handovers, one for each UE in transit; further UEs contend. Default: 12.
    pub dedicated_preambles: u8,
    /// preambleReceivedTargetPower, in dBm. Default: -100.
    pub target_dbm: f64,
    /// powerRampingStep of each further attempt, in dB. Default: 2.
    pub ramping_db: f64,
    /// The SNR over the PRACH at which one preamble in a hundred is missed, in dB. Default: -6.
    pub needed_snr_db: f64,
    /// The largest random delay after a failed attempt, a multiple of [`EPOCH`]. Default: 20 ms.
    pub backoff: Duration,
    /// T300: the longest time of the access for a new RRC connection. Default: 1 s.
    pub t300: Duration,
}

impl Default for RandomAccessConfig {
    fn default() -> Self {
        RandomAccessConfig {
            contention_preambles: 52,
            dedicated_preambles: 12,
            target_dbm: -100.0,
            ramping_db: 2.0,
            needed_snr_db: -6.0,
            backoff: Duration::from_millis(20),
            t300: Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_error_rate_passes_through_both_thresholds() {
        let link = LinkFailureConfig::default();
        let rate = |sinr_db| link.control_error_rate(sinr_db);
        assert!((rate(-8.0) - 0.1).abs() < 1e-9 && (rate(-6.0) - 0.02).abs() < 1e-9);
        assert!(rate(-30.0) == 1.0 && rate(10.0) < 1e-6);
    }
}
