//! A RIC for once: what a node's setup says.

use std::time::{Duration, Instant};

use e2ap::{Codec, Version};
use ferric::Endpoint;
use ferric::e2::{AssocId, Controller, ControllerConfig, Event, Node, Notice, RanFunction, Time};
use ferric::link::{Address, Config, Error, Listener, StreamId};

use super::findings::Findings;
use super::host;
use program::link_remedy;

use crate::peer::Peer;

const ASSOC: AssocId = AssocId(1);

/// Waits for a node, and explains its setup.
pub fn await_node(
    endpoint: &Endpoint,
    link: &Config,
    patience: Duration,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    let mut listener = match Listener::bind(&endpoint.address, link) {
        Ok(listener) => listener,
        Err(Error::SctpUnsupported) => {
            host::no_sctp(findings);
            return Ok(());
        }
        Err(error) => {
            findings.fault(
                format_args!("cannot await a node at {endpoint}"),
                &error,
                link_remedy(&error).unwrap_or("correct the address"),
            );
            return Ok(());
        }
    };
    let endpoint = &Endpoint::new(listener.local_address().clone(), endpoint.codec);
    program::outln!("e2={endpoint}");
    let deadline = Instant::now() + patience;
    let Some(mut live) = Peer::accept(&mut listener, Some(deadline))? else {
        findings.fault(
            format_args!("no node connected to {endpoint}"),
            format_args!("nobody came within {} s", patience.as_secs()),
            match endpoint.address {
                Address::Sctp { .. } => {
                    "look at the node's configuration for the RIC's address and port, whether its E2 agent is switched on, \
                     and let SCTP (IP protocol 132) through firewalls, NAT and cloud security groups; `tcpdump -ni any \
                     sctp` shows whether anything comes"
                }
                _ => {
                    "look at the node's configuration for the RIC's address and port, whether its E2 agent is switched on, \
                     and whether it speaks SCTP, as most base stations do: then give a sctp:// address"
                }
            },
        );
        return Ok(());
    };
    findings.good(format_args!("{} connects", live.link().peer()));
    hear(&mut live, endpoint.codec, deadline, findings)
}

/// Answers as a RIC does until the node is up.
fn hear(live: &mut Peer, codec: Codec, deadline: Instant, findings: &mut Findings) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut ric = Controller::new(ControllerConfig::default());
    ric.handle_open_in(Time::from_nanos(0), ASSOC, codec);
    let peer = live.link().peer().clone();
    loop {
        let Some(pdu) = live.work_until(deadline, |_| true)? else {
            no_setup(&peer, live.lost(), begun.elapsed(), findings);
            return Ok(());
        };
        let now = Time::from_nanos(begun.elapsed().as_nanos() as u64);
        ric.handle_pdu(now, ASSOC, &pdu);
        let mut out = Vec::new();
        while ric.poll_transmit(&mut out).is_some() {
            live.send(StreamId(0), &out)?;
            out.clear();
        }
        let mut up = None;
        while let Some(event) = ric.poll_event() {
            match event {
                Event::NodeUp(id) => up = Some(id),
                Event::Notice { notice, .. } => remark(&pdu, codec, &notice, findings),
                _ => {}
            }
        }
        if let Some(node) = up.and_then(|id| ric.node(id)) {
            explain(node, findings);
            return Ok(());
        }
        if ric.poll_close().is_some() {
            findings.fault(
                format_args!("{peer} is no E2 node that a RIC understands"),
                "it went on with what is no setup",
                "see the findings above",
            );
            return Ok(());
        }
    }
}

/// Nobody sets up.
fn no_setup(peer: &Address, lost: Option<&Error>, waited: Duration, findings: &mut Findings) {
    let what = format!("{peer} connects, and does not set up");
    match lost {
        // what cannot be framed is no PDU behind its length
        Some(error @ (Error::PduTooLong { .. } | Error::EmptyPdu)) => findings.fault(
            what,
            format_args!("what it sends does not begin with a message's length: {error}"),
            "over TCP each message has its length before it, in 4 octets: a node that speaks SCTP, TLS or HTTP takes the \
             address of that scheme",
        ),
        Some(error) => findings.fault(
            what,
            error,
            link_remedy(error).unwrap_or("look at the node's log: it gave up by itself, or speaks another protocol"),
        ),
        None => findings.fault(
            what,
            format_args!("not a whole message came within {} s", waited.as_secs()),
            "look at the node's log; over TCP it must put a length of 4 octets before each message",
        ),
    }
}

/// What the machine finds odd about what came.
fn remark(pdu: &[u8], codec: Codec, notice: &Notice, findings: &mut Findings) {
    match notice {
        Notice::Malformed(error) | Notice::Unreadable(error) => {
            let reads = |codec: Codec| {
                Version::ALL.into_iter().find(|version| {
                    let gather = per::Gather::new();
                    codec.decode(pdu, *version, &gather).is_ok()
                })
            };
            let other =
                Codec::ALL.iter().copied().filter(|other| *other != codec).find(|other| reads(*other).is_some());
            let remedy = match (reads(codec), other) {
                (None, Some(other)) => {
                    format!(
                        "it can be read in the encoding `{other}`: both ends must be told the same one (tcp+{other}://)"
                    )
                }
                (Some(version), _) => {
                    format!("it can be read as E2AP v{version}: configure that version for this node")
                }
                (None, None) => {
                    format!("`ferric decode {}` shows where it goes wrong", ::ric::json::hex(pdu.iter().take(2048)))
                }
            };
            findings.fault("a message of the node cannot be read", error, remedy);
        }
        other => findings.note("something odd about the node", other, "no need, unless the node does not come up"),
    }
}

fn explain(node: &Node, findings: &mut Findings) {
    findings.good(format_args!("node {} sets up over E2AP v{}", node.global_id, node.version));
    if node.version == Version::V2_03 {
        findings.note(
            "the setup could be one of v03.01 too",
            "both write the same; a RIC takes it for v02.03 until the node sends what only v03.01 has",
            "configure the node's version in the RIC if it is v03.01 and something does not work",
        );
    }
    if node.functions.is_empty() {
        findings.fault(
            "the node offers no function",
            "its list of RAN functions is empty, so that xApps can ask for nothing",
            "switch the service models on in its configuration (srsRAN: e2sm_kpm_enabled, e2sm_rc_enabled; OAI: sm_dir)",
        );
    }
    node.functions.iter().for_each(|function| explain_function(node, function, findings));
}

fn explain_function(node: &Node, function: &RanFunction, findings: &mut Findings) {
    let RanFunction { id, oid, definition, revision } = function;
    let name = format!("function {} (OID {oid})", id.0);
    if oid.is_empty() {
        return findings.fault(
            format_args!("function {} has no OID", id.0),
            format_args!(
                "E2AP v{} has none or the node does not tell it, and xApps find functions by it",
                node.version
            ),
            "have the node speak E2AP v02.03",
        );
    }
    match e2sm::identify_function(oid, revision.0, definition) {
        Ok(told) => findings.good(format_args!("{name}: {told}")),
        Err(e2sm::Error::UnknownOid) => findings.note(
            format_args!("{name} is of a service model that is not known here"),
            "its bytes reach xApps as they are",
            "no need, if your xApps know it",
        ),
        Err(error) => findings.fault(
            format_args!("{name}: its definition cannot be read"),
            error,
            "configure the revision of its service model for this node, or report the node's bytes (`ferric ric --record`)",
        ),
    }
}
