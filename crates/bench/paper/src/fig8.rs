//! Figure 8: the processor time and memory of a controller with a monitoring app.

use bench::meter::Sample;
use bench::part::{Encoding, Load};

use crate::load::{COMPARABLE, Crowd, SAMPLE_COLUMNS, cells};
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Setting, Statement};
use plot::{Panel, Plot, X};

/// All statistics of 32 UEs each millisecond, in FlatBuffers.
const CROWD: Crowd = Crowd { nodes: 1, ues: 32, load: Load::Statistics, encoding: Encoding::Flat, period_ms: 1 };
const AGENTS_8A: [u16; 5] = [1, 2, 4, 7, 10];
const AGENTS_8B: [u16; 6] = [1, 2, 4, 8, 12, 18];
/// Agents that report each 10 ms.
const SLOW_AGENTS: u16 = 100;
/// The least ratio that counts as "around four times": it rounds to four.
const FOUR_TIMES: f64 = 3.5;
/// The paper's signalling rate with 18 agents, and the least that counts as almost that.
const PAPER_MBIT: f64 = 700.0;
const ALMOST: f64 = 0.9;

pub(super) fn fig8a(context: &mut Context<'_>) -> anyhow::Result<FigureReport> {
    let mut columns = vec!["agents".to_owned()];
    columns.extend(
        ["cpu_percent", "rss_mib", "decoding_cpu_percent", "decoding_rss_mib", "reports_per_s"].map(Into::into),
    );
    for peer in context.peers {
        columns.extend(SAMPLE_COLUMNS.map(|column| format!("{}_{column}", peer.name)));
    }
    let mut table = Table::new(columns);
    // with the most agents
    let (mut ours, mut theirs) = (None, Vec::new());
    for nodes in AGENTS_8A {
        let crowd = Crowd { nodes, encoding: context.options.encoding, ..CROWD };
        let kept = crowd.on_ours(Encoding::Flat, false, context.seconds)?;
        let decoded = crowd.on_ours(Encoding::Flat, true, context.seconds)?;
        let mut row = vec![f64::from(nodes).into(), kept.cpu_percent.into(), kept.rss_mib.into()];
        row.extend([decoded.cpu_percent.into(), decoded.rss_mib.into(), kept.reports_per_s.into()]);
        theirs.clear();
        for sample in context.of_peers(&crowd) {
            row.extend(cells(sample));
            theirs.extend(sample.filter(|sample| crowd.delivered(sample) >= COMPARABLE));
        }
        table.row(row);
        ours = Some(kept);
    }
    let panel = |what: &str, y_label: &str| {
        let mut series = vec![table.series("ferric, reports kept as octets", Some("agents"), what)];
        series.push(table.series("ferric, reports decoded", Some("agents"), &format!("decoding_{what}")));
        let of_peer = |peer: &super::Peer| table.series(&peer.name, Some("agents"), &format!("{}_{what}", peer.name));
        series.extend(context.peers.iter().map(of_peer));
        Panel { x: X::Numbers("agents".into()), y_label: y_label.into(), series, marks: Vec::new() }
    };
    let panels = vec![panel("cpu_percent", "controller CPU, % of a core"), panel("rss_mib", "controller memory, MiB")];
    Ok(FigureReport {
        figure: Figure::Fig8a,
        setting: Setting {
            paper: "a controller of the server library and a statistics app that keeps the reports, compared with FlexRAN; a 12-core \
                    i7 at 3.2 GHz; agents to controller only",
            ours: "a controller of the server library and an internal app that keeps each function's newest report, as its \
                   octets or decoded into records; agents of 32 UEs, one bearer each, that report MAC, RLC and PDCP each \
                   millisecond; E2AP and models in FlatBuffers; agents and controller a process each",
            differs: vec![
                "FlexRAN is not measured: our own numbers, and those of peers",
                "TCP over loopback, not SCTP",
                "our records are those of today's FlexRIC: about three times the octets of 2021",
            ],
        },
        plot: Plot { title: "Fig. 8a: a monitoring controller over its agents".into(), panels },
        claim: "for the same statistics FlexRIC takes a tenth of FlexRAN's processor time and a third of its memory",
        judged: "only with a peer whose process is known and that subscribes to the same reports: at most a tenth of its processor \
                 time and a third of its memory with the most agents",
        statements: Vec::new(),
        holds: verdict(ours, &theirs),
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    })
}

/// Whether our processor time is at most a tenth, and our memory a third, of each peer's; `None` without a peer.
fn verdict(ours: Option<Sample>, theirs: &[Sample]) -> Option<bool> {
    let ours = ours.and_then(|sample| sample.cpu_percent.zip(sample.rss_mib))?;
    let theirs: Option<Vec<_>> = theirs.iter().map(|sample| sample.cpu_percent.zip(sample.rss_mib)).collect();
    let theirs = theirs.filter(|theirs| !theirs.is_empty())?;
    Some(theirs.iter().all(|(cpu, rss)| 10.0 * ours.0 <= *cpu && 3.0 * ours.1 <= *rss))
}

