//! Round trips of all messages, octets of an independent encoder, and hostile octets.

use crate::*;

fn octets(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn dci() -> DlDci {
    DlDci {
        rnti: 0x4601,
        allocation_type: Some(0),
        bitmap: Some(0x1FFF),
        tbs: vec![1000, 2000],
        mcs: vec![20, 21],
        ndi: vec![1, 0],
        rv: vec![0, 2],
        format: Some(5),
        harq_process: Some(7),
        cif: Some(1),
        ..DlDci::default()
    }
}

fn ue() -> UeConfig {
    UeConfig {
        rnti: 0x4601,
        transmission_mode: Some(1),
        ambr_ul_bps: Some(50_000_000),
        ambr_dl_bps: Some(5_000_000_000),
        secondary_cells: vec![SecondaryCell { carrier_index: 1 }],
        imsi: Some(1_010_000_000_001),
        measurements: Some(MeasurementInfo { events: Some(MeasurementEvents(0b101_0010)) }),
        ..UeConfig::default()
    }
}

fn ue_statistics() -> UeStatistics {
    let cell = CellGlobalId { plmn: Some(PlmnDigits("99970".to_owned())), cell_id: Some(0x123) };
    let neighbour = Neighbour {
        pci: Some(8),
        cgi: Some(CgiMeasurement { cell: Some(cell) }),
        signal: Some(ReferenceSignal { rsrp: Some(-95), rsrq: Some(-12) }),
    };
    UeStatistics {
        rnti: 0x4601,
        flags: Some(ue_flags::MAC),
        bsr: vec![0, 9, 0, 3],
        phr: Some(40),
        rlc: vec![RlcBuffer { lcid: 3, octets: Some(1500), ..RlcBuffer::default() }],
        mac_ces: Some(0),
        dl_cqi: Some(DlCqiReport {
            sfn_sf: Some(100),
            cells: vec![CsiReport { p10: Some(WidebandCqi { cqi: 15 }), rank: Some(1), ..CsiReport::default() }],
        }),
        measurements: Some(RrcMeasurements {
            meas_id: 4,
            rsrp: Some(-90),
            rsrq: Some(-10),
            neighbours: Some(NeighbourMeasurements { eutra: vec![neighbour] }),
        }),
        pdcp: Some(PdcpStatistics { sent_packets: Some(7), sfn: Some(1 << 40), ..PdcpStatistics::default() }),
        mac: Some(MacStatistics { sdu_octets_dl: u32::MAX, prbs_ul: 1, ..MacStatistics::default() }),
        tunnels: vec![GtpStatistics { e_rab_id: 5, address_enb: "192.168.12.1".to_owned(), ..Default::default() }],
    }
}

/// A message of each kind.
fn messages() -> Vec<Message> {
    let cell = CellConfig {
        pci: 7,
        dl_prbs: 25,
        ul_prbs: 25,
        band: Some(7),
        plmns: vec![PlmnId { mcc: 1, mnc: 1, mnc_digits: 2 }, PlmnId::default()],
        ..CellConfig::default()
    };
    let channel = LogicalChannel { lcid: 3, qci: Some(8), guaranteed_dl_bps: Some(1 << 33), ..Default::default() };
    let scheduling = DlMacConfig {
        sfn_sf: 0x123,
        ues: vec![DlData {
            rnti: 0x4601,
            dci: Some(dci()),
            control_elements: vec![0, 1],
            rlc_pdus: vec![RlcPdu { blocks: vec![RlcPduBlock { lcid: 3, octets: 999 }] }],
            ..DlData::default()
        }],
        responses: vec![DlRandomAccessResponse { rnti: 2, grant: Some(0xF_FFFF), ..Default::default() }],
        broadcasts: vec![DlBroadcast { kind: 1, index: Some(32), dci: Some(dci()), carrier_index: None }],
        symbols: vec![OfdmSymbols { carrier_index: 0, count: 3 }],
    };
    let cells = vec![CellStatistics {
        noise_interference: Some(NoiseInterference { p0_nominal_pucch_dbm: Some(-96), ..Default::default() }),
        ..Default::default()
    }];
    let bodies = [
        Body::Hello(Hello { bs_id: Some(0xE0000), capabilities: vec![0, 7], splits: vec![0] }),
        Body::EchoRequest(Echo::default()),
        Body::EchoReply(Echo { latency_ms: Some(3) }),
        Body::StatisticsRequest(StatisticsRequest::periodical(100, ue_flags::MAC | ue_flags::DL_CQI)),
        Body::Statistics(Statistics { ues: vec![ue_statistics(), UeStatistics::default()], cells }),
        Body::EnbConfigRequest,
        Body::EnbConfig(EnbConfig { enb_id: Some(0xE0000), cells: vec![cell] }),
        Body::UeConfigRequest,
        Body::UeConfigs(UeConfigs { ues: vec![ue()] }),
        Body::LogicalChannelRequest,
        Body::LogicalChannels(LogicalChannels { ues: vec![UeChannels { rnti: 1, channels: vec![channel] }] }),
        Body::DlMacConfig(scheduling),
        Body::UeStateChange(UeStateChange { kind: UeStateChangeKind::MOVED, config: ue() }),
        Body::Disconnect,
        Body::Other(Kind(18)),
    ];
    let direction = |at: usize| [Direction::Initiating, Direction::Successful, Direction::Unsuccessful][at % 3];
    let message = |(at, body)| Message { direction: direction(at), xid: at as u32 * 99, body };
    bodies.into_iter().enumerate().map(message).collect()
}

#[test]
fn messages_of_each_kind_round_trip() {
    let messages = messages();
    let kinds: std::collections::BTreeSet<_> = messages.iter().map(Message::kind).collect();
    assert_eq!(kinds.len(), messages.len(), "one of each kind");
    for message in messages {
        assert_eq!(Message::decode(&message.encode()), Ok(message));
    }
    let none = Message { direction: Direction::NotSet, xid: 0, body: Body::Other(Kind(0)) };
    assert_eq!((none.encode(), Message::decode(&[])), (Vec::new(), Ok(none)));
}

#[test]
fn octets_of_protoc_are_read_and_written() {
    // by the Python output of protoc
    let echo = octets("12080a0608001001204da00601");
    let message = Message::request(77, Body::EchoRequest(Echo::default()));
    assert_eq!((Message::decode(&echo).as_ref(), message.encode()), (Ok(&message), echo));
    let hello = octets("0a0f0a0608001000200110801c18001807a00602");
    let message =
        Message::reply(1, Body::Hello(Hello { bs_id: Some(0xE00), capabilities: vec![0, 7], splits: vec![] }));
    assert_eq!((Message::decode(&hello).as_ref(), message.encode()), (Ok(&message), hello));
    let enb = octets("4a1f0a0608001008200110801c1a12080750195819900200c20206080110011802a00602");
    let plmns = vec![PlmnId { mcc: 1, mnc: 1, mnc_digits: 2 }];
    let cells = vec![CellConfig { pci: 7, dl_prbs: 25, ul_prbs: 25, plmns, ..CellConfig::default() }];
    let message = Message::reply(1, Body::EnbConfig(EnbConfig { enb_id: Some(0xE00), cells }));
    assert_eq!((Message::decode(&enb).as_ref(), message.encode()), (Ok(&message), enb));
    let ues = octets(
        "5a2f0a060800100a2001122508818c01d80100f00181e8c3c5b21d8a021308fdffffffffffffffff0132060a0022020802a00602",
    );
    let Ok(Message { body: Body::UeConfigs(read), .. }) = Message::decode(&ues) else { panic!("UE configurations") };
    let events = read.ues[0].measurements.as_ref().and_then(|info| info.events);
    assert_eq!((read.ues[0].rnti, read.ues[0].imsi), (0x4601, Some(1_010_000_000_001)));
    assert_eq!(events, Some(MeasurementEvents(1 << 1 | 1 << 4)), "periodical and A3");
}

#[test]
fn written_fields_are_those_of_the_whole_message() {
    let report = Statistics { ues: vec![ue_statistics()], cells: Vec::new() };
    let mut out = Vec::new();
    Message::write(Kind::STATISTICS, Direction::Successful, 5, &report.fields(), &mut out);
    assert_eq!(out, Message::reply(5, Body::Statistics(report)).encode());
}

/// Octets that are read can be written, and mean the same afterwards.
fn check(octets: &[u8]) {
    if let Ok(message) = Message::decode(octets) {
        assert_eq!(Message::decode(&message.encode()), Ok(message), "{octets:x?}");
    }
}

#[test]
fn changed_messages_are_refused_or_round_trip() {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    for message in messages() {
        let whole = message.encode();
        for length in 0..whole.len() {
            check(&whole[..length]);
        }
        for _ in 0..2000 {
            let mut changed = whole.clone();
            for _ in 0..1 + random() % 3 {
                let at = random() % changed.len();
                changed[at] = random() as u8;
            }
            check(&changed);
        }
    }
    for _ in 0..20_000 {
        let octets: Vec<u8> = (0..random() % 40).map(|_| random() as u8).collect();
        check(&octets);
    }
}

#[test]
fn lying_lengths_are_refused() {
    for (digits, expected) in [
        ("0aff01", WireError::Truncated),
        ("0affffffffffffffffff01", WireError::Truncated),
        ("2a040a0212ff", WireError::Truncated),
        ("0801", WireError::Declaration(1)),
        ("a20600", WireError::Declaration(100)),
        ("ffffffffffffffffffffff01", WireError::LongVarint),
        ("0b", WireError::WireType(3)),
        ("0001", WireError::FieldNumber),
    ] {
        assert_eq!(Message::decode(&octets(digits)), Err(expected), "{digits}");
    }
}

#[test]
fn many_small_items_are_bounded() {
    let ue = [0x12_u8, 0];
    let fields: Vec<u8> = ue.iter().copied().cycle().take(2 * 50_000).collect();
    let mut octets = Vec::new();
    Message::write(Kind::STATISTICS, Direction::Successful, 1, &fields, &mut octets);
    let Body::Statistics(read) = Message::decode(&octets).unwrap().body else { panic!("statistics") };
    assert_eq!(read.ues.len(), MAX_ITEMS);
}
