//! Handles of nodes, cells, UEs and slices.

use e2sm::ccc::CellQueried;
use ferric::xapp::{self, CellId, Direction, Qos, SliceShare};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answers::{Answers, controlled, set_quota, structures_from_python, structures_to_python};
use crate::stream::KpmStream;
use crate::traffic::TrafficControl;
use crate::wait::{detached, seconds};

/// A UE, by one of its names. It stays valid when the UE moves to another cell.
#[pyclass(frozen, module = "ferric")]
pub struct Ue(pub xapp::Ue);

#[pymethods]
impl Ue {
    /// The name of this handle, such as `amf:17`.
    #[getter]
    fn name(&self) -> String {
        self.0.reference().to_string()
    }

    /// What is known of the UE now: its names, cell, slices and addresses.
    fn identity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        use ferric::e2::topology::IdentityField;

        let identity = detached(py, || self.0.identity())?;
        let fields = PyDict::new(py);
        for (name, value) in identity.fields() {
            match value {
                IdentityField::Number(number) => fields.set_item(name, number)?,
                IdentityField::Numbers(numbers) => fields.set_item(name, numbers)?,
                IdentityField::Text(text) => fields.set_item(name, text)?,
                IdentityField::Texts(texts) => fields.set_item(name, texts)?,
            }
        }
        Ok(fields)
    }

    /// The cell that the UE is in; `None` where it is unknown.
    #[getter]
    fn cell(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(detached(py, || self.0.cell())?.map(|cell| cell.to_string()))
    }

    /// The same UE with verified controls: they wait until reports show the effect, `within` seconds at most.
    fn verified(&self, within: f64) -> PyResult<Ue> {
        Ok(Ue(self.0.verified(seconds("within", within)?)))
    }

    /// Hands the UE over to a cell.
    fn handover(&self, py: Python<'_>, cell: String) -> PyResult<()> {
        detached(py, || self.0.handover(cell)).map(drop)
    }

    /// Moves the UE to a slice of its cell's scheduler.
    fn set_slice(&self, py: Python<'_>, id: u32) -> PyResult<()> {
        detached(py, || self.0.slice(id)).map(drop)
    }

    /// Sets the UE's long DRX cycle in milliseconds, 10 to 10240.
    fn drx(&self, py: Python<'_>, cycle_ms: u16) -> PyResult<()> {
        detached(py, || self.0.drx(cycle_ms)).map(drop)
    }

    /// Changes the QoS of a bearer.
    #[pyo3(signature = (*, drb=1, five_qi=None, priority=None))]
    fn qos(&self, py: Python<'_>, drb: u8, five_qi: Option<u8>, priority: Option<u8>) -> PyResult<()> {
        detached(py, || self.0.qos(Qos { drb, five_qi, priority })).map(drop)
    }

    fn __repr__(&self) -> String {
        format!("<Ue {}>", self.0.reference())
    }

    fn __str__(&self) -> String {
        self.0.reference().to_string()
    }
}

/// A cell of a node.
#[pyclass(frozen, module = "ferric")]
pub struct Cell(pub xapp::Cell);

#[pymethods]
impl Cell {
    /// The cell identity in hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// The name of its node.
    #[getter]
    fn node(&self) -> &str {
        self.0.node()
    }

    fn __repr__(&self) -> String {
        format!("<Cell {} of {}>", self.0.id(), self.0.node())
    }

    fn __str__(&self) -> String {
        self.0.id().to_string()
    }
}

/// An E2 node.
#[pyclass(frozen, module = "ferric")]
pub struct Node(pub xapp::Node);

#[pymethods]
impl Node {
    /// Its name, as the RIC logs it.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// The slices of its scheduler.
    #[getter]
    fn slices(&self) -> Slices {
        Slices(self.0.slices())
    }

    /// Its traffic control.
    #[getter]
    fn tc(&self) -> TrafficControl {
        TrafficControl(self.0.tc())
    }

    /// Requests measurements of this node: as `Ric.kpm`.
    #[pyo3(signature = (measurements, *, period_ms=1000))]
    fn kpm(&self, py: Python<'_>, measurements: Vec<String>, period_ms: u32) -> PyResult<KpmStream> {
        Ok(KpmStream::new(detached(py, || self.0.kpm(measurements).every(period_ms))?))
    }

