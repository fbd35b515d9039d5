//! The log of a RIC that peers try to fill: lines are few, short and genuine.

mod program;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceNg,
    E2NodeComponentInterfaceType, E2SetupRequest, GlobalE2NodeId, GnbId, Pdu, PlmnIdentity, RanFunctionId,
    RanFunctionItem, RanFunctionRevision, TransactionId, Version,
};
use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::kpm::{
    MeasurementInfoActionItem, MeasurementTypeName, OIDS, RanFunctionDefinition, Revision, RicReportStyleItem,
};
use per::{List, Octets, PrintableString};
use program::{PATIENCE, Program};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

/// A definition of KPM with so many report styles, of so many measurements each; the names have `name_octets` characters.
fn definition(styles: usize, measurements: usize, name: &str) -> Vec<u8> {
    let name_of = |text| RicStyleName(PrintableString::literal(text));
    let measurement = || MeasurementInfoActionItem {
        meas_name: MeasurementTypeName(PrintableString::literal(name)),
        meas_id: None,
        bin_range_def: None,
    };
    let style = || RicReportStyleItem {
        ric_report_style_type: RicStyleType(1),
        ric_report_style_name: name_of("s"),
        ric_action_format_type: RicFormatType(1),
        meas_info_action_list: (0..measurements).map(|_| measurement()).collect::<List<'_, _>>(),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(1),
    };
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal(OIDS[1]),
            description: PrintableString::literal("KPM Monitor"),
            instance: None,
        },
        ric_event_trigger_style_list: None,
        ric_report_style_list: Some((0..styles).map(|_| style()).collect::<List<'_, _>>()),
    };
    let mut octets = Vec::new();
    definition.encode(Revision::V2_03, &mut octets).unwrap();
    octets
}

/// An E2 Setup Request with so many RAN functions of one definition.
fn setup(gnb: u32, functions: u16, definition: &[u8]) -> Vec<u8> {
    let function = |id| RanFunctionItem {
        id: RanFunctionId(id),
        definition: definition.into(),
        revision: RanFunctionRevision(1),
        oid: Some(PrintableString::literal(OIDS[1])),
    };
    let component = E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("amf") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    };
    let request = E2SetupRequest {
        transaction_id: Some(TransactionId(1)),
        global_e2_node_id: GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(gnb, 32)),
        ran_functions_added: Some((1..=functions).map(function).collect::<Vec<_>>().into()),
        component_config_update_v1: None,
        component_config_addition: Some(vec![component].into()),
    };
    let mut pdu = Vec::new();
    Pdu::from(request).encode(Version::V2_03, &mut pdu).unwrap();
    pdu
}

/// A connection from an address of this host, as from a host of its own.
fn connect_from(last: u8, url: &str) -> TcpStream {
    let to: SocketAddr = url.strip_prefix("tcp://").unwrap().parse().unwrap();
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0))).unwrap();
    connect(&socket, &to).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(stream: &mut TcpStream, pdu: &[u8]) {
    stream.write_all(&u32::try_from(pdu.len()).unwrap().to_be_bytes()).unwrap();
    stream.write_all(pdu).unwrap();
}

/// Waits for the answer to a message.
fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut pdu = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut pdu).unwrap();
    pdu
}

/// A RIC without xApps, with such a configuration and log level.
fn ric(config: &program::File, level: &str) -> (Program, String) {
    let mut ric = program::start(&["--log", level, "ric", "--config", config.name(), "--e2", "tcp://127.0.0.1:0"]);
    let e2 = ric.line("e2=");
    (ric, e2)
}

fn configuration(name: &str, max_log_lines: u32) -> program::File {
    let text = format!("xapp = \"tcp://127.0.0.1:0\"\nmax_log_lines = {max_log_lines}\n");
    program::File::new(name, text.as_bytes())
}

