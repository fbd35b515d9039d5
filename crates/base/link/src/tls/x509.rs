//! The identity in a certificate (RFC 5280).
//!
//! Only certificates that were verified are read here, so this module extracts names and decides nothing. A name that cannot
//! be read is left out.

use std::net::{Ipv4Addr, Ipv6Addr};

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;

use crate::identity::{Fingerprint, Identity, NAME_OCTETS, NAMES};

/// Returns the names and the fingerprint of a verified certificate.
pub(super) fn identity(der: &[u8]) -> Identity {
    let digest = ring::digest::digest(&ring::digest::SHA256, der);
    let fingerprint = Fingerprint(digest.as_ref().try_into().expect("SHA-256 has 32 octets"));
    match X509Certificate::from_der(der) {
        Ok((_, certificate)) => Identity {
            alternative_names: alternative_names(&certificate),
            common_name: common_name(&certificate),
            fingerprint,
        },
        Err(_) => Identity { alternative_names: Vec::new(), common_name: None, fingerprint },
    }
}

/// The last common name of the subject, which is the most specific.
fn common_name(certificate: &X509Certificate<'_>) -> Option<String> {
    // UTF8String, PrintableString and the other types with ASCII content; text of the others is rarely valid UTF-8.
    let name = certificate.subject().iter_common_name().last()?;
    std::str::from_utf8(name.as_slice()).ok().and_then(printable)
}

/// The subject alternative names, of which at most [`NAMES`] are kept.
fn alternative_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let names = certificate.extensions().iter().filter_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    names.flatten().filter_map(alternative_name).take(NAMES).collect()
}

fn alternative_name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::RFC822Name(name) | GeneralName::DNSName(name) | GeneralName::URI(name) => printable(name),
        GeneralName::IPAddress(octets) => {
            let v4 = <[u8; 4]>::try_from(*octets).map(|ip| Ipv4Addr::from(ip).to_string());
            v4.or_else(|_| <[u8; 16]>::try_from(*octets).map(|ip| Ipv6Addr::from(ip).to_string())).ok()
        }
        _ => None,
    }
}

/// Returns the name if it fits into one line of a log.
fn printable(name: &str) -> Option<String> {
    let is_printable = (1..=NAME_OCTETS).contains(&name.len()) && !name.chars().any(char::is_control);
    is_printable.then(|| name.to_owned())
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
    fn names_of_every_kind_are_read() {
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
    fn names_are_bounded_and_printable() {
        let many = (0..100).map(|n| SanType::DnsName(format!("n{n}.example").try_into().unwrap())).collect();
        assert_eq!(identity(&certificate(many, None)).alternative_names.len(), NAMES);
        let long = "x".repeat(NAME_OCTETS + 1);
        assert_eq!(identity(&certificate(Vec::new(), Some(&long))).common_name, None);
        assert_eq!(identity(&certificate(Vec::new(), Some("two\nlines"))).common_name, None);
    }

    #[test]
    fn malformed_certificates_do_not_panic() {
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
