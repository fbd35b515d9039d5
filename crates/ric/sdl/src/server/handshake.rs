//! TLS handshakes: they go on between the requests of other clients, and a few of them in a round.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

use link::{Error, Interest, Renewal, Tls, TlsFault, TlsStream};
use tracing::{info, warn};

use super::Server;
use crate::connection::Socket;

/// Handshakes that go on in a round: each may take a millisecond of others' time.
pub(super) const IN_A_ROUND: usize = 8;

/// What a client reads that does not use TLS.
const PLAIN: &[u8] = b"-ERR this address takes TLS only: connect with rediss://, or redis-cli --tls\r\n";

/// Reads the certificate again if its files have changed.
pub(super) fn renew(tls: &Tls) {
    match tls.renew() {
        Renewal::Unchanged => {}
        Renewal::Renewed => info!("TLS files changed: new clients of the shared data layer get their content"),
        Renewal::Failed(error) => warn!(
            %error,
            "TLS files changed but cannot be used: new clients of the shared data layer get the previous ones; correct the files"
        ),
    }
}

impl Server {
    pub(super) fn is_shaking_hands(&self, number: u64) -> bool {
        self.connections.get(&number).is_some_and(|connection| connection.is_shaking_hands)
    }

    /// Continues a handshake. When it is complete, the client has the rights of its certificate.
    pub(super) fn shake_hands(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let Socket::Tls(stream) = &mut connection.socket else { return };
        match stream.shake_hands() {
            Ok(is_complete) => {
                if is_complete {
                    connection.is_shaking_hands = false;
                    connection.session.identity = stream.identity().cloned();
                    connection.session.identify(&self.engine.access);
                }
                self.set_interest(number, Interest::READ);
            }
            Err(error) => {
                if matches!(error, Error::Tls(TlsFault::NotTls)) {
                    refuse_plainly(stream);
                }
                self.end_handshake(number, &error);
            }
        }
    }

    fn end_handshake(&mut self, number: u64, error: &Error) {
        match error {
            Error::Tls(TlsFault::NotTls) => self.end(
                number,
                "it does not use TLS: connect with rediss:// or redis-cli --tls; a token that it has sent in clear text is to be replaced",
                true,
            ),
            // probes of a port end so
            Error::Tls(TlsFault::Unfinished) | Error::Lost(_) => self.end(number, &error.to_string(), false),
            _ => self.end(number, &error.to_string(), true),
        }
    }
}

/// Tells a client without TLS that this is the reason. What it has sent is taken off the socket first, for else the end of the
/// connection would be a reset, with which the text is lost.
fn refuse_plainly(stream: &TlsStream) {
    let Ok(socket) = stream.as_fd().try_clone_to_owned() else { return };
    let mut socket = TcpStream::from(socket);
    let mut octets = [0; 4096];
    for _ in 0..16 {
        match socket.read(&mut octets) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    // it is told or not
    let _ = socket.write(PLAIN);
}
