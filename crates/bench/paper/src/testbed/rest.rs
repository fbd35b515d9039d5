//! REST, as `curl` speaks it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2sm::tc::ControlMessage;
use ric::traffic::{Answer, TcRequest};
use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;

use super::{NODE, PATIENCE};

/// Until something that is not there is asked for again.
const AGAIN: Duration = Duration::from_millis(5);

/// The RIC's REST interface.
pub struct Rest {
    agent: Agent,
    base: String,
}

impl Rest {
    pub fn new(address: SocketAddr) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).proxy(None);
        Rest { agent: config.build().into(), base: format!("http://{address}") }
    }

    /// The status and the document of an answer; null where there is no document.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<(u16, Value)> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let answer = match body {
            Some(body) => self.agent.run(request.header("content-type", "application/json").body(body.to_string())?),
            None => self.agent.run(request.body(())?),
        };
        let mut answer = answer.with_context(|| format!("{method} {path}"))?;
        let text = answer.body_mut().read_to_string()?;
        let document = if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? };
        Ok((answer.status().as_u16(), document))
    }

    /// Has something done.
    pub fn order(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<()> {
        match self.ask(method, path, Some(body))? {
            (200..=299, _) => Ok(()),
            (status, problem) => bail!("{method} {path} {body} was answered by {status}: {}", problem["detail"]),
        }
    }

    /// Has TC of the node do something; what became of it.
    pub fn control(&self, control: &ControlMessage<'_>) -> anyhow::Result<Answer> {
        let TcRequest { method, path, body } = TcRequest::of(control).context("REST has no such request")?;
        let path = format!("/v1/nodes/{NODE}/tc{path}");
        Ok(match self.ask(method, &path, body.as_ref())? {
            (200..=299, _) => Answer::Done,
            // later it may be, or what was done is not known
            (502..=504, _) => Answer::Unknown,
            (_, problem) => Answer::Refused(problem["detail"].to_string()),
        })
    }

    /// Waits until the RIC knows what slices the node has.
    pub fn await_slices(&self) -> anyhow::Result<()> {
        self.wait(&format!("/v1/nodes/{NODE}/slices"), |_| true)
    }

    /// Waits until the RIC knows so many UEs, each of them in a slice of the downlink.
    pub fn await_members(&self, ues: usize) -> anyhow::Result<()> {
        self.wait(&format!("/v1/nodes/{NODE}/ues"), |known| {
            let known = known["ues"].as_array().map_or(&[][..], Vec::as_slice);
            known.len() == ues && known.iter().all(|ue| ue["slices"]["dl"].is_u64())
        })
    }

    fn wait(&self, path: &str, is_meant: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
        let begin = Instant::now();
        loop {
            let (status, document) = self.ask("GET", path, None)?;
            if status == 200 && is_meant(&document) {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                bail!("GET {path} is still answered by {status}: {document}");
            }
            std::thread::sleep(AGAIN);
        }
    }
}
