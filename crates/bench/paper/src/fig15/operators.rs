//! Operators with controllers of their own, on eNBs of their own or on a shared one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use e2sm::{Arena, Wire, mac};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use per::Gather;
use ran::scenario::ScenarioFolders;
use ran::{Ran, RanConfig, Scenario};
use serde_json::json;
use virtualization::Sla;

use super::super::testbed::{Addresses, LEAD_S, PATIENCE, Part, Rest, start_ric, start_ric_with};
use super::{PHASES, STEP, UES};

/// The PLMNs of the operators.
const PLMNS: [&str; 2] = ["00101", "00102"];

/// A cell of LTE in band 7 with the UEs of some operators. The rate that is sent to each UE is more than the cell carries. In the third
/// phase, the second UE of operator B receives nothing; in the fourth, none of B's.
fn scenario(bandwidth_mhz: u32, operators: &[usize], phase_s: f64) -> anyhow::Result<Scenario> {
    let mut text = format!(
        "[[cell]]\nrat = \"lte\"\nbandwidth_mhz = {bandwidth_mhz}\nfrequency_mhz = 2655\ndownlink_layers = 1\n"
    );
    for operator in operators {
        for ue in 0..UES {
            let until = match (operator, ue) {
                (1, 0) => format!("stop_s = {}\n", LEAD_S + 3.0 * phase_s),
                (1, _) => format!("stop_s = {}\n", LEAD_S + 2.0 * phase_s),
                _ => String::new(),
            };
            text += &format!(
                "[[ue]]\nplmn = \"{}\"\nmcs = 20\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 40_000_000\npacket_octets = 1400\n{until}",
                PLMNS[*operator]
            );
        }
    }
    Ok(Scenario::from_toml(&text, &ScenarioFolders::with_traces(std::path::Path::new(".")))?)
}

/// An operator: its controller, and an xApp of it that reads the MAC statistics of the operator's UEs.
struct Operator {
    ric: Part<()>,
    addresses: Addresses,
    mac: MacReader,
}

impl Operator {
    fn start() -> anyhow::Result<Self> {
        let (ric, addresses) = start_ric()?;
        let mac = MacReader::start(&addresses)?;
        Ok(Operator { ric, addresses, mac })
    }

    /// The configuration of two sub-slices of 66 % and 34 %, with a UE in each. To be called on a thread of its own, while the RAN is
    /// polled.
    fn configuration(&self) -> impl FnOnce() -> anyhow::Result<()> + Send + 'static {
        let (address, rntis) = (self.addresses.rest, self.mac.octets.keys().copied().collect::<Vec<_>>());
        move || {
            let rest = Rest::new(address)?;
            let path = format!("/v1/nodes/{}", rest.await_node()?);
            let slices = [(1, 66), (2, 34)].map(|(id, share)| json!({ "id": id, "share_percent": share }));
            rest.order("PUT", &format!("{path}/slices/dl"), &json!({ "algorithm": "NVS", "slices": slices }))?;
            (1..).zip(rntis).try_for_each(|(slice, rnti)| {
                rest.order("PUT", &format!("{path}/ues/{rnti}/slices"), &json!({ "dl": slice }))
            })
        }
    }
}

/// Reads the octets that an operator's UEs have received.
struct MacReader {
    xapp: Xapp,
    arena: Arena,
    reports: u64,
    /// The encoding of MAC.
    wire: Wire,
    /// By C-RNTI.
    octets: BTreeMap<u32, u64>,
}

impl MacReader {
    fn start(addresses: &Addresses) -> anyhow::Result<Self> {
        let config = XappConfig { reconnect: None, ..XappConfig::default() };
        let xapp = Xapp::connect(&addresses.xapp, "fig15", config).context("cannot use the RIC")?;
        Ok(MacReader { xapp, arena: Arena::new(), reports: 0, wire: Wire::Per, octets: BTreeMap::new() })
    }

