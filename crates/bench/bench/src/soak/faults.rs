//! Random faults around the RIC.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use e2ap::{
    Cause, CauseMisc, CauseProtocol, ErrorIndication, Pdu, RanFunctionId, ResetRequest, RicActionAdmitted, RicActionId,
    RicActionType, RicRequestId, RicSubscriptionResponse, TransactionId, Version,
};
use e2sm::hw;
use ferric::e2::{Action, SubscriptionSpec};
use ferric::link::{Address, Class, StreamId};
use ferric::xapp::{Xapp, XappConfig, XappEvent};

use super::Random;
use super::well_behaved_peers::FIRST_NODE;
use crate::load::{FUNCTION, Node};

/// The emulated RAN's ping.
const HW: RanFunctionId = RanFunctionId(hw::FUNCTION_ID);

type Fault = fn(&Faults, &mut Random) -> anyhow::Result<()>;

const FAULTS: [(&str, Fault); 13] = [
    ("silent connections", |faults, _| faults.connect_and_close()),
    ("garbage", Faults::garbage),
    ("garbage in frames", Faults::framed_garbage),
    ("incomplete frames", Faults::half_frame),
    ("frames of 4 GiB", |faults, random| faults.write(random, &[0xFF; 4])),
    ("single octets", |faults, random| faults.write(random, &[0, 0, 0, 1, 0])),
    ("repeated setups", Faults::repeated_setup),
    ("two nodes with one id", Faults::two_with_one_id),
    ("unexpected messages", Faults::unexpected),
    ("disconnecting nodes", Faults::node_that_leaves),
    ("greedy xApps", Faults::greedy_xapp),
    ("slow xApps", Faults::slow_xapp),
    ("storms of 100 connections", |faults, _| faults.storm()),
];

/// The threads that inject faults; a fault may take seconds.
const ACTORS: u64 = 4;
/// The longest pause of a thread between two faults.
const PAUSE_MS: u64 = 60;

pub(super) struct Faults {
    e2: Address,
    xapp: Address,
    seed: u64,
    counts: [AtomicU64; FAULTS.len()],
    /// Nodes that were set up.
    nodes: AtomicU64,
}

impl Faults {
    pub fn new(e2: &Address, xapp: &Address, seed: u64) -> Self {
        let counts = std::array::from_fn(|_| AtomicU64::new(0));
        Faults { e2: e2.clone(), xapp: xapp.clone(), seed, counts, nodes: AtomicU64::new(0) }
    }

