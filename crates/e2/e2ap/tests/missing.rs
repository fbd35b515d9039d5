//! Messages without an IE, by the criticality of the IE (E2AP v03.01 10.3.5): every message of every version, without each of
//! its IEs.

mod common;

use common::every_vector;
use e2ap::message::Presence;
use e2ap::{Criticality, Error, IeFault, TABLES, TypeOfError, Version, decode};
use per::{Gather, Octets};

/// Splits off octets after their length.
fn sized(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match octets {
        [first @ 0..0x80, rest @ ..] => (usize::from(*first), rest),
        [first @ 0x80..0xC0, second, rest @ ..] => (usize::from(first & 0x3F) << 8 | usize::from(*second), rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// The IEs of a PDU with their ids; `None` for fragments.
fn ies(pdu: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let (message, _) = sized(&pdu[3..])?;
    let (mut rest, mut ies) = (&message[3..], Vec::new());
    while !rest.is_empty() {
        let (_, behind) = sized(&rest[3..])?;
        let (ie, next) = rest.split_at(rest.len() - behind.len());
        ies.push((u16::from_be_bytes([ie[0], ie[1]]), ie));
        rest = next;
    }
    Some(ies)
}

/// The PDU with other IEs.
fn with(pdu: &[u8], ies: &[(u16, &[u8])]) -> Vec<u8> {
    let mut message = vec![0];
    message.extend((ies.len() as u16).to_be_bytes());
    ies.iter().for_each(|(_, ie)| message.extend(*ie));
    let mut out = pdu[..3].to_vec();
    per::encode(&Octets::from(message.as_slice()), 0, &mut out).unwrap();
    out
}

#[test]
fn missing_ie_rejects_message_unless_ignorable() {
    let (mut gone_on, mut refused, mut optional) = (0, 0, 0);
    for (path, version, octets) in every_vector() {
        let name = path.display();
        let gather = Gather::new();
        let whole = decode(&octets, version, &gather).unwrap();
        let (_, table) = TABLES.iter().find(|(message, _)| *message == whole.pdu.name()).unwrap();
        let Some(ies) = ies(&octets) else { continue };
        for left_out in 0..ies.len() {
            let mut rest = ies.clone();
            let (id, _) = rest.remove(left_out);
            let presence_of = |row: &e2ap::message::IeRow| row.presence[usize::from(version.revision())];
            let row = table.iter().find(|row| row.id.0 == id && presence_of(row) != Presence::Absent).unwrap();
            let octets = with(&octets, &rest);
            let gather = Gather::new();
            match (presence_of(row), row.criticality, decode(&octets, version, &gather)) {
                (Presence::Optional, _, Ok(decoded)) => {
                    assert_eq!(decoded.missing().len(), 0, "{name}");
                    optional += 1;
                }
                (Presence::Mandatory, Criticality::Reject, Err(Error::Ie { ie, fault: IeFault::Missing, .. })) => {
                    assert_eq!(ie, row.id, "{name}");
                    refused += 1;
                }
                (Presence::Mandatory, Criticality::Ignore, Ok(decoded)) => {
                    assert_eq!(decoded.missing().collect::<Vec<_>>(), [row.id], "{name}");
                    // criticality ignore: not reported
                    assert_eq!(decoded.to_report(), None, "{name}");
                    // the decoded message is encoded unchanged; an own message without the IE is an error
                    let mut again = Vec::new();
                    decoded.encode(version, &mut again).unwrap();
                    assert_eq!(again, octets, "{name}");
                    let error = decoded.pdu.encode(version, &mut again).unwrap_err();
                    assert_eq!(error.kind, per::ErrorKind::Missing, "{name}");
                    gone_on += 1;
                }
                (presence, criticality, other) => panic!("{name}: {presence:?}, {criticality:?}: {other:?}"),
            }
        }
    }
    assert!(gone_on >= 20 && refused >= 200 && optional >= 50, "{gone_on} went on, {refused} refused, {optional}");
}

/// In FlatBuffers: the slot of a table is emptied.
#[cfg(feature = "flat")]
#[test]
fn missing_ie_in_flatbuffers_is_handled_alike() {
    use e2ap::{Decoded, Pdu, ProtocolIeId, RicControlFailure};
    let failure = RicControlFailure {
        request_id: e2ap::RicRequestId { requestor: 1, instance: 2 },
        ran_function_id: e2ap::RanFunctionId(3),
        call_process_id: None,
        cause: Some(e2ap::Cause::Misc(e2ap::CauseMisc::OmIntervention)),
        outcome: None,
        criticality_diagnostics: None,
    };
    let (version, gather) = (Version::V3_01, Gather::new());
    let mut octets = Vec::new();
    e2ap::Codec::FLAT.encode(&failure.clone().into(), version, &mut octets).unwrap();
    let emptied = (0..octets.len() / 2).map(|pair| {
        let mut octets = octets.clone();
        octets[2 * pair..2 * pair + 2].fill(0);
        octets
    });
    let without: Pdu<'_> = RicControlFailure { cause: None, ..failure }.into();
    let mut found = 0;
    for octets in emptied {
        if let Ok(Decoded { pdu, .. }) = e2ap::Codec::FLAT.decode(&octets, version, &gather)
            && pdu == without
        {
            let decoded = e2ap::Codec::FLAT.decode(&octets, version, &gather).unwrap();
            assert_eq!(decoded.missing().collect::<Vec<_>>(), [ProtocolIeId(1)]);
            found += 1;
        }
    }
    assert!(found > 0);
}

#[test]
fn ies_with_criticality_notify_are_reported() {
    // RIC CONTROL FAILURE with unknown IEs
    let pdu = common::vector("v03.01/ric_control_failure-minimal");
    let known = ies(&pdu).unwrap();
    let unknown: [&[u8]; 3] = [&[1, 0, 0x80, 1, 7], &[1, 1, 0x40, 0], &[1, 2, 0x80, 0]];
    let more = unknown.map(|ie| (u16::from_be_bytes([ie[0], ie[1]]), ie));
    let octets = with(&pdu, &[known.as_slice(), &more].concat());
    let gather = Gather::new();
    let decoded = decode(&octets, Version::V3_01, &gather).unwrap();
    assert_eq!(decoded.unknown.len(), 3);
    let report = decoded.to_report().unwrap();
    assert_eq!(report.procedure_code, Some(decoded.pdu.procedure_code()));
    let reported: Vec<_> =
        report.ies.unwrap().iter().map(|ie| (ie.ie_id.0, ie.criticality, ie.type_of_error)).collect();
    let not_understood = |id| (id, Criticality::Notify, TypeOfError::NotUnderstood);
    assert_eq!(reported, [not_understood(256), not_understood(258)]);

    // the maximum of the list
    let many = vec![more[0]; 300];
    let octets = with(&pdu, &[known.as_slice(), &many].concat());
    let report = decode(&octets, Version::V3_01, &gather).unwrap().to_report().unwrap();
    assert_eq!(report.ies.map(|ies| ies.len()), Some(256));
}
