//! A node, its functions, and its controllers.

use e2::{Agent, AgentEvent, AssocId, ModificationRequest, Time};
use e2ap::{
    Cause, CauseRicRequest, Codec, E2NodeComponentConfigAdditionItem, GlobalE2NodeId, GlobalRicId, ProcedureCode,
    RanFunctionId, Version,
};
use link::Address;
use tracing::{debug, info, warn};

use super::associations::{Association, AssociationUpdate};
use super::function::{
    Admission, ChangeAnswer, ControlFailure, ControllerLinks, FunctionContext, RanFunction, RequestKey,
};
use super::{ControllerId, Views};
use crate::peers::Peers;

/// What a node is.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Its key.
    pub id: GlobalE2NodeId,
    /// Its components: the interfaces that it has, and what was said on them. Default: none.
    pub components: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    /// The version of E2AP that it speaks. Default: that of the loop.
    pub version: Option<Version>,
}

impl NodeConfig {
    /// A node without components.
    #[must_use]
    pub fn new(id: GlobalE2NodeId) -> Self {
        NodeConfig { id, components: Vec::new(), version: None }
    }
}

pub(super) struct Node<F: ?Sized> {
    pub config: NodeConfig,
    pub functions: Vec<Box<F>>,
    pub controllers: Vec<ControllerId>,
    pub views: Views,
    /// When a function is to report, as the schedule has it.
    pub due: Option<Time>,
}

/// A node's side towards one controller.
pub(super) struct ControllerConnection {
    /// The place of its node.
    pub node: usize,
    pub machine: Agent,
    pub address: Address,
    /// What is spoken with it.
    pub codec: Codec,
    pub assoc: Option<AssocId>,
    /// Where the first of its associations leads, once that is not the one that it was told.
    pub first: Option<Address>,
    /// Other associations that it has with the controller, or is to have.
    pub additional: Vec<Association>,
    /// What the controller wants of its associations, until it is done.
    pub update: Option<AssociationUpdate>,
    /// When a link that is being set up must stand.
    pub connect_deadline: Option<Time>,
    /// Who it is, once it has taken the setup.
    pub ric_id: Option<GlobalRicId>,
    /// Whether it has left the controller, in order or by a loss, since it was asked to.
    pub has_left: bool,
    /// Whether the controller is to be removed once it is left.
    pub is_leaving: bool,
    /// Why its link is to be given up.
    pub lost: Option<link::Error>,
    /// Whether the machine is to be asked what it wants.
    pub dirty: bool,
    /// The machine's deadline, as the schedule has it.
    pub due: Option<Time>,
}

/// All connections, by their controller.
#[derive(Default)]
pub(super) struct ConnectionTable(Vec<Option<Box<ControllerConnection>>>);

