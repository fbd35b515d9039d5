//! The identity of a peer, from its certificate.

use std::fmt;
use std::str::FromStr;

/// The most names kept of a certificate, and the most octets of a name; others are ignored.
#[cfg(feature = "tls")]
pub(crate) const NAMES: usize = 64;
#[cfg(feature = "tls")]
pub(crate) const NAME_OCTETS: usize = 255;

/// The identity of a peer whose certificate was verified: by a CA that we trust, valid today, for this side of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Subject alternative names: DNS names, URIs, e-mail and IP addresses, in the order of the certificate, 64 at most.
    pub alternative_names: Vec<String>,
    /// The subject's common name.
    pub common_name: Option<String>,
    /// The fingerprint of the whole certificate.
    pub fingerprint: Fingerprint,
}

impl Identity {
    /// Returns the first alternative name, or the common name if there is none.
    pub fn name(&self) -> Option<&str> {
        self.alternative_names.first().or(self.common_name.as_ref()).map(String::as_str)
    }

    /// Whether `name` matches: it is one of the alternative names, `sha256:` and the fingerprint, or, if there are no alternative
    /// names (RFC 9525 forbids it otherwise), the common name. Alternative names are compared without regard to case.
    pub fn is(&self, name: &str) -> bool {
        if let Ok(fingerprint) = name.parse::<Fingerprint>() {
            return fingerprint == self.fingerprint;
        }
        let by_name = self.alternative_names.iter().any(|own| own.eq_ignore_ascii_case(name));
        by_name || self.alternative_names.is_empty() && self.common_name.as_deref() == Some(name)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => self.fingerprint.fmt(f),
        }
    }
}

/// The SHA-256 of a certificate, written `sha256:` and 64 hexadecimal digits. Colons between the digits, as in the
/// output of `openssl x509 -fingerprint -sha256`, are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a [`Fingerprint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintError;

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `sha256:` and 64 hexadecimal digits")
    }
}

impl std::error::Error for FingerprintError {}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let digits = text.strip_prefix("sha256:").ok_or(FingerprintError)?;
        let mut digits = digits.chars().filter(|digit| *digit != ':').map(|digit| digit.to_digit(16));
        let mut octets = [0; 32];
        for octet in &mut octets {
            let (Some(Some(high)), Some(Some(low))) = (digits.next(), digits.next()) else {
                return Err(FingerprintError);
            };
            *octet = (high << 4 | low) as u8;
        }
        if digits.next().is_some() { Err(FingerprintError) } else { Ok(Fingerprint(octets)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(alternative_names: &[&str], common_name: Option<&str>) -> Identity {
        Identity {
            alternative_names: alternative_names.iter().map(|name| name.to_string()).collect(),
            common_name: common_name.map(str::to_owned),
            fingerprint: Fingerprint([0xab; 32]),
        }
    }

    #[test]
    fn common_name_counts_only_without_alternative_names() {
        let both = identity(&["gnb1.example", "urn:x:gnb1"], Some("gnb1"));
        assert_eq!(both.to_string(), "gnb1.example");
        assert!(both.is("gnb1.example") && both.is("GNB1.example") && both.is("urn:x:gnb1"));
        assert!(!both.is("gnb1") && !both.is("gnb1.example.org") && !both.is(""));
        let one = identity(&[], Some("gnb1"));
        assert!(one.is("gnb1") && !one.is("GNB1"));
        assert_eq!(one.to_string(), "gnb1");
        let none = identity(&[], None);
        assert_eq!(none.to_string(), format!("sha256:{}", "ab".repeat(32)));
        assert!(!none.is(""));
    }

    #[test]
    fn fingerprints_are_read_in_openssl_format() {
        let identity = identity(&[], None);
        assert!(identity.is(&identity.fingerprint.to_string()));
        assert!(identity.is(&format!("sha256:{}", ["AB"; 32].join(":"))));
        for wrong in [
            "sha256:",
            "ab",
            "sha256:ab",
            &format!("sha256:{}", "ab".repeat(33)),
            &format!("sha256:{}g", "a".repeat(63)),
        ] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
