use std::time::Duration;

use e2sm::common::{QosFlowIdentifier, Sst};
use e2sm::kpm::dictionary::{self, Kind, Scope};

use super::measurements::MEASUREMENTS;
use super::*;
use crate::counters::Counters;
use crate::testing;

const SECOND: Duration = Duration::from_secs(1);
const START: Time = Time::from_nanos(5_000_000_000);

fn node() -> Node {
    let mut node = testing::node();
    node.advance(START);
    node
}

/// The time of the model.
fn model_time(node: &Node) -> radio::Time {
    node.cell().now()
}

fn snapshot(node: &Node) -> CounterSnapshot {
    let mut snapshot = CounterSnapshot::default();
    node.take_snapshot(&mut snapshot);
    snapshot
}

fn measurement(name: &str) -> usize {
    MEASUREMENTS.iter().position(|measurement| measurement.name == name).unwrap()
}

fn cell_value(node: &Node, since: &CounterSnapshot, name: &str) -> f64 {
    let value = node.value(since, MeasuredObject::Cell, measurement(name), &MeasurementLabel::NO_LABEL);
    value.number().unwrap()
}

#[test]
fn measurements_are_in_the_dictionary() {
    let mut node = node();
    let since = snapshot(&node);
    node.advance(START + SECOND);
    for (at, offer) in MEASUREMENTS.iter().enumerate() {
        let entry = dictionary::find(offer.name).unwrap_or_else(|| panic!("{}", offer.name));
        assert_eq!(entry.scope, offer.scope, "{}", offer.name);
        let object = if offer.scope == Scope::Ue { MeasuredObject::Ues(&[Ue(1)]) } else { MeasuredObject::Cell };
        match node.value(&since, object, at, &MeasurementLabel::NO_LABEL) {
            Value::Integer(_) => assert_eq!(entry.kind, Kind::Integer, "{}", offer.name),
            Value::Real(_) => assert_eq!(entry.kind, Kind::Real, "{}", offer.name),
            // the only cell has no neighbour
            Value::NoValue => assert!(offer.name.starts_with("HO.TrgtCellQual"), "{}", offer.name),
            other => panic!("{}: {other:?}", offer.name),
        }
        assert!(MEASUREMENTS[..at].iter().all(|before| before.name != offer.name));
    }
}

#[test]
fn reports_of_different_periods_are_consistent() {
    let mut node = node();
    let long = snapshot(&node);
    let mut volumes = 0.0;
    for tenth in 1..=10 {
        let short = snapshot(&node);
        node.advance(START + SECOND * tenth / 10);
        volumes += cell_value(&node, &short, "DRB.PdcpSduVolumeDL");
    }
    assert!(volumes > 0.0);
    let whole = cell_value(&node, &long, "DRB.PdcpSduVolumeDL");
    assert!((whole - volumes).abs() <= 5.0, "{whole} kbit, and {volumes} each rounded");
    assert_eq!(model_time(&node), radio::Time::from_millis(2000), "one second of warm-up, and one more");
}

#[test]
fn cell_is_the_sum_of_its_ues() {
    let mut node = node();
    let since = snapshot(&node);
    node.advance(START + SECOND * 10);
    let mut ues = Vec::new();
    node.ues(&mut ues);
    let by_ue = |name: &str, ues: &[Ue]| {
        let value = node.value(&since, MeasuredObject::Ues(ues), measurement(name), &MeasurementLabel::NO_LABEL);
        value.number().unwrap()
    };
    let each: f64 = ues.iter().map(|ue| by_ue("DRB.PdcpSduVolumeDL", &[*ue])).sum();
    let cell = cell_value(&node, &since, "DRB.PdcpSduVolumeDL");
    assert!((each - cell).abs() <= ues.len() as f64);
    assert_eq!(by_ue("DRB.PdcpSduVolumeDL", &ues), cell);
    let each: f64 = ues.iter().map(|ue| by_ue("RRU.PrbUsedDl", &[*ue])).sum();
    assert!((each - cell_value(&node, &since, "RRU.PrbUsedDl")).abs() <= ues.len() as f64 / 2.0);
    assert!(cell_value(&node, &since, "RRU.PrbTotDl") <= 100.0);

    // the slices add up to the cell
    let share = |sst: u8| {
        let slice = SNssai { sst: Sst([sst]), sd: None };
        let label = MeasurementLabel { slice_id: Some(slice), ..MeasurementLabel::default() };
        assert!(node.supports_label(measurement("DRB.PdcpSduVolumeDL"), &label));
        assert!(!node.supports_label(measurement("RRU.PrbAvailDl"), &label));
        node.value(&since, MeasuredObject::Cell, measurement("DRB.PdcpSduVolumeDL"), &label).number().unwrap()
    };
    assert!(share(1) > share(2) && share(2) > 0.0 && share(3) == 0.0);
    assert!((share(1) + share(2) - cell).abs() <= 1.0);
    assert!(!node.supports_label(0, &MeasurementLabel::default()));
    assert!(!node.supports_label(0, &MeasurementLabel { sum: Some(True), ..MeasurementLabel::default() }));
}

