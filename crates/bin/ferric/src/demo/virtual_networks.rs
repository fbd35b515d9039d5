//! `ferric demo --virtual`

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::ran::scenario::ScenarioFolders;
use ::ran::{Ran, RanConfig, Scenario};
use ::ric::{Ric, RicConfig};
use anyhow::{Context, anyhow};
use ferric::StopHandle;
use ferric::link::Address;
use ferric::xapp::{KpmStream, SliceShare};
use virtualization::Sla;

/// A cell with two UEs of each operator, which always have data.
const SCENARIO: &str = "
    [[cell]]
    [[ue]]
    count = 2
    plmn = \"00101\"
    sinr_db = 18
    [[ue.flow]]
    kind = \"greedy\"
    [[ue]]
    count = 2
    plmn = \"00102\"
    sinr_db = 18
    [[ue.flow]]
    kind = \"greedy\"
";
const THROUGHPUT: &str = "DRB.UEThpDl";
const PERIOD: Duration = Duration::from_secs(1);
/// The shares of A in percent: at first, and in the last third.
const SHARES: [u32; 2] = [50, 75];
const DEFAULT_SECONDS: u32 = 24;
/// The longest time until the xApps have UEs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A RIC on a thread.
struct Part {
    stop: StopHandle,
    thread: JoinHandle<Result<(), ferric::Error>>,
}

impl Part {
    fn start(ric: Ric) -> anyhow::Result<Part> {
        let stop = ric.server.stop_handle();
        let thread = thread::Builder::new().name("ric".into()).spawn(move || {
            let mut ric = ric;
            ric.server.run()
        })?;
        Ok(Part { stop, thread })
    }

    fn end(self) -> anyhow::Result<()> {
        self.stop.stop();
        Ok(self.thread.join().map_err(|_| anyhow!("a RIC panicked"))??)
    }
}

fn config() -> RicConfig {
    let any = || Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let mut config = RicConfig::default();
    config.server.e2 = vec![any().into()];
    config.server.xapp = Some(any());
    config
}

/// An operator: its controller, and an xApp of it.
struct Operator {
    name: &'static str,
    plmn: &'static str,
    e2: Address,
    ric: Part,
    xapp: ferric::xapp::Ric,
}

impl Operator {
    fn start(name: &'static str, plmn: &'static str) -> anyhow::Result<Operator> {
        let ric = ::ric::bind(config())?;
        let e2 = ric.server.e2_addresses().next().cloned().context("the RIC has no address for E2")?;
        let xapp = ric.server.xapp_address().cloned().context("the RIC has no address for xApps")?;
        let ric = Part::start(ric)?;
        let xapp = ferric::xapp::Ric::options().address(xapp.to_string()).name("demo").connect()?;
        Ok(Operator { name, plmn, e2, ric, xapp })
    }
}

fn agreements(operators: &[Operator; 2], share_of_a: u32) -> anyhow::Result<Sla> {
    let tenant = |operator: &Operator, share: u32| {
        let Operator { name, plmn, e2, .. } = operator;
        format!("[[tenant]]\nname = \"{name}\"\nshare_percent = {share}\nplmn = \"{plmn}\"\nric = \"{e2}\"\n")
    };
    Ok(Sla::parse(&(tenant(&operators[0], share_of_a) + &tenant(&operators[1], 100 - share_of_a)))?)
}

/// Reads the throughput of an operator's UEs, in Mbit/s, by the order of their names.
struct Reader {
    stream: KpmStream,
    ues: std::collections::BTreeMap<String, f64>,
}

impl Reader {
    /// Reads what has arrived.
    fn read(&mut self) -> anyhow::Result<()> {
        while let Some(record) = self.stream.try_next()? {
            if let (Some(ue), Some(kbps)) = (&record.ue, record.number(THROUGHPUT)) {
                self.ues.insert(ue.to_string(), kbps / 1000.0);
            }
        }
        Ok(())
    }
}

