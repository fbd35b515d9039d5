//! A service of our own with the A1-EI interface that the O-RAN SC's information coordinator service has, in place of a non-RT RIC:
//! it keeps types and jobs, and answers as it is told.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rest::{Operation, Parameter, Problem, Request, Response, Role, Route, ServerConfig, StatusCode};
use serde_json::{Map, Value, json};

/// How the service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Well,
    /// With a status.
    Status(u16),
    /// As it should, after a time.
    Slow(Duration),
}

struct State {
    mood: Mood,
    types: BTreeMap<String, Value>,
    jobs: BTreeMap<String, Value>,
    requests: Vec<String>,
}

/// The service. It ends when it is dropped.
pub struct NonRtRic {
    state: Arc<Mutex<State>>,
    server: rest::Server,
}

const ID: Parameter = Parameter::text("id", "An id.");

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NonRtRic {
    /// Starts the service with types: their ids and documents.
    ///
    /// # Panics
    /// If the address is not available.
    #[must_use]
    pub fn start(address: SocketAddr, types: &[(&str, Value)]) -> NonRtRic {
        let types = types.iter().map(|(id, document)| ((*id).to_owned(), document.clone())).collect();
        let state = State { mood: Mood::Well, types, jobs: BTreeMap::new(), requests: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let server = rest::Server::start(ServerConfig::new(address), routes(&state)).expect("the address is available");
        NonRtRic { state, server }
    }

    /// Starts the service at a port of its own.
    #[must_use]
    pub fn with_types(types: &[(&str, Value)]) -> NonRtRic {
        NonRtRic::start(SocketAddr::from(([127, 0, 0, 1], 0)), types)
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Changes how it answers.
    pub fn set_mood(&self, mood: Mood) {
        lock(&self.state).mood = mood;
    }

    /// The jobs that it has, by id, as they were created.
    #[must_use]
    pub fn jobs(&self) -> BTreeMap<String, Value> {
        lock(&self.state).jobs.clone()
    }

    /// Loses its jobs.
    pub fn forget_jobs(&self) {
        lock(&self.state).jobs.clear();
    }

    /// The requests until now: method and path.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        lock(&self.state).requests.clone()
    }
}

fn routes(state: &Arc<Mutex<State>>) -> Vec<Route> {
    let route = |operation: Operation, answer: fn(&mut State, &Request) -> Result<Response, Problem>| {
        let state = Arc::clone(state);
        Route::new(operation, move |request| {
            let mood = {
                let mut state = lock(&state);
                state.requests.push(request.path.clone());
                state.mood
            };
            match mood {
                Mood::Well => {}
                Mood::Status(status) => {
                    return Err(Problem::new(StatusCode::from_u16(status).expect("a status"), "as it was told"));
                }
                Mood::Slow(time) => std::thread::sleep(time),
            }
            answer(&mut lock(&state), request)
        })
    };
    const JOB: &str = "/A1-EI/v1/eijobs/{id}";
    let put = Operation::put(JOB, "putJob", "Create a job").path(&[ID]).role(Role::Control);
    vec![
        route(Operation::get("/A1-EI/v1/eitypes", "getTypes", "Types").returns::<Vec<String>>("Ids."), |state, _| {
            Ok(Response::ok(state.types.keys().cloned().collect::<Vec<_>>()))
        }),
        route(
            Operation::get("/A1-EI/v1/eitypes/{id}", "getType", "A type")
                .path(&[ID])
                .returns::<Map<String, Value>>("It."),
            |state, request| match state.types.get(request.parameter(0)) {
                Some(document) => Ok(Response::ok(document.clone())),
                None => Err(Problem::not_found("no such type")),
            },
        ),
        route(put.takes::<Map<String, Value>>().creates::<Map<String, Value>>("It."), |state, request| {
            let document: Map<String, Value> = request.json()?;
            state.jobs.insert(request.parameter(0).to_owned(), Value::Object(document));
            Ok(Response::created(&request.path, json!({})))
        }),
        route(
            Operation::delete(JOB, "deleteJob", "Delete a job").path(&[ID]).role(Role::Control).empties(),
            |state, request| match state.jobs.remove(request.parameter(0)) {
                Some(_) => Ok(Response::no_content()),
                None => Err(Problem::not_found("no such job")),
            },
        ),
        route(
            Operation::get("/A1-EI/v1/eijobs/{id}/status", "getStatus", "The status of a job")
                .path(&[ID])
                .returns::<Map<String, Value>>("It."),
            |state, request| match state.jobs.contains_key(request.parameter(0)) {
                true => Ok(Response::ok(json!({ "eiJobStatus": "ENABLED" }))),
                false => Err(Problem::not_found("no such job")),
            },
        ),
    ]
}
