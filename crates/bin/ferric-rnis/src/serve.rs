//! `ferric rnis`: the service at a RIC.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use program::signals;
use rest::{Server, ServerConfig};
use rnis::{Delivery, DeliveryConfig, Service};

use crate::access::AccessArgs;
use crate::api::ApiArgs;
use crate::broker::BrokerArgs;
use crate::collectors::Collectors;
use crate::delivery::DeliveryArgs;
use crate::load::LoadArgs;
use crate::platform::PlatformArgs;

#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    collectors: Collectors,
    /// The address of the REST interface
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8092")]
    rest: SocketAddr,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    broker: BrokerArgs,
    #[command(flatten)]
    platform: PlatformArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    load: LoadArgs,
}

pub fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let stop = signals::flag_on_signal()?;
    let access = args.access.load()?;
    let delivery = DeliveryConfig { callbacks: args.access.callbacks(args.rest), ..args.delivery.config() };
    let delivery = Delivery::start(delivery)?;
    let mut service = Service::new(delivery, |sink| args.broker.connect(sink))?.with_limits(args.api.limits());
    if let Some(tenants) = access.tenants() {
        service = service.with_tenants(Arc::clone(tenants));
    }
    let service = Arc::new(service);
    let mut routes = rnis::api::routes(&service, &args.api.config(&access))?;
    routes.extend(access.routes());
    let (platform, of_platform) = args.platform.routes();
    routes.extend(of_platform);
    let config = ServerConfig { access: access.access(), ..ServerConfig::new(args.rest) };
    let server = Server::start(config, routes).with_context(|| format!("cannot serve at {}", args.rest))?;
    program::outln!("rnis={}/rni/v2", server.url());
    let url = args.api.root().unwrap_or_else(|| server.url());
    let presence = args.platform.register(platform, &url, access.token_endpoint(&url).as_deref())?;
    if args.load.run(&service, &stop)? {
        return Ok(());
    }
    args.collectors.run(&service, &stop, || presence.is_over())
}
