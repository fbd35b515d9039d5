//! Verification of a log: the first line that is not what the log has written.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::line::{self, LineFault, MAX_LINE};

/// What a file of a log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All lines are as they were written.
    Intact,
    /// The last line has no end: writing was interrupted, by a crash or a full disk. All lines before it are intact.
    Torn {
        /// The number of the line in the file, from 1.
        line: u64,
        /// Its octets.
        octets: usize,
    },
    /// A line is not what was written.
    Broken {
        /// The file.
        file: PathBuf,
        /// The number of the line in the file, from 1.
        line: u64,
        /// What is wrong.
        fault: Fault,
    },
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not a record.
    NotARecord,
    /// Its content does not have its hash.
    WrongHash,
    /// It does not follow the line before: that one was changed, lines were removed or inserted.
    NotTheSuccessor {
        /// The number that its record must have.
        expected: u64,
        /// The number that it has.
        found: u64,
    },
    /// It has the right number, but the hash of another line before it.
    OtherPredecessor,
    /// The file begins with another record than the file before it requires.
    OtherFileBefore,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotARecord => f.write_str("it is no record of an audit log"),
            Fault::WrongHash => f.write_str("its content was changed: the hash is of another one"),
            Fault::NotTheSuccessor { expected, found } => {
                write!(f, "it is record {found} where record {expected} must follow: lines were removed or inserted")
            }
            Fault::OtherPredecessor => f.write_str("the line before it is another one than when it was written"),
            Fault::OtherFileBefore => f.write_str("the file before ends with another record than when it was written"),
        }
    }
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What the log is.
    pub verdict: Verdict,
    /// The files, oldest first.
    pub files: Vec<PathBuf>,
    /// The intact records, up to the first fault.
    pub records: u64,
    /// The numbers of the first and the last intact record; `None` if there is none.
    pub range: Option<(u64, u64)>,
    /// The hash of the last intact record: to be kept elsewhere.
    pub last_hash: Option<Digest>,
    /// Whether an intact record has the hash that was asked for.
    pub has_wanted: bool,
}

/// A log that cannot be read.
#[derive(Debug)]
pub struct VerifyError {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read {}: {}", self.file.display(), self.source)
    }
}

impl std::error::Error for VerifyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The path of the file that was rotated `number` times.
pub(crate) fn rotated(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// Verifies a log: the file, and before it those that were rotated, as many as there are without a gap. `wanted` is a hash that a
/// record is expected to have, since it was the last one earlier.
///
/// # Errors
/// If a file cannot be read.
pub fn verify(path: &Path, wanted: Option<&str>) -> Result<Report, VerifyError> {
    let before = (1..).map(|number| rotated(path, number)).take_while(|path| path.exists());
    let mut files: Vec<_> = before.collect();
    files.reverse();
    files.push(path.to_owned());
    let mut report = Report {
        verdict: Verdict::Intact,
        files: files.clone(),
        records: 0,
        range: None,
        last_hash: None,
        has_wanted: false,
    };
    let mut chain = Chain { wanted: wanted.and_then(|text| text.parse().ok()), ..Chain::default() };
    for (at, path) in files.iter().enumerate() {
        let fail = |source| VerifyError { file: path.clone(), source };
        let file = File::open(path).map_err(fail)?;
        let is_last = at + 1 == files.len();
        if let Some(verdict) = verify_file(path, file, &mut chain, is_last).map_err(fail)? {
            report.verdict = verdict;
            break;
        }
    }
    report.records = chain.records;
    report.range = chain.first.zip(chain.last.map(|(seq, _)| seq));
    report.last_hash = chain.last.map(|(_, hash)| hash);
    report.has_wanted = chain.has_wanted;
    Ok(report)
}

/// The chain as far as it was followed.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub records: u64,
    pub first: Option<u64>,
    pub last: Option<(u64, Digest)>,
    wanted: Option<Digest>,
    has_wanted: bool,
}

/// Follows the chain through a file. Returns what is wrong.
pub(crate) fn verify_file(
    path: &Path,
    file: impl Read,
    chain: &mut Chain,
    is_last: bool,
) -> io::Result<Option<Verdict>> {
    let mut reader = BufReader::new(file);
    let mut number = 0;
    let mut buffer = Vec::new();
    loop {
        number += 1;
        buffer.clear();
        // one octet more than the longest line and its end
        let octets = reader.by_ref().take(MAX_LINE as u64 + 2).read_until(b'\n', &mut buffer)?;
        if octets == 0 {
            return Ok(None);
        }
        let broken = |fault| Ok(Some(Verdict::Broken { file: path.to_owned(), line: number, fault }));
        let Some(line) = buffer.strip_suffix(b"\n") else {
            return if is_last && octets <= MAX_LINE + 1 {
                Ok(Some(Verdict::Torn { line: number, octets }))
            } else {
                broken(Fault::NotARecord)
            };
        };
        let place = match line::read(line) {
            Ok(place) => place,
            Err(LineFault::NotARecord) => return broken(Fault::NotARecord),
            Err(LineFault::WrongHash) => return broken(Fault::WrongHash),
        };
        let expected = chain.last.map(|(seq, hash)| (seq + 1, hash));
        match expected {
            Some((seq, _)) if seq != place.seq => {
                return broken(Fault::NotTheSuccessor { expected: seq, found: place.seq });
            }
            Some((_, hash)) if hash != place.previous => {
                return broken(if number == 1 { Fault::OtherFileBefore } else { Fault::OtherPredecessor });
            }
            // the beginning of a log; a file whose predecessors were deleted begins later
            None if place.seq == 1 && place.previous != Digest::NONE => return broken(Fault::OtherPredecessor),
            _ => {}
        }
        chain.first.get_or_insert(place.seq);
        chain.last = Some((place.seq, place.hash));
        chain.records += 1;
        chain.has_wanted |= chain.wanted == Some(place.hash);
    }
}
