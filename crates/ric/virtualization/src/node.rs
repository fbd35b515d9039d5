//! A base station and its virtual nodes: what the functions that tenants call share with the app.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use e2sm::kpm::Detection;
use e2sm::rrc::Notification;
use e2sm::slice::ControlMessage;
use e2sm::{Model, Wire, gtp, mac, pdcp, rlc, rrc, slice};
use ferric::agent::{ControlFailure, ControllerId, RequestKey};
use ferric::e2::{RanFunction, SubscriptionSpec};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId, RicRequestId};

use per::{List, PrintableString};

use crate::kpm::KpmView;
use crate::sla::Sla;
use crate::slices::{Part, VirtualSlices};
use crate::ues::Ues;

/// The maximum number of subscriptions of a tenant to one base station.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;
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
    Kpm(Detection),
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
        let detection = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition).ok()?;
        crate::kpm::is_supported(&detection).then_some(Offered::Kpm(detection))
    }
}

/// A base station and its virtual nodes, shared by the app and the functions of all tenants. All run on one thread; the lock is for
/// the type system.
#[derive(Clone, Debug)]
pub(crate) struct SharedNode(Arc<Mutex<NodeState>>);

impl SharedNode {
    pub fn new(state: NodeState) -> Self {
        SharedNode(Arc::new(Mutex::new(state)))
    }

    pub fn lock(&self) -> MutexGuard<'_, NodeState> {
        // a panic ends the RIC
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct NodeState {
    /// Its global id, as logged.
    pub name: String,
    pub sla: Arc<Sla>,
    pub ues: Ues,
    /// The slice schedulers of the base station (downlink, uplink).
    pub schedulers: [PrintableString<'static>; 2],
    /// By the place of the tenant in the agreement.
    pub tenants: Vec<TenantState>,
    /// What the functions ask of the app.
    pub commands: VecDeque<Command>,
}

impl NodeState {
    /// Reports the present UEs of a tenant to a new subscriber.
    pub fn report_present(&mut self, tenant: usize, function: RanFunctionId, key: RequestKey, wire: Wire) {
        let notifications: List<'_, Notification<'_>> = self.ues.present(tenant).collect();
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
            let report = Outgoing::Report { key, action: RicActionId(1), header, message };
            self.tenants[tenant].outgoing.push((function, report));
        }
    }
}

/// What a tenant has of a base station.
#[derive(Debug)]
pub(crate) struct TenantState {
    pub part: Part,
    pub slices: VirtualSlices,
    /// What its functions are to send.
    pub outgoing: Vec<(RanFunctionId, Outgoing)>,
    pub subscriptions: usize,
    /// Controls without an answer.
    pub controls: usize,
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
        kpm: Option<Arc<KpmView>>,
    },
    Unsubscribe(RequestKey),
    Slices {
        controller: ControllerId,
        id: RicRequestId,
        message: ControlMessage<'static>,
        wire: Wire,
    },
    /// The tenant's controller was removed, and what it had configured is to be undone.
    Removed(ControllerId),
}

/// What a function is to send to its controller.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Report {
        key: RequestKey,
        action: RicActionId,
        header: Vec<u8>,
        message: Vec<u8>,
    },
    /// The base station has ended the subscription, or refuses it.
    Ended {
        key: RequestKey,
        cause: Cause,
    },
    Answer {
        controller: ControllerId,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    },
}
