//! Peeking, decoding and encoding an indication does not allocate.

mod common;

use e2ap::{Pdu, Version, decode, peek};
use per::Gather;
use testkit::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = CountingAllocator::count();
    work();
    CountingAllocator::count() - before
}

#[test]
fn decoding_an_indication_does_not_allocate() {
    let (header, payload) = (common::by_rule(20), common::by_rule(16_300));
    for size in [0, 100, 1500, 16_300] {
        let message = common::indication(&header, &payload[..size]);
        for version in Version::ALL {
            let mut out = Vec::new();
            let first = allocations(|| e2ap::encode(&message, version, &mut out).unwrap());
            assert!(first > 0, "the allocator counts");
            let octets = out.clone();
            out.clear();
            assert_eq!(allocations(|| e2ap::encode(&message, version, &mut out).unwrap()), 0, "encode {size}");
            assert_eq!(out, octets);

            assert_eq!(allocations(|| assert!(peek::indication(&octets).is_some())), 0, "peek {size}");
            let gather = Gather::new();
            let count = allocations(|| {
                let decoded = decode(&octets, version, &gather).unwrap();
                assert!(matches!(decoded.pdu, Pdu::RicIndication(read) if read == message));
            });
            assert_eq!(count, 0, "decode {size}");
        }
    }
}

#[test]
fn rejecting_a_message_does_not_allocate() {
    let octets = common::vector("v02.03/reset_request");
    let gather = Gather::new();
    assert_eq!(allocations(|| assert!(decode(&octets, Version::V1_01, &gather).is_err())), 0);
    assert_eq!(allocations(|| assert!(peek::outline(&octets).is_some())), 0);
}