    /// Injects faults until `stop`.
    pub fn start<'s>(&'s self, scope: &'s Scope<'s, '_>, stop: &'s AtomicBool) {
        for actor in 0..ACTORS {
            scope.spawn(move || {
                let mut random = Random::new(self.seed ^ actor << 32);
                while !stop.load(Ordering::Acquire) {
                    let kind = random.below(FAULTS.len() as u64) as usize;
                    // the RIC may close a faulty connection at any time
                    let _ = FAULTS[kind].1(self, &mut random);
                    self.counts[kind].fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(random.below(PAUSE_MS)));
                }
            });
        }
    }

    /// The number of faults by kind.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        FAULTS.iter().zip(&self.counts).map(|((name, _), count)| (*name, count.load(Ordering::Relaxed))).collect()
    }

    fn socket(&self, address: &Address) -> anyhow::Result<TcpStream> {
        let Address::Tcp { host, port } = address else { anyhow::bail!("the soak supports TCP only") };
        let socket = TcpStream::connect((host.as_str(), *port))?;
        socket.set_read_timeout(Some(Duration::from_millis(500)))?;
        socket.set_write_timeout(Some(Duration::from_millis(500)))?;
        Ok(socket)
    }

    /// A connection to the address for nodes or for xApps.
    fn either(&self, random: &mut Random) -> anyhow::Result<TcpStream> {
        self.socket(if random.below(2) == 0 { &self.e2 } else { &self.xapp })
    }

    fn connect_and_close(&self) -> anyhow::Result<()> {
        drop((self.socket(&self.e2)?, self.socket(&self.xapp)?));
        Ok(())
    }

    fn write(&self, random: &mut Random, octets: &[u8]) -> anyhow::Result<()> {
        let mut socket = self.either(random)?;
        socket.write_all(octets)?;
        // until an answer or the end
        let _ = socket.read(&mut [0; 256]);
        Ok(())
    }

    fn garbage(&self, random: &mut Random) -> anyhow::Result<()> {
        let count = 1 + random.below(2_000);
        let octets = random.octets(count);
        self.write(random, &octets)
    }

    fn framed_garbage(&self, random: &mut Random) -> anyhow::Result<()> {
        let mut frames = Vec::new();
        for _ in 0..1 + random.below(8) {
            let count = 1 + random.below(300);
            let octets = random.octets(count);
            frames.extend_from_slice(&(octets.len() as u32).to_be_bytes());
            frames.extend_from_slice(&octets);
        }
        self.write(random, &frames)
    }

    fn half_frame(&self, random: &mut Random) -> anyhow::Result<()> {
        let mut socket = self.either(random)?;
        socket.write_all(&[0, 0, 0x10, 0, 0, 1, 2, 3])?;
        thread::sleep(Duration::from_millis(random.below(1_500)));
        Ok(())
    }

    /// A node number out of few, so that most nodes return.
    fn number(random: &mut Random) -> u32 {
        1 + random.below(20) as u32
    }

    fn node(&self, number: u32) -> anyhow::Result<Node> {
        assert!(number < FIRST_NODE, "a fault must not use the id of a well-behaved node");
        let mut node = Node::connect(&self.e2)?;
        node.set_up(number, 2)?;
        self.nodes.fetch_add(1, Ordering::Relaxed);
        Ok(node)
    }

    fn repeated_setup(&self, random: &mut Random) -> anyhow::Result<()> {
        let number = Self::number(random);
        let mut node = self.node(number)?;
        for _ in 0..3 {
            node.set_up(number, 2)?;
        }
        Ok(())
    }

    fn two_with_one_id(&self, random: &mut Random) -> anyhow::Result<()> {
        let number = Self::number(random);
        let first = self.node(number)?;
        let second = self.node(number)?;
        drop(first);
        drop(second);
        Ok(())
    }

    fn unexpected(&self, random: &mut Random) -> anyhow::Result<()> {
        let mut node = self.node(Self::number(random))?;
        // mostly of a live request, whose parts count up together
        let instance = random.below(50) as u16;
        let request_id = RicRequestId { requestor: 1021 + instance + random.below(2) as u16, instance };
        let messages: [Pdu<'_>; 3] = [
            ErrorIndication {
                transaction_id: None,
                request_id: Some(request_id),
                ran_function_id: Some(FUNCTION),
                cause: Some(Cause::Protocol(CauseProtocol::SemanticError)),
                criticality_diagnostics: None,
            }
            .into(),
            RicSubscriptionResponse {
                request_id,
                ran_function_id: FUNCTION,
                actions_admitted: vec![RicActionAdmitted { id: RicActionId(1) }].into(),
                actions_not_admitted: None,
            }
            .into(),
            ResetRequest {
                transaction_id: Some(TransactionId(9)),
                cause: Some(Cause::Misc(CauseMisc::OmIntervention)),
            }
            .into(),
        ];
        for message in messages {
            let mut pdu = Vec::new();
            message.encode(Version::V2_03, &mut pdu)?;
            node.link.send(StreamId(0), &[&pdu], Class::Keep)?;
            node.flush()?;
        }
        thread::sleep(Duration::from_millis(random.below(100)));
        Ok(())
    }

    fn node_that_leaves(&self, random: &mut Random) -> anyhow::Result<()> {
        let node = self.node(Self::number(random))?;
        thread::sleep(Duration::from_millis(random.below(2_000)));
        drop(node);
        Ok(())
    }

    /// Subscribes repeatedly to all functions, and disconnects.
    fn greedy_xapp(&self, random: &mut Random) -> anyhow::Result<()> {
        let mut xapp = Xapp::connect(&self.xapp, "greedy", XappConfig { reconnect: None, ..XappConfig::default() })?;
        let until = Instant::now() + Duration::from_millis(random.below(2_000));
        while Instant::now() < until {
            xapp.poll(Some(Duration::from_millis(50)), |event, commands| {
                let XappEvent::NodeUp(node) = event else { return };
                let e2ap::GlobalE2NodeId::Gnb(id) = node.global_id else { return };
                if node.functions.iter().any(|function| function.id == HW) {
                    // the emulated RAN answers each ping once per subscription
                    for ping in 0..20 {
                        commands.subscribe(node.id, HW, spec(hw::EVENT_TRIGGER));
                        commands.control(node.id, HW, &[ping], &[ping; 1000]);
                    }
                } else if id.global_gnb_id.gnb_id.value() < u64::from(FIRST_NODE) {
                    for trigger in 0..100 {
                        commands.subscribe(node.id, FUNCTION, spec(&[trigger]));
                        commands.control(node.id, FUNCTION, &[trigger], &[trigger]);
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Shares the subscriptions of the well-behaved xApp and reads nothing for seconds.
    fn slow_xapp(&self, random: &mut Random) -> anyhow::Result<()> {
        let mut xapp = Xapp::connect(&self.xapp, "slow", XappConfig { reconnect: None, ..XappConfig::default() })?;
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            xapp.poll(Some(Duration::from_millis(50)), |event, commands| {
                if let XappEvent::NodeUp(node) = event {
                    commands.subscribe(node.id, FUNCTION, spec(b"well-behaved"));
                }
            })?;
        }
        thread::sleep(Duration::from_millis(random.below(4_000)));
        Ok(())
    }

    fn storm(&self) -> anyhow::Result<()> {
        let sockets: Vec<_> = (0..100).map(|_| self.socket(&self.e2)).collect();
        thread::sleep(Duration::from_millis(50));
        drop(sockets);
        Ok(())
    }
}

fn spec(trigger: &[u8]) -> SubscriptionSpec {
    let action = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
    SubscriptionSpec { event_trigger: trigger.to_vec(), actions: vec![action] }
}
