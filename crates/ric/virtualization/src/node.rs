//! A base station and its virtual nodes: what the functions that tenants call share with the app.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use e2sm::rrc::Notification;
use e2sm::slice::ControlMessage;
use e2sm::tc::{ControlMessage as TcControl, IndicationMessage as TcReport};
use e2sm::{Model, Wire, ccc, gtp, kpm, mac, pdcp, rc, rlc, rrc, slice, tc};
use ferric::agent::{ControllerId, RequestKey};
use ferric::e2::{RanFunction, SubscriptionSpec};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId, RicRequestId};

use ids::PlmnIdentity;
use per::{List, PrintableString};

use crate::cells::CellPlmn;
use crate::kpm::KpmView;
use crate::outgoing::Outbox;
use crate::policies::{CellPolicies, Policies};
use crate::rc::{PendingInserts, RcView};
use crate::reports::event_cells;
use crate::sla::Sla;
use crate::slices::{Part, VirtualSlices};
use crate::tc::TcMap;
use crate::ues::Ues;

/// The maximum number of requests of a tenant for subscriptions to one base station, beyond each share.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 512;
/// The maximum number of a tenant's controls that wait for one base station.
pub(crate) const MAX_CONTROLS: usize = 16;

/// A service model whose functions are offered to tenants, with its encoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Offered {
    Mac(Wire),
    Rlc(Wire),
    Pdcp(Wire),
    Gtp(Wire),
    Rrc(Wire),
    Slice(Wire),
    Tc(Wire),
    Kpm(kpm::Detection),
    Rc(rc::Detection),
    Ccc,
}

impl Offered {
    /// The model of a function; `None` if it is not offered.
    pub fn of(function: &RanFunction) -> Option<Offered> {
        let wire = |model: Model| {
            // E2AP v01.00 has no object identifier: there, functions of FlexRIC are identified by their definitions
            if function.oid.is_empty() {
                let is_flexric = function.id.0 == model.function_id && *function.definition == *model.name.as_bytes();
                return is_flexric.then_some(Wire::Plain).filter(|plain| model.wires.contains(plain));
            }
            model.wire_of(&function.oid)
        };
        if let Some(wire) = wire(mac::MODEL) {
            return Some(Offered::Mac(wire));
        }
        if let Some(wire) = wire(rlc::MODEL) {
            return Some(Offered::Rlc(wire));
        }
        if let Some(wire) = wire(pdcp::MODEL) {
            return Some(Offered::Pdcp(wire));
        }
        if let Some(wire) = wire(gtp::MODEL) {
            return Some(Offered::Gtp(wire));
        }
        if let Some(wire) = wire(rrc::MODEL) {
            return Some(Offered::Rrc(wire));
        }
        if let Some(wire) = wire(slice::MODEL) {
            return Some(Offered::Slice(wire));
        }
        if let Some(wire) = wire(tc::MODEL) {
            return Some(Offered::Tc(wire));
        }
        let (oid, revision, definition) = (&function.oid, function.revision.0, &function.definition);
        if let Ok(detection) = rc::Detection::from_ran_function(oid, revision, definition) {
            return Some(Offered::Rc(detection));
        }
        if ccc::OID == function.oid.trim() {
            return Some(Offered::Ccc);
        }
        let detection = kpm::Detection::from_ran_function(oid, revision, definition).ok()?;
        crate::kpm::is_supported(detection.revision).then_some(Offered::Kpm(detection))
    }
}

/// A base station and its virtual nodes, shared by the app and the functions of all tenants. All run on one thread; the lock is for
/// the type system.
#[derive(Clone, Debug)]
pub(crate) struct SharedNode {
    state: Arc<Mutex<NodeState>>,
    /// Whether there may be commands.
    has_commands: Arc<AtomicBool>,
}

impl SharedNode {
    pub fn new(state: NodeState) -> Self {
        SharedNode { state: Arc::new(Mutex::new(state)), has_commands: Arc::default() }
    }

    pub fn lock(&self) -> MutexGuard<'_, NodeState> {
        // a panic ends the RIC
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the app for something.
    pub fn command(&self, command: Command) {
        self.lock().commands.push_back(command);
        self.has_commands.store(true, Ordering::Relaxed);
    }

