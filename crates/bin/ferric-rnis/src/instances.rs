//! `ferric rnis --instances`: the supervisor of instances for tenants.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;

use anyhow::Context;
use clap::Args;
use program::signals;
use rest::{Server, ServerConfig};
use rnis::instances::{InstancesConfig, Supervisor};

use crate::access::AccessArgs;

/// The supervisor's options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Instances")]
pub struct InstancesArgs {
    /// Serve instances for tenants instead of one service: each is a process with a REST address of its own, created, changed and
    /// deleted at /rnis/v1/instances of this address. Its share of the processors follows from its load
    #[arg(long, conflicts_with_all = ["flexran", "directory", "load", "mep", "callback_ca", "callback_allow",
          "api_root", "tenants"])]
    instances: bool,
    /// Keep the definitions of instances in this file: they are there again after a restart
    #[arg(long, value_name = "FILE", requires = "instances")]
    instances_file: Option<PathBuf>,
    /// The processors that all instances may use together [default: those of the host]
    #[arg(long, value_name = "CORES", requires = "instances", value_parser = cores)]
    cpu_budget: Option<f64>,
    /// Instances at most
    #[arg(long, value_name = "NUMBER", requires = "instances", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_instances: u16,
    /// A delegated control group (cgroup v2) with the controller `cpu` and without processes: the kernel keeps instances to their
    /// shares. Without it their threads do
    #[arg(long, value_name = "FOLDER", requires = "instances")]
    control_group: Option<PathBuf>,
    /// Allow definitions with `loadPerS`: synthetic events, for measurements
    #[arg(long, requires = "instances")]
    allow_load: bool,
    /// Further options of `ferric rnis` for each instance, after `--`; `{name}` in them is the name of the instance
    #[arg(last = true, value_name = "OPTION", requires = "instances")]
    instance_options: Vec<String>,
}

fn cores(text: &str) -> Result<f64, &'static str> {
    let cores = text.parse().ok().filter(|cores| (0.01..=1024.0).contains(cores));
    cores.ok_or("not a number from 0.01 to 1024")
}

impl InstancesArgs {
    /// Whether instances are served instead of one service.
    pub fn is_asked_for(&self) -> bool {
        self.instances
    }

    /// Serves instances until a signal. `ric` is the RIC of those that name none, `access` is that of the supervisor's own resources.
    ///
    /// # Errors
    /// If a file or the control group cannot be used, or the address is not available.
    pub fn run(&self, rest: SocketAddr, ric: String, access: &AccessArgs) -> anyhow::Result<()> {
        let stop = signals::flag_on_signal()?;
        let access = access.load()?.access();
        let of_host = || thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        let config = InstancesConfig {
            program: std::env::current_exe().context("cannot find the path of this program")?,
            options: self.instance_options.clone(),
            ric,
            file: self.instances_file.clone(),
            budget: self.cpu_budget.unwrap_or_else(of_host),
            max_instances: self.max_instances.into(),
            control_group: self.control_group.clone(),
            allows_load: self.allow_load,
        };
        let (supervisor, routes) = Supervisor::new(config)?;
        let config = ServerConfig { access, ..ServerConfig::new(rest) };
        let server = Server::start(config, routes).with_context(|| format!("cannot serve at {rest}"))?;
        program::outln!("instances={}/rnis/v1/instances", server.url());
        supervisor.run(&stop);
        Ok(())
    }
}
