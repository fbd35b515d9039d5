//! CPUs of the hosts of base stations (ferric's CPU model).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use e2::{Action, SubscriptionSpec};
use e2ap::{RicActionId, RicActionType};
use e2sm::Wire;
use e2sm::cpu::{
    ControlHeader, ControlMessage, CpuChoice, CpuNumber, EventTriggerDefinition, Host, IndicationHeader,
    IndicationMessage, MAX_CPUS, MODEL, Policy, Setting, Thread, Unit, Waits,
};

use super::control::{Answer, Encoded, OutcomeModel};
use super::core::{Planned, Purpose, Reader};
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::node::NodeEntry;
use super::ric::{Handle, Node, Ric};

/// The longest time of a setting, in seconds (the model's bound).
const MAX_VALID: Duration = Duration::from_secs(86_400);

/// The CPUs of the host of one node, or of all that report them.
#[derive(Clone)]
pub struct Cpus {
    ric: Handle,
    node: Option<String>,
    valid: Option<Duration>,
}

impl Ric {
    /// The CPUs of the hosts of all nodes that report them.
    #[must_use]
    pub fn cpu(&self) -> Cpus {
        Cpus { ric: self.handle().clone(), node: None, valid: None }
    }
}

impl Node {
    /// The CPUs of this node's host.
    #[must_use]
    pub fn cpu(&self) -> Cpus {
        Cpus { ric: self.handle().clone(), node: Some(self.name()), valid: None }
    }
}

/// What a node reports of its host over a period. Counts are those of the period, which begins with the report before.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CpuReport {
    /// The node.
    pub node: Arc<str>,
    /// The end of the period.
    pub time: SystemTime,
    /// Its length. Shorter than the time since the last report if the node has started to count again.
    pub period: Duration,
    /// The host.
    pub host: Host<'static>,
    /// The base-band unit, with what is in force for it.
    pub unit: Unit<'static>,
    /// Its threads; none while it is not running.
    pub threads: Vec<Thread<'static>>,
}

impl CpuReport {
    /// The waits of all threads.
    #[must_use]
    pub fn waits(&self) -> Waits {
        self.threads.iter().fold(Waits::default(), |sum, thread| sum.with(&thread.waits))
    }

    /// The share of waits of 16 us and more among those of all threads, in percent; 0 without waits.
    #[must_use]
    pub fn late_percent(&self) -> f64 {
        let waits = self.waits();
        if waits.total() == 0 { 0.0 } else { 100.0 * waits.us_16 as f64 / waits.total() as f64 }
    }

    /// The deadline misses of all threads that count them.
    #[must_use]
    pub fn deadline_misses(&self) -> u64 {
        self.threads.iter().filter_map(|thread| thread.deadline_misses).fold(0, u64::saturating_add)
    }

    /// The share of subframes that were processed too late, among those of all threads that count them, in percent; 0 without
    /// subframes.
    #[must_use]
    pub fn deadline_miss_percent(&self) -> f64 {
        let subframes = self.threads.iter().filter_map(|thread| thread.subframes).fold(0, u64::saturating_add);
        if subframes == 0 { 0.0 } else { 100.0 * self.deadline_misses() as f64 / subframes as f64 }
    }

    /// The mean utilisation of the unit's CPUs, in percent; 0 without CPUs.
    #[must_use]
    pub fn utilisation_percent(&self) -> f64 {
        let own = self.host.cpus.iter().filter(|cpu| self.unit.cpus.contains(&cpu.number));
        let (sum, count) = own.fold((0.0, 0), |(sum, count), cpu| (sum + cpu.utilisation_percent(), count + 1));
        if count == 0 { 0.0 } else { sum / f64::from(count) }
    }
}

