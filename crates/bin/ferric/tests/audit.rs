//! `ferric audit verify`, and rules on conflicts that `ferric ric` refuses.

use std::fs;
use std::path::PathBuf;

use audit::{AuditLog, LogConfig};

struct Log(PathBuf);

impl Log {
    fn new(name: &str) -> Log {
        let path = std::env::temp_dir().join(format!("ferric-audit-{name}-{}.log", std::process::id()));
        let _ = fs::remove_file(&path);
        Log(path)
    }

    fn verify(&self, more: &[&str]) -> (bool, String, String) {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ferric"))
            .args(["audit", "verify"])
            .arg(&self.0)
            .args(more)
            .output()
            .unwrap();
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn first_broken_line_is_named_and_a_torn_one_told_apart() {
    let log = Log::new("lines");
    let writer = AuditLog::start(LogConfig::new(&log.0)).unwrap();
    (0..4).for_each(|number| writer.record("decision", &[("number", number.into())]));
    writer.finish();
    let (is_well, out, _) = log.verify(&[]);
    assert!(is_well && out.contains("records=5\nfirst=1\nlast=5\nhash="), "{out}");
    let hash = out.lines().last().unwrap().strip_prefix("hash=").unwrap().to_owned();
    assert!(log.verify(&["--contains", &hash]).0);
    let whole = fs::read_to_string(&log.0).unwrap();
    // the last line is gone: only the hash that was kept shows it
    let end = whole.trim_end().rfind('\n').unwrap() + 1;
    fs::write(&log.0, &whole[..end]).unwrap();
    assert!(log.verify(&[]).0);
    let (is_well, _, errors) = log.verify(&["--contains", &hash]);
    assert!(!is_well && errors.contains("no record has the hash"), "{errors}");
    fs::write(&log.0, &whole[..end + 7]).unwrap();
    let (is_well, out, errors) = log.verify(&[]);
    assert!(is_well && out.contains("records=4\n") && out.contains("torn=5\n"), "{out}");
    assert!(errors.contains("line 5 is torn after 7 octets"), "{errors}");
    fs::write(&log.0, whole.replace("\"number\":2", "\"number\":3")).unwrap();
    let (is_well, out, errors) = log.verify(&[]);
    assert!(!is_well && out.contains("records=3\n"), "{out}");
    assert!(errors.contains("line 4 is broken: its content was changed"), "{errors}");
}

#[test]
fn ric_states_line_and_key_of_rules_that_mean_nothing() {
    let file = Log::new("rules");
    fs::write(&file.0, "[[rule]]\nparameter = \"rc/2/6\"\npolicy = \"last\"\n").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_ferric"))
        .args(["ric", "--e2", "tcp://127.0.0.1:0", "--conflicts"])
        .arg(&file.0)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && errors.contains("\"last\" is not one of"), "{errors}");
}
