//! What the screen shows: the latest values of cells and UEs, their history, and events. No input or output.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

/// The values of a measurement that are kept for a sparkline.
pub const HISTORY: usize = 120;
/// The events that are kept.
const MAX_EVENTS: usize = 500;
/// The weight of a new report in the activity of a UE, by which UEs are sorted: a UE that has just stopped stays in sight.
const ACTIVITY_WEIGHT: f64 = 0.3;

/// Everything that is known of a network.
#[derive(Debug, Default)]
pub struct Network {
    /// The RIC, and whether it is connected.
    pub ric: String,
    /// Why there is no connection, if there is none.
    pub trouble: Option<String>,
    cells: BTreeMap<String, Cell>,
    ues: BTreeMap<UeKey, Ue>,
    events: VecDeque<Event>,
    /// The events that [`Network::take_json`] has not written yet.
    unwritten: usize,
}

/// A UE: its node and its name in the node.
pub type UeKey = (String, String);

/// A value of a report: what it is of (a UE or `cell`), the measurement, and the value.
pub type Sample = (String, String, Option<f64>);

/// A cell: that of an E2 node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The node in the words of the field: `gNB 00101-e00`.
    pub label: String,
    pub values: Values,
    /// The downlink throughput in Mbit/s, oldest first.
    pub history: VecDeque<f64>,
    /// Its slices, for display: `1 NVS 50 %`.
    pub slices: Vec<String>,
    /// Why it has no values, if it has none.
    pub trouble: Option<String>,
}

/// A UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ue {
    pub values: Values,
    /// The downlink throughput in Mbit/s, oldest first.
    pub history: VecDeque<f64>,
    /// The mean throughput of both directions, of which recent reports count more.
    pub activity: f64,
    /// Its other names, for display: `0x4601 10.45.0.2`.
    pub names: String,
    /// All its names, by kind.
    pub identity: Map<String, Value>,
}

/// The values of the latest report, by the name of the measurement; throughput is computed from volumes where they are reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    pub by_name: BTreeMap<String, f64>,
    pub dl_mbps: Option<f64>,
    pub ul_mbps: Option<f64>,
}

impl Values {
    fn of(samples: &[(&str, Option<f64>)], period_ms: u32) -> Self {
        let by_name: BTreeMap<String, f64> =
            samples.iter().filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?))).collect();
        let rate = |volume: &str, throughput: &str| {
            // TS 28.552 5.1.2.1 in kbit, the throughput of 5.1.1.3 in kbit/s, and 1 kbit/ms is 1 Mbit/s
            let volume = by_name.get(volume).map(|kbit| kbit / f64::from(period_ms.max(1)));
            volume.or_else(|| by_name.get(throughput).map(|kbps| kbps / 1e3))
        };
        let dl_mbps = rate("DRB.PdcpSduVolumeDL", "DRB.UEThpDl");
        let ul_mbps = rate("DRB.PdcpSduVolumeUL", "DRB.UEThpUl");
        Values { dl_mbps, ul_mbps, by_name }
    }

    pub fn get(&self, name: &str) -> Option<f64> {
        self.by_name.get(name).copied()
    }

    /// The share of the downlink PRBs in percent.
    pub fn prb_dl(&self) -> Option<f64> {
        self.get("RRU.PrbTotDl")
    }

    /// The share of the uplink PRBs in percent.
    pub fn prb_ul(&self) -> Option<f64> {
        self.get("RRU.PrbTotUl")
    }

    fn to_json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        for (key, value) in [("dl_mbps", self.dl_mbps), ("ul_mbps", self.ul_mbps)] {
            if let Some(value) = value {
                object.insert(key.to_owned(), value.into());
            }
        }
        let values: Map<String, Value> =
            self.by_name.iter().map(|(name, value)| (name.clone(), (*value).into())).collect();
        object.insert("values".to_owned(), values.into());
        object
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When, as seconds and nanoseconds since 1970.
    pub at: std::time::SystemTime,
    pub text: String,
}

/// What UEs are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    #[default]
    Activity,
    Downlink,
    Uplink,
    Prbs,
    Delay,
    Cqi,
    Name,
}

impl SortKey {
    const ALL: [SortKey; 7] = [
        SortKey::Activity,
        SortKey::Downlink,
        SortKey::Uplink,
        SortKey::Prbs,
        SortKey::Delay,
        SortKey::Cqi,
        SortKey::Name,
    ];

