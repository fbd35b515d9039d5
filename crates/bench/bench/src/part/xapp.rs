//! An xApp that keeps the latest statistics, as the controller's internal app does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;
use ferric::link::Address;
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use serde::{Deserialize, Serialize};

use super::store::Store;

/// The parameters of an xApp.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct XappPart {
    /// The RIC's address for xApps.
    pub ric: String,
    /// The reporting period.
    pub period_ms: u32,
}

/// The counters of an xApp.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct XappCount {
    /// Active subscriptions.
    pub subscribed: u64,
    /// Reports decoded and stored.
    pub reports: u64,
    /// Octets of the reports' messages.
    pub octets: u64,
}

impl XappPart {
    /// Runs the xApp until the input ends.
    ///
    /// # Errors
    /// If the RIC cannot be used, or is lost.
    pub fn run(&self) -> anyhow::Result<()> {
        let ric: Address = self.ric.parse()?;
        let mut xapp = Xapp::connect(&ric, "statistics", XappConfig { reconnect: None, ..XappConfig::default() })
            .context("cannot use the RIC")?;
        let stop = xapp.stop_handle();
        let [subscribed, reports, octets] = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
        let count = [&subscribed, &reports, &octets].map(Arc::clone);
        super::answer(stop.clone(), move || XappCount {
            subscribed: count[0].load(Relaxed),
            reports: count[1].load(Relaxed),
            octets: count[2].load(Relaxed),
        });
        let mut store = Store::new(true);
        while !stop.is_stopped() {
            xapp.poll(None, |event, ric| match event {
                XappEvent::NodeUp(node) => {
                    for function in &node.functions {
                        if let Some(spec) = store.subscription(node.id, function.id, &function.oid, self.period_ms) {
                            ric.subscribe(node.id, function.id, spec);
                        }
                    }
                }
                XappEvent::NodeLost(node) => store.remove(node.id),
                XappEvent::Request(RequestEvent::Subscribed { .. }) => _ = subscribed.fetch_add(1, Relaxed),
                XappEvent::Indication(indication) => {
                    let Some(read) = indication.peek() else { return };
                    if store.store(indication.node, read.ran_function_id, read.message) {
                        reports.fetch_add(1, Relaxed);
                        octets.fetch_add(read.message.len() as u64, Relaxed);
                    }
                }
                _ => {}
            })?;
        }
        Ok(())
    }
}
