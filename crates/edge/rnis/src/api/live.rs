//! `/rnis/v1/stream` and `/metrics`: what the service does, for its page and for Prometheus. The page itself is at `/`.
//!
//! They show all applications at once, so the stream requires the role `control`; applications read.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use rest::metrics::MEDIA_TYPE;
use rest::{Operation, Parameter, Problem, Request, Response, Role, Route, StreamEvent, StreamForms};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Context, ROLE, words};
use crate::broker::BrokerCounts;
use crate::criteria::Topic;
use crate::delivery::{Channel, DeliveryState, DeliveryTotals};
use crate::identity::{AssociateId, Cell};
use crate::matcher::Key;
use crate::model::TimeStamp;
use crate::service::Service;
use crate::state::{Sources, State};
use crate::subscriptions::{Subscription, Version};
use crate::telemetry::{FeedTopic, Protocol, RecentLatency};

/// How often totals, subscriptions and the network are sent.
const PERIOD: Duration = Duration::from_secs(1);
/// The most subscriptions, cells and UEs of an event.
const MAX_ROWS: usize = 200;
/// The most identities of a UE.
const MAX_IDS: usize = 8;

const TOPICS: Parameter = Parameter::text(
    "topics",
    "The topics, separated by commas: overview, subscriptions, network, notifications. Default: overview.",
);

/// The files of the page: path, media type and content. Its sources and its built files are in `crates/edge/rnis/page`;
/// `scripts/page` builds them.
const FILES: [(&str, &str, &[u8]); 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../page/dist/index.html")),
    ("/page/page.js", "text/javascript; charset=utf-8", include_bytes!("../../page/dist/page.js")),
    ("/page/page.css", "text/css; charset=utf-8", include_bytes!("../../page/dist/page.css")),
    ("/page/icon.svg", "image/svg+xml", include_bytes!("../../page/dist/icon.svg")),
];

/// An event: `overview` (totals, latencies of the last five seconds, the broker, and what the collectors are connected to),
/// `subscriptions` (with their delivery), `network` (cells and UEs), each at once and then every second; `notification` (one that was
/// queued, at most 20 a second; `omitted` is the number of those left out before it). `lost`: the reader was too slow for as many
/// events.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "the schema of what the server writes")]
struct LiveEvent {
    /// The name of the event; as Server-Sent Events it is in the field `event`.
    event: String,
    /// The event; as Server-Sent Events it is in the field `data`.
    data: Map<String, Value>,
}

/// Totals of the service.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Overview {
    time_ms: u64,
    types: Vec<OfType>,
    delivery: DeliveryTotals,
    latency: RecentLatency,
    connections: Connections,
    broker: &'static str,
    broker_counts: BrokerCounts,
    sources: Sources,
    cells: usize,
    ues: usize,
}

/// Totals of a type of subscription.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfType {
    subscription_type: &'static str,
    v1: usize,
    v2: usize,
    events: u64,
    notifications: u64,
}

/// Connections to callbacks, and WebSockets of subscribers.
#[derive(Serialize)]
struct Connections {
    http1: usize,
    http2: usize,
    websocket: usize,
}

/// A subscription with its delivery.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: u64,
    version: &'static str,
    owner: String,
    subscription_type: &'static str,
    criteria: String,
    /// The server of the callback; of a WebSocket absent. Its path may hold a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    callback: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry_deadline: Option<TimeStamp>,
    #[serde(flatten)]
    delivery: DeliveryState,
}

/// A cell.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CellRow {
    cell: String,
    plmn: String,
    ues: usize,
    prb_dl_percent: Option<u32>,
    prb_ul_percent: Option<u32>,
}

/// A UE.
#[derive(Serialize)]
struct UeRow<'s> {
    name: &'s str,
    ids: &'s [AssociateId],
    cell: Option<String>,
    bearers: usize,
}

/// The routes. A thread publishes what is sent every second; it ends with the service.
///
/// # Errors
/// If the system refuses the thread.
pub fn routes(context: &Context) -> io::Result<Vec<Route>> {
    publish_periodically(Arc::downgrade(&context.service))?;
    Ok(vec![stream(context), metrics(context)])
}

/// The routes of the page's files.
pub fn page() -> impl Iterator<Item = Route> {
    FILES.into_iter().map(|(path, media_type, octets)| Route::file(path, media_type, octets))
}

fn stream(context: &Context) -> Route {
    let service = Arc::clone(&context.service);
    let operation = Operation::get("/rnis/v1/stream", "getStream", "What the service does, as it happens")
        .tag("delivery")
        .role(Role::Control)
        .query(&[TOPICS])
        .describe(
            "Server-Sent Events, or a WebSocket with text messages `{\"event\": …, \"data\": …}`. A reader that is too slow loses its \
             oldest events, and gets an event `lost` with their number (`events`), and with the number since the beginning (`total`).",
        )
        .streams::<LiveEvent>(StreamForms::Both, "The events.");
    Route::new(operation, move |request| open(&service, request))
}

fn metrics(context: &Context) -> Route {
    let service = Arc::clone(&context.service);
    let operation = Operation::get("/metrics", "getMetrics", "The metrics of the service, for Prometheus")
        .tag("delivery")
        .role(ROLE)
        .returns_media(MEDIA_TYPE, "The metrics in the text exposition format 0.0.4.");
    Route::new(operation, move |_| Ok(Response::text(MEDIA_TYPE, service.telemetry().text(&service))))
}

