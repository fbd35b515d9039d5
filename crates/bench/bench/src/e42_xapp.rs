//! A client of E42, as FlexRIC's xApps are: it sets up, subscribes to nodes, sends controls, and receives answers and indications.
//!
//! It has no session state beyond its id: the caller chooses the request ids and pairs answers with requests.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2ap::e42::{
    self, E42ControlRequest, E42Pdu, E42SetupRequest, E42SubscriptionDeleteRequest, E42SubscriptionRequest, E42Version,
    XappId,
};
use e2ap::{
    GlobalE2NodeId, Pdu, RanFunctionId, RanFunctionItem, RicActionId, RicActionToBeSetup, RicActionType,
    RicControlAckRequest, RicRequestId, RicSubscriptionDetails,
};
use ferric::link::{Address, Class, Config, Events, Interest, Link, Poll, Scratch, StreamId};
use per::{Gather, Octets};

/// How long the RIC may need to answer a setup.
const PATIENCE: Duration = Duration::from_secs(10);
/// Octets read before what is queued is written.
const READ_OCTETS: usize = 256 * 1024;

/// An xApp that has set up over E42.
pub struct E42Xapp {
    link: Link,
    poll: Poll,
    events: Events,
    scratch: Scratch,
    version: E42Version,
    id: XappId,
    /// Whether the poll reports that the link can be written.
    is_write_watched: bool,
    octets: Vec<u8>,
}

/// A node as the RIC lists it in its setup response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedNode {
    /// The node.
    pub id: GlobalE2NodeId,
    /// Its RAN functions.
    pub functions: Vec<RanFunctionId>,
}

/// What an xApp subscribes to, as the service model encodes it.
#[derive(Clone, Copy, Debug)]
pub struct Subscription<'a> {
    /// The RAN function.
    pub function: RanFunctionId,
    /// The event trigger definition.
    pub event_trigger: &'a [u8],
    /// The definition of the report action, whose id is 1.
    pub action: Option<&'a [u8]>,
}

