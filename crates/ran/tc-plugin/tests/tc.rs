//! Plug-ins in C, compiled here, and invalid shared objects.

use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;

use radio::tc::{
    ClassifierChoice, Configuration, DisciplineChoice, Faults, FlowPattern, OsiFilter, PacerChoice, QueueConfiguration,
    QueueId, RlcState, TrafficControl,
};
use radio::{Content, Ecn, FiveTuple, FlowId, Packet, Time};
use tc_plugin::{LoadError, Plugin, PluginKind, UseError};
use testkit::ObjectFolder;

fn load(folder: &ObjectFolder, name: &str) -> Plugin {
    folder.compile(env!("CARGO_MANIFEST_DIR"), &format!("tests/parts/{name}.c"), name, |source| source);
    Plugin::load(name, folder.path()).unwrap()
}

fn packet(number: u64, octets: u32, dscp: u8) -> Packet {
    Packet {
        flow: FlowId(0),
        tuple: FiveTuple {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(12, 1, 1, 2),
            source_port: 5000,
            destination_port: dscp.into(),
            protocol: FiveTuple::UDP,
        },
        octets,
        ecn: Ecn::Ect,
        dscp,
        number,
        sent: Time::START,
        entered: Time::START,
        content: Content::Filler,
    }
}

fn fifos(number: u32) -> Vec<QueueConfiguration> {
    (0..number).map(|id| QueueConfiguration::new(QueueId(10 + id), DisciplineChoice::Fifo)).collect()
}

/// The packets that are passed to RLC, which keeps them.
fn drain(tc: &mut TrafficControl, now: Time, mut rlc_octets: u32) -> Vec<Packet> {
    let next = || {
        let packet = tc.pop(now, RlcState { rlc_octets, rlc_room_octets: u32::MAX });
        rlc_octets += packet.as_ref().map_or(0, |packet| packet.octets);
        packet
    };
    std::iter::from_fn(next).collect()
}

fn arrived_packets(tc: &TrafficControl) -> Vec<u64> {
    tc.configuration().queues.iter().map(|queue| tc.counts(queue.id).unwrap().arrived.packets).collect()
}

#[test]
fn classifier_selects_queue_by_dscp() {
    let folder = ObjectFolder::new();
    let plugin = load(&folder, "dscp");
    assert_eq!((plugin.name(), plugin.kind()), ("dscp", PluginKind::Classifier));
    let classifier = plugin.classifier("46=1 34=2 0=0").unwrap();
    let ClassifierChoice::Custom(custom) = &classifier else { panic!("{classifier:?}") };
    assert_eq!(custom.name(), "dscp");
    let mut tc =
        TrafficControl::new(&Configuration { classifier, queues: fifos(3), ..Configuration::default() }).unwrap();
    // the choice keeps the code loaded: the plug-in and its file are not needed any more
    drop(plugin);
    drop(folder);
    for (number, dscp) in [46, 34, 46, 0, 63, 46].into_iter().enumerate() {
        tc.push(Time::START, packet(number as u64, 100, dscp));
    }
    assert_eq!(arrived_packets(&tc), [2, 3, 1]);
    // with one queue less, the last index is invalid: it is counted, and no packet is lost
    let fewer = Configuration { queues: fifos(2), ..tc.configuration().clone() };
    tc.configure(Time::START, &fewer).unwrap();
    for (number, dscp) in [34, 46].into_iter().enumerate() {
        tc.push(Time::START, packet(6 + number as u64, 100, dscp));
    }
    assert_eq!(arrived_packets(&tc), [2 + 1 + 1, 3 + 1]);
    assert_eq!(tc.faults(), Faults { classifier: 1, ..Faults::default() });
    assert_eq!(drain(&mut tc, Time::START, 0).len(), 8);
}

#[test]
fn pacer_target_is_set_at_run_time() {
    let folder = ObjectFolder::new();
    let plugin = load(&folder, "fixed-target");
    let mut tc = TrafficControl::new(&Configuration::default()).unwrap();
    for number in 0..20 {
        tc.push(Time::START, packet(number, 1000, 0));
    }
    let set = |tc: &mut TrafficControl, settings: &str| {
        let pacer = plugin.pacer(settings).unwrap();
        tc.configure(Time::START, &Configuration { pacer, ..tc.configuration().clone() }).unwrap();
    };
    set(&mut tc, "4500");
    assert_eq!(drain(&mut tc, Time::START, 0).len(), 5);
    assert_eq!(drain(&mut tc, Time::START, 4499).len(), 1);
    assert_eq!(drain(&mut tc, Time::START, 4500).len(), 0);
    set(&mut tc, "7000");
    assert_eq!(drain(&mut tc, Time::START, 4500).len(), 3);
    let off = Configuration { pacer: PacerChoice::Off, ..tc.configuration().clone() };
    tc.configure(Time::START, &off).unwrap();
    assert_eq!(drain(&mut tc, Time::START, 10_000).len(), 11);
    assert_eq!(tc.faults(), Faults::default());
}