    /// Sets the quota of a network slice at this node, in percent of the resource blocks.
    #[pyo3(signature = (slice, *, min=0, max=100, dedicated=0))]
    fn quota(&self, py: Python<'_>, slice: String, min: u8, max: u8, dedicated: u8) -> PyResult<Answers> {
        set_quota(py, [min, max, dedicated], |quota| self.0.quota(slice, quota))
    }

    /// Reads configuration structures of the node's cells by name, such as `O-NRCellDU`. Returns a dictionary for each cell: `cell`, and
    /// `structures`, the attributes of each by its name.
    fn query<'py>(&self, py: Python<'py>, structures: Vec<String>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let cells = detached(py, || self.0.query(structures))?;
        let row = |cell: CellQueried| {
            let structures = cell.structures.iter().map(|of| (of.0.name().to_owned(), Some(of.0.attributes())));
            let row = PyDict::new(py);
            row.set_item("cell", CellId::of(&cell.cell_global_id).to_string())?;
            row.set_item("structures", structures_to_python(py, structures)?)?;
            Ok(row)
        };
        cells.into_iter().map(row).collect()
    }

    /// Sets configuration structures in each cell of the node that offers them: a dictionary of names, such as `O-NRCellDU`, and
    /// attributes. Attributes that are left out stay.
    ///
    ///     >>> import ferric
    ///     >>> with ferric.Demo(ues=2) as demo, demo.connect() as ric:
    ///     ...     cells = ric.configuration(["O-NRCellDU"])
    ///     ...     answers = ric.node("gnb-00101-e00").configure({"O-NRCellDU": {"administrativeState": "LOCKED"}})
    ///     ...     for cell in cells:
    ///     ...         state = cell["structures"]["O-NRCellDU"]["administrativeState"]
    ///     ...         if state == "LOCKED":
    ///     ...             print(cell["cell"], state)
    ///     ...             break
    ///     003800001 LOCKED
    fn configure(&self, py: Python<'_>, structures: &Bound<'_, PyDict>) -> PyResult<Answers> {
        let structures = structures_from_python(structures)?;
        controlled(py, || self.0.configure(structures))
    }

    fn __repr__(&self) -> String {
        format!("<Node {}>", self.0.name())
    }

    fn __str__(&self) -> String {
        self.0.name()
    }
}

/// The slices of one node, or of all.
#[pyclass(frozen, module = "ferric")]
pub struct Slices(pub xapp::Slices);

#[pymethods]
impl Slices {
    /// The same nodes' slices in the uplink.
    #[getter]
    fn uplink(&self) -> Slices {
        Slices(self.0.uplink())
    }

    /// The slices as nodes report them now: dictionaries with `node`, `direction`, `id`, `label`, `share` in percent and `ues`.
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let states = detached(py, || self.0.list())?;
        let row = |state: xapp::SliceState| {
            let row = PyDict::new(py);
            row.set_item("node", state.node)?;
            row.set_item("direction", if state.direction == Direction::Uplink { "uplink" } else { "downlink" })?;
            row.set_item("id", state.id)?;
            row.set_item("label", state.label)?;
            row.set_item("share", state.share_percent)?;
            row.set_item("ues", state.ues)?;
            Ok(row)
        };
        states.into_iter().map(row).collect()
    }

    /// Adds slices, and changes those whose number exists, all together or not at all: `set({1: 60, 2: 40})` in percent.
    fn set(&self, py: Python<'_>, shares: &Bound<'_, PyDict>) -> PyResult<Answers> {
        let mut slices = Vec::with_capacity(shares.len());
        for (id, share) in shares.iter() {
            slices.push(SliceShare::new(id.extract()?, share.extract()?));
        }
        controlled(py, || self.0.set(slices))
    }

    /// Removes slices. Their UEs are then in none.
    fn remove(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<Answers> {
        controlled(py, || self.0.remove(ids))
    }

    fn __repr__(&self) -> String {
        format!("<Slices {:?}>", self.0)
    }
}
