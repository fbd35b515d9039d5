//! The documents of the subscription manager.

use std::fmt;
use std::marker::PhantomData;

use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{Cause, RicActionId, RicActionType, RicSubsequentAction, RicSubsequentActionType, RicTimeToWait};
use rest::Problem;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::MAX_DETAILS;

/// A request to subscribe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The id of an earlier request with the same content.
    #[serde(rename = "SubscriptionId", alias = "subscription_id", default)]
    pub subscription_id: Option<String>,
    /// Where the xApp is.
    #[serde(rename = "ClientEndpoint", alias = "client_endpoint")]
    pub client_endpoint: ClientEndpoint,
    /// The name of the node.
    #[serde(rename = "Meid", alias = "meid")]
    pub meid: String,
    /// The RAN function.
    #[serde(rename = "RANFunctionID", alias = "ran_function_id")]
    #[schemars(range(max = 4095))]
    pub ran_function_id: u16,
    /// How to subscribe.
    #[serde(rename = "E2SubscriptionDirectives", alias = "e2_subscription_directives", default)]
    pub directives: Option<Directives>,
    /// The subscriptions, one or more.
    #[serde(rename = "SubscriptionDetails", alias = "subscription_details")]
    #[schemars(with = "Vec<Detail>")]
    pub details: OneOrMore<Detail>,
}

/// Where an xApp is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ClientEndpoint {
    /// Its host.
    #[serde(rename = "Host", alias = "host")]
    pub host: String,
    /// Its port for notifications; without it there are none.
    #[serde(rename = "HTTPPort", alias = "http_port", default)]
    pub http_port: Option<u16>,
    /// Its port for indications; without it there are none.
    #[serde(rename = "RMRPort", alias = "rmr_port", default)]
    pub rmr_port: Option<u16>,
}

/// How to subscribe. The timers are those of the RIC, whatever a request states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Directives {
    /// How long to wait for the node, in seconds. It has no effect.
    #[serde(rename = "E2TimeoutTimerValue", alias = "e2_timeout_timer_value", default)]
    pub timeout_s: Option<u8>,
    /// How often to try. It has no effect.
    #[serde(rename = "E2RetryCount", alias = "e2_retry_count", default)]
    pub retry_count: Option<u8>,
    /// Whether indications are sent to the xApp; they are if this is absent.
    #[serde(rename = "RMRRoutingNeeded", alias = "rmr_routing_needed", default)]
    pub rmr_routing_needed: Option<bool>,
}

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Detail {
    /// The xApp's number for it.
    #[serde(rename = "XappEventInstanceId", alias = "xapp_event_instance_id")]
    pub xapp_event_instance_id: u16,
    /// The octets of the event trigger definition.
    #[serde(rename = "EventTriggers", alias = "event_triggers")]
    pub event_triggers: Vec<u8>,
    /// The actions, 1 to 16.
    #[serde(rename = "ActionToBeSetupList", alias = "action_to_be_setup_list")]
    #[schemars(with = "Vec<ActionToBeSetup>")]
    pub actions: OneOrMore<ActionToBeSetup>,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ActionToBeSetup {
    /// Its id in the subscription.
    #[serde(rename = "ActionID", alias = "action_id")]
    id: u8,
    /// What it is.
    #[serde(rename = "ActionType", alias = "action_type")]
    kind: ActionType,
    /// The octets of the action definition.
    #[serde(rename = "ActionDefinition", alias = "action_definition", default)]
    definition: Option<Vec<u8>>,
    /// What the node does after it.
    #[serde(rename = "SubsequentAction", alias = "subsequent_action", default)]
    subsequent: Option<SubsequentAction>,
}

/// What an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ActionType {
    Insert,
    Policy,
    Report,
}

/// What a node does after an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct SubsequentAction {
    /// Whether it continues.
    #[serde(rename = "SubsequentActionType", alias = "subsequent_action_type")]
    kind: SubsequentActionType,
    /// How long it waits for a control.
    #[serde(rename = "TimeToWait", alias = "time_to_wait")]
    time_to_wait: TimeToWait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SubsequentActionType {
    Continue,
    Wait,
}

