//! The host for xApps written for the O-RAN reference platform (FlexRIC paper, 6.3).
//!
//! Each service is a module of its own and usable alone. None of them knows a service model.

#![forbid(unsafe_code)]
