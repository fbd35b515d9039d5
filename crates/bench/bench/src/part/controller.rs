//! A controller with one internal app that keeps the latest statistics, as in section 5.3 of the FlexRIC paper.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;
use ferric::Endpoint;
use ferric::e2::Indication;
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server, ServerConfig};
use serde::{Deserialize, Serialize};

use super::store::Store;
use super::{Encoding, any_port};

/// The parameters of a controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Controller {
    /// The encoding of E2AP.
    pub encoding: Encoding,
    /// The reporting period.
    pub period_ms: u32,
    /// Whether the app decodes the reports, instead of keeping their octets.
    pub decodes: bool,
}

/// The counters of a controller.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ControllerCount {
    /// Active subscriptions.
    pub subscribed: u64,
    /// Reports stored.
    pub reports: u64,
    /// Octets of the reports' messages.
    pub octets: u64,
    /// Reports that could not be stored.
    pub undecodable: u64,
}

#[derive(Default)]
struct Counters {
    subscribed: AtomicU64,
    reports: AtomicU64,
    octets: AtomicU64,
    undecodable: AtomicU64,
}

struct Statistics {
    store: Store,
    period_ms: u32,
    counters: Arc<Counters>,
}

impl Iapp for Statistics {
    fn name(&self) -> &str {
        "statistics"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                for function in &node.functions {
                    if let Some(spec) = self.store.subscription(node.id, function.id, &function.oid, self.period_ms) {
                        // the counters show whether it succeeds
                        let _ = ric.subscribe(node.id, function.id, spec);
                    }
                }
            }
            IappEvent::NodeLost(node) => self.store.remove(*node),
            IappEvent::Request(RequestEvent::Subscribed { .. }) => _ = self.counters.subscribed.fetch_add(1, Relaxed),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _ric: &mut IappContext<'_>) {
        let Counters { reports, octets, undecodable, .. } = &*self.counters;
        let (node, function) = (indication.node, indication.ran_function_id);
        match indication.payload {
            Some((_, message)) if self.store.store(node, function, message) => {
                reports.fetch_add(1, Relaxed);
                octets.fetch_add(message.len() as u64, Relaxed);
            }
            _ => _ = undecodable.fetch_add(1, Relaxed),
        }
    }
}

impl Controller {
    /// Runs the controller until the input ends.
    ///
    /// # Errors
    /// If the event loop fails.
    pub fn run(&self) -> anyhow::Result<()> {
        let e2 = vec![Endpoint::new(any_port(), self.encoding.codec())];
        let mut server = Server::bind(ServerConfig { e2, xapp: None, ..ServerConfig::default() })?;
        let counters = Arc::new(Counters::default());
        let store = Store::new(self.decodes);
        server.add_iapp(Box::new(Statistics { store, period_ms: self.period_ms, counters: counters.clone() }));
        println!("e2={}", server.e2_endpoints().next().context("the controller has no address for E2")?);
        super::answer(server.stop_handle(), move || ControllerCount {
            subscribed: counters.subscribed.load(Relaxed),
            reports: counters.reports.load(Relaxed),
            octets: counters.octets.load(Relaxed),
            undecodable: counters.undecodable.load(Relaxed),
        });
        Ok(server.run()?)
    }
}
