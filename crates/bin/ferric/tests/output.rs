//! Standard output that takes no more: a closed pipe is the reader's choice, a full disk is an error.

mod program;

use std::process::{Command, Output};

use program::FERRIC;

/// Runs a line of bash; `$0` is the program. Its standard output ends with the status of the program.
fn bash(line: &str) -> Option<(Output, String)> {
    let line = format!("{line}; echo \"status=${{PIPESTATUS[0]}}\"");
    let Ok(output) = Command::new("bash").args(["-c", &line, FERRIC]).output() else {
        eprintln!("\nNOT TESTED: there is no bash");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("panicked"), "{text}");
    Some((output, text))
}

#[test]
fn closed_pipe_ends_a_command_quietly() {
    let Some((output, text)) = bash("\"$0\" decode --list | head -1") else { return };
    assert!(text.contains("e2ap-v01.00") && text.contains("status=0"), "{text}");
    assert!(output.stderr.is_empty(), "{text}");
}

#[test]
fn closed_pipe_ends_the_table_of_measurements_quietly() {
    let any = "tcp://127.0.0.1:0";
    let mut ric = program::start(&["ric", "--e2", any, "--xapp", any]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "2"]);
    ric.logs(" up: ");
    let line = format!("\"$0\" --log error xapp kpm --ric {xapp} --period-ms 100 | head -1");
    if let Some((output, text)) = bash(&line) {
        assert!(text.contains("status=0"), "{text}");
        assert!(output.stderr.is_empty(), "{text}");
    }
    ran.stop();
    ric.stop();
}

#[test]
fn full_disk_is_one_message() {
    let Some((output, text)) = bash("\"$0\" decode --list > /dev/full") else { return };
    assert!(text.contains("status=1"), "{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("cannot write to standard output: No space left on device"), "{errors}");
    // where standard error is full too, the status remains
    let Some((_, text)) = bash("\"$0\" decode --list > /dev/full 2> /dev/full") else { return };
    assert!(text.contains("status=1"), "{text}");
    let Some((_, text)) = bash("\"$0\" decode zz 2> /dev/full") else { return };
    assert!(text.contains("status=1"), "{text}");
}
