//! Bearer tokens (RFC 6750) and their roles.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};
use ring::digest::{SHA256, digest};
use subtle::{Choice, ConstantTimeEq};

use super::Problem;

/// The most tokens in a file.
const MAX_TOKENS: usize = 256;
/// Shorter tokens could be guessed.
const MIN_TOKEN_OCTETS: usize = 16;
/// Longer tokens do not fit into the head of a request.
const MAX_TOKEN_OCTETS: usize = 1024;

/// What a client may do. Each role includes the ones before it. A route names the one that it requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read resources and streams.
    Read,
    /// Change what the service controls.
    Control,
    /// Change the service itself.
    Admin,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 3] = [Role::Read, Role::Control, Role::Admin];

    /// Its name in a token file and in OpenAPI documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Control => "control",
            Role::Admin => "admin",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// The hash of a token, which is stored in its place.
pub(super) type TokenHash = [u8; 32];

/// Who sent a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    /// What it may do.
    pub role: Role,
    /// Its token, if tokens are required; of a verified one the hash of its subject.
    pub token: Option<TokenHash>,
    /// Whom a verified token stands for, and the token, which is verified again.
    pub subject: Option<(Arc<str>, Arc<[u8]>)>,
}

/// The tokens of a file, as hashes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Tokens(Vec<(Role, TokenHash)>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}

/// The reason why a token file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// A line is not a role and a token.
    Form {
        /// The line, counted from 1.
        line: usize,
    },
    /// A token has characters that RFC 6750 does not allow.
    Characters {
        /// The line, counted from 1.
        line: usize,
    },
    /// A token is too short or too long.
    Length {
        /// The line, counted from 1.
        line: usize,
    },
    /// An earlier line has the same token.
    Repeated {
        /// The line, counted from 1.
        line: usize,
    },
    /// There are too many tokens.
    TooMany,
    /// There is no token.
    None,
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAKE: &str = "`openssl rand -hex 32` generates one";
        // the line is not shown: it may contain a secret
        match self {
            TokenFault::Form { line } => write!(f, "line {line}: not `read TOKEN`, `control TOKEN` or `admin TOKEN`"),
            TokenFault::Characters { line } => {
                write!(f, "line {line}: a token has letters, digits, `-._~+/` and then `=` only; {MAKE}")
            }
            TokenFault::Length { line } => {
                write!(f, "line {line}: a token has {MIN_TOKEN_OCTETS} to {MAX_TOKEN_OCTETS} characters; {MAKE}")
            }
            TokenFault::Repeated { line } => write!(f, "line {line}: an earlier line has the same token"),
            TokenFault::TooMany => write!(f, "more than {MAX_TOKENS} tokens"),
            TokenFault::None => {
                write!(f, "no token: write lines `read TOKEN`, `control TOKEN` or `admin TOKEN`; {MAKE}")
            }
        }
    }
}

impl Tokens {
    /// Reads the text of a file: lines of a role and a token. Empty lines and lines that begin with `#` are ignored.
    pub fn parse(text: &str) -> Result<Self, TokenFault> {
        let mut tokens: Vec<(Role, TokenHash)> = Vec::new();
        for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text.trim())) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let mut words = text.split_ascii_whitespace();
            let role = words.next().and_then(Role::named);
            let (Some(role), Some(token), None) = (role, words.next(), words.next()) else {
                return Err(TokenFault::Form { line });
            };
            if !is_token(token) {
                return Err(TokenFault::Characters { line });
            }
            if !(MIN_TOKEN_OCTETS..=MAX_TOKEN_OCTETS).contains(&token.len()) {
                return Err(TokenFault::Length { line });
            }
            let hash = hash(token.as_bytes());
            if tokens.iter().any(|(_, other)| *other == hash) {
                return Err(TokenFault::Repeated { line });
            }
            if tokens.len() == MAX_TOKENS {
                return Err(TokenFault::TooMany);
            }
            tokens.push((role, hash));
        }
        if tokens.is_empty() { Err(TokenFault::None) } else { Ok(Tokens(tokens)) }
    }

    /// Returns the client with a known token.
    pub fn client(&self, token: &[u8]) -> Option<Client> {
        let hash = hash(token);
        self.role(&hash).map(|role| Client { role, token: Some(hash), subject: None })
    }

    /// Returns the role of a token. The time that this takes depends on nothing but the number of tokens.
    pub fn role(&self, hash: &TokenHash) -> Option<Role> {
        let of_role = |wanted: Role| {
            let mut known = Choice::from(0);
            for (role, other) in &self.0 {
                known |= hash.ct_eq(other) & Choice::from(u8::from(*role == wanted));
            }
            bool::from(known)
        };
        let known = Role::ALL.map(of_role);
        Role::ALL.into_iter().zip(known).rfind(|(_, is_known)| *is_known).map(|(role, _)| role)
    }
}

