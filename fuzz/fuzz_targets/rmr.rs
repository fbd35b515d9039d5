//! Arbitrary octets as a message of RMR, and as the text of route tables. What is read round-trips; a table is used whole or not
//! at all.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rmr::{Header, Message, MessageType, NO_SUBSCRIPTION, TableEvent, TableReader};

fuzz_target!(|bytes: &[u8]| {
    match Message::read(bytes) {
        Ok(message) => {
            let header = Header {
                kind: message.kind,
                subscription_id: message.subscription_id,
                transaction: message.transaction,
                meid: message.meid(),
                source: message.source(),
                source_address: message.source_address(),
                flags: message.flags,
                trace: message.trace,
                data: message.data,
            };
            let mut octets = Vec::new();
            header.write(message.payload.len(), &mut octets);
            octets.extend_from_slice(message.payload);
            let again = Message::read(&octets).expect("what was written can be read");
            assert_eq!(
                (again.kind, again.subscription_id, again.flags),
                (message.kind, message.subscription_id, message.flags)
            );
            assert_eq!(
                (again.transaction, again.trace, again.payload),
                (message.transaction, message.trace, message.payload)
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let text = String::from_utf8_lossy(bytes);
    let mut reader = TableReader::new(vec!["me:4560".to_owned()]);
    let mut is_installed = false;
    for event in reader.read(&text) {
        is_installed |= matches!(event, TableEvent::Installed { .. });
        assert!(!event.to_string().is_empty());
    }
    assert!(is_installed || reader.table().is_empty());
    for kind in [0, 1, 12050] {
        for _ in 0..2 {
            // selecting an endpoint never fails otherwise than with a reason
            let _ = reader
                .table()
                .select(MessageType(kind), NO_SUBSCRIPTION, "gnb", |endpoint| assert!(endpoint != "me:4560"));
        }
    }
});
