//! The names of E2 nodes in the reference platform: `gnb_001_001_00000e00`.
//!
//! A name is the kind of the node, its PLMN, and its identity in hexadecimal digits, as the E2 termination of the platform writes
//! them. xApps find nodes by it, and it is the managed entity of RMR messages. Its form has properties that names of one's own
//! would not have: of an MNC with three digits the last one comes first, a long kind cuts the PLMN, and a gNB-CU-UP and a gNB-DU
//! with the same number differ in their kind only.

use std::fmt::Write;

use ferric::e2ap::GlobalE2NodeId;
use ids::{EnGnbId, EnbId, GnbId, NgEnbId, PlmnIdentity};
use per::Bits;

/// Octets of kind and PLMN: the platform keeps no more.
const PREFIX_OCTETS: usize = 19;

/// Returns the name of a node, at most 31 characters.
#[must_use]
pub fn ran_name(node: &GlobalE2NodeId) -> String {
    let (kind, bits) = kind_and_identity(node);
    let mut name = format!("{kind}{}", digits(node.plmn_identity()));
    name.truncate(PREFIX_OCTETS);
    let width = usize::from(bits.count).div_ceil(8) * 2;
    // writing to a string does not fail
    let _ = write!(name, "_{:0width$x}", bits.value);
    if let GlobalE2NodeId::Gnb(id) = node {
        let _ = match (id.gnb_cu_up_id, id.gnb_du_id) {
            (Some(part), None) => write!(name, "_{:x}", part.0),
            (None, Some(part)) => write!(name, "_{:x}", part.0),
            _ => Ok(()),
        };
    }
    name
}

/// The kind of a node in its name, and its identity in the network.
fn kind_and_identity(node: &GlobalE2NodeId) -> (&'static str, Bits) {
    match node {
        GlobalE2NodeId::Gnb(id) => {
            let GnbId::GnbId(bits) = id.global_gnb_id.gnb_id;
            let kind = match (id.gnb_cu_up_id, id.gnb_du_id) {
                (Some(_), None) => "gnbc_",
                (None, Some(_)) => "gnbd_",
                _ => "gnb_",
            };
            (kind, bits)
        }
        GlobalE2NodeId::EnGnb(id) => {
            let EnGnbId::EnGnbId(bits) = id.global_en_gnb_id.en_gnb_id;
            ("en_gnb_", bits)
        }
        GlobalE2NodeId::NgEnb(id) => match id.global_ng_enb_id.ng_enb_id {
            NgEnbId::MacroNgEnbId(bits) => ("ng_enB_macro_", bits),
            NgEnbId::ShortMacroNgEnbId(bits) => ("ng_enB_shortmacro_", bits),
            NgEnbId::LongMacroNgEnbId(bits) => ("ng_enB_longmacro_", bits),
        },
        GlobalE2NodeId::Enb(id) => match id.global_enb_id.enb_id {
            EnbId::MacroEnbId(bits) => ("enB_macro_", bits),
            EnbId::HomeEnbId(bits) => ("enB_home_", bits),
            EnbId::ShortMacroEnbId(bits) => ("enB_shortmacro_", bits),
            EnbId::LongMacroEnbId(bits) => ("enB_longmacro_", bits),
        },
    }
}

/// The codes of a network, each of three digits.
fn digits(PlmnIdentity([ab, zc, yx]): PlmnIdentity) -> String {
    let (a, b, c) = (ab & 15, ab >> 4, zc & 15);
    let (x, y, z) = (yx & 15, yx >> 4, zc >> 4);
    match z {
        15 => format!("{a}{b}{c}_0{x}{y}"),
        z => format!("{a}{b}{c}_{z}{x}{y}"),
    }
}

/// The identity of a node in its network, in binary digits.
pub(crate) fn identity_bits(node: &GlobalE2NodeId) -> String {
    let (_, bits) = kind_and_identity(node);
    let width = usize::from(bits.count);
    format!("{:0width$b}", bits.value)
}

/// The network of a node, in the hexadecimal digits of its encoding.
pub(crate) fn plmn_octets(node: &GlobalE2NodeId) -> String {
    let [a, b, c] = node.plmn_identity().0;
    format!("{a:02X}{b:02X}{c:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gnb(plmn: PlmnIdentity, value: u32, count: u8) -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(plmn, GnbId::new(value, count))
    }

    #[test]
    fn name_has_kind_plmn_and_identity() {
        let plmn = PlmnIdentity::from_codes(1, 1, 2);
        assert_eq!(ran_name(&gnb(plmn, 0xE00, 32)), "gnb_001_001_00000e00");
        assert_eq!(ran_name(&gnb(plmn, 0x19B, 22)), "gnb_001_001_00019b");
        // an example of the platform's documentation: 208 92, 303030
        assert_eq!(ran_name(&gnb(PlmnIdentity::from_codes(208, 92, 2), 0x30_3030, 24)), "gnb_208_092_303030");
        assert_eq!(
            ran_name(&gnb(PlmnIdentity::from_codes(310, 410, 3), 1, 24)),
            "gnb_310_041_000001",
            "digit 3 comes first"
        );
    }

    #[test]
    fn parts_of_a_gnb_have_names_of_their_own() {
        let GlobalE2NodeId::Gnb(whole) = gnb(PlmnIdentity::from_codes(1, 1, 2), 0xE00, 32) else { unreachable!() };
        let (mut cu_up, mut du) = (whole, whole);
        cu_up.gnb_cu_up_id = Some(ids::GnbCuUpId(10));
        du.gnb_du_id = Some(ids::GnbDuId(10));
        assert_eq!(ran_name(&GlobalE2NodeId::Gnb(cu_up)), "gnbc_001_001_00000e00_a");
        assert_eq!(ran_name(&GlobalE2NodeId::Gnb(du)), "gnbd_001_001_00000e00_a");
        du.gnb_cu_up_id = Some(ids::GnbCuUpId(1));
        assert_eq!(ran_name(&GlobalE2NodeId::Gnb(du)), "gnb_001_001_00000e00");
    }

    #[test]
    fn identity_is_written_as_the_e2_manager_does() {
        let node = gnb(PlmnIdentity::from_codes(208, 92, 2), 0x30_3030, 24);
        assert_eq!((&*plmn_octets(&node), &*identity_bits(&node)), ("02F829", "001100000011000000110000"));
    }
}