#[test]
fn pacer_gets_passed_and_drained_octets() {
    let folder = ObjectFolder::new();
    let pacer = load(&folder, "credit").pacer("").unwrap();
    let mut tc = TrafficControl::new(&Configuration { pacer, ..Configuration::default() }).unwrap();
    for number in 0..9 {
        tc.push(Time::START, packet(number, 500, 0));
    }
    let ms = Time::from_millis;
    assert_eq!(drain(&mut tc, ms(1), 0).len(), 2);
    tc.transmitted(ms(1), 600, false);
    assert_eq!(drain(&mut tc, ms(2), 400).len(), 2);
    // 400 octets of debt: 500 were drained, and 1000 are added because packets wait
    tc.transmitted(ms(2), 500, true);
    assert_eq!(drain(&mut tc, ms(3), 0).len(), 3);
    // 400 octets of debt again
    tc.transmitted(ms(3), 400, false);
    assert_eq!(drain(&mut tc, ms(4), 1).len(), 0);
    tc.transmitted(ms(4), 1, false);
    assert_eq!(drain(&mut tc, ms(5), 1).len(), 1);
    assert_eq!(tc.faults(), Faults::default());
}

#[test]
fn discipline_marks_and_drops() {
    let folder = ObjectFolder::new();
    let discipline = load(&folder, "impatient").discipline("").unwrap();
    let mut configuration = Configuration::default();
    configuration.queues[0].discipline = discipline;
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for ms in 0..4 {
        tc.push(Time::from_millis(5 * ms), packet(ms, 600, 0));
    }
    // sojourn times 20, 15, 10 and 5 ms; the third and the fourth arrived when more than 1000 octets waited
    let went: Vec<(u64, Ecn)> =
        drain(&mut tc, Time::from_millis(20), 0).into_iter().map(|packet| (packet.number, packet.ecn)).collect();
    assert_eq!(went, [(2, Ecn::Ce), (3, Ecn::Ce)]);
    let counts = tc.counts(QueueId(0)).unwrap();
    assert_eq!((counts.dropped.managed.packets, counts.marked_packets), (2, 2));
}

#[test]
fn each_bearer_has_a_scheduler_instance() {
    let folder = ObjectFolder::new();
    let scheduler = load(&folder, "least-served").scheduler("").unwrap();
    let flow = FlowPattern { destination_port: Some(1), ..FlowPattern::default() };
    let classifier = ClassifierChoice::Osi(vec![OsiFilter { id: 0, flow, queue: QueueId(11) }]);
    let configuration = Configuration { classifier, queues: fifos(2), scheduler, ..Configuration::default() };
    for _bearer in 0..2 {
        let mut tc = TrafficControl::new(&configuration).unwrap();
        for number in 0..9 {
            tc.push(Time::START, packet(number, 300, 0));
            tc.push(Time::START, packet(number, 100, 1));
        }
        let went = drain(&mut tc, Time::START, 0).into_iter().map(|packet| packet.dscp);
        assert_eq!(went.take(9).collect::<Vec<_>>(), [0, 1, 1, 1, 0, 1, 1, 1, 0]);
        assert_eq!(tc.faults(), Faults::default());
    }
}

