//! `[cell.traffic_control]`: the initial traffic control of bearers. Plug-ins are loaded by name.

use std::net::Ipv4Addr;

use radio::tc::{
    ClassifierChoice, Configuration, DelayTarget, DisciplineChoice, Divert, FlowPattern, MAX_FILTERS, MAX_QUEUES,
    OsiFilter, PacerChoice, PolicerSettings, QueueConfiguration, QueueId, SchedulerChoice, ShaperSettings,
};
use tc_plugin::Plugin;

use super::ScenarioFolders;
use settings::{Error, Table, TableKeys};

pub const TRAFFIC_CONTROL: TableKeys =
    TableKeys { name: "[cell.traffic_control]", keys: &["classifier", "scheduler", "pacer", "queue", "filter"] };
pub const QUEUE: TableKeys = TableKeys {
    name: "[[cell.traffic_control.queue]]",
    keys: &[
        "id",
        "discipline",
        "target_ms",
        "interval_ms",
        "limit_octets",
        "drop_rate_bps",
        "divert_rate_bps",
        "divert_to",
        "shaper_rate_bps",
        "shaper_window_ms",
        "priority",
        "quantum_octets",
    ],
};
pub const FILTER: TableKeys = TableKeys {
    name: "[[cell.traffic_control.filter]]",
    keys: &["id", "queue", "source", "destination", "source_port", "destination_port", "protocol"],
};
pub const PART: TableKeys = TableKeys { name: "a custom part", keys: &["part", "settings"] };

/// The range of queue and filter ids in E2.
const NUMBERS: std::ops::RangeInclusive<i64> = 0..=2_147_483_647;
const RATES_BPS: std::ops::RangeInclusive<i64> = 1_000..=4_000_000_000_000;

/// Reads the traffic control of a cell.
pub fn configuration(table: &Table<'_>, folders: &ScenarioFolders<'_>) -> Result<Configuration, Error> {
    let default = Configuration::default();
    let tables = table.tables("queue", &QUEUE, MAX_QUEUES)?;
    let queues: Vec<_> = tables.iter().map(|table| queue(table, folders)).collect::<Result<_, _>>()?;
    let filters = table.tables("filter", &FILTER, MAX_FILTERS)?;
    let configuration = Configuration {
        classifier: classifier(table, &filters, folders)?,
        scheduler: scheduler(table, &tables, folders)?,
        pacer: match part(table, "pacer", folders)? {
            Some((plugin, settings)) => {
                plugin.pacer(settings).map_err(|why| table.invalid("pacer", why.to_string()))?
            }
            None => match table.choice("pacer", &[("off", false), ("5g-bdp", true)])? {
                Some(true) => PacerChoice::Bdp5g,
                _ => PacerChoice::Off,
            },
        },
        queues: if queues.is_empty() { default.queues } else { queues },
    };
    configuration.check().map_err(|refused| table.invalid_table(refused))?;
    Ok(configuration)
}

/// Loads a custom part, which is a table in place of a name. Returns it with its settings.
fn part<'t>(
    table: &Table<'t>,
    key: &'static str,
    folders: &ScenarioFolders<'_>,
) -> Result<Option<(Plugin, &'t str)>, Error> {
    if !table.contains(key) || table.is_text(key) {
        return Ok(None);
    }
    let Some(table) = table.table(key, &PART)? else { return Ok(None) };
    let name = table.text("part", "the name of a plug-in")?;
    let name = name.ok_or_else(|| table.missing("part", "the name of a plug-in in the plug-in folder"))?;
    let settings = table.text("settings", "the settings of the plug-in")?.unwrap_or("");
    let plugin = Plugin::load(name, folders.tc_plugins);
    let in_folder = |why| format!("cannot load {name} from {}: {why}", folders.tc_plugins.display());
    Ok(Some((plugin.map_err(|why| table.invalid("part", in_folder(why)))?, settings)))
}

fn classifier(
    table: &Table<'_>,
    filters: &[Table<'_>],
    folders: &ScenarioFolders<'_>,
) -> Result<ClassifierChoice, Error> {
    let choice = match part(table, "classifier", folders)? {
        Some((plugin, settings)) => {
            plugin.classifier(settings).map_err(|why| table.invalid("classifier", why.to_string()))?
        }
        None => {
            let words = [("round-robin", 0), ("osi", 1), ("stochastic", 2)];
            let otherwise = if filters.is_empty() { 0 } else { 1 };
            match table.choice("classifier", &words)?.unwrap_or(otherwise) {
                0 => ClassifierChoice::RoundRobin,
                1 => ClassifierChoice::Osi(filters.iter().map(filter).collect::<Result<_, _>>()?),
                _ => ClassifierChoice::Stochastic,
            }
        }
    };
    if !filters.is_empty() && !matches!(choice, ClassifierChoice::Osi(_)) {
        return Err(table.invalid("filter", "filters require the classifier \"osi\""));
    }
    Ok(choice)
}

fn scheduler(table: &Table<'_>, queues: &[Table<'_>], folders: &ScenarioFolders<'_>) -> Result<SchedulerChoice, Error> {
    if let Some((plugin, settings)) = part(table, "scheduler", folders)? {
        return plugin.scheduler(settings).map_err(|why| table.invalid("scheduler", why.to_string()));
    }
    let words = [("round-robin", 0), ("priority", 1), ("deficit-round-robin", 2)];
    let choice = table.choice("scheduler", &words)?.unwrap_or(0);
    for (key, of, name) in [("priority", 1, "priority"), ("quantum_octets", 2, "deficit-round-robin")] {
        if let Some(queue) = queues.iter().find(|queue| queue.contains(key)).filter(|_| choice != of) {
            return Err(queue.invalid(key, format!("requires the scheduler \"{name}\"")));
        }
    }
    let of_queues = |key, range: std::ops::RangeInclusive<i64>, otherwise: u32| -> Result<Vec<u32>, Error> {
        let each = queues.iter().map(|queue| Ok(queue.integer(key, range.clone())?.unwrap_or(otherwise)));
        let each: Vec<u32> = each.collect::<Result<_, Error>>()?;
        Ok(if each.is_empty() { vec![otherwise] } else { each })
    };
    Ok(match choice {
        0 => SchedulerChoice::RoundRobin,
        1 => SchedulerChoice::Priority(of_queues("priority", NUMBERS, 0)?),
        _ => SchedulerChoice::DeficitRoundRobin(of_queues("quantum_octets", 1..=1_000_000, 1514)?),
    })
}