#[test]
fn prb_usage_has_a_distribution_and_extremes() {
    let mut node = node();
    let since = snapshot(&node);
    node.advance(START + SECOND * 10);
    let dist = measurement("RRU.PrbTotDlDist");
    let bins = node.bins(dist)[0];
    let label = MeasurementLabel::NO_LABEL;
    let count = |bin: &Bin| node.bin_count(&since, MeasuredObject::Cell, dist, &[*bin], &label).number().unwrap();
    let counts = bins.iter().map(count);
    assert_eq!(counts.sum::<f64>(), 16_000.0, "each downlink slot, four of five, is in one bin");
    assert_eq!(cell_value(&node, &since, "RRU.PrbTotDlDist"), 16_000.0);
    assert!(node.bins(measurement("RRU.PrbTotDl")).is_empty());
    let alone = MeasurementLabel::default();
    let with = |label: MeasurementLabel| {
        assert!(
            node.supports_label(measurement("RRU.PrbTotDl"), &label)
                && !node.supports_label(measurement("CQI"), &label)
        );
        node.value(&since, MeasuredObject::Cell, measurement("RRU.PrbTotDl"), &label).number().unwrap()
    };
    let (min, max) = (MeasurementLabel { min: Some(True), ..alone }, MeasurementLabel { max: Some(True), ..alone });
    let mean = with(MeasurementLabel { avg: Some(True), ..alone });
    assert_eq!(mean, cell_value(&node, &since, "RRU.PrbTotDl"));
    assert!(with(min) < mean && mean < with(max) && with(max) <= 100.0);
    assert_eq!(node.value(&since, MeasuredObject::Ues(&[Ue(1)]), measurement("RRU.PrbTotDl"), &max), Value::NoValue);
}

/// Used and available PRBs are of the same slots, in periods of any length.
#[test]
fn used_prbs_never_exceed_the_available() {
    let mut node = node();
    for tick in 1..=1000 {
        let since = snapshot(&node);
        node.advance(START + Duration::from_micros(3_500) * tick);
        for [total, used, available] in
            [["RRU.PrbTotDl", "RRU.PrbUsedDl", "RRU.PrbAvailDl"], ["RRU.PrbTotUl", "RRU.PrbUsedUl", "RRU.PrbAvailUl"]]
        {
            let of = |name: &str| {
                node.value(&since, MeasuredObject::Cell, measurement(name), &MeasurementLabel::NO_LABEL).number()
            };
            let (percent, used) = (of(total).unwrap_or_default(), of(used).unwrap_or_default());
            assert!(percent <= 100.0 && used <= of(available).unwrap(), "{tick}: {percent} % {total}, {used} used");
        }
        for name in ["DRB.MeanActiveUeDl", "DRB.MeanActiveUeUl"] {
            let active =
                node.value(&since, MeasuredObject::Cell, measurement(name), &MeasurementLabel::NO_LABEL).number();
            assert!(active.is_none_or(|active| active <= 32.0), "{active:?} {name}");
        }
    }
}

