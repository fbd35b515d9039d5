//! The log of what xApps do: which subscriptions and controls, and how they ended.

use std::time::Duration;

use e2::{Consumer, ControlOutcome, Controller, EndedControl, Event, Node, NodeId, RequestEvent, SubscriptionSpec};
use e2ap::RanFunctionId;
use link::Address;
use log_lines::escaped;
use tracing::{Level, enabled, info};

use super::Server;
use super::apps::Apps;

/// Octets of unanswered controls that are kept for the log.
pub(super) const KEPT_CONTROL_OCTETS: usize = 1 << 20;

/// Says in the words of service models what nodes offer and xApps ask for. The server knows no service model; without a
/// describer its log has the numbers of RAN functions.
///
/// It is called only for lines that are written, which the budget of log lines bounds
/// ([`ServerConfig::max_log_lines`](super::ServerConfig::max_log_lines)), between the messages of all nodes and xApps: it must
/// not block, and should decode a bounded number of octets.
pub trait Describe: Send {
    /// Returns what a node that has set up or changed is and offers: `NR 40 MHz TDD; KPM v3.00, RC v3.00`.
    fn node(&mut self, node: &Node) -> String;

    /// Returns what a subscription asks for: `DRB.UEThpDl of UE amf:1 every 500 ms`. `None`: its content is not known.
    fn subscription(&mut self, node: &Node, function: RanFunctionId, spec: &SubscriptionSpec) -> Option<String>;

    /// Returns what a control changes: `UE amf:1 to cell nr-00101-38001`. `None`: its content is not known.
    fn control(&mut self, node: &Node, function: RanFunctionId, header: &[u8], message: &[u8]) -> Option<String>;

    /// Forgets what is kept of a node that is lost or has changed.
    fn forget(&mut self, node: NodeId) {
        let _ = node;
    }
}

impl Server {
    /// Sets what says in the log what nodes offer and xApps ask for.
    pub fn set_describer(&mut self, describer: Box<dyn Describe>) {
        self.apps.describer = Some(describer);
    }
}

impl Apps {
    /// Returns what a node is and offers, for the line that it is up.
    pub(super) fn describe_node(&mut self, node: &Node) -> String {
        match &mut self.describer {
            Some(describer) => describer.node(node),
            None => format!("E2AP {}, {} RAN functions", node.version, node.functions.len()),
        }
    }

    /// Logs what an xApp has got of a node: a subscription, or the end of a control.
    pub(super) fn log_request(&mut self, event: &Event, controller: &Controller) {
        if !enabled!(Level::INFO) {
            return;
        }
        match event {
            Event::Request { consumer, event: RequestEvent::Subscribed { subscription, .. } } => {
                let Some((node, function, spec)) = controller.subscription(*subscription) else { return };
                let Some(node) = controller.node(node) else { return };
                let Some(xapp) = self.name_to_log(*consumer) else { return };
                let about = self.describer.as_mut().and_then(|describer| describer.subscription(node, function, spec));
                let about =
                    about.unwrap_or_else(|| format!("RAN function {}, {} actions", function.0, spec.actions.len()));
                info!(node = %node.global_id, "xApp {xapp} subscribed: {}", escaped(about));
            }
            Event::Request { consumer, event: RequestEvent::SubscriptionFailed { error, .. } } => {
                let Some(xapp) = self.name_to_log(*consumer) else { return };
                info!("xApp {xapp}: subscription failed: {error}");
            }
            Event::ControlEnded(ended) => self.log_control(ended, controller),
            _ => {}
        }
    }

    fn log_control(&mut self, ended: &EndedControl, controller: &Controller) {
        let EndedControl { consumer, node, function, content, duration, outcome } = ended;
        let Some(xapp) = self.name_to_log(*consumer) else { return };
        let known = controller.node(*node);
        let about = match (&mut self.describer, known, content) {
            (Some(describer), Some(node), Some(content)) => describer.control(node, *function, &content.0, &content.1),
            _ => None,
        };
        let about = about.unwrap_or_else(|| format!("RAN function {}", function.0));
        let (about, node) = (escaped(about), known.map(|node| tracing::field::display(node.global_id)));
        let time = shown(*duration);
        match outcome {
            ControlOutcome::Acknowledged(_) => info!(node, xapp, "control: {about}, acknowledged in {time}"),
            ControlOutcome::Failed { cause, .. } => {
                info!(node, xapp, "control: {about}, refused after {time}: {cause}")
            }
            ControlOutcome::TimedOut => info!(node, xapp, "control: {about}, no answer within {time}"),
            ControlOutcome::NodeLost => info!(node, xapp, "control: {about}, node lost after {time}"),
            _ => info!(node, xapp, "control: {about}, sent without acknowledgement"),
        }
    }

    /// Returns the name of an xApp, of either kind, if the budget allows a line about it: `rescue (1)`.
    fn name_to_log(&mut self, consumer: Consumer) -> Option<String> {
        let (name, peer) = self.xapp(consumer)?;
        self.log_limiter.allow_from(&peer).then_some(name)
    }

    /// Returns the name and the address of the xApp that is a consumer; `None` for an iApp, which logs itself.
    fn xapp(&mut self, consumer: Consumer) -> Option<(String, Address)> {
        if let Some((name, number)) = self.host.name(consumer) {
            let name = format!("{} ({number})", escaped(name));
            let assoc = self.host.assoc(consumer)?;
            return self.peer(assoc).map(|(peer, _)| (name, peer.clone()));
        }
        let id = self.e42.host.xapp_id(consumer)?;
        let assoc = self.e42.host.assoc(consumer)?;
        let peer = self.e42.peers.get_mut(assoc)?.link.peer().clone();
        Some((format!("E42 ({})", id.0), peer))
    }
}

/// `2 ms`, or `0.4 ms` below 10 ms.
fn shown(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 9.95 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_have_a_decimal() {
        assert_eq!(shown(Duration::from_micros(420)), "0.4 ms");
        assert_eq!(shown(Duration::from_micros(9_960)), "10 ms");
        assert_eq!(shown(Duration::from_secs(5)), "5000 ms");
    }
}
