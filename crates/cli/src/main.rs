//! The `ferric` program.
fn main() {}