#[test]
fn cqi_distribution_has_three_dimensions() {
    let mut node = node();
    let since = snapshot(&node);
    node.advance(START + SECOND * 10);
    let dist = measurement("CARR.WBCQIDist");
    let [cqis, ranks, tables] = node.bins(dist) else { panic!("three dimensions") };
    assert_eq!((cqis.len(), ranks.len(), tables.len()), (16, 8, 4));
    let label = MeasurementLabel::NO_LABEL;
    let count = |object, bins: &[Bin], label| node.bin_count(&since, object, dist, bins, label).number().unwrap();
    let of_rank =
        |rank: usize, object, label| cqis.iter().map(|cqi| count(object, &[*cqi, ranks[rank], tables[1]], label)).sum();
    let of = |object, label| [0, 1].map(|rank| -> f64 { of_rank(rank, object, label) }).iter().sum::<f64>();
    assert_eq!(of(MeasuredObject::Cell, &label), 64_000.0, "one of each UE every 5 ms");
    let by_rank = [0, 1, 2].map(|rank| -> f64 { of_rank(rank, MeasuredObject::Cell, &label) });
    assert!(by_rank[1] > 32_000.0 && by_rank[2] == 0.0, "{by_rank:?}: two layers where the SINR is high");
    assert_eq!(of(MeasuredObject::Cell, &label), cell_value(&node, &since, "CARR.WBCQIDist"));
    // the mean of the distribution is the mean of the values
    let ue = [Ue(3)];
    let sum: f64 = (0u8..)
        .zip(*cqis)
        .map(|(cqi, bin)| {
            let each = [0, 1].map(|rank| count(MeasuredObject::Ues(&ue), &[*bin, ranks[rank], tables[1]], &label));
            f64::from(cqi) * each.iter().sum::<f64>()
        })
        .sum();
    let mean = node.value(&since, MeasuredObject::Ues(&ue), measurement("CQI"), &label).number().unwrap();
    assert!((sum / 2000.0 - mean).abs() <= 0.5, "{} and {mean}", sum / 2000.0);
    // divided by flow
    let flows = [9, 6, 3].map(|qfi| MeasurementLabel { qfi: Some(QosFlowIdentifier(qfi)), ..Default::default() });
    assert!(flows.iter().all(|label| node.supports_label(dist, label)));
    assert_eq!(flows.iter().map(|label| of(MeasuredObject::Cell, label)).sum::<f64>(), 64_000.0);
}

#[test]
fn model_skips_long_times_without_reads() {
    let mut node = node();
    assert_eq!(model_time(&node), radio::Time::from_millis(1000), "the warm-up");
    node.advance(START + SECOND * 3600);
    assert_eq!(model_time(&node), radio::Time::from_millis(2000), "an hour without reads");
    node.advance(START + SECOND * 3601);
    assert_eq!(model_time(&node), radio::Time::from_millis(3000));
    node.advance(START + SECOND * 3600);
    assert_eq!(model_time(&node), radio::Time::from_millis(3000), "time does not go back");
}

#[test]
fn ues_have_ids_and_test_condition_values() {
    let node = node();
    let mut ues = Vec::new();
    node.ues(&mut ues);
    assert_eq!(ues.len(), 32);
    let mut names: Vec<_> = ues.iter().map(|ue| format!("{:?}", node.ue_id(*ue))).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 32);
    for ue in ues {
        let property = |what| node.test_condition_value(ue, what);
        assert!(property(TestCondType::UlRsrp(True)).unwrap() < 1000.0, "the condition that every UE meets");
        assert!(property(TestCondType::Cqi(True)).unwrap() <= 15.0);
        assert!(property(TestCondType::Rsrp(True)).unwrap() < -40.0);
        assert_eq!(property(TestCondType::Gbr(True)) == Some(1.0), node.slices(ue)[0].sst == Sst([2]));
        assert_eq!(property(TestCondType::Ambr(True)), None);
        assert_eq!(node.five_qis(ue).len(), 1);
    }
    assert_eq!(node.test_condition_value(Ue(32), TestCondType::Cqi(True)), None);
    assert_eq!(node.id().to_string(), "gnb-00101-e00");
}

