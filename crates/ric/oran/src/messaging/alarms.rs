//! Alarms over RMR: those of xApps, and those that are forwarded. The platform's libraries for Python and C++ send RIC_ALARM, that for
//! Go RIC_ALARM_UPDATE, which the platform's alarm manager takes.
//!
//! An xApp sends its alarms where its environment says the alarm manager is: to the RIC. What is forwarded goes to the endpoints of
//! the configuration, such as the platform's alarm manager; it waits while one of them is not connected, within [`MAX_WAITING`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferric::server::IappContext;
use log_lines::Host;
use rest::RateLimit;
use rmr::{Header, Message, MessageType, message};
use tracing::warn;

use super::links::{ConnectionId, EndpointId, Purpose};
use super::{Messaging, MessagingHandle};

/// Messages that wait for an endpoint, and for the event loop. Beyond it the oldest is lost.
pub(super) const MAX_WAITING: usize = 1024;
/// The most endpoints that alarms are forwarded to.
pub const MAX_ALARM_ENDPOINTS: usize = 16;
/// Messages per second of a host, beyond a burst of as many.
const MESSAGES_PER_SECOND: u32 = 20;
/// The endpoints of xApps that are known not to be reachable.
const MAX_UNREACHABLE: usize = 1024;

/// How long an endpoint that is not reachable is remembered, and has its alarm, although nobody needs it any more.
const UNNEEDED: Duration = Duration::from_secs(300);

/// Who takes alarms of xApps, and what is found of them. It is called on the event loop and must not block.
pub trait AlarmSink: Send + Sync {
    /// Handles a message of an xApp of a host.
    ///
    /// # Errors
    /// What is wrong with it.
    fn handle_message(&self, host: &str, payload: &[u8]) -> Result<(), String>;

    /// An endpoint cannot be reached, or can be again: `None`.
    fn set_endpoint(&self, endpoint: &str, fault: Option<&str>);
}

/// What became of messages about alarms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlarmCounts {
    /// Messages that were sent to endpoints.
    pub sent: u64,
    /// Those that were lost: an endpoint was away for too long, or reads too slowly.
    pub lost: u64,
    /// Messages of xApps that were taken.
    pub received: u64,
    /// Those that were refused.
    pub refused: u64,
}

/// An endpoint that alarms are forwarded to.
struct Target {
    name: String,
    endpoint: EndpointId,
    waiting: VecDeque<Arc<[u8]>>,
}

/// The endpoints of xApps that could not be reached, and when each was needed last.
#[derive(Default)]
struct Unreachable(Vec<(String, Instant)>);

impl Unreachable {
    /// Adds an endpoint. Returns whether it is new, and there is room for it.
    fn add(&mut self, name: &str, now: Instant) -> bool {
        let is_new = self.0.len() < MAX_UNREACHABLE && self.0.iter().all(|(known, _)| known != name);
        if is_new {
            self.0.push((name.to_owned(), now));
        }
        is_new
    }

    /// Takes those that are connected, and those that nobody has needed for [`UNNEEDED`]. `is_connected` is that of an endpoint that
    /// something needs.
    fn take_over(&mut self, now: Instant, is_connected: impl Fn(&str) -> Option<bool>) -> Vec<String> {
        let is_over = |(name, needed): &mut (String, Instant)| match is_connected(name) {
            Some(is_connected) => {
                *needed = now;
                is_connected
            }
            None => now.saturating_duration_since(*needed) >= UNNEEDED,
        };
        self.0.extract_if(.., is_over).map(|(name, _)| name).collect()
    }
}

/// The alarms on their way.
pub(super) struct AlarmTraffic {
    targets: Vec<Target>,
    limit: RateLimit<Host>,
    unreachable: Unreachable,
    counts: AlarmCounts,
}

impl Default for AlarmTraffic {
    fn default() -> Self {
        AlarmTraffic {
            targets: Vec::new(),
            limit: RateLimit::new(MESSAGES_PER_SECOND),
            unreachable: Unreachable::default(),
            counts: AlarmCounts::default(),
        }
    }
}

impl fmt::Debug for AlarmTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlarmTraffic").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl MessagingHandle {
    /// Has alarms of xApps taken.
    pub fn serve_alarms(&self, sink: Arc<dyn AlarmSink>) {
        self.port.set_alarm_sink(sink);
    }

    /// Sets the endpoints `HOST:PORT` that alarms are forwarded to, [`MAX_ALARM_ENDPOINTS`] at most.
    pub fn forward_alarms_to(&self, endpoints: Vec<String>) {
        self.port.set_alarm_endpoints(endpoints);
    }

    /// Forwards an alarm: the payload of a message.
    pub fn forward_alarm(&self, payload: Vec<u8>) {
        self.port.push_alarm(payload);
    }

    /// What became of messages about alarms.
    #[must_use]
    pub fn alarm_counts(&self) -> AlarmCounts {
        self.port.alarm_counts()
    }
}

