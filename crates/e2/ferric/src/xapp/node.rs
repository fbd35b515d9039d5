//! The nodes, and what each of them offers.

use std::sync::Arc;

use e2::NodeId;
use e2::topology::{OfferedFunction, UeModel, UeReportConfig, UeSource};
use e2::xapp::{FunctionInfo, NodeInfo};
use e2ap::{GlobalE2NodeId, RanFunctionId};
use e2sm::common::{SNssai, Sst};
use e2sm::kpm::EveryUe;
use e2sm::{Arena, Model, Wire, ccc, kpm, rc, rrc};
use per::IntoOwned;

use super::error::Error;
use super::names::CellId;

/// The period of reports that identify UEs.
const UE_PERIOD_MS: u32 = 1000;

/// A node and its RAN functions.
pub(super) struct NodeEntry {
    pub id: NodeId,
    pub global_id: GlobalE2NodeId,
    pub name: Arc<str>,
    /// The KPM functions: the octets of each definition, as the oldest revisions have types of their own.
    pub kpm: Vec<KpmFunction>,
    pub rc: Option<RcFunction>,
    pub ccc: Option<CccFunction>,
    /// FlexRIC's models and RRC notifications, by object identifier.
    models: Vec<(RanFunctionId, String)>,
    /// What reports its UEs, each with alternatives, until it is subscribed to.
    pub ue_sources: Vec<Vec<UeSource>>,
}

pub(super) struct KpmFunction {
    pub id: RanFunctionId,
    pub detection: kpm::Detection,
    pub definition: Vec<u8>,
}

pub(super) struct RcFunction {
    pub id: RanFunctionId,
    pub detection: rc::Detection,
    pub definition: rc::RanFunctionDefinition<'static>,
}

pub(super) struct CccFunction {
    pub id: RanFunctionId,
    pub definition: ccc::RanFunctionDefinition,
}

/// The reports that identify a node's UEs. RRC notifications have everything; without them several reports add to each other.
fn ue_sources(functions: &[FunctionInfo]) -> Vec<Vec<UeSource>> {
    let has_notifications = functions.iter().any(|function| rrc::MODEL.wire_of(&function.oid).is_some());
    let models = if has_notifications { &[UeModel::Rrc] } else { UeModel::ALL };
    let offered = |kpm_ues| {
        let config = UeReportConfig { models, period_ms: Some(UE_PERIOD_MS), kpm_ues };
        UeSource::of_node(functions.iter().map(OfferedFunction::from), &config)
    };
    // OAI's base stations report the UEs of a slice only
    let others = offered(EveryUe::InSlice(SNssai { sst: Sst([1]), sd: None }));
    let with_others = |source: UeSource| {
        let is_other = |other: &&UeSource| source.model() == UeModel::Kpm && other.function == source.function;
        let other = others.iter().find(is_other).cloned();
        std::iter::once(source).chain(other).collect()
    };
    offered(EveryUe::AnySignal).into_iter().map(with_others).collect()
}

impl NodeEntry {
    pub fn new(info: &NodeInfo) -> Self {
        let mut node = NodeEntry {
            id: info.id,
            global_id: info.global_id,
            name: info.global_id.to_string().into(),
            kpm: Vec::new(),
            rc: None,
            ccc: None,
            models: Vec::new(),
            ue_sources: ue_sources(&info.functions),
        };
        for function in &info.functions {
            if let Err(error) = node.add(function) {
                tracing::warn!(node = %node.name, function = function.id.0, %error, "cannot read the RAN function's definition: it is not used");
            }
        }
        node
    }

    fn add(&mut self, function: &FunctionInfo) -> Result<(), e2sm::Error> {
        let FunctionInfo { id, revision, oid, definition, model_revision } = function;
        if e2sm::detect(oid).is_some() {
            self.models.push((*id, oid.clone()));
            return Ok(());
        }
        if oid.trim() == ccc::OID {
            let definition = ccc::RanFunctionDefinition::decode(definition)?;
            self.ccc.get_or_insert(CccFunction { id: *id, definition });
            return Ok(());
        }
        // what the operator of the RIC has configured goes before what the node registers
        let hint = model_revision.as_deref();
        if Wire::of(oid.trim()).1 == rc::OID {
            let detection = match hint.and_then(|hint| hint.parse().ok()) {
                Some(revision) => rc::Detection::configured(revision).in_wire_of(oid),
                None => rc::Detection::from_ran_function(oid, revision.0, definition)?,
            };
            let arena = Arena::new();
            let read = rc::RanFunctionDefinition::decode_in(definition, detection.revision, detection.wire, &arena)?
                .into_owned();
            self.rc.get_or_insert(RcFunction { id: *id, detection, definition: read });
            return Ok(());
        }
        let detected = kpm::Detection::from_ran_function(oid, revision.0, definition);
        let detection = match (hint.and_then(|hint| hint.parse::<kpm::Revision>().ok()), detected) {
            // E2AP v01.00 has no object identifier: the configured revision holds if it reads the definition
            (Some(revision), Err(e2sm::Error::UnknownOid))
                if oid.trim().is_empty() && revision.reads_definition(definition) =>
            {
                kpm::Detection::configured(revision)
            }
            (_, Err(e2sm::Error::UnknownOid)) => return Ok(()), // another model
            (Some(revision), _) => kpm::Detection::configured(revision).in_wire_of(oid),
            (None, detected) => detected?,
        };
        self.kpm.push(KpmFunction { id: *id, detection, definition: definition.clone() });
        Ok(())
    }

    /// The function of one of FlexRIC's models, and its encoding.
    pub fn model(&self, model: Model) -> Option<(RanFunctionId, Wire)> {
        self.models.iter().find_map(|(id, oid)| Some((*id, model.wire_of(oid)?)))
    }

    /// The cells that the node lists in its definition of E2SM-CCC.
    pub fn cells(&self) -> impl Iterator<Item = CellId> {
        let listed = self.ccc.iter().flat_map(|ccc| ccc.definition.cells.iter().flatten());
        listed.map(|cell| CellId::of(&cell.cell_global_id))
    }

    /// The error that the node lacks something.
    pub fn lacks(&self, what: impl Into<String>) -> Error {
        Error::NotOffered { node: Some(self.name.to_string()), what: what.into(), nearest: Vec::new() }
    }
}
