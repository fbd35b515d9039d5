//! Addresses on the command line.

#[cfg(feature = "rest")]
use std::net::SocketAddr;

#[cfg(any(feature = "doctor", feature = "ran", feature = "ric"))]
use ferric::Endpoint;
use ferric::link::Address;
#[cfg(feature = "play")]
use ferric::link::DEFAULT_PORT;
use ferric::server::DEFAULT_XAPP_PORT;
#[cfg(feature = "ric")]
use ferric::server::E42Address;

/// Parses an address for E2.
#[cfg(any(feature = "doctor", feature = "ran", feature = "ric"))]
pub fn e2(text: &str) -> Result<Endpoint, String> {
    let endpoint: Endpoint = text.parse().map_err(|error| format!("{error}"))?;
    reachable(&endpoint.address)?;
    Ok(endpoint)
}

/// Parses an address for E2AP in PER.
#[cfg(feature = "play")]
pub fn e2_in_per(text: &str) -> Result<Address, String> {
    of_port(text, DEFAULT_PORT)
}

/// Parses a RIC's address for xApps.
pub fn xapp(text: &str) -> Result<Address, String> {
    of_port(text, DEFAULT_XAPP_PORT)
}

/// Parses an address for REST.
#[cfg(feature = "rest")]
pub fn rest(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "not an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

/// Parses a RIC's address for FlexRIC's xApps.
#[cfg(feature = "ric")]
pub fn e42(text: &str) -> Result<E42Address, String> {
    let address: E42Address = text.parse().map_err(|error| format!("{error}"))?;
    reachable(&address.0)?;
    Ok(address)
}

fn of_port(text: &str, default_port: u16) -> Result<Address, String> {
    let address = Address::from_url(text, default_port).map_err(|error| error.to_string())?;
    reachable(&address)?;
    Ok(address)
}

/// Rejects addresses that other programs cannot reach.
fn reachable(address: &Address) -> Result<(), String> {
    match address {
        Address::Memory(_) => Err(
            "a memory: address works within one program only; use unix:PATH or shm:PATH on one host, else tcp:// or sctp://"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}
