//! An action that is set up: what it reports, when, and what it has collected.

use std::time::Duration;

use e2sm::Arena;
use e2sm::common::{Cgi, UeId};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormat1, ActionDefinitionFormat3, ActionDefinitionFormats, BinRangeDefinition,
    BinRangeItem, BinRangeValue, LabelInfoItem, MatchingCondItem, MatchingCondItemChoice, MeasurementInfoItem,
    MeasurementLabel, MeasurementType, Revision, StartEndInd,
};
use ferric::agent::{ControllerId, RequestKey, Ue, Views};
use ferric::e2::{self, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RicActionId, RicActionType};
use per::{IntoOwned, List};
use tracing::debug;

use super::collect::Collection;
use super::conditions::{Conditions, ValueConditions, of_network};
use super::definition::MAX_BINS;
use super::v1;
use super::{Bin, KpmConfig, KpmSource, ReportStyle};

/// Values of one record and UE: measurements with their labels.
const MAX_COLUMNS: usize = 1024;
/// Conditions of one action.
const MAX_CONDITIONS: usize = 256;

const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const NOT_AVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
const TOO_MUCH: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
const SEMANTIC: Cause = Cause::Protocol(CauseProtocol::SemanticError);

/// An action that is set up.
pub(super) struct Action<M> {
    key: RequestKey,
    id: RicActionId,
    pub(super) subject: Subject,
    /// The values of a record, in order.
    pub(super) columns: Vec<Column>,
    /// The same, as a report tells them; of a report on groups, what each is and its conditions.
    pub(super) info: Info,
    pub(super) schedule: Schedule,
    pub(super) collection: Collection,
    pub(super) mark: M,
}

/// About whom an action reports.
pub(super) enum Subject {
    Cell,
    /// One UE, in a message of its own format.
    Single(Ue),
    /// Several UEs.
    Named(Vec<Ue>),
    /// Each UE that meets the conditions.
    Each(Conditions),
    /// The UEs that meet the conditions of a column, together.
    Groups(Vec<Conditions>),
    /// A container of v01.00, and the cell that it tells of.
    Container(v1::Style, Cgi),
}

/// One value of a record.
pub(super) struct Column {
    pub offer: usize,
    pub label: MeasurementLabel,
    /// Of a distribution: the bin, in each dimension.
    pub bins: Option<Vec<Bin>>,
    pub conditions: ValueConditions,
}

