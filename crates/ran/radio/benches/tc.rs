//! The processor time per packet in traffic control: `cargo bench -p ferric-radio --bench tc`.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::Instant;

use radio::tc::{
    ClassifierChoice, Configuration, DelayTarget, DisciplineChoice, FlowPattern, OsiFilter, PacerChoice,
    QueueConfiguration, QueueId, RlcState, SchedulerChoice, TrafficControl,
};
use radio::{Content, Ecn, FiveTuple, FlowId, Packet, Time};

const SLOTS: u64 = 200_000;
const PACKETS_PER_SLOT: u64 = 5;

fn packet(number: u64) -> Packet {
    Packet {
        flow: FlowId(0),
        tuple: FiveTuple {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(12, 1, 1, 2),
            source_port: 5000,
            destination_port: number as u16 % 4,
            protocol: FiveTuple::UDP,
        },
        octets: 1500,
        ecn: Ecn::NotEct,
        dscp: 0,
        number,
        sent: Time::START,
        entered: Time::START,
        content: Content::Filler,
    }
}

/// Nanoseconds per packet from its creation to its departure; the best of five runs.
fn measure(configuration: &Configuration) -> f64 {
    let run = || {
        let mut tc = TrafficControl::new(configuration).expect("the configuration is valid");
        let began = Instant::now();
        for slot in 0..SLOTS {
            let now = Time::from_nanos(slot * 500_000);
            for number in 0..PACKETS_PER_SLOT {
                tc.push(now, packet(slot * PACKETS_PER_SLOT + number));
            }
            let mut rlc_octets = 0;
            while let Some(packet) = tc.pop(now, RlcState { rlc_octets, rlc_room_octets: 1_000_000 }) {
                rlc_octets += black_box(packet).octets;
            }
            tc.transmitted(now, rlc_octets, true);
        }
        began.elapsed().as_nanos() as f64 / (SLOTS * PACKETS_PER_SLOT) as f64
    };
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let fifos = |number| -> Vec<QueueConfiguration> {
        (0..number).map(|id| QueueConfiguration::new(QueueId(id), DisciplineChoice::Fifo)).collect()
    };
    let filters = (0..3)
        .map(|id| {
            let flow = FlowPattern { destination_port: Some(id as u16), ..FlowPattern::default() };
            OsiFilter { id, flow, queue: QueueId(id) }
        })
        .collect();
    let separated = Configuration {
        classifier: ClassifierChoice::Osi(filters),
        queues: fifos(4),
        pacer: PacerChoice::Bdp5g,
        ..Configuration::default()
    };
    let mut managed = separated.clone();
    managed.classifier = ClassifierChoice::Stochastic;
    managed.scheduler = SchedulerChoice::DeficitRoundRobin(vec![1514; 4]);
    managed.queues.iter_mut().for_each(|queue| queue.discipline = DisciplineChoice::CoDel(DelayTarget::default()));
    for (name, configuration) in [
        ("one FIFO, no pacer", &Configuration::default()),
        ("four FIFOs, three filters, 5G-BDP", &separated),
        ("four CoDels, stochastic, deficit round robin, 5G-BDP", &managed),
    ] {
        println!("{name:<55} {:5.1} ns per packet", measure(configuration));
    }
}
