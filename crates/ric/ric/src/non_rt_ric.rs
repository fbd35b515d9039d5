//! The non-RT RIC that creates enrichment information for xApps.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use ferric::server::Server;
use oran::a1::enrichment::{Enrichment, EnrichmentConfig, JobLink, RequestThread};
use rest::client::{ClientConfig, ClientToken};

/// Where the non-RT RIC is, and where it finds this RIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonRtRic {
    /// `http://HOST:PORT` or `https://HOST:PORT`, before `/A1-EI/v1`.
    pub url: String,
    /// The base URL of this RIC's REST for the non-RT RIC and the producers of information. Default: the address of REST.
    pub callback: Option<String>,
    /// PEM file of the CA that signed the non-RT RIC's certificate, for https://.
    pub ca: Option<PathBuf>,
    /// File with the bearer token that the non-RT RIC requires.
    pub token: Option<PathBuf>,
}

impl NonRtRic {
    /// The non-RT RIC at a URL, without TLS and token.
    #[must_use]
    pub fn new(url: &str) -> Self {
        NonRtRic { url: url.to_owned(), callback: None, ca: None, token: None }
    }

    /// Reads a base URL.
    ///
    /// # Errors
    /// Why it is none.
    pub fn url(text: &str) -> Result<String, String> {
        let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        match host.map(|host| host.trim_end_matches('/')) {
            Some(host) if !host.is_empty() && host.bytes().all(|octet| octet.is_ascii_graphic()) => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is not http://HOST:PORT or https://HOST:PORT")),
        }
    }

    /// Prepares enrichment information, with the jobs of an earlier run.
    pub(crate) fn prepare(
        &self,
        links: Vec<Box<dyn JobLink>>,
        sdl: Option<&sdl::Handle>,
        ric: &str,
        server: &Server,
    ) -> Result<Enrichment, ferric::Error> {
        let non_rt_ric = ClientConfig {
            ca: self.ca.clone(),
            token: self.token.clone().map(ClientToken::File),
            ..ClientConfig::new(&self.url)
        };
        let config = EnrichmentConfig { non_rt_ric, ric: ric.to_owned() };
        Enrichment::new(config, links, sdl, server.log_budget()).map_err(|error| system(io::Error::other(error)))
    }

    /// Starts to speak with the non-RT RIC, once REST serves.
    pub(crate) fn start(&self, enrichment: &Enrichment, rest: &rest::Server) -> Result<RequestThread, ferric::Error> {
        let callback = match &self.callback {
            Some(callback) => callback.clone(),
            None if is_reachable(rest.address()) => rest.url(),
            None => {
                let why =
                    "REST listens on all addresses, of which the non-RT RIC needs one: give --non-rt-ric-callback";
                return Err(system(io::Error::other(why)));
            }
        };
        enrichment.start(&callback).map_err(system)
    }
}

fn is_reachable(address: SocketAddr) -> bool {
    !address.ip().is_unspecified()
}

fn system(source: io::Error) -> ferric::Error {
    ferric::Error::System { what: "use the non-RT RIC", source }
}
