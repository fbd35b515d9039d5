//! Redis, Redis Cluster and Redis Sentinel over TLS with certificates on both sides.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use redis::cmd;
use shared_store::{RedisFiles, RedisUrlError, StoreUrl, remedy};
use testkit::certificates::{Authority, CertificateFiles};
use testkit::{Redis, eventually};

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Starts a server that also listens over TLS. Returns that port.
fn start(files: &CertificateFiles, more: &[&str]) -> Option<(Redis, String)> {
    let port = free_port();
    let (certificate, key, ca) = (text(&files.certificate), text(&files.key), text(&files.ca));
    let tls = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-ca-cert-file", &ca, "--tls-port", &port];
    Some((Redis::start(&[&tls[..], more].concat())?, port))
}

fn files(authority: &Authority) -> RedisFiles {
    let files = authority.issue(&["client"], |_| ());
    RedisFiles { ca: Some(authority.ca()), own: Some((files.certificate, files.key)), password: None }
}

#[track_caller]
fn write(url: &str, files: &RedisFiles) {
    let mut connection = url.parse::<StoreUrl>().unwrap().with_files(files).unwrap().connect().unwrap();
    connection.query::<()>(cmd("SET").arg("{ns},key").arg("x")).unwrap();
    assert_eq!(connection.keys(b"ns").unwrap(), [b"{ns},key".to_vec()]);
}

#[test]
fn server_and_cluster_are_used_over_tls() {
    let authority = Authority::new();
    let of_server = authority.issue(&["127.0.0.1"], |_| ());
    let Some((_redis, port)) = start(&of_server, &[]) else { return };
    let url = format!("rediss://127.0.0.1:{port}");
    write(&url, &files(&authority));
    let strange = url.parse::<StoreUrl>().unwrap().with_files(&files(&Authority::new())).unwrap();
    assert!(strange.connect().is_err());
    // a cluster of one server, whose slots are announced with the port for TLS
    let name = std::env::temp_dir().join(format!("ferric-tls-cluster-{}", std::process::id()));
    let (file, bus) = (text(&name), free_port());
    let cluster = ["--cluster-enabled", "yes", "--cluster-config-file", &file, "--cluster-port", &bus];
    let (redis, port) = start(&of_server, &[&cluster[..], &["--tls-cluster", "yes"]].concat()).unwrap();
    assert!(redis.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]).starts_with("+OK"));
    eventually("the cluster", || redis.command(&["CLUSTER", "INFO"]).contains("cluster_state:ok"));
    write(&format!("rediss+cluster://127.0.0.1:{port}"), &files(&authority));
    drop(redis);
    std::fs::remove_file(&name).unwrap();
}

/// Redis Sentinel over TLS; killed on drop.
struct Sentinel(Child, PathBuf);

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended already
        let _ = self.0.wait();
        let _ = std::fs::remove_file(&self.1);
    }
}

#[test]
fn sentinel_is_asked_over_tls() {
    let authority = Authority::new();
    let of_server = authority.issue(&["127.0.0.1"], |_| ());
    let Some((redis, primary)) = start(&of_server, &["--tls-replication", "yes"]) else { return };
    let port = free_port();
    let config = format!(
        "bind 127.0.0.1\nport 0\ntls-port {port}\ntls-cert-file {}\ntls-key-file {}\ntls-ca-cert-file {}\ntls-replication yes\n\
         sentinel monitor ran 127.0.0.1 {primary} 1\n",
        text(&of_server.certificate),
        text(&of_server.key),
        text(&of_server.ca)
    );
    let file = std::env::temp_dir().join(format!("ferric-tls-sentinel-{}", std::process::id()));
    std::fs::write(&file, config).unwrap();
    let program = std::env::var_os("FERRIC_REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
    let child = Command::new(program).arg(&file).arg("--sentinel").stdout(Stdio::null()).spawn().unwrap();
    let _sentinel = Sentinel(child, file);
    let url = format!("rediss+sentinel://127.0.0.1:{port}/ran");
    let of_client = files(&authority);
    let store = url.parse::<StoreUrl>().unwrap().with_files(&of_client).unwrap();
    eventually("the primary", || store.connect().is_ok());
    write(&url, &of_client);
    assert!(redis.command(&["EXISTS", "{ns},key"]).starts_with(":1"));
}

#[test]
fn certificates_require_a_url_with_tls() {
    let authority = Authority::new();
    for url in ["redis://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/ran", "redis+cluster://127.0.0.1:1"] {
        let error = url.parse::<StoreUrl>().unwrap().with_files(&files(&authority)).unwrap_err();
        assert!(matches!(error, RedisUrlError::NoTls), "{url}: {error}");
    }
    let nobody: StoreUrl = "redis+cluster://127.0.0.1:1".parse().unwrap();
    let error = nobody.connect().unwrap_err();
    assert!(!remedy(&error).is_empty() && nobody.connect_to_server().is_err());
}
