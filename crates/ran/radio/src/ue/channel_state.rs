//! What the base station learns of a UE's channel: CQI and RI of the downlink by report (TS 38.214 5.2), the uplink by sounding
//! reference signals (TS 38.211 6.4.1.4) and power headroom reports (TS 38.321 5.4.6).

use std::collections::VecDeque;
use std::time::Duration;

use super::Ue;
use crate::Time;
use crate::cell::Muting;
use crate::phy::{Adaptation, ChannelReport, Direction, Surroundings};

/// The interval of updates of a channel. Blocks that are sent in between meet the state of the last update.
pub(crate) const CHANNEL_INTERVAL: Duration = Duration::from_millis(5);

/// When the base station learns of the channel of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelStateConfig {
    /// The period of CQI and RI, measured and reported for the whole carrier: 1 to 320 ms. Default: 5 ms.
    pub cqi_period: Duration,
    /// The time from the measurement of a CQI to its first use by the scheduler: up to 80 ms. Default: 5 ms.
    pub cqi_delay: Duration,
    /// The period of sounding reference signals, which the scheduler uses from the next slot on: 1 to 320 ms. Default: 10 ms.
    pub srs_period: Duration,
}

impl Default for ChannelStateConfig {
    /// A period of 5 ms follows the channel of walking UEs closely; TS 38.331 offers 4 to 320 slots
    /// (CSI-ReportPeriodicityAndOffset). The delay is that of measurement, PUCCH and scheduling.
    fn default() -> Self {
        ChannelStateConfig {
            cqi_period: Duration::from_millis(5),
            cqi_delay: Duration::from_millis(5),
            srs_period: Duration::from_millis(10),
        }
    }
}

/// What a UE needs to know of its cell to measure and report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellContext<'a> {
    /// The link adaptation of both directions.
    pub tables: &'a [Adaptation; 2],
    pub channel_state: &'a ChannelStateConfig,
    pub surroundings: Surroundings<'a>,
    /// The muted transceivers of the cell.
    pub muting: Muting,
}

/// The reports of a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    /// The earliest of the times below.
    next: Time,
    next_update: Time,
    next_cqi: Time,
    next_srs: Time,
    /// Measured CQIs that have not reached the scheduler, with the time when they do.
    pending: VecDeque<(Time, ChannelReport)>,
}

impl Reports {
    /// The next time at which a channel is updated, measured or reported.
    pub fn next_event(&self) -> Time {
        self.next
    }

    fn update_next(&mut self) {
        let pending = self.pending.front().map_or(Time::NEVER, |(at, _)| *at);
        self.next = self.next_update.min(self.next_cqi).min(self.next_srs).min(pending);
    }
}

impl Ue {
    /// Measures and reports the channel at the arrival in a cell: the base station has learnt of it during the access.
    pub(super) fn begin_reports(&mut self, now: Time, cell: &CellContext<'_>) {
        let ChannelStateConfig { cqi_period, srs_period, .. } = *cell.channel_state;
        self.reports = Reports {
            next: now,
            next_update: now + CHANNEL_INTERVAL,
            next_cqi: now + cqi_period,
            next_srs: now + srs_period,
            pending: VecDeque::new(),
        };
        self.update_channel(now, cell);
        for direction in [Direction::Downlink, Direction::Uplink] {
            self.apply_report(direction, self.measure(direction, cell), cell);
        }
    }

    /// Updates, measures and reports the channel, as far as it is time to.
    pub(super) fn run_reports(&mut self, now: Time, cell: &CellContext<'_>) {
        if now < self.reports.next {
            return;
        }
        let ChannelStateConfig { cqi_period, cqi_delay, srs_period } = *cell.channel_state;
        if self.reports.next_update <= now {
            self.reports.next_update = now + CHANNEL_INTERVAL;
            self.update_channel(now, cell);
        }
        if self.reports.next_cqi <= now {
            self.reports.next_cqi = now + cqi_period.max(Duration::from_millis(1));
            let report = self.measure(Direction::Downlink, cell);
            self.reports.pending.push_back((now + cqi_delay, report));
        }
        while self.reports.pending.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, report)) = self.reports.pending.pop_front()
        {
            self.apply_report(Direction::Downlink, report, cell);
        }
        if self.reports.next_srs <= now {
            self.reports.next_srs = now + srs_period.max(Duration::from_millis(1));
            self.apply_report(Direction::Uplink, self.measure(Direction::Uplink, cell), cell);
        }
        self.reports.update_next();
    }

    fn update_channel(&mut self, now: Time, cell: &CellContext<'_>) {
        self.activity.update(now, self.dl.counts.active_slots + self.ul.counts.active_slots);
        self.is_connected = !self.activity.is_inactive(now);
        self.channel.update(now, &cell.surroundings, &mut self.random);
        for direction in [Direction::Downlink, Direction::Uplink] {
            self.link_mut(direction).air = self.channel.link(direction);
        }
        self.dl.air.sinr_db -= cell.muting.loss_db;
    }

    fn measure(&self, direction: Direction, cell: &CellContext<'_>) -> ChannelReport {
        match direction {
            Direction::Downlink => {
                let Muting { loss_db, most_layers, .. } = cell.muting;
                let report = ChannelReport::of_ue(&self.dl.air, &cell.tables[0], most_layers);
                match self.channel.geometry() {
                    Some(geometry) => {
                        let sinrs_db = geometry.subband_sinrs_db().map(|sinr_db| sinr_db - loss_db);
                        report.with_subbands(sinrs_db, &cell.tables[0])
                    }
                    None => report,
                }
            }
            Direction::Uplink => ChannelReport::estimate(&self.ul.air, &cell.tables[1], u8::MAX),
        }
    }

    fn apply_report(&mut self, direction: Direction, report: ChannelReport, cell: &CellContext<'_>) {
        let rsrp_dbm = match direction {
            Direction::Downlink => {
                self.dl.counts.rsrq_db += self.channel.rsrq_db();
                self.channel.rsrp_dbm()
            }
            Direction::Uplink => self.channel.uplink_rsrp_dbm(),
        };
        self.link_mut(direction).apply_report(report, rsrp_dbm, &cell.tables[direction as usize]);
    }
}
