//! The embedded issuer of access tokens: the token endpoint (RFC 6749 3.2) for the client credentials grant (4.4), and the key set.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use rest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE};
use rest::{Operation, Problem, RateLimit, Request, Response, Route, StatusCode};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;
use tracing::{info, warn};

use super::form::{self, Form};
use super::keys::Key;
use super::{SCOPE, TOKEN_PATH};
use crate::tenants::{Tenants, now_s};

/// Where the public key is.
const KEYS_PATH: &str = "/oauth2/jwks";
/// Requests of a host for tokens, per second: secrets are not guessed at a higher rate.
const MAX_HOST_RATE: u32 = 20;
/// Tokens of a client, per second.
const MAX_CLIENT_RATE: u32 = 10;
/// The longest body.
const MAX_BODY_OCTETS: usize = 8 * 1024;
/// The largest key file.
const MAX_KEY_OCTETS: u64 = 64 * 1024;

/// Settings of the embedded issuer.
#[derive(Clone, Debug)]
pub struct IssuerConfig {
    /// Its name, in `iss`.
    pub name: String,
    /// Whom its tokens are for, in `aud`.
    pub audience: String,
    /// How long a token is valid, in seconds.
    pub lifetime_s: u64,
    /// The file of its private key: PKCS #8 in PEM, of P-256. It is created if it does not exist. Without it the key, and with it all
    /// tokens, end with the process.
    pub key: Option<PathBuf>,
}

/// Why the issuer cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum IssuerError {
    /// The file of the key cannot be read or written.
    File(PathBuf, io::Error),
    /// The file is no private key of P-256.
    Key(PathBuf),
    /// The system has no random numbers.
    Random,
}

impl fmt::Display for IssuerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IssuerError::File(path, error) => write!(f, "key of tokens {}: {error}", path.display()),
            IssuerError::Key(path) => write!(
                f,
                "key of tokens {}: it is no private key of P-256 in PKCS #8 and PEM; remove it, and a new one is created",
                path.display()
            ),
            IssuerError::Random => f.write_str("key of tokens: the system has no random numbers"),
        }
    }
}

impl std::error::Error for IssuerError {}

/// The embedded issuer.
pub struct Issuer {
    config: IssuerConfig,
    tenants: Arc<Tenants>,
    key: EcdsaKeyPair,
    public: Key,
    random: SystemRandom,
    hosts: Mutex<RateLimit<IpAddr>>,
    clients: Mutex<RateLimit<String>>,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("config", &self.config).finish_non_exhaustive()
    }
}

/// An error of the token endpoint (RFC 6749 5.2).
struct Refusal {
    status: StatusCode,
    error: &'static str,
    description: &'static str,
}

impl Refusal {
    const fn new(error: &'static str, description: &'static str) -> Self {
        Refusal { status: StatusCode::BAD_REQUEST, error, description }
    }
}

const WRONG_CLIENT: Refusal = Refusal {
    status: StatusCode::UNAUTHORIZED,
    error: "invalid_client",
    description: "the client is unknown, or its secret is wrong",
};

impl Issuer {
    /// An issuer for the clients of tenants.
    ///
    /// # Errors
    /// If its key can neither be read nor created.
    pub fn new(config: IssuerConfig, tenants: Arc<Tenants>) -> Result<Self, IssuerError> {
        let random = SystemRandom::new();
        let key = match &config.key {
            Some(path) => load(path, &random)?,
            None => generate(&random)?.1,
        };
        let public = Key::p256(key.public_key().as_ref());
        let (hosts, clients) = (RateLimit::new(MAX_HOST_RATE), RateLimit::new(MAX_CLIENT_RATE));
        Ok(Issuer { config, tenants, key, public, random, hosts: Mutex::new(hosts), clients: Mutex::new(clients) })
    }

    /// Its public key.
    pub(super) fn public_key(&self) -> &Key {
        &self.public
    }

    pub(super) fn config(&self) -> &IssuerConfig {
        &self.config
    }

