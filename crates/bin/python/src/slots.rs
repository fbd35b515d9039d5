//! Scheduling of cells slot by slot (E2SM-LLC), in batches.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ferric::link;
use ferric::xapp::{Error, XappConfig};
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};
use use_cases::slots::{self, BatchMisuse, BatchSlot, SlotBatches, SlotConfig, SlotShare};

use crate::error::{exception, invalid};
use crate::wait::{SLICE, seconds};

/// The xApp in Rust, whose rule batches offer.
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../../../../examples/src/bin/slot_scheduler.rs"]
mod rule;

/// The resource blocks that a bandwidth part may have (TS 38.211 4.4.2), and the slots by which a base station accepts decisions.
const BLOCKS: Range<u16> = 1..276;
const DELAYS: Range<u64> = 0..129;
/// The subscriptions to a cell.
const SUBSCRIPTIONS: usize = 2;
/// The longest time that an end of a link polls, in seconds.
const MAX_SPIN_S: f64 = 0.1;

/// An xApp that schedules the downlink of all cells that offer E2SM-LLC, slot by slot and in batches: `wait` returns the slots of all
/// reports that have arrived, `decide` answers them together.
///
/// `address` is that of the RIC, over any link: `tcp://…`, `unix:…`, `shm:…`; by default the variable FERRIC_RIC, or
/// tcp://127.0.0.1:36423. `blocks` are the resource blocks of the cells. `delay` is how many slots the decided one is behind the
/// reported one: without any, a decision is in time only where the model waits for it. `spin` is how many seconds an end of shared
/// memory polls for more before it sleeps. Waits `timeout` seconds at most for a RIC that does not listen yet.
///
///     >>> import ferric, ferric.slots
///     >>> cell = '[[cell]]\nduplex = "fdd"\nbandwidth_mhz = 20\nscs_khz = 15\nfrequency_mhz = 2140\n'
///     >>> ues = '[[ue]]\ncount = 2\n[[ue.flow]]\nkind = "greedy"\n'
///     >>> with ferric.Demo(cell + ues, stepped=True) as demo, ferric.SlotScheduler(demo.address, delay=0) as scheduler:
///     ...     found = scheduler.wait_for_cells(1, timeout=10)
///     ...     for slot in range(100):
///     ...         demo.step(1)
///     ...         batch = scheduler.wait(10)
///     ...         scheduler.decide(batch, *ferric.slots.proportional_fair(batch))
///     ...         answered = scheduler.settle(10)
///     ...     print(scheduler.counts["accepted"] > 0)
///     True
///
/// Any thread may use it, one at a time.
#[pyclass(frozen, module = "ferric")]
pub struct SlotScheduler {
    batches: Mutex<Option<SlotBatches>>,
    address: String,
    /// The process: a forked child has no session.
    process: u32,
}

impl SlotScheduler {
    /// Runs a call without the GIL.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut SlotBatches) -> Result<T, ferric::Error> + Send,
    ) -> PyResult<T> {
        if std::process::id() != self.process {
            return Err(exception(&Error::Forked));
        }
        let result = py.detach(|| {
            // a panic is a defect that has been reported: the session is as it was left
            let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
            let called = call(batches.as_mut().ok_or(Error::Closed)?);
            called.map_err(|source| Error::Connect { address: self.address.clone(), source: Arc::new(source) })
        });
        result.map_err(|error| exception(&error))
    }

    /// Calls until there is a result, in slices, with a look at Python's signals between them. `None` if the time is over.
    fn wait_for<T: Send>(
        &self,
        py: Python<'_>,
        time: Option<Duration>,
        mut call: impl FnMut(&mut SlotBatches, Duration) -> Result<Option<T>, ferric::Error> + Send,
    ) -> PyResult<Option<T>> {
        let begun = Instant::now();
        loop {
            let left = time.map(|time| time.saturating_sub(begun.elapsed()));
            let slice = left.map_or(SLICE, |left| left.min(SLICE));
            if let Some(result) = self.run(py, |batches| call(batches, slice))? {
                return Ok(Some(result));
            }
            py.check_signals()?;
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
        }
    }

    fn next_batch(&self, py: Python<'_>, time: Option<Duration>) -> PyResult<Option<SlotBatch>> {
        self.wait_for(py, time, |batches, slice| {
            let batch = batches.wait(slice)?;
            Ok((!batch.slots.is_empty()).then_some(SlotBatch(batch)))
        })
    }
}

