//! The REST interface of a RIC.

use std::path::Path;
use std::time::Duration;

use rest::client::{Client, ClientConfig, ClientError};

use super::findings::Findings;

/// Asks for `/v1/health`, which the event loop of the RIC answers.
pub fn probe(url: &str, ca: Option<&Path>, patience: Duration, findings: &mut Findings) {
    let config = ClientConfig { ca: ca.map(Path::to_owned), timeout: patience, ..ClientConfig::new(url) };
    let response = Client::new(&config).and_then(|client| client.request("GET", "/v1/health", None));
    match response {
        Ok(response) if response.is_success() => {
            findings.good(format_args!("the event loop of the RIC at {url} answers"))
        }
        Ok(response) => findings.fault(
            format_args!("{url} answers with status {}", response.status),
            response.detail().unwrap_or("it gives no reason"),
            "check that it is the REST interface of a RIC of this version, and its log",
        ),
        Err(error) => findings.fault(format_args!("no answer from {url}"), &error, remedy(&error)),
    }
}

fn remedy(error: &ClientError) -> &'static str {
    match error {
        ClientError::Url(_) => "give the address that `ferric ric` prints after rest=",
        ClientError::NoCa | ClientError::CaWithoutTls(_) => "give --rest-ca with https://, and only then",
        ClientError::Read(..) | ClientError::Pem(..) => "give the PEM file of the CA that signed the RIC's certificate",
        _ => {
            "check that the RIC runs and has `rest` in its configuration; if it requires client certificates, probe its port only"
        }
    }
}
