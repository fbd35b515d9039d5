//! The registration of this service at a MEC platform: MEC 011 5.2.2 (start), 5.2.4 (availability) and 5.2.3 (end).
//!
//! A thread registers the services, subscribes to the termination of this application instance, and confirms that it is ready. It
//! tries again while the platform is absent, and registers again when the platform has forgotten the services.

use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rest::client::{Client, ClientConfig, ClientError, ClientResponse};
use rest::{Operation, Problem, Response, Route};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{info, warn};

use super::service_info::ServiceInfo;
use super::{APPLICATION_SUPPORT, SERVICE_MANAGEMENT};

/// The first and the longest pause between attempts to register.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The platform, and what registers there.
#[derive(Clone, Debug)]
pub struct PlatformConfig {
    /// The platform's address, certificates and token.
    pub platform: ClientConfig,
    /// The id that the platform has given this application instance.
    pub app_instance_id: String,
    /// Where the platform reports the termination: the URL of the route of [`Registration::route`].
    pub termination_callback: String,
    /// What is registered.
    pub services: Vec<ServiceInfo>,
    /// How often the platform is asked whether it still has the services: 30 s is usual.
    pub refresh: Duration,
}

/// What a platform wants of this application instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlatformEvent {
    /// It has to end within this time, and then [`Registration::end`] is to be called.
    Terminate {
        /// The time for an orderly end.
        within: Duration,
    },
}

/// Why a registration is not possible.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlatformError {
    /// The address, certificate or token of the platform cannot be used.
    Client(ClientError),
    /// The system refuses a thread.
    Thread(io::Error),
}

impl fmt::Display for PlatformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlatformError::Client(error) => write!(f, "the MEC platform cannot be used: {error}"),
            PlatformError::Thread(error) => write!(f, "the system refuses a thread: {error}"),
        }
    }
}

impl std::error::Error for PlatformError {}

/// A notification of the platform (MEC 011 7.1.4.2).
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AppTerminationNotification {
    /// `AppTerminationNotification`.
    notification_type: String,
    /// `STOPPING` or `TERMINATING`.
    operation_action: String,
    /// Seconds.
    max_graceful_timeout: u32,
}

enum Order {
    Terminating(String),
    End,
}

/// The registration. It is withdrawn when it is dropped.
#[derive(Debug)]
pub struct Registration {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

impl Registration {
    /// The route on which the platform reports the termination, and the events of the registration that is started with its other
    /// half.
    #[must_use]
    pub fn route(path: &'static str) -> (Route, TerminationReports) {
        let (events, receiver) = channel();
        let operation = Operation::post(path, "AppTerminationNotificationPOST", "The platform ends this instance")
            .takes::<Value>()
            .empties()
            .undocumented();
        let route = Route::new(operation, move |request| {
            let notification: AppTerminationNotification = request.json()?;
            let AppTerminationNotification { notification_type, operation_action, max_graceful_timeout } = notification;
            if notification_type != "AppTerminationNotification" {
                let detail = format!("notificationType: `{notification_type}` is not AppTerminationNotification");
                return Err(Problem::bad_request(detail).with("at", "notificationType"));
            }
            if !["STOPPING", "TERMINATING"].contains(&&*operation_action) {
                let detail = format!("operationAction: `{operation_action}` is neither STOPPING nor TERMINATING");
                return Err(Problem::bad_request(detail).with("at", "operationAction"));
            }
            let within = Duration::from_secs(max_graceful_timeout.into());
            // without a registration it concerns no one
            let _ = events.send((operation_action, within));
            Ok(Response::no_content())
        });
        (route, TerminationReports(receiver))
    }

    /// Starts to register, and tries until the platform answers.
    ///
    /// # Errors
    /// If the platform's address cannot be used, or the system refuses a thread.
    pub fn start(config: PlatformConfig) -> Result<Self, PlatformError> {
        let client = Client::new(&config.platform).map_err(PlatformError::Client)?;
        let (orders, receiver) = channel();
        let worker = Worker { client, config, hrefs: Vec::new(), subscription: None, terminating: None };
        let thread = std::thread::Builder::new()
            .name("mec-platform".into())
            .spawn(move || worker.run(&receiver))
            .map_err(PlatformError::Thread)?;
        Ok(Registration { orders, thread: Some(thread) })
    }

    /// Withdraws the services; after a termination that the platform has asked for, it confirms that.
    pub fn end(mut self) {
        self.stop();
    }

    /// The next event of the platform, if there is one.
    pub fn poll(&self, reports: &TerminationReports) -> Option<PlatformEvent> {
        let (action, within) = reports.0.try_recv().ok()?;
        let _ = self.orders.send(Order::Terminating(action));
        Some(PlatformEvent::Terminate { within })
    }

