//! The collector on E2: an xApp that subscribes to what each node offers, and turns its reports into events and state.
//!
//! | reports of | become |
//! |---|---|
//! | RRC notifications | UEs, their identities and cells; cell changes |
//! | E2SM-RC, copies of RRC messages | measurement reports, and what triggers them; secondary cells of E-UTRA |
//! | E2SM-RC, copies of messages on NG | bearers with their QoS and tunnels |
//! | E2SM-RC, copies of messages on Xn | handovers that are prepared, executed, rejected and cancelled |
//! | GTP statistics | tunnels of bearers |
//! | E2SM-KPM | layer 2 measurements; the 5QI of a bearer, timing advance, and measurement reports where RC has none |
//! | E2SM-CCC, neighbour relations of E2SM-RC | the cells, by the physical identities in measurement reports |
//!
//! The session survives the loss of the RIC and of nodes; a subscription that a node refuses is logged once, and what else the node
//! offers is used.

mod interfaces;
mod layer2;
mod measurements;
mod names;
mod offers;
mod physical_cells;
mod reports;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use e2sm::Arena;
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{NodeId, SubscribeError, SubscriptionEnd, SubscriptionId, Ticket};
use ferric::e2ap::GlobalE2NodeId;
use ferric::link::Address;
use ferric::xapp::{Commands, Indication, RequestEvent, Xapp, XappConfig, XappEvent};
use ids::Cgi;
use per::Gather;
use tracing::{info, warn};

use super::Output;
use super::ues::{Moment, Ues};
use crate::directory::Directory;
use crate::faults::Faults;
use crate::state::RicState;
use interfaces::{Handovers, Sessions};
use measurements::Measurements;
use names::Names;
use offers::{Kind, Offer};
use physical_cells::PhysicalCells;

/// The pause before a subscription that has ended, or could not be set up for a passing reason, is requested again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The most cells of a node whose measurements are requested.
const MAX_CELLS: usize = 64;

/// What the collector requests.
#[derive(Clone, Debug)]
pub struct E2Config {
    /// The session with the RIC.
    pub session: XappConfig,
    /// The period of measurements and statistics, in milliseconds. Default: 1000.
    pub period_ms: u32,
    /// Why UEs send measurement reports, by measurement identity: the values of MEC 012 6.5.12, of E-UTRA 6.5.11. They are those of
    /// UEs whose configuration was not seen, of which other reports have trigger 0, not available. Default: none.
    pub triggers: HashMap<u8, u8>,
}

impl Default for E2Config {
    fn default() -> Self {
        E2Config { session: XappConfig::default(), period_ms: 1000, triggers: HashMap::new() }
    }
}

/// The session with a RIC.
pub struct E2Collector {
    xapp: Xapp,
    core: Core,
}

/// What the collector knows.
struct Core {
    config: E2Config,
    ues: Ues,
    names: Names,
    cells: PhysicalCells,
    sessions: Sessions,
    handovers: Handovers,
    measurements: Measurements,
    nodes: HashMap<NodeId, Node>,
    /// The subscriptions, with the node of each.
    active: HashMap<SubscriptionId, (GlobalE2NodeId, NodeId, Offer)>,
    pending: HashMap<Ticket, (NodeId, Offer)>,
    /// Nodes whose subscriptions are looked at again then.
    retries: Vec<(Instant, NodeId)>,
    arena: Arena,
    /// What the output knows of the RIC.
    reported: Option<RicState>,
    is_connected: bool,
}

/// A node that is up.
struct Node {
    info: NodeInfo,
    cells: BTreeSet<Cgi>,
    /// What it has refused.
    refused: Vec<Offer>,
    /// Messages that could not be read.
    unreadable: Faults,
    /// The UEs of its last report on all UEs.
    reported: BTreeSet<String>,
}

impl fmt::Debug for E2Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("E2Collector")
            .field("ric", self.xapp.address())
            .field("nodes", &self.core.nodes.len())
            .field("subscriptions", &self.core.active.len())
            .finish_non_exhaustive()
    }
}

impl E2Collector {
    /// Connects to a RIC. `directory` has identities of UEs that E2 does not have.
    ///
    /// # Errors
    /// If the RIC does not answer, or refuses the session.
    pub fn connect(ric: &Address, config: E2Config, directory: Arc<Directory>) -> Result<Self, ferric::Error> {
        let xapp = Xapp::connect(ric, "rnis", config.session.clone())?;
        let core = Core {
            config,
            ues: Ues::new(directory),
            names: Names::new(),
            cells: PhysicalCells::default(),
            sessions: Sessions::default(),
            handovers: Handovers::default(),
            measurements: Measurements::default(),
            nodes: HashMap::new(),
            active: HashMap::new(),
            pending: HashMap::new(),
            retries: Vec::new(),
            arena: Arena::new(),
            reported: None,
            is_connected: true,
        };
        Ok(E2Collector { xapp, core })
    }

