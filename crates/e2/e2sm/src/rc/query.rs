//! Queries of the RIC (RC 9.2.1.9 to 9.2.1.11; v03.00).

use per::{List, Per};

use super::{
    EventTriggerGroup, EventTriggerUeIndividual, LogicalOr, NeighborRelationInfo, OptionalRanParameterItem,
    QueriedRanParameter, RanParameterTesting, UeFilterId,
};
use crate::common::{Cgi, PartialUeId, RicStyleType, UeId};

/// E2SM-RC-QueryHeader.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryHeader<'a> {
    /// The header in its style's format.
    pub formats: QueryHeaderFormats<'a>,
}

crate::message::message!(QueryHeader, lists);

/// The formats of a query header.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum QueryHeaderFormats<'a> {
    /// The only one.
    Format1(QueryHeaderFormat1<'a>),
}

/// E2SM-RC-QueryHeader-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryHeaderFormat1<'a> {
    /// The query style.
    pub ric_style_type: RicStyleType,
    /// Conditions on the cells of the node.
    pub associated_e2_node_info: Option<RanParameterTesting<'a>>,
    /// The UEs.
    pub associated_ue_info: Option<AssociatedUeInfo<'a>>,
}

/// Associated-UE-Info: a selection of UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct AssociatedUeInfo<'a> {
    /// The UEs.
    #[per(size = 1..=65535)]
    pub associated_ue_info_list: List<'a, AssociatedUeInfoItem<'a>>,
}

/// Associated-UE-Info-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct AssociatedUeInfoItem<'a> {
    /// Its number.
    pub ue_filter_id: UeFilterId,
    /// The UE or UEs.
    pub ue_type: AssociatedUeType<'a>,
    /// Whether it is joined to the next one by OR.
    pub logical_or: Option<LogicalOr>,
}

/// The UEs of an [`AssociatedUeInfoItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum AssociatedUeType<'a> {
    /// One.
    Individual(EventTriggerUeIndividual<'a>),
    /// All that meet conditions.
    Group(EventTriggerGroup<'a>),
    /// All with some identifiers (v05.00).
    #[per(addition, since = 3)]
    UeQuery(UeQuery<'a>),
}

/// UEQuery (v05.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct UeQuery<'a> {
    /// The identifiers.
    pub partial_ueid: PartialUeId,
    /// Conditions on them.
    pub ran_parameter_testing: Option<RanParameterTesting<'a>>,
}

/// E2SM-RC-QueryDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryDefinition<'a> {
    /// The definition in its style's format.
    pub formats: QueryDefinitionFormats<'a>,
}

crate::message::message!(QueryDefinition, lists);

/// The formats of a query definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum QueryDefinitionFormats<'a> {
    /// The only one.
    Format1(QueryDefinitionFormat1<'a>),
}

/// E2SM-RC-QueryDefinition-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryDefinitionFormat1<'a> {
    /// The queried parameters.
    #[per(size = 1..=65535)]
    pub ran_p_list: List<'a, QueriedRanParameter<'a>>,
}

/// E2SM-RC-QueryOutcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryOutcome<'a> {
    /// The outcome in its style's format.
    pub formats: QueryOutcomeFormats<'a>,
}

crate::message::message!(QueryOutcome, lists);

/// The formats of a query outcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum QueryOutcomeFormats<'a> {
    /// Of cells.
    Format1(QueryOutcomeFormat1<'a>),
    /// Of UEs.
    Format2(QueryOutcomeFormat2<'a>),
}

/// E2SM-RC-QueryOutcome-Format1.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryOutcomeFormat1<'a> {
    /// The cells.
    #[per(size = 1..=65535)]
    pub cell_info_list: List<'a, QueryOutcomeFormat1ItemCell<'a>>,
}

/// E2SM-RC-QueryOutcome-Format1-ItemCell.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryOutcomeFormat1ItemCell<'a> {
    /// The cell.
    pub cell_global_id: Cgi,
    /// Its parameters.
    #[per(size = 0..=65535)]
    pub ran_p_list: List<'a, OptionalRanParameterItem<'a>>,
    /// Its neighbours.
    pub neighbor_relation_table: Option<NeighborRelationInfo<'a>>,
}

/// E2SM-RC-QueryOutcome-Format2.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryOutcomeFormat2<'a> {
    /// The UEs.
    #[per(size = 0..=65535)]
    pub ue_info_list: List<'a, QueryOutcomeFormat2ItemUe<'a>>,
}

/// E2SM-RC-QueryOutcome-Format2-ItemUE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryOutcomeFormat2ItemUe<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
    /// Its parameters.
    #[per(size = 0..=65535)]
    pub ran_p_list: List<'a, OptionalRanParameterItem<'a>>,
    /// The filter that it matches.
    pub ue_filter_id: Option<UeFilterId>,
}
