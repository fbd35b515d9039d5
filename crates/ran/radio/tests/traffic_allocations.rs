//! Flows do not allocate in steady state.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use radio::traffic::{CongestionControl, Direction, Flow, FlowSpecification, Kind, OnOffVideo, Tcp};
use radio::{FiveTuple, FlowId, Packet, Random, Time};
use testkit::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A link of 12 Mbit/s with slots of 1 ms and a buffer.
struct Link {
    flow: Flow,
    fresh: Vec<Packet>,
    queue: VecDeque<Packet>,
}

impl Link {
    fn run(&mut self, seconds: std::ops::Range<u64>) {
        for ms in seconds.start * 1000..seconds.end * 1000 {
            let now = Time::from_millis(ms);
            self.flow.downlink(now, &mut self.fresh);
            for packet in self.fresh.drain(..) {
                if self.queue.len() < 100 {
                    self.queue.push_back(packet);
                }
            }
            self.flow.uplink(now, &mut self.fresh);
            self.fresh.drain(..).for_each(|packet| self.flow.deliver_to_core(now, &packet));
            if let Some(packet) = self.queue.pop_front() {
                self.flow.deliver_to_ue(now, &packet);
            }
        }
    }
}

#[test]
fn steady_state_does_not_allocate() {
    let bbr = Tcp { control: CongestionControl::Bbr, ..Tcp::default() };
    let constant = Kind::ConstantBitRate { rate_bps: 5_000_000, packet_octets: 1_000 };
    let video = OnOffVideo { bitrate_bps: 2_000_000, burst_bps: 10_000_000, off_s: 0.0, ..OnOffVideo::default() };
    let echo = Kind::Voip { echoed: true };
    let kinds = [constant, Kind::OnOffVideo(video), echo, Kind::Greedy(Tcp::default()), Kind::Greedy(bbr)];
    for kind in kinds {
        let specification = FlowSpecification { rtt_samples: 1000, ..FlowSpecification::new(kind) };
        let tuple = FiveTuple {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(12, 1, 1, 2),
            source_port: 5201,
            destination_port: 40_000,
            protocol: FiveTuple::TCP,
        };
        let flow = Flow::new(FlowId(0), specification.clone(), tuple, Random::new(1, 0));
        let mut link = Link { flow, fresh: Vec::new(), queue: VecDeque::new() };
        // by then CUBIC has overflowed the buffer, and BBR has probed the round-trip time
        link.run(0..60);
        let before = CountingAllocator::count();
        assert!(before > 0, "the allocator counts allocations");
        link.run(60..120);
        assert_eq!(CountingAllocator::count(), before, "{:?}", specification.kind);
        let counts = link.flow.counts();
        assert!(counts.downlink.received_packets > 5_000, "{:?}", specification.kind);
        let is_cubic = matches!(&specification.kind, Kind::Greedy(tcp) if tcp.control != CongestionControl::Bbr);
        let reductions = link.flow.tcp(Direction::Down).map_or(0, |state| state.reductions);
        assert!(!is_cubic || (reductions > 3 && counts.downlink.lost_packets > 3), "{reductions}");
    }
}
