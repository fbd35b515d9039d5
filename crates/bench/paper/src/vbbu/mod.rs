//! The measurements of paper 004 (Ocampo et al., "Assessing the Cloud-RAN in the Linux Kernel: Sharing Computing and Network
//! Resources", Sensors 2024, 24(7), 2365), with an emulated unit, and the dynamic policy that the paper leaves open.

mod background;
mod dynamic;
pub(super) mod host;
mod load;
mod nacks;
mod policy;
mod pool;
mod rig;
mod round_trip;
mod tables;
mod unit;
mod wilcoxon;

use crate::{Context, Figure, FigureReport, Setting, Statement};

const PAPER: &str = "OAI's LTE eNB 2.0.0 with 25 resource blocks, a B210 and one phone; eight CPUs (i7-8750H), low-latency Linux 5.3.28; an \
                     Intel 82575 with an interrupt per queue; TCP at 10 Mbit/s; six runs of 10 min each";
const OURS: &str = "`ferric vbbu` with 25 resource blocks and one UE at 10 Mbit/s through GTP-U over veth; policies of `ferric cpu`; three \
                    rounds of all blocks in turn, each of `--seconds`";

/// The differences that all measurements have.
fn differs() -> Vec<&'static str> {
    vec![
        "an emulated unit and an emulated cell: work of the real-time threads by kernels of a measured cost",
        "as few as two CPUs, with affinities on all of them below four, where the paper has four of eight for the unit",
        "veth in place of a network device: no interrupts and no SR-IOV; IA sets the CPU of received packets by RPS, on both devices",
        "a kernel without PREEMPT_RT or low-latency patch",
        "idle CPUs poll (/dev/cpu_dma_latency: 0 us, where OAI requests 10 us), since a virtual CPU that sleeps wakes late",
        "blocks of seconds, not minutes; UDP, not TCP",
        "Kernel: 100,000 packets/s, not 1 Gbit/s; sender and receiver share the host",
        "the paper's tables show six of the nine threads: only these are judged",
    ]
}

fn setting() -> Setting {
    Setting { paper: PAPER, ours: OURS, differs: differs() }
}

/// Whether a claim holds: all of its statements do. Undecided where the host was disturbed, and where a statement that is not measured
/// could refute it.
fn verdict(is_quiet: bool, statements: &[Statement]) -> Option<bool> {
    let holds = Statement::all(statements).filter(|_| is_quiet)?;
    let is_whole = statements.iter().all(|statement| statement.holds.is_some());
    (is_whole || !holds).then_some(holds)
}

pub use background::run as run_background;

/// Measures one figure or table.
///
/// # Errors
/// Without root, or where a program is missing.
pub(super) fn figure(context: &Context<'_>, figure: Figure) -> anyhow::Result<FigureReport> {
    match figure {
        Figure::VbbuTable2 => tables::table2(context),
        Figure::VbbuTable3 => tables::table3(context),
        Figure::VbbuTable4 => tables::table4(context),
        Figure::VbbuTable5 => tables::table5(context),
        Figure::VbbuFig5 => nacks::fig5(context),
        Figure::VbbuFig6 => round_trip::fig6(context),
        Figure::VbbuFig7 => nacks::fig7(context),
        Figure::VbbuFig11 => pool::fig11(context),
        Figure::VbbuDynamic => dynamic::dynamic(context),
        _ => anyhow::bail!("{} is not a figure of paper 004", figure.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_with_a_statement_that_is_not_measured_is_refuted_or_undecided() {
        let statements = |holds: &[Option<bool>]| -> Vec<Statement> {
            holds.iter().map(|holds| Statement::new("it is so", "1".into(), *holds)).collect()
        };
        for (holds, is_quiet, expected) in [
            (&[Some(true), Some(true)][..], true, Some(true)),
            (&[Some(true), None], true, None),
            (&[Some(false), None], true, Some(false)),
            (&[Some(true), Some(false)], true, Some(false)),
            (&[Some(true)], false, None),
            (&[Some(false)], false, None),
            (&[], true, None),
        ] {
            assert_eq!(verdict(is_quiet, &statements(holds)), expected, "{holds:?}");
        }
    }
}
