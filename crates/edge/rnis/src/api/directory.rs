//! `/rnis/v1/directory`: the identities of UEs. MEC 012 has no such resource.

use std::io;
use std::sync::Arc;

use rest::{Operation, Parameter, Problem, Request, Response, Role, Route, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{Change, start_changes};
use crate::directory::{Directory, DirectoryError, Entry};

const PATH: &str = "/rnis/v1/directory";
const NAME: Parameter = Parameter::text("name", "A name of the UE, such as `imsi:001010000000001`.");
const AFTER: Parameter = Parameter::text("after", "Only entries after this name: `next` of the answer before.");
const LIMIT: Parameter = Parameter::of::<u32>("limit", "At most so many entries, 1 to 10000; without it 1000.");
/// Entries of an answer, if the client does not say.
const DEFAULT_LIMIT: usize = 1000;
/// The most entries of an answer.
const MAX_LIMIT: usize = 10_000;

/// Entries of the directory.
#[derive(Serialize, JsonSchema)]
struct EntryList {
    /// In the order of their first names.
    ues: Vec<Entry>,
    /// There are more: those after this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    next: Option<String>,
}

/// The routes. Files are written by a thread of their own.
pub fn routes(directory: &Arc<Directory>) -> io::Result<Vec<Route>> {
    let changes = start_changes()?;
    let read = |operation: Operation, answer: fn(&Directory, &Request) -> Result<Response, Problem>| {
        let directory = Arc::clone(directory);
        Route::new(operation.tag("directory").role(Role::Read), move |request| answer(&directory, request))
    };
    let change = |operation: Operation, answer: fn(&Directory, &Request) -> Result<Response, Problem>| {
        let directory = Arc::clone(directory);
        Route::queued(operation.tag("directory").role(Role::Control), &changes, move |request| {
            let (directory, request) = (Arc::clone(&directory), request.clone());
            let change: Change = Box::new(move || answer(&directory, &request));
            Ok(change)
        })
    };
    let one = "/rnis/v1/directory/{name}";
    Ok(vec![
        read(
            Operation::get(PATH, "getDirectory", "The identities of UEs")
                .query(&[AFTER, LIMIT])
                .returns::<EntryList>("The entries."),
            list,
        ),
        read(
            Operation::get(one, "getDirectoryEntry", "The identities of a UE")
                .path(&[NAME])
                .returns::<Entry>("The entry, with an ETag."),
            |directory, request| {
                let name = request.parameter(0);
                let entry = directory.get(name).ok_or_else(|| no_entry(name))?;
                Ok(Response::ok(Entry::clone(&entry)).tagged())
            },
        ),
        change(
            Operation::put(one, "putDirectoryEntry", "Set the identities of a UE")
                .describe("The name of the path is the first of `names`.")
                .path(&[NAME])
                .takes::<Entry>()
                .example(json!({"names": ["imsi:001010000000001"], "ipv4": ["10.45.0.7"], "gtp_teid": ["0x00000011"]}))
                .returns::<Entry>("The entry, with an ETag.")
                .refuses(StatusCode::FORBIDDEN, "The directory is full.")
                .refuses(StatusCode::CONFLICT, "Another entry has one of the names, or it is of a TOML file.")
                .refuses(StatusCode::PRECONDITION_FAILED, "It has changed: `If-Match` names another ETag.")
                .refuses(StatusCode::UNPROCESSABLE_ENTITY, "A member is not valid."),
            put,
        ),
        change(
            Operation::delete(one, "deleteDirectoryEntry", "Remove a UE")
                .path(&[NAME])
                .empties()
                .refuses(StatusCode::CONFLICT, "It is of a TOML file.")
                .refuses(StatusCode::PRECONDITION_FAILED, "It has changed: `If-Match` names another ETag."),
            |directory, request| {
                let name = request.parameter(0);
                check_if_match(directory, request)?;
                if directory.delete(name)? { Ok(Response::no_content()) } else { Err(no_entry(name)) }
            },
        ),
    ])
}

fn list(directory: &Directory, request: &Request) -> Result<Response, Problem> {
    let limit = request.query_number("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
    let mut found = directory.entries_after(request.query("after"), limit + 1);
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|entry| entry.names[0].clone());
    let ues = found.iter().map(|entry| Entry::clone(entry)).collect();
    Ok(Response::ok(EntryList { ues, next }))
}

fn put(directory: &Directory, request: &Request) -> Result<Response, Problem> {
    let name = request.parameter(0);
    let entry: Entry = request.json()?;
    if entry.names.first().is_some_and(|first| first != name) {
        let detail = format!("names[0]: `{}` is not `{name}`, the name of the path", entry.names[0]);
        return Err(Problem::unprocessable(detail).with("at", "names[0]"));
    }
    check_if_match(directory, request)?;
    directory.store(entry.clone())?;
    Ok(Response::ok(entry).tagged())
}

fn check_if_match(directory: &Directory, request: &Request) -> Result<(), Problem> {
    let Some(entry) = directory.get(request.parameter(0)) else { return Ok(()) };
    request.check_if_match(&Response::tag_of(Entry::clone(&entry)))
}

fn no_entry(name: &str) -> Problem {
    Problem::not_found(format!("no UE of the directory has the name `{name}`"))
}

impl From<DirectoryError> for Problem {
    fn from(error: DirectoryError) -> Self {
        let detail = error.to_string();
        match error {
            DirectoryError::Entry { member, .. } => Problem::unprocessable(detail).with("at", member),
            DirectoryError::Duplicate(_) => Problem::conflict(detail).with("at", "names"),
            DirectoryError::OfFile { .. } => Problem::conflict(detail),
            DirectoryError::Full => Problem::new(StatusCode::FORBIDDEN, detail),
            DirectoryError::File { .. } | DirectoryError::Write { .. } => Problem::unavailable(detail),
        }
    }
}
