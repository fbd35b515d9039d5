//! E2 nodes on E2AP, with the RAN functions of the recorded node.

use std::cell::RefCell;
use std::sync::Arc;

use e2ap::{
    Codec, GlobalE2NodeId, GnbId, PlmnIdentity, RicActionId, RicIndication, RicIndicationSn, RicIndicationType,
    RicRequestId, Version,
};
use e2sm::kpm::{EventTriggerDefinition, EventTriggerDefinitionFormats};
use ferric::e2::{self, AgentConfig, CloseReason, Notice, Time};
use per::Octets;

use super::{Agent, AgentEvent, Report, Southbound};
use crate::content::{Content, REVISION, SLICE_FUNCTION, write_header};

/// E2 nodes.
pub struct E2 {
    content: Arc<Content>,
    version: Version,
    codec: Codec,
}

impl E2 {
    /// Nodes of a version of E2AP, in an encoding, that report `content`.
    #[must_use]
    pub fn new(content: Arc<Content>, version: Version, codec: Codec) -> Self {
        E2 { content, version, codec }
    }
}

/// The global id of the node with a number: each is a gNB in network 001.01.
#[must_use]
pub fn node_id(number: u32) -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 32))
}

/// The number of the node with a global id, if it is one of ours.
#[must_use]
pub fn node_number(id: GlobalE2NodeId) -> Option<u32> {
    let GlobalE2NodeId::Gnb(gnb) = id else { return None };
    u32::try_from(gnb.global_gnb_id.gnb_id.value()).ok()
}

impl Southbound for E2 {
    fn name(&self) -> String {
        format!("E2AP v{} in {}", self.version, self.codec)
    }

    fn agent(&self, number: u32) -> Box<dyn Agent> {
        let functions = std::iter::once(&self.content.kpm).chain(&self.content.slice).cloned().collect();
        let mut config = AgentConfig::new(node_id(number), functions);
        config.version = self.version;
        config.codec = self.codec;
        let machine = e2::Agent::new(config);
        let content = Arc::clone(&self.content);
        let (version, codec) = (self.version, self.codec);
        Box::new(E2Agent { number, version, codec, content, subscriptions: Vec::new(), machine })
    }
}

struct E2Agent {
    number: u32,
    version: Version,
    codec: Codec,
    content: Arc<Content>,
    /// The active subscriptions, by their slots.
    subscriptions: Vec<Option<Subscription>>,
    machine: e2::Agent,
}

/// A subscription, with all that a report needs: of thousands of agents, each with one report now and then, the machine's own tables are
/// seldom in the processor's caches.
#[derive(Clone, Copy)]
struct Subscription {
    id: RicRequestId,
    action: RicActionId,
    /// The number of the next report.
    sn: u16,
}

thread_local! {
    /// Header and message of the report that is being written: agents hold no buffers.
    static BUFFERS: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::default();
}

fn time(ns: u64) -> Time {
    Time::from_nanos(ns)
}

impl Agent for E2Agent {
    fn open(&mut self, now_ns: u64) {
        self.machine.handle_open(time(now_ns));
    }

    fn close(&mut self, now_ns: u64) {
        self.machine.handle_close(time(now_ns), CloseReason::Transport);
    }

    fn receive(&mut self, now_ns: u64, message: &[u8]) {
        self.machine.handle_pdu(time(now_ns), message);
    }

    fn timeout_ns(&self) -> Option<u64> {
        self.machine.poll_timeout().map(Time::as_nanos)
    }

    fn expire(&mut self, now_ns: u64) {
        self.machine.handle_timeout(time(now_ns));
    }

    fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool {
        self.machine.poll_transmit(out)
    }

    fn poll_event(&mut self) -> Option<AgentEvent> {
        while let Some(event) = self.machine.poll_event() {
            let event = match event {
                e2::AgentEvent::Connect => AgentEvent::Connect,
                e2::AgentEvent::Up { .. } => AgentEvent::Up,
                e2::AgentEvent::Subscribe(request) => match self.subscribe(&request) {
                    Some(event) => event,
                    None => continue,
                },
                e2::AgentEvent::Unsubscribe { request_id, .. } => {
                    let slot = self.subscriptions.iter().position(|s| s.is_some_and(|s| s.id == request_id));
                    let Some(slot) = slot else { continue };
                    self.subscriptions[slot] = None;
                    AgentEvent::Unsubscribed { slot: slot as u16 }
                }
                // the recorded cell accepts every slice: the controller is measured, not admission
                e2::AgentEvent::Control(request) if request.ran_function_id == SLICE_FUNCTION => {
                    // it fails for a request that has just ended
                    let _ = self.machine.acknowledge(request.request_id, None);
                    AgentEvent::Controlled
                }
                e2::AgentEvent::Notice(Notice::SetupRefused { .. }) => AgentEvent::Refused,
                e2::AgentEvent::Notice(_) => AgentEvent::Fault,
                other => {
                    self.machine.decline(&other);
                    continue;
                }
            };
            return Some(event);
        }
        self.machine.poll_close().map(|_| AgentEvent::Close)
    }

    fn write_report(&mut self, report: Report, out: &mut Vec<u8>) -> bool {
        let Some(Some(subscription)) = self.subscriptions.get_mut(usize::from(report.slot)) else { return false };
        let Subscription { id, action, sn } = *subscription;
        subscription.sn = sn.wrapping_add(1);
        BUFFERS.with_borrow_mut(|(header, message)| {
            write_header(report.time_stamp, header);
            self.content.write_message(self.number, report.ues, report.number, message);
            let indication = RicIndication {
                request_id: id,
                ran_function_id: self.content.kpm.id,
                action_id: action,
                sn: Some(RicIndicationSn(sn)),
                kind: RicIndicationType::Report,
                header: Octets::from(header.as_slice()),
                message: Octets::from(message.as_slice()),
                call_process_id: None,
            };
            self.codec.encode_indication(&indication, self.version, out).is_ok()
        })
    }
}

impl E2Agent {
    /// Admits a subscription to the reports, or refuses it.
    fn subscribe(&mut self, request: &e2::SubscriptionRequest) -> Option<AgentEvent> {
        let declined = e2::AgentEvent::Subscribe(request.clone());
        let trigger = EventTriggerDefinition::decode(&request.event_trigger, REVISION);
        let (Ok(trigger), Some(action)) = (trigger, request.actions.first()) else {
            self.machine.decline(&declined);
            return None;
        };
        if request.ran_function_id != self.content.kpm.id {
            self.machine.decline(&declined);
            return None;
        }
        let EventTriggerDefinitionFormats::Format1(trigger) = trigger.formats;
        let cause = e2ap::Cause::RicRequest(e2ap::CauseRicRequest::ActionNotSupported);
        let others: Vec<_> = request.actions[1..].iter().map(|action| (action.id, cause)).collect();
        self.machine.admit(request.request_id, &[action.id], &others).ok()?;
        let free = self.subscriptions.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.subscriptions.push(None);
            self.subscriptions.len() - 1
        });
        self.subscriptions[slot] = Some(Subscription { id: request.request_id, action: action.id, sn: 0 });
        Some(AgentEvent::Subscribed { slot: slot as u16, period_ns: u64::from(trigger.reporting_period) * 1_000_000 })
    }
}