    /// The routes of token endpoint and key set. Both are used without a token.
    #[must_use]
    pub fn routes(self: &Arc<Self>) -> Vec<Route> {
        let tokens = Operation::post(TOKEN_PATH, "", "").public().undocumented();
        let tokens = Route::new(tokens, {
            let issuer = Arc::clone(self);
            move |request| Ok(issuer.answer(request))
        });
        let document = self.public.document();
        let keys = Operation::get(KEYS_PATH, "", "").public().undocumented();
        vec![tokens, Route::new(keys, move |_| Ok(Response::ok(document.clone()).tagged()))]
    }

    fn answer(&self, request: &Request) -> Response {
        let too_many = || {
            let detail = "too many requests for tokens; a token is valid for many requests";
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail);
            Response::from(problem).with_header(RETRY_AFTER, HeaderValue::from_static("1"))
        };
        if !take(&self.hosts, request.peer()) {
            return too_many();
        }
        let client = match self.authenticate(request) {
            Ok(client) => client,
            Err(Refusal { status, error, description }) => {
                let refusal = Response::json(status, json!({ "error": error, "error_description": description }));
                return match status {
                    StatusCode::UNAUTHORIZED => {
                        refusal.with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"ferric\""))
                    }
                    _ => refusal,
                };
            }
        };
        if !take(&self.clients, client.clone()) {
            return too_many();
        }
        let Some(token) = self.issue(&client) else {
            return Problem::unavailable("no token can be signed now").into();
        };
        let answer = json!({
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": self.config.lifetime_s,
            "scope": SCOPE,
        });
        Response::ok(answer).with_header(PRAGMA, HeaderValue::from_static("no-cache"))
    }

    /// Returns the client of a request for a token, if it may have one.
    fn authenticate(&self, request: &Request) -> Result<String, Refusal> {
        let media_type = request.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Refusal::new("invalid_request", "the content type is not application/x-www-form-urlencoded"));
        }
        if request.body.len() > MAX_BODY_OCTETS {
            return Err(Refusal::new("invalid_request", "the body is too long"));
        }
        let form = Form::read(&request.body)
            .ok_or(Refusal::new("invalid_request", "the body is no form, or has a parameter twice"))?;
        match form.get("grant_type") {
            Some("client_credentials") => {}
            Some(_) => return Err(Refusal::new("unsupported_grant_type", "grant_type is not client_credentials")),
            None => return Err(Refusal::new("invalid_request", "grant_type is missing")),
        }
        if form.get("client_assertion").is_some() || form.get("client_assertion_type").is_some() {
            return Err(Refusal { description: "client assertions are not supported", ..WRONG_CLIENT });
        }
        let table = self.tenants.table();
        let basic = basic(request)?;
        let client = match (basic, form.get("client_id"), form.get("client_secret")) {
            (Some(_), _, Some(_)) => {
                return Err(Refusal::new("invalid_request", "the client has authenticated itself in two ways"));
            }
            (Some((id, secret)), other, None) => {
                // RFC 6749 2.3.1 encodes both before they are joined; many clients do not
                let decoded = (form::decode(&id), form::decode(&secret));
                if table.authenticates(&id, secret.as_bytes()) {
                    Some(id)
                } else if let (Some(id), Some(secret)) = decoded {
                    table.authenticates(&id, secret.as_bytes()).then_some(id)
                } else {
                    None
                }
                .filter(|id| other.is_none_or(|other| other == id))
            }
            (None, Some(id), Some(secret)) => table.authenticates(id, secret.as_bytes()).then(|| id.to_owned()),
            (None, _, _) => {
                return Err(Refusal { description: "the client does not authenticate itself", ..WRONG_CLIENT });
            }
        };
        let client = client.ok_or(WRONG_CLIENT)?;
        if form.get("scope").is_some_and(|scopes| scopes.split(' ').any(|scope| scope != SCOPE)) {
            return Err(Refusal::new("invalid_scope", "the only scope is `all`"));
        }
        Ok(client)
    }

    /// Issues a token for a client (RFC 9068).
    fn issue(&self, client: &str) -> Option<String> {
        let IssuerConfig { name, audience, lifetime_s, .. } = &self.config;
        let mut id = [0; 16];
        self.random.fill(&mut id).ok()?;
        // a client that was changed in this second has tokens from the next one on
        let issued_s = self.tenants.table().client(client)?.1.max(now_s());
        let header = json!({ "typ": "at+jwt", "alg": "ES256", "kid": self.public.id });
        let claims = json!({
            "iss": name,
            "sub": client,
            "client_id": client,
            "aud": audience,
            "iat": issued_s,
            "exp": issued_s + lifetime_s,
            "jti": BASE64URL_NOPAD.encode(&id),
            "scope": SCOPE,
        });
        let [header, claims] = [header, claims].map(|part| BASE64URL_NOPAD.encode(part.to_string().as_bytes()));
        let message = format!("{header}.{claims}");
        let signature = self.key.sign(&self.random, message.as_bytes()).ok()?;
        Some(format!("{message}.{}", BASE64URL_NOPAD.encode(signature.as_ref())))
    }
}

