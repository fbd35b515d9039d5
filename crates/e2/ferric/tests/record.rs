//! Recordings, read by code that is independent of the writer, and by tshark where it is installed.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::function::{Reporter, impatient, poll_agents_until};
use common::peer::{FUNCTION, VERSION, encoded, indication_of, setup_request};
use common::session::session;
use common::test_server::{Ric, free_ports};
use common::unique;
use e2ap::{
    Codec, E2SetupRequest, GlobalE2NodeId, GnbDuId, GnbId, Pdu, PlmnIdentity, RicActionId, RicRequestId,
    RicSubscriptionDeleteRequest,
};
use ferric::Endpoint;
use ferric::agent::AgentLoop;
use ferric::link::{Address, Class, Config, Link, Listener, StreamId};
use ferric::record::{Content, Message, Protocol, Recorder, RecorderConfig, Recording};
use per::Gather;

/// A path that is removed in the end, with the renamed file.
struct File(PathBuf);

impl File {
    fn new() -> File {
        File(std::env::temp_dir().join(unique("recording")))
    }
    fn older(&self) -> PathBuf {
        PathBuf::from(format!("{}.1", self.0.display()))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(self.older());
    }
}

/// A packet as [`packets`] returns it.
#[derive(Debug)]
struct Packet {
    interface: (u16, String),
    flags: u32,
    comment: String,
    octets: Vec<u8>,
}

/// Returns the packets, and the last count of dropped messages in the statistics, from the format's definition.
fn packets(path: &Path) -> (Vec<Packet>, u64) {
    let file = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let half = |at: usize| u16::from_le_bytes(file[at..at + 2].try_into().unwrap());
    let option = |mut at: usize, wanted: u16| loop {
        let (code, octets) = (half(at), usize::from(half(at + 2)));
        match code {
            0 => break Vec::new(),
            code if code == wanted => break file[at + 4..at + 4 + octets].to_vec(),
            _ => at += 4 + octets.next_multiple_of(4),
        }
    };
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    let (mut at, mut interfaces, mut found, mut dropped) = (0, Vec::new(), Vec::new(), 0);
    while at < file.len() {
        let octets = word(at + 4) as usize;
        assert_eq!(word(at + octets - 4) as usize, octets);
        match word(at) {
            0x0A0D0D0A => assert_eq!((word(at + 8), text(option(at + 24, 4))), (0x1A2B3C4D, "ferric".into())),
            1 => {
                assert_eq!(option(at + 16, 9), [9], "nanoseconds");
                interfaces.push((half(at + 8), text(option(at + 16, 2))));
            }
            6 => {
                let captured = word(at + 20) as usize;
                let options = at + 28 + captured.next_multiple_of(4);
                let seconds = ((u64::from(word(at + 12)) << 32) + u64::from(word(at + 16))) / 1_000_000_000;
                assert!(seconds > 1_600_000_000, "a current time");
                found.push(Packet {
                    interface: interfaces[word(at + 8) as usize].clone(),
                    flags: u32::from_le_bytes(option(options, 2).try_into().unwrap()),
                    comment: text(option(options, 1)),
                    octets: file[at + 28..at + 28 + captured].to_vec(),
                });
            }
            5 => dropped += u64::from_le_bytes(option(at + 20, 5).try_into().unwrap()),
            other => panic!("block {other}"),
        }
        at += octets;
    }
    (found, dropped)
}

/// CRC-32C, bit by bit.
fn crc32c(octets: impl Iterator<Item = u8>) -> u32 {
    let mut crc = !0u32;
    for octet in octets {
        crc ^= u32::from(octet);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F63B78 } else { crc >> 1 };
        }
    }
    !crc
}

/// Returns an IPv4 packet's source port, destination port, TSN, payload protocol identifier and payload; `None` for a
/// SHUTDOWN.
fn data(packet: &[u8]) -> Option<(u16, u16, u32, u32, &[u8])> {
    let word = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
    let half = |at: usize| u16::from_be_bytes(packet[at..at + 2].try_into().unwrap());
    assert_eq!((packet[0], packet[9], usize::from(half(2))), (0x45, 132, packet.len()));
    let zeroed = packet[20..].iter().enumerate().map(|(at, octet)| if (8..12).contains(&at) { 0 } else { *octet });
    assert_eq!(u32::from_le_bytes(packet[28..32].try_into().unwrap()), crc32c(zeroed));
    (packet[32] == 0).then(|| {
        let octets = usize::from(half(34));
        assert_eq!(packet.len(), 32 + octets.next_multiple_of(4));
        (half(20), half(22), word(36), word(44), &packet[48..32 + octets])
    })
}