/// Three UEs: one always active, one that arrives, is active for a second and leaves, and one that becomes inactive.
fn three_ues(tc: radio::tc::Configuration) -> Node {
    use crate::scenario::{CellScenario, ChannelScenario, FlowScenario, Scenario, UeScenario};
    use radio::traffic::{FlowSpecification, Kind};

    let at = |second: u64| radio::Time::from_millis(1000 * second);
    let ue = |arrives, leaves, until| UeScenario {
        cell: 0,
        subscription: radio::Subscription { sst: 1, five_qi: 9, ..Default::default() },
        max_carriers: 1,
        channel: ChannelScenario::Mcs(15),
        flows: vec![FlowScenario {
            specification: FlowSpecification {
                start: arrives,
                stop: until,
                ..FlowSpecification::new(Kind::ConstantBitRate { rate_bps: 4_000_000, packet_octets: 1000 })
            },
            ports: (80, 81),
        }],
        arrives,
        leaves,
    };
    let ues = vec![ue(at(0), None, radio::Time::NEVER), ue(at(4), Some(at(9)), at(5)), ue(at(0), None, at(1))];
    let mut cell = CellScenario::default();
    cell.radio.tc = tc;
    let scenario = Scenario { cells: vec![cell], ues, warm_up: Duration::ZERO, ..Scenario::default() };
    testing::nodes(&crate::RanConfig { scenario, ..Default::default() }).remove(0)
}

#[test]
fn connections_are_means_over_time() {
    let mut node = three_ues(Default::default());
    node.advance(START);
    node.advance(START + SECOND * 2);
    let since = snapshot(&node);
    node.advance(START + SECOND * 12);
    // connected of ten seconds: all; one second and the two of the inactivity timer; one second of the timer
    let (connected, inactive) =
        (cell_value(&node, &since, "RRC.ConnMean"), cell_value(&node, &since, "RRC.InactiveConnMean"));
    assert!((connected - 1.4).abs() < 0.03 && (inactive - 1.1).abs() < 0.03, "{connected} and {inactive}");
    assert!((connected + inactive - 2.5).abs() < 0.002, "arrivals are exact to an epoch");
}

/// The CU-UP's delay and loss are those of traffic control.
#[test]
fn cu_up_delay_and_loss() {
    use radio::tc::{DisciplineChoice, QueueConfiguration, QueueId, ShaperSettings};

    // a quarter of the offered rate
    let shaper = Some(ShaperSettings { rate_bps: 1_000_000, window_ms: 100 });
    let queue = QueueConfiguration {
        limit_octets: 50_000,
        shaper,
        ..QueueConfiguration::new(QueueId(0), DisciplineChoice::Fifo)
    };
    let mut node = three_ues(radio::tc::Configuration { queues: vec![queue], ..Default::default() });
    node.advance(START);
    node.advance(START + SECOND * 3);
    let since = snapshot(&node);
    let before = node.cell().ue(0).unwrap().bearers()[0].tc().totals();
    node.advance(START + SECOND * 13);
    let after = node.cell().ue(0).unwrap().bearers()[0].tc().totals();
    let of = |name: &str, ue: u64| {
        node.value(&since, MeasuredObject::Ues(&[Ue(ue)]), measurement(name), &MeasurementLabel::NO_LABEL).number()
    };
    // 50 kB at 1 Mbit/s
    let delay = of("DRB.PdcpSduDelayDl", 0).unwrap();
    assert!((3_800.0..4_200.0).contains(&delay), "{delay} times 0.1 ms");
    let drops = of("DRB.PdcpPacketDropRateDl", 0).unwrap();
    let came = (after.arrived.packets - before.arrived.packets) as f64;
    let dropped = (after.dropped.packets - before.dropped.packets) as f64;
    assert!((drops - 1e6 * dropped / came).abs() <= 1.0 && (drops - 750_000.0).abs() < 10_000.0, "{drops}");
    // the UE that has left is included
    let volume = cell_value(&node, &since, "DRB.PdcpSduVolumeDL");
    let each: f64 = (0..3).map(|ue| of("DRB.PdcpSduVolumeDL", ue).unwrap()).sum();
    assert!((volume - each).abs() <= 2.0, "{volume} and {each} kbit");
    assert!(of("DRB.PdcpSduDelayDl", 2).unwrap() > 100.0);
    assert_eq!(
        (of("DRB.PdcpSduDelayDl", 1), of("DRB.PdcpPacketDropRateDl", 1)),
        (None, None),
        "no packets in the period"
    );
}

