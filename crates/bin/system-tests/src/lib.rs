//! Support for tests of a RIC and an emulated RAN together: each runs on a thread of its own.

pub mod platform;
pub mod raw_xapp;
mod reader;
pub mod rmr_peer;
pub mod station;
pub mod ue_id;

use ferric::link::Address;
use ferric::server::{Iapp, IappWaker};
use ran::{Ran, RanConfig};
use ric::RicConfig;
use ric::oran_host::RmrRightsHandle;
use testkit::Background;
use testkit::http::Service;

pub use reader::Reader;
pub use testkit::{PATIENCE, eventually};

type Stop = Box<dyn Fn() + Send + Sync>;

/// The interfaces of a RIC for xApps of the O-RAN reference platform.
pub struct Platform {
    /// RMR.
    pub rmr: Address,
    /// The REST interfaces of the platform.
    pub rest: Service,
    /// Replaces the rights of xApps over RMR.
    pub rights: RmrRightsHandle,
}

/// A RIC with REST.
pub struct TestRic {
    /// The address for E2 nodes.
    pub e2: Address,
    /// The address for xApps.
    pub xapp: Address,
    /// The REST interface.
    pub rest: Service,
    /// Wakes the internal apps.
    pub waker: IappWaker,
    _ric: Background<Stop>,
}

impl TestRic {
    /// Starts a RIC with REST.
    #[must_use]
    pub fn start() -> TestRic {
        TestRic::with(|_| ())
    }

    /// Starts a RIC after `adapt` has edited its configuration.
    pub fn with(adapt: impl FnOnce(&mut RicConfig)) -> TestRic {
        TestRic::with_iapps(Vec::new(), adapt)
    }

    /// Starts a RIC that shares its RAN among the tenants of the agreements. Returns it with the handle of these.
    #[must_use]
    pub fn with_virtual_networks(sla: virtualization::Sla) -> (TestRic, virtualization::SlaHandle) {
        let mut handle = None;
        let ric = TestRic::start_with(
            Vec::new(),
            |config| config.virtual_networks = Some(sla),
            |ric| ric.sla().cloned(),
            &mut handle,
        );
        (ric, handle.expect("the RIC has agreements"))
    }

    /// Starts a RIC that serves xApps of the O-RAN reference platform. Returns it with the address for RMR, and the REST interfaces of the
    /// platform.
    #[must_use]
    pub fn with_oran_host(adapt: impl FnOnce(&mut RicConfig)) -> (TestRic, Address, Service) {
        TestRic::with_oran_host_and(Vec::new(), adapt)
    }

    /// The same with internal apps.
    #[must_use]
    pub fn with_oran_host_and(
        iapps: Vec<Box<dyn Iapp>>,
        adapt: impl FnOnce(&mut RicConfig),
    ) -> (TestRic, Address, Service) {
        let (ric, Platform { rmr, rest, .. }) = TestRic::with_platform_and(iapps, adapt);
        (ric, rmr, rest)
    }

    /// Starts a RIC that serves xApps of the O-RAN reference platform. Returns it with these interfaces.
    #[must_use]
    pub fn with_platform(adapt: impl FnOnce(&mut RicConfig)) -> (TestRic, Platform) {
        TestRic::with_platform_and(Vec::new(), adapt)
    }

    /// The same with internal apps.
    fn with_platform_and(iapps: Vec<Box<dyn Iapp>>, adapt: impl FnOnce(&mut RicConfig)) -> (TestRic, Platform) {
        let mut taken = None;
        let any_port = |config: &mut RicConfig| {
            config.oran.rmr = Some("tcp://127.0.0.1:0".parse().unwrap());
            config.oran.rest = Some(([127, 0, 0, 1], 0).into());
            adapt(config);
        };
        let platform = |ric: &ric::Ric| {
            let rest = Service { address: ric.oran().rest()?.address() };
            Some(Platform { rmr: ric.oran().rmr_address()?.clone(), rest, rights: ric.oran().rights_handle()? })
        };
        let ric = TestRic::start_with(iapps, any_port, platform, &mut taken);
        (ric, taken.expect("the RIC serves xApps of the platform"))
    }

    /// Starts a RIC with internal apps.
    pub fn with_iapps(iapps: Vec<Box<dyn Iapp>>, adapt: impl FnOnce(&mut RicConfig)) -> TestRic {
        TestRic::start_with(iapps, adapt, |_| (), &mut ())
    }

