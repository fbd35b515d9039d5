//! The rule file: association rules as JSON, read at the start and replaced whenever rules change.
//!
//! A thread of its own writes the file, so that the RIC's loop never waits for the disk; a request that changed rules is answered
//! once they are on the disk. The file is replaced atomically. A lock file beside it prevents two RICs from using the same rule
//! file.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use files::FileLock;
use rest::StatusCode;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::api::StoredRule;
use super::associations::{MAX_RULES, Rule, Rules};
use rest::{Problem, Reply, Response};

/// The most changes that wait for the disk; further ones are answered with 500. REST has fewer concurrent requests.
const MAX_WAITING: usize = 256;

/// A rule file and the rules that it contains.
#[derive(Clone, Debug)]
pub struct RuleFile {
    path: PathBuf,
    rules: Rules,
    /// Excludes other RICs.
    lock: Arc<FileLock>,
}

/// The reason why a rule file cannot be used.
#[derive(Debug)]
pub enum RuleFileError {
    /// It cannot be read.
    Read(PathBuf, io::Error),
    /// It is malformed; with the position.
    Content(PathBuf, String),
    /// Another RIC uses it.
    InUse(PathBuf),
}

impl fmt::Display for RuleFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleFileError::Read(path, error) => write!(f, "cannot read the rules in {}: {error}", path.display()),
            RuleFileError::Content(path, why) => {
                write!(
                    f,
                    "the rules in {}: {why}; correct the file, or move it away to begin with none",
                    path.display()
                )
            }
            RuleFileError::InUse(path) => {
                write!(f, "the rule file {} is in use by another RIC: give each RIC its own file", path.display())
            }
        }
    }
}

impl std::error::Error for RuleFileError {}

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRules {
    /// The last id that was assigned; ids are not reused.
    last_id: u32,
    associations: Vec<StoredRule>,
}

impl RuleFile {
    /// Reads the file. A file that does not exist contains no rules, and is created with the first rule.
    ///
    /// # Errors
    /// If it cannot be read, is malformed, or is in use by another RIC.
    pub fn load(path: &Path) -> Result<Self, RuleFileError> {
        // the target of a symbolic link is replaced, not the link
        let path = match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            found => found.map_err(|error| RuleFileError::Read(path.to_owned(), error))?,
        };
        let lock = FileLock::beside(&path).map_err(|_| RuleFileError::InUse(path.clone()))?;
        let rules = match files::read_text(&path, files::MAX_OCTETS) {
            Ok(text) => read(&text).map_err(|why| RuleFileError::Content(path.clone(), why))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Rules::default(),
            Err(error) => return Err(RuleFileError::Read(path, error)),
        };
        Ok(RuleFile { path, rules, lock: Arc::new(lock) })
    }

    /// Starts the writer. Returns the rules and the writer.
    pub(super) fn start(self) -> io::Result<(Rules, RuleWriter)> {
        let RuleFile { path, rules, lock } = self;
        info!(file = %path.display(), rules = rules.all().len(), "association rules are stored in a file");
        let (changes, waiting) = sync_channel(MAX_WAITING);
        let thread = std::thread::Builder::new().name("rules".into()).spawn(move || {
            write_all(&path, &waiting);
            drop(lock);
        })?;
        Ok((rules, RuleWriter { changes: Some(changes), thread: Some(thread) }))
    }
}

/// Returns the path with a suffix.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

fn read(text: &str) -> Result<Rules, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let stored: StoredRules = serde_path_to_error::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    if stored.associations.len() > MAX_RULES {
        return Err(format!("{} rules; at most {MAX_RULES} are allowed", stored.associations.len()));
    }
    let mut rules: Vec<Rule> = Vec::new();
    for (at, stored) in stored.associations.into_iter().enumerate() {
        let rule = stored.rule().map_err(|problem| format!("associations[{at}]: {}", problem.detail()))?;
        if rules.last().is_some_and(|before| before.id >= rule.id) {
            return Err(format!("associations[{at}].id: {} is not above the previous id", rule.id));
        }
        rules.push(rule);
    }
    Rules::restored(rules, stored.last_id)
        .ok_or_else(|| format!("last_id: {} is below the id of a rule", stored.last_id))
}

/// The thread that writes the rule file. It has written all changes when this is dropped.
#[derive(Debug)]
pub(super) struct RuleWriter {
    changes: Option<SyncSender<Change>>,
    thread: Option<JoinHandle<()>>,
}

/// The text of all rules, and the response once it is written.
struct Change {
    text: String,
    reply: Reply,
    answer: Result<Response, Problem>,
}

impl RuleWriter {
    /// Queues all rules to be written, and the response to a request.
    pub fn write(&self, rules: &Rules, reply: Reply, answer: Result<Response, Problem>) {
        let Some(changes) = &self.changes else { return };
        let associations = rules.all().iter().map(StoredRule::of).collect();
        let text = match serde_json::to_string_pretty(&StoredRules { last_id: rules.last_id(), associations }) {
            Ok(text) => text + "\n",
            Err(error) => panic!("the rules cannot be written as JSON: {error}"),
        };
        if let Err(TrySendError::Full(change) | TrySendError::Disconnected(change)) =
            changes.try_send(Change { text, reply, answer })
        {
            change.reply.send(Err(not_stored("the disk is too slow")));
        }
    }
}