impl Client {
    /// Checks that the client has the role that a route requires.
    pub fn require(&self, role: Role) -> Result<(), Problem> {
        if self.role >= role {
            return Ok(());
        }
        let challenge = match role {
            Role::Read => "Bearer realm=\"ferric\", error=\"insufficient_scope\", scope=\"read\"",
            Role::Control => "Bearer realm=\"ferric\", error=\"insufficient_scope\", scope=\"control\"",
            Role::Admin => "Bearer realm=\"ferric\", error=\"insufficient_scope\", scope=\"admin\"",
        };
        let detail = format!("this token has the role `{}`; the request needs `{}`", self.role.name(), role.name());
        Err(Problem::new(StatusCode::FORBIDDEN, detail).with("role", role.name()).with_challenge(challenge))
    }
}

/// Returns the bearer token of a request. `offered` is the token of a WebSocket handshake, whose client in a browser cannot send the
/// header.
pub(super) fn given<'r>(headers: &'r HeaderMap, offered: Option<&'r [u8]>) -> Result<&'r [u8], Problem> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    match (given.next(), given.next(), offered) {
        (None, _, Some(token)) => Ok(token),
        (None, _, None) => Err(challenge(None, "no bearer token: send `Authorization: Bearer TOKEN`")),
        // the scheme is case-insensitive (RFC 9110 11.1)
        (Some(authorization), None, None) => match authorization.as_bytes().split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => Ok(token.trim_ascii()),
            _ => Err(challenge(None, "the Authorization header is not `Bearer TOKEN`")),
        },
        // RFC 6750 3.1
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
            let challenge = "Bearer realm=\"ferric\", error=\"invalid_request\"";
            Err(Problem::bad_request("more than one bearer token").with_challenge(challenge))
        }
    }
}

/// 401 for a token that is in no file.
pub(super) fn unknown() -> Problem {
    challenge(Some(()), "unknown bearer token; see the server's token file")
}

/// Hashes a token, or what stands for it.
pub(super) fn hash(token: &[u8]) -> TokenHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, token).as_ref()); // SHA-256 has 32 octets
    hash
}

/// Whether a text is a `b64token` (RFC 6750 2.1).
fn is_token(text: &str) -> bool {
    let characters = text.trim_end_matches('=');
    let is_allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~+/".contains(&octet);
    !characters.is_empty() && characters.bytes().all(is_allowed)
}

/// 401. If the request has a token, the challenge states that it is invalid (RFC 6750 3.1).
fn challenge(presented: Option<()>, detail: &str) -> Problem {
    let challenge = match presented {
        None => "Bearer realm=\"ferric\"",
        Some(()) => "Bearer realm=\"ferric\", error=\"invalid_token\"",
    };
    Problem::new(StatusCode::UNAUTHORIZED, detail).with_challenge(challenge)
}