/// Dropped packets may have arrived before the period.
#[test]
fn drop_rate_is_at_most_one() {
    let node = node();
    let since = snapshot(&node);
    let dropped = |dl_dropped_packets, dl_came_packets| {
        let counted = Counters { dl_dropped_packets, dl_came_packets, ..Counters::default() };
        value(Kpi::PacketDropRateDl, &counted, &since, &node.cell())
    };
    assert_eq!(dropped(1, 4), Value::Integer(250_000));
    assert_eq!(dropped(10, 4), Value::Integer(1_000_000));
    assert_eq!(dropped(10, 0), Value::Integer(1_000_000));
    assert_eq!(dropped(0, 0), Value::NoValue);
}

/// The time with data in the buffer is not that of a throughput if all of the buffer fits into one slot (TS 28.552 5.1.1.3.1).
#[test]
fn bursts_of_one_slot_have_no_throughput() {
    // packets of 1000 octets, one by one
    let mut node = three_ues(Default::default());
    node.advance(START);
    node.advance(START + SECOND);
    let since = snapshot(&node);
    node.advance(START + SECOND * 3);
    let of = |name: &str| {
        let (ue, label) = ([Ue(0)], MeasurementLabel::NO_LABEL);
        node.value(&since, MeasuredObject::Ues(&ue), measurement(name), &label).number()
    };
    assert_eq!((of("DRB.UEThpDl"), of("DRB.UEUnresVolDl")), (Some(0.0), Some(100.0)));
    assert!((of("DRB.RlcSduTransmittedVolumeDL").unwrap() - 8032.0).abs() <= 16.0, "with PDCP headers");
    assert_eq!((of("DRB.UEUnresVolUl"), of("DRB.AirIfDelayUl")), (None, None), "nothing was sent in the uplink");
    // a slot of 0.5 ms, and the feedback 8 slots after the transmission
    assert_eq!(of("DRB.AirIfDelayDl"), Some(40.0));
    assert!((0.0..=5.0).contains(&of("DRB.RlcSduDelayDl").unwrap()), "no more than the special and uplink slots");
}

/// A transfer that the buffer never lacks: the throughput is that of the slots.
#[test]
fn throughput_of_a_full_buffer_is_what_is_transmitted() {
    let mut node = node();
    let since = snapshot(&node);
    node.advance(START + SECOND * 4);
    let of = |name: &str, ue: u64| {
        let (ue, label) = ([Ue(ue)], MeasurementLabel::NO_LABEL);
        node.value(&since, MeasuredObject::Ues(&ue), measurement(name), &label).number().unwrap()
    };
    let busiest = (0..32)
        .max_by(|a, b| of("DRB.RlcSduTransmittedVolumeDL", *a).total_cmp(&of("DRB.RlcSduTransmittedVolumeDL", *b)));
    let ue = busiest.unwrap();
    let (volume, throughput) = (of("DRB.RlcSduTransmittedVolumeDL", ue), of("DRB.UEThpDl", ue));
    let unrestricted = of("DRB.UEUnresVolDl", ue);
    assert!(throughput >= 0.9 * volume / 4.0 && unrestricted < 50.0, "{throughput} kbit/s, {volume} kbit in 4 s");
}

#[test]
fn transport_blocks_and_buffers_are_counted() {
    let mut node = node();
    let since = snapshot(&node);
    node.advance(START + SECOND * 10);
    let of = |name: &str| cell_value(&node, &since, name);
    let modulations = ["Qpsk", "16Qam", "64Qam", "256Qam"].map(|name| of(&format!("TB.TotNbrDlInitial.{name}")));
    assert_eq!(modulations.iter().sum::<f64>(), of("TB.TotNbrDlInitial"));
    for link in [
        ["TB.TotNbrDl.1", "TB.TotNbrDlInitial", "TB.ErrTotalNbrDl.1", "TB.IntialErrNbrDl", "TB.ResidualErrNbrDl"],
        ["TB.TotNbrUl.1", "TB.TotNbrUlInit", "TB.ErrTotalNbrUl.1", "TB.ErrNbrUlInitial", "TB.ResidualErrNbrUl"],
    ] {
        let [all, initial, errors, initial_errors, residual] = link.map(of);
        // retransmissions of blocks at the ends of the period
        let again = errors - residual;
        assert!((all - initial - again).abs() <= 32.0 * 4.0, "{all} of {initial} new ones, {again} failed");
        assert!(errors >= initial_errors && initial_errors > residual && errors > 0.0, "{link:?}");
        let block_error_rate = initial_errors / initial;
        assert!((0.02..0.3).contains(&block_error_rate), "{block_error_rate}, about the target of the outer loop");
    }
    let (dist, label) = (measurement("CARR.PDSCHMCSDist"), MeasurementLabel::NO_LABEL);
    let [ranks, tables, indices] = node.bins(dist) else { panic!("three dimensions") };
    assert_eq!((ranks.len(), tables.len(), indices.len()), (8, 3, 32));
    let of_rank = |rank: &Bin| -> f64 {
        let in_mcs = |mcs: &Bin| {
            let bins = [*rank, tables[1], *mcs];
            node.bin_count(&since, MeasuredObject::Cell, dist, &bins, &label).number().unwrap()
        };
        indices.iter().map(in_mcs).sum()
    };
    let by_rank: Vec<f64> = ranks.iter().map(of_rank).collect();
    assert_eq!(by_rank.iter().sum::<f64>(), of("CARR.PDSCHMCSDist"));
    assert!(by_rank[1] > by_rank[0] && by_rank[0] > 0.0 && by_rank[2..] == [0.0; 6], "{by_rank:?}");
    let whole: u32 = node.cell().ues().map(|(_, ue)| ue.bearers()[0].downlink().waiting_octets()).sum();
    assert_eq!(of("DRB.BufferSize.Qos"), f64::from(whole));
    assert!(of("DRB.PacketSuccessRateUlgNBUu") == 100.0, "acknowledged mode loses nothing");
}

