//! The beginning of a connection of HTTPS.

use std::io;
use std::sync::Arc;

use ferric::link::TlsFault;
use hyper::StatusCode;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Problem;
use super::stream::written;

/// The type of a record of TLS's handshake (RFC 8446 5.1): no method of HTTP begins like that.
const HANDSHAKE: u8 = 22;
/// Octets of a request in the clear that are read before it is answered.
const MAX_CLEAR_OCTETS: usize = 16 * 1024;

/// Shakes hands. Who speaks HTTP in the clear is told so.
pub(super) async fn shake_hands(stream: TcpStream, config: Arc<ServerConfig>) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first != [HANDSHAKE] {
        answer_in_the_clear(&stream).await?;
        return Err(io::Error::other("the client does not speak TLS; the address is an https:// one"));
    }
    TlsAcceptor::from(config).accept(stream).await.map_err(|error| {
        let fault = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()).cloned();
        fault.map_or(error, |fault| io::Error::other(TlsFault::from(fault)))
    })
}

/// Who does not take that at once gets nothing.
async fn answer_in_the_clear(stream: &TcpStream) -> io::Result<()> {
    // what is left unread when a connection is closed has the answer lost
    let mut request = vec![0; MAX_CLEAR_OCTETS];
    let _ = stream.try_read(&mut request);
    let problem = Problem::new(StatusCode::BAD_REQUEST, "HTTPS is spoken here, not HTTP: use https://");
    stream.writable().await?;
    stream.try_write(&written(problem.into())).map(drop)
}
