//! Conflict mitigation: which of the controls of several xApps reach the RAN.
//!
//! xApps do not know of each other. Two of them may set the same parameter of the same UE or slice in turns (a direct conflict),
//! different parameters that move the same KPI (an indirect one), or one of them may spoil a KPI of the other (an implicit one). The
//! mitigation sees each control before it is sent, compares it with who holds what it sets, and decides by rules in a file. A
//! control that it refuses is answered by a RIC Control Failure. All decisions go to the audit log, if there is one.
//!
//! ```
//! use conflicts::{ConflictConfig, ConflictRules};
//! use ferric::server::{Server, ServerConfig};
//!
//! let rules = ConflictRules::parse(
//!     r#"
//!     [[rule]]
//!     parameter = "rc/3/1" # handovers
//!     policy = "first"
//!     hold_ms = 5000
//!     "#,
//! )?;
//! let mut ric = Server::bind(ServerConfig { e2: vec!["memory:nodes".parse()?], xapp: None, ..ServerConfig::default() })?;
//! let routes = conflicts::add_to(&mut ric, ConflictConfig { rules, ..ConflictConfig::default() })?;
//! assert!(!routes.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Its cost is that of decoding a control, and of looking up each of its settings; what it keeps is bounded, and an xApp holds as
//! much of each table as stays free at most. Indications do not pass it.

#![forbid(unsafe_code)]

mod api;
mod app;
mod decision;
mod holders;
mod implicit;
mod mediator;
mod parameters;
mod questions;
mod rules;
mod state;
mod subscriptions;

use std::fmt;
use std::sync::{Arc, Mutex};

use audit::AuditLog;
use ferric::server::Server;
use rest::Route;

use app::ConflictApp;
use mediator::SharedMediator;
use state::State;
use subscriptions::SubscriptionAudit;

pub use rules::ConflictRules;
pub use state::ConflictClock;

/// The configuration of the mitigation.
#[derive(Clone, Default)]
pub struct ConflictConfig {
    /// The rules. Default: none; then controls are audited only.
    pub rules: ConflictRules,
    /// Where decisions and outcomes are recorded. Default: nowhere.
    pub audit: Option<AuditLog>,
    /// The time of holds and windows, for a RAN whose time is not that of the RIC. Default: the RIC's.
    pub clock: Option<ConflictClock>,
}

impl fmt::Debug for ConflictConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConflictConfig").field("rules", &self.rules).field("audit", &self.audit).finish_non_exhaustive()
    }
}

/// Adds the mitigation to a RIC. Returns its REST resources.
///
/// # Errors
/// If the system refuses a file descriptor.
pub fn add_to(server: &mut Server, config: ConflictConfig) -> Result<Vec<Route>, ferric::Error> {
    let ConflictConfig { rules, audit, clock } = config;
    let subscriptions = SubscriptionAudit::new(audit.clone());
    let state = Arc::new(Mutex::new(State::new(rules, audit, clock)));
    server.set_mediator(Box::new(SharedMediator { state: Arc::clone(&state), subscriptions }));
    let queue = iapp_rest::add_iapp(server, ConflictApp::new(state))?;
    Ok(api::routes(&queue))
}
