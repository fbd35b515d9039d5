//! `/v1/events` and `/v1/stream`: what happens, as it happens.

use iapp_rest::Topic;
use rest::{Broadcast, Operation, Parameter, Problem, Request, Response, Route, StreamForms};
use schemars::JsonSchema;
use serde_json::{Map, Value};

const TOPICS: Parameter =
    Parameter::text("topics", "The topics, separated by commas: nodes, ues, controls, log. Default: all but log.");

/// An event: `node_up`, `node_changed`, `node_lost`, `base_station_complete`, `base_station_incomplete` (topic nodes);
/// `ue_attached`, `ue_present`, `ue_handed_over`, `ue_detached`, `ues_joined` (ues); `control` (controls); `log` (log). `lost`: the reader was too
/// slow for as many events.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "the schema of what the server writes")]
struct Event {
    /// The name of the event; as Server-Sent Events it is in the field `event`.
    event: String,
    /// The event; as Server-Sent Events it is in the field `data`.
    data: Map<String, Value>,
}

/// Returns the routes.
pub(super) fn routes(events: &Broadcast) -> [Route; 2] {
    let describe = |operation: Operation| {
        operation.tag("events").query(&[TOPICS]).describe(
            "A reader that is too slow loses its oldest events, and gets an event `lost` with their number (`events`), and with \
             the number since the beginning (`total`). By WebSocket an event is a text message `{\"event\": …, \"data\": …}`; a \
             browser gives its token as the subprotocol `bearer.TOKEN` (in base64url) beside `ferric.v1`. The reader of a \
             WebSocket may send `{\"type\": \"pause\"}`, `resume`, `window`, `ack` and `filter` (with `topics`).",
        )
    };
    let both = Operation::get("/v1/events", "getEvents", "Events as Server-Sent Events, or by WebSocket");
    let socket = Operation::get("/v1/stream", "openStream", "Events by WebSocket");
    let (events, of_socket) = (events.clone(), events.clone());
    [
        Route::new(describe(both).streams::<Event>(StreamForms::Both, "The events."), move |request| {
            open(request, &events)
        }),
        Route::new(describe(socket).streams::<Event>(StreamForms::WebSocket, "The events."), move |request| {
            open(request, &of_socket)
        }),
    ]
}

fn open(request: &Request, events: &Broadcast) -> Result<Response, Problem> {
    let topics = match request.query("topics") {
        Some(names) => names.split(',').map(topic).try_fold(0, |topics, topic| Ok::<_, Problem>(topics | topic?))?,
        None => Topic::ALL.iter().filter(|topic| **topic != Topic::Log).map(|topic| topic.bit()).sum(),
    };
    let (sender, response) = request.open_stream();
    let of_reader = events.add(topics, sender);
    Ok(response.filtered_by(move |members| {
        let names = match members.get("topics") {
            Some(Value::String(names)) if members.len() == 1 => names,
            _ => return Err("filter: `topics`, and nothing else, with names separated by commas".to_owned()),
        };
        let topics = names.split(',').map(topic).try_fold(0, |topics, topic| topic.map(|topic| topics | topic));
        of_reader.set(topics.map_err(|problem| problem.detail().to_owned())?);
        Ok(())
    }))
}

fn topic(name: &str) -> Result<u32, Problem> {
    let topic = Topic::ALL.into_iter().find(|topic| topic.name() == name);
    topic.map(Topic::bit).ok_or_else(|| {
        let names = Topic::ALL.map(Topic::name).join(", ");
        Problem::bad_request(format!("topics: `{name}` is none of {names}")).with("at", "topics")
    })
}