    /// The key after this one.
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|key| *key == self).unwrap_or_default();
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    pub fn name(self) -> &'static str {
        match self {
            SortKey::Activity => "activity",
            SortKey::Downlink => "downlink",
            SortKey::Uplink => "uplink",
            SortKey::Prbs => "PRBs",
            SortKey::Delay => "delay",
            SortKey::Cqi => "CQI",
            SortKey::Name => "name",
        }
    }

    /// The value that is sorted by, the greatest first.
    fn value(self, ue: &Ue) -> f64 {
        let value = match self {
            SortKey::Activity => Some(ue.activity),
            SortKey::Downlink => ue.values.dl_mbps,
            SortKey::Uplink => ue.values.ul_mbps,
            SortKey::Prbs => ue.values.prb_dl(),
            SortKey::Delay => ue.values.get("DRB.RlcSduDelayDl"),
            SortKey::Cqi => ue.values.get("CQI"),
            SortKey::Name => None,
        };
        value.unwrap_or(f64::NEG_INFINITY)
    }
}

impl Network {
    /// A network without cells.
    pub fn new(ric: String) -> Self {
        Network { ric, ..Network::default() }
    }

    /// Adds a node that has set up.
    pub fn add_cell(&mut self, node: &str, label: &str) {
        self.cells.entry(node.to_owned()).or_default().label = label.to_owned();
    }

    /// Removes a node that is lost, and its UEs.
    pub fn remove_cell(&mut self, node: &str) {
        self.cells.remove(node);
        self.ues.retain(|(of, _), _| of != node);
    }

    /// Notes why a node reports nothing.
    pub fn set_trouble(&mut self, node: &str, trouble: String) {
        if let Some(cell) = self.cells.get_mut(node) {
            cell.trouble = Some(trouble);
        }
    }

    pub fn set_slices(&mut self, node: &str, slices: Vec<String>) {
        if let Some(cell) = self.cells.get_mut(node) {
            cell.slices = slices;
        }
    }

    /// Takes a report of the cell of a node.
    pub fn cell_report(&mut self, node: &str, samples: &[Sample], period_ms: u32) {
        let Some(cell) = self.cells.get_mut(node) else { return };
        let samples: Vec<_> = samples.iter().map(|(_, name, value)| (name.as_str(), *value)).collect();
        cell.values = Values::of(&samples, period_ms);
        cell.trouble = None;
        push(&mut cell.history, cell.values.dl_mbps.unwrap_or_default());
    }

    /// Takes a report of all UEs of a node: UEs that it does not contain have left the node.
    pub fn ue_report(&mut self, at: std::time::SystemTime, node: &str, samples: &[Sample], period_ms: u32) {
        let Some(cell) = self.cells.get_mut(node) else { return };
        cell.trouble = None;
        let mut by_ue: BTreeMap<&str, Vec<(&str, Option<f64>)>> = BTreeMap::new();
        for (ue, name, value) in samples {
            by_ue.entry(ue).or_default().push((name, *value));
        }
        let gone: Vec<UeKey> =
            self.ues.keys().filter(|(of, ue)| of == node && !by_ue.contains_key(ue.as_str())).cloned().collect();
        for key in gone {
            self.ues.remove(&key);
        }
        for (name, samples) in by_ue {
            let key = (node.to_owned(), name.to_owned());
            if !self.ues.contains_key(&key) {
                self.note_arrival(at, node, name);
            }
            let ue = self.ues.entry(key).or_default();
            ue.values = Values::of(&samples, period_ms);
            let mbps = ue.values.dl_mbps.unwrap_or_default();
            let both = mbps + ue.values.ul_mbps.unwrap_or_default();
            ue.activity += ACTIVITY_WEIGHT * (both - ue.activity);
            push(&mut ue.history, mbps);
        }
    }

    /// Sets the names of a UE that a node lists.
    pub fn set_identity(&mut self, node: &str, ue: &str, names: String, identity: Map<String, Value>) {
        if let Some(ue) = self.ues.get_mut(&(node.to_owned(), ue.to_owned())) {
            (ue.names, ue.identity) = (names, identity);
        }
    }

    /// A UE that another node still lists, or that has been in the network, was handed over.
    fn note_arrival(&mut self, at: std::time::SystemTime, node: &str, ue: &str) {
        let from = self.ues.keys().find(|(of, name)| of != node && name == ue && name.starts_with("amf:")).cloned();
        if let Some(key) = from {
            let label = |node: &str| self.cells.get(node).map_or(node.to_owned(), |cell| cell.label.clone());
            let text = format!("UE {ue}: {} -> {}", label(&key.0), label(node));
            let moved = self.ues.remove(&key);
            self.ues.insert((node.to_owned(), ue.to_owned()), moved.unwrap_or_default());
            self.event(at, text);
        }
    }

