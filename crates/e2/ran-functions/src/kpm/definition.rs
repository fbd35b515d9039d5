//! The RAN function definition.

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

use super::{Bin, KpmConfig, KpmSource, SupportedMeasurement, v1, v2_00};

/// The maximum number of bins of a distribution in each of its dimensions X, Y and Z.
pub(super) const MAX_BINS: usize = 256;
const MAX_DIMENSIONS: usize = 3;

/// A report style (KPM 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReportStyle {
    /// Style 1: measurements of the node or a cell.
    Node = 1,
    /// Style 2: measurements of one UE.
    SingleUe = 2,
    /// Style 3: measurements of all UEs together that meet the matching conditions of the measurement.
    Conditions = 3,
    /// Style 4: measurements of each UE that meets common conditions.
    CommonConditions = 4,
    /// Style 5: measurements of each of several UEs.
    Ues = 5,
}

impl ReportStyle {
    /// All report styles.
    pub const ALL: [ReportStyle; 5] = [
        ReportStyle::Node,
        ReportStyle::SingleUe,
        ReportStyle::Conditions,
        ReportStyle::CommonConditions,
        ReportStyle::Ues,
    ];

    /// The report style type, which is also the number of its action definition format.
    #[must_use]
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Whether measurements with this scope can be reported in this style.
    pub(super) fn supports(self, scope: Scope) -> bool {
        match self {
            ReportStyle::Node => scope != Scope::Ue,
            _ => scope != Scope::Cell,
        }
    }

