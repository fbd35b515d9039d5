//! xApps of the O-RAN reference platform: subscriptions by REST, indications and controls over RMR.
//!
//! An application lists nodes at the E2 manager, subscribes at the subscription manager, is notified of the outcome by HTTP, and receives
//! indications at an RMR endpoint of its own. Requests by REST are sent one after the other by a thread, so that indications are read
//! meanwhile.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail};
use bench::oran_xapp::{
    Instance, Notification, OranNode, RmrLinks, SUBSCRIPTIONS, SubscriptionRequest, connected_nodes,
    receive_notifications,
};
use e2ap::{Pdu, RanFunctionId, RicControlAckRequest, RicControlRequest, RicRequestId, Version};
use ferric::link;
use per::{Gather, Octets};
use rest::Server;
use rest::client::{Client, ClientConfig};
use rmr::MessageType;
use serde_json::Value;

use crate::campaign::OranAccess;

use super::session::{Interface, Reports, Session, TICK};
use super::{Northbound, NorthboundConfig, Order, Progress};

/// The requestor of controls.
const REQUESTOR: u16 = 1021;
/// The pause between two lists of the nodes.
const LIST_PAUSE_NS: u64 = 500_000_000;
/// How long a request by REST may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// xApps of a controller that serves those of the O-RAN reference platform.
pub struct Oran {
    /// Its interfaces.
    pub access: OranAccess,
    /// The version of E2AP of the nodes: controls are encoded in it.
    pub version: Version,
    /// The configuration of links.
    pub link: link::Config,
}

/// What the threads beside the application report.
enum Outcome {
    Notified(Notification),
    /// A subscription request was refused at once, and why.
    Refused(u32, String),
    /// A subscription could not be deleted.
    NotDeleted,
}

/// A request by REST.
enum Job {
    Subscribe(u32, Value),
    Delete(String),
}

impl Northbound for Oran {
    fn name(&self) -> String {
        format!("O-RAN subscription manager on {}, RMR on {}", self.access.subscriptions.url, self.access.rmr)
    }

    fn run(
        &self,
        config: NorthboundConfig,
        orders: Receiver<Order>,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let nodes = Client::new(&ClientConfig { timeout: TIMEOUT, ..self.access.nodes.clone() })?;
        let kpm = config.content.kpm.id;
        let mut platform = Platform::start(self)?;
        let mut session = Session::new(&config, progress);
        let mut next_list_ns = 0;
        while !stop.load(Ordering::Acquire) {
            if !session.take_orders(&orders, &mut platform)? {
                return Ok(());
            }
            let now_ns = config.clock.now_ns();
            if session.lacks_nodes() && now_ns >= next_list_ns {
                next_list_ns = now_ns + LIST_PAUSE_NS;
                for (number, name) in listed(&nodes)? {
                    platform.names.insert(number, name);
                    session.node_up(number, kpm, number, &mut platform)?;
                }
            }
            session.request(&mut platform)?;
            platform.receive(session.until_request().min(TICK), &mut session)?;
            while let Ok(outcome) = platform.outcomes.try_recv() {
                platform.outcome(outcome, &mut session)?;
            }
            session.pause();
        }
        Ok(())
    }
}

/// The numbers of the nodes of this benchmark, with their names in the platform.
fn listed(client: &Client) -> anyhow::Result<Vec<(u32, String)>> {
    let plmn = crate::southbound::e2::node_id(1).plmn_identity();
    let plmn: String = plmn.0.iter().map(|octet| format!("{octet:02X}")).collect();
    let of = |node: OranNode| {
        let number = u32::from_str_radix(&node.nb_id, 2).ok()?;
        node.plmn.eq_ignore_ascii_case(&plmn).then_some((number, node.name))
    };
    Ok(connected_nodes(client)?.into_iter().filter_map(of).collect())
}

/// The connections of an application with the platform.
struct Platform {
    version: Version,
    /// The names of nodes.
    names: HashMap<u32, String>,
    /// The ids of active subscriptions, by the subscription ids of their indications.
    active: HashMap<u32, String>,
    last: u16,
    jobs: Option<Sender<Job>>,
    worker: Option<JoinHandle<()>>,
    /// Requests by REST that wait are not sent any more.
    is_ended: Arc<AtomicBool>,
    outcomes: Receiver<Outcome>,
    _notified: Server,
    notified_port: u16,
    host: IpAddr,
    links: RmrLinks,
}

impl Platform {
    fn start(oran: &Oran) -> anyhow::Result<Self> {
        let OranAccess { subscriptions, host, .. } = &oran.access;
        let (sender, outcomes) = mpsc::channel();
        let notifications = sender.clone();
        let notified = receive_notifications(*host, move |notification| {
            // the application may have ended
            let _ = notifications.send(Outcome::Notified(notification));
        })?;
        let client = Client::new(&ClientConfig { timeout: TIMEOUT, ..subscriptions.clone() })?;
        let (jobs, received) = mpsc::channel();
        let is_ended = Arc::new(AtomicBool::new(false));
        let worker = std::thread::Builder::new().name("subscriptions".to_owned()).spawn({
            let is_ended = Arc::clone(&is_ended);
            move || work(&client, &received, &sender, &is_ended)
        });
        let worker = worker.context("cannot start a thread")?;
        Ok(Platform {
            version: oran.version,
            names: HashMap::new(),
            active: HashMap::new(),
            last: 0,
            jobs: Some(jobs),
            worker: Some(worker),
            is_ended,
            outcomes,
            notified_port: notified.address().port(),
            _notified: notified,
            host: *host,
            links: RmrLinks::start(&oran.access.rmr, *host, &oran.link)?,
        })
    }

