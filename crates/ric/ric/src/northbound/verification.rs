//! Verified controls: a request that is answered only when what nodes report shows the effect of the control (docs/verified-control.md).

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use e2sm::Arena;
use e2sm::common::SNssai;
use e2sm::kpm::{
    ActionDefinition, Detection, IndicationMessage, LabelInfoItem, MeasurementLabel, MeasurementRequest, ReportRequest,
    Scope,
};
use ferric::e2::topology::UeReference;
use ferric::e2::{Indication, Node, NodeId, RequestEvent, SubscriptionId, SubscriptionOrder, Ticket};
use ferric::server::{IappContext, IappWaker};
use iapp_rest::plan_report;
use rest::{Parameter, Problem, Reply, Request, Response, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

/// The most verifications in progress; further ones are answered with 503.
const MAX_VERIFICATIONS: usize = 64;
/// How often what is known of UEs is compared with what is expected.
const PERIOD: Duration = Duration::from_millis(50);
/// The measurement that shows a quota, and the period in which it is observed.
const SHARE: (&str, u32) = ("RRU.PrbTotDl", 200);
/// What a share may be above its quota, in percentage points: a slot is divided in whole resource blocks.
const TOLERANCE: f64 = 2.0;

/// The parameter with which a client asks for it.
pub(super) const VERIFY: Parameter = Parameter::of::<u32>(
    "verify_ms",
    "The answer waits until reports show the effect, so long at most after the acknowledgement: 1 to 20000. Without it the \
     acknowledgement is the answer.",
);

/// Reads the parameter.
pub(super) fn verify_within(request: &Request) -> Result<Option<Duration>, Problem> {
    let within: Option<u64> = request.query_number("verify_ms", 1..=20_000)?;
    Ok(within.map(Duration::from_millis))
}

/// The acknowledgement of a node.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Acknowledged {
    /// The node.
    node: String,
    /// With `verify_ms`: the time from the acknowledgement to the report that shows the effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    verified_after_ms: Option<u64>,
}

impl Acknowledged {
    /// Without verification.
    pub fn by(node: String) -> Self {
        Acknowledged { node, verified_after_ms: None }
    }
}

/// The effect that a control is to have.
pub(super) enum Effect {
    /// The UE is in the cell.
    InCell(UeReference, u64),
    /// The network slice uses no more than this share of the resource blocks of a node's cell, in percent.
    Share(SNssai, u8),
}

/// A verification: begun by an acknowledgement.
struct Verifying {
    reply: Reply,
    node: String,
    effect: Effect,
    began: Instant,
    within: Duration,
    /// The reports that have come, and what the last of them shows.
    reports: u32,
    last: Option<String>,
    /// The subscription to reports of the share.
    source: Option<Source>,
}

struct Source {
    ticket: Ticket,
    subscription: Option<SubscriptionId>,
    detection: Detection,
    action: Vec<u8>,
}

/// The verifications in progress.
pub(super) struct Verifications {
    waiting: Vec<Verifying>,
    ticks: Ticks,
}

impl Verifications {
    pub fn new(waker: IappWaker) -> Self {
        Verifications { waiting: Vec::new(), ticks: Ticks { waker, sender: None } }
    }

    /// Refuses a verification that there is no room for, before the control is sent.
    pub fn check_room(&self) -> Result<(), Problem> {
        if self.waiting.len() < MAX_VERIFICATIONS {
            return Ok(());
        }
        Err(Problem::unavailable(format!(
            "there are {MAX_VERIFICATIONS} verifications, which is the most; try again later"
        )))
    }

    /// Begins to verify a control that a node has acknowledged.
    pub fn begin(
        &mut self,
        reply: Reply,
        (id, node): (NodeId, String),
        (effect, within): (Effect, Duration),
        ric: &mut IappContext<'_>,
    ) {
        let acknowledged = |problem: Problem| problem.with("acknowledged", true);
        if let Err(problem) = self.check_room() {
            return reply.send(Err(acknowledged(problem)));
        }
        let source = match &effect {
            Effect::InCell(..) => None,
            Effect::Share(slice, _) => match ric.node(id).cloned().map(|node| observe(&node, *slice, ric)) {
                Some(Ok(source)) => Some(source),
                Some(Err(why)) => {
                    let what = format!("the effect cannot be observed: {why}");
                    return reply.send(Err(acknowledged(Problem::unprocessable(what).with("node", node))));
                }
                None => return reply.send(Err(iapp_rest::node_lost())),
            },
        };
        let began = Instant::now();
        self.ticks.until(began + within);
        self.waiting.push(Verifying { reply, node, effect, began, within, reports: 0, last: None, source });
        self.advance(ric);
    }

    /// Answers those whose effect is known, whose time is over, and forgets those whose client is gone.
    pub fn advance(&mut self, ric: &mut IappContext<'_>) {
        let now = Instant::now();
        for mut verifying in std::mem::take(&mut self.waiting) {
            if verifying.shows_ue(ric) {
                verifying.finish(true, ric);
            } else if now >= verifying.began + verifying.within || verifying.reply.is_closed() {
                verifying.finish(false, ric);
            } else {
                self.waiting.push(verifying);
            }
        }
    }

