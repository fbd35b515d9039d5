//! Traffic control does not allocate in steady state.

use std::net::Ipv4Addr;

use radio::tc::{
    ClassifierChoice, Configuration, DelayTarget, DisciplineChoice, PacerChoice, QueueConfiguration, QueueId, RlcState,
    SchedulerChoice, TrafficControl,
};
use radio::{Content, Ecn, FiveTuple, FlowId, Packet, Time};
use testkit::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn packet(number: u64) -> Packet {
    Packet {
        flow: FlowId(0),
        tuple: FiveTuple {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(12, 1, 1, 2),
            source_port: number as u16 % 7,
            destination_port: 80,
            protocol: FiveTuple::UDP,
        },
        octets: 1500,
        ecn: Ecn::Ect,
        dscp: 0,
        number,
        sent: Time::START,
        entered: Time::START,
        content: Content::Filler,
    }
}

/// Runs for a second: four packets arrive per millisecond, and the MAC could transmit five.
fn run(tc: &mut TrafficControl, second: u64) {
    for ms in second * 1000..(second + 1) * 1000 {
        let now = Time::from_millis(ms);
        (0..4).for_each(|number| tc.push(now, packet(4 * ms + number)));
        let mut rlc_octets = 0;
        while let Some(packet) = tc.pop(now, RlcState { rlc_octets, rlc_room_octets: 1_000_000 }) {
            rlc_octets += packet.octets;
        }
        tc.transmitted(now, rlc_octets.min(7500), rlc_octets <= 7500);
    }
}

#[test]
fn steady_state_does_not_allocate() {
    let codel = DisciplineChoice::EcnCoDel(DelayTarget::default());
    let everything = Configuration {
        classifier: ClassifierChoice::Stochastic,
        queues: (0..4).map(|id| QueueConfiguration::new(QueueId(id), codel.clone())).collect(),
        scheduler: SchedulerChoice::DeficitRoundRobin(vec![1514; 4]),
        pacer: PacerChoice::Bdp5g,
    };
    for configuration in [Configuration::default(), everything] {
        let mut tc = TrafficControl::new(&configuration).unwrap();
        run(&mut tc, 0);
        let before = CountingAllocator::count();
        assert!(before > 0, "the allocator counts allocations");
        run(&mut tc, 1);
        assert_eq!(CountingAllocator::count(), before, "{configuration:?}");
        assert!(tc.totals().departed.packets > 7000);
    }
}
