//! A Radio Network Information Service (ETSI MEC 012) for every RAN that speaks E2.
//!
//! ```text
//!  E2 nodes ── RIC ── collector::e2 ──┐ Event                               ┌── HTTP callbacks
//!  FlexRAN agents ── collector ───────┴─► Service::publish ─► Broker ─► Service::dispatch ─► Delivery
//!                                          │  latest state      │            │  Matcher       └── WebSockets
//!  applications ── api (REST) ─────────────┴── queries          └ embedded, RabbitMQ, Kafka
//! ```
//!
//! A *collector* turns what a RAN reports into typed [`Event`]s, stamped when they are received. The [`Service`] keeps the latest
//! state of cells, UEs and bearers for queries, and hands the event to a [`Broker`], which moves it to the processes that serve
//! subscribers. There the [`Matcher`] finds the subscriptions whose criteria the event meets, and [`Delivery`] sends each of them
//! a notification, in order, from a bounded queue.

#![forbid(unsafe_code)]

pub mod api;
mod broker;
pub mod collector;
mod criteria;
mod delivery;
pub mod dimensioning;
mod directory;
mod dispatcher;
mod event;
mod faults;
mod identity;
pub mod instances;
mod matcher;
pub mod model;
pub mod oauth;
pub mod platform;
mod quota;
mod service;
mod shared_log;
mod state;
mod subscriptions;
mod telemetry;
mod tenants;

pub use broker::{Acknowledgement, Audience, Broker, BrokerCounts, BrokerError, Embedded, Received, Sink};
#[cfg(feature = "kafka")]
pub use broker::{Kafka, KafkaConfig, KafkaLog, KafkaTopology};
#[cfg(feature = "rabbitmq")]
pub use broker::{RabbitMq, RabbitMqConfig, Topology};
pub use collector::Output;
pub use criteria::{Criteria, Topic};
pub use delivery::{
    AllowList, AllowRule, BreakerState, Callback, CallbackError, CallbackPolicy, Channel, Delivery, DeliveryConfig,
    DeliveryError, DeliveryStartError, DeliveryState, DeliveryTotals, Endpoint, Notification, RecentDeliveries,
    Resolver, Target, TenantShare, WebSocketSession, websocket_path,
};
pub use directory::{Directory, DirectoryError, Entry};
pub use event::{
    Bearer, BearerEvent, BearerQos, CellMeasurement, Change, Event, HandoverStatus, NrCellMeasurement, Quantities,
    S1Bearer, Tunnel, UeIds,
};
pub use identity::{AssociateId, AssociateIdType, Cell, Plmn, Slice, TempUeId};
pub use matcher::{Key, Matcher};
pub use quota::CpuQuota;
pub use service::{Collecting, NewSubscription, Service, SubscriptionError};
pub use shared_log::{Feed, LogRecord, SharedLog};
pub use state::{BearerState, Both, CellMeasurements, RicState, Sources, State, UeMeasurements, UeState};
pub use subscriptions::{Subscription, SubscriptionLimits, Version};
pub use tenants::{Denied, Rights, Tenant, TenantTable, Tenants, TenantsError, UeRights};
