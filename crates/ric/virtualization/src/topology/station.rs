//! A base station that is exposed: what its functions, which the agents call, share with the app.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferric::agent::{ControllerId, RequestKey};
use ferric::e2::{ControlRequest, SubscriptionSpec};
use ferric::e2ap::RanFunctionId;

use crate::outgoing::Outbox;

/// A base station. The app and its functions run on one thread; the lock is for the type system.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedStation {
    state: Arc<Mutex<StationState>>,
    /// Whether there may be commands.
    has_commands: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
pub(super) struct StationState {
    /// What its functions are to send.
    pub outbox: Outbox,
    /// What they ask of the app.
    pub commands: VecDeque<Command>,
    /// Controls without an answer.
    pub controls: usize,
}

impl SharedStation {
    pub fn lock(&self) -> MutexGuard<'_, StationState> {
        // a panic ends the RIC
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the app for something.
    pub fn command(&self, command: Command) {
        self.lock().commands.push_back(command);
        self.has_commands.store(true, Ordering::Relaxed);
    }

    /// Returns whether there may be commands since the last call.
    pub fn take_has_commands(&self) -> bool {
        self.has_commands.swap(false, Ordering::Relaxed)
    }
}

/// What a function asks of the app.
#[derive(Debug)]
pub(super) struct Command {
    pub function: RanFunctionId,
    pub kind: CommandKind,
}

#[derive(Debug)]
pub(super) enum CommandKind {
    Subscribe(RequestKey, SubscriptionSpec),
    Unsubscribe(RequestKey),
    Control(ControllerId, ControlRequest),
    /// The controller was removed.
    Removed(ControllerId),
}
