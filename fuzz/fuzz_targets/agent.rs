//! An agent of each version, driven by arbitrary steps: whatever a RIC says, what the agent says can be read.

#![no_main]

#[path = "../steps.rs"]
mod steps;

use core::time::Duration;

use e2::{Agent, AgentConfig, AgentEvent, CloseReason, Function, Time};
use e2ap::{
    Cause, CauseRicRequest, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId,
    RicIndicationType, RicRequestId, Version,
};
use libfuzzer_sys::fuzz_target;
use steps::Steps;

const CAUSE: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);

/// What waits for its owner's answer, and what stands.
#[derive(Default)]
struct Owner {
    subscriptions: Vec<(RicRequestId, Vec<RicActionId>)>,
    controls: Vec<RicRequestId>,
    standing: Vec<(RicRequestId, RicActionId)>,
}

fn read(pdu: &[u8], version: Version) {
    let gather = Default::default();
    e2ap::decode(pdu, version, &gather).expect("what is sent can be read");
}

fn drain(agent: &mut Agent, owner: &mut Owner) {
    while let Some(event) = agent.poll_event() {
        match event {
            AgentEvent::Subscribe(r) => {
                owner.subscriptions.push((r.request_id, r.actions.iter().map(|a| a.id).collect()));
            }
            AgentEvent::Unsubscribe { request_id, .. } => {
                owner.subscriptions.retain(|(id, _)| *id != request_id);
                owner.standing.retain(|(id, _)| *id != request_id);
            }
            AgentEvent::Control(r) => owner.controls.push(r.request_id),
            AgentEvent::Notice(notice) => assert!(!notice.to_string().is_empty()),
            AgentEvent::Connect | AgentEvent::Up { .. } | AgentEvent::Down { .. } => {}
        }
    }
    let mut out = Vec::new();
    while agent.poll_transmit(&mut out) {
        read(&out, agent.version());
        out.clear();
    }
    let _ = agent.poll_close();
}

fn step(agent: &mut Agent, owner: &mut Owner, now: &mut Time, steps: &mut Steps<'_>) -> Option<()> {
    match steps.octet()? {
        0 => agent.handle_open(*now),
        1 => agent.handle_close(*now, CloseReason::Transport),
        2 => {
            *now = *now + Duration::from_millis(steps.number()?.into());
            agent.handle_timeout(*now);
            assert!(agent.poll_timeout().is_none_or(|at| at > *now));
        }
        3 => {
            let (id, actions) = owner.subscriptions.pop()?;
            let not: Vec<_> = actions[1..].iter().map(|id| (*id, CAUSE)).collect();
            agent.admit(id, &actions[..1], &not).expect("it waits");
            owner.standing.push((id, actions[0]));
        }
        4 => agent.refuse(owner.subscriptions.pop()?.0, CAUSE).expect("it waits"),
        // a control may be gone with its association
        5 => {
            let _ = agent.acknowledge(owner.controls.pop()?, Some(&[1]));
        }
        6 => {
            let _ = agent.fail(owner.controls.pop()?, CAUSE, None);
        }
        7 => {
            let &(id, action) = owner.standing.last()?;
            let mut out = Vec::new();
            let kind = RicIndicationType::Report;
            agent.write_indication(id, action, kind, &[1], steps.pdu()?, &mut out).expect("it stands");
            read(&out, agent.version());
        }
        8 => {
            let _ = agent.reset(*now, CAUSE);
        }
        _ => agent.handle_pdu(*now, steps.pdu()?),
    }
    Some(())
}

fuzz_target!(|bytes: &[u8]| {
    let mut steps = Steps(bytes);
    let Some(version) = steps.octet() else { return };
    let function = |id| Function {
        id: RanFunctionId(id),
        revision: RanFunctionRevision(1),
        oid: "1.3.6.1".into(),
        definition: vec![1, 2, 3],
    };
    let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(1, 28));
    let mut config = AgentConfig::new(node, vec![function(2), function(3)]);
    config.version = Version::ALL[usize::from(version) % 4];
    config.max_subscriptions = 4;
    let (mut agent, mut owner, mut now) = (Agent::new(config), Owner::default(), Time::default());
    agent.handle_open(now);
    drain(&mut agent, &mut owner);
    while step(&mut agent, &mut owner, &mut now, &mut steps).is_some() {
        drain(&mut agent, &mut owner);
    }
});
