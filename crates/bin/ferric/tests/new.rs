//! `ferric new xapp`: projects that are made, and run.

mod program;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use program::FERRIC;

/// A folder for projects; removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("new-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Runs `ferric new xapp` here.
    fn make(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(FERRIC);
        command.args(["new", "xapp"]).args(arguments).current_dir(&self.0).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn makes(&self, arguments: &[&str]) {
        let output = self.make(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[track_caller]
    fn refuses(&self, arguments: &[&str], code: i32, pieces: &[&str]) {
        let before = self.names();
        let output = self.make(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*output.stdout), (Some(code), &b""[..]), "{stderr}");
        for piece in pieces {
            assert!(stderr.contains(piece), "missing: {piece}\n{stderr}");
        }
        assert_eq!(self.names(), before, "something is left");
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

#[test]
fn bad_projects_are_refused_and_leave_nothing() {
    let folder = Folder::new("bad");
    let python = |name: &'static str| [name, "--lang", "python"];
    folder.refuses(&python(""), 1, &["cannot be empty"]);
    folder.refuses(&python("../x"), 1, &["path separator"]);
    folder.refuses(&python("/tmp/x"), 1, &["path separator"]);
    folder.refuses(&python("lambda"), 1, &["`lambda`", "keyword or a library of Python"]);
    folder.refuses(&python("Möwe"), 1, &["lower-case letters"]);
    let long = "x".repeat(65);
    folder.refuses(&[&long, "--lang", "python"], 1, &["at most 64 octets, not 65"]);
    folder.refuses(&["x", "--lang", "cobol"], 2, &["python"]);
    folder.refuses(&["x"], 2, &["--lang"]);
    folder.refuses(&["x", "--lang", "rust"], 2, &["--sdk <FOLDER|URL>"]);
    folder.refuses(&["x", "--lang", "rust", "--sdk", "/nowhere"], 1, &["--sdk /nowhere: no such folder"]);
    folder.refuses(&["x", "--lang", "rust", "--sdk", "."], 1, &["does not have ferric's sources"]);
    folder.refuses(&["x", "--lang", "python", "--sdk", "."], 1, &["--sdk is for --lang rust only"]);
    std::fs::create_dir(folder.0.join("taken")).unwrap();
    std::fs::write(folder.0.join("file"), "").unwrap();
    folder.refuses(&python("taken"), 1, &["taken exists already: give another name"]);
    folder.refuses(&python("file"), 1, &["file exists already"]);
    // a folder that nothing can be written to, unless this user may write everywhere
    let output =
        Command::new(FERRIC).args(["new", "xapp", "x", "--lang", "python"]).current_dir("/proc").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("cannot make a folder for x here"), "{stderr}");
}

#[test]
fn rust_project_passes_its_test_and_runs() {
    let (folder, root) = (Folder::new("rust"), root());
    folder.makes(&["my-xapp", "--lang", "rust", "--sdk", root.to_str().unwrap()]);
    let project = folder.0.join("my-xapp");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        // what the test of docs/own-xapp.md has compiled is reused
        command.args(arguments).current_dir(&project).env("CARGO_TARGET_DIR", root.join("target/own-xapp"));
        command.stdin(Stdio::null());
        command
    };
    let output = cargo(&["test", "--offline"]).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(
        stdout.contains("test each_ue_has_a_throughput ... ok") && !stderr.contains("warning: unused"),
        "{stdout}{stderr}"
    );

    // its program, which the test has built too
    let mut demo = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let (e2, xapp) = (demo.line("e2="), demo.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2"]);
    let mut program = Command::new(root.join("target/own-xapp/debug/my-xapp"));
    let mut child = program.env("FERRIC_RIC", &xapp).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("amf:") && line.ends_with(" kbit/s\n"), "{line}");
    ran.stop();
    demo.stop();
}

#[test]
fn rust_project_may_have_the_sdk_of_a_repository() {
    let folder = Folder::new("git");
    folder.makes(&["gitted", "--lang", "rust", "--sdk", "https://git.example/ferric.git"]);
    let manifest = std::fs::read_to_string(folder.0.join("gitted/Cargo.toml")).unwrap();
    assert!(
        manifest.contains(r#"ferric = { git = "https://git.example/ferric.git", features = ["xapp"] }"#),
        "{manifest}"
    );
    assert_eq!(folder.names(), ["gitted"]);
}

#[test]
fn c_project_passes_its_test() {
    let (folder, root) = (Folder::new("c"), root());
    folder.makes(&["my-xapp", "--lang", "c"]);
    let header = root.join("crates/e2/capi/include/ferric.h");
    // the library, where `make c` would install it
    // with the features of other tests, which find the library at the same place
    let library = ["rustc", "--quiet", "-p", "ferric-capi", "--features", "tls", "--crate-type", "cdylib"];
    assert!(Command::new(env!("CARGO")).args(library).current_dir(&root).status().unwrap().success());
    let built = Path::new(FERRIC).with_file_name("libferric_capi.so");
    let (libraries, include) = (folder.0.join("lib"), header.parent().unwrap());
    std::fs::create_dir(&libraries).unwrap();
    std::fs::copy(built, libraries.join("libferric.so")).unwrap();
    let (libdir, include) = (libraries.display(), include.display());
    let description = format!(
        "libdir={libdir}\nName: ferric\nDescription: ferric\nVersion: 0\nLibs: -L{libdir} -lferric\nCflags: -I{include}\n"
    );
    std::fs::write(libraries.join("ferric.pc"), description).unwrap();
    let mut make = Command::new("make");
    // not a part of the make that runs this test, which would print its folders and share its flags
    make.env_remove("MAKELEVEL").env_remove("MAKEFLAGS").env_remove("MFLAGS");
    make.args(["test", "CFLAGS=-g -Werror"]).current_dir(folder.0.join("my-xapp"));
    let output = make.env("PKG_CONFIG_PATH", &libraries).env("FERRIC", FERRIC).stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.ends_with("each UE has a throughput: ok\n"), "{stdout}{stderr}");
}

#[test]
fn python_project_is_complete() {
    let folder = Folder::new("python");
    folder.makes(&["probe", "--lang", "python"]);
    let read = |name: &str| std::fs::read_to_string(folder.0.join("probe").join(name)).unwrap();
    assert!(read("xapp.py").contains(r#"ferric.connect(name="probe")"#));
    assert!(read("README.md").starts_with("# probe\n"));
    // its test runs in the environment of the wheel: scripts/python test
    for file in ["xapp.py", "test_xapp.py"] {
        let check = format!("import ast; ast.parse(open('probe/{file}').read())");
        let Ok(output) = Command::new("python3").args(["-c", &check]).current_dir(&folder.0).output() else {
            return eprintln!("no python3 here: the project's syntax is not checked");
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
