//! Who has changed what: requests that may change something are passed to an observer, such as an audit log.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use super::tokens::Client;

/// A request that may have changed something (any method but GET, HEAD and OPTIONS), with its answer.
#[derive(Clone, Copy, Debug)]
pub struct WriteRecord<'a> {
    /// The client.
    pub peer: SocketAddr,
    /// Who that is: the role and the first digits of the SHA-256 of its token, the subject of a verified token, or whom access control
    /// admits without a token.
    pub client: &'a str,
    /// The method.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The id of the operation; `None` if there is none at this path, or the client was refused before.
    pub operation: Option<&'static str>,
    /// The body; empty if it was not read.
    pub body: &'a [u8],
    /// The status of the answer.
    pub status: u16,
    /// Why the request was refused.
    pub refusal: Option<&'a str>,
    /// The id of the request, which its answer has too.
    pub request_id: &'a str,
}

/// Gets each [`WriteRecord`]. It is called on the server's thread and must not block.
#[derive(Clone)]
pub struct WriteObserver(Arc<dyn Fn(&WriteRecord<'_>) + Send + Sync>);

impl WriteObserver {
    /// Creates one.
    pub fn new(observe: impl Fn(&WriteRecord<'_>) + Send + Sync + 'static) -> Self {
        WriteObserver(Arc::new(observe))
    }

    /// Passes a record on.
    pub(super) fn observe(&self, record: &WriteRecord<'_>) {
        (self.0)(record);
    }
}

impl fmt::Debug for WriteObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteObserver").finish_non_exhaustive()
    }
}

/// What of a request is noted for its record while it is handled.
#[derive(Default)]
pub(super) struct NotedWrite {
    pub client: Option<Client>,
    pub operation: Option<&'static str>,
    pub body: Vec<u8>,
    pub refusal: Option<String>,
}

impl NotedWrite {
    /// Who the client is, in words.
    pub fn client(&self) -> String {
        match &self.client {
            None => "not admitted".to_owned(),
            Some(Client { subject: Some((subject, _)), .. }) => format!("subject {subject}"),
            Some(Client { role, token: Some([a, b, c, d, ..]), .. }) => {
                format!("{} token {a:02x}{b:02x}{c:02x}{d:02x}", role.name())
            }
            Some(Client { role, token: None, .. }) => format!("{} without a token", role.name()),
        }
    }
}
