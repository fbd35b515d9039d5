//! Nodes that have set up and are silent: what each costs the RIC in memory.

use anyhow::Context;
use ferric::link::Address;

use crate::load::Node;
use crate::process::Process;
use crate::{Effort, Idle};

pub(crate) fn measure(effort: Effort) -> anyhow::Result<Idle> {
    let ric =
        Process::start(&["--log", "error", "ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"], 2)?;
    let e2: Address = ric.said("e2")?.parse()?;
    let mut nodes = Vec::new();
    for number in 0..effort.idle_nodes {
        let mut node = Node::connect(&e2).with_context(|| format!("node {number}; is `ulimit -n` high enough?"))?;
        node.set_up(number as u32 + 1, 2)?;
        nodes.push(node.link);
    }
    Ok(Idle { nodes: nodes.len(), rss_bytes: ric.rss_bytes()? })
}
