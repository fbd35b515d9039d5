//! A1-P by REST, version 2, with the paths of the reference platform's A1 mediator.

use rest::{Operation, Parameter, Problem, Request, Response, Role, Route, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::policies::PolicyError;
use super::{A1, PolicyType};

const TYPE: Parameter = Parameter::of::<i32>("policy_type_id", "The id of a policy type, at least 1.");
const INSTANCE: Parameter = Parameter::text("policy_instance_id", "The id of a policy, such as a UUID.");

/// Whether a policy is enforced.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PolicyStatus {
    enforce_status: EnforceStatus,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    enforce_reason: Option<EnforceReason>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum EnforceStatus {
    /// At least one xApp enforces it.
    Enforced,
    NotEnforced,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum EnforceReason {
    /// No xApp has said so.
    OtherReason,
}

impl From<PolicyError> for Problem {
    fn from(error: PolicyError) -> Self {
        let status = match &error {
            PolicyError::NoType(_) | PolicyError::NoInstance(_) => StatusCode::NOT_FOUND,
            PolicyError::Busy | PolicyError::NotRestored => return Problem::unavailable(error.to_string()),
            PolicyError::Full => StatusCode::INSUFFICIENT_STORAGE,
            PolicyError::Length => StatusCode::PAYLOAD_TOO_LARGE,
            // the mediator has this status for all other refusals
            _ => StatusCode::BAD_REQUEST,
        };
        let problem = Problem::new(status, error.to_string());
        match error {
            PolicyError::Policy(mistakes) => {
                let mistakes: Vec<_> = mistakes.into_iter().map(|(at, why)| json!({ "at": at, "why": why })).collect();
                problem.with("mistakes", mistakes)
            }
            PolicyError::Schema(_) => problem.with("at", "create_schema"),
            PolicyError::TypeId(_) => problem.with("at", "policy_type_id"),
            _ => problem,
        }
    }
}

fn type_id(request: &Request) -> Result<i32, Problem> {
    request.number(0, "policy type")
}

/// Returns the routes of A1-P.
#[must_use]
pub fn routes(a1: &A1) -> Vec<Route> {
    let get = |path, id, summary| Operation::get(path, id, summary).tag("a1");
    let with_type = |operation: Operation| operation.path(&[TYPE]);
    let with_instance = |operation: Operation| operation.path(&[TYPE, INSTANCE]);
    const TYPES: &str = "/A1-P/v2/policytypes";
    const ONE_TYPE: &str = "/A1-P/v2/policytypes/{policy_type_id}";
    const POLICIES: &str = "/A1-P/v2/policytypes/{policy_type_id}/policies";
    const POLICY: &str = "/A1-P/v2/policytypes/{policy_type_id}/policies/{policy_instance_id}";
    const STATUS: &str = "/A1-P/v2/policytypes/{policy_type_id}/policies/{policy_instance_id}/status";
    let route = |operation: Operation, answer: fn(&A1, &Request) -> Result<Response, Problem>| {
        let a1 = a1.clone();
        Route::new(operation, move |request| {
            a1.check_restored()?;
            answer(&a1, request)
        })
    };
    let put_type = Operation::put(ONE_TYPE, "createA1PolicyType", "Create a policy type").tag("a1").role(Role::Admin);
    let delete_type =
        Operation::delete(ONE_TYPE, "deleteA1PolicyType", "Delete a policy type").tag("a1").role(Role::Admin);
    let put = Operation::put(POLICY, "putA1Policy", "Create or replace a policy").tag("a1").role(Role::Control);
    let delete = Operation::delete(POLICY, "deleteA1Policy", "Delete a policy").tag("a1").role(Role::Control);
    vec![
        route(
            get("/A1-P/v2/healthcheck", "getA1Health", "Whether A1 is well").returns::<Map<String, Value>>("It is."),
            |_, _| Ok(Response::ok(Map::new())),
        ),
        route(
            get(TYPES, "getA1PolicyTypes", "The ids of all policy types").returns::<Vec<i32>>("The ids."),
            |a1, _| Ok(Response::ok(a1.type_ids())),
        ),
        route(
            with_type(get(ONE_TYPE, "getA1PolicyType", "A policy type")).returns::<PolicyType>("The type."),
            |a1, request| Ok(Response::ok(a1.policy_type(type_id(request)?)?)),
        ),
        route(
            with_type(put_type)
                .takes::<PolicyType>()
                .creates::<PolicyType>("The type.")
                .refuses(StatusCode::BAD_REQUEST, "It exists, the id is not that of the path, or the schema is none."),
            |a1, request| {
                let (id, document) = (type_id(request)?, request.json::<PolicyType>()?);
                a1.create_type(id, document.clone())?;
                Ok(Response::created(&request.path, document))
            },
        ),
        route(
            with_type(delete_type).empties().refuses(StatusCode::BAD_REQUEST, "There are policies of this type."),
            |a1, request| {
                a1.delete_type(type_id(request)?)?;
                Ok(Response::no_content())
            },
        ),
        route(
            with_type(get(POLICIES, "getA1Policies", "The ids of the policies of a type"))
                .returns::<Vec<String>>("The ids."),
            |a1, request| Ok(Response::ok(a1.instance_ids(type_id(request)?)?)),
        ),
        route(
            with_instance(get(POLICY, "getA1Policy", "A policy")).returns::<Map<String, Value>>("The policy."),
            |a1, request| Ok(Response::ok(a1.instance(type_id(request)?, request.parameter(1))?)),
        ),
        route(
            with_instance(put).takes::<Map<String, Value>>().accepts("The policy is on its way to xApps.").refuses(
                StatusCode::BAD_REQUEST,
                "It does not conform to the schema of its type: `mistakes` names the members.",
            ),
            |a1, request| {
                let policy = Value::Object(request.json()?);
                a1.put(type_id(request)?, request.parameter(1), policy)?;
                Ok(Response::accepted())
            },
        ),
        route(with_instance(delete).accepts("The deletion is on its way to xApps."), |a1, request| {
            a1.delete(type_id(request)?, request.parameter(1))?;
            Ok(Response::accepted())
        }),
        route(
            with_instance(get(STATUS, "getA1PolicyStatus", "Whether a policy is enforced"))
                .returns::<PolicyStatus>("The status."),
            |a1, request| {
                let is_enforced = a1.is_enforced(type_id(request)?, request.parameter(1))?;
                Ok(Response::ok(if is_enforced {
                    PolicyStatus { enforce_status: EnforceStatus::Enforced, enforce_reason: None }
                } else {
                    let enforce_reason = Some(EnforceReason::OtherReason);
                    PolicyStatus { enforce_status: EnforceStatus::NotEnforced, enforce_reason }
                }))
            },
        ),
    ]
}
