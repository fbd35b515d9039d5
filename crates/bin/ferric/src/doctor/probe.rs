//! A node for once: what a RIC says to it.

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

use super::findings::Findings;
use super::host;
use program::link_remedy;

use crate::peer::Peer;

/// Connects, sets up, and tells what comes of it.
pub fn ask_ric(
    endpoint: &Endpoint,
    link: &Config,
    version: Option<Version>,
    patience: Duration,
    findings: &mut Findings,
) {
    let versions = match &version {
        Some(version) => std::slice::from_ref(version),
        // v03.01 writes the same setup as v02.03
        None => &[Version::V2_03, Version::V1_01, Version::V1_00],
    };
    let mut refusal: Option<Answer> = None;
    for (at, &version) in versions.iter().enumerate() {
        match ask(endpoint, link, version, patience, findings) {
            None => return,
            Some(Answer::Taken(response)) => {
                return match refusal {
                    None => welcome(endpoint, version, &response, findings),
                    Some(_) => findings.fault(
                        format_args!("the RIC at {endpoint} speaks E2AP v{version}, and not v{}", versions[0]),
                        format_args!("it took a setup of v{version}; {}", "the one before came to nothing"),
                        format_args!(
                            "have the node speak v{version} (`ferric ran --e2ap {version}`), or update the RIC"
                        ),
                    ),
                };
            }
            // it may be late: that says nothing of the version, nor does what it makes of those after it
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

/// What a RIC does about a setup.
enum Answer {
    Taken(Box<E2SetupResponse<'static>>),
    Refused(Box<Pdu<'static>>),
    /// Something that is not in our version.
    Unreadable(Vec<u8>),
    /// It closed, or the link broke.
    Lost(Error),
    Silence,
}

/// One attempt; `None` where it did not even come to a setup, which is told.
fn ask(
    endpoint: &Endpoint,
    link: &Config,
    version: Version,
    patience: Duration,
    findings: &mut Findings,
) -> Option<Answer> {
    let connected = Peer::connect(&endpoint.address, link).and_then(|mut live| {
        let stands = live.establish(Instant::now() + patience)?;
        Ok((live, stands))
    });
    let mut live = match connected {
        Ok((live, true)) => live,
        Ok((_, false)) => {
            findings.fault(
                format_args!("{endpoint} does not answer a connection attempt"),
                format_args!("nothing came back within {} s: a firewall drops it, or no such host is up", patience.as_secs()),
                "look at the path with `ping` and `ip route get`, and let TCP port 36421 (SCTP: IP protocol 132) through \
                 firewalls, NAT and cloud security groups",
            );
            return None;
        }
        Err(error) => {
            no_connection(endpoint, &error, findings);
            return None;
        }
    };
    let answer = match live.send(StreamId(0), &setup(version, endpoint.codec)) {
        Ok(()) => live.work_until(Instant::now() + patience, |_| true),
        Err(error) => Err(error),
    };
    Some(match answer {
        Err(error) => Answer::Lost(live.take_lost().unwrap_or(error)),
        Ok(None) => live.take_lost().map_or(Answer::Silence, Answer::Lost),
        Ok(Some(bytes)) => {
            let gather = Gather::new();
            match endpoint.codec.decode(&bytes, version, &gather).map(|decoded| decoded.pdu.into_owned()) {
                Ok(Pdu::E2SetupResponse(response)) => Answer::Taken(Box::new(response)),
                Ok(other) => Answer::Refused(Box::new(other)),
                Err(_) => Answer::Unreadable(bytes),
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
                link_remedy(other).unwrap_or("give the address and what it takes as the RIC has them"),
            ),
        };
    };
    let (what, remedy) = match source.kind() {
        ErrorKind::ConnectionRefused => (
            "nothing listens at",
            "start the RIC there, or give the address that it prints (`ferric ric` prints e2=URL); mind that tcp:// and \
             sctp:// ports are different ones",
        ),
        ErrorKind::NotFound => ("there is no socket", "start the RIC there, or correct the path"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::TimedOut => {
            ("no way leads to", "look at `ip route get` and at the firewalls in between")
        }
        ErrorKind::PermissionDenied => ("no right to connect to", "look at the socket's owner, and at local firewalls"),
        _ => ("no connection to", "correct the address"),
    };
    findings.fault(format_args!("{what} {endpoint}"), source, remedy);
}

fn welcome(endpoint: &Endpoint, version: Version, response: &E2SetupResponse<'_>, findings: &mut Findings) {
    let ric = response.global_ric_id;
    findings.good(format_args!("the RIC {ric} at {endpoint} takes a node's setup in E2AP v{version}"));
    for rejected in response.ran_functions_rejected.iter().flat_map(|items| items.iter()) {
        findings.note(
            format_args!("it does not take function {} of ours, a ping", rejected.id.0),
            rejected.cause,
            "see that it knows the service models (OIDs) that your node offers",
        );
    }
    let refused = response.component_config_addition_ack.iter().flat_map(|items| items.iter());
    for component in refused.filter(|item| item.ack.outcome == e2ap::UpdateOutcome::Failure) {
        findings.note(
            "it does not take our component configuration",
            component.ack.failure_cause.map_or_else(|| "it does not say why".to_owned(), |cause| cause.to_string()),
            "see what it wants to know of a node's interfaces",
        );
    }
}

fn explain(endpoint: &Endpoint, versions: &[Version], answer: &Answer, patience: Duration, findings: &mut Findings) {
    let names: Vec<&str> = versions.iter().map(|version| version.name()).collect();
    let names = names.join(", v");
    let refuses = format!("the RIC at {endpoint} refuses a setup in E2AP v{names}");
    match answer {
        Answer::Taken(_) => {}
        Answer::Refused(pdu) => {
            let why = match &**pdu {
                Pdu::E2SetupFailure(failure) => {
                    let wait = failure.time_to_wait.map_or_else(String::new, |wait| format!(", to be tried again after {wait:?}"));
                    let cause = failure.cause.map_or_else(|| "no cause".to_owned(), |cause| cause.to_string());
                    format!("it answers with a setup failure: {cause}{wait}")
                }
                Pdu::ErrorIndication(error) => {
                    let cause = error.cause.map_or_else(|| "no cause".to_owned(), |cause| cause.to_string());
                    format!("it answers with an error indication: {cause}")
                }
                other => format!("it answers with a {}", other.name()),
            };
            findings.fault(refuses, why, "look at its log; it may want a node, a network or functions that it knows");
        }
        Answer::Unreadable(bytes) => {
            let begin: Vec<String> = bytes.iter().take(16).map(|octet| format!("{octet:02x}")).collect();
            let other = Codec::ALL.iter().copied().find(|codec| *codec != endpoint.codec && codec.outline(bytes).is_some());
            if let Some(other) = other {
                return findings.fault(
                    refuses,
                    format_args!("it does not answer in the encoding `{}`, but in `{other}`", endpoint.codec),
                    "both ends must be told the same encoding: tcp:// is `per`, tcp+flat:// is `flat`",
                );
            }
            findings.fault(
                refuses,
                format_args!("its answer is not E2AP of these versions; it begins {}", begin.join(" ")),
                "look whether that is an E2 port: xApps, management and E2 have ports of their own",
            );
        }
        Answer::Lost(error) => findings.fault(
            refuses,
            format_args!("it ends the connection: {error}"),
            link_remedy(error).unwrap_or(
                "look at its log, and whether it was told the same encoding (tcp+flat:// or tcp://); over TCP it must expect a length of 4 octets before each message, which ferric's does \
                 and others may not",
            ),
        ),
        Answer::Silence => findings.fault(
            format_args!("{endpoint} takes a connection, and does not answer a setup in E2AP v{names}"),
            format_args!("nothing came within {} s", patience.as_secs()),
            "look whether that is an E2 port of a RIC, and at its log; give one that is busy more time (--patience), and try other \
             versions (--e2ap 1.01): a RIC that does not know this one may say nothing",
        ),
    }
}

/// The probe: a gNB with a ping, on a test network.
fn setup(version: Version, codec: Codec) -> Vec<u8> {
    let mut definition = Vec::new();
    if let Err(error) = e2sm::hw::RanFunctionDefinition::STANDARD.encode(Wire::Per, &mut definition) {
        panic!("the ping's definition cannot be written: {error}");
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
        panic!("the probe's setup cannot be written in v{version}: {error}");
    }
    bytes
}
