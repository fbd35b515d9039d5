//! Arbitrary octets as a type with every construct of PER: a decoded value round-trips.

#![no_main]

// the types in the tests of the crate
#[allow(dead_code)]
#[path = "../../crates/base/per/tests/common/types.rs"]
mod types;

use libfuzzer_sys::fuzz_target;
use per::{Decode, Gather, Heap, IntoOwned, Reader, decode, encode};
use types::{Everything, Recursive};

fuzz_target!(|bytes: &[u8]| {
    let gather = Gather::new();
    let mut reader = Reader::with_store(bytes, 0, Heap::gathering(&gather));
    match Everything::decode(&mut reader) {
        Ok(value) => {
            let mut again = Vec::new();
            encode(&value, 0, &mut again).expect("what was read can be written");
            let gather = Gather::new();
            let mut reader = Reader::with_store(&again, 0, Heap::gathering(&gather));
            let read = Everything::decode(&mut reader).expect("what was written can be read");
            reader.finish().expect("nothing else was written");
            assert_eq!(read, value);
            assert_eq!(value.into_owned(), read);
        }
        Err(error) => assert!(error.bit <= bytes.len() * 8),
    }
    if let Ok(value) = decode::<Recursive<'_>>(bytes, 0) {
        let mut again = Vec::new();
        encode(&value, 0, &mut again).expect("what was read can be written");
        assert_eq!(decode(&again, 0), Ok(value));
    }
});
