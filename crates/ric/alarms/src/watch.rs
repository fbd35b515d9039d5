//! The alarms that the RIC raises itself: lost nodes, and xApps that do not read.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use ferric::e2::{Indication, NodeId};
use ferric::e2ap::GlobalE2NodeId;
use ferric::server::{Iapp, IappContext, IappEvent, Server};
use tracing::warn;

use crate::alarm::{Alarm, ENB_LOST, GNB_LOST, Severity, XAPP_BEHIND, XAPP_FAULTY, XAPP_UNREACHABLE, XAPP_UNSTEADY};
use crate::book::MAX_ACTIVE;
use crate::{Alarms, RaiseError};

/// How often delays and outboxes are looked at.
const PERIOD: Duration = Duration::from_millis(500);
/// So many sessions of an xApp that end within the time are an alarm; it is cleared when one has lasted as long.
const ENDS: usize = 3;
const STEADY: Duration = Duration::from_secs(60);
/// The xApps whose sessions are compared, by name.
const MAX_NAMES: usize = 1024;
/// The part of an outbox above which an alarm is raised, and that below which it is cleared.
const HIGH: f64 = 0.75;
const LOW: f64 = 0.25;

/// The lost nodes that are remembered: when there are more, the alarm of the oldest stays until the node is back, or somebody clears it.
/// As many that other RICs serve are remembered, the latest ones.
const MAX_LOST: usize = MAX_ACTIVE;

/// What is known of the other RICs that share nodes. It must not block.
pub trait OtherRics: Send {
    /// The name of the RIC that serves a node; `None` if no other one does.
    fn serving(&self, node: &GlobalE2NodeId) -> Option<String>;

    /// Whether the RIC of that name is still one of them.
    fn is_there(&self, name: &str) -> bool;
}

/// Adds the app that raises the RIC's own alarms. A node that another RIC serves has no alarm of a loss.
///
/// # Errors
/// If the system refuses a file descriptor or a thread.
pub fn add_to(
    server: &mut Server,
    alarms: &Alarms,
    outbox_octets: usize,
    others: Option<Box<dyn OtherRics>>,
) -> Result<(), ferric::Error> {
    let waker = server.iapp_waker()?;
    let of_thread = std::sync::Arc::downgrade(&alarms.0);
    let thread = std::thread::Builder::new().name("alarms".to_owned());
    // it ends with the app, which has the alarms
    let run = move || {
        while of_thread.strong_count() > 0 {
            std::thread::sleep(PERIOD);
            waker.wake();
        }
    };
    thread.spawn(run).map_err(|source| ferric::Error::System { what: "start a thread", source })?;
    let alarms = alarms.clone();
    let looked = Instant::now();
    server.add_iapp(Box::new(Watch {
        alarms,
        outbox_octets,
        nodes: HashMap::new(),
        others,
        lost: VecDeque::new(),
        moved: VecDeque::new(),
        behind: Vec::new(),
        sessions: BTreeMap::new(),
        looked,
    }));
    Ok(())
}

/// The sessions of an xApp, by its name.
#[derive(Default)]
struct Sessions {
    /// Their numbers.
    open: Vec<u32>,
    /// When sessions have ended, the latest ones.
    ends: VecDeque<Instant>,
    /// Since when a session is open.
    since: Option<Instant>,
    is_raised: bool,
}

struct Watch {
    alarms: Alarms,
    /// The bound of an xApp's outbox.
    outbox_octets: usize,
    nodes: HashMap<NodeId, GlobalE2NodeId>,
    /// Where several RICs share nodes.
    others: Option<Box<dyn OtherRics>>,
    /// The nodes that an alarm was raised for, and that no other RIC serves; the oldest is the first.
    lost: VecDeque<GlobalE2NodeId>,
    /// The nodes that another RIC serves, with its name; the oldest is the first.
    moved: VecDeque<(GlobalE2NodeId, String)>,
    /// The xApps that an alarm was raised for.
    behind: Vec<String>,
    sessions: BTreeMap<String, Sessions>,
    looked: Instant,
}

fn push_bounded<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == MAX_LOST {
        queue.pop_front();
    }
    queue.push_back(item);
}

fn of_node(node: &GlobalE2NodeId) -> Alarm {
    let is_gnb = matches!(node, GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_));
    alarm(if is_gnb { GNB_LOST } else { ENB_LOST }, Severity::Critical, &node.to_string())
}

