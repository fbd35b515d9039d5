//! `--rest-ca`, `--rest-cert`, `--rest-key`, `--rest-token`: access to a RIC's REST interface.

use std::path::PathBuf;

use anyhow::anyhow;
use rest::client::{Client, ClientConfig, ClientError, ClientToken};

/// The heading of the options of REST in `--help`.
pub const HEADING: &str = "REST";
/// The variable with the bearer token.
pub const TOKEN_VARIABLE: &str = "FERRIC_REST_TOKEN";
/// Octets of the longest answer that is read: a list of 10,000 UEs with all their names has a tenth of it.
const MAX_BODY_OCTETS: u64 = 64 << 20;

/// Credentials for the RIC's REST interface.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct AccessArgs {
    /// PEM file of the CA that signed the RIC's certificate; required with https://.
    #[arg(long, value_name = "FILE")]
    rest_ca: Option<PathBuf>,
    /// PEM file of the client certificate, if the RIC requires one.
    #[arg(long, value_name = "FILE", requires_all = ["rest_ca", "rest_key"])]
    rest_cert: Option<PathBuf>,
    /// PEM file of the client certificate's private key.
    #[arg(long, value_name = "FILE", requires = "rest_cert")]
    rest_key: Option<PathBuf>,
    /// File that contains the bearer token. [default: the token in the variable FERRIC_REST_TOKEN, if it is set]
    #[arg(long, value_name = "FILE")]
    rest_token: Option<PathBuf>,
}

impl AccessArgs {
    /// The token of the command line, else of the environment.
    #[must_use]
    pub fn token(&self) -> Option<ClientToken> {
        let of_environment = || std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        let file = self.rest_token.clone().map(ClientToken::File);
        file.or_else(|| of_environment().map(|token| ClientToken::Text(TOKEN_VARIABLE, token)))
    }
}

/// Parses the address of `--rest`.
///
/// # Errors
/// If it is no URL of HTTP; the text says what is expected.
pub fn url(text: &str) -> Result<String, &'static str> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).filter(|rest| !rest.is_empty());
    host.map(|_| text.to_owned())
        .ok_or("not http://HOST:PORT or https://HOST:PORT, as `ferric ric` prints it after rest=")
}

/// The configuration of a client of a RIC's REST interface.
#[must_use]
pub fn config(url: &str, access: &AccessArgs) -> ClientConfig {
    let token = access.token();
    let AccessArgs { rest_ca, rest_cert, rest_key, .. } = access.clone();
    let own = rest_cert.zip(rest_key);
    ClientConfig { ca: rest_ca, own, token, max_body_octets: MAX_BODY_OCTETS, ..ClientConfig::new(url) }
}

/// Creates the client of a RIC's REST interface.
///
/// # Errors
/// If a file of the options cannot be used, or the CA and the scheme of the URL do not fit together.
pub fn client(url: &str, access: &AccessArgs) -> anyhow::Result<Client> {
    Client::new(&config(url, access)).map_err(|error| match error {
        ClientError::CaWithoutTls(url) => anyhow!("--rest-ca requires https://, but --rest is {url}"),
        ClientError::NoCa => anyhow!("https:// requires --rest-ca: the CA that signed the RIC's certificate"),
        error => error.into(),
    })
}
