//! Access tokens: where they come from, and which are refused.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use rest::{Operation, Problem, Response, Route, Server, ServerConfig, StatusCode};
use rnis::CallbackPolicy;
use rnis::oauth::{ExternalKeys, TokenSource};
use serde_json::{Value, json};

use crate::tenancy::{OPERATOR, SECRET, SigningKey, Tenancy, now_s, tenant};

const LIST: &str = "/rni/v2/subscriptions";

fn claims() -> Value {
    let now = now_s();
    json!({ "iss": "ferric-rnis", "sub": "a-1", "client_id": "a-1", "aud": "rni", "iat": now, "exp": now + 60, "scope": "all" })
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

fn without(mut claims: Value, name: &str) -> Value {
    claims.as_object_mut().unwrap().remove(name);
    claims
}

#[test]
fn token_endpoint_answers_as_rfc_6749_says() {
    let rnis = Tenancy::start(&tenant("a", ""));
    let basic = |id: &str, secret: &str| {
        format!("authorization: Basic {}\r\n", BASE64.encode(format!("{id}:{secret}").as_bytes()))
    };
    let grant = "grant_type=client_credentials";
    let in_body = format!("{grant}&client_id=a-1&client_secret={SECRET}");
    for (fields, form) in [
        (basic("a-1", SECRET), grant.to_owned()),
        (String::new(), in_body.clone()),
        (basic("a-1", SECRET), format!("{grant}&scope=all&unknown=1&client_id=a-1")),
        // RFC 6749 2.3.1: both are encoded
        (basic("a%2D1", SECRET), grant.to_owned()),
    ] {
        let answer = rnis.request_token(&fields, &form);
        let document = answer.expect(200);
        assert_eq!((&document["token_type"], &document["expires_in"]), (&json!("Bearer"), &json!(600)));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let token = document["access_token"].as_str().unwrap();
        assert_eq!(rnis.request(token, "GET", LIST, None).status, 200);
        let part = token.split('.').nth(1).unwrap();
        let claims: Value = serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).unwrap()).unwrap();
        assert_eq!(
            (&claims["iss"], &claims["aud"], &claims["client_id"]),
            (&json!("ferric-rnis"), &json!("rni"), &json!("a-1"))
        );
        assert!(claims["jti"].as_str().is_some_and(|id| id.len() >= 16));
    }
    std::thread::sleep(std::time::Duration::from_secs(1)); // the rate of a host
    for (fields, form, status, error) in [
        (basic("a-1", "wrong-wrong-wrong-wrong"), grant.to_owned(), 401, "invalid_client"),
        (basic("b-1", SECRET), grant.to_owned(), 401, "invalid_client"),
        ("authorization: Basic !\r\n".to_owned(), grant.to_owned(), 401, "invalid_client"),
        (String::new(), grant.to_owned(), 401, "invalid_client"),
        (String::new(), format!("{grant}&client_id=a-1"), 401, "invalid_client"),
        (String::new(), format!("{grant}&client_assertion=x&client_id=a-1"), 401, "invalid_client"),
        (basic("a-1", SECRET), in_body.clone(), 400, "invalid_request"),
        (basic("a-1", SECRET), String::new(), 400, "invalid_request"),
        (basic("a-1", SECRET), format!("{grant}&{grant}"), 400, "invalid_request"),
        (basic("a-1", SECRET), "grant_type=password".to_owned(), 400, "unsupported_grant_type"),
        (basic("a-1", SECRET), format!("{grant}&scope=all+admin"), 400, "invalid_scope"),
        (basic("a-1", SECRET), "x=%".to_owned(), 400, "invalid_request"),
        (basic("a-1", SECRET), "x".repeat(10_000), 400, "invalid_request"),
    ] {
        let answer = rnis.request_token(&fields, &form);
        assert_eq!((answer.status, &answer.json()["error"]), (status, &json!(error)), "{form:.80}: {answer:?}");
        assert_eq!(answer.header("www-authenticate").is_some(), status == 401);
    }
    let json = rnis.rest_json();
    assert_eq!((json.status, &json.json()["error"]), (400, &json!("invalid_request")));
    let refused = (0..100).map(|_| rnis.request_token("", grant)).find(|answer| answer.status == 429).expect("429");
    refused.expect_problem(429, &["too many requests for tokens"]);
    assert!(refused.header("retry-after").is_some());
}

