//! An audit log in files: one JSON object a line, chained by SHA-256.
//!
//! ```
//! use audit::{AuditLog, LogConfig, Verdict, verify};
//!
//! # let folder = std::env::temp_dir().join(format!("ferric-audit-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("audit.log");
//! let log = AuditLog::start(LogConfig::new(&path))?;
//! log.record("decision", &[("xapp", "slicer".into()), ("decision", "refused".into())]);
//! log.finish();
//!
//! let report = verify(&path, None)?;
//! assert_eq!((report.verdict, report.records), (Verdict::Intact, 2)); // the first one notes the start
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The format of a line
//!
//! `{"seq":7,"time":"2026-11-27T18:00:00.125Z","event":"decision",…,"previous":"HEX","hash":"HEX"}`
//!
//! `hash` is the SHA-256 of all octets of the line before `,"hash":`; `previous` is the hash of the line before, also of the last
//! line of the file before. The first line of a log has 64 zeros there. Whoever changes, removes or inserts a line has to calculate
//! all hashes after it again, which changes the last one: an operator who keeps that elsewhere finds it.
//!
//! A file that exceeds its bound is renamed to `FILE.1`, that one to `FILE.2`, and so on; the oldest one is deleted.

#![forbid(unsafe_code)]

mod digest;
mod line;
mod log;
mod time;
mod verify;
mod writer;

pub use digest::{Digest, digest};
pub use log::{AuditCounters, AuditLog, LogConfig, StartError};
pub use time::rfc3339;
pub use verify::{Fault, Report, Verdict, VerifyError, verify};