impl E42Xapp {
    /// Connects and sets up. Returns the nodes that the RIC lists; E42 has no message for those that connect later.
    ///
    /// # Errors
    /// If the RIC cannot be reached, or does not answer with a setup response of this version within ten seconds.
    pub fn connect(
        ric: &Address,
        version: E42Version,
        config: &Config,
        function: RanFunctionItem<'_>,
    ) -> anyhow::Result<(Self, Vec<ListedNode>)> {
        let link = Link::connect(ric, config)?;
        let poll = Poll::new()?;
        poll.add(&link, 0, Interest::READ_WRITE)?;
        let (events, scratch) = (Events::new(), Scratch::new());
        let (id, octets) = (XappId(0), Vec::new());
        let mut xapp = E42Xapp { link, poll, events, scratch, version, id, is_write_watched: true, octets };
        let what = || format!("E42 setup with {ric}");
        let request = E42SetupRequest { ran_functions: vec![function].into() };
        xapp.send(&E42Pdu::SetupRequest(request)).with_context(what)?;
        let deadline = Instant::now() + PATIENCE;
        let mut answer = None;
        while answer.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!(
                    "{ric} does not answer an E42 setup request; check the address, and that the version is E42 v{version}"
                );
            }
            let received = xapp.receive(left, |pdu| {
                if let Ok(E42Pdu::SetupResponse(response)) = e42::decode(pdu, version, &Gather::new()) {
                    let listed = response.nodes.iter().map(|node| ListedNode {
                        id: node.global_e2_node_id,
                        functions: node.ran_functions.iter().map(|function| function.id).collect(),
                    });
                    answer = Some((response.xapp_id, listed.collect::<Vec<_>>()));
                }
            });
            received.with_context(what)?;
        }
        let (id, listed) = answer.unwrap_or((XappId(0), Vec::new()));
        xapp.id = id;
        Ok((xapp, listed))
    }

    /// Queues a subscription to reports of a node.
    ///
    /// # Errors
    /// If the connection is lost, or as much is queued as the link may hold.
    pub fn subscribe(
        &mut self,
        node: GlobalE2NodeId,
        request_id: RicRequestId,
        subscription: Subscription<'_>,
    ) -> anyhow::Result<()> {
        let Subscription { function, event_trigger, action } = subscription;
        let action = RicActionToBeSetup {
            id: RicActionId(1),
            kind: RicActionType::Report,
            definition: action.map(Octets::from),
            subsequent_action: None,
            execution_order: None,
        };
        self.send(&E42Pdu::SubscriptionRequest(E42SubscriptionRequest {
            xapp_id: self.id,
            global_e2_node_id: node,
            request_id,
            ran_function_id: function,
            details: RicSubscriptionDetails {
                event_trigger_definition: Octets::from(event_trigger),
                actions: vec![action].into(),
            },
        }))
    }

    /// Queues the deletion of a subscription.
    ///
    /// # Errors
    /// As [`E42Xapp::subscribe`].
    pub fn unsubscribe(&mut self, request_id: RicRequestId, function: RanFunctionId) -> anyhow::Result<()> {
        self.send(&E42Pdu::SubscriptionDeleteRequest(E42SubscriptionDeleteRequest {
            xapp_id: self.id,
            request_id,
            ran_function_id: function,
        }))
    }

    /// Queues a control, whose acknowledgement is requested.
    ///
    /// # Errors
    /// As [`E42Xapp::subscribe`].
    pub fn control(
        &mut self,
        node: GlobalE2NodeId,
        request_id: RicRequestId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
    ) -> anyhow::Result<()> {
        self.send(&E42Pdu::ControlRequest(E42ControlRequest {
            xapp_id: self.id,
            global_e2_node_id: node,
            request_id,
            ran_function_id: function,
            call_process_id: None,
            header: Octets::from(header),
            message: Octets::from(message),
            ack_request: Some(RicControlAckRequest::Ack),
        }))
    }

    fn send(&mut self, pdu: &E42Pdu<'_>) -> anyhow::Result<()> {
        self.octets.clear();
        pdu.encode(self.version, &mut self.octets)?;
        self.link.send(StreamId(0), &[&self.octets], Class::Keep)?;
        self.flush()
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        if self.link.wants_write() {
            self.link.flush()?;
        }
        let wants_write = self.link.wants_write();
        if wants_write != self.is_write_watched {
            let interest = if wants_write { Interest::READ_WRITE } else { Interest::READ };
            self.poll.modify(&self.link, 0, interest)?;
            self.is_write_watched = wants_write;
        }
        Ok(())
    }

    /// Waits for at most `timeout`, and passes on each PDU that has arrived.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn receive(&mut self, timeout: Duration, mut sink: impl FnMut(&[u8])) -> anyhow::Result<()> {
        self.flush()?;
        self.poll.wait(&mut self.events, Some(timeout))?;
        self.link.receive(&mut self.scratch, READ_OCTETS, &mut |_, pdu| sink(pdu))?;
        self.flush()
    }
}

/// An answer of the RIC, by the request id that the xApp has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum E42Answer {
    /// A subscription is active.
    Subscribed(RicRequestId),
    /// A subscription was refused.
    SubscriptionFailed(RicRequestId),
    /// A subscription was deleted.
    Unsubscribed(RicRequestId),
    /// A subscription could not be deleted.
    DeleteFailed(RicRequestId),
    /// A control was acknowledged.
    Controlled(RicRequestId),
    /// A control has failed.
    ControlFailed(RicRequestId),
}

/// Reads an answer of E42; `None` of everything else.
#[must_use]
pub fn answer(pdu: &[u8], version: E42Version) -> Option<E42Answer> {
    let gather = Gather::new();
    let E42Pdu::E2ap(pdu) = e42::decode(pdu, version, &gather).ok()? else { return None };
    Some(match pdu {
        Pdu::RicSubscriptionResponse(response) => E42Answer::Subscribed(response.request_id),
        Pdu::RicSubscriptionFailure(failure) => E42Answer::SubscriptionFailed(failure.request_id),
        Pdu::RicSubscriptionDeleteResponse(response) => E42Answer::Unsubscribed(response.request_id),
        Pdu::RicSubscriptionDeleteFailure(failure) => E42Answer::DeleteFailed(failure.request_id),
        Pdu::RicControlAcknowledge(acknowledge) => E42Answer::Controlled(acknowledge.request_id),
        Pdu::RicControlFailure(failure) => E42Answer::ControlFailed(failure.request_id),
        _ => return None,
    })
}
