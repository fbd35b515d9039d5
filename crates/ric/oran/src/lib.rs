//! The host for xApps written for the O-RAN reference platform (FlexRIC paper, 6.3).
//!
//! Each service is a module of its own and usable alone. None of them knows a service model.
//!
//! | module | service |
//! |---|---|
//! | [`messaging`] | xApps over RMR: route tables, indications, controls, subscriptions, health checks |
//! | [`subscription`] | the subscription manager's REST interface; it needs messaging |
//! | [`e2_manager`] | the E2 manager's REST interface: the lists of nodes |
//! | [`ran_name()`] | the names of nodes in the platform |

#![forbid(unsafe_code)]

pub mod e2_manager;
pub mod messaging;
mod names;
pub mod subscription;

pub use names::ran_name;
