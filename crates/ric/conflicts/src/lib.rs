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
//! let mitigation = conflicts::add_to(&mut ric, ConflictConfig { rules, ..ConflictConfig::default() })?;
//! assert!(!mitigation.routes().is_empty());
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
mod questions;
mod rules;
mod settings;
mod state;
mod subscriptions;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use audit::AuditLog;
use ferric::e2::Time;
use ferric::server::{IappWaker, Server};
use iapp_rest::Job;
use rest::{RequestQueue, Route};

use app::ConflictApp;
use mediator::SharedMediator;
use state::{Counters, State};
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

/// Adds the mitigation to a RIC.
///
/// # Errors
/// If the system refuses a file descriptor.
pub fn add_to(server: &mut Server, config: ConflictConfig) -> Result<ConflictHandle, ferric::Error> {
    let ConflictConfig { rules, audit, clock } = config;
    let waker = server.iapp_waker()?;
    let subscriptions = SubscriptionAudit::new(audit.clone());
    let state = Arc::new(Mutex::new(State::new(rules, audit, clock)));
    server.set_mediator(Box::new(SharedMediator { state: Arc::clone(&state), subscriptions }));
    let queue = iapp_rest::add_iapp(server, ConflictApp::new(Arc::clone(&state)))?;
    Ok(ConflictHandle { state, queue, waker })
}

/// The mitigation of a RIC that runs. Clones are the same one.
#[derive(Clone)]
pub struct ConflictHandle {
    state: Arc<Mutex<State>>,
    queue: RequestQueue<Job<ConflictApp>>,
    waker: IappWaker,
}

impl fmt::Debug for ConflictHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConflictHandle").finish_non_exhaustive()
    }
}

impl ConflictHandle {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the REST resources.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        api::routes(&self.queue)
    }

    /// Replaces the rules of a RIC that runs. What xApps hold stays held for its time, except of KPIs whose rules change: these
    /// begin anew. Questions that wait keep the time and the default that they were asked with.
    pub fn replace(&self, rules: ConflictRules) {
        self.state().next_rules = Some(rules);
        self.waker.wake();
    }

    /// Returns the audit log, if there is one.
    #[must_use]
    pub fn audit(&self) -> Option<AuditLog> {
        self.state().audit.clone()
    }

    /// Returns what became of all controls. `now` is the time of the RIC.
    #[must_use]
    pub fn statistics(&self, now: Time) -> ConflictStatistics {
        let state = self.state();
        let Counters { sent, changed, refused, asked, unreadable, conflicts, answers } = state.counters.clone();
        ConflictStatistics {
            controls: [("sent", sent), ("changed", changed), ("refused", refused), ("waits", asked)],
            unreadable,
            conflicts: conflicts.into_iter().collect(),
            answers: answers.into_iter().collect(),
            held: state.holders.count(state.time(now)),
            questions: state.questions.open().len(),
        }
    }
}

/// What became of the controls of a RIC, since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictStatistics {
    /// Controls by the decision on them.
    pub controls: [(&'static str, u64); 4],
    /// Controls whose settings are not known.
    pub unreadable: u64,
    /// Conflicts by kind, policy (`none` without one) and decision.
    pub conflicts: Vec<([&'static str; 3], u64)>,
    /// Questions to arbiters by how they ended: `accepted`, `refused`, `timeout`, or `dropped` with its xApp or node.
    pub answers: Vec<(&'static str, u64)>,
    /// The parameters that are held now.
    pub held: usize,
    /// The questions that wait now.
    pub questions: usize,
}
