//! `/rni/v2/subscriptions` (MEC 012 7.6 and 7.7).

use std::sync::Arc;

use rest::{EntityTag, Operation, Parameter, Problem, Request, Response, Route};
use serde_json::json;

use super::refusals::Kind;
use super::{Context, ROLE, SUBSCRIPTION, channel, malformed, no_subscription, tenancy};
use crate::criteria::Criteria;
use crate::delivery::Target;
use crate::matcher::Key;
use crate::model::subscription::{SubscriptionLink, SubscriptionLinkList, SubscriptionLinks, WORDS};
use crate::model::{Fault, InlineSubscription, Link, Links, TimeStamp};
use crate::service::{NewSubscription, Service};
use crate::subscriptions::{Subscription, Version};

const PATH: &str = "/rni/v2/subscriptions";

const TYPE: Parameter = Parameter::choice("subscription_type", "Only subscriptions of this type.", WORDS);

/// The routes.
pub fn routes(context: &Context) -> Vec<Route> {
    let of = |operation: Operation, kind: Kind| kind.of(operation.tag("subscriptions").role(ROLE));
    let list = {
        let context = context.clone();
        let operation = Operation::get(PATH, "SubscriptionsGET", "The subscriptions of the application").query(&[TYPE]);
        let operation = operation.returns::<SubscriptionLinkList>("Links; without `subscription` if there is none.");
        Route::new(of(operation, Kind::List), move |request| Ok(list(&context, request)))
    };
    let creation = {
        let operation = Operation::post(PATH, "SubscriptionsPOST", "Subscribe")
            .takes::<InlineSubscription>()
            .example(json!({
                "subscriptionType": "CellChangeSubscription",
                "callbackReference": "http://127.0.0.1:9000/cell-change",
                "filterCriteriaAssocHo": {},
            }))
            .creates::<InlineSubscription>("The subscription, with defaults and links.");
        context.change(of(operation, Kind::Creation), create)
    };
    let path = "/rni/v2/subscriptions/{subscriptionId}";
    let read = {
        let context = context.clone();
        let operation = Operation::get(path, "SubscriptionsGETSubscriptionid", "A subscription").path(&[SUBSCRIPTION]);
        let operation = operation.returns::<InlineSubscription>("The subscription, with an ETag.");
        Route::new(of(operation, Kind::Representation), move |request| {
            let (_, subscription) = context.subscription(request, Version::V2)?;
            Ok(document(&subscription))
        })
    };
    let replacement = {
        let operation = Operation::put(path, "SubscriptionsPUTSubscriptionid", "Change or renew a subscription")
            .path(&[SUBSCRIPTION])
            .takes::<InlineSubscription>()
            .returns::<InlineSubscription>("The subscription, with an ETag.");
        context.change(of(operation, Kind::Replacement), update)
    };
    let deletion = {
        let operation = Operation::delete(path, "SubscriptionsDELETESubscriptionid", "End a subscription")
            .path(&[SUBSCRIPTION])
            .empties();
        let operation = of(operation, Kind::Deletion);
        context.change(operation, |context, request| delete(context, request, Version::V2))
    };
    vec![list, creation, read, replacement, deletion]
}

fn list(context: &Context, request: &Request) -> Response {
    let word = request.query("subscription_type");
    let found = context.service.find(|it| {
        *it.owner == *tenancy::owner(request)
            && it.version == Version::V2
            && word.is_none_or(|word| it.criteria.topic.word() == word)
    });
    let subscription = found.iter().map(|(_, it)| link(it)).collect();
    let own = Link { href: context.uri(request, PATH) };
    Response::ok(SubscriptionLinkList { links: SubscriptionLinks { own, subscription } })
}

/// The link to a subscription.
pub fn link(subscription: &Subscription) -> SubscriptionLink {
    SubscriptionLink {
        href: subscription.href.to_string(),
        subscription_type: subscription.criteria.topic.type_name().to_owned(),
    }
}

/// The representation of a subscription, with its entity tag.
pub fn document(subscription: &Subscription) -> Response {
    Response::text("application/json", subscription.document.to_string()).tagged()
}

/// The deadline that a request gets: the one that it asks for, at most the longest lifetime from now.
pub fn grant(service: &Service, asked: Option<TimeStamp>) -> Result<Option<TimeStamp>, Fault> {
    let Some(asked) = asked else { return Ok(None) };
    if asked.nano_seconds > 999_999_999 {
        return Err(Fault::malformed("expiryDeadline.nanoSeconds", "a second has 1000000000 nanoseconds"));
    }
    let longest = service.limits().max_lifetime;
    match asked.remaining() {
        None => Err(Fault::unsupported("expiryDeadline", "the time has passed")),
        Some(remaining) if remaining > longest => Ok(Some(TimeStamp::after(longest))),
        Some(_) => Ok(Some(asked)),
    }
}

/// A body that can become a subscription.
struct Accepted {
    body: InlineSubscription,
    criteria: Criteria,
    target: Target,
}

