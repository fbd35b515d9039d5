//! Checks `docs/clauses.md`: what E2AP's clauses 8 and 10 require, what this project does, and the test or the deviation.
//!
//! The table is generated from marks beside the code, in the source folders of `crates/e2`. A mark is a comment, continued by
//! lines that begin with three spaces:
//!
//! ```text
//! // Clause 8.2.4.2/5 node: An executed control is not acknowledged if the request says NoAck. Tests: agent_control,
//! //   conform:control-no-ack.
//! ```
//!
//! The number after the slash counts the sentences with "shall" of the clause (`/9-14` is several of them), and `ric`, `node` or
//! `both` have the duty. The fields `Does:`, `Tests:`, `Deviation:` and `Versions:` follow in this order; a mark has tests or a
//! deviation. A test is a scenario, a Rust test, or a check of `ferric conform` after `conform:`.
//!
//! `FERRIC_BLESS=1 cargo test -p ferric-e2 --test clauses` writes the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The procedures and clauses with the number of their sentences that contain "shall". The items of a list count one by one,
/// and the sentence that introduces them does not. Clauses without such a sentence are left out.
const SENTENCES: [(&str, &[(&str, usize)]); 18] = [
    ("8.2.1 RIC Subscription", &[("8.2.1.1", 1), ("8.2.1.2", 13), ("8.2.1.3", 6), ("8.2.1.4", 3)]),
    ("8.2.2 RIC Subscription Delete", &[("8.2.2.1", 1), ("8.2.2.2", 4), ("8.2.2.3", 3), ("8.2.2.4", 1)]),
    ("8.2.2A RIC Subscription Delete Required", &[("8.2.2A.1", 1), ("8.2.2A.2", 1), ("8.2.2A.3", 1)]),
    ("8.2.3 RIC Indication", &[("8.2.3.1", 1), ("8.2.3.2", 5)]),
    ("8.2.4 RIC Control", &[("8.2.4.1", 1), ("8.2.4.2", 6), ("8.2.4.3", 7), ("8.2.4.4", 2)]),
    ("8.2.5 RIC Subscription Modification", &[("8.2.5.1", 1), ("8.2.5.2", 19), ("8.2.5.3", 6), ("8.2.5.4", 3)]),
    ("8.2.6 RIC Subscription Modification Required", &[("8.2.6.1", 1), ("8.2.6.2", 8), ("8.2.6.3", 4), ("8.2.6.4", 2)]),
    ("8.2.7 RIC Query", &[("8.2.7.1", 1), ("8.2.7.2", 5), ("8.2.7.3", 3), ("8.2.7.4", 1)]),
    ("8.3.1 E2 Setup", &[("8.3.1.1", 2), ("8.3.1.2", 2), ("8.3.1.3", 2), ("8.3.1.4", 1)]),
    ("8.3.2 Reset", &[("8.3.2.1", 1), ("8.3.2.2", 3)]),
    ("8.3.3 Error Indication", &[("8.3.3.1", 1), ("8.3.3.2", 2)]),
    ("8.3.4 RIC Service Update", &[("8.3.4.1", 1), ("8.3.4.2", 8), ("8.3.4.3", 3)]),
    ("8.3.4A RIC Service Query", &[("8.3.4A.1", 1), ("8.3.4A.2", 3)]),
    ("8.3.5 E2 Node Configuration Update", &[("8.3.5.1", 1), ("8.3.5.2", 9), ("8.3.5.3", 4)]),
    ("8.3.6 E2 Connection Update", &[("8.3.6.1", 1), ("8.3.6.2", 9), ("8.3.6.3", 3)]),
    ("8.3.7 E2 Removal", &[("8.3.7.1", 1), ("8.3.7.2", 9), ("8.3.7.3", 2)]),
    (
        "10.2, 10.3 Transfer and abstract syntax errors",
        &[("10.2", 1), ("10.3.2", 1), ("10.3.4.1", 4), ("10.3.4.1A", 1), ("10.3.4.2", 9), ("10.3.5", 6), ("10.3.6", 2)],
    ),
    ("10.4, 10.5 Logical errors, exceptions", &[("10.4", 4), ("10.5", 3)]),
];

/// The names of the fields of a mark, in their order.
const FIELDS: [&str; 4] = ["Does", "Tests", "Deviation", "Versions"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    clause: String,
    sentences: (usize, usize),
    role: String,
    requirement: String,
    /// The fields in the order of [`FIELDS`].
    fields: [Option<String>; 4],
    file: String,
}

