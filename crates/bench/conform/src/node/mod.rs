//! The checks of a near-RT RIC. This end is an E2 node: a gNB with an E2SM-KPM function, which connects anew for each check.

mod criticality;
mod functional;
mod global;
mod hostile;
mod responder;
mod setup;

use e2ap::{
    E2NodeComponentConfigUpdateGnbV1, E2NodeComponentConfigUpdateItemV1, E2NodeComponentConfigUpdateV1,
    E2NodeComponentTypeV1, E2SetupRequest, E2SetupResponse, GlobalE2NodeId, Pdu, RicServiceUpdate, TransactionId,
    Version,
};
use per::Octets;

use crate::association::Association;
use crate::both::{self, Side};
use crate::check::{fail, inconclusive};
use crate::dialogue::Dialogue;
use crate::{Action, Check, Config, Step, Stimulus, Stop, Target, expect, messages};

pub(crate) use responder::NodeResponder;

/// This end as an E2 node.
pub struct NodeSide<'a> {
    config: &'a Config,
    link: &'a link::Config,
    version: Version,
    stimulus: &'a mut dyn Stimulus,
    transactions: u32,
}

type NodeDialogue = Dialogue<NodeResponder>;

/// Returns the checks of a RIC, in the order in which they run.
#[must_use]
pub fn checks<'a>() -> Vec<Check<NodeSide<'a>>> {
    [
        setup::checks(),
        both::criticality::checks(),
        criticality::checks(),
        global::checks(),
        functional::checks(),
        hostile::checks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl<'a> NodeSide<'a> {
    pub(crate) fn new(
        config: &'a Config,
        link: &'a link::Config,
        version: Version,
        stimulus: &'a mut dyn Stimulus,
    ) -> Self {
        NodeSide { config, link, version, stimulus, transactions: 0 }
    }

    fn id(&self) -> GlobalE2NodeId {
        messages::node_id(self.config.gnb_id, self.version)
    }

    fn stimulate(&mut self, action: Action) {
        let node = self.id().to_string();
        self.stimulus.act(action, &node, messages::FUNCTION);
    }

    /// Connects, without a setup.
    fn connect(&mut self) -> Step<NodeDialogue> {
        let Target::Ric(address) = &self.config.target else {
            return inconclusive("this end is an E2 node, and the peer is one");
        };
        let timeouts = self.config.timeouts;
        match Association::connect(address, self.link, timeouts.answer) {
            Ok(association) => Ok(Dialogue::new(association, self.version, timeouts, NodeResponder::new(self.version))),
            Err(reason) => inconclusive(format!("no association with {address}: {reason}")),
        }
    }

    fn setup_request(&mut self) -> E2SetupRequest<'static> {
        let version = self.version;
        E2SetupRequest {
            transaction_id: self.transaction(),
            global_e2_node_id: self.id(),
            ran_functions_added: Some(vec![messages::kpm_function(messages::FUNCTION, 1, version)].into()),
            component_config_update_v1: (version == Version::V1_01).then(|| vec![component_v1()].into()),
            component_config_addition: (version >= Version::V2_03).then(|| vec![messages::component("amf")].into()),
        }
    }

    /// Connects and sets up: the beginning of checks that are about something else.
    fn set_up(&mut self) -> Step<NodeDialogue> {
        let mut dialogue = self.connect()?;
        let request = self.setup_request();
        dialogue.send(request)?;
        let answered = dialogue.receive("E2SetupResponse", |pdu| match pdu {
            Pdu::E2SetupResponse(_) => Some(Ok(())),
            Pdu::E2SetupFailure(failure) => {
                let cause = failure.cause.map_or("no cause".to_owned(), |cause| cause.to_string());
                Some(inconclusive(format!("the setup was refused: {cause}")))
            }
            _ => None,
        });
        match answered {
            Ok(()) => Ok(dialogue),
            Err(Stop::Fail(reason)) => inconclusive(format!("no setup: {reason}")),
            Err(other) => Err(other),
        }
    }

    /// Sends a setup request and returns its response.
    fn exchange_setup(dialogue: &mut NodeDialogue, request: E2SetupRequest<'static>) -> Step<E2SetupResponse<'static>> {
        dialogue.send(request)?;
        dialogue.receive("E2SetupResponse", |pdu| match pdu {
            Pdu::E2SetupResponse(response) => Some(Ok(response.clone())),
            Pdu::E2SetupFailure(failure) => Some(fail(format!("the RIC refused a valid setup: {:?}", failure.cause))),
            _ => None,
        })
    }
}

impl Side for NodeSide<'_> {
    type Responder = NodeResponder;
    const PEER: &'static str = "RIC";

    fn version(&self) -> Version {
        self.version
    }

    fn transaction(&mut self) -> Option<TransactionId> {
        self.transactions += 1;
        messages::transaction(self.version, self.transactions)
    }

    fn begin(&mut self) -> Step<NodeDialogue> {
        self.set_up()
    }

    /// An empty service update, which the RIC must acknowledge without content (8.3.4.2).
    fn fence(&mut self, dialogue: &mut NodeDialogue) -> Step {
        let transaction_id = self.transaction();
        dialogue.send(empty_update(transaction_id))?;
        dialogue.receive("answer to an empty RicServiceUpdate", |pdu| match pdu {
            Pdu::RicServiceUpdateAcknowledge(ack) => {
                Some(expect::same_transaction("RicServiceUpdateAcknowledge", transaction_id, ack.transaction_id))
            }
            Pdu::RicServiceUpdateFailure(failure) => {
                Some(fail(format!("the RIC refused an empty service update: {:?}", failure.cause)))
            }
            _ => None,
        })
    }

    fn end(&mut self, dialogue: NodeDialogue) {
        dialogue.close();
    }

    /// Another association is served, also while the first one lasts.
    fn survives(&mut self, association: Option<NodeDialogue>) -> Step {
        let mut another = match self.set_up() {
            Ok(dialogue) => dialogue,
            Err(Stop::Fail(reason) | Stop::Inconclusive(reason)) => {
                return fail(format!("afterwards the RIC serves no other association: {reason}"));
            }
        };
        self.fence(&mut another)?;
        another.close();
        drop(association);
        Ok(())
    }
}
/// A service update without content.
fn empty_update(transaction_id: Option<TransactionId>) -> RicServiceUpdate<'static> {
    RicServiceUpdate {
        transaction_id,
        ran_functions_added: None,
        ran_functions_modified: None,
        ran_functions_deleted: None,
    }
}

/// The configuration of a gNB in v01.01.
fn component_v1() -> E2NodeComponentConfigUpdateItemV1<'static> {
    E2NodeComponentConfigUpdateItemV1 {
        component_type: E2NodeComponentTypeV1::Gnb,
        id: None,
        configuration: E2NodeComponentConfigUpdateV1::Gnb(E2NodeComponentConfigUpdateGnbV1 {
            ng_ap: Some(Octets::from(b"\x00")),
            xn_ap: None,
            e1_ap: None,
            f1_ap: None,
        }),
    }
}
