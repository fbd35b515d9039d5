//! Answers the changes of a subscription that a node requires: removed actions, and other times to wait.
//!
//! Procedure: RIC Subscription Modification Required. Clause: E2AP v03.01 8.2.6. Role: ric. Since: v03.01. Scenarios: modification_required*
//!
//! A node cannot be forced to do what it no longer can, so that the RIC agrees on behalf of its consumers and notifies them.
//! A consumer that asked for consent decides action by action; the RIC agrees to whatever it does not refuse in time.
//! The RIC refuses invalid requirements: for a subscription that is not active, for actions that it does not have, for all actions of a
//! subscription (its deletion is required by another procedure), and for any subscription with a pending change, because its actions
//! are unknown then.

use e2ap::{
    Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RicActionConfirmedForModification,
    RicActionConfirmedForRemoval, RicActionId, RicActionRefusedToBeModified, RicActionRefusedToBeRemoved, RicRequestId,
    RicSubscriptionModificationConfirm, RicSubscriptionModificationRefuse, RicSubscriptionModificationRequired,
    Version,
};

use super::records::{Request, RequiredChange};
use super::{Consumer, Controller, Event, Misuse, NodeId, RequestEvent, SubscriptionEnd, SubscriptionId};
use crate::change::{all, list, twice};
use crate::{Notice, Time};

