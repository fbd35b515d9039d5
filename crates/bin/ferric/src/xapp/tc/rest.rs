//! Controls over REST.

use std::path::PathBuf;

use anyhow::anyhow;
use rest::client::{Client, ClientConfig, ClientError};
use traffic::TcClient;

/// The heading of the options of REST in `--help`.
pub const HEADING: &str = "REST";

/// Credentials for the RIC's REST interface.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct AccessArgs {
    /// PEM file of the CA that signed the RIC's certificate; required with https://.
    #[arg(long, value_name = "FILE", requires = "rest")]
    rest_ca: Option<PathBuf>,
    /// PEM file of the client certificate, if the RIC requires one.
    #[arg(long, value_name = "FILE", requires_all = ["rest_ca", "rest_key"])]
    rest_cert: Option<PathBuf>,
    /// PEM file of the client certificate's private key.
    #[arg(long, value_name = "FILE", requires = "rest_cert")]
    rest_key: Option<PathBuf>,
    /// File that contains the bearer token.
    #[arg(long, value_name = "FILE", requires = "rest")]
    rest_token: Option<PathBuf>,
}

/// Parses the address of `--rest`.
pub fn url(text: &str) -> Result<String, &'static str> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).filter(|rest| !rest.is_empty());
    host.map(|_| text.to_owned())
        .ok_or("not http://HOST:PORT or https://HOST:PORT, as `ferric ric` prints it after rest=")
}

/// Creates the client of a RIC's REST interface.
pub fn client(url: &str, access: &AccessArgs) -> anyhow::Result<TcClient> {
    let AccessArgs { rest_ca, rest_cert, rest_key, rest_token } = access.clone();
    let config =
        ClientConfig { ca: rest_ca, own: rest_cert.zip(rest_key), token: rest_token, ..ClientConfig::new(url) };
    let client = Client::new(&config).map_err(|error| match error {
        ClientError::CaWithoutTls(url) => anyhow!("--rest-ca requires https://, but --rest is {url}"),
        ClientError::NoCa => anyhow!("https:// requires --rest-ca: the CA that signed the RIC's certificate"),
        error => error.into(),
    })?;
    Ok(TcClient::new(client))
}
