//! Environments of reinforcement learning on the stepped model of the RAN. `python/ferric/gym` gives them the interface of
//! Gymnasium; docs/gymnasium.md describes their spaces, units and rewards.

mod balancing;
mod controls;
mod energy;
mod environment;
mod python;
mod slicing;
mod task;
mod threads;
mod traffic_control;

pub use python::{Environment, Environments, environment_scenario};
