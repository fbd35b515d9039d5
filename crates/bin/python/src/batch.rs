//! Records in columns, as Arrow's: passed on without a copy.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, RecordBatch, StringArray, StructArray, TimestampNanosecondArray,
    UInt32Array,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use ferric::xapp;
use ferric::xapp::kpm::{Dictionary, NONE, kind};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

/// The names that the indices of a stream's batches stand for, made once for each dictionary.
#[derive(Default)]
pub struct Names {
    of: Arc<Dictionary>,
    arrays: Option<[ArrayRef; 4]>,
}

impl Names {
    fn arrays(&mut self, dictionary: &Arc<Dictionary>) -> [ArrayRef; 4] {
        if !Arc::ptr_eq(&self.of, dictionary) {
            (self.of, self.arrays) = (Arc::clone(dictionary), None);
        }
        let make = || {
            let texts = |texts: Vec<String>| Arc::new(StringArray::from(texts)) as ArrayRef;
            [
                Arc::new(StringArray::from_iter_values(dictionary.nodes.iter())),
                texts(dictionary.cells.iter().map(ToString::to_string).collect()),
                texts(dictionary.ues.iter().map(ToString::to_string).collect()),
                texts(dictionary.slices.iter().map(ToString::to_string).collect()),
            ]
        };
        self.arrays.get_or_insert_with(make).clone()
    }
}

fn arrow_error(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(format!("cannot make an Arrow table: {error}"))
}

/// Indices with the names that they stand for. Those without a subject are null.
fn dictionary(indices: Vec<u32>, names: ArrayRef) -> PyResult<ArrayRef> {
    let valid: NullBuffer = indices.iter().map(|index| *index != NONE).collect();
    // an index that is null may be any number, but Arrow demands that it exists
    let indices: Vec<u32> = indices.into_iter().map(|index| if index == NONE { 0 } else { index }).collect();
    let valid = (valid.null_count() > 0).then_some(valid);
    let keys = UInt32Array::new(ScalarBuffer::from(indices), valid);
    Ok(Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, names).map_err(arrow_error)?))
}

/// Records in columns: `time`, `node`, `cell`, `ue`, `slice`, and one for each measurement.
#[pyclass(frozen, module = "ferric")]
pub struct Batch {
    table: RecordBatch,
    measurements: Arc<[String]>,
    moves: Vec<u32>,
}

impl Batch {
    /// Takes over the columns of a batch.
    pub fn new(batch: xapp::Batch, names: &mut Names) -> PyResult<Self> {
        let [nodes, cells, ues, slices] = names.arrays(&batch.dictionary);
        let times = TimestampNanosecondArray::new(ScalarBuffer::from(batch.times_ns), None).with_timezone("UTC");
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(times),
            dictionary(batch.nodes, nodes)?,
            dictionary(batch.cells, cells)?,
            dictionary(batch.ues, ues)?,
            dictionary(batch.slices, slices)?,
        ];
        for column in batch.columns {
            let valid: NullBuffer =
                column.kinds.iter().map(|kind| matches!(*kind, kind::INTEGER | kind::REAL)).collect();
            let valid = (valid.null_count() > 0).then_some(valid);
            columns.push(Arc::new(Float64Array::new(ScalarBuffer::from(column.values), valid)));
        }
        let names = ["time", "node", "cell", "ue", "slice"].into_iter().map(str::to_owned);
        let names = names.chain(batch.measurements.iter().cloned());
        let fields: Vec<Field> =
            names.zip(&columns).map(|(name, column)| Field::new(name, column.data_type().clone(), true)).collect();
        debug_assert_eq!(fields[0].data_type(), &DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())));
        let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(arrow_error)?;
        Ok(Batch { table, measurements: batch.measurements, moves: batch.moves })
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.table.num_rows()
    }

    /// The names of the measurements, in the order of the request.
    #[getter]
    fn measurements(&self) -> Vec<String> {
        self.measurements.to_vec()
    }

    /// The indices of records that are the first ones of their nodes since these have moved to another RIC.
    #[getter]
    fn moves(&self) -> Vec<u32> {
        self.moves.clone()
    }

    /// A measurement as a NumPy array of floats; NaN where there is no number.
    fn __getitem__<'py>(&self, py: Python<'py>, measurement: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let column = self.table.column_by_name(measurement);
        let column = column.and_then(|column| column.as_any().downcast_ref::<Float64Array>());
        let Some(column) = column else { return Err(PyKeyError::new_err(measurement.to_owned())) };
        let array = PyArray1::from_slice(py, column.values());
        if column.null_count() > 0 {
            let mut array = array.readwrite();
            let values = array.as_slice_mut()?;
            (0..column.len()).filter(|at| column.is_null(*at)).for_each(|at| values[at] = f64::NAN);
        }
        Ok(array)
    }

    /// Everything as NumPy arrays, by name: `time` in nanoseconds since 1970; `node`, `cell`, `ue` and `slice` as indices, -1 where
    /// there is none, into the lists of `names`.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arrays = PyDict::new(py);
        let times = self.table.column(0).as_any().downcast_ref::<TimestampNanosecondArray>();
        let times = times.map(|times| times.values().to_vec()).unwrap_or_default();
        arrays.set_item("time", PyArray1::from_vec(py, times))?;
        for (at, name) in ["node", "cell", "ue", "slice"].into_iter().enumerate() {
            let column = self.table.column(at + 1).as_any().downcast_ref::<DictionaryArray<UInt32Type>>();
            let indices =
                column.map(|column| column.keys().iter().map(|key| key.map_or(-1, i64::from)).collect::<Vec<i64>>());
            arrays.set_item(name, PyArray1::from_vec(py, indices.unwrap_or_default()))?;
        }
        for name in self.measurements.iter() {
            arrays.set_item(name, self.__getitem__(py, name)?)?;
        }
        Ok(arrays)
    }

    /// The names that the indices of `to_numpy` stand for: lists under `node`, `cell`, `ue` and `slice`.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names = PyDict::new(py);
        for (at, name) in ["node", "cell", "ue", "slice"].into_iter().enumerate() {
            let column = self.table.column(at + 1).as_any().downcast_ref::<DictionaryArray<UInt32Type>>();
            let texts = column.and_then(|column| column.values().as_any().downcast_ref::<StringArray>());
            let texts: Vec<&str> = texts.map(|texts| texts.iter().flatten().collect()).unwrap_or_default();
            names.set_item(name, texts)?;
        }
        Ok(names)
    }

    /// A `pyarrow.RecordBatch` with the same memory. Needs pyarrow; pandas and polars take its result, or the batch itself.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("pyarrow")?.call_method1("record_batch", (this,))
    }

    /// Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.table.schema().as_ref()).map_err(arrow_error)?;
        capsule(py, schema, c"arrow_schema")
    }

    /// Arrow's PyCapsule interface: the schema and the columns.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // a consumer that wants another schema converts itself
        drop(requested_schema);
        let (array, _) = to_ffi(&StructArray::from(self.table.clone()).to_data()).map_err(arrow_error)?;
        let array: FFI_ArrowArray = array;
        PyTuple::new(py, [self.__arrow_c_schema__(py)?, capsule(py, array, c"arrow_array")?])
    }
}

/// A capsule that drops its content, which releases what no consumer has taken.
fn capsule<'py, T: Send + 'static>(
    py: Python<'py>,
    content: T,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, content, name)
}
