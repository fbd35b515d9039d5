//! Tests of whole systems that run with a single event loop (`single_loop.rs`) and with several (`several_loops.rs`).

mod agent;
mod associations;
mod known_attacks;
mod memory_limits;
mod misbehaving_nodes;
mod misbehaving_xapps;
mod newcomers;
mod node_identity;
mod node_outbox;
mod overview;
mod several_controllers;
mod xapp;
