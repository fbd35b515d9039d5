use std::thread;

use super::*;

fn bell() -> (Poll, Arc<Doorbell>) {
    let poll = Poll::new().unwrap();
    let bell = Doorbell::new(&poll, 7).unwrap();
    (poll, bell)
}

/// What is in the ring, payloads joined.
fn read_all(reader: &mut Reader) -> Vec<(RecordHeader, Vec<u8>)> {
    let mut records = Vec::new();
    let everything = |_| true;
    reader.read(reader.end(), everything, |record| {
        records.push((record.head, record.whole(&mut Vec::new()).to_vec()));
    });
    records
}

/// Octets of a record.
fn payload(seed: usize, octets: usize) -> Vec<u8> {
    (0..octets).map(|at| (seed * 31 + at) as u8).collect()
}

#[test]
fn every_head_arrives_as_it_was() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let (assoc, subscription) = (AssocId(u64::MAX - 5), SubscriptionId(262_143));
    let mut heads = vec![
        RecordHeader::Send(assoc),
        RecordHeader::RequestRoom(assoc, u64::MAX),
        RecordHeader::Close(assoc),
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
fn a_full_ring_refuses_and_takes_again_what_is_made_room_for() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let octets = 1000;
    // many times around, so that heads and payloads wrap at every place
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
fn a_long_payload_goes_beside_and_keeps_its_place() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let long = payload(5, 2 * RING_OCTETS);
    let head = |number| RecordHeader::Received(AssocId(number));
    assert!(writer.write(head(1), &[b"before"]));
    assert!(writer.write(head(2), &[&long]));
    assert!(writer.write(head(3), &[b"behind"]));
    assert!(writer.write(head(4), &[&long]));
    assert!(!writer.write(head(5), &[b"", &long]), "no more of them than there may be");
    assert!(writer.write(head(6), &[b"but short ones"]));
    let records: Vec<_> = read_all(&mut reader);
    let short = |number, bytes: &[u8]| (head(number), bytes.to_vec());
    let expected = [
        short(1, b"before"),
        (head(2), long.clone()),
        short(3, b"behind"),
        (head(4), long.clone()),
        short(6, b"but short ones"),
    ];
    assert!(records == expected);
    // a single one passes, whatever its size
    let longest = vec![1; BESIDE_OCTETS + 1];
    assert!(writer.write(head(7), &[&longest]));
    assert!(!writer.write(head(8), &[&long]));
    assert!(read_all(&mut reader) == [(head(7), longest)]);
    assert!(writer.write(head(8), &[&long]));
}

#[test]
fn a_read_ends_before_what_is_not_wanted_yet() {
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
    assert_eq!(read.len(), 5, "no further than asked");
    reader.read(reader.end(), |_| true, |record| read.push(record.head));
    assert_eq!(read, (0..=10).map(|number| RecordHeader::Received(AssocId(number))).collect::<Vec<_>>());
    reader.read(five, |_| true, |_| unreachable!("that was read long ago"));
}

#[test]
fn a_link_moves_through_a_ring() {
    let (_poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let mut listener =
        link::Listener::bind(&"memory:moves-through-a-ring".parse().unwrap(), &link::Config::default()).unwrap();
    let _client = Link::connect(listener.local_address(), &link::Config::default()).unwrap();
    let link = listener.accept().unwrap().unwrap();
    assert!(writer.write_link(RecordHeader::Adopt(AssocId(4)), Box::new(Moved { link, codec: Codec::Per })).is_ok());
    let mut arrived = None;
    reader.read(
        reader.end(),
        |_| true,
        |record| arrived = record.link.map(|moved| (record.head, moved.link.peer().clone())),
    );
    assert_eq!(arrived, Some((RecordHeader::Adopt(AssocId(4)), listener.local_address().clone())));
}

/// The race that a bell must not lose: the reader looks, finds nothing and sleeps while the writer writes.
#[test]
fn nothing_is_lost_doubled_or_slept_over_between_two_threads() {
    const RECORDS: usize = 20_000;
    let (poll, bell) = bell();
    let (mut writer, mut reader) = ring(&bell);
    let sink = thread::spawn(move || {
        let mut events = link::Events::new();
        let (mut next, mut sleeps) = (0, 0);
        while next < RECORDS {
            bell.begin_sleep();
            if !reader.has_records() {
                sleeps += 1;
                poll.wait(&mut events, Some(std::time::Duration::from_secs(15))).unwrap();
                // woken for what was read before it slept is as well
                assert!(events.iter().next().is_some(), "slept over");
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
        sleeps
    });
    for number in 0..RECORDS {
        let bytes = payload(number, number % 800);
        let (first, second) = bytes.split_at(bytes.len() / 3);
        while !writer.write(RecordHeader::Received(AssocId(number as u64)), &[first, second]) {
            assert!(!writer.is_abandoned(), "the reader failed");
            writer.ring_bell();
            thread::yield_now();
        }
        if number % 3 == 0 {
            writer.ring_bell();
        }
        if number % 500 == 0 {
            thread::sleep(std::time::Duration::from_millis(2)); // the reader has nothing to do
        }
    }
    writer.ring_bell();
    let sleeps = sink.join().unwrap();
    assert!(sleeps > 0, "the reader never slept: nothing was tried");
}