impl Controller {
    // Clause 8.2.6.2/1 ric: Request id and RAN function id select the subscription. Tests: modification_required.
    //   Versions: from v03 on.
    // Clause 8.2.6.3/1 ric: A failed procedure is answered by the refuse message. Tests: modification_required.
    //   Versions: from v03 on.
    // Clause 8.2.6.3/3 ric: A sequence of actions with a fault leads to a refusal. Does: an action named twice, or
    //   none at all. Tests: modification_required. Versions: from v03 on.
    // Clause 8.2.6.3/4 ric: The removal of all actions leads to a refusal. Tests: modification_required,
    //   conform:modification-required-all. Versions: from v03 on; changed by v06.00: the text of v04.00 was not read.
    // Clause 8.2.6.4/1 ric: An unknown RAN function leads to a refusal. Tests: modification_required. Versions: from
    //   v03 on.
    // Clause 8.2.6.4/2 ric: An unknown request id leads to a refusal. Tests: modification_required,
    //   conform:modification-required-unknown. Versions: from v03 on.
    pub(super) fn modification_required(
        &mut self,
        now: Time,
        node: NodeId,
        required: &RicSubscriptionModificationRequired<'_>,
    ) {
        let (request_id, ran_function_id) = (required.request_id, required.ran_function_id);
        let modify: Vec<_> =
            all(&required.actions_required_to_be_modified).map(|item| (item.id, item.time_to_wait)).collect();
        let remove: Vec<_> = all(&required.actions_required_to_be_removed).map(|item| (item.id, item.cause)).collect();
        let ids = modify.iter().map(|(id, _)| *id).chain(remove.iter().map(|(id, _)| *id));
        let place = self.requests.place(request_id);
        let refusal = match place.and_then(|place| self.requests.get(place)) {
            Some(Request::Subscription(s)) if s.node == node && s.function == ran_function_id => {
                if s.change.is_some() || s.required.is_some() || !s.is_active() {
                    Some(Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState))
                } else if twice(ids) || (modify.is_empty() && remove.is_empty()) {
                    Some(Cause::Protocol(CauseProtocol::SemanticError))
                } else if s.admitted.iter().all(|id| remove.iter().any(|(gone, _)| gone == id)) {
                    // E2AP v03.01 8.2.6.3: the node requires the deletion of the subscription instead
                    Some(Cause::Protocol(CauseProtocol::SemanticError))
                } else {
                    None
                }
            }
            _ if self.nodes.get(&node).is_none_or(|node| node.function(ran_function_id).is_none()) => {
                Some(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid))
            }
            _ => Some(Cause::RicRequest(CauseRicRequest::RequestIdUnknown)),
        };
        match (place, refusal) {
            (Some(place), None) => self.required(now, place, RequiredChange { modify, remove }),
            (_, refusal) => {
                let cause = refusal.unwrap_or(Cause::RicRequest(CauseRicRequest::RequestIdUnknown));
                if let Some(assoc) = self.nodes.get(&node).map(|node| node.assoc) {
                    self.remark(now, assoc, Notice::UpdateRefused { cause });
                }
                self.refuse_change(node, request_id, ran_function_id, cause);
            }
        }
    }

    fn refuse_change(&mut self, node: NodeId, request_id: RicRequestId, ran_function_id: RanFunctionId, cause: Cause) {
        let criticality_diagnostics = None;
        let refuse = RicSubscriptionModificationRefuse { request_id, ran_function_id, cause, criticality_diagnostics };
        self.send(node, &refuse.into());
    }

    /// Asks the consumer for consent if it ordered that and one of its actions is concerned; agrees otherwise.
    fn required(&mut self, now: Time, place: u32, required: RequiredChange) {
        let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { return };
        let concerns = s.admitted.iter().any(|id| required.names(*id));
        let (true, true, &[consumer]) = (s.consent, concerns, s.consumers.as_slice()) else {
            return self.agree(now, place, &required, &[]);
        };
        let has = |id: &RicActionId| s.admitted.contains(id);
        let remove = required.remove.iter().filter(|(id, _)| has(id)).copied().collect();
        let modify = required.modify.iter().filter(|(id, _)| has(id)).copied().collect();
        s.required = Some(Box::new(required));
        self.events.push_back(Event::Request {
            consumer,
            event: RequestEvent::ChangeRequired { subscription: SubscriptionId(place), remove, modify },
        });
        self.set_deadline(now + self.config.consent_timeout, place);
    }

    /// Answers a [`RequestEvent::ChangeRequired`]: `refused` lists the actions to keep unchanged, each with the cause sent to the
    /// node; the RIC agrees to the rest.
    ///
    /// # Errors
    /// If no consent is pending for such a subscription of the consumer, or an action is named twice or is not part of the
    /// required change. Nothing was sent then.
    pub fn answer_change(
        &mut self,
        now: Time,
        consumer: Consumer,
        id: SubscriptionId,
        refused: &[(RicActionId, Cause)],
    ) -> Result<(), Misuse> {
        let Some(Request::Subscription(s)) = self.requests.get_mut(id.0) else {
            return Err(Misuse::UnknownSubscription);
        };
        if !s.consumers.contains(&consumer) {
            return Err(Misuse::UnknownSubscription);
        }
        let Some(required) = s.required.take() else { return Err(Misuse::UnknownSubscription) };
        let ids = || refused.iter().map(|(id, _)| *id);
        if twice(ids()) || !ids().all(|id| required.names(id) && s.admitted.contains(&id)) {
            s.required = Some(required);
            return Err(Misuse::BadActions);
        }
        self.requests.renew_deadline(id.0);
        self.agree(now, id.0, &required, refused);
        Ok(())
    }

    /// Agrees to the whole change: the consumer has not answered in time.
    pub(super) fn consent_timeout(&mut self, now: Time, place: u32) {
        let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { return };
        if let Some(required) = s.required.take() {
            self.agree(now, place, &required, &[]);
        }
    }

    // Clause 8.2.6.2/2 ric: If at least one change is confirmed, the subscription is updated and the confirm message
    //   is sent. Tests: modification_required, modification_required_with_consent, conform:modification-required.
    //   Versions: from v03 on.
    // Clause 8.2.6.2/3-6 ric: Each action is listed as confirmed or refused, for modification or removal, a refused
    //   one with a cause. Tests: modification_required, modification_required_with_consent. Versions: from v03 on.
    // Clause 8.2.6.3/2 ric: If no change is confirmed, the RIC refuses. Does: with the cause of the first action.
    //   Tests: modification_required, modification_required_with_consent. Versions: from v03 on.
    /// Agrees to the changes of existing actions that are not `refused`, and refuses the others; refuses the whole requirement
    /// if nothing is left.
    fn agree(&mut self, now: Time, place: u32, required: &RequiredChange, refused: &[(RicActionId, Cause)]) {
        let request_id = self.requests.id(place);
        let Some(Request::Subscription(s)) = self.requests.get_mut(place) else { return };
        let version = self.nodes.get(&s.node).map_or(Version::V3_01, |node| node.version);
        let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        let why = |id: RicActionId| {
            let refused = refused.iter().find(|(other, _)| *other == id);
            refused.map_or(cause, |(_, cause)| cause.in_version(version))
        };
        let agreed = |id: &RicActionId| s.admitted.contains(id) && !refused.iter().any(|(other, _)| other == id);
        let (modified, not_modified): (Vec<_>, Vec<_>) = required.modify.iter().partition(|(id, _)| agreed(id));
        let (removed, not_removed): (Vec<(RicActionId, Cause)>, Vec<_>) =
            required.remove.iter().partition(|(id, _)| agreed(id));
        if removed.is_empty() && modified.is_empty() {
            let first = not_modified.first().map(|(id, _)| *id).or(not_removed.first().map(|(id, _)| *id));
            let (node, ran_function_id, cause) = (s.node, s.function, first.map_or(cause, why));
            return self.refuse_change(node, request_id, ran_function_id, cause);
        }
        let confirm = RicSubscriptionModificationConfirm {
            request_id,
            ran_function_id: s.function,
            actions_confirmed_for_modification: list(
                modified.iter().map(|(id, _): &(RicActionId, _)| RicActionConfirmedForModification { id: *id }),
            ),
            actions_refused_to_be_modified: list(
                not_modified.iter().map(|(id, _)| RicActionRefusedToBeModified { id: *id, cause: why(*id) }),
            ),
            actions_confirmed_for_removal: list(removed.iter().map(|(id, _)| RicActionConfirmedForRemoval { id: *id })),
            actions_refused_to_be_removed: list(
                not_removed.iter().map(|(id, _)| RicActionRefusedToBeRemoved { id: *id, cause: why(*id) }),
            ),
        };
        let (node, consumers) = (s.node, s.consumers.clone());
        // it no longer equals its spec, so that no other consumer may share it
        self.sharing.remove(s, place);
        self.restored.remove(s, place);
        s.apply_required(&removed, &modified);
        let empty = s.admitted.is_empty();
        self.send(node, &confirm.into());
        for consumer in consumers {
            let subscription = SubscriptionId(place);
            let (removed, modified) = (removed.clone(), modified.clone());
            self.events.push_back(Event::Request {
                consumer,
                event: RequestEvent::SubscriptionChanged { subscription, removed, modified },
            });
        }
        if empty {
            let cause = removed.first().map_or(cause, |(_, cause)| *cause);
            self.end_consumers(place, SubscriptionEnd::ByNode(cause));
            self.send_delete(now, place);
        }
    }
}
