//! The REST interface of the platform's alarm manager.

use std::time::Instant;

use rest::{Operation, Parameter, Problem, Request, Response, Role, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alarm::{Action, Alarm, Definition, Notification};
use crate::book::{MAX_ACTIVE, MAX_HISTORY, RaiseError};
use crate::{Alarms, Severity};

const ALARMS: &str = "/ric/v1/alarms";
const DEFINE: &str = "/ric/v1/alarms/define";
const DEFINITION: &str = "/ric/v1/alarms/define/{alarmId}";
const CONFIG: &str = "/ric/v1/alarms/config";
const ALARM_ID: Parameter = Parameter::of::<u32>("alarmId", "The number of the problem.");

/// The longest message of an xApp, in octets.
const MAX_MESSAGE: usize = 16 << 10;

/// An alarm to raise or to clear. The platform's clients send more members, which mean nothing here.
#[derive(Deserialize, JsonSchema)]
struct Message {
    #[serde(flatten)]
    alarm: MessageAlarm,
    /// `RAISE`, `CLEAR` or `CLEARALL`. DELETE clears in any case; POST raises without it.
    #[serde(rename = "AlarmAction", alias = "alarmAction")]
    action: Option<Action>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageAlarm {
    managed_object_id: String,
    application_id: String,
    #[serde(default)]
    specific_problem: i64,
    /// Empty in a clear.
    #[serde(default)]
    perceived_severity: String,
    #[serde(default)]
    additional_info: String,
    #[serde(default)]
    identifying_info: String,
}

/// The bounds.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Config {
    /// Alarms that may be active.
    max_active_alarms: usize,
    /// Notifications that are kept.
    max_alarm_history: usize,
}

/// Definitions to add.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Definitions {
    /// The definitions.
    #[serde(rename = "alarmdefinitions")]
    definitions: Vec<Definition>,
}

impl MessageAlarm {
    fn alarm(self) -> Result<Alarm, Problem> {
        let severity = match self.perceived_severity.as_str() {
            "" => Severity::Default,
            word => serde_json::from_value(word.into())
                .map_err(|_| Problem::unprocessable(format!("perceivedSeverity: `{word}` is none")))?,
        };
        Ok(Alarm {
            managed_object_id: self.managed_object_id,
            application_id: self.application_id,
            specific_problem: self.specific_problem,
            perceived_severity: severity,
            additional_info: self.additional_info,
            identifying_info: self.identifying_info,
        })
    }
}

fn problem(error: RaiseError) -> Problem {
    match error {
        RaiseError::TooMany(_) | RaiseError::TooManyDefinitions => Problem::unavailable(error.to_string()),
        error => Problem::unprocessable(error.to_string()),
    }
}

fn change(alarms: &Alarms, request: &Request, is_raised: bool) -> Result<Response, Problem> {
    let Message { alarm, action } = request.json()?;
    let alarm = alarm.alarm()?;
    // the platform's clients post a clear
    if is_raised && !matches!(action, Some(Action::Clear | Action::ClearAll)) {
        alarms.raise(alarm, Instant::now()).map_err(problem)?;
    } else if action == Some(Action::ClearAll) {
        alarms.book().clear_all(&alarm.managed_object_id, &alarm.application_id, None);
    } else {
        alarms.clear(&alarm, Instant::now());
    }
    Ok(Response::ok(()))
}

/// Raises or clears an alarm by a message of an xApp over RMR.
pub(crate) fn handle_message(alarms: &Alarms, owner: &str, payload: &[u8]) -> Result<(), String> {
    if payload.len() > MAX_MESSAGE {
        return Err(format!("it has {} octets; at most {MAX_MESSAGE} are read", payload.len()));
    }
    // libraries in C count the end of the text
    let end = payload.iter().rposition(|octet| *octet != 0).map_or(0, |last| last + 1);
    let Message { alarm, action } = serde_json::from_slice(&payload[..end]).map_err(|error| error.to_string())?;
    let alarm = alarm.alarm().map_err(|problem| problem.detail().to_owned())?;
    let now = Instant::now();
    let mut book = alarms.book();
    match action {
        Some(Action::Raise) => book.raise(alarm, Some(owner), now).map_err(|error| error.to_string()),
        Some(Action::Clear) => {
            book.clear(&alarm, Some(owner), now);
            Ok(())
        }
        Some(Action::ClearAll) => {
            book.clear_all(&alarm.managed_object_id, &alarm.application_id, Some(owner));
            Ok(())
        }
        None => Err("AlarmAction is missing".to_owned()),
    }
}

