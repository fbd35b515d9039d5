//! The memory that the RIC needs for nodes that have set up and send nothing.

use std::path::Path;

use anyhow::Context;

use crate::load::Node;
use crate::process::RicProcess;
use crate::{Effort, Idle};

pub(crate) fn measure(ferric: &Path, effort: Effort) -> anyhow::Result<Idle> {
    let RicProcess { process: ric, e2, .. } = RicProcess::start(ferric, &[])?;
    let mut nodes = Vec::new();
    for number in 0..effort.idle_nodes {
        let mut node =
            Node::connect(&e2.address).with_context(|| format!("node {number}; is `ulimit -n` high enough?"))?;
        node.set_up(number as u32 + 1, 2)?;
        nodes.push(node.link);
    }
    Ok(Idle { nodes: nodes.len(), rss_bytes: ric.rss_bytes()? })
}
