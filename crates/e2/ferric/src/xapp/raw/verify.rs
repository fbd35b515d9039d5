//! Verification of controls. An acknowledgement only means that the node accepted the control; its effect shows in
//! later reports.

use core::fmt;
use std::time::{Duration, Instant};

use e2::ControlOutcome;
use e2::{SubscriptionId, Ticket};

use super::Indication;

/// How the effect of a control is verified.
pub struct Verification {
    subscription: SubscriptionId,
    within: Duration,
    shows: Box<dyn FnMut(&Indication<'_>) -> bool + Send>,
}

impl Verification {
    /// Creates a verification by reports of `subscription`: one for which `shows` returns `true` within this time
    /// after the acknowledgement confirms the effect, such as a KPI that changes or a configuration that is read back.
    /// `shows` may hold the previous value.
    pub fn by_reports(
        subscription: SubscriptionId,
        within: Duration,
        shows: impl FnMut(&Indication<'_>) -> bool + Send + 'static,
    ) -> Self {
        Verification { subscription, within, shows: Box::new(shows) }
    }

    /// The subscription.
    pub(super) fn subscription(&self) -> SubscriptionId {
        self.subscription
    }

    /// The same by reports of another subscription.
    pub(super) fn by(self, subscription: SubscriptionId) -> Self {
        Verification { subscription, ..self }
    }
}

impl fmt::Debug for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verification")
            .field("subscription", &self.subscription)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

/// The result of verifying an acknowledged control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// A report shows the effect.
    Confirmed {
        /// The time since the acknowledgement.
        after: Duration,
    },
    /// Reports arrived, and none shows the effect.
    Unchanged {
        /// The number of reports.
        reports: u32,
    },
    /// No report arrived, so that the effect is unknown.
    NoReports,
}

/// The error when [`MAX_VERIFICATIONS`] are in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyVerifications;

impl fmt::Display for TooManyVerifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MAX_VERIFICATIONS} controls are being verified: wait for one of their results")
    }
}

impl std::error::Error for TooManyVerifications {}

/// The most controls of a session that may be verified at a time.
pub const MAX_VERIFICATIONS: usize = 256;

/// The verifications in progress.
#[derive(Debug, Default)]
pub(super) struct Verifications(Vec<PendingVerification>);

#[derive(Debug)]
struct PendingVerification {
    ticket: Ticket,
    verify: Verification,
    /// The time of the acknowledgement.
    since: Option<Instant>,
    reports: u32,
}

impl PendingVerification {
    fn deadline(&self) -> Option<Instant> {
        Some(self.since? + self.verify.within)
    }
}

impl Verifications {
    pub fn has_room(&self) -> bool {
        self.0.len() < MAX_VERIFICATIONS
    }

    pub fn add(&mut self, ticket: Ticket, verify: Verification) {
        self.0.push(PendingVerification { ticket, verify, since: None, reports: 0 });
    }

    /// Returns the earliest deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(PendingVerification::deadline).min()
    }

    /// Handles the loss of the RIC: the effect of acknowledged controls is unknown.
    pub fn lose(&mut self) -> Vec<(Ticket, Verdict)> {
        let lost = std::mem::take(&mut self.0);
        lost.into_iter().filter(|lost| lost.since.is_some()).map(|lost| (lost.ticket, Verdict::NoReports)).collect()
    }

    /// Handles the answer to a control: verification begins with the acknowledgement, and ends with a failure.
    pub fn answered(&mut self, ticket: Ticket, result: &ControlOutcome, now: impl FnOnce() -> Instant) {
        let Some(at) = self.0.iter().position(|verification| verification.ticket == ticket) else { return };
        if let ControlOutcome::Acknowledged(_) = result {
            self.0[at].since = Some(now());
        } else {
            self.0.swap_remove(at);
        }
    }

    /// Handles a report. Returns the controls that it confirms.
    #[inline]
    pub fn reported(&mut self, indication: &Indication<'_>) -> Vec<(Ticket, Verdict)> {
        // inlined, since verification is rare
        if self.0.is_empty() { Vec::new() } else { self.look_at(indication) }
    }

    fn look_at(&mut self, indication: &Indication<'_>) -> Vec<(Ticket, Verdict)> {
        let mut confirmed = Vec::new();
        self.0.retain_mut(|verification| {
            let Some(since) = verification.since else { return true };
            if verification.verify.subscription != indication.subscription {
                return true;
            }
            verification.reports = verification.reports.saturating_add(1);
            if !(verification.verify.shows)(indication) {
                return true;
            }
            confirmed.push((verification.ticket, Verdict::Confirmed { after: since.elapsed() }));
            false
        });
        confirmed
    }

    /// Returns the verifications whose time is over.
    pub fn expired(&mut self, now: Instant) -> Vec<(Ticket, Verdict)> {
        let mut expired = Vec::new();
        self.0.retain(|verification| {
            let over = verification.deadline().is_some_and(|deadline| deadline <= now);
            if over {
                let verdict = match verification.reports {
                    0 => Verdict::NoReports,
                    reports => Verdict::Unchanged { reports },
                };
                expired.push((verification.ticket, verdict));
            }
            !over
        });
        expired
    }
}
