//! Encodings of E2AP, one per link: PER, which O-RAN specifies, FlatBuffers, or an encoding of the application.
//!
//! An [`Encoding`] turns messages into octets and back; the layers above work with messages only. The [`Codec`] of an
//! association selects the encoding. For a custom encoding, implement the trait and pass `Codec::Other(&ENCODING)` to the
//! agent and to the server, as the example `custom_encoding` does.

use core::fmt;

use per::Gather;

#[cfg(feature = "flat")]
use crate::Deviations;
use crate::peek::{self, Indication, Outline};
use crate::{Criticality, Decoded, Error, Pdu, RicIndication, Version};

/// An encoding of E2AP.
///
/// It decodes octets of a peer: it must return for any octets, and take memory in proportion to their number.
pub trait Encoding: fmt::Debug + Send + Sync {
    /// Returns the name in addresses and logs: letters, digits and `-`, as in `tcp+flat://`.
    fn name(&self) -> &'static str;

    /// Decodes a PDU of an association with that `version`. Fragmented values are reassembled in `gather`.
    ///
    /// # Errors
    /// The fault of the PDU, from which the cause and diagnostics of the response follow.
    fn decode<'a>(&self, pdu: &'a [u8], version: Version, gather: &'a Gather) -> Result<Decoded<'a>, Error>;

    /// Appends a PDU to `out`. After an error `out` is as it was.
    ///
    /// # Errors
    /// A message that `version` does not have, or a value outside its constraints.
    fn encode(&self, pdu: &Pdu<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error>;

    /// Appends a decoded PDU as its sender encoded it. By default, criticalities that differ from the tables are lost, and a
    /// message without a mandatory IE cannot be encoded.
    ///
    /// # Errors
    /// As [`Encoding::encode`].
    fn encode_decoded(&self, decoded: &Decoded<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        self.encode(&decoded.pdu, version, out)
    }

    /// Appends an indication: the fast path of a node.
    ///
    /// # Errors
    /// As [`Encoding::encode`].
    fn encode_indication(
        &self,
        indication: &RicIndication<'_>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), per::Error> {
        self.encode(&Pdu::RicIndication(indication.clone()), version, out)
    }

    /// Finds the ids and the payload of an indication, as [`peek::indication`] does; for `None` use [`Encoding::decode`]. Any PDU
    /// that it accepts, [`Encoding::decode`] accepts with the same values.
    fn peek_indication<'a>(&self, _pdu: &'a [u8]) -> Option<Indication<'a>> {
        None
    }

    /// Finds the ids in a PDU that cannot be decoded, as [`peek::outline`] does.
    fn outline(&self, pdu: &[u8]) -> Option<Outline>;
}

/// The aligned Packed Encoding Rules (X.691): the encoding that O-RAN specifies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Per;

impl Encoding for Per {
    fn name(&self) -> &'static str {
        "per"
    }

    fn decode<'a>(&self, pdu: &'a [u8], version: Version, gather: &'a Gather) -> Result<Decoded<'a>, Error> {
        crate::decode(pdu, version, gather)
    }

    fn encode(&self, pdu: &Pdu<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        pdu.encode(version, out)
    }

    fn encode_decoded(&self, decoded: &Decoded<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        decoded.encode(version, out)
    }

    fn encode_indication(
        &self,
        indication: &RicIndication<'_>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), per::Error> {
        crate::encode(indication, version, out)
    }

    fn peek_indication<'a>(&self, pdu: &'a [u8]) -> Option<Indication<'a>> {
        peek::indication(pdu)
    }

    fn outline(&self, pdu: &[u8]) -> Option<Outline> {
        peek::outline(pdu)
    }
}

/// FlatBuffers: see [`flat`](crate::flat).
#[cfg(feature = "flat")]
#[derive(Clone, Copy, Debug, Default)]
pub struct FlatBuffers;

#[cfg(feature = "flat")]
impl Encoding for FlatBuffers {
    fn name(&self) -> &'static str {
        "flat"
    }

    fn decode<'a>(&self, pdu: &'a [u8], version: Version, _: &'a Gather) -> Result<Decoded<'a>, Error> {
        crate::flat::decode(pdu, version)
    }

    fn encode(&self, pdu: &Pdu<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        pdu.write_flat(version, &Deviations::NONE, out)
    }

    fn encode_decoded(&self, decoded: &Decoded<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        decoded.pdu.write_flat(version, &decoded.deviations, out)
    }

    fn encode_indication(
        &self,
        indication: &RicIndication<'_>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), per::Error> {
        crate::flat::encode(indication, version, out)
    }

    fn peek_indication<'a>(&self, pdu: &'a [u8]) -> Option<Indication<'a>> {
        crate::flat::indication(pdu)
    }

    fn outline(&self, pdu: &[u8]) -> Option<Outline> {
        crate::flat::outline(pdu)
    }
}

