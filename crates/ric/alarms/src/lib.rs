//! Fault management of a RIC: alarms are raised, cleared, kept and listed.
//!
//! The REST interface is that of the alarm manager of the O-RAN reference platform. The RIC raises alarms itself
//! ([`add_to`]) for nodes that are lost and for xApps that do not read; xApps and platform components raise theirs by REST.
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
mod api;
mod book;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub use alarm::{Action, Alarm, Definition, Notification, Severity};
pub use api::routes;
pub use book::{RaiseError, Statistics};
pub use watch::add_to;

use book::Book;

/// The alarms of a RIC. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub struct Alarms(Arc<Mutex<Book>>);

impl Alarms {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises an alarm, at once or after the delay of its definition. One that is active is not raised again.
    ///
    /// # Errors
    /// If the problem is not defined, a text is too long, or too many alarms are active.
    pub fn raise(&self, alarm: Alarm, now: Instant) -> Result<(), RaiseError> {
        self.book().raise(alarm, now)
    }

    /// Clears an alarm, at once or after the delay of its definition.
    pub fn clear(&self, alarm: &Alarm, now: Instant) {
        self.book().clear(alarm, now);
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
