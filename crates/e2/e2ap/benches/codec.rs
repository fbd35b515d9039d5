//! Nanoseconds of an indication with a payload of 1500 octets: `cargo bench -p ferric-e2ap`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use e2ap::{Codec, Pdu, Version, decode, encode, peek};
use per::Gather;

/// Prints the best of many batches, which excludes disturbances.
fn measure(name: &str, mut once: impl FnMut()) {
    const BATCH: u32 = 2_000;
    let mut best = f64::INFINITY;
    for _ in 0..500 {
        let start = Instant::now();
        for _ in 0..BATCH {
            once();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    println!("{name:24} {best:7.1} ns");
}

fn main() {
    let (header, payload) = (common::by_rule(20), common::by_rule(1500));
    let message = common::indication(&header, &payload);
    let octets = common::encoded(&message, Version::V2_03);
    println!("RIC INDICATION of {} octets", octets.len());

    measure("peek", || {
        black_box(peek::indication(black_box(&octets)));
    });
    measure("outline", || {
        black_box(peek::outline(black_box(&octets)));
    });
    measure("decode", || {
        let gather = Gather::new();
        let decoded = decode(black_box(&octets), Version::V2_03, &gather);
        assert!(black_box(&decoded).is_ok());
    });
    let mut out = Vec::new();
    measure("encode message", || {
        out.clear();
        encode(black_box(&message), Version::V2_03, &mut out).unwrap();
        black_box(&out);
    });
    let pdu = Pdu::from(message.clone());
    measure("encode PDU", || {
        out.clear();
        black_box(&pdu).encode(Version::V2_03, &mut out).unwrap();
        black_box(&out);
    });
    for codec in Codec::ALL.iter().filter(|codec| **codec != Codec::Per) {
        let mut octets = Vec::new();
        codec.encode_indication(&message, Version::V2_03, &mut octets).unwrap();
        println!("{codec}: {} octets", octets.len());
        measure("peek", || {
            black_box(codec.peek_indication(black_box(&octets)));
        });
        measure("decode", || {
            let gather = Gather::new();
            assert!(black_box(&codec.decode(black_box(&octets), Version::V2_03, &gather)).is_ok());
        });
        measure("encode", || {
            out.clear();
            codec.encode_indication(black_box(&message), Version::V2_03, &mut out).unwrap();
            black_box(&out);
        });
    }
    measure("copy", || {
        out.clear();
        out.extend_from_slice(black_box(&octets));
        black_box(&out);
    });
}
