//! Arbitrary octets as a message of the FlexRAN protocol. A decoded message round-trips, and lists are bounded.

#![no_main]

use flexran::{Body, MAX_ITEMS, Message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let message = match Message::decode(bytes) {
        Ok(message) => message,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Body::Statistics(statistics) = &message.body {
        assert!(statistics.ues.len() <= MAX_ITEMS && statistics.cells.len() <= MAX_ITEMS);
    }
    assert_eq!(Message::decode(&message.encode()).expect("what was written can be read"), message);
});
