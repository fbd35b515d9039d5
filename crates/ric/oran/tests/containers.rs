//! xApps in containers, by a real engine. As scripts/test runs it:
//!
//! ```sh
//! crates/ric/oran/containers/run cargo test -p ferric-oran --test containers
//! ```

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use log_lines::LogBudget;
use oran::manager::{Commands, Manager, ManagerConfig};
use rest::ServerConfig;
use serde_json::{Value, json};
use testkit::eventually;
use testkit::http::Service;

/// The engine is one: tests look at all of its containers.
static ENGINE: Mutex<()> = Mutex::new(());

/// A manager with a container engine.
struct Host {
    rest: Service,
    _server: rest::Server,
    manager: Option<Manager>,
    engine: String,
    folder: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Host {
    /// Starts one with xApps, each a name, a script of the shell of the image, and keys; `None` without an engine.
    fn start(name: &str, xapps: &[(&str, &str, &str)]) -> Option<Host> {
        let (Ok(engine), Ok(image)) = (std::env::var("FERRIC_ENGINE"), std::env::var("FERRIC_ENGINE_IMAGE")) else {
            println!("NOT TESTED: this takes a container engine; crates/ric/oran/containers/run has one");
            return None;
        };
        let alone = ENGINE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("ferric-containers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut text = format!("state_folder = \"state\"\nengine = [\"{engine}\"]\n");
        for (name, script, keys) in xapps {
            text += &format!(
                "[[xapp]]\nname = \"{name}\"\nimage = \"{image}\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n{keys}\n"
            );
        }
        let commands = Commands::parse(&text, &folder).unwrap();
        let log = LogBudget::new(1000);
        let manager =
            Manager::start(ManagerConfig { commands: Some(commands), bus: None, rmr: None, log, faults: None })
                .unwrap();
        let server = rest::Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), manager.routes()).unwrap();
        let rest = Service { address: server.address() };
        Some(Host { rest, _server: server, manager: Some(manager), engine, folder, _alone: alone })
    }

    fn run(&self, name: &str) {
        let descriptor = json!({ "xapp_name": name, "version": "1", "controls": { "threshold": 3 } });
        self.rest.request("POST", "/ric/v1/xapps", json!({ "xappName": name, "descriptor": descriptor })).expect(201);
    }

    fn stop(&self, name: &str) {
        assert_eq!(self.rest.request("DELETE", &format!("/ric/v1/xapps/{name}"), None).status, 204);
    }

    fn process(&self, name: &str) -> Value {
        self.rest.get(&format!("/ric/v1/xapps/{name}"))["instances"][0]["process"].clone()
    }

    /// Waits until the output of an xApp has a text, and returns all of it.
    fn output(&self, name: &str, text: &str) -> String {
        let mut output = String::new();
        eventually(text, || {
            output = self.rest.get(&format!("/ric/v1/xapps/{name}/log"))["text"].as_str().unwrap().to_owned();
            output.contains(text)
        });
        output
    }

    /// The names of the containers of the engine that run.
    fn containers(&self) -> Vec<String> {
        let output = Command::new(&self.engine).args(["ps", "--format", "{{.Names}}"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.manager = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn image_is_run_logged_limited_and_stopped_by_the_engine() {
    let script = "env; cat $CONFIG_FILE; cat /proc/self/cgroup; trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.1; done";
    let keys = "environment = [\"OWN=two words\"]\nmax_memory_mib = 32\nmax_cpu_percent = 50\nmax_processes = 20";
    let Some(mut host) = Host::start("life", &[("one", script, keys)]) else { return };
    host.run("one");
    let output = host.output("one", "ready");
    for line in ["OWN=two words", "HOSTNAME=one"] {
        assert!(output.lines().any(|of| of == line), "{line}: {output}");
    }
    assert!(output.contains("\"threshold\": 3"), "its configuration: {output}");
    assert!(!output.contains("CARGO"), "the environment of the RIC is not that of its xApps: {output}");
    let [name] = &host.containers()[..] else { panic!("{:?}", host.containers()) };
    assert!(name.starts_with("ferric-xapp-") && name.ends_with("-one"), "{name}");
    let inspect = ["inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}"];
    let limits = Command::new(&host.engine).args(inspect).arg(name).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&limits.stdout).trim(), "33554432 500000000 20");
    // a running one is not taken over by the same name, and ends by SIGTERM
    host.stop("one");
    assert_eq!(host.containers(), Vec::<String>::new());
    // all end with the RIC
    host.run("one");
    host.output("one", "ready");
    host.manager = None;
    assert_eq!(host.containers(), Vec::<String>::new());
}

#[test]
fn container_that_ignores_sigterm_is_killed_and_one_that_crashes_is_started_again() {
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
    let xapps = [("stubborn", stubborn, ""), ("crash", "echo run; exit 7", "")];
    let Some(host) = Host::start("end", &xapps) else { return };
    host.run("stubborn");
    host.output("stubborn", "ready");
    host.run("crash");
    host.output("crash", "run\nrun\nrun\n");
    assert!(host.process("crash")["restarts"].as_u64() >= Some(2));
    eventually("the status is that of the container", || {
        host.process("crash")["reason"] == "it has ended: exit status: 7"
    });
    host.stop("crash");
    host.stop("stubborn");
    assert_eq!(host.containers(), Vec::<String>::new());
}

#[test]
fn container_that_a_killed_ric_has_left_is_replaced() {
    let Some(host) = Host::start("left", &[("left", "echo new; sleep 1000", "")]) else { return };
    let image = std::env::var("FERRIC_ENGINE_IMAGE").unwrap();
    host.run("left");
    host.output("left", "new");
    let names = host.containers();
    host.stop("left");
    // the engine removes it after its end
    eventually("its name is free", || {
        let all = Command::new(&host.engine).args(["ps", "--all", "--format", "{{.Names}}"]).output().unwrap();
        !String::from_utf8_lossy(&all.stdout).contains(&names[0])
    });
    let left = ["run", "--detach", "--name", &names[0], "--network", "host", &image, "/bin/sleep", "1000"];
    let started = Command::new(&host.engine).args(left).output().unwrap();
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    host.run("left");
    host.output("left", "new");
    assert_eq!(host.containers(), names);
    host.stop("left");
}

#[test]
fn image_that_is_not_there_is_reported() {
    let Some(host) = Host::start("none", &[("some", "exit 0", "")]) else { return };
    let text =
        format!("engine = [\"{}\"]\n[[xapp]]\nname = \"none\"\nimage = \"localhost/no-such-image:1\"\n", host.engine);
    let commands = Commands::parse(&text, &host.folder).unwrap();
    let config =
        ManagerConfig { commands: Some(commands), bus: None, rmr: None, log: LogBudget::new(1000), faults: None };
    let manager = Manager::start(config).unwrap();
    let server = rest::Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), manager.routes()).unwrap();
    let rest = Service { address: server.address() };
    let descriptor = json!({ "xapp_name": "none", "version": "1" });
    rest.request("POST", "/ric/v1/xapps", json!({ "xappName": "none", "descriptor": descriptor })).expect(201);
    eventually("the engine says why", || {
        rest.get("/ric/v1/xapps/none/log")["text"].as_str().unwrap().contains("no-such-image")
    });
}
