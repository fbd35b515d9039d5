//! TLS handshakes: they go on between the requests of other clients, and a few of them in a round.

use std::fmt::Display;
use std::io::Write;
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
                self.refuse(number, &error);
            }
        }
    }

    /// Notes why a handshake has failed. The client reads the alert before the connection ends.
    fn refuse(&mut self, number: u64, error: &Error) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let (host, peer) = (connection.host, &connection.peer);
        let why: &dyn Display = match error {
            // probes of a port end so
            Error::Tls(TlsFault::Unfinished) | Error::Lost(_) => return self.end(number, &error.to_string(), false),
            Error::Tls(TlsFault::NotTls) => {
                &"it does not use TLS: connect with rediss:// or redis-cli --tls; a token that it has sent in clear text is to be replaced"
            }
            error => error,
        };
        self.engine.counts.faults += 1;
        if self.log.allow(host) {
            warn!("a client of the shared data layer at {peer} is refused: {why}");
        }
        connection.is_shaking_hands = false;
        self.linger(number);
    }
}

/// Tells a client without TLS that this is the reason.
fn refuse_plainly(stream: &TlsStream) {
    if let Ok(socket) = stream.as_fd().try_clone_to_owned() {
        // it is told or not
        let _ = TcpStream::from(socket).write(PLAIN);
    }
}
