//! An SDK for software-defined radio access networks: it implements O-RAN's E2 interface for base stations and for
//! near-RT RICs.
//!
//! ferric implements E2AP v01.00 to v03.01 in ASN.1 PER, or in FlatBuffers, over SCTP, TCP, TLS, Unix sockets, shared
//! memory and within a process. Four parts are built on it; each is a Cargo feature:
//!
//! | to write | use | a complete program |
//! |---|---|---|
//! | the agent of a base station | [`agent`] | `examples/src/bin/ran_function.rs` |
//! | a near-RT RIC with internal apps (iApps) | [`server`] | `examples/src/bin/iapp.rs` |
//! | an external app (xApp) | [`xapp`] | `examples/src/bin/xapp.rs` |
//! | a recording of E2 associations | [`record`] | `ferric ric --record FILE` |
//!
//! # Concepts
//!
//! An **E2 node** is a base station, or a part of it (a DU, a CU-CP, a CU-UP). Its **agent** connects it to one or
//! more **near-RT RICs**. It offers **RAN functions**, each of which implements a **service model**: KPM for
//! measurements, RC for control, and so on. E2AP does not interpret what a service model puts into its octet strings.
//! Crate `e2sm` encodes and decodes the service models, crate `ran-functions` implements RAN functions on top of it.
//!
//! A RIC has three kinds of clients. An **iApp** is a Rust object in the RIC's process, called on its thread for each
//! event and indication. An **xApp** is a separate process that uses the RIC-xApp protocol (`docs/xapp-protocol.md`).
//! FlexRIC's xApps use E42. All of them *subscribe* to a RAN function, upon which it sends *indications*; send
//! *controls*, which it acknowledges or fails; and send *queries* (E2AP v3). Equal subscriptions of several clients
//! are one subscription at the node.
//!
//! Each command returns a [`Ticket`](e2::Ticket) at once. The event with the same ticket is its result. A subscription
//! outlives the loss of its node unless its [`SubscriptionOrder`](e2::SubscriptionOrder) states otherwise: it is
//! suspended, and resumed when the node is back. The same holds for the loss of the RIC, as an xApp sees it.
//!
//! Underneath, crate [`e2`] is the protocol as state machines without I/O, driven by events and time stamps; crate
//! [`link`] moves messages; [`e2ap`] encodes them. All three are re-exported.
//!
//! # A first agent
//!
//! This base station reports its number of connected UEs once a second to each subscription:
//!
//! ```
//! use std::time::Duration;
//!
//! use ferric::agent::{Admission, AgentLoop, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
//! use ferric::e2::{Function, SubscriptionRequest, Time};
//! use ferric::e2ap::{Cause, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId};
//!
//! #[derive(Default)]
//! struct UeCount {
//!     subscriptions: Vec<(RequestKey, RicActionId)>,
//!     next_report: Option<Time>,
//! }
//!
//! impl RanFunction for UeCount {
//!     fn id(&self) -> RanFunctionId {
//!         RanFunctionId(99)
//!     }
//!
//!     fn definition(&self) -> Function {
//!         let oid = "1.3.6.1.4.1.32473.1.99".into(); // an arc for examples
//!         Function { id: self.id(), revision: RanFunctionRevision(1), oid, definition: b"UE count".to_vec() }
//!     }
//!
//!     fn subscribe(
//!         &mut self,
//!         now: Time,
//!         controller: ControllerId,
//!         request: &SubscriptionRequest,
//!         _: &Views,
//!     ) -> Result<Admission, Cause> {
//!         let key = RequestKey { controller, id: request.request_id };
//!         let admitted: Vec<_> = request.actions.iter().map(|action| action.id).collect();
//!         self.subscriptions.extend(admitted.iter().map(|action| (key, *action)));
//!         self.next_report.get_or_insert(now);
//!         Ok(Admission { admitted, not_admitted: Vec::new() })
//!     }
//!
//!     fn unsubscribe(&mut self, key: RequestKey) {
//!         self.subscriptions.retain(|(other, _)| *other != key);
//!     }
//!
//!     fn next_report(&self) -> Option<Time> {
//!         self.next_report.filter(|_| !self.subscriptions.is_empty())
//!     }
//!
//!     fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
//!         let connected_ues = 3_u32;
//!         for (key, action) in &self.subscriptions {
//!             // fails for a subscription that has just ended
//!             let _ = context.report(*key, *action, b"", &connected_ues.to_be_bytes());
//!         }
//!         self.next_report = Some(now + Duration::from_secs(1));
//!     }
//! }
//!
//! let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
//! let mut agents = AgentLoop::new(Default::default())?;
//! agents.add(node, "tcp://127.0.0.1:36421".parse()?, vec![Box::new(UeCount::default())]);
//! agents.poll(Some(Duration::ZERO))?; // or `run`, which returns when the agent is stopped
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A first iApp
//!
//! This RIC subscribes to the function above at every node that has it:
//!
//! ```
//! use ferric::e2::{Action, Indication, SubscriptionSpec};
//! use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
//! use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
//!
//! struct Printer;
//!
//! impl Iapp for Printer {
//!     fn name(&self) -> &str {
//!         "printer"
//!     }
//!
//!     fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
//!         let IappEvent::NodeUp(node) = event else { return };
//!         if node.function(RanFunctionId(99)).is_some() {
//!             let action =
//!                 Action { id: RicActionId(0), kind: RicActionType::Report, definition: None, subsequent: None };
//!             let order = SubscriptionSpec { event_trigger: Vec::new(), actions: vec![action] };
//!             ric.subscribe(node.id, RanFunctionId(99), order).expect("the node has this function");
//!         }
//!     }
//!
//!     fn on_indication(&mut self, indication: &Indication<'_>, _: &mut IappContext<'_>) {
//!         println!("node {}: {} octets", indication.node.0, indication.pdu.len());
//!     }
//! }
//!
//! let mut server = Server::bind(ServerConfig {
//!     e2: vec!["tcp://127.0.0.1:0".parse()?], // port 0: any free port
//!     xapp: None,
//!     ..ServerConfig::default()
//! })?;
//! server.add_iapp(Box::new(Printer));
//! server.poll(Some(std::time::Duration::ZERO))?; // or `run`, which returns when the server is stopped
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A first xApp
//!
//! KPIs of every UE of every node, read by a separate process from the RIC at port 36423. The API finds function ids,
//! revisions and report styles itself:
//!
//! ```no_run
//! use ferric::xapp::Ric;
//!
//! let ric = Ric::connect()?;
//! for record in ric.kpm(["DRB.UEThpDl", "CQI"]).every(1000)? {
//!     println!("{}", record?);
//! }
//! # Ok::<(), ferric::xapp::Error>(())
//! ```
//!
//! The raw level below it, for service models of your own, is driven by events and commands:
//!
//! ```no_run
//! use ferric::e2::{Action, SubscriptionSpec};
//! use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
//! use ferric::xapp::{Xapp, XappEvent};
//!
//! let mut xapp = Xapp::connect(&"tcp://127.0.0.1:36423".parse()?, "printer", Default::default())?;
//! loop {
//!     xapp.poll(None, |event, commands| match event {
//!         XappEvent::NodeUp(node) => {
//!             let action =
//!                 Action { id: RicActionId(0), kind: RicActionType::Report, definition: None, subsequent: None };
//!             let order = SubscriptionSpec { event_trigger: Vec::new(), actions: vec![action] };
//!             commands.subscribe(node.id, RanFunctionId(99), order);
//!         }
//!         XappEvent::Indication(indication) => {
//!             if let Some(indication) = indication.peek() {
//!                 println!("{:?}", indication.message);
//!             }
//!         }
//!         other => println!("{other:?}"), // the results of commands, lost nodes, ...
//!     })?;
//! }
//! # #[allow(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//!
//! Nothing starts a thread, except a server with [`ServerConfig::loops`](server::ServerConfig::loops) above one, a
//! [`Recorder`](record::Recorder) and a session of [`xapp::Ric`], whose handles work from any thread. An [`AgentLoop`](agent::AgentLoop), a [`Server`](server::Server) and an
//! [`Xapp`](xapp::Xapp) each belong to one thread and are driven by their `poll` or `run`; handlers run on that thread
//! and must not block. Other threads end a loop with its [`StopHandle`], reach iApps with an
//! [`IappWaker`](server::IappWaker), and have RAN functions asked for reports with an [`AgentWaker`](agent::AgentWaker). A host with a custom event loop waits for the file descriptor of its agent; see
//! [`AgentLoop::next_deadline`](agent::AgentLoop::next_deadline). `Server`, `Xapp` and
//! [`SendAgentLoop`](agent::SendAgentLoop) may move to another thread; an `AgentLoop` with functions that are not
//! `Send` stays on the thread that created it. The functions of crate `ran-functions` are `Send` if they share their source
//! with the base station by `Arc<Mutex<_>>`.
//!
//! # Errors
//!
//! [`Error`] ends a program's use of a part: a link that cannot be set up, a resource that the system refuses, a RIC
//! that refuses the session. What a *peer* does never ends a loop: malformed messages are answered as E2AP specifies
//! and logged, and a peer that violates limits is disconnected without effect on others. A command that makes no sense
//! returns [`Misuse`](e2::Misuse) or [`AgentMisuse`](e2::AgentMisuse) at once; a command that fails later is reported
//! by an event. Panics are defects of this crate or of a handler.
//!
//! The crates log with [`tracing`](https://docs.rs/tracing). Each line names the peer and, for problems, the remedy.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | provides |
//! |---|---|
//! | `agent` | module [`agent`] |
//! | `server` | module [`server`] |
//! | `xapp` | module [`xapp`]: the high-level API of xApps, with the service models that it uses |
//! | `xapp-raw` | of it the raw level alone, without service models |
//! | `ue-reports` | what identifies UEs in the reports of nodes ([`e2::topology`]) |
//! | `record` | module [`record`]: pcapng files that Wireshark reads |
//! | `flat` | E2AP in FlatBuffers: `tcp+flat://`, `sctp+flat://` and so on |
//! | `tls` | TLS 1.3 with client certificates: `tls://` (see `docs/tls.md`) |
//!
//! # Limits
//!
//! Linux only. A PDU has at most 1 MiB unless configured. All queues, tables and names are bounded; the configurations
//! state each bound and what happens there: reports to a slow reader are dropped, oldest first, and counted, while a
//! peer that lets messages fill its queue that must not be dropped is disconnected. E2AP v1 has no E2 Removal, queries
//! or additional associations.

#![forbid(unsafe_code)]
// without any part, only what they share remains
#![cfg_attr(not(any(feature = "agent", feature = "server", feature = "xapp-raw")), allow(dead_code))]

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "decode")]
pub mod decode;
mod endpoint;
mod error;
mod event_loop;
#[cfg(any(feature = "agent", feature = "server"))]
mod peers;
#[cfg(feature = "record")]
pub mod record;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "xapp-raw")]
pub mod xapp;

/// The most octets that the RIC-xApp protocol adds to an E2AP PDU, the ids of 256 functions included.
#[cfg(any(feature = "server", feature = "xapp-raw"))]
const XAPP_OVERHEAD_OCTETS: usize = 16 * 1024;
/// The port of a RIC for xApps.
#[cfg(any(feature = "server", feature = "xapp"))]
const DEFAULT_XAPP_PORT: u16 = 36423;

pub use e2;
pub use e2ap;
pub use endpoint::{Endpoint, EndpointError};
pub use error::Error;
pub use event_loop::StopHandle;
pub use link;