#[test]
fn invalid_return_values_are_counted_and_lose_no_packets() {
    let folder = ObjectFolder::new();
    let wrong = |name: &str, from: &str, to: &str| {
        folder.compile(env!("CARGO_MANIFEST_DIR"), &format!("tests/parts/{name}.c"), name, |source| {
            assert!(source.contains(from), "{name}: {from}");
            source.replace(from, to)
        });
        Plugin::load(name, folder.path()).unwrap()
    };
    let mut configuration = Configuration {
        classifier: wrong("dscp", "return state->place[packet.dscp & 63]", "return -1 - state->place[0]")
            .classifier("")
            .unwrap(),
        queues: fifos(2),
        scheduler: wrong("least-served", "return least", "return least + 64").scheduler("").unwrap(),
        pacer: wrong("fixed-target", "return state->target_octets - below.rlc_octets", "return -1")
            .pacer("1000")
            .unwrap(),
    };
    let discipline = wrong("impatient", "? FERRIC_TC_DROP : FERRIC_TC_PASS", "? 3 : -1");
    configuration.queues[0].discipline = discipline.discipline("").unwrap();
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for number in 0..10 {
        tc.push(Time::START, packet(number, 100, 46));
    }
    let numbers: Vec<u64> = drain(&mut tc, Time::START, 0).into_iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert_eq!(tc.faults(), Faults { classifier: 10, discipline: 10, scheduler: 10, pacer: 10 });
}

#[test]
fn wrong_kind_and_invalid_settings_are_errors() {
    let folder = ObjectFolder::new();
    let plugin = load(&folder, "fixed-target");
    let error = plugin.scheduler("1000").unwrap_err();
    assert_eq!(error.to_string(), "fixed-target is a pacer, not a scheduler");
    assert!(matches!(plugin.classifier("1"), Err(UseError::WrongKind { expected: PluginKind::Classifier, .. })));
    assert!(matches!(plugin.discipline("1"), Err(UseError::WrongKind { expected: PluginKind::Discipline, .. })));
    let error = plugin.pacer("much").unwrap_err();
    assert_eq!(error.to_string(), "fixed-target rejects the settings \"much\" (init returned 1)");
    for settings in ["1\0", &"1".repeat(1025)] {
        assert!(matches!(plugin.pacer(settings), Err(UseError::InvalidSettings(_))), "{settings:?}");
    }
    assert!(matches!(
        load(&folder, "dscp").pacer("1"),
        Err(UseError::WrongKind { actual: PluginKind::Classifier, .. })
    ));
}

#[test]
fn invalid_plugins_are_not_loaded() {
    let (folder, elsewhere) = (ObjectFolder::new(), ObjectFolder::new());
    for name in ["", "../dscp", "a/b", "dscp.so/", "Dscp", &"a".repeat(65)] {
        let error = Plugin::load(name, folder.path()).unwrap_err();
        assert!(matches!(error, LoadError::NoName(_)), "{name}: {error}");
    }
    assert!(matches!(Plugin::load("dscp", folder.path()), Err(LoadError::Missing(..))));
    let outside = elsewhere.compile(env!("CARGO_MANIFEST_DIR"), "tests/parts/dscp.c", "dscp", |source| source);
    symlink(&outside, folder.path().join("dscp.so")).unwrap();
    assert!(matches!(Plugin::load("dscp", folder.path()), Err(LoadError::OutsideFolder { .. })));
    for (name, from, to, reason) in [
        ("name", ".name = \"name\"", ".name = \"other\"", "differs from the name of its file"),
        ("part", "FERRIC_TC_CLASSIFIER", "5", "is unknown"),
        ("lacks", "FERRIC_TC_CLASSIFIER", "FERRIC_TC_PACER", "is missing"),
        ("state", "sizeof(struct state),", "FERRIC_TC_MAX_STATE + 1,", "exceeds 64 KiB"),
        ("short", ".octets = sizeof(struct ferric_tc_v1)", ".octets = 16", "too short"),
    ] {
        folder.compile(env!("CARGO_MANIFEST_DIR"), "tests/parts/dscp.c", name, |source| {
            let source = source.replace("\"dscp\"", &format!("\"{name}\""));
            assert!(source.contains(from));
            source.replace(from, to)
        });
        let error = Plugin::load(name, folder.path()).unwrap_err();
        assert!(matches!(error, LoadError::Malformed(what) if what.contains(reason)), "{name}: {error}");
    }
    folder.compile(env!("CARGO_MANIFEST_DIR"), "tests/parts/dscp.c", "abi", |source| {
        source.replace(".abi = FERRIC_TC_ABI", ".abi = 2")
    });
    let error = Plugin::load("abi", folder.path()).unwrap_err();
    assert!(matches!(error, LoadError::OtherAbi { object: 2, program: 1 }), "{error}");
    // a service model is not a plug-in for traffic control
    folder.compile(env!("CARGO_MANIFEST_DIR"), "tests/parts/not-a-part.c", "temperature", |source| source);
    let error = Plugin::load("temperature", folder.path()).unwrap_err();
    assert!(error.to_string().contains("symbol `ferric_tc_v1` not found"), "{error}");
}
