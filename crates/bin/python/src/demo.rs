//! A RIC and an emulated RAN in the process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ferric::StopHandle;
use ferric::agent::AgentWaker;
use ferric::e2ap::Version;
use ferric::link::Address;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use ran::{Ran, RanConfig, Scenario};
use ric::RicConfig;

use crate::error::invalid;
use crate::ric::{Addresses, Ric, connect};

/// The version of E2AP between RIC and RAN: the first with queries.
const VERSION: Version = Version::V3_01;
/// The longest step of the model: an hour.
const MAX_STEP_MS: f64 = 3_600_000.0;

/// A RIC and an emulated RAN in this process, on free ports of this host; stopped at the end of a `with` block, or with `stop`.
///
/// `scenario` is a TOML file (docs/scenarios.md) or its text; without one there are `nodes` gNBs with `ues` UEs each and mixed
/// traffic, whose channels and packets follow from `seed`. `speed` is model seconds per second. `handovers_per_minute` is how many
/// handovers nodes begin, of UEs at random; with a scenario, its own mobility begins more.
///
/// With `stepped`, the model stands until `step` (docs/steps.md): two programs that wait for the answers to their controls before each
/// step meet the same model. `link` is what connects RAN, RIC and xApps: `tcp`, `unix` or `shm`.
#[pyclass(module = "ferric")]
pub struct Demo {
    address: String,
    running: Vec<(StopHandle, JoinHandle<Result<(), String>>)>,
    steps: Option<StepSender>,
}

/// Requests steps of the thread of the RAN.
struct StepSender {
    requests: Sender<StepRequest>,
    waker: AgentWaker,
}

/// How far to advance, and where to say that it is done.
struct StepRequest {
    length: Duration,
    done: Sender<Result<(), String>>,
}

/// How a demonstration differs from the default.
struct DemoConfig {
    scenario: Scenario,
    handovers_per_minute: u16,
    is_stepped: bool,
    /// The addresses for nodes and for xApps.
    addresses: [Address; 2],
}

/// Addresses of a kind of link, on this host.
fn addresses(link: &str) -> PyResult<[Address; 2]> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let address: fn(PathBuf) -> Address = match link {
        "tcp" => return Ok([(); 2].map(|()| Address::Tcp { host: "127.0.0.1".into(), port: 0 })),
        "unix" => Address::Unix,
        "shm" => Address::Shm,
        _ => return Err(invalid("link", link, "tcp, unix or shm")),
    };
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = |end: &str| std::env::temp_dir().join(format!("ferric-demo-{}-{number}-{end}", std::process::id()));
    Ok(["e2", "xapp"].map(|end| address(path(end))))
}

