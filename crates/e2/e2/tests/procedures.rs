//! Checks `docs/procedures.md`: the procedures by version and role, with their handlers and tests.
//!
//! The table is generated from the handlers' marks, one line in the head comment of each, and from the scenarios that the
//! marks name:
//!
//! ```text
//! //! Procedure: RIC Query. Clause: E2AP v03.01 8.2.7. Role: ric. Since: v03.01. Scenarios: query*
//! ```
//!
//! `FERRIC_BLESS=1 cargo test -p ferric-e2 --test procedures` writes it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use e2ap::{Error, ProcedureCode, Version};

struct Mark {
    procedure: String,
    clause: String,
    role: String,
    since: Version,
    scenarios: Vec<String>,
    file: String,
}

/// Returns the mark of a file, if it has one.
fn mark(file: &str, text: &str) -> Option<Mark> {
    let line = text.lines().find_map(|line| line.strip_prefix("//! Procedure: "))?;
    let field = |name: &str| {
        let (_, rest) =
            line.split_once(&format!(". {name}: ")).unwrap_or_else(|| panic!("{file}: no {name} in its mark"));
        rest.split_once(". ").map_or(rest, |(field, _)| field).to_owned()
    };
    Some(Mark {
        procedure: line.split_once(". ").expect("a name").0.to_owned(),
        // "E2AP v03.01 8.2.7" contains a period, but none followed by a space
        clause: field("Clause"),
        role: field("Role"),
        since: field("Since").parse().unwrap_or_else(|_| panic!("{file}: since which version?")),
        scenarios: field("Scenarios").split(' ').map(str::to_owned).collect(),
        file: file.to_owned(),
    })
}

fn marks(root: &Path) -> Vec<Mark> {
    let mut marks = Vec::new();
    for folder in ["src/controller", "src/agent"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        for file in files {
            let path = format!("{folder}/{file}");
            marks.extend(mark(&path, &std::fs::read_to_string(root.join(&path)).unwrap()));
        }
    }
    marks
}

/// Returns the versions that a scenario uses.
fn versions(text: &str) -> BTreeSet<Version> {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let words = || lines().flat_map(str::split_whitespace);
    let each = words().filter_map(|word| word.strip_prefix("each=")).flat_map(|each| each.split(','));
    let stated = words().filter_map(|word| word.strip_prefix("version=").or(word.strip_prefix("v=")));
    let versions: BTreeSet<Version> = each.chain(stated).filter_map(|text| text.parse().ok()).collect();
    let header = lines().next().unwrap_or_default();
    // the default version applies unless the first line states one
    let is_default = !["each=", "v=", "version="].iter().any(|word| header.contains(word));
    if is_default { versions.into_iter().chain([Version::V2_03]).collect() } else { versions }
}

fn matches(glob: &str, name: &str) -> bool {
    match glob.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == glob,
    }
}

/// Whether `version` has a procedure.
fn has(version: Version, code: ProcedureCode) -> bool {
    let (gather, pdu) = (Default::default(), [0, code.0, 0, 3, 0, 0, 0]);
    let read = e2ap::decode(&pdu, version, &gather);
    !matches!(read, Err(Error::UnknownProcedure { .. }))
}

#[test]
fn table_of_procedures_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let marks = marks(root);
    let scenarios: Vec<(String, BTreeSet<Version>)> = std::fs::read_dir(root.join("tests/scenarios"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, versions(&std::fs::read_to_string(path).unwrap()))
        })
        .collect();

    let mut table = String::new();
    for code in (1..=16).map(ProcedureCode) {
        let name = code.name().expect("E2AP has 16 procedures");
        for (role, called) in [("ric", "near-RT RIC"), ("node", "E2 node")] {
            let of: Vec<_> = marks.iter().filter(|mark| mark.procedure == name && mark.role == role).collect();
            let [mark] = of[..] else { panic!("{name} has {} handlers marked for the role {role}", of.len()) };
            let tests: Vec<_> = scenarios
                .iter()
                .filter(|(scenario, _)| mark.scenarios.iter().any(|glob| matches(glob, scenario)))
                .filter(|(scenario, _)| scenario.starts_with("agent_") == (role == "node"))
                .collect();
            write!(table, "| {name} | {} | {called} ", mark.clause.trim_start_matches("E2AP v03.01 ")).unwrap();
            for version in Version::ALL {
                assert_eq!(has(version, code), version >= mark.since, "{}: since v{}?", mark.file, mark.since);
                let count = tests.iter().filter(|(_, versions)| versions.contains(&version)).count();
                if version < mark.since {
                    table.push_str("| – ");
                    continue;
                }
                assert!(count > 0, "{}: no scenario of the role {role} in v{version}", mark.file);
                write!(table, "| {count} ").unwrap();
            }
            let globs = mark.scenarios.join("`, `");
            writeln!(table, "| [`{0}`](../crates/e2/e2/{0}) | `{globs}` |", mark.file).unwrap();
        }
    }
    assert_eq!(marks.len(), 32, "every mark names a procedure and a role");

    let real = HEAD.to_owned() + &table;
    let path = root.join("../../../docs/procedures.md");
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("FERRIC_BLESS").is_some() {
        std::fs::write(&path, real).unwrap();
    } else {
        let command = "FERRIC_BLESS=1 cargo test -p ferric-e2 --test procedures";
        assert!(written == real, "docs/procedures.md differs from the marks; `{command}` updates it");
    }
}

const HEAD: &str = "\
# Procedures

Every elementary procedure of E2AP, in every version that has it, on both sides. Clauses are those of v03.01
and v04.00 (ETSI TS 104 039); [clauses.md](clauses.md) lists what they require. The numbers
count the scenarios of the procedure in that version and role; `–` means that the version does not have it. Scenarios are files
of these names in [crates/e2/e2/tests/scenarios](../crates/e2/e2/tests/scenarios). The simulation and the tampered dialogues
also cover every procedure.

This page is generated from the marks in the handlers' head comments: `FERRIC_BLESS=1 cargo test -p ferric-e2 --test procedures`.

| procedure | clause | role | v01.00 | v01.01 | v02.03 | v03.01 | handler | scenarios |
|---|---|---|---|---|---|---|---|---|
";
