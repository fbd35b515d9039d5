//! A TCP relay in front of a server, for tests of a network that loses everything for some time.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A relay on a free port of the loopback interface. It ends when it is dropped, and its connections with it.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_cut: bool,
    has_ended: bool,
    /// Both ends of each connection.
    streams: Vec<TcpStream>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until octets get through. Returns whether they do; otherwise the relay has ended.
    fn pass(&self) -> bool {
        let is_closed = |state: &mut State| state.is_cut && !state.has_ended;
        let state = self.changed.wait_while(self.state(), is_closed).unwrap_or_else(PoisonError::into_inner);
        !state.has_ended
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }
}

impl Relay {
    /// Starts a relay to a port of the loopback interface.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn start(target: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let gate = Arc::<Gate>::default();
        let of_thread = Arc::clone(&gate);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if of_thread.state().has_ended {
                    break;
                }
                let gate = Arc::clone(&of_thread);
                // an end that closes its connection is no fault of the relay
                thread::spawn(move || drop(connect(client, target, &gate)));
            }
        });
        Relay { port, gate }
    }

    /// The port at which it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Holds everything up, as a network does that loses all packets: connections stay, and nobody is told.
    pub fn cut(&self) {
        self.gate.change(|state| state.is_cut = true);
    }

    /// Lets everything through, what was held up first.
    pub fn restore(&self) {
        self.gate.change(|state| state.is_cut = false);
    }

    /// Ends all connections; new ones are accepted.
    pub fn reset(&self) {
        self.gate.change(|state| {
            for stream in state.streams.drain(..) {
                let _ = stream.shutdown(Shutdown::Both); // its end may have closed it
            }
        });
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.gate.change(|state| state.has_ended = true);
        self.reset();
        // the listener looks at the state at the next connection
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Connects a client to the server, and relays until one of them ends the connection.
fn connect(client: TcpStream, target: u16, gate: &Arc<Gate>) -> io::Result<()> {
    if !gate.pass() {
        return Ok(());
    }
    let server = TcpStream::connect(("127.0.0.1", target))?;
    let both = [client.try_clone()?, server.try_clone()?];
    {
        let mut state = gate.state();
        if state.has_ended {
            return Ok(());
        }
        state.streams.extend(both);
    }
    let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let of_thread = Arc::clone(gate);
    let back = thread::spawn(move || relay(from_server, to_client, &of_thread));
    relay(client, server, gate);
    let _ = back.join(); // it does not panic
    Ok(())
}

/// Relays one direction, and its end.
fn relay(mut from: TcpStream, mut to: TcpStream, gate: &Gate) {
    let mut buffer = [0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !gate.pass() || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    if gate.pass() {
        let _ = to.shutdown(Shutdown::Write); // the other direction may have ended it
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn octets_are_held_up_and_pass_later() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Relay::start(server.local_addr().unwrap().port());
        let mut client = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
        client.write_all(b"a").unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        let mut octets = [0; 2];
        accepted.read_exact(&mut octets[..1]).unwrap();
        relay.cut();
        client.write_all(b"b").unwrap();
        // one that comes meanwhile waits as well
        let mut late = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
        late.write_all(b"c").unwrap();
        accepted.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(accepted.read(&mut octets).is_err(), "nothing gets through");
        server.set_nonblocking(true).unwrap();
        assert!(server.accept().is_err());
        accepted.set_read_timeout(None).unwrap();
        server.set_nonblocking(false).unwrap();
        relay.restore();
        accepted.read_exact(&mut octets[..1]).unwrap();
        let (mut second, _) = server.accept().unwrap();
        second.read_exact(&mut octets[1..]).unwrap();
        assert_eq!(octets, *b"bc");
        // both ends learn of an end
        drop(client);
        assert_eq!(accepted.read(&mut octets).unwrap(), 0);
        relay.reset();
        assert_eq!(late.read(&mut octets).unwrap_or(0), 0);
        let _client = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
        let (mut third, _) = server.accept().unwrap();
        drop(relay);
        assert_eq!(third.read(&mut octets).unwrap_or(0), 0);
    }
}
