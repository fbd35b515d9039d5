//! Access tokens: JSON Web Tokens (RFC 7519) that are signed (RFC 7515, compact), with the claims of RFC 9068.

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::keys::{Algorithm, Key};

/// The longest token.
const MAX_TOKEN_OCTETS: usize = 8 * 1024;
/// How far the clock of an issuer may be from this one, in seconds.
pub const SKEW_S: u64 = 30;

/// What is understood of a token's header.
#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<IgnoredAny>,
}

/// What is understood of a token's claims.
#[derive(Debug, Deserialize)]
pub struct Claims {
    #[serde(default)]
    iss: Option<String>,
    #[serde(default)]
    sub: Option<String>,
    #[serde(default)]
    client_id: Option<String>,
    #[serde(default)]
    aud: Option<Audience>,
    #[serde(default)]
    exp: Option<f64>,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    iat: Option<f64>,
    #[serde(default)]
    scope: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// A token whose signature is not verified yet.
#[derive(Debug)]
pub struct Unverified<'t> {
    pub algorithm: Algorithm,
    pub key_id: Option<String>,
    /// What is signed.
    message: &'t [u8],
    claims: &'t str,
    signature: Vec<u8>,
}

/// What a token must be.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'e> {
    pub issuer: &'e str,
    pub audience: &'e str,
    /// The time, in seconds of Unix time.
    pub now_s: u64,
}

impl<'t> Unverified<'t> {
    /// Reads a token.
    ///
    /// # Errors
    /// The reason in words.
    pub fn read(token: &'t [u8]) -> Result<Self, String> {
        let malformed = || "the token is no signed JSON Web Token".to_owned();
        let text =
            std::str::from_utf8(token).ok().filter(|text| text.len() <= MAX_TOKEN_OCTETS).ok_or_else(malformed)?;
        let mut parts = text.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed());
        };
        let octets = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| malformed());
        let Header { alg, typ, kid, crit } = serde_json::from_slice(&octets(header)?).map_err(|_| malformed())?;
        let algorithm = Algorithm::named(&alg);
        let algorithm = algorithm.ok_or_else(|| format!("the token's algorithm is not one of {}", Algorithm::NAMES))?;
        // RFC 7515 4.1.11: what is critical must be understood
        if crit.is_some() {
            return Err("the token has critical header parameters, of which none is understood".to_owned());
        }
        // RFC 9068 4; many issuers write JWT, or nothing
        let typ = typ.map(|typ| typ.to_ascii_lowercase());
        if !matches!(typ.as_deref(), None | Some("at+jwt" | "application/at+jwt" | "jwt")) {
            return Err("the token is no access token".to_owned());
        }
        let message = &token[..header.len() + 1 + claims.len()];
        Ok(Unverified { algorithm, key_id: kid, message, claims, signature: octets(signature)? })
    }

    /// Verifies the signature with a key, then the claims.
    ///
    /// # Errors
    /// The reason in words.
    pub fn verify(&self, key: &Key, expected: Expected<'_>) -> Result<Claims, String> {
        if !key.verifies(self.algorithm, self.message, &self.signature) {
            return Err("the token's signature is not valid".to_owned());
        }
        let claims = BASE64URL_NOPAD.decode(self.claims.as_bytes()).ok();
        let claims: Option<Claims> = claims.and_then(|octets| serde_json::from_slice(&octets).ok());
        let claims = claims.ok_or("the token's claims are malformed")?;
        claims.check(expected)?;
        Ok(claims)
    }
}

impl Claims {
    fn check(&self, expected: Expected<'_>) -> Result<(), String> {
        let Expected { issuer, audience, now_s } = expected;
        if self.iss.as_deref() != Some(issuer) {
            return Err("the token is of another issuer".to_owned());
        }
        let is_meant = match &self.aud {
            Some(Audience::One(one)) => one == audience,
            Some(Audience::Several(several)) => several.iter().any(|one| one == audience),
            None => false,
        };
        if !is_meant {
            return Err(format!("the token is not for the audience `{audience}`"));
        }
        let (now, skew) = (now_s as f64, SKEW_S as f64);
        match self.exp {
            Some(exp) if exp.is_finite() && now < exp + skew => {}
            Some(_) => return Err("the token has expired; request another one".to_owned()),
            None => return Err("the token does not expire, and is not accepted".to_owned()),
        }
        let is_past = |time: Option<f64>| time.is_none_or(|time| time.is_finite() && time <= now + skew);
        if !is_past(self.nbf) {
            return Err("the token is not valid yet".to_owned());
        }
        // a clock that was set back must not make a token live longer
        if !is_past(self.iat) {
            return Err("the token was issued in the future: compare the clocks".to_owned());
        }
        Ok(())
    }

