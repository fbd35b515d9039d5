//! The kinds of link of the loop.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bench::part::any_port;
use ferric::link::{self, Address};

/// How long an end of a link over shared memory stays awake, where it spins: longer than a slot.
const SPIN: Duration = Duration::from_micros(1500);

/// A kind of link, for both hops.
pub(super) struct LoopLink {
    pub name: &'static str,
    /// For nodes, and for xApps.
    pub addresses: [Address; 2],
    /// Of the RIC and of the xApp; the RAN does not spin, since its thread computes the model.
    pub config: link::Config,
    paths: Vec<PathBuf>,
}

impl LoopLink {
    /// All kinds.
    pub fn all() -> Vec<LoopLink> {
        vec![
            LoopLink {
                name: "TCP",
                addresses: [any_port(), any_port()],
                config: link::Config::default(),
                paths: Vec::new(),
            },
            LoopLink::with_paths("Unix socket", Address::Unix, Duration::ZERO),
            LoopLink::with_paths("shared memory", Address::Shm, Duration::ZERO),
            LoopLink::with_paths("shared memory, spinning", Address::Shm, SPIN),
        ]
    }

    fn with_paths(name: &'static str, address: fn(PathBuf) -> Address, shm_spin: Duration) -> LoopLink {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = |end: &str| std::env::temp_dir().join(format!("ferric-loop-{}-{number}-{end}", std::process::id()));
        let paths = vec![path("e2"), path("xapp")];
        LoopLink {
            name,
            addresses: [address(paths[0].clone()), address(paths[1].clone())],
            config: link::Config { shm_spin, ..link::Config::default() },
            paths,
        }
    }
}

impl Drop for LoopLink {
    fn drop(&mut self) {
        for path in &self.paths {
            // a listener removes its own
            let _ = std::fs::remove_file(path);
        }
    }
}
