//! An xApp of FlexRIC as a load: it sets up over E42, subscribes to every node, and receives their indications.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use e2ap::e42::{self, E42Pdu, E42SetupRequest, E42SubscriptionRequest, E42Version, XappId};
use e2ap::{
    GlobalE2NodeId, Pdu, RanFunctionItem, RanFunctionRevision, RicActionId, RicActionToBeSetup, RicActionType,
    RicRequestId, RicSubscriptionDetails,
};
use ferric::link::{Address, Class, Config, Events, Interest, Link, Poll, Scratch, StreamId};
use per::{Gather, PrintableString};

use crate::load::FUNCTION;

const VERSION: E42Version = E42Version::V2;
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct E42Xapp {
    link: Link,
    poll: Poll,
    events: Events,
    scratch: Scratch,
    id: XappId,
}

impl E42Xapp {
    /// Connects, sets up, and subscribes to the function of the load at each of the `nodes` that the RIC lists. Its request ids
    /// have the requestor 1, and instances from 0 on.
    pub fn subscribe_to_all(ric: &Address, nodes: usize) -> anyhow::Result<Self> {
        let link = Link::connect(ric, &Config::default())?;
        let poll = Poll::new()?;
        poll.add(&link, 0, Interest::READ)?;
        let mut xapp = E42Xapp { link, poll, events: Events::new(), scratch: Scratch::new(), id: XappId(0) };
        let function = RanFunctionItem {
            id: FUNCTION,
            definition: b"definition".into(),
            revision: RanFunctionRevision(1),
            oid: Some(PrintableString::literal("1.3.6.1.4.1.32473.1.147")),
        };
        xapp.send(&E42Pdu::SetupRequest(E42SetupRequest { ran_functions: vec![function].into() }))?;
        let (id, listed) = xapp.wait_for(|pdu| match pdu {
            E42Pdu::SetupResponse(response) => {
                Some((response.xapp_id, response.nodes.iter().map(|node| node.global_e2_node_id).collect::<Vec<_>>()))
            }
            _ => None,
        })?;
        xapp.id = id;
        if listed.len() != nodes {
            bail!("the RIC lists {} nodes in place of {nodes}", listed.len());
        }
        for (instance, node) in listed.into_iter().enumerate() {
            xapp.subscribe(node, RicRequestId { requestor: 1, instance: instance as u16 })?;
        }
        Ok(xapp)
    }

    fn subscribe(&mut self, node: GlobalE2NodeId, request_id: RicRequestId) -> anyhow::Result<()> {
        let action = RicActionToBeSetup {
            id: RicActionId(1),
            kind: RicActionType::Report,
            definition: None,
            subsequent_action: None,
            execution_order: None,
        };
        self.send(&E42Pdu::SubscriptionRequest(E42SubscriptionRequest {
            xapp_id: self.id,
            global_e2_node_id: node,
            request_id,
            ran_function_id: FUNCTION,
            details: RicSubscriptionDetails {
                event_trigger_definition: b"trigger".into(),
                actions: vec![action].into(),
            },
        }))
    }

    fn send(&mut self, pdu: &E42Pdu<'_>) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        pdu.encode(VERSION, &mut bytes)?;
        self.link.send(StreamId(0), &[&bytes], Class::Keep)?;
        while self.link.flush()?.waiting {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn wait_for<T>(&mut self, mut select: impl FnMut(E42Pdu<'_>) -> Option<T>) -> anyhow::Result<T> {
        let deadline = Instant::now() + PATIENCE;
        let mut found = None;
        loop {
            self.receive(|pdu| {
                let gather = Gather::new();
                if let Ok(pdu) = e42::decode(pdu, VERSION, &gather) {
                    found = found.take().or(select(pdu));
                }
            })?;
            match found {
                Some(found) => return Ok(found),
                None if Instant::now() > deadline => return Err(anyhow!("the RIC does not answer an E42 message")),
                None => {}
            }
        }
    }

    /// Returns whether a PDU is the answer to a subscription request.
    pub fn is_subscribed(pdu: &[u8]) -> bool {
        let gather = Gather::new();
        matches!(e42::decode(pdu, VERSION, &gather), Ok(E42Pdu::E2ap(Pdu::RicSubscriptionResponse(_))))
    }

    /// Waits for at most 100 ms and receives what has arrived.
    pub fn receive(&mut self, mut sink: impl FnMut(&[u8])) -> anyhow::Result<()> {
        self.poll.wait(&mut self.events, Some(Duration::from_millis(100)))?;
        self.link.receive(&mut self.scratch, 256 * 1024, &mut |_, pdu| sink(pdu))?;
        Ok(())
    }
}
