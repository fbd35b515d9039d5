//! REST requests that change something, in the audit log.

use rest::WriteObserver;

use crate::RicConfig;

/// The longest body that a record contains; of a longer one it has the digest.
#[cfg(feature = "conflicts")]
const MAX_BODY_OCTETS: usize = 1024;

/// Returns what records requests at an interface, if there is an audit log.
#[cfg(feature = "conflicts")]
pub(crate) fn observer(config: &RicConfig, interface: &'static str) -> Option<WriteObserver> {
    use serde_json::Value;

    let audit = config.conflicts.as_ref()?.audit.clone()?;
    Some(WriteObserver::new(move |write| {
        let mut fields = vec![
            ("interface", Value::from(interface)),
            ("peer", write.peer.ip().to_canonical().to_string().into()),
            ("client", write.client.into()),
            ("method", write.method.into()),
            ("path", write.path.into()),
            ("status", write.status.into()),
            ("outcome", if write.status < 400 { "done" } else { "refused" }.into()),
            ("request_id", write.request_id.into()),
        ];
        fields.extend(write.operation.map(|operation| ("operation", operation.into())));
        fields.extend(write.refusal.map(|refusal| ("reason", refusal.into())));
        match std::str::from_utf8(write.body) {
            _ if write.body.is_empty() => {}
            Ok(text) if text.len() <= MAX_BODY_OCTETS => fields.push(("body", text.into())),
            _ => {
                fields.push(("body_octets", write.body.len().into()));
                fields.push(("body_sha256", ::audit::digest(write.body).to_string().into()));
            }
        }
        audit.record("rest", &fields);
    }))
}

/// Returns nothing: there is no audit log.
#[cfg(not(feature = "conflicts"))]
pub(crate) fn observer(_: &RicConfig, _: &'static str) -> Option<WriteObserver> {
    None
}
