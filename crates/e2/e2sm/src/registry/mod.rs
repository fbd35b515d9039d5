//! Types by their ASN.1 names, for tools that learn the type at run time.
//!
//! A name is a module, a colon and an ASN.1 type: `kpm-v03.00:E2SM-KPM-IndicationMessage`. The modules of KPM are
//! `kpm-v01.00`, `kpm-v01.02` (headers and messages of O-RAN SC's simulator), `kpm-v02.00`,
//! `kpm-v02.01`, `kpm-v02.03`, `kpm-v03.00` and `kpm-v04.00`, those of RC `rc-v01.03`, `rc-v03.00` and
//! `rc-v05.00`, that of NI `ni-v01.00`, that of LLC `llc-v01.00`. The types of [`crate::common`] are in all modules of KPM since
//! v02, of RC and of LLC. CCC
//! has `ccc:RIC-Control-Message` and so on, the hello-world model `hw:HW-RANfunction-Definition`. FlexRIC's models have a
//! module for each encoding, and the names of the Rust types: `mac-per:IndicationMessage`, `mac-plain:IndicationMessage`.
//! With the feature `flat`, each module in PER has one in FlatBuffers: `kpm-v03.00-flat`, `mac-flat`.
//!
//! ```
//! # #[cfg(feature = "kpm")]
//! # fn main() -> Result<(), e2sm::Error> {
//! let bytes = [0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x2a];
//! let arena = e2sm::Arena::new();
//! let value = e2sm::registry::decode("kpm-v03.00:E2SM-KPM-IndicationMessage", &bytes, &arena)?;
//! let mut again = Vec::new();
//! value.encode(&mut again)?;
//! assert_eq!(again, bytes);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "kpm"))]
//! # fn main() {}
//! ```

#[cfg(feature = "ccc")]
mod ccc;
#[cfg(any(feature = "kpm", feature = "llc", feature = "rc"))]
mod common;
// unused in a build with RRC notifications alone
#[cfg_attr(not(feature = "mac"), allow(dead_code, unused_macros, unused_imports))]
#[cfg(feature = "flexric")]
mod flexric;
#[cfg(feature = "kpm")]
mod kpm;
#[cfg(feature = "kpm")]
mod kpm_v1;
#[cfg(feature = "kpm")]
mod kpm_v2_00;
#[cfg(feature = "llc")]
mod llc;
#[cfg(feature = "ni")]
mod ni;
#[cfg(feature = "rc")]
mod rc;

use per::{Describe, Encode, Visitor};

use crate::wire::FlatEncode;
use crate::{Arena, Error, Wire};

/// A value of a type that was named at run time.
pub struct Message<'a> {
    value: Box<dyn Value + 'a>,
    revision: u8,
    wire: Wire,
}

impl Message<'_> {
    /// Appends the value in the encoding that it was decoded from, in canonical form.
    ///
    /// # Errors
    /// A decoded value can be encoded unless its PER used values beyond an extension marker that are not supported.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.encode_as(self.wire, out)
    }

    /// Appends the value in another encoding.
    ///
    /// # Errors
    /// [`Error::NotInWire`] if the type has no such encoding.
    pub fn encode_as(&self, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
        self.value.encode(self.revision, wire, out)
    }
}

impl Describe for Message<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.value.describe(visitor);
    }
}

/// A decoded value with the encoders of its type.
trait Value: Describe {
    /// Appends the value in an encoding.
    fn encode(&self, revision: u8, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error>;
}

impl<T: Describe + Encode + FlatEncode> Value for T {
    fn encode(&self, revision: u8, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
        crate::wire::encode(self, revision, wire, out)
    }
}

type Decoded<'a, E = per::Error> = Result<Box<dyn Value + 'a>, E>;

/// The decoders of a type. Only what differs from type to type is here: some hundred types have one.
enum Codec {
    /// PER, and FlatBuffers if they are built in.
    #[cfg_attr(
        not(any(feature = "kpm", feature = "llc", feature = "rc", feature = "flexric", feature = "hw")),
        allow(dead_code)
    )]
    Per {
        per: for<'a> fn(&mut per::Reader<'a, &'a Arena>) -> Decoded<'a>,
        #[cfg(feature = "flat")]
        flat: for<'a> fn(&mut per::flat::Reader<'a, &'a Arena>, usize) -> Decoded<'a>,
        #[cfg(feature = "flat")]
        kind: per::flat::Kind,
    },
    /// FlexRIC's plain layout.
    #[cfg(feature = "flexric")]
    Plain(for<'a> fn(&'a [u8], &'a Arena) -> Decoded<'a, Error>),
    /// JSON, which stands for PER here: the encoding that the model is specified in.
    #[cfg(feature = "ccc")]
    Json(fn(&[u8]) -> Decoded<'static, Error>),
}

