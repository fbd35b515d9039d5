//! Scenarios as TOML files.

use std::time::Duration;

use settings::{Document, Element, Error, Table, TableKeys};

use e2ap::Version;

use super::{Fault, FaultKind, Knee, Protocol, Scenario};
use crate::generator::FIRST_PROBE;
use crate::northbound::Requests;
use crate::rest_clients::{Arrivals, RestLoad};
use crate::users::{Crowd, Transmissions, UsersConfig};

const FILE: TableKeys = TableKeys {
    name: "the scenario",
    keys: &[
        "description",
        "seed",
        "warm_up_s",
        "duration_s",
        "repetitions",
        "limit_ms",
        "max_lateness_ms",
        "agents",
        "target",
        "users",
        "transmissions",
        "applications",
        "rest",
        "fault",
        "knee",
    ],
};
const AGENTS: TableKeys = TableKeys {
    name: "[agents]",
    keys: &[
        "count",
        "first",
        "period_ms",
        "slot_us",
        "setups_per_s",
        "ues",
        "max_ues",
        "measurements",
        "southbound",
        "e2ap",
        "confirm_every",
        "probes_per_s",
    ],
};
const TARGET: TableKeys = TableKeys { name: "[target]", keys: &["cores"] };
const USERS: TableKeys = TableKeys {
    name: "[users]",
    keys: &["arrivals_per_s", "holding_mean_s", "holding_sigma", "handovers_per_s", "crowd"],
};
const CROWD: TableKeys = TableKeys { name: "[users.crowd]", keys: &["at_s", "duration_s", "factor"] };
const TRANSMISSIONS: TableKeys = TableKeys { name: "[transmissions]", keys: &["on_mean_s", "off_mean_s"] };
const APPLICATIONS: TableKeys = TableKeys {
    name: "[applications]",
    keys: &["count", "slices_per_s", "tenants", "resubscriptions_per_s", "read_pause_us"],
};
const REST: TableKeys = TableKeys { name: "[rest]", keys: &["clients", "requests_per_s", "arrivals", "paths"] };
const FAULT: TableKeys = TableKeys { name: "[[fault]]", keys: &["kind", "at_s", "duration_s", "count"] };
const KNEE: TableKeys = TableKeys { name: "[knee]", keys: &["from", "until", "tolerance_percent"] };

/// The most agents: they need as many descriptors, and ports of one address.
const MAX_AGENTS: i64 = 60_000;
/// The highest number of a first agent: numbers behind it are left for its agents, below those of probes.
const MAX_FIRST: i64 = FIRST_PROBE as i64 - MAX_AGENTS;
/// The longest slot: 1 ms is that of a subcarrier spacing of 15 kHz, and the longest of radio access.
const MAX_SLOT_US: i64 = 1000;
/// The longest pause of an xApp: it would read the reports of a repetition after its end otherwise.
const MAX_READ_PAUSE_US: i64 = 100_000;
/// The most tenants of an application.
const MAX_TENANTS: i64 = 1000;
/// What REST clients read, unless the file says otherwise: resources of `ferric ric`.
const PATHS: [&str; 3] = ["/v1/nodes", "/v1/xapps", "/v1/subscriptions"];
/// The most steps of a list.
const MAX_STEPS: usize = 64;
/// The most reports per second that a scenario may plan: beyond any host.
const MAX_REPORTS_PER_S: f64 = 5e6;
/// Of each UE, unless the file says otherwise.
const MEASUREMENTS: [&str; 4] = ["DRB.UEThpDl", "DRB.UEThpUl", "RRU.PrbUsedDl", "RRU.PrbUsedUl"];

const AN_HOUR_S: f64 = 3600.0;