/// Checks a body, and completes it.
fn accept(service: &Service, owner: &str, mut body: InlineSubscription) -> Result<Accepted, Fault> {
    body.complete();
    let criteria = body.criteria()?;
    let common = body.common();
    let target = channel::choose(service, owner, common.callback_reference, common.websock_notif_config)?;
    *common.expiry_deadline = grant(service, *common.expiry_deadline)?;
    Ok(Accepted { body, criteria, target })
}

impl Accepted {
    /// The subscription of a number at a URI.
    fn at(self, owner: &str, key: Key, href: String) -> NewSubscription {
        let Accepted { mut body, criteria, target } = self;
        let target = channel::with_links(target, &json!({ "subscription": { "href": href } }));
        let common = body.common();
        *common.websock_notif_config = channel::websocket_config(&target, key, &href);
        *common.links = Some(Links { own: Link { href: href.clone() } });
        let (deadline, is_tested) = (*common.expiry_deadline, *common.request_test_notification == Some(true));
        let subscriber = tenancy::subscriber(owner, body.application());
        let (owner, version, document) = (owner.into(), Version::V2, text_of(&body));
        let subscription = Subscription { owner, subscriber, version, href: href.into(), criteria, deadline, document };
        NewSubscription { subscription, target, is_tested }
    }
}

/// JSON of a body, as a line.
pub fn text_of(body: &impl serde::Serialize) -> Arc<str> {
    let text = serde_json::to_string(body);
    let text = text.unwrap_or_else(|error| panic!("bodies are structs of numbers and texts: {error}"));
    format!("{text}\n").into()
}

fn create(context: &Context, request: &Request) -> Result<Response, Problem> {
    let body = InlineSubscription::read(request).map_err(malformed)?;
    let owner = tenancy::owner(request);
    let accepted = accept(&context.service, owner, body)?;
    tenancy::check_criteria(&context.service, request, &accepted.criteria, Version::V2, None)?;
    let uri = |key: Key| context.uri(request, &format!("{PATH}/{}", key.0));
    let (_, subscription) = context.service.subscribe(|key| accepted.at(owner, key, uri(key)))?;
    Ok(document(&subscription).created_at(&subscription.href))
}

/// Checks that the client knows the representation that it is about to replace or to remove.
pub fn check_if_match(request: &Request, subscription: &Subscription) -> Result<(), Problem> {
    request.check_if_match(&EntityTag::of(subscription.document.as_bytes()))
}

/// Checks that the links of a body, if it has some, name the subscription that it replaces.
pub fn check_link(own: Option<&str>, key: Key) -> Result<(), Fault> {
    let names_it = |own: &str| own.trim_end_matches('/').rsplit('/').next() == Some(&*key.0.to_string());
    match own {
        Some(own) if !names_it(own) => {
            let reason = format!("`{own}` is not the subscription `{}` that the request names", key.0);
            Err(Fault::malformed("_links.self", reason))
        }
        _ => Ok(()),
    }
}

fn update(context: &Context, request: &Request) -> Result<Response, Problem> {
    let (key, subscription) = context.subscription(request, Version::V2)?;
    check_if_match(request, &subscription)?;
    let mut body = InlineSubscription::read(request).map_err(malformed)?;
    check_link(body.common().links.as_ref().map(|links| &*links.own.href), key)?;
    let owner = tenancy::owner(request);
    let accepted = accept(&context.service, owner, body)?;
    tenancy::check_criteria(&context.service, request, &accepted.criteria, Version::V2, None)?;
    let new = accepted.at(owner, key, subscription.href.to_string());
    if new.subscription.criteria.topic != subscription.criteria.topic {
        let known = subscription.criteria.topic.type_name();
        let reason = format!("a subscription keeps its type, and this one is a {known}; create another");
        return Err(Fault::unsupported("subscriptionType", reason).into());
    }
    replace(context, key, new, conditional(request, &subscription))
}

/// The subscription that a request wants to replace, if it names one.
pub fn conditional<'s>(request: &Request, subscription: &'s Subscription) -> Option<&'s Subscription> {
    let named = request.headers.get(rest::header::IF_MATCH)?;
    (named != "*").then_some(subscription)
}

/// Replaces a subscription, and answers with it.
pub fn replace(
    context: &Context,
    key: Key,
    new: NewSubscription,
    seen: Option<&Subscription>,
) -> Result<Response, Problem> {
    let response = document(&new.subscription);
    if context.service.change(key, new, seen)? { Ok(response) } else { Err(no_subscription(key)) }
}

/// Removes a subscription.
pub fn delete(context: &Context, request: &Request, version: Version) -> Result<Response, Problem> {
    let (key, subscription) = context.subscription(request, version)?;
    check_if_match(request, &subscription)?;
    if context.service.unsubscribe(key)? { Ok(Response::no_content()) } else { Err(no_subscription(key)) }
}
