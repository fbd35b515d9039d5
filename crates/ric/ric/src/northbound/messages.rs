//! `/v1/nodes/{node}/messages`: the E2AP messages of a node, while somebody reads them.
//!
//! Nothing is captured without a reader: the links of the node get an observer with the first reader, and lose it after the last
//! one. The observer runs on the event loop of the link, so what it takes is bounded: indications are sampled, and other messages
//! have a budget per second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ferric::e2::{Node, NodeId};
use ferric::e2ap::{Codec, Version};
use ferric::link::{Direction, LinkObserver, StreamId};
use ferric::server::{IappContext, IappWaker};
use iapp_rest::Job;
use per::Gather;
use rest::{Operation, Parameter, Problem, Role, Route, StreamEvent, StreamForms, StreamSender};
use schemars::JsonSchema;
use serde_json::json;

use super::app::{AppQueue, RicApp};

/// The most nodes whose messages are read at a time.
const MAX_NODES: usize = 16;
/// The most readers of a node's messages.
const MAX_READERS: usize = 8;
/// The time between two indications that are sampled.
const INDICATION_INTERVAL: Duration = Duration::from_millis(50);
/// The most other messages in a second.
const MAX_MESSAGES: u32 = 100;
/// The most octets of messages in a second; of further ones only the length is passed on.
const MAX_OCTETS: usize = 256 * 1024;
/// The longest message whose octets are passed on.
const MAX_MESSAGE_OCTETS: usize = 16 * 1024;

pub(super) const NODE: Parameter = Parameter::text("node", "The node's identity, as logged: `gnb-00101-e00`.");

/// The event `message`: a message of E2AP between the RIC and the node.
#[derive(JsonSchema)]
#[schemars(rename = "NodeMessage")]
#[allow(dead_code, reason = "the schema of what the server writes")]
struct MessageDocument {
    /// When it was received or queued, in milliseconds of Unix time.
    time_ms: u64,
    /// `from_node` or `to_node`.
    #[schemars(extend("enum" = ["from_node", "to_node"]))]
    direction: String,
    /// Its name; null if it cannot be decoded.
    message: Option<String>,
    /// The code of its procedure, if it can be found.
    procedure: Option<u8>,
    /// The E2AP transaction ID.
    transaction: Option<u8>,
    /// The RIC Request ID: requestor and instance.
    request: Option<[u16; 2]>,
    /// The RAN function's id.
    function: Option<u16>,
    /// Its length in octets.
    octets: usize,
    /// The type for `/v1/decode`.
    #[schemars(rename = "type")]
    name: String,
    /// Its octets in hexadecimal digits; null if it is longer than the bound, or exceeds the octets of a second.
    pdu: Option<String>,
    /// Messages that were not passed on since the previous event: indications beyond 20, and others beyond 100, in a second.
    omitted: u64,
}

/// What observes the links of a node.
struct Capture {
    waker: IappWaker,
    state: Mutex<CaptureState>,
}

struct CaptureState {
    codec: Codec,
    version: Version,
    readers: Vec<StreamSender>,
    /// The second that is counted, what was passed on in it, and when the next indication may be.
    second: Instant,
    messages: u32,
    octets: usize,
    next_indication: Instant,
    /// Messages that were not passed on since the last one that was.
    omitted: u64,
}

impl Capture {
    fn state(&self) -> MutexGuard<'_, CaptureState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an event to all readers.
    fn publish(&self, state: &mut CaptureState, event: &StreamEvent) {
        let before = state.readers.len();
        state.readers.retain(|reader| reader.send(event.clone()));
        if state.readers.len() < before {
            self.waker.wake();
        }
    }
}

impl CaptureState {
    fn new(codec: Codec, version: Version, now: Instant) -> Self {
        CaptureState {
            codec,
            version,
            readers: Vec::new(),
            second: now,
            messages: 0,
            octets: 0,
            next_indication: now,
            omitted: 0,
        }
    }

