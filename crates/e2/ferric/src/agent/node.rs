//! A node with its RAN functions and its connections to controllers.

use std::time::SystemTime;

use e2::{Agent, AgentEvent, AgentMisuse, AssocId, ModificationRequest, Time};
use e2ap::{
    Cause, CauseRicRequest, Codec, GlobalRicId, ProcedureCode, RanFunctionId, RicRequestId, RicSubscriptionTime,
};
use link::{Address, Lookup};
use tracing::{debug, info, warn};

use super::associations::{Association, AssociationUpdate};
use super::function::{
    Admission, ChangeAnswer, ControlFailure, ControllerLinks, FunctionContext, RanFunction, RequestKey,
};
use super::subscription_times::TimedSubscriptions;
use super::{ControllerId, NodeConfig, Views};
use crate::peers::Peers;

pub(super) struct Node<F: ?Sized> {
    pub config: NodeConfig,
    pub functions: Vec<Box<F>>,
    pub controllers: Vec<ControllerId>,
    pub views: Views,
    /// The next report of a function, as entered in the schedule.
    pub due: Option<Time>,
}

/// A node's connection to one controller.
pub(super) struct ControllerConnection {
    /// The index of the node.
    pub node: usize,
    pub machine: Agent,
    /// The addresses of the RICs that may serve the node; at least one.
    pub addresses: Vec<Address>,
    /// The one in use, or one that a RIC has directed the node to.
    pub address: Address,
    /// The encoding of E2AP.
    pub codec: Codec,
    pub assoc: Option<AssocId>,
    /// The address of the first association, if that is not the configured one.
    pub first: Option<Address>,
    /// The additional associations.
    pub additional: Vec<Association>,
    /// The E2 Connection Update in progress.
    pub update: Option<AssociationUpdate>,
    /// The subscriptions with a start or end time.
    pub timed: TimedSubscriptions,
    /// The host name of `address` that is being looked up, before there is a link.
    pub lookup: Option<Lookup>,
    /// The time by which the host name must be looked up, and then the link be established.
    pub connect_deadline: Option<Time>,
    /// The RIC's global id, once it has accepted the setup.
    pub ric_id: Option<GlobalRicId>,
    /// When it did so last, until the connection is lost.
    pub up_since: Option<Time>,
    /// How often in a row the RIC has closed the connection soon after the setup.
    pub early_closes: u8,
    /// Whether the node is disconnected, by E2 Removal or loss, since the removal was requested.
    pub has_left: bool,
    /// Whether the connection is dropped once it is disconnected.
    pub is_leaving: bool,
    /// The error for which the link is to be closed.
    pub lost: Option<link::Error>,
    /// Whether answers of functions wait in the machine.
    pub has_answers: bool,
    /// Whether the machine is scheduled for processing.
    pub dirty: bool,
    /// The machine's deadline, as entered in the schedule.
    pub due: Option<Time>,
}

impl ControllerConnection {
    /// Answers a control.
    pub fn answer(
        &mut self,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) -> Result<(), AgentMisuse> {
        match result {
            Ok(outcome) => self.machine.acknowledge(id, outcome.as_deref()),
            Err(ControlFailure { cause, outcome }) => self.machine.fail(id, cause, outcome.as_deref()),
        }
    }
}

/// All connections, by controller.
#[derive(Default)]
pub(super) struct ConnectionTable(Vec<Option<Box<ControllerConnection>>>);

impl ConnectionTable {
    pub fn add(&mut self, connection: ControllerConnection) -> ControllerId {
        self.0.push(Some(Box::new(connection)));
        // 2^32 controllers are never added
        ControllerId(self.0.len() as u32 - 1)
    }

    pub fn remove(&mut self, id: ControllerId) -> Option<Box<ControllerConnection>> {
        self.0.get_mut(id.0 as usize)?.take()
    }

    #[inline]
    pub fn get(&self, id: ControllerId) -> Option<&ControllerConnection> {
        self.0.get(id.0 as usize)?.as_deref()
    }

    #[inline]
    pub fn get_mut(&mut self, id: ControllerId) -> Option<&mut ControllerConnection> {
        self.0.get_mut(id.0 as usize)?.as_deref_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &ControllerConnection> {
        self.0.iter().flatten().map(|connection| &**connection)
    }
}

impl<F: RanFunction + ?Sized> Node<F> {
    /// Returns the time of the next report; `None` while no controller is connected.
    pub fn next_report(&self, connections: &ConnectionTable) -> Option<Time> {
        let connected = |id: &ControllerId| connections.get(*id).is_some_and(|connection| connection.assoc.is_some());
        if !self.controllers.iter().any(connected) {
            return None;
        }
        self.functions.iter().filter_map(|function| function.next_report()).min()
    }

    /// Calls each function whose report is due.
    pub fn report(&mut self, now: Time, connections: &mut ConnectionTable, peers: &mut Peers, out: &mut Vec<u8>) {
        let Node { functions, controllers, views, .. } = self;
        let mut links = ControllerLinks { connections, controllers, peers, out, is_deferred: false };
        for function in functions {
            if function.next_report().is_some_and(|due| due <= now) {
                function.report(now, &mut FunctionContext::new(views, &mut links));
            }
        }
    }

