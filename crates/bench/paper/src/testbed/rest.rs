//! The RIC's REST interface.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ::rest::client::{Client, ClientConfig, ClientResponse};
use anyhow::{Context, bail};
use e2sm::tc::ControlMessage;
use serde_json::Value;
use traffic::{Answer, TcClient};

use super::{NODE, PATIENCE};

/// The pause before a resource is requested again.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// A client of the RIC's REST interface.
pub struct Rest(TcClient);

impl Rest {
    pub fn new(address: SocketAddr) -> anyhow::Result<Self> {
        let config = ClientConfig { timeout: PATIENCE, ..ClientConfig::new(&format!("http://{address}")) };
        Ok(Rest(TcClient::new(Client::new(&config)?)))
    }

    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<ClientResponse> {
        self.0.client().request(method, path, body).with_context(|| format!("{method} {path}"))
    }

    /// Changes a resource.
    pub fn order(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<()> {
        let response = self.request(method, path, Some(body))?;
        if !response.is_success() {
            bail!("{method} {path} {body} was answered with {}: {}", response.status, response.body["detail"]);
        }
        Ok(())
    }

    /// Sends a control to the node's TC. Returns its outcome.
    pub fn control(&self, control: &ControlMessage<'_>) -> Answer {
        self.0.control(NODE, control)
    }

    /// Waits until the RIC has received the slices of a node, the only one; returns its name.
    pub fn await_node(&self) -> anyhow::Result<String> {
        let mut name = String::new();
        self.wait("/v1/nodes", |nodes| {
            name = nodes["nodes"][0]["id"].as_str().unwrap_or_default().to_owned();
            !name.is_empty()
        })?;
        self.wait(&format!("/v1/nodes/{name}/slices"), |_| true)?;
        Ok(name)
    }

    /// Waits until the RIC has received the node's slices.
    pub fn await_slices(&self) -> anyhow::Result<()> {
        self.wait(&format!("/v1/nodes/{NODE}/slices"), |_| true)
    }

    /// Waits until the RIC has so many UEs, each of them in a downlink slice.
    pub fn await_members(&self, ues: usize) -> anyhow::Result<()> {
        self.wait(&format!("/v1/nodes/{NODE}/ues"), |known| {
            let known = known["ues"].as_array().map_or(&[][..], Vec::as_slice);
            known.len() == ues && known.iter().all(|ue| ue["slices"]["dl"].is_u64())
        })
    }

    fn wait(&self, path: &str, mut holds: impl FnMut(&Value) -> bool) -> anyhow::Result<()> {
        let begin = Instant::now();
        loop {
            let ClientResponse { status, body, .. } = self.request("GET", path, None)?;
            if status == 200 && holds(&body) {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                bail!("GET {path} is still answered with {status}: {body}");
            }
            std::thread::sleep(RETRY_PAUSE);
        }
    }
}
