//! A CU-CP or CU-UP with several DUs: its functions cover the UEs of all of them.
//!
//! It consists of a [`Node`] for each of its cells. Its RAN functions know a UE by its number in the RAN, which the UE keeps when it moves
//! to another DU, where the nodes know it by its place in their cell.

#[cfg(feature = "control")]
mod control;
#[cfg(all(test, feature = "all"))]
mod tests;
#[cfg(any(feature = "statistics", feature = "tc"))]
mod user_plane;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use e2sm::common::{Cgi, FiveQi, SNssai, UeId};
use e2sm::kpm::{MeasurementLabel, TestCondType, Value};
use ferric::agent::Ue;
use ferric::e2::Time;
use ferric::e2ap::{E2NodeComponentConfigAdditionItem, E2NodeComponentInterfaceType, GlobalE2NodeId};
use ran_functions::kpm::{Bin, KpmSource, MeasuredObject, SupportedMeasurement};

use crate::RanConfig;
use crate::node::{CounterSnapshot, Node};
use crate::node_type::NodeType;
use crate::simulation::RanSimulation;

/// A UE in the cell of a DU, by its id there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stay {
    /// The index of the DU.
    du: usize,
    ue: Ue,
}

/// A CU-CP or CU-UP with several DUs.
#[derive(Debug)]
pub struct Cu {
    /// Its node in each of its cells, in their order: at least one.
    cells: Vec<Node>,
    /// The stays of each UE, by its number: also those that have ended, until their places are used again.
    stays: BTreeMap<u64, Vec<Stay>>,
}

impl Cu {
    /// Creates the node of these cells.
    ///
    /// # Panics
    /// Without a cell.
    pub fn new(
        config: &RanConfig,
        cells: &[u16],
        node_type: NodeType,
        simulation: &Rc<RefCell<RanSimulation>>,
    ) -> Self {
        assert!(!cells.is_empty(), "a CU has cells");
        let node = |number: &u16| Node::new(config, *number, node_type, Rc::clone(simulation));
        Cu { cells: cells.iter().map(node).collect(), stays: BTreeMap::new() }
    }

    /// The node of its first cell, which has what all cells have in common.
    fn first(&self) -> &Node {
        &self.cells[0]
    }

    pub fn node_type(&self) -> NodeType {
        self.first().node_type
    }

    pub fn profile(&self) -> &'static crate::profile::NodeProfile {
        self.first().profile
    }

    pub fn id(&self) -> GlobalE2NodeId {
        self.first().id()
    }

    /// The interfaces that it declares: one F1 for each DU.
    pub fn components(&self) -> Vec<E2NodeComponentConfigAdditionItem<'static>> {
        let of_others = self.cells[1..].iter().flat_map(Node::components);
        let f1 = of_others.filter(|component| component.interface_type == E2NodeComponentInterfaceType::F1);
        self.first().components().into_iter().chain(f1).collect()
    }

    /// What it is, for the log, with so many UEs.
    pub fn about(&self, ues: usize) -> String {
        format!("{} DUs, {}", self.cells.len(), self.first().about(ues))
    }

    pub fn last_read(&self) -> Time {
        self.cells.iter().map(Node::last_read).max().unwrap_or_default()
    }

    pub fn has_pending_reports(&self) -> bool {
        self.cells.iter().any(Node::has_pending_reports)
    }

    /// Advances to `now` without being read by a RAN function.
    pub fn advance_unread(&mut self, now: Time) {
        self.cells.iter_mut().for_each(|node| node.advance_unread(now));
        self.update_stays();
    }

    fn update_stays(&mut self) {
        self.stays.clear();
        for (du, node) in self.cells.iter().enumerate() {
            for context in &node.contexts {
                self.stays.entry(context.number).or_default().push(Stay { du, ue: context.ue });
            }
        }
    }

    /// The id of a UE of a cell.
    fn ue_of(&self, stay: Stay) -> Option<Ue> {
        self.cells[stay.du].number_of(stay.ue).map(Ue)
    }

    /// Where a UE is.
    fn present(&self, ue: Ue) -> Option<Stay> {
        let stays = self.stays.get(&ue.0)?;
        stays.iter().copied().find(|stay| self.cells[stay.du].place(stay.ue).is_some())
    }

    /// Where a UE is, or was.
    fn present_or_former(&self, ue: Ue) -> Option<Stay> {
        self.present(ue).or_else(|| self.stays.get(&ue.0)?.last().copied())
    }

    /// The node of the cell where a UE is, and its id there.
    fn at(&self, ue: Ue) -> Option<(&Node, Ue)> {
        let stay = self.present(ue)?;
        Some((&self.cells[stay.du], stay.ue))
    }

    /// The node of a cell.
    fn node_of(&self, cell: &Cgi) -> Option<usize> {
        self.cells.iter().position(|node| KpmSource::cell(node) == *cell)
    }

    /// The UEs of a list that are or were in the cell of a DU, by their ids there.
    fn stays_at(&self, du: usize, ues: &[Ue]) -> Vec<Ue> {
        let stays = ues.iter().filter_map(|ue| self.stays.get(&ue.0)).flatten();
        stays.filter(|stay| stay.du == du).map(|stay| stay.ue).collect()
    }

    /// The number of a UE in the RAN.
    pub fn number_of(&self, ue: Ue) -> Option<u64> {
        Some(ue.0)
    }

    /// The value of a measurement since the counters of its cells: those of a UE that has moved are the sum of both cells.
    pub fn value_since(
        &self,
        since: &[CounterSnapshot],
        object: MeasuredObject<'_>,
        measurement: usize,
        label: &MeasurementLabel,
    ) -> Value {
        let ues = match object {
            MeasuredObject::OneCell(cell) => {
                let of_cell = self.node_of(&cell).and_then(|du| Some((&self.cells[du], since.get(du)?)));
                return of_cell.map_or(Value::NoValue, |(node, since)| {
                    node.value(since, MeasuredObject::Cell, measurement, label)
                });
            }
            MeasuredObject::Ues(ues) => Some(ues),
            MeasuredObject::Cell => None,
        };
        let of_cells = self.cells.iter().zip(since);
        let parts: Vec<(&Node, &CounterSnapshot, Option<Vec<Ue>>)> = match ues {
            None => of_cells.map(|(node, since)| (node, since, None)).collect(),
            Some(ues) => of_cells
                .enumerate()
                .map(|(du, (node, since))| (node, since, Some(self.stays_at(du, ues))))
                .filter(|(_, _, ues)| ues.as_ref().is_some_and(|ues| !ues.is_empty()))
                .collect(),
        };
        match &parts[..] {
            // as a cell without such UEs
            [] => since.first().map_or(Value::NoValue, |since| {
                self.first().value(since, MeasuredObject::Ues(&[]), measurement, label)
            }),
            [(node, since, Some(ues))] => node.value(since, MeasuredObject::Ues(ues), measurement, label),
            _ => Node::value_of_cells(&parts, measurement, label),
        }
    }

    fn append_ues(&self, out: &mut Vec<Ue>) {
        let mut local = Vec::new();
        for (du, node) in self.cells.iter().enumerate() {
            local.clear();
            KpmSource::ues(node, &mut local);
            out.extend(local.iter().filter_map(|ue| self.ue_of(Stay { du, ue: *ue })));
        }
    }

    fn name_of(&self, ue: Ue) -> UeId<'static> {
        match self.present_or_former(ue) {
            Some(stay) => KpmSource::ue_id(&self.cells[stay.du], stay.ue),
            None => self.first().name_of_number(ue.0),
        }
    }
}

