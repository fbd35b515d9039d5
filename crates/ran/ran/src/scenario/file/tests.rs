//! Scenario files become scenarios; mistakes are refused with their place.

use std::path::Path;
use std::time::Duration;

use e2sm::slice::{NvsParameters, Parameters};
use radio::phy::{Duplex, McsTable, Motion, Rat, TddPattern};
use radio::rlc::Mode;
use radio::tc::{ClassifierChoice, DisciplineChoice, PacerChoice, SchedulerChoice};
use radio::traffic::{CongestionControl, Direction, Kind};
use radio::{AdministrativeState, Time};

use super::*;
use crate::scenario::{ChannelScenario, TimelineChange};

fn read(text: &str) -> Result<Scenario, Error> {
    Scenario::from_toml(text, &ScenarioFolders::with_traces(Path::new("nowhere")))
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// More UEs than a cell has places may arrive, if not all are present at a time.
#[test]
fn places_are_reused() {
    let text =
        |stay_s: f64| format!("[[cell]]\n[[ue]]\ncount = 8000\nstagger_s = 0.1\nmean_stay_s = {stay_s}\nmcs = 9\n");
    let folders = ScenarioFolders { traces: Path::new("nowhere"), tc_plugins: Path::new("nowhere") };
    let check = |stay_s| Scenario::from_toml(&text(stay_s), &folders).map(|scenario| scenario.ues.len());
    assert_eq!(check(60.0).unwrap(), 8_000);
    let error = check(6000.0).unwrap_err().to_string();
    assert!(error.contains("the target cell is full"), "{error}");
}

#[test]
fn minimal_file_is_read() {
    let scenario = read("[[cell]]").unwrap();
    assert_eq!((scenario.seed, scenario.speed, scenario.cells.len(), scenario.ues.len()), (1, 1.0, 1, 0));
    assert_eq!(scenario.cells[0].radio.carrier, radio::phy::Carrier::default());
    assert_eq!(scenario.cells[0].radio.rlc, radio::rlc::RlcConfig::default());
    assert_eq!(scenario.cells[0].radio.harq, radio::HarqConfig::default());
    assert_eq!(scenario.cells[0].radio.tc, radio::tc::Configuration::default());
}

#[test]
fn all_keys_are_read() {
    let text = r#"
        profile = "flexric"
        seed = 9
        speed = 2.5
        threads = 2
        warm_up_s = 1.5
        handover = { a3_offset_db = 3.0, hysteresis_db = 1.5, time_to_trigger_ms = 320, interruption_ms = 50 }

        [[cell]]
        count = 2
        apart_m = 300
        x_m = 10
        y_m = -20
        rat = "nr"
        bandwidth_mhz = 20
        scs_khz = 15
        frequency_mhz = 2140
        duplex = "tdd"
        tdd = [
            { period_us = 3000, downlink_slots = 2, uplink_slots = 1 },
            { period_us = 2000, downlink_slots = 1, downlink_symbols = 4, uplink_symbols = 5 },
        ]
        downlink_layers = 2
        uplink_layers = 1
        downlink_mcs_table = "256qam"
        uplink_mcs_table = "64qam-low-se"
        control_symbols = 1
        uplink_control_prbs = 4
        additional_dmrs = 0
        overhead = 6
        split = true
        locked = true
        sr_period_slots = 40
        grant_slots = 3
        max_ues = 100
        cqi_period_ms = 40
        cqi_delay_ms = 6.5
        srs_period_ms = 20
        p0_dbm = -90
        alpha = 1.0
        drx = { long_cycle_ms = 640, start_offset_ms = 5, short_cycle_ms = 32, short_cycle_timer = 2, on_duration_ms = 4, inactivity_ms = 30, retransmission_slots = 24 }
        harq = { processes = 8, transmissions = 2, decoding_slots = 1, round_trip_slots = 6 }
        outer_loop = { target_bler_percent = 5, nack_step_db = 1.0, most_db = 6 }
        rlc = { mode = "um", buffer_octets = 5_000, reordering_ms = 20, status_ms = 5, discard_ms = 100 }
        slice_scheduler = "NVS-PARTITION"

        [[cell.slice]]
        id = 3
        label = "three"
        direction = "both"
        rate_mbps = 5
        reference_mbps = 50
        ue_scheduler = "RR"
        plmn = "310410"
        sst = 2
        sd = "00000a"

        [cell.traffic_control]
        classifier = "osi"
        scheduler = "priority"
        pacer = "5g-bdp"
        [[cell.traffic_control.queue]]
        id = 0
        priority = 2
        [[cell.traffic_control.queue]]
        id = 4
        discipline = "codel"
        target_ms = 7
        interval_ms = 70
        limit_octets = 10_000
        drop_rate_bps = 2_000_000
        divert_rate_bps = 1_000_000
        divert_to = 0
        shaper_rate_bps = 3_000_000
        shaper_window_ms = 50
        priority = 1
        [[cell.traffic_control.filter]]
        id = 1
        queue = 4
        source = "10.0.0.1"
        destination = "10.45.0.2"
        source_port = 5060
        destination_port = 50000
        protocol = 17

        [[cell]]
        rat = "lte"
        bandwidth_mhz = 5
        lte_tdd = { configuration = 2, special_subframe = 5 }
        slice = [{ id = 1, low = 0, high = 2 }]

        [[ue]]
        name = "here"
        count = 3
        cell = "all"
        plmn = "310410"
        sst = 2
        sd = "00000A"
        five_qi = 3
        x_m = 5
        y_m = 6
        motion = "straight"
        speed_m_per_s = 3
        heading_deg = 45
        arrives_s = 1
        stagger_s = 2
        leaves_s = 30
        [[ue.flow]]
        kind = "greedy"
        congestion_control = "bbr"
        segment_octets = 1000
        receive_window_octets = 1_000_000
        initial_window_segments = 4
        delayed_ack_ms = 20
        rto_min_ms = 300
        direction = "up"
        start_s = 1
        stop_s = 9
        server_port = 80
        ue_port = 1234
        one_way_delay_ms = 20
        dscp = 46

        [[ue]]
        name = "walker"
        cell = 2
        motion = "random-waypoint"
        speed_m_per_s = 1
        max_speed_m_per_s = 2
        pause_s = 3
        [[ue.flow]]
        kind = "video"
        bitrate_bps = 1_000_000
        burst_bps = 9_000_000
        segment_ms = 1000
        packet_octets = 1200
        on_s = 5
        off_s = 6
        [[ue.flow]]
        kind = "transfer"
        size_octets = 5_000
        slow_start = "plain"
        ecn = true

        [[ue]]
        sinr_db = 10
        uplink_sinr_db = 5
        arrivals_per_min = 60
        mean_stay_s = 2

        [[at]]
        time_s = 5
        do = "unlock"
        cell = 0
        [[at]]
        time_s = 4
        do = "hand-over"
        ue = "here"
        to = 1
        [[at]]
        time_s = 7
        do = "start-flow"
        ue = "walker"
        flow = 1
    "#;
    let scenario = read(text).unwrap();
    assert_eq!(scenario.profile.name, "flexric");
    assert_eq!((scenario.seed, scenario.speed, scenario.threads.get()), (9, 2.5, 2));
    assert_eq!(scenario.warm_up, Duration::from_millis(1500));
    assert_eq!((scenario.handover.a3_offset_db, scenario.handover.hysteresis_db), (Some(3.0), 1.5));
    assert_eq!(scenario.handover.time_to_trigger, Duration::from_millis(320));
    assert_eq!(scenario.handover.interruption, Duration::from_millis(50));
    assert_eq!(scenario.cells.len(), 3);
    let [first, second, lte] = &scenario.cells[..] else { panic!() };
    assert_eq!((first.position.x_m, second.position.x_m, second.position.y_m), (10.0, 310.0, -20.0));
    assert!(first.is_split && first.is_locked);
    let carrier = &first.radio.carrier;
    assert_eq!((carrier.bandwidth_mhz, carrier.numerology, carrier.frequency_mhz), (20.0, 0, 2140.0));
    let Duplex::Tdd { pattern, second: Some(other) } = &carrier.duplex else { panic!("{:?}", carrier.duplex) };
    assert_eq!((pattern.period_us, pattern.downlink_slots, pattern.uplink_slots), (3000, 2, 1));
    assert_eq!((other.period_us, other.downlink_symbols, other.uplink_symbols), (2000, 4, 5));
    assert_eq!((carrier.downlink_layers, carrier.downlink_mcs), (2, McsTable::Qam256));
    assert_eq!((carrier.uplink_layers, carrier.uplink_mcs), (1, McsTable::Qam64LowSe));
    assert_eq!((carrier.control_symbols, carrier.uplink_control_prbs), (1, 4));
    assert_eq!((carrier.additional_dmrs, carrier.overhead), (0, 6));
    assert_eq!((first.radio.request_period_slots, first.radio.grant_slots), (40, 3));
    assert_eq!((first.radio.max_ues, lte.radio.max_ues), (Some(100), None));
    let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let state = radio::ChannelStateConfig { cqi_period: ms(40.0), cqi_delay: ms(6.5), srs_period: ms(20.0) };
    assert_eq!(first.radio.channel_state, state);
    assert_eq!(first.radio.power_control, radio::phy::PowerControl { p0_dbm: -90.0, alpha: 1.0 });
    let drx = radio::DrxConfig {
        long_cycle_ms: 640,
        start_offset_ms: Some(5),
        short: Some(radio::ShortCycle { cycle_ms: 32, cycles: 2 }),
        on_duration_ms: 4,
        inactivity_ms: 30,
        retransmission_slots: 24,
    };
    assert_eq!(first.radio.drx, Some(drx));
    let harq = first.radio.harq;
    assert_eq!((harq.processes, harq.transmissions, harq.decoding_slots, harq.round_trip_slots), (8, 2, 1, 6));
    let outer_loop = radio::OuterLoop { target: 0.05, nack_step_db: 1.0, max_offset_db: 6.0 };
    assert_eq!(first.radio.outer_loop, Some(outer_loop));
    let rlc = first.radio.rlc;
    assert_eq!((rlc.mode, rlc.buffer_octets), (Mode::Unacknowledged, 5_000));
    let ms = Duration::from_millis;
    assert_eq!((rlc.reordering, rlc.status, rlc.discard), (ms(20), ms(5), Some(ms(100))));
    let slicing = &first.slicing;
    assert_eq!((&*slicing.slices.dl.scheduler, &*slicing.slices.ul.scheduler), ("NVS-PARTITION", "NVS-PARTITION"));
    let slice = &slicing.slices.ul.slices[0];
    assert_eq!((slice.id, &*slice.label, &*slice.ue_scheduler), (3, "three", "RR"));
    let Parameters::Nvs(NvsParameters::Rate(rate)) = slice.parameters else { panic!() };
    assert_eq!((rate.required_mbps, rate.reference_mbps), (5.0, 50.0));
    let rule = slicing.rules[0];
    assert_eq!((rule.plmn, rule.sst, rule.sd), (Some((310, 410, true)), Some(2), Some([0, 0, 10])));
    assert!(rule.matches(&scenario.ues[0].subscription) && !rule.matches(&scenario.ues[3].subscription));
    let tc = &first.radio.tc;
    let ClassifierChoice::Osi(filters) = &tc.classifier else { panic!() };
    assert_eq!((filters[0].id, filters[0].queue.0, filters[0].flow.source_port), (1, 4, Some(5060)));
    assert_eq!((&tc.scheduler, &tc.pacer), (&SchedulerChoice::Priority(vec![2, 1]), &PacerChoice::Bdp5g));
    let queue = &tc.queues[1];
    assert!(matches!(queue.discipline, DisciplineChoice::CoDel(target) if target.target_ms == 7));
    assert_eq!((queue.limit_octets, queue.shaper.unwrap().window_ms), (10_000, 50));
    assert_eq!(queue.policer.unwrap().divert.unwrap().rate_bps, 1_000_000);
    assert_eq!(lte.radio.carrier.rat, Rat::Lte);
    assert_eq!(lte.radio.carrier.duplex, Duplex::LteTdd { configuration: 2, special_subframe: 5 });
    assert_eq!(&*lte.slicing.slices.dl.scheduler, "STATIC");

    assert_eq!(scenario.ues.len(), 5);
    let [one, two, three, walker, other] = &scenario.ues[..] else { panic!() };
    assert_eq!([one.cell, two.cell, three.cell, walker.cell], [0, 1, 2, 2]);
    let second = |seconds| Time::START + Duration::from_secs(seconds);
    assert_eq!([one.arrives, two.arrives, three.arrives], [1, 3, 5].map(second));
    assert_eq!(one.leaves, Some(second(30)));
    assert_eq!((one.subscription.five_qi, one.subscription.has_long_mnc), (3, true));
    let flow = &two.flows[0];
    assert_eq!((flow.specification.start, flow.specification.stop), (second(4), second(12)), "after its arrival");
    assert_eq!((flow.ports, flow.specification.direction), ((80, 1234), Direction::Up));
    assert_eq!((flow.specification.dscp, flow.specification.one_way_delay_ms), (46, 20.0));
    let Kind::Greedy(tcp) = &flow.specification.kind else { panic!() };
    assert_eq!((tcp.control, tcp.segment_octets, tcp.rto_min_ms), (CongestionControl::Bbr, 1000, 300));
    let ChannelScenario::Geometry { position: Some(position), motion, .. } = &one.channel else { panic!() };
    assert_eq!((position.x_m, *motion), (5.0, Motion::Straight { speed_m_per_s: 3.0, heading_deg: 45.0 }));
    let ChannelScenario::Geometry { position: None, motion, .. } = walker.channel else { panic!() };
    assert_eq!(motion, Motion::RandomWaypoint { min_speed_m_per_s: 1.0, max_speed_m_per_s: 2.0, pause_s: 3.0 });
    assert_eq!(walker.flows[1].specification.start, second(7), "as the timeline has it");
    assert!(other.arrives > Time::START && other.leaves > Some(other.arrives));
    assert!(matches!(other.channel, ChannelScenario::Sinr(down, up) if (down, up) == (10.0, 5.0)));
    let changes: Vec<TimelineChange> = scenario.timeline.iter().map(|entry| entry.change).collect();
    let over = |ue| TimelineChange::HandOver { ue, to: 1 };
    assert_eq!(
        changes,
        [over(0), over(1), over(2), TimelineChange::Administrative { cell: 0, state: AdministrativeState::Unlocked }]
    );

    let summary = scenario.summary().unwrap().to_string();
    assert!(summary.starts_with("3 cells, 1 UE, and 4 later; offered 0.5 Mbit/s downlink"), "{summary}");
    assert!(
        summary.contains(
            "cell 0: NR, 20 MHz at 2140 MHz, TDD, 106 PRBs of 15 kHz downlink and 102 uplink, split into CU-CP"
        ),
        "{summary}"
    );
    assert!(summary.contains("at 5 s: cell 0 is unlocked"), "{summary}");
}

#[test]
fn patterns_in_letters_are_read() {
    let of = |scs_khz: u32, letters: &str| {
        let text = format!("[[cell]]\nbandwidth_mhz = 20\nscs_khz = {scs_khz}\ntdd = \"{letters}\"");
        read(&text).map(|scenario| scenario.cells[0].radio.carrier.duplex.clone())
    };
    let default = TddPattern::default();
    assert_eq!(of(30, "DDDDDDDSUU"), Ok(Duplex::Tdd { pattern: default.clone(), second: None }));
    let Ok(Duplex::Tdd { pattern, second: Some(second) }) = of(15, "DDUDU") else { panic!() };
    assert_eq!((pattern.period_us, pattern.downlink_slots, pattern.uplink_slots), (3000, 2, 1));
    assert_eq!((second.period_us, second.downlink_slots, second.uplink_slots), (2000, 1, 1));
    for wrong in ["", "DDX", "DSSU", "DSDU", "DUDUDU"] {
        let why = of(30, wrong).unwrap_err().to_string();
        assert!(why.starts_with("line 4: cell[0]: tdd: ") && why.contains("is not "), "{wrong}: {why}");
    }
    assert!(of(30, "DDDDDDD").unwrap_err().to_string().contains("period_us is 3500"));
}

#[test]
fn random_times_depend_on_the_seed() {
    let arrivals = |seed: u32| {
        let text = format!("seed = {seed}\n[[cell]]\n[[ue]]\ncount = 20\narrivals_per_min = 60\nmean_stay_s = 3");
        let ues = read(&text).unwrap().ues;
        ues.iter().map(|ue| (ue.arrives, ue.leaves)).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(1), arrivals(1));
    assert_ne!(arrivals(1), arrivals(2));
}

#[test]
fn kind_user_draws_from_the_mix() {
    let text = "[[cell]]\n[[ue]]\ncount = 300\nstagger_s = 1\n[[ue.flow]]\nkind = \"user\"\nstart_s = 2\n\
                idle_percent = 0\nweb_percent = 50\nvideo_percent = 0\nsteady_percent = 50\ncongestion_control = \"bbr\"\n\
                [[ue]]\n[[ue.flow]]\nkind = \"keep-alive\"\ninterval_s = 4\nrequest_octets = 100\nanswer_octets = 200\n\
                [[ue]]\n[[ue.flow]]\nkind = \"player\"\nahead_segments = 5\n[[ue.flow]]\nkind = \"web\"\npage_more_octets = 0\n";
    let ues = read(text).unwrap().ues;
    let web = |ue: &&crate::scenario::UeScenario| matches!(&ue.flows[0].specification.kind, Kind::Web(web) if web.tcp.control == CongestionControl::Bbr);
    let readers = ues[..300].iter().filter(web).count();
    assert!((110..190).contains(&readers), "{readers}");
    let waits = ues[..300].iter().map(|ue| ue.flows[0].specification.start.since(ue.arrives));
    assert!(waits.into_iter().all(|wait| wait >= Duration::from_secs(2) && wait < Duration::from_secs(30)));
    let expected = Kind::KeepAlive { interval_s: 4.0, request_octets: 100, answer_octets: 200 };
    assert_eq!(ues[300].flows[0].specification.kind, expected);
    assert!(matches!(&ues[301].flows[0].specification.kind, Kind::VideoPlayer(player) if player.ahead == 5));
    assert!(matches!(&ues[301].flows[1].specification.kind, Kind::Web(web) if web.page_more_octets == 0));
}

#[test]
fn mistakes_are_located() {
    let cell = |text: &str| error(&format!("[[cell]]\n{text}"));
    let ue = |text: &str| error(&format!("[[cell]]\ncount = 2\n[[ue]]\n{text}"));
    let flow = |text: &str| error(&format!("[[cell]]\n[[ue]]\n[[ue.flow]]\n{text}"));
    let at =
        |text: &str| error(&format!("[[cell]]\n[[ue]]\nname = \"a\"\n[[ue.flow]]\nkind = \"voip\"\n[[at]]\n{text}"));
    let tc = |text: &str| error(&format!("[[cell]]\n[cell.traffic_control]\n{text}"));
    for (found, expected) in [
        // the file
        (error(""), "line 1: missing key `cell`: at least one [[cell]] is required"),
        (error("[[cell]"), "line 1: "),
        (error("sede = 1"), "line 1: unknown key `sede`; did you mean `seed`?"),
        (error("quantum = 1"), "line 1: unknown key `quantum`; the keys of the file are seed, speed, "),
        (error("seed = -1\n[[cell]]"), "line 1: seed: -1 is out of range 0 to "),
        (error("seed = \"x\"\n[[cell]]"), "line 1: seed: expected an integer from 0 to "),
        (error("speed = 0\n[[cell]]"), "line 1: speed: 0 is out of range 0.001 to 1000"),
        (error("threads = 1000\n[[cell]]"), "line 1: threads: 1000 is out of range 1 to 256"),
        (error("cell = 3"), "line 1: cell: expected tables, as in [[cell]]"),
        (error("cell = [3]"), "line 1: cell: expected tables, as in [[cell]]"),
        (
            error("[handover]\ntime_to_trigger_ms = 1"),
            "line 2: handover: time_to_trigger_ms: 1 is out of range 10 to 60000",
        ),
        (error("\"sede\\n\" = 1"), "line 1: unknown key `sede\\n`; did you mean `seed`?"),
        (error("\"\" = 1"), "line 1: unknown key ``; the keys of the file are "),
        // cells
        (cell("rcl = {}"), "line 2: cell[0]: unknown key `rcl`; did you mean `rlc`?"),
        (
            cell("rlc = { bufer_octets = 1 }"),
            "line 2: cell[0].rlc: unknown key `bufer_octets`; did you mean `buffer_octets`?",
        ),
        (cell("rlc = 1"), "line 2: cell[0]: rlc: expected a table, as in [cell.rlc]"),
        (cell("rlc = { mode = \"tm\" }"), "line 2: cell[0].rlc: mode: \"tm\" is not one of \"am\", \"um\""),
        (cell("rlc = { discard_ms = 0 }"), "line 2: cell[0].rlc: discard_ms: must be above 0"),
        (cell("rat = \"3g\""), "line 2: cell[0]: rat: \"3g\" is not one of \"nr\", \"lte\""),
        (cell("rat = 5"), "line 2: cell[0]: rat: expected a string: \"nr\", \"lte\""),
        (cell("bandwidth_mhz = 41"), "line 1: cell[0]: bandwidth_mhz is 41"),
        (cell("scs_khz = 20"), "line 2: cell[0]: scs_khz: 20 is not one of 15, 30 or 60"),
        (cell("rat = \"lte\"\nscs_khz = 30"), "line 3: cell[0]: scs_khz: 30 is not one of 15 with LTE"),
        (cell("rat = \"lte\"\nuplink_layers = 2"), "line 1: cell[0]: uplink_layers is 2"),
        (cell("p0_dbm = -203"), "line 2: cell[0]: p0_dbm: -203 is out of range -202 to 24"),
        (cell("alpha = 0.85"), "line 2: cell[0]: alpha: alpha is 0.85: must be 0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 or 1"),
        (cell("cqi_period_ms = 0.5"), "line 2: cell[0]: cqi_period_ms: 0.5 is out of range 1 to 320"),
        (cell("cqi_delay_ms = 81"), "line 2: cell[0]: cqi_delay_ms: 81 is out of range 0 to 80"),
        (cell("srs_period_ms = 321"), "line 2: cell[0]: srs_period_ms: 321 is out of range 1 to 320"),
        (cell("rat = \"lte\"\ntdd = \"DSU\""), "line 3: cell[0]: tdd: wrong technology"),
        (cell("rat = \"lte\"\nduplex = \"tdd\""), "line 1: cell[0]: missing key `lte_tdd`"),
        (cell("duplex = \"fdd\"\ntdd = \"DSU\""), "line 3: cell[0]: tdd: an FDD cell has no TDD pattern"),
        (cell("tdd = { downlink_slots = 1 }"), "line 2: cell[0].tdd: missing key `period_us`"),
        (cell("tdd = { period_us = 700 }"), "line 1: cell[0]: period_us is 700"),
        (cell("rat = \"lte\"\nsplit = true"), "line 3: cell[0]: split: only NR cells can be split"),
        (cell("count = 5000"), "line 2: cell[0]: count: 5000 is out of range 1 to 4096"),
        (
            error("[[cell]]\ncount = 4000\n[[cell]]\ncount = 200"),
            "line 3: cell[1]: number of cells is out of range 1 to 4096",
        ),
        (cell("harq = { processes = 99 }"), "line 2: cell[0].harq: processes: 99 is out of range 1 to 32"),
        (cell("drx = { on_duration_ms = 7 }"), "line 2: cell[0].drx: on_duration_ms is 7: must be one of 1, 2, 3, "),
        (
            cell("drx = { long_cycle_ms = 11000 }"),
            "line 2: cell[0].drx: long_cycle_ms: 11000 is out of range 0 to 10240",
        ),
        (cell("drx = { start_offset_ms = 320 }"), "line 2: cell[0].drx: start_offset_ms is 320: must be less than"),
        (cell("drx = { short_cycle_timer = 2 }"), "line 2: cell[0].drx: missing key `short_cycle_ms`"),
        (cell("drx = { short_cycle_ms = 7 }"), "line 2: cell[0].drx: the long cycle of 320 ms is not a multiple of"),
        (cell("max_ues = 0"), "line 2: cell[0]: max_ues: 0 is out of range 1 to 4096"),
        (cell("locked = 1"), "line 2: cell[0]: locked: expected true or false"),
        (
            error("[[cell]]\n[handover]\nmin_rsrp_dbm = -20"),
            "line 3: handover: min_rsrp_dbm: -20 is out of range -156 to -31",
        ),
        (
            error("[[cell]]\n[link_failure]\nin_sync_db = -9"),
            "line 3: link_failure: in_sync_db: must be above out_of_sync_db, -8",
        ),
        (
            error("[[cell]]\n[[measurement.event]]\nkind = \"a6\""),
            "line 3: measurement.event[0]: kind: event A6 is not modelled: use a4",
        ),
        (
            error("[[cell]]\n[[measurement.event]]\nkind = \"a3\"\nthreshold_dbm = -90"),
            "line 4: measurement.event[0]: threshold_dbm: not a parameter of this event: use offset_db",
        ),
        (
            error("[[cell]]\n[handover.conditional]\na5_serving_dbm = -90"),
            "line 2: handover.conditional: missing key `a5_neighbour_dbm`",
        ),
        (error("[[cell]]\n[link_failure]\nn310 = 21"), "line 3: link_failure: n310: 21 is out of range 1 to 20"),
        (
            error("[[cell]]\n[random_access]\ndedicated_preambles = 20"),
            "line 3: random_access: dedicated_preambles: with contention_preambles the cell has 72 preambles",
        ),
        // slices
        (cell("slice = [{ capacity_percent = 1 }]"), "line 2: cell[0].slice[0]: missing key `id`"),
        (cell("slice = [{ id = 1 }]"), "line 2: cell[0].slice[0]: a slice requires either `capacity_percent`"),
        (
            cell("slice = [{ id = 1, rate_mbps = 5, reference_mbps = 0 }]"),
            "line 2: cell[0].slice[0]: downlink slice 1: the reference of a rate must be above 0",
        ),
        (
            cell("slice = [{ id = 1, capacity_percent = 60 }, { id = 2, capacity_percent = 50 }]"),
            "line 2: cell[0].slice[1]: the downlink slices would use 110.0 %",
        ),
        (
            cell("slice = [{ id = 1, capacity_percent = 60 }, { id = 1, capacity_percent = 1 }]"),
            "line 2: cell[0].slice[1]: downlink slice 1 occurs twice",
        ),
        (
            cell("slice = [{ id = 1, low = 0, high = 90 }]"),
            "line 2: cell[0].slice[0]: downlink slice 1: positions 0 to 90 are not among 0 to 13",
        ),
        (
            cell("slice = [{ id = 1, capacity_percent = 1, sd = \"00000a\" }]"),
            "line 2: cell[0].slice[0]: sd: requires `sst`",
        ),
        (cell("slice_scheduler = \"NVS\""), "line 2: cell[0]: slice_scheduler: requires a [[cell.slice]]"),
        (
            cell("slice_scheduler = \"EDF\""),
            "line 2: cell[0]: slice_scheduler: \"EDF\" is not one of \"NVS\", \"NVS-PARTITION\"",
        ),
        // traffic control
        (tc("pacer = \"bdp\""), "line 3: cell[0].traffic_control: pacer: \"bdp\" is not one of \"off\", \"5g-bdp\""),
        (
            tc("queue = [{ id = 1, discipline = \"red\" }]"),
            "line 3: cell[0].traffic_control.queue[0]: discipline: \"red\" is not one of",
        ),
        (tc("queue = [{ id = 1 }, { id = 1 }]"), "line 2: cell[0].traffic_control: queue id 1 is used twice"),
        (
            tc("queue = [{ id = 1, target_ms = 5 }]"),
            "line 3: cell[0].traffic_control.queue[0]: target_ms: requires the discipline",
        ),
        (
            tc("queue = [{ id = 1, priority = 5 }]"),
            "line 3: cell[0].traffic_control.queue[0]: priority: requires the scheduler \"priority\"",
        ),
        (
            tc("queue = [{ id = 1, divert_to = 5 }]"),
            "line 3: cell[0].traffic_control.queue[0]: `divert_rate_bps` and `divert_to` require each other",
        ),
        (
            tc("filter = [{ id = 1, queue = 7 }]"),
            "line 2: cell[0].traffic_control: filter 1 refers to queue 7, which does not exist",
        ),
        (
            tc("filter = [{ id = 1, queue = 0, source = \"x\" }]"),
            "line 3: cell[0].traffic_control.filter[0]: source: \"x\" is not an IPv4 address",
        ),
        (
            tc("classifier = \"stochastic\"\nfilter = [{ id = 1, queue = 0 }]"),
            "line 4: cell[0].traffic_control: filter: filters require the classifier \"osi\"",
        ),
        (
            tc("pacer = { part = \"none-such\" }"),
            "line 3: cell[0].traffic_control.pacer: part: cannot load none-such from /usr/lib/ferric/tc: ",
        ),
        (
            tc("pacer = { prat = \"x\" }"),
            "line 3: cell[0].traffic_control.pacer: unknown key `prat`; did you mean `part`?",
        ),
        // UEs
        (ue("[ue.flow]\nkind = \"voip\""), "line 4: ue[0]: flow: expected tables, as in [[ue.flow]]"),
        (ue("cell = 2"), "line 4: ue[0]: cell: 2 is out of range 0 to 1"),
        (ue("cell = \"every\""), "line 4: ue[0]: cell: \"every\" is not one of \"all\""),
        (ue("plmn = \"12\""), "line 4: ue[0]: plmn: \"12\" is not five or six digits"),
        (ue("sd = \"xyz\""), "line 4: ue[0]: sd: \"xyz\" is not six hexadecimal digits"),
        (ue("mcs = 29"), "line 4: ue[0]: mcs: 29 is out of range 0 to 28"),
        (
            error("[[cell]]\ndownlink_mcs_table = \"256qam\"\nuplink_mcs_table = \"256qam\"\n[[ue]]\nmcs = 28"),
            "line 4: ue[0]: UE 0: MCS is out of range 0 to 27",
        ),
        (ue("mcs = 3\nsinr_db = 3"), "line 5: ue[0]: sinr_db: a UE has one channel"),
        (ue("uplink_sinr_db = 3"), "line 3: ue[0]: missing key `sinr_db`"),
        (ue("trace = \"t.csv\""), "line 4: ue[0]: trace: nowhere/t.csv: "),
        (ue("trace_end = \"loop\""), "line 3: ue[0]: missing key `trace`"),
        (ue("heading_deg = 5"), "line 4: ue[0]: heading_deg: requires the motion \"straight\""),
        (ue("motion = \"random-waypoint\"\nspeed_m_per_s = 5\nmax_speed_m_per_s = 1"), "line 3: ue[0]: UE 0: "),
        (ue("arrives_s = 5\nleaves_s = 4"), "line 5: ue[0]: leaves_s: a UE would leave before it arrives"),
        (ue("stagger_s = 5\narrivals_per_min = 4"), "line 4: ue[0]: stagger_s: excludes `arrivals_per_min`"),
        (ue("mean_stay_s = 5\nleaves_s = 4"), "line 5: ue[0]: leaves_s: excludes `mean_stay_s`"),
        (
            ue("count = 500000\narrives_s = 9\n[[ue]]\ncount = 1"),
            "line 7: ue[1]: count: too many UEs: 0 of 500000 are left",
        ),
        (ue("count = 5000"), "line 3: ue[0]: UE 4096: the target cell is full: it has as many UEs as it admits"),
        (ue("name = \"a\"\n[[ue]]\nname = \"a\""), "line 6: ue[1]: name: name is used by another [[ue]]"),
        // flows
        (flow(""), "line 3: ue[0].flow[0]: missing key `kind`: one of cbr, poisson, "),
        (flow("kind = \"ftp\""), "line 4: ue[0].flow[0]: kind: \"ftp\" is not one of \"cbr\", "),
        (flow("kind = \"cbr\""), "line 3: ue[0].flow[0]: missing key `rate_bps`"),
        (flow("kind = \"cbr\"\nrate_bps = 0"), "line 3: ue[0].flow[0]: rate_bps must be from 1 to 10000000000"),
        (flow("kind = \"voip\"\nrate_bps = 5"), "line 5: ue[0].flow[0]: rate_bps: not allowed for the kind \"voip\""),
        (
            flow("kind = \"cbr\"\nrate_bps = 5000\necn = true"),
            "line 6: ue[0].flow[0]: ecn: not allowed for the kind \"cbr\"",
        ),
        (
            flow("kind = \"greedy\"\ncongestion_control = \"reno\""),
            "line 5: ue[0].flow[0]: congestion_control: \"reno\" is not one of",
        ),
        (
            flow("kind = \"greedy\"\ncongestion_control = \"bbr\"\nslow_start = \"plain\""),
            "line 6: ue[0].flow[0]: slow_start: requires the congestion control \"cubic\"",
        ),
        (flow("kind = \"voip\"\nstart_s = 5\nstop_s = 4"), "line 3: ue[0].flow[0]: stop must be later than the start"),
        (flow("kind = \"voip\"\necho = true"), "line 5: ue[0].flow[0]: unknown key `echo`; did you mean `echoed`?"),
        (
            flow("kind = \"user\"\nweb_percent = 90"),
            "line 3: ue[0].flow[0]: idle, web, video and steady must be 1 in sum",
        ),
        (
            flow("kind = \"user\"\ndirection = \"up\""),
            "line 5: ue[0].flow[0]: direction: not allowed for the kind \"user\"",
        ),
        (flow("kind = \"web\"\nreading_s = 0"), "line 3: ue[0].flow[0]: reading_s must be from 0.001"),
        // the timeline
        (
            error("[[cell]]\n[[at]]\ntime_s = 1\ndo = \"hand-over\"\nue = \"a\"\nto = 0"),
            "line 5: at[0]: ue: unknown name \"a\": no [[ue]] has a name",
        ),
        (at("do = \"lock\""), "line 6: at[0]: missing key `time_s`"),
        (at("time_s = 1"), "line 6: at[0]: missing key `do`: one of lock, unlock, "),
        (at("time_s = 1\ndo = \"lock\""), "line 6: at[0]: missing key `cell`: a cell, counted from 0, of 1"),
        (at("time_s = 1\ndo = \"lock\"\ncell = 1"), "line 9: at[0]: cell: 1 is out of range 0 to 0"),
        (at("time_s = 1\ndo = \"lock\"\nue = \"a\""), "line 9: at[0]: ue: not allowed here: use cell"),
        (
            at("time_s = 1\ndo = \"hand-over\"\nue = \"b\"\nto = 0"),
            "line 9: at[0]: ue: unknown name \"b\": known names are a",
        ),
        (at("time_s = 1\ndo = \"stop-flow\"\nue = \"a\"\nflow = 1"), "line 10: at[0]: flow: 1 is out of range 0 to 0"),
        (
            at(
                "time_s = 1\ndo = \"stop-flow\"\nue = \"a\"\nflow = 0\n[[at]]\ntime_s = 2\ndo = \"stop-flow\"\nue = \"a\"\nflow = 0",
            ),
            "line 15: at[1]: flow: stops at another time already",
        ),
        (
            at("time_s = 0\ndo = \"stop-flow\"\nue = \"a\"\nflow = 0"),
            "line 6: at[0]: stop must be later than the start",
        ),
    ] {
        assert!(found.starts_with(expected), "{found}\n    expected {expected}");
    }
}

#[test]
fn carriers_of_base_station_share_its_place() {
    let two = "[carrier_aggregation]\naddition_dbm = -100\nrelease_dbm = -104\ndeactivation_timer_ms = 0\n\
               [[cell]]\nx_m = 50\nbase_station = \"a\"\nfrequency_mhz = 3500\n\
               [[cell]]\nbase_station = \"a\"\nfrequency_mhz = 3600\n[[cell]]\n[[ue]]\nmax_carriers = 2\nsinr_db = 20";
    let scenario = read(two).unwrap();
    let names: Vec<_> = scenario.cells.iter().map(|cell| cell.base_station.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("a"), None]);
    assert_eq!([0, 1, 2].map(|cell| scenario.cells[cell].position.x_m), [50.0, 50.0, 0.0]);
    assert_eq!((scenario.ues[0].max_carriers, scenario.carrier_aggregation.deactivation_timer), (2, None));
    let network = scenario.network().unwrap();
    assert_eq!([0, 1, 2].map(|cell| network.base_station(cell)), [0, 0, 2]);
    let cell = |name: &str, more: &str| format!("[[cell]]\nbase_station = \"{name}\"\n{more}\n");
    for (found, expected) in [
        (
            error(&[cell("a", ""), cell("b", ""), cell("a", "")].concat()),
            "base station of cell 2: the cells of a base station must follow each other",
        ),
        (
            error(&[cell("a", ""), cell("a", "rat = \"lte\"")].concat()),
            "base station of cell 1: NR and LTE cells are of different base stations",
        ),
        (error(&cell("a", "count = 2")), "line 3: cell[0]: count: a base station is at one place"),
        (
            error("deployment = \"hex7\"\n[[cell]]\nbase_station = \"a\""),
            "line 3: cell[0]: base_station: the cells of a preset of `deployment` have base stations of their own",
        ),
        (
            error("[carrier_aggregation]\nrelease_dbm = -90\n[[cell]]"),
            "line 2: carrier_aggregation: release_dbm: -90 is above `addition_dbm`, -110",
        ),
        (
            error("[carrier_aggregation]\ndeactivation_timer_ms = 5\n[[cell]]"),
            "line 2: carrier_aggregation: deactivation_timer_ms: 5 is neither 0, no timer, nor 20 to 1280",
        ),
        (error("[[cell]]\n[[ue]]\nmax_carriers = 6"), "line 3: ue[0]: max_carriers: 6 is out of range 1 to 5"),
    ] {
        assert!(found.contains(expected), "{found}\n    expected {expected}");
    }
}

