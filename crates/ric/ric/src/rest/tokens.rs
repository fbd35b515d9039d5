//! Bearer tokens (RFC 6750), and what each allows.

use std::fmt;
use std::path::Path;

use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::{Method, StatusCode};
use ring::digest::{SHA256, digest};
use subtle::{Choice, ConstantTimeEq};

use super::Problem;

/// Tokens in a file; with more it is refused.
const MAX_TOKENS: usize = 256;
/// Shorter ones can be guessed.
const MIN_TOKEN_OCTETS: usize = 16;
/// Longer ones do not fit into a request's head.
const MAX_TOKEN_OCTETS: usize = 1024;

/// What who has a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// GET and HEAD.
    Read,
    /// Everything.
    Write,
}

/// The tokens of a file: a line each, `read` or `write` before it. Only their hashes are kept.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Tokens(Vec<(Role, [u8; 32])>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}

/// Why a file of tokens cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// A line is not `read TOKEN` or `write TOKEN`.
    Form {
        /// The line, from 1 on.
        line: usize,
    },
    /// A token has other characters than RFC 6750 allows.
    Characters {
        /// The line, from 1 on.
        line: usize,
    },
    /// A token is too short or too long.
    Length {
        /// The line, from 1 on.
        line: usize,
    },
    /// A token that another line has too.
    Repeated {
        /// The line, from 1 on.
        line: usize,
    },
    /// There are too many.
    TooMany,
    /// There is none.
    None,
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAKE: &str = "`openssl rand -hex 32` makes one";
        // the line itself may be a secret
        match self {
            TokenFault::Form { line } => write!(f, "line {line}: not `read TOKEN` or `write TOKEN`"),
            TokenFault::Characters { line } => {
                write!(f, "line {line}: a token has letters, digits, `-._~+/` and then `=` only; {MAKE}")
            }
            TokenFault::Length { line } => {
                write!(f, "line {line}: a token has {MIN_TOKEN_OCTETS} to {MAX_TOKEN_OCTETS} characters; {MAKE}")
            }
            TokenFault::Repeated { line } => write!(f, "line {line}: an earlier line has this token too"),
            TokenFault::TooMany => write!(f, "more than {MAX_TOKENS} tokens"),
            TokenFault::None => write!(f, "no token: write lines `read TOKEN` or `write TOKEN`; {MAKE}"),
        }
    }
}

impl Tokens {
    /// Reads a file's text. Empty lines and those that begin with `#` say nothing.
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

    /// Whether a request may be made, by the token that it shows.
    pub fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let told = match (given.next(), given.next()) {
            (None, _) => return Err(challenge(None, "no bearer token: send `Authorization: Bearer TOKEN`")),
            (Some(told), None) => told.as_bytes(),
            // RFC 6750 3.1
            (Some(_), Some(_)) => {
                let challenge = "Bearer realm=\"ferric\", error=\"invalid_request\"";
                return Err(Problem::bad_request("more than one Authorization header").challenging(challenge));
            }
        };
        // the scheme's name has no case (RFC 9110 11.1)
        let token = match told.split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
            _ => return Err(challenge(None, "the Authorization header is not `Bearer TOKEN`")),
        };
        match self.role(token) {
            Some(Role::Write) => Ok(()),
            Some(Role::Read) if matches!(*method, Method::GET | Method::HEAD) => Ok(()),
            Some(Role::Read) => {
                let challenge = "Bearer realm=\"ferric\", error=\"insufficient_scope\", scope=\"write\"";
                let detail = "this token may only read; changes take one that may write";
                Err(Problem::new(StatusCode::FORBIDDEN, detail).challenging(challenge))
            }
            None => Err(challenge(Some(()), "the bearer token is unknown; see the RIC's file of tokens")),
        }
    }

    /// What a token allows. How long it takes tells nothing of those that there are, but how many.
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
    hash.copy_from_slice(digest(&SHA256, token).as_ref()); // so long is SHA-256
    hash
}

/// `b64token` (RFC 6750 2.1).
pub fn is_token(text: &str) -> bool {
    let characters = text.trim_end_matches('=');
    let is_allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~+/".contains(&octet);
    !characters.is_empty() && characters.bytes().all(is_allowed)
}

/// 401. Where a token was shown, it is said to be wrong (RFC 6750 3.1).
fn challenge(shown: Option<()>, detail: &str) -> Problem {
    let challenge = match shown {
        None => "Bearer realm=\"ferric\"",
        Some(()) => "Bearer realm=\"ferric\", error=\"invalid_token\"",
    };
    Problem::new(StatusCode::UNAUTHORIZED, detail).challenging(challenge)
}

/// Whether others than its owner's group may read a file.
pub(super) fn is_open_to_all(path: &Path) -> bool {
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
        Tokens::parse(&format!("# who looks\nread {READ}\n\n  write\t{WRITE}  \r\n")).unwrap()
    }

    fn status(method: Method, authorization: &[&[u8]]) -> u16 {
        let headers = authorization.iter().map(|value| (AUTHORIZATION, HeaderValue::from_bytes(value).unwrap()));
        let checked = tokens().check(&method, &headers.collect());
        checked.map_or_else(|problem| problem.status.as_u16(), |()| 200)
    }

    #[test]
    fn roles() {
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
    fn what_is_no_token_of_ours() {
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
    fn a_file_that_cannot_be_used_says_where() {
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
