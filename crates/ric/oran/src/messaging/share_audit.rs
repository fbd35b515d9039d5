//! What the audit log has of xApps over RMR and by REST: their shares of subscriptions. Controls are recorded by the mediator.

use audit::AuditLog;
use ferric::e2::XappRights;
use serde_json::Value;

use super::quotas::Exceeded;
use super::rights::Sender;

/// The record of what xApps ask for, if there is one.
#[derive(Clone, Debug, Default)]
pub(super) struct ShareAudit(pub Option<AuditLog>);

/// A share of a subscription that an xApp asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedShare<'a> {
    pub sender: Sender,
    /// `rmr` or `rest`.
    pub by: &'static str,
    /// Its name in further records; empty if it is refused.
    pub share: &'a str,
    pub node: &'a str,
    pub function: u16,
    pub actions: usize,
    pub rights: Option<&'a XappRights>,
}

impl ShareAudit {
    fn record(&self, event: &str, fields: &[(&str, Value)]) {
        if let Some(log) = &self.0 {
            log.record(event, fields);
        }
    }

    /// An xApp asks for a share; `refused` says why it does not get it.
    pub fn asked(&self, asked: &AskedShare<'_>, refused: Option<&str>) {
        if self.0.is_none() {
            return;
        }
        let AskedShare { sender, by, share, node, function, actions, rights } = *asked;
        let rights = rights.map_or_else(|| "all".to_owned(), XappRights::summary);
        let mut fields = vec![
            ("share", Value::from(share)),
            ("xapp", format!("rmr:{sender}").into()),
            ("authenticated", false.into()),
            ("rights", rights.into()),
            ("by", by.into()),
            ("node", node.into()),
            ("function", function.into()),
            ("actions", actions.into()),
            ("decision", if refused.is_some() { "refused" } else { "accepted" }.into()),
        ];
        fields.extend(refused.map(|why| ("reason", why.into())));
        self.record("share", &fields);
    }

    /// A share is active, has failed, or has ended.
    pub fn outcome(&self, share: &str, sender: Sender, outcome: &str) {
        let sender = format!("rmr:{sender}");
        self.record("share_outcome", &[("share", share.into()), ("xapp", sender.into()), ("outcome", outcome.into())]);
    }

    /// A control was not sent, as its xApp has its quota: its refusal with this number.
    pub fn control_over_quota(&self, sender: Sender, node: &str, function: u16, exceeded: &Exceeded, count: u64) {
        let fields = [
            ("xapp", format!("rmr:{sender}").into()),
            ("authenticated", false.into()),
            ("node", node.into()),
            ("settings", Value::from(format!("a control of RAN function {function}"))),
            ("decision", "refused".into()),
            ("reason", exceeded.to_string().into()),
            ("refusals", count.into()),
        ];
        self.record("decision", &fields);
    }

    /// An xApp asks to delete something; `refused` says why it is not deleted.
    pub fn deletion(&self, sender: Sender, by: &str, what: &str, refused: Option<&str>) {
        let mut fields = vec![
            ("share", Value::from(what)),
            ("xapp", format!("rmr:{sender}").into()),
            ("by", by.into()),
            ("decision", if refused.is_some() { "refused" } else { "accepted" }.into()),
        ];
        fields.extend(refused.map(|why| ("reason", why.into())));
        self.record("share_deletion", &fields);
    }
}
