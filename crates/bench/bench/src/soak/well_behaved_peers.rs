//! Well-behaved nodes and an xApp, which must not be affected by the faults of others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use e2ap::{RicActionId, RicActionType, RicIndication, RicIndicationSn, RicIndicationType, Version};
use ferric::StopHandle;
use ferric::e2::{Action, NodeId, SubscriptionSpec};
use ferric::link::{Address, Class, StreamId};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};

use crate::load::{FUNCTION, Node};

/// The number of well-behaved nodes, each with one report per period.
const NODES: u32 = 3;
/// The id of the first well-behaved node; no fault uses these ids.
pub(super) const FIRST_NODE: u32 = 0x00F0_0D00;
const PERIOD: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    sent: AtomicU64,
    received: AtomicU64,
    doubled: AtomicU64,
}

pub(super) struct WellBehavedPeers {
    shared: Arc<Shared>,
    nodes: Vec<JoinHandle<anyhow::Result<()>>>,
    xapp: JoinHandle<anyhow::Result<()>>,
    stop: StopHandle,
}

impl WellBehavedPeers {
    pub fn start(e2: &Address, xapp: &Address) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut nodes = Vec::new();
        for number in 0..NODES {
            let mut node = Node::connect(e2)?;
            node.set_up(FIRST_NODE + number, 1)?;
            nodes.push(node);
        }
        let session = Xapp::connect(xapp, "well-behaved", XappConfig { reconnect: None, ..XappConfig::default() })?;
        let stop = session.stop_handle();
        let xapp = thread::spawn({
            let shared = shared.clone();
            move || read(session, &shared)
        });
        let node = |node: Node| {
            let shared = shared.clone();
            thread::spawn(move || report(node, &shared))
        };
        Ok(WellBehavedPeers { nodes: nodes.into_iter().map(node).collect(), xapp, stop, shared })
    }

    /// # Errors
    /// If a well-behaved peer was disconnected.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.xapp.is_finished() || self.nodes.iter().any(JoinHandle::is_finished) {
            bail!("a well-behaved node or xApp was disconnected");
        }
        Ok(())
    }

    /// Ends the run; returns the reports sent, received and duplicated.
    pub fn end(self) -> anyhow::Result<(u64, u64, u64)> {
        self.shared.ended.store(true, Ordering::Release);
        for node in self.nodes {
            node.join().map_err(|_| anyhow!("a well-behaved node panicked"))??;
        }
        let (sent, received) = (&self.shared.sent, &self.shared.received);
        let deadline = Instant::now() + Duration::from_secs(5);
        while received.load(Ordering::Acquire) < sent.load(Ordering::Acquire) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        self.stop.stop();
        self.xapp.join().map_err(|_| anyhow!("the well-behaved xApp panicked"))??;
        let doubled = self.shared.doubled.load(Ordering::Acquire);
        Ok((sent.load(Ordering::Acquire), received.load(Ordering::Acquire), doubled))
    }
}

fn report(mut node: Node, shared: &Shared) -> anyhow::Result<()> {
    let (request_id, action_id) = node.admit()?;
    let (mut number, mut pdu) = (0_u64, Vec::new());
    while !shared.ended.load(Ordering::Acquire) {
        thread::sleep(PERIOD);
        let indication = RicIndication {
            request_id,
            ran_function_id: FUNCTION,
            action_id,
            sn: Some(RicIndicationSn(number as u16)),
            kind: RicIndicationType::Report,
            header: b"well-behaved".into(),
            message: number.to_be_bytes().to_vec().into(),
            call_process_id: None,
        };
        pdu.clear();
        e2ap::encode(&indication, Version::V2_03, &mut pdu)?;
        node.link.send(StreamId(0), &[&pdu], Class::Keep).context("a well-behaved node was disconnected")?;
        node.flush().context("a well-behaved node was disconnected")?;
        shared.sent.fetch_add(1, Ordering::AcqRel);
        number += 1;
    }
    // the association must outlive the last report
    let deadline = Instant::now() + Duration::from_secs(5);
    while shared.received.load(Ordering::Acquire) < shared.sent.load(Ordering::Acquire) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn read(mut xapp: Xapp, shared: &Shared) -> anyhow::Result<()> {
    let stop = xapp.stop_handle();
    let mut nodes: BTreeMap<NodeId, u64> = BTreeMap::new();
    while !stop.is_stopped() {
        let mut failure = None;
        xapp.poll(Some(Duration::from_millis(100)), |event, commands| match event {
            XappEvent::NodeUp(node) if is_ours(node.global_id) => {
                nodes.insert(node.id, 0);
                let action =
                    Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
                let spec = SubscriptionSpec { event_trigger: b"well-behaved".to_vec(), actions: vec![action] };
                commands.subscribe(node.id, FUNCTION, spec);
            }
            XappEvent::Indication(indication) => {
                let Some(next) = nodes.get_mut(&indication.node) else { return };
                let number =
                    indication.peek().and_then(|peeked| Some(u64::from_be_bytes(*peeked.message.first_chunk()?)));
                match number {
                    Some(number) if number >= *next => {
                        // skipped reports count as lost
                        *next = number + 1;
                        shared.received.fetch_add(1, Ordering::AcqRel);
                    }
                    Some(_) => drop(shared.doubled.fetch_add(1, Ordering::AcqRel)),
                    None => failure = Some("an indication that no well-behaved node has sent"),
                }
            }
            XappEvent::NodeLost(node) if is_ours(node.global_id) && !shared.ended.load(Ordering::Acquire) => {
                failure = Some("a well-behaved node was disconnected");
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { .. }) => {
                failure = Some("a subscription of the well-behaved xApp failed")
            }
            XappEvent::ReportsDropped(_) => failure = Some("the RIC dropped reports to the well-behaved xApp"),
            _ => {}
        })?;
        if let Some(failure) = failure {
            bail!(failure);
        }
    }
    Ok(())
}

fn is_ours(node: e2ap::GlobalE2NodeId) -> bool {
    let e2ap::GlobalE2NodeId::Gnb(id) = node else { return false };
    (u64::from(FIRST_NODE)..u64::from(FIRST_NODE + NODES)).contains(&id.global_gnb_id.gnb_id.value())
}