    /// The client (RFC 9068 2.2); of issuers that do not name it the subject.
    pub fn client(&self) -> Option<&str> {
        self.client_id.as_deref().or(self.sub.as_deref())
    }

    /// Whether it has a scope (RFC 8693 4.2).
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scope.as_ref().is_some_and(|scopes| scopes.split(' ').any(|one| one == scope))
    }

    /// Whether it was issued at a time, in seconds of Unix time, or later.
    pub fn is_issued_since(&self, time_s: u64) -> bool {
        self.iat.is_some_and(|iat| iat >= time_s as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str) -> Vec<u8> {
        let [header, rest] = [header, "{}"].map(|part| BASE64URL_NOPAD.encode(part.as_bytes()));
        format!("{header}.{rest}.{rest}").into_bytes()
    }

    #[test]
    fn header_is_of_a_signed_access_token() {
        for good in [
            r#"{"alg":"ES256"}"#,
            r#"{"alg":"RS256","typ":"AT+JWT","kid":"1"}"#,
            r#"{"typ":"JWT","alg":"EdDSA","x":1}"#,
        ] {
            assert!(Unverified::read(&token(good)).is_ok(), "{good}");
        }
        for bad in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"es256"}"#,
            "{}",
            "[]",
            r#"{"alg":"ES256","crit":["b64"],"b64":false}"#,
            r#"{"alg":"ES256","crit":null,"alg":"none"}"#,
            r#"{"alg":"ES256","typ":"logout+jwt"}"#,
            r#"{"alg":"ES256","kid":7}"#,
        ] {
            assert!(Unverified::read(&token(bad)).is_err(), "{bad}");
        }
        let long = [&token(r#"{"alg":"ES256"}"#)[..], &b"A".repeat(9000)].concat();
        for bad in [&b""[..], b"..", b"a.b", b"e30.e30.e30.e30", b"\xff.\xff.\xff", b"e30=.e30.e30", &long] {
            assert!(Unverified::read(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn claims_are_of_the_issuer_for_the_audience_and_of_now() {
        let expected = Expected { issuer: "i", audience: "a", now_s: 1000 };
        let check = |claims: &str| {
            serde_json::from_str::<Claims>(claims).map_err(|_| ()).and_then(|it| it.check(expected).map_err(|_| ()))
        };
        for good in
            [r#"{"iss":"i","aud":"a","exp":1001}"#, r#"{"iss":"i","aud":["b","a"],"exp":971.5,"nbf":1030,"iat":1030}"#]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            r#"{"iss":"x","aud":"a","exp":1001}"#,
            r#"{"aud":"a","exp":1001}"#,
            r#"{"iss":"i","exp":1001}"#,
            r#"{"iss":"i","aud":"A","exp":1001}"#,
            r#"{"iss":"i","aud":[],"exp":1001}"#,
            r#"{"iss":"i","aud":"a"}"#,
            r#"{"iss":"i","aud":"a","exp":970}"#,
            r#"{"iss":"i","aud":"a","exp":-1}"#,
            r#"{"iss":"i","aud":"a","exp":"1001"}"#,
            r#"{"iss":"i","aud":"a","exp":1e999}"#,
            r#"{"iss":"i","aud":"a","exp":1001,"nbf":1031}"#,
            r#"{"iss":"i","aud":"a","exp":1001,"iat":1031}"#,
            r#"{"iss":"i","iss":"x","aud":"a","exp":1001}"#,
        ] {
            assert_eq!(check(bad), Err(()), "{bad}");
        }
    }
}
