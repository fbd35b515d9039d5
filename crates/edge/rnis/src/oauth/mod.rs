//! OAuth 2.0 for the clients of tenants: client credentials (RFC 6749 4.4), and bearer tokens (RFC 6750) that are signed JSON Web
//! Tokens (RFC 9068).
//!
//! Tokens are issued here ([`Issuer`]), or by an issuer outside whose keys are known ([`ExternalKeys`]). A token is valid for many
//! requests until it expires, as bearer tokens are; it is refused as soon as its client or the client's tenant is removed, and one of
//! the embedded issuer also when the secret of its client changes.

mod external;
mod form;
mod issuer;
mod jwt;
mod keys;

use std::sync::Arc;

pub use external::{ExternalKeys, KeysError};
pub use issuer::{Issuer, IssuerConfig, IssuerError};
use rest::{BearerFault, BearerVerifier, OAuth2, Role, Subject};

use crate::tenants::{Tenants, now_s};
use external::NoKey;
use jwt::{Expected, Unverified};

/// The scope of tokens: MEC 012 v1.1.1 has one for the whole interface.
pub const SCOPE: &str = "all";
/// Where the embedded issuer issues tokens.
pub const TOKEN_PATH: &str = "/oauth2/token";

/// How clients get tokens at a URL, or at a path of the server: for the OpenAPI documents.
#[must_use]
pub fn description(token_url: &str) -> OAuth2 {
    OAuth2 { token_url: token_url.to_owned(), scope: SCOPE, about: "All resources, within the rights of the tenant." }
}

/// Who issues tokens.
#[derive(Clone, Debug)]
pub enum TokenSource {
    /// The service itself.
    Embedded(Arc<Issuer>),
    /// An issuer outside.
    External {
        /// Its keys.
        keys: Arc<ExternalKeys>,
        /// Its name, in `iss`.
        issuer: String,
        /// Whom its tokens must be for, in `aud`.
        audience: String,
    },
}

/// Verifies the tokens of tenants' clients.
#[derive(Debug)]
pub struct TokenVerifier {
    tenants: Arc<Tenants>,
    source: TokenSource,
}

impl TokenVerifier {
    /// A verifier for the clients of tenants.
    #[must_use]
    pub fn new(tenants: Arc<Tenants>, source: TokenSource) -> Self {
        TokenVerifier { tenants, source }
    }
}

impl BearerVerifier for TokenVerifier {
    fn verify(&self, token: &[u8]) -> Result<Subject, BearerFault> {
        let token = Unverified::read(token).map_err(BearerFault::Invalid)?;
        let (issuer, audience) = match &self.source {
            TokenSource::Embedded(own) => (&own.config().name, &own.config().audience),
            TokenSource::External { issuer, audience, .. } => (issuer, audience),
        };
        let expected = Expected { issuer, audience, now_s: now_s() };
        let claims = match &self.source {
            TokenSource::Embedded(own) => token.verify(own.public_key(), expected),
            TokenSource::External { keys, .. } => match keys.find(token.key_id.as_deref(), token.algorithm) {
                Ok(key) => token.verify(&key, expected),
                Err(NoKey::Unknown) => Err("the token is signed with a key that its issuer does not have".to_owned()),
                Err(NoKey::Pending) => {
                    let reason = "the keys of the issuer are being read; try again in a second";
                    return Err(BearerFault::Unavailable(reason.to_owned()));
                }
            },
        };
        let claims = claims.map_err(BearerFault::Invalid)?;
        let removed = || BearerFault::Invalid("the token is of a client that is not known here any more".to_owned());
        let table = self.tenants.table();
        let (tenant, since_s) = claims.client().and_then(|client| table.client(client)).ok_or_else(removed)?;
        if matches!(self.source, TokenSource::Embedded(_)) && !claims.is_issued_since(since_s) {
            let reason = "the token was issued before its client was changed; request another one";
            return Err(BearerFault::Invalid(reason.to_owned()));
        }
        if !claims.has_scope(SCOPE) {
            return Err(BearerFault::Scope(SCOPE));
        }
        // its subscriptions are what reading takes: what changes the service itself is not for tenants
        Ok(Subject { name: Arc::clone(&tenant.name), role: Role::Read })
    }
}
