//! `ferric doctor`

mod findings;
mod host;
mod node;
mod probe;
mod rest;

use std::path::PathBuf;
use std::time::Duration;

use e2ap::Version;
use ferric::Endpoint;
use ferric::link::Config;

use crate::address;
use crate::tls::TlsArgs;
use findings::Findings;

/// Find out why an E2 node does not connect.
///
/// Without options, checks the default addresses of E2 on this host, probes the RIC there, and checks the requirements of live
/// mode. Each finding states the problem, its reason and its remedy. The exit status is 1 if there are faults.
#[derive(clap::Args)]
pub struct Args {
    /// Check this address of a RIC on this host; tcp+flat:// is E2AP in FlatBuffers. Repeatable. [default:
    /// tcp://127.0.0.1:36421 and sctp://127.0.0.1:36421]
    #[arg(long, value_name = "URL", value_parser = address::e2, conflicts_with_all = ["ric", "listen"])]
    e2: Vec<Endpoint>,
    /// Probe this RIC: connect as a node, send an E2 Setup, and report the answer. The RIC sees gNB 3ffffe of PLMN 001.01
    /// connect and disconnect.
    #[arg(long, value_name = "URL", value_parser = address::e2, conflicts_with = "listen")]
    ric: Option<Endpoint>,
    /// Listen at this address as a RIC, and explain the E2 Setup of the first node.
    #[arg(long, value_name = "URL", value_parser = address::e2)]
    listen: Option<Endpoint>,
    /// Ask the REST interface of a RIC, such as http://127.0.0.1:8080, whether its event loop answers. Takes no token.
    #[arg(long, value_name = "URL", conflicts_with_all = ["e2", "ric", "listen", "e2ap"])]
    rest: Option<String>,
    /// PEM file of the CA that signed the certificate of an https:// address.
    #[arg(long, value_name = "FILE", requires = "rest")]
    rest_ca: Option<PathBuf>,
    /// Version of E2AP of the probe. [default: 2.03, then the others if the RIC rejects it]
    #[arg(long, value_name = "VERSION")]
    e2ap: Option<Version>,
    /// Seconds to wait for an answer; with --listen, for a node. [default: 5; with --listen: 120]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    patience: Option<u32>,
    #[command(flatten)]
    tls: TlsArgs,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let patience = |default: u32| Duration::from_secs(args.patience.unwrap_or(default).into());
    let mut findings = Findings::default();
    let link = Config { tls: args.tls.load(None)?, ..Config::default() };
    if let Some(url) = &args.rest {
        rest::probe(url, args.rest_ca.as_deref(), patience(5), &mut findings);
        return findings.result();
    }
    match (&args.listen, &args.ric) {
        (Some(endpoint), _) => node::listen(endpoint, &link, patience(120), &mut findings)?,
        (_, Some(endpoint)) => probe::probe(endpoint, &link, args.e2ap, patience(5), &mut findings),
        _ => {
            let defaults = ["tcp://127.0.0.1:36421", "sctp://127.0.0.1:36421"].map(|url| url.parse::<Endpoint>());
            let defaults = defaults.into_iter().collect::<Result<Vec<_>, _>>()?;
            let endpoints = if args.e2.is_empty() { &defaults } else { &args.e2 };
            for endpoint in endpoints {
                if host::check_address(endpoint, &link, &mut findings) == host::AddressState::InUse {
                    probe::probe(endpoint, &link, args.e2ap, patience(5), &mut findings);
                }
            }
            if args.e2.is_empty() {
                host::check_live_mode(&findings);
            }
        }
    }
    findings.result()
}
