//! xApps on E42, FlexRIC's protocol between its RIC and xApps.
//!
//! E42 lists nodes in the answer to a setup only, and has no message for nodes that come or go. While fewer nodes are known than a step
//! has agents, another session is opened for a moment to have them listed again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use anyhow::{Context, bail};
use bench::e42_xapp::{self, E42Answer, E42Xapp, ListedNode, Subscription};
use e2ap::e42::{self, E42Pdu, E42Version};
use e2ap::{GlobalE2NodeId, Pdu, RanFunctionId, RanFunctionItem, RicRequestId};
use ferric::e2::Function;
use ferric::link::{self, Address};
use per::{Gather, Octets, PrintableString};

use super::session::{Interface, Reports, Session, TICK};
use super::{Northbound, NorthboundConfig, Order, Progress};
use crate::southbound::e2::node_number;

/// The requestor of FlexRIC's xApps; they count the instances.
const REQUESTOR: u16 = 1021;
/// The pause between two lists of the nodes.
const LIST_PAUSE_NS: u64 = 500_000_000;

/// xApps of a controller that serves those of FlexRIC.
pub struct E42 {
    /// The controller's address for them.
    pub address: Address,
    /// The version of E2AP that the controller was built with.
    pub version: E42Version,
    /// The configuration of their links.
    pub link: link::Config,
}

impl Northbound for E42 {
    fn name(&self) -> String {
        format!("E42 v{} on {}", self.version, self.address)
    }

    fn run(
        &self,
        config: NorthboundConfig,
        orders: Receiver<Order>,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let kpm = &config.content.kpm;
        let (xapp, _) = self.connect(kpm)?;
        let mut requests = Requests { xapp, function: kpm.id, last: 0, used: BTreeSet::new() };
        let mut session = Session::new(&config, progress);
        let mut next_list_ns = 0;
        let mut answers = Vec::new();
        while !stop.load(Ordering::Acquire) {
            if !session.take_orders(&orders, &mut requests)? {
                return Ok(());
            }
            let now_ns = config.clock.now_ns();
            if session.lacks_nodes() && now_ns >= next_list_ns {
                next_list_ns = now_ns + LIST_PAUSE_NS;
                let (_, nodes) = self.connect(kpm)?;
                for ListedNode { id, functions } in nodes {
                    if let Some(number) = node_number(id).filter(|_| functions.contains(&kpm.id)) {
                        session.node_up(id, kpm.id, number, &mut requests)?;
                    }
                }
            }
            session.request(&mut requests)?;
            let timeout = session.until_request().min(TICK);
            requests.xapp.receive(timeout, |pdu| {
                if !report(&mut session, pdu, self.version) {
                    answers.extend(e42_xapp::answer(pdu, self.version));
                }
            })?;
            answers.drain(..).try_for_each(|answer| handle(&mut session, answer, &mut requests))?;
            session.pause();
        }
        Ok(())
    }
}

impl E42 {
    fn connect(&self, kpm: &Function) -> anyhow::Result<(E42Xapp, Vec<ListedNode>)> {
        let function = RanFunctionItem {
            id: kpm.id,
            definition: Octets::from(kpm.definition.as_slice()),
            revision: kpm.revision,
            oid: Some(PrintableString::try_from(kpm.oid.as_str()).context("the object identifier of KPM")?),
        };
        E42Xapp::connect(&self.address, self.version, &self.link, function)
    }
}

/// The requests of a session. A request, and the subscription that it asks for, have the number of the request id.
struct Requests {
    xapp: E42Xapp,
    /// The function for reports.
    function: RanFunctionId,
    last: u16,
    /// The instances of requests without an answer, and of subscriptions.
    used: BTreeSet<u16>,
}

impl Requests {
    fn id(&mut self) -> anyhow::Result<RicRequestId> {
        if self.used.len() >= usize::from(u16::MAX) {
            bail!(
                "all request ids of E42 are in use: the controller does not answer, or the scenario has too many agents"
            );
        }
        loop {
            self.last = self.last.wrapping_add(1);
            if self.used.insert(self.last) {
                return Ok(RicRequestId { requestor: REQUESTOR, instance: self.last });
            }
        }
    }

    fn release(&mut self, id: RicRequestId) -> u32 {
        self.used.remove(&id.instance);
        u32::from(id.instance)
    }
}

impl Interface for Requests {
    type Node = GlobalE2NodeId;
    const FOLLOWS_NODES: bool = false;

    fn subscribe(&mut self, node: GlobalE2NodeId, function: RanFunctionId, reports: &Reports) -> anyhow::Result<u32> {
        let id = self.id()?;
        let Reports { event_trigger, action } = reports;
        self.xapp.subscribe(node, id, Subscription { function, event_trigger, action: Some(action) })?;
        Ok(id.instance.into())
    }

    fn unsubscribe(&mut self, subscription: u32) -> anyhow::Result<()> {
        // the number is that of a request id
        let id = RicRequestId { requestor: REQUESTOR, instance: subscription as u16 };
        self.xapp.unsubscribe(id, self.function)
    }

    fn control(&mut self, node: GlobalE2NodeId, function: RanFunctionId, message: &[u8]) -> anyhow::Result<u32> {
        let id = self.id()?;
        self.xapp.control(node, id, function, &[], message)?;
        Ok(id.instance.into())
    }
}

/// Counts a report. Returns whether the PDU is one.
fn report(session: &mut Session<'_, GlobalE2NodeId>, pdu: &[u8], version: E42Version) -> bool {
    if let Some(peeked) = e2ap::peek::indication(pdu) {
        session.report(peeked.request_id.instance.into(), peeked.sn.map(|sn| sn.0), peeked.header);
        return true;
    }
    // a fragmented message
    let gather = Gather::new();
    let Ok(E42Pdu::E2ap(Pdu::RicIndication(indication))) = e42::decode(pdu, version, &gather) else { return false };
    let sn = indication.sn.map(|sn| sn.0);
    session.report(indication.request_id.instance.into(), sn, &indication.header.to_cow());
    true
}

fn handle(session: &mut Session<'_, GlobalE2NodeId>, answer: E42Answer, requests: &mut Requests) -> anyhow::Result<()> {
    match answer {
        E42Answer::Subscribed(id) => {
            let number = u32::from(id.instance);
            return session.subscribed(number, number, requests);
        }
        E42Answer::SubscriptionFailed(id) => {
            let number = requests.release(id);
            return session.subscription_failed(
                number,
                "the controller answered with a subscription failure",
                requests,
            );
        }
        E42Answer::Unsubscribed(id) => _ = requests.release(id),
        E42Answer::DeleteFailed(id) => {
            requests.release(id);
            session.failed();
        }
        E42Answer::Controlled(id) => {
            let number = requests.release(id);
            session.controlled(number, true);
        }
        E42Answer::ControlFailed(id) => {
            let number = requests.release(id);
            session.controlled(number, false);
        }
    }
    Ok(())
}
