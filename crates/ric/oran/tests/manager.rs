//! Management of xApps by REST, with processes of this host.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use log_lines::LogBudget;
use oran::manager::{Bus, Commands, FaultObserver, Manager, ManagerConfig};
use oran::messaging::{Health, NamedXapp};
use rest::{Operation, Response, Route, ServerConfig};
use serde_json::{Value, json};
use testkit::eventually;
use testkit::http::Service;

/// What management has told messaging: routes, and endpoints to watch.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<(Vec<String>, Vec<String>)>>);

impl Bus for Told {
    fn set_routes(&self, records: Vec<String>) {
        self.0.lock().unwrap().0 = records;
    }

    fn watch(&self, endpoints: Vec<String>) {
        self.0.lock().unwrap().1 = endpoints;
    }

    fn set_named(&self, _: Vec<NamedXapp>) {}

    fn health(&self, _: &str) -> Option<Health> {
        None
    }
}

/// The faults that management has reported: names, and why.
type Faults = Arc<Mutex<Vec<(String, Option<String>)>>>;

struct Host {
    rest: Service,
    _server: rest::Server,
    manager: Option<Manager>,
    told: Told,
    faults: Faults,
    folder: PathBuf,
}

impl Host {
    /// A host with the commands of a file, in which `$FOLDER` is its folder.
    fn start(name: &str, commands: Option<&str>) -> Host {
        let folder = std::env::temp_dir().join(format!("ferric-manager-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = |text: &str| format!("state_folder = \"state\"\n{text}");
        let commands = commands.map(|commands| Commands::parse(&text(commands), &folder).unwrap());
        let told = Told::default();
        let rmr: SocketAddr = "127.0.0.1:4561".parse().unwrap();
        let log = LogBudget::new(1000);
        let faults = Faults::default();
        let to = Arc::clone(&faults);
        let observer: FaultObserver =
            Box::new(move |name, why| to.lock().unwrap().push((name.to_owned(), why.map(str::to_owned))));
        let config =
            ManagerConfig { commands, bus: Some(Box::new(told.clone())), rmr: Some(rmr), log, faults: Some(observer) };
        let manager = Manager::start(config).unwrap();
        let config = ServerConfig::new("127.0.0.1:0".parse().unwrap());
        let server = rest::Server::start(config, manager.routes()).unwrap();
        let rest = Service { address: server.address() };
        Host { rest, _server: server, manager: Some(manager), told, faults, folder }
    }

    fn instance(&self, name: &str) -> Value {
        self.rest.get(&format!("/ric/v1/xapps/{name}"))["instances"][0].clone()
    }

    /// Waits until the output of an xApp has a text, and returns all of it.
    #[track_caller]
    fn output(&self, name: &str, text: &str) -> String {
        let mut output = String::new();
        eventually(text, || {
            output = self.rest.get(&format!("/ric/v1/xapps/{name}/log"))["text"].as_str().unwrap().to_owned();
            output.contains(text)
        });
        output
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.manager = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn descriptor(name: &str, port: u16) -> Value {
    json!({
        "xapp_name": name,
        "version": "1.2.3",
        "messaging": { "ports": [
            { "name": "http", "container": name, "port": 8080 },
            {
                "name": "rmr-data", "container": name, "port": port,
                "txMessages": ["RIC_SUB_REQ"], "rxMessages": ["30000"], "policies": [20008],
            },
        ] },
        "controls": { "threshold": 3 },
    })
}

fn deployment(name: &str, port: u16) -> Value {
    json!({ "xappName": name, "descriptor": descriptor(name, port) })
}

fn exists(process: u64) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

const SHELL: &str = "[[xapp]]\nname = \"hw\"\ncommand = [\"/bin/sh\", \"-c\", \"env; cat $CONFIG_FILE; while sleep 0.05; do :; done\"]\n\
                     environment = [\"OWN=value\"]\n";

#[test]
fn xapp_is_started_listed_configured_and_stopped() {
    let host = Host::start("life", Some(SHELL));
    assert_eq!(host.rest.get("/ric/v1/health/alive"), json!({}));
    assert_eq!(host.rest.get("/ric/v1/health/ready"), json!({}));
    assert_eq!(host.rest.get("/ric/v1/xapps/list"), json!(["hw"]));
    assert_eq!(host.rest.get("/ric/v1/xapps"), json!([]));
    let mut request = deployment("hw", 4560);
    request["controlsSchema"] = json!({ "properties": { "threshold": { "type": "integer", "maximum": 5 } } });
    let started = host.rest.request("POST", "/ric/v1/xapps", request).expect(201);
    assert_eq!((&started["status"], &started["version"]), (&json!("deployed"), &json!("1.2.3")));
    let process = started["instances"][0]["process"]["id"].as_u64().unwrap();
    assert!(exists(process));
    let instance = host.rest.get("/ric/v1/xapps/hw/instances/hw");
    assert_eq!((&instance["port"], &instance["policies"]), (&json!(4560), &json!([20008])));
    assert_eq!(
        *host.told.0.lock().unwrap(),
        (
            vec!["mse|20010|20008|127.0.0.1:4560".to_owned(), "mse|30000|-1|127.0.0.1:4560".to_owned()],
            vec!["127.0.0.1:4560".to_owned()],
        )
    );
    let output = host.output("hw", "\"threshold\": 3");
    for variable in
        ["RMR_RTG_SVC=127.0.0.1:4561", "HOSTNAME=hw", "OWN=value", "SERVICE_RICXAPP_HW_RMR_PORT=tcp://127.0.0.1:4560"]
    {
        assert!(output.lines().any(|line| line == variable), "{variable}: {output}");
    }
    assert!(!output.contains("CARGO"), "the environment of the RIC is not that of its xApps: {output}");
    let file = output.lines().find_map(|line| line.strip_prefix("CONFIG_FILE=")).unwrap().to_owned();
    // a change is validated, and written to the file of the xApp
    let mut config = descriptor("hw", 4560);
    config["controls"]["threshold"] = json!(6);
    let change = |config: &Value| {
        let body = json!({ "metadata": { "xappName": "hw", "namespace": "ricxapp" }, "config": config });
        host.rest.request("PUT", "/ric/v1/config", body)
    };
    let mistakes = change(&config).expect(422);
    assert_eq!(mistakes[0]["field"], "/controls/threshold", "{mistakes}");
    config["controls"]["threshold"] = json!(4);
    config["messaging"]["ports"][1]["policies"] = json!([20009]);
    assert_eq!(change(&config).expect(200), json!([]));
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap(), config);
    assert_eq!(host.rest.get("/ric/v1/config")[0]["config"], config);
    assert_eq!(host.rest.get("/ric/v1/config/controls")[0]["config"], json!({ "threshold": 4 }));
    assert!(host.told.0.lock().unwrap().0.contains(&"mse|20010|20009|127.0.0.1:4560".to_owned()));
    for (at, change_of) in
        [("/xapp_name", json!({ "xapp_name": "other", "version": "1" })), ("/messaging/ports", descriptor("hw", 1))]
    {
        assert_eq!(change(&change_of).expect(422)[0]["field"], at);
    }
    host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4560)).expect_problem(409, &["runs already"]);
    assert_eq!(host.rest.request("DELETE", "/ric/v1/xapps/hw", None).status, 204);
    assert!(!exists(process) && !Path::new(&file).exists());
    assert_eq!(host.rest.get("/ric/v1/xapps"), json!([]));
    assert_eq!(*host.told.0.lock().unwrap(), (vec![], vec![]));
    host.rest.request("DELETE", "/ric/v1/xapps/hw", None).expect_problem(404, &["has not started an xApp `hw`"]);
    host.rest.request("GET", "/ric/v1/xapps/hw/log", None).expect_problem(404, &["hw"]);
}

