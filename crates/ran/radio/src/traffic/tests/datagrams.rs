//! UDP flows.

use super::link::{Link, Network, tuple};
use crate::traffic::{Direction, Flow, FlowSpecification, Kind, OnOffVideo};
use crate::{Content, FlowId, Random, Time};

fn run(kind: Kind, direction: Direction, seconds: f64) -> Flow {
    let mut network = Network::ideal(FlowSpecification { direction, ..FlowSpecification::new(kind) });
    network.run_s(seconds);
    network.flows.remove(0)
}

#[test]
fn constant_bit_rate_is_exact() {
    // 10 Mbit/s at 1428 octets is a packet every 1.1424 ms: 8754 within ten seconds, of which 4 are in flight
    let flow = run(Kind::ConstantBitRate { rate_bps: 10_000_000, packet_octets: 1428 }, Direction::Down, 10.0);
    let counts = flow.counts();
    assert_eq!(counts.downlink.sent_packets, 8754);
    assert_eq!(counts.downlink.sent_octets, 8754 * 1428);
    assert_eq!(counts.downlink.received_packets, 8750);
    assert_eq!(counts.downlink.in_flight_packets(), 4);
    assert_eq!((counts.downlink.delay.min_ms(), counts.downlink.delay.max_ms()), (Some(5.0), Some(5.0)));
    assert_eq!(counts.uplink.sent_packets, 0);

    // an interval of 666666.67 ns: the fraction is not lost
    let flow = run(Kind::ConstantBitRate { rate_bps: 12_000_000, packet_octets: 1000 }, Direction::Both, 100.0);
    assert_eq!(flow.counts().downlink.sent_packets, 150_001);
    assert_eq!(flow.counts().uplink.sent_packets, 150_001);
}

#[test]
fn poisson_arrivals_have_correct_mean_and_variance() {
    let specification = FlowSpecification::new(Kind::Poisson { rate_bps: 8_000_000, packet_octets: 1000 });
    let mut flow = Flow::new(FlowId(1), specification, tuple(), Random::new(3, 0));
    let mut packets = Vec::new();
    flow.downlink(Time::from_secs_f64(100.0), &mut packets);
    let mut in_windows = [0.0_f64; 1000];
    packets.iter().for_each(|packet| in_windows[(packet.sent.as_nanos() / 100_000_001) as usize] += 1.0);
    let mean = in_windows.iter().sum::<f64>() / 1000.0;
    let variance = in_windows.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1000.0;
    assert!((mean - 100.0).abs() < 1.5, "{mean}");
    assert!((variance - 100.0).abs() < 15.0, "{variance}");
}

#[test]
fn voip_sends_packet_every_20_ms_in_each_direction() {
    let flow = run(Kind::Voip { echoed: false }, Direction::Both, 9.999);
    let counts = flow.counts();
    assert_eq!((counts.downlink.sent_packets, counts.uplink.sent_packets), (500, 500));
    assert_eq!(counts.downlink.sent_octets, 500 * 200);
    assert_eq!(counts.rtt.count(), 0);
}

#[test]
fn echoes_measure_round_trips() {
    for direction in [Direction::Down, Direction::Up] {
        let flow = run(Kind::Voip { echoed: true }, direction, 10.005);
        let counts = flow.counts();
        // the last echo is in flight
        assert_eq!(counts.rtt.count(), 500);
        assert_eq!((counts.rtt.min_ms(), counts.rtt.max_ms()), (Some(10.0), Some(10.0)));
        assert_eq!(counts.downlink.sent_octets, counts.downlink.sent_packets * 200);
    }
    let flow = run(Kind::Echo { interval_ms: 2.5, packet_octets: 84 }, Direction::Up, 1.009);
    assert_eq!(flow.counts().uplink.sent_packets, 404);
    assert_eq!(flow.counts().rtt.count(), 400);
}

#[test]
fn echo_counts_losses_and_delays_of_link() {
    let kind = Kind::Echo { interval_ms: 20.0, packet_octets: 200 };
    let specification = FlowSpecification { rtt_samples: 100, ..FlowSpecification::new(kind) };
    let mut down = Link::new(1_600_000, 10_000); // 1 ms per packet
    down.loses = Box::new(|packet| packet.number % 10 == 3);
    let mut up = Link::new(0, u64::MAX);
    up.loses = Box::new(|packet| packet.number % 9 == 8);
    let mut network = Network::new([specification], down, up);
    network.run_s(20.015);
    let counts = network.flows[0].counts();
    assert_eq!(counts.downlink.sent_packets, 1001);
    assert_eq!((counts.downlink.lost_packets, counts.downlink.received_packets), (100, 901));
    assert_eq!((counts.uplink.sent_packets, counts.uplink.lost_packets), (901, 100));
    assert_eq!(counts.rtt.count(), 801);
    assert_eq!(counts.rtt.quantile_ms(0.5).map(|ms| ms.round()), Some(11.0));
    assert_eq!(counts.rtt.min_ms(), Some(11.0));
    let samples = counts.rtt_samples.as_slice();
    assert!((50..=100).contains(&samples.len()));
    assert!(samples.iter().all(|(_, ns)| *ns == 11_000_000));
    assert!(samples.last().unwrap().0 > Time::from_secs_f64(19.0));
}

