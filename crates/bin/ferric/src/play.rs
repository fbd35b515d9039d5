//! `ferric play`: sends one side of a recording to a live peer.

mod compare;
mod reports;

use std::collections::HashMap;
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
use reports::Functions;

/// Replay one side of a recording to a live peer.
///
/// Compares the peer's messages with the recorded ones. Ids that the peer assigns (request ids of a RIC, transaction ids) may
/// differ; replayed messages use the new ids. Reports of KPM and of FlexRIC's models are compared by meaning: times and
/// measured values may differ, measurements, UEs and labels may not. Ends with a line `sent=… same=… different=… missing=… unexpected=…`, and
/// with status 1 if the peer does not answer as recorded.
#[derive(clap::Args)]
pub struct Args {
    /// Recording (`--record`), or pcapng capture of SCTP.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Address of the RIC; with `--as ric`, the address for the node.
    #[arg(long, value_name = "URL", default_value = "tcp://127.0.0.1:36421", value_parser = address::e2_in_per)]
    e2: Address,
    /// Side to replay.
    #[arg(long = "as", value_enum, default_value_t = Side::Node, value_name = "SIDE")]
    side: Side,
    /// Timing of the replayed messages: as recorded, or without waiting.
    #[arg(long, value_enum, default_value_t = Timing::Original)]
    timing: Timing,
    /// Time to wait for each answer in ms.
    #[arg(long, value_name = "P", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=600_000))]
    patience_ms: u32,
    /// Number of the association in the file, from 0. [default: the first with an E2 Setup]
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

/// The most messages of a recording that are kept in memory.
const MAX_MESSAGES: usize = 1_000_000;
/// Their octets: 1 GiB.
const MAX_OCTETS: usize = 1 << 30;

/// How long an answer is waited for without a word.
const UNANNOUNCED: Duration = Duration::from_millis(500);

/// A message of the recording.
struct Recorded {
    at_ns: u64,
    by_node: bool,
    stream: StreamId,
    pdu: Vec<u8>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let messages = read_recording(args)?;
    let version = messages.iter().find_map(|message| Version::of_setup(&message.pdu)).unwrap_or(Version::V2_03);
    let mut peer = match args.side {
        Side::Node => Peer::connect(&args.e2, &Config::default())?,
        Side::Ric => {
            let mut listener = Listener::bind(&args.e2, &Config::default())?;
            program::outln!("e2={}", listener.local_address());
            Peer::accept(&mut listener, None)?.context("no node connected")?
        }
    };
    let patience = Duration::from_millis(args.patience_ms.into());
    let setup = messages.iter().find(|message| Version::of_setup(&message.pdu).is_some());
    let functions = setup.map(|setup| Functions::of_setup(&setup.pdu, version)).unwrap_or_default();
    let (begun, ids, tally) = (Instant::now(), IdMap::default(), Tally::default());
    let mut session = Session { version, functions, begun, ids, tally };
    let first_ns = messages.first().map_or(0, |message| message.at_ns);
    for (number, message) in messages.iter().enumerate() {
        if message.by_node == (args.side == Side::Node) {
            if args.timing == Timing::Original {
                let due = session.begun + Duration::from_nanos(message.at_ns.saturating_sub(first_ns));
                peer.wait_for(due, |_| false)?;
            }
            session.send(number, message, &mut peer)?;
        } else {
            session.expect(number, message, &mut peer, patience)?;
        }
    }
    // whatever arrives after the last recorded message is unexpected
    peer.wait_for(Instant::now() + Duration::from_millis(200), |_| false)?;
    for pdu in peer.take_inbox() {
        session.tally.unexpected += 1;
        program::outln!("      <- {}: unexpected", compare::name(&pdu, version));
    }
    session.tally.unexpected += peer.dropped;
    let Tally { sent, same, different, missing, unexpected } = session.tally;
    program::outln!("sent={sent} same={same} different={different} missing={missing} unexpected={unexpected}");
    if different + missing + unexpected > 0 {
        bail!("the peer did not answer as recorded");
    }
    Ok(())
}

/// The messages of the association that is session.
fn read_recording(args: &Args) -> anyhow::Result<Vec<Recorded>> {
    let path = args.file.display();
    let file = files::open(&args.file).with_context(|| format!("cannot read {path}"))?;
    let mut all: Vec<(usize, std::net::SocketAddr, Recorded)> = Vec::new();
    let mut chosen = args.association.map(|association| (association, None));
    let (mut bare, mut octets) = (0, 0);
    for message in Recording::new(BufReader::new(file)) {
        let message = message.with_context(|| format!("cannot read {path}"))?;
        bare += usize::from(matches!(message.content, Content::Bare(_)));
        let Content::Sctp { association, source, destination, stream, pdu, .. } = message.content else { continue };
        if Version::of_setup(&pdu).is_some() && chosen.is_none_or(|(at, node)| at == association && node.is_none()) {
            chosen = Some((association, Some(source)));
        }
        if chosen.is_none_or(|(at, _)| at == association) {
            // without a setup, the RIC is the end with the port of E2
            let by_node = destination.port() == ferric::link::DEFAULT_PORT;
            octets += pdu.len();
            all.push((association, source, Recorded { at_ns: message.at_ns, by_node, stream, pdu }));
            if all.len() > MAX_MESSAGES || octets > MAX_OCTETS {
                bail!("{path}: more than {MAX_MESSAGES} messages or 1 GiB; choose an association with --association");
            }
        }
    }
    let Some((association, node)) = chosen else {
        let others = if bare > 0 { ": only E2AP in PER can be replayed" } else { "" };
        bail!("{path}: no association with an E2 Setup{others}")
    };
    let messages = all.into_iter().filter(|(at, ..)| *at == association);
    let messages: Vec<Recorded> = messages
        .map(|(_, source, message)| Recorded {
            by_node: node.map_or(message.by_node, |node| node == source),
            ..message
        })
        .collect();
    if messages.is_empty() {
        bail!("{path}: no association {association}");
    }
    Ok(messages)
}

/// The ids that the peer has assigned now, by the recorded ids.
#[derive(Default)]
struct IdMap {
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

struct Session {
    version: Version,
    /// The RAN functions of the recorded node.
    functions: Functions,
    begun: Instant,
    ids: IdMap,
    tally: Tally,
}

impl Session {
    fn send(&mut self, number: usize, message: &Recorded, peer: &mut Peer) -> anyhow::Result<()> {
        let mut pdu = message.pdu.clone();
        if let Some(outline) = peek::outline(&pdu) {
            if let Some(now) = outline.request_id.and_then(|id| self.ids.requests.get(&id)) {
                peek::replace_request_id(&mut pdu, *now);
            }
            let answers = |id| self.ids.transactions.get(&(outline.procedure_code, id));
            if outline.kind != Kind::Initiating
                && let Some(now) = outline.transaction_id.and_then(answers)
            {
                peek::replace_transaction_id(&mut pdu, *now);
            }
        }
        peer.send(message.stream, &pdu)?;
        self.tally.sent += 1;
        program::outln!("{number:5} -> {}", compare::name(&pdu, self.version));
        Ok(())
    }

