//! Controls over REST.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::ric::traffic::{Answer, TcRequest};
use anyhow::{Context, bail, ensure};
use e2sm::tc::ControlMessage;
use serde_json::Value;
use tracing::warn;
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// The longest wait for an answer; the RIC's own time limit is shorter.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer of a RIC.
const MAX_ANSWER_OCTETS: u64 = 1 << 20;

/// Credentials for the RIC's REST interface.
#[derive(clap::Args)]
#[command(next_help_heading = "Access to REST")]
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

impl AccessArgs {
    fn tls(&self, url: &str) -> anyhow::Result<Option<TlsConfig>> {
        let ca = match (&self.rest_ca, url.starts_with("https://")) {
            (None, false) => return Ok(None),
            (Some(_), false) => bail!("--rest-ca requires https://, but --rest is {url}"),
            (None, true) => bail!("https:// requires --rest-ca: the CA that signed the RIC's certificate"),
            (Some(ca), true) => certificates(ca)?,
        };
        let own = self.rest_cert.as_ref().zip(self.rest_key.as_ref()).map(|(certificate, key)| {
            let name = || format!("cannot use the key in {}", key.display());
            let key = PrivateKey::from_pem(&read(key)?).with_context(name)?;
            anyhow::Ok(ClientCert::new_with_certs(&certificates(certificate)?, key))
        });
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
        let tls = tls.root_certs(RootCerts::new_with_certs(&ca)).client_cert(own.transpose()?);
        Ok(Some(tls.build()))
    }

    /// The `authorization` header.
    fn authorization(&self) -> anyhow::Result<Option<String>> {
        let Some(path) = &self.rest_token else { return Ok(None) };
        let text = read(path)?;
        let token = text.trim_ascii();
        let is_token = !token.is_empty() && token.iter().all(u8::is_ascii_graphic);
        ensure!(is_token, "{} contains no token: one word, without `read` or `write` before it", path.display());
        Ok(Some(format!("Bearer {}", String::from_utf8_lossy(token))))
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn certificates(path: &Path) -> anyhow::Result<Vec<Certificate<'static>>> {
    let text = read(path)?;
    let certificates = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    });
    let found: Vec<_> = certificates.collect::<Result<_, _>>().with_context(|| format!("{}", path.display()))?;
    ensure!(!found.is_empty(), "{} contains no PEM certificate (`-----BEGIN CERTIFICATE-----`)", path.display());
    Ok(found)
}

/// The RIC's REST interface.
pub struct RestClient {
    agent: Agent,
    base: String,
    authorization: Option<String>,
}

impl RestClient {
    pub fn new(base: &str, access: &AccessArgs) -> anyhow::Result<Self> {
        // a RIC redirects no client
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).proxy(None);
        let config = config.max_redirects(0);
        let config = match access.tls(base)? {
            Some(tls) => config.https_only(true).tls_config(tls),
            None => config,
        };
        let authorization = access.authorization()?;
        Ok(RestClient { agent: config.build().into(), base: base.trim_end_matches('/').to_owned(), authorization })
    }

    /// Sends a control to a node's TC, and waits for the answer.
    pub fn control(&self, node: &str, control: &ControlMessage<'_>) -> Answer {
        let Some(TcRequest { method, path, body }) = TcRequest::of(control) else {
            return Answer::Refused("REST has no such request".to_owned());
        };
        let url = format!("{}/v1/nodes/{node}/tc{path}", self.base);
        let mut request = Request::builder().method(method).uri(&url);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let sent = match body {
            Some(body) => {
                request.header("content-type", "application/json").body(body.to_string()).map(|r| self.agent.run(r))
            }
            None => request.body(()).map(|request| self.agent.run(request)),
        };
        match sent {
            Err(error) => Answer::Refused(format!("cannot request {url}: {error}")),
            Ok(Err(error)) => {
                warn!(url, %error, "no answer over REST; check that --rest is the RIC's rest=URL");
                Answer::Unknown
            }
            Ok(Ok(mut response)) => {
                let text = response.body_mut().with_config().limit(MAX_ANSWER_OCTETS).read_to_string();
                answer(response.status().as_u16(), &text.unwrap_or_default())
            }
        }
    }
}

/// The meaning of a status; the problem details contain the reason.
fn answer(status: u16, text: &str) -> Answer {
    let problem: Option<Value> = serde_json::from_str(text).ok();
    let detail = problem.as_ref().and_then(|problem| problem["detail"].as_str());
    match status {
        200..=299 => Answer::Done,
        // the node may have executed the control, or may execute it later
        502..=504 => {
            warn!(status, detail, "no answer from the node");
            Answer::Unknown
        }
        status => Answer::Refused(detail.map_or_else(|| format!("HTTP status {status}"), str::to_owned)),
    }
}
