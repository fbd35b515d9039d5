//! The REST interface: `/rni/v2` of MEC 012 v2.2.1, `/rni/v1` of v1.1.1, and `/rnis/v1`, which is ours.

pub(crate) mod channel;
mod deliveries;
mod directory;
mod live;
mod queries;
mod query;
pub(crate) mod refusals;
mod subscriptions;
mod tenancy;
mod v1;
mod words;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use rest::openapi::Api;
use rest::{
    OAuth2, Operation, Parameter, Problem, Request, RequestQueue, Response, Role, Route, StatusCode, request_queue,
};

use crate::delivery::websocket_route;
use crate::directory::Directory;
use crate::matcher::Key;
use crate::model::Fault;
use crate::service::{Service, SubscriptionError};
use crate::subscriptions::{Subscription, Version};

const SUBSCRIPTION: Parameter = Parameter::of::<u64>("subscriptionId", "The id of the subscription.");

/// Applications create subscriptions of their own: they need the role that reading needs.
const ROLE: Role = Role::Read;

/// The application that sends requests, as long as there are no tenants.
pub(crate) const OWNER: &str = "anonymous";

const QUERIES: (&str, &str) = ("queries", "The latest state of cells, UEs and bearers.");
const SUBSCRIPTIONS: (&str, &str) = ("subscriptions", "Subscriptions to notifications of events.");

/// What holds for both versions.
const COMMON: &str = "Cells of NR are in `cellId` with nine hexadecimal digits, those of E-UTRA with seven. Unknown members and \
                      parameters are refused: a criterion with a misspelt name would otherwise match everything.";

/// The description of `/rni/v2`.
const V2: Api = Api {
    title: "Radio Network Information API, v2",
    summary: "ETSI MEC 012 v2.2.1, of ferric.",
    description: COMMON,
    tags: &[
        QUERIES,
        SUBSCRIPTIONS,
        ("delivery", "The delivery of notifications; not of MEC 012."),
        ("directory", "The identities of UEs; not of MEC 012."),
    ],
};

/// The description of `/rni/v1`.
const V1: Api = Api {
    title: "Radio Network Information API, v1",
    summary: "ETSI MEC 012 v1.1.1, of ferric.",
    description: COMMON,
    tags: &[QUERIES, SUBSCRIPTIONS],
};

/// Settings of the interface.
#[derive(Clone, Debug, Default)]
pub struct ApiConfig {
    /// The root of links to subscriptions: `https://mec.example:8092`. Without it they have the host that a request names, by
    /// `http`, and a request without a host is answered with paths.
    pub root: Option<String>,
    /// The identities of UEs, if they may be changed at the interface.
    pub directory: Option<Arc<Directory>>,
    /// Links without a root are of `https`.
    pub is_secured: bool,
    /// How clients of tenants get the tokens that the routes take; `None` without tenants.
    pub oauth2: Option<OAuth2>,
}

/// The routes of a service. Subscriptions are changed by a thread of their own, which ends when the routes are dropped.
///
/// # Errors
/// If the system refuses the thread.
pub fn routes(service: &Arc<Service>, config: &ApiConfig) -> io::Result<Vec<Route>> {
    let context = Context::new(service, config)?;
    // each of these routes shows a tenant its own only
    let for_tenants = |routes: Vec<Route>| match &config.oauth2 {
        Some(oauth2) => routes.into_iter().map(|route| route.takes_oauth2(oauth2)).collect(),
        None => routes,
    };
    let mut v2 = queries::routes(&context);
    v2.extend(subscriptions::routes(&context));
    v2.extend(deliveries::routes(&context));
    v2.push(websocket_route(service));
    let mut v2 = for_tenants(v2);
    if let Some(directory) = &config.directory {
        v2.extend(directory::routes(directory)?);
    }
    v2.extend(live::routes(&context)?);
    v2.extend(for_tenants(vec![V2.route("/rni/v2/openapi.json", &v2)]));
    let mut v1 = for_tenants(v1::routes(&context));
    v1.extend(for_tenants(vec![V1.route("/rni/v1/openapi.json", &v1)]));
    v2.extend(v1);
    v2.extend(live::page());
    Ok(v2)
}

/// A change of subscriptions.
type Change = Box<dyn FnOnce() -> Result<Response, Problem> + Send>;

