//! Tenants and TLS of the program, as its options configure them.

use rest::client::{Client, ClientConfig, ClientToken, Scheme};
use serde_json::{Value, json};
use testkit::certificates::Authority;
use testkit::program::Program;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-rnis");
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const FILE: &str = "[[tenant]]\nname = \"video\"\nevent_types = [\"cell_change\"]\n[[tenant.client]]\nid = \"video-1\"\nsecret = \"0123456789abcdef0123456789abcdef\"\n";

/// A service with the load generator in the place of a RIC. Returns also its URL.
fn start(arguments: &[&str]) -> (Program, String) {
    let arguments = [&["--rest", "127.0.0.1:0", "--load", "1"], arguments].concat();
    let mut program = Program::start_with_input(PROGRAM, &arguments);
    let url = program.line("rnis=");
    (program, url.trim_end_matches("/rni/v2").to_owned())
}

#[test]
fn client_discovers_the_token_endpoint_and_subscribes_over_https() {
    let authority = Authority::new();
    let files = authority.issue_as("server", &["127.0.0.1"], |_| ());
    let tenants = authority.write("tenants.toml", FILE);
    let key = authority.path("token-key.pem");
    let [certificate, private, tenants, key] =
        [&files.certificate, &files.key, &tenants, &key].map(|path| path.to_str().unwrap().to_owned());
    let arguments = ["--rest-cert", &certificate, "--rest-key", &private, "--tenants", &tenants, "--token-key", &key];
    let client = |url: &str, token: Option<(Scheme, String)>| {
        let (scheme, token) = token
            .map_or((Scheme::Bearer, None), |(scheme, token)| (scheme, Some(ClientToken::Text("the test", token))));
        Client::new(&ClientConfig { ca: Some(authority.ca()), token, scheme, ..ClientConfig::new(url) }).unwrap()
    };
    let (rnis, url) = start(&arguments);
    assert!(url.starts_with("https://"), "{url}");
    let services = client(&url, None).request("GET", "/mec_service_mgmt/v1/services?ser_name=rni", None).unwrap();
    let oauth2 = &services.body[0]["transportInfo"]["security"]["oAuth2Info"];
    assert_eq!(oauth2["grantTypes"], json!(["OAUTH2_CLIENT_CREDENTIALS"]));
    let path = oauth2["tokenEndpoint"].as_str().unwrap().strip_prefix(&*url).unwrap();
    let form = ("application/x-www-form-urlencoded", b"grant_type=client_credentials");
    let basic = client(&url, Some((Scheme::Basic, format!("video-1:{SECRET}"))));
    let token = basic.post(path, form.0, form.1).unwrap().body["access_token"].as_str().unwrap().to_owned();
    let of_tenant = client(&url, Some((Scheme::Bearer, token.clone())));
    let post = |callback: &str| {
        let body = json!({ "subscriptionType": "CellChangeSubscription", "callbackReference": callback, "filterCriteriaAssocHo": {} });
        of_tenant.request("POST", "/rni/v2/subscriptions", Some(&body)).unwrap()
    };
    // the service is on a loopback address: so may callbacks be
    let created = post("http://127.0.0.1:9/x");
    assert_eq!(created.status, 201, "{created:?}");
    let href = created.body["_links"]["self"]["href"].as_str().unwrap();
    assert!(href.starts_with(&url), "{href}");
    assert_eq!((post("http://10.0.0.1/").status, post("http://app.example/").status), (422, 201));
    assert_eq!(client(&url, None).request("GET", "/rni/v2/subscriptions", None).unwrap().status, 401);
    // what operates the service is not for tenants
    let services = of_tenant.request("GET", "/mec_service_mgmt/v1/applications/rnis/services", None).unwrap();
    assert_eq!(services.status, 403);
    let document = of_tenant.request("GET", "/rni/v2/openapi.json", None).unwrap();
    assert_eq!(document.body["components"]["securitySchemes"]["oauth2"]["type"], "oauth2");
    rnis.stop();
    // a key in a file outlives the process
    let (_rnis, url) = start(&arguments);
    let of_tenant = client(&url, Some((Scheme::Bearer, token)));
    let listed = of_tenant.request("GET", "/rni/v2/subscriptions", None).unwrap();
    assert_eq!((listed.status, listed.body["_links"].get("subscription")), (200, None::<&Value>));
}

#[test]
fn access_options_are_refused_with_their_names() {
    let authority = Authority::new();
    let refused = |arguments: &[&str], status: i32, pieces: &[&str]| {
        let arguments = [&["--load", "1"], arguments].concat();
        testkit::program::run(PROGRAM, &arguments).complains(status, pieces);
    };
    let good = authority.write("good.toml", FILE);
    let bad = authority.write("bad.toml", "[[tenant]]\nname = \"a\"\nevent_type = []\n");
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    refused(&["--tenants", bad], 1, &["--tenants", "line 3", "did you mean `event_types`?"]);
    refused(&["--tenants", "/nowhere/tenants.toml"], 1, &["--tenants", "/nowhere/tenants.toml"]);
    refused(&["--tenants", good, "--token-key", bad], 1, &["--token-key", "no private key of P-256"]);
    refused(&["--token-key", bad], 2, &["--tenants"]);
    refused(&["--callback-allow", "10.0.0.0/40"], 2, &["--callback-allow", "10.0.0.0/40"]);
    let issuer = ["--tenants", good, "--issuer", "i", "--issuer-token-endpoint", "https://i/", "--issuer-keys"];
    refused(&[&issuer[..], &["http://idp.example/jwks"]].concat(), 1, &["--issuer-keys", "http://"]);
    refused(&[&issuer[..], &[bad]].concat(), 1, &["--issuer-keys", "no JSON Web Key Set"]);
    refused(&["--rest", "0.0.0.0:0"], 1, &["without authentication"]);
}
