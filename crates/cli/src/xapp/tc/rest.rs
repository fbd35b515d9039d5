//! Controls by REST.

use std::time::Duration;

use ::ric::traffic::{Answer, TcRequest};
use e2sm::tc::ControlMessage;
use serde_json::Value;
use tracing::warn;
use ureq::Agent;
use ureq::http::Request;

/// The RIC answers by itself before this.
const PATIENCE: Duration = Duration::from_secs(20);
/// No answer of the RIC's is longer.
const MAX_ANSWER_OCTETS: u64 = 1 << 20;

pub struct RestSide {
    agent: Agent,
    base: String,
}

impl RestSide {
    pub fn new(base: &str) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).proxy(None);
        RestSide { agent: config.build().into(), base: base.trim_end_matches('/').to_owned() }
    }

    /// Has a node's TC do something, and waits for what becomes of it.
    pub fn control(&self, node: &str, control: &ControlMessage<'_>) -> Answer {
        let Some(TcRequest { method, path, body }) = TcRequest::of(control) else {
            return Answer::Refused("REST has no such request".to_owned());
        };
        let url = format!("{}/v1/nodes/{node}/tc{path}", self.base);
        let request = Request::builder().method(method).uri(&url);
        let sent = match body {
            Some(body) => {
                request.header("content-type", "application/json").body(body.to_string()).map(|r| self.agent.run(r))
            }
            None => request.body(()).map(|request| self.agent.run(request)),
        };
        match sent {
            Err(error) => Answer::Refused(format!("{url} cannot be asked for: {error}")),
            Ok(Err(error)) => {
                warn!(url, %error, "no answer by REST; is it the RIC's rest=URL?");
                Answer::Unknown
            }
            Ok(Ok(mut response)) => {
                let text = response.body_mut().with_config().limit(MAX_ANSWER_OCTETS).read_to_string();
                answer(response.status().as_u16(), &text.unwrap_or_default())
            }
        }
    }
}

/// What a status means; why stands in the problem's details.
fn answer(status: u16, text: &str) -> Answer {
    let problem: Option<Value> = serde_json::from_str(text).ok();
    let detail = problem.as_ref().and_then(|problem| problem["detail"].as_str());
    match status {
        200..=299 => Answer::Done,
        // what was done is not known, or later it may be
        502..=504 => {
            warn!(status, detail, "no answer of the node");
            Answer::Unknown
        }
        status => Answer::Refused(detail.map_or_else(|| format!("HTTP status {status}"), str::to_owned)),
    }
}