impl Codec {
    /// Returns the value with the encoding that it had.
    fn decode<'a>(
        &self,
        bytes: &'a [u8],
        revision: u8,
        wire: Wire,
        arena: &'a Arena,
    ) -> Result<(Box<dyn Value + 'a>, Wire), Error> {
        match (self, wire) {
            (Codec::Per { per, .. }, Wire::Per) => {
                let mut reader = per::Reader::with_store(bytes, revision, arena);
                let value = per(&mut reader)?;
                reader.finish()?;
                Ok((value, wire))
            }
            #[cfg(feature = "flat")]
            (Codec::Per { flat, kind, .. }, Wire::Flat) => {
                let mut reader = per::flat::Reader::with_store(bytes, revision, arena);
                let place = reader.root_value(None, *kind)?;
                Ok((flat(&mut reader, place)?, wire))
            }
            #[cfg(feature = "flexric")]
            (Codec::Plain(decode), Wire::Per) => Ok((decode(bytes, arena)?, Wire::Plain)),
            #[cfg(feature = "ccc")]
            (Codec::Json(decode), Wire::Per) => Ok((decode(bytes)?, wire)),
            (_, wire) => Err(Error::NotInWire(wire)),
        }
    }
}

/// The codec of a type in PER and FlatBuffers; `$wrap` makes the decoded value a [`Value`].
#[allow(unused_macros)]
macro_rules! per_codec {
    ($type:ty, $wrap:expr) => {
        // functions, not closures: a pointer to a closure has a function around it
        $crate::registry::Codec::Per {
            per: {
                fn decode<'a>(reader: &mut per::Reader<'a, &'a $crate::Arena>) -> $crate::registry::Decoded<'a> {
                    let value: $type = per::Decode::decode(reader)?;
                    Ok(Box::new($wrap(value)))
                }
                decode
            },
            #[cfg(feature = "flat")]
            flat: {
                fn read<'a>(
                    reader: &mut per::flat::Reader<'a, &'a $crate::Arena>,
                    place: usize,
                ) -> $crate::registry::Decoded<'a> {
                    let value: $type = per::flat::Decode::read(reader, place)?;
                    Ok(Box::new($wrap(value)))
                }
                read
            },
            #[cfg(feature = "flat")]
            kind: <$type as per::flat::Type>::KIND,
        }
    };
}
#[allow(unused_imports)]
use per_codec;

/// A table of names and codecs.
#[allow(unused_macros)]
macro_rules! codecs {
    ($($name:literal: $type:ty,)*) => {
        &[$(($name, $crate::registry::per_codec!($type, core::convert::identity)),)*]
    };
}
#[allow(unused_imports)]
use codecs;

/// The models of few messages.
#[cfg(feature = "association")]
mod association {
    use super::Codec;
    use crate::association::*;

    pub(super) static TYPES: &[(&str, Codec)] = codecs! {
        "UEA-RANfunction-Definition": RanFunctionDefinition<'_>,
        "UEA-EventTrigger": EventTrigger,
        "UEA-ControlHeader": ControlHeader,
        "UEA-ControlMessage": ControlMessage<'_>,
        "UEA-ControlOutcome": ControlOutcome<'_>,
        "UEA-IndicationMessage": IndicationMessage<'_>,
    };
}

#[cfg(feature = "rrc")]
mod rrc {
    use super::Codec;
    use crate::rrc::*;

    pub(super) static TYPES: &[(&str, Codec)] = codecs! {
        "RanFunctionDefinition": RanFunctionDefinition<'_>,
        "EventTriggerDefinition": EventTriggerDefinition,
        "IndicationHeader": IndicationHeader,
        "IndicationMessage": IndicationMessage<'_>,
    };
}

#[cfg(feature = "cpu")]
mod cpu {
    use super::Codec;
    use crate::cpu::*;

    pub(super) static TYPES: &[(&str, Codec)] = codecs! {
        "RanFunctionDefinition": RanFunctionDefinition<'_>,
        "EventTriggerDefinition": EventTriggerDefinition,
        "IndicationHeader": IndicationHeader,
        "IndicationMessage": IndicationMessage<'_>,
        "ControlHeader": ControlHeader,
        "ControlMessage": ControlMessage<'_>,
        "ControlOutcome": ControlOutcome<'_>,
    };
}

#[cfg(feature = "hw")]
mod hw {
    use super::Codec;
    use crate::hw::{Ping, RanFunctionDefinition};

