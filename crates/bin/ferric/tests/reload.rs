//! SIGHUP: what a running RIC reads again, and what it says about the rest.

mod program;

use std::net::SocketAddr;

use program::{File, Program};
use rustix::process::Signal;
use testkit::http::Client;

const TOKEN: &str = "0123456789abcdef-one";
const OTHER: &str = "0123456789abcdef-two";

fn status(rest: &str, token: &str) -> u16 {
    let address: SocketAddr = rest.strip_prefix("http://").unwrap().parse().unwrap();
    let mut client = Client::connect(address);
    let request = format!("GET /v1/nodes HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
    client.write(request.as_bytes());
    client.receive().status
}

fn write(file: &File, text: &str) {
    std::fs::write(file.name(), text).unwrap();
}

fn hang_up(ric: &mut Program) {
    ric.signal(Signal::HUP);
    ric.logs("SIGHUP: reading");
}

#[test]
fn hangup_reloads_log_level_and_tokens_and_names_what_needs_a_restart() {
    let tokens = File::new("reload.tokens", format!("read {TOKEN}\n").as_bytes());
    let base = format!(
        "e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\nrest = \"127.0.0.1:0\"\n[rest_access]\ntokens = \"{}\"\n",
        tokens.name()
    );
    let config = File::new("reload.toml", base.as_bytes());
    let mut ric = program::start(&["ric", "--config", config.name()]);
    let rest = ric.line("rest=");
    assert_eq!((status(&rest, TOKEN), status(&rest, OTHER)), (200, 401));

    write(&tokens, &format!("read {OTHER}\n"));
    write(&config, &format!("log = \"debug\"\nmax_nodes = 7\nloops = 2\n{base}"));
    hang_up(&mut ric);
    ric.logs("log level: debug");
    ric.logs("changed keys that need a restart: loops, max_nodes");
    ric.logs("configuration file: read");
    ric.logs("REST access files have changed: the new content is in force");
    assert_eq!((status(&rest, TOKEN), status(&rest, OTHER)), (401, 200));
    // debug lines are written now
    drop(std::net::TcpStream::connect(rest.strip_prefix("http://").unwrap()).unwrap());
    let e2 = ric.output.iter().find_map(|line| line.strip_prefix("e2=tcp://")).unwrap().to_owned();
    drop(std::net::TcpStream::connect(e2).unwrap());
    ric.logs("DEBUG");

    // a mistake changes nothing
    write(&config, "log = \"loud\"\n");
    write(&tokens, "read short\n");
    hang_up(&mut ric);
    ric.logs("configuration file: cannot be used; the previous content stays in force");
    ric.logs("REST access files have changed and cannot be used");
    assert_eq!(status(&rest, OTHER), 200);
    ric.stop();
}

#[test]
fn hangup_replaces_rights_and_closes_the_connections_that_lose_them() {
    let base = "e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\n";
    let config = File::new("rights.toml", base.as_bytes());
    let mut ric = program::start(&["ric", "--config", config.name()]);
    let e2 = ric.line("e2=");
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "1"]);
    ric.logs(" up: ");
    // rights that the node's link does not concern
    write(&config, &format!("{base}[[xapp_rights]]\ncertificate = \"kpm.example\"\n"));
    hang_up(&mut ric);
    ric.logs("the rights of nodes and xApps are replaced");
    ric.logs("closed=0");
    write(&config, &format!("{base}[[node_rights]]\ncertificate = \"gnb1.example\"\nnodes = [\"*\"]\n"));
    hang_up(&mut ric);
    ric.logs("closed=1");
    ric.logs("access rules need a certificate and the peer has none");
    // the node comes back with the rights
    write(&config, base);
    hang_up(&mut ric);
    ran.stop();
    let stderr = ric.stop().stderr;
    assert!(stderr.contains(" lost: "), "{stderr}");
}

#[test]
fn connections_on_other_loops_lose_their_rights_too() {
    let base = "e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\nloops = 3\n";
    let config = File::new("loops.toml", base.as_bytes());
    let mut ric = program::start(&["ric", "--config", config.name()]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "1"]);
    ric.logs(" up: ");
    // its first report shows that node and xApp are on the loop of the xApp
    let mut kpm = program::start(&["xapp", "kpm", "--ric", &xapp, "--period-ms", "100"]);
    kpm.line("");
    let rights = "[[xapp_rights]]\ncertificate = \"kpm.example\"\n[[node_rights]]\ncertificate = \"gnb1.example\"\nnodes = [\"*\"]\n";
    write(&config, &format!("{base}{rights}"));
    hang_up(&mut ric);
    ric.logs("closed=2");
    ric.logs(" lost: ");
    drop((kpm, ran));
    ric.stop();
}

#[test]
fn hangup_replaces_rules_on_conflicts_and_a_mistake_in_them_changes_nothing() {
    let rule = |parameter: &str| format!("[[rule]]\nparameter = \"{parameter}\"\npolicy = \"first\"\n");
    let rules = File::new("reload-conflicts.toml", rule("rc/2/6").as_bytes());
    let audit = File::new("reload-audit.log", b"");
    let base = format!(
        "e2 = [\"tcp://127.0.0.1:0\"]\nxapp = \"tcp://127.0.0.1:0\"\nrest = \"127.0.0.1:0\"\nconflicts = \"{}\"\naudit = \"{}\"\n",
        rules.name(),
        audit.name()
    );
    let config = File::new("conflicts-config.toml", base.as_bytes());
    let mut ric = program::start(&["ric", "--config", config.name()]);
    let address: SocketAddr = ric.line("rest=").strip_prefix("http://").unwrap().parse().unwrap();
    let rules_in_force =
        || Client::connect(address).request("GET", "/v1/conflicts", None).expect(200)["rules"].as_u64().unwrap();
    assert_eq!(rules_in_force(), 1);
    write(&rules, &(rule("rc/2/6") + &rule("slice/dl")));
    hang_up(&mut ric);
    ric.logs("rules on conflicts: replaced rules=2 kpis=0");
    assert_eq!(rules_in_force(), 2);
    write(&rules, &(rule("rc/2/6") + "[[rule]]\nparameter = \"slice/dl\"\npolicy = \"last\"\n"));
    hang_up(&mut ric);
    ric.logs("rules on conflicts: cannot be used; the previous ones stay in force");
    ric.logs("line 6");
    assert_eq!(rules_in_force(), 2);
    ric.stop();
    assert!(std::fs::read_to_string(audit.name()).unwrap().contains("\"event\":\"start\""));
}
