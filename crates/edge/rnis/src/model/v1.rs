//! The bodies of MEC 012 v1.1.1 that differ from those of v2.2.1.
//!
//! Its published API description wraps each body in an object with one member, the name of the type; its text does not. Both
//! forms are read, and an answer has the form of the request. Enumerations are names or numbers, lists one value or an array, and
//! come back as they were sent.

mod answer;

use std::borrow::Cow;
use std::collections::BTreeMap;

use rest::schemars::{Schema, SchemaGenerator, json_schema};
use rest::{Problem, Request};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::filter::{bearer_event, handover_status, qci};
use super::shared::{ApplicationName, AssociateIdBody, Fault, HoStatus, S1EventType, TimeStamp, cell, list};
use crate::criteria::{Criteria, Topic};
use crate::event::HandoverStatus;
use crate::identity::Plmn;

pub use answer::{
    LinkList, LinkListAnswer, PlmnInfo, PlmnInfoAnswer, RabInfo, RabInfoAnswer, S1BearerInfo, S1BearerInfoAnswer,
    S1BearerInfoDetailed, S1UeInfo,
};

/// One value, or a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    fn values(member: &Option<Self>) -> &[T] {
        match member {
            None => &[],
            Some(OneOrMany::One(value)) => std::slice::from_ref(value),
            Some(OneOrMany::Many(values)) => values,
        }
    }
}

/// A value of an enumeration: its number, or its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NumberOrName {
    /// The number.
    Number(u8),
    /// The name.
    Name(String),
}

/// The names of an enumeration with their numbers.
type Names = &'static [(&'static str, u8)];

const ASSOCIATE_ID_TYPES: Names =
    &[("UE_IPV4_ADDRESS", 1), ("UE_IPV6_ADDRESS", 2), ("NATED_IP_ADDRESS", 3), ("GTP_TEID", 4)];
const HO_STATUS: Names =
    &[("IN_PREPARATION", 1), ("IN_EXECUTION", 2), ("COMPLETED", 3), ("REJECTED", 4), ("CANCELLED", 5)];
const EVENT_TYPES: Names = &[("S1_BEARER_ESTABLISH", 1), ("S1_BEARER_MODIFY", 2), ("S1_BEARER_RELEASE", 3)];
const TRIGGERS: Names = &[
    ("NOT_AVAILABLE", 0),
    ("PERIODICAL_REPORT_STRONGEST_CELLS", 1),
    ("PERIODICAL_REPORT_STRONGEST_CELLS_FOR_SON", 2),
    ("PERIODICAL_REPORT_CGI", 3),
    ("INTRA_PERIODICAL_REPORT_STRONGEST_CELLS", 4),
    ("INTRA_PERIODICAL_REPORT_CGI", 5),
    ("EVENT_A1", 10),
    ("EVENT_A2", 11),
    ("EVENT_A3", 12),
    ("EVENT_A4", 13),
    ("EVENT_A5", 14),
    ("EVENT_A6", 15),
    ("EVENT_B1", 20),
    ("EVENT_B2", 21),
    ("EVENT_C1", 30),
    ("EVENT_C2", 31),
    ("EVENT_W1", 40),
    ("EVENT_W2", 41),
    ("EVENT_W3", 42),
];

impl NumberOrName {
    fn number(&self, names: Names) -> Result<u8, Fault> {
        let known = names.iter().find(|(name, number)| match self {
            NumberOrName::Number(given) => given == number,
            NumberOrName::Name(given) => given == name,
        });
        known.map(|(_, number)| *number).ok_or_else(|| {
            let given = match self {
                NumberOrName::Number(number) => number.to_string(),
                NumberOrName::Name(name) => format!("`{name}`"),
            };
            let known: Vec<_> = names.iter().map(|(name, number)| format!("{name} ({number})")).collect();
            Fault::malformed("", format!("{given} is none of {}", known.join(", ")))
        })
    }
}

/// An identity of a UE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AssociateIdFilter")]
pub struct AssociateId {
    /// Its kind.
    r#type: NumberOrName,
    /// The identity.
    value: String,
}

