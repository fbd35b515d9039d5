//! The active alarms, what waits for its delay, and what was.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use log_lines::{Host, LogBudget, escaped};
use tracing::{info, warn};

use crate::alarm::{Action, Alarm, Definition, Notification, Severity};

/// The most alarms that are active, and that wait to be raised.
pub(crate) const MAX_ACTIVE: usize = 5000;
/// The notifications that are kept.
pub(crate) const MAX_HISTORY: usize = 20_000;
/// The most definitions.
const MAX_DEFINITIONS: usize = 1024;
/// The longest text of an alarm or a definition, in octets.
const MAX_TEXT: usize = 1024;
/// Lines about alarms per minute, unless the budget is that of a RIC.
const LINES_PER_MINUTE: u32 = 1000;
/// The longest delay of a definition, in seconds.
const MAX_DELAY: u32 = 86_400;

/// Why an alarm is not raised, or a problem not defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RaiseError {
    /// The problem is not defined.
    Unknown(i64),
    /// A text has more octets than allowed.
    TooLong,
    /// Object or application are empty.
    Incomplete,
    /// As many alarms are active as may.
    TooMany(usize),
    /// As many problems are defined as may.
    TooManyDefinitions,
    /// An xApp has raised as many as it may, or another one has raised this alarm.
    OfXapp(usize),
    /// The alarm is one that another has raised.
    OfAnother,
    /// A delay is out of its range.
    Delay(u32),
}

impl fmt::Display for RaiseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RaiseError::Unknown(problem) => {
                write!(f, "problem {problem} is not defined: POST its definition to /ric/v1/alarms/define")
            }
            RaiseError::TooLong => write!(f, "a text has more than {MAX_TEXT} octets: shorten it"),
            RaiseError::Incomplete => f.write_str("managedObjectId and applicationId must not be empty"),
            RaiseError::TooMany(limit) => write!(
                f,
                "{limit} alarms are active, as many as may be: clear those that are over, or allow more (POST maxActiveAlarms \
                 to /ric/v1/alarms/config)"
            ),
            RaiseError::TooManyDefinitions => {
                write!(f, "{MAX_DEFINITIONS} problems are defined, as many as may be: use or delete one of them")
            }
            RaiseError::OfXapp(own) => {
                write!(f, "its host has raised {own} alarms that are active, as many as stay free: let it clear some")
            }
            RaiseError::OfAnother => {
                f.write_str("it is active, and another has raised it, who alone changes and clears it")
            }
            RaiseError::Delay(delay) => write!(f, "a delay of {delay} s; at most {MAX_DELAY} s are possible"),
        }
    }
}

impl std::error::Error for RaiseError {}

/// What became of alarms since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Alarms that were raised, by severity.
    pub raised: [(Severity, u64); 5],
    /// Alarms that are active now, by severity.
    pub active: [(Severity, usize); 5],
    /// Alarms that were cleared.
    pub cleared: u64,
    /// Alarms that were not raised because of a mistake or a bound.
    pub refused: u64,
}

/// An active alarm.
#[derive(Debug)]
struct Active {
    notification: Notification,
    /// The host of xApps over RMR that has raised it; `None`: the RIC, or a client of REST.
    owner: Option<Box<str>>,
    /// When it is cleared, unless it is raised again before.
    clear_at: Option<Instant>,
}

/// An alarm that is raised once its time has come.
#[derive(Debug)]
struct Waiting {
    due: Instant,
    alarm: Alarm,
    owner: Option<Box<str>>,
}

/// Gets each alarm that is raised or cleared. It must not block.
pub type Outlet = Box<dyn Fn(&Notification) + Send>;

pub(crate) struct Book {
    active: Vec<Active>,
    waiting: Vec<Waiting>,
    outlets: Vec<Outlet>,
    history: VecDeque<Notification>,
    definitions: Vec<Definition>,
    pub max_active: usize,
    pub max_history: usize,
    raised: BTreeMap<Severity, u64>,
    cleared: u64,
    refused: u64,
    log: LogBudget,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").field("active", &self.active.len()).finish_non_exhaustive()
    }
}

impl Default for Book {
    fn default() -> Self {
        Book::new(LogBudget::new(LINES_PER_MINUTE))
    }
}