impl Cpus {
    /// Reports of each period, also of nodes that come later. The first report of a node begins its first period and is not passed on.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a period of 0; [`Error::NotOffered`], [`Error::Refused`] for a period that is too short, or if the
    /// node exposes its CPUs to another controller: if every node refuses.
    pub fn every(&self, period_ms: u32) -> Result<Feed<CpuReport>, Error> {
        if period_ms == 0 {
            return Err(Error::invalid("period_ms", period_ms, "at least 1"));
        }
        let buffer = Arc::new(Buffer::new().map_err(|source| self.ric.system_error("eventfd", source))?);
        let (purpose, node) = (Purpose::Cpus { period_ms, buffer: Arc::clone(&buffer) }, self.node.clone());
        let id = self.ric.session.ask(
            || "reports of CPUs".into(),
            self.ric.deadline,
            move |core, commands, reply| core.add_stream(commands, purpose, node, reply),
        )?;
        Ok(Feed::new(buffer, id, Arc::clone(&self.ric.session)))
    }

    /// The same nodes; what is set by this handle is withdrawn by the node after so many seconds without another control, so that it
    /// does not outlive an xApp that has failed. At most a day; less than a second is one.
    #[must_use]
    pub fn valid_for(&self, time: Duration) -> Cpus {
        Cpus { valid: Some(time), ..self.clone() }
    }

    /// Sets the policy of the unit; its CPUs stay.
    ///
    /// # Errors
    /// [`Error::NotOffered`], [`Error::Refused`] with what the node says.
    pub fn set_policy(&self, policy: Policy) -> Result<Vec<Answer>, Error> {
        self.apply(Some(policy), None)
    }

    /// Sets the number of the unit's CPUs, which the node chooses; the policy stays.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no CPU, or more than 1024; as [`Cpus::set_policy`].
    pub fn set_count(&self, count: u16) -> Result<Vec<Answer>, Error> {
        self.apply(None, Some(CpuChoice::Count(count)))
    }

    /// Sets the unit's CPUs by their numbers; the policy stays.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no CPU, more than 1024 or a number beyond 1023; as [`Cpus::set_policy`].
    pub fn set_cpus(&self, numbers: impl IntoIterator<Item = u16>) -> Result<Vec<Answer>, Error> {
        self.apply(None, Some(CpuChoice::List(numbers.into_iter().map(CpuNumber).collect())))
    }

    /// Sets policy and CPUs together; what is absent stays.
    ///
    /// # Errors
    /// As [`Cpus::set_cpus`]; [`Error::Refused`] if nothing is set.
    pub fn apply(&self, policy: Option<Policy>, cpus: Option<CpuChoice<'static>>) -> Result<Vec<Answer>, Error> {
        let expected = format!("1 to {MAX_CPUS} CPUs, with numbers below {MAX_CPUS}");
        let invalid = |value: String| Err(Error::invalid("cpus", value, expected));
        match &cpus {
            Some(CpuChoice::Count(count)) if *count == 0 || usize::from(*count) > MAX_CPUS => {
                return invalid(count.to_string());
            }
            Some(CpuChoice::List(list)) => {
                if list.is_empty() || list.len() > MAX_CPUS {
                    return invalid(format!("{} CPUs", list.len()));
                }
                if let Some(cpu) = list.iter().find(|cpu| usize::from(cpu.0) >= MAX_CPUS) {
                    return invalid(cpu.0.to_string());
                }
            }
            _ => {}
        }
        let valid_s = match self.valid {
            Some(time) if time > MAX_VALID => {
                return Err(Error::invalid("valid_for", format!("{} s", time.as_secs()), "at most 86400 s"));
            }
            time => time.map(|time| u32::try_from(time.as_secs().max(1)).unwrap_or(u32::MAX)),
        };
        self.send(ControlMessage::Apply(Setting { policy, cpus, valid_s }))
    }

    /// Withdraws what controls have set: the nodes have the policy and the CPUs again that their operator configured.
    ///
    /// # Errors
    /// As [`Cpus::set_policy`].
    pub fn withdraw(&self) -> Result<Vec<Answer>, Error> {
        self.send(ControlMessage::Withdraw)
    }

