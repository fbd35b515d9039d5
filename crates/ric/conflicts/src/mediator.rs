//! The mitigation as the mediator of a controller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferric::e2::{
    Consumer, ConsumerIdentity, ControlOutcome, ControlQuestion, Lacking, Mediation, Mediator, Node, NodeId,
    RefusalCode, ReleasedControl, RequestedControl, SubscriptionStep, Ticket, Time,
};
use ferric::e2ap::RanFunctionId;

use crate::state::State;
use crate::subscriptions::SubscriptionAudit;

/// The state that mediator and internal app have together. Both run on the thread of the RIC: the lock is always free.
#[derive(Debug)]
pub(crate) struct SharedMediator {
    pub state: Arc<Mutex<State>>,
    pub subscriptions: SubscriptionAudit,
}

impl SharedMediator {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mediator for SharedMediator {
    fn mediate(&mut self, control: &RequestedControl<'_>) -> Mediation {
        self.state().mediate(control)
    }

    fn not_allowed(
        &mut self,
        _: Time,
        identity: Option<&ConsumerIdentity>,
        node: &Node,
        function: RanFunctionId,
        lacking: &Lacking,
    ) {
        self.state().not_allowed(identity, node, function, lacking);
    }

    fn subscription(&mut self, step: &SubscriptionStep<'_>) {
        self.subscriptions.step(step);
    }

    fn control_ended(&mut self, _: Time, consumer: Consumer, ticket: Ticket, outcome: &ControlOutcome) {
        self.state().control_ended(consumer, ticket, outcome);
    }

    fn consumer_gone(&mut self, _: Time, consumer: Consumer) {
        self.state().consumer_gone(consumer);
        self.subscriptions.consumer_gone(consumer);
    }

    fn node_lost(&mut self, now: Time, node: NodeId) {
        self.state().node_lost(node, now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.state().questions.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.state().handle_timeout(now);
    }

    fn poll_release(&mut self) -> Option<ReleasedControl> {
        self.state().questions.poll_release()
    }

    fn set_arbiter(
        &mut self,
        consumer: Consumer,
        identity: Option<&ConsumerIdentity>,
        is_offered: bool,
    ) -> Result<(), RefusalCode> {
        self.state().set_arbiter(consumer, identity, is_offered)
    }

    fn poll_question(&mut self, now: Time) -> Option<(Consumer, ControlQuestion)> {
        self.state().poll_question(now)
    }

    fn decide(&mut self, now: Time, consumer: Consumer, question: u64, accepts: bool) -> Result<(), RefusalCode> {
        self.state().decide(consumer, question, accepts, now)
    }
}
