//! Fault management of a RIC: alarms are raised, cleared, kept and listed.
//!
//! The REST interface is that of the alarm manager of the O-RAN reference platform. The RIC raises alarms itself
//! ([`add_to`]) for nodes that are lost and for xApps that do not read, do not run, or end again and again; xApps and platform components
//! raise theirs by REST, or by messages over RMR ([`Alarms::handle_message`]). All are passed on to those who want them
//! ([`Alarms::forward_to`]), such as an alert manager of Prometheus ([`AlertManager`]).
//!
//! ```
//! use alarms::{Alarm, Alarms, Severity};
//! use std::time::{Duration, Instant};
//!
//! let alarms = Alarms::default();
//! let alarm = Alarm {
//!     managed_object_id: "RIC".into(),
//!     application_id: "slicer".into(),
//!     specific_problem: 8006,
//!     perceived_severity: Severity::Major,
//!     additional_info: String::new(),
//!     identifying_info: "gnb-00101-e00".into(),
//! };
//! let begin = Instant::now();
//! let after = |seconds| begin + Duration::from_secs(seconds);
//! alarms.raise(alarm.clone(), begin)?;
//! alarms.handle_timeout(after(5)); // this problem has to last for 5 s
//! assert_eq!(alarms.active().len(), 1);
//! alarms.clear(&alarm, after(60));
//! alarms.handle_timeout(after(65));
//! assert_eq!((alarms.active().len(), alarms.history().len()), (0, 2));
//! # Ok::<(), alarms::RaiseError>(())
//! ```

#![forbid(unsafe_code)]

mod alarm;
mod alert_manager;
mod api;
mod book;
mod watch;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

pub use alarm::{Action, Alarm, Definition, Notification, Severity};
pub use alert_manager::{AlertManager, AlertManagerConfig};
pub use api::{active_route, routes};
pub use book::{Outlet, RaiseError, Statistics};
pub use watch::{OtherRics, add_to};

use book::Book;
use log_lines::LogBudget;

/// The alarms of a RIC. Clones are the same ones.
#[derive(Clone, Default)]
pub struct Alarms(Arc<Mutex<Book>>);

impl fmt::Debug for Alarms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarms").finish_non_exhaustive()
    }
}

/// Alarms of a RIC that may be gone.
#[derive(Clone, Debug)]
pub struct WeakAlarms(Weak<Mutex<Book>>);

impl WeakAlarms {
    /// Returns the alarms, unless their RIC is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<Alarms> {
        self.0.upgrade().map(Alarms)
    }
}

impl Alarms {
    /// No alarms yet. Lines about them in the log are within the budget.
    #[must_use]
    pub fn new(log: LogBudget) -> Self {
        Alarms(Arc::new(Mutex::new(Book::new(log))))
    }

    /// Returns the same alarms without keeping them.
    #[must_use]
    pub fn downgrade(&self) -> WeakAlarms {
        WeakAlarms(Arc::downgrade(&self.0))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises an alarm, at once or after the delay of its definition. One that is active is not raised again.
    ///
    /// # Errors
    /// If the problem is not defined, a text is too long, or too many alarms are active.
    pub fn raise(&self, alarm: Alarm, now: Instant) -> Result<(), RaiseError> {
        self.book().raise(alarm, None, now)
    }

    /// Clears an alarm, at once or after the delay of its definition.
    pub fn clear(&self, alarm: &Alarm, now: Instant) {
        self.book().clear(alarm, None, now);
    }

    /// Handles a message of the platform's libraries for xApps (RIC_ALARM) from an xApp of a host. What one host has raised is bounded
    /// by what stays free, and it clears only that.
    ///
    /// # Errors
    /// A text: what is wrong with the message, or why the alarm is not raised.
    pub fn handle_message(&self, host: &str, payload: &[u8]) -> Result<(), String> {
        api::handle_message(self, host, payload)
    }

    /// Raises the alarm of an xApp that the RIC has started and that has ended with a fault, or clears it: `None`.
    pub fn set_started_xapp(&self, name: &str, fault: Option<&str>) {
        watch::set_xapp_fault(self, true, name, fault);
    }

    /// Raises the alarm of an endpoint that cannot be reached over RMR, or clears it: `None`.
    pub fn set_rmr_endpoint(&self, endpoint: &str, fault: Option<&str>) {
        watch::set_xapp_fault(self, false, endpoint, fault);
    }

    /// Has each alarm passed on that is raised or cleared from now on. It must not block, nor use these alarms.
    pub fn forward_to(&self, outlet: Outlet) {
        self.book().add_outlet(outlet);
    }

    /// Raises and clears what is due.
    pub fn handle_timeout(&self, now: Instant) {
        self.book().handle_timeout(now);
    }

    /// Returns what became of alarms since the start.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.book().statistics()
    }

    /// Returns the active alarms, oldest first.
    #[must_use]
    pub fn active(&self) -> Vec<Notification> {
        self.book().active()
    }

    /// Returns what was raised and cleared, oldest first.
    #[must_use]
    pub fn history(&self) -> Vec<Notification> {
        self.book().history()
    }
}
