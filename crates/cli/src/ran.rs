//! `ferric ran`

use ::ran::{Ran, RanConfig, Scenario};
use e2sm::Wire;
use ferric::Endpoint;
use ferric::record::Protocol;

use crate::{record, signals, tls};

/// Run emulated E2 nodes.
///
/// Base stations whose load, CQI, PRB use and throughput move together, until Ctrl-C.
#[derive(clap::Args)]
pub struct Args {
    /// The RIC to connect to; several times for several RICs. [default: tcp://127.0.0.1:36421]
    #[arg(long, value_name = "URL")]
    ric: Vec<Endpoint>,
    /// How many nodes.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=4096))]
    nodes: u16,
    /// How many UEs each node serves.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(0..=1024))]
    ues: u16,
    /// Seed of all chance: the same seed, the same RAN.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The version of E2AP that the nodes speak: 1.00 (without OIDs: functions are known by their
    /// definitions), 1.01, 2.03 or 3.01.
    #[arg(long, value_name = "VERSION", default_value = "2.03")]
    e2ap: e2ap::Version,
    /// The revision of KPM that the nodes speak: 1.00, 2.01, 2.03, 3.00 or 4.00.
    #[arg(long, value_name = "REVISION", default_value = "3.00")]
    kpm: e2sm::kpm::Revision,
    /// KPM, RC, the ping and FlexRIC's models in FlatBuffers, not in PER or FlexRIC's layout. (For E2AP, the address says
    /// it: --ric tcp+flat://HOST:PORT.)
    #[arg(long)]
    flat: bool,
    /// The revision of RC that the nodes speak: 1.03, 3.00 or 5.00.
    #[arg(long, value_name = "REVISION", default_value = "3.00")]
    rc: e2sm::rc::Revision,
    /// Handovers that each node begins by itself in a minute.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=600))]
    handovers_per_minute: u16,
    #[command(flatten)]
    tls: tls::TlsArgs,
    #[command(flatten)]
    record: record::RecordArgs,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let recorder = args.record.start()?;
    let mut config = RanConfig {
        tls: args.tls.load(None)?,
        tap: recorder.as_ref().map(|recorder| recorder.tap(Protocol::E2)),
        scenario: Scenario::crowd(args.nodes, args.ues, args.seed),
        e2ap_version: args.e2ap,
        kpm_revision: args.kpm,
        wire: if args.flat { Wire::Flat } else { Wire::Per },
        rc_revision: args.rc,
        handovers_per_minute: args.handovers_per_minute,
        ..RanConfig::default()
    };
    if args.flat {
        config.periodic.wire = Wire::Flat;
    }
    if !args.ric.is_empty() {
        config.rics.clone_from(&args.ric);
    }
    let mut ran = Ran::new(config)?;
    signals::stop_on_signal(vec![ran.stop()])?;
    ran.run()?;
    Ok(())
}