fn open(service: &Service, request: &Request) -> Result<Response, Problem> {
    let names = request.query("topics").unwrap_or(FeedTopic::Overview.name());
    let topics: Vec<FeedTopic> = names.split(',').map(topic).collect::<Result<_, Problem>>()?;
    let (sender, response) = request.open_stream();
    for event in topics.iter().filter_map(|topic| event(service, *topic)) {
        sender.send(event);
    }
    service.telemetry().feed.add(topics.iter().fold(0, |bits, topic| bits | topic.bit()), sender);
    Ok(response)
}

fn topic(name: &str) -> Result<FeedTopic, Problem> {
    FeedTopic::ALL.into_iter().find(|topic| topic.name() == name).ok_or_else(|| {
        let names = FeedTopic::ALL.map(FeedTopic::name).join(", ");
        Problem::bad_request(format!("topics: `{name}` is none of {names}")).with("at", "topics")
    })
}

fn publish_periodically(service: Weak<Service>) -> io::Result<()> {
    thread::Builder::new().name("live".into()).spawn(move || {
        loop {
            thread::sleep(PERIOD);
            let Some(service) = service.upgrade() else { return };
            let feed = &service.telemetry().feed;
            if !feed.is_read() {
                continue;
            }
            for topic in FeedTopic::ALL.into_iter().filter(|topic| *topic != FeedTopic::Notifications) {
                feed.publish(topic, || {
                    event(&service, topic).unwrap_or_else(|| StreamEvent::new(topic.name(), &Value::Null))
                });
            }
        }
    })?;
    Ok(())
}

/// What is sent of a topic now.
fn event(service: &Service, topic: FeedTopic) -> Option<StreamEvent> {
    let data = match topic {
        FeedTopic::Overview => json!(overview(service)),
        FeedTopic::Subscriptions => subscriptions(service),
        FeedTopic::Network => service.read(network),
        FeedTopic::Notifications => return None,
    };
    Some(StreamEvent::new(topic.name(), &data))
}

fn overview(service: &Service) -> Overview {
    let (telemetry, delivery) = (service.telemetry(), service.delivery());
    let (v1, v2) = (service.subscription_counts(Version::V1), service.subscription_counts(Version::V2));
    let types = Topic::ALL.into_iter().zip(v1.into_iter().zip(v2)).map(|(topic, (v1, v2))| OfType {
        subscription_type: topic.type_name(),
        v1,
        v2,
        events: telemetry.events(topic),
        notifications: telemetry.notifications(topic),
    });
    let (sources, cells, ues) = service.read(|state| (state.sources, state.cells.len(), state.ues.len()));
    Overview {
        time_ms: TimeStamp::now().to_nanos() / 1_000_000,
        types: types.collect(),
        delivery: delivery.totals(),
        latency: telemetry.recent_latency(),
        connections: Connections {
            http1: telemetry.connections(Protocol::Http1),
            http2: telemetry.connections(Protocol::Http2),
            websocket: delivery.websockets(),
        },
        broker: service.broker_name(),
        broker_counts: service.broker_counts(),
        sources,
        cells,
        ues,
    }
}

fn subscriptions(service: &Service) -> Value {
    let all = service.delivery().totals().subscriptions;
    let rows: Vec<Row> = service.first_subscriptions(MAX_ROWS).iter().map(|(key, it)| row(service, *key, it)).collect();
    json!({ "omitted": all.saturating_sub(rows.len()), "subscriptions": rows })
}

fn row(service: &Service, key: Key, subscription: &Subscription) -> Row {
    let target = service.delivery().target(key);
    let callback = target.as_ref().and_then(|target| match &target.channel {
        Channel::Callback(callback) => {
            let scheme = if callback.endpoint().is_secured { "https" } else { "http" };
            Some(format!("{scheme}://{}", callback.endpoint()))
        }
        Channel::WebSocket => None,
    });
    Row {
        id: key.0,
        version: match subscription.version {
            Version::V1 => "v1",
            Version::V2 => "v2",
        },
        owner: subscription.owner.to_string(),
        subscription_type: subscription.criteria.topic.type_name(),
        criteria: words::of(&subscription.criteria),
        callback,
        expiry_deadline: subscription.deadline,
        delivery: service.delivery_state(key).unwrap_or_default(),
    }
}

fn network(state: &State) -> Value {
    let mut counts: HashMap<Cell, usize> = HashMap::new();
    for cell in state.ues.values().filter_map(|ue| ue.cell) {
        *counts.entry(cell).or_default() += 1;
    }
    let cells = state.cells.iter().take(MAX_ROWS).map(|(cell, measured)| CellRow {
        cell: cell.digits(),
        plmn: cell.plmn().to_string(),
        ues: counts.get(cell).copied().unwrap_or(0),
        prb_dl_percent: measured.total_prb_percent.dl,
        prb_ul_percent: measured.total_prb_percent.ul,
    });
    let ues = state.ues.iter().take(MAX_ROWS).map(|(name, ue)| UeRow {
        name,
        ids: &ue.ids.associate_ids[..ue.ids.associate_ids.len().min(MAX_IDS)],
        cell: ue.cell.map(|cell| cell.digits()),
        bearers: ue.bearers.len(),
    });
    json!({
        "cells": cells.collect::<Vec<_>>(),
        "omittedCells": state.cells.len().saturating_sub(MAX_ROWS),
        "ues": ues.collect::<Vec<_>>(),
        "omittedUes": state.ues.len().saturating_sub(MAX_ROWS),
    })
}