    fn stop(&mut self) {
        let _ = self.orders.send(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the platform has reported.
#[derive(Debug)]
pub struct TerminationReports(Receiver<(String, Duration)>);

struct Worker {
    client: Client,
    config: PlatformConfig,
    /// The paths of the registered services.
    hrefs: Vec<String>,
    /// The path of the subscription to the termination.
    subscription: Option<String>,
    /// The action that the platform has announced.
    terminating: Option<String>,
}

impl Worker {
    fn run(mut self, orders: &Receiver<Order>) {
        let mut pause = PAUSES.0;
        let mut is_registered = false;
        loop {
            let wait = if is_registered && self.is_known() {
                self.config.refresh
            } else {
                match self.register() {
                    Ok(()) => {
                        is_registered = true;
                        pause = PAUSES.0;
                        self.config.refresh
                    }
                    Err(reason) => {
                        is_registered = false;
                        let (platform, retry_in_s) = (&self.config.platform.url, pause.as_secs());
                        warn!(platform, retry_in_s, "not registered at the MEC platform: {reason}");
                        let longer = (pause * 2).min(PAUSES.1);
                        std::mem::replace(&mut pause, longer)
                    }
                }
            };
            match orders.recv_timeout(wait) {
                Ok(Order::Terminating(action)) => self.terminating = Some(action),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => return self.withdraw(),
            }
        }
    }

    fn application(&self, root: &str) -> String {
        format!("{root}/applications/{}", self.config.app_instance_id)
    }

    /// Registers what is not registered, and confirms that this instance is ready.
    fn register(&mut self) -> Result<(), String> {
        self.withdraw_services();
        for service in &self.config.services {
            let body = serde_json::to_value(service).map_err(|error| error.to_string())?;
            let path = format!("{}/services", self.application(SERVICE_MANAGEMENT));
            let created = self.expect("POST", &path, Some(&body), 201)?;
            self.hrefs.push(location(created)?);
        }
        if self.subscription.is_none() {
            let path = format!("{}/subscriptions", self.application(APPLICATION_SUPPORT));
            let body = json!({
                "subscriptionType": "AppTerminationNotificationSubscription",
                "callbackReference": self.config.termination_callback,
                "appInstanceId": self.config.app_instance_id,
            });
            match self.expect("POST", &path, Some(&body), 201).and_then(location) {
                Ok(subscription) => self.subscription = Some(subscription),
                // a platform without it still has the services
                Err(reason) => warn!("the MEC platform will not report this instance's termination: {reason}"),
            }
        }
        let path = format!("{}/confirm_ready", self.application(APPLICATION_SUPPORT));
        self.expect("POST", &path, Some(&json!({"indication": "READY"})), 204)?;
        let (platform, services) = (&self.config.platform.url, self.hrefs.len());
        info!(platform, services, "registered at the MEC platform");
        Ok(())
    }

    /// Whether the platform still has the services.
    fn is_known(&self) -> bool {
        self.hrefs.iter().all(|href| self.expect("GET", href, None, 200).is_ok())
    }

    fn withdraw_services(&mut self) {
        for href in std::mem::take(&mut self.hrefs) {
            // what the platform has forgotten need not be withdrawn
            let _ = self.expect("DELETE", &href, None, 204);
        }
    }

    fn withdraw(mut self) {
        self.withdraw_services();
        if let Some(subscription) = self.subscription.take() {
            let _ = self.expect("DELETE", &subscription, None, 204);
        }
        if let Some(action) = &self.terminating {
            let path = format!("{}/confirm_termination", self.application(APPLICATION_SUPPORT));
            if let Err(reason) = self.expect("POST", &path, Some(&json!({"operationAction": action})), 204) {
                warn!("the MEC platform does not take the confirmation of the termination: {reason}");
            }
        }
    }

    /// Sends a request and expects a status.
    fn expect(&self, method: &str, path: &str, body: Option<&Value>, status: u16) -> Result<ClientResponse, String> {
        let response = self.client.request(method, path, body).map_err(|error| error.to_string())?;
        if response.status == status {
            return Ok(response);
        }
        let detail = response.body["detail"].as_str().unwrap_or("no reason is given").to_owned();
        Err(format!("{method} {path} is answered with {}: {detail}", response.status))
    }
}

/// The path of what was created.
fn location(created: ClientResponse) -> Result<String, String> {
    created.location.ok_or_else(|| "the answer 201 has no Location".to_owned())
}
