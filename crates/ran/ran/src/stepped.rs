//! A RAN that advances on command, in the caller's process: for environments of reinforcement learning and for tests.

mod clock;
#[cfg(all(test, feature = "all"))]
mod tests;

use std::cell::{Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;

use e2sm::common::SNssai;
use e2sm::kpm::MeasurementLabel;
use ferric::agent::{ControlFailure, ControllerId, FunctionContext, FunctionTransport, RanFunction, RequestKey, Views};
use ferric::e2::{AgentMisuse, ControlRequest, Function, Time};
use ferric::e2ap::{Cause, CauseRicRequest, GlobalRicId, RanFunctionId, RicActionId, RicRequestId};
use radio::Network;

pub(crate) use clock::StepClock;

use crate::e2_node::E2Node;
use crate::node::CounterSnapshot;
use crate::simulation::{RanSimulation, Steps};
use crate::{Error, NodeType, RanConfig, functions};

/// The longest part of a step without a look at the nodes, which decide about handovers. Parts end at multiples of it.
pub(crate) const PART: Duration = Duration::from_millis(5);
/// The controller as which the caller acts: it sees every UE.
const CALLER: ControllerId = ControllerId(0);

/// A RAN that advances on command, without event loop, clock and E2.
///
/// The model stands between two calls of [`Stepped::step`]. A control has its effect from the time at which the model stands;
/// it goes through the RAN function that a RIC addresses, with the messages of its service model, so it is admitted or refused
/// for the same reasons. Measurements are those of E2SM-KPM, over the last step. The same scenario, seed, steps and controls
/// give the same results, on any machine and with any number of threads.
///
/// ```
/// use std::time::Duration;
/// use ran::{RanConfig, Scenario, Stepped};
///
/// let config = RanConfig { scenario: Scenario::with_mixed_traffic(1, 8, 1), ..RanConfig::default() };
/// let mut ran = Stepped::new(config)?;
/// for _ in 0..10 {
///     ran.step(Duration::from_millis(100));
///     let usage = ran.measure(0, None, "RRU.PrbTotDl");
///     assert!(usage.is_some());
/// }
/// ran.reset(2)?;
/// # Ok::<(), ran::Error>(())
/// ```
pub struct Stepped {
    config: RanConfig,
    simulation: Rc<RefCell<RanSimulation>>,
    clock: Rc<StepClock>,
    steps: Steps,
    nodes: Vec<SteppedNode>,
}

/// An E2 node of a [`Stepped`] RAN.
struct SteppedNode {
    cell: u16,
    node: E2Node,
    functions: Vec<Box<dyn RanFunction>>,
    views: Views,
    /// The counters at the beginning of the last step.
    before: Vec<CounterSnapshot>,
}

impl Stepped {
    /// Creates the RAN and runs the scenario's warm-up. RICs, speed and live mode of the configuration have no effect.
    ///
    /// # Errors
    /// An invalid configuration.
    pub fn new(config: RanConfig) -> Result<Self, Error> {
        config.check()?;
        let config = RanConfig {
            is_stepped: true,
            #[cfg(feature = "live")]
            live: None,
            ..config.with_parts()
        };
        let simulation = RanSimulation::new(&config.scenario)?;
        let (steps, clock) = (Steps::default(), Rc::new(StepClock::default()));
        simulation.borrow_mut().set_steps(steps.clone());
        let time_of_day = functions::clock(&config, Some(&steps));
        let mut nodes = Vec::new();
        for (cell, node) in E2Node::all(&config, &simulation) {
            let functions = clock.wrap(node.functions(&config, &time_of_day));
            nodes.push(SteppedNode { cell, node, functions, views: Views::with_first(CALLER), before: Vec::new() });
        }
        let mut ran = Stepped { config, simulation, clock, steps, nodes };
        ran.simulation.borrow_mut().model.network.set_automatic_handover(true);
        ran.advance_until(Time::default() + ran.config.scenario.warm_up);
        ran.simulation.borrow_mut().model.network.set_automatic_handover(false);
        ran.take_snapshots();
        Ok(ran)
    }

    /// Starts again with another seed. What was drawn when a scenario file was read stays: random arrivals and stays, and the
    /// traffic of kind `user`.
    ///
    /// # Errors
    /// None, for a configuration that was valid in [`Stepped::new`].
    pub fn reset(&mut self, seed: u64) -> Result<(), Error> {
        let mut config = self.config.clone();
        config.scenario.seed = seed;
        *self = Stepped::new(config)?;
        Ok(())
    }

    /// Advances the model. Handovers that nodes decide about begin at the next multiple of 5 ms of the model, or at the end of
    /// the step.
    pub fn step(&mut self, length: Duration) {
        self.take_snapshots();
        self.advance_until(self.clock.now() + length);
    }

    fn advance_until(&mut self, until: Time) {
        while self.clock.now() < until {
            let next = end_of_part(self.clock.now()).min(until);
            self.steps.allow_until(radio::Time::from_nanos(next.as_nanos()));
            self.clock.set(next);
            for SteppedNode { node, functions, views, .. } in &mut self.nodes {
                node.advance(next);
                // without subscriptions, what is due is what nodes decide themselves: handovers about which no controller decides
                for function in functions.iter_mut().filter(|function| function.next_report().is_some()) {
                    function.report(next, &mut FunctionContext::new(views, &mut NoReports));
                }
            }
        }
    }

    fn take_snapshots(&mut self) {
        for SteppedNode { node, before, .. } in &mut self.nodes {
            node.take_snapshot(before);
        }
    }

    /// The time of the model.
    #[must_use]
    pub fn now(&self) -> radio::Time {
        radio::Time::from_nanos(self.clock.now().as_nanos())
    }

    /// The model, with all counters of cells and UEs.
    #[must_use]
    pub fn network(&self) -> Ref<'_, Network> {
        Ref::map(self.simulation.borrow(), |simulation| &simulation.model.network)
    }

    /// The E2 nodes: the cell of each, of a CU the first one, and which part of the base station it is. Other methods take the index.
    #[must_use]
    pub fn nodes(&self) -> Vec<(usize, NodeType)> {
        self.nodes.iter().map(|node| (node.cell.into(), node.node.node_type())).collect()
    }

    /// The RAN functions of a node, as its E2 setup request announces them.
    #[must_use]
    pub fn functions(&self, node: usize) -> Vec<Function> {
        let functions = self.nodes.get(node).map_or(&[][..], |node| &node.functions);
        functions.iter().map(|function| function.definition()).collect()
    }

    /// The numbers of the UEs in a cell: their indices in the scenario.
    #[must_use]
    pub fn ues(&self, cell: usize) -> Vec<u64> {
        self.network().cell(cell).ues().map(|(_, ue)| ue.number()).collect()
    }

    /// A measurement of E2SM-KPM over the last step, of a node's cell or of one UE in it; `None` for a measurement that the node
    /// does not offer, a UE that is not in its cell, or a mean without any sample.
    #[must_use]
    pub fn measure(&self, node: usize, ue: Option<u64>, name: &str) -> Option<f64> {
        self.value(node, ue, &MeasurementLabel::NO_LABEL, name)
    }

    /// The share of a network slice of a measurement of E2SM-KPM over the last step, of a node's cell: the measurement with the
    /// label of the slice. `None` as in [`Stepped::measure`].
    #[must_use]
    pub fn measure_slice(&self, node: usize, slice: SNssai, name: &str) -> Option<f64> {
        self.value(node, None, &MeasurementLabel { slice_id: Some(slice), ..MeasurementLabel::default() }, name)
    }

    fn value(&self, node: usize, ue: Option<u64>, label: &MeasurementLabel, name: &str) -> Option<f64> {
        let SteppedNode { node, before, .. } = self.nodes.get(node)?;
        let ue = match ue {
            Some(number) => Some(node.find_ue(number)?),
            None => None,
        };
        node.value(before, ue, name, label)?.number()
    }

    /// The E2SM identity of a UE at a node, for the header of a control.
    #[must_use]
    pub fn ue_id(&self, node: usize, ue: u64) -> Option<e2sm::common::UeId<'static>> {
        let node = &self.nodes.get(node)?.node;
        Some(node.ue_id(node.find_ue(ue)?))
    }

    /// Sends a RIC control to a RAN function of a node: RC, CCC, slices, traffic control or another. Returns the control outcome
    /// of the service model.
    ///
    /// # Errors
    /// The cause with which the control fails; nothing has changed then. An unknown node or RAN function is one.
    pub fn control(
        &mut self,
        node: usize,
        function: RanFunctionId,
        header: Vec<u8>,
        message: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let now = self.clock.now();
        let unknown = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
        let Some(SteppedNode { functions, views, .. }) = self.nodes.get_mut(node) else { return Err(unknown.into()) };
        let offered = functions.iter_mut().find(|offered| offered.id() == function);
        let Some(offered) = offered else { return Err(unknown.into()) };
        let request_id = RicRequestId { requestor: 0, instance: 0 };
        let request = ControlRequest { request_id, ran_function_id: function, call_process_id: None, header, message };
        offered.control(now, CALLER, &request, &mut FunctionContext::new(views, &mut NoReports))
    }
}

/// The end of the part of a step that begins at `now`.
pub(crate) fn end_of_part(now: Time) -> Time {
    let part = PART.as_nanos() as u64;
    Time::from_nanos((now.as_nanos() / part + 1) * part)
}

/// There are no subscriptions: measurements are read.
struct NoReports;

impl FunctionTransport for NoReports {
    fn send(
        &mut self,
        _key: RequestKey,
        _action: RicActionId,
        _call_process_id: Option<&[u8]>,
        _header: &[u8],
        _message: &[u8],
    ) -> Result<(), AgentMisuse> {
        Err(AgentMisuse::UnknownRequest)
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        vec![(CALLER, None)]
    }
}
