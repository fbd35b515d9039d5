//! Measurements: requests, streams and records.

mod batch;
mod plan;
mod queue;
mod report;
mod stream;

pub use batch::{Batch, Column, Dictionary, NONE, Record, Value, kind};
pub(super) use plan::{About, Wanted, plans};
pub(super) use report::{Report, Sink, Source};
pub use stream::{KpmRequest, KpmStream, StreamCounts};