#[test]
fn only_commands_of_the_file_are_started() {
    let without = Host::start("without", None);
    without.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4560)).expect_problem(403, &["--xapp-commands"]);
    assert_eq!(without.rest.get("/ric/v1/xapps/list"), json!([]));
    let more = "[[xapp]]\nname = \"more\"\ncommand = [\"/bin/sleep\"]\nextra_arguments = true\n\
                [[xapp]]\nname = \"none\"\ncommand = [\"/no/such/program\"]\n\
                [[xapp]]\nname = \"text\"\ncommand = [\"/etc/passwd\"]\n";
    let host = Host::start("commands", Some(&format!("{SHELL}{more}")));
    let with = |name: &str, port: u16, command: Value| {
        let mut request = deployment(name, port);
        request["command"] = command;
        host.rest.request("POST", "/ric/v1/xapps", request)
    };
    host.rest.request("POST", "/ric/v1/xapps", deployment("other", 4560)).expect_problem(403, &["no xApp `other`"]);
    for command in [json!(["/bin/rm", "-r", "/"]), json!([]), json!(["/bin/sh", "-c", "id"]), json!(["/bin/sh"])] {
        with("hw", 4560, command).expect_problem(403, &["permits another command"]);
    }
    with("more", 4561, json!(["/bin/sleep", "a\0b"])).expect_problem(403, &["octet 0"]);
    with("more", 4561, json!(vec!["/bin/sleep"; 1000])).expect_problem(403, &["at most 256"]);
    with("more", 4561, json!(["/bin/sleep", "1000"])).expect(201);
    with("none", 4562, Value::Null).expect_problem(422, &["/no/such/program: No such file"]);
    with("text", 4562, Value::Null).expect_problem(422, &["not an executable file"]);
    // a port belongs to one xApp
    host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4561)).expect_problem(409, &["`more` has the port"]);
    let names = host.rest.get("/ric/v1/xapps");
    assert_eq!((names.as_array().unwrap().len(), &names[0]["name"]), (1, &json!("more")));
}