/// The names are the durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TimeToWait {
    Zero,
    W1ms,
    W2ms,
    W5ms,
    W10ms,
    W20ms,
    W30ms,
    W40ms,
    W50ms,
    W100ms,
    W200ms,
    W500ms,
    W1s,
    W2s,
    W5s,
    W10s,
    W20s,
    W60s,
}

impl From<TimeToWait> for RicTimeToWait {
    fn from(time: TimeToWait) -> Self {
        match time {
            TimeToWait::Zero => RicTimeToWait::Zero,
            TimeToWait::W1ms => RicTimeToWait::W1ms,
            TimeToWait::W2ms => RicTimeToWait::W2ms,
            TimeToWait::W5ms => RicTimeToWait::W5ms,
            TimeToWait::W10ms => RicTimeToWait::W10ms,
            TimeToWait::W20ms => RicTimeToWait::W20ms,
            TimeToWait::W30ms => RicTimeToWait::W30ms,
            TimeToWait::W40ms => RicTimeToWait::W40ms,
            TimeToWait::W50ms => RicTimeToWait::W50ms,
            TimeToWait::W100ms => RicTimeToWait::W100ms,
            TimeToWait::W200ms => RicTimeToWait::W200ms,
            TimeToWait::W500ms => RicTimeToWait::W500ms,
            TimeToWait::W1s => RicTimeToWait::W1s,
            TimeToWait::W2s => RicTimeToWait::W2s,
            TimeToWait::W5s => RicTimeToWait::W5s,
            TimeToWait::W10s => RicTimeToWait::W10s,
            TimeToWait::W20s => RicTimeToWait::W20s,
            TimeToWait::W60s => RicTimeToWait::W60s,
        }
    }
}

impl Params {
    /// Refuses what no node could be asked for.
    ///
    /// # Errors
    /// Why.
    pub fn check(&self) -> Result<(), Problem> {
        let count = self.details.0.len();
        if !(1..=MAX_DETAILS).contains(&count) {
            let detail = format!("SubscriptionDetails: there are {count}, and 1 to {MAX_DETAILS} are allowed");
            return Err(Problem::unprocessable(detail));
        }
        if self.ran_function_id > 4095 {
            let detail = format!("RANFunctionID: {} exceeds 4095", self.ran_function_id);
            return Err(Problem::unprocessable(detail));
        }
        let host = &self.client_endpoint.host;
        let is_host = !host.is_empty() && host.len() <= 253 && host.chars().all(is_in_host);
        if !is_host {
            return Err(Problem::unprocessable("ClientEndpoint.Host: it is not a host name or an address"));
        }
        let mut instances: Vec<_> = self.details.0.iter().map(|detail| detail.xapp_event_instance_id).collect();
        instances.sort_unstable();
        if let Some(twice) = instances.windows(2).find(|pair| pair[0] == pair[1]) {
            let detail = format!("XappEventInstanceId: {} occurs twice", twice[0]);
            return Err(Problem::unprocessable(detail));
        }
        Ok(())
    }

    /// Where indications go: `HOST:PORT`; `None` if the xApp wants none.
    pub fn rmr_endpoint(&self) -> Option<String> {
        let is_wanted = self.directives.as_ref().and_then(|of| of.rmr_routing_needed).unwrap_or(true);
        let port = self.client_endpoint.rmr_port.filter(|port| is_wanted && *port != 0)?;
        // service-ricxapp-NAME-http is the service of NAME for HTTP
        let host = self.client_endpoint.host.replacen("http", "rmr", 1);
        Some(crate::messaging::endpoint_name(&host, port))
    }
}

/// Whether a character may be in a host name or an address.
fn is_in_host(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_' | ':')
}

impl Detail {
    /// What the RIC subscribes to.
    pub fn spec(&self) -> SubscriptionSpec {
        let actions = self.actions.0.iter().map(|action| Action {
            id: RicActionId(action.id),
            kind: match action.kind {
                ActionType::Insert => RicActionType::Insert,
                ActionType::Policy => RicActionType::Policy,
                ActionType::Report => RicActionType::Report,
            },
            definition: action.definition.clone().filter(|definition| !definition.is_empty()),
            subsequent: action.subsequent.map(|subsequent| RicSubsequentAction {
                kind: match subsequent.kind {
                    SubsequentActionType::Continue => RicSubsequentActionType::Continue,
                    SubsequentActionType::Wait => RicSubsequentActionType::Wait,
                },
                time_to_wait: subsequent.time_to_wait.into(),
            }),
        });
        SubscriptionSpec { event_trigger: self.event_triggers.clone(), actions: actions.collect() }
    }
}