    /// Whether the definition lists every measurement that it supports: see [`KpmSource::is_listed_in_every_style`].
    const fn lists_all(self) -> bool {
        matches!(self, ReportStyle::Node | ReportStyle::CommonConditions)
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

/// Panics if the RAN function definition cannot be encoded.
pub(super) fn check<S: KpmSource>(source: &S, config: &KpmConfig) {
    let measurements = source.measurements();
    for (at, SupportedMeasurement { name, id, .. }) in measurements.iter().enumerate() {
        let dimensions = source.bins(at);
        let is_valid = |bins: &&[Bin]| (1..=MAX_BINS).contains(&bins.len());
        let are_valid = dimensions.len() <= MAX_DIMENSIONS && dimensions.iter().all(is_valid);
        assert!(are_valid, "{name} has more than {MAX_DIMENSIONS} dimensions, or one without 1 to {MAX_BINS} bins");
        let is_valid = (1..=150).contains(&name.len()) && PrintableString::try_from(&**name).is_ok();
        assert!(is_valid, "invalid measurement name `{name}`: it must have 1 to 150 printable ASCII characters");
        assert!(id.is_none_or(|id| (1..=65536).contains(&id)), "the measurement ID of {name} is not in 1 to 65536");
    }
    let is_any = config.styles.iter().any(|style| measurements.iter().any(|m| style.supports(m.scope)));
    assert!(is_any || config.styles.is_empty(), "the source has no measurements for any of the report styles");
    if config.revision == Revision::V2_00 {
        let has_cell = measurements.iter().any(|measurement| ReportStyle::Node.supports(measurement.scope));
        assert!(has_cell && config.styles.contains(&ReportStyle::Node), "KPM v02.00 has report style 1 only");
    }
    let has_wire = match config.wire {
        Wire::Per => true,
        _ if config.revision < Revision::V2_01 => false,
        wire => definition(source, config).encode_in(config.revision, wire, &mut Vec::new()).is_ok(),
    };
    assert!(has_wire, "KPM {} has no encoding {}, or it is not compiled in", config.revision, config.wire);
}

/// The RAN function item of E2 Setup.
pub(super) fn function<S: KpmSource>(source: &S, config: &KpmConfig) -> Function {
    let mut bytes = Vec::new();
    if config.revision == Revision::V1_00 {
        bytes = v1::definition(&config.announcement);
    } else if config.revision == Revision::V2_00 {
        bytes = match v2_00::definition(source) {
            Ok(bytes) => bytes,
            Err(error) => panic!("cannot encode the RAN function definition of v02.00: {error}"),
        };
    } else if let Err(error) = definition(source, config).encode_in(config.revision, config.wire, &mut bytes) {
        panic!("cannot encode the RAN function definition, although `check` passed: {error}");
    }
    // common practice: the function revision follows that of the specification, see `e2sm::kpm::Detection`
    let revision = match config.revision {
        Revision::V1_00 => 0,
        Revision::V2_00 | Revision::V2_01 => 1,
        Revision::V2_03 => 2,
        Revision::V3_00 => 3,
        Revision::V4_00 => 4,
    };
    Function {
        id: config.function_id,
        revision: RanFunctionRevision(config.announcement.revision(revision)),
        oid: config.announcement.oid(config.wire.oid(config.revision.oid())),
        definition: bytes,
    }
}

fn definition<'s, S: KpmSource>(source: &'s S, config: &'s KpmConfig) -> RanFunctionDefinition<'s> {
    let trigger = RicEventTriggerStyleItem {
        ric_event_trigger_style_type: RicStyleType(1),
        ric_event_trigger_style_name: RicStyleName(PrintableString::literal("Periodic report")),
        ric_event_trigger_format_type: RicFormatType(1),
    };
    let styles = config.styles.iter().map(|style| style_item(*style, source, config));
    RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal(config.announcement.short_name("ORAN-E2SM-KPM")),
            e2sm_oid: PrintableString::literal(config.announcement.definition_oid(config.revision.oid())),
            description: PrintableString::literal("KPM Monitor"),
            instance: None,
        },
        ric_event_trigger_style_list: Some(List::from(vec![trigger])),
        ric_report_style_list: Some(styles.filter(|style| !style.meas_info_action_list.is_empty()).collect())
            .filter(|styles: &List<'_, _>| !styles.is_empty()),
    }
}

fn style_item<'s, S: KpmSource>(style: ReportStyle, source: &'s S, config: &KpmConfig) -> RicReportStyleItem<'s> {
    // a measurement that is not listed in every style has its bins in the first one that lists it
    let has_bins = |at, scope| {
        let mut listing = config.styles.iter().filter(|style| style.lists_all() && style.supports(scope));
        config.revision > Revision::V2_01 && (source.is_listed_in_every_style(at) || listing.next() == Some(&style))
    };
    let item = |(at, measurement): (usize, &'s SupportedMeasurement)| MeasurementInfoActionItem {
        meas_name: MeasurementTypeName(PrintableString::literal(&measurement.name)),
        meas_id: measurement.id.map(MeasurementTypeId),
        bin_range_def: bin_range_definition(source.bins(at)).filter(|_| has_bins(at, measurement.scope)),
    };
    let measurements = source.measurements().iter().enumerate();
    let is_listed = |at| style.lists_all() || source.is_listed_in_every_style(at);
    let supported = measurements.filter(|(at, measurement)| style.supports(measurement.scope) && is_listed(*at));
    RicReportStyleItem {
        ric_report_style_type: RicStyleType(style.number()),
        ric_report_style_name: RicStyleName(PrintableString::literal(style.name())),
        ric_action_format_type: RicFormatType(style.number()),
        meas_info_action_list: supported.map(item).collect(),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(style.message_format()),
    }
}

/// A border of a bin: a whole number is an INTEGER, which has fewer octets than a REAL.
fn border(value: f64) -> BinRangeValue<'static> {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        BinRangeValue::ValueInt(value as i64)
    } else {
        BinRangeValue::ValueReal(Real::from(value))
    }
}

/// The bin ranges of a distribution; `None` for other measurements.
fn bin_range_definition(dimensions: &[&[Bin]]) -> Option<BinRangeDefinition<'static>> {
    let item = |(index, bin): (u16, &Bin)| BinRangeItem {
        bin_index: BinIndex(index),
        start_value: border(bin.from),
        end_value: border(bin.to),
    };
    let mut lists = dimensions.iter().map(|bins| (1..).zip(bins.iter()).map(item).collect::<List<'_, _>>());
    Some(BinRangeDefinition {
        bin_range_list_x: lists.next()?,
        bin_range_list_y: lists.next(),
        bin_range_list_z: lists.next(),
    })
}
