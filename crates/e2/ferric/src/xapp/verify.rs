//! Whether a control had its effect. An acknowledgement says that the node took it, and no more: what shows the effect is what
//! the node reports afterwards.

use core::fmt;
use std::time::{Duration, Instant};

use e2::ControlOutcome;
use e2::{SubscriptionId, Ticket};

use super::Indication;

/// What shows that a control had its effect.
pub struct Verify {
    subscription: SubscriptionId,
    within: Duration,
    shows: Box<dyn FnMut(&Indication<'_>) -> bool + Send>,
}

impl Verify {
    /// A report of `subscription`, for which `shows` is true, within so long after the acknowledgement: a KPI that moves, or a
    /// configuration that is read back. What it was before, `shows` may have kept.
    pub fn by_reports(
        subscription: SubscriptionId,
        within: Duration,
        shows: impl FnMut(&Indication<'_>) -> bool + Send + 'static,
    ) -> Self {
        Verify { subscription, within, shows: Box::new(shows) }
    }
}

impl fmt::Debug for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verify")
            .field("subscription", &self.subscription)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}

/// What became of an acknowledged control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// A report shows the effect.
    Confirmed {
        /// How long after the acknowledgement.
        after: Duration,
    },
    /// Reports came, and none shows the effect: the control changed nothing that can be seen.
    Unchanged {
        /// How many came.
        reports: u32,
    },
    /// No report came, so that nobody can tell.
    NoReports,
}

/// As many controls are being verified as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyVerifications;

impl fmt::Display for TooManyVerifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MAX_VERIFICATIONS} controls are being verified: wait for their verdicts")
    }
}

impl std::error::Error for TooManyVerifications {}

/// Controls of a session that may be verified at a time.
pub const MAX_VERIFICATIONS: usize = 256;

/// The controls that are being verified.
#[derive(Debug, Default)]
pub(super) struct Verifications(Vec<Verification>);

#[derive(Debug)]
struct Verification {
    ticket: Ticket,
    verify: Verify,
    /// Since when it is acknowledged.
    since: Option<Instant>,
    reports: u32,
}

impl Verification {
    fn deadline(&self) -> Option<Instant> {
        Some(self.since? + self.verify.within)
    }
}

impl Verifications {
    pub fn has_room(&self) -> bool {
        self.0.len() < MAX_VERIFICATIONS
    }

    pub fn add(&mut self, ticket: Ticket, verify: Verify) {
        self.0.push(Verification { ticket, verify, since: None, reports: 0 });
    }

    /// When the next one is over at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(Verification::deadline).min()
    }

    /// The RIC is lost: nobody can tell of those that are acknowledged.
    pub fn lose(&mut self) -> Vec<(Ticket, Verdict)> {
        let lost = std::mem::take(&mut self.0);
        lost.into_iter().filter(|lost| lost.since.is_some()).map(|lost| (lost.ticket, Verdict::NoReports)).collect()
    }

    /// A control is answered: acknowledged, its effect is looked for; what failed has none.
    pub fn answered(&mut self, ticket: Ticket, result: &ControlOutcome, now: impl FnOnce() -> Instant) {
        let Some(at) = self.0.iter().position(|verification| verification.ticket == ticket) else { return };
        if let ControlOutcome::Acknowledged(_) = result {
            self.0[at].since = Some(now());
        } else {
            self.0.swap_remove(at);
        }
    }

    /// A report came. Those that it confirms.
    #[inline]
    pub fn reported(&mut self, indication: &Indication<'_>) -> Vec<(Ticket, Verdict)> {
        // what hardly anybody does costs hardly anything
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

    /// Those whose time is over.
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