    /// Returns whether a message is within the budget, and counts it.
    fn takes(&mut self, is_indication: bool, now: Instant) -> bool {
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.messages, self.octets) = (now, 0, 0);
        }
        let is_within = if is_indication { now >= self.next_indication } else { self.messages < MAX_MESSAGES };
        match (is_within, is_indication) {
            (true, true) => self.next_indication = now + INDICATION_INTERVAL,
            (true, false) => self.messages += 1,
            (false, _) => self.omitted += 1,
        }
        is_within
    }

    fn event(&mut self, direction: Direction, pdu: &[u8]) -> StreamEvent {
        let gather = Gather::new();
        let decoded = self.codec.decode(pdu, self.version, &gather).ok();
        let outline = self.codec.outline(pdu);
        let is_passed_on = pdu.len() <= MAX_MESSAGE_OCTETS && self.octets + pdu.len() <= MAX_OCTETS;
        if is_passed_on {
            self.octets += pdu.len();
        }
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = outline.as_ref().and_then(|outline| outline.request_id);
        let suffix = if self.codec == Codec::Per { String::new() } else { format!("-{}", self.codec) };
        StreamEvent::new(
            "message",
            &json!({
                "time_ms": u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX),
                "direction": if direction == Direction::Sent { "to_node" } else { "from_node" },
                "message": decoded.map(|decoded| decoded.pdu.name()),
                "procedure": outline.as_ref().map(|outline| outline.procedure_code.0),
                "transaction": outline.as_ref().and_then(|outline| outline.transaction_id).map(|id| id.0),
                "request": request.map(|id| [id.requestor, id.instance]),
                "function": outline.as_ref().and_then(|outline| outline.ran_function_id).map(|id| id.0),
                "octets": pdu.len(),
                "type": format!("e2ap-v{:0>5}{suffix}", self.version.name()),
                "pdu": is_passed_on.then(|| per::json::hex(pdu.iter())),
                "omitted": std::mem::take(&mut self.omitted),
            }),
        )
    }
}

impl LinkObserver for Capture {
    fn pdu(&self, direction: Direction, _: StreamId, parts: &[&[u8]]) {
        let mut state = self.state();
        let joined;
        let pdu = match parts {
            [whole] => whole,
            parts => {
                joined = parts.concat();
                &joined[..]
            }
        };
        let is_indication = direction == Direction::Received && state.codec.peek_indication(pdu).is_some();
        if !state.readers.is_empty() && state.takes(is_indication, Instant::now()) {
            let event = state.event(direction, pdu);
            self.publish(&mut state, &event);
        }
    }
}

/// The messages of a node that are read.
struct Source {
    /// The node's name: the source survives a restart of the node.
    name: String,
    node: Option<NodeId>,
    capture: Arc<Capture>,
}

/// The nodes whose messages are read.
pub(super) struct MessageStreams {
    sources: Vec<Source>,
    waker: IappWaker,
}

impl MessageStreams {
    /// Creates an empty set. `waker` wakes the app once a reader is gone.
    pub fn new(waker: IappWaker) -> Self {
        MessageStreams { sources: Vec::new(), waker }
    }

    /// Opens a stream of a node's messages.
    fn open(&mut self, name: &str, reader: StreamSender, ric: &mut IappContext<'_>) -> Result<(), Problem> {
        self.forget_closed(ric);
        let node = ric.nodes().find(|node| node.global_id.to_string() == name).cloned();
        let node = node.ok_or_else(|| Problem::not_found(format!("there is no node `{name}`; see /v1/nodes")))?;
        if let Some(source) = self.sources.iter().find(|source| source.name == name) {
            let mut state = source.capture.state();
            if state.readers.len() >= MAX_READERS {
                let why = format!("the messages of {name} have {MAX_READERS} readers already: close one of them");
                return Err(Problem::unavailable(why));
            }
            state.readers.push(reader);
            return Ok(());
        }
        if self.sources.len() >= MAX_NODES {
            let why = format!("the messages of {MAX_NODES} nodes are read already: close one of these streams");
            return Err(Problem::unavailable(why));
        }
        let state =
            CaptureState { readers: vec![reader], ..CaptureState::new(node.codec, node.version, Instant::now()) };
        let capture = Arc::new(Capture { waker: self.waker.clone(), state: Mutex::new(state) });
        ric.watch(node.id, Some(capture.clone()));
        self.sources.push(Source { name: name.to_owned(), node: Some(node.id), capture });
        Ok(())
    }

    /// Observes a node that has set up or changed, if its messages are read.
    pub fn update_node(&mut self, node: &Node, ric: &mut IappContext<'_>) {
        if self.sources.is_empty() {
            return;
        }
        let name = node.global_id.to_string();
        let Some(source) = self.sources.iter_mut().find(|source| source.name == name) else { return };
        let mut state = source.capture.state();
        (state.codec, state.version) = (node.codec, node.version);
        if source.node.replace(node.id) != Some(node.id) {
            source.capture.publish(&mut state, &StreamEvent::new("node_up", &json!({ "node": name })));
        }
        drop(state);
        ric.watch(node.id, Some(source.capture.clone()));
    }