    /// Waits for reports for at most `timeout`, and writes what they say to `output`.
    ///
    /// # Errors
    /// If the session is over: the RIC has refused it, or broken the protocol.
    pub fn poll(&mut self, timeout: Option<Duration>, output: &dyn Output) -> Result<(), ferric::Error> {
        let E2Collector { xapp, core } = self;
        xapp.poll(timeout, |event, ric| core.handle(event, ric, output))?;
        let at = Moment::now();
        core.ues.expire(at, output);
        core.retry(at.now, &mut xapp.commands());
        core.report(output);
        Ok(())
    }

    /// Looks all UEs up in the directory again, after it has changed.
    pub fn resolve_again(&mut self, output: &dyn Output) {
        self.core.ues.resolve_again(output);
    }
}

impl Core {
    fn handle(&mut self, event: XappEvent<'_>, ric: &mut Commands<'_>, output: &dyn Output) {
        match event {
            XappEvent::Indication(indication) => self.receive(&indication, ric, output),
            XappEvent::NodeUp(info) | XappEvent::NodeChanged(info) => {
                let id = info.id;
                let node = self.nodes.entry(id).or_insert_with(|| Node {
                    info: info.clone(),
                    cells: BTreeSet::new(),
                    refused: Vec::new(),
                    unreadable: Faults::default(),
                    reported: BTreeSet::new(),
                });
                node.info = info.clone();
                node.refused.clear();
                self.names.add_node(id, info.global_id);
                self.subscribe(id, ric);
            }
            XappEvent::NodeLost(info) => {
                let Some(node) = self.nodes.remove(&info.id) else { return };
                if let Some(station) = self.names.remove_node(info.id) {
                    self.ues.lose(station.0.into(), output);
                }
                let gone: Vec<_> = node.cells.into_iter().map(crate::Cell).collect();
                let served: BTreeSet<Cgi> = self.nodes.values().flat_map(|node| node.cells.iter().copied()).collect();
                output.update(&mut |state| {
                    for cell in gone.iter().filter(|cell| !served.contains(&cell.0)) {
                        state.cells.remove(cell);
                    }
                });
            }
            XappEvent::Request(event) => self.handle_answer(event, ric),
            XappEvent::Disconnected { retry_in } => {
                self.is_connected = false;
                warn!("the RIC is lost: no events until it is back; connecting again in {retry_in:?}");
            }
            XappEvent::Reconnected(ric) => {
                self.is_connected = true;
                info!("the RIC {ric} is back");
            }
            XappEvent::ReportsDropped(dropped) => {
                warn!(dropped, "reports are lost: the RIC dropped them because this program reads too slowly");
            }
            _ => {}
        }
    }

    /// Writes the state of the RIC if it has changed.
    fn report(&mut self, output: &dyn Output) {
        let now = Some(RicState { is_connected: self.is_connected, nodes: self.nodes.len() });
        if self.reported != now {
            self.reported = now;
            output.update(&mut |state| state.sources.ric = now);
        }
    }

