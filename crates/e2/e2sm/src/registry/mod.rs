//! Types by their ASN.1 names, for tools that learn the type at run time.
//!
//! A name is a module, a colon and an ASN.1 type: `kpm-v03.00:E2SM-KPM-IndicationMessage`. The modules of KPM are
//! `kpm-v01.00`, `kpm-v02.01`, `kpm-v02.03`, `kpm-v03.00` and `kpm-v04.00`, those of RC `rc-v01.03`, `rc-v03.00` and
//! `rc-v05.00`, that of NI `ni-v01.00`. The types of [`crate::common`] are in all modules of KPM since v02 and of RC. CCC
//! has `ccc:RIC-Control-Message` and so on, the hello-world model `hw:HW-RANfunction-Definition`. FlexRIC's models have a
//! module for each encoding, and the names of the Rust types: `mac-per:IndicationMessage`, `mac-plain:IndicationMessage`.
//! With the feature `flat`, each module in PER has one in FlatBuffers: `kpm-v03.00-flat`, `mac-flat`.
//!
//! ```
//! # #[cfg(feature = "kpm")]
//! # fn main() -> Result<(), e2sm::Error> {
//! let bytes = [0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x2a];
//! let value = e2sm::registry::decode("kpm-v03.00:E2SM-KPM-IndicationMessage", &bytes)?;
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
#[cfg(any(feature = "kpm", feature = "rc"))]
mod common;
// unused in a build with RRC notifications alone
#[cfg_attr(not(feature = "mac"), allow(dead_code, unused_macros, unused_imports))]
#[cfg(feature = "flexric")]
mod flexric;
#[cfg(feature = "kpm")]
mod kpm;
#[cfg(feature = "kpm")]
mod kpm_v1;
#[cfg(feature = "ni")]
mod ni;
#[cfg(feature = "rc")]
mod rc;

use per::{Describe, Encode, Visitor};

use crate::wire::FlatEncode;
use crate::{Error, Wire};

/// A value of a type that was named at run time.
pub trait Message: Describe {
    /// Appends the value in the encoding that it was decoded from, in canonical form.
    ///
    /// # Errors
    /// A decoded value can be encoded unless its PER used values beyond an extension marker that are not supported.
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error>;

    /// Appends the value in another encoding.
    ///
    /// # Errors
    /// [`Error::NotInWire`] if the type has no such encoding.
    fn encode_as(&self, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error>;
}

// unused in a build without O-RAN's models in PER
#[allow(dead_code)]
struct Typed<T> {
    value: T,
    revision: u8,
    wire: Wire,
}

impl<T: Describe> Describe for Typed<T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.value.describe(visitor);
    }
}

impl<T: Describe + Encode + FlatEncode> Message for Typed<T> {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.encode_as(self.wire, out)
    }
    fn encode_as(&self, wire: Wire, out: &mut Vec<u8>) -> Result<(), Error> {
        crate::wire::encode(&self.value, self.revision, wire, out)
    }
}

/// Decodes a type, given the number of the revision and the encoding.
type Read = fn(&[u8], u8, Wire) -> Result<Box<dyn Message>, Error>;

/// A table of names and decoders.
#[allow(unused_macros)]
macro_rules! readers {
    ($($name:literal: $type:ty,)*) => {
        &[$(($name, |bytes, revision, wire| {
            let arena = crate::Arena::new();
            let value: $type = crate::wire::decode(bytes, revision, wire, &arena)?;
            Ok(Box::new(super::Typed { value: per::IntoOwned::into_owned(value), revision, wire }))
        }),)*]
    };
}
#[allow(unused_imports)]
use readers;

/// The models of few messages.
#[cfg(feature = "association")]
mod association {
    use super::Read;
    use crate::association::*;

    pub(super) static TYPES: &[(&str, Read)] = readers! {
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
    use super::Read;
    use crate::rrc::*;

    pub(super) static TYPES: &[(&str, Read)] = readers! {
        "RanFunctionDefinition": RanFunctionDefinition<'_>,
        "EventTriggerDefinition": EventTriggerDefinition,
        "IndicationHeader": IndicationHeader,
        "IndicationMessage": IndicationMessage<'_>,
    };
}

#[cfg(feature = "hw")]
mod hw {
    use super::Read;
    use crate::hw::{Ping, RanFunctionDefinition};

    pub(super) static TYPES: &[(&str, Read)] = readers! {
        "HW-RANfunction-Definition": RanFunctionDefinition<'_>,
        "HW-Ping": Ping<'_>,
    };
}

/// Decodes all of `bytes` as the type of that name.
///
/// # Errors
/// [`Error::UnknownType`]; a malformed encoding.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Box<dyn Message>, Error> {
    let (module, type_name) = name.split_once(':').ok_or(Error::UnknownType)?;
    let (module, wire) = match module.strip_suffix("-flat") {
        Some(module) => (module, Wire::Flat),
        None => (module, Wire::Per),
    };
    let is_module = |known: &str| known == module || wire == Wire::Flat && known.strip_suffix("-per") == Some(module);
    for (_, revision, types) in modules().filter(|(known, _, _)| is_module(known)) {
        if let Some((_, read)) = types.iter().find(|(t, _)| *t == type_name) {
            return read(bytes, revision, wire);
        }
    }
    Err(Error::UnknownType)
}

/// Returns the modules and types that [`decode`] supports.
pub fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    modules().flat_map(|(module, _, types)| types.iter().map(move |(name, _)| (module, *name)))
}

/// The types of a module by name. These tables are `static`: every use of a `const` would compile all of their codecs again.
type Types = &'static [(&'static str, Read)];

/// The modules by name, each with the number of its revision.
fn modules() -> impl Iterator<Item = (&'static str, u8, Types)> {
    static MODULES: &[(&str, u8, Types)] = &[
        #[cfg(feature = "kpm")]
        ("kpm-v01.00", 0, kpm_v1::TYPES),
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
        #[cfg(feature = "association")]
        ("association", 3, association::TYPES),
        #[cfg(feature = "hw")]
        ("hw", 0, hw::TYPES),
    ];
    MODULES.iter().copied()
}
