//! The configuration of a controller.

use core::time::Duration;
use std::collections::HashMap;

use e2ap::{GlobalRicId, Version};

use crate::NodeTakeover;

/// The configuration of a [`Controller`](super::Controller): its identity, time limits and bounds.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// The global id of this RIC.
    pub ric_id: GlobalRicId,
    /// The E2AP version of every peer, in place of the one that its setup request implies. Default: none.
    pub version: Option<Version>,
    /// The E2AP versions of certain nodes, by the display form of their ids (`gnb-00101-e00`). The setup requests of v02.03
    /// and v03.01 are identical, so that the RIC uses v3 procedures with a v3 node only if this map lists it, or after the
    /// node has sent a v3 message. A version whose setup request differs from the received one is ignored. Default: none.
    pub node_versions: HashMap<String, Version>,
    /// The first RIC requestor id in use. Each request has another requestor, and another instance, until all up to 65535
    /// are in use; then requests share requestors. Default: 1021, so that 64,515 requests have one of their own.
    pub first_requestor: u16,
    /// The maximum number of requests in progress or not reusable yet. Default: 262144.
    pub max_requests: u32,
    /// Whether indications without an active subscription are answered by an Error Indication (E2AP v03.01 10.4), which
    /// aborts some agents, FlexRIC's among them. Otherwise they are dropped. Default: false.
    pub answer_stray_indications: bool,
    /// Whether messages whose IEs are out of order are refused, as E2AP v03.01 10.3.6 says, even if nothing is missing or
    /// repeated. Default: false, since some nodes send them (onosproject's ran-simulator its setup request).
    pub strict_ie_order: bool,
    /// The time after which a freed request id is reused. Default: 10 s.
    pub request_reuse_delay: Duration,
    /// The time limit of the setup on a new association. Default: 10 s.
    pub setup_timeout: Duration,
    /// The time limit of the answer to a subscription request (TRICEVENTcreate). Default: 5 s.
    pub subscription_timeout: Duration,
    /// The time limit of the answer to a subscription delete request (TRICEVENTdelete). Default: 5 s.
    pub delete_timeout: Duration,
    /// The time limit of the answer to a control request (TRICcontrol). Default: 5 s.
    pub control_timeout: Duration,
    /// The time limit of the answer to a reset request. Default: 5 s.
    pub reset_timeout: Duration,
    /// The time limit of the answer to a query request (TRICquery). Default: 5 s.
    pub query_timeout: Duration,
    /// The time limit of the answer to a subscription modification request (TRICEVENTmodify). Default: 5 s.
    pub modification_timeout: Duration,
    /// The time limit of a consumer's answer to a change that its node requires; the RIC then agrees to whatever the
    /// consumer has not refused. Default: 1 s.
    pub consent_timeout: Duration,
    /// The time limit of the answers to the other node-level procedures: service query, connection update, removal.
    /// Default: 5 s.
    pub answer_timeout: Duration,
    /// The time that a lost node has to set up again before its subscriptions end. Default: 60 s.
    pub restore_within: Duration,
    /// The maximum number of suspended subscriptions; beyond it, subscriptions of a lost node end at once. Default: 16384.
    pub max_suspended: usize,
    /// Whether a setup with the id of a connected node takes the node over. Default: from the same host only.
    pub node_takeover: NodeTakeover,
    /// The maximum number of nodes; further setups are refused with a time to wait. Default: 4096.
    pub max_nodes: usize,
    /// The share of all nodes that one host may have, in percent. Default: 75.
    pub max_host_percent: u8,
    /// The setups of one host per second, beyond a burst of its share of all nodes; further ones are refused with a time to
    /// wait. Default: 200.
    pub max_setups_per_second: u32,
    /// The maximum octets of RAN functions (definitions and OIDs) stored per node; functions beyond it are rejected. xApps
    /// receive them in one message, so that this must be well below the PDU limit of their links. Default: 960 KiB.
    pub max_function_octets: usize,
    /// The maximum octets of component configurations (interface setup messages) stored per node; components beyond it are
    /// rejected. Default: 256 KiB.
    pub max_component_octets: usize,
    /// The maximum octets of functions and components stored of all nodes together. Beyond it, a setup is refused with a
    /// time to wait, and additions of existing nodes are rejected. Default: 256 MiB.
    pub max_octets_of_nodes: usize,
    /// The maximum number of subscriptions, controls and queries per consumer. Default: 16384.
    pub max_requests_per_consumer: usize,
    /// The maximum octets of event triggers and action definitions stored per consumer. Default: 16 MiB.
    pub max_octets_per_consumer: usize,
    /// The size of the outbox of a node's link, in octets, if the caller reports what is left in it
    /// ([`Controller::handle_sent`](super::Controller::handle_sent)): beyond its share, a consumer's request is refused
    /// ([`Misuse::NodeBusy`](super::Misuse::NodeBusy)). `None`: nothing is counted. Default: `None`.
    pub outbox_octets: Option<usize>,
    /// The most octets of unanswered controls, of all consumers together, that are kept for [`Event::ControlEnded`](super::Event),
    /// which is reported only if this is not zero. A consumer may keep as much as stays free, at most half. Default: 0.
    pub kept_control_octets: usize,
    /// The longest PDU that the nodes' links carry; commands that need a longer one are refused. Default: 1 MiB.
    pub max_pdu_octets: usize,
}

impl Default for ControllerConfig {
    fn default() -> Self {
        ControllerConfig {
            ric_id: GlobalRicId::new(e2ap::PlmnIdentity::from_codes(1, 1, 2), 1),
            version: None,
            node_versions: HashMap::new(),
            first_requestor: 1021,
            max_requests: 262_144,
            answer_stray_indications: false,
            strict_ie_order: false,
            request_reuse_delay: Duration::from_secs(10),
            setup_timeout: Duration::from_secs(10),
            subscription_timeout: Duration::from_secs(5),
            delete_timeout: Duration::from_secs(5),
            control_timeout: Duration::from_secs(5),
            reset_timeout: Duration::from_secs(5),
            query_timeout: Duration::from_secs(5),
            modification_timeout: Duration::from_secs(5),
            consent_timeout: Duration::from_secs(1),
            answer_timeout: Duration::from_secs(5),
            restore_within: Duration::from_secs(60),
            max_suspended: 16_384,
            node_takeover: NodeTakeover::default(),
            max_nodes: 4096,
            max_host_percent: 75,
            max_setups_per_second: 200,
            max_function_octets: 960 * 1024,
            max_component_octets: 256 * 1024,
            max_octets_of_nodes: 256 * 1024 * 1024,
            max_requests_per_consumer: 16_384,
            max_octets_per_consumer: 16 * 1024 * 1024,
            outbox_octets: None,
            kept_control_octets: 0,
            max_pdu_octets: 1024 * 1024,
        }
    }
}
