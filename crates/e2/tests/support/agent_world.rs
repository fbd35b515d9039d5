//! An agent, and a RIC whose words a test speaks.

use e2::{Agent, AgentConfig, AgentEvent, CloseReason, Function, Time};
use e2ap::{RanFunctionId, RanFunctionRevision, RicActionId, RicIndicationType, Version};

use super::ric_world::duration;
use super::short::{self, Args};

pub fn functions(ids: &[u16]) -> Vec<Function> {
    let function = |id: &u16| Function {
        id: RanFunctionId(*id),
        revision: RanFunctionRevision(1),
        oid: "1.3.6.1".into(),
        definition: vec![0xDE, 0xF0],
    };
    ids.iter().map(function).collect()
}

pub struct AgentWorld {
    pub now: Time,
    pub agent: Agent,
    version: Version,
    out: Vec<String>,
}

impl AgentWorld {
    /// What the first line of a scenario says, behind `agent`.
    pub fn new(args: &Args<'_>) -> Self {
        let mut config = AgentConfig::new(short::gnb(1), functions(&args.numbers("fns")));
        let version = args.get("v").map_or(Version::V2_03, |text| text.parse().unwrap());
        config.version = version;
        if let Some(subscriptions) = args.number("max-subscriptions") {
            config.max_subscriptions = subscriptions;
        }
        AgentWorld { now: Time::from_nanos(1_000_000_000), agent: Agent::new(config), version, out: Vec::new() }
    }

    /// Does what a line says; gives back what came of it.
    pub fn input(&mut self, line: &str) -> Vec<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let args = Args::new(&words[1..]);
        let result = match words[0] {
            "start" => Ok(()),
            "wait" => {
                let end = self.now + duration(words[1]);
                while let Some(at) = self.agent.poll_timeout().filter(|at| *at <= end) {
                    self.now = at;
                    self.agent.handle_timeout(at);
                    self.settle();
                }
                self.now = end;
                Ok(())
            }
            "open" => {
                self.agent.handle_open(self.now);
                Ok(())
            }
            "close" => {
                self.agent.handle_close(self.now, CloseReason::Transport);
                Ok(())
            }
            "ric" => {
                let pdu = short::bytes(&words[1..], self.version);
                self.agent.handle_pdu(self.now, &pdu);
                Ok(())
            }
            "admit" => {
                let admitted: Vec<_> = args.numbers("actions").into_iter().map(RicActionId).collect();
                let not: Vec<_> = args.numbers("not").into_iter().map(|id| (RicActionId(id), args.cause())).collect();
                self.agent.admit(args.id(), &admitted, &not)
            }
            "refuse" => self.agent.refuse(args.id(), args.cause()),
            "ack" => {
                let outcome = args.get("outcome").map(short::hex);
                self.agent.acknowledge(args.id(), outcome.as_deref())
            }
            "fail" => self.agent.fail(args.id(), args.cause(), None),
            "reset" => self.agent.reset(self.now, args.cause()),
            "indicate" => {
                let mut out = Vec::new();
                let action = RicActionId(args.number("action").unwrap_or(1));
                let kind = RicIndicationType::Report;
                let result = self.agent.write_indication(args.id(), action, kind, &[1], &[2, 3], &mut out);
                assert_eq!(result.is_err(), out.is_empty());
                if result.is_ok() {
                    self.sent(&out);
                }
                result
            }
            other => panic!("nobody says {other} to an agent"),
        };
        if let Err(misuse) = result {
            self.out.push(format!("! misuse: {misuse}"));
        }
        self.settle();
        std::mem::take(&mut self.out)
    }

    fn sent(&mut self, bytes: &[u8]) {
        let gather = Default::default();
        let pdu = e2ap::decode(bytes, self.version, &gather).expect("a machine writes what its peer can read");
        self.out.push(format!("ric < {}", short::show(&pdu.pdu)));
    }

    fn settle(&mut self) {
        while let Some(event) = self.agent.poll_event() {
            let line = match event {
                AgentEvent::Connect => "connect".to_owned(),
                AgentEvent::Up { ric_id, accepted } => {
                    let accepted: Vec<_> = accepted.iter().map(|id| id.0.to_string()).collect();
                    format!("up {ric_id} accepted={}", accepted.join(","))
                }
                AgentEvent::Down { reason, retry_at } => {
                    format!("down: {reason}; again in {} ms", (retry_at - self.now).as_millis())
                }
                AgentEvent::Subscribe(r) => {
                    let (id, actions) =
                        (r.request_id, r.actions.iter().map(|a| a.id.0.to_string()).collect::<Vec<_>>());
                    let (function, actions) = (r.ran_function_id.0, actions.join(","));
                    format!("subscribe id={}/{} fn={function} actions={actions}", id.requestor, id.instance)
                }
                AgentEvent::Unsubscribe { request_id: id, ran_function_id } => {
                    format!("unsubscribe id={}/{} fn={}", id.requestor, id.instance, ran_function_id.0)
                }
                AgentEvent::Control(r) => {
                    let id = r.request_id;
                    format!("control id={}/{} fn={} {:02x?}", id.requestor, id.instance, r.ran_function_id.0, r.message)
                }
                AgentEvent::Notice(notice) => format!("{notice}"),
            };
            self.out.push(format!("! {line}"));
        }
        let mut bytes = Vec::new();
        while self.agent.poll_transmit(&mut bytes) {
            self.sent(&std::mem::take(&mut bytes));
        }
        if let Some(reason) = self.agent.poll_close() {
            self.out.push(format!("closed: {reason}"));
        }
    }
}