fn alarm(specific_problem: i64, perceived_severity: Severity, identifying_info: &str) -> Alarm {
    Alarm {
        managed_object_id: "RIC".to_owned(),
        application_id: "ferric".to_owned(),
        specific_problem,
        perceived_severity,
        additional_info: String::new(),
        identifying_info: identifying_info.to_owned(),
    }
}

impl Watch {
    fn raise(&self, alarm: Alarm) {
        let (problem, of) = (alarm.specific_problem, alarm.identifying_info.clone());
        match self.alarms.raise(alarm, Instant::now()) {
            // the loss itself is in the log
            Ok(()) | Err(RaiseError::TooMany(_)) => {}
            Err(error) => warn!("cannot raise the alarm of problem {problem} for {of}: {error}"),
        }
    }

    /// Raises the alarm of a node that is lost, unless another RIC serves it already.
    fn lose(&mut self, node: GlobalE2NodeId) {
        if let Some(others) = &self.others {
            if let Some(ric) = others.serving(&node) {
                return push_bounded(&mut self.moved, (node, ric));
            }
            push_bounded(&mut self.lost, node);
        }
        self.raise(of_node(&node));
    }

    /// Clears the alarms of nodes that another RIC serves by now, and raises those of nodes whose other RIC is gone. That RIC
    /// raises the alarm of a node that it loses itself.
    fn follow_lost(&mut self) {
        let Some(others) = &self.others else { return };
        let mut lost = Vec::new();
        self.moved.retain_mut(|(node, ric)| match others.serving(node) {
            Some(serving) => {
                *ric = serving;
                true
            }
            None => {
                lost.extend((!others.is_there(ric)).then_some(*node));
                false
            }
        });
        let (alarms, moved) = (&self.alarms, &mut self.moved);
        self.lost.retain(|node| match others.serving(node) {
            Some(ric) => {
                alarms.clear(&of_node(node), Instant::now());
                push_bounded(moved, (*node, ric));
                false
            }
            None => true,
        });
        for node in lost {
            warn!("node {node} is lost: the RIC that has served it is gone");
            push_bounded(&mut self.lost, node);
            self.raise(of_node(&node));
        }
    }

    /// Compares the outboxes of xApps with their bound.
    fn look(&mut self, ric: &IappContext<'_>) {
        let share = |octets: u64| octets as f64 / self.outbox_octets.max(1) as f64;
        let xapps: Vec<_> = ric.xapps().map(|xapp| (xapp.name, share(xapp.outbox_octets))).collect();
        for (name, share) in &xapps {
            if *share > HIGH && !self.behind.contains(name) {
                self.raise(alarm(XAPP_BEHIND, Severity::Minor, name));
                self.behind.push(name.clone());
            }
        }
        let open: Vec<_> = ric.xapps().map(|xapp| (xapp.name, xapp.number)).collect();
        for (name, is_raised) in compare_sessions(&mut self.sessions, &open, Instant::now()) {
            let alarm = alarm(XAPP_UNSTEADY, Severity::Major, &name);
            if is_raised { self.raise(alarm) } else { self.alarms.clear(&alarm, Instant::now()) }
        }
        let (alarms, now) = (&self.alarms, Instant::now());
        self.behind.retain(|name| {
            let is_behind = xapps.iter().any(|(xapp, share)| xapp == name && *share >= LOW);
            if !is_behind {
                alarms.clear(&alarm(XAPP_BEHIND, Severity::Minor, name), now);
            }
            is_behind
        });
    }
}

/// Raises or clears the alarm of a fault of an xApp: of one that the RIC has started (`is_started`, its name), or of one that cannot be
/// reached over RMR (its endpoint). `fault`: why; `None`: it is well again.
pub(crate) fn set_xapp_fault(alarms: &Alarms, is_started: bool, name: &str, fault: Option<&str>) {
    let problem = if is_started { XAPP_FAULTY } else { XAPP_UNREACHABLE };
    let mut alarm = alarm(problem, Severity::Major, name);
    match fault {
        Some(fault) => {
            alarm.additional_info = fault.chars().take(256).collect();
            if let Err(error) = alarms.raise(alarm, Instant::now()) {
                warn!("cannot raise the alarm of problem {problem} for {name}: {error}");
            }
        }
        None => alarms.clear(&alarm, Instant::now()),
    }
}

