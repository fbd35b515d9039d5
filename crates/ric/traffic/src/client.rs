//! Controls of TC by REST, as a client.

use e2sm::tc::ControlMessage;
use rest::client::{Client, ClientError};
use tracing::warn;

use super::guard::Answer;
use super::resource::TcRequest;

/// A client of a RIC's REST interface that controls the TC of its nodes.
#[derive(Debug)]
pub struct TcClient(Client);

impl TcClient {
    /// Wraps an HTTP client of the RIC.
    #[must_use]
    pub fn new(client: Client) -> Self {
        TcClient(client)
    }

    /// The HTTP client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0
    }

    /// Sends a control to a node's TC, and waits for its outcome.
    #[must_use]
    pub fn control(&self, node: &str, control: &ControlMessage<'_>) -> Answer {
        let Some(TcRequest { method, path, body }) = TcRequest::of(control) else {
            return Answer::Refused("REST has no such request".to_owned());
        };
        let path = format!("/v1/nodes/{node}/tc{path}");
        match self.0.request(method, &path, body.as_ref()) {
            Ok(response) if response.is_success() => Answer::Done,
            // the outcome is unknown, or the request may succeed later
            Ok(response) if matches!(response.status, 502..=504) => {
                warn!(
                    node,
                    status = response.status,
                    detail = response.detail(),
                    "REST returned no outcome of the control"
                );
                Answer::Unknown
            }
            Ok(response) => {
                let detail = response.detail().map(str::to_owned);
                Answer::Refused(detail.unwrap_or_else(|| format!("HTTP status {}", response.status)))
            }
            Err(error @ ClientError::Request(_)) => Answer::Refused(error.to_string()),
            Err(error) => {
                warn!(url = self.0.url(), %error, "no response to the control; check that this is the URL that the RIC prints as rest=");
                Answer::Unknown
            }
        }
    }
}
