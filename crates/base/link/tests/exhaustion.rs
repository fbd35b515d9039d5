//! No free file descriptors. This is a separate test binary, since the limit applies to the process.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use ferric_link::{Address, Config, Error, Events, Interest, Link, Listener, Poll, State};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Opens all free descriptors, runs `test`, and closes them.
fn without_descriptors(test: impl FnOnce(&mut Vec<std::fs::File>)) {
    let usual = getrlimit(Resource::Nofile);
    let mut hoard = Vec::new();
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum: usual.maximum }).unwrap();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        hoard.push(file);
    }
    test(&mut hoard);
    drop(hoard);
    setrlimit(Resource::Nofile, usual).unwrap();
}

/// One test, since both parts use all descriptors of the process.
#[test]
fn connections_are_rejected_without_file_descriptors_and_the_listener_continues() {
    over_tcp();
    over_shared_memory();
}

fn over_tcp() {
    let mut listener = Listener::bind(&"tcp://127.0.0.1:0".parse().unwrap(), &Config::default()).unwrap();
    let Address::Tcp { port, .. } = *listener.local_address() else { unreachable!() };
    let poll = Poll::new().unwrap();
    poll.add(&listener, 0, Interest::READ).unwrap();
    let mut events = Events::new();
    let mut waiting: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    without_descriptors(|_| {
        for _ in 0..3 {
            poll.wait(&mut events, None).unwrap();
            let error = listener.accept().err().unwrap();
            assert!(matches!(error, Error::ConnectionRejected(_)), "{error:?}");
        }
        // No connection is waiting, so the loop does not spin.
        assert!(listener.accept().unwrap().is_none());
        for client in &mut waiting {
            use std::io::Read;
            assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)), "they see their connection close");
        }
    });
    let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    poll.wait(&mut events, None).unwrap();
    assert!(listener.accept().unwrap().is_some());
}

fn over_shared_memory() {
    let path = std::env::temp_dir().join(format!("ferric-link-exhaustion-{}", std::process::id()));
    let mut listener = Listener::bind(&Address::Shm(path.clone()), &Config::default()).unwrap();
    let mut client = Link::connect(listener.local_address(), &Config::default()).unwrap();
    let mut waiting: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&path).unwrap()).collect();
    // The client creates the memory, but a process without descriptors cannot receive it.
    let _server = listener.accept().unwrap().unwrap();
    without_descriptors(|hoard| {
        let error = client.finish_connect().unwrap_err();
        assert!(matches!(error, Error::Connect { .. }) && error.to_string().contains("open files"), "{error}");
        assert_eq!(client.state(), State::Closed);
        for free in 0..3 {
            // First, no descriptor is free. Then one is free; the socket uses it, and none is left for the memory.
            let error = match listener.accept() {
                Err(error) => error,
                Ok(link) => panic!("{} with {free} free", link.is_some()),
            };
            assert!(matches!(error, Error::ConnectionRejected(_)), "{error:?}");
            if free == 0 {
                hoard.pop();
            }
        }
        assert!(listener.accept().unwrap().is_none());
        for client in &mut waiting {
            use std::io::Read;
            assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)), "they see their connection close");
        }
    });
    let mut client = Link::connect(listener.local_address(), &Config::default()).unwrap();
    assert!(listener.accept().unwrap().is_some());
    assert_eq!(client.finish_connect().unwrap(), State::Established);
}
