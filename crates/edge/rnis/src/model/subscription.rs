//! The nine types of subscriptions (MEC 012 6.3), and their criteria.

use std::borrow::Cow;

use rest::schemars::{Schema, SchemaGenerator, json_schema};
use rest::{Problem, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::{
    FilterCriteriaAssoc, FilterCriteriaAssocHo, FilterCriteriaAssocTri, FilterCriteriaNrMrs, FilterCriteriaQci,
    FilterCriteriaQci1, S1BearerSubscriptionCriteria, bearer_event, handover_status, of_cells_and_ues, qci,
};
use super::shared::{Fault, HoStatus, Link, Links, Nrcgi, S1EventType, TimeStamp, list};
use crate::criteria::{Criteria, Topic};
use crate::event::HandoverStatus;

/// Delivery by a WebSocket (MEC 012 6.3.12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebsockNotifConfig {
    /// The service's answer: where to connect.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "String")]
    pub websocket_uri: Option<String>,
    /// The application asks for a WebSocket.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "bool")]
    pub request_websocket_uri: Option<bool>,
}

/// The members that all types have.
#[derive(Debug)]
pub struct Common<'s> {
    /// Where notifications go.
    pub callback_reference: &'s mut Option<String>,
    /// Whether a test notification is requested.
    pub request_test_notification: &'s mut Option<bool>,
    /// Delivery by a WebSocket.
    pub websock_notif_config: &'s mut Option<WebsockNotifConfig>,
    /// Links, of answers.
    pub links: &'s mut Option<Links>,
    /// When the subscription ends.
    pub expiry_deadline: &'s mut Option<TimeStamp>,
}

/// Declares the types of subscriptions, their enum, and what all of them do.
macro_rules! subscriptions {
    ($($(#[$about:meta])* $name:ident($topic:ident, $text:literal, $word:literal) {
        $($(#[$about_member:meta])* $member:ident: $type:ty,)+
    })+) => {
        $(
            $(#[$about])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            pub struct $name {
                /// The type.
                #[schemars(extend("const" = $text))]
                pub subscription_type: String,
                /// Where notifications go: `http://HOST:PORT/PATH`. Without it `websockNotifConfig` is required.
                #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
                #[schemars(with = "String")]
                pub callback_reference: Option<String>,
                /// Whether a test notification is sent before all others.
                #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
                #[schemars(with = "bool")]
                pub request_test_notification: Option<bool>,
                /// Delivery by a WebSocket.
                #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
                #[schemars(with = "WebsockNotifConfig")]
                pub websock_notif_config: Option<WebsockNotifConfig>,
                /// Links, of answers. Those of a request are ignored when it creates a subscription.
                #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
                #[schemars(with = "Links")]
                pub links: Option<Links>,
                $($(#[$about_member])* pub $member: $type,)+
                /// When the subscription ends.
                #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
                #[schemars(with = "TimeStamp")]
                pub expiry_deadline: Option<TimeStamp>,
            }
        )+

        /// A subscription of any type.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum InlineSubscription {
            $(
                #[doc = concat!("A ", $text, ".")]
                $topic($name),
            )+
        }

        impl InlineSubscription {
            /// Reads it from a request.
            ///
            /// # Errors
            /// 415 if the content type is not JSON, 422 if the body is not of the type.
            pub fn read(request: &Request) -> Result<Self, Problem> {
                let OfType { subscription_type } = request.json()?;
                match &*subscription_type {
                    $($text => request.json().map(InlineSubscription::$topic),)+
                    other => {
                        let known = [$($text),+].join(", ");
                        let reason = format!("subscriptionType: `{other}` is none of {known}");
                        Err(Problem::unprocessable(reason).with("at", "subscriptionType"))
                    }
                }
            }

            /// The members that all types have.
            pub fn common(&mut self) -> Common<'_> {
                match self {
                    $(InlineSubscription::$topic(it) => Common {
                        callback_reference: &mut it.callback_reference,
                        request_test_notification: &mut it.request_test_notification,
                        websock_notif_config: &mut it.websock_notif_config,
                        links: &mut it.links,
                        expiry_deadline: &mut it.expiry_deadline,
                    },)+
                }
            }

            /// Which events it is for.
            ///
            /// # Errors
            /// If a criterion is malformed, or beyond a limit.
            pub fn criteria(&self) -> Result<Criteria, Fault> {
                match self {
                    $(InlineSubscription::$topic(it) => it.criteria(Topic::$topic),)+
                }
            }
        }

        /// `oneOf` by `subscriptionType`.
        impl JsonSchema for InlineSubscription {
            fn schema_name() -> Cow<'static, str> {
                "InlineSubscription".into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let types = [$(generator.subschema_for::<$name>()),+];
                json_schema!({ "oneOf": types, "discriminator": { "propertyName": "subscriptionType" } })
            }
        }

        impl Topic {
            /// The name of the type in bodies.
            #[must_use]
            pub const fn type_name(self) -> &'static str {
                match self { $(Topic::$topic => $text,)+ }
            }

            /// The name of the type in queries and paths: `cell_change`.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Topic::$topic => $word,)+ }
            }
        }

        /// The names of the types in queries, in their order.
        pub const WORDS: &[&str] = &[$($word),+];
    };
}

