//! The public keys that tokens are verified with: JSON Web Key Sets (RFC 7517), and the algorithms of RFC 7518 and RFC 8037.
//!
//! A key determines its algorithms: a token cannot choose one that the key is not for. There are no symmetric keys, so that a public
//! key is never taken for a secret, and no `none`.

use data_encoding::BASE64URL_NOPAD;
use ring::digest::{SHA256, digest};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The most keys of a set; further ones are ignored.
const MAX_KEYS: usize = 64;

/// A signature algorithm, by its name in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Es256,
    Es384,
    EdDsa,
    Rs256,
    Ps256,
}

impl Algorithm {
    pub const NAMES: &str = "ES256, ES384, EdDSA, RS256 and PS256";

    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ES256" => Algorithm::Es256,
            "ES384" => Algorithm::Es384,
            "EdDSA" => Algorithm::EdDsa,
            "RS256" => Algorithm::Rs256,
            "PS256" => Algorithm::Ps256,
            _ => return None,
        })
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    /// An uncompressed point of P-256.
    P256(Vec<u8>),
    /// An uncompressed point of P-384.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    /// Modulus and exponent.
    Rsa(Vec<u8>, Vec<u8>),
}

/// A key of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its id.
    pub id: Option<String>,
    /// Its only algorithm, if it has one.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// A key as JSON. Members of other types of keys are ignored.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    r#use: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Value>,
}

impl Key {
    /// The key of P-256 at an uncompressed point. Its id is its thumbprint (RFC 7638).
    pub fn p256(point: &[u8]) -> Self {
        let (x, y) = coordinates(point);
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        let id = BASE64URL_NOPAD.encode(digest(&SHA256, canonical.as_bytes()).as_ref());
        Key { id: Some(id), algorithm: Some(Algorithm::Es256), material: Material::P256(point.to_vec()) }
    }

    /// The set with this key as JSON, if it is one of P-256.
    pub fn document(&self) -> Value {
        let Material::P256(point) = &self.material else { return json!({ "keys": [] }) };
        let (x, y) = coordinates(point);
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id, "x": x, "y": y }] })
    }

    /// Reads a key; `None` for one that cannot verify tokens, or is malformed.
    fn read(jwk: Jwk) -> Option<Self> {
        if jwk.r#use.is_some_and(|usage| usage != "sig") {
            return None;
        }
        // a key for an algorithm that is not known here verifies nothing
        let algorithm = match &jwk.alg {
            Some(name) => Some(Algorithm::named(name)?),
            None => None,
        };
        let octets = |text: Option<String>| BASE64URL_NOPAD.decode(text?.as_bytes()).ok();
        let material = match (&*jwk.kty, jwk.crv.as_deref()) {
            ("EC", Some("P-256")) => Material::P256(point(&octets(jwk.x)?, &octets(jwk.y)?, 32)?),
            ("EC", Some("P-384")) => Material::P384(point(&octets(jwk.x)?, &octets(jwk.y)?, 48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(octets(jwk.x).filter(|key| key.len() == 32)?),
            ("RSA", _) => Material::Rsa(octets(jwk.n)?, octets(jwk.e)?),
            _ => return None,
        };
        Some(Key { id: jwk.kid, algorithm, material })
    }

    /// Whether the key is for an algorithm.
    pub fn is_for(&self, algorithm: Algorithm) -> bool {
        let fits = match self.material {
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
            Material::Rsa(..) => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
        };
        fits && self.algorithm.is_none_or(|only| only == algorithm)
    }

    /// Whether a signature of a message is of this key.
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (algorithm, &self.material) {
            _ if !self.is_for(algorithm) => return false,
            (Algorithm::Es256, Material::P256(key)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(message, signature)
            }
            (Algorithm::Es384, Material::P384(key)) => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, key).verify(message, signature)
            }
            (Algorithm::EdDsa, Material::Ed25519(key)) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            (Algorithm::Rs256, Material::Rsa(n, e)) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::Ps256, Material::Rsa(n, e)) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, message, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

/// Coordinates of an uncompressed point, in base64url.
fn coordinates(point: &[u8]) -> (String, String) {
    let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
    (BASE64URL_NOPAD.encode(x), BASE64URL_NOPAD.encode(y))
}

/// The uncompressed point with coordinates of a length.
fn point(x: &[u8], y: &[u8], length: usize) -> Option<Vec<u8>> {
    (x.len() == length && y.len() == length).then(|| [&[4], x, y].concat())
}

/// Reads the keys of a set that can verify tokens. Others are ignored (RFC 7517 5).
///
/// # Errors
/// The reason in words, if it is no key set, or has no such key.
pub fn read(text: &str) -> Result<Vec<Key>, String> {
    let set: Jwks = serde_json::from_str(text).map_err(|error| format!("it is no JSON Web Key Set: {error}"))?;
    let read = set.keys.into_iter().take(MAX_KEYS).filter_map(|key| Key::read(serde_json::from_value(key).ok()?));
    let keys: Vec<_> = read.collect();
    if keys.is_empty() {
        return Err(format!("it has no public key for signatures by {}", Algorithm::NAMES));
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and the signature of RFC 8037, appendix A.
    #[test]
    fn signature_of_rfc_8037_is_verified() {
        let keys =
            read(r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#)
                .unwrap();
        let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = BASE64URL_NOPAD
            .decode(b"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
            .unwrap();
        assert!(keys[0].verifies(Algorithm::EdDsa, message, &signature));
        assert!(!keys[0].verifies(Algorithm::EdDsa, b"another", &signature));
        assert!(!keys[0].verifies(Algorithm::Es256, message, &signature), "another algorithm");
    }

    /// The key and the signature of RFC 7515, appendix A.3.
    #[test]
    fn signature_of_rfc_7515_is_verified() {
        let keys = read(
            r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#,
        )
        .unwrap();
        let message = b"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = BASE64URL_NOPAD
            .decode(b"DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
            .unwrap();
        assert!(keys[0].verifies(Algorithm::Es256, message, &signature));
        // the set that the embedded issuer writes is the one that is read
        let Material::P256(point) = &keys[0].material else { panic!() };
        let own = read(&Key::p256(point).document().to_string()).unwrap();
        assert_eq!(own, [Key::p256(point)]);
        assert!(own[0].verifies(Algorithm::Es256, message, &signature));
    }

    #[test]
    fn keys_that_verify_nothing_are_ignored() {
        let rsa = r#"{"kty":"RSA","n":"AQAB","e":"AQAB","alg":"RS256","kid":"r"}"#;
        for other in [
            r#"{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}"#,
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB","alg":"HS256"}"#,
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB","use":"enc"}"#,
            r#"{"kty":"RSA","n":"=","e":"AQAB"}"#,
            r#"{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}"#,
            r#"{"kty":"OKP","crv":"X25519","x":"AQAB"}"#,
            r#"{"kty":1}"#,
            "7",
        ] {
            assert!(read(&format!(r#"{{"keys":[{other}]}}"#)).is_err(), "{other}");
            let keys = read(&format!(r#"{{"keys":[{other},{rsa}]}}"#)).unwrap();
            assert_eq!((keys.len(), keys[0].id.as_deref()), (1, Some("r")), "{other}");
            assert!(keys[0].is_for(Algorithm::Rs256) && !keys[0].is_for(Algorithm::Ps256));
            // a modulus that is too short is no error but a signature that is not verified
            assert!(!keys[0].verifies(Algorithm::Rs256, b"", b""));
        }
        assert!(read("[]").is_err() && read("").is_err() && read(&"[".repeat(100_000)).is_err());
    }
}
