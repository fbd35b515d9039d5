//! A session that outlives its RIC.

use std::time::{Duration, Instant};

use e2::SubscriptionEnd;
use e2::{ControlOutcome, ModifyOutcome, QueryOutcome, SubscribeError};
use link::{Interest, Link};

use super::kept::Asked;
use super::{Commands, LINK_TOKEN, RequestEvent, Session, Xapp, XappEvent};
use crate::{Error, endpoint};

impl Xapp {
    /// Connects again, once the pause is over. Whether there is a link.
    pub(super) fn come_back(
        &mut self,
        patience: Option<Duration>,
        until: Instant,
        handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<bool, Error> {
        let left = until.saturating_duration_since(Instant::now());
        self.poll.wait(&mut self.events, Some(patience.unwrap_or(left).min(left))).map_err(Error::epoll)?;
        // what is asked for now is asked of nobody
        self.fail_unanswered(handle);
        if Instant::now() < until {
            return Ok(false);
        }
        endpoint::renew_certificates(&self.config.link);
        let linked = Link::connect(&self.address, &self.config.link).map_err(Error::from);
        let added = linked.and_then(|link| {
            self.poll.add(&link, LINK_TOKEN, Interest::READ_WRITE).map_err(Error::epoll)?;
            Ok(link)
        });
        match added {
            Ok(link) => {
                self.link = Some(link);
                self.writable_wanted = true;
                self.session = Session::Greeting(Instant::now() + self.config.connect_timeout);
                self.greet();
                Ok(true)
            }
            Err(error) => {
                tracing::debug!(ric = %self.address, %error, "cannot connect");
                self.rest(handle);
                Ok(false)
            }
        }
    }

    /// The RIC is lost: all that it had told and all that was asked of it.
    pub(super) fn lose(&mut self, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        if let Some(link) = self.link.take() {
            // closing the descriptor would do as well
            let _ = self.poll.remove(&link);
        }
        self.early.clear();
        self.fail_unanswered(handle);
        for node in std::mem::take(&mut self.nodes).values() {
            handle(XappEvent::NodeLost(node), &mut Commands(&mut self.desk));
        }
        self.rest(handle);
    }

    /// What was asked for is not answered, and what stood does not stand now.
    fn fail_unanswered(&mut self, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        self.desk.ends.clear();
        self.desk.bytes.clear();
        let (unanswered, suspended) = self.desk.kept.lose();
        let verdicts = self.desk.verifications.lose();
        let left = self.desk.kept.take_left();
        let commands = &mut Commands(&mut self.desk);
        for (ticket, asked) in unanswered {
            handle(
                match asked {
                    Asked::Subscribe { .. } => {
                        XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error: SubscribeError::NodeLost })
                    }
                    Asked::Modify(subscription) => XappEvent::Request(RequestEvent::Modified {
                        ticket,
                        subscription,
                        outcome: ModifyOutcome::Ended,
                    }),
                    Asked::Control => {
                        XappEvent::Request(RequestEvent::Controlled { ticket, outcome: ControlOutcome::NodeLost })
                    }
                    Asked::Query => {
                        XappEvent::Request(RequestEvent::Queried { ticket, outcome: QueryOutcome::NodeLost })
                    }
                },
                commands,
            );
        }
        for (ticket, verdict) in verdicts {
            handle(XappEvent::Verified { ticket, verdict }, commands);
        }
        for subscription in suspended {
            handle(XappEvent::Request(RequestEvent::SubscriptionSuspended(subscription)), commands);
        }
        for subscription in left {
            handle(
                XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end: SubscriptionEnd::Deleted }),
                commands,
            );
        }
    }

    /// Pauses before the next attempt.
    fn rest(&mut self, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        let retry_in = self.pause;
        self.pause = self.pause.saturating_mul(2).min(self.config.reconnect.unwrap_or_default().last);
        self.session = Session::Lost(Instant::now() + retry_in);
        handle(XappEvent::Disconnected { retry_in }, &mut Commands(&mut self.desk));
    }
}

/// Whether the RIC may be there again: what is wrong with it, or with the xApp, does not pass by itself.
pub(super) fn is_loss(error: &Error) -> bool {
    match error {
        Error::Link(_) | Error::NoAnswer => true,
        Error::Refused(_) | Error::Protocol(_) | Error::System { .. } => false,
    }
}