/// UEs of two networks share a cell.
#[test]
fn measurements_are_divided_by_network() {
    use crate::scenario::Scenario;

    let mut scenario = Scenario::with_mixed_traffic(1, 8, 1);
    scenario.ues.iter_mut().step_by(2).for_each(|ue| ue.subscription.mnc = 2);
    let mut node = testing::nodes(&crate::RanConfig { scenario, ..Default::default() }).remove(0);
    node.advance(START);
    let since = snapshot(&node);
    node.advance(START + SECOND * 5);
    let label = |mnc| {
        let plmn_id = Some(e2sm::common::PlmnIdentity::from_codes(1, mnc, 2));
        MeasurementLabel { plmn_id, ..MeasurementLabel::default() }
    };
    for name in ["DRB.PdcpSduVolumeDL", "RRU.PrbUsedDl", "TB.TotNbrDl.1"] {
        let at = measurement(name);
        assert!(node.supports_label(at, &label(1)) && node.supports_label(at, &label(2)), "{name}");
        assert!(!node.supports_label(at, &label(3)), "{name}: no UE can select that network");
        let share = |mnc| node.value(&since, MeasuredObject::Cell, at, &label(mnc)).number().unwrap();
        let whole = cell_value(&node, &since, name);
        assert!(share(1) > 0.0 && share(2) > 0.0 && (share(1) + share(2) - whole).abs() <= 1.0, "{name}");
    }
    assert!(!node.supports_label(measurement("RRC.ConnMax"), &label(1)));
}

/// The third UE is inactive from 3 s on; the second is in the cell from 4 s to 9 s, and inactive from 7 s on.
#[test]
fn maximum_of_connections_is_that_of_the_period() {
    let mut node = three_ues(Default::default());
    node.advance(START);
    let at = |ms: u64| START + Duration::from_millis(ms);
    for (from, until, expected) in
        [(0, 500, 2.0), (2500, 3500, 2.0), (3500, 3900, 1.0), (3900, 4500, 2.0), (6500, 7500, 2.0), (7500, 9500, 1.0)]
    {
        node.advance(at(from));
        let since = snapshot(&node);
        node.advance(at(until));
        assert_eq!(cell_value(&node, &since, "RRC.ConnMax"), expected, "{from} to {until} ms");
    }
}