#[test]
fn wrong_descriptor_is_refused_with_its_mistakes() {
    let host = Host::start("descriptors", Some(SHELL));
    let refused = |change: &dyn Fn(&mut Value), pieces: &[&str]| {
        let mut request = deployment("hw", 4560);
        change(&mut request);
        host.rest.request("POST", "/ric/v1/xapps", request).expect_problem(422, pieces)
    };
    let problem = refused(
        &|request| request["descriptor"]["messaging"]["ports"][1]["port"] = json!(0),
        &["/messaging/ports/1/port"],
    );
    assert_eq!(problem["mistakes"][0]["at"], "/messaging/ports/1/port");
    refused(&|request| request["descriptor"] = json!({}), &["version"]);
    refused(&|request| request["descriptor"] = Value::Null, &["has no descriptor"]);
    refused(&|request| request["descriptor"]["xapp_name"] = json!("other"), &["that of `other`"]);
    refused(&|request| request["descriptor"]["xapp_name"] = json!("../../etc"), &["/xapp_name"]);
    refused(&|request| request["controlsSchema"] = json!({ "required": ["x"] }), &["/controls"]);
    refused(
        &|request| request["controlsSchema"] = json!({ "$ref": "http://other.example" }),
        &["not a part of the schema"],
    );
    refused(&|request| request["xapName"] = json!("hw"), &["did you mean `xappName`?"]);
    assert_eq!(host.rest.get("/ric/v1/xapps"), json!([]));
}

#[test]
fn xapp_that_crashes_is_started_again_and_its_output_stays() {
    let script = "[[xapp]]\nname = \"hw\"\ncommand = [\"/bin/sh\", \"-c\", \"echo run; exit 7\"]\n";
    let host = Host::start("crash", Some(script));
    host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4560)).expect(201);
    host.output("hw", "run\nrun\nrun\n");
    let instance = host.instance("hw");
    assert!(instance["process"]["restarts"].as_u64().unwrap() >= 2, "{instance}");
    eventually("the end is reported", || host.instance("hw")["status"] == "crashLoopBackOff");
    assert_eq!(host.instance("hw")["process"]["reason"], "it has ended: exit status: 7");
    assert_eq!(host.rest.request("DELETE", "/ric/v1/xapps/hw", None).status, 204);
    assert_eq!(host.rest.get("/ric/v1/xapps"), json!([]));
}

