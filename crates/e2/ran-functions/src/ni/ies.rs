//! The IEs of application protocols whose values are numbers, so that triggers can compare them.
//!
//! An IE's number has one type in all messages of a protocol; what is here are those whose type is an INTEGER or an
//! ENUMERATED in each, by the ASN.1 of Release 17, and nothing else of it. `vectors/interfaces` has values of all.

use e2sm::ni::NiType;
use per::Reader;

/// An IE, and what its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ie {
    id: u16,
    kind: Kind,
}

/// A type whose values are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// INTEGER, between these.
    Integer { lo: i64, hi: i64, is_extensible: bool },
    /// ENUMERATED, so many values; those behind an extension mark come after them.
    Enumerated { values: u16, is_extensible: bool },
}

const fn int(id: u16, lo: i64, hi: i64) -> Ie {
    Ie { id, kind: Kind::Integer { lo, hi, is_extensible: false } }
}

const fn open(id: u16, lo: i64, hi: i64) -> Ie {
    Ie { id, kind: Kind::Integer { lo, hi, is_extensible: true } }
}

const fn list(id: u16, values: u16) -> Ie {
    Ie { id, kind: Kind::Enumerated { values, is_extensible: true } }
}

const fn closed(id: u16, values: u16) -> Ie {
    Ie { id, kind: Kind::Enumerated { values, is_extensible: false } }
}

/// What the value of an IE is, where that is a number.
pub(super) fn kind(interface: NiType, id: u16) -> Option<Kind> {
    let ies = match interface {
        NiType::S1 => S1AP,
        NiType::X2 => X2AP,
        NiType::Ng => NGAP,
        NiType::Xn => XNAP,
        NiType::F1 => F1AP,
        NiType::E1 => E1AP,
    };
    let at = ies.binary_search_by_key(&id, |ie| ie.id).ok()?;
    Some(ies[at].kind)
}

impl Kind {
    /// Reads a value; `None` where the octets are none of this type.
    pub fn read(self, octets: &[u8]) -> Option<i64> {
        // an open type has an octet at least (X.691 11.1.3), even of a type with one value
        if octets.is_empty() {
            return None;
        }
        let mut reader = Reader::new(octets, 0);
        let value = self.value(&mut reader).ok()?;
        reader.finish().ok()?;
        Some(value)
    }

    fn value(self, reader: &mut Reader<'_>) -> Result<i64, per::Error> {
        let (lo, hi, is_extensible) = match self {
            Kind::Integer { lo, hi, is_extensible } => (lo, hi, is_extensible),
            Kind::Enumerated { values, is_extensible } => (0, i64::from(values) - 1, is_extensible),
        };
        // X.691 13.1 and 14.3: what lies outside the root comes without its bounds
        match (is_extensible && reader.bit()?, self) {
            (false, _) => reader.constrained(lo, hi),
            (true, Kind::Integer { .. }) => reader.unconstrained(),
            (true, Kind::Enumerated { values, .. }) => Ok(i64::from(values) + i64::from(reader.normally_small()?)),
        }
    }
}

/// Of S1AP (TS 36.413 9.3.7).
#[rustfmt::skip]
const S1AP: &[Ie] = &[
    int(0, 0, 4_294_967_295), list(1, 5), int(8, 0, 16_777_215), list(44, 4), list(65, 6), list(71, 2), list(79, 1),
    list(83, 2), list(84, 1), int(87, 0, 255), int(88, 0, 4_294_967_295), int(106, 1, 256), list(108, 1),
    closed(109, 2), int(114, 0, 4095), int(115, 0, 65_535), list(124, 1), list(125, 2), list(134, 5), list(137, 4),
    int(140, 0, 2047), closed(142, 1), int(144, 4096, 131_071), list(145, 1), closed(146, 2), int(148, 0, 255),
    list(150, 1), list(151, 8), int(158, 0, 4_294_967_295), list(160, 1), int(161, 1, 99), list(163, 1), list(164, 1),
    list(165, 1), list(166, 2), list(169, 2), list(170, 2), list(187, 2), closed(191, 1), list(228, 1),
    int(230, 0, 255), list(234, 4), list(241, 1), list(242, 1), list(243, 1), list(245, 5), int(246, 0, 65_535),
    list(249, 1), list(250, 1), list(251, 1), list(266, 1), list(268, 1), list(271, 2), list(272, 1), list(275, 1),
    list(277, 2), list(280, 2), list(281, 1), list(283, 1), list(301, 2), list(302, 1), list(303, 1),
    open(304, 1, 4095), list(320, 1), list(324, 6), list(331, 1), list(353, 1),
];

