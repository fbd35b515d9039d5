//! Notifications of the availability of services (MEC 011 8.1.3.2, 8.1.4.2): an application subscribes to services that come, change and go.
//!
//! They are delivered like notifications of radio events: in order, from a bounded queue for each subscription, with repetitions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rest::{Operation, Problem, Request, Response, Route, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::SERVICE_MANAGEMENT;
use super::embedded::{APPLICATION, application};
use super::service_info::{CategoryRef, LinkType, ServiceInfo, ServiceLinks, ServiceState};
use crate::api::{OWNER, channel};
use crate::delivery::{Notification, Target};
use crate::matcher::Key;
use crate::model::{Fault, TimeStamp};
use crate::service::Service;

/// The most subscriptions.
const MAX_SUBSCRIPTIONS: usize = 1024;
/// The most subscriptions of an application.
const MAX_OF_APPLICATION: usize = 16;
/// The most values of a criterion.
const MAX_LIST: usize = 32;
/// The first key at the delivery: those of radio events do not reach it.
const FIRST_KEY: u64 = 1 << 63;
const TYPE: &str = "SerAvailabilityNotificationSubscription";
const SUBSCRIPTION: rest::Parameter = rest::Parameter::of::<u64>("subscriptionId", "The id of the subscription.");

/// A subscription to the availability of services (MEC 011 8.1.3.2).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SerAvailabilityNotificationSubscription {
    /// `SerAvailabilityNotificationSubscription`.
    subscription_type: String,
    /// Where notifications go: `http://HOST:PORT/PATH`.
    callback_reference: String,
    /// Links; the platform adds them.
    #[serde(rename = "_links", default, skip_serializing_if = "Option::is_none")]
    links: Option<ServiceLinks>,
    /// Which services; without it all.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "FilteringCriteria")]
    filtering_criteria: Option<FilteringCriteria>,
}

/// Which services: at most one of the first three, combined with the others by "and".
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FilteringCriteria {
    /// Ids of services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ser_instance_ids: Vec<String>,
    /// Names of services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ser_names: Vec<String>,
    /// Categories of services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ser_categories: Vec<CategoryRef>,
    /// States after the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    states: Vec<ServiceState>,
    /// Whether the service is of this host.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "rest::not_null")]
    #[schemars(with = "bool")]
    is_local: Option<bool>,
}

/// The subscriptions of an application (MEC 011 6.2.2).
#[derive(Serialize, JsonSchema)]
struct SubscriptionLinkList {
    /// Links.
    #[serde(rename = "_links")]
    links: SubscriptionLinks,
}

#[derive(Serialize, JsonSchema)]
struct SubscriptionLinks {
    /// This list.
    #[serde(rename = "self")]
    own: LinkType,
    /// The subscriptions.
    subscriptions: Vec<SubscriptionLink>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SubscriptionLink {
    /// The path of the subscription.
    href: String,
    /// `SerAvailabilityNotificationSubscription`.
    subscription_type: &'static str,
}

/// What happens to a service (MEC 011 8.1.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeType {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Only its state has changed.
    StateChanged,
    /// More than its state has changed.
    AttributesChanged,
}

impl ChangeType {
    /// What a change of a service is; `None` if nothing has changed.
    pub fn between(before: &ServiceInfo, after: &ServiceInfo) -> Option<Self> {
        let same_state = ServiceInfo { state: after.state, ..before.clone() };
        match (before == after, same_state == *after) {
            (true, _) => None,
            (false, true) => Some(ChangeType::StateChanged),
            (false, false) => Some(ChangeType::AttributesChanged),
        }
    }
}

/// The subscriptions, and the delivery of their notifications.
#[derive(Debug)]
pub struct Availability {
    service: Arc<Service>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    subscriptions: BTreeMap<u64, Entry>,
    last_id: u64,
}

#[derive(Debug)]
struct Entry {
    application: String,
    body: SerAvailabilityNotificationSubscription,
}

