//! The near-RT RIC that ferric ships.

#![forbid(unsafe_code)]
