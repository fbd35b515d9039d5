//! An E2 node beside a base station: it reports the state of the base station's CPUs to RICs, and obeys their controls.

pub mod manage;
mod node_id;
mod unit;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use cpu::Policy;
use e2sm::Wire;
use ferric::Endpoint;
use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, RanFunction};
use ferric::e2ap::{GlobalE2NodeId, Version};
use program::outln;
use ran_functions::PeriodicConfig;
use ran_functions::cpu::{CpuConfig, CpuFunction};

use crate::policy::{self, Options};
use node_id::NodeName;
use unit::{ManagedUnit, Wanted};

/// Printed below the help.
pub const EXAMPLES: &str = "Examples:
  ferric cpu agent --ric tcp://10.0.0.5:36421 --name nr-softmodem
  ferric cpu agent --name gnb --node gnb-00101-19b-du-4095 --gnb-id-bits 32 --cpus 4-7 --policy ia-ta

docs/cpu-loop.md shows the loop with an xApp.";

/// The base station, the RICs, and what is in force without a control.
#[derive(Clone, Debug, Args)]
pub struct AgentArgs {
    /// Address of the RIC. Repeatable; the first one may set policies [default: tcp://127.0.0.1:36421]
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    ric: Vec<Endpoint>,
    /// The identity of this E2 node: that of the base station, with a part of its own: gnb-PLMN-ID, with -du-N or -cu-up-N, or
    /// enb-PLMN-ID. ID is hexadecimal
    #[arg(long, value_name = "NODE", default_value = "gnb-00101-e00-du-4095")]
    node: NodeName,
    /// The length of the gNB ID, which is a part of the identity
    #[arg(long, value_name = "BITS", default_value_t = 22, value_parser = clap::value_parser!(u8).range(22..=32))]
    gnb_id_bits: u8,
    /// The policy without a control: none, wa, ta, ia, ia-wa, ia-ta, shield, isolcpus, dynamic
    #[arg(long, default_value = "none")]
    policy: policy::Held,
    /// The period of the threads, by which deadline misses are counted [default: found by itself]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    period_us: Option<u64>,
    /// Version of E2AP: 1.01, 2.03 or 3.01
    #[arg(long, value_name = "VERSION", default_value = "2.03")]
    e2ap: Version,
    /// Encode the service model in FlatBuffers instead of PER
    #[arg(long)]
    flat: bool,
    /// End after so many seconds [default: at Ctrl-C]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    tls: program::tls::TlsArgs,
}

/// An address that another program can have.
fn endpoint(text: &str) -> Result<Endpoint, String> {
    let endpoint: Endpoint = text.parse().map_err(|error| format!("{error}"))?;
    match endpoint.address {
        ferric::link::Address::Memory(_) => Err("a memory: address works within one program only; use tcp://".into()),
        _ => Ok(endpoint),
    }
}

/// Serves RICs until the end, and restores everything then.
pub fn run(state: &Path, args: &AgentArgs) -> anyhow::Result<()> {
    let stop = program::signals::flag_on_signal()?;
    let node: GlobalE2NodeId = args.node.id(args.gnb_id_bits)?;
    let tls = args.tls.load(None)?;
    // of a policy that moves threads, so that a base station is needed; it need not be running
    let configured = Wanted { policy: args.policy, request: args.options.request(Policy::Wa)? };
    let unit = Rc::new(RefCell::new(ManagedUnit::start(state, configured, args.period_us)?));
    let served = serve(args, node, tls, &unit, &|| stop.load(Ordering::Acquire));
    // also after a failure
    let released = unit.borrow_mut().release();
    served?;
    if released? {
        outln!("restored");
    }
    Ok(())
}

fn serve(
    args: &AgentArgs,
    node: GlobalE2NodeId,
    tls: Option<ferric::link::Tls>,
    unit: &Rc<RefCell<ManagedUnit>>,
    is_stopped: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let wire = if args.flat { Wire::Flat } else { Wire::Per };
    let periodic = PeriodicConfig { wire, ..CpuConfig::default().periodic };
    let function = CpuFunction::new(Rc::clone(unit), CpuConfig { periodic });
    let functions: Vec<Box<dyn RanFunction>> = vec![Box::new(function)];
    let mut config = AgentLoopConfig { version: args.e2ap, ..AgentLoopConfig::default() };
    config.link.tls = tls;
    let mut agents = AgentLoop::new(config)?;
    let about = format!("CPUs of {}", unit.borrow().name());
    let handle = agents.add_node(NodeConfig { about, ..NodeConfig::new(node) }, functions);
    let rics = if args.ric.is_empty() { vec!["tcp://127.0.0.1:36421".parse()?] } else { args.ric.clone() };
    for ric in rics {
        agents.add_controller(handle, ric);
    }
    outln!("{node}: CPUs of {}; Ctrl-C restores what was before", program::escaped(unit.borrow().name()));
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut next_step = Instant::now();
    while !is_stopped() && end.is_none_or(|end| Instant::now() < end) {
        agents.poll(Some(next_step.saturating_duration_since(Instant::now())))?;
        if Instant::now() >= next_step {
            next_step = Instant::now() + unit.borrow_mut().step()?;
        }
    }
    Ok(())
}