/// What says the type of a subscription; the other members are read once it is known.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfType {
    subscription_type: String,
}

subscriptions! {
    /// A subscription to cell changes (MEC 012 6.3.2).
    CellChangeSubscription(CellChange, "CellChangeSubscription", "cell_change") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_assoc_ho: FilterCriteriaAssocHo,
    }
    /// A subscription to the establishment of bearers (6.3.3).
    RabEstSubscription(RabEstablishment, "RabEstSubscription", "rab_est") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_qci: FilterCriteriaQci,
    }
    /// A subscription to modifications of bearers (6.3.4).
    RabModSubscription(RabModification, "RabModSubscription", "rab_mod") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_qci: FilterCriteriaQci1,
    }
    /// A subscription to releases of bearers (6.3.5).
    RabRelSubscription(RabRelease, "RabRelSubscription", "rab_rel") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_qci: FilterCriteriaQci1,
    }
    /// A subscription to measurement reports of UEs of E-UTRA (6.3.6).
    MeasRepUeSubscription(MeasurementReport, "MeasRepUeSubscription", "meas_rep_ue") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_assoc_tri: FilterCriteriaAssocTri,
    }
    /// A subscription to measurement reports of UEs of NR (6.3.10).
    NrMeasRepUeSubscription(NrMeasurementReport, "NrMeasRepUeSubscription", "nr_meas_rep_ue") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_nr_mrs: FilterCriteriaNrMrs,
    }
    /// A subscription to timing advances (6.3.7).
    MeasTaSubscription(TimingAdvance, "MeasTaSubscription", "timing_advance_ue") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_assoc: FilterCriteriaAssoc,
    }
    /// A subscription to changes of secondary cells (6.3.8).
    CaReconfSubscription(CarrierAggregation, "CaReconfSubscription", "ca_reconf") {
        /// The criteria.
        #[serde(deserialize_with = "rest::object")]
        filter_criteria_assoc: FilterCriteriaAssoc,
    }
    /// A subscription to bearers towards the core (6.3.9).
    S1BearerSubscription(S1Bearer, "S1BearerSubscription", "s1_bearer") {
        /// The events.
        event_type: Vec<S1EventType>,
        /// The criteria. The standard spells the member in this way.
        #[serde(rename = "S1BearerSubscriptionCriteria", deserialize_with = "rest::object")]
        s1_bearer_subscription_criteria: S1BearerSubscriptionCriteria,
    }
}

impl InlineSubscription {
    /// The application instance of its criteria; those of bearers towards the core have none.
    #[must_use]
    pub fn application(&self) -> Option<&str> {
        let name = match self {
            InlineSubscription::CellChange(it) => &it.filter_criteria_assoc_ho.app_instance_id,
            InlineSubscription::RabEstablishment(it) => &it.filter_criteria_qci.app_instance_id,
            InlineSubscription::RabModification(it) => &it.filter_criteria_qci.app_instance_id,
            InlineSubscription::RabRelease(it) => &it.filter_criteria_qci.app_instance_id,
            InlineSubscription::MeasurementReport(it) => &it.filter_criteria_assoc_tri.app_instance_id,
            InlineSubscription::NrMeasurementReport(it) => &it.filter_criteria_nr_mrs.app_instance_id,
            InlineSubscription::TimingAdvance(it) => &it.filter_criteria_assoc.app_instance_id,
            InlineSubscription::CarrierAggregation(it) => &it.filter_criteria_assoc.app_instance_id,
            InlineSubscription::S1Bearer(_) => return None,
        };
        name.as_ref()?.text()
    }
}