    fn number(&mut self) -> u16 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    fn send(&self, job: Job) -> anyhow::Result<()> {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent { Ok(()) } else { bail!("the thread of subscriptions has ended") }
    }

    fn outcome(&mut self, outcome: Outcome, session: &mut Session<'_, u32>) -> anyhow::Result<()> {
        match outcome {
            Outcome::Notified(Notification { id, instances }) => {
                for Instance { number: request, subscription, error, .. } in instances {
                    if error.is_empty() {
                        self.active.insert(subscription.into(), id.clone());
                        session.subscribed(request.into(), subscription.into(), self)?;
                    } else {
                        session.subscription_failed(request.into(), &error, self)?;
                    }
                }
                Ok(())
            }
            Outcome::Refused(request, reason) => session.subscription_failed(request, &reason, self),
            Outcome::NotDeleted => {
                session.failed();
                Ok(())
            }
        }
    }

    /// Waits for messages, and counts them.
    fn receive(&mut self, timeout: Duration, session: &mut Session<'_, u32>) -> anyhow::Result<()> {
        let version = self.version;
        self.links.receive(timeout, |message| match message.kind {
            MessageType::INDICATION => {
                let Ok(subscription) = u32::try_from(message.subscription_id) else { return };
                if let Some(peeked) = e2ap::peek::indication(message.payload) {
                    return session.report(subscription, peeked.sn.map(|sn| sn.0), peeked.header);
                }
                // a fragmented message
                let gather = Gather::new();
                if let Ok(Pdu::RicIndication(report)) = e2ap::decode(message.payload, version, &gather).map(|d| d.pdu) {
                    session.report(subscription, report.sn.map(|sn| sn.0), &report.header.to_cow());
                }
            }
            MessageType::CONTROL_ACKNOWLEDGE | MessageType::CONTROL_FAILURE => {
                let gather = Gather::new();
                match e2ap::decode(message.payload, version, &gather).map(|decoded| decoded.pdu) {
                    Ok(Pdu::RicControlAcknowledge(ack)) => session.controlled(ack.request_id.instance.into(), true),
                    Ok(Pdu::RicControlFailure(failure)) => {
                        session.controlled(failure.request_id.instance.into(), false)
                    }
                    _ => {}
                }
            }
            _ => {}
        })
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Release);
        drop(self.jobs.take());
        if let Some(worker) = self.worker.take() {
            // it returns nothing
            let _ = worker.join();
        }
    }
}

impl Interface for Platform {
    type Node = u32;
    const FOLLOWS_NODES: bool = false;

    fn subscribe(&mut self, node: u32, function: RanFunctionId, reports: &Reports) -> anyhow::Result<u32> {
        let number = self.number();
        let name = self.names.get(&node).context("a node without a name")?;
        let request = SubscriptionRequest {
            number,
            node: name,
            function,
            event_trigger: &reports.event_trigger,
            action: &reports.action,
            host: self.host,
            http_port: self.notified_port,
            rmr_port: self.links.port(),
        };
        let request = request.document();
        self.send(Job::Subscribe(number.into(), request))?;
        Ok(number.into())
    }

    fn unsubscribe(&mut self, subscription: u32) -> anyhow::Result<()> {
        match self.active.remove(&subscription) {
            Some(id) => self.send(Job::Delete(id)),
            None => Ok(()),
        }
    }

    fn control(&mut self, node: u32, function: RanFunctionId, message: &[u8]) -> anyhow::Result<u32> {
        let instance = self.number();
        let request = RicControlRequest {
            request_id: RicRequestId { requestor: REQUESTOR, instance },
            ran_function_id: function,
            call_process_id: None,
            header: Octets::from(b""),
            message: Octets::from(message),
            ack_request: Some(RicControlAckRequest::Ack),
        };
        let mut pdu = Vec::new();
        Pdu::from(request).encode(self.version, &mut pdu)?;
        let name = self.names.get(&node).context("a node without a name")?;
        self.links.send(MessageType::CONTROL_REQUEST, name, &pdu)?;
        Ok(instance.into())
    }
}

/// Sends requests by REST until there are no more, or the application has ended.
fn work(client: &Client, jobs: &Receiver<Job>, outcomes: &Sender<Outcome>, is_ended: &AtomicBool) {
    for job in jobs {
        if is_ended.load(Ordering::Acquire) {
            return;
        }
        let outcome = match job {
            Job::Subscribe(number, body) => match client.request("POST", SUBSCRIPTIONS, Some(&body)) {
                // the outcome is notified
                Ok(response) if response.is_success() => continue,
                Ok(response) => {
                    let detail = response.body["detail"].as_str().unwrap_or_default();
                    Outcome::Refused(number, format!("POST {SUBSCRIPTIONS}: status {}: {detail}", response.status))
                }
                Err(error) => Outcome::Refused(number, format!("POST {SUBSCRIPTIONS}: {error}")),
            },
            Job::Delete(id) => match client.request("DELETE", &format!("{SUBSCRIPTIONS}/{id}"), None) {
                Ok(response) if response.is_success() => continue,
                _ => Outcome::NotDeleted,
            },
        };
        // the application may have ended
        let _ = outcomes.send(outcome);
    }
}