/// Whether users outside of its group may read a file.
#[must_use]
pub fn is_readable_by_all(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o004 != 0)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const READ: &str = "read-read-read-read";
    const CONTROL: &str = "d3JpdGUgd3JpdGUgd3JpdGU=";
    const ADMIN: &str = "admin-admin-admin-admin";

    fn tokens() -> Tokens {
        Tokens::parse(&format!("# for reading\nread {READ}\n\n  control\t{CONTROL}  \r\nadmin {ADMIN}")).unwrap()
    }

    fn status(role: Role, authorization: &[&[u8]]) -> u16 {
        let headers = authorization.iter().map(|value| (AUTHORIZATION, HeaderValue::from_bytes(value).unwrap()));
        let headers = headers.collect();
        let client = given(&headers, None).and_then(|token| tokens().client(token).ok_or_else(unknown));
        let checked = client.and_then(|client| client.require(role));
        checked.map_or_else(|problem| problem.status().as_u16(), |()| 200)
    }

    #[test]
    fn role_permits_what_it_includes() {
        let bearers = [READ, CONTROL, ADMIN].map(|token| format!("bearer   {token}"));
        for (has, bearer) in Role::ALL.into_iter().zip(&bearers) {
            for needs in Role::ALL {
                let expected = if has >= needs { 200 } else { 403 };
                assert_eq!(status(needs, &[bearer.as_bytes()]), expected, "{has:?} {needs:?}");
            }
        }
    }

    #[test]
    fn unknown_and_malformed_tokens_are_refused() {
        assert_eq!(status(Role::Read, &[]), 401);
        let basic = format!("Basic {CONTROL}");
        let longer = format!("Bearer {CONTROL}=");
        let shorter = format!("Bearer {}", &CONTROL[1..]);
        let line = format!("Bearer control {CONTROL}");
        for wrong in [&b""[..], b"Bearer", b"Bearer ", b"\xff\xff\xff\xff\xff\xff\xff\xff", READ.as_bytes()]
            .into_iter()
            .chain([&basic, &longer, &shorter, &line].map(|text| text.as_bytes()))
        {
            assert_eq!(status(Role::Read, &[wrong]), 401, "{}", String::from_utf8_lossy(wrong));
        }
        let twice = format!("Bearer {CONTROL}");
        assert_eq!(status(Role::Read, &[twice.as_bytes(), twice.as_bytes()]), 400);
        let headers = [(AUTHORIZATION, HeaderValue::from_str(&twice).unwrap())].into_iter().collect();
        assert_eq!(given(&headers, Some(READ.as_bytes())).unwrap_err().status(), 400);
        assert_eq!(given(&HeaderMap::new(), Some(READ.as_bytes())), Ok(READ.as_bytes()));
        assert_eq!(tokens().client(READ.as_bytes()).map(|client| client.role), Some(Role::Read));
    }

    #[test]
    fn fault_names_the_line_and_no_token() {
        use TokenFault as Fault;
        let long = format!("read {}", "x".repeat(1025));
        let twice = format!("read {READ}\ncontrol {READ}");
        let many: String = (0..257).map(|at| format!("read 0123456789abcdef{at}\n")).collect();
        for (text, fault) in [
            ("", Fault::None),
            ("# nothing\n\n", Fault::None),
            (READ, Fault::Form { line: 1 }),
            ("\nwrite 0123456789abcdef", Fault::Form { line: 2 }),
            ("read", Fault::Form { line: 1 }),
            ("read 0123456789abcdef x", Fault::Form { line: 1 }),
            ("read 0123456789abcde", Fault::Length { line: 1 }),
            (&long, Fault::Length { line: 1 }),
            ("read 0123456789abcdé0", Fault::Characters { line: 1 }),
            ("read ================", Fault::Characters { line: 1 }),
            ("read =0123456789abcdef", Fault::Characters { line: 1 }),
            (&twice, Fault::Repeated { line: 2 }),
            (&many, Fault::TooMany),
        ] {
            assert_eq!(Tokens::parse(text), Err(fault.clone()), "{text}");
            assert!(!fault.to_string().contains("0123456789abc"), "a token may be a secret");
        }
        assert_eq!(format!("{:?}", tokens()), "Tokens(3)");
    }
}