fn recorded(path: &Path) -> Vec<Message> {
    Recording::new(std::fs::File::open(path).unwrap()).map(Result::unwrap).collect()
}

/// The setup request of a DU.
fn setup_of_du(number: u32) -> Vec<u8> {
    let gather = Gather::new();
    let request = setup_request(number, VERSION);
    let Pdu::E2SetupRequest(request) = e2ap::decode(&request, VERSION, &gather).unwrap().pdu else { panic!() };
    let GlobalE2NodeId::Gnb(mut id) = request.global_e2_node_id else { panic!() };
    id.gnb_du_id = Some(GnbDuId(1));
    encoded(E2SetupRequest { global_e2_node_id: GlobalE2NodeId::Gnb(id), ..request }, VERSION)
}

#[test]
fn recording_contains_both_directions() {
    let (e2, xapps) = (File::new(), File::new());
    let recorders = [&e2, &xapps].map(|file| Recorder::create(RecorderConfig::new(&file.0)).unwrap());
    let mut config = free_ports();
    config.link.tap = Some(recorders[0].tap(Protocol::E2));
    config.xapp_tap = Some(recorders[1].tap(Protocol::Xapp));
    let ric = Ric::start(config);

    let mut node = ric.node();
    let setup = setup_of_du(1);
    node.send(&setup);
    let mut received = node.receive();
    let taken = received.clone();
    let session = session(&ric);
    // longer than a packet
    let report = indication_of(RicRequestId { requestor: 1, instance: 1 }, RicActionId(1), 40_000);
    node.send(&report);
    node.send(&setup); // repeated, so that the report has been read when the answer arrives
    // the RIC does not have the subscription of the report, and deletes it at the node; the setup ends this unanswered request,
    // which is then repeated
    let (request_id, ran_function_id) = (RicRequestId { requestor: 1, instance: 1 }, FUNCTION);
    let deletion = encoded(RicSubscriptionDeleteRequest { request_id, ran_function_id }, VERSION);
    while received.len() < 2 * (taken.len() + deletion.len()) {
        received.extend(node.receive());
    }
    drop(node);
    drop(session);
    drop(ric);
    drop(recorders);

    let (found, dropped) = packets(&e2.0);
    assert_eq!(dropped, 0);
    assert!(found.iter().all(|packet| packet.interface == (101, "e2-tcp-per".into())));
    assert!(found[0].comment.contains("link 1 begins: with tcp://127.0.0.1:"), "{}", found[0].comment);
    assert!(found.last().unwrap().comment.contains("link 1 ends"));
    let (mut to_ric, mut to_node, mut next) = (Vec::new(), Vec::new(), [1, 1]);
    for packet in &found[..found.len() - 1] {
        let (source, destination, tsn, ppid, payload) = data(&packet.octets).unwrap();
        assert_eq!(ppid, 72, "E2 of a DU");
        let way = usize::from(source == 36421);
        assert_eq!((packet.flags, [destination, source][way]), ([1, 2][way], 36421));
        assert_eq!(tsn, next[way]);
        next[way] += 1;
        [&mut to_ric, &mut to_node][way].extend_from_slice(payload);
    }
    assert_eq!(data(&found.last().unwrap().octets), None);
    assert_eq!(to_ric, [&setup[..], &report, &setup].concat());
    assert_eq!(to_node, received);
    assert!(next[0] > 4, "a long message is fragmented");

    // our reader reassembles it
    let messages: Vec<_> = recorded(&e2.0).into_iter().map(|message| message.content).collect();
    let sent_by_node: Vec<_> = messages
        .iter()
        .filter_map(|content| match content {
            Content::Sctp { association: 0, destination, pdu, .. } if destination.port() == 36421 => Some(&pdu[..]),
            _ => None,
        })
        .collect();
    assert_eq!(sent_by_node, [&setup[..], &report, &setup]);
    assert_eq!(messages.last(), Some(&Content::End { association: 0 }));

    // the RIC-xApp protocol is recorded as bare messages
    let (found, _) = packets(&xapps.0);
    assert!(!found.is_empty());
    assert!(found.iter().all(|packet| packet.interface == (147, "xapp-tcp".into())));
    assert!(recorded(&xapps.0).iter().all(|message| matches!(message.content, Content::Bare(_))));

    dissect(&e2.0, &report);
}