    /// Observes the associations that a node has added.
    pub fn update_associations(&self, node: NodeId, ric: &mut IappContext<'_>) {
        if let Some(source) = self.sources.iter().find(|source| source.node == Some(node)) {
            ric.watch(node, Some(source.capture.clone()));
        }
    }

    /// Informs readers that their node is lost.
    pub fn remove_node(&mut self, node: NodeId) {
        for source in self.sources.iter_mut().filter(|source| source.node == Some(node)) {
            source.node = None;
            let event = StreamEvent::new("node_lost", &json!({ "node": source.name }));
            source.capture.publish(&mut source.capture.state(), &event);
        }
    }

    /// Ends what has no reader any more.
    pub fn forget_closed(&mut self, ric: &mut IappContext<'_>) {
        self.sources.retain(|source| {
            let mut state = source.capture.state();
            state.readers.retain(|reader| !reader.is_closed());
            if let (true, Some(node)) = (state.readers.is_empty(), source.node) {
                ric.watch(node, None);
            }
            !state.readers.is_empty()
        });
    }
}

/// Returns the route.
pub(super) fn route(queue: &AppQueue) -> Route {
    let operation = Operation::get(
        "/v1/nodes/{node}/messages",
        "streamNodeMessages",
        "The E2AP messages between the RIC and a node, while they are read",
    );
    let operation = operation.tag("events").path(&[NODE]).role(Role::Control).describe(
        "As Server-Sent Events, or by WebSocket. Messages contain what nodes, UEs and all xApps exchange, so the role is `control`. \
         At most 20 indications and 100 other messages in a second are passed on, and 256 KiB of their octets; `omitted` counts the \
         others. The messages of 16 nodes may be read at a time, each by 8 readers; more are answered with 503. Events: `message`; \
         `node_lost`; `node_up`, when the node has set up again; `lost`.",
    );
    Route::queued(operation.streams::<MessageDocument>(StreamForms::Both, "The messages."), queue, |request| {
        let (name, (reader, response)) = (request.parameter(0).to_owned(), request.open_stream());
        let job: Job<RicApp> = Box::new(move |app, ric, reply| {
            reply.send(app.messages.open(&name, reader, ric).map(|()| response));
        });
        Ok(job)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(now: Instant) -> CaptureState {
        CaptureState::new(Codec::Per, Version::V2_03, now)
    }

    #[test]
    fn indications_are_sampled_at_any_rate() {
        let begin = Instant::now();
        let mut state = state(begin);
        // 100,000 in a second
        let taken = (0..100_000).filter(|at| state.takes(true, begin + Duration::from_micros(10 * at))).count();
        assert_eq!((taken, state.omitted), (20, 100_000 - 20));
        assert!(state.takes(false, begin), "other messages have their own budget");
    }

    #[test]
    fn other_messages_have_a_budget_per_second() {
        let begin = Instant::now();
        let mut state = state(begin);
        let mut taken = |at_ms| (0..150).filter(|_| state.takes(false, begin + Duration::from_millis(at_ms))).count();
        assert_eq!((taken(0), taken(999), taken(1000), taken(1500)), (100, 0, 100, 0));
        assert_eq!(state.omitted, 50 + 150 + 50 + 150);
    }

    #[test]
    fn octets_of_long_messages_and_of_many_are_left_out() {
        let mut state = state(Instant::now());
        let mut data = |octets: usize| -> serde_json::Value {
            serde_json::from_str(&state.event(Direction::Received, &vec![0xff; octets]).data).unwrap()
        };
        let long = data(MAX_MESSAGE_OCTETS + 1);
        assert_eq!((&long["pdu"], &long["octets"]), (&json!(null), &json!(MAX_MESSAGE_OCTETS + 1)));
        assert_eq!(
            (&long["message"], &long["type"], &long["omitted"]),
            (&json!(null), &json!("e2ap-v02.03"), &json!(0))
        );
        for _ in 0..MAX_OCTETS / MAX_MESSAGE_OCTETS {
            assert_eq!(data(MAX_MESSAGE_OCTETS)["pdu"].as_str().unwrap().len(), 2 * MAX_MESSAGE_OCTETS);
        }
        assert_eq!(data(1)["pdu"], json!(null));
    }
}
