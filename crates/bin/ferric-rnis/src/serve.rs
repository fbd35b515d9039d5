//! `ferric rnis`: the service at a RIC.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use program::signals;
use rest::{Server, ServerConfig};
use rnis::api::ApiConfig;
use rnis::{Delivery, DeliveryConfig, Service};

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
        return args.instances.run(args.rest, args.collectors.ric());
    }
    let stop = signals::flag_on_signal()?;
    let delivery = Delivery::start(DeliveryConfig { quota: args.input.quota(), ..args.delivery.config() })?;
    let service = Service::new(delivery, |sink| args.broker.connect(sink))?.with_limits(args.api.limits());
    let service = Arc::new(service);
    if let Some(log) = args.broker.log()? {
        service.replicate(log)?;
    }
    let directory = args.collectors.directory()?;
    let api = ApiConfig { directory: Some(Arc::clone(&directory)), ..args.api.config() };
    let mut routes = rnis::api::routes(&service, &api)?;
    let (platform, of_platform) = args.platform.routes(&service);
    routes.extend(of_platform);
    let config = ServerConfig { metrics: service.metrics().clone(), ..ServerConfig::new(args.rest) };
    let server = Server::start(config, routes).with_context(|| format!("cannot serve at {}", args.rest))?;
    let presence = args.platform.register(platform, &args.api.root().unwrap_or_else(|| server.url()))?;
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
