//! What needs a kernel of its own, in a guest: control groups of version 2, and a clock that jumps. As scripts/test runs it:
//!
//! ```sh
//! FERRIC_SCTP_GUEST=1 CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$PWD/crates/base/link/kernel-sctp/run \
//!     cargo test -p ferric-rnis-cli --test guest
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::eventually;
use testkit::http::{Client, Response, Service};
use testkit::program::{File, Program};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferric-rnis");
const INSTANCES: &str = "/rnis/v1/instances";
/// The period of a quota (cgroup v2, `cpu.max`), in microseconds.
const PERIOD_US: f64 = 20_000.0;

/// The guest is one: tests do not change it at the same time.
static GUEST: Mutex<()> = Mutex::new(());

/// The guest's tools; `None` outside of it.
struct Guest {
    busybox: String,
    _alone: MutexGuard<'static, ()>,
}

impl Guest {
    fn get() -> Option<Self> {
        let alone = GUEST.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(busybox) = std::env::var("FERRIC_GUEST_BUSYBOX") else {
            println!("NOT TESTED: this takes a kernel of its own; crates/base/link/kernel-sctp/run has one");
            return None;
        };
        Some(Guest { busybox, _alone: alone })
    }

    fn run(&self, arguments: &[&str]) {
        let status = Command::new(&self.busybox).args(arguments).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    }

    /// A group of cgroup v2 without processes.
    fn control_group(&self, name: &str) -> PathBuf {
        let root = Path::new("/run/cgroup");
        if !root.exists() {
            fs::create_dir(root).unwrap();
            self.run(&["mount", "-t", "cgroup2", "none", root.to_str().unwrap()]);
        }
        fs::write(root.join("cgroup.subtree_control"), "+cpu").unwrap();
        let group = root.join(name);
        fs::create_dir(&group).unwrap();
        group
    }

