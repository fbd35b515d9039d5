//! Traffic control of nodes: verbs for queues, filters and the pacer, and `send` for any control of the model.

use std::net::Ipv4Addr;
use std::time::{SystemTime, UNIX_EPOCH};

use e2sm::tc::{
    Bdp, ChangePolicer, ChangeShaper, ClassifierControl, ControlMessage, DelayTarget, DeleteFilter, DeleteQueue,
    FiveTuple, ModifyFilter, ModifyQueue, NewFilter, NewOsiFilter, OsiFilter, PacerControl, PacerParameters,
    PolicerControl, QueueControl, QueueParameters, Scheduler, SchedulerControl, ShaperControl,
};
use ferric::xapp;
use ferric::xapp::tc::Flow;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answers::{Answers, controlled};
use crate::error::invalid;

/// The target and the interval of RFC 8289.
const DELAY: DelayTarget = DelayTarget { target_ms: 5, interval_ms: 100 };

fn queue(kind: &str, delay: DelayTarget) -> PyResult<QueueParameters> {
    match kind {
        "fifo" => Ok(QueueParameters::Fifo),
        "codel" => Ok(QueueParameters::CoDel(delay)),
        "ecn-codel" => Ok(QueueParameters::EcnCoDel(delay)),
        other => Err(invalid("kind", other, "fifo, codel or ecn-codel")),
    }
}

fn address(parameter: &str, text: Option<&str>) -> PyResult<Option<Ipv4Addr>> {
    text.map(|text| text.parse().map_err(|_| invalid(parameter, text, "an IPv4 address"))).transpose()
}

/// Traffic control of one node, or of all.
#[pyclass(frozen, module = "ferric")]
pub struct TrafficControl(pub xapp::tc::TrafficControl);

#[pymethods]
impl TrafficControl {
    /// Adds a queue: `fifo`, `codel` or `ecn-codel`. The node numbers it: the queues count from 0, which exists.
    fn add_queue(&self, py: Python<'_>, kind: &str) -> PyResult<Answers> {
        let queue = queue(kind, DELAY)?;
        controlled(py, || self.0.add_queue(queue))
    }

    /// Removes a queue by its number and kind.
    fn remove_queue(&self, py: Python<'_>, id: u32, kind: &str) -> PyResult<Answers> {
        let kind = queue(kind, DELAY)?.kind();
        controlled(py, || self.0.remove_queue(id, kind))
    }

    /// Sends a flow's packets to a queue. What is not given matches everything. `protocol`: 6 is TCP, 17 UDP.
    #[pyo3(signature = (queue, *, source=None, destination=None, source_port=None, destination_port=None, protocol=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn add_filter(
        &self,
        py: Python<'_>,
        queue: u32,
        source: Option<&str>,
        destination: Option<&str>,
        source_port: Option<u16>,
        destination_port: Option<u16>,
        protocol: Option<u8>,
    ) -> PyResult<Answers> {
        let flow = Flow {
            source: address("source", source)?,
            destination: address("destination", destination)?,
            source_port,
            destination_port,
            protocol,
        };
        controlled(py, || self.0.add_filter(flow, queue))
    }

    /// Removes a filter by its number.
    fn remove_filter(&self, py: Python<'_>, id: u32) -> PyResult<Answers> {
        controlled(py, || self.0.remove_filter(id))
    }

    /// Switches the pacer (5G-BDP) on or off: with it, packets wait in the queues and not in the buffer of RLC.
    fn pace(&self, py: Python<'_>, on: bool) -> PyResult<Answers> {
        controlled(py, || self.0.pace(on))
    }

    /// Sends any control of the model: `add`, `delete` or `modify` a component, with values as keywords.
    ///
    /// - `queue`: add `kind`, `target_ms=5`, `interval_ms=100`; delete `id`, `kind`; modify `id`, `kind`, `target_ms=5`, `interval_ms=100`
    /// - `classifier`: add `queue` and a flow as in `add_filter`; delete `id`; modify `id`, `queue` and a flow
    /// - `policer`: add; delete `id`; modify `id`, `drop_rate_kbps`, `deviation_queue=0`, `deviation_rate_kbps=0`, `active=True`
    /// - `shaper`: add; delete `id`; modify `id`, `max_rate_kbps`, `window_ms=100`, `active=True`
    /// - `scheduler`: modify `kind` (`round-robin`, `priority`, `deficit-round-robin`), `values` (of each queue: its priority, 0 first;
    ///   its quantum in octets)
    /// - `pacer`: modify `kind` (`off`, `5g-bdp`)
    ///
    /// A node has a policer and a shaper for each queue, one scheduler and one pacer: it refuses to add or delete these.
    ///
    ///     >>> import ferric
    ///     >>> with ferric.Demo(ues=2) as demo, demo.connect() as ric:
    ///     ...     answers = ric.tc.send("shaper", "modify", id=0, max_rate_kbps=5000)
    ///     ...     print(answers[0][0])
    ///     gnb-00101-e00
    #[pyo3(signature = (component, operation, **values))]
    fn send(
        &self,
        py: Python<'_>,
        component: &str,
        operation: &str,
        values: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answers> {
        let message = message(component, operation, Values::of(values)?)?;
        controlled(py, || self.0.send(message))
    }
}

/// The values of a control, each of which is taken once.
struct Values<'py>(Vec<(String, Bound<'py, PyAny>)>);

