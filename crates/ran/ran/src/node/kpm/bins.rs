//! The bins of distributions.

use ran_functions::kpm::Bin;

/// The bins of PRB usage: tenths, in percent. The last one includes its end.
pub const TENTHS: [Bin; 10] = {
    let mut bins = [Bin { from: 0.0, to: 10.0 }; 10];
    let mut at = 0;
    while at < bins.len() {
        bins[at].from = 10.0 * at as f64;
        bins[at].to = 10.0 * (at + 1) as f64;
        at += 1;
    }
    bins[9].to = 100.5;
    bins
};

/// The dimensions of the CQI distribution (TS 28.552 5.1.1.11.1): CQI, rank, and CQI table.
pub const CQIS: [Bin; 16] = integer_bins(0);
pub const RANKS: [Bin; 8] = integer_bins(1);
pub const CQI_TABLES: [Bin; 4] = integer_bins(1);

/// The further dimensions of the MCS distribution (TS 28.552 5.1.1.12.1): rank, MCS table, and MCS.
pub const MCS_TABLES: [Bin; 3] = integer_bins(1);
pub const MCS: [Bin; 32] = integer_bins(0);

/// Bins of one integer each.
const fn integer_bins<const N: usize>(first: usize) -> [Bin; N] {
    let mut bins = [Bin { from: 0.0, to: 1.0 }; N];
    let mut at = 0;
    while at < N {
        bins[at].from = (first + at) as f64;
        bins[at].to = (first + at + 1) as f64;
        at += 1;
    }
    bins
}

/// Whether a bin contains a value.
pub fn is_in(bin: &Bin, value: f64) -> bool {
    (bin.from..bin.to).contains(&value)
}
