//! Users over fast and slow links.

use super::link::{Link, Network};
use crate::traffic::{Direction, FlowSpecification, Kind, UserMix, VideoPlayer, Web};
use crate::{Random, Time};

/// Runs a flow over a downlink with a rate and a buffer of half a second.
fn over(kind: Kind, rate_bps: u64, seconds: f64) -> Network {
    let mut network = Network::bottleneck(kind, rate_bps, rate_bps / 16);
    network.run_s(seconds);
    network
}

fn downlink_bps(network: &Network) -> f64 {
    network.flows[0].counts().downlink.received_octets as f64 * 8.0 / network.now.as_secs_f64()
}

#[test]
fn web_user_waits_for_each_page() {
    let fast = over(Kind::Web(Web::default()), 100_000_000, 2000.0);
    let counts = fast.flows[0].counts();
    // a page of 2.06 MB per 6 s and its loading time: 2.7 Mbit/s with headers, within a standard deviation of 6 percent
    assert!((2.3e6..3.1e6).contains(&downlink_bps(&fast)), "{}", downlink_bps(&fast));
    assert!((230..340).contains(&counts.completed.count()), "{}", counts.completed.count());
    let page_ms = counts.completed.quantile_ms(0.5).unwrap();
    assert!((150.0..700.0).contains(&page_ms), "{page_ms}");
    // two percent for requests, and the acknowledgements
    let uplink = counts.uplink.received_octets as f64 / counts.downlink.received_octets as f64;
    assert!((0.03..0.06).contains(&uplink), "{uplink}");

    // 16.5 Mbit per page at 2 Mbit/s take 8 s, and the link is idle while the user reads
    let slow = over(Kind::Web(Web::default()), 2_000_000, 2000.0);
    let page_s = slow.flows[0].counts().completed.mean_ms().unwrap() / 1e3;
    assert!((6.5..11.0).contains(&page_s), "{page_s}");
    assert!((0.9e6..1.4e6).contains(&downlink_bps(&slow)), "{}", downlink_bps(&slow));
}

#[test]
fn player_reaches_bitrate_and_requests_at_most_three_segments_ahead() {
    let player = VideoPlayer { on_s: 1e6, off_s: 1.0, ..VideoPlayer::default() };
    let fast = over(Kind::VideoPlayer(player.clone()), 50_000_000, 400.0);
    let rate = downlink_bps(&fast);
    assert!((5.7e6..6.7e6).contains(&rate), "{rate}");
    assert!((194..=200).contains(&fast.flows[0].counts().completed.count()));
    assert!(fast.flows[0].counts().completed.quantile_ms(0.5).unwrap() < 700.0);

    // a link of half the rate is full, and a segment waits for at most three others
    let slow = over(Kind::VideoPlayer(player), 3_000_000, 400.0);
    assert!(downlink_bps(&slow) > 2.85e6, "{}", downlink_bps(&slow));
    let segment = &slow.flows[0].counts().completed;
    assert!((9_000.0..14_000.0).contains(&segment.quantile_ms(0.5).unwrap()), "{:?}", segment.quantile_ms(0.5));
    assert!(segment.max_ms().unwrap() < 18_000.0, "{:?}", segment.max_ms());
}

#[test]
fn server_can_be_the_client() {
    let player = VideoPlayer { on_s: 1e6, off_s: 1.0, ..VideoPlayer::default() };
    let specification =
        FlowSpecification { direction: Direction::Up, ..FlowSpecification::new(Kind::VideoPlayer(player)) };
    let mut network = Network::ideal(specification);
    network.run_s(100.0);
    let counts = network.flows[0].counts();
    assert!(counts.uplink.received_octets > 60_000_000 && counts.downlink.received_octets < 2_000_000);
    assert!(counts.completed.count() > 45);
}

#[test]
fn keep_alives_are_rare_and_answered() {
    let mut network = Network::ideal(FlowSpecification::new(Kind::keep_alive(10.0)));
    network.run_s(10_000.0);
    let counts = network.flows[0].counts();
    assert!((900..1100).contains(&counts.uplink.sent_packets), "{}", counts.uplink.sent_packets);
    assert_eq!(counts.uplink.sent_octets, counts.uplink.sent_packets * 800);
    assert_eq!(counts.downlink.sent_octets, counts.uplink.received_packets * 1500);
    assert_eq!(counts.rtt.quantile_ms(0.5), Some(10.0));
}

#[test]
fn stopped_user_sends_no_requests() {
    let mut network = over(Kind::Web(Web::default()), 100_000_000, 60.0);
    network.flows[0].stop(network.now);
    network.run_s(61.0);
    assert_eq!(network.flows[0].next_event(), Time::NEVER);
}

#[test]
fn mix_draws_users_by_share_with_expected_rates() {
    let mix = UserMix::default();
    mix.check().unwrap();
    let mut random = Random::new(5, 0);
    let (mut users, mut rates) = ([0; 4], [0.0; 4]);
    let start = Time::from_millis(1_000);
    for _ in 0..200 {
        let specification = mix.draw(start, &mut random);
        specification.check().unwrap();
        assert!(specification.start >= start);
        let kind = match specification.kind {
            Kind::KeepAlive { .. } => 0,
            Kind::Web(_) => 1,
            Kind::VideoPlayer(_) => 2,
            Kind::ConstantBitRate { .. } => 3,
            ref other => panic!("{other:?}"),
        };
        users[kind] += 1;
        let mut network = Network::new([specification], Link::new(50_000_000, 3_000_000), Link::new(0, u64::MAX));
        network.run_s(61.0);
        rates[kind] += network.flows[0].counts().downlink.received_octets as f64 * 8.0 / 60.0;
    }
    let mean = |kind: usize| rates[kind] / f64::from(users[kind]) / 1e6;
    assert!(users[0] > 15 && users[1] > 60 && users[2] > 40 && users[3] > 15, "{users:?}");
    assert!(mean(0) < 0.01, "{}", mean(0));
    assert!((1.8..3.5).contains(&mean(1)), "{}", mean(1));
    assert!((3.5..6.5).contains(&mean(2)), "{}", mean(2));
    assert!((0.8..1.5).contains(&mean(3)), "{}", mean(3));
}

#[test]
fn invalid_mix_is_refused() {
    let refused = |mix: UserMix| mix.check().unwrap_err().to_string();
    assert_eq!(refused(UserMix { idle: 0.5, ..UserMix::default() }), "idle, web, video and steady must be 1 in sum");
    assert_eq!(refused(UserMix { web: -0.1, ..UserMix::default() }), "web must be from 0 to 1");
    assert_eq!(refused(UserMix { activity: 0.0, ..UserMix::default() }), "activity must be from 0.01 to 100");
    let delay = UserMix { one_way_delay_ms: -1.0, ..UserMix::default() };
    assert_eq!(refused(delay), "one_way_delay_ms must be from 0 to 1000");
    let refused = |kind: Kind| FlowSpecification::new(kind).check().unwrap_err().to_string();
    let player = VideoPlayer { ahead: 0, ..VideoPlayer::default() };
    assert_eq!(refused(Kind::VideoPlayer(player)), "ahead must be from 1 to 64");
    let web = Web { reading_s: f64::NAN, ..Web::default() };
    assert_eq!(refused(Kind::Web(web)), "reading_s must be from 0.001 to 1000000");
}
