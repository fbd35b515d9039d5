//! Frequencies and physical cells.

use ids::{EutraPci, NrPci};
use per::{List, Per};

/// NR-ARFCN: a frequency of NR by its channel number (TS 38.104 5.4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NrArfcn {
    /// The number.
    #[per(range = 0..=3_279_165)]
    pub nr_arfcn: u32,
}

/// E-UTRA-ARFCN: a frequency of E-UTRA by its channel number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct EutraArfcn(pub u16);

/// ServingCell-ARFCN: the frequency of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum ServingCellArfcn {
    /// Of NR.
    Nr(NrArfcn),
    /// Of E-UTRA.
    Eutra(EutraArfcn),
}

/// ServingCell-PCI: the physical identity of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum ServingCellPci {
    /// Of NR.
    Nr(NrPci),
    /// Of E-UTRA.
    Eutra(EutraPci),
}

/// NRFrequencyInfo: a carrier of NR (TS 38.473).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NrFrequencyInfo<'a> {
    /// Its reference frequency.
    pub nr_arfcn: NrArfcn,
    /// The bands that it belongs to.
    #[per(size = 1..=32)]
    pub frequency_band_list: List<'a, NrFrequencyBandItem<'a>>,
    /// Whether the uplink is shifted by 7.5 kHz.
    pub frequency_shift_7p5khz: Option<NrFrequencyShift7p5khz>,
}

/// NRFrequencyBandItem: a band, and the supplementary uplinks with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NrFrequencyBandItem<'a> {
    /// The band's number.
    #[per(range = 1..=1024, extensible)]
    pub freq_band_indicator_nr: u16,
    /// The bands of supplementary uplinks.
    #[per(size = 0..=32)]
    pub supported_sul_band_list: List<'a, SupportedSulFreqBandItem>,
}

/// SupportedSULFreqBandItem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct SupportedSulFreqBandItem {
    /// The band's number.
    #[per(range = 1..=1024, extensible)]
    pub freq_band_indicator_nr: u16,
}

/// NRFrequencyShift7p5khz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NrFrequencyShift7p5khz {
    /// It is not shifted.
    False,
    /// It is.
    True,
}