    fn poll(&mut self) -> anyhow::Result<()> {
        let MacReader { xapp, arena, reports, wire, octets } = self;
        let mut failure = None;
        let polled = xapp.poll(Some(Duration::from_millis(1)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let mut functions = node.functions.iter();
                match functions.find_map(|function| Some((function.id, mac::MODEL.wire_of(&function.oid)?))) {
                    Some((function, of_function)) => {
                        *wire = of_function;
                        let spec = traffic::subscription(STEP.as_millis() as u32, of_function);
                        ric.subscribe(node.id, function, spec);
                    }
                    None => failure = Some(anyhow!("{} does not offer MAC", node.global_id)),
                }
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => {
                failure = Some(anyhow!("a subscription failed: {error}"));
            }
            XappEvent::Indication(indication) => {
                arena.reset();
                let gather = Gather::new();
                let decoded = match indication.decode(&gather) {
                    Ok(decoded) => decoded,
                    Err(error) => return failure = Some(error.into()),
                };
                match mac::IndicationMessage::decode(&decoded.message.to_cow(), *wire, arena) {
                    Ok(report) => {
                        *reports += 1;
                        *octets = report.ues.iter().map(|ue| (ue.rnti, ue.dl_aggr_sdu_octets)).collect();
                    }
                    Err(error) => failure = Some(error.into()),
                }
            }
            _ => {}
        });
        polled.context("connection to the RIC lost")?;
        failure.map_or(Ok(()), Err)
    }
}

/// The throughput of each operator's UEs in each step, in Mbit/s.
pub(super) type Course = Vec<[[f64; UES]; 2]>;

/// An infrastructure: eNBs, each with the operators that it serves.
struct Infrastructure {
    rans: Vec<Ran>,
    operators: Vec<Operator>,
    /// The virtualization controller of a shared eNB.
    host: Option<Part<()>>,
}

/// Each operator has an eNB with 25 PRBs.
pub(super) fn dedicated(phase_s: f64) -> anyhow::Result<Course> {
    let operators = vec![Operator::start()?, Operator::start()?];
    let ran = |operator: usize| {
        let rics = vec![operators[operator].addresses.e2.clone()];
        let scenario = scenario(5, &[operator], phase_s)?;
        Ok::<_, anyhow::Error>(Ran::new(RanConfig { rics, scenario, is_stepped: true, ..RanConfig::default() })?)
    };
    let rans = vec![ran(0)?, ran(1)?];
    Infrastructure { rans, operators, host: None }.run(phase_s)
}

/// Both operators share an eNB with 50 PRBs, half of which is agreed for each.
pub(super) fn shared(phase_s: f64) -> anyhow::Result<Course> {
    let operators = vec![Operator::start()?, Operator::start()?];
    let tenant = |number: usize| {
        let (ric, plmn) = (&operators[number].addresses.e2, PLMNS[number]);
        format!(
            "[[tenant]]\nname = \"{}\"\nshare_percent = 50\nplmn = \"{plmn}\"\nric = \"{ric}\"\n",
            ["A", "B"][number]
        )
    };
    let sla = Sla::parse(&(tenant(0) + &tenant(1)))?;
    let (host, addresses) = start_ric_with(|config| config.virtual_networks = Some(sla))?;
    let scenario = scenario(10, &[0, 1], phase_s)?;
    let config = RanConfig { rics: vec![addresses.e2], scenario, is_stepped: true, ..RanConfig::default() };
    Infrastructure { rans: vec![Ran::new(config)?], operators, host: Some(host) }.run(phase_s)
}

