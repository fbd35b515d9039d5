//! Messages to the service manager, as of sd_notify(3): a datagram of assignments to the socket that `NOTIFY_SOCKET` names.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use tracing::warn;

/// The variable that names the socket: a path, or `@` and an abstract name.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// Reports that the program is ready for its peers. Without a service manager that waits for it, nothing happens; a report that
/// fails is logged.
pub fn report_ready() {
    report("READY=1");
}

/// Reports that the program is about to end.
pub fn report_stopping() {
    report("STOPPING=1");
}

fn report(state: &str) {
    let Some(socket) = std::env::var_os(VARIABLE).filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        let socket = socket.to_string_lossy();
        warn!(%socket, %error, "cannot report {state} to the service manager; check {VARIABLE} and the access to its socket");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(socket)?,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither an absolute path nor an abstract name")),
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_sent_to_a_path_and_to_an_abstract_name() {
        let path = std::env::temp_dir().join(format!("ferric-notify-{}", std::process::id()));
        let at_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("ferric-notify-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
        let at_name = UnixDatagram::bind_addr(&abstract_address).unwrap();
        for (socket, receiver) in [(path.clone().into_os_string(), at_path), (format!("@{name}").into(), at_name)] {
            send(&socket, "READY=1").unwrap();
            let mut octets = [0; 64];
            let length = receiver.recv(&mut octets).unwrap();
            assert_eq!(&octets[..length], b"READY=1");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn unusable_sockets_are_errors() {
        assert_eq!(send("relative".as_ref(), "READY=1").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(send("/no/such/socket".as_ref(), "READY=1").is_err());
        assert!(send(("/".to_owned() + &"a".repeat(200)).as_ref(), "READY=1").is_err(), "longer than a socket's name");
    }
}