impl<'py> Values<'py> {
    fn of(values: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let pair = |(name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| Ok((name.extract()?, value));
        values.into_iter().flat_map(|values| values.iter()).map(pair).collect::<PyResult<_>>().map(Values)
    }

    fn optional<T: FromPyObjectOwned<'py>>(&mut self, name: &str) -> PyResult<Option<T>> {
        let Some(at) = self.0.iter().position(|(given, _)| given == name) else { return Ok(None) };
        let (_, value) = self.0.swap_remove(at);
        if value.is_none() {
            return Ok(None);
        }
        let read = value.extract::<T>().map_err(Into::<PyErr>::into);
        read.map(Some).map_err(|error| invalid(name, value.to_string(), &format!("another value ({error})")))
    }

    fn required<T: FromPyObjectOwned<'py>>(&mut self, name: &str) -> PyResult<T> {
        self.optional(name)?.ok_or_else(|| invalid(name, "", "a value"))
    }

    /// Fails for a value that was not taken.
    fn end(self) -> PyResult<()> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((name, value)) => Err(invalid(&name, value.to_string(), "nothing: this control has no such value")),
        }
    }

    fn queue(&mut self) -> PyResult<QueueParameters> {
        let target_ms = self.optional("target_ms")?.unwrap_or(DELAY.target_ms);
        let interval_ms = self.optional("interval_ms")?.unwrap_or(DELAY.interval_ms);
        queue(&self.required::<String>("kind")?, DelayTarget { target_ms, interval_ms })
    }

    fn flow(&mut self) -> PyResult<FiveTuple> {
        let mut address_of =
            |name| Ok::<_, PyErr>(address(name, self.optional::<String>(name)?.as_deref())?.map(u32::from));
        let (source_address, destination_address) = (address_of("source")?, address_of("destination")?);
        Ok(FiveTuple {
            source_address,
            destination_address,
            source_port: self.optional("source_port")?,
            destination_port: self.optional("destination_port")?,
            protocol: self.optional("protocol")?,
        })
    }
}

/// The control of a component.
fn message(component: &str, operation: &str, mut values: Values<'_>) -> PyResult<ControlMessage<'static>> {
    let v = &mut values;
    let message = match (component, operation) {
        ("queue", "add") => ControlMessage::Queue(QueueControl::Add(v.queue()?)),
        ("queue", "delete") => {
            let (id, kind) = (v.required("id")?, queue(&v.required::<String>("kind")?, DELAY)?.kind());
            ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, kind }))
        }
        ("queue", "modify") => {
            let change = ModifyQueue { id: v.required("id")?, parameters: v.queue()? };
            ControlMessage::Queue(QueueControl::Modify(change))
        }
        ("classifier", "add") => {
            let filter = NewOsiFilter { queue_id: v.required("queue")?, flow: v.flow()? };
            ControlMessage::Classifier(ClassifierControl::Add(NewFilter::Osi(filter)))
        }
        ("classifier", "delete") => {
            ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(v.required("id")?)))
        }
        ("classifier", "modify") => {
            let filter = OsiFilter { id: v.required("id")?, queue_id: v.required("queue")?, flow: v.flow()? };
            ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(filter)))
        }
        ("policer", "add") => ControlMessage::Policer(PolicerControl::Add),
        ("policer", "delete") => ControlMessage::Policer(PolicerControl::Delete(v.required("id")?)),
        ("policer", "modify") => ControlMessage::Policer(PolicerControl::Modify(ChangePolicer {
            id: v.required("id")?,
            drop_rate_kbps: v.required("drop_rate_kbps")?,
            deviation_id: v.optional("deviation_queue")?.unwrap_or_default(),
            deviation_rate_kbps: v.optional("deviation_rate_kbps")?.unwrap_or_default(),
            active: v.optional("active")?.unwrap_or(true),
        })),
        ("shaper", "add") => ControlMessage::Shaper(ShaperControl::Add),
        ("shaper", "delete") => ControlMessage::Shaper(ShaperControl::Delete(v.required("id")?)),
        ("shaper", "modify") => ControlMessage::Shaper(ShaperControl::Modify(ChangeShaper {
            id: v.required("id")?,
            max_rate_kbps: v.required("max_rate_kbps")?,
            window_ms: v.optional("window_ms")?.unwrap_or(100),
            active: v.optional("active")?.unwrap_or(true),
        })),
        ("scheduler", "add") => ControlMessage::Scheduler(SchedulerControl::Add),
        ("scheduler", "delete") => ControlMessage::Scheduler(SchedulerControl::Delete),
        ("scheduler", "modify") => {
            let values: Vec<u32> = v.optional("values")?.unwrap_or_default();
            let scheduler = match v.required::<String>("kind")?.as_str() {
                "round-robin" => Scheduler::RoundRobin,
                "priority" => Scheduler::Priority(values.into()),
                "deficit-round-robin" => Scheduler::DeficitRoundRobin(values.into()),
                other => return Err(invalid("kind", other, "round-robin, priority or deficit-round-robin")),
            };
            ControlMessage::Scheduler(SchedulerControl::Modify(scheduler))
        }
        ("pacer", "add") => ControlMessage::Pacer(PacerControl::Add),
        ("pacer", "delete") => ControlMessage::Pacer(PacerControl::Delete),
        ("pacer", "modify") => {
            let pacer = match v.required::<String>("kind")?.as_str() {
                "off" => PacerParameters::Off,
                "5g-bdp" => {
                    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    let timestamp_us = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
                    PacerParameters::Bdp5g(Bdp { drb_octets: 0, timestamp_us })
                }
                other => return Err(invalid("kind", other, "off or 5g-bdp")),
            };
            ControlMessage::Pacer(PacerControl::Modify(pacer))
        }
        ("queue" | "classifier" | "policer" | "shaper" | "scheduler" | "pacer", other) => {
            return Err(invalid("operation", other, "add, delete or modify"));
        }
        (other, _) => {
            return Err(invalid("component", other, "queue, classifier, policer, shaper, scheduler or pacer"));
        }
    };
    values.end()?;
    Ok(message)
}
