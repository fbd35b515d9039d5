//! `ferric xapp rc`: sends one E2SM-RC control and prints the nodes' answers.

mod actions;
mod measurement;
mod node;
mod outcome;
mod ue;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2sm::common::{PlmnIdentity, SNssai};
use e2sm::kpm::EveryUe;
use e2sm::rc::{Control, Detection, Revision};
use ferric::e2;
use ferric::e2::topology::UeModel;
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{NodeId, Ticket};
use ferric::link::Address;
use ferric::xapp::{Commands, RequestEvent, XappConfig, XappEvent};

use super::connect;
use super::ues::Ues;
use actions::ActionArgs;
use node::OfferingNode;

/// The time without a new node after which no more nodes are expected.
const SETTLED: Duration = Duration::from_millis(300);
/// What nodes are asked for the names of their UEs, and the reporting period.
const MODELS: &[UeModel] = &[UeModel::Rrc, UeModel::Kpm];
const PERIOD_MS: u32 = 250;

/// Send a control by E2SM-RC.
///
/// The control goes to every node that offers its style and action, or to --node, and is compared with the node's RAN function
/// definition before it is sent. A line names each node that is left out, and why. Ends when all others have answered; fails if
/// no node has executed it.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: ActionArgs,
    /// The RIC's address for xApps.
    #[arg(long, global = true, value_name = "URL", env = "FERRIC_RIC", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    ric: Address,
    /// Only this node, by the name that the RIC prints.
    #[arg(long, global = true, value_name = "NODE")]
    node: Option<String>,
    /// Revision of RC, overriding what the nodes register: 1.03, 3.00 or 5.00.
    #[arg(long, global = true, value_name = "REVISION")]
    rc: Option<Revision>,
    /// Seconds to wait for nodes and answers.
    #[arg(long, global = true, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
}

/// A control without an answer yet.
struct PendingControl {
    node: String,
    detection: Detection,
}

struct Session<'a> {
    args: &'a Args,
    ues: Ues,
    /// All nodes, and those that the control is for but has not been sent to.
    nodes: BTreeMap<NodeId, NodeInfo>,
    offering: Vec<OfferingNode>,
    last_node: Instant,
    /// By name: a RIC that was lost and is back reports its nodes again. No node gets the control twice.
    considered: BTreeSet<String>,
    pending: HashMap<Ticket, PendingControl>,
    sent: usize,
    done: usize,
    left_out: usize,
}

pub fn run(args: &Args, config: XappConfig) -> anyhow::Result<()> {
    // arguments that contradict each other are refused before a RIC is contacted
    args.action.action(PlmnIdentity([0; 3]))?;
    args.action.ue().check()?;
    let mut xapp = connect(&args.ric, "ferric-rc", config, Some(args.seconds))?;
    let stop = xapp.stop_handle();
    program::signals::stop_on_signal(stop.clone())?;

    let end = Instant::now() + Duration::from_secs(args.seconds.into());
    let mut session = Session::new(args);
    while !stop.is_stopped() && Instant::now() < end && !session.is_over() {
        let polled = xapp.poll(Some(Duration::from_millis(50)), |event, ric| session.handle(event, ric));
        polled.context("connection to the RIC lost")?;
        session.advance(&mut xapp.commands());
    }
    session.summary()
}

impl<'a> Session<'a> {
    fn new(args: &'a Args) -> Self {
        Session {
            args,
            ues: Ues::new(),
            nodes: BTreeMap::new(),
            offering: Vec::new(),
            last_node: Instant::now(),
            considered: BTreeSet::new(),
            pending: HashMap::new(),
            sent: 0,
            done: 0,
            left_out: 0,
        }
    }