    /// Returns whether there may be commands since the last call.
    pub fn take_has_commands(&self) -> bool {
        self.has_commands.swap(false, Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(crate) struct NodeState {
    /// Its global id, as logged.
    pub name: String,
    /// Its own PLMN, that of its cells.
    pub plmn: PlmnIdentity,
    /// Whether it has slices of the SLICE model, which divide it among the tenants: RRM policies cannot then.
    pub has_slices: bool,
    pub sla: Arc<Sla>,
    pub ues: Ues,
    /// The slice schedulers of the base station (downlink, uplink).
    pub schedulers: [PrintableString<'static>; 2],
    /// The last report of its traffic control.
    pub tc_report: Option<TcReport<'static>>,
    /// By the place of the tenant in the agreement.
    pub tenants: Vec<TenantState>,
    /// What the functions ask of the app.
    pub commands: VecDeque<Command>,
}

impl NodeState {
    /// A base station without UEs.
    pub fn new(name: String, plmn: PlmnIdentity, sla: Arc<Sla>) -> Self {
        let tenants = (0..sla.tenants.len()).map(|at| TenantState::new(&sla, at));
        NodeState {
            name,
            plmn,
            has_slices: false,
            tenants: tenants.collect(),
            sla,
            ues: Ues::default(),
            schedulers: [PrintableString::literal(""), PrintableString::literal("")],
            tc_report: None,
            commands: VecDeque::new(),
        }
    }

    /// Reports the present UEs of a tenant to a new subscriber.
    pub fn report_present(&mut self, tenant: usize, function: RanFunctionId, key: RequestKey, wire: Wire) {
        let plmn = CellPlmn::to_tenant(self, tenant);
        let mut notifications: Vec<Notification<'_>> = self.ues.present(tenant).collect();
        notifications.iter_mut().for_each(|event| {
            event_cells(plmn, event);
        });
        let notifications: List<'_, _> = notifications.into();
        if notifications.is_empty() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp_us = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        let encoded = rrc::IndicationHeader { timestamp_us }
            .encode(wire, &mut header)
            .and_then(|()| rrc::IndicationMessage { notifications }.encode(wire, &mut message));
        if encoded.is_ok() {
            self.tenants[tenant].outbox.queue(function).report(key, RicActionId(1), None, &header, &message);
        }
    }
}

/// What a tenant has of a base station.
#[derive(Debug)]
pub(crate) struct TenantState {
    pub part: Part,
    pub slices: VirtualSlices,
    /// Its queues and filters.
    pub tc: TcMap,
    /// Its RRM policies of the base station.
    pub policies: Policies,
    /// Its RRM policies of single cells.
    pub cell_policies: CellPolicies,
    /// Whether a control that sets some is not answered yet.
    pub has_pending_policies: bool,
    /// The procedures of its UEs that wait for its answer.
    pub inserts: PendingInserts,
    /// What its functions are to send.
    pub outbox: Outbox,
    pub subscriptions: usize,
    /// Controls without an answer.
    pub controls: usize,
}

impl TenantState {
    /// What a tenant has at the begin.
    pub fn new(sla: &Sla, tenant: usize) -> Self {
        TenantState {
            part: Part { share: sla.tenants[tenant].share, tenant: tenant as u32 },
            slices: VirtualSlices::default(),
            tc: TcMap::default(),
            policies: Policies::default(),
            cell_policies: CellPolicies::default(),
            has_pending_policies: false,
            inserts: PendingInserts::default(),
            outbox: Outbox::default(),
            subscriptions: 0,
            controls: 0,
        }
    }
}

/// What a tenant's function asks of the app.
#[derive(Debug)]
pub(crate) struct Command {
    pub tenant: usize,
    pub function: RanFunctionId,
    pub kind: CommandKind,
}

#[derive(Debug)]
pub(crate) enum CommandKind {
    Subscribe {
        key: RequestKey,
        spec: SubscriptionSpec,
        view: View,
        /// Actions that are not passed on.
        refused: Vec<(RicActionId, Cause)>,
    },
    Unsubscribe(RequestKey),
    Slices {
        controller: ControllerId,
        id: RicRequestId,
        message: ControlMessage<'static>,
        wire: Wire,
    },
    TrafficControl {
        controller: ControllerId,
        id: RicRequestId,
        message: TcControl<'static>,
    },
    Control(TenantControl),
    /// The tenant's controller was removed, and what it had configured is to be undone.
    Removed(ControllerId),
}

/// How the reports of a subscription differ from those that the tenant has asked for.
#[derive(Clone, Debug)]
pub(crate) enum View {
    /// By the records of UEs only.
    Plain,
    Kpm(Arc<KpmView>),
    Rc(Arc<RcView>),
}

/// A control of a tenant that is passed on.
#[derive(Debug)]
pub(crate) struct TenantControl {
    pub controller: ControllerId,
    pub id: RicRequestId,
    /// The suspended procedure that it answers.
    pub call_process_id: Option<Vec<u8>>,
    pub header: Vec<u8>,
    pub message: Vec<u8>,
    pub effect: Effect,
}

/// What the virtual node has to remember of a control that the base station acknowledges.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    None,
    /// The RRM policies of the tenant.
    Policies(Policies),
    /// Those of single cells.
    CellPolicies(CellPolicies),
}
