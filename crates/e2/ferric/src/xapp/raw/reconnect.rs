//! The loss of the RIC, and reconnection.

use std::time::{Duration, Instant};

use e2::SubscriptionEnd;
use e2::{ControlOutcome, ModifyOutcome, QueryOutcome, SubscribeError};
use link::{Interest, Link, Lookup};

use super::exchange::SessionEvent;
use super::session_state::PendingRequest;
use super::{Commands, ConnectionState, LINK_TOKEN, RequestEvent, Xapp, XappEvent};
use crate::{Error, endpoint};

impl Xapp {
    /// Reconnects once the delay has passed. Returns whether there is a link.
    pub(super) fn reconnect(
        &mut self,
        timeout: Option<Duration>,
        until: Instant,
        handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<bool, Error> {
        let left = until.saturating_duration_since(Instant::now());
        self.poll.wait(&mut self.events, Some(timeout.unwrap_or(left).min(left))).map_err(Error::epoll)?;
        // commands that were given since the loss fail
        self.fail_unanswered(handle);
        if Instant::now() < until {
            return Ok(false);
        }
        match self.begin_to_connect() {
            Ok(()) => Ok(true),
            Err(error) => {
                tracing::debug!(ric = %self.address, %error, "cannot connect to the RIC; retrying");
                self.schedule_reconnect(handle);
                Ok(false)
            }
        }
    }

    /// Begins to connect: has the host name looked up, if the address has one. The hello is sent once there is a link.
    pub(super) fn begin_to_connect(&mut self) -> Result<(), Error> {
        // what was requested of a RIC that is lost
        self.requests.ends.clear();
        self.requests.bytes.clear();
        self.send_hello();
        self.lookup = Some(Lookup::begin(&self.address, &self.config.link, &self.stop.waker()));
        self.connection = ConnectionState::AwaitingWelcome(after(endpoint::LOOKUP_TIMEOUT));
        self.finish_lookup()
    }

    /// Connects to a host whose name is looked up, or was not in time.
    pub(super) fn finish_lookup(&mut self) -> Result<(), Error> {
        let is_late = matches!(self.connection, ConnectionState::AwaitingWelcome(by) if by <= Instant::now());
        let Some(lookup) = self.lookup.take_if(|lookup| lookup.is_done() || is_late) else { return Ok(()) };
        let resolved = endpoint::finish_lookup(lookup)?;
        endpoint::renew_certificates(&self.config.link);
        let link = Link::connect_resolved(resolved, &self.config.link)?;
        self.poll.add(&link, LINK_TOKEN, Interest::READ_WRITE).map_err(Error::epoll)?;
        self.link = Some(link);
        self.writable_wanted = true;
        self.connection = ConnectionState::AwaitingWelcome(after(self.config.connect_timeout));
        Ok(())
    }

    /// Does what is due, without waiting. For the owner of several sessions, which handles the loss of each.
    pub(super) fn advance(&mut self, handle: &mut dyn FnMut(SessionEvent<'_>, &mut Commands<'_>)) -> Result<(), Error> {
        match self.connection {
            ConnectionState::Lost(until) if Instant::now() < until => return Ok(()),
            ConnectionState::Lost(_) => self.begin_to_connect()?,
            ConnectionState::AwaitingWelcome(_) | ConnectionState::Open => {}
        }
        self.converse(Some(Duration::ZERO), handle)
    }

    /// Whether commands wait to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.link.is_some() && !self.requests.ends.is_empty()
    }

    /// When [`Xapp::advance`] has something to do although nothing was received.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let connection = match self.connection {
            ConnectionState::AwaitingWelcome(until) | ConnectionState::Lost(until) => Some(until),
            ConnectionState::Open => None,
        };
        [connection, self.requests.verifications.deadline()].into_iter().flatten().min()
    }

    /// Tries again no later, or no earlier, than at that time.
    pub(super) fn retry(&mut self, limit: impl FnOnce(Instant) -> Instant) {
        if let ConnectionState::Lost(until) = &mut self.connection {
            *until = limit(*until);
        }
    }

    /// Handles the loss of the RIC: its nodes are lost, and unanswered commands fail.
    pub(super) fn lose(&mut self, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        if let Some(link) = self.link.take() {
            // closing the descriptor would do as well
            let _ = self.poll.remove(&link);
        }
        self.lookup = None;
        self.unreported_nodes.clear();
        self.fail_unanswered(handle);
        for node in std::mem::take(&mut self.nodes).values() {
            handle(XappEvent::NodeLost(node), &mut Commands::of(&mut self.requests));
        }
        self.schedule_reconnect(handle);
    }

    /// Reports unanswered commands as failed and subscriptions as suspended.
    fn fail_unanswered(&mut self, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        self.requests.ends.clear();
        self.requests.bytes.clear();
        let (unanswered, suspended) = self.requests.state.handle_loss();
        let verdicts = self.requests.verifications.lose();
        let left = self.requests.state.take_unsubscribed();
        let commands = &mut Commands::of(&mut self.requests);
        for (ticket, request) in unanswered {
            handle(
                match request {
                    PendingRequest::Subscribe { .. } => {
                        XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error: SubscribeError::NodeLost })
                    }
                    PendingRequest::Modify(subscription) => XappEvent::Request(RequestEvent::Modified {
                        ticket,
                        subscription,
                        outcome: ModifyOutcome::Ended,
                    }),
                    PendingRequest::Control => {
                        XappEvent::Request(RequestEvent::Controlled { ticket, outcome: ControlOutcome::NodeLost })
                    }
                    PendingRequest::Query => {
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

    /// Schedules the next attempt.
    fn schedule_reconnect(&mut self, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        let retry_in = self.pause;
        self.pause = self.pause.saturating_mul(2).min(self.config.reconnect.unwrap_or_default().last);
        self.connection = ConnectionState::Lost(after(retry_in));
        handle(XappEvent::Disconnected { retry_in }, &mut Commands::of(&mut self.requests));
    }
}

/// The time after a delay; one that the clock cannot express is cut to 10 years.
pub(super) fn after(delay: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);
    let now = Instant::now();
    now.checked_add(delay).unwrap_or_else(|| now + LONGEST)
}

/// Returns whether another attempt may succeed: a violation of the protocol or a refusal does not resolve itself.
pub(super) fn is_recoverable(error: &Error) -> bool {
    match error {
        Error::Link(_) | Error::NoAnswer => true,
        Error::Refused(_) | Error::Protocol(_) | Error::System { .. } => false,
    }
}
