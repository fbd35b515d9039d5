//! An E42 host and a controller with one node, with arbitrary steps of two xApps and the node; a decoded message round-trips.

#![no_main]

#[path = "../node.rs"]
mod node;
#[path = "../steps.rs"]
mod steps;

use core::time::Duration;

use e2::{AssocId, CloseReason, Consumer, Controller, ControllerConfig, E42Host, Routed, Time};
use e2ap::e42::{self, E42Pdu, E42SetupRequest, E42Version};
use e2ap::{Codec, Version};
use libfuzzer_sys::fuzz_target;
use node::SETUP;
use per::Gather;
use steps::Steps;

const VERSIONS: [E42Version; 3] = [E42Version::V1, E42Version::V2, E42Version::V3];

struct Testbed {
    now: Time,
    version: E42Version,
    /// Messages of the node.
    codec: Codec,
    controller: Controller,
    host: E42Host,
    node: AssocId,
    xapps: [AssocId; 2],
    next: u64,
}

impl Testbed {
    fn assoc(&mut self) -> AssocId {
        self.next += 1;
        AssocId(self.next)
    }

    /// Connects the node on a new association.
    fn connect_node(&mut self) {
        self.node = self.assoc();
        self.controller.handle_open_in(self.now, self.node, self.codec);
        let (gather, mut setup) = (Gather::new(), Vec::new());
        let decoded = e2ap::decode(SETUP, Version::V2_03, &gather).expect("a setup");
        self.codec.encode_decoded(&decoded, Version::V2_03, &mut setup).expect("every encoding has it");
        let _ = self.controller.handle_pdu(self.now, self.node, &setup);
    }

    fn drain(&mut self) {
        while let Some(event) = self.controller.poll_event() {
            let _ = self.host.handle_event(event);
        }
        while let Some((_, notice)) = self.host.poll_notice() {
            assert!(!notice.to_string().is_empty());
        }
        let mut out = Vec::new();
        while let Some(assoc) = self.controller.poll_transmit(&mut out) {
            assert_eq!(assoc, self.node);
            let gather = Gather::new();
            let read = |version| self.codec.decode(&out, version, &gather).is_ok();
            assert!(Version::ALL.into_iter().any(read), "unreadable: {out:02x?}");
            out.clear();
        }
        while self.host.poll_transmit(&mut out).is_some() {
            let gather = Gather::new();
            e42::decode(&out, self.version, &gather).expect("what is sent can be read");
            out.clear();
        }
        while self.controller.poll_close().is_some() || self.host.poll_close().is_some() {}
    }

    fn node_says(&mut self, pdu: &[u8]) {
        let Routed::Indication(indication) = self.controller.handle_pdu(self.now, self.node, pdu) else { return };
        for consumer in self.controller.consumers(indication.subscription) {
            let relayed =
                self.host.relay_indication(*consumer, &indication, &mut Vec::new(), |_, parts| parts.concat());
            if let Some(out) = relayed {
                let gather = Gather::new();
                e42::decode(&out, self.version, &gather).expect("what is sent can be read");
            }
        }
    }

    fn step(&mut self, steps: &mut Steps<'_>) -> Option<()> {
        let what = steps.octet()?;
        let which = usize::from(what >> 7);
        match what & 0x7F {
            0 => {
                self.host.handle_close(self.now, self.xapps[which], &mut self.controller);
                self.xapps[which] = self.assoc();
                self.host.handle_open(self.xapps[which]);
            }
            1 => {
                self.now = self.now + Duration::from_millis(steps.number()?.into());
                self.controller.handle_timeout(self.now);
            }
            2..5 => self.node_says(steps.pdu()?),
            5 => {
                self.controller.handle_close(self.now, self.node, CloseReason::Transport);
                self.connect_node();
            }
            _ => self.host.handle_pdu(self.now, self.xapps[which], steps.pdu()?, &mut self.controller),
        }
        Some(())
    }
}

/// Checks that a decoded message round-trips.
fn read(bytes: &[u8]) {
    for version in VERSIONS {
        let gather = Gather::new();
        match e42::decode(bytes, version, &gather) {
            Ok(pdu) => {
                let mut again = Vec::new();
                match pdu.encode(version, &mut again) {
                    Ok(()) => {
                        let gather = Gather::new();
                        assert_eq!(e42::decode(&again, version, &gather).expect("what was written can be read"), pdu);
                    }
                    // mandatory IEs with criticality ignore may be missing in a message of E2AP
                    Err(error) => {
                        let may = matches!(pdu, E42Pdu::E2ap(_)) && error.kind == per::ErrorKind::Missing;
                        assert!(may, "what was read can be written: {error}");
                    }
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut steps = Steps(bytes);
    let Some(choice) = steps.octet() else { return };
    read(steps.0);
    let version = VERSIONS[usize::from(choice & 0x7F) % 3];
    let mut testbed = Testbed {
        now: Time::default(),
        version,
        codec: if choice & 0x80 == 0 { Codec::Per } else { Codec::FLAT },
        controller: Controller::new(ControllerConfig::default()),
        host: E42Host::new(version, 1 << 16),
        node: AssocId(0),
        xapps: [AssocId(0); 2],
        next: 0,
    };
    testbed.connect_node();
    assert_eq!(testbed.controller.nodes().count(), 1);
    testbed.xapps = [testbed.assoc(), testbed.assoc()];
    let mut hello = Vec::new();
    let setup = E42Pdu::SetupRequest(E42SetupRequest { ran_functions: Vec::new().into() });
    // one of them has set up
    let _ = setup.encode(version, &mut hello);
    for xapp in testbed.xapps {
        testbed.host.handle_open(xapp);
    }
    testbed.host.handle_pdu(testbed.now, testbed.xapps[0], &hello, &mut testbed.controller);
    testbed.drain();
    while testbed.step(&mut steps).is_some() {
        testbed.drain();
    }
    for xapp in testbed.xapps {
        testbed.host.handle_close(testbed.now, xapp, &mut testbed.controller);
    }
    testbed.drain();
    assert_eq!(testbed.host.sessions(), 0);
    for consumer in (1 << 31..).take(64).map(Consumer) {
        assert_eq!(testbed.controller.requests_of(consumer), 0);
    }
    // all requests have ended, answered or not
    for _ in 0..3 {
        testbed.now = testbed.now + Duration::from_secs(6);
        testbed.controller.handle_timeout(testbed.now);
        testbed.drain();
    }
    assert_eq!(testbed.controller.requests(), 0);
});
