//! Who may read and write which namespaces.
//!
//! A namespace is the part of a key or a channel in braces in front of its first comma: `{ns},key`, as the SDL libraries of the
//! O-RAN SC write it. What has no such part is of no namespace, and takes the right to all of them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use link::{Fingerprint, Identity};
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq;

/// The most xApps in a file.
const MAX_XAPPS: usize = 1024;
/// The most rights of an xApp.
const MAX_RIGHTS: usize = 256;
/// The longest file.
const MAX_FILE_OCTETS: u64 = 1 << 20;
/// Shorter tokens could be guessed.
const MIN_TOKEN_OCTETS: usize = 16;
const MAX_TOKEN_OCTETS: usize = 1024;
/// What stands before the name of a certificate in place of a token.
const CERTIFICATE: &str = "certificate:";
const MAX_CERTIFICATE_OCTETS: usize = 255;
/// The name that connections without authentication have the rights of.
const DEFAULT: &str = "default";

/// What is done to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Keys are read, channels are subscribed to.
    Read,
    /// Keys are written, messages are published. It includes [`Access::Read`].
    Write,
}

/// Returns the namespace of a key or a channel.
#[must_use]
pub fn namespace_of(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(b"{")?;
    let end = rest.windows(2).position(|pair| pair == b"},")?;
    rest.get(..end)
}

/// The rights of an xApp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The name of the xApp, for the log.
    pub name: Arc<str>,
    /// Namespaces and what is allowed in them; `None` is all of them.
    namespaces: Vec<(Option<Vec<u8>>, Access)>,
}

impl Rights {
    /// Everything, in all namespaces.
    #[must_use]
    pub fn all(name: &str) -> Self {
        Rights { name: name.into(), namespaces: vec![(None, Access::Write)] }
    }

    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Rights { name: DEFAULT.into(), namespaces: Vec::new() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.namespaces.is_empty()
    }

    /// Whether a namespace may be accessed; `None` is that of keys without one.
    #[must_use]
    pub fn allow(&self, namespace: Option<&[u8]>, access: Access) -> bool {
        let covers = |of: &Option<Vec<u8>>| match (of, namespace) {
            (None, _) => true,
            (Some(of), Some(namespace)) => of == namespace,
            (Some(_), None) => false,
        };
        self.namespaces.iter().any(|(of, allowed)| *allowed >= access && covers(of))
    }
}

/// The hash of a token.
pub(crate) type TokenHash = [u8; 32];

/// What a connection has its rights by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credential {
    /// Nothing: it has those of every connection.
    Nothing,
    /// The certificate that it has presented.
    Certificate,
    /// The token that it has sent.
    Token(TokenHash),
}

/// The rights of all xApps, by token and by the name of a certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessList {
    xapps: Vec<(TokenHash, Arc<Rights>)>,
    /// Names or fingerprints, in the order of the file.
    certificates: Vec<(String, Arc<Rights>)>,
    default: Arc<Rights>,
}

impl fmt::Debug for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let xapps = self.xapps.len() + self.certificates.len();
        f.debug_struct("AccessList").field("xapps", &xapps).finish_non_exhaustive()
    }
}

impl Default for AccessList {
    /// Everybody may do everything.
    fn default() -> Self {
        AccessList { xapps: Vec::new(), certificates: Vec::new(), default: Arc::new(Rights::all(DEFAULT)) }
    }
}

/// Why a file of rights cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum AccessError {
    /// It cannot be read.
    Read(PathBuf, io::Error),
    /// A line is wrong; counted from 1. The line is not shown: it may contain a secret.
    Line(PathBuf, usize, LineFault),
    /// There are too many lines, or none.
    Count(PathBuf),
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// It is not a name, a token and rights.
    Form,
    /// The token is too short, too long, or has characters that are not graphic.
    Token,
    /// The name of a certificate is missing or too long, or a fingerprint is none.
    Certificate,
    /// A right is not `read:NAMESPACE` or `write:NAMESPACE`.
    Right,
    /// An earlier line has the same name or token, or the same certificate.
    Repeated,
}

impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineFault::Form => f.write_str("not `NAME TOKEN RIGHT…`"),
            LineFault::Token => write!(
                f,
                "a token has {MIN_TOKEN_OCTETS} to {MAX_TOKEN_OCTETS} graphic characters, or is `-` for the name `{DEFAULT}`; \
                 `openssl rand -hex 32` generates one"
            ),
            LineFault::Certificate => f.write_str(
                "a certificate is `certificate:` with one of its names behind it, or `certificate:sha256:` with its fingerprint",
            ),
            LineFault::Right => {
                write!(
                    f,
                    "a right is `read:NAMESPACE` or `write:NAMESPACE`, `*` is every namespace; there are 1 to {MAX_RIGHTS}"
                )
            }
            LineFault::Repeated => f.write_str("an earlier line has the same name, token or certificate"),
        }
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessError::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            AccessError::Line(path, line, fault) => write!(f, "{}: line {line}: {fault}", path.display()),
            AccessError::Count(path) => {
                write!(f, "{}: write 1 to {MAX_XAPPS} lines `NAME TOKEN RIGHT…`", path.display())
            }
        }
    }
}

impl std::error::Error for AccessError {}

impl AccessList {
    /// Reads a file: a line for each xApp, `NAME TOKEN RIGHT…`, or `NAME certificate:NAME RIGHT…` for clients that present a
    /// certificate with this name. Empty lines and lines that begin with `#` are ignored. The line `default - RIGHT…` is for connections
    /// with neither; without it they may do nothing.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is wrong.
    pub fn load(path: &Path) -> Result<Self, AccessError> {
        let text = files::read_text(path, MAX_FILE_OCTETS);
        let text = text.map_err(|error| AccessError::Read(path.to_owned(), error))?;
        Self::parse(&text).map_err(|fault| match fault {
            Some((line, fault)) => AccessError::Line(path.to_owned(), line, fault),
            None => AccessError::Count(path.to_owned()),
        })
    }

    fn parse(text: &str) -> Result<Self, Option<(usize, LineFault)>> {
        let mut list = AccessList { xapps: Vec::new(), certificates: Vec::new(), default: Arc::new(Rights::none()) };
        let mut has_default = false;
        for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text.trim())) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let fault = |fault| Some((line, fault));
            let mut words = text.split_ascii_whitespace();
            let (Some(name), Some(token)) = (words.next(), words.next()) else { return Err(fault(LineFault::Form)) };
            let namespaces: Option<Vec<_>> = words.map(right).collect();
            let namespaces = namespaces.filter(|rights| (1..=MAX_RIGHTS).contains(&rights.len()));
            let namespaces = namespaces.ok_or(fault(LineFault::Right))?;
            let rights = Arc::new(Rights { name: name.into(), namespaces });
            if name == DEFAULT {
                if token != "-" {
                    return Err(fault(LineFault::Token));
                }
                if std::mem::replace(&mut has_default, true) {
                    return Err(fault(LineFault::Repeated));
                }
                list.default = rights;
                continue;
            }
            if list.xapps.len() + list.certificates.len() == MAX_XAPPS {
                return Err(None);
            }
            if let Some(certificate) = token.strip_prefix(CERTIFICATE) {
                let is_fingerprint = !certificate.starts_with("sha256:") || certificate.parse::<Fingerprint>().is_ok();
                if !is_fingerprint || !(1..=MAX_CERTIFICATE_OCTETS).contains(&certificate.len()) {
                    return Err(fault(LineFault::Certificate));
                }
                let is_same = |(other, of): &(String, Arc<Rights>)| other == certificate || &*of.name == name;
                if list.certificates.iter().any(is_same) {
                    return Err(fault(LineFault::Repeated));
                }
                list.certificates.push((certificate.to_owned(), rights));
                continue;
            }
            let is_token = token.bytes().all(|octet| octet.is_ascii_graphic());
            if !is_token || !(MIN_TOKEN_OCTETS..=MAX_TOKEN_OCTETS).contains(&token.len()) {
                return Err(fault(LineFault::Token));
            }
            let hash = hash(token.as_bytes());
            if list.xapps.iter().any(|(other, of)| *other == hash || &*of.name == name) {
                return Err(fault(LineFault::Repeated));
            }
            list.xapps.push((hash, rights));
        }
        let is_empty = list.xapps.is_empty() && list.certificates.is_empty() && !has_default;
        if is_empty { Err(None) } else { Ok(list) }
    }

    /// Whether xApps have tokens: without them, everybody may do everything.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        *self != AccessList::default()
    }

    /// Returns the rights of connections that did not authenticate.
    #[must_use]
    pub fn default_rights(&self) -> Arc<Rights> {
        Arc::clone(&self.default)
    }

    /// Whether there are rights by certificate.
    #[must_use]
    pub fn names_certificates(&self) -> bool {
        !self.certificates.is_empty()
    }

    /// Returns the rights of a certificate: those of the first line that names it.
    pub(crate) fn rights_of_certificate(&self, identity: &Identity) -> Option<Arc<Rights>> {
        let line = self.certificates.iter().find(|(name, _)| identity.is(name));
        line.map(|(_, rights)| Arc::clone(rights))
    }

    /// Returns what a connection may do that has sent no token.
    pub(crate) fn without_token(&self, identity: Option<&Identity>) -> (Credential, Arc<Rights>) {
        match identity.and_then(|identity| self.rights_of_certificate(identity)) {
            Some(rights) => (Credential::Certificate, rights),
            None => (Credential::Nothing, self.default_rights()),
        }
    }

    /// Returns the hash and the rights of a token. `name`, if it is given, has to be that of the xApp. The time that this takes depends
    /// on the number of tokens only.
    pub(crate) fn authenticate(&self, name: Option<&[u8]>, token: &[u8]) -> Option<(TokenHash, Arc<Rights>)> {
        let hash = hash(token);
        let rights = self.rights_of(&hash)?;
        name.is_none_or(|name| name == rights.name.as_bytes()).then_some((hash, rights))
    }

    /// Returns the rights of a token by its hash.
    pub(crate) fn rights_of(&self, hash: &TokenHash) -> Option<Arc<Rights>> {
        let mut found = None;
        for (other, rights) in &self.xapps {
            if bool::from(hash.ct_eq(other)) {
                found = Some(rights);
            }
        }
        found.cloned()
    }
}

