//! The log of decisions: what was done and why, in plain language and in JSON.

use std::fmt;

use serde_json::{Value, json};

use super::{Cause, Step};

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The controller measures.
    Started,
    /// A step was taken.
    Taken,
    /// A step was given back.
    Returned,
    /// A step could not be taken: what was changed of it is reverted.
    Refused,
    /// No step helps: the reader can do something.
    Advice,
    /// Something else that the reader ought to know.
    Note,
    /// Everything is restored.
    Restored,
}

impl Kind {
    /// A word for programs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Started => "started",
            Kind::Taken => "taken",
            Kind::Returned => "returned",
            Kind::Refused => "refused",
            Kind::Advice => "advice",
            Kind::Note => "note",
            Kind::Restored => "restored",
        }
    }
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When, in s since the controller was started.
    pub at_s: f64,
    /// What it says.
    pub kind: Kind,
    /// The step.
    pub step: Option<Step>,
    /// Why.
    pub cause: Option<Cause>,
    /// How many changes of the host the step consists of.
    pub changes: usize,
    /// For a step that was taken: the time from the first observation of the culprit until the step was complete, in ms. The observation
    /// counts from the one before it, so it is the longest time that it can have been.
    pub reaction_ms: Option<f64>,
    /// How many CPUs the base station uses.
    pub load: f64,
    /// The share of the host's CPU time that everything else had.
    pub others: f64,
    /// More, for the reader; may be empty.
    pub text: String,
}

impl Entry {
    /// An object with `at_s`, `kind`, `step`, `target`, `what`, `why`, `class`, `culprit`, `victim`, `changes`, `reaction_ms`, `load_cpus`,
    /// `others_share` and `text`; null where there is none.
    #[must_use]
    pub fn json(&self) -> Value {
        let target = self.step.as_ref().and_then(|step| match step {
            Step::Yield { name } | Step::Evict { name } => Some(name.clone()),
            Step::Interrupt { number } => Some(number.to_string()),
            Step::Shield { cpus } => Some(cpus.to_string()),
            _ => None,
        });
        let cause = match &self.cause {
            Some(Cause::Outside(hurt)) => Some(&**hurt),
            cause => cause.as_ref(),
        };
        let (class, culprit, victim) = match cause {
            Some(Cause::Hurt { class, name, victim, .. }) => (Some(class.name()), Some(name), Some(victim)),
            _ => (None, None, None),
        };
        let rounded = |number: f64| (number * 1000.0).round() / 1000.0;
        json!({
            "at_s": rounded(self.at_s), "kind": self.kind.word(), "step": self.step.as_ref().map(Step::word), "target": target,
            "what": self.step.as_ref().map(ToString::to_string), "why": self.cause.as_ref().map(ToString::to_string),
            "class": class, "culprit": culprit, "victim": victim, "changes": self.changes,
            "reaction_ms": self.reaction_ms.map(rounded), "load_cpus": rounded(self.load), "others_share": rounded(self.others),
            "text": self.text,
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:9.3} s  ", self.at_s)?;
        let step = || self.step.as_ref().map(ToString::to_string).unwrap_or_default();
        let cause = || self.cause.as_ref().map(ToString::to_string).unwrap_or_default();
        match self.kind {
            Kind::Taken => {
                write!(f, "step: {} ({} changes), since {}", step(), self.changes, cause())?;
                self.reaction_ms.map_or(Ok(()), |ms| write!(f, "; {ms:.0} ms after it was first seen"))?;
            }
            Kind::Returned => write!(f, "given back: {}, since {}", step(), cause())?,
            Kind::Refused => write!(f, "not possible: {}", step())?,
            Kind::Advice => write!(f, "no step helps: {}", cause())?,
            Kind::Started | Kind::Note | Kind::Restored => return f.write_str(&self.text),
        }
        if self.text.is_empty() { Ok(()) } else { write!(f, ": {}", self.text) }
    }
}