/// What the columns are.
pub(super) enum Info {
    Measurements(Vec<MeasurementInfoItem<'static>>),
    Groups(Vec<(MeasurementType<'static>, List<'static, MatchingCondItem<'static>>)>),
}

/// Periods without drift: each begins where the one before ends, whenever it is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub granularity_ms: u32,
    /// Records of a report.
    pub records: u32,
    /// When the report that is being collected began.
    pub start: Time,
    /// Records of it that are there.
    pub done: u32,
}

impl Schedule {
    fn after(&self, records: u64) -> Time {
        self.start + Duration::from_millis(u64::from(self.granularity_ms).saturating_mul(records))
    }

    /// When the record that is being collected ends.
    pub fn due(&self) -> Time {
        self.after(u64::from(self.done) + 1)
    }

    /// Records of the report that have ended by `now`, and of those that follow.
    pub fn ended(&self, now: Time) -> u64 {
        u64::try_from((now - self.start).as_millis()).unwrap_or(u64::MAX) / u64::from(self.granularity_ms)
    }

    /// The end of the last period that has ended by `now`, if one has that is not yet looked at.
    pub fn passed_until(&self, now: Time) -> Option<Time> {
        let ended = self.ended(now);
        (ended > u64::from(self.done)).then(|| self.after(ended))
    }

    /// On to the report that comes `reports` later.
    pub fn skip(&mut self, reports: u64) {
        self.start = self.after(u64::from(self.records).saturating_mul(reports));
        self.done = 0;
    }
}

impl<M: Default> Action<M> {
    /// Checks what is wanted; the first period begins now.
    pub fn new<S: KpmSource<Snapshot = M>>(
        now: Time,
        source: &S,
        views: &Views,
        config: &KpmConfig,
        reporting_period_ms: u32,
        key: RequestKey,
        wanted: &e2::Action,
    ) -> Result<Self, Cause> {
        let definition = match &wanted.definition {
            _ if wanted.kind != RicActionType::Report => return Err(NOT_SUPPORTED),
            None => return Err(SEMANTIC),
            Some(bytes) if config.revision == Revision::V1_00 => {
                let subject = Subject::Container(v1::style(bytes)?, source.cell());
                let info = Info::Measurements(Vec::new());
                let schedule = Schedule { granularity_ms: reporting_period_ms, records: 1, start: now, done: 0 };
                return Ok(Action::start(source, key, wanted.id, config, subject, Vec::new(), info, schedule));
            }
            Some(bytes) => {
                let arena = Arena::new();
                let read = ActionDefinition::decode_in(bytes, config.revision, config.wire, &arena);
                read.map(IntoOwned::into_owned).map_err(|error| {
                    debug!(%error, "action definition");
                    Cause::Protocol(CauseProtocol::TransferSyntaxError)
                })?
            }
        };
        let style = style(&definition, config)?;
        let check = Check { source, style, views, controller: key.controller };
        let (subject, columns, info, granularity_ms) = match definition.formats {
            ActionDefinitionFormats::Format1(format) => {
                let (columns, info) = check.measurements(&format)?;
                (Subject::Cell, columns, info, format.granul_period)
            }
            ActionDefinitionFormats::Format2(format) => {
                let (columns, info) = check.measurements(&format.subscript_info)?;
                (Subject::Single(check.ue(&format.ue_id)?), columns, info, format.subscript_info.granul_period)
            }
            ActionDefinitionFormats::Format3(format) => {
                let granularity = format.granul_period;
                let (conditions, columns, info) = check.groups(format)?;
                (Subject::Groups(conditions), columns, info, granularity)
            }
            ActionDefinitionFormats::Format4(format) => {
                let (columns, info) = check.measurements(&format.subscription_info)?;
                let wanted = &format.matching_ue_cond_list;
                at_most(wanted.len(), MAX_CONDITIONS)?;
                let conditions = Conditions::of_ues(source, wanted).ok_or(NOT_AVAILABLE)?;
                (Subject::Each(conditions), columns, info, format.subscription_info.granul_period)
            }
            ActionDefinitionFormats::Format5(format) => {
                let (columns, info) = check.measurements(&format.subscription_info)?;
                at_most(format.matching_ueid_list.len(), config.max_values)?;
                let ues = check.ues(format.matching_ueid_list.iter().map(|item| &item.ue_id))?;
                (Subject::Named(ues), columns, info, format.subscription_info.granul_period)
            }
        };
        let granularity_ms = granularity_ms.0;
        if granularity_ms < config.min_period_ms.max(1) || !reporting_period_ms.is_multiple_of(granularity_ms) {
            return Err(SEMANTIC);
        }
        let records = reporting_period_ms / granularity_ms;
        let rows = if let Subject::Named(ues) = &subject { ues.len() } else { 1 };
        let values = columns.len().saturating_mul(records as usize).saturating_mul(rows);
        at_most(values, config.max_values)?;
        let schedule = Schedule { granularity_ms, records, start: now, done: 0 };
        Ok(Action::start(source, key, wanted.id, config, subject, columns, info, schedule))
    }

    /// Counting begins.
    #[allow(clippy::too_many_arguments, reason = "each is a part of the action")]
    fn start<S: KpmSource<Snapshot = M>>(
        source: &S,
        key: RequestKey,
        id: RicActionId,
        config: &KpmConfig,
        subject: Subject,
        columns: Vec<Column>,
        info: Info,
        schedule: Schedule,
    ) -> Self {
        let mut mark = M::default();
        source.take_snapshot(&mut mark);
        let collection = Collection::new(columns.len(), schedule.records as usize, config.max_values);
        Action { key, id, subject, columns, info, schedule, collection, mark }
    }
}

impl<M> Action<M> {
    pub fn key(&self) -> RequestKey {
        self.key
    }

    pub fn id(&self) -> RicActionId {
        self.id
    }

    /// When it is to be looked at next.
    pub fn due(&self) -> Time {
        self.schedule.due()
    }

    /// The end of the last period that has ended by `now`, if one has that is not yet collected.
    pub fn passed_until(&self, now: Time) -> Option<Time> {
        self.schedule.passed_until(now)
    }
}

/// The report style, which must be on offer and have its own format.
fn style(definition: &ActionDefinition<'_>, config: &KpmConfig) -> Result<ReportStyle, Cause> {
    let number = definition.ric_style_type.0;
    let style = config.styles.iter().copied().find(|style| style.number() == number).ok_or(NOT_SUPPORTED)?;
    let format = match definition.formats {
        ActionDefinitionFormats::Format1(_) => ReportStyle::Node,
        ActionDefinitionFormats::Format2(_) => ReportStyle::SingleUe,
        ActionDefinitionFormats::Format3(_) => ReportStyle::Conditions,
        ActionDefinitionFormats::Format4(_) => ReportStyle::CommonConditions,
        ActionDefinitionFormats::Format5(_) => ReportStyle::Ues,
    };
    if format == style { Ok(style) } else { Err(SEMANTIC) }
}

fn at_most(count: usize, bound: usize) -> Result<(), Cause> {
    if count > bound { Err(TOO_MUCH) } else { Ok(()) }
}

/// A subcounter that is asked for: a share, and of a distribution the numbers of its bin.
struct Wanted {
    share: MeasurementLabel,
    bins: Option<Place>,
}

/// The numbers of a bin, one for each dimension.
type Place = [Option<u16>; 3];

/// A bin's numbers, and the rest of its label.
fn split(label: MeasurementLabel) -> (Place, MeasurementLabel) {
    let place = [label.dist_bin_x, label.dist_bin_y, label.dist_bin_z];
    let share = MeasurementLabel { dist_bin_x: None, dist_bin_y: None, dist_bin_z: None, start_end_ind: None, ..label };
    (place, if share == MeasurementLabel::default() { MeasurementLabel::NO_LABEL } else { share })
}

/// The subcounters that labels ask for; a range of bins (startEndInd) is as many as it has bins, the last dimension
/// counted first.
fn labels(items: &[LabelInfoItem]) -> Result<Vec<Wanted>, Cause> {
    let mut wanted = Vec::new();
    let mut items = items.iter().map(|item| item.meas_label);
    while let Some(label) = items.next() {
        let (first, share) = split(label);
        let is_bin = first != [None; 3];
        match label.start_end_ind {
            None if is_bin => wanted.push(Wanted { share, bins: Some(first) }),
            None => wanted.push(Wanted { share: label, bins: None }),
            Some(StartEndInd::Start) if is_bin => {
                let last = items.next().filter(|last| last.start_end_ind == Some(StartEndInd::End));
                let (last, _) = last.map(split).filter(|(_, of_last)| *of_last == share).ok_or(SEMANTIC)?;
                wanted.extend(range(first, last)?.into_iter().map(|place| Wanted { share, bins: Some(place) }));
            }
            Some(_) => return Err(NOT_AVAILABLE),
        }
        at_most(wanted.len(), MAX_COLUMNS)?;
    }
    Ok(wanted)
}

/// The bins from one to another, over all dimensions.
fn range(first: Place, last: Place) -> Result<Vec<Place>, Cause> {
    let mut places = vec![[None; 3]];
    for (dimension, ends) in first.into_iter().zip(last).enumerate() {
        let (first, last) = match ends {
            (None, None) => continue,
            (Some(first), Some(last)) if first <= last => (first, last),
            _ => return Err(SEMANTIC),
        };
        at_most(places.len().saturating_mul(usize::from(last - first) + 1), MAX_COLUMNS)?;
        let with = |place: &Place, number| {
            let mut place = *place;
            place[dimension] = Some(number);
            place
        };
        places = places.iter().flat_map(|place| (first..=last).map(move |number| with(place, number))).collect();
    }
    Ok(places)
}

/// The bins of each dimension of a distribution, by their numbers.
type Dimensions = Vec<Vec<(u16, Bin)>>;

/// The bins that a controller asks for.
fn bins(definition: &BinRangeDefinition<'_>) -> Result<Dimensions, Cause> {
    let lists = [
        Some(&definition.bin_range_list_x),
        definition.bin_range_list_y.as_ref(),
        definition.bin_range_list_z.as_ref(),
    ];
    let border = |value: &BinRangeValue<'_>| match value {
        BinRangeValue::ValueInt(value) => *value as f64,
        BinRangeValue::ValueReal(value) => value.value(),
    };
    let bin = |item: &BinRangeItem<'_>| {
        let bin = Bin { from: border(&item.start_value), to: border(&item.end_value) };
        (bin.from < bin.to).then_some((item.bin_index.0, bin)).ok_or(SEMANTIC)
    };
    if lists[1].is_none() && lists[2].is_some() {
        return Err(SEMANTIC);
    }
    let dimension = |list: &List<'_, BinRangeItem<'_>>| {
        at_most(list.len(), MAX_BINS)?;
        list.iter().map(bin).collect()
    };
    lists.into_iter().flatten().map(dimension).collect()
}

