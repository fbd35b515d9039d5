//! Alarms and their definitions, with the names that the platform's alarm manager has for their parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The problem of a lost gNB, and that of a lost eNB.
pub(crate) const GNB_LOST: i64 = 8006;
pub(crate) const ENB_LOST: i64 = 8007;
/// The problem of an xApp that does not read. The platform has none for it.
pub(crate) const XAPP_BEHIND: i64 = 72_901;
/// Those of an xApp that the RIC has started and that has ended with a fault, of one that cannot be reached over RMR, and of one whose
/// sessions end again and again.
pub(crate) const XAPP_FAULTY: i64 = 72_902;
pub(crate) const XAPP_UNREACHABLE: i64 = 72_903;
pub(crate) const XAPP_UNSTEADY: i64 = 72_904;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Not stated.
    Unspecified,
    /// Service is affected: act at once.
    Critical,
    /// Service is affected: act soon.
    Major,
    /// Service is not affected.
    Minor,
    /// It may become worse.
    Warning,
    /// It is over.
    Cleared,
    /// That of the definition: warning.
    Default,
}

impl Severity {
    /// The severities that an active alarm may have.
    pub const OF_ACTIVE: [Severity; 5] =
        [Severity::Unspecified, Severity::Critical, Severity::Major, Severity::Minor, Severity::Warning];

    /// Its word in lower case, as monitoring systems have it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Unspecified => "unspecified",
            Severity::Critical => "critical",
            Severity::Major => "major",
            Severity::Minor => "minor",
            Severity::Warning => "warning",
            Severity::Cleared => "cleared",
            Severity::Default => "default",
        }
    }
}

/// An alarm. Two with the same object, application, problem and identifying text are the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alarm {
    /// The object, such as `RIC`.
    pub managed_object_id: String,
    /// The application that raises it.
    pub application_id: String,
    /// The problem, by the number of its definition.
    pub specific_problem: i64,
    /// How bad it is.
    pub perceived_severity: Severity,
    /// A text for people.
    #[serde(default)]
    pub additional_info: String,
    /// What distinguishes it from others with the same problem.
    #[serde(default)]
    pub identifying_info: String,
}

impl Alarm {
    /// Whether both are the same one.
    pub(crate) fn is(&self, other: &Alarm) -> bool {
        self.managed_object_id == other.managed_object_id
            && self.application_id == other.application_id
            && self.specific_problem == other.specific_problem
            && self.identifying_info == other.identifying_info
    }
}

/// What is done with an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Action {
    /// It is raised.
    Raise,
    /// It is cleared.
    Clear,
    /// All alarms of the object and application are cleared.
    ClearAll,
}

/// What is known of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// The number of the problem.
    pub alarm_id: i64,
    /// A text for people.
    pub alarm_text: String,
    /// The kind of the event, such as `Communication error`.
    #[serde(default)]
    pub event_type: String,
    /// What to do.
    #[serde(default)]
    pub operation_instructions: String,
    /// The seconds for which the problem must last before the alarm is raised.
    #[serde(default)]
    pub raise_delay: u32,
    /// The seconds for which the problem must be over before the alarm is cleared.
    #[serde(default)]
    pub clear_delay: u32,
}

impl Definition {
    /// The problems that the RIC raises alarms for.
    pub(crate) fn built_in() -> Vec<Definition> {
        let define = |id, text: &str, instructions: &str, (raise_delay, clear_delay)| Definition {
            alarm_id: id,
            alarm_text: text.to_owned(),
            event_type: "Communication error".to_owned(),
            operation_instructions: instructions.to_owned(),
            raise_delay,
            clear_delay,
        };
        let find_out = "ferric doctor --listen URL at the RIC's address finds out why it does not set up";
        vec![
            define(GNB_LOST, "E2 CONNECTIVITY LOST TO G-NODEB", find_out, (5, 5)),
            define(ENB_LOST, "E2 CONNECTIVITY LOST TO E-NODEB", find_out, (5, 5)),
            define(
                XAPP_BEHIND,
                "XAPP READS TOO SLOWLY",
                "Reports are dropped: give it fewer, or a faster host",
                (1, 5),
            ),
            define(XAPP_FAULTY, "XAPP DOES NOT RUN", "ferric xapps logs NAME has its last output", (0, 10)),
            define(
                XAPP_UNREACHABLE,
                "XAPP CANNOT BE REACHED OVER RMR",
                "Its subscriptions were deleted: start it, or correct its endpoint",
                (0, 5),
            ),
            define(XAPP_UNSTEADY, "SESSIONS OF AN XAPP END AGAIN AND AGAIN", "Its own log says why it ends", (0, 5)),
        ]
    }
}

/// The payload of a message of the platform about an alarm (RIC_ALARM, RIC_ALARM_UPDATE).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlatformMessage<'a> {
    #[serde(flatten)]
    alarm: &'a Alarm,
    #[serde(rename = "AlarmAction")]
    action: Action,
    #[serde(rename = "AlarmTime")]
    time_ns: i64,
}

impl Notification {
    /// Returns the payload of a message to an alarm manager of the platform.
    #[must_use]
    pub fn to_message(&self) -> Vec<u8> {
        let message = PlatformMessage { alarm: &self.alarm, action: self.action, time_ns: self.time_ns };
        // texts and numbers are written in any case
        serde_json::to_vec(&message).unwrap_or_default()
    }
}

/// An alarm that was raised or cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notification {
    /// The alarm.
    #[serde(flatten)]
    pub alarm: Alarm,
    /// What was done.
    #[serde(rename = "AlarmAction")]
    pub action: Action,
    /// When, in nanoseconds of Unix time.
    #[serde(rename = "AlarmTime")]
    pub time_ns: i64,
    /// Its definition.
    #[serde(flatten)]
    pub definition: Definition,
}
