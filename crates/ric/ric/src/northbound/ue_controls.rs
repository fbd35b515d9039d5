//! `/v1/ues/{ue}/handover`, `/drx`, `/qos` and `/quota`: controls of a UE by E2SM-RC.

use std::collections::HashMap;
use std::time::Duration;

use e2sm::common::{CellReference, Cgi, SNssai, Sd, Sst};
use e2sm::rc::{
    self, Control, ControlAction, ControlOutcomeFormats, Detection, DrbQos, Drx, Handover, LONG_DRX_CYCLES_MS,
    RanFunctionDefinition, RanParameterValue, RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota,
};
use e2sm::{Arena, Wire};
use ferric::e2::topology::{UeReference, UeReferenceError};
use ferric::e2::{Node, NodeId, RequestEvent, Ticket};
use ferric::e2ap::{GlobalE2NodeId, RanFunctionId};
use ferric::server::IappContext;
use iapp_rest::{Job, UE, encoding_problem, misuse_problem, problem_of, resolve_ue};
use rest::{Operation, Problem, Reply, Request, Response, Route, not_null};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::app::{AppQueue, RicApp};
use super::cell_states::CellStateReports;
use super::overview::{cell_at, known_cells};
use super::verification::{Acknowledged, Effect, VERIFY, Verifications, verify_within};

/// The most cells that a refusal names.
const NEAREST: usize = 8;

/// The cell that a UE is handed over to.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HandoverOrder {
    /// The target cell, as in `/v1/cells`.
    cell: String,
}

/// The long DRX cycle of a UE.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DrxOrder {
    /// Its length: the UE gets the longest cycle of TS 38.331 that is not above it.
    #[schemars(range(min = 10, max = 10240))]
    cycle_ms: u16,
}

/// The QoS of a bearer. What is absent stays; at least one of `five_qi` and `priority` is given.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QosOrder {
    /// The data radio bearer.
    #[serde(default = "first_drb")]
    #[schemars(range(min = 1, max = 32))]
    drb: u8,
    /// The 5QI.
    #[serde(default)]
    five_qi: Option<u8>,
    /// The priority level; 1 is served first.
    #[serde(default)]
    #[schemars(range(min = 1, max = 127))]
    priority: Option<u8>,
}

fn first_drb() -> u8 {
    1
}

/// The quota of the network slice of a UE in the resource blocks of its cell, in percent: dedicated <= min <= max.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuotaOrder {
    /// The network slice (S-NSSAI): SST in decimal, or SST and SD as `1-00000a`. Default: that of the UE, if it has one.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "String")]
    slice: Option<String>,
    /// The share that it gets if it has data.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    min_percent: u8,
    /// The most that it gets.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 100))]
    max_percent: u8,
    /// The share that stays reserved without data.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    dedicated_percent: u8,
}

fn all() -> u8 {
    100
}

/// What a request orders.
enum Order {
    Handover(CellReference),
    Quota(Option<SNssai>, RrmPolicyRatio),
    Other(ControlAction),
}

impl TryFrom<HandoverOrder> for Order {
    type Error = Problem;

    fn try_from(HandoverOrder { cell }: HandoverOrder) -> Result<Self, Problem> {
        let read = cell.parse().map(Order::Handover);
        read.map_err(|error| Problem::unprocessable(format!("cell: `{cell}`: {error}")).with("at", "cell"))
    }
}

impl TryFrom<DrxOrder> for Order {
    type Error = Problem;

    fn try_from(DrxOrder { cycle_ms }: DrxOrder) -> Result<Self, Problem> {
        let (first, last) = (LONG_DRX_CYCLES_MS[0], LONG_DRX_CYCLES_MS[LONG_DRX_CYCLES_MS.len() - 1]);
        match (first..=last).contains(&cycle_ms) {
            true => Ok(Order::Other(ControlAction::Drx(Drx::long(cycle_ms)))),
            false => Err(out_of_range("cycle_ms", cycle_ms, first, last)),
        }
    }
}

impl TryFrom<QosOrder> for Order {
    type Error = Problem;

