//! Nodes that only produce load: they set up, accept a subscription, and send prepared indications.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2ap::{
    E2SetupRequest, GlobalE2NodeId, GnbId, Pdu, PlmnIdentity, RanFunctionId, RanFunctionItem, RanFunctionRevision,
    RicActionAdmitted, RicActionId, RicIndication, RicIndicationSn, RicIndicationType, RicRequestId,
    RicSubscriptionResponse, TransactionId, Version,
};
use ferric::link::{Address, Class, Config, Events, Interest, Link, Poll, Scratch, StreamId};
use per::{Gather, Octets, PrintableString};

const VERSION: Version = Version::V2_03;
/// The RAN function of the load.
pub(crate) const FUNCTION: RanFunctionId = RanFunctionId(147);
const PATIENCE: Duration = Duration::from_secs(10);

/// A node on a blocking link.
pub(crate) struct Node {
    pub link: Link,
    poll: Poll,
    events: Events,
    scratch: Scratch,
}

impl Node {
    /// Connects to a RIC.
    pub fn connect(address: &Address) -> anyhow::Result<Self> {
        let link = Link::connect(address, &Config::default())?;
        let poll = Poll::new()?;
        poll.add(&link, 0, Interest::READ)?;
        Ok(Node { link, poll, events: Events::new(), scratch: Scratch::new() })
    }

    fn send(&mut self, pdu: &Pdu<'_>) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        pdu.encode(VERSION, &mut bytes)?;
        self.link.send(StreamId(0), &[&bytes], Class::Keep)?;
        self.flush()
    }

    /// Writes all queued octets; waits while the link is full.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        while self.link.flush()?.waiting {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Waits for a PDU of which `select` returns a value.
    fn wait_for<T>(&mut self, mut select: impl FnMut(Pdu<'_>) -> Option<T>) -> anyhow::Result<T> {
        let deadline = Instant::now() + PATIENCE;
        let mut found = None;
        while found.is_none() {
            let patience = deadline.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                bail!("the RIC does not answer");
            }
            self.poll.wait(&mut self.events, Some(patience))?;
            self.link.receive(&mut self.scratch, usize::MAX, &mut |_, pdu| {
                let gather = Gather::new();
                if let Ok(decoded) = e2ap::decode(pdu, VERSION, &gather) {
                    found = found.take().or(select(decoded.pdu));
                }
            })?;
        }
        found.context("no PDU was selected")
    }

    /// Performs the E2 Setup of node `number`, with `functions` RAN functions.
    pub fn set_up(&mut self, number: u32, functions: u16) -> anyhow::Result<()> {
        self.begin_setup(number, functions)?;
        self.await_setup()
    }

    /// Sends the setup request.
    pub fn begin_setup(&mut self, number: u32, functions: u16) -> anyhow::Result<()> {
        let items = (0..functions).map(|at| RanFunctionItem {
            id: RanFunctionId(FUNCTION.0 + at),
            definition: Octets::from(vec![at as u8; 200]),
            revision: RanFunctionRevision(1),
            oid: Some(PrintableString::literal("1.3.6.1.4.1.32473.1.147")),
        });
        let request = E2SetupRequest {
            transaction_id: Some(TransactionId(1)),
            global_e2_node_id: GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 32)),
            ran_functions_added: Some(items.collect()),
            component_config_update_v1: None,
            component_config_addition: Some(vec![component()].into()),
        };
        self.send(&request.into())
    }

    /// Waits for the setup response.
    pub fn await_setup(&mut self) -> anyhow::Result<()> {
        self.wait_for(|pdu| matches!(pdu, Pdu::E2SetupResponse(_)).then_some(()))
    }

    /// Waits for a subscription and accepts it.
    pub fn admit(&mut self) -> anyhow::Result<(RicRequestId, RicActionId)> {
        let (request_id, action) = self.wait_for(|pdu| match pdu {
            Pdu::RicSubscriptionRequest(request) => Some((request.request_id, request.details.actions.first()?.id)),
            _ => None,
        })?;
        let response = RicSubscriptionResponse {
            request_id,
            ran_function_id: FUNCTION,
            actions_admitted: vec![RicActionAdmitted { id: action }].into(),
            actions_not_admitted: None,
        };
        self.send(&response.into())?;
        Ok((request_id, action))
    }
}

fn component() -> e2ap::E2NodeComponentConfigAdditionItem<'static> {
    e2ap::E2NodeComponentConfigAdditionItem {
        interface_type: e2ap::E2NodeComponentInterfaceType::Ng,
        id: e2ap::E2NodeComponentId::Ng(e2ap::E2NodeComponentInterfaceNg {
            amf_name: PrintableString::literal("load"),
        }),
        configuration: e2ap::E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    }
}

/// The placeholder of the time stamp in an encoded indication.
const MARK: [u8; 8] = [0xA5, 0x5A, 0xC3, 0x3C, 0x96, 0x69, 0xF0, 0x0F];

/// An encoded indication of a given size with a time stamp.
pub(crate) struct Template {
    pub pdu: Vec<u8>,
    stamp_at: usize,
}

impl Template {
    /// An indication whose PDU has `octets` octets.
    pub fn new(request_id: RicRequestId, action_id: RicActionId, octets: usize) -> anyhow::Result<Self> {
        let mut payload = octets;
        for _ in 0..4 {
            let mut message = vec![0x5E; payload];
            message[..8].copy_from_slice(&MARK);
            let indication = RicIndication {
                request_id,
                ran_function_id: FUNCTION,
                action_id,
                sn: Some(RicIndicationSn(0)),
                kind: RicIndicationType::Report,
                header: Octets::from(&[0; 16]),
                message: message.into(),
                call_process_id: None,
            };
            let mut pdu = Vec::new();
            e2ap::encode(&indication, VERSION, &mut pdu)?;
            if pdu.len() == octets {
                let stamp_at = pdu.windows(8).position(|w| w == MARK).context("no time stamp in the PDU")?;
                return Ok(Template { pdu, stamp_at });
            }
            payload = payload + octets - pdu.len();
        }
        bail!("no indication has exactly {octets} octets")
    }

    /// Writes the time of sending.
    pub fn stamp(&mut self, sent_ns: u64) {
        self.pdu[self.stamp_at..self.stamp_at + 8].copy_from_slice(&sent_ns.to_be_bytes());
    }

    /// The time of sending in a received PDU.
    pub fn stamp_of(stamp_at: usize, pdu: &[u8]) -> Option<u64> {
        Some(u64::from_be_bytes(*pdu.get(stamp_at..)?.first_chunk()?))
    }

    /// The offset of the time stamp.
    pub fn stamp_at(&self) -> usize {
        self.stamp_at
    }
}
