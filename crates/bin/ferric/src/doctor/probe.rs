//! `--ric`: a node that probes a RIC.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use e2ap::{
    Codec, E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId,
    E2NodeComponentInterfaceNg, E2NodeComponentInterfaceType, E2SetupRequest, E2SetupResponse, GlobalE2NodeId, GnbId,
    Pdu, PlmnIdentity, RanFunctionId, RanFunctionItem, RanFunctionRevision, TransactionId, Version,
};
use e2sm::Wire;
use ferric::Endpoint;
use ferric::link::{Config, Error, StreamId};
use per::{Gather, Octets, PrintableString};
use program::link_remedy;

use super::findings::Findings;
use super::host;
use crate::peer::Peer;

/// Connects, sends an E2 Setup, and reports the answer.
pub fn probe(
    endpoint: &Endpoint,
    link: &Config,
    version: Option<Version>,
    patience: Duration,
    findings: &mut Findings,
) {
    let versions = match &version {
        Some(version) => std::slice::from_ref(version),
        // v03.01 encodes the E2 Setup as v02.03 does
        None => &[Version::V2_03, Version::V1_01, Version::V1_00],
    };
    let mut refusal: Option<Answer> = None;
    for (at, &version) in versions.iter().enumerate() {
        match set_up(endpoint, link, version, patience, findings) {
            None => return,
            Some(Answer::Accepted(response)) => {
                return match refusal {
                    None => report_success(endpoint, version, &response, findings),
                    Some(_) => findings.fault(
                        format_args!("the RIC at {endpoint} supports E2AP v{version}, not v{}", versions[0]),
                        format_args!(
                            "it accepted an E2 Setup of v{version}, after it had rejected one of v{}",
                            versions[0]
                        ),
                        format_args!(
                            "configure v{version} at the node (`ferric ran --e2ap {version}`), or update the RIC"
                        ),
                    ),
                };
            }
            // a late answer does not depend on the version, and may be taken for the answer to the next one
            Some(silence @ Answer::Silence) => {
                if let Some(answer) = refusal {
                    explain(endpoint, &versions[..at], &answer, patience, findings);
                }
                return explain(endpoint, &[version], &silence, patience, findings);
            }
            Some(answer) => drop(refusal.get_or_insert(answer)),
        }
    }
    if let Some(answer) = refusal {
        explain(endpoint, versions, &answer, patience, findings);
    }
}

