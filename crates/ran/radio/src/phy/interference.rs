//! Interference between cells that share spectrum: who transmits how much, and what a receiver hears of it.
//!
//! A [`Network`](crate::Network) measures the activity of each cell over an interval of [`crate::INTERFERENCE_INTERVAL`] and hands
//! all cells an [`Interference`] for the next one. It does not change within an interval, so cells run independently of each other and of the number of threads.

use super::{Grid, Rat};

/// Resource elements of an SS/PBCH block: 240 subcarriers in 4 symbols (TS 38.211 7.4.3.1).
const SSB_ELEMENTS: f64 = 240.0 * 4.0;
/// Resource elements of SIB1 for each SS/PBCH block: CORESET 0 with 24 PRBs in 2 symbols, and a PDSCH of 24 PRBs in 4 symbols.
const SIB1_ELEMENTS: f64 = 24.0 * 12.0 * (2.0 + 4.0);
/// The default period of SS/PBCH blocks and SIB1 (TS 38.213 4.1, TS 38.331 5.2.1).
const SSB_PERIOD_S: f64 = 0.02;
/// Resource elements of each PRB for tracking in the same period: two slots with two symbols of density 3 (TS 38.214 5.1.6.1.1).
const TRACKING_ELEMENTS: f64 = 4.0 * 3.0;
/// Symbols of an SS/PBCH block with its SIB1, and of the signals for tracking, in the same period.
const SSB_SYMBOLS: f64 = 4.0 + 2.0 + 4.0;
const TRACKING_SYMBOLS: f64 = 4.0;
/// Cell-specific reference signals of LTE are in 4 of 14 symbols.
const LTE_ALWAYS_ON_SYMBOLS: f64 = 4.0 / 14.0;
/// Cell-specific reference signals of LTE with two antenna ports: 16 of the 168 resource elements of a PRB pair (TS 36.211
/// 6.10.1.2), and about 1 % for synchronization signals and the broadcast channel.
const LTE_ALWAYS_ON: f64 = 16.0 / 168.0 + 0.01;
/// Subcarriers of a PRB.
const SUBCARRIERS: f64 = 12.0;

/// The share of its downlink resource elements that a cell transmits without any traffic.
///
/// NR: the most SS/PBCH blocks of the frequency range, 4 below 3 GHz and 8 above (TS 38.213 4.1), each with SIB1, and reference
/// signals for tracking. LTE: cell-specific reference signals.
#[must_use]
pub fn always_on_share(grid: &Grid) -> f64 {
    if grid.carrier().rat == Rat::Lte {
        return LTE_ALWAYS_ON;
    }
    let elements = downlink_symbols(grid) * SUBCARRIERS * f64::from(grid.prbs());
    let always = beams(grid) * (SSB_ELEMENTS + SIB1_ELEMENTS) + TRACKING_ELEMENTS * f64::from(grid.prbs());
    (always / elements).min(1.0)
}

/// The share of its downlink symbols in which a cell transmits something without any traffic: see [`always_on_share`].
#[must_use]
pub fn always_on_symbol_share(grid: &Grid) -> f64 {
    if grid.carrier().rat == Rat::Lte {
        return LTE_ALWAYS_ON_SYMBOLS;
    }
    ((beams(grid) * SSB_SYMBOLS + TRACKING_SYMBOLS) / downlink_symbols(grid)).min(1.0)
}

/// The most SS/PBCH blocks of the frequency range.
fn beams(grid: &Grid) -> f64 {
    if grid.carrier().frequency_mhz < 3000.0 { 4.0 } else { 8.0 }
}

/// Downlink symbols in the period of SS/PBCH blocks.
fn downlink_symbols(grid: &Grid) -> f64 {
    let symbols: f64 = grid.pattern().iter().map(|(down, _)| f64::from(*down)).sum();
    symbols / grid.pattern().len() as f64 * (SSB_PERIOD_S / grid.slot().as_secs_f64())
}

/// The part of the spectrum that a carrier occupies with its PRBs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spectrum {
    center_hz: f64,
    width_hz: f64,
    subcarrier_hz: f64,
}