    /// Handles an event of a controller's machine, except those of connections and associations, which the loop
    /// handles.
    pub fn handle(
        &mut self,
        now: Time,
        controller: ControllerId,
        event: AgentEvent,
        connections: &mut ConnectionTable,
        peers: &mut Peers,
        out: &mut Vec<u8>,
    ) {
        let Node { config: NodeConfig { id: node, about, .. }, functions, controllers, views, .. } = self;
        let Some(connection) = connections.get_mut(controller) else { return };
        let machine = &mut connection.machine;
        match event {
            AgentEvent::Connect => {}
            AgentEvent::Up { ric_id, accepted } => {
                connection.ric_id = Some(ric_id);
                connection.up_since = Some(now);
                let (label, offered, accepted) = (node.label(), functions.len(), accepted.len());
                let rejected = offered.saturating_sub(accepted);
                match (about.as_str(), rejected) {
                    ("", 0) => info!("{label} up: {offered} RAN functions at {ric_id}"),
                    (about, 0) => info!("{label} up: {about}; at {ric_id}"),
                    _ => info!("{label} up at {ric_id}, which has rejected {rejected} of its {offered} RAN functions"),
                }
            }
            AgentEvent::Down { reason, retry_at } => {
                connection.has_left = true;
                debug!(%node, %reason, retry_in_ms = (retry_at - now).as_millis(), "disconnected from the RIC");
            }
            AgentEvent::Notice(notice) => warn!(%node, ric = %connection.address, "{notice}"),
            AgentEvent::Subscribe(request) => {
                // the machine passes on only requests for functions that the node offers
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let id = request.request_id;
                let may_begin = connection.timed.add(&request, RicSubscriptionTime::at(SystemTime::now()));
                let answered = match may_begin.and_then(|()| function.subscribe(now, controller, &request, views)) {
                    Ok(admission) if admission.is_deferred() => return,
                    Ok(Admission { admitted, not_admitted }) => machine.admit(id, &admitted, &not_admitted),
                    Err(cause) => {
                        debug!(%node, function = request.ran_function_id.0, %cause, "subscription refused");
                        connection.timed.remove(id);
                        machine.refuse(id, cause)
                    }
                };
                if let Err(error) = answered {
                    warn!(%node, %error, "RAN function returned an invalid answer to a subscription; refusing it");
                    connection.timed.remove(id);
                    function.unsubscribe(RequestKey { controller, id });
                    let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
                    let _ = machine.refuse(id, cause); // the subscription may have ended
                }
            }
            AgentEvent::Modify(ModificationRequest { request_id, ran_function_id, change }) => {
                let Some(function) = find(functions, ran_function_id) else { return };
                let key = RequestKey { controller, id: request_id };
                let answered = match function.modify(now, key, &change, views) {
                    Ok(result) => machine.modified(request_id, &result),
                    Err(cause) => machine.refuse_modification(request_id, cause),
                };
                if let Err(error) = answered {
                    warn!(%node, %error, "RAN function returned an invalid answer to a modification; refusing it");
                    let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
                    let _ = machine.refuse_modification(request_id, cause); // the subscription may have ended
                }
            }
            AgentEvent::ModificationConfirmed { request_id, modified, removed, refused } => {
                let answer = ChangeAnswer::Confirmed { modified, removed, refused };
                let key = RequestKey { controller, id: request_id };
                functions.iter_mut().for_each(|function| function.change_answered(key, &answer));
            }
            AgentEvent::ModificationRefused { request_id, cause } => {
                let (key, answer) = (RequestKey { controller, id: request_id }, ChangeAnswer::Refused(cause));
                functions.iter_mut().for_each(|function| function.change_answered(key, &answer));
            }
            AgentEvent::Removed { by_ric } => {
                connection.has_left = true;
                info!(%node, ric = %connection.address, by_ric, "E2 Removal completed");
            }
            AgentEvent::GivenUp { procedure_code, cause } => {
                connection.has_left = procedure_code == ProcedureCode::E2_REMOVAL;
                let cause = cause.map(|cause| cause.to_string());
                warn!(%node, ric = %connection.address, procedure = ?procedure_code, cause, "procedure failed at the RIC");
            }
            AgentEvent::FunctionsUpdated { accepted, rejected } => {
                info!(%node, ric = %connection.address, accepted = accepted.len(), rejected = rejected.len(), "RIC Service Update acknowledged");
            }
            AgentEvent::ComponentsUpdated { rejected } => {
                info!(%node, ric = %connection.address, rejected, "E2 Node Configuration Update acknowledged");
            }
            AgentEvent::Query(request) => {
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let answered = match function.query(now, controller, &request, views) {
                    Ok(outcome) => machine.answer_query(request.request_id, &outcome),
                    Err(cause) => machine.fail_query(request.request_id, cause),
                };
                if let Err(error) = answered {
                    debug!(%node, %error, "answer to a query dropped");
                }
            }
            AgentEvent::Unsubscribe { request_id, ran_function_id } => {
                connection.timed.remove(request_id);
                if let Some(function) = find(functions, ran_function_id) {
                    function.unsubscribe(RequestKey { controller, id: request_id });
                }
            }
            AgentEvent::Control(request) => {
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let mut links = ControllerLinks { connections, controllers, peers, out, is_deferred: false };
                let result = function.control(now, controller, &request, &mut FunctionContext::new(views, &mut links));
                if links.is_deferred {
                    return;
                }
                let Some(connection) = connections.get_mut(controller) else { return };
                if let Err(error) = connection.answer(request.request_id, result) {
                    debug!(%node, %error, "answer to a control dropped");
                }
            }
            AgentEvent::ConnectionUpdate(_) => {} // handled by the loop
            other => machine.decline(&other),
        }
    }
}

fn find<F: RanFunction + ?Sized>(functions: &mut [Box<F>], id: RanFunctionId) -> Option<&mut Box<F>> {
    functions.iter_mut().find(|function| function.id() == id)
}
