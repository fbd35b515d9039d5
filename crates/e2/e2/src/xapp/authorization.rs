//! Refuses unauthorized commands of xApps before they reach the controller.

use std::sync::Arc;

use super::host::{Session, XappHost};
use super::protocol::{RicMessage, XappMessage};
use crate::rights::{Lacking, not_allowed};
use crate::{
    AssocId, CloseReason, ControlOutcome, Controller, ModifyOutcome, QueryOutcome, RefusalCode, RequestEvent,
    SubscribeError, Time, XappRights,
};

impl XappHost {
    /// Sets the rights of an xApp. Without them it may do everything.
    pub fn set_rights(&mut self, assoc: AssocId, rights: Arc<XappRights>) {
        if self.sessions.contains_key(&assoc) {
            self.rights.insert(assoc, rights);
        }
    }

    /// Sets the name in the certificate of an xApp, before its hello. Without one it has the name that it gives itself.
    pub fn set_certificate(&mut self, assoc: AssocId, name: &str) {
        if self.sessions.contains_key(&assoc) {
            self.certificates.insert(assoc, name.into());
        }
    }

    /// Refuses an xApp without any rights and closes its association.
    pub fn refuse(&mut self, now: Time, assoc: AssocId, controller: &mut Controller) {
        self.send(assoc, &RicMessage::Refused(RefusalCode::NotAllowed));
        self.handle_close(now, assoc, controller);
        self.closes.push_back((assoc, CloseReason::NotAllowed));
    }

    /// Returns the answer to a command that the xApp is not authorized for, and the right that it lacks.
    pub(super) fn denial(
        &mut self,
        assoc: AssocId,
        message: &XappMessage,
        controller: &Controller,
    ) -> Option<(RicMessage<'static>, Lacking)> {
        const CODE: RefusalCode = RefusalCode::NotAllowed;
        let rights = Arc::clone(self.rights.get(&assoc)?);
        let (node, function, lacking, refusal) = match message {
            XappMessage::Subscribe { ticket, node, function, order } => {
                let of = controller.node(*node)?;
                let lacking = rights.may_subscribe(controller.ran(), of, *function, &order.spec);
                let error = SubscribeError::Misuse(CODE);
                (of, *function, lacking.err()?, RequestEvent::SubscriptionFailed { ticket: *ticket, error })
            }
            XappMessage::Modify { ticket, subscription, change } => {
                let (node, function, spec) = controller.subscription(*subscription)?;
                let of = controller.node(node)?;
                let lacking = rights.may_subscribe(controller.ran(), of, function, &spec.changed(change));
                let (ticket, subscription, outcome) = (*ticket, *subscription, ModifyOutcome::Misuse(CODE));
                (of, function, lacking.err()?, RequestEvent::Modified { ticket, subscription, outcome })
            }
            XappMessage::Query { ticket, node, function, .. } => {
                let of = controller.node(*node)?;
                let lacking = rights.may_query(of, *function);
                let refusal = RequestEvent::Queried { ticket: *ticket, outcome: QueryOutcome::Misuse(CODE) };
                (of, *function, lacking.err()?, refusal)
            }
            XappMessage::Control { ticket, node, function, header, message, .. } => {
                let of = controller.node(*node)?;
                let lacking = rights.may_control(controller.ran(), of, *function, header, message);
                let refusal = RequestEvent::Controlled { ticket: *ticket, outcome: ControlOutcome::Misuse(CODE) };
                (of, *function, lacking.err()?, refusal)
            }
            _ => return None,
        };
        // a notice reports each power of two
        if let Some(Session::Open { misuses, .. }) = self.sessions.get_mut(&assoc) {
            *misuses += 1;
            if misuses.is_power_of_two() {
                self.notices.push_back((assoc, not_allowed(node, function, lacking.clone(), *misuses)));
            }
        }
        Some((RicMessage::Request(refusal), lacking))
    }
}