/// A RIC's answer to an E2 Setup.
enum Answer {
    Accepted(Box<E2SetupResponse<'static>>),
    Rejected(Box<Pdu<'static>>),
    /// A message that cannot be decoded in the version of the request.
    Undecodable(Vec<u8>),
    /// The link was lost.
    Lost(Error),
    Silence,
}

/// One attempt; `None` if the connection failed, which is reported.
fn set_up(
    endpoint: &Endpoint,
    link: &Config,
    version: Version,
    patience: Duration,
    findings: &mut Findings,
) -> Option<Answer> {
    let connected = Peer::connect(&endpoint.address, link).and_then(|mut peer| {
        let is_established = peer.establish(Instant::now() + patience)?;
        Ok((peer, is_established))
    });
    let mut peer = match connected {
        Ok((peer, true)) => peer,
        Ok((_, false)) => {
            findings.fault(
                format_args!("{endpoint} does not answer a connection attempt"),
                format_args!(
                    "no answer within {} s: a firewall drops the packets, or the host is down",
                    patience.as_secs()
                ),
                "check the path with `ping` and `ip route get`, and let TCP port 36421 (SCTP: IP protocol 132) through \
                 firewalls, NAT and cloud security groups",
            );
            return None;
        }
        Err(error) => {
            no_connection(endpoint, &error, findings);
            return None;
        }
    };
    let answer = match peer.send(StreamId(0), &setup(version, endpoint.codec)) {
        Ok(()) => peer.wait_for(Instant::now() + patience, |_| true),
        Err(error) => Err(error),
    };
    Some(match answer {
        Err(error) => Answer::Lost(peer.take_lost().unwrap_or(error)),
        Ok(None) => peer.take_lost().map_or(Answer::Silence, Answer::Lost),
        Ok(Some(bytes)) => {
            let gather = Gather::new();
            match endpoint.codec.decode(&bytes, version, &gather).map(|decoded| decoded.pdu.into_owned()) {
                Ok(Pdu::E2SetupResponse(response)) => Answer::Accepted(Box::new(response)),
                Ok(other) => Answer::Rejected(Box::new(other)),
                Err(_) => Answer::Undecodable(bytes),
            }
        }
    })
}

fn no_connection(endpoint: &Endpoint, error: &Error, findings: &mut Findings) {
    let Error::Connect { source, .. } = error else {
        return match error {
            Error::SctpUnsupported => host::no_sctp(findings),
            other => findings.fault(
                format_args!("no connection to {endpoint}"),
                other,
                link_remedy(other).unwrap_or("give the RIC's address and its TLS options"),
            ),
        };
    };
    let (what, remedy) = match source.kind() {
        ErrorKind::ConnectionRefused => (
            "nothing listens at",
            "start the RIC there, or give the address that it prints (`ferric ric` prints e2=URL); tcp:// and \
             sctp:// ports are distinct",
        ),
        ErrorKind::NotFound => ("no socket at", "start the RIC there, or correct the path"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::TimedOut => {
            ("no route to", "check `ip route get` and the firewalls on the path")
        }
        ErrorKind::PermissionDenied => {
            ("no permission to connect to", "check the socket's owner and the local firewalls")
        }
        _ => ("no connection to", "correct the address"),
    };
    findings.fault(format_args!("{what} {endpoint}"), source, remedy);
}

fn report_success(endpoint: &Endpoint, version: Version, response: &E2SetupResponse<'_>, findings: &mut Findings) {
    let ric = response.global_ric_id;
    findings.good(format_args!("the RIC {ric} at {endpoint} accepts an E2 Setup of E2AP v{version}"));
    for rejected in response.ran_functions_rejected.iter().flat_map(|items| items.iter()) {
        findings.note(
            format_args!("it rejects the probe's function {}, a ping", rejected.id.0),
            rejected.cause,
            "check that it supports the service models (OIDs) of your node",
        );
    }
    let refused = response.component_config_addition_ack.iter().flat_map(|items| items.iter());
    for component in refused.filter(|item| item.ack.outcome == e2ap::UpdateOutcome::Failure) {
        findings.note(
            "it rejects the probe's component configuration",
            component.ack.failure_cause.map_or_else(|| "without a cause".to_owned(), |cause| cause.to_string()),
            "check which interfaces of a node it requires",
        );
    }
}

fn explain(endpoint: &Endpoint, versions: &[Version], answer: &Answer, patience: Duration, findings: &mut Findings) {
    let names: Vec<&str> = versions.iter().map(|version| version.name()).collect();
    let names = names.join(", v");
    let refuses = format!("the RIC at {endpoint} rejects an E2 Setup of E2AP v{names}");
    match answer {
        Answer::Accepted(_) => {}
        Answer::Rejected(pdu) => {
            let why = match &**pdu {
                Pdu::E2SetupFailure(failure) => {
                    let wait = failure.time_to_wait.map_or_else(String::new, |wait| format!(", with a time to wait of {} s", wait.seconds()));
                    let cause = failure.cause.map_or_else(|| "no cause".to_owned(), |cause| cause.to_string());
                    format!("it answers with a setup failure: {cause}{wait}")
                }
                Pdu::ErrorIndication(error) => {
                    let cause = error.cause.map_or_else(|| "no cause".to_owned(), |cause| cause.to_string());
                    format!("it answers with an error indication: {cause}")
                }
                other => format!("it answers with a {}", other.name()),
            };
            findings.fault(refuses, why, "check its log; it may accept known nodes, networks or functions only");
        }
        Answer::Undecodable(bytes) => {
            let begin: Vec<String> = bytes.iter().take(16).map(|octet| format!("{octet:02x}")).collect();
            let other = Codec::ALL.iter().copied().find(|codec| *codec != endpoint.codec && codec.outline(bytes).is_some());
            if let Some(other) = other {
                return findings.fault(
                    refuses,
                    format_args!("it answers in the encoding `{other}` instead of `{}`", endpoint.codec),
                    "configure the same encoding at both ends: tcp:// is `per`, tcp+flat:// is `flat`",
                );
            }
            findings.fault(
                refuses,
                format_args!("its answer is not E2AP of these versions; it starts with {}", begin.join(" ")),
                "check that this is a port for E2: xApps, management and E2 have separate ports",
            );
        }
        Answer::Lost(error) => findings.fault(
            refuses,
            format_args!("it closes the connection: {error}"),
            link_remedy(error).unwrap_or(
                "check its log, and that it has the same encoding (tcp+flat:// or tcp://); over TCP it must expect a length of 4 octets before each \
                 message, which RICs other than ferric may not",
            ),
        ),
        Answer::Silence => findings.fault(
            format_args!("{endpoint} accepts the connection, but does not answer an E2 Setup of E2AP v{names}"),
            format_args!("nothing received within {} s", patience.as_secs()),
            "check that this is a port for E2 of a RIC, and its log; give a busy RIC more time (--patience), and try other \
             versions (--e2ap 1.01): a RIC may ignore an unknown version",
        ),
    }
}

/// The probe's E2 Setup: a gNB with a ping, of a test PLMN.
fn setup(version: Version, codec: Codec) -> Vec<u8> {
    let mut definition = Vec::new();
    if let Err(error) = e2sm::hw::RanFunctionDefinition::STANDARD.encode(Wire::Per, &mut definition) {
        panic!("cannot encode the ping's definition: {error}");
    }
    let function = RanFunctionItem {
        id: RanFunctionId(1),
        definition: Octets::from(definition),
        revision: RanFunctionRevision(1),
        oid: (version > Version::V1_00).then(|| PrintableString::literal(e2sm::hw::OID)),
    };
    let component = E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("doctor") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    };
    let since_v2 = version >= Version::V2_03;
    let request = E2SetupRequest {
        transaction_id: since_v2.then_some(TransactionId(1)),
        global_e2_node_id: GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0x3f_fffe, 22)),
        ran_functions_added: Some(vec![function].into()),
        component_config_update_v1: None,
        component_config_addition: since_v2.then(|| vec![component].into()),
    };
    let mut bytes = Vec::new();
    if let Err(error) = codec.encode(&request.into(), version, &mut bytes) {
        panic!("cannot encode the probe's E2 Setup in v{version}: {error}");
    }
    bytes
}