/// tshark dissects E2AP in a recording, reassembled and with valid checksums.
fn dissect(path: &Path, report: &[u8]) {
    // 4.0 finds E2AP by port only; later versions also by the payload protocol identifier
    let run = |fields: &[&str]| {
        let mut tshark = Command::new("tshark");
        tshark.args(["-n", "-o", "sctp.checksum:CRC-32C", "-d", "sctp.port==36421,e2ap", "-T", "fields"]);
        for field in fields {
            tshark.args(["-e", field]);
        }
        tshark.arg("-r").arg(path).output()
    };
    let Ok(output) = run(&["sctp.checksum.status", "sctp.data_payload_proto_id", "e2ap.procedureCode"]) else {
        println!("not checked with tshark: it is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<_> = text.lines().map(|line| line.split('\t').collect::<Vec<_>>()).collect();
    assert!(lines.iter().all(|fields| fields[0] == "1"), "checksums: {text}");
    assert!(lines.iter().filter(|fields| !fields[1].is_empty()).all(|fields| fields[1] == "72"), "{text}");
    let procedures: Vec<_> = lines.iter().filter_map(|fields| fields.get(2)).filter(|code| !code.is_empty()).collect();
    assert!(procedures.contains(&&"1") && procedures.contains(&&"5"), "setup and indication: {text}");
    let output = run(&["sctp.fragment"]).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pieces = report.len().div_ceil(16 * 1024);
    let together = text.lines().any(|line| line.trim_end().split(',').count() == pieces);
    assert!(together, "the long report is reassembled from {pieces} fragments: {text}");
}

/// A link whose sent messages are recorded, and a listener that reads nothing.
fn recorded_link(recorder: &Recorder, url: &str) -> (Link, Listener) {
    let listener = Listener::bind(&url.parse().unwrap(), &Config::default()).unwrap();
    let config = Config { tap: Some(recorder.tap(Protocol::E2)), ..Config::default() };
    (Link::connect(listener.local_address(), &config).unwrap(), listener)
}

fn send(link: &mut Link, pdu: &[u8]) {
    link.send(StreamId(3), &[&pdu[..1], &pdu[1..]], Class::Keep).unwrap();
}

#[test]
fn each_link_has_an_interface_and_addresses() {
    let file = File::new();
    let recorder = Recorder::create(RecorderConfig::new(&file.0)).unwrap();
    let path = Address::Unix(common::socket_path("recorded")).to_string();
    for url in ["tcp://127.0.0.1:0", "tcp://[::1]:0", &path, "memory:recorded"] {
        let (mut link, _listener) = recorded_link(&recorder, url);
        send(&mut link, url.as_bytes());
    }
    drop(recorder);
    let (found, _) = packets(&file.0);
    let names: Vec<_> = found.iter().filter(|p| p.comment.contains("begins")).map(|p| p.interface.1.as_str()).collect();
    assert_eq!(names, ["e2-tcp-per", "e2-tcp-per", "e2-unix-per", "e2-memory-per"]);
    let mut messages = Vec::new();
    for (number, message) in recorded(&file.0).into_iter().enumerate() {
        let Content::Sctp { association, source, destination, ppid, stream, pdu } = message.content else { continue };
        assert_eq!((association, ppid, stream), (number / 2, 70, StreamId(3)));
        assert_eq!(destination.port(), 36421, "the listening end is the RIC");
        assert!(source.ip().is_loopback() && source.port() != 0 && destination.ip().is_loopback());
        messages.push(String::from_utf8(pdu).unwrap());
    }
    assert_eq!(messages, ["tcp://127.0.0.1:0", "tcp://[::1]:0", &path, "memory:recorded"]);
}

/// Other encodings are not recorded as SCTP, which Wireshark would misread. Both ends know their encoding.
#[test]
fn other_encoding_has_a_separate_interface() {
    let files = [File::new(), File::new()];
    let recorders = files.each_ref().map(|file| Recorder::create(RecorderConfig::new(&file.0)).unwrap());
    let mut config = free_ports();
    config.e2.push("tcp+flat://127.0.0.1:0".parse().unwrap());
    config.link.tap = Some(recorders[0].tap(Protocol::E2));
    let ric = Ric::start(config);

    let mut config = impatient();
    config.link.tap = Some(recorders[1].tap(Protocol::E2));
    let mut agent = AgentLoop::new(config).unwrap();
    let codecs = [Codec::Per, Codec::FLAT];
    // different nodes: a repeated setup would take over
    for ((codec, to), number) in codecs.iter().zip(&ric.e2).zip(7..) {
        let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 22));
        agent.add(id, Endpoint::new(to.clone(), *codec), vec![Box::new(Reporter::new(Duration::from_secs(60)))]);
    }
    poll_agents_until(&mut agent, "both are up", |agent| agent.connected_controllers() == codecs.len());
    drop(agent);
    drop(ric);
    drop(recorders);

    for file in &files {
        let (found, _) = packets(&file.0);
        let mut of: Vec<_> = found.iter().map(|packet| packet.interface.clone()).collect();
        of.sort_unstable();
        let (per, flat) = ((101, "e2-tcp-per".to_owned()), (147, "e2-tcp-flat".to_owned()));
        assert_eq!(of, [per.clone(), per.clone(), per, flat.clone(), flat], "setup, its answer, and an end");
    }
}

