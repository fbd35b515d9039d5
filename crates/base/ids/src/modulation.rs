//! Modulation and coding schemes (MCS) and the channel quality indicators (CQI) that belong to them.

/// An MCS table, named by its highest modulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum McsTable {
    /// Up to 64QAM (TS 38.214 table 5.1.3.1-1); the only one with LTE (TS 36.213 tables 7.1.7.1-1 and 8.6.1-1).
    #[default]
    Qam64,
    /// Up to 256QAM (TS 38.214 table 5.1.3.1-2).
    Qam256,
    /// Up to 64QAM, of low spectral efficiency (TS 38.214 table 5.1.3.1-3).
    Qam64LowSe,
}

/// A modulation with its code rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modulation {
    /// Bits per symbol: 2 is QPSK, 4 16QAM, 6 64QAM, 8 256QAM.
    pub order: u8,
    /// The code rate times 2048: the tables contain halves of 1/1024.
    pub rate_2048: u16,
}

impl Modulation {
    /// The code rate.
    #[must_use]
    pub fn code_rate(self) -> f64 {
        f64::from(self.rate_2048) / 2048.0
    }

    /// Information bits per resource element.
    #[must_use]
    pub fn efficiency(self) -> f64 {
        f64::from(self.order) * self.code_rate()
    }
}

/// Schemes of one modulation order, with their code rates times 1024.
const fn schemes<const N: usize>(table: [(u8, f32); N]) -> [Modulation; N] {
    let mut schemes = [Modulation { order: 0, rate_2048: 0 }; N];
    let mut at = 0;
    while at < N {
        schemes[at] = Modulation { order: table[at].0, rate_2048: (table[at].1 * 2.0) as u16 };
        at += 1;
    }
    schemes
}

#[rustfmt::skip]
const QAM64: [Modulation; 29] = schemes([
    (2, 120.0), (2, 157.0), (2, 193.0), (2, 251.0), (2, 308.0), (2, 379.0), (2, 449.0), (2, 526.0), (2, 602.0),
    (2, 679.0), (4, 340.0), (4, 378.0), (4, 434.0), (4, 490.0), (4, 553.0), (4, 616.0), (4, 658.0), (6, 438.0),
    (6, 466.0), (6, 517.0), (6, 567.0), (6, 616.0), (6, 666.0), (6, 719.0), (6, 772.0), (6, 822.0), (6, 873.0),
    (6, 910.0), (6, 948.0),
]);

#[rustfmt::skip]
const QAM256: [Modulation; 28] = schemes([
    (2, 120.0), (2, 193.0), (2, 308.0), (2, 449.0), (2, 602.0), (4, 378.0), (4, 434.0), (4, 490.0), (4, 553.0),
    (4, 616.0), (4, 658.0), (6, 466.0), (6, 517.0), (6, 567.0), (6, 616.0), (6, 666.0), (6, 719.0), (6, 772.0),
    (6, 822.0), (6, 873.0), (8, 682.5), (8, 711.0), (8, 754.0), (8, 797.0), (8, 841.0), (8, 885.0), (8, 916.5),
    (8, 948.0),
]);

#[rustfmt::skip]
const QAM64_LOW_SE: [Modulation; 29] = schemes([
    (2, 30.0), (2, 40.0), (2, 50.0), (2, 64.0), (2, 78.0), (2, 99.0), (2, 120.0), (2, 157.0), (2, 193.0),
    (2, 251.0), (2, 308.0), (2, 379.0), (2, 449.0), (2, 526.0), (2, 602.0), (4, 340.0), (4, 378.0), (4, 434.0),
    (4, 490.0), (4, 553.0), (4, 616.0), (6, 438.0), (6, 466.0), (6, 517.0), (6, 567.0), (6, 616.0), (6, 666.0),
    (6, 719.0), (6, 772.0),
]);

/// CQI 1 to 15 up to 64QAM (TS 38.214 table 5.2.2.1-2, TS 36.213 table 7.2.3-1).
#[rustfmt::skip]
const CQI_QAM64: [Modulation; 15] = schemes([
    (2, 78.0), (2, 120.0), (2, 193.0), (2, 308.0), (2, 449.0), (2, 602.0), (4, 378.0), (4, 490.0), (4, 616.0),
    (6, 466.0), (6, 567.0), (6, 666.0), (6, 772.0), (6, 873.0), (6, 948.0),
]);

