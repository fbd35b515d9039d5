//! `ferric doctor`

mod findings;
mod host;
mod node;
mod probe;

use std::time::Duration;

use anyhow::bail;
use e2ap::Version;
use ferric::Endpoint;
use ferric::link::Config;

use crate::address;
use crate::tls::TlsArgs;
use findings::Findings;

/// Say why a node does not come up.
///
/// Without options, looks whether E2's usual addresses of this host can be listened on or are, asks who listens there, and
/// tells whether live mode can run here.
/// Each finding says what, why and what to do; faults make the status 1.
#[derive(clap::Args)]
pub struct Args {
    /// An address that a RIC on this host is to have; several times for several. tcp+flat:// and the like: E2AP in FlatBuffers
    /// there. [default: tcp://127.0.0.1:36421 and sctp://127.0.0.1:36421]
    #[arg(long, value_name = "URL", value_parser = address::e2, conflicts_with_all = ["ric", "listen"])]
    e2: Vec<Endpoint>,
    /// Be a node for once: connect to this RIC, set up, and tell what it says. The RIC sees gNB 3ffffe of network 001.01
    /// come and go.
    #[arg(long, value_name = "URL", value_parser = address::e2, conflicts_with = "listen")]
    ric: Option<Endpoint>,
    /// Be a RIC for once: await a node here, and explain the setup that comes.
    #[arg(long, value_name = "URL", value_parser = address::e2)]
    listen: Option<Endpoint>,
    /// The version of E2AP to ask the RIC in. [default: 2.03, and the others where that is refused]
    #[arg(long, value_name = "VERSION")]
    e2ap: Option<Version>,
    /// Seconds to wait for an answer; with `--listen`, for a node. [default: 5; with `--listen` 120]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    patience: Option<u32>,
    #[command(flatten)]
    tls: TlsArgs,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let patience = |default: u32| Duration::from_secs(args.patience.unwrap_or(default).into());
    let mut findings = Findings::default();
    let link = Config { tls: args.tls.load(None)?, ..Config::default() };
    match (&args.listen, &args.ric) {
        (Some(endpoint), _) => node::await_node(endpoint, &link, patience(120), &mut findings)?,
        (_, Some(endpoint)) => probe::ask_ric(endpoint, &link, args.e2ap, patience(5), &mut findings),
        _ => {
            let usual = ["tcp://127.0.0.1:36421", "sctp://127.0.0.1:36421"].map(|url| url.parse::<Endpoint>());
            let usual = usual.into_iter().collect::<Result<Vec<_>, _>>()?;
            let endpoints = if args.e2.is_empty() { &usual } else { &args.e2 };
            for endpoint in endpoints {
                if host::look(endpoint, &link, &mut findings) == host::Seen::Taken {
                    probe::ask_ric(endpoint, &link, args.e2ap, patience(5), &mut findings);
                }
            }
            if args.e2.is_empty() {
                host::look_at_live_mode(&findings);
            }
        }
    }
    match findings.faults() {
        0 => Ok(()),
        1 => bail!("one fault was found"),
        faults => bail!("{faults} faults were found"),
    }
}
