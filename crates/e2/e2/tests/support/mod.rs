//! Shared test support: a short notation of messages, and worlds in virtual time.
#![allow(dead_code)] // each test uses a part

pub mod agent_world;
pub mod build;
pub mod mutate;
pub mod random;
pub mod ric_world;
pub mod short;
pub mod show;
pub mod sim_acts;
pub mod sim_checks;
pub mod sim_faults;
pub mod sim_parts;
pub mod sim_settle;
pub mod sim_world;
