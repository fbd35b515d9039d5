//! What the reader of a WebSocket sends: it pauses, resumes and narrows its stream, or bounds what is under way to it.
//!
//! A message is a JSON object with `type`, and optionally `id`, which its answer repeats: `{"event":"done","data":{…}}`, or
//! `{"event":"refused","data":{"reason":…}}`. Events that the reader does not take wait in the queue of its stream, whose oldest are
//! lost when it is full.

use serde_json::{Map, Value, json};
use tokio::time::{Duration, Instant};

/// Changes which events a reader gets, by the members of its message other than `type` and `id`. Returns the reason for a refusal.
pub(super) type Filter = Box<dyn FnMut(&Map<String, Value>) -> Result<(), String> + Send>;

/// The most events that a window may allow.
const MAX_WINDOW: u64 = 1 << 20;
/// The messages of a reader within [`BUDGET_TIME`]; a further one ends the stream.
const MAX_MESSAGES: u32 = 100;
const BUDGET_TIME: Duration = Duration::from_secs(1);
/// The longest `id` in an answer.
const MAX_ID_OCTETS: usize = 64;

/// What a reader has asked for.
#[derive(Debug)]
pub(super) struct Flow {
    is_paused: bool,
    /// The most events that it wants without having acknowledged them.
    window: Option<u64>,
    unacknowledged: u64,
    messages: u32,
    since: Instant,
}

/// The reader sends more messages than it may.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyMessages;

impl Flow {
    pub fn new() -> Self {
        Flow { is_paused: false, window: None, unacknowledged: 0, messages: 0, since: Instant::now() }
    }

    /// Whether the reader takes an event now.
    pub fn takes_events(&self) -> bool {
        !self.is_paused && self.window.is_none_or(|window| self.unacknowledged < window)
    }

    /// Counts an event that was sent.
    pub fn note_sent(&mut self) {
        self.unacknowledged = self.unacknowledged.saturating_add(1);
    }

    /// Handles a message. Returns the answer.
    pub fn handle(&mut self, text: &str, filter: &mut Option<Filter>) -> Result<String, TooManyMessages> {
        if self.since.elapsed() >= BUDGET_TIME {
            (self.messages, self.since) = (0, Instant::now());
        }
        self.messages += 1;
        if self.messages > MAX_MESSAGES {
            return Err(TooManyMessages);
        }
        let (id, outcome) = match serde_json::from_str(text) {
            Ok(Value::Object(message)) => self.handle_object(message, filter),
            Ok(_) => (None, Err("a message is a JSON object, such as {\"type\":\"pause\"}".to_owned())),
            Err(error) => (None, Err(format!("the message is not JSON: {error}"))),
        };
        let (event, mut data) = match outcome {
            Ok(kind) => ("done", json!({ "type": kind })),
            Err(reason) => ("refused", json!({ "reason": reason })),
        };
        if let Some(id) = id {
            data["id"] = id;
        }
        Ok(json!({ "event": event, "data": data }).to_string())
    }

    fn handle_object(
        &mut self,
        mut message: Map<String, Value>,
        filter: &mut Option<Filter>,
    ) -> (Option<Value>, Result<&'static str, String>) {
        let id = message.remove("id");
        let is_id = |id: &Value| match id {
            Value::Number(_) => true,
            Value::String(text) => text.len() <= MAX_ID_OCTETS,
            _ => false,
        };
        if id.as_ref().is_some_and(|id| !is_id(id)) {
            return (None, Err(format!("id: a number, or a text of at most {MAX_ID_OCTETS} octets")));
        }
        let kind = message.remove("type");
        let Some(Value::String(kind)) = kind else {
            return (id, Err("type: one of pause, resume, window, ack, filter is required".to_owned()));
        };
        (id, self.apply(&kind, message, filter))
    }

