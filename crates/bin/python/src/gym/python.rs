//! The environments in Python.

use std::sync::Mutex;

use ferric::xapp::Error;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::environment::{self, Kind, Settings};
use super::task::{Actions, Quantity, invalid};
use super::threads::{Fleet, Turn};
use crate::error::exception;

/// The most environments that are stepped together, and the most threads.
const MAX_ENVIRONMENTS: usize = 4096;
const MAX_THREADS: usize = 256;

/// Name, unit and range of each quantity.
type Quantities = Vec<(String, &'static str, f32, f32)>;

fn rows(quantities: &[Quantity]) -> Quantities {
    quantities.iter().map(|quantity| (quantity.name.clone(), quantity.unit, quantity.low, quantity.high)).collect()
}

fn settings(kind: &str, scenario: Option<&str>, step_ms: f64, episode_steps: u32) -> PyResult<Settings> {
    let kind = Kind::of(kind).map_err(|error| exception(&error))?;
    let is_shipped = scenario.is_none();
    let scenario = crate::scenario::scenario(scenario.unwrap_or(kind.scenario()))?;
    Settings::new(kind, scenario, is_shipped, step_ms, episode_steps).map_err(|error| exception(&error))
}

/// The text of the scenario of a kind of environments: a TOML file to begin an own one from.
#[pyfunction]
pub fn environment_scenario(kind: &str) -> PyResult<&'static str> {
    Ok(Kind::of(kind).map_err(|error| exception(&error))?.scenario())
}

/// A stepped RAN with a task: `ferric.gym` gives it the interface of Gymnasium. Any thread may use it, one at a time.
#[pyclass(frozen, module = "ferric")]
pub struct Environment {
    environment: Mutex<Option<environment::Environment>>,
    actions: Actions,
    quantities: Vec<Quantity>,
}

impl Environment {
    /// Runs a call without the GIL.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut environment::Environment) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let result = py.detach(|| {
            // a panic is a defect that has been reported: the environment is as it was left
            let mut environment = self.environment.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            call(environment.as_mut().ok_or(Error::Closed)?)
        });
        result.map_err(|error| exception(&error))
    }
}

#[pymethods]
impl Environment {
    #[new]
    #[pyo3(signature = (kind, *, scenario=None, step_ms, episode_steps))]
    fn new(py: Python<'_>, kind: &str, scenario: Option<&str>, step_ms: f64, episode_steps: u32) -> PyResult<Self> {
        let settings = settings(kind, scenario, step_ms, episode_steps)?;
        let environment = py.detach(|| environment::Environment::new(settings)).map_err(|error| exception(&error))?;
        let (actions, quantities) = (environment.actions(), environment.quantities().to_vec());
        Ok(Environment { environment: Mutex::new(Some(environment)), actions, quantities })
    }

    /// The kind of the actions, and the number of choices or values.
    #[getter]
    fn actions(&self) -> (&'static str, usize) {
        self.actions.describe()
    }

    /// Name, unit, least and largest value of each observed quantity.
    #[getter]
    fn quantities(&self) -> Quantities {
        rows(&self.quantities)
    }

    /// The time of the model in seconds.
    #[getter]
    fn time_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.run(py, |environment| Ok(environment.time_s()))
    }

    /// Begins an episode with a seed. Returns the first observation.
    fn reset<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let mut observation = vec![0.0; self.quantities.len()];
        self.run(py, |environment| environment.reset(seed, &mut observation))?;
        Ok(PyArray1::from_vec(py, observation))
    }

    /// Acts, and advances by a step. Returns the observation, the reward, and whether the episode has ended.
    fn step<'py>(
        &self,
        py: Python<'py>,
        action: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, f64, bool)> {
        let mut observation = vec![0.0; self.quantities.len()];
        let action = action.as_array().to_vec();
        let (reward, is_truncated) = self.run(py, |environment| environment.step(&action, &mut observation))?;
        Ok((PyArray1::from_vec(py, observation), reward, is_truncated))
    }

    /// Frees the RAN. A second call does nothing; other calls fail.
    fn close(&self, py: Python<'_>) {
        let environment =
            py.detach(|| self.environment.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
        py.detach(|| drop(environment));
    }
}

/// Several environments of a kind, stepped by threads.
#[pyclass(frozen, module = "ferric")]
pub struct Environments {
    fleet: Mutex<Option<Fleet>>,
    count: usize,
    actions: Actions,
    quantities: Vec<Quantity>,
    /// The process: a forked child has no threads.
    process: u32,
}

/// Observations, rewards, and whether each episode has ended.
type Results<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>);