    fn try_from(QosOrder { drb, five_qi, priority }: QosOrder) -> Result<Self, Problem> {
        if !(1..=32).contains(&drb) {
            return Err(out_of_range("drb", drb.into(), 1, 32));
        }
        match priority {
            Some(priority) if !(1..=127).contains(&priority) => {
                return Err(out_of_range("priority", priority.into(), 1, 127));
            }
            None if five_qi.is_none() => {
                return Err(Problem::unprocessable("nothing changes: give `five_qi`, `priority` or both"));
            }
            _ => {}
        }
        let qos = DrbQos { drb_id: drb, five_qi, priority_level: priority, ..DrbQos::default() };
        Ok(Order::Other(ControlAction::DrbQos(qos)))
    }
}

impl TryFrom<QuotaOrder> for Order {
    type Error = Problem;

    fn try_from(order: QuotaOrder) -> Result<Self, Problem> {
        let QuotaOrder { slice, min_percent, max_percent, dedicated_percent } = order;
        let refused = |at: &'static str, why: String| Problem::unprocessable(format!("{at}: {why}")).with("at", at);
        let read = |text: String| {
            let malformed = || refused("slice", format!("`{text}` is no S-NSSAI, such as `1` or `1-00000a`"));
            network_slice(&text).ok_or_else(malformed)
        };
        let slice = slice.map(read).transpose()?;
        if max_percent > 100 {
            return Err(out_of_range("max_percent", max_percent.into(), 0, 100));
        }
        if min_percent > max_percent {
            return Err(refused("min_percent", format!("{min_percent} is above `max_percent`, {max_percent}")));
        }
        if dedicated_percent > min_percent {
            return Err(refused(
                "dedicated_percent",
                format!("{dedicated_percent} is above `min_percent`, {min_percent}"),
            ));
        }
        let ratio = RrmPolicyRatio {
            members: Vec::new(),
            min_percent: Some(min_percent),
            max_percent: Some(max_percent),
            dedicated_percent: Some(dedicated_percent),
        };
        Ok(Order::Quota(slice, ratio))
    }
}

/// Reads an S-NSSAI: `1`, or `1-00000a`.
fn network_slice(text: &str) -> Option<SNssai> {
    let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
    let sd = match sd {
        None => None,
        Some(sd) if sd.len() == 6 && sd.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            let [_, a, b, c] = u32::from_str_radix(sd, 16).ok()?.to_be_bytes();
            Some(Sd([a, b, c]))
        }
        Some(_) => return None,
    };
    Some(SNssai { sst: Sst([sst.parse().ok()?]), sd })
}

fn out_of_range(name: &'static str, value: u16, first: u16, last: u16) -> Problem {
    Problem::unprocessable(format!("{name}: {value} is not in {first} to {last}")).with("at", name)
}

/// Returns the routes.
pub(super) fn routes(queue: &AppQueue) -> [Route; 4] {
    let handover = Operation::post("/v1/ues/{ue}/handover", "handOverUe", "Hand a UE over to a cell")
        .takes::<HandoverOrder>()
        .example(json!({ "cell": "003800001" }))
        .describe(
            "By E2SM-RC, style 3, action 1. The answer is that of the node that prepares the handover: the event `ue_handed_over` \
             of `/v1/events` follows when the UE is in its new cell, and with `verify_ms` the answer. If no report shows it in time: \
             502 with `verdict: unchanged`, or 504 with `verdict: no_reports`.",
        );
    let drx = Operation::put("/v1/ues/{ue}/drx", "putUeDrx", "Set the DRX cycle of a UE")
        .takes::<DrxOrder>()
        .example(json!({ "cycle_ms": 160 }))
        .describe("By E2SM-RC, style 2, action 1. No report shows the effect.");
    let qos = Operation::put("/v1/ues/{ue}/qos", "putUeQos", "Change the QoS of a bearer of a UE")
        .takes::<QosOrder>()
        .example(json!({ "priority": 20 }))
        .describe("By E2SM-RC, style 1, action 1. No report shows the effect.");
    let quota = Operation::put("/v1/ues/{ue}/quota", "putUeQuota", "Set the quota of the network slice of a UE")
        .takes::<QuotaOrder>()
        .example(json!({ "max_percent": 40 }))
        .describe(
            "By E2SM-RC, style 2, action 6, in the cell of the UE: the quota is that of the whole slice there. With `verify_ms` the answer \
             waits for a report that the slice uses no more. If none shows it in time: 502 with `verdict: unchanged`, or 504 with \
             `verdict: no_reports`.",
        );
    let (handover, quota) = (handover.query(&[VERIFY]), quota.query(&[VERIFY]));
    [
        route::<HandoverOrder>(handover, queue),
        route::<DrxOrder>(drx, queue),
        route::<QosOrder>(qos, queue),
        route::<QuotaOrder>(quota, queue),
    ]
}

