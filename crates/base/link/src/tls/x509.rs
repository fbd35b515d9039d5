//! The names in a certificate (RFC 5280), read from its DER.
//!
//! Only certificates that were verified come here, so that nothing is decided but where the names lie. What cannot be read
//! is not there.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::identity::{Fingerprint, Identity, NAME_OCTETS, NAMES};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
const BOOLEAN: u8 = 0x01;
/// The version and the extensions of a TBSCertificate.
const CONTEXT_0: u8 = 0xa0;
const CONTEXT_3: u8 = 0xa3;

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
/// 2.5.29.17
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 29, 17];

/// What a verified certificate says of its holder.
pub(super) fn identity(certificate: &[u8]) -> Identity {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    let fingerprint = Fingerprint(digest.as_ref().try_into().expect("SHA-256 has 32 octets"));
    let mut identity = Identity { alternative_names: Vec::new(), common_name: None, fingerprint };
    // Where this ends early, what was found until then stays.
    let _ = read_certificate(certificate, &mut identity);
    identity
}

fn read_certificate(der: &[u8], identity: &mut Identity) -> Option<()> {
    let mut certificate = Der(Der(der).expect(SEQUENCE)?);
    let mut tbs = Der(certificate.expect(SEQUENCE)?);
    // Version, serial number, signature, issuer, validity, subject, public key, then unique ids and extensions.
    if tbs.0.first() == Some(&CONTEXT_0) {
        tbs.next()?;
    }
    for _ in 0..4 {
        tbs.next()?;
    }
    identity.common_name = common_name(tbs.expect(SEQUENCE)?);
    while let Some((tag, value)) = tbs.next() {
        if tag == CONTEXT_3 {
            let mut extensions = Der(Der(value).expect(SEQUENCE)?);
            while let Some(extension) = extensions.expect(SEQUENCE) {
                if let Some(names) = alternative_names(extension) {
                    identity.alternative_names = names;
                }
            }
        }
    }
    Some(())
}

/// The last common name of a Name, which is the most specific.
fn common_name(name: &[u8]) -> Option<String> {
    let mut found = None;
    let mut sets = Der(name);
    while let Some(set) = sets.expect(SET) {
        let mut pair = Der(Der(set).expect(SEQUENCE)?);
        if pair.expect(OBJECT_IDENTIFIER)? == COMMON_NAME {
            // UTF8String, PrintableString and their like; others do not read as UTF-8.
            found = pair.next().and_then(|(_, text)| plain(text));
        }
    }
    found
}

/// The names of an extension, if it is of names.
fn alternative_names(extension: &[u8]) -> Option<Vec<String>> {
    let mut fields = Der(extension);
    if fields.expect(OBJECT_IDENTIFIER)? != SUBJECT_ALTERNATIVE_NAME {
        return None;
    }
    let (mut tag, mut value) = fields.next()?;
    if tag == BOOLEAN {
        (tag, value) = fields.next()?;
    }
    let mut names = Vec::new();
    let mut general_names = Der(Der(if tag == OCTET_STRING { value } else { return None }).expect(SEQUENCE)?);
    while let Some((tag, value)) = general_names.next() {
        let name = match tag {
            // rfc822Name, dNSName, uniformResourceIdentifier
            0x81 | 0x82 | 0x86 => plain(value),
            0x87 => match (<[u8; 4]>::try_from(value), <[u8; 16]>::try_from(value)) {
                (Ok(ip), _) => Some(Ipv4Addr::from(ip).to_string()),
                (_, Ok(ip)) => Some(Ipv6Addr::from(ip).to_string()),
                _ => None,
            },
            _ => None,
        };
        if let Some(name) = name
            && names.len() < NAMES
        {
            names.push(name);
        }
    }
    Some(names)
}

/// A name that can stand in a line of a log.
fn plain(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let is_plain = (1..=NAME_OCTETS).contains(&text.len()) && !text.chars().any(char::is_control);
    is_plain.then(|| text.to_owned())
}

/// What is left of a row of DER values.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value: its tag, which is one octet in certificates, and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, mut rest) = rest.split_first()?;
        let mut length = usize::from(*first);
        if length >= 0x80 {
            // Four octets of length are more than any certificate has.
            let count = length - 0x80;
            let (octets, after) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
            length = octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet));
            rest = after;
        }
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, value))
    }

    /// The next value's content, if it has that tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(got, _)| *got == tag).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::certificates::rcgen::{self, CertificateParams, DnType, KeyPair, SanType};

    fn certificate(alternative_names: Vec<SanType>, common_name: Option<&str>) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "An operator");
        if let Some(name) = common_name {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.subject_alt_names = alternative_names;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn names_of_every_kind() {
        let names = vec![
            SanType::DnsName("gnb1.example".try_into().unwrap()),
            SanType::URI("urn:uuid:9f1b".try_into().unwrap()),
            SanType::Rfc822Name("noc@example".try_into().unwrap()),
            SanType::IpAddress("10.0.0.1".parse().unwrap()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
        ];
        let der = certificate(names, Some("gnb1"));
        let identity = identity(&der);
        let expected = ["gnb1.example", "urn:uuid:9f1b", "noc@example", "10.0.0.1", "2001:db8::1"];
        assert_eq!(identity.alternative_names, expected);
        assert_eq!(identity.common_name.as_deref(), Some("gnb1"));
        assert_eq!(super::identity(&certificate(Vec::new(), Some("Zelle Ä"))).name(), Some("Zelle Ä"));
        assert_eq!(super::identity(&certificate(Vec::new(), None)).name(), None);
    }

    #[test]
    fn names_are_bounded_and_plain() {
        let many = (0..100).map(|n| SanType::DnsName(format!("n{n}.example").try_into().unwrap())).collect();
        assert_eq!(identity(&certificate(many, None)).alternative_names.len(), NAMES);
        let long = "x".repeat(NAME_OCTETS + 1);
        assert_eq!(identity(&certificate(Vec::new(), Some(&long))).common_name, None);
        assert_eq!(identity(&certificate(Vec::new(), Some("two\nlines"))).common_name, None);
    }

    #[test]
    fn no_octets_panic() {
        let names = vec![SanType::DnsName("a.example".try_into().unwrap())];
        let der = certificate(names, Some("a"));
        for length in 0..der.len() {
            identity(&der[..length]);
        }
        for at in 0..der.len() {
            for value in [0, 0x7f, 0x80, 0x84, 0x85, 0xff] {
                let mut changed = der.clone();
                changed[at] = value;
                identity(&changed);
            }
        }
    }
}
