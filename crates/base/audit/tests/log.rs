//! The log in files: what a reader finds after each way to change it, after crashes and after rotation.

use std::fs;
use std::path::{Path, PathBuf};

use audit::{AuditLog, Fault, LogConfig, StartError, Verdict, verify};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ferric-audit-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("audit.log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes records 2 to `count` + 1; the first one notes the start.
fn write(path: &Path, count: u32) {
    let log = AuditLog::start(LogConfig::new(path)).unwrap();
    for number in 0..count {
        log.record("decision", &[("xapp", format!("xapp {number}").into()), ("decision", "sent".into())]);
    }
    log.finish();
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn store(path: &Path, lines: &[String]) {
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

#[test]
fn first_changed_removed_or_inserted_line_is_named() {
    let folder = Folder::new("changed");
    let path = folder.log();
    write(&path, 5);
    let intact = lines(&path);
    assert_eq!(intact.len(), 6);
    let report = verify(&path, None).unwrap();
    assert_eq!((report.verdict, report.records, report.range), (Verdict::Intact, 6, Some((1, 6))));
    type Change = fn(&mut Vec<String>);
    let cases: [(&str, Change, u64, Fault); 6] = [
        ("content", |all| all[2] = all[2].replace("sent", "refused"), 3, Fault::WrongHash),
        ("hash", |all| all[2] = all[2].replace("\"hash\":\"", "\"hash\":\"0"), 3, Fault::NotARecord),
        ("removed", |all| drop(all.remove(2)), 3, Fault::NotTheSuccessor { expected: 3, found: 4 }),
        ("repeated", |all| all.insert(3, all[2].clone()), 4, Fault::NotTheSuccessor { expected: 4, found: 3 }),
        ("exchanged", |all| all.swap(1, 2), 2, Fault::NotTheSuccessor { expected: 2, found: 3 }),
        ("foreign", |all| all[4] = "{}".to_owned(), 5, Fault::NotARecord),
    ];
    for (what, change, line, fault) in cases {
        let mut changed = intact.clone();
        change(&mut changed);
        store(&path, &changed);
        let report = verify(&path, None).unwrap();
        assert_eq!(report.verdict, Verdict::Broken { file: path.clone(), line, fault }, "{what}");
        assert_eq!(report.records, line - 1, "{what}");
        // evidence is not written to
        assert!(matches!(AuditLog::start(LogConfig::new(&path)), Err(StartError::Broken { .. })), "{what}");
        assert_eq!(lines(&path), changed, "{what}");
    }
}

#[test]
fn line_that_was_written_again_with_its_hash_breaks_the_next_one() {
    let folder = Folder::new("forged");
    let (path, other) = (folder.log(), folder.0.join("other.log"));
    write(&path, 3);
    // another log has a record of the same number with a right hash
    write(&other, 3);
    let mut forged = lines(&path);
    forged[0] = lines(&other)[0].clone();
    assert_ne!(forged[0], lines(&path)[0], "the hashes of two logs differ by their times");
    store(&path, &forged);
    let report = verify(&path, None).unwrap();
    assert_eq!(report.verdict, Verdict::Broken { file: path.clone(), line: 2, fault: Fault::OtherPredecessor });
}

#[test]
fn log_that_another_process_writes_is_refused_and_left_alone() {
    let folder = Folder::new("in-use");
    let path = folder.log();
    let log = AuditLog::start(LogConfig::new(&path)).unwrap();
    log.record("decision", &[]);
    let refused = AuditLog::start(LogConfig::new(&path)).unwrap_err();
    assert!(matches!(&refused, StartError::InUse(file) if *file == path), "{refused}");
    log.record("decision", &[]);
    log.finish();
    assert_eq!((verify(&path, None).unwrap().verdict, lines(&path).len()), (Verdict::Intact, 3));
    AuditLog::start(LogConfig::new(&path)).unwrap().finish();
    assert_eq!((verify(&path, None).unwrap().verdict, lines(&path).len()), (Verdict::Intact, 4));
}

#[test]
fn torn_last_line_is_told_apart_and_cut_off_at_the_next_start() {
    let folder = Folder::new("torn");
    let path = folder.log();
    write(&path, 3);
    let whole = fs::read(&path).unwrap();
    let last = lines(&path)[3].len();
    // every place at which a crash may have cut the last line
    for cut in 1..=last {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let report = verify(&path, None).unwrap();
        assert_eq!(report.verdict, Verdict::Torn { line: 4, octets: last + 1 - cut }, "cut by {cut}");
        assert_eq!(report.records, 3);
    }
    write(&path, 1);
    let report = verify(&path, None).unwrap();
    assert_eq!((report.verdict, report.range), (Verdict::Intact, Some((1, 5))));
    assert!(lines(&path)[3].contains("\"event\":\"start\"") && lines(&path)[3].contains("\"cut_octets\":1,"));
}

#[test]
fn chain_continues_over_rotated_files_and_the_oldest_ones_are_deleted() {
    let folder = Folder::new("rotated");
    let path = folder.log();
    let config = LogConfig { max_file_octets: 4096, rotated_files: 3, ..LogConfig::new(&path) };
    for round in 0..20 {
        let log = AuditLog::start(config.clone()).unwrap();
        for number in 0..10 {
            log.record("decision", &[("round", round.into()), ("number", number.into())]);
        }
        log.finish();
    }
    let report = verify(&path, None).unwrap();
    assert_eq!((report.verdict, report.files.len()), (Verdict::Intact, 4));
    // a record at least in the last file
    write(&path, 1);
    let report = verify(&path, None).unwrap();
    let (first, last) = report.range.unwrap();
    assert_eq!(last, 20 * 11 + 2);
    assert!(first > 1, "the oldest files are deleted");
    assert_eq!(last - first + 1, report.records);
    // a file between two others is missing
    fs::remove_file(folder.0.join("audit.log.1")).unwrap();
    fs::rename(folder.0.join("audit.log.2"), folder.0.join("audit.log.1")).unwrap();
    let Verdict::Broken { file, line: 1, fault: Fault::NotTheSuccessor { .. } } = verify(&path, None).unwrap().verdict
    else {
        panic!("a missing file is found");
    };
    assert_eq!(file, path);
}

#[test]
fn octets_of_anybody_end_in_a_verdict() {
    let folder = Folder::new("octets");
    let path = folder.log();
    let long = vec![b'x'; 1 << 20];
    let cases: [&[u8]; 6] = [b"", b"\n", b"{}\n", b"\xff\xfe\n", &long, b"{\"seq\":1,\"hash\":\"\"}\n"];
    for octets in cases {
        fs::write(&path, octets).unwrap();
        let verdict = verify(&path, None).unwrap().verdict;
        if octets.is_empty() {
            assert_eq!(verdict, Verdict::Intact);
        } else {
            assert!(matches!(verdict, Verdict::Broken { line: 1, .. }), "{verdict:?}");
        }
    }
    assert!(matches!(AuditLog::start(LogConfig::new(&folder.0)), Err(StartError::NotAFile(_))));
}

#[test]
fn control_characters_of_an_xapp_do_not_end_a_line() {
    let folder = Folder::new("escaped");
    let path = folder.log();
    let log = AuditLog::start(LogConfig::new(&path)).unwrap();
    log.record("decision", &[("xapp", "a\nb\"c,\"hash\":\"0\u{2028}".into())]);
    log.record("decision", &[("long", "x".repeat(1 << 20).into())]);
    log.finish();
    let report = verify(&path, None).unwrap();
    assert_eq!((report.verdict, report.records), (Verdict::Intact, 3));
    assert!(lines(&path)[2].contains("\"omitted_octets\":"));
}
