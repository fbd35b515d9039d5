//! E2 procedures as machines that own no socket, no clock and no thread.

#![forbid(unsafe_code)]