impl Availability {
    /// No subscriptions yet. Callbacks are those that the service allows, and its delivery calls them.
    pub fn new(service: &Arc<Service>) -> Self {
        Availability { service: Arc::clone(service), table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies those whose criteria a service meets.
    pub fn notify(&self, info: &ServiceInfo, change: ChangeType) {
        let table = self.table();
        let matching = table.subscriptions.iter().filter(|(_, entry)| entry.body.is_met_by(info));
        let keys: Vec<Key> = matching.map(|(id, _)| Key(FIRST_KEY + id)).collect();
        if keys.is_empty() {
            return;
        }
        let link = info.links.as_ref().filter(|_| change != ChangeType::Removed).map(|links| &links.own);
        let mut reference = json!({
            "serName": info.ser_name, "serInstanceId": info.ser_instance_id, "state": info.state, "changeType": change,
        });
        if let Some(link) = link {
            reference["link"] = json!(link);
        }
        let mut body =
            json!({"notificationType": "SerAvailabilityNotification", "serviceReferences": [reference]}).to_string();
        // the tail of each target adds the link to its subscription
        body.pop();
        let received_ns = TimeStamp::now().to_nanos();
        let notification =
            Notification { body: body.into(), received_ns, acknowledgement: None, is_redelivered: false };
        // with the lock: notifications are queued in the order of the changes
        self.service.delivery().send(&keys, &notification);
    }

    /// Ends the subscriptions of an application.
    pub fn end(&self, application: &str) {
        let mut table = self.table();
        table.subscriptions.retain(|id, entry| {
            let remains = entry.application != application;
            if !remains {
                self.service.delivery().remove(Key(FIRST_KEY + id));
            }
            remains
        });
    }

    fn create(&self, request: &Request) -> Result<Response, Problem> {
        let application = application(request)?.to_owned();
        let mut body: SerAvailabilityNotificationSubscription = request.json()?;
        body.check()?;
        let target = channel::check(&self.service, OWNER, &body.callback_reference)?;
        let mut table = self.table();
        let of_application = table.subscriptions.values().filter(|entry| entry.application == application).count();
        if table.subscriptions.len() >= MAX_SUBSCRIPTIONS || of_application >= MAX_OF_APPLICATION {
            let limits = format!("{MAX_OF_APPLICATION} of an application, {MAX_SUBSCRIPTIONS} altogether");
            let detail = format!("there are as many subscriptions as allowed: {limits}");
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        table.last_id += 1;
        let id = table.last_id;
        let href = format!("{SERVICE_MANAGEMENT}/applications/{application}/subscriptions/{id}");
        let target: Target = channel::with_links(target, &json!({"subscription": {"href": href}}));
        body.links = Some(ServiceLinks { own: LinkType { href: href.clone() } });
        self.service.delivery().insert(Key(FIRST_KEY + id), target);
        table.subscriptions.insert(id, Entry { application, body: body.clone() });
        Ok(Response::created(&href, body))
    }

    fn list(&self, request: &Request) -> Response {
        let application = request.parameter(0);
        let table = self.table();
        let of_application = table.subscriptions.values().filter(|entry| entry.application == application);
        let links = of_application.filter_map(|entry| entry.body.links.as_ref());
        let subscriptions =
            links.map(|links| SubscriptionLink { href: links.own.href.clone(), subscription_type: TYPE }).collect();
        let own = LinkType { href: format!("{SERVICE_MANAGEMENT}/applications/{application}/subscriptions") };
        Response::ok(SubscriptionLinkList { links: SubscriptionLinks { own, subscriptions } })
    }

    fn read(&self, request: &Request) -> Result<Response, Problem> {
        let id: u64 = request.number(1, "subscription")?;
        let table = self.table();
        let entry = table.subscriptions.get(&id).filter(|entry| entry.application == request.parameter(0));
        Ok(Response::ok(entry.ok_or_else(|| no_subscription(id))?.body.clone()))
    }

    fn delete(&self, request: &Request) -> Result<Response, Problem> {
        let id: u64 = request.number(1, "subscription")?;
        let mut table = self.table();
        if table.subscriptions.get(&id).is_none_or(|entry| entry.application != request.parameter(0)) {
            return Err(no_subscription(id));
        }
        table.subscriptions.remove(&id);
        self.service.delivery().remove(Key(FIRST_KEY + id));
        Ok(Response::no_content())
    }

    /// The routes.
    pub fn routes(self: &Arc<Self>) -> Vec<Route> {
        let route = |operation: Operation, answer: fn(&Self, &Request) -> Result<Response, Problem>| {
            let availability = Arc::clone(self);
            Route::new(operation.tag("MEC platform"), move |request| answer(&availability, request))
        };
        let list = "/mec_service_mgmt/v1/applications/{appInstanceId}/subscriptions";
        let one = "/mec_service_mgmt/v1/applications/{appInstanceId}/subscriptions/{subscriptionId}";
        vec![
            route(
                Operation::get(list, "ApplicationsSubscriptionsGET", "Subscriptions of an application")
                    .path(&[APPLICATION])
                    .returns::<SubscriptionLinkList>("Links."),
                |availability, request| Ok(availability.list(request)),
            ),
            route(
                Operation::post(list, "ApplicationsSubscriptionsPOST", "Subscribe to the availability of services")
                    .path(&[APPLICATION])
                    .takes::<SerAvailabilityNotificationSubscription>()
                    .creates::<SerAvailabilityNotificationSubscription>("The subscription.")
                    .refuses(StatusCode::FORBIDDEN, "There are as many subscriptions as allowed."),
                Self::create,
            ),
            route(
                Operation::get(one, "ApplicationsSubscriptionGET", "A subscription")
                    .path(&[APPLICATION, SUBSCRIPTION])
                    .returns::<SerAvailabilityNotificationSubscription>("The subscription."),
                Self::read,
            ),
            route(
                Operation::delete(one, "ApplicationsSubscriptionDELETE", "End a subscription")
                    .path(&[APPLICATION, SUBSCRIPTION])
                    .empties(),
                Self::delete,
            ),
        ]
    }
}

impl SerAvailabilityNotificationSubscription {
    fn check(&self) -> Result<(), Fault> {
        if self.subscription_type != TYPE {
            let reason = format!("`{}` is not {TYPE}", self.subscription_type);
            return Err(Fault::malformed("subscriptionType", reason));
        }
        let Some(criteria) = &self.filtering_criteria else { return Ok(()) };
        let FilteringCriteria { ser_instance_ids, ser_names, ser_categories, states, .. } = criteria;
        let lists = [
            ("serInstanceIds", ser_instance_ids.len()),
            ("serNames", ser_names.len()),
            ("serCategories", ser_categories.len()),
            ("states", states.len()),
        ];
        if let Some((name, length)) = lists.iter().find(|(_, length)| *length > MAX_LIST) {
            let reason = format!("a list has at most {MAX_LIST} values, and this one {length}");
            return Err(Fault::unsupported(format!("filteringCriteria.{name}"), reason));
        }
        let given: Vec<&str> = lists[..3].iter().filter(|(_, length)| *length > 0).map(|(name, _)| *name).collect();
        if let [first, second, ..] = &given[..] {
            let reason =
                format!("it excludes {first}: only one of serInstanceIds, serNames and serCategories may be there");
            return Err(Fault::malformed(format!("filteringCriteria.{second}"), reason));
        }
        Ok(())
    }

    fn is_met_by(&self, info: &ServiceInfo) -> bool {
        let Some(criteria) = &self.filtering_criteria else { return true };
        let FilteringCriteria { ser_instance_ids, ser_names, ser_categories, states, is_local } = criteria;
        let is_category = |category: &CategoryRef| {
            ser_categories.iter().any(|wanted| wanted.href == category.href && wanted.id == category.id)
        };
        (ser_instance_ids.is_empty() || info.ser_instance_id.as_ref().is_some_and(|id| ser_instance_ids.contains(id)))
            && (ser_names.is_empty() || ser_names.contains(&info.ser_name))
            && (ser_categories.is_empty() || info.ser_category.as_ref().is_some_and(is_category))
            && (states.is_empty() || states.contains(&info.state))
            && is_local.is_none_or(|wanted| info.is_local.unwrap_or(true) == wanted)
    }
}

fn no_subscription(id: u64) -> Problem {
    Problem::not_found(format!("there is no subscription `{id}` of this application"))
}
