//! `ferric play`: one side of a recorded dialogue, said again to a live peer.

mod compare;

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2ap::peek::{self, Outline};
use e2ap::{Kind, ProcedureCode, RicRequestId, TransactionId, Version};
use ferric::link::{Address, Config, Listener, StreamId};
use ferric::record::{Content, Recording};

use crate::address;
use crate::peer::Peer;

/// Say one side of a recorded dialogue again, to a live peer.
///
/// What the peer answers is compared with what was recorded. Ids that it gives itself (request ids of a RIC, transaction
/// ids) may be others; what is said refers to the new ones. Ends with a line `sent=… same=… different=… missing=…
/// unexpected=…`, and with status 1 unless the peer answered as recorded.
#[derive(clap::Args)]
pub struct Args {
    /// A recording (`--record`), or a capture of SCTP as pcapng.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The RIC to connect to; with `--as ric`, where to await a node.
    #[arg(long, value_name = "URL", default_value = "tcp://127.0.0.1:36421", value_parser = address::e2_in_per)]
    e2: Address,
    /// Which side to play.
    #[arg(long = "as", value_enum, default_value_t = Side::Node, value_name = "SIDE")]
    side: Side,
    /// When to speak: as long after the first message as recorded, or as soon as it is our turn.
    #[arg(long, value_enum, default_value_t = Timing::Original)]
    timing: Timing,
    /// Milliseconds to wait for each answer.
    #[arg(long, value_name = "P", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    patience_ms: u32,
    /// Which association of the file, counted from 0. [default: the first in which a node sets up]
    #[arg(long, value_name = "N")]
    association: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Side {
    Node,
    Ric,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Timing {
    Original,
    None,
}

/// The most messages of one dialogue that are kept.
const MAX_MESSAGES: usize = 1_000_000;

/// A message of the recording.
struct Said {
    at_ns: u64,
    by_node: bool,
    stream: StreamId,
    pdu: Vec<u8>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let messages = dialogue(args)?;
    let version = messages.iter().find_map(|said| Version::of_setup(&said.pdu)).unwrap_or(Version::V2_03);
    let mut live = match args.side {
        Side::Node => Peer::connect(&args.e2, &Config::default())?,
        Side::Ric => {
            let mut listener = Listener::bind(&args.e2, &Config::default())?;
            program::outln!("e2={}", listener.local_address());
            Peer::accept(&mut listener, None)?.context("nobody connects")?
        }
    };
    let patience = Duration::from_millis(args.patience_ms.into());
    let mut played = Played { version, begun: Instant::now(), names: Names::default(), tally: Tally::default() };
    let first_ns = messages.first().map_or(0, |said| said.at_ns);
    for (number, said) in messages.iter().enumerate() {
        if said.by_node == (args.side == Side::Node) {
            if args.timing == Timing::Original {
                let due = played.begun + Duration::from_nanos(said.at_ns.saturating_sub(first_ns));
                live.work_until(due, |_| false)?;
            }
            played.say(number, said, &mut live)?;
        } else {
            played.hear(number, said, &mut live, patience)?;
        }
    }
    // what still comes was not expected
    live.work_until(Instant::now() + Duration::from_millis(200), |_| false)?;
    for pdu in live.rest() {
        played.tally.unexpected += 1;
        program::outln!("      <- {} was not expected", compare::name(&pdu, version));
    }
    played.tally.unexpected += live.forgotten;
    let Tally { sent, same, different, missing, unexpected } = played.tally;
    program::outln!("sent={sent} same={same} different={different} missing={missing} unexpected={unexpected}");
    if different + missing + unexpected > 0 {
        bail!("the peer did not answer as recorded");
    }
    Ok(())
}

/// The messages of the association that is played.
fn dialogue(args: &Args) -> anyhow::Result<Vec<Said>> {
    let path = args.file.display();
    let file = File::open(&args.file).with_context(|| format!("cannot read {path}"))?;
    let mut all: Vec<(usize, std::net::SocketAddr, Said)> = Vec::new();
    let mut chosen = args.association.map(|association| (association, None));
    let mut bare = 0;
    for message in Recording::new(BufReader::new(file)) {
        let message = message.with_context(|| format!("cannot read {path}"))?;
        bare += usize::from(matches!(message.content, Content::Bare(_)));
        let Content::Sctp { association, source, destination, stream, pdu, .. } = message.content else { continue };
        if Version::of_setup(&pdu).is_some() && chosen.is_none_or(|(at, node)| at == association && node.is_none()) {
            chosen = Some((association, Some(source)));
        }
        if chosen.is_none_or(|(at, _)| at == association) {
            // without a setup, the RIC is who has E2's port
            let by_node = destination.port() == ferric::link::DEFAULT_PORT;
            all.push((association, source, Said { at_ns: message.at_ns, by_node, stream, pdu }));
            if all.len() > MAX_MESSAGES {
                bail!("{path}: more than {MAX_MESSAGES} messages before the dialogue's end; choose with --association");
            }
        }
    }
    let Some((association, node)) = chosen else {
        let others = if bare > 0 { ": its messages are no E2AP in PER, and no other is played" } else { "" };
        bail!("{path}: no association in which a node sets up{others}")
    };
    let messages = all.into_iter().filter(|(at, ..)| *at == association);
    let messages: Vec<Said> = messages
        .map(|(_, source, said)| Said { by_node: node.map_or(said.by_node, |node| node == source), ..said })
        .collect();
    if messages.is_empty() {
        bail!("{path}: no association {association}");
    }
    Ok(messages)
}

/// What the peer's ids are called in the recording.
#[derive(Default)]
struct Names {
    /// As recorded, and as now.
    requests: HashMap<RicRequestId, RicRequestId>,
    transactions: HashMap<(ProcedureCode, TransactionId), TransactionId>,
}

#[derive(Default)]
struct Tally {
    sent: usize,
    same: usize,
    different: usize,
    missing: usize,
    unexpected: usize,
}

struct Played {
    version: Version,
    begun: Instant,
    names: Names,
    tally: Tally,
}

impl Played {
    fn say(&mut self, number: usize, said: &Said, live: &mut Peer) -> anyhow::Result<()> {
        let mut pdu = said.pdu.clone();
        if let Some(outline) = peek::outline(&pdu) {
            if let Some(now) = outline.request_id.and_then(|id| self.names.requests.get(&id)) {
                peek::replace_request_id(&mut pdu, *now);
            }
            let answers = |id| self.names.transactions.get(&(outline.procedure_code, id));
            if outline.kind != Kind::Initiating
                && let Some(now) = outline.transaction_id.and_then(answers)
            {
                peek::replace_transaction_id(&mut pdu, *now);
            }
        }
        live.send(said.stream, &pdu)?;
        self.tally.sent += 1;
        program::outln!("{number:5} -> {}", compare::name(&pdu, self.version));
        Ok(())
    }

    fn hear(&mut self, number: usize, said: &Said, live: &mut Peer, patience: Duration) -> anyhow::Result<()> {
        let name = compare::name(&said.pdu, self.version);
        let recorded = peek::outline(&said.pdu);
        let wanted = |pdu: &[u8]| self.names.fits(recorded, peek::outline(pdu));
        let Some(mut pdu) = live.work_until(Instant::now() + patience, wanted)? else {
            self.tally.missing += 1;
            let why = live.lost().map_or_else(String::new, |error| format!(" ({error})"));
            program::outln!("{number:5} <- {name}: missing{why}");
            return Ok(());
        };
        if let (Some(recorded), Some(now)) = (recorded, peek::outline(&pdu)) {
            self.names.learn(recorded, now, &mut pdu);
        }
        let differences = compare::differences(&said.pdu, &pdu, self.version);
        if differences.is_empty() {
            self.tally.same += 1;
            program::outln!("{number:5} <- {name}: as recorded");
        } else {
            self.tally.different += 1;
            program::outln!("{number:5} <- {name}: different");
            for difference in differences {
                program::outln!("         {difference}");
            }
        }
        Ok(())
    }
}

impl Names {
    /// Whether what came can be what was recorded.
    fn fits(&self, recorded: Option<Outline>, now: Option<Outline>) -> bool {
        let (Some(recorded), Some(now)) = (recorded, now) else { return recorded.is_none() && now.is_none() };
        let same_kind = (recorded.kind, recorded.procedure_code) == (now.kind, now.procedure_code);
        let same_request = match recorded.request_id.and_then(|id| self.requests.get(&id)) {
            Some(id) => now.request_id == Some(*id),
            None => true,
        };
        same_kind && same_request && recorded.ran_function_id == now.ran_function_id
    }

    /// Takes over the ids that the peer gave, and puts the recorded ones into `pdu`, so that only the rest is compared.
    fn learn(&mut self, recorded: Outline, now: Outline, pdu: &mut [u8]) {
        if let (Some(before), Some(id)) = (recorded.request_id, now.request_id) {
            if recorded.kind == Kind::Initiating {
                self.requests.insert(before, id);
            }
            if *self.requests.get(&before).unwrap_or(&before) == id {
                peek::replace_request_id(pdu, before);
            }
        }
        if let (Kind::Initiating, Some(before), Some(id)) = (recorded.kind, recorded.transaction_id, now.transaction_id)
        {
            self.transactions.insert((recorded.procedure_code, before), id);
            peek::replace_transaction_id(pdu, before);
        }
    }
}
