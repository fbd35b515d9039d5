//! E2 over kernel SCTP from end to end. The runner of crate link provides SCTP where the host's kernel has none:
//!
//! `CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$PWD/crates/base/link/kernel-sctp/run cargo test -p ferric --test sctp`

mod common;

use ferric::e2::RequestEvent;
use std::io::Write;
use std::time::Duration;

use common::function::{Reporter, impatient, poll_agents_until};
use common::peer::{FUNCTION, node_id, report_spec};
use common::session::{node_id_of, session};
use common::test_server::{Ric, free_ports};
use ferric::agent::AgentLoop;
use ferric::e2::ControlOutcome;
use ferric::link::{self, Listener};
use ferric::server::ServerConfig;
use ferric::xapp::XappEvent;
use per::Gather;

/// Returns whether SCTP can be tested here. The runner guarantees it, so that its absence is a failure then.
fn has_sctp() -> bool {
    let required = std::env::var_os("FERRIC_SCTP").is_some_and(|value| value == "required");
    match Listener::bind(&"sctp://127.0.0.1:0".parse().unwrap(), &link::Config::default()) {
        Ok(_) => true,
        Err(error @ link::Error::SctpUnsupported) if !required => {
            // written directly, since the test harness hides the output of passing tests
            let _ = writeln!(std::io::stderr(), "\nSCTP NOT TESTED: {error}; see crates/base/link/kernel-sctp/run");
            false
        }
        Err(error) => panic!("SCTP is required here: {error}"),
    }
}

#[test]
fn agent_server_and_xapp_work_over_sctp() {
    if !has_sctp() {
        return;
    }
    for octets in [8, 1500, 60_000] {
        let ric = Ric::start(ServerConfig { e2: vec!["sctp://127.0.0.1:0".parse().unwrap()], ..free_ports() });
        let mut agents = AgentLoop::new(impatient()).unwrap();
        let reporter = Reporter::new(Duration::from_millis(2)).with_octets(octets);
        let log = reporter.log.clone();
        agents.add(node_id(1), ric.e2[0].clone().into(), vec![Box::new(reporter)]);
        poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
        let mut xapp = session(&ric);
        let node = node_id_of(&mut xapp, 1);
        xapp.commands().subscribe(node, FUNCTION, report_spec(b""));
        xapp.commands().control(node, FUNCTION, b"", b"echo");
        let (mut next, mut echoed) = (0, false);
        poll_agents_until(&mut agents, "50 reports and the answer", |_| {
            xapp.poll(Some(Duration::ZERO), |event, _| match event {
                XappEvent::Indication(indication) => {
                    let gather = Gather::new();
                    let message = indication.decode(&gather).unwrap().message.to_cow().into_owned();
                    assert_eq!(message.len(), octets);
                    assert_eq!(u64::from_be_bytes(*message.first_chunk().unwrap()), next);
                    next += 1;
                }
                XappEvent::Request(RequestEvent::Controlled { outcome: result, .. }) => {
                    assert_eq!(result, ControlOutcome::Acknowledged(Some(b"echo".to_vec().into())));
                    echoed = true;
                }
                _ => {}
            })
            .unwrap();
            next >= 50 && echoed
        });
        drop(ric);
        poll_agents_until(&mut agents, "the loss", |agents| {
            agents.connected_controllers() == 0 && log.unsubscribed() == 1
        });
    }
}
