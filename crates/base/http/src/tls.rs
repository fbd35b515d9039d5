//! HTTPS: the server's certificate, and the TLS handshake.

use std::io;
use std::sync::Arc;

use hyper::StatusCode;
use link::{TlsFault, TlsServerFiles};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Problem;
use super::access::TlsFiles;
use super::refusal::to_octets;
use super::request_id::RequestIds;

pub(super) use link::TlsFileError;
pub(super) use rustls::ServerConfig as TlsConfig;

/// The type of a TLS handshake record (RFC 8446 5.1). No HTTP method begins with this octet.
const HANDSHAKE: u8 = 22;
/// Octets of an unencrypted request that are read before it is answered.
const MAX_UNENCRYPTED_OCTETS: usize = 16 * 1024;

/// Reads the files, and checks that they belong together. TLS 1.3 only.
pub(super) fn load(files: &TlsFiles) -> Result<Arc<TlsConfig>, TlsFileError> {
    let TlsFiles { certificate, key, client_ca } = files.clone();
    let mut tls = TlsServerFiles { certificate, key, client_ca }.load()?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(tls))
}

/// Performs the handshake. A client that speaks HTTP is answered with 400.
pub(super) async fn handshake(
    stream: TcpStream,
    config: Arc<TlsConfig>,
    ids: &RequestIds,
) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first != [HANDSHAKE] {
        refuse_http(&stream, ids).await?;
        return Err(io::Error::other("the client does not use TLS; this address requires https://"));
    }
    TlsAcceptor::from(config).accept(stream).await.map_err(|error| {
        let fault = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()).cloned();
        fault.map_or(error, |fault| io::Error::other(TlsFault::from(fault)))
    })
}

/// Answers an unencrypted request. A client that does not take the response at once does not get it.
async fn refuse_http(stream: &TcpStream, ids: &RequestIds) -> io::Result<()> {
    // closing a socket with unread octets would discard the response
    let mut request = vec![0; MAX_UNENCRYPTED_OCTETS];
    let _ = stream.try_read(&mut request);
    let problem = Problem::new(StatusCode::BAD_REQUEST, "this port expects HTTPS, not HTTP: use https://");
    stream.writable().await?;
    stream.try_write(&to_octets(problem, &ids.next())).map(drop)
}