#[test]
fn repeated_setups_with_many_report_styles_do_not_flood_the_log() {
    const LINES: usize = 200;
    let config = configuration("flood.toml", LINES as u32);
    let (ric, e2) = ric(&config, "debug");
    let setup = setup(1, 200, &definition(63, 1, "m"));
    let mut peer = connect_from(2, &e2);
    for _ in 0..3 {
        send(&mut peer, &setup);
        receive(&mut peer);
    }
    let stderr = ric.stop().stderr;
    let lines = stderr.lines().count();
    // three setups describe 37,800 report styles; a test that lasts a minute more begins a new budget
    assert!(lines <= 3 * LINES, "{lines} lines");
    assert!(stderr.contains("too many log lines about peers"), "{stderr}");
}

#[test]
fn node_is_one_line_and_its_measurements_are_logged_at_debug_level() {
    let config = configuration("quiet.toml", 6000);
    let (mut ric, e2) = ric(&config, "info");
    let mut peer = connect_from(2, &e2);
    send(&mut peer, &setup(0xe00, 2, &definition(3, 4, "DRB.UEThpDl")));
    receive(&mut peer);
    ric.logs("gNB 00101-e00 up: KPM v2.03, KPM v2.03; E2AP 2.03");
    let stderr = ric.stop().stderr;
    let lines: Vec<_> = stderr.lines().filter(|line| line.contains("00101-e00")).collect();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(!stderr.contains("DRB.UEThpDl"), "{stderr}");
}

#[test]
fn long_lists_of_a_peer_are_cut() {
    let config = configuration("long.toml", 6000);
    let (ric, e2) = ric(&config, "debug");
    let mut peer = connect_from(2, &e2);
    let name = "x".repeat(140);
    send(&mut peer, &setup(1, 1, &definition(1, 3000, &name)));
    receive(&mut peer);
    let stderr = ric.stop().stderr;
    assert!(stderr.contains("measurements: xxxx"), "{stderr}");
    let longest = stderr.lines().map(str::len).max().unwrap();
    assert!(longest <= 1024, "a line of {longest} octets");
    assert!(stderr.contains(" more"), "the line says what it omits: {stderr}");
}

#[test]
fn names_of_a_peer_forge_no_line() {
    let config = configuration("forged.toml", 6000);
    let (ric, e2) = ric(&config, "debug");
    let mut peer = connect_from(2, &e2);
    // an encoder that does not check the alphabet of a name
    const NAME: &str = "m@2026-01-01T00:00:00.000000Z  INFO RIC stopped by operator#[2J";
    let mut definition = definition(1, 1, NAME);
    let at = definition.windows(NAME.len()).position(|octets| octets == NAME.as_bytes()).unwrap();
    for octet in &mut definition[at..at + NAME.len()] {
        match octet {
            b'@' => *octet = b'\n',
            b'#' => *octet = 0x1B,
            _ => {}
        }
    }
    send(&mut peer, &setup(1, 1, &definition));
    receive(&mut peer);
    let stderr = ric.stop().stderr;
    assert!(stderr.contains(" up: "), "{stderr}");
    assert!(!stderr.lines().any(|line| line.starts_with("2026-01-01T00:00:00.000000Z")), "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "{stderr}");
}

#[test]
fn garbage_of_one_host_does_not_silence_the_loss_of_a_node_of_another() {
    let config = configuration("garbage.toml", 60);
    let (mut ric, e2) = ric(&config, "info");
    let mut node = connect_from(3, &e2);
    send(&mut node, &setup(7, 1, b"definition"));
    receive(&mut node);
    ric.logs(" up: ");
    for _ in 0..100 {
        let mut peer = connect_from(2, &e2);
        for _ in 0..4 {
            send(&mut peer, &[0xFF; 3]);
        }
        // closed after the fourth
        let _ = peer.read_to_end(&mut Vec::new());
    }
    ric.logs("too many log lines about peers");
    // not closed in an orderly way: the loss is worth a warning
    drop(node);
    std::thread::sleep(Duration::from_millis(10));
    ric.logs(" lost: ");
    let stderr = ric.stop().stderr;
    assert!(stderr.contains("127.0.0.2"), "the summary names the host: {stderr}");
}
