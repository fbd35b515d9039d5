//! The configuration of an agent.

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
use crate::controller_path::ControllerPath;

/// A RAN function that the node offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// The revision of its definition.
    pub revision: RanFunctionRevision,
    /// The service model's object identifier.
    pub oid: String,
    /// The service model's RAN function definition.
    pub definition: Vec<u8>,
}

/// The configuration of an [`Agent`](super::Agent): its node, time limits and bounds.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The global id of the node.
    pub node_id: GlobalE2NodeId,
    /// Its RAN functions.
    pub functions: Vec<Function>,
    /// Its components. v2 and later require at least one; if this is empty, the agent sends an NG component named "none".
    pub components: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    /// Its components in v01.01; other versions do not use them.
    pub components_v1: Vec<E2NodeComponentConfigUpdateItemV1<'static>>,
    /// If it is a virtual node, the controllers that it stems from, which the setup request of v01.01 and later names. Default: empty.
    pub controller_path: ControllerPath,
    /// Its E2AP version. Default: v02.03.
    pub version: Version,
    /// The order of the IEs of its setup request, by their ids; others follow. Some base stations send another order than the
    /// specification's, which an emulated one repeats. Only with PER. Default: empty, the order of the specification.
    pub setup_order: Vec<u16>,
    /// Its encoding, which the RIC must expect on the link. Default: PER.
    pub codec: Codec,
    /// Whether messages whose IEs are out of order are refused, as E2AP v03.01 10.3.6 says, even if nothing is missing or
    /// repeated. Default: false.
    pub strict_ie_order: bool,
    /// The addresses of the controller, of which the node uses one at a time: several RICs may serve it. After a failure or a
    /// loss it goes to the next one at once, and after all of them have failed there is a pause. Default: 1.
    pub addresses: usize,
    /// The time limit of the answer to a setup request. Default: 5 s.
    pub setup_timeout: Duration,
    /// The first pause after a failure; the pause doubles each time. Default: 1 s.
    pub retry_first: Duration,
    /// The longest pause. Default: 30 s.
    pub retry_last: Duration,
    /// The time limit of the answer to a reset request. Default: 5 s.
    pub reset_timeout: Duration,
    /// The time limit of the answers to the node's other procedures: service update, configuration update, removal,
    /// modification required. Default: 5 s.
    pub answer_timeout: Duration,
    /// The maximum number of subscriptions. Default: 1024.
    pub max_subscriptions: usize,
    /// The maximum number of unanswered controls, and of unanswered queries. Default: 1024.
    pub max_controls: usize,
}

/// Why a configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentConfigError {
    /// Two functions have the same id.
    DuplicateFunction(RanFunctionId),
    /// The OID of a function is empty or not a PrintableString, in a version that has OIDs.
    BadOid(RanFunctionId),
    /// The version cannot carry the setup request: a number is out of range, there are too many functions, or none in v2 or later.
    Setup(per::Error),
}

impl fmt::Display for AgentConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentConfigError::DuplicateFunction(id) => write!(f, "two RAN functions have the id {}", id.0),
            AgentConfigError::BadOid(id) => {
                write!(f, "the OID of RAN function {} is empty or not a PrintableString", id.0)
            }
            AgentConfigError::Setup(error) => write!(f, "E2AP cannot carry the setup request: {error}"),
        }
    }
}

impl std::error::Error for AgentConfigError {}

