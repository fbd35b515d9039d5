//! An agent, and a RIC whose messages a test states.

use e2::{Agent, AgentConfig, AgentEvent, CloseReason, Function, Target, Time};
use e2ap::{RanFunctionId, RanFunctionRevision, RicActionId, RicIndicationType, Version};

use super::notation::{self, Args};
use super::notation_parse::{component, component_v1, connection, tnl};
use super::scenario_ric::duration;

pub fn functions(ids: &[u16]) -> Vec<Function> {
    let function = |id: &u16| Function {
        id: RanFunctionId(*id),
        revision: RanFunctionRevision(1),
        oid: "1.3.6.1".into(),
        definition: vec![0xDE, 0xF0],
    };
    ids.iter().map(function).collect()
}

pub struct ScenarioAgent {
    pub now: Time,
    pub agent: Agent,
    version: Version,
    out: Vec<String>,
}

impl ScenarioAgent {
    /// Creates the parties from the arguments in the first line of a scenario, after `agent`.
    pub fn new(args: &Args<'_>) -> Self {
        let mut config = AgentConfig::new(notation::gnb(1), functions(&args.numbers("fns")));
        let version = args.get("v").map_or(Version::V2_03, |text| text.parse().unwrap());
        config.version = version;
        config.strict_ie_order = args.has("strict-ie-order");
        config.addresses = args.number("addresses").unwrap_or(1);
        if let Some(subscriptions) = args.number("max-subscriptions") {
            config.max_subscriptions = subscriptions;
        }
        ScenarioAgent { now: Time::from_nanos(1_000_000_000), agent: Agent::new(config), version, out: Vec::new() }
    }