/// A route with a body that is an order.
fn route<T>(operation: Operation, queue: &AppQueue) -> Route
where
    T: for<'de> Deserialize<'de> + JsonSchema,
    Order: TryFrom<T, Error = Problem>,
{
    let operation = operation.tag("ues").path(&[UE]).returns::<Acknowledged>("The node has acknowledged it.");
    Route::queued(operation, queue, |request: &Request| {
        let text = request.parameter(0);
        let read = text.parse();
        let ue: UeReference =
            read.map_err(|error: UeReferenceError| Problem::bad_request(format!("`{text}`: {error}")))?;
        let order = Order::try_from(request.json::<T>()?)?;
        let within = verify_within(request)?;
        let job: Job<RicApp> = Box::new(move |app, ric, reply| {
            if within.is_some()
                && let Err(problem) = app.verifications.check_room()
            {
                return reply.send(Err(problem));
            }
            app.ues.order((&ue, order, within), &app.cells, ric, reply);
        });
        Ok(job)
    })
}

/// The controls without an answer.
#[derive(Default)]
pub(super) struct UeControls {
    requested: HashMap<Ticket, Pending>,
}

struct Pending {
    reply: Reply,
    node: (NodeId, String),
    /// What is to be shown by reports before the answer, and for how long.
    verify: Option<(Effect, Duration)>,
    detection: Detection,
}

/// A control, encoded for a node.
struct Planned {
    node: NodeId,
    name: String,
    function: RanFunctionId,
    detection: Detection,
    control: rc::NodeControl,
    /// The effect that reports can show.
    effect: Option<Effect>,
}

impl UeControls {
    /// Sends the control of an order to the node of the UE's base station that offers it.
    fn order(
        &mut self,
        (ue, order, within): (&UeReference, Order, Option<Duration>),
        cells: &CellStateReports,
        ric: &mut IappContext<'_>,
        reply: Reply,
    ) {
        let Planned { node, name, function, detection, control, effect } = match plan(ue, order, cells, ric) {
            Ok(planned) => planned,
            Err(problem) => return reply.send(Err(problem)),
        };
        match ric.control(node, function, &control.header, &control.message) {
            Ok(ticket) => {
                let verify = effect.zip(within);
                self.requested.insert(ticket, Pending { reply, node: (node, name), verify, detection });
            }
            Err(misuse) => reply.send(Err(misuse_problem(misuse))),
        }
    }

    /// Handles the answer of a node.
    pub fn handle_request(
        &mut self,
        event: &RequestEvent,
        verifications: &mut Verifications,
        ric: &mut IappContext<'_>,
    ) {
        let RequestEvent::Controlled { ticket, outcome } = event else { return };
        let Some(Pending { reply, node, verify, detection }) = self.requested.remove(ticket) else { return };
        match (problem_of(outcome, |outcome| reason(outcome?, detection)), verify) {
            (None, None) => reply.send(Ok(Response::ok(Acknowledged::by(node.1)))),
            (None, Some(verify)) => verifications.begin(reply, node, verify, ric),
            (Some(problem), _) => reply.send(Err(problem.with("node", node.1))),
        }
    }
}

