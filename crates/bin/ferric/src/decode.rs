//! `ferric decode`

use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use e2ap::e42::E42Version;
use e2ap::{Codec, Version};
use ferric::decode::{self, DecodeError, unhex};
use ferric::record::{Content, Recording};
use model_plugin::Model;

use crate::model::ModelArgs;
use per::json;

/// Decode E2AP or E2SM to JSON: bytes, or a recording.
///
/// A recording (`--record`) or a pcapng capture of SCTP gives one JSON object per message, of E2AP in PER or FlatBuffers.
///
/// Bytes that cannot be decoded are an error, which names the IE and the bit.
#[derive(clap::Args)]
pub struct Args {
    /// Type of the bytes: `e2ap` (detects the version) or `e2ap-v02.03`; `e42-v2` (FlexRIC's xApp protocol, by the version
    /// of E2AP); or an E2SM type such as `kpm-v03.00:E2SM-KPM-IndicationMessage`. `-flat` after the protocol or the module
    /// means FlatBuffers: `e2ap-v02.03-flat`, `mac-flat:IndicationMessage`. `--list` prints all types.
    #[arg(long = "type", value_name = "TYPE", default_value = "e2ap")]
    ty: String,
    /// Hexadecimal digits; a file of such digits, of bytes or in pcapng; or `-` for standard input.
    #[arg(value_name = "HEX|FILE|-", required_unless_present_any = ["list"])]
    input: Option<String>,
    /// Print all types and exit.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    models: ModelArgs,
}

/// The first octets of a pcapng file, in either byte order.
const PCAPNG: &[u8] = &[0x0A, 0x0D, 0x0D, 0x0A];

pub fn run(args: &Args) -> anyhow::Result<()> {
    let models = args.models.load()?;
    if args.list {
        decode::types().for_each(|name| program::outln!("{name}"));
        for model in &models {
            model.types().for_each(|name| program::outln!("{}:{name}", model.name()));
        }
        return Ok(());
    }
    let bytes = match input(args.input.as_deref().unwrap_or("-"))? {
        Input::Recording(file) => return recording(file, &args.ty),
        Input::Octets(octets) => octets,
    };
    if let Some((model, name)) = loaded(&models, &args.ty) {
        let text = model.describe(name, &bytes).with_context(|| format!("not a {}", args.ty))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).with_context(|| format!("the model {} returned invalid JSON", model.name()))?;
        program::outln!("{value:#}");
        return Ok(());
    }
    let value = decode::decode(&args.ty, &bytes).map_err(|error| match error {
        DecodeError::UnknownType(name) => anyhow!("unknown type `{name}`; `ferric decode --list` prints all types"),
        error => error.into(),
    })?;
    program::outln!("{value:#}");
    Ok(())
}

/// The loaded model of a type, and the type's name within it.
fn loaded<'m, 't>(models: &'m [Arc<Model>], ty: &'t str) -> Option<(&'m Model, &'t str)> {
    let (module, name) = ty.split_once(':')?;
    Some((models.iter().find(|model| model.name() == module)?, name))
}

/// The protocol of a recording.
enum Protocol {
    E2ap(Codec, Option<Version>),
    E42(E42Version),
}

