//! Which model a RAN function is of, in words: for logs, and for people who look for what is wrong.

// a build with some of the models needs some of it
#![cfg_attr(not(all(feature = "kpm", feature = "rrc")), allow(unused_imports, unused_variables, dead_code))]

use crate::{Arena, Error, Wire};

/// What a RAN function tells when it is set up, in words, where its model is built in: `E2SM-KPM v03.00, …`, `E2SM-CCC`,
/// `MAC_STATS_V0, in wire form plain`. All of the definition is read. Nodes of E2AP v01.00 tell no object identifier:
/// there it is empty, as for [`kpm::Detection::from_ran_function`](crate::kpm::Detection::from_ran_function).
///
/// # Errors
/// [`Error::UnknownOid`] where the model is another one; whatever is wrong with the definition.
pub fn identify_function(oid: &str, function_revision: u16, definition: &[u8]) -> Result<String, Error> {
    let oid = oid.trim();
    let arena = Arena::new();
    #[cfg(feature = "hw")]
    if let Some(wire) = crate::hw::wire_of(oid) {
        crate::hw::RanFunctionDefinition::decode(definition, wire, &arena)?;
        return Ok(in_form("the ping", wire));
    }
    #[cfg(feature = "association")]
    if oid == crate::association::OID {
        crate::association::RanFunctionDefinition::decode(definition)?;
        return Ok("the association of UEs with controllers".to_owned());
    }
    #[cfg(feature = "flexric")]
    if let Some(wire) = FLEXRIC.iter().find_map(|model| model.wire_of(oid)) {
        let definition = crate::flexric::RanFunctionDefinition::decode_owned(definition, wire)?;
        return Ok(in_form(&definition.name, wire));
    }
    #[cfg(feature = "ccc")]
    if oid == crate::ccc::OID {
        crate::ccc::RanFunctionDefinition::decode(definition)?;
        return Ok("E2SM-CCC".to_owned());
    }
    #[cfg(feature = "ni")]
    if oid == crate::ni::OID {
        crate::ni::RanFunctionDefinition::decode(definition, &arena)?;
        return Ok("E2SM-NI".to_owned());
    }
    #[cfg(feature = "rc")]
    match crate::rc::Detection::from_ran_function(oid, function_revision, definition) {
        Err(Error::UnknownOid) => {}
        told => return told.map(|detection| detection.to_string()),
    }
    #[cfg(feature = "kpm")]
    return crate::kpm::Detection::from_ran_function(oid, function_revision, definition)
        .map(|detection| detection.to_string());
    #[cfg(not(feature = "kpm"))]
    Err(Error::UnknownOid)
}

/// FlexRIC's models, and RRC notifications, which are ours and introduce themselves alike.
#[cfg(feature = "flexric")]
const FLEXRIC: &[crate::Model] = &[
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
];

/// PER is what everybody expects.
fn in_form(name: &str, wire: Wire) -> String {
    match wire {
        Wire::Per => name.to_owned(),
        wire => format!("{name}, in wire form {wire}"),
    }
}

#[cfg(all(test, feature = "kpm", feature = "hw", feature = "mac", feature = "rc"))]
mod tests {
    use super::*;

    #[test]
    fn functions_by_their_identifiers() {
        let mut ping = Vec::new();
        crate::hw::RanFunctionDefinition::STANDARD.encode(Wire::Per, &mut ping).unwrap();
        assert_eq!(identify_function(crate::hw::OID, 0, &ping).unwrap(), "the ping");
        assert!(identify_function(crate::hw::OID, 0, &[]).is_err_and(|error| error != Error::UnknownOid));

        let plain = crate::mac::MODEL.oid(Wire::Plain);
        assert_eq!(identify_function(&plain, 0, b"MAC_STATS_V0").unwrap(), "MAC_STATS_V0, in wire form plain");
        assert!(identify_function(&plain, 0, &[0xff]).is_err_and(|error| error != Error::UnknownOid));

        for of_nobody in ["1.2.3", "0.0.0.0.0.0.0.0.1.141.0", ""] {
            assert_eq!(identify_function(of_nobody, 0, b"MAC_STATS_V0"), Err(Error::UnknownOid), "{of_nobody}");
        }
        for known in [crate::rc::OID, crate::kpm::OID_V3] {
            assert!(matches!(identify_function(known, 0, &[0xff]), Err(Error::NoRevisionFits(_))), "{known}");
        }
    }
}
