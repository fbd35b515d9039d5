//! A small MEC platform: applications discover services, and register their own (MEC 011 8 and 7).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rest::{Operation, Parameter, Problem, Request, Response, Route, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SERVICE_MANAGEMENT;
use super::availability::{Availability, ChangeType};
use super::service_info::{LinkType, ServiceInfo, ServiceLinks, TransportInfo};
use crate::service::Service;

/// The most services.
const MAX_SERVICES: usize = 1024;
/// The most services of an application.
const MAX_OF_APPLICATION: usize = 16;
/// The longest id of an application, in octets.
const MAX_ID_OCTETS: usize = 128;

pub const APPLICATION: Parameter = Parameter::text("appInstanceId", "The application instance.");
const SERVICE: Parameter = Parameter::text("serviceId", "The service.");
/// The scopes of services (MEC 011 table 8.1.6-1).
const SCOPES: [&str; 6] = ["MEC_SYSTEM", "MEC_HOST", "NFVI_POP", "ZONE", "ZONE_GROUP", "NFVI_NODE"];
/// The parameters of a discovery.
const FILTERS: [Parameter; 6] = [
    Parameter::text("ser_instance_id", "Ids of services, with commas."),
    Parameter::text("ser_name", "Names of services, with commas."),
    Parameter::text("ser_category_id", "The id of a category."),
    Parameter::choice("scope_of_locality", "The scope.", &SCOPES),
    Parameter::choice("consumed_local_only", "Whether only applications of the scope may use it.", &["true", "false"]),
    Parameter::choice("is_local", "Whether it is in the scope of the application.", &["true", "false"]),
];

/// The services of a host.
#[derive(Debug, Default)]
pub struct EmbeddedPlatform {
    services: Mutex<BTreeMap<String, Entry>>,
    last_id: AtomicU64,
    availability: Option<Arc<Availability>>,
}

#[derive(Debug)]
struct Entry {
    /// The application that has registered it.
    application: String,
    info: ServiceInfo,
}

/// The time of the platform (MEC 011 7.1.2.5).
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CurrentTime {
    /// Seconds since 1970.
    seconds: u32,
    /// The rest.
    nano_seconds: u32,
    /// `NONTRACEABLE`: the platform does not know what the host's clock follows.
    time_source_status: &'static str,
}

/// An application is ready (MEC 011 7.1.2.9).
#[derive(Deserialize, JsonSchema)]
struct AppReadyConfirmation {
    /// `READY`.
    indication: String,
}

/// An application has ended (MEC 011 7.1.2.8).
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AppTerminationConfirmation {
    /// `STOPPING` or `TERMINATING`.
    operation_action: String,
}

impl EmbeddedPlatform {
    /// A platform that notifies applications of services, by the delivery of an RNIS.
    #[must_use]
    pub fn notifying(service: &Arc<Service>) -> Self {
        EmbeddedPlatform { availability: Some(Arc::new(Availability::new(service))), ..EmbeddedPlatform::default() }
    }

    /// Notifies applications of a service. The caller holds the lock of the services, so that the order is that of the changes.
    fn notify(&self, info: &ServiceInfo, change: ChangeType) {
        if let Some(availability) = &self.availability {
            availability.notify(info, change);
        }
    }

    fn services(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a service of an application. Returns it as the platform describes it.
    ///
    /// # Errors
    /// 400 if the id of the application is malformed; 403 if the application, or the platform, has its most services.
    pub fn register(&self, application: &str, info: ServiceInfo) -> Result<ServiceInfo, Problem> {
        check_id(application)?;
        let mut services = self.services();
        let of_application = services.values().filter(|entry| entry.application == application).count();
        if services.len() >= MAX_SERVICES || of_application >= MAX_OF_APPLICATION {
            let limits = format!("{MAX_OF_APPLICATION} services of an application, {MAX_SERVICES} altogether");
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                format!("there are as many services as allowed: {limits}"),
            ));
        }
        let id = format!("{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        let href = format!("{SERVICE_MANAGEMENT}/applications/{application}/services/{id}");
        let info = ServiceInfo {
            ser_instance_id: Some(id.clone()),
            is_local: Some(true),
            links: Some(ServiceLinks { own: LinkType { href } }),
            ..info
        };
        services.insert(id, Entry { application: application.to_owned(), info: info.clone() });
        self.notify(&info, ChangeType::Added);
        Ok(info)
    }

    fn list(&self, application: Option<&str>, request: &Request) -> Vec<ServiceInfo> {
        let is_listed = |name: &str, value: Option<&str>| {
            request.query(name).is_none_or(|list| list.split(',').any(|wanted| Some(wanted) == value))
        };
        let is_flag = |name: &str, value: bool| request.query(name).is_none_or(|wanted| wanted == value.to_string());
        let scope = request.query("scope_of_locality");
        let is_wanted = |info: &&ServiceInfo| {
            is_listed("ser_instance_id", info.ser_instance_id.as_deref())
                && is_listed("ser_name", Some(&info.ser_name))
                && is_listed("ser_category_id", info.ser_category.as_ref().map(|category| &*category.id))
                && scope.is_none_or(|wanted| {
                    info.scope_of_locality.and_then(|scope| serde_json::to_value(scope).ok()) == Some(wanted.into())
                })
                && is_flag("consumed_local_only", info.consumed_local_only.unwrap_or(false))
                && is_flag("is_local", info.is_local.unwrap_or(true))
        };
        let services = self.services();
        let of_application = services.values().filter(|entry| application.is_none_or(|id| entry.application == id));
        of_application.map(|entry| &entry.info).filter(is_wanted).cloned().collect()
    }

