//! An agent of each version and encoding with arbitrary steps: for any messages of a RIC, the messages of the agent are valid.

#![no_main]

#[path = "../steps.rs"]
mod steps;

use core::time::Duration;

use e2::{
    Agent, AgentConfig, AgentEvent, CloseReason, ConnectionResult, ConnectionUpdate, Function, SubscriptionChange, Time,
};
use e2ap::{
    Cause, CauseRicRequest, Codec, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision,
    RicActionId, RicIndicationType, RicRequestId, Version,
};
use libfuzzer_sys::fuzz_target;
use steps::Steps;

const CAUSE: Cause = Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported);

/// The pending requests and the active subscriptions.
#[derive(Default)]
struct Owner {
    subscriptions: Vec<(RicRequestId, Vec<RicActionId>)>,
    controls: Vec<RicRequestId>,
    standing: Vec<(RicRequestId, RicActionId)>,
    queries: Vec<RicRequestId>,
    changes: Vec<(RicRequestId, SubscriptionChange)>,
    connection: Option<ConnectionUpdate>,
}

fn read(pdu: &[u8], agent: &Agent) {
    let gather = Default::default();
    agent.codec().decode(pdu, agent.version(), &gather).expect("what is sent can be read");
}

fn function(id: u16, revision: u8) -> Function {
    let (id, revision, definition) = (RanFunctionId(id), RanFunctionRevision(revision.into()), vec![revision; 3]);
    Function { id, revision, oid: "1.3.6.1".into(), definition }
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
            AgentEvent::Query(r) => owner.queries.push(r.request_id),
            AgentEvent::Modify(r) => owner.changes.push((r.request_id, r.change)),
            AgentEvent::ModificationConfirmed { request_id, removed, .. } => {
                owner.standing.retain(|(id, action)| *id != request_id || !removed.contains(action));
            }
            AgentEvent::ConnectionUpdate(update) => owner.connection = Some(update),
            AgentEvent::Removed { .. } => owner.connection = None,
            AgentEvent::Connect
            | AgentEvent::Up { .. }
            | AgentEvent::Down { .. }
            | AgentEvent::FunctionsUpdated { .. }
            | AgentEvent::ComponentsUpdated { .. }
            | AgentEvent::GivenUp { .. }
            | AgentEvent::ModificationRefused { .. } => {}
            // the target must handle every event that changes the state of the agent
            event => panic!("the fuzz target does not handle {event:?}"),
        }
    }
    let mut out = Vec::new();
    while agent.poll_transmit(&mut out) {
        read(&out, agent);
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
        // the control may have ended with its association
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
            read(&out, agent);
        }
        8 => {
            let _ = agent.reset(*now, CAUSE);
        }
        9 => {
            let ids = steps.octet()?;
            let functions = (2..6).filter(|id| ids & 1 << id != 0).map(|id| function(id, ids >> 6)).collect();
            let _ = agent.update_functions(*now, functions);
        }
        10 => {
            let _ = agent.remove(*now);
        }
        11 => {
            let _ = agent.connect();
        }
        // the request may have ended with its association or function
        12 => {
            let _ = agent.answer_query(owner.queries.pop()?, &[1]);
        }
        13 => {
            let (id, change) = owner.changes.pop()?;
            let done = change.all_done();
            if agent.modified(id, &done).is_ok() {
                owner.standing.retain(|(other, action)| *other != id || !done.removed.contains(action));
            }
        }
        14 => {
            let _ = agent.refuse_modification(owner.changes.pop()?.0, CAUSE);
        }
        15 => {
            let &(id, action) = owner.standing.last()?;
            let _ = agent.require_modification(*now, id, &[], &[(action, CAUSE)]);
        }
        16 => {
            let &(id, _) = owner.standing.last()?;
            let _ = agent.require_deletion(&[(id, CAUSE)]);
        }
        17 => {
            let set_up = owner.connection.take()?.add;
            let _ = agent.connection_updated(&ConnectionResult { set_up, failed: Vec::new() });
        }
        18 => {
            let _ = agent.update_components(*now, Vec::new());
        }
        _ => agent.handle_pdu(*now, steps.pdu()?),
    }
    Some(())
}

fuzz_target!(|bytes: &[u8]| {
    let mut steps = Steps(bytes);
    let Some(version) = steps.octet() else { return };
    let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(1, 28));
    let mut config = AgentConfig::new(node, vec![function(2, 1), function(3, 1)]);
    config.version = Version::ALL[usize::from(version) % 4];
    config.codec = if version & 0x80 == 0 { Codec::Per } else { Codec::FLAT };
    config.max_subscriptions = 4;
    let (mut agent, mut owner, mut now) = (Agent::new(config), Owner::default(), Time::default());
    agent.handle_open(now);
    drain(&mut agent, &mut owner);
    while step(&mut agent, &mut owner, &mut now, &mut steps).is_some() {
        drain(&mut agent, &mut owner);
    }
});
