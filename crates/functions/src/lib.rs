//! Ready RAN functions: a base station implements one small trait of getters for each.
//!
//! | service model | function | what the base station implements |
//! |---|---|---|
//! | E2SM-KPM | [`KpmFunction`](kpm::KpmFunction) | [`KpmSource`](kpm::KpmSource) |
//! | UE-to-controller association | [`AssociationFunction`](association::AssociationFunction) | [`UeDirectory`](association::UeDirectory) |
//! | hello world | [`HwFunction`](hw::HwFunction) | nothing |
//!
//! A function serves all controllers of its node: each is told only of those UEs that it may see.

#![forbid(unsafe_code)]

pub mod association;
pub mod hw;
pub mod kpm;
