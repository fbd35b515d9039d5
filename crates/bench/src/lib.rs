//! Measurements: codec nanoseconds, a relay against a bare mover, memory.

#![forbid(unsafe_code)]
