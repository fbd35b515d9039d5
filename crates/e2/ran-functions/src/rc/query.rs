//! Queries: the current state of cells and UEs (v03.00).

use e2sm::Arena;
use e2sm::rc::{
    AssociatedUeInfo, AssociatedUeType, LogicalOr, OptionalRanParameterItem, QueryDefinition, QueryDefinitionFormats,
    QueryHeader, QueryHeaderFormats, QueryOutcome, QueryOutcomeFormat1, QueryOutcomeFormat1ItemCell,
    QueryOutcomeFormat2, QueryOutcomeFormat2ItemUe, QueryOutcomeFormats, RanParameterElementFalse, RanParameterId,
    RanParameterValueType, Revision, UeFilterId,
};
use ferric::agent::{ControllerId, Ue, Views};
use ferric::e2ap::{Cause, CauseRicRequest};
use tracing::debug;

use super::{RcConfig, RcSource, State, conditions, ues};
use crate::cause::{ACTION_NOT_SUPPORTED, INFORMATION_UNAVAILABLE, undecodable};

impl State {
    /// The outcome of a query: of the cells (style 1), or of the UEs that the controller may see (style 2).
    ///
    /// # Errors
    /// If the query cannot be decoded, or requests unsupported information.
    pub(super) fn answer_query<S: RcSource>(
        &self,
        source: &S,
        controller: ControllerId,
        views: &Views,
        header: &[u8],
        definition: &[u8],
    ) -> Result<Vec<u8>, Cause> {
        let RcConfig { revision, wire, .. } = self.config;
        if revision == Revision::V1_03 {
            return Err(ACTION_NOT_SUPPORTED);
        }
        let arena = Arena::new();
        let QueryHeaderFormats::Format1(header) =
            QueryHeader::decode_in(header, revision, wire, &arena).map_err(undecodable("query header"))?.formats;
        let QueryDefinitionFormats::Format1(definition) =
            QueryDefinition::decode_in(definition, revision, wire, &arena)
                .map_err(undecodable("query definition"))?
                .formats;
        if header.associated_e2_node_info.is_some() {
            return Err(ACTION_NOT_SUPPORTED);
        }
        let parameters: Vec<_> = definition.ran_p_list.iter().map(|item| item.ran_parameter_id).collect();
        let formats = match header.ric_style_type.0 {
            1 => {
                let cells = source.cells();
                let cells = cells.iter().map(|cell| QueryOutcomeFormat1ItemCell {
                    cell_global_id: *cell,
                    ran_p_list: Default::default(),
                    neighbor_relation_table: source.neighbor_relations(cell),
                });
                QueryOutcomeFormats::Format1(QueryOutcomeFormat1 { cell_info_list: cells.collect() })
            }
            2 => {
                let is_known = |id: &RanParameterId| source.ue_parameters().iter().any(|known| known.id == *id);
                let ues = header.associated_ue_info.as_ref();
                if !parameters.iter().all(is_known) || ues.is_some_and(|ues| !can_select(source, ues)) {
                    return Err(INFORMATION_UNAVAILABLE);
                }
                let item = |ue: Ue| {
                    let ue_filter_id = match ues {
                        Some(ues) => Some(passes(source, ue, ues)?),
                        None => None,
                    };
                    let parameter = |id: &RanParameterId| OptionalRanParameterItem {
                        ran_parameter_id: *id,
                        value_type: source.ue_parameter(ue, *id).map(|value| {
                            RanParameterValueType::ElementFalse(RanParameterElementFalse { value: Some(value) })
                        }),
                    };
                    let ran_p_list = parameters.iter().map(parameter).collect();
                    Some(QueryOutcomeFormat2ItemUe { ue_id: source.ue_id(ue), ran_p_list, ue_filter_id })
                };
                let visible = ues::visible(source, views, controller);
                let ue_info_list = visible.into_iter().filter_map(item).collect();
                QueryOutcomeFormats::Format2(QueryOutcomeFormat2 { ue_info_list })
            }
            _ => return Err(ACTION_NOT_SUPPORTED),
        };
        let mut bytes = Vec::new();
        QueryOutcome { formats }.encode_in(revision, wire, &mut bytes).map_err(|error| {
            debug!(%error, "cannot encode a query outcome: a value of the source is out of range");
            Cause::RicRequest(CauseRicRequest::Unspecified)
        })?;
        Ok(bytes)
    }
}

fn can_select<S: RcSource>(source: &S, ues: &AssociatedUeInfo<'_>) -> bool {
    ues.associated_ue_info_list.iter().all(|item| match &item.ue_type {
        AssociatedUeType::Individual(one) => {
            one.ran_parameter_testing.as_ref().is_none_or(|testing| conditions::can_evaluate(source, testing, |_| true))
        }
        AssociatedUeType::Group(group) => conditions::can_evaluate(source, &group.ran_parameter_testing, |_| true),
        AssociatedUeType::UeQuery(query) => query
            .ran_parameter_testing
            .as_ref()
            .is_none_or(|testing| conditions::can_evaluate(source, testing, |_| true)),
    })
}

/// The last filter that a UE passes; `None` if it does not pass. Individual UE IDs are joined by OR.
fn passes<S: RcSource>(source: &S, ue: Ue, ues: &AssociatedUeInfo<'_>) -> Option<UeFilterId> {
    let ue_id = source.ue_id(ue);
    let mut passed = None;
    let all = conditions::all_groups(ues.associated_ue_info_list.iter().map(|item| {
        let tested = |testing: &Option<_>| testing.as_ref().is_none_or(|t| conditions::hold(source, ue, t));
        let (holds, or) = match &item.ue_type {
            AssociatedUeType::Individual(one) => {
                (ue_id.is_same_ue(&one.ue_id) && tested(&one.ran_parameter_testing), true)
            }
            AssociatedUeType::UeQuery(query) => {
                (query.partial_ueid.matches(&ue_id) && tested(&query.ran_parameter_testing), true)
            }
            AssociatedUeType::Group(group) => {
                (conditions::hold(source, ue, &group.ran_parameter_testing), item.logical_or == Some(LogicalOr::True))
            }
        };
        if holds {
            passed = Some(item.ue_filter_id);
        }
        (holds, or)
    }));
    passed.filter(|_| all)
}