    /// Handles the answer to a subscription request, and its end.
    pub fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        let sources =
            self.waiting.iter_mut().filter_map(|verifying| verifying.source.as_mut().zip(Some(&mut verifying.last)));
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                for (source, _) in sources.filter(|(source, _)| source.ticket == *ticket) {
                    source.subscription = Some(*subscription);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                for (_, last) in sources.filter(|(source, _)| source.ticket == *ticket) {
                    *last = Some(error.to_string());
                }
            }
            RequestEvent::ChangeRequired { subscription, .. }
                if sources.into_iter().any(|(source, _)| source.subscription == Some(*subscription)) =>
            {
                // it may have been lost meanwhile
                let _ = ric.answer_change(*subscription, &[]);
            }
            _ => {}
        }
    }

    /// Reads a report of a share. Returns whether it is one.
    pub fn handle_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) -> bool {
        let is_of_it = |verifying: &Verifying| {
            verifying.source.as_ref().is_some_and(|source| source.subscription == Some(indication.subscription))
        };
        let Some(at) = self.waiting.iter().position(is_of_it) else { return false };
        let verifying = &mut self.waiting[at];
        let (Some(source), Effect::Share(_, most)) = (&verifying.source, &verifying.effect) else { return true };
        let Some(share) = source.share(indication) else { return true };
        verifying.reports += 1;
        verifying.last = Some(format!("the slice uses {share:.0} % of the cell, more than {most} %"));
        if share <= f64::from(*most) + TOLERANCE {
            self.waiting.swap_remove(at).finish(true, ric);
        }
        true
    }
}

impl Verifying {
    /// Whether what nodes have reported of the UE shows the effect.
    fn shows_ue(&mut self, ric: &IappContext<'_>) -> bool {
        let Effect::InCell(ue, cell) = &self.effect else { return false };
        let ran = ric.ran();
        // between two nodes a UE may be unknown
        let Some(is) = ran.resolve(ue).ok().and_then(|ue| ran.identity(ue).cell) else { return false };
        self.reports = 1;
        self.last = Some(format!("{ue} is in cell {}", ids::CellIdentity(is)));
        is == *cell
    }

    fn finish(self, is_shown: bool, ric: &mut IappContext<'_>) {
        let Verifying { reply, node, began, within, reports, last, source, .. } = self;
        if let Some(subscription) = source.and_then(|source| source.subscription) {
            // it may have ended already
            let _ = ric.unsubscribe(subscription);
        }
        let (ms, within) = (|time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX), within);
        if is_shown {
            return reply.send(Ok(Response::ok(Acknowledged { node, verified_after_ms: Some(ms(began.elapsed())) })));
        }
        let (status, verdict) = match reports {
            0 => (StatusCode::GATEWAY_TIMEOUT, "no_reports"),
            _ => (StatusCode::BAD_GATEWAY, "unchanged"),
        };
        let what = last.unwrap_or_else(|| "no report has come".to_owned());
        let problem = Problem::new(
            status,
            format!("{node} has acknowledged it, without effect within {} ms: {what}", ms(within)),
        );
        reply.send(Err(problem.with("acknowledged", true).with("verdict", verdict).with("node", node)));
    }
}

impl Source {
    /// The share in a report.
    fn share(&self, indication: &Indication<'_>) -> Option<f64> {
        let gather = per::Gather::new();
        let decoded = indication.decode(&gather).ok()?;
        let arena = Arena::new();
        let Detection { revision, wire, .. } = self.detection;
        let message = decoded.message.to_cow();
        let message = IndicationMessage::decode_in(&message, revision, wire, &arena).ok()?;
        let action = ActionDefinition::decode_in(&self.action, revision, wire, &arena).ok();
        message.rows(action.as_ref()).find_map(|row| row.value.number())
    }
}

/// Subscribes to the share of a network slice.
fn observe(node: &Node, slice: SNssai, ric: &mut IappContext<'_>) -> Result<Source, String> {
    let (name, period_ms) = SHARE;
    let label = MeasurementLabel { slice_id: Some(slice), ..MeasurementLabel::default() };
    let labels = [LabelInfoItem { meas_label: label }];
    let measurements = [MeasurementRequest { name, labels: &labels }];
    let (granularity_period_ms, reporting_period_ms) = (period_ms, period_ms);
    let wanted =
        ReportRequest { measurements: &measurements, granularity_period_ms, reporting_period_ms, scope: Scope::Node };
    let planned = plan_report(&wanted, node)?;
    let (function, detection, spec, action) = planned.ok_or_else(|| format!("{} has no E2SM-KPM", node.global_id))?;
    // not shared: two verifications may observe the same slice
    let order = SubscriptionOrder { restore: false, consent: true, ..spec.into() };
    let ticket = ric.subscribe(node.id, function, order).map_err(|misuse| misuse.to_string())?;
    Ok(Source { ticket, subscription: None, detection, action })
}

/// Wakes the app while verifications are in progress: it has no timers.
struct Ticks {
    waker: IappWaker,
    /// The times until which the thread wakes; it begins with the first.
    sender: Option<SyncSender<Instant>>,
}

impl Ticks {
    fn until(&mut self, until: Instant) {
        let sender = self.sender.get_or_insert_with(|| {
            let (sender, receiver) = sync_channel::<Instant>(MAX_VERIFICATIONS);
            let waker = self.waker.clone();
            let run = move || {
                while let Ok(mut until) = receiver.recv() {
                    while Instant::now() < until + PERIOD {
                        thread::sleep(PERIOD);
                        waker.wake();
                        until = receiver.try_iter().fold(until, Instant::max);
                    }
                }
            };
            if let Err(error) = thread::Builder::new().name("ferric-verify".to_owned()).spawn(run) {
                tracing::warn!("verified controls are answered late: cannot start a thread: {error}");
            }
            sender
        });
        // full: the thread has not read 64 of them within a period; the next ones wake it
        let _ = sender.try_send(until);
    }
}
