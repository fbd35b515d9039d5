//! `ferric completion` in a real bash, and `ferric man` by `man` where it is installed.

mod program;

use std::path::Path;
use std::process::{Command, Stdio};

use program::{FERRIC, File, run};

/// Loads the script of the program $1, and prints what it offers for the last of the words after it.
const COMPLETE: &str = r#"
set -eu
source <("$1" completion bash)
complete -p ferric | grep -q -- '-F _ferric' || exit 9
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
_ferric ferric "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// What bash offers for the last of these words, sorted.
fn completions(words: &[&str]) -> Vec<String> {
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-c", COMPLETE, "bash", FERRIC]).args(words).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut offered: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    offered.sort();
    offered
}

#[test]
fn bash_completes_commands_options_and_values() {
    assert_eq!(completions(&["ferric", "sub"]), ["subscriptions"]);
    assert_eq!(completions(&["ferric", "xapp", "k"]), ["kpm"]);
    assert_eq!(completions(&["ferric", "xapp", "kpm", "--period"]), ["--period-ms"]);
    assert_eq!(completions(&["ferric", "new", "xapp", "--lang", "ru"]), ["rust"]);
    assert_eq!(completions(&["ferric", "ues", "--j"]), ["--json"]);
    assert_eq!(completions(&["ferric", "completion", ""]).iter().filter(|word| !word.starts_with('-')).count(), 3);
    // a global option with its values
    assert_eq!(completions(&["ferric", "nodes", "--log", "de"]), ["debug"]);
    let all = completions(&["ferric", ""]);
    for command in ["demo", "ric", "ran", "nodes", "xapps", "new", "man"] {
        assert!(all.iter().any(|word| word == command), "{command}: {all:?}");
    }
}

#[test]
fn scripts_of_other_shells_name_the_commands() {
    for (shell, begins) in [("zsh", "#compdef ferric"), ("fish", "# Print an optspec")] {
        let outcome = run(&["completion", shell]);
        assert!(outcome.code() == Some(0) && outcome.stdout.starts_with(begins), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("subscriptions"), "{shell}");
    }
    run(&["completion", "tcsh"]).complains(2, &["bash, zsh, fish"]);
    run(&["completion"]).complains(2, &["<SHELL>"]);
}

/// A folder of pages; removed when it is dropped.
struct Pages(File);

impl Pages {
    fn new(name: &str) -> Pages {
        Pages(File::named(name))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.name()); // it may never have been made
    }
}

#[test]
fn pages_are_those_of_all_commands_and_man_formats_them() {
    let pages = Pages::new("man");
    let folder = format!("{}/man1", pages.0.name());
    let outcome = run(&["man", &folder]);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains(&format!("man -l {folder}/ferric.1")), "{}", outcome.stdout);
    for page in
        ["ferric", "ferric-ric", "ferric-nodes", "ferric-xapp-kpm", "ferric-xapp-rc-handover", "ferric-new-xapp"]
    {
        let text = std::fs::read_to_string(format!("{folder}/{page}.1")).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    // again, over the same files
    assert_eq!(run(&["man", &folder]).code(), Some(0));

    // as `man` calls it
    let Ok(groff) = Command::new("groff").arg("--version").output() else {
        eprintln!("no groff here: the pages are not formatted");
        return;
    };
    assert!(groff.status.success());
    for page in std::fs::read_dir(&folder).unwrap() {
        let page = page.unwrap().path();
        let output =
            Command::new("groff").args(["-man", "-Tutf8", "-ww", "-Kutf8", "-P-cbu"]).arg(&page).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("SYNOPSIS"), "{}: {text}", page.display());
    }
}

#[test]
fn folder_that_cannot_be_made_is_named() {
    let file = File::new("man-file", b"");
    let folder = format!("{}/man1", file.name());
    run(&["man", &folder]).complains(1, &["cannot make the folder", &folder]);
    assert!(!Path::new(&folder).exists());
    run(&["man"]).complains(2, &["<DIR>"]);
}