/// Compares the sessions of xApps with those before. Returns what is raised (`true`) and cleared.
fn compare_sessions(
    known: &mut BTreeMap<String, Sessions>,
    now_open: &[(String, u32)],
    now: Instant,
) -> Vec<(String, bool)> {
    let mut changes = Vec::new();
    for (name, _) in now_open {
        if known.len() < MAX_NAMES && !known.contains_key(name) {
            known.insert(name.clone(), Sessions::default());
        }
    }
    for (name, sessions) in &mut *known {
        let open: Vec<_> = now_open.iter().filter(|(of, _)| of == name).map(|(_, number)| *number).collect();
        let ended = sessions.open.iter().filter(|number| !open.contains(number)).count();
        sessions.ends.extend(std::iter::repeat_n(now, ended.min(ENDS)));
        while sessions.ends.len() > ENDS {
            sessions.ends.pop_front();
        }
        sessions.since =
            if open.is_empty() || ended > 0 { None } else { sessions.since }.or((!open.is_empty()).then_some(now));
        sessions.open = open;
        let is_often = sessions.ends.len() >= ENDS && sessions.ends.front().is_some_and(|first| now - *first <= STEADY);
        let is_steady = sessions.since.is_some_and(|since| now - since >= STEADY);
        if is_often && !sessions.is_raised {
            sessions.is_raised = true;
            changes.push((name.clone(), true));
        } else if is_steady && sessions.is_raised {
            sessions.is_raised = false;
            changes.push((name.clone(), false));
        }
    }
    // an xApp that has ended for good
    known.retain(|_, of| {
        of.is_raised || !of.open.is_empty() || of.ends.back().is_some_and(|last| now - *last <= STEADY)
    });
    changes
}

