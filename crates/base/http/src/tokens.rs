//! Bearer tokens (RFC 6750) and their permissions.

use std::fmt;
use std::path::Path;

use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::{Method, StatusCode};
use ring::digest::{SHA256, digest};
use subtle::{Choice, ConstantTimeEq};

use super::Problem;

/// The most tokens in a file.
const MAX_TOKENS: usize = 256;
/// Shorter tokens could be guessed.
const MIN_TOKEN_OCTETS: usize = 16;
/// Longer tokens do not fit into the head of a request.
const MAX_TOKEN_OCTETS: usize = 1024;

/// The permission of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// GET and HEAD.
    Read,
    /// All methods.
    Write,
}

/// The tokens of a file, as hashes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Tokens(Vec<(Role, [u8; 32])>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}

/// The reason why a token file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// A line is not `read TOKEN` or `write TOKEN`.
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
            TokenFault::Form { line } => write!(f, "line {line}: not `read TOKEN` or `write TOKEN`"),
            TokenFault::Characters { line } => {
                write!(f, "line {line}: a token has letters, digits, `-._~+/` and then `=` only; {MAKE}")
            }
            TokenFault::Length { line } => {
                write!(f, "line {line}: a token has {MIN_TOKEN_OCTETS} to {MAX_TOKEN_OCTETS} characters; {MAKE}")
            }
            TokenFault::Repeated { line } => write!(f, "line {line}: an earlier line has the same token"),
            TokenFault::TooMany => write!(f, "more than {MAX_TOKENS} tokens"),
            TokenFault::None => write!(f, "no token: write lines `read TOKEN` or `write TOKEN`; {MAKE}"),
        }
    }
}

impl Tokens {
    /// Reads the text of a file: lines `read TOKEN` and `write TOKEN`. Empty lines and lines that begin with `#` are ignored.
    pub fn parse(text: &str) -> Result<Self, TokenFault> {
        let mut tokens: Vec<(Role, [u8; 32])> = Vec::new();
        for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text.trim())) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let mut words = text.split_ascii_whitespace();
            let role = match words.next() {
                Some("read") => Role::Read,
                Some("write") => Role::Write,
                _ => return Err(TokenFault::Form { line }),
            };
            let (Some(token), None) = (words.next(), words.next()) else { return Err(TokenFault::Form { line }) };
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

    /// Checks that the token of a request permits its method.
    pub fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let authorization = match (given.next(), given.next()) {
            (None, _) => return Err(challenge(None, "no bearer token: send `Authorization: Bearer TOKEN`")),
            (Some(authorization), None) => authorization.as_bytes(),
            // RFC 6750 3.1
            (Some(_), Some(_)) => {
                let challenge = "Bearer realm=\"ferric\", error=\"invalid_request\"";
                return Err(Problem::bad_request("more than one Authorization header").with_challenge(challenge));
            }
        };
        // the scheme is case-insensitive (RFC 9110 11.1)
        let token = match authorization.split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
            _ => return Err(challenge(None, "the Authorization header is not `Bearer TOKEN`")),
        };
        match self.role(token) {
            Some(Role::Write) => Ok(()),
            Some(Role::Read) if matches!(*method, Method::GET | Method::HEAD) => Ok(()),
            Some(Role::Read) => {
                let challenge = "Bearer realm=\"ferric\", error=\"insufficient_scope\", scope=\"write\"";
                let detail = "this token permits reading only; use one that permits writing";
                Err(Problem::new(StatusCode::FORBIDDEN, detail).with_challenge(challenge))
            }
            None => Err(challenge(Some(()), "unknown bearer token; see the server's token file")),
        }
    }

    /// Returns the permission of a token. The time that this takes depends on nothing but the number of tokens.
    fn role(&self, token: &[u8]) -> Option<Role> {
        let hash = hash(token);
        let of_role = |wanted: Role| {
            let mut known = Choice::from(0);
            for (role, other) in &self.0 {
                known |= hash.ct_eq(other) & Choice::from(u8::from(*role == wanted));
            }
            bool::from(known)
        };
        match (of_role(Role::Write), of_role(Role::Read)) {
            (true, _) => Some(Role::Write),
            (false, true) => Some(Role::Read),
            (false, false) => None,
        }
    }
}

fn hash(token: &[u8]) -> [u8; 32] {
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
pub(super) fn is_readable_by_all(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o004 != 0)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const READ: &str = "read-read-read-read";
    const WRITE: &str = "d3JpdGUgd3JpdGUgd3JpdGU=";

    fn tokens() -> Tokens {
        Tokens::parse(&format!("# for reading\nread {READ}\n\n  write\t{WRITE}  \r\n")).unwrap()
    }

    fn status(method: Method, authorization: &[&[u8]]) -> u16 {
        let headers = authorization.iter().map(|value| (AUTHORIZATION, HeaderValue::from_bytes(value).unwrap()));
        let checked = tokens().check(&method, &headers.collect());
        checked.map_or_else(|problem| problem.status().as_u16(), |()| 200)
    }

    #[test]
    fn read_token_permits_reading_only() {
        let (read, write) = (format!("Bearer {READ}"), format!("bearer   {WRITE}"));
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(status(method.clone(), &[read.as_bytes()]), 200);
            assert_eq!(status(method, &[write.as_bytes()]), 200);
        }
        for method in [Method::PUT, Method::POST, Method::DELETE, Method::PATCH, Method::OPTIONS] {
            assert_eq!(status(method.clone(), &[read.as_bytes()]), 403);
            assert_eq!(status(method, &[write.as_bytes()]), 200);
        }
    }

    #[test]
    fn unknown_and_malformed_tokens_are_refused() {
        assert_eq!(status(Method::GET, &[]), 401);
        let basic = format!("Basic {WRITE}");
        let longer = format!("Bearer {WRITE}=");
        let shorter = format!("Bearer {}", &WRITE[1..]);
        let line = format!("Bearer write {WRITE}");
        for wrong in [&b""[..], b"Bearer", b"Bearer ", b"\xff\xff\xff\xff\xff\xff\xff\xff", READ.as_bytes()]
            .into_iter()
            .chain([&basic, &longer, &shorter, &line].map(|text| text.as_bytes()))
        {
            assert_eq!(status(Method::GET, &[wrong]), 401, "{}", String::from_utf8_lossy(wrong));
        }
        let write = format!("Bearer {WRITE}");
        assert_eq!(status(Method::GET, &[write.as_bytes(), write.as_bytes()]), 400);
    }

    #[test]
    fn fault_names_the_line_and_no_token() {
        use TokenFault as Fault;
        let long = format!("read {}", "x".repeat(1025));
        let twice = format!("read {READ}\nwrite {READ}");
        let many: String = (0..257).map(|at| format!("read 0123456789abcdef{at}\n")).collect();
        for (text, fault) in [
            ("", Fault::None),
            ("# nothing\n\n", Fault::None),
            (READ, Fault::Form { line: 1 }),
            ("\nadmin 0123456789abcdef", Fault::Form { line: 2 }),
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
        assert_eq!(format!("{:?}", tokens()), "Tokens(2)");
    }
}