pub(super) fn read(name: &str, text: &str) -> Result<Scenario, Error> {
    let document = Document::parse(text)?;
    let file = document.root(&FILE)?;
    let agents = file.table("agents", &AGENTS)?.ok_or_else(|| file.missing("agents", "a table with `count`"))?;
    let counts = numbers(&agents, "count", 1..=MAX_AGENTS)?;
    let counts = counts.ok_or_else(|| agents.missing("count", "numbers of agents, such as [100, 200]"))?;
    let periods_ms = numbers(&agents, "period_ms", 1..=10_000)?.unwrap_or_else(|| vec![100]);
    let (most, shortest) = (counts.iter().max().copied().unwrap_or(0), periods_ms.iter().min().copied().unwrap_or(1));
    let reports_per_s = f64::from(most) * 1000.0 / f64::from(shortest);
    if reports_per_s > MAX_REPORTS_PER_S {
        return Err(agents.invalid(
            "count",
            format!("{most} agents at {shortest} ms are {reports_per_s:.0} reports/s; no host sends more than {MAX_REPORTS_PER_S:.0}"),
        ));
    }
    let slot_us: u32 = agents.integer("slot_us", 1..=MAX_SLOT_US)?.unwrap_or(0);
    if let Some(period_ms) = periods_ms.iter().find(|period_ms| slot_us > 0 && *period_ms * 1000 % slot_us != 0) {
        return Err(agents.invalid("slot_us", format!("a period of {period_ms} ms is no multiple of {slot_us} us")));
    }
    let max_ues = agents.integer("max_ues", 1..=64)?.unwrap_or(8);
    let ues = agents.integer("ues", 1..=64)?.unwrap_or(2);
    if ues > max_ues {
        return Err(
            agents.invalid("ues", format!("{ues} UEs do not fit into a report of at most {max_ues} (`max_ues`)"))
        );
    }
    let southbound = agents.choice("southbound", &Protocol::ALL)?.unwrap_or_default();
    refuse_without_effect(&file, &agents, southbound, periods_ms.len())?;
    let measurements = agents.texts("measurements", 16, "names of measurements")?;
    let transmissions = match file.table("transmissions", &TRANSMISSIONS)? {
        Some(table) => Some(Transmissions {
            on_mean_s: required(&table, "on_mean_s", 0.001..=AN_HOUR_S)?,
            off_mean_s: required(&table, "off_mean_s", 0.001..=AN_HOUR_S)?,
        }),
        None => None,
    };
    let users = match file.table("users", &USERS)? {
        Some(table) => Some(users(&table, transmissions)?),
        None => transmissions.map(|bursts| UsersConfig { transmissions: Some(bursts), ..UsersConfig::default() }),
    };
    let applications = file.table("applications", &APPLICATIONS)?;
    let rate = |key: &'static str, most: f64| match &applications {
        Some(table) => Ok(table.number(key, 0.0..=most)?.unwrap_or(0.0)),
        None => Ok(0.0),
    };
    let slices_per_s = rate("slices_per_s", 1e5)?;
    let tenants = match &applications {
        Some(table) => table.integer("tenants", 1..=MAX_TENANTS)?,
        None => None,
    };
    if let Some(table) = &applications
        && tenants.is_some()
        && slices_per_s <= 0.0
    {
        return Err(table.invalid("tenants", "tenants request slices: give `slices_per_s`, too"));
    }
    let rest = match file.table("rest", &REST)? {
        Some(table) => Some(rest(&table)?),
        None => None,
    };
    let duration_s = file.number("duration_s", 0.5..=AN_HOUR_S)?.unwrap_or(10.0);
    let faults = file.tables("fault", &FAULT, 32)?;
    let cores = match file.table("target", &TARGET)? {
        Some(table) => numbers(&table, "cores", 1..=1024)?.unwrap_or_default(),
        None => Vec::new(),
    };
    let knee = match file.table("knee", &KNEE)? {
        Some(table) => Some(knee(&table)?),
        None => None,
    };
    let e2ap = Version::ALL.map(|version| (version.name(), version));
    Ok(Scenario {
        name: name.to_owned(),
        text: text.to_owned(),
        description: file.text("description", "what the scenario is for")?.unwrap_or_default().to_owned(),
        seed: file.integer("seed", 0..=i64::MAX)?.unwrap_or(1),
        warm_up_s: file.number("warm_up_s", 0.0..=AN_HOUR_S)?.unwrap_or(3.0),
        duration_s,
        repetitions: file.integer("repetitions", 1..=1000)?.unwrap_or(4),
        limit_ms: file.number("limit_ms", 0.01..=60_000.0)?.unwrap_or(10.0),
        max_lateness_ms: file.number("max_lateness_ms", 0.01..=60_000.0)?.unwrap_or(5.0),
        agents: counts,
        first: agents.integer("first", 1..=MAX_FIRST)?.unwrap_or(1),
        periods_ms,
        cores: cores.into_iter().map(|cores| cores as usize).collect(),
        slot: Duration::from_micros(slot_us.into()),
        setups_per_s: agents.number("setups_per_s", 0.1..=1e6)?.unwrap_or(500.0),
        ues,
        max_ues,
        measurements: match measurements {
            Some(names) => names.into_iter().map(str::to_owned).collect(),
            None => MEASUREMENTS.map(str::to_owned).to_vec(),
        },
        southbound,
        confirm_every: agents.integer("confirm_every", 1..=1000)?.unwrap_or(10),
        e2ap: agents.choice("e2ap", &e2ap)?.unwrap_or(Version::V2_03),
        probes_per_s: agents.number("probes_per_s", 0.0..=100.0)?.unwrap_or(5.0),
        users,
        applications: match &applications {
            Some(table) => table.integer("count", 0..=64)?.unwrap_or(1),
            None => 1,
        },
        requests: Requests {
            slices_per_s,
            tenants: tenants.unwrap_or(1),
            resubscriptions_per_s: rate("resubscriptions_per_s", 1e5)?,
        },
        read_pause: match &applications {
            Some(table) => table
                .integer("read_pause_us", 0..=MAX_READ_PAUSE_US)?
                .map_or(Duration::ZERO, |us: u32| Duration::from_micros(us.into())),
            None => Duration::ZERO,
        },
        rest,
        faults: faults.iter().map(|table| fault(table, duration_s, southbound)).collect::<Result<_, Error>>()?,
        knee,
    })
}

