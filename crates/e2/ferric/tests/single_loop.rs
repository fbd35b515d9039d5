//! The tests of whole systems, with a single event loop.

mod common;
mod suites;