/// KPM, the MAC statistics and the slice scheduler mean the same by a share, also with special slots.
#[test]
fn prb_usage_of_a_slice_is_its_share() {
    type MacSource = dyn ran_functions::statistics::StatisticsSource<e2sm::mac::UeStats>;

    let scenario = "
        [[cell]]
        [[cell.slice]]
        id = 1
        capacity_percent = 70
        sst = 1
        [[cell.slice]]
        id = 2
        capacity_percent = 30
        sst = 2
        [[ue]]
        mcs = 20
        sst = 1
        flow = [{ kind = \"cbr\", rate_bps = 100000000 }, { kind = \"cbr\", rate_bps = 60000000, direction = \"up\" }]
        [[ue]]
        mcs = 20
        sst = 2
        flow = [{ kind = \"cbr\", rate_bps = 100000000 }, { kind = \"cbr\", rate_bps = 60000000, direction = \"up\" }]
    ";
    let folders = crate::scenario::ScenarioFolders::with_traces(std::path::Path::new("."));
    let scenario = crate::scenario::Scenario::from_toml(scenario, &folders).unwrap();
    let mut node = testing::nodes(&crate::RanConfig { scenario, ..crate::RanConfig::default() }).remove(0);
    node.advance(START);
    node.advance(START + SECOND);
    let since = snapshot(&node);
    let aggregates = |node: &Node| {
        let (mut ues, mut records) = (Vec::new(), Vec::new());
        MacSource::ues(node, &mut ues);
        ues.iter().for_each(|ue| MacSource::records(node, *ue, &mut records));
        [
            records.iter().map(|ue| ue.dl_aggr_prbs).collect::<Vec<_>>(),
            records.iter().map(|ue| ue.ul_aggr_prbs).collect(),
        ]
    };
    let before = aggregates(&node);
    node.advance(START + SECOND * 5);
    let now = aggregates(&node);
    for (direction, (total, used, available)) in
        [("RRU.PrbTotDl", "RRU.PrbUsedDl", "RRU.PrbAvailDl"), ("RRU.PrbTotUl", "RRU.PrbUsedUl", "RRU.PrbAvailUl")]
            .into_iter()
            .enumerate()
    {
        let of = |name: &str, ue: Ue| {
            let object = MeasuredObject::Ues(&[ue]);
            node.value(&since, object, measurement(name), &MeasurementLabel::NO_LABEL).number().unwrap()
        };
        let mut ues = Vec::new();
        MacSource::ues(&node, &mut ues);
        let share = of(used, ues[0]) / cell_value(&node, &since, available);
        assert!((share - 0.7).abs() < 0.006 && of(total, ues[0]) == 70.0, "{used}: {share}");
        let each: Vec<f64> =
            now[direction].iter().zip(&before[direction]).map(|(now, before)| f64::from(now - before)).collect();
        let share = each[0] / (each[0] + each[1]);
        assert!((share - 0.7).abs() < 0.003, "MAC statistics, direction {direction}: {share}");
    }
}

/// A cell without UEs, on for three seconds and off for five: half of a transition of 50 ms, then deep sleep.
#[test]
fn energy_is_that_of_the_power_states() {
    let mut node =
        testing::nodes(&crate::RanConfig { scenario: crate::Scenario::without_traffic(0), ..Default::default() })
            .remove(0);
    node.advance(START);
    node.advance(START + SECOND);
    let value = |node: &Node, since: &CounterSnapshot, name: &str| cell_value(node, since, name);
    let since = snapshot(&node);
    node.advance(START + SECOND * 4);
    let on_w = value(&node, &since, "PEE.AvgPower");
    let (least_w, largest_w) = (value(&node, &since, "PEE.MinPower"), value(&node, &since, "PEE.MaxPower"));
    // between micro sleep and the full load of 1200 W; the slots of 10 ms repeat
    assert!((250.0..350.0).contains(&on_w) && (on_w - least_w).abs() <= 1.2 && (on_w - largest_w).abs() <= 1.2);
    let energy_kwh = value(&node, &since, "PEE.Energy");
    assert!((energy_kwh - on_w * 3.0 / 3.6e6).abs() < 1e-12, "{energy_kwh} kWh");
    node.cell_mut().set_energy_saving(true);
    let since = snapshot(&node);
    node.advance(START + SECOND * 9);
    let unit_w = 1200.0 / 280.0;
    let expected_j = unit_w * (5.0 + 1000.0 / 2.0 / 1e3);
    let energy_j = value(&node, &since, "PEE.Energy") * 3.6e6;
    assert!((energy_j - expected_j).abs() < 1e-6, "{energy_j} and not {expected_j} J");
    assert_eq!(value(&node, &since, "PEE.MinPower"), 4.8, "of 4.3, in steps of 1.2 W");
    assert!((value(&node, &since, "PEE.MaxPower") - 21.0 * unit_w).abs() < 1.2, "of the transition");
}
