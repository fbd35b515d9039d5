//! Parts of traffic control of one's own: classifiers, disciplines of queues, schedulers and pacers (FlexRIC paper, 6.1.1:
//! "as shared objects to enable loading them online").
//!
//! A part offers the C ABI of `include/ferric_tc.h`. It sees packets' headers and lengths, never the packets, and cannot lose
//! any but by a discipline that drops them; an answer out of range is a fault, counted in [`radio::tc::Faults`].

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

/// The folder from which parts are loaded where none is configured.
pub const DEFAULT_FOLDER: &str = "/usr/lib/ferric/tc";

/// Octets of settings.
const MAX_SETTINGS: usize = 1024;

/// What a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It chooses a queue for a packet.
    Classifier,
    /// It marks and drops what is in a queue.
    Discipline,
    /// It takes from the queues.
    Scheduler,
    /// It decides how much goes on.
    Pacer,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Classifier => "a classifier",
            Part::Discipline => "a queue's discipline",
            Part::Scheduler => "a scheduler",
            Part::Pacer => "a pacer",
        })
    }
}

/// Why a part that was loaded cannot be used so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseError {
    /// It is another part.
    OtherPart {
        /// Its name.
        name: String,
        /// What it is.
        is: Part,
        /// What it should be.
        wanted: Part,
    },
    /// Its settings hold a zero octet, or are longer than 1024 octets.
    NoSettings(String),
    /// It says that its settings make no sense.
    Refused {
        /// Its name.
        name: String,
        /// The settings.
        settings: String,
        /// What it returned.
        code: i32,
    },
}

impl fmt::Display for UseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UseError::OtherPart { name, is, wanted } => write!(f, "{name} is {is}, not {wanted}"),
            UseError::NoSettings(name) => {
                write!(f, "the settings of {name} must be at most {MAX_SETTINGS} octets without a zero among them")
            }
            UseError::Refused { name, settings, code } => {
                write!(f, "{name} does not take the settings {settings:?} (it returned {code})")
            }
        }
    }
}

impl std::error::Error for UseError {}

/// A part that was loaded. What it is used for holds its code: this may be dropped.
#[derive(Clone)]
pub struct Plugin {
    loaded: Arc<Loaded>,
    part: Part,
}

/// A part in memory.
struct Loaded {
    name: String,
    functions: Functions,
    /// What the code lies in; it is never unloaded while the part or what it is used for is there.
    _library: Library,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("name", &self.name()).field("part", &self.part).finish_non_exhaustive()
    }
}

impl Plugin {
    /// Loads the part of that name: `NAME.so` in `folder`, as the [crate] says.
    ///
    /// # Errors
    /// Where it may not be loaded from there, or is no part.
    pub fn load(name: &str, folder: &Path) -> Result<Self, LoadError> {
        if !shared_object::is_plain(name) {
            return Err(LoadError::NoName(name.to_owned()));
        }
        let file = folder.join(format!("{name}.so"));
        let Object { name: own_name, table: Table { functions, .. }, library } = Object::load(&file, folder)?;
        if own_name != name {
            return Err(LoadError::Malformed("its name is not that of its file"));
        }
        if functions.state_octets > MAX_STATE_OCTETS {
            return Err(LoadError::Malformed("an instance needs more than 64 KiB"));
        }
        let part = functions.part().ok_or(LoadError::Malformed("it is no part that there is"))?;
        if !functions.can(part) {
            return Err(LoadError::Malformed("it lacks the function that its part is for"));
        }
        Ok(Plugin { loaded: Arc::new(Loaded { name: own_name, functions, _library: library }), part })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.loaded.name
    }

    /// What it is for.
    #[must_use]
    pub fn part(&self) -> Part {
        self.part
    }

    /// It as a bearer's classifier.
    ///
    /// # Errors
    /// Where it is another part, or does not take the settings.
    pub fn classifier(&self, settings: &str) -> Result<ClassifierChoice, UseError> {
        let make = self.maker(Part::Classifier, settings)?;
        Ok(ClassifierChoice::own(self.name(), make))
    }

    /// It as a queue's discipline.
    ///
    /// # Errors
    /// Where it is another part, or does not take the settings.
    pub fn discipline(&self, settings: &str) -> Result<DisciplineChoice, UseError> {
        let make = self.maker(Part::Discipline, settings)?;
        Ok(DisciplineChoice::own(self.name(), make))
    }

    /// It as a bearer's scheduler.
    ///
    /// # Errors
    /// Where it is another part, or does not take the settings.
    pub fn scheduler(&self, settings: &str) -> Result<SchedulerChoice, UseError> {
        let make = self.maker(Part::Scheduler, settings)?;
        Ok(SchedulerChoice::own(self.name(), make))
    }

    /// It as a bearer's pacer.
    ///
    /// # Errors
    /// Where it is another part, or does not take the settings.
    pub fn pacer(&self, settings: &str) -> Result<PacerChoice, UseError> {
        let make = self.maker(Part::Pacer, settings)?;
        Ok(PacerChoice::own(self.name(), make))
    }

    /// What makes instances with settings that one has taken.
    fn maker(&self, wanted: Part, settings: &str) -> Result<impl Fn() -> Instance + Send + Sync + use<>, UseError> {
        let name = || self.name().to_owned();
        if self.part != wanted {
            return Err(UseError::OtherPart { name: name(), is: self.part, wanted });
        }
        let taken = CString::new(settings).ok().filter(|settings| settings.as_bytes().len() <= MAX_SETTINGS);
        let taken = taken.ok_or_else(|| UseError::NoSettings(name()))?;
        let loaded = self.loaded.clone();
        let code = Instance::new(loaded.clone(), &taken).code();
        if code != 0 {
            return Err(UseError::Refused { name: name(), settings: settings.to_owned(), code });
        }
        Ok(move || Instance::new(loaded.clone(), &taken))
    }
}
