//! The checks of an E2 node. This end is a near-RT RIC, which listens. Checks share an association where they can, since the node
//! decides when it connects again.

mod content;
mod criticality;
mod functional;
mod global;
mod hostile;
mod responder;
mod setup;

use e2ap::{E2SetupRequest, Pdu, RicRequestId, RicSubscriptionDeleteRequest, TransactionId, Version};
use link::Listener;

use crate::association::{Association, Incoming};
use crate::both::{self, Side};
use crate::check::{fail, inconclusive};
use crate::dialogue::Dialogue;
use crate::{Check, Config, Error, Step, Stop, expect, messages};

use responder::{RicResponder, response};

/// This end as a RIC.
pub struct RicSide<'a> {
    config: &'a Config,
    listener: Listener,
    /// `None`: as the setup request of the node implies.
    configured: Option<Version>,
    version: Version,
    open: Option<RicDialogue>,
    /// The last setup request of the node.
    node: Option<E2SetupRequest<'static>>,
    /// Whether the node stayed away for as long as it may: it is not waited for so long again.
    is_gone: bool,
    transactions: u32,
    instances: u16,
    /// What the host refused: it ends the run.
    pub(crate) broken: Option<Error>,
}

type RicDialogue = Dialogue<RicResponder>;

/// The requestor id of this end.
const REQUESTOR: u16 = 1;
/// A RAN function that nodes do not have.
const UNKNOWN_FUNCTION: e2ap::RanFunctionId = e2ap::RanFunctionId(4095);

/// Returns the checks of an E2 node, in the order in which they run: the last ones end the association.
#[must_use]
pub fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    [
        setup::checks(),
        both::criticality::checks(),
        criticality::checks(),
        functional::checks(),
        global::checks(),
        hostile::checks(),
        global::last_checks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl<'a> RicSide<'a> {
    pub(crate) fn new(config: &'a Config, listener: Listener, configured: Option<Version>) -> Self {
        RicSide {
            config,
            listener,
            configured,
            version: configured.unwrap_or(Version::V2_03),
            open: None,
            node: None,
            is_gone: false,
            transactions: 0,
            instances: 0,
            broken: None,
        }
    }

    /// Whether the node has sent a setup request.
    pub(crate) fn knows_version(&self) -> bool {
        self.node.is_some()
    }

    /// Waits for the node, so that its version is known.
    pub(crate) fn meet(&mut self) {
        if let Ok(dialogue) = self.begin() {
            self.open = Some(dialogue);
        }
    }

    fn request_id(&mut self) -> RicRequestId {
        self.instances = self.instances.wrapping_add(1);
        RicRequestId { requestor: REQUESTOR, instance: self.instances }
    }

    /// Waits for an association, and for the setup request as its first message, which is not answered yet. The node's octets come
    /// back with it.
    fn accept(&mut self) -> Step<(RicDialogue, E2SetupRequest<'static>)> {
        // the node may count on one association only
        drop(self.open.take());
        let timeouts = self.config.timeouts;
        let within = if self.is_gone { timeouts.action } else { timeouts.connect };
        let association = match Association::accept(&mut self.listener, within) {
            Ok(Some(association)) => association,
            Ok(None) => {
                self.is_gone = true;
                return inconclusive(format!("the node did not connect within {within:?}"));
            }
            Err(error) => {
                let reason = error.to_string();
                self.broken.get_or_insert(error);
                return inconclusive(reason);
            }
        };
        let mut dialogue = Dialogue::new(association, self.version, self.config.timeouts, RicResponder);
        let octets = match dialogue.next_octets(within) {
            Incoming::Pdu(octets) => octets,
            Incoming::Nothing => {
                return fail(format!("the node connected and sent no E2SetupRequest within {within:?}"));
            }
            Incoming::End(reason) => return inconclusive(format!("the node connected and was gone: {reason}")),
        };
        let Some(implied) = Version::of_setup(&octets) else {
            return fail("the first message of the association is no E2SetupRequest");
        };
        let alike = |known: &Version| (*known < Version::V2_03) == (implied < Version::V2_03);
        self.version = match self.configured {
            Some(known) if !alike(&known) => {
                return fail(format!("the setup request is not one of E2AP {known}, but of {implied}"));
            }
            known => known.unwrap_or(implied),
        };
        dialogue.version = self.version;
        match expect::decode(&octets, self.version) {
            Ok(Pdu::E2SetupRequest(request)) => {
                self.node = Some(request.clone());
                Ok((dialogue, request))
            }
            Ok(other) => fail(format!("the first message of the association is {}", other.name())),
            Err(reason) => fail(reason),
        }
    }

    fn new_dialogue(&mut self) -> Step<RicDialogue> {
        let (mut dialogue, request) = match self.accept() {
            Ok(accepted) => accepted,
            Err(Stop::Fail(reason)) => return inconclusive(format!("no setup: {reason}")),
            Err(other) => return Err(other),
        };
        dialogue.send(response(&request))?;
        Ok(dialogue)
    }

    /// Checks that the node still serves this association, and that it has sent no error before: the deletion of a subscription that
    /// it does not have, which it must refuse (8.2.2.3). `look` judges what comes before.
    fn fence_with(&mut self, dialogue: &mut RicDialogue, mut look: impl FnMut(&Pdu<'static>) -> Option<Step>) -> Step {
        let request_id = self.request_id();
        dialogue.send(RicSubscriptionDeleteRequest { request_id, ran_function_id: UNKNOWN_FUNCTION })?;
        dialogue.receive("RicSubscriptionDeleteFailure for an unknown subscription", |pdu| match pdu {
            Pdu::RicSubscriptionDeleteFailure(failure) if failure.request_id == request_id => Some(Ok(())),
            Pdu::RicSubscriptionDeleteResponse(response) if response.request_id == request_id => {
                Some(fail("the node has deleted a subscription that it does not have"))
            }
            _ => look(pdu),
        })
    }
}

impl Side for RicSide<'_> {
    type Responder = RicResponder;
    const PEER: &'static str = "node";

    /// The version of the node, once it has set up.
    fn version(&self) -> Version {
        self.version
    }

    fn transaction(&mut self) -> Option<TransactionId> {
        self.transactions += 1;
        messages::transaction(self.version, self.transactions)
    }

    /// Returns the present association, or the next of the node.
    fn begin(&mut self) -> Step<RicDialogue> {
        match self.open.take() {
            Some(dialogue) => Ok(dialogue),
            None => self.new_dialogue(),
        }
    }

    fn fence(&mut self, dialogue: &mut RicDialogue) -> Step {
        self.fence_with(dialogue, |_| None)
    }

    /// Keeps the association for the next check.
    fn end(&mut self, dialogue: RicDialogue) {
        self.open = Some(dialogue);
    }

    /// The association is served, or another one, with which the node comes back.
    fn survives(&mut self, association: Option<RicDialogue>) -> Step {
        let mut dialogue = match association.map_or_else(|| self.begin(), Ok) {
            Ok(dialogue) => dialogue,
            Err(_) => return fail("the node ended the association and did not come back"),
        };
        self.fence(&mut dialogue)?;
        self.end(dialogue);
        Ok(())
    }
}