    pub(super) static TYPES: &[(&str, Codec)] = codecs! {
        "HW-RANfunction-Definition": RanFunctionDefinition<'_>,
        "HW-Ping": Ping<'_>,
    };
}

/// Decodes all of `bytes` as the type of that name; lists are stored in `arena`.
///
/// # Errors
/// [`Error::UnknownType`]; a malformed encoding.
pub fn decode<'a>(name: &str, bytes: &'a [u8], arena: &'a Arena) -> Result<Message<'a>, Error> {
    let (module, type_name) = name.split_once(':').ok_or(Error::UnknownType)?;
    let (module, wire) = match module.strip_suffix("-flat") {
        Some(module) => (module, Wire::Flat),
        None => (module, Wire::Per),
    };
    let is_module = |known: &str| known == module || wire == Wire::Flat && known.strip_suffix("-per") == Some(module);
    for (_, revision, types) in modules().filter(|(known, _, _)| is_module(known)) {
        if let Some((_, codec)) = types.iter().find(|(t, _)| *t == type_name) {
            let (value, wire) = codec.decode(bytes, revision, wire, arena)?;
            return Ok(Message { value, revision, wire });
        }
    }
    Err(Error::UnknownType)
}

/// Returns the modules and types that [`decode`] supports.
pub fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    modules().flat_map(|(module, _, types)| types.iter().map(move |(name, _)| (module, *name)))
}

/// The types of a module by name. These tables are `static`: every use of a `const` would compile all of their codecs again.
type Types = &'static [(&'static str, Codec)];

/// The modules by name, each with the number of its revision.
fn modules() -> impl Iterator<Item = (&'static str, u8, Types)> {
    static MODULES: &[(&str, u8, Types)] = &[
        #[cfg(feature = "kpm")]
        ("kpm-v01.00", 0, kpm_v1::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v01.02", 1, kpm_v1::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.00", 0, kpm_v2_00::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.01", 0, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.01", 0, common::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.03", 1, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.03", 1, common::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v03.00", 2, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v03.00", 2, common::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v04.00", 3, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v04.00", 3, common::TYPES),
        #[cfg(feature = "ni")]
        ("ni-v01.00", 0, ni::TYPES),
        #[cfg(feature = "ccc")]
        ("ccc", 0, ccc::TYPES),
        #[cfg(feature = "rc")]
        ("rc-v01.03", 1, rc::TYPES),
        #[cfg(feature = "rc")]
        ("rc-v01.03", 1, common::TYPES),
        #[cfg(feature = "rc")]
        ("rc-v03.00", 2, rc::TYPES),
        #[cfg(feature = "rc")]
        ("rc-v03.00", 2, common::TYPES),
        #[cfg(feature = "rc")]
        ("rc-v05.00", 3, rc::TYPES),
        #[cfg(feature = "rc")]
        ("rc-v05.00", 3, common::TYPES),
        #[cfg(feature = "mac")]
        ("mac-per", 0, flexric::mac::PER),
        #[cfg(feature = "mac")]
        ("mac-plain", 0, flexric::mac::PLAIN),
        #[cfg(feature = "rlc")]
        ("rlc-per", 0, flexric::rlc::PER),
        #[cfg(feature = "rlc")]
        ("rlc-plain", 0, flexric::rlc::PLAIN),
        #[cfg(feature = "pdcp")]
        ("pdcp-per", 0, flexric::pdcp::PER),
        #[cfg(feature = "pdcp")]
        ("pdcp-plain", 0, flexric::pdcp::PLAIN),
        #[cfg(feature = "gtp")]
        ("gtp-per", 0, flexric::gtp::PER),
        #[cfg(feature = "gtp")]
        ("gtp-plain", 0, flexric::gtp::PLAIN),
        #[cfg(feature = "slice")]
        ("slice-per", 0, flexric::slice::PER),
        #[cfg(feature = "slice")]
        ("slice-plain", 0, flexric::slice::PLAIN),
        #[cfg(feature = "tc")]
        ("tc-per", 0, flexric::tc::PER),
        #[cfg(feature = "tc")]
        ("tc-plain", 0, flexric::tc::PLAIN),
        #[cfg(feature = "rrc")]
        ("rrc-per", 0, rrc::TYPES),
        #[cfg(feature = "cpu")]
        ("cpu-per", 0, cpu::TYPES),
        #[cfg(feature = "association")]
        ("association", 3, association::TYPES),
        #[cfg(feature = "hw")]
        ("hw", 0, hw::TYPES),
        #[cfg(feature = "llc")]
        ("llc-v01.00", 3, llc::TYPES),
        #[cfg(feature = "llc")]
        ("llc-v01.00", 3, common::TYPES),
    ];
    MODULES.iter().copied()
}