impl AgentConfig {
    /// Creates a configuration with the default time limits and bounds.
    #[must_use]
    pub fn new(node_id: GlobalE2NodeId, functions: Vec<Function>) -> Self {
        AgentConfig {
            node_id,
            functions,
            components: Vec::new(),
            components_v1: Vec::new(),
            controller_path: ControllerPath::default(),
            version: Version::V2_03,
            setup_order: Vec::new(),
            codec: Codec::Per,
            strict_ie_order: false,
            addresses: 1,
            setup_timeout: Duration::from_secs(5),
            retry_first: Duration::from_secs(1),
            retry_last: Duration::from_secs(30),
            reset_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(5),
            max_subscriptions: 1024,
            max_controls: 1024,
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn check(&self) -> Result<(), AgentConfigError> {
        for (at, function) in self.functions.iter().enumerate() {
            if self.functions[..at].iter().any(|other| other.id == function.id) {
                return Err(AgentConfigError::DuplicateFunction(function.id));
            }
            let printable = |c: u8| c.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&c);
            // v01.00 does not have it, and in v01.01 it is optional
            let is_missing = function.oid.is_empty() && self.version >= Version::V2_03;
            if is_missing || !function.oid.bytes().all(printable) {
                return Err(AgentConfigError::BadOid(function.id));
            }
        }
        let request = self.setup_request((self.version >= Version::V2_03).then_some(TransactionId(0)));
        self.codec.encode(&request.into(), self.version, &mut Vec::new()).map_err(AgentConfigError::Setup)
    }

    /// Returns the setup request.
    pub(super) fn setup_request(&self, transaction_id: Option<TransactionId>) -> E2SetupRequest<'_> {
        let functions = self.functions.iter().map(|function| self.item(function));
        let is_taken = |id| self.functions.iter().any(|function| function.id == id);
        // it has no components
        let path = if self.version == Version::V1_00 { self.controller_path.function(is_taken) } else { None };
        let functions = functions.chain(path);
        let Components { v1, v2 } = self.all_components();
        E2SetupRequest {
            transaction_id,
            global_e2_node_id: self.node_id,
            ran_functions_added: Some(functions.collect()),
            component_config_update_v1: list(v1.into_iter()),
            component_config_addition: list(v2.into_iter()),
        }
    }

    /// Returns a function as the version encodes it.
    pub(super) fn item<'s>(&self, function: &'s Function) -> RanFunctionItem<'s> {
        // v01.00 does not have it
        let has_oid = self.version > Version::V1_00 && !function.oid.is_empty();
        RanFunctionItem {
            id: function.id,
            definition: function.definition.as_slice().into(),
            revision: function.revision,
            oid: PrintableString::try_from(function.oid.as_str()).ok().filter(|_| has_oid),
        }
    }

    /// Returns the components as the version encodes them.
    pub(super) fn all_components(&self) -> Components {
        match self.version {
            Version::V1_00 => Components::default(),
            Version::V1_01 => {
                let path = self.controller_path.component_v1();
                Components { v1: self.components_v1.iter().cloned().chain(path).collect(), v2: Vec::new() }
            }
            _ => {
                let mut v2 = self.components.clone();
                v2.extend(self.controller_path.component());
                if v2.is_empty() {
                    v2.push(no_interfaces());
                }
                Components { v1: Vec::new(), v2 }
            }
        }
    }
}

/// Returns the component of a node without interfaces: v2 and later require at least one.
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
    fn invalid_configuration_is_rejected() {
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
        let mut oldest = config(vec![(2, "")]);
        for version in [Version::V1_01, Version::V1_00] {
            oldest.version = version;
            assert_eq!(oldest.check(), Ok(()), "the OID is optional in v01.01, and v01.00 has none");
        }
        // one of the functions is the path of a virtual node
        oldest.functions = (0..256).flat_map(|id| config(vec![(id, "")]).functions).collect();
        assert_eq!(oldest.check(), Ok(()));
        oldest.controller_path = ControllerPath::default().with(crate::ControllerInstance(1), &oldest.node_id);
        assert!(matches!(oldest.check(), Err(AgentConfigError::Setup(_))));
        old.version = Version::V3_01;
        old.functions = (0..257).flat_map(|id| config(vec![(id, "1.3.6")]).functions).collect();
        assert!(matches!(old.check(), Err(AgentConfigError::Setup(_))));
    }
}