#[pymethods]
impl SlotScheduler {
    #[new]
    #[pyo3(signature = (address=None, *, name=None, blocks=106, delay=2, spin=0.0, timeout=30.0))]
    fn new(
        py: Python<'_>,
        address: Option<String>,
        name: Option<String>,
        blocks: u16,
        delay: u64,
        spin: f64,
        timeout: f64,
    ) -> PyResult<Self> {
        if !BLOCKS.contains(&blocks) {
            return Err(invalid("blocks", blocks, "1 to 275"));
        }
        if !DELAYS.contains(&delay) {
            return Err(invalid("delay", delay, "0 to 128 slots"));
        }
        if !(0.0..=MAX_SPIN_S).contains(&spin) {
            return Err(invalid("spin", spin, "0 to 0.1 seconds"));
        }
        let default = XappConfig::default();
        let link = link::Config { shm_spin: Duration::from_secs_f64(spin), ..default.link };
        let mut options = ferric::xapp::Ric::options().timeout(seconds("timeout", timeout)?);
        options = options.name(name.unwrap_or_else(|| "python".to_owned())).config(XappConfig { link, ..default });
        if let Some(address) = address {
            options = options.address(address);
        }
        let xapp = py.detach(|| options.connect_raw()).map_err(|error| exception(&error))?;
        let address = xapp.address().to_string();
        let config = SlotConfig { blocks, delay_slots: delay, ..SlotConfig::default() };
        let batches = Mutex::new(Some(SlotBatches::new(xapp, config)));
        Ok(SlotScheduler { batches, address, process: std::process::id() })
    }

    /// The slots of all reports that have arrived, or `None` if there are none within `timeout` seconds. Slots that the batch before had and
    /// that are not decided are scheduled by their cells, and so are slots that have begun: a program that is too slow loses the
    /// oldest ones.
    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<SlotBatch>> {
        self.next_batch(py, Some(seconds("timeout", timeout)?))
    }

    /// Sends a decision about each slot of the last batch. `blocks` are the resource blocks of each row of the batch; with `rows`, of
    /// these rows, and allocated in their order. A slot without blocks is scheduled by its cell.
    #[pyo3(signature = (batch, blocks, rows=None))]
    fn decide(
        &self,
        py: Python<'_>,
        batch: PyRef<'_, SlotBatch>,
        blocks: Vec<i64>,
        rows: Option<Vec<i64>>,
    ) -> PyResult<()> {
        let batch = &batch.0;
        let count = rows.as_ref().map_or(batch.ues.len(), Vec::len);
        if blocks.len() != count {
            return Err(invalid("blocks", format!("{} numbers", blocks.len()), &format!("{count} numbers")));
        }
        let mut shares = Vec::with_capacity(count);
        for (at, blocks) in blocks.into_iter().enumerate() {
            let row = rows.as_ref().map_or(Ok(at), |rows| usize::try_from(rows[at]).map_err(|_| rows[at]));
            let ue = row.map_err(|row| invalid("rows", row, "rows of the batch, from 0 on"))?;
            let share = u16::try_from(blocks).map(|blocks| SlotShare { ue, blocks });
            let share = share.map_err(|_| invalid("blocks", blocks, &format!("0 to {}", batch.blocks)))?;
            if share.blocks > 0 {
                shares.push(share);
            }
        }
        let decided = self.run(py, |batches| {
            let decided = batches.decide(batch, &shares);
            if decided.is_ok() {
                // sends it
                batches.poll(Some(Duration::ZERO))?;
            }
            Ok(decided)
        })?;
        decided.map_err(|misuse| match misuse {
            BatchMisuse::NotTheLast => invalid("batch", "an earlier or answered batch", "the last batch, once"),
            BatchMisuse::UnknownUe(row) => {
                invalid("rows", row, &format!("rows of the batch: below {}", batch.ues.len()))
            }
            BatchMisuse::UeTwice(row) => invalid("rows", row, "each row once"),
            BatchMisuse::Blocks(slot) => {
                invalid("blocks", format!("too many in slot {slot}"), &format!("{} in a slot", batch.blocks))
            }
        })
    }

    /// Waits until the cells have answered all decisions, for `timeout` seconds at most. Returns whether they have.
    fn settle(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let time = seconds("timeout", timeout)?;
        let settled = self.wait_for(py, Some(time), |batches, slice| {
            batches.poll(Some(if batches.settled().is_some() { Duration::ZERO } else { slice }))?;
            Ok(batches.settled())
        })?;
        Ok(settled.is_some())
    }

