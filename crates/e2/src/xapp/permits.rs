//! What an xApp may not do is refused before the controller hears of it.

use std::sync::Arc;

use e2ap::RicActionType;

use super::host::{Session, XappHost};
use super::protocol::{ControlResult, Message, ModifyResult, QueryResult, RefusalCode, SubscribeFailure};
use crate::{AssocId, CloseReason, Controller, Notice, Time, XappRights};

impl XappHost {
    /// Says what an xApp may do. Without this it may do everything.
    pub fn set_rights(&mut self, assoc: AssocId, rights: Arc<XappRights>) {
        if self.sessions.contains_key(&assoc) {
            self.rights.insert(assoc, rights);
        }
    }

    /// Ends the session of an xApp that has no rights at all; it is told so.
    pub fn refuse(&mut self, now: Time, assoc: AssocId, controller: &mut Controller) {
        self.send(assoc, &Message::Refused(RefusalCode::NotAllowed));
        self.handle_close(now, assoc, controller);
        self.closes.push_back((assoc, CloseReason::NotAllowed));
    }

    /// The answer to a command that an xApp has no right to.
    pub(super) fn denial(
        &mut self,
        assoc: AssocId,
        message: &Message<'_>,
        controller: &Controller,
    ) -> Option<Message<'static>> {
        const CODE: RefusalCode = RefusalCode::NotAllowed;
        let rights = Arc::clone(self.rights.get(&assoc)?);
        // INSERT holds up the node and POLICY has it act: both are more than reading.
        let acts = |kind: RicActionType| kind != RicActionType::Report;
        let (node, function, reads, controls, refusal) = match message {
            Message::Subscribe { ticket, node, function, order } => {
                let controls = order.spec.actions.iter().any(|action| acts(action.kind));
                let failure = SubscribeFailure::Misuse(CODE);
                (*node, *function, true, controls, Message::SubscribeFailed { ticket: *ticket, failure })
            }
            Message::Modify { ticket, subscription, change } => {
                let (node, function, kinds) = controller.subscribed_to(*subscription)?;
                let added = change.add.iter().map(|added| added.action.kind);
                let controls = added.chain(kinds).any(acts);
                let (ticket, subscription, result) = (*ticket, *subscription, ModifyResult::Misuse(CODE));
                (node, function, true, controls, Message::Modified { ticket, subscription, result })
            }
            Message::Query { ticket, node, function, .. } => {
                let refusal = Message::Queried { ticket: *ticket, result: QueryResult::Misuse(CODE) };
                (*node, *function, true, false, refusal)
            }
            Message::Control { ticket, node, function, .. } => {
                let refusal = Message::Controlled { ticket: *ticket, result: ControlResult::Misuse(CODE) };
                (*node, *function, false, true, refusal)
            }
            _ => return None,
        };
        let node = controller.node(node)?;
        let may_read = !reads || rights.may_read(node, function);
        if may_read && (!controls || rights.may_control(node, function)) {
            return None;
        }
        // The log hears of it, at powers of two.
        if let Some(Session::Open { misuses, .. }) = self.sessions.get_mut(&assoc) {
            *misuses += 1;
            let oid = node.functions.iter().find(|own| own.id == function).map(|own| own.oid.as_ref().into());
            if misuses.is_power_of_two() {
                let notice = Notice::XappNotAllowed {
                    node: node.global_id,
                    ran_function_id: function,
                    oid: oid.unwrap_or_default(),
                    control: may_read,
                    count: *misuses,
                };
                self.notices.push_back((assoc, notice));
            }
        }
        Some(refusal)
    }
}