#[test]
fn xapp_that_has_ended_is_listed_without_routes_and_can_be_started_again() {
    let script = "[[xapp]]\nname = \"hw\"\ncommand = [\"/bin/sh\", \"-c\", \"echo run\"]\n";
    let host = Host::start("ended", Some(script));
    for _ in 0..2 {
        host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4560)).expect(201);
        eventually("it has ended", || host.instance("hw")["status"] == "completed");
        eventually("it has no routes", || *host.told.0.lock().unwrap() == (vec![], vec![]));
        assert_eq!(host.rest.get("/ric/v1/xapps/hw")["status"], "failed");
        // another thread reads what it has written before its end
        assert_eq!(host.output("hw", "run\n"), "run\n");
    }
    assert_eq!(host.rest.request("DELETE", "/ric/v1/xapps/hw", None).status, 204);
}

#[test]
fn xapps_that_start_with_the_ric_end_with_it() {
    let name = format!("ferric-manager-start-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("hw.json"), descriptor("hw", 4560).to_string()).unwrap();
    // a RIC that was killed, with the same process id, as in a container
    let left = folder.join(format!("state/ferric-xapps-{}", std::process::id()));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(left.join("old")).unwrap();
    let host =
        Host::start("start", Some(&format!("log_folder = \"logs\"\n{SHELL}descriptor = \"hw.json\"\nstart = true\n")));
    host.output("hw", "\"threshold\": 3");
    let process = host.instance("hw")["process"]["id"].as_u64().unwrap();
    let log = std::fs::read_to_string(host.folder.join("logs/hw.log")).unwrap();
    assert!(log.contains("HOSTNAME=hw"), "{log}");
    let state = host.folder.join("state");
    assert_eq!(std::fs::read_dir(&state).unwrap().count(), 1);
    let mut host = host;
    host.manager = None;
    assert!(!exists(process));
    assert_eq!(std::fs::read_dir(&state).unwrap().count(), 0, "nothing is left");
}

#[test]
fn folder_of_somebody_else_is_refused() {
    let folder = std::env::temp_dir().join(format!("ferric-manager-other-{}", std::process::id()));
    let state = folder.join(format!("state/ferric-xapps-{}", std::process::id()));
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(&state).unwrap();
    let commands = Commands::parse(&format!("state_folder = \"state\"\n{SHELL}"), &folder).unwrap();
    let log = LogBudget::new(1000);
    let error = Manager::start(ManagerConfig { commands: Some(commands), bus: None, rmr: None, log, faults: None })
        .unwrap_err();
    assert!(error.to_string().contains("ferric-xapps-"), "{error}");
    assert!(state.is_dir(), "it is left as it was");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn limits_without_the_right_are_named() {
    let limited = format!("cgroup = \"/proc/no-cgroup\"\n{SHELL}max_memory_mib = 64\n");
    let host = Host::start("limits", Some(&limited));
    let started = host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4560)).expect(201);
    let why = started["instances"][0]["process"]["unlimited"].as_str().unwrap_or_else(|| panic!("{started}"));
    assert!(why.contains("cannot create /proc/no-cgroup") && why.contains("Delegate=yes"), "{why}");
}