    /// Adds an event; the oldest is dropped where there are too many.
    pub fn event(&mut self, at: std::time::SystemTime, text: String) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(Event { at, text });
        self.unwritten = (self.unwritten + 1).min(MAX_EVENTS);
    }

    pub fn cells(&self) -> impl ExactSizeIterator<Item = (&String, &Cell)> {
        self.cells.iter()
    }

    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> + ExactSizeIterator {
        self.events.iter()
    }

    pub fn ue(&self, key: &UeKey) -> Option<&Ue> {
        self.ues.get(key)
    }

    /// The number of UEs of a node.
    pub fn ues_of(&self, node: &str) -> usize {
        self.ues.keys().filter(|(of, _)| of == node).count()
    }

    /// The UEs whose node and names contain `filter`, ignoring case, sorted. Equal ones are in the order of their names.
    pub fn sorted_ues(&self, key: SortKey, filter: &str) -> Vec<(&UeKey, &Ue)> {
        let filter = filter.to_lowercase();
        let matches = |((node, name), ue): &(&UeKey, &Ue)| {
            filter.is_empty() || format!("{node} {name} {}", ue.names).to_lowercase().contains(&filter)
        };
        let mut ues: Vec<_> = self.ues.iter().filter(matches).collect();
        if key != SortKey::Name {
            // stable: the map is sorted by names
            ues.sort_by(|(_, one), (_, other)| key.value(other).total_cmp(&key.value(one)));
        }
        ues
    }

    /// One object with everything, and the events since the last call.
    pub fn take_json(&mut self, time: &str) -> Value {
        let cells: Vec<Value> = self
            .cells
            .iter()
            .map(|(node, cell)| {
                let mut object = Map::new();
                object.insert("node".to_owned(), node.clone().into());
                object.insert("ues".to_owned(), self.ues_of(node).into());
                object.append(&mut cell.values.to_json());
                if !cell.slices.is_empty() {
                    object.insert("slices".to_owned(), cell.slices.clone().into());
                }
                object.into()
            })
            .collect();
        let ues: Vec<Value> = self
            .ues
            .iter()
            .map(|((node, name), ue)| {
                let mut object = Map::new();
                object.insert("node".to_owned(), node.clone().into());
                object.insert("ue".to_owned(), name.clone().into());
                object.append(&mut ue.identity.clone());
                object.append(&mut ue.values.to_json());
                object.into()
            })
            .collect();
        let new = self.events.len().saturating_sub(std::mem::take(&mut self.unwritten));
        let events: Vec<&str> = self.events.iter().skip(new).map(|event| event.text.as_str()).collect();
        json!({ "time": time, "ric": self.ric, "cells": cells, "ues": ues, "events": events })
    }
}