    fn handle_answer(&mut self, event: RequestEvent, ric: &mut Commands<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, not_admitted, .. } => {
                let Some((node, offer)) = self.pending.remove(&ticket) else { return };
                let Some(up) = self.nodes.get(&node) else { return };
                if let Some((_, cause)) = not_admitted.first() {
                    warn!(node = %up.info.global_id, "the node does not report {}: {cause}", offer.kind.name());
                }
                self.active.insert(subscription, (up.info.global_id, node, offer));
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let Some((node, offer)) = self.pending.remove(&ticket) else { return };
                self.refuse(node, offer, &error, ric);
            }
            RequestEvent::SubscriptionResumed { subscription, node, .. } => {
                if let Some((_, of, _)) = self.active.get_mut(&subscription) {
                    *of = node;
                }
            }
            RequestEvent::SubscriptionEnded { subscription, end } => {
                let Some((global_id, node, offer)) = self.active.remove(&subscription) else { return };
                if !matches!(end, SubscriptionEnd::Deleted | SubscriptionEnd::NodeLost) {
                    warn!(node = %global_id, "the subscription to {} has ended: {end}", offer.kind.name());
                }
                // the node may be up again under another id
                let up = self.nodes.iter().find(|(_, up)| up.info.global_id == global_id).map_or(node, |(id, _)| *id);
                self.retries.push((Instant::now() + RETRY_AFTER, up));
            }
            _ => {}
        }
    }

    /// A subscription could not be set up.
    fn refuse(&mut self, id: NodeId, offer: Offer, error: &SubscribeError, ric: &mut Commands<'_>) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        if matches!(error, SubscribeError::TimedOut | SubscribeError::NodeLost) {
            self.retries.push((Instant::now() + RETRY_AFTER, id));
            return;
        }
        let function = node.info.functions.iter().find(|function| function.id == offer.function);
        let undivided = function.and_then(|function| offers::undivided(&offer, function, self.config.period_ms));
        if let Some(undivided) = undivided {
            // most nodes know no shares of 5QIs
            let ticket = ric.subscribe(id, undivided.function, undivided.order.clone());
            self.pending.insert(ticket, (id, undivided));
            return;
        }
        warn!(node = %node.info.global_id, "{} are not available: {error}", offer.kind.name());
        node.refused.push(offer);
    }

    /// Requests what a node offers and what is neither requested nor refused yet.
    fn subscribe(&mut self, id: NodeId, ric: &mut Commands<'_>) {
        let Some(node) = self.nodes.get(&id) else { return };
        let mut wanted = Vec::new();
        let is_enb = matches!(node.info.global_id, GlobalE2NodeId::Enb(_));
        for function in &node.info.functions {
            let of_cells = node.cells.iter().map(|cell| {
                offers::cell_measurements(function, *cell, self.config.period_ms, true).map(Vec::from_iter)
            });
            let of_function = offers::of_function(function, is_enb, self.config.period_ms);
            let all = std::iter::once(of_function).chain(of_cells);
            for offers in all {
                match offers {
                    Ok(offers) => wanted.extend(offers),
                    Err(error) => {
                        let (node, function) = (&node.info.global_id, function.id.0);
                        warn!(%node, function, "the RAN function is not used, its definition cannot be read: {error}");
                        break;
                    }
                }
            }
        }
        let is_known = |offer: &Offer| {
            let is_same = |known: &Offer| known.function == offer.function && known.kind.is_same(&offer.kind);
            self.active.values().any(|(of, _, known)| *of == node.info.global_id && is_same(known))
                || self.pending.values().any(|(of, known)| *of == id && is_same(known))
                || node.refused.iter().any(is_same)
        };
        wanted.retain(|offer| !is_known(offer));
        for offer in wanted {
            let ticket = ric.subscribe(id, offer.function, offer.order.clone());
            self.pending.insert(ticket, (id, offer));
        }
    }

    fn retry(&mut self, now: Instant, ric: &mut Commands<'_>) {
        if self.retries.iter().all(|(at, _)| *at > now) {
            return;
        }
        let due: BTreeSet<NodeId> = self.retries.iter().filter(|(at, _)| *at <= now).map(|(_, node)| *node).collect();
        self.retries.retain(|(at, _)| *at > now);
        due.into_iter().for_each(|node| self.subscribe(node, ric));
    }

    /// A node serves a cell.
    fn learn_cell(&mut self, id: NodeId, cell: Cgi, ric: &mut Commands<'_>, output: &dyn Output) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        if node.cells.len() >= MAX_CELLS || !node.cells.insert(cell) {
            return;
        }
        output.update(&mut |state| {
            state.cells.entry(crate::Cell(cell)).or_default();
        });
        self.subscribe(id, ric);
    }

    /// The only cell of a node, or else of the other parts of its base station.
    fn only_cell(&self, id: NodeId) -> Option<crate::Cell> {
        let only = |cells: &BTreeSet<Cgi>| cells.first().copied().filter(|_| cells.len() == 1);
        if let Some(cell) = self.nodes.get(&id).and_then(|node| only(&node.cells)) {
            return Some(crate::Cell(cell));
        }
        let parts = self.names.nodes_of(self.names.station(id)?);
        let cells = parts.filter_map(|part| self.nodes.get(&part)).flat_map(|node| node.cells.iter().copied());
        only(&cells.collect()).map(crate::Cell)
    }

    /// Whether a part of a node's base station reports something.
    fn station_has(&self, id: NodeId, is: impl Fn(&Kind) -> bool) -> bool {
        let Some(station) = self.names.station(id) else { return false };
        let parts: BTreeSet<NodeId> = self.names.nodes_of(station).collect();
        self.active.values().any(|(_, node, offer)| parts.contains(node) && is(&offer.kind))
    }

    fn receive(&mut self, indication: &Indication<'_>, ric: &mut Commands<'_>, output: &dyn Output) {
        let at = Moment::now();
        let Some((_, _, offer)) = self.active.get(&indication.subscription) else { return };
        // the state below is borrowed while the message is read
        let kind = offer.kind.clone();
        let mut arena = std::mem::take(&mut self.arena);
        arena.reset();
        let gather = Gather::default();
        let read = match indication.peek() {
            Some(peeked) => self.read(&kind, indication.node, peeked.message, &arena, at, ric, output),
            None => match indication.decode(&gather) {
                Ok(decoded) => self.read(&kind, indication.node, &decoded.message.to_cow(), &arena, at, ric, output),
                // the RIC forwards valid indications: the encoding is unknown
                Err(_) => Err(e2sm::Error::UnknownOid),
            },
        };
        self.arena = arena;
        let Some(node) = self.nodes.get_mut(&indication.node) else { return };
        if let Err(error) = read
            && let Some(unreadable) = node.unreadable.count()
        {
            let global_id = &node.info.global_id;
            warn!(node = %global_id, unreadable, "a report of {} is ignored, it cannot be read: {error}", kind.name());
        }
    }
}
