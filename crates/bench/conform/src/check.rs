//! A check, its outcome, and what has the peer begin a procedure.

use std::fmt;

use e2ap::{RanFunctionId, Version};
use serde::{Deserialize, Serialize};

/// The side of E2 whose conformance is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A near-RT RIC.
    Ric,
    /// An E2 node.
    Node,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Ric => "near-RT RIC",
            Role::Node => "E2 node",
        })
    }
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The peer did what the clause requires.
    Pass,
    /// The peer did something else.
    Fail,
    /// The state that the check needs was not reached, or the peer does not offer what is checked.
    Inconclusive,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "FAIL",
            Outcome::Inconclusive => "inconclusive",
        })
    }
}

/// Why a check ended before its last step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The peer violated the clause: how.
    Fail(String),
    /// The check could not be completed: why.
    Inconclusive(String),
}

/// The result of a step of a check.
pub type Step<T = ()> = Result<T, Stop>;

pub(crate) fn fail<T>(reason: impl Into<String>) -> Step<T> {
    Err(Stop::Fail(reason.into()))
}

pub(crate) fn inconclusive<T>(reason: impl Into<String>) -> Step<T> {
    Err(Stop::Inconclusive(reason.into()))
}

/// One check of a peer; `S` is this end.
pub struct Check<S> {
    /// The name, unique within its role.
    pub id: &'static str,
    /// What the peer must do.
    pub title: &'static str,
    /// The clause.
    pub clause: &'static str,
    /// The first version that has it.
    pub since: Version,
    /// The last version that has it.
    pub until: Version,
    /// Whether it sends malformed octets.
    pub is_hostile: bool,
    pub(crate) run: fn(&mut S) -> Step,
}

impl<S> Check<S> {
    pub(crate) const fn new(
        id: &'static str,
        clause: &'static str,
        title: &'static str,
        run: fn(&mut S) -> Step,
    ) -> Check<S> {
        Check { id, title, clause, since: Version::V1_00, until: Version::V3_01, is_hostile: false, run }
    }

    pub(crate) const fn since(self, since: Version) -> Check<S> {
        Check { since, ..self }
    }

    pub(crate) const fn until(self, until: Version) -> Check<S> {
        Check { until, ..self }
    }

    pub(crate) const fn hostile(self) -> Check<S> {
        Check { is_hostile: true, ..self }
    }

    /// Returns whether `version` has the check.
    #[must_use]
    pub fn is_in(&self, version: Version) -> bool {
        (self.since..=self.until).contains(&version)
    }
}

/// A procedure that only the RIC begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Subscribe with a report action.
    Subscribe,
    /// Subscribe with an insert action.
    SubscribeInsert,
    /// Delete a subscription.
    Unsubscribe,
    /// Send a control whose acknowledgement is requested.
    Control,
    /// Send a query.
    Query,
    /// Modify a subscription.
    Modify,
    /// Send a Reset Request.
    Reset,
    /// Send a RIC Service Query.
    ServiceQuery,
    /// Send an E2 Connection Update.
    ConnectionUpdate,
    /// Send an E2 Removal Request.
    Remove,
}

impl Action {
    /// Returns the name, as a stimulus program reads it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Action::Subscribe => "subscribe",
            Action::SubscribeInsert => "subscribe-insert",
            Action::Unsubscribe => "unsubscribe",
            Action::Control => "control",
            Action::Query => "query",
            Action::Modify => "modify",
            Action::Reset => "reset",
            Action::ServiceQuery => "service-query",
            Action::ConnectionUpdate => "connection-update",
            Action::Remove => "remove",
        }
    }
}

/// Has a RIC begin procedures, since E2 itself offers no means for it: a test harness, a script that calls the northbound
/// interface of the RIC, or nothing.
pub trait Stimulus {
    /// Has the RIC begin a procedure with the node of that name (`gnb-00101-c0f0`) and its RAN function. Returns at once; a RIC that
    /// does nothing makes the check inconclusive.
    fn act(&mut self, action: Action, node: &str, function: RanFunctionId);
}

/// No stimulus: checks wait for what the RIC does by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStimulus;

impl Stimulus for NoStimulus {
    fn act(&mut self, _: Action, _: &str, _: RanFunctionId) {}
}
