//! What an agent is and when it loses patience.

use core::fmt;
use core::time::Duration;

use e2ap::{
    Codec, E2NodeComponentConfigAdditionItem, E2NodeComponentConfigUpdateItemV1, E2NodeComponentConfiguration,
    E2NodeComponentId, E2NodeComponentInterfaceNg, E2NodeComponentInterfaceType, E2SetupRequest, GlobalE2NodeId,
    RanFunctionId, RanFunctionItem, RanFunctionRevision, TransactionId, Version,
};
use per::{Octets, PrintableString};

use super::configuration_update::Components;
use crate::change::list;

/// A RAN function that the node offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// Counts changes of its definition.
    pub revision: RanFunctionRevision,
    /// The service model's object identifier.
    pub oid: String,
    /// The service model's RAN function definition.
    pub definition: Vec<u8>,
}

/// What an agent is and when it loses patience.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Who the node is.
    pub node_id: GlobalE2NodeId,
    /// What it offers.
    pub functions: Vec<Function>,
    /// Its components. From v2 on there must be one at least; where this is empty, a gNB without interfaces is told.
    pub components: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    /// Its components as v01.01 has them; no other version is told.
    pub components_v1: Vec<E2NodeComponentConfigUpdateItemV1<'static>>,
    /// The version that it speaks. Default: v02.03.
    pub version: Version,
    /// The encoding that it writes, which the RIC must expect on the link. Default: PER.
    pub codec: Codec,
    /// The RIC must answer the setup within this. Default: 5 s.
    pub setup_timeout: Duration,
    /// The first pause after a failure; each next one is twice as long. Default: 1 s.
    pub retry_first: Duration,
    /// The longest pause. Default: 30 s.
    pub retry_last: Duration,
    /// The RIC must answer a reset within this. Default: 5 s.
    pub reset_timeout: Duration,
    /// The RIC must answer within this what the node tells or requires: functions and components that changed, its removal,
    /// the change of a subscription. Default: 5 s.
    pub answer_timeout: Duration,
    /// Subscriptions that may stand at a time. Default: 1024.
    pub max_subscriptions: usize,
    /// Controls that may wait for their answer at a time, and as many queries. Default: 1024.
    pub max_controls: usize,
}

/// Why there cannot be such an agent: the caller's misuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentConfigError {
    /// Two functions have the same id.
    DuplicateFunction(RanFunctionId),
    /// A function's OID is empty, or has characters that a PrintableString does not have.
    BadOid(RanFunctionId),
    /// The version cannot carry the setup: a number out of its range, no function at all from v2 on, too many of them.
    Setup(per::Error),
}

impl fmt::Display for AgentConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentConfigError::DuplicateFunction(id) => write!(f, "two RAN functions have the id {}", id.0),
            AgentConfigError::BadOid(id) => {
                write!(f, "the OID of RAN function {} is empty or not a PrintableString", id.0)
            }
            AgentConfigError::Setup(error) => write!(f, "E2AP cannot carry the setup: {error}"),
        }
    }
}

impl std::error::Error for AgentConfigError {}

impl AgentConfig {
    /// An agent of `node_id` with the default patience.
    #[must_use]
    pub fn new(node_id: GlobalE2NodeId, functions: Vec<Function>) -> Self {
        AgentConfig {
            node_id,
            functions,
            components: Vec::new(),
            components_v1: Vec::new(),
            version: Version::V2_03,
            codec: Codec::Per,
            setup_timeout: Duration::from_secs(5),
            retry_first: Duration::from_secs(1),
            retry_last: Duration::from_secs(30),
            reset_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(5),
            max_subscriptions: 1024,
            max_controls: 1024,
        }
    }

    /// Whether there can be such an agent.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), AgentConfigError> {
        for (at, function) in self.functions.iter().enumerate() {
            if self.functions[..at].iter().any(|other| other.id == function.id) {
                return Err(AgentConfigError::DuplicateFunction(function.id));
            }
            let printable = |c: u8| c.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&c);
            if function.oid.is_empty() || !function.oid.bytes().all(printable) {
                return Err(AgentConfigError::BadOid(function.id));
            }
        }
        let request = self.setup_request((self.version >= Version::V2_03).then_some(TransactionId(0)));
        self.codec.encode(&request.into(), self.version, &mut Vec::new()).map_err(AgentConfigError::Setup)
    }

    /// The setup request of such an agent.
    pub(super) fn setup_request(&self, transaction_id: Option<TransactionId>) -> E2SetupRequest<'_> {
        let functions = self.functions.iter().map(|function| self.item(function));
        let Components { v1, v2 } = self.all_components();
        E2SetupRequest {
            transaction_id,
            global_e2_node_id: self.node_id,
            ran_functions_added: Some(functions.collect()),
            component_config_update_v1: list(v1.into_iter()),
            component_config_addition: list(v2.into_iter()),
        }
    }

    /// A function as the version tells of it.
    pub(super) fn item<'s>(&self, function: &'s Function) -> RanFunctionItem<'s> {
        RanFunctionItem {
            id: function.id,
            definition: function.definition.as_slice().into(),
            revision: function.revision,
            // v01.00 has no place for it
            oid: PrintableString::try_from(function.oid.as_str()).ok().filter(|_| self.version > Version::V1_00),
        }
    }

    /// What the version tells of components.
    pub(super) fn all_components(&self) -> Components {
        match self.version {
            Version::V1_00 => Components::default(),
            Version::V1_01 => Components { v1: self.components_v1.clone(), v2: Vec::new() },
            _ if self.components.is_empty() => Components { v1: Vec::new(), v2: vec![no_interfaces()] },
            _ => Components { v1: Vec::new(), v2: self.components.clone() },
        }
    }
}

/// From v2 on a setup names one component at least: a node without interfaces names an empty NG.
fn no_interfaces() -> E2NodeComponentConfigAdditionItem<'static> {
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("none") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2ap::{GnbId, PlmnIdentity};

    fn config(functions: Vec<(u16, &str)>) -> AgentConfig {
        let functions = functions.into_iter().map(|(id, oid)| Function {
            id: RanFunctionId(id),
            revision: RanFunctionRevision(1),
            oid: oid.into(),
            definition: vec![1],
        });
        let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(1, 28));
        AgentConfig::new(node, functions.collect())
    }

    #[test]
    fn what_cannot_be_set_up_is_told_before() {
        assert_eq!(config(vec![(2, "1.3.6"), (3, "ORAN-E2SM-RC")]).check(), Ok(()));
        let twice = AgentConfigError::DuplicateFunction(RanFunctionId(2));
        assert_eq!(config(vec![(2, "1.3.6"), (3, "1.3"), (2, "1.3.7")]).check(), Err(twice));
        for oid in ["", "1.3.6\n", "1.3.é"] {
            assert_eq!(config(vec![(2, oid)]).check(), Err(AgentConfigError::BadOid(RanFunctionId(2))));
        }
        assert!(matches!(config(vec![(4096, "1.3.6")]).check(), Err(AgentConfigError::Setup(_))));
        assert!(matches!(config(vec![]).check(), Err(AgentConfigError::Setup(_))), "v2 wants one function");
        let mut old = config(vec![]);
        old.version = Version::V1_01;
        assert_eq!(old.check(), Ok(()), "v1 does not");
        old.version = Version::V3_01;
        old.functions = (0..257).flat_map(|id| config(vec![(id, "1.3.6")]).functions).collect();
        assert!(matches!(old.check(), Err(AgentConfigError::Setup(_))));
    }
}
