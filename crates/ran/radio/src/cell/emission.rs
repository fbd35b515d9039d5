//! What a cell and its UEs transmit, as interference to other cells.

use std::sync::Arc;

use super::Cell;
use crate::phy::{Channel, Grid, Interference, always_on_share};

/// The transmissions of a cell and its UEs over an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Emission {
    /// The share of the downlink resource elements that the cell has transmitted.
    pub downlink: f64,
    /// By receiving cell: the sum over the UEs of mean transmit power times RSRP, both in mW, to which the received power is
    /// proportional. The mean is over the uplink symbols of the cell.
    pub uplink: Vec<f64>,
}

/// Adds up transmissions.
#[derive(Clone, Debug)]
pub(super) struct EmissionMeter {
    always_on: f64,
    /// PRBs times symbols, used and in all.
    downlink: [u64; 2],
    /// Uplink symbols.
    uplink_symbols: u64,
    /// Power times symbols of each UE, and the UEs that have any.
    sent: Vec<f64>,
    ues: Vec<u32>,
    /// By receiving cell: the sum of power times symbols times RSRP of UEs that have departed.
    departed: Vec<f64>,
}

impl EmissionMeter {
    pub fn new(grid: &Grid) -> Self {
        let always_on = always_on_share(grid);
        let (sent, ues, departed) = Default::default();
        EmissionMeter { always_on, downlink: [0; 2], uplink_symbols: 0, sent, ues, departed }
    }

    /// Counts a downlink slot.
    pub fn count_downlink(&mut self, used_prbs: u32, prbs: u32, symbols: u8) {
        self.downlink[0] += u64::from(used_prbs) * u64::from(symbols);
        self.downlink[1] += u64::from(prbs) * u64::from(symbols);
    }

    /// Counts an uplink slot.
    pub fn count_uplink(&mut self, symbols: u8) {
        self.uplink_symbols += u64::from(symbols);
    }

    /// Counts the block that a UE transmits on `prbs` PRBs in an uplink slot. Other channels than by position have no path to
    /// other cells.
    pub fn count_block(&mut self, ue: u32, channel: &Channel, prbs: u16, symbols: u8) {
        let Some(geometry) = channel.geometry() else { return };
        let (at, power_mw) = (ue as usize, geometry.uplink_power_mw(prbs));
        if self.sent.len() <= at {
            self.sent.resize(at + 1, 0.0);
        }
        if self.sent[at] == 0.0 {
            self.ues.push(ue);
        }
        self.sent[at] += power_mw * f64::from(symbols);
    }

    /// Adds what a UE has transmitted to the sums, before it leaves the cell.
    pub fn depart(&mut self, ue: u32, channel: &Channel) {
        let sent = self.sent.get_mut(ue as usize).map_or(0.0, std::mem::take);
        let Some(geometry) = channel.geometry().filter(|_| sent > 0.0) else { return };
        self.ues.retain(|other| *other != ue);
        self.departed.resize(geometry.received_mw().len(), 0.0);
        let each = self.departed.iter_mut().zip(geometry.received_mw());
        each.for_each(|(sum, received_mw)| *sum += sent * f64::from(*received_mw));
    }
}

impl Cell {
    /// Sets what other cells transmit from now on.
    pub(crate) fn set_interference(&mut self, interference: &Arc<Interference>) {
        self.interference = Arc::clone(interference);
    }

    /// What other cells transmit.
    pub(crate) fn interference(&self) -> &Interference {
        &self.interference
    }

    /// What the cell and its UEs have transmitted since the last call. A cell that is locked or off transmits nothing.
    pub(crate) fn take_emission(&mut self, emission: &mut Emission) {
        let (is_on_air, power_share) = (self.is_on_air(), self.muting.power_share);
        let meter = &mut self.emission;
        let [used, of] = std::mem::take(&mut meter.downlink);
        let used = used as f64 / of.max(1) as f64;
        let data = (1.0 - meter.always_on) * used * power_share;
        emission.downlink = if is_on_air { meter.always_on + data } else { 0.0 };
        let symbols = std::mem::take(&mut meter.uplink_symbols).max(1) as f64;
        emission.uplink.fill(0.0);
        let departed = emission.uplink.iter_mut().zip(&meter.departed);
        departed.for_each(|(sum, sent)| *sum = sent / symbols);
        meter.departed.clear();
        for ue in meter.ues.drain(..) {
            let power_mw = std::mem::take(&mut meter.sent[ue as usize]) / symbols;
            let geometry = self.ue_table.ue(ue as usize).and_then(|ue| ue.channel().geometry());
            let Some(geometry) = geometry else { continue };
            let each = emission.uplink.iter_mut().zip(geometry.received_mw());
            each.for_each(|(sum, received_mw)| *sum += power_mw * f64::from(*received_mw));
        }
    }

    /// The share of its downlink resource elements that the cell transmits without any traffic.
    #[must_use]
    pub fn always_on_share(&self) -> f64 {
        self.emission.always_on
    }
}
