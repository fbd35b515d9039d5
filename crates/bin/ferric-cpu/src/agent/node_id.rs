//! The identity of an E2 node as the RIC logs it: `gnb-00101-e00-du-4095`.

use std::str::FromStr;

use ferric::e2ap::{EnbId, GlobalE2NodeEnbId, GlobalE2NodeId, GlobalEnbId, GnbCuUpId, GnbDuId, GnbId, PlmnIdentity};
use per::Bits;

/// What the text says; the length of a gNB ID is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeName {
    plmn: PlmnIdentity,
    number: u32,
    part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Gnb,
    Du(i64),
    CuUp(i64),
    Enb,
}

/// The bits of a macro eNB's identity (TS 36.413 9.2.1.37), and of the numbers of a gNB's parts (TS 38.473 9.3.1.9).
const ENB_ID_BITS: u8 = 20;
const PART_BITS: u32 = 36;

impl FromStr for NodeName {
    type Err = String;

    fn from_str(text: &str) -> Result<NodeName, String> {
        let error = || {
            let text = text.escape_debug();
            format!("`{text}` is no identity such as gnb-00101-e00-du-4095, gnb-00101-e00-cu-up-1 or enb-00101-e00")
        };
        let (kind, rest) = text.split_once('-').ok_or_else(error)?;
        let (plmn, rest) = rest.split_once('-').ok_or_else(error)?;
        let (number, part) = rest.split_once('-').map_or((rest, ""), |(number, part)| (number, part));
        let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse::<i64>().ok())?;
        let of_part = |text: &str| digits(text).filter(|number| number >> PART_BITS == 0).ok_or_else(error);
        let part = match (kind, part) {
            ("enb", "") => Part::Enb,
            ("gnb", "") => Part::Gnb,
            ("gnb", part) => match (part.strip_prefix("du-"), part.strip_prefix("cu-up-")) {
                (Some(number), _) => Part::Du(of_part(number)?),
                (_, Some(number)) => Part::CuUp(of_part(number)?),
                _ => return Err(error()),
            },
            _ => return Err(error()),
        };
        let is_hexadecimal = number.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u32::from_str_radix(number, 16).ok().filter(|_| is_hexadecimal).ok_or_else(error)?;
        Ok(NodeName { plmn: plmn.parse().map_err(|_| error())?, number, part })
    }
}

impl NodeName {
    /// The identity.
    ///
    /// # Errors
    /// If the number does not fit.
    pub fn id(self, gnb_id_bits: u8) -> anyhow::Result<GlobalE2NodeId> {
        let bits = if self.part == Part::Enb { ENB_ID_BITS } else { gnb_id_bits };
        anyhow::ensure!(
            u64::from(self.number) >> bits == 0,
            "the number {:x} of --node does not fit into {bits} bits{}",
            self.number,
            if self.part == Part::Enb { "" } else { ": give more with --gnb-id-bits" }
        );
        if self.part == Part::Enb {
            let enb_id = EnbId::MacroEnbId(Bits::new(self.number.into(), ENB_ID_BITS));
            let global_enb_id = GlobalEnbId { plmn_identity: self.plmn, enb_id };
            return Ok(GlobalE2NodeId::Enb(GlobalE2NodeEnbId { global_enb_id }));
        }
        let mut id = GlobalE2NodeId::gnb(self.plmn, GnbId::new(self.number, gnb_id_bits));
        if let GlobalE2NodeId::Gnb(gnb) = &mut id {
            match self.part {
                Part::Du(number) => gnb.gnb_du_id = Some(GnbDuId(number)),
                Part::CuUp(number) => gnb.gnb_cu_up_id = Some(GnbCuUpId(number)),
                Part::Gnb | Part::Enb => {}
            }
        }
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_is_read_as_it_is_logged() {
        for text in ["gnb-00101-e00", "gnb-310410-3ffffe-du-4095", "gnb-00101-0-cu-up-68719476735", "enb-00101-fffff"] {
            let id = text.parse::<NodeName>().unwrap().id(22).unwrap();
            assert_eq!(id.to_string(), text);
        }
        assert!("gnb-00101-ffffffff".parse::<NodeName>().unwrap().id(32).is_ok());
        for (text, bits) in [("gnb-00101-400000", 22), ("enb-00101-100000", 32)] {
            let error = text.parse::<NodeName>().unwrap().id(bits).unwrap_err().to_string();
            assert!(error.contains("does not fit"), "{error}");
        }
        for wrong in [
            "",
            "gnb",
            "gnb-00101",
            "gnb-00101-",
            "gnb-0010-e00",
            "gnb-00101-xyz",
            "gnb-00101-+e0",
            "gnb-00101-100000000",
            "gnb-00101-e00-du-",
            "gnb-00101-e00-du-68719476736",
            "gnb-00101-e00-du--1",
            "gnb-00101-e00-ru-1",
            "enb-00101-e00-du-1",
            "ric-00101-e00",
        ] {
            let error = wrong.parse::<NodeName>().unwrap_err();
            assert!(error.contains("gnb-00101-e00-du-4095"), "{wrong}: {error}");
        }
    }
}