    /// A service by its id, and of an application if one is named.
    fn find(&self, application: Option<&str>, id: &str) -> Result<ServiceInfo, Problem> {
        let services = self.services();
        let entry = services.get(id).filter(|entry| application.is_none_or(|name| entry.application == name));
        entry.map(|entry| entry.info.clone()).ok_or_else(|| no_service(id))
    }

    fn replace(&self, application: &str, id: &str, request: &Request) -> Result<ServiceInfo, Problem> {
        let info = checked(request.json()?)?;
        let mut services = self.services();
        let entry = services.get_mut(id).filter(|entry| entry.application == application);
        let entry = entry.ok_or_else(|| no_service(id))?;
        request.check_if_match(&Response::tag_of(entry.info.clone()))?;
        if info.ser_instance_id.as_deref().is_some_and(|given| given != id) {
            let detail = "the platform assigns it, and it does not change";
            return Err(Problem::bad_request(format!("serInstanceId: {detail}")).with("at", "serInstanceId"));
        }
        let ServiceInfo { ser_instance_id, is_local, links, .. } = entry.info.clone();
        let info = ServiceInfo { ser_instance_id, is_local, links, ..info };
        let change = ChangeType::between(&entry.info, &info);
        entry.info = info.clone();
        if let Some(change) = change {
            self.notify(&info, change);
        }
        Ok(info)
    }

    fn remove(&self, application: &str, id: &str) -> Result<(), Problem> {
        let mut services = self.services();
        if services.get(id).is_none_or(|entry| entry.application != application) {
            return Err(no_service(id));
        }
        if let Some(entry) = services.remove(id) {
            self.notify(&entry.info, ChangeType::Removed);
        }
        Ok(())
    }

    /// Removes what belongs to an application that has ended.
    fn remove_application(&self, application: &str) {
        self.services().retain(|_, entry| {
            let remains = entry.application != application;
            if !remains {
                self.notify(&entry.info, ChangeType::Removed);
            }
            remains
        });
        if let Some(availability) = &self.availability {
            availability.end(application);
        }
    }