impl Tenancy {
    fn rest_json(&self) -> testkit::http::Response {
        self.rnis.request_with("POST", "/oauth2/token", "content-type: application/json\r\n", Some("{}"))
    }
}

#[test]
fn keys_of_the_issuer_are_public() {
    let rnis = Tenancy::start(&tenant("a", ""));
    let keys = rnis.rnis.rest.get("/oauth2/jwks");
    let key = SigningKey::read(&rnis.folder.path("key.pem"));
    let own = key.jwk(keys["keys"][0]["kid"].as_str().unwrap());
    assert_eq!((&keys["keys"][0]["x"], &keys["keys"][0]["y"]), (&own["x"], &own["y"]));
    assert!(keys["keys"][0].get("d").is_none());
    use std::os::unix::fs::MetadataExt;
    assert_eq!(rnis.folder.path("key.pem").metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn only_tokens_of_the_issuer_for_the_service_and_of_now_are_accepted() {
    let rnis = Tenancy::start(&tenant("a", ""));
    let key = SigningKey::read(&rnis.folder.path("key.pem"));
    let header = json!({ "alg": "ES256", "typ": "at+jwt" });
    let good = key.sign(&header, &claims());
    assert_eq!(rnis.request(&good, "GET", LIST, None).status, 200);
    let now = now_s();
    let [head, body, signature] = good.split('.').collect::<Vec<_>>().try_into().unwrap();
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let hmac = {
        // the public key taken for a secret: what the library of the token's author chooses must not matter
        let jwks = rnis.rnis.rest.get("/oauth2/jwks").to_string();
        let message = format!("{}.{body}", part(&json!({ "alg": "HS256", "typ": "at+jwt" })));
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, jwks.as_bytes());
        let tag = ring::hmac::sign(&secret, message.as_bytes());
        format!("{message}.{}", BASE64URL_NOPAD.encode(tag.as_ref()))
    };
    for (what, token, detail) in [
        ("none", format!("{}.{body}.", part(&json!({ "alg": "none" }))), "algorithm"),
        ("None", format!("{}.{body}.{signature}", part(&json!({ "alg": "None", "typ": "at+jwt" }))), "algorithm"),
        ("HMAC with the public key", hmac, "algorithm"),
        (
            "another algorithm of the header",
            format!("{}.{body}.{signature}", part(&json!({ "alg": "EdDSA" }))),
            "signature",
        ),
        ("tampered", format!("{head}.{}.{signature}", part(&with(claims(), "client_id", json!("b-1")))), "signature"),
        ("without signature", format!("{head}.{body}."), "signature"),
        ("another key", SigningKey::generate().sign(&header, &claims()), "signature"),
        ("an id token", key.sign(&json!({ "alg": "ES256", "typ": "id+jwt" }), &claims()), "no access token"),
        ("critical", key.sign(&json!({ "alg": "ES256", "crit": ["exp"] }), &claims()), "critical"),
        ("another issuer", key.sign(&header, &with(claims(), "iss", json!("https://idp.example"))), "another issuer"),
        ("without issuer", key.sign(&header, &without(claims(), "iss")), "another issuer"),
        ("another audience", key.sign(&header, &with(claims(), "aud", json!(["other", "RNI"]))), "audience"),
        ("expired", key.sign(&header, &with(claims(), "exp", json!(now - 60))), "expired"),
        ("endless", key.sign(&header, &without(claims(), "exp")), "does not expire"),
        ("not yet", key.sign(&header, &with(claims(), "nbf", json!(now + 100))), "not valid yet"),
        ("of the future", key.sign(&header, &with(claims(), "iat", json!(now + 3600))), "in the future"),
        (
            "before the tenants",
            key.sign(&header, &with(claims(), "iat", json!(now - 3600))),
            "before its client was changed",
        ),
        ("without a time", key.sign(&header, &without(claims(), "iat")), "before its client was changed"),
        ("unknown client", key.sign(&header, &with(claims(), "client_id", json!("z"))), "not known"),
        ("deep", format!("{head}.{}.{signature}", "W1tb".repeat(1500)), "signature"),
        ("three dots", "a.b.c".to_owned(), "no signed JSON Web Token"),
    ] {
        for (method, path) in [
            ("GET", LIST),
            ("GET", "/rni/v1/queries/rab_info"),
            ("DELETE", "/rni/v2/subscriptions/1"),
            ("GET", "/rnis/v1/subscriptions"),
        ] {
            let refused = rnis.request(&token, method, path, None);
            refused.expect_problem(401, &[detail]);
            let challenge = refused.header("www-authenticate").unwrap();
            assert!(challenge.contains("error=\"invalid_token\""), "{what}: {challenge}");
        }
    }
    let none = rnis.rnis.request_with("GET", LIST, "", None);
    none.expect_problem(401, &["no bearer token"]);
    assert_eq!(none.header("www-authenticate"), Some("Bearer realm=\"ferric\""));
    for scope in [Value::Null, json!("read write"), json!("allx")] {
        let refused = rnis.request(&key.sign(&header, &with(claims(), "scope", scope)), "GET", LIST, None);
        refused.expect_problem(403, &["scope `all`"]);
        assert!(refused.header("www-authenticate").unwrap().contains("insufficient_scope"));
    }
}

#[test]
fn tokens_end_with_their_client_and_its_secret() {
    let rnis = Tenancy::start(&(tenant("a", "") + &tenant("b", "")));
    let (a, b) = (rnis.token("a"), rnis.token("b"));
    let status = |token: &str| rnis.request(token, "GET", LIST, None).status;
    assert_eq!((status(&a), status(&b)), (200, 200));
    let other = "f".repeat(32);
    let changed = tenant("a", "").replace(SECRET, &other) + &tenant("b", "");
    rnis.change(&changed, || status(&a) == 401);
    assert_eq!(status(&b), 200, "another tenant's token");
    let form = format!("grant_type=client_credentials&client_id=a-1&client_secret={other}");
    let new = rnis.request_token("", &form).expect(200)["access_token"].as_str().unwrap().to_owned();
    assert_eq!(status(&new), 200, "a token of the same second");
    // a file with a mistake changes nothing
    rnis.folder.write("tenants.toml", "[[tenant]]\nname = 7");
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        rnis.rnis.service.expire();
    }
    assert_eq!((status(&new), status(&b)), (200, 200));
    rnis.change(&tenant("b", ""), || status(&new) == 401);
    rnis.request(&new, "GET", LIST, None).expect_problem(401, &["not known here any more"]);
}