fn failed(error: impl ToString) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Demo {
    #[new]
    #[pyo3(signature = (
        scenario=None, *, nodes=1, ues=32, seed=1, speed=None, handovers_per_minute=0, stepped=false, link="tcp"
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        scenario: Option<&str>,
        nodes: u16,
        ues: u16,
        seed: u64,
        speed: Option<f64>,
        handovers_per_minute: u16,
        stepped: bool,
        link: &str,
    ) -> PyResult<Self> {
        let addresses = addresses(link)?;
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
            if stepped {
                return Err(invalid("speed", speed, "no speed: the model advances in steps"));
            }
            scenario.speed = speed;
        }
        let config = DemoConfig { scenario, handovers_per_minute, is_stepped: stepped, addresses };
        py.detach(move || Demo::start(config)).map_err(failed)
    }

    /// The address for xApps.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// A session with the RIC: as `ferric.connect(demo.address)`.
    #[pyo3(signature = (*, name=None, deadline=10.0))]
    fn connect(&self, py: Python<'_>, name: Option<String>, deadline: f64) -> PyResult<Ric> {
        connect(py, Some(Addresses::One(self.address.clone())), name, 30.0, deadline)
    }

    /// Advances the model by so many milliseconds, and returns when all reports that are due until then have been sent. Controls that
    /// have arrived come first.
    fn step(&self, py: Python<'_>, milliseconds: f64) -> PyResult<()> {
        if !(milliseconds > 0.0 && milliseconds <= MAX_STEP_MS) {
            return Err(invalid("milliseconds", milliseconds, "above 0, and at most 3600000"));
        }
        let Some(StepSender { requests, waker }) = &self.steps else {
            return Err(failed("only a Demo with stepped=True, which is not stopped, has steps"));
        };
        let (requests, waker) = (requests.clone(), waker.clone());
        let (done, answer) = mpsc::channel();
        let request = StepRequest { length: Duration::from_secs_f64(milliseconds / 1000.0), done };
        let step = move || -> Result<(), String> {
            requests.send(request).map_err(|_| ENDED)?;
            waker.wake();
            answer.recv().map_err(|_| ENDED)?
        };
        py.detach(step).map_err(failed)
    }

    /// Ends RAN and RIC. A second call does nothing.
    fn stop(&mut self, py: Python<'_>) -> PyResult<()> {
        self.steps = None;
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
    fn start(demo: DemoConfig) -> Result<Self, String> {
        let DemoConfig { scenario, handovers_per_minute, is_stepped, addresses: [e2, xapp] } = demo;
        let mut config = RicConfig::default();
        config.server.controller.version = Some(VERSION);
        config.server.e2 = vec![e2.into()];
        config.server.xapp = Some(xapp);
        let mut server = ric::bind(config).map_err(|error| error.to_string())?.server;
        let e2 = server.e2_addresses().next().cloned().ok_or("the RIC has no address for E2")?;
        let xapp = server.xapp_address().cloned().ok_or("the RIC has no address for xApps")?;
        let stop_server = server.stop_handle();
        let run = move || server.run().map_err(|error| format!("the RIC failed: {error}"));
        let ric = thread::Builder::new().name("ferric-ric".into()).spawn(run).map_err(|error| error.to_string())?;
        let mut demo = Demo { address: xapp.to_string(), running: vec![(stop_server, ric)], steps: None };

        // an emulated RAN stays on the thread that creates it
        let config = RanConfig {
            rics: vec![e2.into()],
            scenario,
            e2ap_version: VERSION,
            all_ccc_attributes: true,
            handovers_per_minute,
            is_stepped,
            ..RanConfig::default()
        };
        let (sender, receiver) = mpsc::channel();
        let (requests, steps) = mpsc::channel();
        let run = move || {
            let made = Ran::new(config).and_then(|mut ran| Ok((ran.waker()?, ran)));
            let (waker, mut ran) = match made {
                Ok(made) => made,
                Err(error) => {
                    let _ = sender.send(Err(error.to_string()));
                    return Ok(());
                }
            };
            let _ = sender.send(Ok((ran.stop_handle(), waker)));
            let ended = if is_stepped { run_steps(&mut ran, &steps) } else { ran.run() };
            ended.map_err(|error| format!("the RAN failed: {error}"))
        };
        let ran = thread::Builder::new().name("ferric-ran".into()).spawn(run).map_err(|error| error.to_string())?;
        let (stop_ran, waker) = receiver.recv().map_err(|_| "the RAN did not start")??;
        // it ends before the RIC
        demo.running.insert(0, (stop_ran, ran));
        demo.steps = is_stepped.then_some(StepSender { requests, waker });
        Ok(demo)
    }
}

/// What a step says when the RAN's thread has ended.
const ENDED: &str = "the RAN has ended: `stop` says why";

/// Serves the RIC and makes the steps that are requested, until the RAN is stopped.
fn run_steps(ran: &mut Ran, steps: &Receiver<StepRequest>) -> Result<(), ran::Error> {
    let stop = ran.stop_handle();
    while !stop.is_stopped() {
        for StepRequest { length, done } in steps.try_iter() {
            let stepped = ran.step(length);
            // who has requested it may have gone
            let _ = done.send(stepped.as_ref().map(|_| ()).map_err(ToString::to_string));
            stepped?;
        }
        // a request wakes it
        ran.poll(None)?;
    }
    Ok(())
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
