//! `ferric xapp`

pub mod kpm;
mod ping;
mod table;

/// Run a built-in xApp.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    /// Read the KPIs of every UE of every node.
    Kpm(kpm::Args),
    /// Measure the time from a control to the indication that answers it.
    Ping(ping::Args),
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.which {
        Which::Kpm(args) => kpm::run(args),
        Which::Ping(args) => ping::run(args),
    }
}
