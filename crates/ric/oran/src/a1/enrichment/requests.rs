//! The requests to the non-RT RIC: A1-EI version 1.

use std::time::Instant;

use log_lines::{Host, escaped};
use rest::client::{ClientError, ClientResponse};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{info, warn};

use super::jobs::{Outcome, Task, Work};
use super::messages::{self, EiMessageKind};
use super::{Answer, Enrichment, JobError, JobStatus};
use crate::json_schema::Schema;

/// The longest text of the non-RT RIC that is passed on.
const MAX_TEXT: usize = 300;

/// Does what is to be done until the thread is to end.
pub(super) fn run(enrichment: &Enrichment, callback: &str) {
    let mut verified = Instant::now();
    while let Some(task) = enrichment.next_task(&mut verified) {
        match task {
            Task::Types(answer) => enrichment.answer_types(answer),
            Task::Put { job_id, ei_type_id, job_owner, definition } => {
                let document = json!({
                    "eiTypeId": ei_type_id,
                    "jobOwner": job_owner,
                    "jobDefinition": definition,
                    "jobResultUri": format!("{callback}/A1-EI/v1/eijobs/{job_id}/result"),
                    "jobStatusNotificationUri": format!("{callback}/A1-EI/v1/eijobs/{job_id}/status"),
                });
                let outcome = match enrichment.check_definition(&ei_type_id, &definition) {
                    Ok(()) => enrichment.put(&job_id, &document),
                    Err(outcome) => outcome,
                };
                enrichment.finish(&job_id, Work::Put, Some(&definition), outcome);
            }
            Task::Verify(job_id) => {
                let outcome = enrichment.status(&job_id);
                enrichment.finish(&job_id, Work::Verify, None, outcome);
            }
            Task::Delete(job_id) => {
                let outcome = match enrichment.ask("DELETE", &job_path(&job_id), None) {
                    Ok(response) if response.is_success() => Outcome::Done,
                    Ok(response) => refused(&response, "delete the job"),
                    Err(outcome) => outcome,
                };
                enrichment.finish(&job_id, Work::Delete, None, outcome);
            }
        }
    }
}

fn job_path(job_id: &str) -> String {
    format!("/A1-EI/v1/eijobs/{job_id}")
}

/// What a response that is no success means.
fn refused(response: &ClientResponse, what: &str) -> Outcome {
    match response.status {
        404 => Outcome::Missing,
        status => {
            let detail: String = response.detail().unwrap_or("it gives no reason").chars().take(MAX_TEXT).collect();
            Outcome::Refused(JobError::new(status, format!("the non-RT RIC does not {what}: {detail}")))
        }
    }
}

#[derive(Deserialize)]
struct Status {
    #[serde(rename = "eiJobStatus")]
    status: JobStatus,
}