impl Mark {
    /// Reads a mark from its text after `Clause `.
    fn read(text: &str, file: &str) -> Result<Mark, String> {
        let (head, mut rest) = text.split_once(": ").ok_or("no colon after clause and role")?;
        let (id, role) = head.split_once(' ').ok_or("no role")?;
        if !["ric", "node", "both"].contains(&role) {
            return Err(format!("the role is ric, node or both, not `{role}`"));
        }
        let (clause, numbers) = id.split_once('/').ok_or("no number after the clause: `8.2.4.2/5`")?;
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number of a sentence"));
        let sentences = (number(first)?, number(last)?);
        let mut fields: [Option<String>; 4] = Default::default();
        // from the last to the first, so that each takes what follows its name
        for (field, name) in fields.iter_mut().zip(FIELDS).rev() {
            if let Some((before, after)) = rest.rsplit_once(&format!(" {name}: ")) {
                (rest, *field) = (before, Some(after.trim_end_matches('.').to_owned()));
            }
        }
        if fields[1].is_none() && fields[2].is_none() {
            return Err("neither tests nor a deviation".to_owned());
        }
        let (clause, role) = (clause.to_owned(), role.to_owned());
        Ok(Mark { clause, sentences, role, requirement: rest.to_owned(), fields, file: file.to_owned() })
    }

    fn field(&self, name: &str) -> Option<&str> {
        FIELDS.iter().position(|field| *field == name).and_then(|at| self.fields[at].as_deref())
    }

    fn tests(&self) -> impl Iterator<Item = &str> {
        self.field("Tests").into_iter().flat_map(|tests| tests.split(", "))
    }
}

/// Returns the marks of a file.
fn marks(file: &str, text: &str) -> Result<Vec<Mark>, String> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some(start) = line.strip_prefix("// Clause ") else { continue };
        let mut mark = start.to_owned();
        while let Some(more) = lines.peek().and_then(|line| line.strip_prefix("//   ")) {
            mark = mark + " " + more;
            lines.next();
        }
        found.push(Mark::read(&mark, file).map_err(|reason| format!("{file}: mark of clause `{mark}`: {reason}"))?);
    }
    Ok(found)
}

/// Returns the Rust files below a folder, sorted.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Adds the tests and the checks of `ferric conform` that a file has.
fn add_tests(text: &str, tests: &mut BTreeSet<String>) {
    for after in text.split("#[test]").skip(1) {
        let name = after.split_once("fn ").and_then(|(_, after)| after.split_once('('));
        tests.extend(name.map(|(name, _)| name.to_owned()));
    }
    for after in text.split("Check::new(").skip(1) {
        if let Some(id) = after.trim_start().strip_prefix('"').and_then(|after| after.split_once('"')) {
            tests.insert(format!("conform:{}", id.0));
        }
    }
}

/// Returns why marks and sentences do not agree: a sentence without a mark, a mark without a sentence, two marks of one duty.
fn faults(marks: &[Mark], tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut duties: BTreeMap<(&str, usize), Vec<&str>> = BTreeMap::new();
    let count = |clause: &str| SENTENCES.iter().flat_map(|(_, of)| *of).find(|(known, _)| *known == clause);
    for mark in marks {
        let Mark { clause, sentences: (first, last), role, file, .. } = mark;
        match count(clause) {
            None => faults.push(format!("{file}: no clause {clause} with requirements")),
            Some((_, count)) if *first == 0 || first > last || last > count => {
                faults.push(format!("{file}: {clause} has the sentences 1 to {count}, not {first} to {last}"));
            }
            Some((clause, _)) => (*first..=*last).for_each(|at| duties.entry((*clause, at)).or_default().push(role)),
        }
        for test in mark.tests().filter(|test| !tests.contains(*test)) {
            faults.push(format!("{file}: {clause}/{first}: no test, scenario or check is named `{test}`"));
        }
    }
    for (clause, count) in SENTENCES.iter().flat_map(|(_, of)| *of) {
        for at in 1..=*count {
            match duties.get(&(*clause, at)).map(Vec::as_slice) {
                None => faults.push(format!("{clause}/{at} has no mark")),
                Some([_] | ["ric", "node"] | ["node", "ric"]) => {}
                Some(roles) => faults.push(format!("{clause}/{at} has several marks: {}", roles.join(", "))),
            }
        }
    }
    faults
}