/// Of X2AP (TS 36.423 9.3.7).
#[rustfmt::skip]
const X2AP: &[Ie] = &[
    int(9, 0, 4095), int(10, 0, 4095), list(22, 6), list(36, 1), open(39, 1, 4095), open(40, 1, 4095),
    open(48, 0, 503), list(54, 2), list(64, 1), closed(71, 2), list(74, 1), list(75, 1), list(78, 3), list(109, 4),
    int(111, 0, 4095), int(112, 0, 4095), list(136, 3), list(145, 5), list(154, 1), open(155, 0, 4095),
    open(156, 0, 4095), open(157, 0, 4095), open(158, 0, 4095), list(164, 1), open(169, 1, 8), list(181, 1),
    list(183, 1), int(207, 0, 4_294_967_295), list(208, 3), list(212, 3), list(241, 1), list(249, 2),
    int(256, 0, 255), int(264, 0, 4_294_967_295), list(272, 2), int(275, 1, 256), list(277, 2), list(278, 3),
    list(280, 3), list(281, 3), int(288, 1, 256), list(296, 2), list(310, 2), list(329, 3), list(330, 1),
    open(335, 0, 255), list(343, 1), list(344, 1), list(345, 1), list(346, 1), list(348, 1),
    int(359, 0, 4_294_967_295), list(368, 1), list(376, 2), list(379, 1), open(383, 1, 4095), open(384, 1, 4095),
    list(395, 1), list(407, 1), list(410, 1), list(416, 1), list(419, 1), list(422, 2), list(423, 2), list(438, 1),
    list(449, 2),
];

/// Of NGAP (TS 38.413 9.4.7).
#[rustfmt::skip]
const NGAP: &[Ie] = &[
    int(9, 1, 99), int(10, 0, 1_099_511_627_775), list(14, 1), list(17, 1), list(21, 4), list(22, 1), list(29, 3),
    list(30, 2), open(31, 1, 256), int(40, 0, 1_099_511_627_775), list(41, 1), int(47, 0, 65_535), list(50, 4),
    list(51, 1), list(52, 8), int(83, 1, 256), int(85, 0, 4_294_967_295), int(86, 0, 255), int(87, 0, 131_071),
    list(90, 10), list(91, 3), list(92, 2), int(100, 0, 1_099_511_627_775), list(107, 6), list(112, 1), list(127, 1),
    open(129, 1, 256), list(134, 5), list(143, 1), list(146, 2), list(147, 1), list(177, 2), list(199, 2),
    list(200, 1), list(201, 1), list(202, 6), list(204, 4), list(205, 1), int(206, 0, 255), open(210, 0, 255),
    list(222, 2), list(224, 1), list(225, 1), list(226, 2), list(227, 1), list(228, 1), list(234, 1), list(235, 1),
    list(236, 1), list(237, 10), list(245, 1), list(256, 2), list(269, 1), open(295, 0, 65_535), list(333, 1),
    list(342, 1), list(367, 2), list(373, 2), list(388, 2), list(400, 2), list(402, 1), list(403, 1), list(404, 1),
    list(408, 1), list(427, 1), list(428, 1),
];

/// Of XNAP (TS 38.423 9.3.7).
#[rustfmt::skip]
const XNAP: &[Ie] = &[
    int(1, 0, 255), list(2, 3), list(3, 3), int(16, 1, 256), int(23, 0, 4_294_967_295), int(27, 0, 4_294_967_295),
    int(29, 0, 4_294_967_295), list(31, 4), list(53, 8), list(54, 3), list(55, 3), list(61, 2), list(62, 1),
    list(63, 1), int(71, 0, 4_294_967_295), int(73, 0, 4_294_967_295), list(76, 6), int(79, 0, 4_294_967_295),
    list(86, 1), list(92, 2), open(93, 1, 8), list(94, 4), open(98, 1, 32), open(105, 0, 4_000_000_000_000),
    list(110, 1), open(113, 0, 4_000_000_000_000), list(121, 1), open(130, 0, 255), list(131, 3), list(142, 1),
    list(148, 1), list(149, 1), list(150, 1), list(151, 1), list(156, 1), list(165, 1), list(179, 3),
    open(187, 1, 4095), open(188, 1, 4095), list(189, 3), list(192, 5), list(206, 1), list(229, 1), list(246, 1),
    list(247, 1), list(248, 4), list(253, 1), list(262, 2), list(290, 1), list(293, 1), list(298, 1),
    int(313, 0, 4_294_967_295), int(314, 0, 4_294_967_295), list(326, 2), list(327, 2), list(334, 2), list(353, 2),
    list(356, 1), list(363, 1), list(365, 1), list(375, 1), list(376, 2), list(390, 1), list(391, 1),
    open(394, 0, 172_800), list(395, 2), open(403, 1, 60), list(425, 1), list(441, 1), list(442, 1), list(451, 1),
    list(453, 2), list(460, 2), list(462, 5), list(473, 1),
];

