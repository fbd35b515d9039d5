//! Ready RAN functions: a base station implements one small trait of getters for each.
//!
//! | service model | function | what the base station implements |
//! |---|---|---|
//! | E2SM-KPM | [`KpmFunction`](kpm::KpmFunction) | [`KpmSource`](kpm::KpmSource) |
//! | E2SM-NI | [`NiFunction`](ni::NiFunction) | [`NiSource`](ni::NiSource) |
//! | E2SM-CCC | [`CccFunction`](ccc::CccFunction) | [`CccSource`](ccc::CccSource) |
//! | E2SM-RC | [`RcFunction`](rc::RcFunction) | [`RcSource`](rc::RcSource) |
//! | MAC, RLC, PDCP and GTP statistics | [`StatisticsFunction`](statistics::StatisticsFunction) | [`StatisticsSource`](statistics::StatisticsSource) |
//! | SLICE control | [`SliceFunction`](slice::SliceFunction) | [`SliceSource`](slice::SliceSource) |
//! | TC (traffic control) | [`TcFunction`](tc::TcFunction) | [`TcSource`](tc::TcSource) |
//! | RRC notifications | [`RrcFunction`](rrc::RrcFunction) | [`RrcSource`](rrc::RrcSource) |
//! | UE-to-controller association | [`AssociationFunction`](association::AssociationFunction) | [`UeDirectory`](association::UeDirectory) |
//! | hello world | [`HwFunction`](hw::HwFunction) | nothing |
//!
//! A function serves all controllers of its node, and tells each of the UEs that it may see.

#![forbid(unsafe_code)]

mod admission;
pub mod association;
pub mod ccc;
pub mod held;
pub mod hw;
pub mod kpm;
pub mod ni;
mod periodic;
pub mod rc;
pub mod rrc;
pub mod slice;
pub mod statistics;
pub mod tc;
#[cfg(test)]
mod testing;
mod wall_clock;

pub use periodic::PeriodicConfig;