fn queue(table: &Table<'_>, folders: &ScenarioFolders<'_>) -> Result<QueueConfiguration, Error> {
    let id = table.integer("id", NUMBERS)?.ok_or_else(|| table.missing("id", "the number of the queue"))?;
    let (discipline, has_target) = match part(table, "discipline", folders)? {
        Some((plugin, settings)) => {
            let custom = plugin.discipline(settings).map_err(|why| table.invalid("discipline", why.to_string()))?;
            (custom, false)
        }
        None => {
            let default = DelayTarget::default();
            let ms = 1..=100_000;
            let target = DelayTarget {
                target_ms: table.integer("target_ms", ms.clone())?.unwrap_or(default.target_ms),
                interval_ms: table.integer("interval_ms", ms)?.unwrap_or(default.interval_ms),
            };
            let words = [("fifo", 0), ("codel", 1), ("ecn", 2)];
            match table.choice("discipline", &words)?.unwrap_or(0) {
                0 => (DisciplineChoice::Fifo, false),
                1 => (DisciplineChoice::CoDel(target), true),
                _ => (DisciplineChoice::EcnCoDel(target), true),
            }
        }
    };
    if let Some(key) = ["target_ms", "interval_ms"].into_iter().find(|key| table.contains(key)).filter(|_| !has_target)
    {
        return Err(table.invalid(key, "requires the discipline \"codel\" or \"ecn\""));
    }
    let mut queue = QueueConfiguration::new(QueueId(id), discipline);
    queue.limit_octets = table.integer("limit_octets", 1..=1_000_000_000)?.unwrap_or(queue.limit_octets);
    let drop_rate_bps: Option<u64> = table.integer("drop_rate_bps", RATES_BPS)?;
    let divert_rate_bps: Option<u64> = table.integer("divert_rate_bps", RATES_BPS)?;
    let divert_to = table.integer("divert_to", NUMBERS)?.map(QueueId);
    let divert = match (divert_rate_bps, divert_to) {
        (Some(rate_bps), Some(to)) => Some(Divert { rate_bps, to }),
        (None, None) => None,
        _ => return Err(table.invalid_table("`divert_rate_bps` and `divert_to` require each other")),
    };
    queue.policer = match (drop_rate_bps, divert) {
        (Some(drop_rate_bps), divert) => Some(PolicerSettings { drop_rate_bps, divert }),
        (None, Some(_)) => return Err(table.missing("drop_rate_bps", "`divert_rate_bps` applies below this rate")),
        (None, None) => None,
    };
    let window_ms = table.integer("shaper_window_ms", 1..=100_000)?;
    queue.shaper = match table.integer("shaper_rate_bps", RATES_BPS)? {
        Some(rate_bps) => Some(ShaperSettings { rate_bps, window_ms: window_ms.unwrap_or(100) }),
        None if window_ms.is_some() => return Err(table.missing("shaper_rate_bps", "`shaper_window_ms` requires it")),
        None => None,
    };
    Ok(queue)
}

fn filter(table: &Table<'_>) -> Result<OsiFilter, Error> {
    let number = |key| table.integer(key, NUMBERS);
    let address = |key| -> Result<Option<Ipv4Addr>, Error> {
        let Some(text) = table.text(key, "an IPv4 address")? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| table.invalid(key, format!("\"{text}\" is not an IPv4 address")))
    };
    let queue = number("queue")?.ok_or_else(|| table.missing("queue", "the queue of matching packets"))?;
    Ok(OsiFilter {
        id: number("id")?.ok_or_else(|| table.missing("id", "the number of the filter"))?,
        queue: QueueId(queue),
        flow: FlowPattern {
            source: address("source")?,
            destination: address("destination")?,
            source_port: table.integer("source_port", 0..=65_535)?,
            destination_port: table.integer("destination_port", 0..=65_535)?,
            protocol: table.integer("protocol", 0..=255)?,
        },
    })
}
