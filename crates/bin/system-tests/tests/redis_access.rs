//! Redis servers with authentication, with TLS, and without free memory.

use std::net::TcpListener;
use std::path::PathBuf;

use ran::{RanConfig, Scenario};
use system_tests::{RicAndRan, eventually, log};
use testkit::Redis;
use testkit::certificates::Authority;
use traffic::{Forwarder, ForwarderStats, RedisConfig, RedisFiles, RedisReader, RedisSource, RedisUrl, RedisUrlError};

fn start(url: RedisUrl) -> (RicAndRan, impl Fn() -> ForwarderStats) {
    let forwarder = Forwarder::start(RedisConfig { period_ms: 10, ..RedisConfig::new(url) }).unwrap();
    let watch = forwarder.watch();
    let ran = RanConfig { scenario: Scenario::with_mixed_traffic(1, 2, 1), ..RanConfig::default() };
    (RicAndRan::start(vec![Box::new(forwarder)], ran), watch)
}

/// Starts a server over TLS that requires certificates and a password. Returns its URL.
fn secured(authority: &Authority) -> Option<(Redis, String)> {
    let files = authority.issue(&["127.0.0.1"], |_| ());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let redis = Redis::start(&[
        "--requirepass",
        "a secret",
        "--tls-port",
        &port,
        "--tls-cert-file",
        &path(&files.certificate),
        "--tls-key-file",
        &path(&files.key),
        "--tls-ca-cert-file",
        &path(&files.ca),
    ])?;
    Some((redis, format!("rediss://127.0.0.1:{port}")))
}

#[test]
fn tls_with_certificates_and_a_password_works() {
    let authority = Authority::new();
    let Some((_redis, url)) = secured(&authority) else { return };
    let url: RedisUrl = url.parse().unwrap();
    let files = authority.issue(&["127.0.0.1"], |_| ());
    let password = authority.write("password", "a secret\n");
    let all =
        RedisFiles { ca: Some(authority.ca()), own: Some((files.certificate, files.key)), password: Some(password) };

    let (_running, forwarded) = start(url.with_files(&all).unwrap());
    eventually("records", || forwarded().records > 10);
    for via in [RedisSource::PubSub, RedisSource::Stream] {
        let reader = RedisReader::start(url.with_files(&all).unwrap(), "ferric", via).unwrap();
        eventually("a record", || reader.next(std::time::Duration::from_millis(100)).is_some());
    }

    let stranger = Authority::new();
    let strange = RedisFiles { ca: Some(stranger.ca()), ..all.clone() };
    let (_running, forwarded) = start(url.with_files(&strange).unwrap());
    eventually("what to do", || log().contains("check the certificates: ours"));
    assert_eq!(forwarded().records, 0);
    let without_certificate = RedisFiles { own: None, ..all.clone() };
    let (_running, forwarded) = start(url.with_files(&without_certificate).unwrap());
    // in TLS 1.3 the server refuses after the handshake: its alert is read, or else that it has closed
    eventually("a logged warning", || log().matches("reports cannot be forwarded to Redis").count() > 1);
    assert_eq!(forwarded().records, 0);
    let wordless = RedisFiles { password: None, ..all };
    let (_running, _) = start(url.with_files(&wordless).unwrap());
    eventually("what to do", || log().contains("or the password in a file"));
    assert!(!log().contains("a secret"), "{}", log());
}

#[test]
fn full_redis_is_logged() {
    let Some(redis) = Redis::start(&["--maxmemory", "1mb", "--maxmemory-policy", "noeviction"]) else { return };
    let (_running, forwarded) = start(redis.url().parse().unwrap());
    eventually("what to do", || log().contains("give Redis more memory (maxmemory)"));
    eventually("records that are refused", || forwarded().dropped > 10);
    let mut admin = redis::Client::open(redis.url()).unwrap().get_connection().unwrap();
    redis::cmd("CONFIG").arg(&["SET", "maxmemory", "1gb"]).exec(&mut admin).unwrap();
    let before = forwarded().records;
    eventually("records again", || forwarded().records > before + 10);
}

#[test]
fn unusable_files_and_urls_are_refused() {
    let authority = Authority::new();
    let url = |text: &str| text.parse::<RedisUrl>().unwrap();
    let none = RedisFiles::default;
    let error = |url: RedisUrl, files: &RedisFiles| url.with_files(files).unwrap_err().to_string();
    let ca = RedisFiles { ca: Some(authority.ca()), ..none() };
    assert!(error(url("redis://127.0.0.1"), &ca).contains("require a rediss:// URL"));
    let nowhere = RedisFiles { ca: Some("/nowhere/ca.pem".into()), ..none() };
    assert!(error(url("rediss://127.0.0.1"), &nowhere).contains("cannot read the CA file /nowhere/ca.pem"));
    for text in ["", "\n", "one\ntwo"] {
        let files = RedisFiles { password: Some(authority.write("password", text)), ..none() };
        let error = url("redis://127.0.0.1").with_files(&files).unwrap_err();
        assert!(matches!(error, RedisUrlError::Password(_)), "{error}");
    }
    let broken = authority.write("broken", "-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n");
    let no_pem = "holds no certificate as PEM";
    assert!(error(url("rediss://127.0.0.1"), &RedisFiles { ca: Some(broken), ..none() }).contains("the CA file"));
    let empty = authority.write("empty", "nothing\n");
    assert!(error(url("rediss://127.0.0.1"), &RedisFiles { ca: Some(empty), ..none() }).contains(no_pem));
    assert!("rediss://127.0.0.1/#insecure".parse::<RedisUrl>().is_err());
}
