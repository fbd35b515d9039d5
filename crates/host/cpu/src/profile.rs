//! Profiles: which threads a base station has, and which of them are urgent.

use std::path::Path;

use settings::{Document, Table, TableKeys};

use crate::threads::{self, Thread};
use crate::{Cpus, Error};

/// The size of a profile's file.
const MAX_FILE_OCTETS: u64 = 64 << 10;
const MAX_GROUPS: usize = 64;
const MAX_PATTERNS: usize = 64;

/// Threads that share CPUs under thread affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its name, for the reader.
    pub name: String,
    /// Patterns of thread names ([`threads::matches`]).
    pub threads: Vec<String>,
    /// Whether it is urgent: it gets CPUs of its own as far as there are any. Others share the last CPU.
    pub is_real_time: bool,
    /// Whether it takes the CPUs that are left: a pool of workers.
    pub is_pool: bool,
    /// The CPUs that it gets in any case.
    pub cpus: Option<Cpus>,
}

/// What the kernel does beside the policies of the paper, each by its own knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knob {
    /// Unbound kernel workers run outside the base station's CPUs.
    Workqueue,
    /// Received packets are processed on the interrupts' CPUs (receive packet steering).
    Rps,
    /// Transmit queues are used by the interrupts' CPUs (transmit packet steering).
    Xps,
    /// Real-time threads are never throttled. One that does not sleep then stops everything else on its CPU.
    RtThrottling,
    /// The hardware threads beside the base station's are taken offline.
    Smt,
    /// The base station's CPUs run at their highest frequency.
    Governor,
}

impl Knob {
    /// All knobs, by the words of the command line and of profiles.
    pub const ALL: [(&'static str, Knob); 6] = [
        ("workqueue", Knob::Workqueue),
        ("rps", Knob::Rps),
        ("xps", Knob::Xps),
        ("rt-throttling", Knob::RtThrottling),
        ("smt", Knob::Smt),
        ("governor", Knob::Governor),
    ];
}

impl std::str::FromStr for Knob {
    type Err = String;

    fn from_str(text: &str) -> Result<Knob, String> {
        let found = Knob::ALL.iter().find(|(word, _)| *word == text);
        let all = || Knob::ALL.map(|(word, _)| word).join(", ");
        found.map(|(_, knob)| *knob).ok_or_else(|| format!("`{}` is none of {}", text.escape_debug(), all()))
    }
}

/// What is known of a kind of base station.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Patterns of the names of its processes.
    pub processes: Vec<String>,
    /// Its groups, the one with the most work first. A thread belongs to the first group that has it.
    pub groups: Vec<Group>,
    /// The CPUs that it gets. None: the upper half.
    pub cpus: Option<Cpus>,
    /// The CPUs of interrupts and packets. None: the last one of the base station's; one of the others if it has only one.
    pub irq_cpus: Option<Cpus>,
    /// Patterns of the names of interrupts and of network devices. Empty: all network devices.
    pub interrupts: Vec<String>,
    /// What is set besides.
    pub knobs: Vec<Knob>,
}

/// The names of the built-in profiles.
pub const BUILT_IN: [&str; 4] = ["oai", "srsran", "vbbu", "generic"];

const FILE: TableKeys =
    TableKeys { name: "a profile", keys: &["name", "processes", "cpus", "irq_cpus", "interrupts", "knobs", "group"] };
const GROUP: TableKeys = TableKeys { name: "[[group]]", keys: &["name", "threads", "real_time", "pool", "cpus"] };