/// Plans the control of an order.
fn plan(ue: &UeReference, order: Order, cells: &CellStateReports, ric: &IappContext<'_>) -> Result<Planned, Problem> {
    let ran = ric.ran();
    let reference = ue;
    let ue = resolve_ue(ran, ue)?;
    let station = ran.station(ue.station()).into_iter().flat_map(|station| station.nodes());
    let nodes: Vec<&Node> = station.filter_map(|(node, _)| ric.node(node)).collect();
    let first = nodes.first().ok_or_else(iapp_rest::node_lost)?;
    let (action, effect) = match order {
        Order::Handover(cell) => {
            let cell = target(cell, &first.global_id, cells, ric)?;
            // a name that stays in a handover
            let lasting = ran.identity(ue).reference().unwrap_or_else(|| reference.clone());
            let effect = Effect::InCell(lasting, ferric::e2::topology::cell_identity(&cell));
            (ControlAction::Handover(Handover::to(cell)), Some(effect))
        }
        Order::Quota(slice, ratio) => {
            let slice = match (slice, &ran.identity(ue).context.s_nssais[..]) {
                (Some(slice), _) => slice,
                (None, [slice]) => *slice,
                (None, known) => {
                    let what = format!("slice: the UE has {} network slices: name one", known.len());
                    return Err(Problem::unprocessable(what).with("at", "slice"));
                }
            };
            let effect = Effect::Share(slice, ratio.max_percent.unwrap_or(100));
            let plmn_identity = first.global_id.plmn_identity();
            let policy = RrmPolicyRatio { members: vec![RrmPolicyMember { plmn_identity, slice }], ..ratio };
            (ControlAction::SlicePrbQuota(SlicePrbQuota { policies: vec![policy] }), Some(effect))
        }
        Order::Other(action) => (action, None),
    };
    let id = action.id();
    let arena = Arena::new();
    let offered = nodes.iter().find_map(|node| {
        let (function, detection, definition) = rc_function(node, &arena)?;
        rc::check_action(&definition, id).is_ok().then_some((node, function, detection, definition))
    });
    let name = || ran.describe(ue);
    let Some((node, function, detection, definition)) = offered else {
        return Err(Problem::not_found(format!("no node of {} offers {id}", name())));
    };
    let Some(ue_id) = ran.ue_id_for(node.id, ue) else {
        let what = format!("{} has not reported an identity of {} for E2SM-RC", node.global_id, name());
        return Err(Problem::unavailable(what));
    };
    let control = Control::of_ue(ue_id, action).encode_for(&definition, detection.revision, detection.wire);
    let control = control.map_err(|error| encoding_problem(&error))?;
    Ok(Planned { node: node.id, name: node.global_id.to_string(), function, detection, control, effect })
}

/// The cell of a handover as a node names it. It must be known, unless none is.
fn target(
    wanted: CellReference,
    node: &GlobalE2NodeId,
    cells: &CellStateReports,
    ric: &IappContext<'_>,
) -> Result<Cgi, Problem> {
    let known = known_cells(ric.ran(), cells);
    if known.is_empty() {
        return Ok(cell_at(node, (wanted.plmn.unwrap_or_else(|| node.plmn_identity()), wanted.identity)));
    }
    match known.iter().find(|known| wanted.is(known.name.0, known.name.1)) {
        Some(known) => Ok(cell_at(node, known.name)),
        None => {
            let names: Vec<String> = known.iter().take(NEAREST).map(|known| known.name.1.to_string()).collect();
            let what = format!("cell: there is no cell {}; see /v1/cells", wanted.identity);
            Err(Problem::unprocessable(what).with("at", "cell").with("known", names))
        }
    }
}

/// The RC function of a node; `None` if it has none that can be read.
pub(super) fn rc_function<'a>(
    node: &'a Node,
    arena: &'a Arena,
) -> Option<(RanFunctionId, Detection, RanFunctionDefinition<'a>)> {
    node.functions.iter().find_map(|function| {
        if Wire::of(function.oid.trim()).1 != rc::OID {
            return None;
        }
        let detection = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition).ok()?;
        let (revision, wire) = (detection.revision, detection.wire);
        let definition = RanFunctionDefinition::decode_in(&function.definition, revision, wire, arena).ok()?;
        Some((function.id, detection, definition))
    })
}

/// What a node says in the outcome of a control.
pub(super) fn reason(outcome: &[u8], detection: Detection) -> Option<String> {
    let arena = Arena::new();
    let outcome = rc::ControlOutcome::decode_in(outcome, detection.revision, detection.wire, &arena).ok()?;
    let ControlOutcomeFormats::Format1(format) = &outcome.formats else { return None };
    format.ran_p_list.iter().find_map(|item| match &item.value {
        RanParameterValue::ValuePrintableString(reason) => Some(reason.to_string()),
        _ => None,
    })
}
