//! `/v1/decode`: messages of E2AP and of the service models as JSON.

use std::error::Error;

use ferric::decode::{DecodeError, decode, types, unhex};
use rest::{Operation, Problem, Request, Response, Role, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most octets of a message: those of a report of many UEs, several times over.
const MAX_OCTETS: usize = 256 * 1024;

/// A message to decode.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: a message to decode")]
struct Message {
    /// `e2ap` (detects the version), or one of `/v1/decode/types`.
    #[serde(rename = "type")]
    name: String,
    /// Hexadecimal digits; white space is ignored.
    octets: String,
}

/// A decoded message: its fields, with the names of the specification in lower case.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "the schema of what the decoder writes")]
struct DecodedMessage {
    /// The type.
    #[schemars(rename = "type")]
    name: String,
    /// The fields.
    message: Map<String, Value>,
}

#[derive(Serialize, JsonSchema)]
struct MessageTypes {
    types: Vec<String>,
}

/// Returns the routes.
pub(super) fn routes() -> [Route; 2] {
    let all = Operation::get("/v1/decode/types", "getMessageTypes", "The types of messages that can be decoded");
    let one = Operation::post("/v1/decode", "decodeMessage", "Decode a message of E2AP or of a service model");
    let one = one.tag("ric").role(Role::Read).takes::<Message>().describe(
        "As `ferric decode`. Nothing is sent to a node. Octets that are no message of the type are answered with 422, the IE and the bit.",
    );
    let example = json!({ "type": "mac-plain:EventTriggerDefinition", "octets": "e8030000" });
    [
        Route::new(all.tag("ric").returns::<MessageTypes>("The types."), |_| {
            Ok(Response::ok(MessageTypes { types: types().collect() }).tagged())
        }),
        Route::new(one.example(example).returns::<DecodedMessage>("The message."), answer),
    ]
}

fn answer(request: &Request) -> Result<Response, Problem> {
    let Message { name, octets } = request.json()?;
    let digits = || "octets: an even number of hexadecimal digits is required".to_owned();
    let octets = unhex(octets.as_bytes()).ok_or_else(|| refusal("octets", digits()))?;
    if octets.len() > MAX_OCTETS {
        return Err(refusal("octets", format!("octets: more than {MAX_OCTETS} octets")));
    }
    let message = decode(&name, &octets).map_err(|error| {
        let at = if matches!(
            error,
            DecodeError::NotE2ap { .. } | DecodeError::NotE42 { .. } | DecodeError::NotOfModel { .. }
        ) {
            "octets"
        } else {
            "type"
        };
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        refusal(at, format!("{error}{cause}"))
    })?;
    Ok(Response::ok(json!({ "type": name, "message": message })))
}

fn refusal(at: &'static str, why: String) -> Problem {
    Problem::unprocessable(why).with("at", at)
}
