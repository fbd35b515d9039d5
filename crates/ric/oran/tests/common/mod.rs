//! A node with one RAN function, and the fields of what is stored of it.

use std::thread::JoinHandle;
use std::time::Duration;

use ferric::StopHandle;
use ferric::agent::{Admission, AgentLoop, AgentLoopConfig, ControllerId, NodeConfig, RanFunction, RequestKey, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::{
    Cause, CauseRicRequest, E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId,
    E2NodeComponentInterfaceF1, E2NodeComponentInterfaceType, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId,
    RanFunctionRevision,
};
use ferric::link::Address;
use ids::GnbDuId;
use per::Octets;

pub const PATIENCE: Duration = Duration::from_secs(20);
/// The name of the node in the platform.
pub const NAME: &str = "gnb_001_001_00000e00";

/// A RAN function that has a definition, and does nothing.
struct Defined;

impl RanFunction for Defined {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(7)
    }

    fn definition(&self) -> Function {
        let (revision, oid) = (RanFunctionRevision(3), "1.3.6.1.4.1.53148.1.2.2.2".to_owned());
        Function { id: self.id(), revision, oid, definition: b"\x20\xc0defined".to_vec() }
    }

    fn subscribe(&mut self, _: Time, _: ControllerId, _: &SubscriptionRequest, _: &Views) -> Result<Admission, Cause> {
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
    }

    fn unsubscribe(&mut self, _: RequestKey) {}
}

/// An F1 interface, with what stands for its messages.
fn f1() -> E2NodeComponentConfigAdditionItem<'static> {
    let (request_part, response_part) =
        (Octets::from(b"F1 SETUP REQUEST".to_vec()), Octets::from(b"RESPONSE".to_vec()));
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::F1,
        id: E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(5) }),
        configuration: E2NodeComponentConfiguration { request_part, response_part },
    }
}

/// Runs the node, connected to a RIC.
pub fn agent(ric: &Address) -> (StopHandle, JoinHandle<()>) {
    let ric = ric.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut agents: AgentLoop<dyn RanFunction> = AgentLoop::new(AgentLoopConfig::default()).unwrap();
        let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 32));
        let node =
            agents.add_node(NodeConfig { components: vec![f1()], ..NodeConfig::new(node) }, vec![Box::new(Defined)]);
        agents.add_controller(node, ric.into());
        sender.send(agents.stop_handle()).unwrap();
        agents.run().unwrap();
    });
    (receiver.recv_timeout(PATIENCE).unwrap(), thread)
}

/// The fields of a message: numbers, and those with octets.
pub fn field(mut octets: &[u8], wanted: u64) -> Option<Vec<u8>> {
    let varint = |octets: &mut &[u8]| {
        let mut value = 0_u64;
        for shift in (0..).step_by(7) {
            let (first, rest) = octets.split_first().unwrap();
            *octets = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    };
    while !octets.is_empty() {
        let key = varint(&mut octets);
        let value = varint(&mut octets);
        let content = match key & 7 {
            0 => value.to_string().into_bytes(),
            2 => {
                let (content, rest) = octets.split_at(value as usize);
                octets = rest;
                content.to_vec()
            }
            kind => panic!("wire type {kind}"),
        };
        if key >> 3 == wanted {
            return Some(content);
        }
    }
    None
}