/// The bin of those numbers: one for each dimension that there is.
fn bin_at(dimensions: &Dimensions, place: Place) -> Result<Vec<Bin>, Cause> {
    let numbers = place.into_iter().take_while(Option::is_some).flatten();
    let bin = |(bins, number): (&Vec<(u16, Bin)>, u16)| bins.iter().find(|(of, _)| *of == number).map(|(_, bin)| *bin);
    let bins: Option<Vec<Bin>> = dimensions.iter().zip(numbers).map(bin).collect();
    let named = place.iter().flatten().count();
    bins.filter(|bins| bins.len() == dimensions.len() && bins.len() == named).ok_or(NOT_AVAILABLE)
}

/// What an action is checked against.
struct Check<'s, S> {
    source: &'s S,
    style: ReportStyle,
    views: &'s Views,
    controller: ControllerId,
}

impl<S: KpmSource> Check<'_, S> {
    /// The columns of what is measured without conditions.
    fn measurements(&self, format: &ActionDefinitionFormat1<'_>) -> Result<(Vec<Column>, Info), Cause> {
        if format.cell_global_id.is_some_and(|cell| cell != self.source.cell()) {
            return Err(NOT_AVAILABLE);
        }
        let mut own_bins = Vec::new();
        for item in format.dist_meas_bin_range_info.iter().flatten() {
            own_bins.push((self.offer(&item.meas_type)?, bins(&item.bin_range_def)?));
        }
        let mut columns = Vec::new();
        for info in &format.meas_info_list {
            let offer = self.offer(&info.meas_type)?;
            let conditions = info.match_cond_report_list.as_deref().unwrap_or_default();
            at_most(conditions.len(), MAX_CONDITIONS)?;
            let conditions = ValueConditions::new(conditions).ok_or(NOT_SUPPORTED)?;
            let own = own_bins.iter().find(|(of, _)| *of == offer).map(|(_, bins)| bins);
            let dimensions = self.dimensions(offer, own)?;
            for wanted in labels(&info.label_info_list)? {
                let bins = wanted.bins.map(|place| bin_at(&dimensions, place)).transpose()?;
                let label = self.share(offer, wanted.share)?;
                at_most(columns.len() + 1, MAX_COLUMNS)?;
                columns.push(Column { offer, label, bins, conditions: conditions.clone() });
            }
        }
        let told = |info: &MeasurementInfoItem<'_>| MeasurementInfoItem {
            meas_type: info.meas_type.clone().into_owned(),
            label_info_list: info.label_info_list.clone().into_owned(),
            match_cond_report_list: None,
        };
        Ok((columns, Info::Measurements(format.meas_info_list.iter().map(told).collect())))
    }

    /// The columns of what is measured over groups of UEs.
    fn groups(&self, format: ActionDefinitionFormat3<'static>) -> Result<(Vec<Conditions>, Vec<Column>, Info), Cause> {
        if format.cell_global_id.is_some_and(|cell| cell != self.source.cell()) {
            return Err(NOT_AVAILABLE);
        }
        at_most(format.meas_cond_list.len(), MAX_COLUMNS)?;
        at_most(format.meas_cond_list.iter().map(|item| item.matching_cond.len()).sum(), MAX_CONDITIONS)?;
        let (mut all, mut columns, mut info) = (Vec::new(), Vec::new(), Vec::new());
        for item in &format.meas_cond_list {
            let offer = self.offer(&item.meas_type)?;
            let own = item.bin_range_def.as_ref().map(bins).transpose()?;
            let dimensions = self.dimensions(offer, own.as_ref())?;
            // the bin stands in a label, which may say whose share is meant too
            let places = item.matching_cond.iter().filter_map(|condition| match &condition.choice {
                MatchingCondItemChoice::MeasLabel(label) => Some(split(*label).0).filter(|place| *place != [None; 3]),
                MatchingCondItemChoice::TestCondInfo(_) => None,
            });
            let bins = match places.collect::<Vec<_>>()[..] {
                [] => None,
                [place] => Some(bin_at(&dimensions, place)?),
                _ => return Err(SEMANTIC), // one value is of one bin
            };
            all.push(Conditions::of_measurement(self.source, &item.matching_cond).ok_or(NOT_AVAILABLE)?);
            let (label, conditions) = (MeasurementLabel::NO_LABEL, ValueConditions::default());
            columns.push(Column { offer, label, bins, conditions });
            info.push((item.meas_type.clone(), item.matching_cond.clone()));
        }
        Ok((all, columns, Info::Groups(info)))
    }

    /// The bins of a distribution, the controller's own where it has some; none of any other measurement.
    fn dimensions(&self, offer: usize, own: Option<&Dimensions>) -> Result<Dimensions, Cause> {
        let native = self.source.bins(offer);
        match own {
            Some(own) if own.len() != native.len() => Err(NOT_SUPPORTED), // not a distribution, or not of that kind
            Some(own) => Ok(own.clone()),
            None => Ok(native.iter().map(|bins| (1..).zip(bins.iter().copied()).collect()).collect()),
        }
    }

    /// Whose share a label means. Where all of the cell is one network's, that network's share is the whole.
    fn share(&self, offer: usize, label: MeasurementLabel) -> Result<MeasurementLabel, Cause> {
        if self.source.supports_label(offer, &label) {
            return Ok(label);
        }
        let label = of_network(self.source.cell(), label).ok_or(NOT_AVAILABLE)?;
        if self.source.supports_label(offer, &label) { Ok(label) } else { Err(NOT_AVAILABLE) }
    }

    /// The place of a measurement among the offers.
    fn offer(&self, wanted: &MeasurementType<'_>) -> Result<usize, Cause> {
        let mut offers = self.source.measurements().iter();
        let place = offers.position(|offer| {
            self.style.takes(offer.scope)
                && match wanted {
                    MeasurementType::MeasName(name) => **name == *offer.name,
                    MeasurementType::MeasId(id) => offer.id == Some(id.0),
                }
        });
        place.ok_or(NOT_AVAILABLE)
    }

    fn ue(&self, wanted: &UeId<'_>) -> Result<Ue, Cause> {
        Ok(self.ues(core::iter::once(wanted))?[0])
    }

    fn ues<'u>(&self, wanted: impl Iterator<Item = &'u UeId<'u>>) -> Result<Vec<Ue>, Cause> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        // what it may not see is not there
        ues.retain(|ue| self.views.sees(self.controller, *ue));
        let names: Vec<_> = ues.iter().map(|ue| (self.source.ue_id(*ue), *ue)).collect();
        let find = |wanted: &UeId<'_>| names.iter().find(|(name, _)| name == wanted).map(|(_, ue)| *ue);
        wanted.map(|wanted| find(wanted).ok_or(NOT_AVAILABLE)).collect()
    }
}