    /// The routes of both interfaces.
    #[must_use]
    pub fn routes(self: &Arc<Self>) -> Vec<Route> {
        let route = |operation: Operation, answer: fn(&Self, &Request) -> Result<Response, Problem>| {
            let platform = Arc::clone(self);
            Route::new(operation.tag("MEC platform"), move |request| answer(&platform, request))
        };
        let of_platform = vec![
            route(
                // it says where tokens are issued, so that it is read without one
                Operation::get("/mec_service_mgmt/v1/services", "ServicesGET", "Discover services")
                    .public()
                    .query(&FILTERS)
                    .returns::<Vec<ServiceInfo>>("The services that match."),
                |platform, request| Ok(Response::ok(platform.list(None, request))),
            ),
            route(
                Operation::get("/mec_service_mgmt/v1/services/{serviceId}", "ServicesServiceIdGET", "A service")
                    .public()
                    .path(&[SERVICE])
                    .returns::<ServiceInfo>("The service."),
                |platform, request| Ok(Response::ok(platform.find(None, request.parameter(0))?)),
            ),
            route(
                Operation::get("/mec_service_mgmt/v1/transports", "TransportsGET", "Transports of the platform")
                    .describe("The platform offers none of its own: each service brings its transport.")
                    .returns::<Vec<TransportInfo>>("None."),
                |_, _| Ok(Response::ok(Vec::<TransportInfo>::new())),
            ),
            route(
                Operation::get(
                    "/mec_service_mgmt/v1/applications/{appInstanceId}/services",
                    "AppServicesGET",
                    "Services of an application",
                )
                .path(&[APPLICATION])
                .query(&FILTERS)
                .returns::<Vec<ServiceInfo>>("The services that match."),
                |platform, request| Ok(Response::ok(platform.list(Some(request.parameter(0)), request))),
            ),
            route(
                Operation::post(
                    "/mec_service_mgmt/v1/applications/{appInstanceId}/services",
                    "AppServicesPOST",
                    "Register a service",
                )
                .path(&[APPLICATION])
                .takes::<ServiceInfo>()
                .creates::<ServiceInfo>("The service."),
                |platform, request| {
                    let info = checked(request.json()?)?;
                    let info = platform.register(application(request)?, info)?;
                    let location = info.links.as_ref().map_or(String::new(), |links| links.own.href.clone());
                    Ok(Response::created(&location, info))
                },
            ),
            route(
                Operation::get(
                    "/mec_service_mgmt/v1/applications/{appInstanceId}/services/{serviceId}",
                    "AppServicesServiceIdGET",
                    "A service of an application",
                )
                .path(&[APPLICATION, SERVICE])
                .returns::<ServiceInfo>("The service."),
                |platform, request| {
                    Ok(Response::ok(platform.find(Some(request.parameter(0)), request.parameter(1))?).tagged())
                },
            ),
            route(
                Operation::put(
                    "/mec_service_mgmt/v1/applications/{appInstanceId}/services/{serviceId}",
                    "AppServicesServiceIdPUT",
                    "Change a service",
                )
                .path(&[APPLICATION, SERVICE])
                .takes::<ServiceInfo>()
                .returns::<ServiceInfo>("The service."),
                |platform, request| {
                    let changed = platform.replace(request.parameter(0), request.parameter(1), request)?;
                    Ok(Response::ok(changed).tagged())
                },
            ),
            route(
                Operation::delete(
                    "/mec_service_mgmt/v1/applications/{appInstanceId}/services/{serviceId}",
                    "AppServicesServiceIdDELETE",
                    "Remove a service",
                )
                .path(&[APPLICATION, SERVICE])
                .empties(),
                |platform, request| {
                    platform.remove(request.parameter(0), request.parameter(1))?;
                    Ok(Response::no_content())
                },
            ),
            route(
                Operation::post(
                    "/mec_app_support/v1/applications/{appInstanceId}/confirm_ready",
                    "ApplicationsConfirmReadyPOST",
                    "An application is ready",
                )
                .path(&[APPLICATION])
                .takes::<AppReadyConfirmation>()
                .empties(),
                |_, request| {
                    application(request)?;
                    let AppReadyConfirmation { indication } = request.json()?;
                    is_one_of("indication", &indication, &["READY"])
                },
            ),
            route(
                Operation::post(
                    "/mec_app_support/v1/applications/{appInstanceId}/confirm_termination",
                    "ApplicationsConfirmTerminationPOST",
                    "An application has ended",
                )
                .describe("The services and subscriptions of the application are removed.")
                .path(&[APPLICATION])
                .takes::<AppTerminationConfirmation>()
                .empties(),
                |platform, request| {
                    let name = application(request)?;
                    let AppTerminationConfirmation { operation_action } = request.json()?;
                    let answer = is_one_of("operationAction", &operation_action, &["STOPPING", "TERMINATING"])?;
                    platform.remove_application(name);
                    Ok(answer)
                },
            ),
            route(
                Operation::get("/mec_app_support/v1/timing/current_time", "TimingCurrentTimeGET", "The time")
                    .returns::<CurrentTime>("The time of the platform."),
                |_, _| {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    Ok(Response::ok(CurrentTime {
                        // 32 bits of seconds end in 2106
                        seconds: now.as_secs() as u32,
                        nano_seconds: now.subsec_nanos(),
                        time_source_status: "NONTRACEABLE",
                    }))
                },
            ),
        ];
        let of_availability = self.availability.iter().flat_map(Availability::routes);
        of_platform.into_iter().chain(of_availability).collect()
    }
}

/// The application of a request.
pub fn application(request: &Request) -> Result<&str, Problem> {
    let name = request.parameter(0);
    check_id(name)?;
    Ok(name)
}

/// Whether a text can be the id of an application.
fn check_id(name: &str) -> Result<(), Problem> {
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if name.is_empty() || name.len() > MAX_ID_OCTETS || !name.bytes().all(is_id) {
        let form = format!("1 to {MAX_ID_OCTETS} letters, digits, and the characters - . _ ~");
        return Err(Problem::bad_request(format!("appInstanceId: it is not {form}")).with("at", "appInstanceId"));
    }
    Ok(())
}

/// A service that can be registered.
fn checked(info: ServiceInfo) -> Result<ServiceInfo, Problem> {
    if info.ser_name.is_empty() {
        return Err(Problem::bad_request("serName: it is empty").with("at", "serName"));
    }
    if info.transport_info.is_none() {
        let detail = "missing, and the platform offers no transport of its own";
        return Err(Problem::bad_request(format!("transportInfo: {detail}")).with("at", "transportInfo"));
    }
    Ok(info)
}

fn is_one_of(member: &'static str, value: &str, known: &[&str]) -> Result<Response, Problem> {
    if known.contains(&value) {
        return Ok(Response::no_content());
    }
    let detail = format!("{member}: `{value}` is none of {}", known.join(", "));
    Err(Problem::bad_request(detail).with("at", member))
}

fn no_service(id: &str) -> Problem {
    Problem::not_found(format!("there is no service `{id}`; {SERVICE_MANAGEMENT}/services lists all"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::APPLICATION_SUPPORT;

    #[test]
    fn paths_begin_with_the_roots_of_their_interfaces() {
        let routes = Arc::new(EmbeddedPlatform::default()).routes();
        let is_rooted = |path: &str| path.starts_with(SERVICE_MANAGEMENT) || path.starts_with(APPLICATION_SUPPORT);
        assert!(routes.iter().all(|route| is_rooted(route.path())), "{routes:?}");
    }
}