    fn send(&self, message: ControlMessage<'static>) -> Result<Vec<Answer>, Error> {
        self.ric.control_nodes("control of its host's CPUs", self.node.clone(), move |_, node| {
            let Some((function, wire)) = node.model(MODEL) else { return Ok(None) };
            let (mut header, mut octets) = (Vec::new(), Vec::new());
            let written =
                ControlHeader::default().encode(wire, &mut header).and_then(|()| message.encode(wire, &mut octets));
            written.map_err(|error| Error::invalid("cpus", &message, error.to_string()))?;
            Ok(Some(Encoded { function, header, message: octets, outcome: OutcomeModel::Cpu(wire) }))
        })
    }
}

impl fmt::Debug for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpus").field("node", &self.node).field("valid", &self.valid).finish_non_exhaustive()
    }
}

/// Reads the reports of a subscription: each with the counts since the one before.
pub(super) struct CpuReader {
    wire: Wire,
    last: Option<IndicationMessage<'static>>,
}

impl CpuReader {
    /// Reads a report. `None` for the first one.
    pub fn read(&mut self, node: &Arc<str>, header: &[u8], message: &[u8]) -> Result<Option<CpuReport>, e2sm::Error> {
        let header = IndicationHeader::decode(header, self.wire)?;
        let state = IndicationMessage::decode_owned(message, self.wire)?;
        let Some(last) = self.last.replace(state.clone()) else { return Ok(None) };
        let IndicationMessage { measured_us, host, unit, threads } = state.since(&last);
        let time = UNIX_EPOCH + Duration::from_micros(u64::try_from(header.timestamp_us).unwrap_or(0));
        let period = Duration::from_micros(measured_us);
        Ok(Some(CpuReport { node: Arc::clone(node), time, period, host, unit, threads: threads.to_vec() }))
    }
}

/// The subscription at a node.
pub(super) fn plan(node: &NodeEntry, period_ms: u32) -> Result<Vec<Planned>, Error> {
    let Some((function, wire)) = node.model(MODEL) else { return Err(node.lacks("the CPUs of its host")) };
    let mut event_trigger = Vec::new();
    let written = EventTriggerDefinition { period_ms }.encode(wire, &mut event_trigger);
    written.map_err(|error| Error::invalid("period_ms", period_ms, error.to_string()))?;
    let (id, kind) = (RicActionId(0), RicActionType::Report);
    let actions = vec![Action { id, kind, definition: None, subsequent: None }];
    let reader = Reader::Cpus(Box::new(CpuReader { wire, last: None }));
    let spec = SubscriptionSpec { event_trigger, actions };
    Ok(vec![Planned { function, spec, begins_with_state: false, reader }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_has_the_counts_since_the_one_before() {
        let thread = |late: u64, misses| Thread {
            name: per::PrintableString::literal("ru_thread"),
            tid: 7,
            waits: Waits::from_counts([100 * late, 0, 0, 0, late]),
            preempted: 0,
            subframes: Some(late),
            deadline_misses: Some(misses),
        };
        let octets = |at: u64, thread: Thread<'static>| {
            let (mut header, mut message) = (Vec::new(), Vec::new());
            IndicationHeader { timestamp_us: at as i64 }.encode(Wire::Per, &mut header).unwrap();
            let state =
                IndicationMessage { measured_us: at, threads: vec![thread].into(), ..IndicationMessage::default() };
            state.encode(Wire::Per, &mut message).unwrap();
            (header, message)
        };
        let mut reader = CpuReader { wire: Wire::Per, last: None };
        let mut read = |at, thread| {
            let (header, message) = octets(at, thread);
            reader.read(&"gnb".into(), &header, &message).unwrap()
        };
        assert_eq!(read(1_000_000, thread(10, 1)), None);
        let report = read(1_500_000, thread(30, 4)).unwrap();
        assert_eq!((report.period, report.deadline_misses()), (Duration::from_millis(500), 3));
        assert!((report.deadline_miss_percent() - 15.0).abs() < 1e-9, "{}", report.deadline_miss_percent());
        assert!((report.late_percent() - 100.0 / 101.0).abs() < 1e-9, "{}", report.late_percent());
        assert_eq!(report.time, UNIX_EPOCH + Duration::from_millis(1500));
        assert!(reader.read(&"gnb".into(), &[], &[0xff]).is_err());
    }
}