impl Book {
    /// Without alarms. Lines about alarms are within the budget.
    pub fn new(log: LogBudget) -> Self {
        Book {
            active: Vec::new(),
            waiting: Vec::new(),
            outlets: Vec::new(),
            history: VecDeque::new(),
            definitions: Definition::built_in(),
            max_active: MAX_ACTIVE,
            max_history: MAX_HISTORY,
            raised: BTreeMap::new(),
            cleared: 0,
            refused: 0,
            log,
        }
    }

    /// Raises an alarm. `owner` is the host of the xApp that raises it over RMR.
    pub fn raise(&mut self, alarm: Alarm, owner: Option<&str>, now: Instant) -> Result<(), RaiseError> {
        let raised = self.try_raise(alarm, owner, now);
        self.refused += u64::from(raised.is_err());
        raised
    }

    fn try_raise(&mut self, mut alarm: Alarm, owner: Option<&str>, now: Instant) -> Result<(), RaiseError> {
        let texts = [&alarm.managed_object_id, &alarm.application_id, &alarm.additional_info, &alarm.identifying_info];
        if texts.iter().any(|text| text.len() > MAX_TEXT) {
            return Err(RaiseError::TooLong);
        }
        if texts[..2].iter().any(|text| text.is_empty()) {
            return Err(RaiseError::Incomplete);
        }
        let definition = self.definition(alarm.specific_problem);
        let delay = definition.ok_or(RaiseError::Unknown(alarm.specific_problem))?.raise_delay;
        if matches!(alarm.perceived_severity, Severity::Default | Severity::Cleared) {
            alarm.perceived_severity = Severity::Warning;
        }
        if let Some(active) = self.active.iter_mut().find(|active| active.notification.alarm.is(&alarm)) {
            if owner.is_some() && active.owner.as_deref() != owner {
                return Err(RaiseError::OfAnother);
            }
            active.clear_at = None;
            // what the RIC finds itself no xApp clears, even if it has raised it first
            if owner.is_none() && active.owner.take().is_some() {
                active.notification.alarm = alarm;
                let notification = Notification { time_ns: now_ns(), ..active.notification.clone() };
                self.keep(notification);
            }
            return Ok(());
        }
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.alarm.is(&alarm)) {
            if owner.is_some() && waiting.owner.as_deref() != owner {
                return Err(RaiseError::OfAnother);
            }
            if owner.is_none() && waiting.owner.take().is_some() {
                waiting.alarm = alarm;
            }
            return Ok(());
        }
        if self.active.len() + self.waiting.len() >= self.max_active {
            return Err(RaiseError::TooMany(self.max_active));
        }
        if owner.is_some() {
            let owners = self.active.iter().map(|active| &active.owner);
            let owners = owners.chain(self.waiting.iter().map(|waiting| &waiting.owner));
            let own = owners.filter(|other| other.as_deref() == owner).count();
            // one host has as many as stay free at most
            if own >= self.max_active - self.active.len() - self.waiting.len() {
                return Err(RaiseError::OfXapp(own));
            }
        }
        let owner = owner.map(Box::from);
        match delay {
            0 => self.activate(alarm, owner),
            delay => self.waiting.push(Waiting { due: now + Duration::from_secs(delay.into()), alarm, owner }),
        }
        Ok(())
    }

    fn activate(&mut self, alarm: Alarm, owner: Option<Box<str>>) {
        let Some(definition) = self.definition(alarm.specific_problem).cloned() else { return };
        if self.allows_line(owner.as_deref()) {
            warn!(
                severity = ?alarm.perceived_severity,
                object = %escaped(&alarm.managed_object_id),
                application = %escaped(&alarm.application_id),
                problem = alarm.specific_problem,
                "alarm raised: {}: {}",
                escaped(&definition.alarm_text),
                escaped(&alarm.identifying_info)
            );
        }
        *self.raised.entry(alarm.perceived_severity).or_default() += 1;
        let notification = Notification { alarm, action: Action::Raise, time_ns: now_ns(), definition };
        self.keep(notification.clone());
        self.active.push(Active { notification, owner, clear_at: None });
    }

    /// Whether one more line about an alarm is within the budget.
    fn allows_line(&self, owner: Option<&str>) -> bool {
        match owner {
            Some(host) => self.log.allow(host.parse::<IpAddr>().map_or(Host::Unknown, Host::from)),
            None => self.log.allow_important(Host::Unknown),
        }
    }

    /// Clears an alarm; a host of xApps only what it has raised.
    pub fn clear(&mut self, alarm: &Alarm, owner: Option<&str>, now: Instant) {
        let is_own = |other: &Option<Box<str>>| owner.is_none() || other.as_deref() == owner;
        self.waiting.retain(|waiting| !waiting.alarm.is(alarm) || !is_own(&waiting.owner));
        let is_it = |active: &Active| active.notification.alarm.is(alarm) && is_own(&active.owner);
        let Some(at) = self.active.iter().position(is_it) else { return };
        match self.active[at].notification.definition.clear_delay {
            0 => {
                let active = self.active.remove(at);
                self.cleared(active);
            }
            delay => {
                let clear_at = now + Duration::from_secs(delay.into());
                self.active[at].clear_at.get_or_insert(clear_at);
            }
        }
    }

    /// Clears all alarms of an application at once.
    pub fn clear_all(&mut self, object: &str, application: &str, owner: Option<&str>) {
        let is_of = |alarm: &Alarm, other: &Option<Box<str>>| {
            let is_own = owner.is_none() || other.as_deref() == owner;
            is_own && alarm.managed_object_id == object && alarm.application_id == application
        };
        self.waiting.retain(|waiting| !is_of(&waiting.alarm, &waiting.owner));
        let is_it = |active: &mut Active| is_of(&active.notification.alarm, &active.owner);
        let cleared: Vec<_> = self.active.extract_if(.., is_it).collect();
        cleared.into_iter().for_each(|active| self.cleared(active));
    }

    /// Notes that an alarm, which is removed, is cleared.
    fn cleared(&mut self, Active { notification, owner, .. }: Active) {
        let Notification { mut alarm, definition, .. } = notification;
        if self.allows_line(owner.as_deref()) {
            info!(
                object = %escaped(&alarm.managed_object_id),
                application = %escaped(&alarm.application_id),
                problem = alarm.specific_problem,
                "alarm cleared: {}: {}",
                escaped(&definition.alarm_text),
                escaped(&alarm.identifying_info)
            );
        }
        alarm.perceived_severity = Severity::Cleared;
        self.cleared += 1;
        self.keep(Notification { alarm, action: Action::Clear, time_ns: now_ns(), definition });
    }

    fn keep(&mut self, notification: Notification) {
        self.outlets.iter().for_each(|outlet| outlet(&notification));
        while self.history.len() >= self.max_history.max(1) {
            self.history.pop_front();
        }
        self.history.push_back(notification);
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        let due: Vec<_> = self.waiting.extract_if(.., |waiting| waiting.due <= now).collect();
        due.into_iter().for_each(|Waiting { alarm, owner, .. }| self.activate(alarm, owner));
        let is_over = |active: &mut Active| active.clear_at.is_some_and(|due| due <= now);
        let cleared: Vec<_> = self.active.extract_if(.., is_over).collect();
        cleared.into_iter().for_each(|active| self.cleared(active));
    }

    pub fn active(&self) -> Vec<Notification> {
        self.active.iter().map(|active| active.notification.clone()).collect()
    }

    pub fn history(&self) -> Vec<Notification> {
        self.history.iter().cloned().collect()
    }

    pub fn add_outlet(&mut self, outlet: Outlet) {
        self.outlets.push(outlet);
    }

    pub fn statistics(&self) -> Statistics {
        let severity = |active: &Active| active.notification.alarm.perceived_severity;
        let active = |of: Severity| self.active.iter().filter(|active| severity(active) == of).count();
        Statistics {
            raised: Severity::OF_ACTIVE.map(|of| (of, self.raised.get(&of).copied().unwrap_or_default())),
            active: Severity::OF_ACTIVE.map(|of| (of, active(of))),
            cleared: self.cleared,
            refused: self.refused,
        }
    }

    pub fn definition(&self, problem: i64) -> Option<&Definition> {
        self.definitions.iter().find(|definition| definition.alarm_id == problem)
    }

    pub fn definitions(&self) -> Vec<Definition> {
        self.definitions.clone()
    }

    /// Adds a definition, or replaces that of the same problem.
    pub fn define(&mut self, definition: Definition) -> Result<(), RaiseError> {
        let texts = [&definition.alarm_text, &definition.event_type, &definition.operation_instructions];
        if texts.iter().any(|text| text.len() > MAX_TEXT) {
            return Err(RaiseError::TooLong);
        }
        if let Some(delay) = [definition.raise_delay, definition.clear_delay].into_iter().find(|one| *one > MAX_DELAY) {
            return Err(RaiseError::Delay(delay));
        }
        match self.definitions.iter().position(|known| known.alarm_id == definition.alarm_id) {
            Some(at) => self.definitions[at] = definition,
            None if self.definitions.len() >= MAX_DEFINITIONS => return Err(RaiseError::TooManyDefinitions),
            None => self.definitions.push(definition),
        }
        Ok(())
    }

    /// Removes a definition. Returns whether it existed. Alarms that are active stay.
    pub fn undefine(&mut self, problem: i64) -> bool {
        let before = self.definitions.len();
        self.definitions.retain(|definition| definition.alarm_id != problem);
        self.definitions.len() < before
    }
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alarm::GNB_LOST;

    fn alarm(node: &str) -> Alarm {
        Alarm {
            managed_object_id: "RIC".to_owned(),
            application_id: "ferric".to_owned(),
            specific_problem: GNB_LOST,
            perceived_severity: Severity::Major,
            additional_info: String::new(),
            identifying_info: node.to_owned(),
        }
    }

    #[test]
    fn alarm_of_a_short_loss_is_not_raised_and_a_flapping_one_stays() {
        let (mut book, start) = (Book::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        book.raise(alarm("a"), None, start).unwrap();
        book.clear(&alarm("a"), None, at(4));
        book.handle_timeout(at(60));
        assert_eq!((book.active().len(), book.history().len()), (0, 0));
        book.raise(alarm("a"), None, at(60)).unwrap();
        book.handle_timeout(at(64));
        assert_eq!(book.active().len(), 0);
        book.handle_timeout(at(65));
        assert_eq!(book.active().len(), 1);
        book.clear(&alarm("a"), None, at(70));
        book.raise(alarm("a"), None, at(74)).unwrap();
        book.handle_timeout(at(80));
        assert_eq!(book.active().len(), 1, "it was back for 4 s only");
        book.clear(&alarm("a"), None, at(81));
        book.clear(&alarm("a"), None, at(84));
        book.handle_timeout(at(86));
        let history: Vec<_> = book.history().iter().map(|one| (one.action, one.alarm.perceived_severity)).collect();
        assert_eq!(history, [(Action::Raise, Severity::Major), (Action::Clear, Severity::Cleared)]);
    }

    #[test]
    fn bounds_are_kept() {
        let mut book = Book { max_active: 3, max_history: 4, ..Book::default() };
        let now = Instant::now();
        book.define(Definition { raise_delay: 0, clear_delay: 0, ..book.definition(GNB_LOST).unwrap().clone() })
            .unwrap();
        for node in ["a", "b", "c"] {
            book.raise(alarm(node), None, now).unwrap();
        }
        assert_eq!(book.raise(alarm("d"), None, now), Err(RaiseError::TooMany(3)));
        assert_eq!(book.raise(alarm("a"), None, now), Ok(()), "it is active");
        book.clear_all("RIC", "ferric", None);
        assert_eq!((book.active().len(), book.history().len()), (0, 4));
        assert_eq!(book.raise(Alarm { specific_problem: 1, ..alarm("a") }, None, now), Err(RaiseError::Unknown(1)));
        assert_eq!(book.raise(alarm(&"x".repeat(2000)), None, now), Err(RaiseError::TooLong));
        let nameless = Alarm { application_id: String::new(), ..alarm("a") };
        assert_eq!(book.raise(nameless, None, now), Err(RaiseError::Incomplete));
        let of = |alarm_id, raise_delay| Definition { alarm_id, raise_delay, ..Definition::built_in()[0].clone() };
        assert_eq!(book.define(of(1, MAX_DELAY + 1)), Err(RaiseError::Delay(MAX_DELAY + 1)));
        for number in 0..(MAX_DEFINITIONS - Definition::built_in().len()) as i64 {
            book.define(of(100_000 + number, 0)).unwrap();
        }
        assert_eq!(book.define(of(1, 0)), Err(RaiseError::TooManyDefinitions));
        assert!(book.undefine(100_000) && !book.undefine(100_000));
    }

    #[test]
    fn hosts_of_xapps_have_what_stays_free_and_clear_their_own() {
        let mut book = Book { max_active: 8, ..Book::default() };
        let now = Instant::now();
        let instant = Definition { raise_delay: 0, clear_delay: 0, ..book.definition(GNB_LOST).unwrap().clone() };
        book.define(instant).unwrap();
        book.raise(alarm("of the RIC"), None, now).unwrap();
        let mut own = 0;
        while book.raise(alarm(&own.to_string()), Some("a"), now).is_ok() {
            own += 1;
        }
        assert_eq!((own, book.raise(alarm("more"), Some("a"), now)), (4, Err(RaiseError::OfXapp(4))));
        book.raise(alarm("of b"), Some("b"), now).unwrap();
        assert_eq!(book.raise(alarm("of the RIC"), Some("a"), now), Err(RaiseError::OfAnother));
        book.clear(&alarm("of the RIC"), Some("a"), now);
        book.clear(&alarm("of b"), Some("a"), now);
        assert_eq!(book.active().len(), 6, "it has raised neither");
        book.clear_all("RIC", "ferric", Some("a"));
        assert_eq!(book.active().len(), 2);
        let statistics = book.statistics();
        assert_eq!((statistics.cleared, statistics.refused), (4, 3));
        assert!(statistics.active.contains(&(Severity::Major, 2)) && statistics.raised.contains(&(Severity::Major, 6)));
    }

    #[test]
    fn alarm_that_the_ric_raises_is_its_own_even_if_an_xapp_was_first() {
        let (mut book, start) = (Book::default(), Instant::now());
        let minor = |node: &str| Alarm { perceived_severity: Severity::Minor, ..alarm(node) };
        // one that is active, and one that waits
        book.raise(minor("a"), Some("x"), start).unwrap();
        let later = start + Duration::from_secs(5);
        book.handle_timeout(later);
        book.raise(minor("b"), Some("x"), later).unwrap();
        book.raise(alarm("a"), None, later).unwrap();
        book.raise(alarm("b"), None, later).unwrap();
        let end = later + Duration::from_secs(3600);
        for node in ["a", "b"] {
            book.clear(&alarm(node), Some("x"), later);
            assert_eq!(book.raise(minor(node), Some("x"), later), Err(RaiseError::OfAnother));
        }
        book.clear_all("RIC", "ferric", Some("x"));
        book.handle_timeout(end);
        let active: Vec<_> = book.active().iter().map(|one| one.alarm.perceived_severity).collect();
        assert_eq!(active, [Severity::Major; 2], "the xApp has cleared nothing");
        let raised: Vec<_> = book.history().iter().map(|one| one.alarm.perceived_severity).collect();
        assert_eq!(raised, [Severity::Minor, Severity::Major, Severity::Major], "the new severity is passed on");
        book.clear_all("RIC", "ferric", None);
        assert_eq!(book.active().len(), 0);
    }

    #[test]
    fn lines_about_alarms_are_within_the_budget() {
        let log = LogBudget::new(8);
        let (mut book, now) = (Book::new(log.clone()), Instant::now());
        book.define(Definition { raise_delay: 0, clear_delay: 0, ..book.definition(GNB_LOST).unwrap().clone() })
            .unwrap();
        for number in 0..100 {
            book.raise(alarm(&number.to_string()), Some("10.0.0.7"), now).unwrap();
        }
        book.clear_all("RIC", "ferric", Some("10.0.0.7"));
        assert_eq!((book.active().len(), book.statistics().cleared), (0, 100));
        let host = |text: &str| Host::from(text.parse::<IpAddr>().unwrap());
        assert!(!log.allow(host("10.0.0.7")), "its host has used its share");
        assert!(log.allow(host("10.0.0.8")), "it leaves lines to others");
    }
}