/// Refuses keys that have no effect with a protocol of the agents.
fn refuse_without_effect(
    file: &Table<'_>,
    agents: &Table<'_>,
    southbound: Protocol,
    periods: usize,
) -> Result<(), Error> {
    match southbound {
        Protocol::E2ap if agents.contains("confirm_every") => {
            Err(agents.invalid("confirm_every", "only `southbound = \"flexran\"` has confirmations"))
        }
        Protocol::E2ap => Ok(()),
        Protocol::FlexRan => {
            if let Some(key) = ["measurements", "e2ap"].into_iter().find(|key| agents.contains(key)) {
                return Err(agents.invalid(key, "it has no effect on FlexRAN agents: leave it out"));
            }
            if file.contains("applications") {
                return Err(file.invalid("applications", "xApps do not see FlexRAN agents: leave the table out"));
            }
            if periods > 1 {
                return Err(agents.invalid("period_ms", "the controller sets the period of FlexRAN agents: give one"));
            }
            Ok(())
        }
    }
}

/// A number, or an array of numbers: the steps.
fn numbers(
    table: &Table<'_>,
    key: &'static str,
    range: std::ops::RangeInclusive<i64>,
) -> Result<Option<Vec<u32>>, Error> {
    if !table.is_array(key) {
        return Ok(table.integer(key, range)?.map(|number| vec![number]));
    }
    let Some(elements) = table.elements(key, MAX_STEPS, "an integer")? else { return Ok(None) };
    if elements.is_empty() {
        return Err(table.invalid(key, "no steps"));
    }
    let number = |(index, element): (usize, &Element<'_>)| match element {
        Element::Integer(number) if range.contains(number) => Ok(*number as u32),
        Element::Integer(number) => Err(table.invalid_element(
            key,
            index,
            format!("{number} is out of range {} to {}", range.start(), range.end()),
        )),
        Element::Text(_) => Err(table.invalid_element(key, index, "expected an integer")),
    };
    elements.iter().enumerate().map(number).collect::<Result<_, _>>().map(Some)
}

fn required(table: &Table<'_>, key: &'static str, range: std::ops::RangeInclusive<f64>) -> Result<f64, Error> {
    let allowed = format!("a number from {} to {}", range.start(), range.end());
    table.number(key, range)?.ok_or_else(|| table.missing(key, allowed))
}

fn users(table: &Table<'_>, transmissions: Option<Transmissions>) -> Result<UsersConfig, Error> {
    let crowd = match table.table("crowd", &CROWD)? {
        Some(crowd) => Some(Crowd {
            at_s: required(&crowd, "at_s", 0.0..=AN_HOUR_S)?,
            duration_s: required(&crowd, "duration_s", 0.1..=AN_HOUR_S)?,
            factor: required(&crowd, "factor", 1.0..=1000.0)?,
        }),
        None => None,
    };
    Ok(UsersConfig {
        arrivals_per_s: required(table, "arrivals_per_s", 0.001..=1000.0)?,
        holding_mean_s: required(table, "holding_mean_s", 0.01..=AN_HOUR_S)?,
        holding_sigma: table.number("holding_sigma", 0.0..=3.0)?.unwrap_or(1.0),
        handovers_per_s: table.number("handovers_per_s", 0.0..=100.0)?.unwrap_or(0.0),
        crowd,
        transmissions,
    })
}

