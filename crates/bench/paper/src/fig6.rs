//! Figure 6b: the processor time of an agent over UEs.

use bench::part::{Encoding, Load};

use crate::load::{COMPARABLE, Crowd};
use crate::table::Table;
use crate::{Context, Figure, FigureReport, Setting};
use plot::{Panel, Plot, X};

const UES: [u16; 6] = [1, 2, 4, 8, 16, 32];
/// The cores of the host on which the paper ran an LTE cell.
const PAPER_CORES: f64 = 8.0;
/// The largest difference between the paper's two agents, in percent of that host.
const MARGIN_PERCENT: f64 = 1.0;

pub(super) fn fig6b(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let mut table = Table::new([
        "ues",
        "cpu_percent",
        "cpu_percent_of_8_cores",
        "us_per_report",
        "reports_per_s",
        "per_cpu_percent",
    ]);
    let mut holds = false;
    for ues in UES {
        let crowd = Crowd { nodes: 1, ues, load: Load::Statistics, encoding: Encoding::Flat, period_ms: 1 };
        let flat = crowd.on_ours(Encoding::Flat, false, context.seconds)?;
        let per = Crowd { encoding: Encoding::Per, ..crowd }.on_ours(Encoding::Per, false, context.seconds)?;
        let (cpu, of_host) = (flat.agents_cpu_percent, flat.agents_cpu_percent / PAPER_CORES);
        let us_per_report = cpu / 100.0 * 1e6 / flat.reports_per_s;
        let values = [f64::from(ues), cpu, of_host, us_per_report, flat.reports_per_s, per.agents_cpu_percent];
        table.row(values.map(Into::into));
        // the last row has the most UEs
        holds = of_host <= MARGIN_PERCENT && crowd.delivered(&flat) >= COMPARABLE;
    }
    let series = vec![
        table.series("E2AP and models in FlatBuffers", Some("ues"), "cpu_percent"),
        table.series("E2AP and models in PER", Some("ues"), "per_cpu_percent"),
    ];
    let panel =
        Panel { x: X::Numbers("UEs".into()), y_label: "agent CPU, % of a core".into(), series, marks: Vec::new() };
    Ok(FigureReport {
        figure: Figure::Fig6b,
        setting: Setting {
            paper: "OpenAirInterface's L2 simulator, LTE, on 8 cores at 3.2 GHz, with the agent in it: MAC, RLC and PDCP \
                    statistics without HARQ each millisecond, in FlatBuffers; 1 to 32 UEs; FlexRAN's agent beside it",
            ours: "an agent in a process of its own, whose MAC, RLC and PDCP functions report each millisecond, in FlatBuffers \
                   and in PER, to a controller in another; 1 to 32 UEs with one bearer each",
            differs: vec![
                "there is no base station: synthetic counters, and the whole process is the agent",
                "FlexRAN is not measured",
                "TCP over loopback, not SCTP",
            ],
        },
        plot: Plot { title: "Fig. 6b: an agent's CPU over UEs, three models at 1 kHz".into(), panels: vec![panel] },
        claim: "the agent costs a base station little processor time for any number of UEs: up to 1 % of the host's less than \
                FlexRAN's agent at 32 UEs",
        judged: "at 32 UEs the whole agent uses at most that margin, 1 % of 8 cores as the paper's, and sends at least 90 % of the \
                 reports",
        statements: Vec::new(),
        holds: Some(holds),
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    })
}
