//! Log lines that peers cause.
//!
//! A peer may cause a line as often as it likes, and choose parts of its text. Two rules keep the log readable:
//!
//! - `LogBudget` (feature `budget`) bounds the number of such lines per minute. All who log about peers share one; each host has a share of it.
//! - [`escaped`] shows a peer's text in one line: control characters and characters that change the direction of text are
//!   escaped, so that a name can neither forge a line nor control a terminal. [`Bounded`] cuts what is too long.

#![forbid(unsafe_code)]

#[cfg(feature = "budget")]
mod budget;
mod host;
mod text;

#[cfg(feature = "budget")]
pub use budget::LogBudget;
pub use host::Host;
pub use text::{Bounded, Escaped, escaped, is_unsafe};
