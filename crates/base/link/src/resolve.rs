//! Conversion of host names to socket addresses and back.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Returns all socket addresses of a host. A name is looked up with the system's resolver, which may block.
pub(crate) fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// Returns the socket address of a host that is an IP address, which takes no name server; `None` for a name. An IPv6 address may have
/// a `%` and its interface, which may not exist.
pub(crate) fn numeric(host: &str, port: u16) -> Option<io::Result<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Some(Ok(SocketAddr::new(ip, port)));
    }
    host.split_once('%')?.0.parse::<Ipv6Addr>().ok()?;
    let unknown = || io::Error::new(io::ErrorKind::NotFound, "this host has no such interface");
    Some(resolve(host, port).and_then(|addresses| addresses.first().copied().ok_or_else(unknown)))
}

/// Returns the address as an IPv6 socket takes it.
pub(crate) fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) => SocketAddr::new(IpAddr::V6(v4.ip().to_ipv6_mapped()), v4.port()),
        SocketAddr::V6(_) => address,
    }
}

/// Returns the host of a socket address in the notation of [`Address`](crate::Address); an IPv4-mapped address becomes IPv4.
pub(crate) fn host_of(address: &SocketAddr) -> String {
    match address.ip().to_canonical() {
        IpAddr::V6(ip) => match address {
            SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{ip}%{}", v6.scope_id()),
            _ => ip.to_string(),
        },
        IpAddr::V4(ip) => ip.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_ipv4_address_is_restored() {
        let v4: SocketAddr = "192.0.2.1:5".parse().unwrap();
        assert!(mapped(v4).is_ipv6());
        assert_eq!(host_of(&mapped(v4)), "192.0.2.1");
        let v6: SocketAddr = "[2001:db8::1]:5".parse().unwrap();
        assert_eq!(mapped(v6), v6);
        assert_eq!(host_of(&v6), "2001:db8::1");
        assert_eq!(host_of(&"[fe80::1%3]:5".parse().unwrap()), "fe80::1%3");
    }
}