impl Profile {
    /// A built-in profile. `None` if there is none of that name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Profile> {
        let urgent = |name: &str, threads: &[&str]| Group {
            name: name.into(),
            threads: owned(threads),
            is_real_time: true,
            ..Group::default()
        };
        let pool = |name: &str, threads: &[&str]| Group { is_pool: true, ..urgent(name, threads) };
        let (processes, groups): (&[&str], Vec<Group>) = match name {
            // OpenAirInterface: eNB by Table 1 of the paper, gNB by the thread names of its sources
            "oai" => (
                &["nr-softmodem", "lte-softmodem", "oairu"],
                vec![
                    urgent("radio unit", &["ru_thread*", "ru-thread*"]),
                    urgent("L1 and L2", &["L1_tx_thread", "L1_rx_thread", "lte-softmodem"]),
                    pool("front end and workers", &["fep_processing", "feptx_thread*", "fep_thread*", "Tpool*"]),
                ],
            ),
            // srsRAN Project and OCUDU, its successor: names up to 24.10 and the pools of later releases
            "srsran" => (
                &["gnb", "srsdu", "odu", "ocudu*", "srsenb"],
                vec![
                    urgent("radio unit", &["radio*", "lower_phy*", "phy_worker", "ru_timing*", "ru_rx*", "ru_tx*"]),
                    urgent("cell", &["du_cell*", "slot_ind*", "cell_exec*", "priority_disp*"]),
                    pool("upper PHY and workers", &["up_phy*", "upper_phy*", "pusch*", "pdsch*", "main_pool*", "rt_*"]),
                ],
            ),
            // the threads of Table 1 in the paper, which the emulated unit has
            "vbbu" => (
                &["vbbu*", "ferric-vbbu"],
                vec![
                    urgent("radio unit", &["ru-thread", "ru_thread"]),
                    urgent("L1 and L2", &["lte-softmodem"]),
                    urgent("front end", &["fep_processing", "feptx_thread"]),
                ],
            ),
            "generic" => (&[], vec![]),
            _ => return None,
        };
        Some(Profile { name: name.to_owned(), processes: owned(processes), groups, ..Profile::default() })
    }

    /// The built-in profile of a process's name; `generic` if none fits.
    #[must_use]
    pub fn of_process(name: &str) -> Profile {
        let known = BUILT_IN.iter().filter_map(|profile| Profile::built_in(profile));
        let is_its = |profile: &Profile| profile.processes.iter().any(|pattern| threads::matches(pattern, name));
        known.into_iter().find(is_its).unwrap_or_else(|| Profile { name: "generic".into(), ..Profile::default() })
    }

    /// Reads a profile's file.
    ///
    /// # Errors
    /// If it cannot be read, or has a mistake.
    pub fn read(path: &Path) -> Result<Profile, Error> {
        let text = settings::read(path, MAX_FILE_OCTETS)
            .map_err(|source| Error::system(format!("read the profile {}", path.display()), "", source))?;
        Profile::parse(&text).map_err(|error| Error::Profile { path: path.to_owned(), error })
    }

    /// Parses the text of a profile.
    ///
    /// # Errors
    /// If it has a mistake: an unknown key, no CPU for the base station or for a group.
    pub fn parse(text: &str) -> Result<Profile, settings::Error> {
        let document = Document::parse(text)?;
        let file = document.root(&FILE)?;
        let cpus = |table: &Table<'_>, key| match table.parsed::<Cpus>(key, "CPUs such as \"2-3\"")? {
            Some(cpus) if cpus.is_empty() => {
                Err(table.invalid(key, "no CPU is left: give at least one, or omit the key"))
            }
            cpus => Ok(cpus),
        };
        let texts = |table: &Table<'_>, key, what| -> Result<Vec<String>, settings::Error> {
            Ok(owned(&table.texts(key, MAX_PATTERNS, what)?.unwrap_or_default()))
        };
        let all = cpus(&file, "cpus")?;
        let mut groups = Vec::new();
        for table in file.tables("group", &GROUP, MAX_GROUPS)? {
            let threads = texts(&table, "threads", "a pattern of thread names")?;
            if threads.is_empty() {
                return Err(table.missing("threads", "patterns of thread names, such as [\"Tpool*\"]"));
            }
            let cpus = cpus(&table, "cpus")?;
            let outside = cpus.as_ref().zip(all.as_ref()).map(|(cpus, all)| (cpus.without(all), all));
            if let Some((outside, all)) = outside.filter(|(outside, _)| !outside.is_empty()) {
                return Err(table.invalid("cpus", format!("{outside} is not within the base station's CPUs {all}")));
            }
            groups.push(Group {
                name: table.text("name", "the group's name")?.map_or_else(|| threads[0].clone(), str::to_owned),
                is_real_time: table.boolean("real_time")?.unwrap_or(false),
                is_pool: table.boolean("pool")?.unwrap_or(false),
                threads,
                cpus,
            });
        }
        Ok(Profile {
            name: file.text("name", "the profile's name")?.unwrap_or("own").to_owned(),
            processes: texts(&file, "processes", "a pattern of process names")?,
            irq_cpus: cpus(&file, "irq_cpus")?,
            interrupts: texts(&file, "interrupts", "a pattern of names of interrupts or network devices")?,
            knobs: file.parsed_texts("knobs", Knob::ALL.len(), "a knob")?.unwrap_or_default(),
            cpus: all,
            groups,
        })
    }

    /// The group of a thread: the index of the first one that has its name. Without groups, real-time threads are urgent.
    pub(crate) fn group_of(&self, thread: &Thread) -> Option<usize> {
        let has = |group: &Group| group.threads.iter().any(|pattern| threads::matches(pattern, &thread.name));
        self.groups.iter().position(has)
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_select_their_profile() {
        for (process, profile) in
            [("nr-softmodem", "oai"), ("gnb", "srsran"), ("ocudu_gnb", "srsran"), ("sh", "generic")]
        {
            assert_eq!(Profile::of_process(process).name, profile);
        }
        assert!(BUILT_IN.iter().all(|name| Profile::built_in(name).is_some()));
        assert_eq!(Profile::built_in("x"), None);
    }

    #[test]
    fn file_is_read() {
        let text = "name = \"mine\"\nprocesses = [\"du*\"]\ncpus = \"2-3\"\nirq_cpus = \"1\"\ninterrupts = [\"eth0\"]\n\
                    knobs = [\"workqueue\", \"rps\"]\n[[group]]\nthreads = [\"phy*\"]\nreal_time = true\ncpus = \"2\"\n";
        let profile = Profile::parse(text).unwrap();
        assert_eq!(profile.knobs, [Knob::Workqueue, Knob::Rps]);
        assert_eq!(profile.groups[0].cpus.as_ref().unwrap().to_string(), "2");
        assert!(profile.groups[0].is_real_time && profile.groups[0].name == "phy*");
    }

    #[test]
    fn mistakes_are_located() {
        for (text, expected) in [
            ("cpus = \"\"", "line 1: cpus: no CPU is left"),
            ("cpus = \"a\"", "line 1: cpus: `a` is no list of CPUs"),
            ("cpu = \"1\"", "line 1: unknown key `cpu`; did you mean `cpus`?"),
            ("cpus = \"1\"\n[[group]]\nthreads = [\"a\"]\ncpus = \"2\"", "line 4: group[0]: cpus: 2 is not within"),
            ("[[group]]\nname = \"x\"", "missing key `threads`"),
            ("knobs = [\"turbo\"]", "knobs[0]: `turbo` is none of workqueue"),
            ("[[group]]\nthreads = [\"a\"]\nreal_time = 1", "expected true or false"),
        ] {
            let error = Profile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