/// With files in place of a cgroup: what the kernel would read.
#[test]
fn process_enters_its_cgroup_before_it_becomes_the_program() {
    let limited =
        format!("cgroup = \"cgroup\"\n{SHELL}max_memory_mib = 64\nmax_cpu_percent = 50\nmax_processes = 20\n");
    let host = Host::start("cgroup", Some(&limited));
    let cgroup = host.folder.join("cgroup");
    std::fs::create_dir(&cgroup).unwrap();
    std::fs::write(cgroup.join("cgroup.controllers"), "cpuset cpu memory pids\n").unwrap();
    let started = host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4560)).expect(201);
    let process = &started["instances"][0]["process"];
    assert_eq!(process["unlimited"], Value::Null, "{started}");
    host.output("hw", "\"threshold\": 3");
    let read = |file: &str| std::fs::read_to_string(cgroup.join(file)).unwrap();
    assert_eq!(read("hw/cgroup.procs"), format!("{}\n", process["id"]));
    assert_eq!(read("cgroup.subtree_control"), "+memory +cpu +pids");
    let limits = ["hw/memory.max", "hw/cpu.max", "hw/pids.max"].map(read);
    assert_eq!(limits, ["67108864", "50000 100000", "20"]);
    assert_eq!(host.rest.request("DELETE", "/ric/v1/xapps/hw", None).status, 204);
    assert_eq!(read("hw/cgroup.kill"), "1");
}

#[test]
fn xapp_registers_itself_and_deregisters() {
    let host = Host::start("register", Some(SHELL));
    let config = json!({ "name": "ts", "rmr": { "rxMessages": ["30002"], "txMessages": [], "policies": [20008] } });
    let registration = |name: &str, rmr: &str| {
        json!({
            "appName": name, "appVersion": "1.0.0", "configPath": "", "appInstanceName": "one",
            "httpEndpoint": "10.0.0.7:8080", "rmrEndpoint": rmr, "config": config.to_string(),
        })
    };
    let register = |body: Value| host.rest.request("POST", "/ric/v1/register", body);
    register(registration("ts", "10.0.0.7:4560")).expect(201);
    let expected = ["mse|20010|20008|10.0.0.7:4560", "mse|30002|-1|10.0.0.7:4560"];
    assert_eq!(host.told.0.lock().unwrap().0, expected);
    let instance = host.instance("ts");
    assert_eq!(
        (&instance["name"], &instance["ip"], &instance["process"]),
        (&json!("one"), &json!("10.0.0.7"), &Value::Null)
    );
    // the same instance elsewhere is the same one
    register(registration("ts", "10.0.0.8:4560")).expect(201);
    assert_eq!(host.told.0.lock().unwrap().0[0], "mse|20010|20008|10.0.0.8:4560");
    let wrong = |at: &str, value: Value, piece: &str| {
        let mut body = registration("ts", "10.0.0.7:4560");
        body[at] = value;
        register(body).expect_problem(400, &[piece]);
    };
    wrong("rmrEndpoint", json!("10.0.0.7"), "is not HOST:PORT");
    wrong("rmrEndpoint", json!("x|y:1"), "is not HOST:PORT");
    wrong("httpEndpoint", json!(""), "is not HOST:PORT");
    wrong("appName", json!("a b"), "graphic characters");
    wrong("config", json!("{"), "config: ");
    wrong("config", json!("x".repeat(70_000)), "65536 octets");
    // what this RIC has started keeps its name
    host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4560)).expect(201);
    register(registration("hw", "10.0.0.9:4560")).expect_problem(400, &["at another endpoint has another name"]);
    register(registration("hw", "127.0.0.1:4560")).expect(201);
    host.rest.request("POST", "/ric/v1/xapps", deployment("ts", 4570)).expect_problem(403, &["no xApp `ts`"]);
    let deregister = |name: &str| {
        host.rest.request("POST", "/ric/v1/deregister", json!({ "appName": name, "appInstanceName": "one" }))
    };
    assert_eq!(deregister("ts").status, 204);
    deregister("ts").expect_problem(400, &["there is no xApp `ts`"]);
    assert_eq!(
        host.told.0.lock().unwrap().0,
        ["mse|20010|20008|127.0.0.1:4560", "mse|30000|-1|127.0.0.1:4560", "mse|30002|-1|127.0.0.1:4560"]
    );
}

