//! Test support that several crates share: a development dependency everywhere but in the benchmark programs, which count
//! allocations with it.

mod allocations;
#[cfg(feature = "certificates")]
pub mod certificates;
#[cfg(feature = "live")]
pub mod live;
#[cfg(feature = "program")]
pub mod program;
mod shared_object;

pub use allocations::{CountingAllocator, ProcessCountingAllocator};
pub use shared_object::ObjectFolder;