    fn expect(&mut self, number: usize, message: &Recorded, peer: &mut Peer, patience: Duration) -> anyhow::Result<()> {
        let name = compare::name(&message.pdu, self.version);
        let recorded = peek::outline(&message.pdu);
        let wanted = |pdu: &[u8]| self.ids.fits(recorded, peek::outline(pdu));
        let begun = Instant::now();
        let mut found = peer.wait_for(begun + patience.min(UNANNOUNCED), wanted)?;
        if found.is_none() && peer.lost().is_none() && patience > UNANNOUNCED {
            let seconds = patience.as_secs_f64();
            program::outln!("{number:5} <- {name}: not here yet; waiting up to {seconds} s (--patience-ms)");
            found = peer.wait_for(begun + patience, wanted)?;
        }
        let Some(mut pdu) = found else {
            self.tally.missing += 1;
            let why = peer.lost().map_or_else(String::new, |error| format!(" ({error})"));
            program::outln!("{number:5} <- {name}: missing{why}");
            return Ok(());
        };
        if let (Some(recorded), Some(now)) = (recorded, peek::outline(&pdu)) {
            self.ids.learn(recorded, now, &mut pdu);
        }
        if message.pdu != pdu && self.functions.agree(&message.pdu, &pdu, self.version) {
            self.tally.same += 1;
            program::outln!("{number:5} <- {name}: as recorded, with the values of now");
            return Ok(());
        }
        let differences = compare::differences(&message.pdu, &pdu, self.version);
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

impl IdMap {
    /// Whether a received message can be the recorded one.
    fn fits(&self, recorded: Option<Outline>, now: Option<Outline>) -> bool {
        let (Some(recorded), Some(now)) = (recorded, now) else { return recorded.is_none() && now.is_none() };
        let same_kind = (recorded.kind, recorded.procedure_code) == (now.kind, now.procedure_code);
        let same_request = match recorded.request_id.and_then(|id| self.requests.get(&id)) {
            Some(id) => now.request_id == Some(*id),
            None => true,
        };
        same_kind && same_request && recorded.ran_function_id == now.ran_function_id
    }

    /// Stores the ids that the peer has assigned, and replaces them in `pdu` by the recorded ones for the comparison.
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
