//! Tests of the outbox against a simple model.

use super::*;

/// A small random number generator (xorshift64*), so that a failing run can be repeated from its seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % bound
    }
}

struct ModelPdu {
    class: Class,
    stream: StreamId,
    /// Octets still to be written, framing included.
    rest: Vec<u8>,
    begun: bool,
}

struct Model {
    waiting: Vec<ModelPdu>,
    framed: bool,
    limit: usize,
    dropped: u64,
}

impl Model {
    fn queued(&self) -> usize {
        self.waiting.iter().map(|pdu| pdu.rest.len() + PDU_OVERHEAD_OCTETS).sum()
    }

    fn push(&mut self, stream: StreamId, pdu: &[u8], class: Class) -> Option<Sent> {
        let mut rest = Vec::new();
        if self.framed {
            rest.extend(u32::try_from(pdu.len()).unwrap().to_be_bytes());
        }
        rest.extend(pdu);
        let cost = rest.len() + PDU_OVERHEAD_OCTETS;
        let droppable = |pdu: &ModelPdu| pdu.class == Class::Report && !pdu.begun;
        let fixed: usize =
            self.waiting.iter().filter(|pdu| !droppable(pdu)).map(|pdu| pdu.rest.len() + PDU_OVERHEAD_OCTETS).sum();
        if fixed + cost > self.limit {
            if class == Class::Keep {
                return None;
            }
            self.dropped += 1;
            return Some(Sent { queued: false, dropped_reports: 1 });
        }
        let mut dropped_reports = 0;
        while self.queued() + cost > self.limit {
            let oldest = self.waiting.iter().position(droppable).unwrap();
            self.waiting.remove(oldest);
            dropped_reports += 1;
        }
        self.dropped += u64::from(dropped_reports);
        self.waiting.push(ModelPdu { class, stream, rest, begun: false });
        Some(Sent { queued: true, dropped_reports })
    }

