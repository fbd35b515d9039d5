//! Controls of consumers, between a controller and an agent: how they end, and what a mediator decides.

mod ended;
mod mediation;

use e2::{
    Agent, AgentConfig, AgentEvent, AssocId, ControlRequest, Controller, ControllerConfig, Event, Function, NodeId,
    Time,
};
use e2ap::{GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision};

const FUNCTION: RanFunctionId = RanFunctionId(3);
const ASSOC: AssocId = AssocId(1);

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// A controller with a node that is up.
fn connected(kept_control_octets: usize) -> (Controller, Agent, NodeId) {
    let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 28));
    let rc = Function { id: FUNCTION, revision: RanFunctionRevision(1), oid: "1.2.3".into(), definition: vec![0] };
    let mut agent = Agent::new(AgentConfig::new(node, vec![rc]));
    let mut ric = Controller::new(ControllerConfig { kept_control_octets, ..ControllerConfig::default() });
    assert_eq!(agent.poll_event(), Some(AgentEvent::Connect));
    ric.handle_open(ms(0), ASSOC);
    agent.handle_open(ms(0));
    relay(ms(0), &mut ric, &mut agent);
    let Some(Event::NodeUp(id)) = ric.poll_event() else { panic!("no setup") };
    (ric, agent, id)
}

/// Carries messages between both until there are none.
fn relay(now: Time, ric: &mut Controller, agent: &mut Agent) {
    loop {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        if agent.poll_transmit(&mut up) {
            ric.handle_pdu(now, ASSOC, &up);
        } else if ric.poll_transmit(&mut down).is_some() {
            agent.handle_pdu(now, &down);
        } else {
            return;
        }
    }
}

/// The next control that the agent has received.
fn received(agent: &mut Agent) -> Option<ControlRequest> {
    std::iter::from_fn(|| agent.poll_event()).find_map(|event| match event {
        AgentEvent::Control(request) => Some(request),
        _ => None,
    })
}
