//! TCP over a bottleneck.

use super::link::Network;
use crate::Time;
use crate::traffic::{Direction, Kind, Tcp};

#[test]
fn cubic_fills_the_buffer() {
    // 12 Mbit/s, 10 ms of the core, 200 kB: a full buffer takes 133 ms
    let mut network = Network::bottleneck(Kind::Greedy(Tcp::default()), 12_000_000, 200_000);
    network.run_s(30.0);
    let flow = &network.flows[0];
    let counts = flow.counts();
    let state = flow.tcp(Direction::Down).unwrap();
    assert!(state.reductions >= 3 && state.timeouts == 0, "{state:?}");
    assert!(counts.rtt.quantile_ms(0.99).unwrap() > 130.0, "{:?}", counts.rtt.max_ms());
    assert!(counts.rtt.quantile_ms(0.5).unwrap() > 100.0, "{:?}", counts.rtt.quantile_ms(0.5));
    assert!(network.down.carried_octets as f64 * 8.0 / 30.0 > 0.98 * 12e6);
    assert_eq!(network.now, Time::from_millis(30_000));
}
