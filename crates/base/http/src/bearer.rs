//! Bearer tokens that a service verifies itself, such as those of OAuth 2.0: whom they stand for, and how an operation declares that
//! it takes them.

use std::fmt;
use std::sync::Arc;

use hyper::StatusCode;

use super::Problem;
use super::tokens::Role;

/// Whom a verified token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name of the client, or of the tenant that it belongs to. Handlers read it with [`Request::subject`](crate::Request::subject).
    pub name: Arc<str>,
    /// What it may do, at operations that take verified tokens.
    pub role: Role,
}

/// Why a token is refused. The texts are for the client: they contain no part of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BearerFault {
    /// It is malformed, expired, revoked, or of another issuer: 401 (RFC 6750 3.1, `invalid_token`).
    Invalid(String),
    /// It does not have the scope that the service requires, which is named: 403 (`insufficient_scope`).
    Scope(&'static str),
    /// It cannot be verified now: 503 with `Retry-After`.
    Unavailable(String),
}

/// Verifies bearer tokens on the server's thread: [`Access::with_verifier`](crate::Access::with_verifier).
pub trait BearerVerifier: Send + Sync {
    /// Returns whom a token stands for. It must not block. The token of a stream is verified again with each of its pings.
    ///
    /// # Errors
    /// The reason why it is refused.
    fn verify(&self, token: &[u8]) -> Result<Subject, BearerFault>;
}

impl fmt::Debug for dyn BearerVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerVerifier")
    }
}

/// The OAuth 2.0 client credentials (RFC 6749 4.4) with which an operation is used: for its OpenAPI description. Only operations that
/// declare them take verified tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuth2 {
    /// Where tokens are issued: a URL, or a path of the server.
    pub token_url: String,
    /// The scope of tokens.
    pub scope: &'static str,
    /// What the scope allows.
    pub about: &'static str,
}

impl From<BearerFault> for Problem {
    fn from(fault: BearerFault) -> Self {
        match fault {
            BearerFault::Invalid(why) => {
                let challenge = "Bearer realm=\"ferric\", error=\"invalid_token\"";
                Problem::new(StatusCode::UNAUTHORIZED, why).with_challenge(challenge)
            }
            BearerFault::Scope(scope) => {
                let challenge = "Bearer realm=\"ferric\", error=\"insufficient_scope\"";
                let detail = format!("this token does not have the scope `{scope}`");
                Problem::new(StatusCode::FORBIDDEN, detail).with("scope", scope).with_challenge(challenge)
            }
            BearerFault::Unavailable(why) => Problem::unavailable(why),
        }
    }
}