/// Returns the row of a mark.
fn row(mark: &Mark) -> String {
    let Mark { clause, sentences: (first, last), role, requirement, file, .. } = mark;
    let numbers = if first == last { first.to_string() } else { format!("{first}-{last}") };
    let role = match role.as_str() {
        "ric" => "near-RT RIC",
        "node" => "E2 node",
        _ => "both",
    };
    let behaviour = match (mark.field("Does"), mark.field("Deviation")) {
        (None, None) => "as required".to_owned(),
        (Some(does), None) => does.to_owned(),
        (None, Some(deviation)) => format!("**deviation**: {deviation}"),
        (Some(does), Some(deviation)) => format!("{does}. **Deviation**: {deviation}"),
    };
    let tests: Vec<_> = mark.tests().map(|test| format!("`{test}`")).collect();
    let tests = if tests.is_empty() { "–".to_owned() } else { tests.join(", ") };
    let versions = mark.field("Versions").unwrap_or("all");
    let name = file.rsplit_once("src/").map_or(file.as_str(), |(_, name)| name);
    let requirement = requirement.trim_end_matches('.');
    format!(
        "| {clause}/{numbers} | {role} | {requirement} | {behaviour} | {tests} | {versions} | [`{name}`](../{file}) |"
    )
}

/// Returns the document.
fn document(marks: &[Mark]) -> String {
    let count: usize = SENTENCES.iter().flat_map(|(_, of)| *of).map(|(_, count)| count).sum();
    let deviations = marks.iter().filter(|mark| mark.field("Deviation").is_some()).count();
    let mut text = HEAD.replace("{count}", &count.to_string()).replace("{rows}", &marks.len().to_string());
    text = text.replace("{deviations}", &deviations.to_string());
    for (title, clauses) in SENTENCES {
        write!(text, "\n## {title}\n\n{COLUMNS}").unwrap();
        for (clause, _) in clauses {
            let mut of: Vec<_> = marks.iter().filter(|mark| mark.clause == *clause).collect();
            of.sort_by_key(|mark| (mark.sentences, mark.role != "ric"));
            of.iter().for_each(|mark| writeln!(text, "{}", row(mark)).unwrap());
        }
    }
    text + TAIL
}

#[test]
fn table_of_clauses_is_current() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = crates.join("..");
    let (mut files, mut found, mut tests) = (Vec::new(), Vec::new(), BTreeSet::new());
    rust_files(&crates, &mut files);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        add_tests(&text, &mut tests);
        let name = path.strip_prefix(&crates).unwrap().to_str().unwrap();
        if name.starts_with("e2/") && name.contains("/src/") {
            found.extend(marks(&format!("crates/{name}"), &text).unwrap_or_else(|reason| panic!("{reason}")));
        }
    }
    for entry in std::fs::read_dir(crates.join("e2/e2/tests/scenarios")).unwrap() {
        tests.insert(entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    }
    let faults = faults(&found, &tests);
    assert!(faults.is_empty(), "marks of clauses:\n{}", faults.join("\n"));

    let real = document(&found);
    let path = root.join("docs/clauses.md");
    if std::env::var_os("FERRIC_BLESS").is_some() {
        std::fs::write(&path, real).unwrap();
    } else {
        let command = "FERRIC_BLESS=1 cargo test -p ferric-e2 --test clauses";
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == real, "docs/clauses.md differs from the marks; `{command}` updates it");
    }
}

#[test]
fn mark_is_read_over_several_lines() {
    let text = "x\n    // Clause 8.2.5.2/9-14 node: Each is\n    //   listed. Does: it\n    //   is. Tests: a, conform:b. Versions: from v03 on.\n    // other\n";
    let found = marks("f", text).unwrap();
    let [mark] = &found[..] else { panic!("{found:?}") };
    assert_eq!((mark.clause.as_str(), mark.sentences, mark.role.as_str()), ("8.2.5.2", (9, 14), "node"));
    assert_eq!(mark.requirement, "Each is listed.");
    assert_eq!((mark.field("Does"), mark.field("Versions")), (Some("it is"), Some("from v03 on")));
    assert_eq!((mark.tests().collect::<Vec<_>>(), mark.field("Deviation")), (vec!["a", "conform:b"], None));
}

