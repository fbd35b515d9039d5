//! Where notifications go: the URL of a callback, or a WebSocket, and what each message of a subscription has beside its body.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hyper::Uri;

/// The longest URL of a callback, in octets.
const MAX_URL_OCTETS: usize = 2048;

/// What connections are shared by: a server, and how it is spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Over TLS.
    pub is_secured: bool,
    /// The host name or address, without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// `HOST:PORT`, as the header `Host` has it.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The URL of a callback: `http://HOST[:PORT]/PATH` or `https://…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    endpoint: Arc<Endpoint>,
    /// The target of requests: path and query.
    path: String,
}

impl Callback {
    /// The server.
    #[must_use]
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Path and query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.endpoint.is_secured { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.endpoint, self.path)
    }
}

/// Why a text is no URL of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallbackError {
    /// It has more than 2,048 octets.
    TooLong,
    /// It is no URI (RFC 3986).
    Malformed,
    /// Its scheme is neither `http` nor `https`.
    Scheme,
    /// It has no host.
    NoHost,
    /// It contains user information, which is not sent (RFC 9110 4.2.4).
    UserInformation,
    /// It is an `https` URL, and the delivery has no certificates of authorities.
    NoTls,
    /// Callbacks may not be sent to this server.
    NotAllowed,
}

impl fmt::Display for CallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CallbackError::TooLong => "the URL has more than 2048 octets",
            CallbackError::Malformed => "it is no URI",
            CallbackError::Scheme => "the scheme is neither `http` nor `https`",
            CallbackError::NoHost => "the URL has no host",
            CallbackError::UserInformation => "a URL with user information before `@` is not allowed",
            CallbackError::NoTls => {
                "https is not available: the service was started without a CA for callbacks (--callback-ca)"
            }
            CallbackError::NotAllowed => {
                "callbacks to this server are not allowed; ask the operator of the service (--callback-allow)"
            }
        })
    }
}

impl std::error::Error for CallbackError {}

impl FromStr for Callback {
    type Err = CallbackError;

    fn from_str(text: &str) -> Result<Self, CallbackError> {
        if text.len() > MAX_URL_OCTETS {
            return Err(CallbackError::TooLong);
        }
        let uri: Uri = text.parse().map_err(|_| CallbackError::Malformed)?;
        let is_secured = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(CallbackError::Scheme),
        };
        let authority = uri.authority().ok_or(CallbackError::NoHost)?;
        if authority.as_str().contains('@') {
            return Err(CallbackError::UserInformation);
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if host.is_empty() {
            return Err(CallbackError::NoHost);
        }
        let port = match (authority.port_u16(), authority.as_str().strip_prefix(authority.host())) {
            (Some(port @ 1..), _) => port,
            (None, Some("")) => {
                if is_secured {
                    443
                } else {
                    80
                }
            }
            _ => return Err(CallbackError::Malformed),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Callback { endpoint: Arc::new(Endpoint { is_secured, host, port }), path })
    }
}

/// Where the notifications of a subscription go.
#[derive(Clone, Debug)]
pub struct Target {
    /// How they go there.
    pub channel: Channel,
    /// Whose subscription it is: tenants share the delivery by weight, and may have a quota.
    pub tenant: Arc<str>,
    /// What ends each of its notifications: `,"_links":{"subscription":{"href":"…"}}}`.
    pub tail: Arc<str>,
}

/// How notifications reach a subscriber.
#[derive(Clone, Debug)]
pub enum Channel {
    /// By POST requests to a URL.
    Callback(Callback),
    /// On a WebSocket that the subscriber opens.
    WebSocket,
}

impl Target {
    /// POST requests to a URL.
    ///
    /// # Errors
    /// If the text is no such URL.
    pub fn callback(url: &str, tail: impl Into<Arc<str>>) -> Result<Self, CallbackError> {
        Ok(Target { channel: Channel::Callback(url.parse()?), tenant: "".into(), tail: tail.into() })
    }

    /// The WebSocket of the subscription, which the subscriber opens.
    pub fn websocket(tail: impl Into<Arc<str>>) -> Self {
        Target { channel: Channel::WebSocket, tenant: "".into(), tail: tail.into() }
    }

    /// The same target, of a tenant.
    #[must_use]
    pub fn of_tenant(self, tenant: impl Into<Arc<str>>) -> Self {
        Target { tenant: tenant.into(), ..self }
    }

    pub(super) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        match &self.channel {
            Channel::Callback(callback) => Some(callback.endpoint()),
            Channel::WebSocket => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_has_default_ports_and_a_path() {
        let callback: Callback = "http://Edge.Example/app?x=1".parse().unwrap();
        assert_eq!((callback.endpoint().to_string(), callback.path()), ("edge.example:80".into(), "/app?x=1"));
        let callback: Callback = "https://[::1]".parse().unwrap();
        assert_eq!((callback.endpoint().to_string(), callback.path()), ("[::1]:443".into(), "/"));
        assert!(callback.endpoint().is_secured);
        assert_eq!("http://127.0.0.1:9".parse::<Callback>().unwrap().to_string(), "http://127.0.0.1:9/");
    }

    #[test]
    fn url_that_cannot_be_called_is_refused_with_its_reason() {
        for (url, why) in [
            ("", CallbackError::Malformed),
            ("http://a b/", CallbackError::Malformed),
            ("http://h:99999/", CallbackError::Malformed),
            ("http://h:0/", CallbackError::Malformed),
            ("http://h/\r\nx: y", CallbackError::Malformed),
            ("/callback", CallbackError::Scheme),
            ("ftp://h/", CallbackError::Scheme),
            ("http://user:secret@h/", CallbackError::UserInformation),
        ] {
            assert_eq!(url.parse::<Callback>().unwrap_err(), why, "{url}");
        }
        let long = format!("http://h/{}", "x".repeat(MAX_URL_OCTETS));
        assert_eq!(long.parse::<Callback>().unwrap_err(), CallbackError::TooLong);
    }
}
