//! `ferric xapps`: the xApps of a RIC; and those of the O-RAN reference platform that it starts, lists and stops.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::inventory::table::{self, Column};
use crate::inventory::{self, Resource, Ric, RicArgs};

const PATH: &str = "/ric/v1/xapps";
/// The largest descriptor or schema, in octets.
const MAX_OCTETS: u64 = 256 << 10;
const COLUMNS: &[Column] = &[
    Column::text("XAPP"),
    Column::text("VERSION"),
    Column::text("INSTANCE"),
    Column::text("STATUS"),
    Column::text("RMR"),
    Column::text("WELL"),
    Column::number("PROCESS"),
    Column::number("RESTARTS"),
    Column::text("LAST END"),
];

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct XappsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: inventory::Args,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Have the RIC start an xApp whose command its operator permits.
    ///
    /// The RIC was started with --xapp-commands FILE. It checks the descriptor, starts the process on its host, and starts it again
    /// when it fails.
    Run {
        /// Descriptor of the xApp: its config-file.json.
        #[arg(value_name = "DESCRIPTOR")]
        descriptor: PathBuf,
        /// JSON Schema of the controls in the descriptor. [default: that of the file of commands, if it has one]
        #[arg(long, value_name = "FILE")]
        schema: Option<PathBuf>,
        #[command(flatten)]
        ric: RicArgs,
        /// The program and its arguments, as the file of commands has them. [default: those]
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// List xApps that the RIC has started, or that have registered.
    List {
        /// Print the document of /ric/v1/xapps, in one line, instead of a table.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        ric: RicArgs,
    },
    /// Print the end of the output of an xApp that the RIC has started.
    Logs {
        /// Name of the xApp.
        #[arg(value_name = "XAPP")]
        name: String,
        #[command(flatten)]
        ric: RicArgs,
    },
    /// Print the level of the log of an xApp that the RIC has started, or change it.
    LogLevel {
        /// Name of the xApp.
        #[arg(value_name = "XAPP")]
        name: String,
        /// The least severe level that it logs. [default: it is not changed]
        #[arg(value_name = "LEVEL", value_parser = ["error", "warning", "info", "debug"])]
        level: Option<String>,
        #[command(flatten)]
        ric: RicArgs,
    },
    /// Stop an xApp that the RIC has started; returns when it has ended.
    Stop {
        /// Name of the xApp.
        #[arg(value_name = "XAPP")]
        name: String,
        #[command(flatten)]
        ric: RicArgs,
    },
}

pub fn run(args: &XappsArgs) -> anyhow::Result<()> {
    match &args.command {
        None => inventory::run(Resource::Xapps, &args.list),
        Some(Command::Run { descriptor, schema, ric, command }) => start(descriptor, schema.as_deref(), command, ric),
        Some(Command::List { json, ric }) => list(*json, ric),
        Some(Command::Logs { name, ric }) => logs(name, ric),
        Some(Command::LogLevel { name, level, ric }) => log_level(name, level.as_deref(), ric),
        Some(Command::Stop { name, ric }) => {
            Ric::new(ric)?.send("DELETE", &path_of(name)?, None)?;
            info!("xApp {name} has ended");
            Ok(())
        }
    }
}

/// The path of an xApp. Its name is one of a path, as the RIC permits no other.
fn path_of(name: &str) -> anyhow::Result<String> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"._-".contains(&octet);
    if name.is_empty() || !name.bytes().all(is_plain) {
        bail!("`{name}` is not the name of an xApp: letters, digits, `.`, `_` and `-`");
    }
    Ok(format!("{PATH}/{name}"))
}

fn start(descriptor: &Path, schema: Option<&Path>, command: &[String], ric: &RicArgs) -> anyhow::Result<()> {
    let path = descriptor;
    let descriptor = read(path)?;
    let name = descriptor["xapp_name"].as_str().or(descriptor["name"].as_str());
    let name = name.with_context(|| format!("{}: it has no xapp_name", path.display()))?;
    let mut body = json!({ "xappName": name, "descriptor": descriptor });
    if let Some(schema) = schema {
        body["controlsSchema"] = read(schema)?;
    }
    if !command.is_empty() {
        body["command"] = json!(command);
    }
    let xapp = Ric::new(ric)?.send("POST", PATH, Some(&body))?;
    let process = &xapp["instances"][0]["process"];
    if let Some(why) = process["unlimited"].as_str() {
        warn!("xApp {name} runs without its limits: {}", program::escaped(why));
    }
    program::outln!("process={}", process["id"]);
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let octets = files::read(path, MAX_OCTETS).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&octets).with_context(|| format!("{}: it is not JSON", path.display()))
}

fn list(is_json: bool, ric: &RicArgs) -> anyhow::Result<()> {
    let document = Ric::new(ric)?.send("GET", PATH, None)?;
    if is_json {
        program::outln!("{document}");
        return Ok(());
    }
    let rows: Vec<_> = document.as_array().into_iter().flatten().flat_map(rows).collect();
    let text = table::draw(COLUMNS, &rows, io::stdout().is_terminal());
    program::outln!("{}", text.trim_end());
    if rows.is_empty() {
        info!("no xApp was started, and none has registered");
    }
    Ok(())
}

/// The rows of an xApp, one for each instance.
fn rows(xapp: &Value) -> Vec<Vec<String>> {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let of = |instance: &Value| {
        let process = &instance["process"];
        let is_well = match instance["isWell"].as_bool() {
            None => "",
            Some(true) => "yes",
            Some(false) => "no",
        };
        vec![
            text(&xapp["name"]),
            text(&xapp["version"]),
            text(&instance["name"]),
            text(&instance["status"]),
            // 0: it does not use RMR
            match instance["port"].as_u64() {
                None | Some(0) => String::new(),
                Some(port) => format!("{}:{port}", text(&instance["ip"])),
            },
            is_well.to_owned(),
            text(&process["id"]),
            text(&process["restarts"]),
            text(&process["reason"]),
        ]
    };
    xapp["instances"].as_array().into_iter().flatten().map(of).collect()
}

fn log_level(name: &str, level: Option<&str>, ric: &RicArgs) -> anyhow::Result<()> {
    let path = format!("{}/log-level", path_of(name)?);
    let document = match level {
        None => Ric::new(ric)?.send("GET", &path, None)?,
        Some(level) => Ric::new(ric)?.send("PUT", &path, Some(&json!({ "level": level })))?,
    };
    program::outln!("level={}", document["level"].as_str().unwrap_or_default());
    Ok(())
}

fn logs(name: &str, ric: &RicArgs) -> anyhow::Result<()> {
    let document = Ric::new(ric)?.send("GET", &format!("{}/log", path_of(name)?), None)?;
    if let Some(omitted) = document["omitted_octets"].as_u64().filter(|omitted| *omitted > 0) {
        warn!(omitted, "the RIC has kept the last octets only");
    }
    program::outln!("{}", document["text"].as_str().unwrap_or_default().trim_end_matches('\n'));
    Ok(())
}