#[test]
fn on_off_video_sends_bursts_with_pauses() {
    let video = OnOffVideo { off_s: 0.0, ..OnOffVideo::default() };
    let flow = run(Kind::OnOffVideo(video.clone()), Direction::Down, 19.9);
    // ten segments of 6 Mbit/s times 2 s
    assert_eq!(flow.counts().downlink.sent_octets, 10 * 1_500_000);

    let mut playing = Flow::new(FlowId(0), FlowSpecification::new(Kind::OnOffVideo(video)), tuple(), Random::new(1, 1));
    let mut packets = Vec::new();
    playing.downlink(Time::from_secs_f64(1.9), &mut packets);
    // 12 Mbit at 30 Mbit/s
    let last = packets.last().unwrap().sent.as_secs_f64();
    assert!((last - 0.4).abs() < 0.001, "{last}");
    assert_eq!(packets.iter().map(|packet| packet.octets).sum::<u32>(), 1_500_000);
    assert!(packets.iter().all(|packet| packet.content == Content::Filler && packet.octets <= 1428));

    let octets: u64 = (0..40)
        .map(|seed| {
            let video = OnOffVideo { packet_octets: 9_000, ..OnOffVideo::default() };
            let video = FlowSpecification::new(Kind::OnOffVideo(video));
            let mut flow = Flow::new(FlowId(0), video, tuple(), Random::new(seed, 0));
            flow.downlink(Time::from_secs_f64(400.0), &mut Vec::new());
            flow.counts().downlink.sent_octets
        })
        .sum();
    // sessions take three quarters of the time
    let mean_bps = octets as f64 * 8.0 / 400.0 / 40.0;
    assert!((mean_bps / 4.5e6 - 1.0).abs() < 0.07, "{mean_bps}");
}

#[test]
fn flow_sends_between_start_and_stop() {
    let kind = Kind::ConstantBitRate { rate_bps: 8_000_000, packet_octets: 1000 };
    let start = Time::from_millis(500);
    let stop = Time::from_millis(600);
    let mut network = Network::ideal(FlowSpecification { start, stop, ..FlowSpecification::new(kind.clone()) });
    assert_eq!(network.flows[0].next_event(), start);
    network.run_s(5.0);
    assert_eq!(network.flows[0].counts().downlink.received_packets, 100);
    assert_eq!(network.flows[0].next_event(), Time::NEVER);

    let mut network = Network::ideal(FlowSpecification::new(kind));
    network.run_s(0.0995);
    network.flows[0].stop(network.now);
    network.run_s(5.0);
    assert_eq!(network.flows[0].counts().downlink.received_packets, 100);
}

#[test]
fn invalid_specification_is_refused() {
    let refused = |change: &dyn Fn(&mut FlowSpecification)| {
        let mut specification = FlowSpecification::new(Kind::Voip { echoed: true });
        specification.check().unwrap();
        change(&mut specification);
        specification.check().unwrap_err().to_string()
    };
    assert_eq!(refused(&|s| s.dscp = 64), "dscp must be from 0 to 63");
    assert_eq!(refused(&|s| s.one_way_delay_ms = f64::NAN), "one_way_delay_ms must be from 0 to 1000");
    assert_eq!(refused(&|s| s.stop = s.start), "stop must be later than the start");
    assert!(refused(&|s| s.direction = Direction::Both).starts_with("direction must be down or up"));
    let kind = Kind::ConstantBitRate { rate_bps: 0, packet_octets: 100 };
    assert_eq!(refused(&|s| s.kind = kind.clone()), "rate_bps must be from 1 to 10000000000");
    let kind = Kind::ConstantBitRate { rate_bps: 10_000_000_000, packet_octets: 100 };
    assert!(refused(&|s| s.kind = kind.clone()).starts_with("rate_bps must be so low that"));
    let kind = Kind::Poisson { rate_bps: 1, packet_octets: 28 };
    assert_eq!(refused(&|s| s.kind = kind.clone()), "packet_octets must be from 29 to 9000");
    let kind = Kind::Echo { interval_ms: 0.0, packet_octets: 100 };
    assert_eq!(refused(&|s| s.kind = kind.clone()), "interval_ms must be from 0.01 to 3600000");
    let kind = Kind::OnOffVideo(OnOffVideo { burst_bps: 5_000_000, ..OnOffVideo::default() });
    assert_eq!(refused(&|s| s.kind = kind.clone()), "burst_bps must be no less than bitrate_bps");
}