impl AssociateId {
    fn identity(&self) -> Result<crate::identity::AssociateId, Fault> {
        let r#type = self.r#type.number(ASSOCIATE_ID_TYPES).map_err(|fault| fault.within("type"))?;
        AssociateIdBody { r#type, value: self.value.clone() }.identity()
    }
}

/// Links, of answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Link")]
pub struct Link {
    /// The URI of the resource itself.
    #[serde(rename = "self")]
    pub own: String,
}

/// Declares criteria: those that all types have, and those of the type.
macro_rules! filter {
    ($(#[$about:meta])* $name:ident { $($(#[$about_member:meta])* $member:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            /// The application instance: its subscriptions share a queue where the broker has one for each subscriber. It does not
            /// select events.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
            #[schemars(with = "ApplicationName")]
            app_ins_id: Option<ApplicationName>,
            /// UEs.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
            #[schemars(with = "OneOrMany<AssociateId>")]
            associate_id: Option<OneOrMany<AssociateId>>,
            /// The PLMN of the cells; without `cellId` all of its cells.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
            #[schemars(with = "Plmn")]
            plmn: Option<Plmn>,
            /// Identities of cells in hexadecimal digits. They need `plmn`.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
            #[schemars(with = "OneOrMany<String>")]
            cell_id: Option<OneOrMany<String>>,
            $(
                $(#[$about_member])*
                #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
                $member: Option<$type>,
            )*
        }

        impl OfApplication for $name {
            fn application(&self) -> Option<&str> {
                self.app_ins_id.as_ref()?.text()
            }
        }

        impl $name {
            /// The criteria that all types have.
            fn of_cells_and_ues(&self, topic: Topic) -> Result<Criteria, Fault> {
                let given = OneOrMany::values(&self.cell_id);
                let ues = list("associateId", OneOrMany::values(&self.associate_id), AssociateId::identity)?;
                let Some(plmn) = &self.plmn else {
                    if given.is_empty() {
                        return Ok(Criteria { ues, ..Criteria::all(topic) });
                    }
                    return Err(Fault::malformed("cellId", "a cell identity needs the member plmn"));
                };
                let cells = list("cellId", given, |digits| {
                    cell(plmn, digits).map_err(|fault| Fault { at: String::new(), ..fault })
                })?;
                let identity = plmn.identity().ok_or_else(|| {
                    Fault::malformed("plmn", format!("mcc `{}` and mnc `{}` are not three, and two or three digits", plmn.mcc, plmn.mnc))
                })?;
                let plmn = cells.is_empty().then_some(identity);
                Ok(Criteria { ues, cells, plmn, ..Criteria::all(topic) })
            }
        }
    };
}

filter! {
    /// Criteria of timing advances and of changes of secondary cells.
    FilterCriteriaAssoc {}
}
filter! {
    /// Criteria of bearers.
    FilterCriteriaAssocQci {
        /// The QCI; of NR the 5QI.
        #[schemars(with = "u8")]
        qci: u8,
    }
}
filter! {
    /// Criteria of cell changes.
    FilterCriteriaAssocHo {
        /// Status of handovers. Without it: completed ones.
        #[schemars(with = "OneOrMany<NumberOrName>")]
        ho_status: OneOrMany<NumberOrName>,
    }
}
filter! {
    /// Criteria of measurement reports.
    FilterCriteriaAssocTri {
        /// Reasons of reports.
        #[schemars(with = "OneOrMany<NumberOrName>")]
        trigger: OneOrMany<NumberOrName>,
    }
}
filter! {
    /// Criteria of bearers towards the core.
    S1BearerSubscriptionCriteria {
        /// Bearers.
        #[schemars(with = "OneOrMany<u8>")]
        erab_id: OneOrMany<u8>,
    }
}

/// What names an application instance.
pub trait OfApplication {
    /// The application instance, if there is one.
    fn application(&self) -> Option<&str>;
}

/// Criteria of a type.
pub trait Filter: OfApplication {
    /// Which events they are met by.
    ///
    /// # Errors
    /// If a criterion is malformed, or beyond a limit.
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault>;

    /// Writes the defaults of absent criteria.
    fn complete(&mut self) {}
}

impl Filter for FilterCriteriaAssoc {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        self.of_cells_and_ues(topic)
    }
}

impl Filter for FilterCriteriaAssocQci {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        Ok(Criteria { qci: self.qci.map(qci).transpose()?, ..self.of_cells_and_ues(topic)? })
    }
}

impl Filter for FilterCriteriaAssocHo {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let status = |status: &NumberOrName| Ok(handover_status(HoStatus(status.number(HO_STATUS)?)));
        let handover_status = list("hoStatus", OneOrMany::values(&self.ho_status), status)?;
        Ok(Criteria { handover_status, ..self.of_cells_and_ues(topic)? })
    }

    fn complete(&mut self) {
        if OneOrMany::values(&self.ho_status).is_empty() {
            self.ho_status = Some(OneOrMany::One(NumberOrName::Number(HandoverStatus::Completed as u8)));
        }
    }
}

impl Filter for FilterCriteriaAssocTri {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let triggers = list("trigger", OneOrMany::values(&self.trigger), |trigger| trigger.number(TRIGGERS))?;
        Ok(Criteria { triggers, ..self.of_cells_and_ues(topic)? })
    }
}

impl Filter for S1BearerSubscriptionCriteria {
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let erab_ids = list("erabId", OneOrMany::values(&self.erab_id), |id| Ok(*id))?;
        Ok(Criteria { erab_ids, ..self.of_cells_and_ues(topic)? })
    }
}

/// A subscription of a type whose criteria are in `filterCriteria`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, bound(deserialize = "F: Deserialize<'de>"))]
#[schemars(rename = "SubscriptionBy{F}")]
pub struct Subscription<F> {
    /// Where notifications go: `http://HOST:PORT/PATH`.
    callback_reference: String,
    /// Links, of answers.
    #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "Link")]
    links: Option<Link>,
    /// The criteria.
    // the protobuf description has the names of v2
    #[serde(
        alias = "filterCriteriaAssocHo",
        alias = "filterCriteriaAssocTri",
        alias = "filterCriteriaAssocQci",
        alias = "filterCriteriaAssoc",
        deserialize_with = "rest::object"
    )]
    filter_criteria: F,
    /// When the subscription ends.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "TimeStamp")]
    expiry_deadline: Option<TimeStamp>,
}

