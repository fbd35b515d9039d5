//! CPU management for virtual base-band units on Linux.
//!
//! The policies, the knobs and the names are those of paper 004 (Ocampo et al., "Assessing the Cloud-RAN in the Linux Kernel",
//! Sensors 24(7), 2365). The base station is not modified: its threads are known by name.
//!
//! | module | subject |
//! |---|---|
//! | [`host`], [`threads`], [`cpus`] | what the host has, as read from `/proc` and `/sys` |
//! | [`profile`] | which threads of a base station are urgent |
//! | [`plan`](mod@plan) | from a policy to a list of changes; changes nothing |
//! | [`change`] | a change: the command that it equals, how it is made and reverted |
//! | [`journal`] | what is changed and what was before, on the disk before it is made; the lock |
//! | [`controller`] | makes changes and restores them; the watchdog |
//! | [`follow`] | applies a policy to what is started while it is held |
//! | [`dynamic`] | measures, and moves only what hurts, one step at a time: a machine that decides, and the loop around it |
//! | [`latency`] | how long threads wait for a CPU, how late periodic ones are, and whether the host itself stalled |
//! | [`blame`] | who ran while a thread waited, and the knob that removes it |
//! | [`utilisation`] | how busy each CPU is |
//! | `assembler`, `index`, `programs`, `tracepoints`, `sys` | BPF programs, written at run time for this kernel's tracepoints |
//! | `trace` | the same counts by the text of a trace of tracefs |
//! | `samples` | the same counts by samples of `perf_event_open`; its `Waits` counts recorded traces as well |
//!
//! The emulated base-band unit is a program of its own (`ferric-vbbu`), with threads that have the names of profile `vbbu`. The paper's
//! experiments are in `bench/paper`.

#![warn(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("the interfaces of this crate are those of Linux");

mod assembler;
pub mod blame;
pub mod change;
pub mod controller;
pub mod cpus;
pub mod dynamic;
mod error;
pub mod follow;
pub mod host;
mod index;
pub mod journal;
pub mod latency;
pub mod plan;
pub mod profile;
mod programs;
mod samples;
mod sys;
pub mod threads;
mod trace;
mod tracepoints;
pub mod utilisation;

pub use change::Change;
pub use controller::{Controller, Watchdog, undo};
pub use cpus::Cpus;
pub use error::Error;
pub use host::{CpusetMount, Host};
pub use plan::{Plan, Policy, Request, Selection, plan};
pub use profile::{Knob, Profile};