#[test]
fn operator_has_a_token_of_the_file_and_tenants_see_nothing_else() {
    let rnis = Tenancy::start(&tenant("a", ""));
    let token = rnis.token("a");
    assert_eq!(rnis.request(OPERATOR, "GET", "/operator", None).status, 200);
    // they show all applications
    for path in ["/operator", "/rnis/v1/stream", "/metrics"] {
        rnis.request(&token, "GET", path, None).expect_problem(403, &["not for"]);
    }
    assert_eq!(rnis.request(OPERATOR, "GET", LIST, None).status, 200);
    for version in ["v1", "v2"] {
        let document = rnis.request(&token, "GET", &format!("/rni/{version}/openapi.json"), None).expect(200);
        let schemes = &document["components"]["securitySchemes"];
        assert_eq!(schemes["oauth2"]["flows"]["clientCredentials"]["tokenUrl"], "/oauth2/token");
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
                let takes_tokens = operation["security"][0] == json!({ "oauth2": ["all"] });
                assert_eq!(takes_tokens, !["/rnis/v1/stream", "/metrics"].contains(&&**path), "{method} {path}");
            }
        }
    }
}

#[test]
fn tokens_of_another_issuer_are_verified_by_its_keys() {
    let keys = Arc::new(Mutex::new(Some(json!({ "keys": [] }))));
    let fetched = Arc::new(AtomicU32::new(0));
    let route = Route::new(Operation::get("/jwks", "", ""), {
        let (keys, fetched) = (Arc::clone(&keys), Arc::clone(&fetched));
        move |_| {
            fetched.fetch_add(1, Ordering::Relaxed);
            let keys = keys.lock().unwrap().clone();
            keys.map(Response::ok).ok_or_else(|| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "away"))
        }
    });
    let server = Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), vec![route]).unwrap();
    let (first, second) = (SigningKey::generate(), SigningKey::generate());
    *keys.lock().unwrap() = Some(json!({ "keys": [first.jwk("1")] }));
    let url = format!("{}/jwks", server.url());
    let source = |keys: ExternalKeys| TokenSource::External {
        keys: Arc::new(keys),
        issuer: "https://idp.example".into(),
        audience: "rni".into(),
    };
    let file = "[[tenant]]\nname = \"a\"\n[[tenant.client]]\nid = \"a-1\"\n";
    let rnis = Tenancy::with(file, CallbackPolicy::default(), |_, _| source(ExternalKeys::start(&url, None).unwrap()));
    let claims = with(claims(), "iss", json!("https://idp.example"));
    let token = |key: &SigningKey, id: &str| key.sign(&json!({ "alg": "ES256", "kid": id }), &claims);
    let status = |token: &str| rnis.request(token, "GET", LIST, None).status;
    assert_eq!(status(&token(&first, "1")), 200);
    let by_subject = first.sign(&json!({ "alg": "ES256" }), &without(claims.clone(), "client_id"));
    assert_eq!(status(&by_subject), 200, "the only key, and a client that is the subject");
    assert_eq!(
        status(&first.sign(&json!({ "alg": "ES256", "kid": "1" }), &with(claims.clone(), "iss", json!("ferric-rnis")))),
        401
    );
    // an issuer that is away, and tokens with invented keys: it is not asked for each of them
    *keys.lock().unwrap() = None;
    for at in 0..20 {
        assert_eq!(status(&token(&second, &format!("invented-{at}"))), 401);
    }
    assert_eq!((status(&token(&first, "1")), fetched.load(Ordering::Relaxed)), (200, 1));
    assert_eq!(status(&token(&second, "1")), 401, "the key of another one under a known id");

    // a file: its new key is read, the old one is withdrawn
    let rnis = Tenancy::with(file, CallbackPolicy::default(), |folder, _| {
        let path = folder.write("jwks", &json!({ "keys": [first.jwk("1")] }).to_string());
        source(ExternalKeys::start(path.to_str().unwrap(), None).unwrap())
    });
    let status = |token: &str| rnis.request(token, "GET", LIST, None).status;
    assert_eq!((status(&token(&first, "1")), status(&token(&second, "2"))), (200, 401));
    rnis.folder.write("jwks", &json!({ "keys": [second.jwk("2")] }).to_string());
    testkit::eventually("the new key", || status(&token(&second, "2")) == 200);
    assert_eq!(status(&token(&first, "1")), 401);
    rnis.folder.write("jwks", "{");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(status(&token(&second, "2")), 200, "a file with a mistake changes nothing");
    assert_eq!(rnis.request_token("", "grant_type=client_credentials").status, 401, "there is no token endpoint here");
}