fn push(history: &mut VecDeque<f64>, value: f64) {
    if history.len() == HISTORY {
        history.pop_front();
    }
    history.push_back(value);
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn report(ues: &[(&str, f64)]) -> Vec<Sample> {
        ues.iter().map(|(ue, kbit)| ((*ue).to_owned(), "DRB.PdcpSduVolumeDL".to_owned(), Some(*kbit))).collect()
    }

    fn network() -> Network {
        let mut network = Network::default();
        network.add_cell("gnb-a", "gNB a");
        network.add_cell("gnb-b", "gNB b");
        network
    }

    fn names(network: &Network, key: SortKey, filter: &str) -> Vec<String> {
        network.sorted_ues(key, filter).into_iter().map(|((_, ue), _)| ue.clone()).collect()
    }

    #[test]
    fn throughput_is_the_volume_over_the_period_else_what_is_reported() {
        let volume = Values::of(&[("DRB.PdcpSduVolumeDL", Some(500.0)), ("DRB.UEThpDl", Some(9e3))], 500);
        assert_eq!((volume.dl_mbps, volume.ul_mbps), (Some(1.0), None));
        let throughput = Values::of(&[("DRB.UEThpDl", Some(9e3)), ("CQI", None)], 500);
        assert_eq!((throughput.dl_mbps, throughput.get("CQI")), (Some(9.0), None));
    }

    #[test]
    fn ue_that_a_report_omits_has_left() {
        let mut network = network();
        let now = SystemTime::now();
        network.ue_report(now, "gnb-a", &report(&[("amf:1", 1.0), ("amf:2", 2.0)]), 1000);
        network.ue_report(now, "gnb-a", &report(&[("amf:2", 2.0)]), 1000);
        assert_eq!(names(&network, SortKey::Name, ""), ["amf:2"]);
        assert_eq!((network.ues_of("gnb-a"), network.ues_of("gnb-b")), (1, 0));
        network.remove_cell("gnb-a");
        assert_eq!(network.sorted_ues(SortKey::Name, "").len(), 0);
    }

    #[test]
    fn ue_that_appears_in_another_cell_was_handed_over_and_keeps_its_history() {
        let mut network = network();
        let now = SystemTime::now();
        network.ue_report(now, "gnb-a", &report(&[("amf:1", 100.0)]), 1000);
        network.ue_report(now, "gnb-b", &report(&[("amf:1", 200.0)]), 1000);
        let events: Vec<_> = network.events().map(|event| event.text.clone()).collect();
        assert_eq!(events, ["UE amf:1: gNB a -> gNB b"]);
        let ue = network.ue(&("gnb-b".to_owned(), "amf:1".to_owned())).unwrap();
        assert_eq!(ue.history, [0.1, 0.2]);
        assert_eq!(network.ues_of("gnb-a"), 0, "it is in one cell only");
        // ids of other kinds are those of the node alone
        network.ue_report(now, "gnb-a", &report(&[("f1ap:1", 1.0)]), 1000);
        network.ue_report(now, "gnb-b", &report(&[("f1ap:1", 1.0)]), 1000);
        assert_eq!(network.events().len(), 1);
    }

    #[test]
    fn ues_are_sorted_by_activity_and_filtered_by_name_or_node() {
        let mut network = network();
        let now = SystemTime::now();
        for _ in 0..10 {
            network.ue_report(now, "gnb-a", &report(&[("amf:1", 10.0), ("amf:2", 900.0), ("amf:3", 10.0)]), 1000);
        }
        assert_eq!(names(&network, SortKey::Activity, ""), ["amf:2", "amf:1", "amf:3"], "equal ones by name");
        // one quiet report does not move it to the end
        network.ue_report(now, "gnb-a", &report(&[("amf:1", 10.0), ("amf:2", 0.0), ("amf:3", 10.0)]), 1000);
        assert_eq!(names(&network, SortKey::Activity, "")[0], "amf:2");
        assert_eq!(names(&network, SortKey::Downlink, ""), ["amf:1", "amf:3", "amf:2"]);
        assert_eq!(names(&network, SortKey::Name, "A AMF:3"), ["amf:3"], "as it is shown: node and name");
        assert_eq!(names(&network, SortKey::Name, "gnb-b").len(), 0);
        assert_eq!(SortKey::Name.next(), SortKey::Activity);
    }

    #[test]
    fn history_and_events_are_bounded() {
        let mut network = network();
        let now = SystemTime::now();
        for at in 0..(MAX_EVENTS + HISTORY) {
            network.cell_report("gnb-a", &report(&[("cell", at as f64)]), 1000);
            network.event(now, at.to_string());
        }
        assert_eq!(network.cells().next().unwrap().1.history.len(), HISTORY);
        assert_eq!(network.events().len(), MAX_EVENTS);
        assert_eq!(network.events().next().unwrap().text, HISTORY.to_string(), "the oldest are dropped");
    }

    #[test]
    fn json_has_each_event_once() {
        let mut network = network();
        network.ric = "ric-1".to_owned();
        network.cell_report("gnb-a", &report(&[("cell", 500.0)]), 1000);
        network.ue_report(SystemTime::now(), "gnb-a", &report(&[("amf:1", 500.0)]), 1000);
        let identity = [("rnti".to_owned(), Value::from(0x4601))].into_iter().collect();
        network.set_identity("gnb-a", "amf:1", "0x4601".to_owned(), identity);
        assert_eq!(names(&network, SortKey::Name, "0x4601"), ["amf:1"]);
        network.event(SystemTime::now(), "one".to_owned());
        let first = network.take_json("2026-01-01T00:00:00.000Z");
        assert_eq!(first["time"], "2026-01-01T00:00:00.000Z");
        assert_eq!((&first["events"], &first["cells"][0]["dl_mbps"]), (&json!(["one"]), &json!(0.5)));
        assert_eq!((&first["ues"][0]["ue"], &first["ues"][0]["rnti"]), (&json!("amf:1"), &json!(0x4601)));
        assert_eq!(first["ues"][0]["values"]["DRB.PdcpSduVolumeDL"], 500.0);
        network.event(SystemTime::now(), "two".to_owned());
        assert_eq!(network.take_json("")["events"], json!(["two"]));
        assert_eq!(network.take_json("")["events"], json!([]));
    }
}