impl Messaging {
    /// Handles an alarm of an xApp.
    pub(super) fn alarm(&mut self, connection: ConnectionId, message: &Message<'_>, ric: &mut IappContext<'_>) {
        let Some((_, host, address)) = self.links.ends(connection) else { return };
        let result = if self.alarms.limit.take(host, Instant::now()).is_err() {
            Err(format!("its host sends more than {MESSAGES_PER_SECOND} per second"))
        } else if let Err(why) = self.check_named(connection, message, ric) {
            Err(why)
        } else {
            match (self.port.alarm_sink(), address) {
                (Some(sink), Some(address)) => {
                    sink.handle_message(&address.to_canonical().to_string(), message.payload)
                }
                _ => Err("this RIC takes none".to_owned()),
            }
        };
        match result {
            Ok(()) => self.alarms.counts.received += 1,
            Err(why) => {
                self.alarms.counts.refused += 1;
                self.complain(connection, &format!("an alarm is dropped: {why}"));
            }
        }
        self.port.set_alarm_counts(self.alarms.counts);
    }

    /// Sends the alarms that wait for endpoints that are connected.
    pub(super) fn deliver_alarms(&mut self) {
        if let Some(names) = self.port.take_alarm_endpoints() {
            let own = self.links.own_names();
            for former in std::mem::take(&mut self.alarms.targets) {
                self.links.release(former.endpoint, Purpose::Alarms);
            }
            for name in names.into_iter().take(MAX_ALARM_ENDPOINTS) {
                if own.contains(&name) {
                    warn!(
                        "alarms are not forwarded to {name}: that is this RIC; give the endpoint of an alarm manager \
                         (--alarm-endpoint)"
                    );
                    continue;
                }
                let endpoint = self.links.hold(&name, Purpose::Alarms);
                self.alarms.targets.push(Target { name, endpoint, waiting: VecDeque::new() });
            }
        }
        let (payloads, lost) = self.port.take_alarms();
        let traffic = &mut self.alarms;
        if payloads.is_empty() && lost == 0 && traffic.targets.iter().all(|target| target.waiting.is_empty()) {
            return;
        }
        traffic.counts.lost += lost * traffic.targets.len() as u64;
        let source = self.links.source();
        for target in &mut traffic.targets {
            target.waiting.extend(payloads.iter().cloned());
            while target.waiting.len() > MAX_WAITING {
                target.waiting.pop_front();
                traffic.counts.lost += 1;
            }
            if !self.links.is_established(target.endpoint) {
                continue;
            }
            for payload in std::mem::take(&mut target.waiting) {
                let mut head = Vec::with_capacity(message::OVERHEAD_OCTETS);
                let kind = MessageType::ALARM_UPDATE;
                let header = Header { kind, source: &source, source_address: &source, ..Header::default() };
                header.write(payload.len(), &mut head);
                if self.links.send_to(target.endpoint, &[&head, &payload]) {
                    traffic.counts.sent += 1;
                } else {
                    traffic.counts.lost += 1;
                }
            }
        }
        self.port.set_alarm_counts(traffic.counts);
    }

    /// Notes that an endpoint could not be reached for long. That of an alarm manager is tried on.
    pub(super) fn endpoint_unreachable(&mut self, endpoint: EndpointId) {
        if let Some(target) = self.alarms.targets.iter_mut().find(|target| target.endpoint == endpoint) {
            if self.links.log().allow_important(Host::Unknown) {
                warn!(
                    "{} alarms wait for {}, which cannot be reached; the newest {MAX_WAITING} are kept; check it \
                     (--alarm-endpoint)",
                    target.waiting.len(),
                    target.name
                );
            }
            self.links.release(endpoint, Purpose::Alarms);
            target.endpoint = self.links.hold(&target.name, Purpose::Alarms);
            return;
        }
        let name = self.links.name(endpoint).to_owned();
        if let Some(sink) = self.port.alarm_sink()
            && !name.is_empty()
            && self.alarms.unreachable.add(&name, Instant::now())
        {
            sink.set_endpoint(&name, Some("it could not be reached for 60 s"));
        }
    }

    /// Finds endpoints that can be reached again, or that nobody needs any more.
    pub(super) fn find_reachable(&mut self) {
        let (links, traffic) = (&self.links, &mut self.alarms);
        let is_connected = |name: &str| links.endpoint(name).map(|endpoint| links.is_established(endpoint));
        let back = traffic.unreachable.take_over(Instant::now(), is_connected);
        if let Some(sink) = self.port.alarm_sink().filter(|_| !back.is_empty()) {
            back.iter().for_each(|name| sink.set_endpoint(name, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_is_unreachable_until_it_is_connected_or_nobody_needs_it() {
        let (mut unreachable, start) = (Unreachable::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        for name in ["needed", "left", "back"] {
            assert!(unreachable.add(name, start) && !unreachable.add(name, start));
        }
        let state = |name: &str| match name {
            "needed" => Some(false),
            "back" => Some(true),
            _ => None,
        };
        assert_eq!(unreachable.take_over(after(1), state), ["back"]);
        assert_eq!(unreachable.take_over(after(299), state), [""; 0]);
        assert_eq!(unreachable.take_over(after(300), state), ["left"]);
        // the time begins when it is needed no more
        assert_eq!(unreachable.take_over(after(599), |_| None), [""; 0]);
        assert_eq!(unreachable.take_over(after(600), |_| None), ["needed"]);
    }

    #[test]
    fn unreachable_endpoints_are_bounded() {
        let (mut unreachable, now) = (Unreachable::default(), Instant::now());
        let added = (0..2 * MAX_UNREACHABLE).filter(|at| unreachable.add(&at.to_string(), now)).count();
        assert_eq!(added, MAX_UNREACHABLE);
    }
}
