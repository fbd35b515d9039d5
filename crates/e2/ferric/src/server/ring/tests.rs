use std::thread;

use super::*;

fn bell() -> (Poll, Arc<Doorbell>) {
    let poll = Poll::new().unwrap();
    let bell = Doorbell::new(&poll, 7).unwrap();
    (poll, bell)
}

/// Reads all records, with joined payloads.
fn read_all(reader: &mut Reader) -> Vec<(RecordHeader, Vec<u8>)> {
    let mut records = Vec::new();
    let everything = |_| true;
    reader.read(reader.end(), everything, |record| {
        records.push((record.head, record.whole(&mut Vec::new()).to_vec()));
    });
    records
}

/// Returns a payload that depends on `seed`.
fn payload(seed: usize, octets: usize) -> Vec<u8> {
    (0..octets).map(|at| (seed * 31 + at) as u8).collect()
}

#[test]
fn every_record_kind_round_trips() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let (assoc, subscription) = (AssocId(u64::MAX - 5), SubscriptionId(262_143));
    let mut heads = vec![
        RecordHeader::Send(assoc),
        RecordHeader::RequestRoom(assoc, u64::MAX),
        RecordHeader::Close(assoc),
        RecordHeader::Probe(assoc),
        RecordHeader::Return(assoc),
        RecordHeader::Deliver(subscription, Class::Report, 5),
        RecordHeader::OrderAfter(63, u64::MAX),
        RecordHeader::Deliver(subscription, Class::Keep, 0),
        RecordHeader::Missed(subscription, 3),
        RecordHeader::Received(assoc),
        RecordHeader::HasRoom(assoc, 9),
    ];
    heads.extend(REASONS.map(|reason| RecordHeader::Lost(assoc, reason)));
    for head in &heads {
        assert!(writer.write(*head, &[b"a", b"", b"bc"]));
    }
    let expected: Vec<_> = heads.into_iter().map(|head| (head, b"abc".to_vec())).collect();
    assert_eq!(read_all(&mut reader), expected);
    assert!(!reader.has_records());
}

#[test]
fn full_ring_refuses_records_until_they_are_read() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let octets = 1000;
    // several times around, so that headers and payloads wrap at every position
    for round in 0..7 {
        let mut reports = 0;
        let report = RecordHeader::Deliver(SubscriptionId(1), Class::Report, 0);
        while writer.write_report(report, &[&payload(reports, octets)]) {
            reports += 1;
        }
        let mut kept = 0;
        while writer.write(RecordHeader::Received(AssocId(kept as u64)), &[&payload(kept, octets)]) {
            kept += 1;
        }
        assert_eq!(reports, (RING_OCTETS - RESERVE_OCTETS) / (octets + HEADER_OCTETS), "{round}");
        assert_eq!(reports + kept, RING_OCTETS / (octets + HEADER_OCTETS), "{round}");
        let records = read_all(&mut reader);
        assert_eq!(records.len(), reports + kept);
        for (at, (_, bytes)) in records.iter().enumerate() {
            let number = if at < reports { at } else { at - reports };
            assert_eq!(*bytes, payload(number, octets), "{round}: {at}");
        }
    }
}

#[test]
fn long_payload_is_a_parcel_and_keeps_its_order() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let long = payload(5, 2 * RING_OCTETS);
    let head = |number| RecordHeader::Received(AssocId(number));
    assert!(writer.write(head(1), &[b"before"]));
    assert!(writer.write(head(2), &[&long]));
    assert!(writer.write(head(3), &[b"behind"]));
    assert!(writer.write(head(4), &[&long]));
    assert!(!writer.write(head(5), &[b"", &long]), "the limit of parcels");
    assert!(writer.write(head(6), &[b"short"]));
    let records: Vec<_> = read_all(&mut reader);
    let short = |number, bytes: &[u8]| (head(number), bytes.to_vec());
    let expected = [
        short(1, b"before"),
        (head(2), long.clone()),
        short(3, b"behind"),
        (head(4), long.clone()),
        short(6, b"short"),
    ];
    assert!(records == expected);
    // a single one may exceed the limit
    let longest = vec![1; BESIDE_OCTETS + 1];
    assert!(writer.write(head(7), &[&longest]));
    assert!(!writer.write(head(8), &[&long]));
    assert!(read_all(&mut reader) == [(head(7), longest)]);
    assert!(writer.write(head(8), &[&long]));
}