    fn apply(
        &mut self,
        kind: &str,
        mut members: Map<String, Value>,
        filter: &mut Option<Filter>,
    ) -> Result<&'static str, String> {
        let done = match kind {
            "pause" => {
                check_rest(&members)?;
                self.is_paused = true;
                "pause"
            }
            "resume" => {
                check_rest(&members)?;
                self.is_paused = false;
                "resume"
            }
            "window" => {
                let events = members.remove("events");
                check_rest(&members)?;
                self.window = match events {
                    Some(Value::Null) => None,
                    events => Some(number(events.as_ref(), 1, MAX_WINDOW, ", or null for none")?),
                };
                self.unacknowledged = 0;
                "window"
            }
            "ack" => {
                let events = members.remove("events");
                check_rest(&members)?;
                if self.window.is_none() {
                    return Err("ack: there is no window; send {\"type\":\"window\",\"events\":N} first".to_owned());
                }
                let events = number(events.as_ref(), 1, MAX_WINDOW, "")?;
                self.unacknowledged = self.unacknowledged.checked_sub(events).ok_or_else(|| {
                    format!("events: {events} acknowledged, and only {} were sent", self.unacknowledged)
                })?;
                "ack"
            }
            "filter" => {
                let change = filter.as_mut().ok_or("filter: this stream has none")?;
                change(&members)?;
                "filter"
            }
            _ => return Err("type: none of pause, resume, window, ack, filter".to_owned()),
        };
        Ok(done)
    }
}

fn check_rest(members: &Map<String, Value>) -> Result<(), String> {
    match members.keys().next() {
        Some(name) => Err(format!("`{}` is no member of this message", log_lines::escaped(name))),
        None => Ok(()),
    }
}

fn number(value: Option<&Value>, least: u64, most: u64, or: &str) -> Result<u64, String> {
    let number = value.and_then(Value::as_u64).filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("events: a number from {least} to {most}{or} is required"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(flow: &mut Flow, message: &str) -> Value {
        serde_json::from_str(&flow.handle(message, &mut None).unwrap()).unwrap()
    }

    #[test]
    fn pause_window_and_acknowledgement_decide_whether_events_are_taken() {
        let mut flow = Flow::new();
        assert!(flow.takes_events());
        assert_eq!(
            answer(&mut flow, r#"{"type":"pause","id":7}"#),
            json!({ "event": "done", "data": { "type": "pause", "id": 7 } })
        );
        assert!(!flow.takes_events());
        answer(&mut flow, r#"{"type":"resume"}"#);
        (0..1000).for_each(|_| flow.note_sent());
        assert!(flow.takes_events());
        answer(&mut flow, r#"{"type":"window","events":2}"#);
        flow.note_sent();
        assert!(flow.takes_events());
        flow.note_sent();
        assert!(!flow.takes_events());
        answer(&mut flow, r#"{"type":"ack","events":1}"#);
        assert!(flow.takes_events());
        flow.note_sent();
        answer(&mut flow, r#"{"type":"window","events":null}"#);
        assert!(flow.takes_events());
    }

    #[test]
    fn bad_messages_are_refused_with_a_reason_and_change_nothing() {
        let mut flow = Flow::new();
        for (message, reason) in [
            ("", "not JSON"),
            ("[]", "a message is a JSON object"),
            ("{}", "type: one of pause"),
            (r#"{"type":7}"#, "type: one of pause"),
            (r#"{"type":"stop"}"#, "type: none of pause"),
            (r#"{"type":"pause","now":true}"#, "`now` is no member"),
            (r#"{"type":"pause","id":[]}"#, "id: a number"),
            (r#"{"type":"window"}"#, "events: a number from 1 to 1048576, or null"),
            (r#"{"type":"window","events":0}"#, "events: a number from 1"),
            (r#"{"type":"window","events":-1}"#, "events: a number from 1"),
            (r#"{"type":"window","events":"9"}"#, "events: a number from 1"),
            (r#"{"type":"ack","events":1}"#, "there is no window"),
            (r#"{"type":"filter","topics":"log"}"#, "this stream has none"),
        ] {
            let refused = answer(&mut flow, message);
            assert_eq!(refused["event"], "refused", "{message}");
            assert!(refused["data"]["reason"].as_str().unwrap().contains(reason), "{message}: {refused}");
            assert!(flow.takes_events(), "{message}");
        }
        answer(&mut flow, r#"{"type":"window","events":5}"#);
        let refused = answer(&mut flow, r#"{"type":"ack","events":1,"id":"a"}"#);
        assert_eq!(refused["data"], json!({ "reason": "events: 1 acknowledged, and only 0 were sent", "id": "a" }));
    }

    #[test]
    fn messages_are_bounded() {
        let mut flow = Flow::new();
        flow.since = Instant::now() + Duration::from_secs(3600);
        for _ in 0..MAX_MESSAGES {
            assert!(flow.handle("{}", &mut None).is_ok());
        }
        assert_eq!(flow.handle("{}", &mut None), Err(TooManyMessages));
    }
}