    /// Starts a RIC, and takes something of it before it runs.
    fn start_with<T: Send + 'static>(
        iapps: Vec<Box<dyn Iapp>>,
        adapt: impl FnOnce(&mut RicConfig),
        take: fn(&ric::Ric) -> T,
        taken: &mut T,
    ) -> TestRic {
        testkit::log::global();
        let any_port: Address = "tcp://127.0.0.1:0".parse().unwrap();
        let mut config = RicConfig::from_toml("rest = \"127.0.0.1:0\"\nstatistics_period_ms = 20").unwrap();
        config.server.e2 = vec![any_port.clone().into()];
        config.server.xapp = Some(any_port);
        adapt(&mut config);
        let ((e2, xapp, address, waker, part), ric) = Background::start(move |ready| {
            let mut ric = ric::bind(config).unwrap();
            iapps.into_iter().for_each(|iapp| ric.server.add_iapp(iapp));
            let e2 = ric.server.e2_addresses().next().unwrap().clone();
            let xapp = ric.server.xapp_address().unwrap().clone();
            let address = ric.rest().unwrap().address();
            let waker = ric.server.iapp_waker().unwrap();
            let stop = ric.server.stop_handle();
            let stop: Stop = Box::new(move || stop.stop());
            ready.send(((e2, xapp, address, waker, take(&ric)), stop)).unwrap();
            ric.server.run().unwrap();
        });
        *taken = part;
        TestRic { e2, xapp, rest: Service { address }, waker, _ric: ric }
    }

    /// Waits until the slicing controller has received the slices of a node.
    pub fn await_slices(&self, node: &str) {
        self.rest.eventually(&format!("/v1/nodes/{node}/slices"), |_| true);
    }
}

/// The agreements of two operators with the PLMNs 001.01 and 001.02, in percent of each cell.
///
/// # Panics
/// If the shares exceed a cell.
#[must_use]
pub fn two_operators(a: &TestRic, share_a: u32, b: &TestRic, share_b: u32) -> virtualization::Sla {
    let text = format!(
        "[[tenant]]\nname = \"a\"\nshare_percent = {share_a}\nplmn = \"00101\"\nric = \"{}\"\n\
         [[tenant]]\nname = \"b\"\nshare_percent = {share_b}\nplmn = \"00102\"\nric = \"{}\"\n",
        a.e2, b.e2
    );
    virtualization::Sla::parse(&text).expect("agreements")
}

/// An emulated RAN.
pub struct TestRan {
    ric: Address,
    config: RanConfig,
    ran: Option<Background<Stop>>,
}

impl TestRan {
    /// Starts a RAN that connects to a RIC.
    #[must_use]
    pub fn start(ric: &Address, config: RanConfig) -> TestRan {
        let ran = Some(start_ran(ric, &config));
        TestRan { ric: ric.clone(), config, ran }
    }

    /// Stops the RAN, and starts a new one with the same configuration.
    pub fn restart(&mut self) {
        self.ran = None;
        self.ran = Some(start_ran(&self.ric, &self.config));
    }
}

fn start_ran(ric: &Address, config: &RanConfig) -> Background<Stop> {
    let config = RanConfig { rics: vec![ric.clone().into()], ..config.clone() };
    let ((), ran) = Background::start(move |ready| {
        let mut ran = Ran::new(config).unwrap();
        let stop = ran.stop_handle();
        let stop: Stop = Box::new(move || stop.stop());
        ready.send(((), stop)).unwrap();
        ran.run().unwrap();
    });
    ran
}

/// A RIC with REST, and an emulated RAN that is connected to it.
pub struct RicAndRan {
    /// The RIC.
    pub ric: TestRic,
    /// The RAN.
    pub ran: TestRan,
}

impl RicAndRan {
    /// Starts a RIC with internal apps, and a RAN.
    #[must_use]
    pub fn start(iapps: Vec<Box<dyn Iapp>>, config: RanConfig) -> RicAndRan {
        let ric = TestRic::with_iapps(iapps, |_| ());
        let ran = TestRan::start(&ric.e2, config);
        RicAndRan { ric, ran }
    }
}

/// Returns everything that the test program has logged.
#[must_use]
pub fn log() -> String {
    testkit::log::global().text()
}
