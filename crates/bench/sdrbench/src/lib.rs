//! SDRBench: how much load a controller of a software-defined RAN carries, and how fast it is under a load.
//!
//! The benchmark of paper 001 (SDRBench: A Software-Defined Radio Access Network Controller Benchmark) replicated agents of FlexRAN and
//! measured processor time, memory and the delay of the hello message. This one has its extensions as well: users, transmissions,
//! applications, faults, and a model. See docs/sdrbench.md.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod clock;
pub mod content;
pub mod generator;
pub mod model;
pub mod northbound;
pub mod report;
pub mod rest_clients;
pub mod scenario;
pub mod southbound;
pub mod statistics;
pub mod target;
pub mod users;