impl Drop for RuleWriter {
    fn drop(&mut self) {
        drop(self.changes.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            warn!("the thread that writes rules panicked; please report it");
        }
    }
}

fn not_stored(why: &str) -> Problem {
    let detail = format!("the change is in effect, but lost when the RIC stops: cannot store the rules: {why}");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
}

/// Writes changes; of several that wait, only the last.
fn write_all(path: &Path, waiting: &Receiver<Change>) {
    let mut is_logged = false;
    while let Ok(first) = waiting.recv() {
        let changes: Vec<Change> = std::iter::once(first).chain(waiting.try_iter()).collect();
        let Some(newest) = changes.last() else { continue };
        let written = replace(path, &newest.text);
        match &written {
            Ok(()) => is_logged = false,
            Err(error) if !is_logged => {
                warn!(file = %path.display(), %error, "cannot store association rules; they are lost when the RIC stops; check the free space and the permissions of the folder");
                is_logged = true;
            }
            Err(_) => {}
        }
        let why = written.err().map(|error| format!("{}: {error}", path.display()));
        for Change { reply, answer, .. } in changes {
            reply.send(match (&why, answer) {
                (Some(why), Ok(_)) => Err(not_stored(why)),
                (_, answer) => answer,
            });
        }
    }
}

/// Replaces a file atomically.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = beside(path, ".new");
    // an earlier run may have left the file; a link is not followed
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_rules_are_read() {
        let text = r#"{ "last_id": 9, "associations": [
            { "id": 2, "plmn": "00101", "dl": 1 },
            { "id": 3, "ue": "amf:17", "dl": 1 },
            { "id": 7, "node": "gnb-00101-e00", "s_nssai": { "sst": 1, "sd": "0000ff" }, "dl": 0, "ul": 3 }
        ] }"#;
        let rules = read(text).unwrap();
        assert_eq!((rules.all().len(), rules.last_id()), (3, 9));
        let associations = rules.all().iter().map(StoredRule::of).collect();
        let again = serde_json::to_string(&StoredRules { last_id: 9, associations }).unwrap();
        assert_eq!(read(&again).unwrap().all(), rules.all());
    }

    #[test]
    fn file_in_use_is_refused() {
        let folder = std::env::temp_dir().join(format!("ferric-rules-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (path, link) = (folder.join("rules.json"), folder.join("link.json"));
        let first = RuleFile::load(&path).unwrap();
        let again = RuleFile::load(&path).unwrap_err().to_string();
        assert!(again.contains("rules.json is in use by another RIC"), "{again}");
        replace(&first.path, "{\"last_id\": 1, \"associations\": []}").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(RuleFile::load(&link), Err(RuleFileError::InUse(_))));
        drop(first);
        let through = RuleFile::load(&link).unwrap();
        // a file at the temporary path is not overwritten through a link
        let other = folder.join("other");
        fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&other, folder.join("rules.json.new")).unwrap();
        replace(&through.path, "{\"last_id\": 2, \"associations\": []}").unwrap();
        drop(through);
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
        assert!(link.is_symlink());
        assert_eq!(RuleFile::load(&path).unwrap().rules.last_id(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn malformed_file_is_refused_with_the_position() {
        let is_refused = |text: &str, pieces: &[&str]| {
            let why = read(text).unwrap_err();
            pieces.iter().for_each(|piece| assert!(why.contains(piece), "{piece}: {why}"));
        };
        is_refused("", &["line 1 column 0"]);
        is_refused("{\"last_id\": 1, \"associations\": []} x", &["line 1 column 36"]);
        is_refused("{\"associations\": []}", &["missing field `last_id`"]);
        let rules = |rules: &str| format!("{{\"last_id\": 3, \"associations\": [{rules}]}}");
        is_refused(&rules(r#"{"id": 1, "plmn": "00101", "dl": 1, "x": 1}"#), &["associations[0]", "unknown field `x`"]);
        is_refused(&rules(r#"{"id": 1, "plmn": 101, "dl": 1}"#), &["associations[0].plmn", "line 1"]);
        is_refused(&rules(r#"{"id": 1, "plmn": "101", "dl": 1}"#), &["associations[0]", "five or six digits"]);
        is_refused(&rules(r#"{"id": 1, "dl": 1}"#), &["associations[0]", "a rule needs at least one, to select UEs"]);
        is_refused(&rules(r#"{"id": 1, "ue": "imsi:1", "dl": 1}"#), &["associations[0]", "`imsi:1`: not a UE"]);
        let same = r#"{"id": 1, "plmn": "00101", "dl": 1}"#;
        is_refused(&rules(&format!("{same}, {same}")), &["associations[1].id: 1 is not above"]);
        is_refused(&rules(r#"{"id": 4, "plmn": "00101", "dl": 1}"#), &["last_id: 3 is below"]);
        let many: Vec<String> =
            (1..=MAX_RULES + 1).map(|id| format!(r#"{{"id": {id}, "plmn": "00101", "dl": {id}}}"#)).collect();
        is_refused(&rules(&many.join(",")), &["1025 rules; at most 1024 are allowed"]);
    }
}