/// The framework for Go registers without a configuration, and serves it.
#[test]
fn configuration_of_a_registration_is_read_where_the_xapp_serves_it() {
    let log = testkit::log::global();
    let host = Host::start("served", None);
    let serve = |path: &'static str, answer: Value| {
        let operation = Operation::get(path, path, "A configuration").returns::<Value>("It.");
        Route::new(operation, move |_| Ok(Response::ok(answer.clone())))
    };
    let config = json!({ "rmr": { "rxMessages": ["30002"], "txMessages": [], "policies": [20008] } });
    let list = json!([{ "metadata": { "xappName": "ts" }, "config": config.to_string() }]);
    let served = ServerConfig::new("127.0.0.1:0".parse().unwrap());
    let routes = vec![serve("/ric/v1/config", list), serve("/other", json!({ "config": {} }))];
    let served = rest::Server::start(served, routes).unwrap();
    let register = |instance: &str, path: &str| {
        let body = json!({
            "appName": "ts", "appVersion": "1.0.0", "configPath": path, "appInstanceName": instance,
            "httpEndpoint": served.address().to_string(), "rmrEndpoint": format!("{instance}:4560"),
        });
        host.rest.request("POST", "/ric/v1/register", body)
    };
    let told = || host.told.0.lock().unwrap().0.clone();
    register("one", "/ric/v1/config").expect(201);
    eventually("it has routes", || told() == ["mse|20010|20008|one:4560", "mse|30002|-1|one:4560"]);
    register("two", "/other").expect(201);
    eventually("why another has none is logged", || {
        log.text().contains("xApp ts (two) gets no routes")
            && log.text().contains("the answer is no list of configurations")
    });
    register("three", "").expect(201);
    register("four", "no path").expect_problem(400, &["configPath: a path begins with /"]);
    assert_eq!(told(), ["mse|20010|20008|one:4560", "mse|30002|-1|one:4560"]);
}

#[test]
fn fault_of_an_xapp_is_reported_until_it_runs_again_or_is_stopped() {
    let commands = "[[xapp]]\nname = \"hw\"\ncommand = [\"/bin/sh\", \"-c\", \"test -e again && exec sleep 1000; touch again; exit 3\"]\n";
    let host = Host::start("faults", Some(commands));
    host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4570)).expect(201);
    let faults = || host.faults.lock().unwrap().clone();
    eventually("it runs again", || faults().len() == 2);
    let why = Some("it has ended: exit status: 3".to_owned());
    assert_eq!(faults(), [("hw".to_owned(), why), ("hw".to_owned(), None)]);
    host.rest.request("DELETE", "/ric/v1/xapps/hw", None).expect(204);
    assert_eq!(faults().len(), 2, "an end by request is no fault");
}

#[test]
fn level_of_the_log_is_in_the_file_that_the_xapp_watches() {
    let commands = "[[xapp]]\nname = \"hw\"\n\
                    command = [\"/bin/sh\", \"-c\", \"while sleep 0.02; do read level < $CONFIG_MAP_NAME; echo got $level; done\"]\n";
    let host = Host::start("level", Some(commands));
    host.rest.request("POST", "/ric/v1/xapps", deployment("hw", 4571)).expect(201);
    host.output("hw", "got log-level: ERROR");
    let path = "/ric/v1/xapps/hw/log-level";
    assert_eq!(host.rest.get(path), json!({ "level": "error" }));
    for (level, line) in [("debug", "got log-level: DEBUG"), ("info", "got log-level: INFO")] {
        assert_eq!(host.rest.request("PUT", path, json!({ "level": level })).expect(200), json!({ "level": level }));
        host.output("hw", line);
    }
    host.rest.request("PUT", path, json!({ "level": "loud" })).expect_problem(422, &["loud"]);
    host.rest
        .request("PUT", "/ric/v1/xapps/other/log-level", json!({ "level": "info" }))
        .expect_problem(404, &["other"]);
    assert_eq!(host.rest.get(path), json!({ "level": "info" }));
}
