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
    Kpm(kpm::Args),
    Ping(ping::Args),
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.which {
        Which::Kpm(args) => kpm::run(args),
        Which::Ping(args) => ping::run(args),
    }
}