impl Spectrum {
    pub fn new(grid: &Grid) -> Self {
        let subcarrier_hz = f64::from(grid.subcarrier_hz());
        let width_hz = SUBCARRIERS * f64::from(grid.prbs()) * subcarrier_hz;
        Spectrum { center_hz: grid.carrier().frequency_mhz * 1e6, width_hz, subcarrier_hz }
    }

    /// The width that both occupy.
    fn common_hz(&self, other: &Spectrum) -> f64 {
        let half = |spectrum: &Spectrum| spectrum.width_hz / 2.0;
        let low = (self.center_hz - half(self)).max(other.center_hz - half(other));
        let high = (self.center_hz + half(self)).min(other.center_hz + half(other));
        (high - low).max(0.0)
    }

    pub fn overlaps(&self, other: &Spectrum) -> bool {
        self.common_hz(other) > 0.0
    }

    /// How much of the power that another carrier has in each of its resource elements falls into a resource element of this
    /// one, on average over this carrier.
    pub fn share_per_element(&self, other: &Spectrum) -> f64 {
        self.common_hz(other) / self.width_hz * self.subcarrier_hz / other.subcarrier_hz
    }

    /// How much of a power that is spread over another carrier falls into a resource element of this one, on average.
    pub fn share_of_total(&self, other: &Spectrum) -> f64 {
        self.common_hz(other) / other.width_hz * self.subcarrier_hz / self.width_hz
    }
}

/// The transmissions of all cells of a network over an interval, weighted for each receiver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interference {
    /// Which interval it is, from 1 on; 0: no cell transmits.
    number: u64,
    /// The carrier of each cell, an index of `downlink`.
    carriers: Box<[u32]>,
    /// For each distinct carrier, by transmitting cell: the share of its resource elements that it transmits, times the part of
    /// their power that falls into those of the carrier.
    downlink: Box<[Box<[f32]>]>,
    /// By receiving cell: the sum over the UEs of other cells of transmit power times RSRP, both in mW, for each resource element.
    uplink: Box<[f64]>,
}

impl Interference {
    pub(crate) fn new(
        number: u64,
        carriers: Box<[u32]>,
        downlink: Box<[Box<[f32]>]>,
        uplink: Box<[f64]>,
    ) -> Interference {
        Interference { number, carriers, downlink, uplink }
    }

    /// The number of the interval.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The power in mW that a UE of cell `serving` receives from all other cells in each resource element, from the power of
    /// each of their resource elements.
    pub(super) fn downlink_mw(&self, serving: usize, received_mw: &[f32]) -> f64 {
        let Some(carrier) = self.carriers.get(serving) else { return 0.0 };
        let activity = &*self.downlink[*carrier as usize];
        let count = activity.len().min(received_mw.len());
        let before = serving.min(count);
        let after = (serving + 1).min(count);
        let sum =
            dot(&activity[..before], &received_mw[..before]) + dot(&activity[after..count], &received_mw[after..count]);
        sum.into()
    }

    /// The other cell that disturbs a UE of cell `serving` most: the share of its resource elements that it transmits, and the power
    /// in mW of one that it transmits at the UE. `None` without interference.
    pub(super) fn strongest(&self, serving: usize, received_mw: &[f32]) -> Option<(f64, f64)> {
        let activity = &*self.downlink[*self.carriers.get(serving)? as usize];
        let others = activity.iter().zip(received_mw).enumerate().filter(|(cell, _)| *cell != serving);
        let (share, power_mw) = others
            .map(|(_, (share, power_mw))| (*share, share * power_mw))
            .filter(|(_, power_mw)| *power_mw > 0.0)
            .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let share = f64::from(share).min(1.0);
        Some((share, f64::from(power_mw) / share))
    }

    /// The power in mW that cell `serving` receives from UEs of other cells in each resource element, where `element_mw` is the
    /// power of its own resource elements, to which the RSRP is proportional.
    pub(super) fn uplink_mw(&self, serving: usize, element_mw: f64) -> f64 {
        self.uplink.get(serving).map_or(0.0, |sum| sum / element_mw)
    }
}