/// The encoding of an association. PER, which nearly all associations use, is called directly.
#[derive(Clone, Copy, Debug, Default)]
pub enum Codec {
    /// PER.
    #[default]
    Per,
    /// Any other encoding.
    Other(&'static dyn Encoding),
}

impl Codec {
    /// FlatBuffers.
    #[cfg(feature = "flat")]
    pub const FLAT: Codec = Codec::Other(&FlatBuffers);

    /// The encodings of this crate.
    pub const ALL: &[Codec] = &[
        Codec::Per,
        #[cfg(feature = "flat")]
        Codec::FLAT,
    ];

    /// Returns the encoding of this crate with that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Codec> {
        Codec::ALL.iter().copied().find(|codec| codec.name() == name)
    }

    /// As [`Encoding::name`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Codec::Per => Per.name(),
            Codec::Other(encoding) => encoding.name(),
        }
    }

    /// As [`Encoding::decode`].
    ///
    /// # Errors
    /// The fault of the PDU, from which the cause and diagnostics of the response follow.
    #[inline]
    pub fn decode<'a>(self, pdu: &'a [u8], version: Version, gather: &'a Gather) -> Result<Decoded<'a>, Error> {
        match self {
            Codec::Per => crate::decode(pdu, version, gather),
            Codec::Other(encoding) => encoding.decode(pdu, version, gather),
        }
    }

    /// Decodes a RIC INDICATION.
    ///
    /// # Errors
    /// As [`Codec::decode`], and [`Error::UnknownProcedure`] for any other message.
    pub fn decode_indication<'a>(
        self,
        pdu: &'a [u8],
        version: Version,
        gather: &'a Gather,
    ) -> Result<RicIndication<'a>, Error> {
        match self.decode(pdu, version, gather)?.pdu {
            Pdu::RicIndication(indication) => Ok(indication),
            other => Err(Error::UnknownProcedure {
                kind: other.kind(),
                procedure_code: other.procedure_code(),
                criticality: Criticality::Reject,
            }),
        }
    }

    /// As [`Encoding::encode`].
    ///
    /// # Errors
    /// A message that `version` does not have, or a value outside its constraints.
    #[inline]
    pub fn encode(self, pdu: &Pdu<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        match self {
            Codec::Per => pdu.encode(version, out),
            Codec::Other(encoding) => encoding.encode(pdu, version, out),
        }
    }

    /// As [`Encoding::encode_decoded`].
    ///
    /// # Errors
    /// As [`Codec::encode`].
    pub fn encode_decoded(self, decoded: &Decoded<'_>, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        match self {
            Codec::Per => decoded.encode(version, out),
            Codec::Other(encoding) => encoding.encode_decoded(decoded, version, out),
        }
    }

    /// As [`Encoding::encode_indication`].
    ///
    /// # Errors
    /// As [`Codec::encode`].
    #[inline]
    pub fn encode_indication(
        self,
        indication: &RicIndication<'_>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), per::Error> {
        match self {
            Codec::Per => crate::encode(indication, version, out),
            Codec::Other(encoding) => encoding.encode_indication(indication, version, out),
        }
    }

    /// As [`Encoding::peek_indication`].
    #[inline]
    #[must_use]
    pub fn peek_indication(self, pdu: &[u8]) -> Option<Indication<'_>> {
        match self {
            Codec::Per => peek::indication(pdu),
            Codec::Other(encoding) => encoding.peek_indication(pdu),
        }
    }

    /// As [`Encoding::outline`].
    #[must_use]
    pub fn outline(self, pdu: &[u8]) -> Option<Outline> {
        match self {
            Codec::Per => peek::outline(pdu),
            Codec::Other(encoding) => encoding.outline(pdu),
        }
    }

    /// Returns the version of an E2 SETUP REQUEST, as [`Version::of_setup`].
    #[must_use]
    pub fn version_of_setup(self, pdu: &[u8]) -> Option<Version> {
        Version::of_setup_outline(&self.outline(pdu)?)
    }
}

/// Codecs are equal if their names are.
impl PartialEq for Codec {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Codec {}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
