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

/// Clients of a server with TLS, which negotiate the version of HTTP by ALPN (RFC 7301, RFC 9113 3.2).
#[cfg(feature = "tls")]
mod alpn {
    use std::io;
    use std::sync::Arc;

    use rustls::ClientConfig;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use testkit::certificates::Authority;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::TlsConnector;
    use tokio_rustls::client::TlsStream;

    use super::*;

    fn start_with_tls(authority: &Authority) -> Server {
        let files = authority.issue_as("server", &["127.0.0.1"], |_| ());
        let tls = crate::TlsFiles { certificate: files.certificate, key: files.key, client_ca: None };
        let access = crate::Access::load(crate::AccessFiles { tls: Some(tls), tokens: None }).unwrap();
        start(ServerConfig { access, ..small() })
    }

    /// Connects a client that offers protocols.
    async fn offer(authority: &Authority, rest: &Server, protocols: &[&str]) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority.ca()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let socket = TcpStream::connect(rest.address()).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, socket).await
    }

    fn protocol(stream: &TlsStream<TcpStream>) -> Option<String> {
        stream.get_ref().1.alpn_protocol().map(|protocol| String::from_utf8(protocol.to_vec()).unwrap())
    }

    async fn is_served_by_http2(stream: TlsStream<TcpStream>) {
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let (response, _) = client.send_request(request(Method::GET, "https://localhost/hello"), true).unwrap();
        let response = response.await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, Version::HTTP_2));
    }

    async fn is_served_by_http1(mut stream: TlsStream<TcpStream>) {
        stream.write_all(b"GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\"world\"\n"), "{answer}");
    }

    #[test]
    fn client_of_one_version_gets_it() {
        let authority = Authority::new();
        let rest = start_with_tls(&authority);
        run(async {
            let stream = offer(&authority, &rest, &["h2"]).await.unwrap();
            assert_eq!(protocol(&stream).as_deref(), Some("h2"));
            is_served_by_http2(stream).await;
            let stream = offer(&authority, &rest, &["http/1.1"]).await.unwrap();
            assert_eq!(protocol(&stream).as_deref(), Some("http/1.1"));
            is_served_by_http1(stream).await;
        });
    }

    #[test]
    fn client_of_both_versions_gets_http2_in_either_order() {
        let authority = Authority::new();
        let rest = start_with_tls(&authority);
        run(async {
            for protocols in [["h2", "http/1.1"], ["http/1.1", "h2"]] {
                let stream = offer(&authority, &rest, &protocols).await.unwrap();
                assert_eq!(protocol(&stream).as_deref(), Some("h2"), "{protocols:?}");
                is_served_by_http2(stream).await;
            }
            let stream = offer(&authority, &rest, &["spdy/3", "http/1.1"]).await.unwrap();
            assert_eq!(protocol(&stream).as_deref(), Some("http/1.1"), "what is not known is passed over");
            is_served_by_http1(stream).await;
        });
    }

    /// It is served by what it sends, as without TLS.
    #[test]
    fn client_without_alpn_is_served() {
        let authority = Authority::new();
        let rest = start_with_tls(&authority);
        run(async {
            for is_http2 in [false, true] {
                let stream = offer(&authority, &rest, &[]).await.unwrap();
                assert_eq!(protocol(&stream), None);
                match is_http2 {
                    false => is_served_by_http1(stream).await,
                    true => is_served_by_http2(stream).await,
                }
            }
        });
    }

    /// The alert is no_application_protocol (RFC 7301 3.2).
    #[test]
    fn client_of_other_protocols_only_is_refused_with_an_alert() {
        let authority = Authority::new();
        let rest = start_with_tls(&authority);
        run(async {
            for protocols in [&["spdy/3"][..], &["h2c", "http/1.0"]] {
                let error = offer(&authority, &rest, protocols).await.unwrap_err();
                let alert = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
                let expected = rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol);
                assert_eq!(alert, Some(&expected), "{protocols:?}: {error}");
            }
            // others are served
            is_served_by_http1(offer(&authority, &rest, &["http/1.1"]).await.unwrap()).await;
        });
    }
}
