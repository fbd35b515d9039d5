//! Addresses on the command line.

use std::net::SocketAddr;

use ferric::Endpoint;
use ferric::link::{Address, DEFAULT_PORT};
use ferric::server::{DEFAULT_XAPP_PORT, E42Address};

/// Where E2 is spoken.
pub fn e2(text: &str) -> Result<Endpoint, String> {
    let endpoint: Endpoint = text.parse().map_err(|error| format!("{error}"))?;
    reachable(&endpoint.address)?;
    Ok(endpoint)
}

/// Where E2 is spoken, in PER.
pub fn e2_in_per(text: &str) -> Result<Address, String> {
    of_port(text, DEFAULT_PORT)
}

/// Where a RIC awaits xApps.
pub fn xapp(text: &str) -> Result<Address, String> {
    of_port(text, DEFAULT_XAPP_PORT)
}

/// Where REST is spoken.
pub fn rest(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "not an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

/// Where a RIC awaits FlexRIC's xApps.
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

/// A program of one's own is reached by nobody in another one's memory.
fn reachable(address: &Address) -> Result<(), String> {
    match address {
        Address::Memory(_) => Err(
            "a memory: address is within one program; on one host use unix:PATH or shm:PATH, else tcp:// or sctp://"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}
