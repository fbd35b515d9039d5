//! A service with tenants, and tokens of every kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use rest::{Access, AccessFiles, Operation, Response, Route};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use rnis::api::ApiConfig;
use rnis::oauth::{self, Issuer, IssuerConfig, TokenSource, TokenVerifier};
use rnis::{CallbackPolicy, Delivery, DeliveryConfig, Embedded, Service, Tenants};
use serde_json::{Value, json};
use testkit::http::Response as Received;

use crate::support::TestService;

pub const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// The operator's token.
pub const OPERATOR: &str = "operator-operator-operator";

/// A folder of a test, which is removed at its end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ferric-rnis-tenants-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        // another file each time, as editors write it
        let new = self.path("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, &path).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A tenant of a file, with the client `NAME-1` and further lines.
pub fn tenant(name: &str, lines: &str) -> String {
    format!("[[tenant]]\nname = \"{name}\"\n{lines}\n[[tenant.client]]\nid = \"{name}-1\"\nsecret = \"{SECRET}\"\n")
}

/// A service with tenants.
pub struct Tenancy {
    pub rnis: TestService,
    pub folder: Folder,
}

impl Tenancy {
    /// With the embedded issuer, whose key is in the folder.
    pub fn start(file: &str) -> Self {
        Tenancy::with(file, CallbackPolicy::default(), |folder, tenants| {
            let config = IssuerConfig {
                name: "ferric-rnis".into(),
                audience: "rni".into(),
                lifetime_s: 600,
                key: Some(folder.path("key.pem")),
            };
            TokenSource::Embedded(Arc::new(Issuer::new(config, Arc::clone(tenants)).unwrap()))
        })
    }

    pub fn with(
        file: &str,
        callbacks: CallbackPolicy,
        source: impl FnOnce(&Folder, &Arc<Tenants>) -> TokenSource,
    ) -> Self {
        let folder = Folder::new();
        let tenants = Arc::new(Tenants::open(&folder.write("tenants.toml", file)).unwrap());
        let source = source(&folder, &tenants);
        let delivery = Delivery::start(DeliveryConfig { callbacks, ..DeliveryConfig::default() }).unwrap();
        let service = Service::new(delivery, |sink| Ok::<_, ()>(Box::new(Embedded::new(sink)) as _)).unwrap();
        let service = service.with_tenants(Arc::clone(&tenants));
        let api = ApiConfig { oauth2: Some(oauth::description(oauth::TOKEN_PATH)), ..ApiConfig::default() };
        // what is not for tenants
        let other = Operation::get("/operator", "", "").undocumented();
        let mut further = vec![Route::new(other, |_| Ok(Response::ok(json!({}))))];
        if let TokenSource::Embedded(issuer) = &source {
            further.extend(issuer.routes());
        }
        let tokens = Some(folder.write("tokens", &format!("admin {OPERATOR}\n")));
        let access = Access::load(AccessFiles { tls: None, tokens }).unwrap();
        let access = access.with_verifier(Arc::new(TokenVerifier::new(tenants, source)));
        let rnis = TestService::serve(service, &api, further, |config| config.access = access);
        Tenancy { rnis, folder }
    }

    /// Writes the file of tenants again, and waits until it is in force.
    pub fn change(&self, file: &str, is_in_force: impl Fn() -> bool) {
        self.folder.write("tenants.toml", file);
        testkit::eventually("the file is in force", || {
            self.rnis.service.expire();
            is_in_force()
        });
    }

    /// Requests a token.
    pub fn request_token(&self, fields: &str, form: &str) -> Received {
        let fields = format!("content-type: application/x-www-form-urlencoded\r\n{fields}");
        self.rnis.request_with("POST", "/oauth2/token", &fields, Some(form))
    }

    /// A token of the first client of a tenant.
    #[track_caller]
    pub fn token(&self, tenant: &str) -> String {
        let basic = BASE64.encode(format!("{tenant}-1:{SECRET}").as_bytes());
        let basic = format!("authorization: Basic {basic}\r\n");
        let answer = self.request_token(&basic, "grant_type=client_credentials").expect(200);
        answer["access_token"].as_str().unwrap().to_owned()
    }

    /// Sends a request with a token.
    pub fn request(&self, token: &str, method: &str, path: &str, body: Option<&Value>) -> Received {
        let body = body.map(Value::to_string);
        let fields = format!("content-type: application/json\r\nauthorization: Bearer {token}\r\n");
        self.rnis.request_with(method, path, &fields, body.as_deref())
    }

    /// Creates a subscription. Returns its path.
    #[track_caller]
    pub fn create(&self, token: &str, path: &str, body: &Value) -> String {
        let created = self.request(token, "POST", path, Some(body));
        created.expect(201);
        let location = created.header("location").unwrap();
        location[location.find("/rni/").unwrap()..].to_owned()
    }
}

pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A private key of P-256.
pub struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    pub fn generate() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        SigningKey(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap())
    }

    /// The key of an issuer's file.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let digits: String = text.lines().filter(|line| !line.starts_with('-')).collect();
        let pkcs8 = BASE64.decode(digits.as_bytes()).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &SystemRandom::new());
        SigningKey(key.unwrap())
    }

    /// The key as JSON.
    pub fn jwk(&self, id: &str) -> Value {
        use ring::signature::KeyPair;
        let point = self.0.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|part| BASE64URL_NOPAD.encode(part));
        json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y })
    }

    /// A token with a header and claims.
    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| BASE64URL_NOPAD.encode(part.to_string().as_bytes()));
        let message = format!("{header}.{claims}");
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }
}