/// Starts the thread that changes subscriptions: a broker may be slow, and meanwhile REST answers everything else. It makes one change
/// after the other, and ends with the last sender.
fn start_changes() -> io::Result<RequestQueue<Change>> {
    let (wake, woken) = channel();
    let (queue, changes) = request_queue::<Change>(move || {
        // the thread ends after this sender
        let _ = wake.send(());
    });
    thread::Builder::new().name("subscriptions".into()).spawn(move || {
        while woken.recv().is_ok() {
            while let Some((change, reply)) = changes.try_next() {
                // a client that was answered with 504 does not expect a subscription any more
                if !reply.is_closed() {
                    reply.send(change());
                }
            }
        }
    })?;
    Ok(queue)
}

/// What routes need.
#[derive(Clone, Debug)]
struct Context {
    service: Arc<Service>,
    root: Option<Arc<str>>,
    scheme: &'static str,
    changes: RequestQueue<Change>,
}

impl Context {
    fn new(service: &Arc<Service>, config: &ApiConfig) -> io::Result<Self> {
        let (root, scheme) = (config.root.as_deref().map(Into::into), if config.is_secured { "https" } else { "http" });
        Ok(Context { service: Arc::clone(service), root, scheme, changes: start_changes()? })
    }

    /// A route that changes subscriptions.
    fn change(
        &self,
        operation: Operation,
        answer: impl Fn(&Context, &Request) -> Result<Response, Problem> + Clone + Send + 'static,
    ) -> Route {
        let context = self.clone();
        Route::queued(operation, &self.changes, move |request| {
            let (context, request, answer) = (context.clone(), request.clone(), answer.clone());
            let change: Change = Box::new(move || {
                context.service.catch_up()?;
                answer(&context, &request)
            });
            Ok(change)
        })
    }

    /// The URI of a path.
    fn uri(&self, request: &Request, path: &str) -> String {
        if let Some(root) = &self.root {
            return format!("{}{path}", root.trim_end_matches('/'));
        }
        let host = request.headers.get(rest::header::HOST).and_then(|host| host.to_str().ok());
        host.map_or_else(|| path.to_owned(), |host| format!("{}://{host}{path}", self.scheme))
    }

    /// The subscription that a request names: of its sender, and of a version.
    fn subscription(&self, request: &Request, version: Version) -> Result<(Key, Arc<Subscription>), Problem> {
        let key = Key(request.number(0, "subscription")?);
        let found =
            self.service.subscription(key).filter(|it| *it.owner == *tenancy::owner(request) && it.version == version);
        Ok((key, found.ok_or_else(|| no_subscription(key))?))
    }
}

fn no_subscription(key: Key) -> Problem {
    Problem::not_found(format!("there is no subscription `{}`; it may have expired", key.0))
}

/// A body that is not of its type is malformed by MEC 009 (400); 422 is for what is understood and cannot be done.
fn malformed(problem: Problem) -> Problem {
    if problem.status() == StatusCode::UNPROCESSABLE_ENTITY {
        problem.with_status(StatusCode::BAD_REQUEST)
    } else {
        problem
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let Fault { at, reason, is_understood } = fault;
        let status = if is_understood { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST };
        Problem::new(status, format!("{at}: {reason}")).with("at", at)
    }
}

impl From<SubscriptionError> for Problem {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::NoTenant => tenancy::removed(),
            SubscriptionError::OwnerLimit(_) => Problem::new(StatusCode::FORBIDDEN, error.to_string()),
            SubscriptionError::Changed => Problem::new(StatusCode::PRECONDITION_FAILED, error.to_string()),
            SubscriptionError::Broker(_) | SubscriptionError::TotalLimit(_) => Problem::unavailable(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Embedded;
    use crate::delivery::{Delivery, DeliveryConfig};

    #[test]
    fn routes_are_declared_without_a_fault() {
        let delivery = Delivery::start(DeliveryConfig::default()).unwrap();
        let service = Service::new(delivery, |sink| Ok::<_, ()>(Box::new(Embedded::new(sink)) as _)).unwrap();
        let service = Arc::new(service);
        let context = Context::new(&service, &ApiConfig::default()).unwrap();
        let mut v2 = queries::routes(&context);
        v2.extend(subscriptions::routes(&context));
        v2.extend(deliveries::routes(&context));
        v2.extend(directory::routes(&Arc::default()).unwrap());
        v2.push(websocket_route(&service));
        v2.extend(live::routes(&context).unwrap());
        assert_eq!(V2.faults(&v2), Vec::<String>::new());
        assert_eq!(V1.faults(&v1::routes(&context)), Vec::<String>::new());
    }
}
