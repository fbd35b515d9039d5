//! The socket beneath a shared-memory link: it wakes the peer, signals room in the ring, and hangs up when the peer dies.
//!
//! An eventfd would be cheaper by some hundred nanoseconds a ring, but both ends share its one file description: a hostile
//! peer can make it blocking and fill it, and the next ring then blocks. Each end of a socket has its own file description.
//!
//! Two kinds of octets go through it. A [`BELL`] is sent for each wake-up that the reader requested. [`FILLER`]
//! is what a writer stuffs the socket with while the ring is full (and a client while it waits to be accepted): a
//! socket that takes no more is not writable, and becomes so when the reader, having emptied the ring, empties the
//! socket too. So readiness for both reading and writing is the socket's own.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::Error;

const FILLER: u8 = 0;
const BELL: u8 = 1;

/// The socket's send buffer. It stops being writable when a quarter is in use, which leaves room for rings behind the filling.
pub(super) const SEND_BUFFER_OCTETS: usize = 16 * 1024;
/// Octets of one piece of filling.
const FILLER_OCTETS: usize = 2048;
/// Pieces of filling in a row: more than the send buffer has room for.
const FILLERS: usize = 64;
/// The octets that one round of [`Bell::drain`] reads, and its rounds. If more are there, the socket stays readable.
const DRAIN_OCTETS: usize = 4096;
const DRAIN_ROUNDS: usize = 4;

/// What [`Bell::drain`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// The socket is not readable, or a wake-up is pending.
    Open,
    /// The peer has hung up.
    HungUp,
}

/// One end of the socket.
pub(super) struct Bell {
    socket: OwnedFd,
    /// Rings that were announced to us and not read yet.
    announced_wakeups: u32,
    /// Rings that we announced and that the socket had no room for.
    deferred_wakeups: u32,
}

impl Bell {
    pub(super) fn new(socket: OwnedFd) -> Bell {
        Bell { socket, announced_wakeups: 0, deferred_wakeups: 0 }
    }

    /// Rings once for the peer, which has requested it. If the socket is full of filler, the ring is deferred:
    /// see [`has_deferred_wakeups`](Self::has_deferred_wakeups).
    pub(super) fn ring(&mut self) -> Result<(), Error> {
        self.deferred_wakeups = self.deferred_wakeups.saturating_add(1);
        self.ring_deferred()
    }

    /// Rings as often as there was no room for before.
    pub(super) fn ring_deferred(&mut self) -> Result<(), Error> {
        while self.deferred_wakeups > 0 {
            match send(self.as_fd(), &[BELL]) {
                Ok(()) => self.deferred_wakeups -= 1,
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(Error::from_transfer("wake-up of the peer", errno)),
            }
        }
        Ok(())
    }

    /// Whether rings wait for the socket to be writable. The peer, which counts them, must get each.
    pub(super) fn has_deferred_wakeups(&self) -> bool {
        self.deferred_wakeups > 0
    }