/// A list, which `ricxappframe` may write without brackets if it has one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OneOrMore<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = OneOrMore<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(OneOrMore(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, item: A) -> Result<Self::Value, A::Error> {
                Ok(OneOrMore(vec![T::deserialize(MapAccessDeserializer::new(item))?]))
            }
        }

        deserializer.deserialize_any(Items(PhantomData))
    }
}

/// The answer to a request to subscribe.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Created {
    /// Deletes what was subscribed.
    #[serde(rename = "SubscriptionId")]
    pub id: String,
    /// Empty: outcomes are notified.
    #[serde(rename = "SubscriptionInstances")]
    pub instances: Vec<Instance>,
}

/// What an xApp is notified of.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Notification {
    /// The id of the request.
    #[serde(rename = "SubscriptionId")]
    pub id: String,
    /// The outcomes.
    #[serde(rename = "SubscriptionInstances")]
    pub instances: Vec<Instance>,
}

/// The outcome of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Instance {
    /// The xApp's number for it.
    #[serde(rename = "XappEventInstanceId")]
    xapp_event_instance_id: u16,
    /// The subscription id of its indications; 0 if it failed.
    #[serde(rename = "E2EventInstanceId")]
    e2_event_instance_id: i32,
    /// Why it failed, or what of it; empty if it did not.
    #[serde(rename = "ErrorCause")]
    error_cause: String,
    /// Who refused it.
    #[serde(rename = "ErrorSource", skip_serializing_if = "Option::is_none")]
    error_source: Option<&'static str>,
    /// Whether the node did not answer.
    #[serde(rename = "TimeoutType", skip_serializing_if = "Option::is_none")]
    timeout_type: Option<&'static str>,
}

impl Instance {
    /// A subscription is active, perhaps without some of its actions.
    pub fn active(xapp_instance: u16, e2_instance: i32, not_admitted: &[(RicActionId, Cause)]) -> Self {
        let refused: Vec<_> = not_admitted.iter().map(|(id, cause)| format!("action {}: {cause}", id.0)).collect();
        let (error_cause, error_source) = match refused.is_empty() {
            true => (String::new(), None),
            false => (format!("RICSubscriptionResponse partially accepted: {}", refused.join("; ")), Some("E2Node")),
        };
        Instance {
            xapp_event_instance_id: xapp_instance,
            e2_event_instance_id: e2_instance,
            error_cause,
            error_source,
            timeout_type: None,
        }
    }

    /// A subscription has no effect.
    pub fn failed(xapp_instance: u16, cause: &str, source: &'static str, is_timeout: bool) -> Self {
        Instance {
            xapp_event_instance_id: xapp_instance,
            e2_event_instance_id: 0,
            error_cause: cause.to_owned(),
            error_source: Some(source),
            timeout_type: is_timeout.then_some("E2-Timeout"),
        }
    }
}

/// An active subscription in the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Overview {
    /// The subscription id of its indications.
    #[serde(rename = "SubscriptionId")]
    pub id: i32,
    /// The name of its node.
    #[serde(rename = "Meid")]
    pub meid: String,
    /// Where its indications go.
    #[serde(rename = "ClientEndpoint")]
    pub endpoints: Vec<String>,
    /// Empty.
    #[serde(rename = "SubscriptionInstances")]
    pub instances: Vec<Instance>,
}

/// An endpoint of an xApp.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Endpoint {
    /// `HOST:PORT`.
    pub endpoint: String,
    /// Whether it can be reached.
    pub is_connected: bool,
    /// What it has answered to the last health check; null if it does not answer them.
    pub is_well: Option<bool>,
    /// Indications that were sent to it.
    pub indications: u64,
    /// Indications that it has lost.
    pub lost_indications: u64,
}

#[cfg(test)]
mod tests;
