//! The Python package `ferric`, in Rust: the xApp API of `ferric::xapp`, records as NumPy arrays and Arrow tables, and a RIC with an
//! emulated RAN in the process, environments of reinforcement learning. `python/ferric` has the rest: errors, async streams, type stubs. docs/python.md explains it.

// PyO3 generates the functions that Python calls; Arrow's structures are passed as pointers
#![allow(unsafe_code, reason = "the interfaces to Python and to Arrow")]

mod a1;
mod answers;
mod batch;
mod demo;
mod error;
mod feed;
mod gym;
mod handles;
mod policy;
mod ric;
mod scenario;
mod slots;
mod stream;
mod traffic;
mod wait;

use pyo3::prelude::*;

/// The part of the package that is written in Rust.
#[pymodule]
mod _ferric {
    #[pymodule_export]
    use crate::a1::A1Policy;
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::demo::Demo;
    #[pymodule_export]
    use crate::feed::{
        A1Policies, Configurations, EiJob, EventFeed, HandoverRequest, HandoverRequests, RrcMessage, RrcMessages,
    };
    #[pymodule_export]
    use crate::gym::{Environment, Environments, environment_scenario};
    #[pymodule_export]
    use crate::handles::{Cell, Node, Slices, Ue};
    #[pymodule_export]
    use crate::policy::{HandoverRule, Policy};
    #[pymodule_export]
    use crate::ric::{Ric, connect};
    #[pymodule_export]
    use crate::slots::{SlotBatch, SlotScheduler};
    #[pymodule_export]
    use crate::stream::{KpmStream, Record};
    #[pymodule_export]
    use crate::traffic::TrafficControl;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