/// Returns the route of the active alarms: one of [`routes`].
#[must_use]
pub fn active_route(alarms: &Alarms) -> Route {
    let operation = Operation::get("/ric/v1/alarms/active", "getActiveAlarms", "The active alarms");
    let alarms = alarms.clone();
    Route::new(operation.returns::<Vec<Notification>>("Oldest first."), move |_| Ok(Response::ok(alarms.active())))
}

/// Returns the routes of the alarm manager.
#[must_use]
pub fn routes(alarms: &Alarms) -> Vec<Route> {
    let route = |operation: Operation, answer: fn(&Alarms, &Request) -> Result<Response, Problem>| {
        let alarms = alarms.clone();
        Route::new(operation, move |request| answer(&alarms, request))
    };
    vec![
        route(
            Operation::post(ALARMS, "raiseAlarm", "Raise an alarm")
                .takes::<Message>()
                .returns::<()>("It is raised; with `AlarmAction` CLEAR or CLEARALL, it is cleared."),
            |alarms, request| change(alarms, request, true),
        ),
        route(
            Operation::delete(ALARMS, "clearAlarm", "Clear an alarm")
                .role(Role::Control)
                .takes::<Message>()
                .returns::<()>("It is cleared, or was not active."),
            |alarms, request| change(alarms, request, false),
        ),
        active_route(alarms),
        route(
            Operation::get("/ric/v1/alarms/history", "getAlarmHistory", "What was raised and cleared")
                .returns::<Vec<Notification>>("Oldest first."),
            |alarms, _| Ok(Response::ok(alarms.history())),
        ),
        route(Operation::get(CONFIG, "getAlarmConfig", "The bounds").returns::<Config>("The bounds."), |alarms, _| {
            let book = alarms.book();
            let (max_active_alarms, max_alarm_history) = (book.max_active, book.max_history);
            Ok(Response::ok(Config { max_active_alarms, max_alarm_history }))
        }),
        route(
            Operation::post(CONFIG, "setAlarmConfig", "Change the bounds")
                .role(Role::Admin)
                .takes::<Config>()
                .returns::<Config>("The bounds."),
            |alarms, request| {
                let config: Config = request.json()?;
                if config.max_active_alarms > MAX_ACTIVE || config.max_alarm_history > MAX_HISTORY {
                    let text = format!("at most {MAX_ACTIVE} active alarms and {MAX_HISTORY} in the history");
                    return Err(Problem::unprocessable(text));
                }
                let mut book = alarms.book();
                (book.max_active, book.max_history) = (config.max_active_alarms, config.max_alarm_history);
                drop(book);
                Ok(Response::ok(config))
            },
        ),
        route(
            Operation::get(DEFINE, "getAlarmDefinitions", "The problems that are defined")
                .returns::<Definitions>("The definitions."),
            |alarms, _| Ok(Response::ok(Definitions { definitions: alarms.book().definitions() })),
        ),
        route(
            Operation::post(DEFINE, "defineAlarms", "Define problems")
                .role(Role::Admin)
                .takes::<Definitions>()
                .returns::<()>("They are defined, in place of earlier ones."),
            |alarms, request| {
                let Definitions { definitions } = request.json()?;
                definitions.into_iter().try_for_each(|one| alarms.book().define(one)).map_err(problem)?;
                Ok(Response::ok(()))
            },
        ),
        route(
            Operation::get(DEFINITION, "getAlarmDefinition", "A definition")
                .path(&[ALARM_ID])
                .returns::<Definition>("The definition."),
            |alarms, request| {
                let id = i64::from(request.number::<u32>(0, "alarm")?);
                let none = || Problem::not_found(format!("problem {id} is not defined"));
                Ok(Response::ok(alarms.book().definition(id).cloned().ok_or_else(none)?))
            },
        ),
        route(
            Operation::delete(DEFINITION, "undefineAlarm", "Remove a definition")
                .role(Role::Admin)
                .path(&[ALARM_ID])
                .returns::<()>("It is removed."),
            |alarms, request| {
                let id = i64::from(request.number::<u32>(0, "alarm")?);
                let none = || Problem::not_found(format!("problem {id} is not defined"));
                if alarms.book().undefine(id) { Ok(Response::ok(())) } else { Err(none()) }
            },
        ),
    ]
}
