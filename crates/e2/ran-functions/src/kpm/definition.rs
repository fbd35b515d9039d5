//! What the RIC is told of the function.

use e2sm::Wire;
use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::kpm::dictionary::Scope;
use e2sm::kpm::{
    BinIndex, BinRangeDefinition, BinRangeItem, BinRangeValue, MeasurementInfoActionItem, MeasurementTypeId,
    MeasurementTypeName, RanFunctionDefinition, Revision, RicEventTriggerStyleItem, RicReportStyleItem,
};
use ferric::e2::Function;
use ferric::e2ap::RanFunctionRevision;
use per::{List, PrintableString, Real};

use super::{Bin, KpmConfig, KpmSource, SupportedMeasurement, v1};

/// Most bins of a distribution, in each of its dimensions: X, Y and Z.
pub(super) const MAX_BINS: usize = 256;
const MAX_DIMENSIONS: usize = 3;

/// A report style (KPM 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReportStyle {
    /// Style 1: the node or a cell.
    Node = 1,
    /// Style 2: one UE.
    SingleUe = 2,
    /// Style 3: the UEs that meet a measurement's own conditions, together.
    Conditions = 3,
    /// Style 4: every UE that meets conditions, each by itself.
    CommonConditions = 4,
    /// Style 5: several UEs, each by itself.
    Ues = 5,
}

impl ReportStyle {
    /// All of them.
    pub const ALL: [ReportStyle; 5] = [
        ReportStyle::Node,
        ReportStyle::SingleUe,
        ReportStyle::Conditions,
        ReportStyle::CommonConditions,
        ReportStyle::Ues,
    ];

    /// The style's number, which is that of its action definition's format too.
    #[must_use]
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Whether a measurement can be reported so.
    pub(super) fn takes(self, scope: Scope) -> bool {
        match self {
            ReportStyle::Node => scope != Scope::Ue,
            _ => scope != Scope::Cell,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            ReportStyle::Node => "E2 Node Measurement",
            ReportStyle::SingleUe => "E2 Node Measurement for a single UE",
            ReportStyle::Conditions => "Condition-based, UE-level E2 Node Measurement",
            ReportStyle::CommonConditions => "Common condition-based, UE-level E2 Node Measurement",
            ReportStyle::Ues => "E2 Node Measurement for multiple UEs",
        }
    }

    const fn message_format(self) -> i64 {
        match self {
            ReportStyle::Node | ReportStyle::SingleUe => 1,
            ReportStyle::Conditions => 2,
            ReportStyle::CommonConditions | ReportStyle::Ues => 3,
        }
    }
}

/// Panics where the source's offers cannot be told.
pub(super) fn check<S: KpmSource>(source: &S, config: &KpmConfig) {
    let offers = source.measurements();
    for (at, offer) in offers.iter().enumerate() {
        let dimensions = source.bins(at);
        let fits = |bins: &&[Bin]| (1..=MAX_BINS).contains(&bins.len());
        let do_fit = dimensions.len() <= MAX_DIMENSIONS && dimensions.iter().all(fits);
        assert!(do_fit, "{} has more than {MAX_DIMENSIONS} dimensions, or one not of 1 to {MAX_BINS} bins", offer.name);
        let fits = offer.name.is_ascii() && (1..=150).contains(&offer.name.len());
        assert!(fits, "`{}` is no measurement name: 1 to 150 characters of ASCII", offer.name);
        assert!(offer.id.is_none_or(|id| (1..=65536).contains(&id)), "{}'s id is not within 1 to 65536", offer.name);
    }
    let some = config.styles.iter().any(|style| offers.iter().any(|offer| style.takes(offer.scope)));
    assert!(some, "the source offers nothing of any of the report styles");
    let in_wire = match config.wire {
        Wire::Per => true,
        _ if config.revision == Revision::V1_00 => false,
        wire => definition(source, config).encode_in(config.revision, wire, &mut Vec::new()).is_ok(),
    };
    assert!(in_wire, "KPM {} has no wire form {}, or it is not built in", config.revision, config.wire);
}

/// What E2 Setup tells.
pub(super) fn function<S: KpmSource>(source: &S, config: &KpmConfig) -> Function {
    let mut bytes = Vec::new();
    if config.revision == Revision::V1_00 {
        bytes = v1::definition();
    } else if let Err(error) = definition(source, config).encode_in(config.revision, config.wire, &mut bytes) {
        panic!("offers were checked when the function was made: {error}");
    }
    // By habit in the field the function's revision follows the specification's; see `e2sm::kpm::Detection`.
    let revision = match config.revision {
        Revision::V1_00 => 0,
        Revision::V2_01 => 1,
        Revision::V2_03 => 2,
        Revision::V3_00 => 3,
        Revision::V4_00 => 4,
    };
    Function {
        id: config.function_id,
        revision: RanFunctionRevision(revision),
        oid: config.wire.oid(config.revision.oid()).into_owned(),
        definition: bytes,
    }
}

fn definition<S: KpmSource>(source: &S, config: &KpmConfig) -> RanFunctionDefinition<'static> {
    let trigger = RicEventTriggerStyleItem {
        ric_event_trigger_style_type: RicStyleType(1),
        ric_event_trigger_style_name: RicStyleName(PrintableString::literal("Periodic report")),
        ric_event_trigger_format_type: RicFormatType(1),
    };
    let styles = config.styles.iter().map(|style| style_item(*style, source, config.revision));
    RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal(config.revision.oid()),
            description: PrintableString::literal("KPM Monitor"),
            instance: None,
        },
        ric_event_trigger_style_list: Some(List::from(vec![trigger])),
        ric_report_style_list: Some(styles.filter(|style| !style.meas_info_action_list.is_empty()).collect()),
    }
}

fn style_item<S: KpmSource>(style: ReportStyle, source: &S, revision: Revision) -> RicReportStyleItem<'static> {
    let measurement = |(at, offer): (usize, &SupportedMeasurement)| MeasurementInfoActionItem {
        meas_name: MeasurementTypeName(PrintableString::literal(offer.name)),
        meas_id: offer.id.map(MeasurementTypeId),
        bin_range_def: bin_range_definition(source.bins(at)).filter(|_| revision > Revision::V2_01),
    };
    let offered = source.measurements().iter().enumerate().filter(|(_, offer)| style.takes(offer.scope));
    RicReportStyleItem {
        ric_report_style_type: RicStyleType(style.number()),
        ric_report_style_name: RicStyleName(PrintableString::literal(style.name())),
        ric_action_format_type: RicFormatType(style.number()),
        meas_info_action_list: offered.map(measurement).collect(),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(style.message_format()),
    }
}

/// The bins of a distribution.
fn bin_range_definition(dimensions: &[&[Bin]]) -> Option<BinRangeDefinition<'static>> {
    let item = |(index, bin): (u16, &Bin)| BinRangeItem {
        bin_index: BinIndex(index),
        start_value: BinRangeValue::ValueReal(Real::from(bin.from)),
        end_value: BinRangeValue::ValueReal(Real::from(bin.to)),
    };
    let mut lists = dimensions.iter().map(|bins| (1..).zip(bins.iter()).map(item).collect::<List<'_, _>>());
    Some(BinRangeDefinition {
        bin_range_list_x: lists.next()?,
        bin_range_list_y: lists.next(),
        bin_range_list_z: lists.next(),
    })
}
