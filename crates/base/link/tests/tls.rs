//! The contract for TLS, and tests of TLS only.
#![cfg(feature = "tls")]

mod suite;

use suite::Kind;
use suite::{issue, tls};
use testkit::certificates::Authority;

macro_rules! on_every_kind {
    ($($name:ident),* $(,)?) => {
        mod tls { $(#[test] fn $name() { super::suite::$name(super::Kind::Tls); })* }
        mod tls_ipv6 { $(#[test] fn $name() { super::suite::$name(super::Kind::TlsIpv6); })* }
    };
}

suite::for_every_test!(on_every_kind);

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use ferric_link::{
    Address, Class, ClientCertificates, Config, Error, Events, Family, Identity, Interest, Link, Listener, Poll,
    Renewal, Scratch, State, StreamId, Tls, TlsClientFiles, TlsFault, TlsFileError, TlsFiles, TlsStream,
};
use testkit::certificates::rcgen::{self, DnType, ExtendedKeyUsagePurpose};

fn config(tls: Tls) -> Config {
    Config { tls: Some(tls), ..Config::default() }
}

/// Drives both ends of a handshake until each is closed or established; then each receives until an error or the timeout. Returns
/// the results of the client and of the server.
fn shake_hands(client: Tls, server: Tls, host: &str) -> [Result<Identity, Error>; 2] {
    let mut listener = Listener::bind(&"tls://127.0.0.1:0".parse().unwrap(), &config(server)).unwrap();
    let Address::Tls { port, .. } = *listener.local_address() else { unreachable!() };
    let address = Address::Tls { host: host.into(), port };
    let client = Link::connect(&address, &config(client)).unwrap();
    let poll = Poll::new().unwrap();
    poll.add(&listener, 2, Interest::READ).unwrap();
    poll.add(&client, 0, Interest::READ_WRITE).unwrap();
    let mut links = [Some(client), None];
    let mut ended = [None, None];
    let mut events = Events::new();
    let mut scratch = Scratch::new();
    loop {
        // The maximum duration of a handshake; then both are established and idle.
        poll.wait(&mut events, Some(Duration::from_millis(if links[1].is_some() { 200 } else { 10_000 }))).unwrap();
        if events.get(0).is_none() {
            break;
        }
        for event in events.iter() {
            let token = usize::try_from(event.token).unwrap();
            if token == 2 {
                let server = listener.accept().unwrap().unwrap();
                poll.add(&server, 1, Interest::READ).unwrap();
                links[1] = Some(server);
                continue;
            }
            let Some(link) = &mut links[token] else { continue };
            let received = link.receive(&mut scratch, 1 << 16, &mut |_, _| panic!("nothing was sent"));
            match received {
                Ok(_) => {
                    let wanted = if link.wants_write() { Interest::READ_WRITE } else { Interest::READ };
                    poll.modify(link, event.token, wanted).unwrap();
                }
                Err(error) => {
                    ended[token] = Some(error);
                    poll.remove(link).unwrap();
                }
            }
        }
        if ended.iter().all(Option::is_some) {
            break;
        }
    }
    let mut ended = ended.into_iter();
    links.map(|link| {
        let link = link.unwrap();
        match ended.next().unwrap() {
            Some(error) => {
                assert_eq!(link.state(), State::Closed);
                Err(error)
            }
            None => {
                assert_eq!(link.state(), State::Established);
                Ok(link.identity().unwrap().clone())
            }
        }
    })
}

fn fault(result: &Result<Identity, Error>) -> &TlsFault {
    match result {
        Err(error @ Error::Tls(fault)) => {
            assert_eq!(error.family(), Family::Peer);
            fault
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_end_has_the_identity_of_the_other() {
    let authority = Authority::new();
    let client =
        tls(&authority, &["gnb1.example"], |params| params.distinguished_name.push(DnType::CommonName, "gnb1"));
    let server = tls(&authority, &["127.0.0.1", "ric.example"], |_| ());
    let [seen_by_client, seen_by_server] = shake_hands(client.unwrap(), server.unwrap(), "127.0.0.1");
    let (ric, gnb) = (seen_by_client.unwrap(), seen_by_server.unwrap());
    assert!(ric.is("ric.example") && !ric.is("gnb1.example"));
    assert_eq!(gnb.to_string(), "gnb1.example");
    assert_eq!(gnb.common_name.as_deref(), Some("gnb1"));
    assert_ne!(gnb.fingerprint, ric.fingerprint);
    assert!(gnb.is(&gnb.fingerprint.to_string()));
    // A link without TLS has no identity.
    let mut listener = Listener::bind(&"tcp://127.0.0.1:0".parse().unwrap(), &Config::default()).unwrap();
    let _client = Link::connect(listener.local_address(), &Config::default()).unwrap();
    assert_eq!(listener.accept().unwrap().unwrap().identity(), None);
}

#[test]
fn fingerprint_equals_that_of_openssl() {
    let authority = Authority::new();
    let files = issue(&authority, &["x.example"], |_| ());
    let tool = std::process::Command::new("openssl")
        .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
        .arg(&files.certificate)
        .output();
    let Ok(tool) = tool else { return eprintln!("no openssl here: the fingerprint is not compared") };
    let printed = String::from_utf8(tool.stdout).unwrap();
    let theirs = format!("sha256:{}", printed.trim().rsplit('=').next().unwrap());
    let server = tls(&authority, &["127.0.0.1"], |_| ()).unwrap();
    let [_, seen] = shake_hands(Tls::load(&files).unwrap(), server, "127.0.0.1");
    assert!(seen.unwrap().is(&theirs), "{theirs}");
}

#[test]
fn untrusted_peer_is_rejected_with_the_reason() {
    let (ours, others) = (Authority::new(), Authority::new());
    let good = || tls(&ours, &["127.0.0.1"], |_| ()).unwrap();
    let day = |year: i32| {
        move |params: &mut rcgen::CertificateParams| {
            params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
        }
    };
    let for_servers = |params: &mut rcgen::CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    };
    let for_clients = |params: &mut rcgen::CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    // Clients that the server rejects. The alert arrives after the handshake is complete at the client.
    for (bad, expected) in [
        (tls(&ours, &["a"], day(2020)), TlsFault::Expired),
        (tls(&ours, &["a"], day(2090)), TlsFault::NotYetValid),
        (tls(&ours, &["a"], for_servers), TlsFault::WrongUse),
        (foreign(&others, &ours, "a"), TlsFault::UnknownCa),
    ] {
        let [client, server] = shake_hands(bad.unwrap(), good(), "127.0.0.1");
        assert_eq!(fault(&server), &expected);
        assert!(matches!(fault(&client), TlsFault::Refused(_)), "{client:?}");
    }
    // Servers that the client rejects.
    for (bad, expected) in [
        (tls(&ours, &["127.0.0.1"], day(2020)), TlsFault::Expired),
        (tls(&ours, &["127.0.0.1"], day(2090)), TlsFault::NotYetValid),
        (tls(&ours, &["127.0.0.1"], for_clients), TlsFault::WrongUse),
        (tls(&ours, &["ric.example", "127.0.0.2"], |_| ()), TlsFault::WrongName),
        (
            tls(&ours, &[], |params| params.distinguished_name.push(DnType::CommonName, "127.0.0.1")),
            TlsFault::WrongName,
        ),
        (foreign(&others, &ours, "127.0.0.1"), TlsFault::UnknownCa),
    ] {
        let [client, server] = shake_hands(good(), bad.unwrap(), "127.0.0.1");
        assert_eq!(fault(&client), &expected);
        assert!(matches!(fault(&server), TlsFault::Refused(_) | TlsFault::Protocol(_)), "{server:?}");
    }
    // By name, too.
    let named = tls(&ours, &["localhost"], |_| ()).unwrap();
    let [client, server] = shake_hands(good(), named, "localhost");
    assert!(client.unwrap().is("localhost") && server.is_ok());
}

/// Credentials with a certificate of `authority` and trust in `trusted`.
fn foreign(authority: &Authority, trusted: &Authority, name: &str) -> Result<Tls, TlsFileError> {
    let files = issue(authority, &[name], |_| ());
    Tls::load(&TlsFiles { ca: trusted.ca(), ..files })
}

#[test]
fn errors_state_the_remedy() {
    use rustls::AlertDescription as Alert;
    for (fault, expected) in [
        (TlsFault::NoCertificate, "configure one at the peer"),
        (TlsFault::UnknownCa, "add the CA that signed it"),
        (TlsFault::Expired, "renew it"),
        (TlsFault::NotYetValid, "clocks"),
        (TlsFault::WrongName, "subject alternative name"),
        (TlsFault::WrongUse, "clientAuth"),
        (TlsFault::Refused(Alert::CertificateExpired), "our certificate as expired"),
        (TlsFault::Refused(Alert::UnknownCA), "the CA of our certificate"),
        (TlsFault::Refused(Alert::BadCertificate), "BadCertificate"),
        (TlsFault::NotTls, "tls:// address"),
        (TlsFault::Unfinished, "log of the peer"),
    ] {
        let message = Error::Tls(fault).to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// A listener and a plain socket that is connected to it.
fn strange_client() -> (Link, TcpStream) {
    static TLS: std::sync::LazyLock<Tls> =
        std::sync::LazyLock::new(|| tls(&Authority::new(), &["127.0.0.1"], |_| ()).unwrap());
    let mut listener = Listener::bind(&"tls://127.0.0.1:0".parse().unwrap(), &config(TLS.clone())).unwrap();
    let Address::Tls { port, .. } = *listener.local_address() else { unreachable!() };
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    wait_readable(&listener);
    (listener.accept().unwrap().unwrap(), client)
}

fn wait_readable(source: &impl std::os::fd::AsFd) {
    let poll = Poll::new().unwrap();
    poll.add(source, 0, Interest::READ).unwrap();
    let mut events = Events::new();
    poll.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
    assert!(events.get(0).is_some(), "nothing arrives");
}

fn end_of(link: &mut Link) -> Error {
    loop {
        wait_readable(link);
        if let Err(error) = link.receive(&mut Scratch::new(), 1 << 16, &mut |_, _| panic!("a PDU")) {
            assert_eq!(link.state(), State::Closed);
            return error;
        }
    }
}

#[test]
fn plain_tcp_is_reported_as_not_tls() {
    // A PDU over plain TCP; HTTP; a record that is too long; an empty record.
    let framed = [&[0, 0, 0, 60][..], &[7; 60]].concat();
    for octets in [&framed[..], b"GET / HTTP/1.1\r\n\r\n", &[22, 3, 1, 0xff, 0xff], &[22, 3, 1, 0, 0, 22, 3, 1, 0, 0]] {
        let (mut link, mut client) = strange_client();
        // Reported at once, while the peer waits for an answer.
        client.write_all(octets).unwrap();
        match end_of(&mut link) {
            Error::Tls(TlsFault::NotTls) => {}
            other => panic!("{other:?}"),
        }
    }
    let (mut link, client) = strange_client();
    drop(client);
    assert!(matches!(end_of(&mut link), Error::Tls(TlsFault::Unfinished)));
}

#[test]
fn partial_handshake_waits_with_little_memory() {
    let (mut link, mut client) = strange_client();
    // The beginning of a ClientHello that announces 16 KiB.
    client.write_all(&[22, 3, 1, 0x40, 0]).unwrap();
    for _ in 0..1000 {
        client.write_all(&[1]).unwrap();
        wait_readable(&link);
        let received = link.receive(&mut Scratch::new(), 1 << 16, &mut |_, _| ()).unwrap();
        assert_eq!((received.pdus, received.octets), (0, 0));
        assert_eq!(link.state(), State::Connecting);
        assert!(!link.wants_write(), "it waits for the peer, not for the socket");
    }
    assert_eq!(link.identity(), None);
    // PDUs wait meanwhile, within their bound.
    link.send(StreamId(0), &[b"early"], Class::Keep).unwrap();
    assert!(!link.flush().unwrap().waiting);
    assert!(link.queued_octets() > 0);
}

#[test]
fn cut_connection_differs_from_closed_one() {
    let tls = tls(&Authority::new(), &["127.0.0.1"], |_| ()).unwrap();
    for is_cut in [false, true] {
        let mut listener = Listener::bind(&"tls://127.0.0.1:0".parse().unwrap(), &config(tls.clone())).unwrap();
        let mut client = Link::connect(listener.local_address(), &config(tls.clone())).unwrap();
        wait_readable(&listener);
        let mut server = listener.accept().unwrap().unwrap();
        let mut scratch = Scratch::new();
        while [client.state(), server.state()].contains(&State::Connecting) {
            client.receive(&mut scratch, 1000, &mut |_, _| ()).unwrap();
            server.receive(&mut scratch, 1000, &mut |_, _| ()).unwrap();
        }
        client.send(StreamId(0), &[b"last"], Class::Keep).unwrap();
        client.flush().unwrap();
        if is_cut {
            // Nothing can be sent on a cut connection.
            rustix::net::shutdown(&client, rustix::net::Shutdown::Both).unwrap();
            drop(client);
        } else {
            client.close();
        }
        let mut got = 0;
        let error = loop {
            wait_readable(&server);
            if let Err(error) = server.receive(&mut scratch, 1000, &mut |_, _| got += 1) {
                break error;
            }
        };
        assert_eq!(got, 1);
        assert_eq!(matches!(error, Error::Lost(_)), is_cut, "{error:?}");
        assert_eq!(matches!(error, Error::Closed), !is_cut, "{error:?}");
    }
}

#[test]
fn server_without_tls_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let tls = tls(&Authority::new(), &["a"], |_| ()).unwrap();
    let address = Address::Tls { host: "127.0.0.1".into(), port };
    let mut link = Link::connect(&address, &config(tls.clone())).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    assert!(link.flush().unwrap().octets == 0);
    let mut hello = [0; 5];
    peer.read_exact(&mut hello).unwrap();
    assert_eq!(hello[0], 22, "a record of the handshake");
    peer.write_all(b"SSH-2.0-something\r\n").unwrap();
    drop(peer);
    assert!(matches!(end_of(&mut link), Error::Tls(_) | Error::Lost(_)));
    // Without a listener, the error is that of TCP.
    drop(listener);
    let mut link = Link::connect(&address, &config(tls)).unwrap();
    let error = end_of(&mut link);
    assert!(matches!(&error, Error::Connect { address: reported, .. } if *reported == address), "{error:?}");
}

#[test]
fn tls_requires_certificates() {
    let address: Address = "tls://127.0.0.1:0".parse().unwrap();
    for error in [
        Listener::bind(&address, &Config::default()).err().unwrap(),
        Link::connect(&address, &Config::default()).err().unwrap(),
    ] {
        assert!(matches!(error, Error::TlsMissing), "{error:?}");
        assert!(error.to_string().contains("a CA, a certificate and a key"), "{error}");
    }
}

#[test]
fn unusable_files_are_named() {
    let authority = Authority::new();
    let good = issue(&authority, &["a"], |_| ());
    let other = issue(&authority, &["b"], |_| ());
    let error_of = |files: TlsFiles| Tls::load(&files).unwrap_err().to_string();
    let missing = authority.path("missing.pem");
    for (files, which) in [
        (TlsFiles { ca: missing.clone(), ..good.clone() }, "CA"),
        (TlsFiles { certificate: missing.clone(), ..good.clone() }, "certificate"),
        (TlsFiles { key: missing.clone(), ..good.clone() }, "key"),
    ] {
        let message = error_of(files);
        assert!(message.contains(&format!("the {which} file {}", missing.display())), "{message}");
        assert!(message.contains("No such file"), "{message}");
    }
    let message = error_of(TlsFiles { key: other.key.clone(), ..good.clone() });
    assert!(message.contains("is not that of the certificate"), "{message}");
    // Swapped files, empty files, and files without a certificate.
    let message = error_of(TlsFiles { key: good.certificate.clone(), ..good.clone() });
    assert!(message.contains("no private key as PEM"), "{message}");
    let message = error_of(TlsFiles { certificate: good.key.clone(), ..good.clone() });
    assert!(message.contains("no certificate as PEM"), "{message}");
    let broken = authority.path("broken.pem");
    for text in
        ["", "text", "-----BEGIN CERTIFICATE-----\nAAAA", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"]
    {
        std::fs::write(&broken, text).unwrap();
        let message = error_of(TlsFiles { ca: broken.clone(), ..good.clone() });
        assert!(message.contains("no certificate as PEM"), "{message}");
    }
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n").unwrap();
    let message = error_of(TlsFiles { ca: broken.clone(), ..good.clone() });
    assert!(message.contains("CA file") && message.contains("cannot be used"), "{message}");
    let message = error_of(TlsFiles { certificate: broken, ..good });
    assert!(message.contains("certificate file") && message.contains("cannot be used"), "{message}");
}

/// New links use the new content of the files. Unusable content has no effect and is reported once.
#[test]
fn changed_files_are_reloaded() {
    let authority = Authority::new();
    let files = issue(&authority, &["127.0.0.1"], |_| ());
    let (server, client) = (Tls::load(&files).unwrap(), tls(&authority, &["client.example"], |_| ()).unwrap());
    let shown = || {
        let [seen, _] = shake_hands(client.clone(), server.clone(), "127.0.0.1");
        seen.unwrap().fingerprint
    };
    // the files are checked once a second
    let renew = || {
        std::thread::sleep(Duration::from_millis(1010));
        server.renew()
    };
    let first = shown();
    assert!(matches!(renew(), Renewal::Unchanged));

    let renewed = issue(&authority, &["127.0.0.1"], |_| ());
    std::fs::copy(&renewed.certificate, &files.certificate).unwrap();
    match renew() {
        Renewal::Failed(error @ TlsFileError::KeyDoesNotFit { .. }) => {
            assert!(error.to_string().contains("is not that of"))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(shown(), first);
    assert!(matches!(renew(), Renewal::Unchanged), "it is reported once");
    std::fs::copy(&renewed.key, &files.key).unwrap();
    assert!(matches!(server.renew(), Renewal::Unchanged), "too early");
    assert!(matches!(renew(), Renewal::Renewed));
    let second = shown();
    assert_ne!(second, first);

    std::fs::remove_file(&files.ca).unwrap();
    assert!(matches!(renew(), Renewal::Failed(TlsFileError::Read { .. })));
    assert_eq!(shown(), second);
}

/// A stream whose client is a thread that does `dialogue`, and presents a certificate for `names` if there are any.
fn stream_with(
    names: &[&str],
    of_clients: ClientCertificates,
    dialogue: impl FnOnce(&mut rustls::StreamOwned<rustls::ClientConnection, TcpStream>) + Send + 'static,
) -> (TlsStream, std::thread::JoinHandle<()>) {
    let authority = Authority::new();
    let server = tls(&authority, &["127.0.0.1"], |_| ()).unwrap();
    let own = (!names.is_empty()).then(|| authority.issue(names, |_| ()));
    let own = own.map(|files| (files.certificate, files.key));
    let config = TlsClientFiles { ca: authority.ca(), own }.load().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let client = rustls::ClientConnection::new(config.into(), "127.0.0.1".try_into().unwrap()).unwrap();
    let client = std::thread::spawn(move || dialogue(&mut rustls::StreamOwned::new(client, socket)));
    let accepted = listener.accept().unwrap().0;
    accepted.set_nonblocking(true).unwrap();
    (TlsStream::accepted(accepted.into(), &server, of_clients).unwrap(), client)
}

/// Repeats an operation that does not block until it has a result.
fn until<T>(mut step: impl FnMut() -> Result<Option<T>, Error>) -> Result<T, Error> {
    let begun = std::time::Instant::now();
    loop {
        if let Some(result) = step()? {
            return Ok(result);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing happens");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn stream_carries_octets_in_both_directions_and_ends_with_a_notification() {
    const OCTETS: usize = 20 << 20;
    let (mut stream, client) = stream_with(&[], ClientCertificates::Optional, |client| {
        client.write_all(&[7; 100_000]).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let mut received = Vec::new();
        client.read_to_end(&mut received).expect("a close notification");
        assert!(received.len() == OCTETS && received.iter().all(|octet| *octet == 9));
        client.conn.send_close_notify();
        client.flush().unwrap();
    });
    until(|| stream.shake_hands().map(|is_complete| is_complete.then_some(()))).unwrap();
    assert_eq!(stream.identity(), None);
    let (mut scratch, mut received) = ([0; 4096], Vec::new());
    until(|| {
        stream.receive(&mut scratch, &mut |octets| received.extend_from_slice(octets))?;
        Ok((received.len() == 100_000).then_some(()))
    })
    .unwrap();
    assert!(received.iter().all(|octet| *octet == 7));
    let (octets, mut sent, mut has_waited) = (vec![9; OCTETS], 0, false);
    until(|| {
        while sent < OCTETS || stream.wants_write() {
            let (taken, flushed) = stream.send(&octets[sent..])?;
            assert!(taken <= 1 << 14, "one record");
            sent += taken;
            if flushed.waiting {
                has_waited = true;
                return Ok(None);
            }
        }
        Ok(Some(()))
    })
    .unwrap();
    assert!(has_waited, "the client does not read at first");
    drop(stream);
    client.join().unwrap();
}

#[test]
fn stream_ends_as_its_client_does() {
    let receive = |mut stream: TlsStream| {
        until(|| stream.shake_hands().map(|is_complete| is_complete.then_some(()))).unwrap();
        let name = stream.identity().map(ToString::to_string);
        let error = until::<()>(|| stream.receive(&mut [0; 100], &mut |_| ()).map(|_| None)).unwrap_err();
        (name, error)
    };
    let (stream, client) = stream_with(&["kpm.example"], ClientCertificates::Required, |client| {
        client.conn.complete_io(&mut client.sock).unwrap();
        client.conn.send_close_notify();
        client.flush().unwrap();
    });
    let (name, error) = receive(stream);
    assert!(name.as_deref() == Some("kpm.example") && matches!(error, Error::Closed), "{name:?} {error:?}");
    client.join().unwrap();
    let (stream, client) = stream_with(&["kpm.example"], ClientCertificates::Optional, |client| {
        client.conn.complete_io(&mut client.sock).unwrap();
    });
    let (name, error) = receive(stream);
    assert!(name.as_deref() == Some("kpm.example") && matches!(error, Error::Lost(_)), "{name:?} {error:?}");
    client.join().unwrap();
    let (mut stream, client) = stream_with(&[], ClientCertificates::Required, |client| {
        let error = client.write_all(b"x").and_then(|()| client.read_exact(&mut [0])).unwrap_err();
        assert!(error.to_string().contains("CertificateRequired"), "{error}");
    });
    let error = until(|| stream.shake_hands().map(|is_complete| is_complete.then_some(()))).unwrap_err();
    assert!(matches!(error, Error::Tls(TlsFault::NoCertificate)), "{error:?}");
    drop(stream);
    client.join().unwrap();
}
