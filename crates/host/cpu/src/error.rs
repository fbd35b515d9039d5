use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why something cannot be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A policy, a profile or a selection that makes no sense: the caller's mistake. The text says what to do.
    Invalid(String),
    /// A mistake in a profile's file.
    Profile {
        /// The file.
        path: PathBuf,
        /// The mistake.
        error: settings::Error,
    },
    /// No process or thread was found.
    NotFound(String),
    /// Another controller manages this host.
    Busy {
        /// Its process, if known.
        pid: Option<u32>,
    },
    /// A policy is applied, and was not undone yet.
    Applied {
        /// Its name.
        policy: String,
    },
    /// The system has refused something.
    System {
        /// What was tried, such as `write /proc/irq/24/smp_affinity_list`.
        action: String,
        /// The right that it takes, as far as that is known.
        right: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The kernel does not have what is needed.
    Unsupported(String),
}

impl Error {
    pub(crate) fn system(action: impl Into<String>, right: &'static str, source: io::Error) -> Error {
        Error::System { action: action.into(), right, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid(text) | Error::NotFound(text) | Error::Unsupported(text) => f.write_str(text),
            Error::Profile { path, error } => write!(f, "{}: {error}", path.display()),
            Error::Busy { pid: Some(pid) } => {
                write!(f, "process {pid} manages the CPUs of this host already: end it first (Ctrl-C, or kill {pid})")
            }
            Error::Busy { pid: None } => {
                f.write_str("another process manages the CPUs of this host already: end it first")
            }
            Error::Applied { policy } => {
                write!(f, "policy {policy} is applied already: `ferric cpu undo` restores what it has changed")
            }
            Error::System { action, right, source } => {
                write!(f, "cannot {action}: {source}")?;
                match source.raw_os_error() {
                    Some(libc::EPERM | libc::EACCES) if !right.is_empty() => write!(f, "; it takes {right}"),
                    Some(libc::EINVAL) if action.starts_with("let thread") => f.write_str(
                        "; its control group does not have these CPUs, or they are offline: give others with --cpus",
                    ),
                    Some(libc::EROFS) => {
                        f.write_str("; the file system is read-only here: run it on the host, or mount it writable")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Profile { error, .. } => Some(error),
            Error::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
