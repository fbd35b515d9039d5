//! NR's transport block sizes (TS 38.214 5.1.3.2, and 6.1.4.2 for the uplink).

use super::Modulation;

/// The sizes in bits up to 3824 (TS 38.214 table 5.1.3.2-1).
#[rustfmt::skip]
const SIZES: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208, 224, 240,
    256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640, 672, 704, 736, 768,
    808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672,
    1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104,
    3240, 3368, 3496, 3624, 3752, 3824,
];

/// The maximum number of resource elements per PRB that count.
const MOST_RESOURCE_ELEMENTS: u32 = 156;

/// The size in bits of a transport block on `prbs` PRBs with `resource_elements` data resource elements each.
pub(super) fn bits(modulation: Modulation, layers: u8, prbs: u16, resource_elements: u32) -> u32 {
    let resource_elements = u64::from(resource_elements.min(MOST_RESOURCE_ELEMENTS)) * u64::from(prbs);
    if resource_elements == 0 {
        return 0;
    }
    let bits_a_symbol = u64::from(modulation.order) * u64::from(layers);
    // fixed point with eleven fractional bits is exact
    let info_2048 = resource_elements * bits_a_symbol * u64::from(modulation.rate_2048);
    let size = match info_2048 <= 3824 << 11 {
        true => small((info_2048 >> 11) as u32),
        false => large(info_2048, modulation.rate_2048 <= 2048 / 4),
    };
    u32::try_from(size).expect("the largest transport block has about 1.3 million bits")
}

fn small(info: u32) -> u64 {
    let n = info.checked_ilog2().unwrap_or(0).saturating_sub(6).max(3);
    let quantised = (info >> n << n).max(24);
    // the last entry of the table is the largest input
    SIZES[SIZES.partition_point(|size| u32::from(*size) < quantised)].into()
}

fn large(info_2048: u64, low_rate: bool) -> u64 {
    let above_crc_2048 = info_2048 - (24 << 11);
    let n = (above_crc_2048 >> 11).ilog2() - 5;
    let half = 1 << (n + 10);
    let with_crc = ((above_crc_2048 + half) >> (n + 11) << n).max(3840) + 24;
    let code_blocks = match low_rate {
        true => with_crc.div_ceil(3816),
        false if with_crc > 8424 + 24 => with_crc.div_ceil(8424),
        false => 1,
    };
    with_crc.div_ceil(8 * code_blocks) * 8 * code_blocks - 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_match_vectors() {
        let vectors = include_str!("../../../../../vectors/phy/nr-transport-blocks.csv");
        let mut count = 0;
        for line in vectors.lines().skip(1) {
            let numbers: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
            let [order, rate_1024, layers, prbs, resource_elements, expected] = numbers[..] else { panic!("{line}") };
            let modulation = Modulation { order: order as u8, rate_2048: (rate_1024 * 2.0) as u16 };
            let size = bits(modulation, layers as u8, prbs as u16, resource_elements as u32);
            assert_eq!(f64::from(size), expected, "{line}");
            count += 1;
        }
        assert!(count > 400, "{count}");
    }

    #[test]
    fn sizes_match_hand_calculation() {
        // MCS 20 of the 64QAM table on 106 PRBs with ten symbols: 12720 resource elements and 42259.2 bits, in steps of 1024
        // 41984, with the checksum's 24 in five code blocks of at most 8424: 42008 is rounded up to a multiple of 40
        let mcs_20 = Modulation { order: 6, rate_2048: 2 * 567 };
        assert_eq!(bits(mcs_20, 1, 106, 120), 42_040 - 24);
        // one PRB with twelve resource elements of QPSK at 30/1024 has less than one bit: the minimum size
        assert_eq!(bits(Modulation { order: 2, rate_2048: 60 }, 1, 1, 12), 24);
        assert_eq!(bits(mcs_20, 1, 0, 120), 0);
        assert_eq!(bits(mcs_20, 1, 106, 0), 0);
        // no more than 156 resource elements count
        assert_eq!(bits(mcs_20, 2, 50, 168), bits(mcs_20, 2, 50, 156));
    }

    #[test]
    fn size_never_decreases_with_prbs() {
        for (order, rate_1024) in [(2, 30), (2, 120), (2, 256), (2, 257), (4, 340), (6, 567), (8, 948)] {
            for layers in [1, 4] {
                let modulation = Modulation { order, rate_2048: 2 * rate_1024 };
                let sizes: Vec<u32> = (0..=273).map(|prbs| bits(modulation, layers, prbs, 132)).collect();
                assert!(sizes.is_sorted(), "{modulation:?}");
                assert!(sizes.iter().all(|size| size % 8 == 0));
            }
        }
    }
}