/// Counts a request. Returns whether the rate allows it.
fn take<K: Eq + std::hash::Hash>(rate: &Mutex<RateLimit<K>>, key: K) -> bool {
    let mut rate = rate.lock().unwrap_or_else(PoisonError::into_inner);
    rate.take(key, std::time::Instant::now()).is_ok()
}

/// Returns the id and the secret of the header `Authorization: Basic` (RFC 7617), if it is there.
fn basic(request: &Request) -> Result<Option<(String, String)>, Refusal> {
    let mut given = request.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), other) = (given.next(), given.next()) else { return Ok(None) };
    let read = || {
        let (scheme, rest) = value.as_bytes().split_at_checked(6).filter(|_| other.is_none())?;
        let encoded = Some(rest).filter(|_| scheme.eq_ignore_ascii_case(b"basic "))?;
        let text = String::from_utf8(BASE64.decode(encoded.trim_ascii()).ok()?).ok()?;
        text.split_once(':').map(|(id, secret)| (id.to_owned(), secret.to_owned()))
    };
    let malformed = Refusal { description: "the Authorization header is not `Basic ID:SECRET`", ..WRONG_CLIENT };
    read().map(Some).ok_or(malformed)
}

/// Creates a key. Returns it also as PKCS #8.
fn generate(random: &SystemRandom) -> Result<(Vec<u8>, EcdsaKeyPair), IssuerError> {
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random);
    let pkcs8 = pkcs8.map_err(|_| IssuerError::Random)?.as_ref().to_vec();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, random);
    Ok((pkcs8, key.map_err(|_| IssuerError::Random)?))
}

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// Reads the key of a file; creates the file if it does not exist.
fn load(path: &Path, random: &SystemRandom) -> Result<EcdsaKeyPair, IssuerError> {
    let failed = |error| IssuerError::File(path.to_owned(), error);
    let text = match settings::read(path, MAX_KEY_OCTETS) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (pkcs8, key) = generate(random)?;
            let mut file =
                std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
            let encoded = BASE64.encode(&pkcs8);
            let lines: Vec<&str> =
                encoded.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
            writeln!(file, "{BEGIN}\n{}\n{END}", lines.join("\n")).map_err(failed)?;
            info!(path = %path.display(), "a key for tokens was created");
            return Ok(key);
        }
        Err(error) => return Err(failed(error)),
    };
    if rest::is_readable_by_all(path) {
        warn!(path = %path.display(), "every user of this host can read the key of tokens; do: chmod o= on that file");
    }
    let body = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(body, _)| body);
    let digits: Option<String> = body.map(|body| body.split_whitespace().collect());
    let pkcs8 = digits.and_then(|digits| BASE64.decode(digits.as_bytes()).ok());
    let key = pkcs8.and_then(|it| EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &it, random).ok());
    key.ok_or_else(|| IssuerError::Key(path.to_owned()))
}
