//! A RIC with REST on a thread of its own.

use ferric::link::Address;
use ric::RicConfig;
use testkit::Background;
use testkit::http::Service;

/// The RIC under test.
pub struct TestRic {
    /// The address for E2 nodes.
    pub e2: Address,
    /// The REST interface.
    pub rest: Service,
    _ric: Background<Box<dyn Fn() + Send + Sync>>,
}

impl TestRic {
    /// Starts a RIC after `adapt` has edited its configuration.
    pub fn start(adapt: impl FnOnce(&mut RicConfig)) -> TestRic {
        let mut config = RicConfig::from_toml("rest = \"127.0.0.1:0\"\nstatistics_period_ms = 20").unwrap();
        config.server.e2 = vec!["tcp://127.0.0.1:0".parse().unwrap()];
        config.server.xapp = None;
        adapt(&mut config);
        let ((e2, address), ric) = Background::start(move |ready| {
            let mut ric = ric::bind(config).unwrap();
            let (e2, rest) = (ric.server.e2_addresses().next().unwrap().clone(), ric.rest().unwrap().address());
            let stop = ric.server.stop_handle();
            let stop: Box<dyn Fn() + Send + Sync> = Box::new(move || stop.stop());
            ready.send(((e2, rest), stop)).unwrap();
            ric.server.run().unwrap();
        });
        TestRic { e2, rest: Service { address }, _ric: ric }
    }
}