#[test]
fn read_stops_at_end_and_at_unwanted_record() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    for number in 0..10 {
        assert!(writer.write(RecordHeader::Received(AssocId(number)), &[b"payload"]));
    }
    let five = reader.end() / 2;
    assert!(writer.write(RecordHeader::Received(AssocId(10)), &[]));
    let mut read = Vec::new();
    reader.read(five, |head| head != RecordHeader::Received(AssocId(3)), |record| read.push(record.head));
    assert_eq!(read.len(), 3);
    reader.read(five, |_| true, |record| read.push(record.head));
    assert_eq!(read.len(), 5, "not beyond `end`");
    reader.read(reader.end(), |_| true, |record| read.push(record.head));
    assert_eq!(read, (0..=10).map(|number| RecordHeader::Received(AssocId(number))).collect::<Vec<_>>());
    reader.read(five, |_| true, |_| unreachable!("these records were read before"));
}

#[test]
fn link_moves_through_ring() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let mut listener =
        link::Listener::bind(&"memory:moves-through-a-ring".parse().unwrap(), &link::Config::default()).unwrap();
    let _client = Link::connect(listener.local_address(), &link::Config::default()).unwrap();
    let link = listener.accept().unwrap().unwrap();
    assert!(
        writer
            .write_link(
                RecordHeader::Adopt(AssocId(4)),
                Box::new(Moved { link, codec: Codec::Per, level: Arc::default() })
            )
            .is_ok()
    );
    let mut arrived = None;
    reader.read(
        reader.end(),
        |_| true,
        |record| arrived = record.link.map(|moved| (record.head, moved.link.peer().clone())),
    );
    assert_eq!(arrived, Some((RecordHeader::Adopt(AssocId(4)), listener.local_address().clone())));
}

/// A reader checks, finds nothing and sleeps while the writer writes: no wake-up may be lost.
#[test]
fn two_threads_exchange_all_records_without_lost_wakeups() {
    const RECORDS: usize = 20_000;
    let (poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let sleeps = Arc::new(AtomicUsize::new(0));
    let sleeps_of_reader = Arc::clone(&sleeps);
    let sink = thread::spawn(move || {
        let mut events = link::Events::new();
        let mut next = 0;
        while next < RECORDS {
            bell.begin_sleep();
            if !reader.has_records() {
                sleeps_of_reader.fetch_add(1, Ordering::Relaxed);
                poll.wait(&mut events, Some(std::time::Duration::from_secs(60))).unwrap();
                // a wake-up for records that were read before the sleep is allowed
                assert!(events.iter().next().is_some(), "no wake-up for records");
            }
            bell.end_sleep();
            let mut joined = Vec::new();
            reader.read(
                reader.end(),
                |_| true,
                |record| {
                    assert_eq!(record.head, RecordHeader::Received(AssocId(next as u64)));
                    assert_eq!(record.whole(&mut joined), payload(next, next % 800));
                    next += 1;
                },
            );
        }
    });
    for number in 0..RECORDS {
        let bytes = payload(number, number % 800);
        let slept = sleeps.load(Ordering::Relaxed);
        let (first, second) = bytes.split_at(bytes.len() / 3);
        while !writer.write(RecordHeader::Received(AssocId(number as u64)), &[first, second]) {
            assert!(!writer.is_abandoned(), "the reader has ended");
            writer.ring_bell();
            thread::yield_now();
        }
        let lets_sleep = number % 500 == 0;
        if number % 3 == 0 || lets_sleep {
            writer.ring_bell();
        }
        // the next record is written as the reader goes to sleep
        while lets_sleep && sleeps.load(Ordering::Relaxed) == slept && !writer.is_abandoned() {
            thread::yield_now();
        }
    }
    writer.ring_bell();
    sink.join().unwrap();
}