/// The sum of products, in a fixed order that uses vector instructions.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0f32; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Carrier, Duplex};

    fn grid(change: impl FnOnce(&mut Carrier)) -> Grid {
        let mut carrier = Carrier::default();
        change(&mut carrier);
        carrier.check().unwrap()
    }

    /// 8 x (960 + 1728) + 12 x 106 resource elements of the downlink symbols of 40 slots with 106 PRBs.
    #[test]
    fn always_on_share_follows_carrier() {
        let downlink = 4.0 * (7.0 * 14.0 + 6.0) * 12.0 * 106.0;
        let share = always_on_share(&grid(|_| {}));
        assert!((share - 22_776.0 / downlink).abs() < 1e-9, "{share}");
        let wide = always_on_share(&grid(|carrier| carrier.bandwidth_mhz = 100.0));
        assert!(wide < 0.5 * share, "{wide}");
        let low = always_on_share(&grid(|carrier| (carrier.frequency_mhz, carrier.duplex) = (800.0, Duplex::Fdd)));
        assert!((0.01..0.02).contains(&low), "{low}");
        let narrow = grid(|carrier| (carrier.bandwidth_mhz, carrier.numerology) = (5.0, 1));
        assert!(always_on_share(&narrow) <= 1.0);
        let lte = Carrier::lte().check().unwrap();
        assert!((always_on_share(&lte) - 0.105).abs() < 0.001);
        // 8 x 10 + 4 of the downlink symbols of 40 slots
        let symbols = always_on_symbol_share(&grid(|_| {}));
        assert!((symbols - 84.0 / (4.0 * (7.0 * 14.0 + 6.0))).abs() < 1e-9, "{symbols}");
        assert!((always_on_symbol_share(&lte) - 2.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn only_common_spectrum_interferes() {
        let spectrum = |frequency_mhz: f64, bandwidth_mhz: f64, numerology: u8| {
            Spectrum::new(&grid(|carrier| {
                (carrier.frequency_mhz, carrier.bandwidth_mhz, carrier.numerology, carrier.duplex) =
                    (frequency_mhz, bandwidth_mhz, numerology, Duplex::Fdd);
            }))
        };
        let own = spectrum(3600.0, 40.0, 1);
        assert_eq!((own.share_per_element(&own), own.overlaps(&own)), (1.0, true));
        assert!((own.share_of_total(&own) - 1.0 / 1272.0).abs() < 1e-12);
        let next = spectrum(3640.0, 40.0, 1);
        assert_eq!((own.overlaps(&next), own.share_per_element(&next), own.share_of_total(&next)), (false, 0.0, 0.0));
        // half of the occupied 38.16 MHz
        let half = spectrum(3600.0 + 19.08, 40.0, 1);
        assert!((own.share_per_element(&half) - 0.5).abs() < 1e-9);
        // a resource element of half the width receives half the power
        let fine = spectrum(3600.0, 40.0, 0);
        assert!((own.share_per_element(&fine) - 2.0).abs() < 0.01 && (fine.share_per_element(&own) - 0.5).abs() < 0.01);
    }

    #[test]
    fn own_cell_does_not_interfere() {
        let activity: Box<[f32]> = (0..20).map(|cell| if cell % 2 == 0 { 1.0 } else { 0.5 }).collect();
        let interference = Interference::new(1, vec![0; 20].into(), [activity].into(), vec![0.0; 20].into());
        let received: Vec<f32> = (0..20).map(|cell| cell as f32).collect();
        // the even numbers up to 18, and half of the odd ones up to 19
        let all = 90.0 + 50.0;
        for (serving, own) in [(0, 0.0), (7, 3.5), (8, 8.0), (19, 9.5)] {
            assert_eq!(interference.downlink_mw(serving, &received), all - own, "{serving}");
        }
        assert_eq!(Interference::default().downlink_mw(3, &received), 0.0);
    }
}
