//! Test support that several crates share. It is a development dependency everywhere but in the benchmark programs, which
//! count allocations with it.

mod allocations;
mod shared_object;

pub use allocations::CountingAllocator;
pub use shared_object::ObjectFolder;
