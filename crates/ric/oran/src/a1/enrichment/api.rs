//! What the non-RT RIC and producers of enrichment information post, and the list of jobs for operators.

use rest::{Operation, Parameter, Problem, Request, Response, Role, Route, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Enrichment, JobError, JobOwner, JobStatus};

const JOB: Parameter = Parameter::text("ei_job_id", "The id of an EI job.");

/// A status that the non-RT RIC notifies.
#[derive(Debug, Deserialize, JsonSchema)]
struct StatusNotification {
    #[serde(rename = "eiJobStatus")]
    status: JobStatus,
}

/// A result in the form of the reference platform's A1 mediator.
#[derive(Debug, Deserialize, JsonSchema)]
struct Delivery {
    /// The id of the EI job.
    job: String,
    /// The result.
    payload: Value,
}

/// An EI job.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct JobState {
    job_id: String,
    ei_type_id: String,
    job_definition: Value,
    /// Its xApps.
    owners: Vec<JobOwner>,
    /// Whether the non-RT RIC has it as it is here.
    is_established: bool,
    /// What the non-RT RIC has said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<JobStatus>,
    /// Why it is not established, or was not when it was tried last.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// Results that were passed on.
    results: u64,
    /// Results that were refused: too long, or no xApp could take them.
    lost_results: u64,
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        match error.status {
            503 => Problem::unavailable(error.detail),
            status => Problem::new(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), error.detail),
        }
    }
}

/// Returns the routes of A1-EI.
#[must_use]
pub fn routes(enrichment: &Enrichment) -> Vec<Route> {
    let route = |operation: Operation, answer: fn(&Enrichment, &Request) -> Result<Response, Problem>| {
        let enrichment = enrichment.clone();
        Route::new(operation.tag("a1"), move |request| answer(&enrichment, request))
    };
    let refuses = |operation: Operation| {
        operation.role(Role::Control).empties().refuses(StatusCode::PAYLOAD_TOO_LARGE, "The result is too long.")
    };
    let result = Operation::post("/A1-EI/v1/eijobs/{ei_job_id}/result", "postEiJobResult", "A result of an EI job");
    let delivery =
        Operation::post("/data-delivery", "postEiDataDelivery", "A result, as the reference platform has it");
    let status = Operation::post("/A1-EI/v1/eijobs/{ei_job_id}/status", "postEiJobStatus", "The status of an EI job");
    vec![
        route(
            Operation::get("/A1-EI/v1/eijobs", "getEiJobs", "The EI jobs of xApps")
                .returns::<Vec<JobState>>("The jobs."),
            |enrichment, _| Ok(Response::ok(enrichment.states())),
        ),
        route(refuses(result.path(&[JOB]).takes::<Value>()), |enrichment, request| {
            // any JSON, not objects only
            let result: Value = serde_json::from_slice(&request.body)
                .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))?;
            enrichment.deliver_result(request.parameter(0), &result)?;
            Ok(Response::no_content())
        }),
        route(refuses(delivery.takes::<Delivery>()), |enrichment, request| {
            let Delivery { job, payload } = request.json()?;
            enrichment.deliver_result(&job, &payload)?;
            Ok(Response::no_content())
        }),
        route(
            status.path(&[JOB]).takes::<StatusNotification>().role(Role::Control).empties(),
            |enrichment, request| {
                let StatusNotification { status } = request.json()?;
                enrichment.set_status(request.parameter(0), status)?;
                Ok(Response::no_content())
            },
        ),
    ]
}

impl Enrichment {
    fn states(&self) -> Vec<JobState> {
        let jobs = self.jobs();
        let state = |(job_id, job): (&String, &super::jobs::Job)| JobState {
            job_id: job_id.clone(),
            ei_type_id: job.content.ei_type_id.clone(),
            job_definition: job.content.definition.clone(),
            owners: job.content.owners.clone(),
            is_established: job.work.is_none_or(|work| work == super::jobs::Work::Verify),
            status: job.status,
            fault: job.fault.clone(),
            results: job.results,
            lost_results: job.lost_results,
        };
        jobs.iter().map(state).collect()
    }
}
