//! The E2 nodes of a RAN: one for each part of a base station.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::SystemTime;

use e2sm::common::UeId;
use e2sm::kpm::{MeasurementLabel, Value};
use ferric::agent::{RanFunction, Ue};
use ferric::e2::Time;
use ferric::e2ap::{E2NodeComponentConfigAdditionItem, GlobalE2NodeId};
use ran_functions::kpm::{KpmSource, MeasuredObject};

use crate::cu::Cu;
use crate::node::{CounterSnapshot, Node};
use crate::node_type::NodeType;
use crate::simulation::RanSimulation;
use crate::{RanConfig, functions};

/// An E2 node, shared with its RAN functions.
pub enum E2Node {
    /// One with a cell.
    OfCell(Rc<RefCell<Node>>),
    /// A CU-CP or CU-UP of several DUs.
    Cu(Rc<RefCell<Cu>>),
}

/// Evaluates an expression with the node of any kind.
macro_rules! with {
    ($self:ident, $node:ident => $value:expr) => {
        match $self {
            E2Node::OfCell($node) => {
                let $node = $node.borrow();
                $value
            }
            E2Node::Cu($node) => {
                let $node = $node.borrow();
                $value
            }
        }
    };
}

impl E2Node {
    /// The E2 nodes of a configuration, each with the number of its first cell, in the order of the cells.
    pub fn all(config: &RanConfig, simulation: &Rc<RefCell<RanSimulation>>) -> Vec<(u16, E2Node)> {
        let places = Rc::clone(&simulation.borrow().places);
        let mut nodes = Vec::new();
        for (number, place) in (0..).zip(places.iter()) {
            for node_type in config.nodes_of(number) {
                if !place.has_siblings() || node_type == NodeType::Du {
                    let node = Node::new(config, number, node_type, Rc::clone(simulation));
                    nodes.push((number, E2Node::OfCell(Rc::new(RefCell::new(node)))));
                } else if place.first == number {
                    let of_cu = (0..).zip(places.iter()).filter(|(_, of)| of.first == number);
                    let cells: Vec<u16> = of_cu.map(|(cell, _)| cell).collect();
                    let cu = Cu::new(config, &cells, node_type, simulation);
                    nodes.push((number, E2Node::Cu(Rc::new(RefCell::new(cu)))));
                }
            }
        }
        nodes
    }

    pub fn node_type(&self) -> NodeType {
        match self {
            E2Node::OfCell(node) => node.borrow().node_type,
            E2Node::Cu(cu) => cu.borrow().node_type(),
        }
    }

    pub fn id(&self) -> GlobalE2NodeId {
        with!(self, node => node.id())
    }

    pub fn components(&self) -> Vec<E2NodeComponentConfigAdditionItem<'static>> {
        with!(self, node => node.components())
    }

    /// What it is, for the log, with so many UEs.
    pub fn about(&self, ues: usize) -> String {
        with!(self, node => node.about(ues))
    }

    /// Its RAN functions, with its time of day.
    pub fn functions(
        &self,
        config: &RanConfig,
        clock: &(impl Fn() -> SystemTime + Clone + Send + 'static),
    ) -> Vec<Box<dyn RanFunction>> {
        match self {
            E2Node::OfCell(node) => functions::of_node(node, config, clock),
            E2Node::Cu(cu) => functions::of_cu(cu, config, clock),
        }
    }

    /// Whether it has the UEs of a cell.
    pub fn has_cell(&self, first: u16, cell: usize, simulation: &RanSimulation) -> bool {
        match self {
            E2Node::OfCell(_) => usize::from(first) == cell,
            E2Node::Cu(_) => simulation.places.get(cell).is_some_and(|place| place.first == first),
        }
    }

    pub fn last_read(&self) -> Time {
        with!(self, node => node.last_read())
    }

    pub fn has_pending_reports(&self) -> bool {
        with!(self, node => node.has_pending_reports())
    }

    /// Advances to `now` without being read by a RAN function.
    pub fn advance_unread(&self, now: Time) {
        match self {
            E2Node::OfCell(node) => node.borrow_mut().advance_unread(now),
            E2Node::Cu(cu) => cu.borrow_mut().advance_unread(now),
        }
    }

    /// Advances to `now` as a read does.
    pub fn advance(&self, now: Time) {
        match self {
            E2Node::OfCell(node) => KpmSource::advance(&mut *node.borrow_mut(), now),
            E2Node::Cu(cu) => KpmSource::advance(&mut *cu.borrow_mut(), now),
        }
    }

    /// Overwrites the counters of each of its cells with the present state.
    pub fn take_snapshot(&self, mark: &mut Vec<CounterSnapshot>) {
        match self {
            E2Node::OfCell(node) => {
                mark.resize_with(1, CounterSnapshot::default);
                node.borrow().take_snapshot(&mut mark[0]);
            }
            E2Node::Cu(cu) => cu.borrow().take_snapshot(mark),
        }
    }

    /// The value of a measurement since a snapshot, of the node or of one UE; `None` if it does not offer the measurement, or not with
    /// this label.
    pub fn value(
        &self,
        since: &[CounterSnapshot],
        ue: Option<Ue>,
        name: &str,
        label: &MeasurementLabel,
    ) -> Option<Value> {
        let one = ue.map(|ue| [ue]);
        let object = one.as_ref().map_or(MeasuredObject::Cell, |ue| MeasuredObject::Ues(ue));
        let measurement = with!(self, node => node.measurements().iter().position(|offer| offer.name == name))?;
        if !with!(self, node => node.supports_label(measurement, label)) {
            return None;
        }
        Some(match self {
            E2Node::OfCell(node) => node.borrow().value(since.first()?, object, measurement, label),
            E2Node::Cu(cu) => cu.borrow().value_since(since, object, measurement, label),
        })
    }

    /// Its UEs, in their order.
    pub fn ues(&self) -> Vec<Ue> {
        let mut ues = Vec::new();
        with!(self, node => KpmSource::ues(&*node, &mut ues));
        ues
    }

    /// The UE with a number in the RAN.
    pub fn find_ue(&self, number: u64) -> Option<Ue> {
        self.ues().into_iter().find(|ue| with!(self, node => node.number_of(*ue)) == Some(number))
    }

    pub fn ue_id(&self, ue: Ue) -> UeId<'static> {
        with!(self, node => KpmSource::ue_id(&*node, ue))
    }
}
