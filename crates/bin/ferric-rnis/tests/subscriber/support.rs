//! A RIC with an emulated RAN, the service with its collector and its REST interface, and a subscriber.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferric::xapp::XappConfig;
use radio::phy::Rat;
use ran::RanConfig;
use rest::{Operation, Parameter, Response, Route, Server, ServerConfig};
use rnis::api::ApiConfig;
use rnis::collector::e2::{E2Collector, E2Config};
use rnis::{Delivery, DeliveryConfig, Directory, Embedded, Service};
use serde_json::Value;
use system_tests::{PATIENCE, RicAndRan};

/// The id of the first gNB or eNB of an emulated RAN.
const FIRST_NODE: u64 = 0xe00;

/// `cellId` of the cell with this number.
pub fn cell_id(number: u64, rat: Rat) -> String {
    match rat {
        Rat::Nr => format!("{:09x}", (FIRST_NODE + number) << 14 | 1),
        Rat::Lte => format!("{:07x}", (FIRST_NODE + number) << 8 | 1),
    }
}

/// A running chain from the model to the callbacks.
pub struct Chain {
    service: Arc<Service>,
    collector: E2Collector,
    rest: testkit::http::Service,
    callbacks: Server,
    received: Arc<Mutex<Vec<(String, Value)>>>,
    _rest: Server,
    _running: RicAndRan,
}

impl Chain {
    /// Starts it. `triggers` are those of the option `--measurement-trigger`.
    pub fn start(config: RanConfig, triggers: HashMap<u8, u8>) -> Self {
        let delivery = Delivery::start(DeliveryConfig::default()).unwrap();
        let service = Service::new(delivery, |sink| Ok::<_, ()>(Box::new(Embedded::new(sink)) as _)).unwrap();
        let service = Arc::new(service);
        let routes = rnis::api::routes(&service, &ApiConfig::default()).unwrap();
        let server = Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), routes).unwrap();
        let rest = testkit::http::Service { address: server.address() };
        let received: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let route = {
            let received = Arc::clone(&received);
            let operation = Operation::post("/{name}", "", "").path(&[Parameter::text("name", "")]);
            Route::new(operation, move |request| {
                received.lock().unwrap().push((request.parameter(0).to_owned(), request.json()?));
                Ok(Response::no_content())
            })
        };
        let callbacks = Server::start(ServerConfig::new("127.0.0.1:0".parse().unwrap()), vec![route]).unwrap();
        let running = RicAndRan::start(Vec::new(), config);
        let config = E2Config { session: XappConfig::default(), period_ms: 100, triggers };
        let collector = E2Collector::connect(&running.ric.xapp, config, Arc::new(Directory::default())).unwrap();
        Chain { service, collector, rest, callbacks, received, _rest: server, _running: running }
    }

    /// Subscribes with a callback of this name.
    pub fn subscribe(&self, name: &str, kind: &str, member: &str, criteria: Value) {
        let callback = format!("{}/{name}", self.callbacks.url());
        let body = serde_json::json!({ "subscriptionType": kind, "callbackReference": callback, member: criteria });
        self.rest.request("POST", "/rni/v2/subscriptions", body).expect(201);
    }

    /// The notifications at a callback so far.
    pub fn received(&self, name: &str) -> Vec<Value> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|(of, _)| of == name).map(|(_, body)| body.clone()).collect()
    }

    /// Collects until a condition on the notifications of a callback is met.
    #[track_caller]
    pub fn collect_until(&mut self, what: &str, name: &str, is_met: impl Fn(&[Value]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_met(&self.received(name)) {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.received(name).last());
            self.collector.poll(Some(Duration::from_millis(20)), &*self.service).unwrap();
        }
    }
}