fn rest(table: &Table<'_>) -> Result<RestLoad, Error> {
    let arrivals = [("poisson", Arrivals::Poisson), ("fixed", Arrivals::Fixed)];
    let paths = table.texts("paths", 16, "paths of resources, such as \"/v1/nodes\"")?;
    let paths = paths.unwrap_or_else(|| PATHS.to_vec());
    if paths.is_empty() {
        return Err(table.invalid("paths", "there is nothing to request"));
    }
    let is_path = |path: &str| path.starts_with('/') && path.bytes().all(|octet| octet.is_ascii_graphic());
    if let Some(at) = paths.iter().position(|path| !is_path(path)) {
        return Err(table.invalid_element("paths", at, "not a path, such as /v1/nodes"));
    }
    Ok(RestLoad {
        clients: table.integer("clients", 1..=256)?.ok_or_else(|| table.missing("clients", "the number of clients"))?,
        requests_per_s: required(table, "requests_per_s", 0.01..=10_000.0)?,
        arrivals: table.choice("arrivals", &arrivals)?.unwrap_or_default(),
        paths: paths.into_iter().map(str::to_owned).collect(),
    })
}

fn fault(table: &Table<'_>, duration_s: f64, southbound: Protocol) -> Result<Fault, Error> {
    let kind = table.choice("kind", &FaultKind::ALL)?;
    let kind = kind.ok_or_else(|| table.missing("kind", "the kind of the fault"))?;
    if (kind, southbound) == (FaultKind::SlowReader, Protocol::FlexRan) {
        return Err(table.invalid("kind", "no xApp reads reports of FlexRAN agents: leave this fault out"));
    }
    let at_s = required(table, "at_s", 0.0..=AN_HOUR_S)?;
    if at_s >= duration_s {
        return Err(
            table.invalid("at_s", format!("the fault is after the end of a repetition, which lasts {duration_s} s"))
        );
    }
    Ok(Fault {
        kind,
        at_s,
        duration_s: table.number("duration_s", 0.0..=AN_HOUR_S)?.unwrap_or(1.0),
        count: table.integer("count", 1..=10_000)?.unwrap_or(100),
    })
}

