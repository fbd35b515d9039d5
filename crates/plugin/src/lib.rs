//! What shared objects bring, loaded when a program starts or while it runs, without a rebuild: service models of one's own
//! ([`model`]; FlexRIC paper, 4.3), and parts of traffic control ([`tc`]; 6.1.1).
//!
//! An object offers a C ABI, which a header in `include/` tells; it is written in C, or in anything that speaks it. What is
//! loaded runs with all rights of the program, so that it is loaded only from one folder, and only where nobody else could
//! have written it: file and folder belong to root or to this user, nobody else may write them, and the file lies in the
//! folder or below it when all links are followed.

mod error;
pub mod model;
mod object;
pub mod tc;

pub use error::LoadError;
