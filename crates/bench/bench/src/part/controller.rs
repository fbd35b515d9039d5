//! A controller of the server library and one internal app, which keeps the newest statistics: the FlexRIC paper's
//! controller of section 5.3.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;
use ferric::Endpoint;
use ferric::e2::Indication;
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server, ServerConfig};
use serde::{Deserialize, Serialize};

use super::store::Store;
use super::{Encoding, any_port};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Controller {
    /// Of E2AP.
    pub encoding: Encoding,
    /// Which statistics are asked for.
    pub period_ms: u32,
    /// Whether the app keeps records, not octets alone.
    pub decodes: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ControllerCount {
    /// Subscriptions that stand.
    pub subscribed: u64,
    /// Reports that were kept.
    pub reports: u64,
    /// Octets of their messages.
    pub octets: u64,
    /// Reports that could not be kept.
    pub unread: u64,
}

#[derive(Default)]
struct Counters {
    subscribed: AtomicU64,
    reports: AtomicU64,
    octets: AtomicU64,
    unread: AtomicU64,
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
                    if let Some(spec) = self.store.wish(node.id, function.id, &function.oid, self.period_ms) {
                        // what becomes of it, the counters tell
                        let _ = ric.subscribe(node.id, function.id, spec);
                    }
                }
            }
            IappEvent::NodeLost(node) => self.store.forget(*node),
            IappEvent::Request(RequestEvent::Subscribed { .. }) => _ = self.counters.subscribed.fetch_add(1, Relaxed),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _ric: &mut IappContext<'_>) {
        let Counters { reports, octets, unread, .. } = &*self.counters;
        let (node, function) = (indication.node, indication.ran_function_id);
        match indication.payload {
            Some((_, message)) if self.store.keep(node, function, message) => {
                reports.fetch_add(1, Relaxed);
                octets.fetch_add(message.len() as u64, Relaxed);
            }
            _ => _ = unread.fetch_add(1, Relaxed),
        }
    }
}

impl Controller {
    pub fn run(&self) -> anyhow::Result<()> {
        let e2 = vec![Endpoint::new(any_port(), self.encoding.codec())];
        let mut server = Server::bind(ServerConfig { e2, xapp: None, ..ServerConfig::default() })?;
        let counters = Arc::new(Counters::default());
        let store = Store::new(self.decodes);
        server.add_iapp(Box::new(Statistics { store, period_ms: self.period_ms, counters: counters.clone() }));
        println!("e2={}", server.e2_endpoints().next().context("the controller listens nowhere")?);
        super::answer(server.stop_handle(), move || ControllerCount {
            subscribed: counters.subscribed.load(Relaxed),
            reports: counters.reports.load(Relaxed),
            octets: counters.octets.load(Relaxed),
            unread: counters.unread.load(Relaxed),
        });
        Ok(server.run()?)
    }
}