    /// Makes the socket not writable until the peer has read from it.
    pub(super) fn fill(&self) -> Result<(), Errno> {
        for _ in 0..FILLERS {
            if !is_writable(self.as_fd())? {
                break;
            }
            match send(self.as_fd(), &[FILLER; FILLER_OCTETS]) {
                Ok(()) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Counts one more announced ring: it is in the socket, or will be.
    pub(super) fn expect_wakeup(&mut self) {
        self.announced_wakeups = self.announced_wakeups.saturating_add(1);
    }

    /// Reads filling and announced rings. Another ring stays, and the socket readable, if `is_expected` returns true: it was
    /// sent but not announced yet.
    pub(super) fn drain(&mut self, mut is_expected: impl FnMut() -> bool) -> Result<Drained, Error> {
        if self.announced_wakeups == 1 {
            // The usual case costs one system call.
            let mut first = [FILLER];
            match receive(self.as_fd(), &mut first, RecvFlags::empty())? {
                None => return Ok(Drained::Open),
                Some(0) => return Ok(Drained::HungUp),
                Some(_) if first != [FILLER] => {
                    self.announced_wakeups = 0;
                    return Ok(Drained::Open);
                }
                Some(_) => {}
            }
        }
        let mut room = [0; DRAIN_OCTETS];
        for _ in 0..DRAIN_ROUNDS {
            let octets = match receive(self.as_fd(), &mut room, RecvFlags::PEEK)? {
                None => return Ok(Drained::Open),
                Some(0) => return Ok(Drained::HungUp),
                Some(count) => &room[..count],
            };
            // Checked after the peek: a ring follows its announcement, so octets received before it are obsolete.
            let is_expected = is_expected();
            let useless = octets.iter().take_while(|octet| match **octet {
                FILLER => true,
                _ if self.announced_wakeups > 0 => {
                    self.announced_wakeups -= 1;
                    true
                }
                _ => !is_expected,
            });
            let count = useless.count();
            if count == 0 {
                return Ok(Drained::Open);
            }
            receive(self.as_fd(), &mut room[..count], RecvFlags::empty())?;
        }
        Ok(Drained::Open)
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn send(socket: BorrowedFd<'_>, octets: &[u8]) -> Result<(), Errno> {
    loop {
        match rustix::net::send(socket, octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn is_writable(socket: BorrowedFd<'_>) -> Result<bool, Errno> {
    loop {
        match rustix::event::poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&Timespec::default())) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Octets received: 0 is a hang-up, `None` that nothing is here.
fn receive(socket: BorrowedFd<'_>, room: &mut [u8], flags: RecvFlags) -> Result<Option<usize>, Error> {
    loop {
        match rustix::net::recv(socket, &mut *room, flags | RecvFlags::DONTWAIT) {
            Ok((count, _)) => return Ok(Some(count)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            // A peer that closed, or died, without having read all that we rang.
            Err(Errno::CONNRESET) => return Ok(Some(0)),
            Err(errno) => return Err(Error::from_transfer("recv", errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Events, Interest, Poll};
    use std::time::Duration;

    fn pair() -> (Bell, Bell) {
        let (a, b) = socket2::Socket::pair(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        for socket in [&a, &b] {
            socket.set_send_buffer_size(SEND_BUFFER_OCTETS).unwrap();
        }
        (Bell::new(a.into()), Bell::new(b.into()))
    }

    fn readiness(bell: &Bell) -> (bool, bool) {
        let poll = Poll::new().unwrap();
        poll.add(bell, 0, Interest::READ_WRITE).unwrap();
        let mut events = Events::new();
        poll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        let event = events.get(0);
        (event.is_some_and(|event| event.readable), event.is_some_and(|event| event.writable))
    }

    #[test]
    fn filled_socket_is_not_writable_until_the_peer_reads() {
        let (writer, mut reader) = pair();
        assert_eq!(readiness(&writer), (false, true));
        writer.fill().unwrap();
        assert_eq!(readiness(&writer), (false, false));
        assert_eq!(readiness(&reader), (true, true));
        // Filling it again has no effect.
        writer.fill().unwrap();
        while readiness(&reader).0 {
            assert_eq!(reader.drain(|| false).unwrap(), Drained::Open);
        }
        assert_eq!(readiness(&writer), (false, true));
    }

    #[test]
    fn unannounced_wakeup_stays_readable() {
        let (mut writer, mut reader) = pair();
        writer.ring().unwrap();
        writer.fill().unwrap();
        writer.ring().unwrap();
        assert!(!writer.has_deferred_wakeups(), "a filled socket has room for wake-ups");
        reader.expect_wakeup();
        for _ in 0..10 {
            assert_eq!(reader.drain(|| true).unwrap(), Drained::Open);
        }
        assert_eq!(readiness(&reader), (true, true), "the second wake-up");
        assert_eq!(reader.announced_wakeups, 0);
        // The wake-up is spurious.
        assert_eq!(reader.drain(|| false).unwrap(), Drained::Open);
        assert!(!readiness(&reader).0);
        // A wake-up that was announced but has not arrived yet wakes the reader later.
        reader.expect_wakeup();
        assert_eq!(reader.drain(|| true).unwrap(), Drained::Open);
        assert_eq!(reader.announced_wakeups, 1);
        writer.ring().unwrap();
        assert_eq!(reader.drain(|| true).unwrap(), Drained::Open);
        assert_eq!((reader.announced_wakeups, readiness(&reader).0), (0, false));
    }

    #[test]
    fn no_wakeup_is_lost_when_the_socket_is_full() {
        let (mut writer, mut reader) = pair();
        let mut rung = 0;
        while !writer.has_deferred_wakeups() {
            writer.ring().unwrap();
            rung += 1;
            assert!(rung < 10_000);
        }
        writer.ring().unwrap();
        rung += 1;
        let mut heard = 0;
        while heard < rung {
            reader.expect_wakeup();
            assert_eq!(reader.drain(|| true).unwrap(), Drained::Open);
            assert_eq!(reader.announced_wakeups, 0, "one wake-up for each");
            heard += 1;
            writer.ring_deferred().unwrap();
        }
        assert!(!writer.has_deferred_wakeups() && !readiness(&reader).0);
    }

    #[test]
    fn hang_up_is_reported_after_pending_octets() {
        for rings_at_the_peer in [false, true] {
            let (mut writer, mut reader) = pair();
            if rings_at_the_peer {
                reader.ring().unwrap();
            }
            writer.ring().unwrap();
            drop(writer);
            let mut rounds = 0;
            while reader.drain(|| false).unwrap() == Drained::Open {
                rounds += 1;
                assert!(rounds < 5);
            }
            assert!(matches!(reader.ring(), Err(Error::Lost(_))));
            assert!(reader.fill().is_err());
        }
    }
}
