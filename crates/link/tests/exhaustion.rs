//! A process without file descriptors left. In a test binary of its own, since the limit is the process's.

use std::net::TcpStream;

use ferric_link::{Address, Config, Error, Events, Interest, Listener, Poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn without_file_descriptors_connections_are_turned_away_and_the_listener_lives() {
    let mut listener = Listener::bind(&"tcp://127.0.0.1:0".parse().unwrap(), &Config::default()).unwrap();
    let Address::Tcp { port, .. } = *listener.local_address() else { unreachable!() };
    let poll = Poll::new().unwrap();
    poll.add(&listener, 0, Interest::READ).unwrap();
    let mut events = Events::new();
    let mut waiting: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();

    let usual = getrlimit(Resource::Nofile);
    let mut hoard = Vec::new();
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum: usual.maximum }).unwrap();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        hoard.push(file);
    }
    for _ in 0..3 {
        poll.wait(&mut events, None).unwrap();
        let error = listener.accept().err().unwrap();
        assert!(matches!(error, Error::TurnedAway(_)), "{error:?}");
    }
    // Nobody waits any more, so the loop does not spin.
    assert!(listener.accept().unwrap().is_none());
    for client in &mut waiting {
        use std::io::Read;
        assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)), "they see their connection close");
    }

    drop(hoard);
    setrlimit(Resource::Nofile, usual).unwrap();
    let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    poll.wait(&mut events, None).unwrap();
    assert!(listener.accept().unwrap().is_some());
}