impl Enrichment {
    /// Sends a request. Whoever does not answer, or with a fault of its own, is asked again later.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<ClientResponse, Outcome> {
        match self.0.client.request(method, path, body) {
            Ok(response) if response.status >= 500 || response.status == 429 => {
                let why = format!("{method} {path} is answered with status {}", response.status);
                Err(Outcome::Unavailable(why, response.retry_after))
            }
            Ok(response) => Ok(response),
            // a success whose body is of no interest
            Err(ClientError::Body(_)) if method != "GET" => {
                Ok(ClientResponse { status: 200, location: None, retry_after: None, body: Value::Null })
            }
            Err(error) => Err(Outcome::Unavailable(format!("{method} {path}: {error}"), None)),
        }
    }

    fn answer_types(&self, answer: Answer) {
        let result = match self.ask("GET", "/A1-EI/v1/eitypes", None) {
            Ok(response) if response.is_success() => serde_json::from_value::<Vec<String>>(response.body)
                .map_err(|error| JobError::new(502, format!("the non-RT RIC does not list types: {error}"))),
            Ok(response) => {
                Err(JobError::new(502, format!("the non-RT RIC does not list types: status {}", response.status)))
            }
            Err(Outcome::Unavailable(why, named)) => {
                self.note_outage(&why, named);
                Err(JobError::new(503, "the non-RT RIC does not answer".to_owned()))
            }
            Err(_) => return,
        };
        if result.as_ref().err().is_none_or(|error| error.status != 503) {
            self.note_answer();
        }
        let document = result.map_or_else(|error| messages::refusal(None, &error), |ids| messages::types(&ids));
        answer(EiMessageKind::Types, document);
    }

    /// Validates the definition of a job by the schema of its type, if that has one.
    fn check_definition(&self, ei_type_id: &str, definition: &Value) -> Result<(), Outcome> {
        let response = self.ask("GET", &format!("/A1-EI/v1/eitypes/{ei_type_id}"), None)?;
        if !response.is_success() {
            let detail = match response.status {
                404 => format!("the non-RT RIC has no EI type `{ei_type_id}`"),
                status => format!("the non-RT RIC does not describe the EI type `{ei_type_id}`: status {status}"),
            };
            return Err(Outcome::Refused(JobError::new(response.status, detail)));
        }
        let Some(schema) = response.body.get("eiJobDefinitionSchema") else { return Ok(()) };
        let schema = Schema::new(schema).map_err(|why| {
            let detail = format!("the schema of the EI type `{ei_type_id}` is not supported: {why}");
            Outcome::Refused(JobError::new(502, detail))
        })?;
        let mistakes = schema.mistakes(definition);
        if mistakes.is_empty() {
            return Ok(());
        }
        let detail = format!("jobDefinition does not conform to the EI type `{ei_type_id}`");
        Err(Outcome::Refused(JobError { mistakes, ..JobError::bad(detail) }))
    }

    fn put(&self, job_id: &str, document: &Value) -> Outcome {
        match self.ask("PUT", &job_path(job_id), Some(document)) {
            Ok(response) if response.is_success() => Outcome::Done,
            Ok(response) => match refused(&response, "create the job") {
                // of a type that it has just described
                Outcome::Missing => {
                    Outcome::Refused(JobError::new(404, "the non-RT RIC has no such EI type any more".to_owned()))
                }
                outcome => outcome,
            },
            Err(outcome) => outcome,
        }
    }

    fn status(&self, job_id: &str) -> Outcome {
        match self.ask("GET", &format!("{}/status", job_path(job_id)), None) {
            Ok(response) if response.is_success() => {
                // a status of another kind is none
                Outcome::Status(serde_json::from_value::<Status>(response.body).ok().map(|of| of.status))
            }
            Ok(response) => refused(&response, "tell the status of the job"),
            Err(outcome) => outcome,
        }
    }

    fn note_answer(&self) {
        if self.jobs().answered() {
            info!("A1-EI: the non-RT RIC at {} answers again", self.0.client.url());
        }
    }

    fn note_outage(&self, why: &str, named: Option<std::time::Duration>) {
        if let Some(wait) = self.jobs().unanswered(Instant::now(), named) {
            let wait_s = wait.as_secs();
            let url = self.0.client.url();
            warn!(
                "A1-EI: the non-RT RIC at {url} is not available, and jobs wait: {}; trying again in {wait_s} s; check it, or the URL \
                 (--non-rt-ric)",
                escaped(why)
            );
        }
    }

    fn finish(&self, job_id: &str, did: Work, sent: Option<&Value>, outcome: Outcome) {
        match &outcome {
            Outcome::Unavailable(why, named) => self.note_outage(why, *named),
            _ => self.note_answer(),
        }
        if let Outcome::Refused(error) = &outcome
            && self.0.log.allow(Host::Unknown)
        {
            warn!("A1-EI: the producer refuses job `{job_id}`; its xApp gets the reason: {}", escaped(&error.detail));
        }
        let mut jobs = self.jobs();
        let (is_changed, notices) = jobs.finish(job_id, did, sent, outcome);
        if is_changed {
            self.store_job(&jobs, job_id);
            self.update_watches(&jobs);
        }
        drop(jobs);
        self.tell(notices);
    }
}
