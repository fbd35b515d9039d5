//! Who may use the REST interface, and where callbacks may go.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use rest::{Access, AccessFiles, OAuth2, Route, TlsFiles};
use rnis::oauth::{self, ExternalKeys, Issuer, IssuerConfig, TokenSource, TokenVerifier};
use rnis::{AllowList, AllowRule, CallbackPolicy, Tenants};

/// The issuer's name, and the audience, of tokens that the service issues.
const ISSUER: &str = "ferric-rnis";
const AUDIENCE: &str = "rni";

/// Access to REST, and callbacks: see docs/rnis-tenants.md.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub struct AccessArgs {
    /// PEM file of the server certificate: enables HTTPS and disables HTTP
    #[arg(long, value_name = "FILE", requires = "rest_key")]
    rest_cert: Option<PathBuf>,
    /// PEM file of the certificate's private key
    #[arg(long, value_name = "FILE", requires = "rest_cert")]
    rest_key: Option<PathBuf>,
    /// PEM file of CAs: requires a client certificate signed by one of them
    #[arg(long, value_name = "FILE", requires = "rest_cert")]
    rest_client_ca: Option<PathBuf>,
    /// File of the operator's bearer tokens, one per line, `read TOKEN`, `control TOKEN` or `admin TOKEN`: requires a token
    #[arg(long, value_name = "FILE")]
    rest_tokens: Option<PathBuf>,
    /// File of tenants: requires a token of one of their clients; it is read again when it changes
    #[arg(long, value_name = "FILE")]
    tenants: Option<PathBuf>,
    /// File of the private key of tokens, in PEM; it is created if it does not exist [default: a key that ends with the process]
    #[arg(long, value_name = "FILE", requires = "tenants", conflicts_with = "issuer_keys")]
    token_key: Option<PathBuf>,
    /// How long a token is valid, in seconds
    #[arg(long, value_name = "SECONDS", requires = "tenants", conflicts_with = "issuer_keys", default_value_t = 600,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    token_lifetime_s: u64,
    /// Whom tokens are for (`aud`)
    #[arg(long, value_name = "NAME", requires = "tenants", default_value = AUDIENCE)]
    audience: String,
    /// Take the tokens of another issuer: its name, as in their claim `iss`
    #[arg(long, value_name = "NAME", requires_all = ["tenants", "issuer_keys", "issuer_token_endpoint"])]
    issuer: Option<String>,
    /// The keys of that issuer: a JSON Web Key Set in a file, or at a URL
    #[arg(long, value_name = "FILE|URL", requires = "issuer")]
    issuer_keys: Option<String>,
    /// The CA of an https:// URL of its keys, in PEM
    #[arg(long, value_name = "FILE", requires = "issuer_keys")]
    issuer_ca: Option<PathBuf>,
    /// Where that issuer issues tokens, for the clients that discover the service
    #[arg(long, value_name = "URL", requires = "issuer")]
    issuer_token_endpoint: Option<String>,
    /// Servers that callbacks may be sent to, separated by commas: `public`, an address, a network such as 10.0.0.0/8, a host name, or
    /// *.DOMAIN; each may end with :PORT or :FIRST-LAST [default: public, and this host if --rest is an address of this host]
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    callback_allow: Vec<AllowRule>,
}

/// The tenants, and what issues and verifies their tokens.
struct Tenancy {
    tenants: Arc<Tenants>,
    source: TokenSource,
    /// Where tokens are issued, if that is not at this server.
    token_endpoint: Option<String>,
}

/// What the arguments ask for.
pub struct RestAccess {
    access: Access,
    tenancy: Option<Tenancy>,
}

impl AccessArgs {
    /// The servers that callbacks may be sent to, of a service at an address.
    pub fn callbacks(&self, rest: SocketAddr) -> CallbackPolicy {
        let list = match (&*self.callback_allow, rest.ip().is_loopback()) {
            ([], true) => AllowList::public_and_loopback(),
            ([], false) => AllowList::public(),
            (rules, _) => AllowList::new(rules.to_vec()),
        };
        CallbackPolicy::new(list)
    }

    /// Reads the files.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn load(&self) -> anyhow::Result<RestAccess> {
        let client_ca = self.rest_client_ca.clone();
        let tls = self.rest_cert.clone().zip(self.rest_key.clone());
        let tls = tls.map(|(certificate, key)| TlsFiles { certificate, key, client_ca });
        let access = Access::load(AccessFiles { tls, tokens: self.rest_tokens.clone() })?;
        let tenancy = self.tenants.as_ref().map(|path| self.tenancy(path)).transpose()?;
        Ok(RestAccess { access, tenancy })
    }

    fn tenancy(&self, path: &std::path::Path) -> anyhow::Result<Tenancy> {
        let tenants = Arc::new(Tenants::open(path).context("--tenants")?);
        let audience = self.audience.clone();
        let source = match (&self.issuer, &self.issuer_keys) {
            (Some(issuer), Some(keys)) => {
                let keys = ExternalKeys::start(keys, self.issuer_ca.as_deref()).context("--issuer-keys")?;
                TokenSource::External { keys: Arc::new(keys), issuer: issuer.clone(), audience }
            }
            _ => {
                let (name, key) = (ISSUER.to_owned(), self.token_key.clone());
                let config = IssuerConfig { name, audience, lifetime_s: self.token_lifetime_s, key };
                TokenSource::Embedded(Arc::new(Issuer::new(config, Arc::clone(&tenants)).context("--token-key")?))
            }
        };
        Ok(Tenancy { tenants, source, token_endpoint: self.issuer_token_endpoint.clone() })
    }
}

impl RestAccess {
    /// Whether the interface is served over HTTPS.
    pub fn is_secured(&self) -> bool {
        self.access.is_secured()
    }

    /// The tenants, if there are any.
    pub fn tenants(&self) -> Option<&Arc<Tenants>> {
        self.tenancy.as_ref().map(|tenancy| &tenancy.tenants)
    }

    /// How clients of tenants get tokens, for the OpenAPI documents.
    pub fn oauth2(&self) -> Option<OAuth2> {
        let endpoint =
            |tenancy: &Tenancy| tenancy.token_endpoint.clone().unwrap_or_else(|| oauth::TOKEN_PATH.to_owned());
        self.tenancy.as_ref().map(|tenancy| oauth::description(&endpoint(tenancy)))
    }

    /// Where clients of tenants get tokens, if the service is at a URL.
    pub fn token_endpoint(&self, url: &str) -> Option<String> {
        let of_service = || format!("{url}{}", oauth::TOKEN_PATH);
        self.tenancy.as_ref().map(|tenancy| tenancy.token_endpoint.clone().unwrap_or_else(of_service))
    }

    /// The routes of the embedded issuer.
    pub fn routes(&self) -> Vec<Route> {
        match self.tenancy.as_ref().map(|tenancy| &tenancy.source) {
            Some(TokenSource::Embedded(issuer)) => issuer.routes(),
            _ => Vec::new(),
        }
    }

    /// Who may send requests.
    pub fn access(&self) -> Access {
        let access = self.access.clone();
        match &self.tenancy {
            Some(Tenancy { tenants, source, .. }) => {
                access.with_verifier(Arc::new(TokenVerifier::new(Arc::clone(tenants), source.clone())))
            }
            None => access,
        }
    }
}