/// A subscription to bearers towards the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct S1BearerSubscription {
    /// Where notifications go: `http://HOST:PORT/PATH`.
    callback_reference: String,
    /// Links, of answers.
    #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "Link")]
    links: Option<Link>,
    /// The events. Without it: all.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "OneOrMany<NumberOrName>")]
    event_type: Option<OneOrMany<NumberOrName>>,
    /// The criteria.
    #[serde(alias = "S1BearerSubscriptionCriteria", deserialize_with = "rest::object")]
    s1_bearer_subscription_criteria: S1BearerSubscriptionCriteria,
    /// When the subscription ends.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "TimeStamp")]
    expiry_deadline: Option<TimeStamp>,
}

/// A body of v1.1.1.
pub trait Body: OfApplication + DeserializeOwned + Serialize + JsonSchema + 'static {
    /// Callback, links and deadline.
    fn common(&mut self) -> (&String, &mut Option<Link>, &mut Option<TimeStamp>);

    /// Which events it is for.
    ///
    /// # Errors
    /// If a criterion is malformed, or beyond a limit.
    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault>;

    /// Writes the defaults of absent criteria.
    fn complete(&mut self);
}

impl<F: Filter> OfApplication for Subscription<F> {
    fn application(&self) -> Option<&str> {
        self.filter_criteria.application()
    }
}

impl OfApplication for S1BearerSubscription {
    fn application(&self) -> Option<&str> {
        self.s1_bearer_subscription_criteria.application()
    }
}

impl<F: Filter + DeserializeOwned + Serialize + JsonSchema + 'static> Body for Subscription<F> {
    fn common(&mut self) -> (&String, &mut Option<Link>, &mut Option<TimeStamp>) {
        (&self.callback_reference, &mut self.links, &mut self.expiry_deadline)
    }

    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        self.filter_criteria.criteria(topic).map_err(|fault| fault.within("filterCriteria"))
    }

    fn complete(&mut self) {
        self.filter_criteria.complete();
    }
}

impl Body for S1BearerSubscription {
    fn common(&mut self) -> (&String, &mut Option<Link>, &mut Option<TimeStamp>) {
        (&self.callback_reference, &mut self.links, &mut self.expiry_deadline)
    }

    fn criteria(&self, topic: Topic) -> Result<Criteria, Fault> {
        let event = |event: &NumberOrName| Ok(bearer_event(S1EventType(event.number(EVENT_TYPES)?)));
        let bearer_events = list("eventType", OneOrMany::values(&self.event_type), event)?;
        let criteria = self.s1_bearer_subscription_criteria.criteria(topic);
        let criteria = criteria.map_err(|fault| fault.within("s1BearerSubscriptionCriteria"))?;
        Ok(Criteria { bearer_events, ..criteria })
    }

    fn complete(&mut self) {}
}

/// The name of a type in the bodies of v1.1.1, which `Form` needs as a constant of a type.
pub trait Name: 'static {
    /// The name.
    const NAME: &'static str;
}

/// A body as it is, or in an object with one member, the name of its type.
#[derive(Debug)]
pub struct Form<N, T> {
    /// The body.
    pub body: T,
    /// It is in an object.
    pub is_wrapped: bool,
    name: std::marker::PhantomData<N>,
}

impl<N: Name, T: Body> Form<N, T> {
    /// Reads it from a request.
    ///
    /// # Errors
    /// 415 if the content type is not JSON, 422 if the body is not of the type.
    pub fn read(request: &Request) -> Result<Self, Problem> {
        let members: BTreeMap<String, IgnoredAny> = request.json()?;
        let is_wrapped = members.contains_key(N::NAME);
        let name = std::marker::PhantomData;
        if !is_wrapped {
            return Ok(Form { body: request.json()?, is_wrapped, name });
        }
        if let Some(other) = members.keys().find(|member| *member != N::NAME) {
            let reason = format!("{other}: unknown member beside `{}`", N::NAME);
            return Err(Problem::unprocessable(reason).with("at", other.as_str()));
        }
        // the path of a mistake begins with the name
        let mut wrapped: BTreeMap<String, T> = request.json()?;
        let body = wrapped.remove(N::NAME);
        let body = body.ok_or_else(|| Problem::unprocessable(format!("{}: missing", N::NAME)))?;
        Ok(Form { body, is_wrapped, name })
    }

    /// The document of an answer.
    pub fn document(&self) -> Value {
        if self.is_wrapped { json!({ N::NAME: self.body }) } else { json!(self.body) }
    }
}

impl<N: Name, T: Body> JsonSchema for Form<N, T> {
    fn schema_name() -> Cow<'static, str> {
        N::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let body = generator.subschema_for::<T>();
        json_schema!({ "oneOf": [
            body,
            { "type": "object", "properties": { N::NAME: body }, "required": [N::NAME], "additionalProperties": false },
        ] })
    }
}
