//! The links that a ping is measured over, all of them on this host.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use ferric::link::{Address, Config, Listener, Tls, TlsFiles};

use crate::part::any_port;

/// A link of one kind, to be listened at.
pub(crate) struct LinkKind {
    pub name: &'static str,
    pub address: Address,
    pub config: Config,
}

/// A path that nobody else has; what is there is removed with it.
pub(crate) struct OwnPath(pub PathBuf);

impl OwnPath {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        OwnPath(std::env::temp_dir().join(format!("ferric-bench-{}-{number}-{name}", std::process::id())))
    }
}

impl Drop for OwnPath {
    fn drop(&mut self) {
        // a socket, a directory, or nothing
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Every kind that this host has, and the paths that they need.
pub(crate) struct Links {
    pub kinds: Vec<LinkKind>,
    /// Kinds that it does not have.
    pub missing: Vec<&'static str>,
    _paths: [OwnPath; 3],
}

impl Links {
    pub fn here() -> anyhow::Result<Self> {
        let paths = ["unix", "shm", "pki"].map(OwnPath::new);
        let kind = |name, address| LinkKind { name, address, config: Config::default() };
        let mut kinds = vec![
            kind("tcp", any_port()),
            kind("unix", Address::Unix(paths[0].0.clone())),
            kind("shm", Address::Shm(paths[1].0.clone())),
        ];
        let mut missing = Vec::new();
        let sctp: Address = "sctp://127.0.0.1:0".parse()?;
        match Listener::bind(&sctp, &Config::default()) {
            Ok(_) => kinds.push(kind("sctp", sctp)),
            Err(_) => missing.push("sctp"),
        }
        let tls = Some(tls(&paths[2])?);
        let address = "tls://127.0.0.1:0".parse()?;
        kinds.push(LinkKind { name: "tls", address, config: Config { tls, ..Config::default() } });
        Ok(Links { kinds, missing, _paths: paths })
    }
}

/// Certificates of the benchmark's own, which are read from files as everybody's are.
fn tls(directory: &OwnPath) -> anyhow::Result<Tls> {
    let files = [
        ("ca.pem", include_str!("../pki/ca.pem")),
        ("end.pem", include_str!("../pki/end.pem")),
        ("end.key", include_str!("../pki/end.key")),
    ];
    fs::create_dir(&directory.0).with_context(|| format!("cannot make {}", directory.0.display()))?;
    for (name, text) in files {
        fs::write(directory.0.join(name), text)?;
    }
    let [ca, certificate, key] = files.map(|(name, _)| directory.0.join(name));
    Ok(Tls::load(&TlsFiles { ca, certificate, key })?)
}