impl ConnectionTable {
    pub fn add(&mut self, connection: ControllerConnection) -> ControllerId {
        self.0.push(Some(Box::new(connection)));
        // one is added by hand at a time
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
    /// When a function wants to report; while there is no controller, there is nobody to report to.
    pub fn next_report(&self, connections: &ConnectionTable) -> Option<Time> {
        let connected = |id: &ControllerId| connections.get(*id).is_some_and(|connection| connection.assoc.is_some());
        if !self.controllers.iter().any(connected) {
            return None;
        }
        self.functions.iter().filter_map(|function| function.next_report()).min()
    }

    /// Lets each function report that has something due.
    pub fn report(&mut self, now: Time, connections: &mut ConnectionTable, peers: &mut Peers, out: &mut Vec<u8>) {
        let Node { functions, controllers, views, .. } = self;
        let mut links = ControllerLinks { connections, controllers, peers, out };
        for function in functions {
            if function.next_report().is_some_and(|due| due <= now) {
                function.report(now, &mut FunctionContext::new(views, &mut links));
            }
        }
    }

    /// What a controller's machine has to say, but for connections and associations, which are the loop's.
    pub fn handle(
        &mut self,
        now: Time,
        controller: ControllerId,
        event: AgentEvent,
        connections: &mut ConnectionTable,
        peers: &mut Peers,
        out: &mut Vec<u8>,
    ) {
        let Node { config: NodeConfig { id: node, .. }, functions, controllers, views, .. } = self;
        let Some(connection) = connections.get_mut(controller) else { return };
        let machine = &mut connection.machine;
        match event {
            AgentEvent::Connect => {}
            AgentEvent::Up { ric_id, accepted } => {
                connection.ric_id = Some(ric_id);
                info!(%node, %ric_id, functions = accepted.len(), "the RIC has taken the setup");
            }
            AgentEvent::Down { reason, retry_at } => {
                connection.has_left = true;
                debug!(%node, %reason, retry_in_ms = (retry_at - now).as_millis(), "down");
            }
            AgentEvent::Notice(notice) => warn!(%node, ric = %connection.address, "{notice}"),
            AgentEvent::Subscribe(request) => {
                // the machine passes on only what is for a function that it offers
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let answered = match function.subscribe(now, controller, &request, views) {
                    Ok(Admission { admitted, not_admitted }) => {
                        machine.admit(request.request_id, &admitted, &not_admitted)
                    }
                    Err(cause) => {
                        debug!(%node, function = request.ran_function_id.0, %cause, "subscription refused");
                        machine.refuse(request.request_id, cause)
                    }
                };
                if let Err(error) = answered {
                    warn!(%node, %error, "a RAN function answered a subscription in a way that makes no sense");
                    function.unsubscribe(RequestKey { controller, id: request.request_id });
                    let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
                    let _ = machine.refuse(request.request_id, cause); // it may be gone by now
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
                    warn!(%node, %error, "a RAN function answered a modification in a way that makes no sense");
                    let cause = Cause::RicRequest(CauseRicRequest::Unspecified);
                    let _ = machine.refuse_modification(request_id, cause); // it may be gone by now
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
                info!(%node, ric = %connection.address, by_ric, "removed in order");
            }
            AgentEvent::GivenUp { procedure_code, cause } => {
                connection.has_left = procedure_code == ProcedureCode::E2_REMOVAL;
                let cause = cause.map(|cause| cause.to_string());
                warn!(%node, ric = %connection.address, procedure = ?procedure_code, cause, "the RIC does not take it");
            }
            AgentEvent::FunctionsUpdated { accepted, rejected } => {
                info!(%node, ric = %connection.address, accepted = accepted.len(), rejected = rejected.len(), "functions updated");
            }
            AgentEvent::ComponentsUpdated { rejected } => {
                info!(%node, ric = %connection.address, rejected, "components updated");
            }
            AgentEvent::Query(request) => {
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let answered = match function.query(now, controller, &request, views) {
                    Ok(outcome) => machine.answer_query(request.request_id, &outcome),
                    Err(cause) => machine.fail_query(request.request_id, cause),
                };
                if let Err(error) = answered {
                    debug!(%node, %error, "a query's answer came to nothing");
                }
            }
            AgentEvent::Unsubscribe { request_id, ran_function_id } => {
                if let Some(function) = find(functions, ran_function_id) {
                    function.unsubscribe(RequestKey { controller, id: request_id });
                }
            }
            AgentEvent::Control(request) => {
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let mut links = ControllerLinks { connections, controllers, peers, out };
                let result = function.control(now, controller, &request, &mut FunctionContext::new(views, &mut links));
                let Some(ControllerConnection { machine, .. }) = connections.get_mut(controller) else { return };
                let answered = match result {
                    Ok(outcome) => machine.acknowledge(request.request_id, outcome.as_deref()),
                    Err(ControlFailure { cause, outcome }) => {
                        machine.fail(request.request_id, cause, outcome.as_deref())
                    }
                };
                if let Err(error) = answered {
                    debug!(%node, %error, "a control's answer came to nothing");
                }
            }
            AgentEvent::ConnectionUpdate(_) => {} // the loop's
            other => machine.decline(&other),
        }
    }
}

fn find<F: RanFunction + ?Sized>(functions: &mut [Box<F>], id: RanFunctionId) -> Option<&mut Box<F>> {
    functions.iter_mut().find(|function| function.id() == id)
}