fn knee(table: &Table<'_>) -> Result<Knee, Error> {
    let bound = |key| table.integer(key, 1..=MAX_AGENTS);
    let from = bound("from")?.ok_or_else(|| table.missing("from", "the lowest number of agents"))?;
    let until = bound("until")?.ok_or_else(|| table.missing("until", "the highest number of agents"))?;
    if from >= until {
        return Err(table.invalid("until", "it must be above `from`"));
    }
    Ok(Knee { from, until, tolerance_percent: table.number("tolerance_percent", 0.1..=50.0)?.unwrap_or(5.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_scenarios_are_valid_and_described() {
        for name in Scenario::names() {
            let scenario = Scenario::shipped(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!scenario.description.is_empty(), "{name}");
            assert!(!scenario.steps().is_empty());
        }
        assert!(Scenario::shipped("nothing").unwrap_err().to_string().contains("smoke"));
    }

    #[test]
    fn mistakes_name_the_key() {
        for (text, expected) in [
            ("", "agents"),
            ("[agents]\ncount = 0", "count"),
            ("[agents]\ncount = [1, \"x\"]", "count[1]"),
            ("[agents]\ncount = []", "count"),
            ("[agents]\ncount = 60000\nperiod_ms = 1", "line 2: agents: count: 60000 agents at 1 ms"),
            ("[agents]\ncount = 1\nues = 9", "ues"),
            ("[agents]\ncont = 1", "did you mean `count`"),
            ("duration_s = 5\n[agents]\ncount = 1\n[[fault]]\nkind = \"malformed\"\nat_s = 5", "at_s"),
            ("[agents]\ncount = 1\n[[fault]]\nkind = \"fire\"\nat_s = 1", "kind"),
            ("[agents]\ncount = 1\n[knee]\nfrom = 5\nuntil = 5", "until"),
            ("[agents]\ncount = 1\n[users]\narrivals_per_s = 1", "holding_mean_s"),
            ("[agents]\ncount = 1\ne2ap = \"9.99\"", "e2ap"),
            ("[agents]\ncount = 1\nfirst = 0", "first"),
            ("[agents]\ncount = 1\nslot_us = 0", "slot_us"),
            ("[agents]\ncount = 1\nslot_us = 1001", "slot_us"),
            ("[agents]\ncount = 1\nperiod_ms = [1, 2]\nslot_us = 400", "slot_us: a period of 1 ms is no multiple"),
            ("[agents]\ncount = 1\n[applications]\nread_pause_us = 100001", "read_pause_us"),
            ("[agents]\ncount = 1\n[applications]\ntenants = 3", "tenants"),
            ("[agents]\ncount = 1\n[applications]\nslices_per_s = 1\ntenants = 1001", "tenants"),
            ("[agents]\ncount = 1\n[rest]\nrequests_per_s = 1", "clients"),
            ("[agents]\ncount = 1\n[rest]\nclients = 1", "requests_per_s"),
            ("[agents]\ncount = 1\n[rest]\nclients = 257\nrequests_per_s = 1", "clients"),
            ("[agents]\ncount = 1\n[rest]\nclients = 1\nrequests_per_s = 0", "requests_per_s"),
            ("[agents]\ncount = 1\n[rest]\nclients = 1\nrequests_per_s = 1\narrivals = \"burst\"", "arrivals"),
            ("[agents]\ncount = 1\n[rest]\nclients = 1\nrequests_per_s = 1\npaths = []", "paths"),
            ("[agents]\ncount = 1\n[rest]\nclients = 1\nrequests_per_s = 1\npaths = [\"/a\", \"b c\"]", "paths[1]"),
            ("[agents]\ncount = 1\nsouthbound = \"e3\"", "southbound"),
            ("[agents]\ncount = 1\nconfirm_every = 2", "confirm_every"),
            ("[agents]\ncount = 1\nsouthbound = \"flexran\"\ne2ap = \"2.03\"", "e2ap"),
            ("[agents]\ncount = 1\nsouthbound = \"flexran\"\nperiod_ms = [1, 2]", "period_ms"),
            ("[agents]\ncount = 1\nsouthbound = \"flexran\"\n[applications]\ncount = 1", "applications"),
        ] {
            let error = read("test", text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn rest_clients_have_defaults_of_a_ferric_ric() {
        let text = "[agents]\ncount = 1\n[rest]\nclients = 2\nrequests_per_s = 3";
        let rest = read("test", text).unwrap().rest.unwrap();
        assert_eq!((rest.clients, rest.requests_per_s, rest.arrivals), (2, 3.0, Arrivals::Poisson));
        assert_eq!(rest.paths, PATHS);
        let fixed = read("test", &format!("{text}\narrivals = \"fixed\"\npaths = [\"/\"]")).unwrap().rest.unwrap();
        assert_eq!((fixed.arrivals, fixed.paths), (Arrivals::Fixed, vec!["/".to_owned()]));
    }

    #[test]
    fn slots_and_pauses_are_off_unless_given() {
        let scenario = read("test", "[agents]\ncount = 1").unwrap();
        assert_eq!((scenario.slot, scenario.read_pause), (Duration::ZERO, Duration::ZERO));
        let text = "[agents]\ncount = 1\nslot_us = 500\n[applications]\nread_pause_us = 250";
        let scenario = read("test", text).unwrap();
        assert_eq!((scenario.slot, scenario.read_pause), (Duration::from_micros(500), Duration::from_micros(250)));
    }

    #[test]
    fn steps_are_cores_periods_and_agents() {
        let scenario =
            read("test", "[agents]\ncount = [1, 2]\nperiod_ms = [10, 20]\n[target]\ncores = [1, 2]").unwrap();
        let steps = scenario.steps();
        assert_eq!(steps.len(), 8);
        assert_eq!((steps[0].cores, steps[0].period_ms, steps[0].agents), (Some(1), 10, 1));
        assert_eq!((steps[7].cores, steps[7].period_ms, steps[7].agents), (Some(2), 20, 2));
    }
}