/// Two operators share a base station. Each has a controller of its own, and an xApp that measures its UEs.
pub fn run(seconds: Option<u32>) -> anyhow::Result<()> {
    let operators = [Operator::start("A", "00101")?, Operator::start("B", "00102")?];
    let mut host = config();
    host.virtual_networks = Some(agreements(&operators, SHARES[0])?);
    let host = ::ric::bind(host)?;
    let sla = host.sla().cloned().context("the RIC has no agreements")?;
    let e2 = host.server.e2_addresses().next().cloned().context("the RIC has no address for E2")?;
    let host = Part::start(host)?;
    let scenario = Scenario::from_toml(SCENARIO, &ScenarioFolders::with_traces(std::path::Path::new(".")))?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let ran = thread::Builder::new().name("ran".into()).spawn(move || {
        let mut ran = Ran::new(RanConfig { rics: vec![e2.into()], scenario, ..RanConfig::default() })?;
        let _ = sender.send(ran.stop_handle());
        ran.run().map_err(anyhow::Error::from)
    })?;
    let ran_stop = receiver.recv();

    let result = show(&operators, &sla, seconds.unwrap_or(DEFAULT_SECONDS).max(3));
    // all ends see the others go
    program::set_log_level(tracing::level_filters::LevelFilter::OFF);
    if let Ok(stop) = ran_stop {
        stop.stop();
    }
    ran.join().map_err(|_| anyhow!("the RAN panicked"))??;
    host.end()?;
    for operator in operators {
        operator.xapp.close();
        operator.ric.end()?;
    }
    result
}

fn show(operators: &[Operator; 2], sla: &virtualization::SlaHandle, seconds: u32) -> anyhow::Result<()> {
    program::outln!(
        "one base station, two operators with a controller each; both agree on {} % of the cell",
        SHARES[0]
    );
    let mut readers = Vec::new();
    for operator in operators {
        let stream = operator.xapp.kpm([THROUGHPUT]).every(PERIOD.as_millis() as u32)?;
        readers.push(Reader { stream, ues: Default::default() });
    }
    let begun = Instant::now();
    while readers.iter().any(|reader| reader.ues.len() < 2) {
        thread::sleep(PERIOD / 10);
        readers.iter_mut().try_for_each(Reader::read)?;
        if begun.elapsed() > PATIENCE {
            anyhow::bail!("the operators' xApps see no UEs after {} s", PATIENCE.as_secs());
        }
    }
    program::outln!("{:>5}  {:>22}  {:>22}", "", "A: UE 1   UE 2    sum", "B: UE 1   UE 2    sum  Mbit/s");
    let begun = Instant::now();
    let mut last = [0.0; 2];
    for second in 1..=seconds {
        if second == seconds / 3 + 1 {
            let slices = operators[0].xapp.slices();
            slices.set([SliceShare::new(1, 66.0), SliceShare::new(2, 34.0)])?;
            for (ue, slice) in operators[0].xapp.ues()?.iter().zip(1..) {
                ue.slice(slice)?;
            }
            program::outln!("A divides its network: slices of 66 % and 34 %, a UE in each");
        }
        if second == 2 * seconds / 3 + 1 {
            sla.replace(agreements(operators, SHARES[1])?);
            program::outln!("new agreement: A has {} %, B {} %", SHARES[1], 100 - SHARES[1]);
        }
        thread::sleep((begun + second * PERIOD).saturating_duration_since(Instant::now()));
        readers.iter_mut().try_for_each(Reader::read)?;
        let mut line = format!("{second:>3} s ");
        for (reader, sum) in readers.iter().zip(&mut last) {
            let mbps: Vec<f64> = reader.ues.values().copied().collect();
            *sum = mbps.iter().sum();
            line += &format!("  {:>8.1} {:>6.1} {sum:>6.1}", mbps[0], mbps[1]);
        }
        program::outln!("{line}");
    }
    program::outln!("tenants=2 a_mbps={:.1} b_mbps={:.1}", last[0], last[1]);
    Ok(())
}
