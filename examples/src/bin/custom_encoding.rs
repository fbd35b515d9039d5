//! A custom encoding of E2AP, PER after a length and a CRC-32, and a RIC for nodes that use it.
//!
//! `cargo run -p ferric-examples --bin custom_encoding -- tcp://127.0.0.1:36421`. A node uses it with
//! `agents.add(node, Endpoint::new(address, CHECKED), functions)`, and an xApp that reads its indications has
//! `XappConfig { encodings: vec![CHECKED], .. }`.

use ferric::Endpoint;
use ferric::e2ap::{Codec, Decoded, Encoding, Error, Pdu, RicIndication, Version, peek};
use ferric::server::{Server, ServerConfig};
use per::{ErrorKind, Gather};

/// The encoding for endpoints and configurations.
pub const CHECKED: Codec = Codec::Other(&Checked);

/// Four octets of length, four of CRC-32 (ISO-HDLC, as in Ethernet), then aligned PER.
#[derive(Debug)]
pub struct Checked;

impl Encoding for Checked {
    fn name(&self) -> &'static str {
        "crc32"
    }

    fn decode<'a>(&self, pdu: &'a [u8], version: Version, gather: &'a Gather) -> Result<Decoded<'a>, Error> {
        let damaged = Error::Header(per::Error { kind: ErrorKind::BadLength, bit: 0, at: "crc32" });
        ferric::e2ap::decode(open(pdu).ok_or(damaged)?, version, gather)
    }

    fn encode(&self, pdu: &Pdu<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        seal(out, |out| pdu.encode(version, out))
    }

    // the other methods are optional: without them an indication is decoded to be routed, and copied to be written

    fn encode_indication(
        &self,
        indication: &RicIndication<'_>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), per::Error> {
        seal(out, |out| ferric::e2ap::encode(indication, version, out))
    }

    fn peek_indication<'a>(&self, pdu: &'a [u8]) -> Option<peek::Indication<'a>> {
        peek::indication(open(pdu)?)
    }

    fn outline(&self, pdu: &[u8]) -> Option<peek::Outline> {
        peek::outline(open(pdu)?)
    }
}

/// Returns what follows the length and the checksum, if both are correct.
fn open(pdu: &[u8]) -> Option<&[u8]> {
    let (length, rest) = pdu.split_first_chunk()?;
    let (sum, per) = rest.split_first_chunk()?;
    (u32::from_be_bytes(*length) as usize == per.len() && u32::from_be_bytes(*sum) == crc32(per)).then_some(per)
}

/// Puts length and checksum before what `write` appends. After an error, `out` is unchanged.
fn seal(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), per::Error>) -> Result<(), per::Error> {
    let start = out.len();
    out.extend([0; 8]);
    let result = write(out);
    if result.is_err() {
        out.truncate(start);
        return result;
    }
    let per = &out[start + 8..];
    let (length, sum) = (per.len() as u32, crc32(per)); // a PDU is far below 4 GiB
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    out[start + 4..start + 8].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

fn crc32(octets: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
    !octets.iter().fold(u32::MAX, |sum, octet| (0..8).fold(sum ^ u32::from(*octet), step))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36421".into()).parse()?;
    let e2 = vec![Endpoint::new(address, CHECKED)];
    Ok(Server::bind(ServerConfig { e2, ..Default::default() })?.run()?)
}
