//! `/v1/conflicts`: the latest decisions, who holds what, and the questions to an arbiter.

use std::time::Duration;

use iapp_rest::Job;
use rest::{Operation, Parameter, Problem, RequestQueue, Response, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::ConflictApp;
use crate::decision::{Conflict, Decision, describe, unix_ms};

const QUESTION: Parameter = Parameter::of::<u64>("question", "The number of the control that waits.");
const LIMIT: Parameter = Parameter::of::<u32>("limit", "The most decisions, newest first: 1 to 1024. Default: 100.");
/// The holders that a document names.
const MAX_LISTED: usize = 1024;

/// What became of all controls.
#[derive(Serialize, JsonSchema)]
struct Conflicts {
    /// The rules on parameters.
    rules: usize,
    /// The rules on KPIs.
    kpis: usize,
    /// Controls that were sent as they are.
    sent: u64,
    /// Controls that were sent with other numbers.
    changed: u64,
    /// Controls that were refused, by a rule, a right or a limit.
    refused: u64,
    /// Controls that an arbiter was asked about.
    asked: u64,
    /// Controls whose settings are not known.
    unreadable: u64,
    /// The parameters that are held now.
    held: usize,
    /// The questions that wait for an answer.
    questions: usize,
    /// The xApps that are arbiters now, in the order in which they are asked.
    arbiters: Vec<String>,
}

/// The latest decisions on conflicts.
#[derive(Serialize, JsonSchema)]
struct Decisions {
    /// Newest first.
    decisions: Vec<Decision>,
}

/// Who holds a parameter.
#[derive(Serialize, JsonSchema)]
struct HolderDocument {
    /// The node.
    node: String,
    /// The parameter, or `kpi/` and the KPI.
    parameter: String,
    /// What it is of; empty for the node.
    scope: String,
    /// The xApp.
    xapp: String,
    /// The number that it has asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<f64>,
    /// For how long it has held it.
    held_ms: u64,
    /// When the hold ends, unless it is renewed.
    left_ms: u64,
}

/// Who holds what.
#[derive(Serialize, JsonSchema)]
struct HolderDocuments {
    /// The holders, by node and parameter; the first 1024.
    holders: Vec<HolderDocument>,
}

/// A control that waits for an arbiter.
#[derive(Serialize, JsonSchema)]
struct QuestionDocument {
    /// The number of the control.
    question: u64,
    /// When it was asked, in milliseconds of Unix time.
    time_ms: u64,
    /// The xApp.
    xapp: String,
    /// The node.
    node: String,
    /// What the control sets.
    settings: Vec<String>,
    /// What stands against it.
    conflict: Conflict,
    /// The time that is left for the answer.
    left_ms: u64,
    /// The arbiter that is asked, if one is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    arbiter: Option<String>,
}

/// The controls that wait.
#[derive(Serialize, JsonSchema)]
struct QuestionDocuments {
    /// Oldest first.
    questions: Vec<QuestionDocument>,
}

/// The answer of an arbiter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConflictAnswer")]
struct Answer {
    /// Whether the control is sent.
    accept: bool,
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn routes(queue: &RequestQueue<Job<ConflictApp>>) -> Vec<Route> {
    let tagged = |operation: Operation| operation.tag("conflicts");
    let summary = tagged(Operation::get("/v1/conflicts", "getConflicts", "What became of the controls of all apps"))
        .returns::<Conflicts>("The counters.");
    let decisions =
        tagged(Operation::get("/v1/conflicts/decisions", "getConflictDecisions", "The latest decisions on conflicts"))
            .query(&[LIMIT])
            .returns::<Decisions>("The decisions.");
    let holders = tagged(Operation::get("/v1/conflicts/holders", "getConflictHolders", "Who holds which parameter"))
        .returns::<HolderDocuments>("The holders.");
    let questions = tagged(Operation::get(
        "/v1/conflicts/questions",
        "getConflictQuestions",
        "The controls that wait for an arbiter",
    ))
    .returns::<QuestionDocuments>("The questions.");
    let answer = tagged(Operation::post(
        "/v1/conflicts/questions/{question}",
        "answerConflictQuestion",
        "Decide on a control that waits",
    ))
    .path(&[QUESTION])
    .takes::<Answer>()
    .example(json!({ "accept": true }))
    .empties()
    .describe("404: there is no such question any more; it was answered, or its time is over.");
    vec![
        Route::queued(summary, queue, |_| {
            let job: Job<ConflictApp> = Box::new(|app, ric, reply| {
                let state = app.state();
                let now = state.time(ric.now());
                let counters = &state.counters;
                reply.send(Ok(Response::ok(Conflicts {
                    rules: state.rules.rules.len(),
                    kpis: state.rules.kpis.len(),
                    sent: counters.sent,
                    changed: counters.changed,
                    refused: counters.refused,
                    asked: counters.asked,
                    unreadable: counters.unreadable,
                    held: state.holders.count(now),
                    questions: state.questions.open().len(),
                    arbiters: state.questions.arbiters().map(str::to_owned).collect(),
                })));
            });
            Ok(job)
        }),
        Route::queued(decisions, queue, |request| {
            let limit = request.query_number("limit", 1..=1024_usize)?.unwrap_or(100);
            let job: Job<ConflictApp> = Box::new(move |app, _, reply| {
                let decisions = app.state().decisions.iter().rev().take(limit).cloned().collect();
                reply.send(Ok(Response::ok(Decisions { decisions })));
            });
            Ok(job)
        }),
        Route::queued(holders, queue, |_| {
            let job: Job<ConflictApp> = Box::new(|app, ric, reply| {
                let state = app.state();
                let now = state.time(ric.now());
                let name = |id| ric.nodes().find(|node| node.id == id).map(|node| node.global_id.to_string());
                let all = state.holders.all(now).into_iter().take(MAX_LISTED);
                let holders = all.filter_map(|(key, holder)| {
                    Some(HolderDocument {
                        node: name(key.node)?,
                        parameter: key.parameter.to_string(),
                        scope: key.scope.to_string(),
                        xapp: holder.xapp.to_string(),
                        number: holder.amount.map(|amount| amount.number),
                        held_ms: ms(now - holder.since),
                        left_ms: ms(holder.until - now),
                    })
                });
                let holders = holders.collect();
                reply.send(Ok(Response::ok(HolderDocuments { holders })));
            });
            Ok(job)
        }),
        Route::queued(questions, queue, |_| {
            let job: Job<ConflictApp> = Box::new(|app, ric, reply| {
                let state = app.state();
                let questions = state.questions.open().iter().map(|question| QuestionDocument {
                    question: question.number,
                    time_ms: unix_ms(question.asked),
                    xapp: question.xapp.to_string(),
                    node: question.node_name.clone(),
                    settings: question.settings.iter().map(describe).collect(),
                    conflict: question.conflict.clone(),
                    left_ms: ms(question.deadline - ric.now()),
                    arbiter: question
                        .asked_of
                        .and_then(|consumer| state.questions.arbiter(consumer))
                        .map(|name| name.to_string()),
                });
                let questions = questions.collect();
                reply.send(Ok(Response::ok(QuestionDocuments { questions })));
            });
            Ok(job)
        }),
        Route::queued(answer, queue, |request| {
            let number = request.number::<u64>(0, "question")?;
            let Answer { accept } = request.json()?;
            let job: Job<ConflictApp> = Box::new(move |app, ric, reply| {
                let answered = app.state().answer(number, accept, ric.now());
                let none = || Problem::not_found(format!("no control {number} waits for an answer"));
                reply.send(answered.map(|()| Response::no_content()).ok_or_else(none));
            });
            Ok(job)
        }),
    ]
}
