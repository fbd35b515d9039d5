//! A session with a near-RT RIC.

use ferric::xapp;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::a1::to_json;
use crate::answers::{Answers, set_quota};
use crate::feed::{A1Policies, Configurations, ConflictQuestions, EiJob, EventFeed, HandoverRequests, RrcMessages};
use crate::handles::{Cell, Node, Slices, Ue};
use crate::policy::{HandoverRule, Policy};
use crate::stream::KpmStream;
use crate::traffic::TrafficControl;
use crate::wait::{detached, seconds};

/// One address of a RIC, or several.
#[derive(FromPyObject)]
pub enum Addresses {
    One(String),
    Several(Vec<String>),
}

/// Connects to a near-RT RIC. `address` is by default the variable FERRIC_RIC, or tcp://127.0.0.1:36423. With a list of addresses it is
/// one session with several RICs that share E2 nodes: a node that moves to another of them keeps its name, and its streams go on. `name`
/// is shown in the RIC's log. Waits for a RIC that does not listen yet, `timeout` seconds at most. Verbs of the session wait `deadline`
/// seconds at most.
#[pyfunction]
#[pyo3(signature = (address=None, *, name=None, timeout=30.0, deadline=10.0))]
pub fn connect(
    py: Python<'_>,
    address: Option<Addresses>,
    name: Option<String>,
    timeout: f64,
    deadline: f64,
) -> PyResult<Ric> {
    let deadline = seconds("deadline", deadline)?;
    let mut options = xapp::Ric::options().timeout(seconds("timeout", timeout)?);
    options = options.name(name.unwrap_or_else(|| "python".to_owned()));
    options = match address {
        Some(Addresses::One(address)) => options.address(address),
        Some(Addresses::Several(addresses)) => options.addresses(addresses),
        None => options,
    };
    Ok(Ric(detached(py, || options.connect())?.deadline(deadline)))
}

/// A session with a near-RT RIC, closed at the end of a `with` block.
#[pyclass(frozen, module = "ferric", subclass)]
pub struct Ric(pub xapp::Ric);

#[pymethods]
impl Ric {
    /// The nodes that are up.
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<Node>> {
        Ok(detached(py, || self.0.nodes())?.into_iter().map(Node).collect())
    }

    /// The node of that name. Waits for it until the deadline.
    fn node(&self, py: Python<'_>, name: String) -> PyResult<Node> {
        Ok(Node(detached(py, || self.0.node(name))?))
    }

    /// The cells that are known.
    fn cells(&self, py: Python<'_>) -> PyResult<Vec<Cell>> {
        Ok(detached(py, || self.0.cells())?.into_iter().map(Cell).collect())
    }

    /// The UEs that are known.
    fn ues(&self, py: Python<'_>) -> PyResult<Vec<Ue>> {
        Ok(detached(py, || self.0.ues())?.into_iter().map(Ue).collect())
    }

    /// The UE of that name: `amf:17`, `rnti:0x4601@003804001`, `ip:10.45.0.7`. Waits for it until the deadline.
    fn ue(&self, py: Python<'_>, name: String) -> PyResult<Ue> {
        Ok(Ue(detached(py, || self.0.ue(name))?))
    }