#[test]
fn full_file_is_renamed() {
    let file = File::new();
    let recorder = Recorder::create(RecorderConfig { limit_octets: 1000, ..RecorderConfig::new(&file.0) }).unwrap();
    let (mut link, _listener) = recorded_link(&recorder, "memory:rotated");
    for number in 0..18 {
        send(&mut link, &[number; 100]);
    }
    drop(link);
    drop(recorder);
    let (newest, older) = (recorded(&file.0), recorded(&file.older()));
    let last = |messages: &[Message]| {
        messages.iter().rev().find_map(|message| match &message.content {
            Content::Sctp { pdu, .. } => Some(pdu[0]),
            _ => None,
        })
    };
    let first = match &newest[0].content {
        Content::Sctp { pdu, .. } => pdu[0],
        other => panic!("{other:?}"),
    };
    assert_eq!(last(&newest), Some(17));
    assert_eq!(last(&older), Some(first - 1), "no message is missing between the files");
    assert!(packets(&file.0).0[0].comment.contains("link 1 continues in this file: with memory:rotated"));
    assert!(std::fs::metadata(file.older()).unwrap().len() < 1400, "about as long as its limit");
}

#[test]
fn dropped_messages_are_counted() {
    let file = File::new();
    let recorder = Recorder::create(RecorderConfig { queue_octets: 50, ..RecorderConfig::new(&file.0) }).unwrap();
    let (mut link, _listener) = recorded_link(&recorder, "memory:dropped");
    send(&mut link, &[1; 51]);
    send(&mut link, &[1; 52]);
    send(&mut link, b"short");
    assert_eq!(recorder.dropped(), 2);
    drop(link);
    drop(recorder);
    let (found, dropped) = packets(&file.0);
    assert_eq!(dropped, 2);
    assert!(found[0].comment.contains("2 messages before this one are missing"), "{}", found[0].comment);
    assert_eq!(data(&found[0].octets).unwrap().4, b"short");
}

#[test]
fn invalid_files_are_reported_with_their_offset() {
    let error_of = |octets: &[u8]| {
        let messages: Vec<_> = Recording::new(octets).collect();
        messages.last().map(|last| last.as_ref().map_or_else(ToString::to_string, |_| "read".into()))
    };
    assert_eq!(error_of(b"").unwrap(), "at octet 0: the file is empty");
    assert_eq!(error_of(b"GIF89a, say").unwrap(), "at octet 0: this is not a pcapng file");
    assert!(error_of(&[0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0]).unwrap().contains("editcap -F pcapng"));

    let file = File::new();
    let recorder = Recorder::create(RecorderConfig::new(&file.0)).unwrap();
    let (mut link, _listener) = recorded_link(&recorder, "memory:cut");
    send(&mut link, &[7; 100]);
    drop(link);
    drop(recorder);
    let whole = std::fs::read(&file.0).unwrap();
    let ends: Vec<usize> = std::iter::successors(Some(0), |at| {
        Some(at + u32::from_le_bytes(whole[at + 4..at + 8].try_into().unwrap()) as usize).filter(|at| *at < whole.len())
    })
    .collect();
    assert!(ends.len() > 3);
    for end in 1..whole.len() {
        let result = error_of(&whole[..end]);
        if ends.contains(&end) {
            assert!(result.is_none_or(|result| result == "read"), "blocks are whole at {end}");
        } else if end >= 4 {
            let begin = ends.iter().rev().find(|begin| **begin < end).unwrap();
            let expected = format!("at octet {end}: the file ends within the block that begins at octet {begin}");
            assert_eq!(result, Some(expected));
        }
    }
    // any octet may change
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            assert!(Recording::new(&damaged[..]).count() < 10);
        }
    }
}

#[test]
fn steady_traffic_is_in_the_file_soon() {
    let file = File::new();
    let recorder = Recorder::create(RecorderConfig::new(&file.0)).unwrap();
    let (mut link, _listener) = recorded_link(&recorder, "memory:steady");
    // never idle, and less than a buffer
    let is_written = (0..200).any(|_| {
        send(&mut link, b"report");
        std::thread::sleep(Duration::from_millis(10));
        let octets = std::fs::read(&file.0).unwrap();
        Recording::new(&octets[..]).filter_map(Result::ok).count() >= 3
    });
    assert!(is_written, "nothing is in the file after two seconds");
}

#[test]
fn full_disk_is_an_error_of_the_start() {
    let error = Recorder::create(RecorderConfig::new("/dev/full")).map(drop).unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
}
