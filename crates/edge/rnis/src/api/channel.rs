//! Where the notifications of a subscription go: what a request asks for, and what the answer says.

use rest::header::HeaderValue;

use crate::delivery::{CallbackError, Channel, Target, websocket_path};
use crate::matcher::Key;
use crate::model::Fault;
use crate::model::subscription::WebsockNotifConfig;
use crate::service::Service;

/// Chooses between callback and WebSocket (MEC 009 6.12a): if a request offers both, the callback. The answer has only what was
/// chosen.
pub fn choose(
    service: &Service,
    owner: &str,
    callback: &mut Option<String>,
    websocket: &mut Option<WebsockNotifConfig>,
) -> Result<Target, Fault> {
    if let Some(callback) = callback {
        let target = check(service, owner, callback)?;
        *websocket = None;
        return Ok(target);
    }
    if websocket.as_ref().is_some_and(|config| config.request_websocket_uri == Some(true)) {
        return Ok(Target::websocket("").of_tenant(service.share_of(owner)));
    }
    let reason = "missing: give it, or websockNotifConfig with requestWebsocketUri true";
    Err(Fault::malformed("callbackReference", reason))
}

/// Checks the URI of a callback of an owner.
pub fn check(service: &Service, owner: &str, callback: &str) -> Result<Target, Fault> {
    let target = parse(callback)?.of_tenant(service.share_of(owner));
    service.delivery().check(&target).map_err(fault)?;
    Ok(target)
}

fn parse(callback: &str) -> Result<Target, Fault> {
    let malformed = |reason: &str| Err(Fault::malformed("callbackReference", reason));
    // RFC 3986: visible ASCII
    if HeaderValue::from_str(callback).is_err() || callback.contains(['#', ' ', '"', '<', '>']) {
        return malformed("it is no URI, or it has a fragment");
    }
    if !callback.contains("://") {
        return malformed("it is no absolute URI: http://HOST:PORT/PATH");
    }
    Target::callback(callback, "").map_err(fault)
}

/// What is understood and cannot be done differs from what is malformed.
fn fault(error: CallbackError) -> Fault {
    match error {
        CallbackError::Scheme | CallbackError::NoTls | CallbackError::NotAllowed => {
            Fault::unsupported("callbackReference", error.to_string())
        }
        _ => Fault::malformed("callbackReference", error.to_string()),
    }
}

/// The target of notifications that end with `links`, the JSON of their member `_links`.
pub fn with_links(target: Target, links: &serde_json::Value) -> Target {
    Target { tail: format!(r#","_links":{links}}}"#).into(), ..target }
}

/// What the answer says of a WebSocket: its URI, at the host of the subscription.
pub fn websocket_config(target: &Target, key: Key, href: &str) -> Option<WebsockNotifConfig> {
    let Channel::WebSocket = target.channel else { return None };
    let root = href.find("/rni/").map_or("", |at| &href[..at]);
    let root = root.strip_prefix("http").map_or_else(|| root.to_owned(), |rest| format!("ws{rest}"));
    let websocket_uri = Some(format!("{root}{}", websocket_path(key)));
    Some(WebsockNotifConfig { request_websocket_uri: Some(true), websocket_uri })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callback_is_an_absolute_http_uri() {
        for good in ["http://10.0.0.1:80/a?b=c", "HTTP://host", "http://[::1]:8080/x", "https://app.example/n/1"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for (bad, is_understood) in [
            ("", false),
            ("/path", false),
            ("http://", false),
            ("http:///path", false),
            ("http://user:secret@host/", false),
            ("http://host:0/", false),
            ("http://host:99999/", false),
            ("http://host/ x", false),
            ("http://host/\r\nx: y", false),
            ("http://host/#part", false),
            ("ftp://host/", true),
        ] {
            let fault = parse(bad).expect_err(bad);
            assert_eq!((&*fault.at, fault.is_understood), ("callbackReference", is_understood), "{bad}: {fault:?}");
        }
        assert!(parse(&format!("http://host/{}", "x".repeat(3000))).is_err());
    }

    #[test]
    fn websocket_is_at_the_host_of_the_subscription() {
        let uri = |href: &str| websocket_config(&Target::websocket(""), Key(7), href).unwrap().websocket_uri.unwrap();
        assert_eq!(uri("https://mec:1/rni/v2/subscriptions/7"), "wss://mec:1/rni/v2/notifications/7");
        assert_eq!(uri("http://mec/rni/v2/subscriptions/7"), "ws://mec/rni/v2/notifications/7");
        assert_eq!(uri("/rni/v2/subscriptions/7"), "/rni/v2/notifications/7");
        assert!(
            websocket_config(&Target::callback("http://h/", "").unwrap(), Key(7), "/rni/v2/subscriptions/7").is_none()
        );
    }
}
