//! Instances of the service for tenants, on one host (paper 003: RNIS as a service).
//!
//! ```text
//!  operators ── REST ─► api ─► Supervisor ─┬─ Process ══ `ferric rnis serve --supervised`, an instance with an address of its own
//!                                │  ▲      └─ Process ══ another one
//!                        shares  │  │ measurements: lines of the processes, accounts of the kernel
//!                                ▼  │
//!                             Dimensioner ─► decisions
//! ```
//!
//! Each instance is a process: one that crashes, leaks or loops harms no other. The [`Supervisor`] starts it again, with growing pauses,
//! and measures it five times a second; the [`Dimensioner`](crate::dimensioning::Dimensioner) decides which part of the processors it may
//! use. The kernel enforces that where the supervisor may create control groups; elsewhere the threads of the process keep the quota
//! themselves ([`CpuQuota`](crate::CpuQuota)), and a process that does not is ended.
//!
//! The supervisor and a process speak by lines over its standard input and output. The input ends with the supervisor, whatever ends
//! that, and the process ends with its input.

mod accounts;
mod api;
mod control_group;
mod definition;
mod instance;
mod process;
mod store;
mod supervisor;

pub use definition::Definition;
pub use process::{Answer, RecentAnswer};
pub use supervisor::{InstancesConfig, InstancesError, Supervisor};