/// Reads a right.
fn right(word: &str) -> Option<(Option<Vec<u8>>, Access)> {
    let (access, namespace) = word.split_once(':')?;
    let access = match access {
        "read" => Access::Read,
        "write" => Access::Write,
        _ => return None,
    };
    let namespace = match namespace {
        "" => return None,
        "*" => None,
        name => Some(name.as_bytes().to_vec()),
    };
    Some((namespace, access))
}

fn hash(token: &[u8]) -> TokenHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, token).as_ref()); // SHA-256 has 32 octets
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# xApps\nkpm kpm-kpm-kpm-kpm-1 read:e2Manager write:kpm\n\nadmin admin-admin-admin write:*\n";

    #[test]
    fn namespace_is_in_braces_before_the_comma() {
        assert_eq!(namespace_of(b"{ns},key"), Some(&b"ns"[..]));
        assert_eq!(namespace_of(b"{},key"), Some(&b""[..]));
        assert_eq!(namespace_of(b"{a}b},key"), Some(&b"a}b"[..]));
        for other in [&b"key"[..], b"{ns}key", b"ns},key", b"{ns", b""] {
            assert_eq!(namespace_of(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn xapp_may_do_what_its_line_says() {
        let list = AccessList::parse(FILE).unwrap();
        let (_, kpm) = list.authenticate(None, b"kpm-kpm-kpm-kpm-1").unwrap();
        assert!(kpm.allow(Some(b"kpm"), Access::Write) && kpm.allow(Some(b"kpm"), Access::Read));
        assert!(kpm.allow(Some(b"e2Manager"), Access::Read) && !kpm.allow(Some(b"e2Manager"), Access::Write));
        assert!(!kpm.allow(Some(b"other"), Access::Read) && !kpm.allow(None, Access::Read));
        let (hash, admin) = list.authenticate(Some(b"admin"), b"admin-admin-admin").unwrap();
        assert_eq!(list.rights_of(&hash), Some(Arc::clone(&admin)));
        assert!(admin.allow(None, Access::Write) && admin.allow(Some(b"other"), Access::Write));
        assert_eq!(list.authenticate(Some(b"admin"), b"kpm-kpm-kpm-kpm-1"), None, "the token of another xApp");
        assert_eq!(list.authenticate(None, b"kpm-kpm-kpm-kpm-2"), None);
        assert!(list.default_rights().is_none() && list.is_restricted());
        assert!(!AccessList::default().is_restricted());
        assert!(AccessList::default().default_rights().allow(None, Access::Write));
        assert_eq!(format!("{list:?}"), "AccessList { xapps: 2, .. }");
    }

    #[test]
    fn line_for_connections_without_a_token_is_read() {
        let list = AccessList::parse("default - read:e2Manager").unwrap();
        assert!(list.default_rights().allow(Some(b"e2Manager"), Access::Read) && list.is_restricted());
        assert!(!list.default_rights().allow(Some(b"e2Manager"), Access::Write));
    }

    #[test]
    fn certificate_has_the_rights_of_the_first_line_that_names_it() {
        let fingerprint = "ab".repeat(32);
        let text = format!(
            "kpm 0123456789abcdef write:kpm\nkpm certificate:kpm.example read:kpm\n\
             other certificate:sha256:{fingerprint} write:other\nlast certificate:last.example write:*\n"
        );
        let list = AccessList::parse(&text).unwrap();
        assert!(list.names_certificates() && list.is_restricted());
        let identity = |names: &[&str], octet| Identity {
            alternative_names: names.iter().map(|name| name.to_string()).collect(),
            common_name: None,
            fingerprint: Fingerprint([octet; 32]),
        };
        let rights = |identity: &Identity| list.without_token(Some(identity));
        let (credential, kpm) = rights(&identity(&["KPM.example", "last.example"], 0xab));
        assert!(credential == Credential::Certificate && &*kpm.name == "kpm");
        assert!(kpm.allow(Some(b"kpm"), Access::Read) && !kpm.allow(Some(b"kpm"), Access::Write));
        assert_eq!(&*rights(&identity(&["x.example"], 0xab)).1.name, "other");
        assert_eq!(rights(&identity(&["x.example"], 1)), (Credential::Nothing, list.default_rights()));
        assert_eq!(list.without_token(None), (Credential::Nothing, list.default_rights()));
        assert_eq!(list.authenticate(None, b"certificate:kpm.example"), None, "the name of a certificate is no token");
        assert!(!AccessList::parse(FILE).unwrap().names_certificates());
    }

    #[test]
    fn wrong_lines_are_located() {
        for (text, fault) in [
            ("", None),
            ("kpm", Some((1, LineFault::Form))),
            ("kpm 0123456789abcdef", Some((1, LineFault::Right))),
            ("\nkpm 0123456789abcdef all:x", Some((2, LineFault::Right))),
            ("kpm 0123456789abcdef read:", Some((1, LineFault::Right))),
            ("kpm 0123456789abcde read:x", Some((1, LineFault::Token))),
            ("kpm 0123456789abcdé read:x", Some((1, LineFault::Token))),
            ("kpm - read:x", Some((1, LineFault::Token))),
            ("default 0123456789abcdef read:x", Some((1, LineFault::Token))),
            ("a certificate: read:x", Some((1, LineFault::Certificate))),
            ("a certificate:sha256:ab read:x", Some((1, LineFault::Certificate))),
            ("default certificate:a read:x", Some((1, LineFault::Token))),
            ("a certificate:a read:x\nb certificate:a read:x", Some((2, LineFault::Repeated))),
            ("a certificate:a read:x\na certificate:b read:x", Some((2, LineFault::Repeated))),
            ("default - read:x\ndefault - read:x", Some((2, LineFault::Repeated))),
            ("a 0123456789abcdef read:x\nb 0123456789abcdef read:x", Some((2, LineFault::Repeated))),
            ("a 0123456789abcdef read:x\na 0123456789abcdeg read:x", Some((2, LineFault::Repeated))),
        ] {
            assert_eq!(AccessList::parse(text).unwrap_err(), fault, "{text}");
        }
        let path = std::env::temp_dir().join(format!("ferric-sdl-access-{}", std::process::id()));
        std::fs::write(&path, "kpm 0123456789abcdef all:x").unwrap();
        let text = AccessList::load(&path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(text.contains("line 1: a right is") && !text.contains("0123"), "{text}");
        assert!(AccessList::load(&path).unwrap_err().to_string().starts_with("cannot read "));
    }
}
