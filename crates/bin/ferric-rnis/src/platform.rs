//! The MEC platform: the one that the service registers at, or its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use rest::Route;
use rest::client::{ClientConfig, ClientToken};
use rnis::Service;
use rnis::platform::{
    EmbeddedPlatform, PlatformConfig, PlatformEvent, Registration, TerminationReports, rnis_services,
};
use tracing::info;

/// Where a platform reports the termination of this instance.
const TERMINATION: &str = "/rnis/v1/termination";
/// How often the platform is asked whether it still has the services.
const REFRESH: Duration = Duration::from_secs(30);

/// Where applications discover the service (MEC 011).
#[derive(Debug, Args)]
#[command(next_help_heading = "MEC platform")]
pub struct PlatformArgs {
    /// Register at this MEC platform; without it the service is a small platform itself
    #[arg(long, value_name = "URL")]
    mep: Option<String>,
    /// The id that the platform has given this application instance
    #[arg(long, value_name = "ID", default_value = "rnis")]
    app_instance_id: String,
    /// The CA of an https:// platform, in PEM
    #[arg(long, value_name = "FILE", requires = "mep")]
    mep_ca: Option<PathBuf>,
    /// A file with the token for the platform
    #[arg(long, value_name = "FILE", requires = "mep")]
    mep_token: Option<PathBuf>,
}

/// What the arguments ask for.
pub enum Platform {
    /// Its own, with its routes.
    Embedded(Arc<EmbeddedPlatform>),
    /// Another one, which reports the termination.
    Remote(ClientConfig, TerminationReports),
}

/// The presence at a platform. It ends when it is dropped.
pub struct Presence(Option<(Registration, TerminationReports)>);

impl PlatformArgs {
    /// The platform, and the routes that it needs at the REST interface.
    pub fn routes(&self, service: &Arc<Service>) -> (Platform, Vec<Route>) {
        let Some(url) = &self.mep else {
            let platform = Arc::new(EmbeddedPlatform::notifying(service));
            let routes = platform.routes();
            return (Platform::Embedded(platform), routes);
        };
        let token = self.mep_token.clone().map(ClientToken::File);
        let client = ClientConfig { ca: self.mep_ca.clone(), token, ..ClientConfig::new(url) };
        let (route, reports) = Registration::route(TERMINATION);
        (Platform::Remote(client, reports), vec![route])
    }

    /// Registers the service that is served at a URL, whose tokens, if it requires some, are issued at `token_endpoint`.
    ///
    /// # Errors
    /// If the platform's address, CA or token cannot be used.
    pub fn register(&self, platform: Platform, url: &str, token_endpoint: Option<&str>) -> anyhow::Result<Presence> {
        let services = rnis_services(url, token_endpoint);
        match platform {
            Platform::Embedded(platform) => {
                for service in services {
                    platform.register(&self.app_instance_id, service).map_err(|problem| {
                        anyhow::anyhow!("--app-instance-id {}: {}", self.app_instance_id, problem.detail())
                    })?;
                }
                Ok(Presence(None))
            }
            Platform::Remote(client, reports) => {
                let config = PlatformConfig {
                    platform: client,
                    app_instance_id: self.app_instance_id.clone(),
                    termination_callback: format!("{url}{TERMINATION}"),
                    services,
                    refresh: REFRESH,
                };
                let registration = Registration::start(config).context("--mep")?;
                Ok(Presence(Some((registration, reports))))
            }
        }
    }
}

impl Presence {
    /// Whether the platform ends this instance.
    pub fn is_over(&self) -> bool {
        let Some((registration, reports)) = &self.0 else { return false };
        let Some(PlatformEvent::Terminate { within }) = registration.poll(reports) else { return false };
        info!(within_s = within.as_secs(), "the service ends, as the MEC platform asks");
        true
    }
}