#[test]
fn mark_without_role_number_or_evidence_is_refused() {
    for (mark, reason) in [
        ("8.2.4.2/5: x. Tests: a.", "no role"),
        ("8.2.4.2/5 xapp: x. Tests: a.", "the role is"),
        ("8.2.4.2 node: x. Tests: a.", "no number"),
        ("8.2.4.2/x node: x. Tests: a.", "is no number"),
        ("8.2.4.2/5 node: x. Does: y.", "neither tests nor a deviation"),
    ] {
        let refused = marks("f", &format!("// Clause {mark}")).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn missing_doubled_and_unknown_marks_are_faults() {
    let tests = BTreeSet::from(["known".to_owned()]);
    let mark = |id: &str, role: &str, test: &str| Mark::read(&format!("{id} {role}: x. Tests: {test}."), "f").unwrap();
    let every = |skipped: &str| -> Vec<Mark> {
        let clauses = SENTENCES.iter().flat_map(|(_, of)| *of);
        let ids = clauses.flat_map(|(clause, count)| (1..=*count).map(move |at| format!("{clause}/{at}")));
        ids.filter(|id| id != skipped).map(|id| mark(&id, "both", "known")).collect()
    };
    assert_eq!(faults(&every(""), &tests), [""; 0]);
    assert_eq!(faults(&every("8.2.4.2/5"), &tests), ["8.2.4.2/5 has no mark"]);
    let with =
        |more: Mark| faults(&[every("8.2.4.2/5"), vec![mark("8.2.4.2/5", "ric", "known"), more]].concat(), &tests);
    assert_eq!(with(mark("8.2.4.2/5", "node", "known")), [""; 0]);
    assert_eq!(with(mark("8.2.4.2/5", "ric", "known")), ["8.2.4.2/5 has several marks: ric, ric"]);
    assert_eq!(with(mark("8.2.9.2/1", "ric", "known")), ["f: no clause 8.2.9.2 with requirements"]);
    assert_eq!(with(mark("8.2.4.2/7", "ric", "known")), ["f: 8.2.4.2 has the sentences 1 to 6, not 7 to 7"]);
    let unknown = "f: 8.2.4.2/5: no test, scenario or check is named `absent`";
    assert_eq!(with(mark("8.2.4.2/5", "node", "absent")), [unknown]);
}

const COLUMNS: &str = "\
| clause | role | requirement | what ferric does | tests | versions | code |
|---|---|---|---|---|---|---|
";

const HEAD: &str = "\
# Clauses

What E2AP requires in its procedures (clause 8) and of the handling of unknown, unforeseen and erroneous protocol data (clause 10),
and what ferric does: {count} sentences with \"shall\", {rows} rows, of which {deviations} have a deviation with its reason. Requirements are in
our own words; the number after the slash counts the sentences of the clause, the items of a list one by one.

Clauses are those of ETSI TS 104 039 V4.0.0 (O-RAN E2AP v04.00) and, by its change history, of v03.01. The text that was read is that of
v08.00, without the procedures that v04.00 does not have; of V4.0.0 itself only 8.2.2.3 to 8.2.2A.2 could be read, and they are equal.
v06.00 changed 8.2.1.3 (a term), 8.2.3.2, 8.2.5.3, 8.2.6.3 and 8.2.7.3, and moved the RIC Service Query from 8.3.4 to 8.3.4A; what it
changed could not be read. Clause 10 is that of 3GPP TS 36.413, to which E2AP refers; its text could not be had, so that its rows
state the rules as the application protocols of 3GPP share them, and their number is not that of its sentences. Clauses without a
row have no such sentence. 10.1, 10.3.1 and 10.3.3 define terms; 10.6 of TS 36.413 is about ids of UEs, which E2AP does not have.

On the wire v04.00 is v03.01: its changes are corrections of names in the ASN.1 and of the text about components. The ASN.1 of v08.00
has the messages and IEs of v03.01 unchanged, as far as it was read (all IEs; the messages of RIC Subscription, its deletion and its
modification by the RIC, Reset, RIC Service Update and Query, the E2 Node Configuration Update's answers, and E2 Removal), and adds
procedures from 17 on (v05.00: RIC Subscription Audit), a group of causes and a list of functions accepted with changes after the
extension markers. So a node of v04.00 is configured as one of v03.01.

\"As required\" means that the tests show what the requirement says. Tests are scenarios in
[crates/e2/e2/tests/scenarios](../crates/e2/e2/tests/scenarios), tests of the same name in the code, and checks of
[`ferric conform`](conformance.md), after `conform:`, which `cargo test -p ferric-conform-cli` runs against `ferric ric` and `ferric
ran`. \"Versions\" states what v1 to v3 have differently, as far as the ASN.1 tells. Deviations for peers are also in
[error-indications.md](error-indications.md) and [peers.md](peers.md).

This page is generated from the marks beside the code: `FERRIC_BLESS=1 cargo test -p ferric-e2 --test clauses`.
";

const TAIL: &str = "
## 9.5 Timers

All are in the near-RT RIC.

| timer | limits | key of `ferric ric` | default |
|---|---|---|---|
| TRICEVENTcreate | RIC Subscription | `subscription_timeout_ms` | 5000 |
| TRICEVENTdelete | RIC Subscription Delete | `delete_timeout_ms` | 5000 |
| TRICEVENTmodify | RIC Subscription Modification | `modification_timeout_ms` | 5000 |
| TRICcontrol | RIC Control | `control_timeout_ms` | 5000 |
| TRICquery | RIC Query | `query_timeout_ms` | 5000 |

The RIC Time To Wait of an insert is part of its action; the side that receives a failure obeys its Time To Wait. E2AP has
no timers for the global procedures: ours are `ControllerConfig` and `AgentConfig` of crate `e2`.
";