/// Of F1AP (TS 38.473 9.4.7).
#[rustfmt::skip]
const F1AP: &[Ie] = &[
    int(40, 0, 4_294_967_295), int(41, 0, 4_294_967_295), int(42, 0, 68_719_476_735), int(47, 0, 4_294_967_295),
    open(64, 0, 3), list(77, 6), open(78, 0, 255), list(79, 1), list(87, 1), list(94, 1), open(95, 0, 65_535),
    list(96, 4), list(97, 1), list(98, 1), list(106, 2), open(107, 0, 31), list(109, 1), list(114, 4), list(115, 8),
    open(141, 0, 131_071), int(142, 0, 65_535), int(156, 0, 4_294_967_295), list(157, 1),
    open(158, 0, 4_000_000_000_000), list(159, 1), list(162, 1), closed(172, 2), list(178, 1), open(182, 1, 64),
    list(184, 1), list(213, 1), list(215, 1), list(216, 1), int(217, 0, 4_294_967_295), int(219, 0, 4_294_967_295),
    list(222, 1), list(253, 2), open(340, 0, 4_000_000_000_000), open(345, 0, 4095), open(346, 0, 4095), list(347, 3),
    list(352, 5), list(379, 2), list(393, 2), list(399, 8), open(402, 1, 65_536), list(408, 2), list(409, 12),
    open(411, 1, 65_536), open(412, 1, 256), open(413, 1, 256), list(416, 12), open(418, 0, 4095), int(420, 0, 1023),
    int(421, 0, 79), list(423, 1), list(424, 2), list(432, 1), list(434, 5), list(438, 9), int(451, 0, 4_294_967_295),
    int(452, 0, 4_294_967_295), list(510, 1), int(512, 0, 16_777_215), list(516, 2), list(536, 2), list(541, 12),
    list(545, 2), open(546, 1, 16), list(547, 2), list(548, 2), list(571, 2), list(573, 2), list(576, 1),
    list(578, 1), list(580, 4), list(581, 4), int(584, 0, 7690), list(586, 1), list(588, 1),
    open(596, 0, 4_000_000_000_000), int(597, 1, 32), open(618, 0, 255), list(620, 1), closed(634, 8), list(635, 2),
    list(649, 2), int(661, 0, 319), int(662, 0, 639), list(672, 14), list(675, 1), list(683, 1), list(689, 1),
    list(708, 1), list(712, 2), open(716, 1, 192_000), list(749, 2), list(760, 2), list(768, 1), list(770, 2),
    list(783, 1), list(794, 1), int(806, 0, 3_940_097), int(807, 0, 7_880_193), int(808, 0, 32_701),
    int(809, 0, 65_401), list(813, 2), int(821, 0, 15_760_385), int(822, 0, 31_520_769), int(823, 0, 63_041_537),
    int(824, 0, 126_083_073), int(825, 0, 130_801), int(826, 0, 261_601), int(827, 0, 523_201),
    int(828, 0, 1_046_401), list(844, 1), list(846, 1), int(861, 1, 12),
];

/// Of E1AP (TS 37.483 9.4.7).
#[rustfmt::skip]
const E1AP: &[Ie] = &[
    int(2, 0, 4_294_967_295), int(3, 0, 4_294_967_295), int(7, 0, 68_719_476_735), list(10, 3), list(12, 6),
    open(14, 0, 4_000_000_000_000), list(17, 2), list(23, 3), list(26, 1), open(57, 0, 255), open(59, 1, 7200),
    open(63, 0, 7), int(64, 0, 255), closed(65, 2), open(66, 0, 4_000_000_000_000), list(70, 1),
    int(77, 0, 68_719_476_735), open(83, 1, 256), open(89, 1, 4095), open(90, 1, 4095), list(91, 2), list(93, 16),
    list(115, 2), list(121, 1), list(134, 1), list(139, 1), list(146, 2), list(154, 2), int(155, 0, 16_777_215),
    int(156, 0, 65_535), list(174, 1), list(187, 1), open(188, 1, 7200), list(195, 1), open(196, 1, 192_000),
    list(197, 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_can_be_searched() {
        for ies in [S1AP, X2AP, NGAP, XNAP, F1AP, E1AP] {
            assert!(ies.is_sorted_by_key(|ie| ie.id) && ies.windows(2).all(|two| two[0].id != two[1].id));
        }
    }

    /// An independent encoder's values (pycrate 0.8.1): the ends, one between, and of enumerations what was added last.
    #[test]
    fn every_ie_of_the_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../vectors/interfaces/ies.jsonl");
        let mut seen = std::collections::BTreeSet::new();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let about: serde_json::Value = serde_json::from_str(line).unwrap();
            let interface = super::super::tests::interface_of(about["interface"].as_str().unwrap());
            let id = about["ie"].as_u64().unwrap() as u16;
            let octets = super::super::tests::unhex(about["hex"].as_str().unwrap());
            let kind = kind(interface, id).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(kind.read(&octets), about["value"].as_i64(), "{line}");
            assert_eq!(kind.read(&[]), None, "{line}");
            let longer = [&octets[..], &[0]].concat();
            assert_eq!(kind.read(&longer), None, "{line}");
            seen.insert((interface, id));
        }
        assert_eq!(seen.len(), [S1AP, X2AP, NGAP, XNAP, F1AP, E1AP].iter().map(|ies| ies.len()).sum::<usize>());
    }
}
