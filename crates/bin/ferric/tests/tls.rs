//! The commands of `docs/tls.md`: certificates, a RIC with rights, a node and xApps.

mod program;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use program::run;

/// A folder that no other test has; removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ferric-tls-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn sh(&self, commands: &str) {
        let ran = Command::new("sh").args(["-e", "-c", commands]).current_dir(&self.0).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    /// The options for a certificate.
    fn options(&self, name: &str) -> [String; 6] {
        let file = |suffix: &str| self.path(&format!("{name}.{suffix}"));
        ["--tls-ca".into(), self.path("ca.pem"), "--tls-cert".into(), file("pem"), "--tls-key".into(), file("key")]
    }

    fn run(&self, arguments: &[&str], name: &str) -> program::Outcome {
        let options = self.options(name);
        let all: Vec<&str> = arguments.iter().copied().chain(options.iter().map(String::as_str)).collect();
        run(&all)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The first code block of a page in a language.
fn block(page: &str, language: &str) -> String {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

const PAGE: &str = include_str!("../../../../docs/tls.md");

/// The page's certificates, and one for `client`; `None` without openssl.
fn certificates(client: &str) -> Option<Folder> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("no openssl here: docs/tls.md is not tested");
        return None;
    }
    let folder = Folder::new();
    // Without the name, so that a wrong one can be tried. A client's certificate is made as the xApp's.
    let commands = block(PAGE, "sh").replace("DNS:localhost,", "");
    folder.sh(&commands);
    let lines: Vec<&str> = commands.lines().collect();
    let (settings, last_two) = (lines[0], lines[lines.len() - 2..].join("\n"));
    folder.sh(&format!("{settings}\n{}", last_two.replace("kpm", client)));
    Some(folder)
}

#[test]
fn tls_page_is_correct() {
    let Some(folder) = certificates("kpm") else { return };
    let page = PAGE;

    let (_, rights) = page.split_once("## Access rules").unwrap();
    let files = ["ca.pem", "ric.pem", "ric.key"].map(|name| folder.path(name));
    let [ca, certificate, key] = files;
    let config = format!(
        "e2 = [\"tls://127.0.0.1:0\"]\nxapp = \"tls://127.0.0.1:0\"\n\
         [tls]\nca = \"{ca}\"\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n{}",
        block(rights, "toml")
    );
    std::fs::write(folder.path("ric.toml"), config).unwrap();
    let mut ric = program::start(&["ric", "--config", &folder.path("ric.toml")]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));

    let options = folder.options("gnb1");
    let mut ran = vec!["ran", "--ric", &e2, "--ues", "2"];
    ran.extend(options.iter().map(String::as_str));
    let ran = program::start(&ran);
    ric.logs("node authenticated");
    ric.logs(" up: ");

    // an xApp sees only the functions of its rights
    let kpm = ["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--seconds", "1", "--json"];
    let outcome = folder.run(&kpm, "kpm");
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("DRB.UEThpDl"), "{}\n{}", outcome.stdout, outcome.stderr);
    let ping = ["xapp", "ping", "--ric", &xapp, "--period-ms", "100", "--seconds", "1"];
    let outcome = folder.run(&ping, "kpm");
    assert!(
        outcome.stderr.contains("does not offer the service model of pings"),
        "{}\n{}",
        outcome.stdout,
        outcome.stderr
    );
    // the node's certificate is valid, but has no rights as an xApp
    folder.run(&ping, "gnb1").complains(1, &["contain no entry for our certificate"]);
    ric.logs("no access rule for the peer's certificate");

    run(&ping).complains(1, &["a tls:// address takes a CA, a certificate and a key", "--tls-ca"]);
    let half = run(&[&ping[..], &["--tls-ca", "ca.pem"]].concat());
    half.complains(2, &["--tls-cert"]);
    folder.run(&ping, "missing").complains(1, &["cannot read the certificate file", "missing.pem"]);
    ran.stop();

    // the probe's id differs from its certificate; then the RIC's certificate is for another name
    let output = folder.run(&["doctor", "--ric", &e2, "--patience", "120"], "gnb1").stdout;
    assert!(output.contains("rejects an E2 Setup") && output.contains("check its log"), "{output}");
    let other_name = e2.replace("127.0.0.1", "localhost");
    let output = folder.run(&["doctor", "--ric", &other_name, "--patience", "120"], "gnb1").stdout;
    assert!(output.contains("connect to a name in the certificate"), "{output}");
    ric.stop();
}

