//! The four combinations of E2AP's and a service model's encoding, from an xApp to a node and back: those of Fig. 7 of the
//! FlexRIC paper.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use e2sm::{Arena, Wire, hw};
use ferric::Endpoint;
use ferric::agent::{AgentLoop, AgentLoopConfig};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{Codec, GlobalE2NodeId, GnbId, PlmnIdentity, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use ran_functions::hw::HwFunction;

const PATIENCE: Duration = Duration::from_secs(60);

/// Sends pings of several sizes over a node with this E2AP codec and service model encoding; returns the number of replies.
fn pings(codec: Codec, wire: Wire) -> usize {
    let free: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let e2 = vec![Endpoint::new(free.clone(), codec)];
    let mut server = Server::bind(ServerConfig { e2, xapp: Some(free), ..ServerConfig::default() }).unwrap();
    let endpoint = server.e2_endpoints().next().unwrap();
    assert_eq!(endpoint.codec, codec);
    let (xapp_address, ric_stop) = (server.xapp_address().unwrap().clone(), server.stop_handle());
    let ric = thread::spawn(move || server.run().unwrap());

    // a node's functions are made where they run
    let (sender, receiver) = mpsc::channel();
    let node = thread::spawn(move || {
        let mut agents = AgentLoop::new(AgentLoopConfig::default()).unwrap();
        let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(7, 28));
        agents.add(id, endpoint, vec![Box::new(HwFunction::with_wire(wire))]);
        sender.send(agents.stop_handle()).unwrap();
        agents.run().unwrap();
    });
    let node_stop = receiver.recv().unwrap();

    let mut xapp = Xapp::connect(&xapp_address, "pings", XappConfig::default()).unwrap();
    let (mut arena, mut count, mut begun) = (Arena::new(), 0, None);
    let sizes = [0, 100, 1500, 20_000];
    let deadline = Instant::now() + PATIENCE;
    while count < sizes.len() {
        assert!(Instant::now() < deadline, "{codec} {wire}: {count} pings");
        xapp.poll(Some(Duration::from_millis(100)), |event, ric| {
            let ping = |number: usize| {
                let (payload, mut message) = (vec![number as u8; sizes[number]], Vec::new());
                let ping = hw::Ping { number: number as u32, payload: payload.as_slice().into() };
                ping.encode(wire, &mut message).unwrap();
                message
            };
            match event {
                XappEvent::NodeUp(node) => {
                    assert_eq!(node.encoding, codec.name());
                    let function = &node.functions[0];
                    assert_eq!(hw::wire_of(&function.oid), Some(wire));
                    let decoded = hw::RanFunctionDefinition::decode(&function.definition, wire, &arena).unwrap();
                    assert_eq!(decoded, hw::RanFunctionDefinition::STANDARD);
                    let action =
                        Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
                    let spec = SubscriptionSpec { event_trigger: hw::EVENT_TRIGGER.to_vec(), actions: vec![action] };
                    ric.subscribe(node.id, function.id, spec);
                    begun = Some((node.id, function.id));
                }
                XappEvent::Request(RequestEvent::Subscribed { .. }) => {
                    let (node, function) = begun.unwrap();
                    ric.control(node, function, &[], &ping(0));
                }
                XappEvent::Indication(indication) => {
                    assert_eq!(indication.codec, Some(codec));
                    let gather = per::Gather::new();
                    let message = indication.decode(&gather).unwrap();
                    if let Some(peeked) = indication.peek() {
                        assert_eq!(Some(peeked.message), message.message.as_slice());
                    }
                    let octets = message.message.to_cow();
                    assert_eq!(octets, ping(count), "{codec} {wire}");
                    arena.reset();
                    let read = hw::Ping::decode(&octets, wire, &arena).unwrap();
                    assert_eq!((read.number as usize, read.payload.len()), (count, sizes[count]));
                    count += 1;
                    if count < sizes.len() {
                        ric.control(indication.node, begun.unwrap().1, &[], &ping(count));
                    }
                }
                _ => {}
            }
        })
        .unwrap();
    }
    for (stop, thread) in [(node_stop, node), (ric_stop, ric)] {
        stop.stop();
        thread.join().unwrap();
    }
    count
}

#[test]
fn ping_returns_in_all_four_combinations() {
    for codec in [Codec::Per, Codec::FLAT] {
        for wire in [Wire::Per, Wire::Flat] {
            assert_eq!(pings(codec, wire), 4, "{codec} {wire}");
        }
    }
}