pub(super) fn fig8b(context: &mut Context<'_>) -> anyhow::Result<FigureReport> {
    let mut columns =
        ["agents", "period_ms", "per_cpu_percent", "flat_cpu_percent", "per_over_flat"].map(str::to_owned).to_vec();
    columns.extend(["flat_mbit_per_s", "flat_delivered_percent", "agents_cpu_percent"].map(str::to_owned));
    for peer in context.peers {
        columns.extend(SAMPLE_COLUMNS.map(|column| format!("{}_{column}", peer.name)));
    }
    let mut table = Table::new(columns);
    let mut ratios = Vec::new();
    let (mut delivered, mut mbit_per_s) = ([Vec::new(), Vec::new()], 0.0);
    let all = Crowd { encoding: context.options.encoding, ..CROWD };
    let slow = Crowd { nodes: SLOW_AGENTS, period_ms: 10, ..all };
    for crowd in AGENTS_8B.map(|nodes| Crowd { nodes, ..all }).into_iter().chain([slow]) {
        let per = crowd.on_ours(Encoding::Per, false, context.seconds)?;
        let flat = crowd.on_ours(Encoding::Flat, false, context.seconds)?;
        // per report, since a slow machine sends fewer reports
        let of_report = |sample: &Sample| sample.cpu_percent.map(|cpu| cpu / sample.reports_per_s.max(1.0));
        let ratio = of_report(&per).zip(of_report(&flat)).map(|(per, flat)| per / flat);
        ratios.extend(ratio);
        delivered[usize::from(crowd.period_ms == slow.period_ms)].push(crowd.delivered(&flat));
        if crowd.period_ms == all.period_ms {
            mbit_per_s = flat.mbit_per_s;
        }
        let mut row: Vec<Cell> = vec![f64::from(crowd.nodes).into(), f64::from(crowd.period_ms).into()];
        row.extend([per.cpu_percent.into(), flat.cpu_percent.into(), ratio.into(), flat.mbit_per_s.into()]);
        row.extend([(100.0 * crowd.delivered(&flat)).into(), flat.agents_cpu_percent.into()]);
        context.of_peers(&crowd).into_iter().for_each(|sample| row.extend(cells(sample)));
        table.row(row);
    }
    let ratio = bench::median(ratios);
    // the slower agents are not part of the line
    let fast = Table { columns: table.columns.clone(), rows: table.rows[..AGENTS_8B.len()].to_vec() };
    let mut series = vec![fast.series("ferric, E2AP in PER", Some("agents"), "per_cpu_percent")];
    series.push(fast.series("ferric, E2AP in FlatBuffers", Some("agents"), "flat_cpu_percent"));
    for peer in context.peers {
        series.push(fast.series(&peer.name, Some("agents"), &format!("{}_cpu_percent", peer.name)));
    }
    let least_percent = |delivered: &[f64]| 100.0 * delivered.iter().copied().fold(f64::INFINITY, f64::min);
    let [fast_percent, slow_percent] = [least_percent(&delivered[0]), least_percent(&delivered[1])];
    let statements = vec![
        Statement::new(
            "E2AP in ASN.1 takes the controller around four times the processor time of FlatBuffers (section 5.3; at least 3.5 times, by \
             the median of the rows, for a report)",
            format!("{ratio:.2} times; here the controller reads only the ids of an indication, in either encoding"),
            ratio >= FOUR_TIMES,
        ),
        Statement::new(
            "18 agents that report each millisecond are served in FlatBuffers (at least 90 % of the reports, for each number of agents)",
            format!("at least {fast_percent:.0} %"),
            fast_percent >= 100.0 * COMPARABLE,
        ),
        Statement::new(
            "their signalling is almost 700 Mbit/s (at least 90 % of that; our records are larger)",
            format!("{mbit_per_s:.0} Mbit/s"),
            mbit_per_s >= ALMOST * PAPER_MBIT,
        ),
        Statement::new(
            "100 agents that report each 10 ms are served (at least 90 % of the reports)",
            format!("{slow_percent:.0} %"),
            slow_percent >= 100.0 * COMPARABLE,
        ),
    ];
    let panel = Panel {
        x: X::Numbers("agents".into()),
        y_label: "controller CPU, % of a core".into(),
        series,
        marks: Vec::new(),
    };
    Ok(FigureReport {
        figure: Figure::Fig8b,
        setting: Setting {
            paper: "dummy agents, each with MAC, RLC and PDCP statistics of 32 UEs each millisecond in FlatBuffers; E2AP in \
                    FlatBuffers or ASN.1; up to 18 agents, almost 700 Mbit/s; 100 agents at 10 ms",
            ours: "the same, with the controller of Fig. 8a that keeps octets; agents are one process, the controller another",
            differs: vec![
                "agents and controller share this host's cores: below 100 delivered_percent, the agents lacked processor time",
                "TCP over loopback, not SCTP",
                "our records are those of today's FlexRIC: about three times the octets of 2021",
            ],
        },
        plot: Plot { title: "Fig. 8b: a controller's CPU by the encoding of E2AP".into(), panels: vec![panel] },
        claim: "E2AP in FlatBuffers takes the controller about a quarter of the processor time of E2AP in ASN.1; 18 agents at \
                1 ms and 100 agents at 10 ms are served",
        judged: "statement by statement; the claim holds if all do",
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values: table,
        summary: None,
        samples: None,
        course: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpu_percent: Option<f64>, rss_mib: f64) -> Sample {
        let rss_mib = cpu_percent.map(|_| rss_mib);
        Sample { cpu_percent, rss_mib, reports_per_s: 30_000.0, mbit_per_s: 1000.0, agents_cpu_percent: 10.0 }
    }

    #[test]
    fn verdict_needs_measured_peers() {
        let ours = Some(sample(Some(2.0), 10.0));
        assert_eq!(verdict(ours, &[]), None, "no peer");
        assert_eq!(verdict(ours, &[sample(None, 0.0)]), None, "no process");
        assert_eq!(verdict(ours, &[sample(Some(20.0), 30.0)]), Some(true));
        assert_eq!(verdict(ours, &[sample(Some(19.0), 30.0)]), Some(false));
        assert_eq!(verdict(ours, &[sample(Some(20.0), 29.0)]), Some(false));
        assert_eq!(verdict(ours, &[sample(Some(20.0), 30.0), sample(Some(1.0), 30.0)]), Some(false));
    }
}