    /// Executes an input line. Returns its output.
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
                let pdu = notation::encode_line(&words[1..], self.version);
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
                let outcome = args.get("outcome").map(notation::hex);
                self.agent.acknowledge(args.id(), outcome.as_deref())
            }
            "fail" => self.agent.fail(args.id(), args.cause(), None),
            "reset" => self.agent.reset(self.now, args.cause()),
            "functions" => {
                let mut functions = functions(&args.numbers("fns"));
                let changed = args.numbers::<u16>("changed");
                for function in functions.iter_mut().filter(|f| changed.contains(&f.id.0)) {
                    function.revision = RanFunctionRevision(args.number("rev").unwrap_or(2));
                    function.definition = vec![0xCA];
                }
                self.agent.update_functions(self.now, functions)
            }
            "components" if args.has("v1") => {
                let octets = args.number("octets").unwrap_or(2);
                let components = args.numbers("dus").into_iter().map(|du| component_v1(du, octets)).collect();
                self.agent.update_components_v1(self.now, components)
            }
            "components" => {
                let octets = args.number("octets").unwrap_or(2);
                let components = args.numbers("dus").into_iter().map(|du| component(du, octets)).collect();
                self.agent.update_components(self.now, components)
            }
            "connected" => {
                let set_up = args.numbers("setup").into_iter().map(connection).collect();
                let failed = args.numbers("failed").into_iter().map(|n| (tnl(n), args.cause())).collect();
                self.agent.connection_updated(&e2::ConnectionResult { set_up, failed })
            }
            "refuse-connection" => self.agent.refuse_connection_update(args.cause(), args.wait()),
            "remove" => self.agent.remove(self.now),
            "connect" => self.agent.connect(),
            "answer" => self.agent.answer_query(args.id(), &args.octets("outcome")),
            "fail-query" => self.agent.fail_query(args.id(), args.cause()),
            "modified" => {
                let ids = |key| args.numbers(key).into_iter().map(RicActionId).collect();
                let not = |key| args.numbers(key).into_iter().map(|id| (RicActionId(id), args.cause())).collect();
                let result = e2::ChangeResult {
                    removed: ids("removed"),
                    modified: ids("modified"),
                    added: ids("added"),
                    not_removed: not("not-removed"),
                    not_modified: not("not-modified"),
                    not_added: not("not-added"),
                };
                self.agent.modified(args.id(), &result)
            }
            "refuse-modification" => self.agent.refuse_modification(args.id(), args.cause()),
            "require-deletion" => self.agent.require_deletion(&[(args.id(), args.cause())]),
            "require-modification" => {
                let wait = e2ap::RicTimeToWait::W1s;
                let modify: Vec<_> = args.numbers("modify").into_iter().map(|id| (RicActionId(id), wait)).collect();
                let remove: Vec<_> =
                    args.numbers("remove").into_iter().map(|id| (RicActionId(id), args.cause())).collect();
                self.agent.require_modification(self.now, args.id(), &modify, &remove)
            }
            "indicate" => {
                let mut out = Vec::new();
                let action = RicActionId(args.number("action").unwrap_or(1));
                let result = match args.get("call").map(notation::hex) {
                    Some(call) => self.agent.write_insert(args.id(), action, &call, &[1], &[2, 3], &mut out),
                    None => {
                        let kind = RicIndicationType::Report;
                        self.agent.write_indication(args.id(), action, kind, &[1], &[2, 3], &mut out)
                    }
                };
                assert_eq!(result.is_err(), out.is_empty());
                if result.is_ok() {
                    self.sent(&out);
                }
                result
            }
            other => panic!("unknown input {other}"),
        };
        if let Err(misuse) = result {
            self.out.push(format!("! misuse: {misuse}"));
        }
        self.settle();
        std::mem::take(&mut self.out)
    }

    fn sent(&mut self, bytes: &[u8]) {
        let gather = Default::default();
        let pdu = e2ap::decode(bytes, self.version, &gather).expect("a sent PDU decodes");
        self.out.push(format!("ric < {}", notation::format_pdu(&pdu.pdu)));
    }

    fn settle(&mut self) {
        while let Some(event) = self.agent.poll_event() {
            let line = match event {
                AgentEvent::Connect => match self.agent.target() {
                    Target::Configured(0) => "connect".to_owned(),
                    Target::Configured(at) => format!("connect to address {at}"),
                    Target::Directed(tnl) => format!("connect to {:?}", tnl.addresses().0.unwrap()),
                },
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
                    let times = if r.times == Default::default() { String::new() } else { format!(" {:?}", r.times) };
                    format!("subscribe id={}/{} fn={function} actions={actions}{times}", id.requestor, id.instance)
                }
                AgentEvent::Unsubscribe { request_id: id, ran_function_id } => {
                    format!("unsubscribe id={}/{} fn={}", id.requestor, id.instance, ran_function_id.0)
                }
                AgentEvent::Control(r) => {
                    let id = r.request_id;
                    format!("control id={}/{} fn={} {:02x?}", id.requestor, id.instance, r.ran_function_id.0, r.message)
                }
                AgentEvent::Notice(notice) => format!("{notice}"),
                AgentEvent::Removed { by_ric } => format!("removed{}", if by_ric { " by the RIC" } else { "" }),
                AgentEvent::FunctionsUpdated { accepted, rejected } => {
                    let accepted: Vec<_> = accepted.iter().map(|id| id.0.to_string()).collect();
                    let rejected: Vec<_> = rejected.iter().map(|(id, _)| id.0.to_string()).collect();
                    format!("functions updated accepted={} rejected={}", accepted.join(","), rejected.join(","))
                }
                AgentEvent::ComponentsUpdated { rejected } => format!("components updated rejected={rejected}"),
                AgentEvent::GivenUp { procedure_code, cause } => match cause {
                    Some(cause) => format!("given up {procedure_code:?} ({cause})"),
                    None => format!("given up {procedure_code:?}"),
                },
                AgentEvent::ConnectionUpdate(update) => {
                    let e2::ConnectionUpdate { add, remove, modify } = update;
                    format!("connections add={} remove={} modify={}", add.len(), remove.len(), modify.len())
                }
                AgentEvent::Query(r) => {
                    let id = r.request_id;
                    format!(
                        "query id={}/{} fn={} {:02x?}",
                        id.requestor, id.instance, r.ran_function_id.0, r.definition
                    )
                }
                AgentEvent::Modify(r) => {
                    let (id, done) = (r.request_id, r.change.all_done());
                    format!("modify id={}/{} {:?} {done:?}", id.requestor, id.instance, r.change.event_trigger)
                }
                AgentEvent::ModificationConfirmed { request_id: id, modified, removed, refused } => {
                    format!("agreed id={}/{} {modified:?} {removed:?} {refused:?}", id.requestor, id.instance)
                }
                AgentEvent::ModificationRefused { request_id: id, cause } => {
                    format!("not agreed id={}/{} {cause:?}", id.requestor, id.instance)
                }
                other => panic!("no notation for {other:?}"),
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
