//! PLMNs, slices, cells and time stamps in JSON.
//!
//! The types are those of [`crate::common`] in another encoding.

use per::Bits;
use serde_json::{Value, json};

use super::json::{Fields, Json, JsonError, JsonErrorKind, Path};
use crate::common::{Cgi, EutraCgi, NrCgi, PlmnIdentity, SNssai, Sd, Sst};

const NR_CELL_BITS: u8 = 36;
const EUTRA_CELL_BITS: u8 = 28;

/// PlmnId: MCC and MNC as digits.
impl Json for PlmnIdentity {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &["mcc", "mnc"])?;
        let code = |key, lengths: core::ops::RangeInclusive<usize>, expected| {
            let text: String = fields.field(key)?;
            let digits = lengths.contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit());
            match text.parse::<u16>() {
                Ok(code) if digits => Ok((code, text.len() as u8)),
                _ => Err(at.key(key).error(JsonErrorKind::Expected(expected))),
            }
        };
        let (mcc, _) = code("mcc", 3..=3, "3 digits")?;
        let (mnc, digits) = code("mnc", 2..=3, "2 or 3 digits")?;
        Ok(PlmnIdentity::from_codes(mcc, mnc, digits))
    }

    fn write(&self) -> Value {
        let digits = self.to_string();
        let (mcc, mnc) = digits.split_at(digits.len().min(3));
        json!({ "mcc": mcc, "mnc": mnc })
    }
}

/// Snssai: SST as a number, SD as 6 hex digits.
impl Json for SNssai {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &["sst", "sd"])?;
        let sd: Option<Octets<3>> = fields.field("sd")?;
        Ok(SNssai { sst: Sst([fields.field("sst")?]), sd: sd.map(|sd| Sd(sd.0)) })
    }

    fn write(&self) -> Value {
        let mut value = json!({ "sst": self.sst.0[0] });
        if let Some(sd) = self.sd {
            value["sd"] = Octets(sd.0).write();
        }
        value
    }
}

/// CellGlobalId: an NR or an E-UTRA cell, its identity as 9 or 7 hex digits.
impl Json for Cgi {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        const NR: &str = "nRCellIdentity";
        const EUTRA: &str = "eUTRACellIdentity";
        let fields = Fields::of(value, at, &["plmnIdentity", NR, EUTRA])?;
        let plmn_identity = fields.field("plmnIdentity")?;
        match (fields.has(NR), fields.has(EUTRA)) {
            (true, false) => {
                let nr_cell_identity = cell_identity(&fields.field::<String>(NR)?, NR_CELL_BITS)
                    .ok_or_else(|| at.key(NR).error(JsonErrorKind::Expected("9 hex digits")))?;
                Ok(Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity }))
            }
            (false, true) => {
                let eutra_cell_identity = cell_identity(&fields.field::<String>(EUTRA)?, EUTRA_CELL_BITS)
                    .ok_or_else(|| at.key(EUTRA).error(JsonErrorKind::Expected("7 hex digits")))?;
                Ok(Cgi::EutraCgi(EutraCgi { plmn_identity, eutra_cell_identity }))
            }
            _ => Err(at.error(JsonErrorKind::Choice(&[NR, EUTRA]))),
        }
    }

    fn write(&self) -> Value {
        match self {
            Cgi::NrCgi(cell) => json!({
                "plmnIdentity": cell.plmn_identity.write(),
                "nRCellIdentity": format!("{:09X}", cell.nr_cell_identity.value),
            }),
            Cgi::EutraCgi(cell) => json!({
                "plmnIdentity": cell.plmn_identity.write(),
                "eUTRACellIdentity": format!("{:07X}", cell.eutra_cell_identity.value),
            }),
        }
    }
}

fn cell_identity(digits: &str, bits: u8) -> Option<Bits> {
    let hex = digits.len() == usize::from(bits) / 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| hex).map(|value| Bits::new(value, bits))
}

/// Octets as hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Octets<const N: usize>(pub [u8; N]);

impl<const N: usize> Json for Octets<N> {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let text = value.as_str().ok_or_else(|| at.error(JsonErrorKind::Expected("a text")))?;
        let mut octets = [0; N];
        if text.len() != 2 * N || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(at.error(JsonErrorKind::Expected(if N == 3 { "6 hex digits" } else { "16 hex digits" })));
        }
        for (octet, digits) in octets.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let nibble = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8; // checked to be a hex digit
            *octet = nibble(digits[0]) << 4 | nibble(digits[1]);
        }
        Ok(Octets(octets))
    }

    fn write(&self) -> Value {
        Value::String(self.0.iter().map(|octet| format!("{octet:02x}")).collect())
    }
}

/// A time stamp: NTP's 64 bits (RFC 5905 6), seconds since 1900 and a fraction, as 16 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimeStamp(pub [u8; 8]);

impl Json for TimeStamp {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        Octets::read(value, at).map(|octets| TimeStamp(octets.0))
    }

    fn write(&self) -> Value {
        Octets(self.0).write()
    }
}
