//! `--listen`: a RIC that explains the E2 Setup of one node.

use std::time::{Duration, Instant};

use e2ap::{Codec, Version};
use ferric::Endpoint;
use ferric::e2::{AssocId, Controller, ControllerConfig, Event, Node, Notice, RanFunction, Time};
use ferric::link::{Address, Config, Error, Listener, StreamId};
use program::link_remedy;

use super::findings::Findings;
use super::host;
use crate::peer::Peer;

const ASSOC: AssocId = AssocId(1);

/// Waits for a node, and explains its E2 Setup.
pub fn listen(endpoint: &Endpoint, link: &Config, patience: Duration, findings: &mut Findings) -> anyhow::Result<()> {
    let mut listener = match Listener::bind(&endpoint.address, link) {
        Ok(listener) => listener,
        Err(Error::SctpUnsupported) => {
            host::no_sctp(findings);
            return Ok(());
        }
        Err(error) => {
            findings.fault(
                format_args!("cannot listen for a node at {endpoint}"),
                &error,
                link_remedy(&error).unwrap_or("correct the address"),
            );
            return Ok(());
        }
    };
    let endpoint = &Endpoint::new(listener.local_address().clone(), endpoint.codec);
    program::outln!("e2={endpoint}");
    let deadline = Instant::now() + patience;
    let Some(mut peer) = Peer::accept(&mut listener, Some(deadline))? else {
        findings.fault(
            format_args!("no node connected to {endpoint}"),
            format_args!("no connection within {} s", patience.as_secs()),
            match endpoint.address {
                Address::Sctp { .. } => {
                    "check the RIC's address and port in the node's configuration, and that its E2 agent is enabled; \
                     let SCTP (IP protocol 132) through firewalls, NAT and cloud security groups; `tcpdump -ni any \
                     sctp` shows whether packets arrive"
                }
                _ => {
                    "check the RIC's address and port in the node's configuration, and that its E2 agent is enabled; \
                     if it uses SCTP, as most base stations do, give a sctp:// address"
                }
            },
        );
        return Ok(());
    };
    findings.good(format_args!("{} connects", peer.link().peer()));
    receive_setup(&mut peer, endpoint.codec, deadline, findings)
}

/// Answers as a RIC until the node has set up.
fn receive_setup(peer: &mut Peer, codec: Codec, deadline: Instant, findings: &mut Findings) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut ric = Controller::new(ControllerConfig::default());
    ric.handle_open_in(Time::from_nanos(0), ASSOC, codec);
    let address = peer.link().peer().clone();
    loop {
        let Some(pdu) = peer.wait_for(deadline, |_| true)? else {
            no_setup(&address, peer.lost(), begun.elapsed(), findings);
            return Ok(());
        };
        let now = Time::from_nanos(begun.elapsed().as_nanos() as u64);
        ric.handle_pdu(now, ASSOC, &pdu);
        let mut out = Vec::new();
        while ric.poll_transmit(&mut out).is_some() {
            peer.send(StreamId(0), &out)?;
            out.clear();
        }
        let mut up = None;
        while let Some(event) = ric.poll_event() {
            match event {
                Event::NodeUp(id) => up = Some(id),
                Event::Notice { notice, .. } => report_notice(&pdu, codec, &notice, findings),
                _ => {}
            }
        }
        if let Some(node) = up.and_then(|id| ric.node(id)) {
            explain(node, findings);
            return Ok(());
        }
        if ric.poll_close().is_some() {
            findings.fault(
                format_args!("{address} does not behave as an E2 node"),
                "it sent other messages instead of an E2 Setup",
                "see the findings above",
            );
            return Ok(());
        }
    }
}

/// Reports that the peer has sent no E2 Setup.
fn no_setup(peer: &Address, lost: Option<&Error>, waited: Duration, findings: &mut Findings) {
    let what = format!("{peer} connects, but sends no E2 Setup");
    match lost {
        // without a PDU after its length, the peer uses another framing
        Some(error @ (Error::PduTooLong { .. } | Error::EmptyPdu)) => findings.fault(
            what,
            format_args!("what it sends does not start with a message's length: {error}"),
            "over TCP, a length of 4 octets precedes each message; for a node that uses SCTP or TLS, give an address of \
             that scheme",
        ),
        Some(error) => findings.fault(
            what,
            error,
            link_remedy(error).unwrap_or("check the node's log: it gave up, or uses another protocol"),
        ),
        None => findings.fault(
            what,
            format_args!("no complete message received within {} s", waited.as_secs()),
            "check the node's log; over TCP, a length of 4 octets must precede each message",
        ),
    }
}

/// Reports a notice of the controller about a received PDU.
fn report_notice(pdu: &[u8], codec: Codec, notice: &Notice, findings: &mut Findings) {
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
                        "it can be decoded in the encoding `{other}`: configure the same encoding at both ends (tcp+{other}://)"
                    )
                }
                (Some(version), _) => {
                    format!("it can be decoded as E2AP v{version}: configure that version for this node")
                }
                (None, None) => {
                    format!("`ferric decode {}` shows the fault", per::json::hex(pdu.iter().take(2048)))
                }
            };
            findings.fault("cannot decode a message of the node", error, remedy);
        }
        other => findings.note(
            "the node deviates from the specification",
            other,
            "nothing, unless the node does not connect",
        ),
    }
}

fn explain(node: &Node, findings: &mut Findings) {
    findings.good(format_args!("node {} sends an E2 Setup of E2AP v{}", node.global_id, node.version));
    if node.version == Version::V2_03 {
        findings.note(
            "the E2 Setup may also be of v03.01",
            "both versions encode it alike; a RIC assumes v02.03 until the node sends an element of v03.01",
            "configure the node's version in the RIC if it is v03.01 and something does not work",
        );
    }
    if node.functions.is_empty() {
        findings.fault(
            "the node offers no RAN function",
            "its list of RAN functions is empty: xApps cannot subscribe to anything",
            "enable the service models in its configuration (srsRAN: e2sm_kpm_enabled, e2sm_rc_enabled; OAI: sm_dir)",
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
            format_args!("E2AP v{} has none, or the node omits it; xApps find functions by their OIDs", node.version),
            "configure E2AP v02.03 at the node",
        );
    }
    match e2sm::identify_function(oid, revision.0, definition) {
        Ok(identity) => findings.good(format_args!("{name}: {identity}")),
        Err(e2sm::Error::UnknownOid) => findings.note(
            format_args!("{name} is of an unknown service model"),
            "the RIC forwards its messages to xApps unchanged",
            "nothing, if your xApps support it",
        ),
        Err(error) => findings.fault(
            format_args!("{name}: cannot decode its definition"),
            error,
            "configure the revision of its service model for this node, or report a recording (`ferric ric --record`)",
        ),
    }
}