impl KpmSource for Cu {
    /// The counters of each cell.
    type Snapshot = Vec<CounterSnapshot>;

    fn cell(&self) -> Cgi {
        KpmSource::cell(self.first())
    }

    fn cells(&self) -> Vec<Cgi> {
        self.cells.iter().map(KpmSource::cell).collect()
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        self.first().measurements()
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        self.append_ues(out);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        self.name_of(ue)
    }

    fn take_snapshot(&self, mark: &mut Vec<CounterSnapshot>) {
        mark.resize_with(self.cells.len(), CounterSnapshot::default);
        self.cells.iter().zip(mark).for_each(|(node, mark)| node.take_snapshot(mark));
    }

    fn advance(&mut self, until: Time) {
        self.cells.iter_mut().for_each(|node| KpmSource::advance(node, until));
        self.update_stays();
    }

    fn value(
        &self,
        since: &Vec<CounterSnapshot>,
        object: MeasuredObject<'_>,
        measurement: usize,
        label: &MeasurementLabel,
    ) -> Value {
        self.value_since(since, object, measurement, label)
    }

    fn zero(&self, measurement: usize) -> Value {
        self.first().zero(measurement)
    }

    fn bins(&self, measurement: usize) -> &[&[Bin]] {
        self.first().bins(measurement)
    }

    fn is_listed_in_every_style(&self, measurement: usize) -> bool {
        self.first().is_listed_in_every_style(measurement)
    }

    fn supports_label(&self, measurement: usize, label: &MeasurementLabel) -> bool {
        self.first().supports_label(measurement, label)
    }

    fn serves_several_plmns(&self) -> bool {
        self.first().serves_several_plmns()
    }

    fn test_condition_types(&self) -> &[TestCondType] {
        self.first().test_condition_types()
    }

    fn test_condition_value(&self, ue: Ue, condition: TestCondType) -> Option<f64> {
        let (node, ue) = self.at(ue)?;
        node.test_condition_value(ue, condition)
    }

    fn slices(&self, ue: Ue) -> &[SNssai] {
        self.at(ue).map_or(&[], |(node, ue)| KpmSource::slices(node, ue))
    }

    fn five_qis(&self, ue: Ue) -> &[FiveQi] {
        self.at(ue).map_or(&[], |(node, ue)| KpmSource::five_qis(node, ue))
    }
}