impl Iapp for Watch {
    fn name(&self) -> &str {
        "alarms"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, _: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                self.nodes.insert(node.id, node.global_id);
                self.lost.retain(|lost| *lost != node.global_id);
                self.moved.retain(|(moved, _)| *moved != node.global_id);
                self.alarms.clear(&of_node(&node.global_id), Instant::now());
            }
            // it has left regularly
            IappEvent::NodeRemoved(node) => drop(self.nodes.remove(node)),
            IappEvent::NodeLost(node) => {
                if let Some(node) = self.nodes.remove(node) {
                    self.lose(node);
                }
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        if self.looked.elapsed() < PERIOD / 2 {
            return; // another app was woken
        }
        self.looked = Instant::now();
        self.alarms.handle_timeout(self.looked);
        self.follow_lost();
        self.look(ric);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::{Arc, Mutex};

    use ferric::e2ap::{GnbId, PlmnIdentity};

    /// A gNB of a number.
    fn gnb(number: u32) -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22))
    }

    /// The nodes of other RICs, and the RICs.
    #[derive(Clone, Default)]
    struct Group(Arc<Mutex<Shared>>);

    #[derive(Default)]
    struct Shared {
        nodes: HashMap<GlobalE2NodeId, &'static str>,
        rics: Vec<&'static str>,
    }

    impl OtherRics for Group {
        fn serving(&self, node: &GlobalE2NodeId) -> Option<String> {
            self.0.lock().unwrap().nodes.get(node).map(|ric| (*ric).to_owned())
        }

        fn is_there(&self, name: &str) -> bool {
            self.0.lock().unwrap().rics.contains(&name)
        }
    }

    /// A watch in a group of RICs, whose alarms have no delays.
    fn in_group(group: &Group) -> Watch {
        let alarms = Alarms::default();
        let definitions = alarms.book().definitions();
        for definition in definitions {
            alarms.book().define(crate::Definition { raise_delay: 0, clear_delay: 0, ..definition }).unwrap();
        }
        Watch {
            alarms,
            outbox_octets: 1,
            nodes: HashMap::new(),
            others: Some(Box::new(group.clone())),
            lost: VecDeque::new(),
            moved: VecDeque::new(),
            behind: Vec::new(),
            sessions: BTreeMap::new(),
            looked: Instant::now(),
        }
    }

    fn active(watch: &Watch) -> Vec<String> {
        watch.alarms.active().into_iter().map(|one| one.alarm.identifying_info).collect()
    }

    #[test]
    fn lost_node_has_an_alarm_until_another_ric_serves_it() {
        let group = Group::default();
        let mut watch = in_group(&group);
        watch.lose(gnb(1));
        watch.lose(gnb(2));
        watch.follow_lost();
        assert_eq!(active(&watch), [gnb(1).to_string(), gnb(2).to_string()]);
        group.0.lock().unwrap().nodes.insert(gnb(2), "b");
        watch.follow_lost();
        assert_eq!(active(&watch), [gnb(1).to_string()]);
        // its loss is noticed after it has set up elsewhere
        watch.lose(gnb(2));
        assert_eq!((active(&watch).len(), watch.lost.len()), (1, 1));
        for number in 0..MAX_LOST as u32 + 5 {
            watch.lose(gnb(1000 + number));
        }
        assert_eq!(watch.lost.len(), MAX_LOST);
    }

    #[test]
    fn node_whose_other_ric_is_gone_has_an_alarm() {
        let group = Group::default();
        let mut watch = in_group(&group);
        group.0.lock().unwrap().rics.extend(["b", "c"]);
        for number in 1..=3 {
            group.0.lock().unwrap().nodes.insert(gnb(number), "b");
            watch.lose(gnb(number));
        }
        watch.follow_lost();
        assert!(active(&watch).is_empty());
        // one has moved on, another one has left the RIC, which is there
        group.0.lock().unwrap().nodes.insert(gnb(2), "c");
        group.0.lock().unwrap().nodes.remove(&gnb(3));
        watch.follow_lost();
        assert!(active(&watch).is_empty());
        // the RIC is gone, and one of its nodes has set up nowhere
        *group.0.lock().unwrap() = Shared { nodes: HashMap::from([(gnb(2), "c")]), rics: vec!["c"] };
        watch.follow_lost();
        assert_eq!((active(&watch), watch.moved.len()), (vec![gnb(1).to_string()], 1));
        group.0.lock().unwrap().nodes.insert(gnb(1), "c");
        watch.follow_lost();
        assert!(active(&watch).is_empty());
        for number in 0..MAX_LOST as u32 + 5 {
            group.0.lock().unwrap().nodes.insert(gnb(1000 + number), "c");
            watch.lose(gnb(1000 + number));
        }
        assert_eq!((watch.moved.len(), watch.lost.len()), (MAX_LOST, 0));
    }

    #[test]
    fn sessions_that_end_again_and_again_are_an_alarm_until_one_lasts() {
        let (mut known, start) = (BTreeMap::new(), Instant::now());
        let mut look = |seconds: u64, open: &[(&str, u32)]| {
            let open: Vec<_> = open.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
            let changes = compare_sessions(&mut known, &open, start + Duration::from_secs(seconds));
            (changes, known.len())
        };
        let none = || Vec::<(String, bool)>::new();
        // it ends three times within a minute, twice between two looks
        assert_eq!(look(0, &[("crash", 1), ("calm", 2)]), (none(), 2));
        assert_eq!(look(1, &[("calm", 2)]), (none(), 2));
        assert_eq!(look(10, &[("crash", 3), ("calm", 2)]), (none(), 2));
        assert_eq!(look(11, &[("crash", 4), ("calm", 2)]), (none(), 2));
        assert_eq!(look(12, &[("crash", 5), ("calm", 2)]), (vec![("crash".to_owned(), true)], 2));
        assert_eq!(look(71, &[("crash", 5), ("calm", 2)]), (none(), 2));
        assert_eq!(look(72, &[("crash", 5), ("calm", 2)]), (vec![("crash".to_owned(), false)], 2));
        // an end now and then is none
        for minute in 2..8 {
            assert_eq!(look(minute * 60, &[("crash", 5), ("calm", 1000 + minute as u32)]), (none(), 2));
        }
        assert_eq!(look(1000, &[]), (none(), 2));
        assert_eq!(look(1061, &[]), (none(), 0));
    }

    #[test]
    fn names_of_sessions_are_bounded() {
        let mut known = BTreeMap::new();
        let open: Vec<_> = (0..2 * MAX_NAMES as u32).map(|number| (number.to_string(), number)).collect();
        compare_sessions(&mut known, &open, Instant::now());
        assert_eq!(known.len(), MAX_NAMES);
    }
}