    fn wrote(&mut self, mut octets: usize) {
        while octets > 0 {
            let pdu = &mut self.waiting[0];
            let taken = octets.min(pdu.rest.len());
            pdu.rest.drain(..taken);
            pdu.begun = true;
            octets -= taken;
            if pdu.rest.is_empty() {
                self.waiting.remove(0);
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.waiting.iter().flat_map(|pdu| pdu.rest.iter().copied()).collect()
    }
}

fn run(seed: u64, framed: bool) {
    let mut numbers = Numbers(seed * 2 + 1);
    let limit = 100 + numbers.below(3000);
    let mut outbox = Outbox::new(framed, limit);
    let mut model = Model { waiting: Vec::new(), framed, limit, dropped: 0 };
    let report_percent = numbers.below(101);
    let write_percent = numbers.below(60);
    let mut content = 0_u8;
    for _ in 0..300 {
        if numbers.below(100) < write_percent {
            if framed {
                let mut slices = [IoSlice::new(&[]); 7];
                let count = 1 + numbers.below(7);
                let (filled, octets) = outbox.gather(&mut slices[..count]);
                let gathered: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect();
                assert_eq!(gathered.len(), octets);
                assert!(model.bytes().starts_with(&gathered), "seed {seed}");
                assert_eq!(gathered.is_empty(), model.waiting.is_empty(), "seed {seed}");
                let written = match numbers.below(3) {
                    0 => octets,
                    _ => numbers.below(octets + 1),
                };
                outbox.wrote(written);
                model.wrote(written);
            } else {
                let expected = model.waiting.iter().map(|pdu| (pdu.stream, pdu.rest.clone()));
                let given = outbox.messages().map(|(stream, pieces)| (stream, pieces.concat()));
                assert!(given.eq(expected), "seed {seed}");
                let count = numbers.below(model.waiting.len() + 1);
                outbox.wrote_messages(count);
                model.waiting.drain(..count);
            }
        } else {
            let longest = if numbers.below(10) == 0 { limit } else { 80 };
            let octets = 1 + numbers.below(longest);
            content = content.wrapping_add(1);
            let pdu: Vec<u8> = (0..octets).map(|i| content.wrapping_add(i.to_le_bytes()[0])).collect();
            let (head, tail) = pdu.split_at(numbers.below(octets + 1));
            let class = if numbers.below(100) < report_percent { Class::Report } else { Class::Keep };
            let stream = StreamId(u16::try_from(numbers.below(4)).unwrap());
            let sent = outbox.push(stream, &[head, &[], tail], class);
            let expected = model.push(stream, &pdu, class);
            match sent {
                Ok(sent) => assert_eq!(Some(sent), expected, "seed {seed}"),
                Err(Error::OutboxFull { limit_octets }) => {
                    assert_eq!(limit_octets, limit);
                    assert!(expected.is_none(), "seed {seed}");
                }
                Err(other) => panic!("seed {seed}: {other}"),
            }
        }
        assert_eq!(outbox.queued_octets(), model.queued(), "seed {seed}");
        assert!(outbox.queued_octets() <= limit, "seed {seed}");
        assert_eq!(outbox.dropped_reports(), model.dropped, "seed {seed}");
        assert_eq!(outbox.is_empty(), model.waiting.is_empty(), "seed {seed}");
        let memory: usize = [&outbox.keep, &outbox.report].iter().map(|lane| lane.bytes.capacity()).sum();
        assert!(memory <= 2 * limit, "seed {seed}: {memory} octets held for a bound of {limit}");
    }
}

#[test]
fn framed_outbox_matches_model() {
    (0..1500).for_each(|seed| run(seed, true));
}

#[test]
fn message_outbox_matches_model() {
    (0..1500).for_each(|seed| run(seed, false));
}

#[test]
fn burst_of_one_class_is_one_slice() {
    let mut outbox = Outbox::new(true, 1 << 20);
    for round in 0..10 {
        for _ in 0..50 {
            outbox.push(StreamId(0), &[&[1; 300], &[2; 200]], Class::Report).unwrap();
        }
        let mut slices = [IoSlice::new(&[]); 8];
        let (filled, octets) = outbox.gather(&mut slices);
        assert_eq!((filled, octets), (1, 50 * 504), "round {round}");
        outbox.wrote(octets);
    }
}

#[test]
fn memory_is_kept_after_small_bursts_and_freed_after_large_ones() {
    let mut outbox = Outbox::new(true, 8 << 20);
    let burst = |outbox: &mut Outbox, pdus: usize| {
        for _ in 0..pdus {
            outbox.push(StreamId(0), &[&[0; 1000]], Class::Report).unwrap();
        }
        let held = outbox.report.bytes.capacity();
        let (_, octets) = outbox.gather(&mut [IoSlice::new(&[]); 4]);
        outbox.wrote(octets);
        held
    };
    let small = burst(&mut outbox, 100);
    assert_eq!(outbox.report.bytes.capacity(), small, "the next small burst allocates nothing");
    assert!(burst(&mut outbox, 5000) >= 5_000_000);
    assert_eq!(outbox.report.bytes.capacity(), 0);
    assert_eq!(outbox.report.entries.capacity(), 0);
    outbox.push(StreamId(0), &[&[0; 100]], Class::Keep).unwrap();
    assert!(outbox.keep.bytes.capacity() <= 512, "a link that sends little holds little");
}

#[test]
fn partly_written_report_is_finished_and_next_oldest_is_dropped() {
    let mut outbox = Outbox::new(true, 3 * (104 + PDU_OVERHEAD_OCTETS));
    for content in 1..=3 {
        outbox.push(StreamId(0), &[&[content; 100]], Class::Report).unwrap();
    }
    outbox.wrote(50);
    // 50 octets are free, too few for one more: the second report is dropped, since the first is partly written.
    assert_eq!(
        outbox.push(StreamId(0), &[&[4; 100]], Class::Report).unwrap(),
        Sent { queued: true, dropped_reports: 1 }
    );
    let mut slices = [IoSlice::new(&[]); 8];
    let (filled, _) = outbox.gather(&mut slices);
    let bytes = slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<u8>>();
    let mut expected = vec![1; 54];
    for content in [3, 4] {
        expected.extend([0, 0, 0, 100]);
        expected.extend([content; 100]);
    }
    assert_eq!(bytes, expected);
}

#[test]
fn reports_beyond_the_share_of_the_memory_are_dropped_and_the_rest_goes_on() {
    let budget = crate::MemoryBudget::new(64 * 1024);
    let mut slow = Outbox::new(true, 1 << 20).within(Some(&budget));
    let mut dropped = 0;
    for _ in 0..200 {
        dropped += slow.push(StreamId(0), &[&[1; 1000]], Class::Report).unwrap().dropped_reports;
    }
    assert!(dropped > 100, "{dropped}");
    assert!((16 * 1024..=32 * 1024).contains(&budget.used_octets()), "{budget:?}");
    assert_eq!(slow.report.entries.len() as u32 + dropped, 200);
    // another link has room, and what must not be dropped takes the place of reports
    let mut other = Outbox::new(true, 1 << 20).within(Some(&budget));
    assert!(other.push(StreamId(0), &[&[2; 5000]], Class::Report).unwrap().queued);
    let sent = slow.push(StreamId(0), &[&[3; 10_000]], Class::Keep).unwrap();
    assert!(sent.queued && sent.dropped_reports > 0, "{sent:?}");
    let error = slow.push(StreamId(0), &[&[3; 60_000]], Class::Keep).unwrap_err();
    assert!(matches!(error, Error::SendMemoryFull { limit_octets: 65_536 }), "{error}");
    // memory is given back
    let octets = slow.keep.bytes.len();
    slow.wrote(octets);
    slow.free_spare_memory();
    drop(other);
    assert_eq!(budget.used_octets(), 0);
}
