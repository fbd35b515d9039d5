//! Limits of xApps by control groups of version 2, in a guest kernel. As scripts/test runs it:
//!
//! ```sh
//! FERRIC_SCTP_GUEST=1 CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$PWD/crates/base/link/kernel-sctp/run \
//!     cargo test -p ferric-oran --test guest
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use log_lines::LogBudget;
use oran::manager::{Commands, Manager, ManagerConfig};
use rest::ServerConfig;
use serde_json::{Value, json};
use testkit::eventually;
use testkit::http::Service;

/// The guest is one: tests do not change it at the same time.
static GUEST: Mutex<()> = Mutex::new(());

/// A manager with limits that the kernel of the guest enforces.
struct Host {
    rest: Service,
    _server: rest::Server,
    _manager: Manager,
    cgroup: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Host {
    /// Starts one with the commands of a file; `None` outside of a guest.
    fn start(commands: &str) -> Option<Host> {
        let alone = GUEST.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(busybox) = std::env::var("FERRIC_GUEST_BUSYBOX") else {
            println!("NOT TESTED: this takes a kernel of its own; crates/base/link/kernel-sctp/run has one");
            return None;
        };
        let root = Path::new("/run/cgroup");
        if !root.exists() {
            fs::create_dir(root).unwrap();
            let mount = ["mount", "-t", "cgroup2", "none", root.to_str().unwrap()];
            assert!(Command::new(busybox).args(mount).status().unwrap().success());
        }
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap();
        assert!(["cpu", "memory", "pids"].iter().all(|of| controllers.contains(of)), "{controllers}");
        fs::write(root.join("cgroup.subtree_control"), "+cpu +memory +pids").unwrap();
        let cgroup = root.join("xapps");
        let folder = std::env::temp_dir();
        let text = format!("state_folder = \"state\"\ncgroup = \"{}\"\n{commands}", cgroup.display());
        let commands = Commands::parse(&text, &folder).unwrap();
        let log = LogBudget::new(1000);
        let manager =
            Manager::start(ManagerConfig { commands: Some(commands), bus: None, rmr: None, log, faults: None })
                .unwrap();
        let server = rest::Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), manager.routes()).unwrap();
        let rest = Service { address: server.address() };
        Some(Host { rest, _server: server, _manager: manager, cgroup, _alone: alone })
    }

    fn run(&self, name: &str) -> Value {
        let descriptor = json!({ "xapp_name": name, "version": "1", "messaging": { "ports": [] } });
        let body = json!({ "xappName": name, "descriptor": descriptor });
        let started = self.rest.request("POST", "/ric/v1/xapps", body).expect(201);
        assert_eq!(started["instances"][0]["process"]["unlimited"], Value::Null, "{started}");
        started["instances"][0]["process"]["id"].clone()
    }

    fn process(&self, name: &str) -> Value {
        self.rest.get(&format!("/ric/v1/xapps/{name}"))["instances"][0]["process"].clone()
    }

    /// A value of a file of an xApp's group.
    fn value(&self, name: &str, file: &str, key: &str) -> u64 {
        let text = fs::read_to_string(self.cgroup.join(name).join(file)).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no {key} in {text}"))
    }
}

fn xapp(name: &str, script: &str, limit: &str) -> String {
    format!("[[xapp]]\nname = \"{name}\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n{limit}\n")
}

/// What keeps a process busy.
const BUSY: &str = "while :; do :; done";

#[test]
fn xapp_that_takes_too_much_memory_is_killed_and_started_again_with_pauses() {
    let eater = "x=0123456789abcdef; while :; do x=$x$x; done";
    let commands =
        xapp("eater", eater, "max_memory_mib = 24") + &xapp("other", "exec sleep 1000", "max_memory_mib = 24");
    let Some(host) = Host::start(&commands) else { return };
    let other = host.run("other");
    let begun = Instant::now();
    host.run("eater");
    eventually("it was started again twice", || host.process("eater")["restarts"].as_u64() >= Some(2));
    // 0.5 s and 1 s
    assert!(begun.elapsed() >= Duration::from_millis(1500), "{:?}", begun.elapsed());
    let reason = host.process("eater")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("signal: 9") && reason.contains("max_memory_mib"), "{reason}");
    let beside = host.process("other");
    assert_eq!((&beside["id"], &beside["restarts"]), (&other, &json!(0)), "the other one goes on: {beside}");
    assert_eq!(host.value("other", "memory.events", "oom_kill "), 0);
    for name in ["eater", "other"] {
        assert_eq!(host.rest.request("DELETE", &format!("/ric/v1/xapps/{name}"), None).status, 204);
        assert!(!host.cgroup.join(name).exists(), "the group of {name} is removed");
    }
}

#[test]
fn xapp_gets_no_more_of_a_processor_than_its_limit() {
    let Some(host) = Host::start(&xapp("busy", BUSY, "max_cpu_percent = 20")) else { return };
    host.run("busy");
    eventually("it was throttled", || host.value("busy", "cpu.stat", "nr_throttled ") >= 3);
    let used = || host.value("busy", "cpu.stat", "usage_usec ");
    let (begun, before) = (Instant::now(), used());
    std::thread::sleep(Duration::from_secs(2));
    let percent = (used() - before) as f64 / begun.elapsed().as_micros() as f64 * 100.0;
    // a period of 100 ms more at each end
    assert!(percent <= 30.0, "{percent:.1} % of a processor");
    assert_eq!(host.rest.request("DELETE", "/ric/v1/xapps/busy", None).status, 204);
}

#[test]
fn xapp_that_forks_without_end_is_bounded() {
    let forks = "while :; do sleep 1000 & done";
    let Some(host) = Host::start(&xapp("forks", forks, "max_processes = 20")) else { return };
    host.run("forks");
    eventually("it cannot fork any more", || host.value("forks", "pids.events", "max ") > 0);
    let processes = fs::read_to_string(host.cgroup.join("forks/pids.current")).unwrap();
    assert!(processes.trim().parse::<u32>().unwrap() <= 20, "{processes}");
    assert_eq!(host.rest.request("DELETE", "/ric/v1/xapps/forks", None).status, 204);
    assert!(!host.cgroup.join("forks").exists(), "all of its processes have ended");
}