    /// Sets the clock of the system so many seconds forward, or back.
    fn move_clock(&self, seconds: i64) {
        let then = now_s().checked_add_signed(seconds).unwrap();
        self.run(&["date", "-s", &format!("@{then}")]);
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A value of `cpu.stat`.
fn accounted(group: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(group.join("cpu.stat")).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// The quota of `cpu.max`, in processors.
fn quota(group: &Path) -> f64 {
    let text = fs::read_to_string(group.join("cpu.max")).unwrap_or_default();
    let (quota, period) = text.trim().split_once(' ').unwrap_or(("0", "20000"));
    assert_eq!(period, "20000");
    quota.parse::<f64>().unwrap_or(f64::INFINITY) / PERIOD_US
}

fn address(url: &str) -> Service {
    let rest = url.trim_start_matches("http://").split('/').next().unwrap();
    Service { address: rest.parse().unwrap() }
}

#[test]
fn kernel_keeps_an_instance_to_its_share() {
    let Some(guest) = Guest::get() else { return };
    let folder = guest.control_group("ferric");
    let group = folder.join("rnis-a");
    let arguments = ["serve", "--instances", "--rest", "127.0.0.1:0", "--allow-load", "--cpu-budget", "1"];
    let arguments =
        [&arguments[..], &["--control-group", folder.to_str().unwrap(), "--", "--load-types", "1"]].concat();
    let mut program = Program::start(PROGRAM, &arguments);
    let host = address(&program.line("instances="));
    let definition =
        |load: u32, most: f64| json!({ "name": "a", "loadPerS": load, "minShare": 0.05, "maxShare": most });
    host.request("POST", INSTANCES, definition(1, 0.4)).expect(201);
    let path = format!("{INSTANCES}/a/state");
    let state = host.eventually(&path, |state| state["phase"] == "running" && state["enforcement"] == "controlGroup");
    let processes = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    assert_eq!(processes.trim(), state["processId"].to_string());
    let rnis = address(state["url"].as_str().unwrap());
    for _ in 0..50 {
        // callbacks that are refused cost processor time, too
        let body = json!({ "subscriptionType": "CellChangeSubscription", "callbackReference": "http://127.0.0.1:9/", "filterCriteriaAssocHo": {} });
        rnis.request("POST", "/rni/v2/subscriptions", body).expect(201);
    }
    let put = |load: u32, most: f64| host.request("PUT", &format!("{INSTANCES}/a"), definition(load, most)).expect(200);
    // raised by the load up to the most that it may have
    put(100_000, 0.4);
    eventually("the greatest share", || (quota(&group) - 0.4).abs() < 1e-3);
    // lowered at once, below what the kernel has saved for a burst
    put(100_000, 0.1);
    eventually("a lower quota", || (quota(&group) - 0.1).abs() < 1e-3);
    let throttled = accounted(&group, "throttled_usec ");
    eventually("an instance that the kernel stops", || accounted(&group, "throttled_usec ") > throttled);
    let (begun, used, stops) = (Instant::now(), accounted(&group, "usage_usec "), accounted(&group, "nr_throttled "));
    std::thread::sleep(Duration::from_secs(4));
    let used = (accounted(&group, "usage_usec ") - used) as f64 / begun.elapsed().as_micros() as f64;
    let stops = accounted(&group, "nr_throttled ") - stops;
    println!("share=0.1 used={used:.3} stops={stops}");
    assert!(stops > 10, "{stops} stops in four seconds");
    assert!(used < 0.13, "it uses {used} processors, and may use 0.1");
    let measured = host.eventually(&path, |state| state["measured"]["throttledCores"].as_f64() > Some(0.1));
    assert_eq!(measured["share"], 0.1);
    // a process that is killed is in the group again
    guest.run(&["kill", "-KILL", &state["processId"].to_string()]);
    host.eventually(&path, |again| {
        let (process, before) = (again["processId"].to_string(), state["processId"].to_string());
        let processes = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        again["processId"].is_u64() && process != before && processes.trim() == process
    });
    eventually("the quota of the new process", || (quota(&group) - 0.1).abs() < 1e-3);
    // nothing is left of an instance that is deleted, nor of those of a supervisor that ends
    host.request("DELETE", &format!("{INSTANCES}/a"), None).expect(204);
    eventually("the end of the group", || !group.exists());
    host.request("POST", INSTANCES, json!({ "name": "b", "loadPerS": 1 })).expect(201);
    eventually("the group of another instance", || folder.join("rnis-b").exists());
    program.stop();
    assert!(!folder.join("rnis-b").exists());
}

#[test]
fn clock_that_jumps_ends_no_subscription_and_expires_tokens() {
    let Some(guest) = Guest::get() else { return };
    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    let text = format!("[[tenant]]\nname = \"a\"\n[[tenant.client]]\nid = \"a-1\"\nsecret = \"{SECRET}\"\n");
    let tenants = File::new("tenants.toml", text.as_bytes());
    let mut program = Program::start_with_input(
        PROGRAM,
        &["--rest", "127.0.0.1:0", "--load", "1", "--tenants", tenants.name(), "--expiry-notice-s", "1"],
    );
    let rnis = address(&program.line("rnis="));
    let send = |method: &str, path: &str, fields: &str, body: &str| -> Response {
        let mut client = Client::connect(rnis.address);
        let length = body.len();
        client.write(
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{fields}content-length: {length}\r\n\r\n{body}")
                .as_bytes(),
        );
        client.receive()
    };
    let token = || {
        let form = format!("grant_type=client_credentials&client_id=a-1&client_secret={SECRET}");
        let answer = send("POST", "/oauth2/token", "content-type: application/x-www-form-urlencoded\r\n", &form);
        answer.expect(200)["access_token"].as_str().unwrap().to_owned()
    };
    let request = |token: &str, method: &str, path: &str, body: &Value| {
        let fields = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(method, path, &fields, &body)
    };
    let list = "/rni/v2/subscriptions";
    let body = |lifetime_s: u64| {
        json!({
            "subscriptionType": "CellChangeSubscription", "callbackReference": "http://127.0.0.1:9/", "filterCriteriaAssocHo": {},
            "expiryDeadline": { "seconds": now_s() + lifetime_s, "nanoSeconds": 0 },
        })
    };
    let first = token();
    let created = request(&first, "POST", list, &body(1800));
    created.expect(201);
    let location = created.header("location").unwrap();
    let path = location[location.find("/rni/").unwrap()..].to_owned();
    // two hours forward: the deadline is over by the clock, and not by the time that has passed
    guest.move_clock(7200);
    request(&first, "GET", &path, &Value::Null).expect_problem(401, &["expired"]);
    let second = token();
    request(&second, "GET", &path, &Value::Null).expect(200);
    // what is subscribed to now is measured by the new clock
    let short = request(&second, "POST", list, &body(3));
    short.expect(201);
    request(&second, "POST", list, &json!({
        "subscriptionType": "CellChangeSubscription", "callbackReference": "http://127.0.0.1:9/", "filterCriteriaAssocHo": {},
        "expiryDeadline": { "seconds": now_s() - 3600, "nanoSeconds": 0 },
    }))
    .expect_problem(422, &["expiryDeadline"]);
    let location = short.header("location").unwrap();
    let short = location[location.find("/rni/").unwrap()..].to_owned();
    eventually("the end of the short subscription", || request(&second, "GET", &short, &Value::Null).status == 404);
    request(&second, "GET", &path, &Value::Null).expect(200);
    // back: a token of the future is refused, the subscription stays
    guest.move_clock(-7200);
    request(&second, "GET", &path, &Value::Null).expect_problem(401, &["in the future"]);
    let third = token();
    request(&third, "GET", &path, &Value::Null).expect(200);
    request(&third, "DELETE", &path, &Value::Null).expect(204);
    drop(program);
}
