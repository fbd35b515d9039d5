//! Identification of the service model of a RAN function, for logs and diagnosis.

// partly unused in a build with some of the models
#![cfg_attr(not(feature = "all"), allow(unused_imports, unused_variables, dead_code))]

use crate::{Arena, Error, Wire};

/// Identifies the service model of a RAN function, if the model is built in, and decodes its definition. Returns a phrase
/// for the log: `E2SM-KPM v03.00, …`, `E2SM-CCC`, `MAC_STATS_V0, encoded as plain`. Nodes of E2AP v01.00 send no object
/// identifier: it is then empty, as for
/// [`kpm::Detection::from_ran_function`](crate::kpm::Detection::from_ran_function).
///
/// # Errors
/// [`Error::UnknownOid`] if no model has this object identifier; a malformed definition.
pub fn identify_function(oid: &str, function_revision: u16, definition: &[u8]) -> Result<String, Error> {
    let oid = oid.trim();
    let arena = Arena::new();
    #[cfg(feature = "hw")]
    if let Some(wire) = crate::hw::wire_of(oid) {
        crate::hw::RanFunctionDefinition::decode(definition, wire, &arena)?;
        return Ok(with_encoding("hello world", wire));
    }
    #[cfg(feature = "association")]
    if oid == crate::association::OID {
        crate::association::RanFunctionDefinition::decode(definition)?;
        return Ok("UE-to-controller association".to_owned());
    }
    #[cfg(feature = "flexric")]
    if let Some(wire) = FLEXRIC.iter().find_map(|model| model.wire_of(oid)) {
        let definition = crate::flexric::RanFunctionDefinition::decode_owned(definition, wire)?;
        return Ok(with_encoding(&definition.name, wire));
    }
    #[cfg(feature = "ccc")]
    if oid == crate::ccc::OID {
        crate::ccc::RanFunctionDefinition::decode(definition)?;
        return Ok("E2SM-CCC".to_owned());
    }
    #[cfg(feature = "llc")]
    if oid == crate::llc::OID {
        crate::llc::RanFunctionDefinition::decode(definition, &arena)?;
        return Ok("E2SM-LLC v01.00".to_owned());
    }
    #[cfg(feature = "ni")]
    if oid == crate::ni::OID {
        crate::ni::RanFunctionDefinition::decode(definition, &arena)?;
        return Ok("E2SM-NI".to_owned());
    }
    #[cfg(feature = "rc")]
    match crate::rc::Detection::from_ran_function(oid, function_revision, definition) {
        Err(Error::UnknownOid) => {}
        detected => return detected.map(|detection| detection.to_string()),
    }
    #[cfg(feature = "kpm")]
    return crate::kpm::Detection::from_ran_function(oid, function_revision, definition)
        .map(|detection| detection.to_string());
    #[cfg(not(feature = "kpm"))]
    Err(Error::UnknownOid)
}

/// FlexRIC's models, RRC notifications and CPU state, whose RAN function definition is the same.
#[cfg(feature = "flexric")]
pub(crate) const FLEXRIC: &[crate::Model] = &[
    #[cfg(feature = "mac")]
    crate::mac::MODEL,
    #[cfg(feature = "rlc")]
    crate::rlc::MODEL,
    #[cfg(feature = "pdcp")]
    crate::pdcp::MODEL,
    #[cfg(feature = "gtp")]
    crate::gtp::MODEL,
    #[cfg(feature = "slice")]
    crate::slice::MODEL,
    #[cfg(feature = "tc")]
    crate::tc::MODEL,
    #[cfg(feature = "rrc")]
    crate::rrc::MODEL,
    #[cfg(feature = "cpu")]
    crate::cpu::MODEL,
];

/// Appends the encoding unless it is PER, the usual one.
fn with_encoding(name: &str, wire: Wire) -> String {
    match wire {
        Wire::Per => name.to_owned(),
        wire => format!("{name}, encoded as {wire}"),
    }
}

#[cfg(all(test, feature = "kpm", feature = "hw", feature = "mac", feature = "rc"))]
mod tests {
    use super::*;

    #[test]
    fn functions_are_identified_by_oid() {
        let mut ping = Vec::new();
        crate::hw::RanFunctionDefinition::STANDARD.encode(Wire::Per, &mut ping).unwrap();
        assert_eq!(identify_function(crate::hw::OID, 0, &ping).unwrap(), "hello world");
        assert!(identify_function(crate::hw::OID, 0, &[]).is_err_and(|error| error != Error::UnknownOid));

        let plain = crate::mac::MODEL.oid(Wire::Plain);
        assert_eq!(identify_function(&plain, 0, b"MAC_STATS_V0").unwrap(), "MAC_STATS_V0, encoded as plain");
        assert!(identify_function(&plain, 0, &[0xff]).is_err_and(|error| error != Error::UnknownOid));

        for unknown in ["1.2.3", "0.0.0.0.0.0.0.0.1.141.0", ""] {
            assert_eq!(identify_function(unknown, 0, b"MAC_STATS_V0"), Err(Error::UnknownOid), "{unknown}");
        }
        for known in [crate::rc::OID, crate::kpm::OID_V3] {
            assert!(matches!(identify_function(known, 0, &[0xff]), Err(Error::NoRevisionFits(_))), "{known}");
        }
    }
}