impl Environments {
    /// Runs a call without the GIL.
    fn run<T: Send>(&self, py: Python<'_>, call: impl FnOnce(&mut Fleet) -> Result<T, Error> + Send) -> PyResult<T> {
        if std::process::id() != self.process {
            return Err(exception(&Error::Forked));
        }
        let result = py.detach(|| {
            let mut fleet = self.fleet.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            call(fleet.as_mut().ok_or(Error::Closed)?)
        });
        result.map_err(|error| exception(&error))
    }
}

#[pymethods]
impl Environments {
    #[new]
    #[pyo3(signature = (kind, count, *, threads, scenario=None, step_ms, episode_steps))]
    fn new(
        py: Python<'_>,
        kind: &str,
        count: usize,
        threads: usize,
        scenario: Option<&str>,
        step_ms: f64,
        episode_steps: u32,
    ) -> PyResult<Self> {
        let refuse = |parameter: &str, value: usize, most: usize| {
            Err(exception(&invalid(parameter, value, format!("1 to {most}"))))
        };
        if !(1..=MAX_ENVIRONMENTS).contains(&count) {
            return refuse("num_envs", count, MAX_ENVIRONMENTS);
        }
        if !(1..=MAX_THREADS).contains(&threads) {
            return refuse("threads", threads, MAX_THREADS);
        }
        let settings = settings(kind, scenario, step_ms, episode_steps)?;
        let created = py.detach(|| {
            (0..count).map(|_| environment::Environment::new(settings.clone())).collect::<Result<Vec<_>, Error>>()
        });
        let environments = created.map_err(|error| exception(&error))?;
        let (actions, quantities) = (environments[0].actions(), environments[0].quantities().to_vec());
        let fleet = Fleet::new(environments, threads)?;
        let process = std::process::id();
        Ok(Environments { fleet: Mutex::new(Some(fleet)), count, actions, quantities, process })
    }

    /// The kind of the actions, and the number of choices or values.
    #[getter]
    fn actions(&self) -> (&'static str, usize) {
        self.actions.describe()
    }

    /// Name, unit, least and largest value of each observed quantity.
    #[getter]
    fn quantities(&self) -> Quantities {
        rows(&self.quantities)
    }

    /// The time of each model in seconds.
    #[getter]
    fn time_s<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let times: Vec<f64> =
            self.run(py, |fleet| Ok(fleet.places().map(|place| place.environment.time_s()).collect()))?;
        Ok(PyArray1::from_vec(py, times))
    }

    /// Steps each environment with the row of `actions`, or begins an episode where `seeds` has a seed.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: PyReadonlyArray2<'py, f64>,
        seeds: Vec<Option<u64>>,
    ) -> PyResult<Results<'py>> {
        let actions = actions.as_array();
        for (parameter, rows) in [("actions", actions.nrows()), ("seeds", seeds.len())] {
            if rows != self.count {
                let expected = format!("{} rows", self.count);
                return Err(exception(&invalid(parameter, format!("{rows} rows"), expected)));
            }
        }
        let values = self.quantities.len();
        let rows: Vec<Vec<f64>> = actions.rows().into_iter().map(|row| row.to_vec()).collect();
        // nothing runs if one action is wrong
        for (row, _) in rows.iter().zip(&seeds).filter(|(_, seed)| seed.is_none()) {
            self.actions.check(row).map_err(|error| exception(&error))?;
        }
        let (observations, rewards, truncated) = self.run(py, |fleet| {
            for ((place, row), seed) in fleet.places_mut().zip(rows).zip(seeds) {
                place.action = row;
                place.turn = seed.map_or(Turn::Step, Turn::Reset);
            }
            fleet.run()?;
            let mut observations = Vec::with_capacity(values * self.count);
            fleet.places().for_each(|place| observations.extend_from_slice(&place.observation));
            let rewards: Vec<f64> = fleet.places().map(|place| place.reward).collect();
            let truncated: Vec<bool> = fleet.places().map(|place| place.is_truncated).collect();
            Ok((observations, rewards, truncated))
        })?;
        let observations = PyArray1::from_vec(py, observations).reshape([self.count, values])?;
        Ok((observations, PyArray1::from_vec(py, rewards), PyArray1::from_vec(py, truncated)))
    }

    /// Frees the RANs and ends the threads. A second call does nothing; other calls fail.
    fn close(&self, py: Python<'_>) {
        if std::process::id() != self.process {
            return;
        }
        let fleet = py.detach(|| self.fleet.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
        py.detach(|| drop(fleet));
    }
}

impl Drop for Environments {
    fn drop(&mut self) {
        // a forked child has no threads to wait for
        if std::process::id() != self.process
            && let Some(fleet) = self.fleet.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take()
        {
            std::mem::forget(fleet);
        }
    }
}
