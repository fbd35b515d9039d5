//! The processor time per packet at the ends of a flow: `cargo bench -p ferric-radio --bench traffic`.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Instant;

use radio::traffic::{CongestionControl, Flow, FlowSpecification, Kind, Tcp};
use radio::{FiveTuple, FlowId, Packet, Random, Time};

const SECONDS: u64 = 60;
const SLOT_NS: u64 = 500_000;
/// 60 Mbit/s.
const SLOT_OCTETS: u32 = 3_750;
/// 200 ms of that.
const BUFFER_OCTETS: u32 = 1_500_000;

/// Nanoseconds per packet in either direction, over a slotted link with a buffer; the best of five runs.
fn measure(specification: &FlowSpecification) -> f64 {
    (0..5).map(|_| run(specification)).fold(f64::INFINITY, f64::min)
}

fn run(specification: &FlowSpecification) -> f64 {
    let tuple = FiveTuple {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(12, 1, 1, 2),
        source_port: 5201,
        destination_port: 40_000,
        protocol: FiveTuple::TCP,
    };
    let mut flow = Flow::new(FlowId(0), specification.clone(), tuple, Random::new(1, 0));
    let (mut fresh, mut queue, mut queued) = (Vec::new(), VecDeque::<Packet>::new(), 0);
    let began = Instant::now();
    for slot in 0..SECONDS * 1_000_000_000 / SLOT_NS {
        let now = Time::from_nanos(slot * SLOT_NS);
        if flow.next_event() <= now {
            flow.downlink(now, &mut fresh);
            for packet in fresh.drain(..) {
                if queued + packet.octets <= BUFFER_OCTETS {
                    queued += packet.octets;
                    queue.push_back(packet);
                }
            }
            flow.uplink(now, &mut fresh);
            fresh.drain(..).for_each(|packet| flow.deliver_to_core(now, &packet));
        }
        let mut room = SLOT_OCTETS;
        while queue.front().is_some_and(|packet| packet.octets <= room) {
            let packet = queue.pop_front().expect("the queue is not empty");
            room -= packet.octets;
            queued -= packet.octets;
            flow.deliver_to_ue(now, &packet);
        }
    }
    let counts = flow.counts();
    began.elapsed().as_nanos() as f64 / (counts.downlink.sent_packets + counts.uplink.sent_packets) as f64
}

fn main() {
    let bbr = Tcp { control: CongestionControl::Bbr, ..Tcp::default() };
    for (name, kind) in [
        ("constant bit rate, 30 Mbit/s", Kind::ConstantBitRate { rate_bps: 30_000_000, packet_octets: 1_428 }),
        ("Poisson, 30 Mbit/s", Kind::Poisson { rate_bps: 30_000_000, packet_octets: 1_428 }),
        ("echoes, one per millisecond", Kind::Echo { interval_ms: 1.0, packet_octets: 200 }),
        ("greedy CUBIC, 60 Mbit/s", Kind::Greedy(Tcp::default())),
        ("greedy BBR, 60 Mbit/s", Kind::Greedy(bbr)),
    ] {
        println!("{name:<32} {:5.1} ns per packet", measure(&FlowSpecification::new(kind)));
    }
}
