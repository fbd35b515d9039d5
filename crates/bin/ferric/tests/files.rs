//! Files that users name by mistake: each is refused with its name, soon, and within little memory.

mod program;

use std::time::{Duration, Instant};

use program::{File, Outcome, run};

/// What a user may name: no end, no content, no writer, no file.
const ODD: [(&str, &str); 2] = [("/dev/zero", "longer than"), ("/tmp", "folder")];

/// Runs a command that must refuse a file soon.
#[track_caller]
fn refused(arguments: &[&str], pieces: &[&str]) -> Outcome {
    let begun = Instant::now();
    let outcome = run(arguments);
    outcome.complains(1, pieces);
    // a loaded machine is slow; a program that waits for a FIFO never ends
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    outcome
}

fn fifo(name: &str) -> File {
    let file = File::named(name);
    let made = std::process::Command::new("mkfifo").arg(file.name()).status().unwrap();
    assert!(made.success());
    file
}

#[test]
fn odd_files_are_refused_wherever_one_is_named() {
    let fifo = fifo("odd.fifo");
    let config = |table: &str| File::new(&format!("odd-{}.toml", table.len()), table.as_bytes());
    for (name, reason) in ODD.into_iter().chain([(fifo.name(), "FIFO without a writer")]) {
        let ric = ["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0", "--rest", "127.0.0.1:0"];
        let with = |more: &[&'static str]| -> Vec<String> {
            ric.iter().chain(more).map(|word| word.replace("NAME", name)).collect()
        };
        for more in [
            &["--config", "NAME"][..],
            &["--rest-rules", "NAME"],
            &["--virtual", "NAME"],
            &["--topology", "NAME"],
            &["--rest-tokens", "NAME"],
            &["--sdl", "tcp://127.0.0.1:0", "--sdl-tokens", "NAME"],
            &["--rest-cert", "NAME", "--rest-key", "NAME"],
            &["--tls-ca", "NAME", "--tls-cert", "NAME", "--tls-key", "NAME"],
        ] {
            let arguments = with(more);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            refused(&arguments, &[name, reason]);
        }
        refused(&["ran", "--check", "--scenario", name], &[name, reason]);
        if name != fifo.name() {
            refused(&["decode", name], &[name, reason]);
        }
        refused(&["play", name], &[name]);
    }
    // a password file in the configuration
    let redis = config(&format!("[redis]\nurl = \"redis://127.0.0.1:1\"\npassword = \"{}\"\n", "/dev/zero"));
    refused(&["ric", "--config", redis.name()], &["/dev/zero", "longer than"]);
}

#[test]
fn configuration_from_a_pipe_is_read() {
    // `<(command)` of a shell
    let script = format!("{} ran --check --scenario <(echo)", program::FERRIC);
    let outcome = std::process::Command::new("bash").args(["-c", &script]).output();
    let Ok(outcome) = outcome else { return eprintln!("\nNOT TESTED: there is no bash") };
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(!errors.contains("FIFO"), "{errors}");
}

#[test]
fn files_of_the_ric_that_are_missing_are_named_with_their_option() {
    let ric = ["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"];
    for (option, named) in [
        ("--xapp-commands", "--xapp-commands or `xapp_commands`"),
        ("--conflicts", "--conflicts or `conflicts`"),
        ("--virtual", "--virtual"),
        ("--topology", "--topology"),
    ] {
        let what = format!("the file of {named} cannot be used: /nowhere/x: No such file");
        refused(&[&ric[..], &[option, "/nowhere/x"]].concat(), &[&what, "correct it, or name another one"]);
    }
}
