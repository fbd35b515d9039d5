//! `ferric rnis`: the service at a RIC.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use program::signals;
use rest::{Server, ServerConfig};
use rnis::api::ApiConfig;
use rnis::{Delivery, DeliveryConfig, Service};

use crate::access::AccessArgs;
use crate::api::ApiArgs;
use crate::broker::BrokerArgs;
use crate::collect::{self, Collect};
use crate::collectors::Collectors;
use crate::delivery::DeliveryArgs;
use crate::input::InputArgs;
use crate::instances::InstancesArgs;
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
    /// Whether this process collects from RIC and agents
    #[arg(long, value_enum, default_value_t = Collect::Auto)]
    collect: Collect,
    #[command(flatten)]
    platform: PlatformArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    instances: InstancesArgs,
}

pub fn run(args: &ServeArgs) -> anyhow::Result<()> {
    if args.instances.is_asked_for() {
        return args.instances.run(args.rest, args.collectors.ric(), &args.access);
    }
    let stop = signals::flag_on_signal()?;
    let access = args.access.load()?;
    let (quota, callbacks) = (args.input.quota(), args.access.callbacks(args.rest));
    let delivery = Delivery::start(DeliveryConfig { quota, callbacks, ..args.delivery.config() })?;
    let mut service = Service::new(delivery, |sink| args.broker.connect(sink))?.with_limits(args.api.limits());
    if let Some(tenants) = access.tenants() {
        service = service.with_tenants(Arc::clone(tenants));
    }
    let service = Arc::new(service);
    if let Some(log) = args.broker.log()? {
        service.replicate(log)?;
    }
    let directory = args.collectors.directory()?;
    service.set_directory(&directory);
    let api = ApiConfig { directory: Some(Arc::clone(&directory)), ..args.api.config(&access) };
    let mut routes = rnis::api::routes(&service, &api)?;
    routes.extend(access.routes());
    let (platform, of_platform) = args.platform.routes(&service);
    routes.extend(of_platform);
    let (access_control, metrics) = (access.access(), service.metrics().clone());
    let config = ServerConfig { access: access_control, metrics, ..ServerConfig::new(args.rest) };
    let server = Server::start(config, routes).with_context(|| format!("cannot serve at {}", args.rest))?;
    let url = args.api.root().unwrap_or_else(|| server.url());
    let presence = args.platform.register(platform, &url, access.token_endpoint(&url).as_deref())?;
    program::outln!("rnis={}/rni/v2", server.url());
    program::outln!("page={}/", server.url());
    if args.load.run(&service, &stop, &args.input)? {
        return Ok(());
    }
    collect::run(
        args.collect,
        &service,
        &stop,
        || presence.is_over(),
        |is_over| args.collectors.run(&service, &directory, &stop, is_over),
    )
}