    fn handle(&mut self, event: XappEvent<'_>, ric: &mut Commands<'_>) {
        match event {
            XappEvent::NodeUp(node) => self.node_up(node, ric),
            XappEvent::NodeLost(node) => {
                self.nodes.remove(&node.id);
                self.offering.retain(|offering| offering.id != node.id);
                self.ues.node_lost(node.id);
            }
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome: result }) => {
                let Some(PendingControl { node, detection }) = self.pending.remove(&ticket) else { return };
                self.done += usize::from(matches!(result, e2::ControlOutcome::Acknowledged(_)));
                program::outln!("node={node} {}", outcome::describe(&result, detection));
            }
            XappEvent::Request(event) => self.ues.handle_request(&event),
            XappEvent::Indication(indication) => drop(self.ues.handle_indication(&indication)),
            _ => {}
        }
    }

    fn node_up(&mut self, node: &NodeInfo, ric: &mut Commands<'_>) {
        self.last_node = Instant::now();
        self.ues.node_up(node);
        self.nodes.insert(node.id, node.clone());
        let name = node.global_id.to_string();
        let is_wanted = self.args.node.as_ref().is_none_or(|wanted| *wanted == name);
        if is_wanted && self.considered.insert(name) {
            match OfferingNode::new(node, self.args.action.id(), self.args.rc) {
                Ok(offering) => self.offering.push(offering),
                Err(why) => self.leave_out(&node.global_id.to_string(), &why),
            }
        }
        self.look_up(ric);
    }

    /// Whether the names of UEs are awaited.
    fn is_looking_up(&self) -> bool {
        self.ues.is_waiting() && !self.args.action.ue().is_found(self.ues.ran())
    }

    fn leave_out(&mut self, node: &str, why: &anyhow::Error) {
        self.left_out += 1;
        program::outln!("node={node} left out: {why:#}");
    }

    /// Asks nodes for the names of their UEs: all nodes, or the parts of the split base stations that offer the control.
    fn look_up(&mut self, ric: &mut Commands<'_>) {
        let wanted = self.args.action.ue();
        let mut asked = Vec::new();
        for offering in &self.offering {
            let Some(station) = self.ues.ran().station_of(offering.id) else { continue };
            if wanted.may_be_anywhere() {
                asked.extend(self.nodes.keys().copied());
            } else if wanted.needs_reports(&offering.global_id, station.nodes().count()) {
                asked.extend(station.nodes().map(|(part, _)| part));
            }
        }
        let kpm_ues = EveryUe::InSlice(SNssai { sst: self.args.action.slice_of_ue(), sd: None });
        for node in asked.iter().filter_map(|node| self.nodes.get(node)) {
            self.ues.ask(node, MODELS, PERIOD_MS, kpm_ues, ric);
        }
    }

    /// Sends the control once all nodes are known and have reported their UEs.
    fn advance(&mut self, ric: &mut Commands<'_>) {
        if self.offering.is_empty() || self.last_node.elapsed() < SETTLED || self.is_looking_up() {
            return;
        }
        for offering in std::mem::take(&mut self.offering) {
            match self.encode(&offering) {
                Ok((header, message)) => {
                    let ticket = ric.control(offering.id, offering.function, &header, &message);
                    let OfferingNode { name, detection, .. } = offering;
                    self.pending.insert(ticket, PendingControl { node: name, detection });
                    self.sent += 1;
                }
                Err(why) => self.leave_out(&offering.name, &why),
            }
        }
        self.ues.end(ric);
    }

    fn encode(&self, node: &OfferingNode) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
        let action = self.args.action.action(node.global_id.plmn_identity())?;
        let ue_id = self.args.action.ue().id_for(node.id, &node.global_id, self.ues.ran())?;
        node.encode(&Control::of_ue(ue_id, action))
    }

    /// Whether all nodes have answered, or none is addressed.
    fn is_over(&self) -> bool {
        let has_chosen = self.sent > 0 || self.left_out > 0;
        has_chosen && self.offering.is_empty() && self.pending.is_empty() && self.last_node.elapsed() >= SETTLED
    }

    fn summary(&self) -> anyhow::Result<()> {
        for control in self.pending.values() {
            program::outln!("node={} no answer", control.node);
        }
        match (self.sent, self.done, self.left_out) {
            (0, _, 0) => bail!("no such node offers E2SM-RC; `ferric xapp kpm` lists the nodes"),
            (0, ..) => {
                bail!("no node was sent the control, {}: the lines above say why", self.args.action.id())
            }
            (_, 0, _) => bail!("no node has executed the control"),
            _ => Ok(()),
        }
    }
}