    /// A stream of measurements: of each UE, unless `ue`, `cell`, `slice` or `whole_node` restricts it. Nodes that come later
    /// report too. `buffer`: the most records that wait for the reader, 65536 by default; beyond them the oldest are lost.
    #[pyo3(signature = (measurements, *, period_ms=1000, ue=None, cell=None, slice=None, node=None, whole_node=false, buffer=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn kpm(
        &self,
        py: Python<'_>,
        measurements: Vec<String>,
        period_ms: u32,
        ue: Option<String>,
        cell: Option<String>,
        slice: Option<String>,
        node: Option<String>,
        whole_node: bool,
        buffer: Option<usize>,
    ) -> PyResult<KpmStream> {
        let mut request = self.0.kpm(measurements);
        request = ue.into_iter().fold(request, |request, ue| request.ue(ue));
        request = cell.into_iter().fold(request, |request, cell| request.cell(cell));
        request = slice.into_iter().fold(request, |request, slice| request.slice(slice));
        request = node.into_iter().fold(request, |request, node| request.node(node));
        request = buffer.into_iter().fold(request, |request, records| request.buffer(records));
        if whole_node {
            request = request.whole_node();
        }
        Ok(KpmStream::new(detached(py, || request.every(period_ms))?))
    }

    /// The slices of all nodes.
    #[getter]
    fn slices(&self) -> Slices {
        Slices(self.0.slices())
    }

    /// Traffic control of all nodes that have it.
    #[getter]
    fn tc(&self) -> TrafficControl {
        TrafficControl(self.0.tc())
    }

    /// Sets the quota of a network slice, such as `1` or `1-00000a`, at every node that offers it, in percent of the resource
    /// blocks. Returns the node and its text, for each.
    #[pyo3(signature = (slice, *, min=0, max=100, dedicated=0))]
    fn quota(&self, py: Python<'_>, slice: String, min: u8, max: u8, dedicated: u8) -> PyResult<Answers> {
        set_quota(py, [min, max, dedicated], |quota| self.0.quota(slice, quota))
    }

    /// Requests the decision on each handover that a node begins.
    fn handover_requests(&self, py: Python<'_>) -> PyResult<HandoverRequests> {
        Ok(HandoverRequests::new(detached(py, || self.0.handover_requests())?))
    }

    /// Offers this xApp as an arbiter: it is asked about controls of other xApps that are in conflict, if a rule of the RIC has the
    /// policy `ask`, until the returned stream is closed. The rules of the RIC name the xApps that may be arbiters.
    fn conflict_questions(&self, py: Python<'_>) -> PyResult<ConflictQuestions> {
        Ok(ConflictQuestions::new(detached(py, || self.0.conflict_questions())?))
    }

    /// Installs rules on handovers at every node that offers policies on them, also at nodes that come later, until the returned
    /// policy is closed. A node applies the first rule whose conditions hold; without one, a handover continues.
    ///
    ///     >>> import ferric
    ///     >>> with ferric.Demo(nodes=2, ues=2) as demo, demo.connect() as ric:
    ///     ...     with ric.policy([ferric.HandoverRule("reject", when=[("CQI", "less", 7)])]):
    ///     ...         print("no UE with a poor channel is handed over")
    ///     no UE with a poor channel is handed over
    fn policy(&self, py: Python<'_>, rules: Vec<PyRef<'_, HandoverRule>>) -> PyResult<Policy> {
        let rules: Vec<_> = rules.iter().map(|rule| rule.rule().clone()).collect();
        Ok(Policy::new(detached(py, || self.0.handover_policy(rules))?))
    }

    /// What happens to the RIC and its nodes: begins with the nodes that are up.
    fn events(&self, py: Python<'_>) -> PyResult<EventFeed> {
        Ok(EventFeed::new(detached(py, || self.0.events())?))
    }

    /// Copies of the RRC messages of all UEs that are of one of these kinds, also of nodes that come later: `MeasurementReport`,
    /// or `nr:UL-DCCH:0`, `lte:UL-DCCH:1` (the radio access technology, the channel, and the index of the message in TS 38.331 or TS
    /// 36.331).
    ///
    ///     >>> import ferric
    ///     >>> scenario = "[measurement]\nreport_interval_ms = 240\n[[cell]]\n[[ue]]"
    ///     >>> with ferric.Demo(scenario) as demo, demo.connect() as ric:
    ///     ...     for message in ric.rrc_messages(["MeasurementReport"]):
    ///     ...         print(message.ue.split(":")[0], message.measurements()["serving"]["rsrp_dbm"] < 0)
    ///     ...         break
    ///     amf True
    fn rrc_messages(&self, py: Python<'_>, kinds: Vec<String>) -> PyResult<RrcMessages> {
        Ok(RrcMessages::new(detached(py, || self.0.rrc_messages(kinds))?))
    }

    /// Reports of configuration structures of all cells by name, such as `O-RRMPolicyRatio`: their state, and then each change.
    fn configuration(&self, py: Python<'_>, structures: Vec<String>) -> PyResult<Configurations> {
        Ok(Configurations::new(detached(py, || self.0.configuration(structures))?))
    }

    /// The policies of a type that a non-RT RIC has for xApps (docs/a1.md): those that are there, and all that follow. A RIC without A1
    /// ends it with an error.
    fn a1_policies(&self, py: Python<'_>, policy_type: i32) -> PyResult<A1Policies> {
        Ok(A1Policies::new(detached(py, || self.0.a1_policies(policy_type))?))
    }

    /// The ids of the types of enrichment information that the non-RT RIC has.
    fn ei_types(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || self.0.ei_types())
    }

    /// Has the non-RT RIC deliver enrichment information of a type, by a definition, a dictionary that conforms to the type.
    fn ei_job(
        &self,
        py: Python<'_>,
        job_id: String,
        ei_type: String,
        definition: &Bound<'_, PyDict>,
    ) -> PyResult<EiJob> {
        let definition = to_json(definition)?;
        Ok(EiJob::new(detached(py, || self.0.ei_job(&job_id, &ei_type, &definition))?))
    }

    /// The same session with verified controls: they wait until reports show the effect, `within` seconds at most.
    fn verified(&self, within: f64) -> PyResult<Ric> {
        Ok(Ric(self.0.verified(seconds("within", within)?)))
    }

    /// Reports that the RIC has dropped because this session reads too slowly.
    #[getter]
    fn dropped(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.0.dropped())
    }

    /// Ends the session. A second call does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&self, py: Python<'_>, _type: Py<PyAny>, _value: Py<PyAny>, _traceback: Py<PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}
