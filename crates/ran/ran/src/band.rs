//! The spectrum of a carrier: operating bands, NR-ARFCNs and EARFCNs.

use radio::phy::{Carrier, Duplex};

/// An operating band below 7.125 GHz (TS 38.104 table 5.2-1), in MHz. The two ranges of a TDD band are equal.
struct Band {
    number: u16,
    uplink: (f64, f64),
    downlink: (f64, f64),
}

const fn fdd(number: u16, uplink: (f64, f64), downlink: (f64, f64)) -> Band {
    Band { number, uplink, downlink }
}

const fn tdd(number: u16, both: (f64, f64)) -> Band {
    Band { number, uplink: both, downlink: both }
}

const BANDS: &[Band] = &[
    fdd(1, (1920.0, 1980.0), (2110.0, 2170.0)),
    fdd(2, (1850.0, 1910.0), (1930.0, 1990.0)),
    fdd(3, (1710.0, 1785.0), (1805.0, 1880.0)),
    fdd(5, (824.0, 849.0), (869.0, 894.0)),
    fdd(7, (2500.0, 2570.0), (2620.0, 2690.0)),
    fdd(8, (880.0, 915.0), (925.0, 960.0)),
    fdd(12, (699.0, 716.0), (729.0, 746.0)),
    fdd(20, (832.0, 862.0), (791.0, 821.0)),
    fdd(25, (1850.0, 1915.0), (1930.0, 1995.0)),
    fdd(28, (703.0, 748.0), (758.0, 803.0)),
    fdd(66, (1710.0, 1780.0), (2110.0, 2200.0)),
    fdd(71, (663.0, 698.0), (617.0, 652.0)),
    tdd(34, (2010.0, 2025.0)),
    tdd(38, (2570.0, 2620.0)),
    tdd(39, (1880.0, 1920.0)),
    tdd(40, (2300.0, 2400.0)),
    tdd(41, (2496.0, 2690.0)),
    tdd(46, (5150.0, 5925.0)),
    tdd(48, (3550.0, 3700.0)),
    tdd(77, (3300.0, 4200.0)),
    tdd(78, (3300.0, 3800.0)),
    tdd(79, (4400.0, 5000.0)),
    tdd(96, (5925.0, 7125.0)),
];

/// The spectrum of a carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spectrum {
    pub downlink_arfcn: u32,
    /// Equal to the downlink's for TDD.
    pub uplink_arfcn: u32,
    /// The bands that contain the carrier: at least one.
    pub bands: Vec<u16>,
}

impl Spectrum {
    /// The spectrum of an NR carrier; None if no band contains it.
    pub fn of(carrier: &Carrier) -> Option<Spectrum> {
        let is_tdd = matches!(carrier.duplex, Duplex::Tdd { .. });
        let (center, half) = (carrier.frequency_mhz, carrier.bandwidth_mhz / 2.0);
        let contains_carrier = |band: &&Band| {
            let (from, to) = band.downlink;
            (band.uplink == band.downlink) == is_tdd && center - half >= from && center + half <= to
        };
        let mut bands = BANDS.iter().filter(contains_carrier).peekable();
        let first = bands.peek()?;
        let spacing = first.downlink.0 - first.uplink.0;
        // a band with another duplex spacing has another uplink carrier
        let has_same_spacing = |band: &&Band| band.downlink.0 - band.uplink.0 == spacing;
        Some(Spectrum {
            downlink_arfcn: arfcn(center),
            uplink_arfcn: arfcn(center - spacing),
            bands: bands.filter(has_same_spacing).map(|band| band.number).collect(),
        })
    }
}

/// The NR-ARFCN nearest to a frequency below 24.25 GHz (TS 38.104 5.4.2.1).
fn arfcn(mhz: f64) -> u32 {
    let nearest = if mhz < 3000.0 { mhz * 200.0 } else { 600_000.0 + (mhz - 3000.0) * 1e3 / 15.0 };
    nearest.round() as u32
}

/// The downlink EARFCN of each band's lowest frequency (N_Offs-DL of TS 36.101 5.7.3), of bands that both technologies have.
#[cfg(feature = "control")]
const EUTRA_OFFSETS: &[(u16, u16)] = &[
    (1, 0),
    (2, 600),
    (3, 1200),
    (5, 2400),
    (7, 2750),
    (8, 3450),
    (12, 5010),
    (20, 6150),
    (25, 8040),
    (28, 9210),
    (34, 36_200),
    (38, 37_750),
    (39, 38_250),
    (40, 38_650),
    (41, 39_650),
    (46, 46_790),
    (48, 55_240),
];

/// The downlink EARFCN of an LTE carrier, in steps of 100 kHz; `None` if no band contains it.
#[cfg(feature = "control")]
pub fn earfcn(carrier: &Carrier) -> Option<u16> {
    let (center, half) = (carrier.frequency_mhz, carrier.bandwidth_mhz / 2.0);
    let is_tdd = carrier.duplex != Duplex::Fdd;
    EUTRA_OFFSETS.iter().find_map(|(number, offset)| {
        let Band { uplink, downlink: (from, to), .. } = BANDS.iter().find(|band| band.number == *number)?;
        let is_of_kind = (*uplink == (*from, *to)) == is_tdd;
        let contains = is_of_kind && center - half >= *from && center + half <= *to;
        contains.then(|| offset + ((center - from) * 10.0).round() as u16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_and_arfcns_of_carriers() {
        let of = |frequency_mhz, is_tdd| {
            let duplex = if is_tdd { Carrier::default().duplex } else { Duplex::Fdd };
            let spectrum = Spectrum::of(&Carrier { frequency_mhz, bandwidth_mhz: 20.0, duplex, ..Carrier::default() });
            spectrum.map(|spectrum| (spectrum.downlink_arfcn, spectrum.uplink_arfcn, spectrum.bands))
        };
        assert_eq!(of(3600.0, true), Some((640_000, 640_000, vec![48, 77, 78])));
        assert_eq!(of(2140.0, false), Some((428_000, 390_000, vec![1])), "band 66 has another duplex spacing");
        assert_eq!(of(2185.0, false), Some((437_000, 357_000, vec![66])));
        assert_eq!(of(806.0, false), Some((161_200, 169_400, vec![20])));
        assert_eq!(of(2140.0, true), None);
        assert_eq!(of(2115.0, false), None, "exceeds the band");
    }

    #[test]
    fn earfcns_of_carriers() {
        let of = |frequency_mhz| earfcn(&Carrier { frequency_mhz, ..Carrier::lte() });
        // TS 36.101 table 5.7.3-1: the middle of band 7 is 3100, that of band 3 is 1575
        assert_eq!([of(2655.0), of(1842.5), of(2140.0), of(5000.0)], [Some(3100), Some(1575), Some(300), None]);
    }
}