#[test]
fn cells_share_the_cu_that_they_name() {
    let scenario =
        read("[[cell]]\nsplit = true\ncu = \"a\"\ncount = 2\n[[cell]]\n[[cell]]\nsplit = true\ncu = \"a\"").unwrap();
    let names: Vec<_> = scenario.cells.iter().map(|cell| cell.cu.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("a"), None, Some("a")]);
    assert!(scenario.summary().unwrap().to_string().contains("a DU of CU a"));
    let cell = |more: &str| format!("[[cell]]\nsplit = true\ncu = \"a\"\n{more}\n");
    for (found, expected) in [
        (error("[[cell]]\ncu = \"a\""), "line 2: cell[0]: cu: only cells with `split = true` have a CU"),
        (error("[[cell]]\nrat = \"lte\"\ncu = \"a\""), "line 3: cell[0]: cu: only cells with `split = true`"),
        (error(&cell("base_station = \"a\"")), "line 3: cell[0]: cu: carriers of several DUs cannot be aggregated"),
        (error(&cell("count = 65")), "CU of cell 64: a CU has at most 64 DUs"),
        (error("[[cell]]\nsplit = true\ncu = 5"), "line 3: cell[0]: cu: expected a string"),
        (
            error(&[cell(""), cell("traffic_control = { pacer = \"5g-bdp\" }")].concat()),
            "CU of cell 1: traffic control is that of the CU-UP",
        ),
    ] {
        assert!(found.contains(expected), "{found}\n    expected {expected}");
    }
}

/// The tables of `docs/scenarios.md` have a row for each key, and for no other.
#[test]
fn every_key_is_in_the_document() {
    let document = include_str!("../../../../../../docs/scenarios.md");
    for TableKeys { name, keys } in TABLES {
        let heading = match *name {
            "the file" => "Top level\n".to_owned(),
            "a custom part" => "A custom part\n".to_owned(),
            name => format!("`{name}`\n"),
        };
        let section = document.split("\n## ").find(|section| section.starts_with(&heading));
        let section = section.unwrap_or_else(|| panic!("no section {heading}"));
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let documented: Vec<&str> = rows.map(|(key, _)| key).collect();
        assert_eq!(documented, *keys, "{name}");
    }
}
