//! The memory and the allocations of links.

use ferric_link::{Address, Class, Config, Events, Interest, Link, Listener, Poll, Scratch, StreamId};
use testkit::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn connected(address: &Address) -> (Listener, Link, Link) {
    let config = Config::default();
    let mut listener = Listener::bind(address, &config).unwrap();
    let client = Link::connect(listener.local_address(), &config).unwrap();
    wait(&listener);
    let server = listener.accept().unwrap().unwrap();
    (listener, client, server)
}

fn wait(source: &impl std::os::fd::AsFd) {
    let poll = Poll::new().unwrap();
    poll.add(source, 0, Interest::READ).unwrap();
    poll.wait(&mut Events::new(), None).unwrap();
}

fn addresses() -> [Address; 4] {
    let name = format!("ferric-link-allocations-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(&name);
    [
        "tcp://127.0.0.1:0".parse().unwrap(),
        Address::Unix(path.clone()),
        Address::Shm(path.with_extension("shm")),
        Address::Memory(name),
    ]
}

#[test]
fn idle_links_hold_less_than_4_kib_each() {
    for address in addresses() {
        let config = Config::default();
        let mut listener = Listener::bind(&address, &config).unwrap();
        let mut scratch = Scratch::new();
        let count = 100;
        let mut links = Vec::with_capacity(2 * count);
        let before = CountingAllocator::held_octets();
        for _ in 0..count {
            let mut client = Link::connect(listener.local_address(), &config).unwrap();
            wait(&listener);
            let mut server = listener.accept().unwrap().unwrap();
            // A request and its answer, then no further PDUs.
            for (from, to) in [(0, 1), (1, 0)] {
                let ends = [&mut client, &mut server];
                ends[from].send(StreamId(0), &[&[1; 700]], Class::Keep).unwrap();
                ends[from].flush().unwrap();
                wait(ends[to]);
                let mut pdus = 0;
                ends[to].receive(&mut scratch, 1 << 20, &mut |_, _| pdus += 1).unwrap();
                assert_eq!(pdus, 1);
            }
            links.push(client);
            links.push(server);
        }
        let each = (CountingAllocator::held_octets() - before) / links.len() as i64;
        let each = each + size_of::<Link>() as i64;
        assert!(each < 4096, "{address}: {each} octets");
        println!("{address}: {each} octets an idle link");
    }
}

#[test]
fn relay_in_steady_state_does_not_allocate() {
    for address in addresses() {
        let (_in_listener, mut node, mut from_node) = connected(&address);
        let (_out_listener, mut to_app, mut app) = match &address {
            Address::Memory(name) => connected(&Address::Memory(format!("{name}-out"))),
            Address::Shm(path) => connected(&Address::Shm(path.with_extension("out"))),
            Address::Unix(path) => connected(&Address::Unix(path.with_extension("out"))),
            address => connected(address),
        };
        let mut scratch = Scratch::new();
        let poll = Poll::new().unwrap();
        for (token, link) in [(0, &from_node), (1, &app)] {
            poll.add(link, token, Interest::READ).unwrap();
        }
        let mut events = Events::new();
        let mut arrived = 0;
        let mut sent = 0;
        let mut warm = 0;
        // Bursts of 30 to 40 PDUs of different sizes, so that reads end within PDUs.
        for round in 0..400 {
            if round == 100 {
                warm = CountingAllocator::count();
            }
            for i in 0..30 + round % 11 {
                node.send(StreamId(0), &[&[5; 40], &[6; 4300][..4000 + i * 7 % 300]], Class::Report).unwrap();
                sent += 1;
            }
            node.flush().unwrap();
            while arrived < sent {
                if node.wants_write() {
                    node.flush().unwrap();
                }
                if to_app.wants_write() {
                    to_app.flush().unwrap();
                }
                poll.wait(&mut events, None).unwrap();
                for event in events.iter() {
                    if event.token == 0 {
                        from_node
                            .receive(&mut scratch, 1 << 17, &mut |stream, pdu: &[u8]| {
                                to_app.send(stream, &[b"envelope", pdu], Class::Report).unwrap();
                            })
                            .unwrap();
                        to_app.flush().unwrap();
                    } else {
                        app.receive(&mut scratch, 1 << 17, &mut |_, _| arrived += 1).unwrap();
                    }
                }
            }
        }
        let allocations = CountingAllocator::count() - warm;
        assert_eq!(allocations, 0, "{address}: {allocations} allocations for some 10,000 PDUs");
        assert_eq!(node.dropped_reports() + to_app.dropped_reports(), 0);
    }
}
