//! A RIC and an emulated RAN in the process.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use ferric::StopHandle;
use ferric::e2ap::Version;
use ferric::link::Address;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use ran::{Ran, RanConfig, Scenario};
use ric::RicConfig;

use crate::error::invalid;
use crate::ric::{Ric, connect};

/// The version of E2AP between RIC and RAN: the first with queries.
const VERSION: Version = Version::V3_01;

/// A RIC and an emulated RAN in this process, on free ports of this host; stopped at the end of a `with` block, or with `stop`.
///
/// `scenario` is a TOML file (docs/scenarios.md) or its text; without one there are `nodes` gNBs with `ues` UEs each and mixed
/// traffic, whose channels and packets follow from `seed`. `speed` is model seconds per second. `handovers_per_minute` is how many
/// handovers nodes begin, of UEs at random; with a scenario, its own mobility begins more.
#[pyclass(module = "ferric")]
pub struct Demo {
    address: String,
    running: Vec<(StopHandle, JoinHandle<Result<(), String>>)>,
}

fn failed(error: impl ToString) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Demo {
    #[new]
    #[pyo3(signature = (scenario=None, *, nodes=1, ues=32, seed=1, speed=None, handovers_per_minute=0))]
    fn new(
        py: Python<'_>,
        scenario: Option<&str>,
        nodes: u16,
        ues: u16,
        seed: u64,
        speed: Option<f64>,
        handovers_per_minute: u16,
    ) -> PyResult<Self> {
        if handovers_per_minute > 600 {
            return Err(invalid("handovers_per_minute", handovers_per_minute, "0 to 600"));
        }
        let mut scenario = match scenario {
            Some(text) => crate::scenario::scenario(text)?,
            None if !(1..=1000).contains(&nodes) => return Err(invalid("nodes", nodes, "1 to 1000")),
            None if ues > 1000 => return Err(invalid("ues", ues, "0 to 1000")),
            None => Scenario::with_mixed_traffic(nodes, ues, seed),
        };
        if let Some(speed) = speed {
            if !(0.001..=1000.0).contains(&speed) {
                return Err(invalid("speed", speed, "0.001 to 1000"));
            }
            scenario.speed = speed;
        }
        py.detach(move || Demo::start(scenario, handovers_per_minute)).map_err(failed)
    }

    /// The address for xApps.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// A session with the RIC: as `ferric.connect(demo.address)`.
    #[pyo3(signature = (*, name=None, deadline=10.0))]
    fn connect(&self, py: Python<'_>, name: Option<String>, deadline: f64) -> PyResult<Ric> {
        connect(py, Some(self.address.clone()), name, 30.0, deadline)
    }

    /// Ends RAN and RIC. A second call does nothing.
    fn stop(&mut self, py: Python<'_>) -> PyResult<()> {
        let running = std::mem::take(&mut self.running);
        py.detach(|| stop(running)).map_err(failed)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&mut self, py: Python<'_>, _type: Py<PyAny>, _value: Py<PyAny>, _traceback: Py<PyAny>) -> PyResult<()> {
        self.stop(py)
    }

    fn __repr__(&self) -> String {
        format!("<Demo {}>", self.address)
    }
}

impl Demo {
    fn start(scenario: Scenario, handovers_per_minute: u16) -> Result<Self, String> {
        let any_port = || Address::Tcp { host: "127.0.0.1".into(), port: 0 };
        let mut config = RicConfig::default();
        config.server.controller.version = Some(VERSION);
        config.server.e2 = vec![any_port().into()];
        config.server.xapp = Some(any_port());
        let mut server = ric::bind(config).map_err(|error| error.to_string())?.server;
        let e2 = server.e2_addresses().next().cloned().ok_or("the RIC has no address for E2")?;
        let xapp = server.xapp_address().cloned().ok_or("the RIC has no address for xApps")?;
        let stop_server = server.stop_handle();
        let run = move || server.run().map_err(|error| format!("the RIC failed: {error}"));
        let ric = thread::Builder::new().name("ferric-ric".into()).spawn(run).map_err(|error| error.to_string())?;
        let mut demo = Demo { address: xapp.to_string(), running: vec![(stop_server, ric)] };

        // an emulated RAN stays on the thread that creates it
        let config = RanConfig {
            rics: vec![e2.into()],
            scenario,
            e2ap_version: VERSION,
            all_ccc_attributes: true,
            handovers_per_minute,
            ..RanConfig::default()
        };
        let (sender, receiver) = mpsc::channel();
        let run = move || {
            let mut ran = match Ran::new(config) {
                Ok(ran) => ran,
                Err(error) => {
                    let _ = sender.send(Err(error.to_string()));
                    return Ok(());
                }
            };
            let _ = sender.send(Ok(ran.stop_handle()));
            ran.run().map_err(|error| format!("the RAN failed: {error}"))
        };
        let ran = thread::Builder::new().name("ferric-ran".into()).spawn(run).map_err(|error| error.to_string())?;
        let stop_ran = receiver.recv().map_err(|_| "the RAN did not start")??;
        // it ends before the RIC
        demo.running.insert(0, (stop_ran, ran));
        Ok(demo)
    }
}

/// Stops threads in their order. Returns the first failure.
fn stop(running: Vec<(StopHandle, JoinHandle<Result<(), String>>)>) -> Result<(), String> {
    running
        .into_iter()
        .map(|(stop, thread)| {
            stop.stop();
            thread.join().unwrap_or_else(|_| Err("a thread of the demo panicked".into()))
        })
        .fold(Ok(()), Result::and)
}

impl Drop for Demo {
    fn drop(&mut self) {
        // an interpreter that ends has no one to report a failure to
        let _ = stop(std::mem::take(&mut self.running));
    }
}
