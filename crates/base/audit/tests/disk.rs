//! The log on a disk that takes nothing for a while: a file system in memory that is too small, and then large enough. It takes root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use audit::{AuditLog, LogConfig, Verdict, verify};
use serde_json::Value;

/// A mounted file system, which is removed at the end.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one of 64 KiB; `None` if this may not be done here.
    fn small() -> Option<Disk> {
        let path = std::env::temp_dir().join(format!("ferric-audit-disk-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let is_mounted = mount(&["-t", "tmpfs", "-o", "size=64k", "none"], &path);
        if !is_mounted {
            println!("NOT TESTED: a full disk: this takes root, and a system that mounts tmpfs");
            let _ = fs::remove_dir(&path);
            return None;
        }
        Some(Disk(path))
    }

    fn grow(&self) {
        assert!(mount(&["-o", "remount,size=128m"], &self.0));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let output = Command::new("mount").args(arguments).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn records_wait_for_a_full_disk_up_to_their_bound_and_the_lost_ones_are_counted() {
    /// 20 MiB, more than may wait.
    const RECORDS: u64 = 20_000;
    let Some(disk) = Disk::small() else { return };
    let path = disk.0.join("audit.log");
    let octets = || fs::metadata(&path).map_or(0, |about| about.len());
    let log = AuditLog::start(LogConfig::new(&path)).unwrap();
    let text = "x".repeat(800);
    let begun = Instant::now();
    for number in 0..RECORDS {
        log.record("decision", &[("number", number.into()), ("text", text.as_str().into())]);
        if number % 1000 == 0 {
            // the thread takes what waits, whatever the disk does
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "who records does not wait for the disk: {:?}", begun.elapsed());
    eventually("the disk is full", || octets() >= 60 << 10);
    assert!(octets() <= 64 << 10);
    disk.grow();
    eventually("what has waited is written", || octets() > 4 << 20);
    log.record("last", &[]);
    log.finish();
    let report = verify(&path, None).unwrap();
    assert_eq!(report.verdict, Verdict::Intact, "the chain goes on");
    let lines = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count() as u64;
    let lost: u64 =
        lines.iter().filter(|line| line["event"] == "lost").filter_map(|line| line["records"].as_u64()).sum();
    assert!(lost > 0 && octets() < 12 << 20, "{lost} are lost, {} octets", octets());
    assert_eq!((count("decision") + lost, count("last")), (RECORDS, 1), "each record is there or counted");
}