/// REST with the access control of `docs/slicing-controller.md`, and the traffic xApp of `docs/traffic-controller.md`.
#[test]
fn rest_over_tls_with_tokens() {
    let Some(folder) = certificates("tc") else { return };
    let (page, traffic) = (
        include_str!("../../../../docs/slicing-controller.md"),
        include_str!("../../../../docs/traffic-controller.md"),
    );
    let (_, access) = page.split_once("## Access control").unwrap();
    let commands = block(access, "sh");
    let (make, start) = commands.split_once("ferric ").unwrap();
    folder.sh(&format!(
        "{make}\nsed -n 's/^control //p' rest.tokens > tc.token; cp ric.pem rest.pem; cp ric.key rest.key"
    ));
    folder.sh("echo read 0123456789abcdef-read >> rest.tokens; echo 0123456789abcdef-read > read.token");
    folder.sh("echo 0123456789abcdef-else > else.token");
    let rest = ["0.0.0.0:8443", "rest.pem", "rest.key", "rest.tokens"];
    let words: Vec<String> = start
        .split_whitespace()
        .map(|word| match word {
            "0.0.0.0:8443" => "127.0.0.1:0".to_owned(),
            word if rest.contains(&word) => folder.path(word),
            word => word.to_owned(),
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ca = folder.path("ca.pem");
    let client_ca = ["--rest-client-ca", &ca];
    let any = ["--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"];
    let mut ric = program::start(&[&words[..], &client_ca, &any].concat());
    let (e2, xapp, url) = (ric.line("e2="), ric.line("xapp="), ric.line("rest="));
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "32"]);

    let (_, line) = traffic.split_once("ferric xapp tc --rest https://").unwrap();
    let options: Vec<String> = line.lines().next().unwrap().split_whitespace().skip(1).map(str::to_owned).collect();
    let options = options.iter().filter(|word| *word != "…");
    let options: Vec<String> =
        options.map(|word| if word.starts_with("--") { word.clone() } else { folder.path(word) }).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let tc = ["xapp", "tc", "--protocol", "udp", "--limit-ms", "1", "--ric", &xapp, "--rest", &url];
    let mut watching = program::start(&[&tc[..], &options].concat());
    watching.line("node=gnb-00101-e00 protected");
    watching.stop();

    // a read-only token, an unknown token, no token
    let refused = |token: &[&str], why: &str| {
        let mut undoing = program::start(&[&tc[..], &options[..2], &options[4..], &["--undo"], token].concat());
        undoing.line(&format!("node=gnb-00101-e00 refused: remove the pacer: {why}"));
        assert_eq!(undoing.end().code(), Some(1));
    };
    refused(
        &["--rest-token", &folder.path("read.token")],
        "this token has the role `read`; the request needs `control`",
    );
    refused(&["--rest-token", &folder.path("else.token")], "unknown bearer token");
    refused(&[], "no bearer token");
    ric.logs(" request refused: this token has the role `read`; the request needs `control`");

    // the RIC's certificate is for other names: the token is not sent
    let other_name = url.replace("127.0.0.1", "localhost");
    let tc = ["xapp", "tc", "--protocol", "udp", "--limit-ms", "1", "--ric", &xapp, "--rest", &other_name, "--undo"];
    let mut deceived = program::start(&[&tc[..], &options].concat());
    deceived.line("node=gnb-00101-e00 no answer to three controls");
    deceived.end().complains(1, &["no response to the control", "not valid for name"]);
    ran.stop();
    ric.stop();
}