/// The same up to 256QAM (TS 38.214 table 5.2.2.1-3).
#[rustfmt::skip]
const CQI_QAM256: [Modulation; 15] = schemes([
    (2, 78.0), (2, 193.0), (2, 449.0), (4, 378.0), (4, 490.0), (4, 616.0), (6, 466.0), (6, 567.0), (6, 666.0),
    (6, 772.0), (6, 873.0), (8, 711.0), (8, 797.0), (8, 885.0), (8, 948.0),
]);

/// The same of low spectral efficiency (TS 38.214 table 5.2.2.1-4).
#[rustfmt::skip]
const CQI_QAM64_LOW_SE: [Modulation; 15] = schemes([
    (2, 30.0), (2, 50.0), (2, 78.0), (2, 120.0), (2, 193.0), (2, 308.0), (2, 449.0), (2, 602.0), (4, 378.0),
    (4, 490.0), (4, 616.0), (6, 466.0), (6, 567.0), (6, 666.0), (6, 772.0),
]);

impl McsTable {
    /// The schemes of NR, the first being MCS 0.
    #[must_use]
    pub fn modulations(self) -> &'static [Modulation] {
        match self {
            McsTable::Qam64 => &QAM64,
            McsTable::Qam256 => &QAM256,
            McsTable::Qam64LowSe => &QAM64_LOW_SE,
        }
    }

    /// The modulations and code rates of CQI 1 to 15 that belong to this table.
    #[must_use]
    pub fn cqis(self) -> &'static [Modulation; 15] {
        match self {
            McsTable::Qam64 => &CQI_QAM64,
            McsTable::Qam256 => &CQI_QAM256,
            McsTable::Qam64LowSe => &CQI_QAM64_LOW_SE,
        }
    }

    /// Its number in TS 38.214 5.1.3.1.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            McsTable::Qam64 => 1,
            McsTable::Qam256 => 2,
            McsTable::Qam64LowSe => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: [McsTable; 3] = [McsTable::Qam64, McsTable::Qam256, McsTable::Qam64LowSe];

    /// The tables of TS 38.214 also state the efficiency of each MCS, with four digits.
    #[test]
    fn published_efficiencies() {
        for (table, mcs, efficiency) in [
            (McsTable::Qam64, 0, 0.2344),
            (McsTable::Qam64, 9, 1.3262),
            (McsTable::Qam64, 16, 2.5703),
            (McsTable::Qam64, 17, 2.5664),
            (McsTable::Qam64, 20, 3.3223),
            (McsTable::Qam64, 28, 5.5547),
            (McsTable::Qam256, 4, 1.1758),
            (McsTable::Qam256, 19, 5.1152),
            (McsTable::Qam256, 20, 5.3320),
            (McsTable::Qam256, 26, 7.1602),
            (McsTable::Qam256, 27, 7.4063),
            (McsTable::Qam64LowSe, 0, 0.0586),
            (McsTable::Qam64LowSe, 15, 1.3281),
            (McsTable::Qam64LowSe, 28, 4.5234),
        ] {
            let found = table.modulations()[mcs].efficiency();
            assert!((found - efficiency).abs() < 1e-4, "{table:?} {mcs}: {found}");
        }
        let best = TABLES.map(|table| table.cqis()[14].efficiency());
        assert!(best.iter().zip([5.5547, 7.4063, 4.5234]).all(|(a, b)| (a - b).abs() < 1e-4), "{best:?}");
        assert_eq!(TABLES.map(|table| table.modulations().len()), [29, 28, 29]);
    }

    #[test]
    fn efficiency_rises_with_index() {
        for table in TABLES {
            assert!(table.cqis().is_sorted_by(|a, b| a.efficiency() < b.efficiency()), "{table:?}");
            let same_order = |pair: &[Modulation]| pair[0].order == pair[1].order;
            for pair in table.modulations().windows(2) {
                assert!(pair[0].order <= pair[1].order, "{table:?}");
                // when the modulation order rises, the efficiency may drop slightly
                let least = if same_order(pair) { 0.0 } else { -0.005 };
                assert!(pair[1].efficiency() - pair[0].efficiency() > least, "{table:?} {pair:?}");
            }
        }
    }

    #[test]
    fn each_cqi_above_lowest_matches_an_mcs() {
        for table in TABLES {
            let missing = table.cqis().iter().filter(|cqi| !table.modulations().contains(cqi)).count();
            assert!(missing <= 1, "{table:?}: {missing}");
        }
    }
}
