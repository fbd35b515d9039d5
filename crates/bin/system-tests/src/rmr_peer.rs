//! An xApp as RMR sees it: a connection, and what arrives on it.
#![allow(clippy::missing_panics_doc, reason = "a test fails by a panic")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rmr::{Header, Message, MessageType};
use testkit::PATIENCE;

/// How long nothing may arrive before it counts as an end.
pub const SILENCE: Duration = Duration::from_millis(400);

/// A message that an xApp has received.
#[derive(Debug)]
pub struct Received {
    /// Its type.
    pub kind: MessageType,
    /// Its subscription.
    pub subscription_id: i32,
    /// Its transaction.
    pub transaction: Vec<u8>,
    /// Its managed entity.
    pub meid: String,
    /// Its call data.
    pub data: Vec<u8>,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// A connection of RMR.
#[derive(Debug)]
pub struct Connection(pub TcpStream);

impl Connection {
    /// Connects.
    pub fn open(to: SocketAddr) -> Connection {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection(stream)
    }

    /// Sends a message.
    pub fn send(&mut self, header: &Header<'_>, payload: &[u8]) {
        let mut octets = Vec::new();
        header.write(payload.len(), &mut octets);
        octets.extend_from_slice(payload);
        self.0.write_all(&octets).unwrap();
    }

    /// Waits for a message; `None` if none arrives within the time.
    pub fn receive_within(&mut self, time: Duration) -> Option<Received> {
        self.0.set_read_timeout(Some(time)).unwrap();
        let mut length = [0; 4];
        match self.0.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return None,
            Err(error) => panic!("{error}"),
        }
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut octets = length.to_vec();
        octets.resize(u32::from_le_bytes(length) as usize, 0);
        self.0.read_exact(&mut octets[4..]).unwrap();
        let message = Message::read(&octets).unwrap();
        Some(Received {
            kind: message.kind,
            subscription_id: message.subscription_id,
            transaction: message.transaction.to_vec(),
            meid: message.meid().to_owned(),
            data: message.data.to_vec(),
            payload: message.payload.to_vec(),
        })
    }

    /// Waits for a message.
    pub fn receive(&mut self) -> Received {
        self.receive_within(PATIENCE).expect("a message")
    }

    /// Waits until nothing of a type arrives any more.
    pub fn await_silence(&mut self) {
        let begun = Instant::now();
        while self.receive_within(SILENCE).is_some() {
            assert!(begun.elapsed() < PATIENCE, "messages go on");
        }
    }

    /// Whether the peer closes it.
    pub fn is_closed(&mut self) -> bool {
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        match self.0.read(&mut [0]) {
            Ok(octets) => octets == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Whether the peer closes it after what it has sent.
    pub fn is_closed_after_messages(&mut self) -> bool {
        let mut rest = Vec::new();
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        self.0.read_to_end(&mut rest).is_ok()
    }
}
