//! The kinds of link over which pings are measured.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use ferric::link::{Address, Config, Listener, Tls, TlsFiles};

use crate::part::any_port;

/// A kind of link, and an address to listen at.
pub(crate) struct LinkKind {
    pub name: &'static str,
    pub address: Address,
    pub config: Config,
}

/// A temporary path; removed when dropped.
pub(crate) struct TemporaryPath(pub PathBuf);

impl TemporaryPath {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        TemporaryPath(std::env::temp_dir().join(format!("ferric-bench-{}-{number}-{name}", std::process::id())))
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        // it may be a socket, a directory or unused
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The kinds of link that this host supports, and their paths.
pub(crate) struct Links {
    pub kinds: Vec<LinkKind>,
    /// Kinds that it does not support.
    pub missing: Vec<&'static str>,
    _paths: [TemporaryPath; 3],
}

impl Links {
    pub fn supported() -> anyhow::Result<Self> {
        let paths = ["unix", "shm", "pki"].map(TemporaryPath::new);
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

/// Loads the benchmark's certificates from files, as programs do.
fn tls(directory: &TemporaryPath) -> anyhow::Result<Tls> {
    let files = [
        ("ca.pem", include_str!("../pki/ca.pem")),
        ("end.pem", include_str!("../pki/end.pem")),
        ("end.key", include_str!("../pki/end.key")),
    ];
    fs::create_dir(&directory.0).with_context(|| format!("cannot create {}", directory.0.display()))?;
    for (name, text) in files {
        fs::write(directory.0.join(name), text)?;
    }
    let [ca, certificate, key] = files.map(|(name, _)| directory.0.join(name));
    Ok(Tls::load(&TlsFiles { ca, certificate, key })?)
}
