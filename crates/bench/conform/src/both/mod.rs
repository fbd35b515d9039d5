//! The checks that a near-RT RIC and an E2 node have in common, and what they need of this end.

pub(crate) mod criticality;
pub(crate) mod global;
pub(crate) mod hostile;

use e2ap::{Pdu, ResetRequest, TransactionId, Version};

use crate::dialogue::{Dialogue, Responder, encode};
use crate::{Step, expect};

/// This end in one of its roles.
pub(crate) trait Side: Sized {
    /// What it answers besides a check.
    type Responder: Responder;
    /// The peer, for texts.
    const PEER: &'static str;

    /// The version of E2AP.
    fn version(&self) -> Version;

    /// The id of the next transaction; `None` in versions without.
    fn transaction(&mut self) -> Option<TransactionId>;

    /// Returns an association that is set up.
    fn begin(&mut self) -> Step<Dialogue<Self::Responder>>;

    /// Checks that the peer still serves this association, and that it has sent no error before.
    fn fence(&mut self, dialogue: &mut Dialogue<Self::Responder>) -> Step;

    /// A check is over, with an association that the peer serves.
    fn end(&mut self, dialogue: Dialogue<Self::Responder>);

    /// Checks that the peer still serves this end after it was sent malformed octets. `association` is the one on which they were sent, if
    /// the peer has not ended it.
    fn survives(&mut self, association: Option<Dialogue<Self::Responder>>) -> Step;

    /// Runs the steps of a check on an association that is set up. Afterwards the peer must still serve it, and have sent no error.
    fn check(&mut self, steps: impl FnOnce(&mut Self, &mut Dialogue<Self::Responder>) -> Step) -> Step {
        let mut dialogue = self.begin()?;
        steps(self, &mut dialogue)?;
        self.fence(&mut dialogue)?;
        self.end(dialogue);
        Ok(())
    }
}

/// A Reset Request of this end, and its transaction.
fn reset_request<S: Side>(side: &mut S) -> (ResetRequest, Option<TransactionId>) {
    let transaction_id = side.transaction();
    let cause = Some(e2ap::Cause::Misc(e2ap::CauseMisc::OmIntervention));
    (ResetRequest { transaction_id, cause }, transaction_id)
}

/// The octets of a Reset Request, and its transaction.
fn reset_octets<S: Side>(side: &mut S) -> Step<(Vec<u8>, Option<TransactionId>)> {
    let (request, transaction_id) = reset_request(side);
    Ok((encode(&request.into(), side.version())?, transaction_id))
}

/// Sends a Reset Request and checks its response.
pub(crate) fn reset<S: Side>(side: &mut S, dialogue: &mut Dialogue<S::Responder>) -> Step {
    let (request, transaction_id) = reset_request(side);
    dialogue.send(request)?;
    dialogue.receive("ResetResponse", |pdu| match pdu {
        Pdu::ResetResponse(response) => {
            Some(expect::same_transaction("ResetResponse", transaction_id, response.transaction_id))
        }
        _ => None,
    })
}