impl CellChangeSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let filter = &self.filter_criteria_assoc_ho;
        let criteria = || {
            let status = list("hoStatus", &filter.ho_status, |status| Ok(handover_status(*status)))?;
            Ok(Criteria { handover_status: status, ..of_cells_and_ues(topic, &filter.ecgi, &filter.associate_id)? })
        };
        criteria().map_err(|fault: Fault| fault.within("filterCriteriaAssocHo"))
    }
}

impl RabEstSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let filter = &self.filter_criteria_qci;
        let criteria = || Ok(Criteria { qci: Some(qci(filter.qci)?), ..of_cells_and_ues(topic, &filter.ecgi, &[])? });
        criteria().map_err(|fault: Fault| fault.within("filterCriteriaQci"))
    }
}

impl RabModSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        self.filter_criteria_qci.criteria(topic)
    }
}

impl RabRelSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        self.filter_criteria_qci.criteria(topic)
    }
}

impl MeasRepUeSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let filter = &self.filter_criteria_assoc_tri;
        let criteria = || {
            let triggers = list("trigger", &filter.trigger, |trigger| Ok(trigger.0))?;
            Ok(Criteria { triggers, ..of_cells_and_ues(topic, &filter.ecgi, &filter.associate_id)? })
        };
        criteria().map_err(|fault: Fault| fault.within("filterCriteriaAssocTri"))
    }
}

impl NrMeasRepUeSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let filter = &self.filter_criteria_nr_mrs;
        let criteria = || {
            let triggers = list("triggerNr", &filter.trigger_nr, |trigger| Ok(trigger.0))?;
            let cells = list("nrcgi", &filter.nrcgi, Nrcgi::cell)?;
            Ok(Criteria { triggers, cells, ..of_cells_and_ues(topic, &[], &filter.associate_id)? })
        };
        criteria().map_err(|fault: Fault| fault.within("filterCriteriaNrMrs"))
    }
}

impl MeasTaSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        self.filter_criteria_assoc.criteria(topic)
    }
}

impl CaReconfSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        self.filter_criteria_assoc.criteria(topic)
    }
}

impl S1BearerSubscription {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        if self.event_type.is_empty() {
            return Err(Fault::malformed("eventType", "the list is empty"));
        }
        let bearer_events = list("eventType", &self.event_type, |event| Ok(bearer_event(*event)))?;
        let filter = &self.s1_bearer_subscription_criteria;
        let criteria = || {
            let erab_ids = list("erabId", &filter.erab_id, |id| Ok(*id))?;
            Ok(Criteria { erab_ids, bearer_events, ..of_cells_and_ues(topic, &filter.ecgi, &filter.associate_id)? })
        };
        criteria().map_err(|fault: Fault| fault.within("S1BearerSubscriptionCriteria"))
    }
}

impl InlineSubscription {
    /// Writes the defaults of absent criteria into the body, so that the answer has them.
    pub fn complete(&mut self) {
        if let InlineSubscription::CellChange(it) = self
            && it.filter_criteria_assoc_ho.ho_status.is_empty()
        {
            it.filter_criteria_assoc_ho.ho_status = vec![HoStatus(HandoverStatus::Completed as u8)];
        }
    }
}

/// A link to a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Subscription")]
pub struct SubscriptionLink {
    /// The URI of the subscription.
    pub href: String,
    /// Its type.
    pub subscription_type: String,
}

/// The subscriptions of an application (MEC 012 6.3.11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SubscriptionLinkList {
    /// The links.
    #[serde(rename = "_links")]
    pub links: SubscriptionLinks,
}

/// The links of a list of subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SubscriptionLinks {
    /// The list itself.
    #[serde(rename = "self")]
    pub own: Link,
    /// The subscriptions; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subscription: Vec<SubscriptionLink>,
}
