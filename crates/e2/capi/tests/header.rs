//! The header is what the code gives.

use std::path::Path;

/// `FERRIC_BLESS=1` writes the header.
#[test]
fn header_is_made_from_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::generate_with_config(folder, config).unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let path = folder.join("include/ferric.h");
    if std::env::var_os("FERRIC_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "include/ferric.h differs from the code: run this test with FERRIC_BLESS=1");
}

#[test]
fn manual_of_xapps_has_every_call() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = std::fs::read_to_string(folder.join("include/ferric.h")).unwrap();
    let manual = std::fs::read_to_string(folder.join("../../../docs/xapp-c.md")).unwrap();
    let calls: Vec<&str> = header
        .lines()
        .filter(|line| line.starts_with("int") || line.starts_with("uint64_t"))
        .filter_map(|line| line.split_once('(')?.0.split(' ').next_back())
        .filter(|call| call.starts_with("ferric_xapp_"))
        .collect();
    assert!(calls.len() > 40, "{calls:?}");
    for call in calls {
        assert!(manual.contains(&format!("`{call}`")), "docs/xapp-c.md does not have {call}");
    }
}

#[test]
fn examples_have_less_than_a_hundred_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let examples: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(examples.len() >= 4, "{examples:?}");
    for example in examples {
        let lines = std::fs::read_to_string(&example).unwrap().lines().count();
        assert!(lines < 100, "{} has {lines} lines", example.display());
    }
}