impl Infrastructure {
    /// Polls all parts until a condition holds. The model stands.
    fn serve(&mut self, what: &str, mut holds: impl FnMut(&[Operator]) -> bool) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            for ran in &mut self.rans {
                ran.poll(Some(Duration::from_millis(1)))?;
            }
            for operator in &mut self.operators {
                operator.mac.poll()?;
            }
            if holds(&self.operators) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!("{what} takes longer than {} s", PATIENCE.as_secs());
            }
        }
    }

    /// Advances the model until the operators' controllers have received the slices of their base stations, and a report of MAC: base
    /// stations report in the model's time.
    fn set_up(&mut self) -> anyhow::Result<()> {
        let addresses: Vec<_> = self.operators.iter().map(|operator| operator.addresses.rest).collect();
        let clients = std::thread::spawn(move || {
            addresses.into_iter().try_for_each(|address| Rest::new(address)?.await_node().map(drop))
        });
        let begun = Instant::now();
        while !clients.is_finished() || self.operators.iter().any(|operator| operator.mac.reports == 0) {
            for ran in &mut self.rans {
                ran.poll(Some(Duration::from_millis(1)))?;
                // short, so that the setup ends before the lead does
                if ran.up() > 0 && ran.model_time().is_some_and(|now| now.as_secs_f64() < LEAD_S / 2.0) {
                    ran.step(Duration::from_millis(10))?;
                }
            }
            for operator in &mut self.operators {
                operator.mac.poll()?;
            }
            if begun.elapsed() > PATIENCE {
                bail!("the setup takes longer than {} s", PATIENCE.as_secs());
            }
        }
        // all base stations at the same time
        for ran in &mut self.rans {
            let now_s = ran.model_time().map_or(0.0, |now| now.as_secs_f64());
            ran.step(Duration::from_secs_f64(LEAD_S / 2.0 + STEP.as_secs_f64() - now_s))?;
        }
        clients.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Serves a client of REST, which waits for the base stations.
    fn serve_client(
        &mut self,
        what: &str,
        client: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let client = std::thread::spawn(client);
        self.serve(what, |_| client.is_finished())?;
        client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Advances the model by a step, and reads a report of each operator's UEs.
    fn step(&mut self) -> anyhow::Result<()> {
        let before: Vec<u64> = self.operators.iter().map(|operator| operator.mac.reports).collect();
        self.rans.iter_mut().try_for_each(|ran| ran.step(STEP))?;
        self.serve("a report of MAC", |operators| {
            operators.iter().zip(&before).all(|(operator, before)| operator.mac.reports > *before)
        })
    }

    fn run(mut self, phase_s: f64) -> anyhow::Result<Course> {
        self.set_up()?;
        let lead_s = |run: &Self| run.rans[0].model_time().map_or(0.0, |now| now.as_secs_f64());
        while lead_s(&self) + STEP.as_secs_f64() / 2.0 < LEAD_S {
            self.step()?;
        }
        if let Some(operator) = self.operators.iter().find(|operator| operator.mac.octets.len() < UES) {
            bail!("the controller at {} sees {} UEs", operator.addresses.rest, operator.mac.octets.len());
        }
        let steps = (phase_s / STEP.as_secs_f64()).round() as usize;
        let mut course = Course::new();
        for phase in 0..PHASES.len() {
            if phase == 1 {
                let configuration = self.operators[0].configuration();
                self.serve_client("the configuration of slices", configuration)?;
            }
            for _ in 0..steps {
                let before: Vec<_> = self.operators.iter().map(|operator| operator.mac.octets.clone()).collect();
                self.step()?;
                let mut mbps = [[0.0; UES]; 2];
                for ((operator, before), mbps) in self.operators.iter().zip(&before).zip(&mut mbps) {
                    for ((rnti, octets), mbps) in operator.mac.octets.iter().zip(mbps) {
                        let since = octets - before.get(rnti).copied().unwrap_or_default();
                        *mbps = since as f64 * 8e-6 / STEP.as_secs_f64();
                    }
                }
                course.push(mbps);
            }
        }
        let Infrastructure { rans, operators, host } = self;
        drop(rans);
        operators.into_iter().try_for_each(|operator| operator.ric.end())?;
        host.map_or(Ok(()), Part::end)?;
        Ok(course)
    }
}
