//! `ferric config`

use std::path::PathBuf;

use anyhow::Context;
use ferric::link::Tls;
use ric::RicConfig;

/// Print or check the configuration file of a RIC.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Print a configuration file that explains all keys.
    ///
    /// The keys are comments, except those that --set gives a value.
    Default {
        /// A key and its value in TOML, such as 'rest = "127.0.0.1:8080"' or 'rest_access.tokens = "rest.tokens"'. Repeatable.
        #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
        set: Vec<(String, String)>,
    },
    /// Check a configuration file, and the files of certificates, tokens and commands that it names.
    Check {
        /// Configuration file in TOML.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

fn assignment(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("not KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.command {
        Command::Default { set } => {
            let set: Vec<_> = set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            program::outln!("{}", RicConfig::default_file(&set)?.trim_end());
            Ok(())
        }
        Command::Check { file } => {
            let text =
                files::read_text(file, files::MAX_OCTETS).with_context(|| format!("cannot read {}", file.display()))?;
            check(&text).with_context(|| format!("{}", file.display()))?;
            program::outln!("{}: valid", file.display());
            Ok(())
        }
    }
}

fn check(text: &str) -> anyhow::Result<()> {
    let config = RicConfig::from_toml(text)?;
    config.tls.as_ref().map(Tls::load).transpose()?;
    rest::Access::load(config.rest_files)?;
    crate::ric::load(config.oran.commands_file.as_deref(), "`xapp_commands`", ric::oran_host::Commands::load)?;
    Ok(())
}