/// Prints the messages of a recording in order.
fn recording(file: impl Read, ty: &str) -> anyhow::Result<()> {
    let protocol = match (ty.strip_prefix("e2ap"), ty.strip_prefix("e42-")) {
        (Some(rest), _) => decode::e2ap_type(rest).map(|(codec, version)| Protocol::E2ap(codec, version))?,
        (_, Some(version)) => Protocol::E42(version.parse()?),
        _ => bail!("a recording contains E2AP or E42: use `--type e2ap`, `e42-v2` or another version of these"),
    };
    // the setup determines the version of the whole association
    let mut versions: HashMap<usize, Version> = HashMap::new();
    for (number, message) in Recording::new(file).enumerate() {
        let message = message?;
        let mut value = serde_json::Map::new();
        value.insert("number".into(), number.into());
        value.insert(
            "time".into(),
            format!("{}.{:09}", message.at_ns / 1_000_000_000, message.at_ns % 1_000_000_000).into(),
        );
        // E2AP in another encoding than PER is recorded without SCTP; the interface's name ends with the encoding
        let e2 = message.interface.strip_prefix("e2-");
        let bare = e2.and_then(|rest| Codec::named(rest.rsplit('-').next()?));
        value.insert("interface".into(), message.interface.into());
        match message.content {
            Content::Sctp { association, source, destination, ppid, pdu, .. } => {
                value.insert("association".into(), association.into());
                value.insert("from".into(), source.to_string().into());
                value.insert("to".into(), destination.to_string().into());
                value.insert("ppid".into(), ppid.into());
                if let Some(version) = Version::of_setup(&pdu) {
                    versions.insert(association, version);
                }
                let read = match protocol {
                    Protocol::E2ap(codec, fixed) => {
                        decode::e2ap(&pdu, codec, fixed.or_else(|| versions.get(&association).copied()))
                    }
                    Protocol::E42(version) => decode::e42(&pdu, version),
                };
                add(&mut value, read, &pdu);
            }
            Content::End { association } => {
                value.insert("association".into(), association.into());
                value.insert("ends".into(), true.into());
            }
            Content::Bare(pdu) => match (bare, &protocol) {
                (Some(codec), Protocol::E2ap(_, fixed)) => add(&mut value, decode::e2ap(&pdu, codec, *fixed), &pdu),
                _ => drop(value.insert("octets".into(), json::hex(pdu.iter()).into())),
            },
        }
        program::outln!("{:#}", serde_json::Value::Object(value));
    }
    Ok(())
}

/// Adds a decoded message to its object.
fn add(
    object: &mut serde_json::Map<String, serde_json::Value>,
    read: Result<serde_json::Value, DecodeError>,
    pdu: &[u8],
) {
    match read {
        Ok(serde_json::Value::Object(pdu)) => object.extend(pdu),
        Ok(_) => {}
        // an undecodable message may be the purpose of the recording
        Err(error) => {
            object.insert("error".into(), program::chain(&anyhow::Error::new(error)).into());
            object.insert("octets".into(), json::hex(pdu.iter()).into());
        }
    }
}

/// What the argument denotes.
enum Input {
    /// A recording, which is read piece by piece: it may be longer than the memory.
    Recording(Box<dyn Read>),
    Octets(Vec<u8>),
}

fn input(argument: &str) -> anyhow::Result<Input> {
    let (name, mut file): (&str, Box<dyn Read>) = if argument == "-" {
        ("standard input", Box::new(std::io::stdin()))
    } else if Path::new(argument).exists() {
        let file = files::open(Path::new(argument)).with_context(|| format!("cannot read {argument}"))?;
        (argument, Box::new(file))
    } else {
        let octets = unhex(argument.as_bytes()).with_context(|| {
            format!("`{}` is neither a file nor an even number of hexadecimal digits", shortened(argument))
        });
        return octets.map(Input::Octets);
    };
    let mut begin = Vec::new();
    let read = file.as_mut().take(PCAPNG.len() as u64).read_to_end(&mut begin);
    read.with_context(|| format!("cannot read {name}"))?;
    let is_recording = begin == PCAPNG;
    let file = Cursor::new(begin).chain(file);
    if is_recording {
        return Ok(Input::Recording(Box::new(BufReader::new(file))));
    }
    let content = files::read_bounded(file, files::MAX_OCTETS).with_context(|| format!("cannot read {name}"))?;
    if content.is_empty() {
        bail!("nothing to decode: the input is empty");
    }
    Ok(Input::Octets(unhex(&content).unwrap_or(content)))
}

fn shortened(text: &str) -> String {
    text.chars().take(32).collect::<String>() + if text.chars().nth(32).is_some() { "…" } else { "" }
}
