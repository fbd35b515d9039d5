//! HTTP/2, with prior knowledge and over TLS.

use h2::client::SendRequest;
use hyper::body::Bytes;
use hyper::{Method, Request as HttpRequest, Version};
use tokio::net::TcpStream;

use super::*;

/// Reads a body.
async fn collect(mut body: h2::RecvStream) -> String {
    let mut octets = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.unwrap();
        let _ = body.flow_control().release_capacity(chunk.len());
        octets.extend_from_slice(&chunk);
    }
    String::from_utf8(octets).unwrap()
}

/// Runs a client until it ends.
fn run<T>(client: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, client).await.expect("an answer in time") })
}

async fn connect(address: SocketAddr) -> SendRequest<Bytes> {
    let socket = TcpStream::connect(address).await.unwrap();
    let (client, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    client.ready().await.unwrap()
}

fn request(method: Method, uri: &str) -> HttpRequest<()> {
    HttpRequest::builder().version(Version::HTTP_2).method(method).uri(uri).body(()).unwrap()
}

#[test]
fn requests_share_a_connection() {
    let rest = start(small());
    run(async {
        let mut client = connect(rest.address()).await;
        let responses: Vec<_> = (0..20)
            .map(|_| client.send_request(request(Method::GET, "http://localhost/hello"), true).unwrap().0)
            .collect();
        for response in responses {
            let response = response.await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["x-request-id"].len(), 16);
            assert!(!response.headers().contains_key("connection"));
            assert_eq!(collect(response.into_body()).await, "\"world\"\n");
        }
        let mut put = request(Method::PUT, "http://localhost/echo");
        put.headers_mut().insert("content-type", "application/json".parse().unwrap());
        let (response, mut body) = client.send_request(put, false).unwrap();
        body.send_data(Bytes::from_static(b"{\"a\": 1}"), true).unwrap();
        assert_eq!(collect(response.await.unwrap().into_body()).await, "{\"a\":1}\n");
        let (response, mut body) = client.send_request(request(Method::PUT, "http://localhost/octets"), false).unwrap();
        body.send_data(Bytes::from(vec![0; 2000]), true).unwrap();
        assert_eq!(response.await.unwrap().status(), 413);
        // the connection is still good
        let (response, _) = client.send_request(request(Method::GET, "http://localhost/hello"), true).unwrap();
        assert_eq!(response.await.unwrap().status(), 200);
    });
}

#[test]
fn host_of_a_request_is_that_of_its_target() {
    let host = |request: &Request| Ok(Response::ok(request.headers["host"].to_str().unwrap().to_owned()));
    let rest = Server::start(small(), vec![Route::new(Operation::get("/host", "", ""), host)]).unwrap();
    run(async {
        let mut client = connect(rest.address()).await;
        let get = request(Method::GET, "http://localhost:8092/host");
        let (response, _) = client.send_request(get, true).unwrap();
        assert_eq!(collect(response.await.unwrap().into_body()).await, "\"localhost:8092\"\n");
    });
}

#[test]
fn foreign_authority_is_refused_on_a_loopback_address() {
    let rest = start(small());
    run(async {
        let mut client = connect(rest.address()).await;
        for (uri, status) in [
            ("http://evil.example/hello", 421),
            ("http://user@localhost/hello", 400),
            ("http://127.0.0.1:80/hello", 200),
            ("http://[::1]/hello", 200),
        ] {
            let (response, _) = client.send_request(request(Method::GET, uri), true).unwrap();
            assert_eq!(response.await.unwrap().status(), status, "{uri}");
        }
    });
}

#[test]
fn idle_connection_and_incomplete_preface_are_closed() {
    let rest = start(ServerConfig { read_timeout: Duration::from_millis(200), ..small() });
    let mut half = Client::connect(rest.address());
    half.write(b"PRI * HTTP/2.0\r\n\r\nSM");
    half.expect_closed();
    run(async {
        let socket = TcpStream::connect(rest.address()).await.unwrap();
        let (client, connection) = h2::client::handshake(socket).await.unwrap();
        let ended = tokio::spawn(connection);
        ended.await.unwrap().unwrap();
        drop(client);
    });
    // one octet at a time is HTTP/2 all the same
    let mut slow = Client::connect(rest.address());
    slow.write(b"P");
    slow.write(b"UT /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    slow.receive().expect_problem(404, &[]);
}

#[test]
fn malformed_frames_end_the_connection_and_no_other() {
    let rest = start(small());
    for frame in [
        // a DATA frame without a stream; a HEADERS frame of 16 MiB; an unknown setting with a wrong length; garbage
        &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..],
        &[0xff, 0xff, 0xff, 1, 4, 0, 0, 0, 1],
        &[0, 0, 5, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5],
        b"GET /hello HTTP/1.1\r\n\r\n",
    ] {
        let mut client = Client::connect(rest.address());
        client.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        client.write(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
        let _ = client.try_write(frame); // the server may be quicker
        client.expect_closed();
        is_served(rest.address());
    }
}

#[cfg(feature = "tls")]
#[test]
fn tls_clients_negotiate_the_version() {
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};

    let authority = testkit::certificates::Authority::new();
    let files = authority.issue_as("server", &["127.0.0.1"], |_| ());
    let tls = crate::TlsFiles { certificate: files.certificate, key: files.key, client_ca: None };
    let access = crate::Access::load(crate::AccessFiles { tls: Some(tls), tokens: None }).unwrap();
    let rest = start(ServerConfig { access, ..small() });
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.ca()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    run(async {
        let socket = TcpStream::connect(rest.address()).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let (response, _) = client.send_request(request(Method::GET, "https://localhost/hello"), true).unwrap();
        let response = response.await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, Version::HTTP_2));
    });
}
