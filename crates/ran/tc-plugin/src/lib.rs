//! Plug-ins for traffic control: classifiers, queue disciplines, schedulers and pacers in shared objects, which are loaded
//! at run time (FlexRIC paper, 6.1.1).
//!
//! A plug-in implements the C ABI of `include/ferric_tc.h`. It gets the headers and lengths of packets, never the packets,
//! and only a queue discipline can drop them. An invalid return value is a fault, counted in [`radio::tc::Faults`].

mod instance;
mod table;

use core::fmt;
use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use radio::tc::{ClassifierChoice, DisciplineChoice, PacerChoice, SchedulerChoice};

use instance::Instance;
pub use shared_object::LoadError;
use shared_object::{Library, Object};
use table::{Functions, MAX_STATE_OCTETS, Table};

/// The default folder of plug-ins.
pub const DEFAULT_FOLDER: &str = "/usr/lib/ferric/tc";

/// The maximum length of settings, in octets.
const MAX_SETTINGS: usize = 1024;

/// The kind of a plug-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginKind {
    /// Selects the queue of a packet.
    Classifier,
    /// A queue discipline: marks and drops packets of a queue.
    Discipline,
    /// Selects the queue to send from.
    Scheduler,
    /// Limits how much is passed to RLC.
    Pacer,
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PluginKind::Classifier => "a classifier",
            PluginKind::Discipline => "a queue discipline",
            PluginKind::Scheduler => "a scheduler",
            PluginKind::Pacer => "a pacer",
        })
    }
}

/// Why a loaded plug-in cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseError {
    /// The plug-in is of another kind.
    WrongKind {
        /// The name of the plug-in.
        name: String,
        /// Its kind.
        actual: PluginKind,
        /// The required kind.
        expected: PluginKind,
    },
    /// The settings for the plug-in of this name contain a zero octet, or have more than 1024 octets.
    InvalidSettings(String),
    /// The plug-in rejects its settings.
    SettingsRejected {
        /// The name of the plug-in.
        name: String,
        /// The settings.
        settings: String,
        /// The return value of `init`.
        code: i32,
    },
}

impl fmt::Display for UseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UseError::WrongKind { name, actual, expected } => write!(f, "{name} is {actual}, not {expected}"),
            UseError::InvalidSettings(name) => {
                write!(f, "the settings of {name} must have at most {MAX_SETTINGS} octets, none of them zero")
            }
            UseError::SettingsRejected { name, settings, code } => {
                write!(f, "{name} rejects the settings {settings:?} (init returned {code})")
            }
        }
    }
}

impl std::error::Error for UseError {}

/// A loaded plug-in. The choices created from it keep its code loaded, so it may be dropped.
#[derive(Clone)]
pub struct Plugin {
    loaded: Arc<Loaded>,
    kind: PluginKind,
}

/// The code of a plug-in.
struct Loaded {
    name: String,
    functions: Functions,
    /// Keeps the code loaded while the plug-in or one of its instances exists.
    _library: Library,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("name", &self.name()).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Plugin {
    /// Loads the plug-in `NAME.so` from `folder`.
    ///
    /// # Errors
    /// If it may not be loaded from there, or is not a plug-in for traffic control.
    pub fn load(name: &str, folder: &Path) -> Result<Self, LoadError> {
        if !shared_object::is_plain(name) {
            return Err(LoadError::NoName(name.to_owned()));
        }
        let file = folder.join(format!("{name}.so"));
        let Object { name: own_name, table: Table { functions, .. }, library } = Object::load(&file, folder)?;
        if own_name != name {
            return Err(LoadError::Malformed("its name differs from the name of its file"));
        }
        if functions.state_octets > MAX_STATE_OCTETS {
            return Err(LoadError::Malformed("state_octets exceeds 64 KiB"));
        }
        let kind = functions.kind().ok_or(LoadError::Malformed("the value of `part` is unknown"))?;
        if !functions.implements(kind) {
            return Err(LoadError::Malformed("the function that `part` requires is missing"));
        }
        Ok(Plugin { loaded: Arc::new(Loaded { name: own_name, functions, _library: library }), kind })
    }

    /// The name of the plug-in.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.loaded.name
    }

    /// The kind of the plug-in.
    #[must_use]
    pub fn kind(&self) -> PluginKind {
        self.kind
    }

    /// The plug-in as a bearer's classifier, with these settings.
    ///
    /// # Errors
    /// If the plug-in is of another kind, or rejects the settings.
    pub fn classifier(&self, settings: &str) -> Result<ClassifierChoice, UseError> {
        let make = self.factory(PluginKind::Classifier, settings)?;
        Ok(ClassifierChoice::custom(self.name(), make))
    }

    /// The plug-in as a queue's discipline, with these settings.
    ///
    /// # Errors
    /// If the plug-in is of another kind, or rejects the settings.
    pub fn discipline(&self, settings: &str) -> Result<DisciplineChoice, UseError> {
        let make = self.factory(PluginKind::Discipline, settings)?;
        Ok(DisciplineChoice::custom(self.name(), make))
    }

    /// The plug-in as a bearer's scheduler, with these settings.
    ///
    /// # Errors
    /// If the plug-in is of another kind, or rejects the settings.
    pub fn scheduler(&self, settings: &str) -> Result<SchedulerChoice, UseError> {
        let make = self.factory(PluginKind::Scheduler, settings)?;
        Ok(SchedulerChoice::custom(self.name(), make))
    }

    /// The plug-in as a bearer's pacer, with these settings.
    ///
    /// # Errors
    /// If the plug-in is of another kind, or rejects the settings.
    pub fn pacer(&self, settings: &str) -> Result<PacerChoice, UseError> {
        let make = self.factory(PluginKind::Pacer, settings)?;
        Ok(PacerChoice::custom(self.name(), make))
    }

    /// Creates instances with settings that a first instance has accepted.
    fn factory(
        &self,
        expected: PluginKind,
        settings: &str,
    ) -> Result<impl Fn() -> Instance + Send + Sync + use<>, UseError> {
        let name = || self.name().to_owned();
        if self.kind != expected {
            return Err(UseError::WrongKind { name: name(), actual: self.kind, expected });
        }
        let valid = CString::new(settings).ok().filter(|settings| settings.as_bytes().len() <= MAX_SETTINGS);
        let valid = valid.ok_or_else(|| UseError::InvalidSettings(name()))?;
        let loaded = self.loaded.clone();
        let code = Instance::new(loaded.clone(), &valid).code();
        if code != 0 {
            return Err(UseError::SettingsRejected { name: name(), settings: settings.to_owned(), code });
        }
        Ok(move || Instance::new(loaded.clone(), &valid))
    }
}
