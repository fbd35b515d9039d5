//! The alarms that the RIC raises itself: lost nodes, and xApps that do not read.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ferric::e2::{Indication, NodeId};
use ferric::e2ap::GlobalE2NodeId;
use ferric::server::{Iapp, IappContext, IappEvent, Server};
use tracing::warn;

use crate::alarm::{Alarm, ENB_LOST, GNB_LOST, Severity, XAPP_BEHIND};
use crate::{Alarms, RaiseError};

/// How often delays and outboxes are looked at.
const PERIOD: Duration = Duration::from_millis(500);
/// The part of an outbox above which an alarm is raised, and that below which it is cleared.
const HIGH: f64 = 0.75;
const LOW: f64 = 0.25;

/// Adds the app that raises the RIC's own alarms.
///
/// # Errors
/// If the system refuses a file descriptor or a thread.
pub fn add_to(server: &mut Server, alarms: &Alarms, outbox_octets: usize) -> Result<(), ferric::Error> {
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
    server.add_iapp(Box::new(Watch { alarms, outbox_octets, nodes: HashMap::new(), behind: Vec::new(), looked }));
    Ok(())
}

struct Watch {
    alarms: Alarms,
    /// The bound of an xApp's outbox.
    outbox_octets: usize,
    nodes: HashMap<NodeId, GlobalE2NodeId>,
    /// The xApps that an alarm was raised for.
    behind: Vec<String>,
    looked: Instant,
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
        match self.alarms.raise(alarm, Instant::now()) {
            Ok(()) | Err(RaiseError::TooMany(_)) => {}
            Err(error) => warn!("the RIC cannot raise an alarm: {error}"),
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

impl Iapp for Watch {
    fn name(&self) -> &str {
        "alarms"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, _: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                self.nodes.insert(node.id, node.global_id);
                self.alarms.clear(&of_node(&node.global_id), Instant::now());
            }
            IappEvent::NodeLost(node) => {
                if let Some(node) = self.nodes.remove(node) {
                    self.raise(of_node(&node));
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
        self.look(ric);
    }
}
