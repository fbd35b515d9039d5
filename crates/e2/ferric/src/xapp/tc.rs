//! Traffic control between SDAP and RLC (FlexRIC's TC model).

use std::fmt;
use std::net::Ipv4Addr;
use std::time::{SystemTime, UNIX_EPOCH};

use e2sm::tc::{
    Bdp, ClassifierControl, ControlHeader, ControlMessage, DeleteFilter, DeleteQueue, MODEL, NewFilter, NewOsiFilter,
    PacerControl, PacerParameters, QueueControl, QueueKind, QueueParameters,
};

use super::control::{Answer, Encoded, OutcomeModel};
use super::error::Error;
use super::ric::{Handle, Node, Ric};

/// Traffic control of one node, or of all that have it.
#[derive(Clone)]
pub struct TrafficControl {
    ric: Handle,
    node: Option<String>,
}

impl Ric {
    /// Traffic control of all nodes that have it.
    #[must_use]
    pub fn tc(&self) -> TrafficControl {
        TrafficControl { ric: self.handle().clone(), node: None }
    }
}

impl Node {
    /// Traffic control of this node.
    #[must_use]
    pub fn tc(&self) -> TrafficControl {
        TrafficControl { ric: self.handle().clone(), node: Some(self.name()) }
    }
}

/// The packets of a flow, by the headers of layers 3 and 4. What is absent matches everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The source address.
    pub source: Option<Ipv4Addr>,
    /// The destination address.
    pub destination: Option<Ipv4Addr>,
    /// The source port.
    pub source_port: Option<u16>,
    /// The destination port.
    pub destination_port: Option<u16>,
    /// The protocol: 6 is TCP, 17 UDP.
    pub protocol: Option<u8>,
}

impl TrafficControl {
    /// Adds a queue. The node numbers it: the queues count from 0, which exists.
    ///
    /// # Errors
    /// [`Error::NotOffered`], [`Error::Refused`] with what the node says.
    pub fn add_queue(&self, queue: QueueParameters) -> Result<Vec<Answer>, Error> {
        self.send(ControlMessage::Queue(QueueControl::Add(queue)))
    }

    /// Removes a queue.
    ///
    /// # Errors
    /// As [`TrafficControl::add_queue`].
    pub fn remove_queue(&self, id: u32, kind: QueueKind) -> Result<Vec<Answer>, Error> {
        self.send(ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, kind })))
    }

    /// Sends a flow's packets to a queue. The node numbers the filter.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a flow that matches everything; as [`TrafficControl::add_queue`].
    pub fn add_filter(&self, flow: Flow, queue_id: u32) -> Result<Vec<Answer>, Error> {
        if flow == Flow::default() {
            return Err(Error::invalid("flow", "any", "at least one address, port or the protocol"));
        }
        let flow = e2sm::tc::FiveTuple {
            source_address: flow.source.map(u32::from),
            destination_address: flow.destination.map(u32::from),
            source_port: flow.source_port,
            destination_port: flow.destination_port,
            protocol: flow.protocol,
        };
        let filter = NewFilter::Osi(NewOsiFilter { flow, queue_id });
        self.send(ControlMessage::Classifier(ClassifierControl::Add(filter)))
    }

    /// Removes a filter.
    ///
    /// # Errors
    /// As [`TrafficControl::add_queue`].
    pub fn remove_filter(&self, id: u32) -> Result<Vec<Answer>, Error> {
        self.send(ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id))))
    }

    /// Switches the pacer (5G-BDP) on or off: with it, packets wait in the queues and not in the buffer of RLC.
    ///
    /// # Errors
    /// As [`TrafficControl::add_queue`].
    pub fn pace(&self, is_on: bool) -> Result<Vec<Answer>, Error> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp_us = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
        let pacer =
            if is_on { PacerParameters::Bdp5g(Bdp { drb_octets: 0, timestamp_us }) } else { PacerParameters::Off };
        self.send(ControlMessage::Pacer(PacerControl::Modify(pacer)))
    }

    /// Sends any control of the model: policers, shapers and schedulers too.
    ///
    /// # Errors
    /// As [`TrafficControl::add_queue`].
    pub fn send(&self, message: ControlMessage<'static>) -> Result<Vec<Answer>, Error> {
        self.ric.control_nodes("traffic control", self.node.clone(), move |_, node| {
            let Some((function, wire)) = node.model(MODEL) else { return Ok(None) };
            let (mut header, mut octets) = (Vec::new(), Vec::new());
            let written =
                ControlHeader::default().encode(wire, &mut header).and_then(|()| message.encode(wire, &mut octets));
            written.map_err(|error| Error::invalid("traffic control", "these values", error.to_string()))?;
            Ok(Some(Encoded { function, header, message: octets, outcome: OutcomeModel::Tc(wire) }))
        })
    }
}

impl fmt::Debug for TrafficControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrafficControl").field("node", &self.node).finish_non_exhaustive()
    }
}
