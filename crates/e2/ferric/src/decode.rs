//! Messages by the names of their types, as JSON: `ferric decode`, and the RIC's page.

use std::{error, fmt};

use e2ap::e42::{E42Version, UnknownE42Version};
use e2ap::{Codec, Version};
use per::{Gather, json};
use serde_json::{Map, Value};

/// Why octets cannot be decoded.
#[derive(Debug)]
pub enum DecodeError {
    /// There is no such type.
    UnknownType(String),
    /// There is no such version of E2AP.
    UnknownVersion(e2ap::UnknownVersion),
    /// There is no such version of E42.
    UnknownE42Version(UnknownE42Version),
    /// The octets are no E2AP of the version.
    NotE2ap {
        /// The version that was tried, or the first of those.
        version: Version,
        /// The encoding that was tried.
        codec: Codec,
        /// The encoding that the octets may be in instead.
        other: Option<Codec>,
        /// The fault.
        source: e2ap::Error,
    },
    /// The octets are no E42 of the version.
    NotE42 {
        /// The version.
        version: E42Version,
        /// The fault.
        source: e2ap::Error,
    },
    /// The octets are no message of the type of a service model.
    NotOfModel {
        /// The type.
        name: String,
        /// The fault.
        source: e2sm::Error,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::UnknownType(name) => write!(f, "unknown type `{name}`"),
            DecodeError::UnknownVersion(unknown) => unknown.fmt(f),
            DecodeError::UnknownE42Version(unknown) => unknown.fmt(f),
            DecodeError::NotE2ap { version, codec, other, .. } => {
                write!(f, "not E2AP v{version}")?;
                match other {
                    Some(other) => {
                        let suffix = suffix(*other);
                        write!(f, " in the encoding `{codec}`; it may be in `{other}`: try `--type e2ap{suffix}`")
                    }
                    None if *codec == Codec::Per => Ok(()),
                    None => write!(f, " in the encoding `{codec}`"),
                }
            }
            DecodeError::NotE42 { version, .. } => write!(f, "not E42 v{version}"),
            DecodeError::NotOfModel { name, .. } => write!(f, "not a {name}"),
        }
    }
}

impl error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            DecodeError::UnknownType(_) | DecodeError::UnknownVersion(_) | DecodeError::UnknownE42Version(_) => None,
            DecodeError::NotE2ap { source, .. } | DecodeError::NotE42 { source, .. } => Some(source),
            DecodeError::NotOfModel { source, .. } => Some(source),
        }
    }
}

/// The names of all types: `e2ap-v02.03`, `e42-v2`, `kpm-v03.00:E2SM-KPM-IndicationMessage`. `e2ap` alone detects the version.
pub fn types() -> impl Iterator<Item = String> {
    let e2ap = Codec::ALL
        .iter()
        .flat_map(|codec| Version::ALL.iter().map(|version| format!("e2ap-v{:0>5}{}", version.name(), suffix(*codec))));
    let e42 = E42Version::ALL.into_iter().map(|version| format!("e42-v{version}"));
    e2ap.chain(e42).chain(e2sm::registry::types().map(|(module, name)| format!("{module}:{name}")))
}

/// Decodes a message of a type: `e2ap` (detects the version), or one of [`types`].
///
/// # Errors
/// If there is no such type, or the octets are no message of it: with the IE and the bit.
pub fn decode(name: &str, octets: &[u8]) -> Result<Value, DecodeError> {
    if let Some(version) = name.strip_prefix("e42-") {
        return e42(octets, version.parse().map_err(DecodeError::UnknownE42Version)?);
    }
    match name.strip_prefix("e2ap") {
        Some(rest) if rest.is_empty() || rest.starts_with('-') => {
            let (codec, version) = e2ap_type(rest)?;
            e2ap(octets, codec, version)
        }
        _ => {
            let arena = e2sm::Arena::new();
            match e2sm::registry::decode(name, octets, &arena) {
                Ok(message) => Ok(json::of(&message)),
                Err(e2sm::Error::UnknownType) => Err(DecodeError::UnknownType(name.to_owned())),
                Err(source) => Err(DecodeError::NotOfModel { name: name.to_owned(), source }),
            }
        }
    }
}

/// The suffix of an encoding in the names of types.
fn suffix(codec: Codec) -> String {
    if codec == Codec::Per { String::new() } else { format!("-{codec}") }
}

/// Parses the rest of a type's name after `e2ap`: the encoding, and the version if there is one.
///
/// # Errors
/// If there is no such version.
pub fn e2ap_type(rest: &str) -> Result<(Codec, Option<Version>), DecodeError> {
    let others = Codec::ALL.iter().filter(|codec| **codec != Codec::Per);
    let other = others.into_iter().find_map(|codec| Some((*codec, rest.strip_suffix(&suffix(*codec))?)));
    let (codec, version) = other.unwrap_or((Codec::Per, rest));
    let version = version.strip_prefix('-').map(str::parse).transpose().map_err(DecodeError::UnknownVersion)?;
    Ok((codec, version))
}

/// Decodes a PDU of E2AP; without a version, tries all of them.
///
/// # Errors
/// If it is none of the version, or of any.
pub fn e2ap(octets: &[u8], codec: Codec, version: Option<Version>) -> Result<Value, DecodeError> {
    // a setup determines the version; otherwise the most common version comes first, since versions are not compatible
    const USUAL: [Version; 4] = [Version::V2_03, Version::V3_01, Version::V1_01, Version::V1_00];
    let known = version.or_else(|| codec.version_of_setup(octets));
    let first = known.unwrap_or(USUAL[0]);
    let others = USUAL.into_iter().filter(|other| known.is_none() && *other != first);
    let attempt = |version: Version| {
        let gather = Gather::new();
        codec.decode(octets, version, &gather).map(|decoded| {
            let mut value = Map::new();
            value.insert("e2ap".into(), version.name().into());
            if let Value::Object(pdu) = json::of(&decoded.pdu) {
                value.extend(pdu);
            }
            if !decoded.unknown.is_empty() {
                let unknown = decoded.unknown.iter().map(|ie| {
                    serde_json::json!({
                        "id": ie.id.0,
                        "criticality": format!("{:?}", ie.criticality),
                        "value": json::hex(ie.value.iter()),
                    })
                });
                value.insert("unknown_ies".into(), unknown.collect());
            }
            value.into()
        })
    };
    attempt(first).or_else(|source| {
        let decoded = others.into_iter().find_map(|version| attempt(version).ok());
        decoded.ok_or_else(|| {
            let other = Codec::ALL.iter().find(|other| **other != codec && other.outline(octets).is_some());
            DecodeError::NotE2ap { version: first, codec, other: other.copied(), source }
        })
    })
}

/// Decodes a PDU of E42, FlexRIC's protocol for xApps.
///
/// # Errors
/// If it is none of the version.
pub fn e42(octets: &[u8], version: E42Version) -> Result<Value, DecodeError> {
    let gather = Gather::new();
    let pdu = e2ap::e42::decode(octets, version, &gather).map_err(|source| DecodeError::NotE42 { version, source })?;
    let mut value = Map::new();
    value.insert("e42".into(), version.name().into());
    if let Value::Object(pdu) = json::of(&pdu) {
        value.extend(pdu);
    }
    Ok(value.into())
}

/// Parses hexadecimal digits; ignores white space and a leading `0x`. `None`: they are none, or an odd number.
#[must_use]
pub fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    let digits: Option<Vec<u8>> = text
        .iter()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| char::from(*c).to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
