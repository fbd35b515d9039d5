//! Shared test support: a short notation of messages, the parties of scenarios, and the simulation in virtual time.
#![allow(dead_code)] // each test uses a part

pub mod mutate;
pub mod notation;
mod notation_format;
pub mod notation_parse;
pub mod random;
pub mod scenario_agent;
pub mod scenario_ric;
pub mod simulation;