    /// Counters since the start: `decided` are controls with decisions that were sent, `accepted` and `refused` those that their cells
    /// have executed or refused as a whole; `late` are slots that were left to their cells because they had begun.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.run(py, |batches| Ok(batches.counts()))?;
        let counters = PyDict::new(py);
        counters.set_item("decided", counts.decided)?;
        counters.set_item("accepted", counts.accepted)?;
        counters.set_item("refused", counts.refused)?;
        counters.set_item("late", counts.late)?;
        Ok(counters)
    }

    /// Waits until so many cells have accepted the xApp's subscriptions, for `timeout` seconds at most. Returns whether they have.
    fn wait_for_cells(&self, py: Python<'_>, count: usize, timeout: f64) -> PyResult<bool> {
        let (time, wanted) = (seconds("timeout", timeout)?, count.saturating_mul(SUBSCRIPTIONS));
        let found = self.wait_for(py, Some(time), |batches, slice| {
            batches.poll(Some(if batches.subscribed() >= wanted { Duration::ZERO } else { slice }))?;
            Ok((batches.subscribed() >= wanted).then_some(()))
        })?;
        Ok(found.is_some())
    }

    /// Ends the session; cells schedule themselves again. A second call does nothing.
    fn close(&self, py: Python<'_>) {
        if std::process::id() == self.process {
            py.detach(|| drop(self.batches.lock().unwrap_or_else(PoisonError::into_inner).take()));
        }
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<SlotBatch> {
        self.next_batch(py, None)?.ok_or_else(|| PyStopIteration::new_err(()))
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&self, py: Python<'_>, _type: Py<PyAny>, _value: Py<PyAny>, _traceback: Py<PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<SlotScheduler {}>", self.address)
    }
}

impl Drop for SlotScheduler {
    fn drop(&mut self) {
        // a forked child must not end the session of its parent, whose memory it shares
        if std::process::id() != self.process {
            std::mem::forget(self.batches.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// Slots that are to be decided, in the order of their reports. Each slot has a row for each UE of its cell; all columns have the rows
/// of all slots.
///
/// A row shows the UE as the last report does: later slots of a cell do not contain what is decided about earlier ones of the batch.
#[pyclass(frozen, module = "ferric")]
pub struct SlotBatch(slots::SlotBatch);

impl SlotBatch {
    fn slot(&self, at: isize) -> PyResult<&BatchSlot> {
        let slot = usize::try_from(at).ok().and_then(|at| self.0.slots.get(at));
        slot.ok_or_else(|| PyIndexError::new_err(format!("slot {at} of {}", self.0.slots.len())))
    }

    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&slots::SlotUe) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_vec(py, self.0.ues.iter().map(value).collect())
    }
}

#[pymethods]
impl SlotBatch {
    /// The number of slots.
    fn __len__(&self) -> usize {
        self.0.slots.len()
    }

    /// The slots, as the cells count them.
    #[getter]
    fn slots<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_vec(py, self.0.slots.iter().map(|slot| slot.slot).collect())
    }

    /// The names of their nodes, as the RIC logs them.
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.0.slots.iter().map(|slot| &*slot.node).collect()
    }

    /// The rows of a slot of the batch, as a `slice` of the columns.
    fn rows<'py>(&self, py: Python<'py>, at: isize) -> PyResult<Bound<'py, PySlice>> {
        let ues = &self.slot(at)?.ues;
        Ok(PySlice::new(py, ues.start as isize, ues.end as isize, 1))
    }

    /// The resource blocks of a slot.
    #[getter]
    fn blocks(&self) -> u16 {
        self.0.blocks
    }

    /// Column: a number of the UE, which no other UE of its cell has as long as this session lasts.
    #[getter]
    fn ue<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |ue| ue.number)
    }

    /// Column: the names of the UEs, such as `amf:17`; a list.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.names.iter().map(|name| &**name).collect()
    }

    /// Column: octets in the UE's buffers that no decision has.
    #[getter]
    fn backlog_octets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |ue| ue.backlog_octets)
    }

    /// Column: octets that a resource block carries, by the UE's channel; 0 out of coverage.
    #[getter]
    fn octets_per_block<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |ue| ue.octets_per_block)
    }

    /// Column: the average throughput of the UE over about 200 slots, in octets per slot.
    #[getter]
    fn average_octets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |ue| ue.average_octets)
    }

    /// What the xApp in Rust decides, for comparison: blocks and rows, as `decide` takes them.
    fn proportional_fair<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>) {
        let shares = self.0.decided_by(&mut rule::ProportionalFair);
        let (rows, blocks) = shares.iter().map(|share| (share.ue as i64, i64::from(share.blocks))).unzip();
        (PyArray1::from_vec(py, blocks), PyArray1::from_vec(py, rows))
    }

    fn __repr__(&self) -> String {
        format!("<SlotBatch {} slots, {} rows>", self.0.slots.len(), self.0.ues.len())
    }
}
