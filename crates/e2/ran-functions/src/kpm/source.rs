//! What a base station implements.

use e2sm::common::{Cgi, FiveQi, SNssai, UeId};
use e2sm::kpm::dictionary::Scope;
use e2sm::kpm::{MeasurementLabel, TestCondType, Value};
use ferric::agent::Ue;
use ferric::e2::Time;

/// A measurement that a base station offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedMeasurement {
    /// Its name: 1 to 150 characters of ASCII. See [`e2sm::kpm::dictionary`] for the usual ones and their units.
    pub name: &'static str,
    /// A number from 1 to 65536 by which a RIC may ask for it instead.
    pub id: Option<u32>,
    /// Whether it is of the cell, of UEs, or of either.
    pub scope: Scope,
}

/// A bin of a distribution, in the measurement's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The least that falls into it.
    pub from: f64,
    /// The least above it.
    pub to: f64,
}

/// About whom a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredObject<'a> {
    /// The cell.
    Cell,
    /// One UE, or several together: none at all where no UE meets a condition.
    Ues(&'a [Ue]),
}

/// The getters that a base station implements, to offer E2SM-KPM.
///
/// Counters are the base station's own and only ever grow; what they stood at when a period began is a
/// [`Mark`](KpmSource::Snapshot). So any number of subscriptions with periods of their own read the same counters, and the
/// base station knows of none.
pub trait KpmSource {
    /// Where the counters stood at some moment. `()` will do where all values are of the present moment.
    type Snapshot: Default;

    /// The cell.
    fn cell(&self) -> Cgi;

    /// The measurements on offer: at least one, never changing.
    fn measurements(&self) -> &[SupportedMeasurement];

    /// Appends the UEs that are there, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// The name of a UE that [`KpmSource::ues`] has just told of.
    fn ue_id(&self, ue: Ue) -> UeId<'static>;

    /// Writes down where the counters stand, over what stood there.
    fn take_snapshot(&self, mark: &mut Self::Snapshot);

    /// The value of the measurement at place `offer` of the offers, from a mark until now. It is asked for only with
    /// the scope that is offered and with labels that [`KpmSource::supports_label`].
    fn value(&self, since: &Self::Snapshot, whom: MeasuredObject<'_>, offer: usize, label: &MeasurementLabel) -> Value;

    /// Counting has come to `until`, which is not after the present moment. A base station whose counters grow by
    /// themselves has nothing to do; a model of one computes.
    fn advance(&mut self, until: Time) {
        let _ = until;
    }

    /// Whether a measurement has that subcounter. Most have none: the only label is noLabel. A network's share is asked
    /// for as the whole where all of the cell is that network's.
    fn supports_label(&self, offer: usize, label: &MeasurementLabel) -> bool {
        let _ = offer;
        *label == MeasurementLabel::NO_LABEL
    }

    /// The bins of a measurement that is a distribution, numbered from 1, of each of its dimensions: three at most (X, Y
    /// and Z). No dimension for any other measurement.
    fn bins(&self, offer: usize) -> &[&[Bin]] {
        let _ = offer;
        &[]
    }

    /// How often a distribution's samples fell into a bin, from a mark until now: a bin of each dimension, which is one of
    /// [`KpmSource::bins`] or one that a controller asks for in their place. The label is as for [`KpmSource::value`].
    fn bin_count(
        &self,
        since: &Self::Snapshot,
        whom: MeasuredObject<'_>,
        offer: usize,
        bins: &[Bin],
        label: &MeasurementLabel,
    ) -> Value {
        let _ = (since, whom, offer, bins, label);
        Value::NoValue
    }

    /// The properties of UEs that conditions may test besides slices and 5QIs. A received power below 1000, by which
    /// xApps ask for every UE, is true without them.
    fn test_condition_types(&self) -> &[TestCondType] {
        &[]
    }

    /// One of those properties of a UE; what is true or false is 1 or 0.
    fn test_condition_value(&self, ue: Ue, property: TestCondType) -> Option<f64> {
        let _ = (ue, property);
        None
    }

    /// The slices that a UE uses.
    fn slices(&self, ue: Ue) -> &[SNssai] {
        let _ = ue;
        &[]
    }

    /// The 5QIs that a UE uses.
    fn five_qis(&self, ue: Ue) -> &[FiveQi] {
        let _ = ue;
        &[]
    }
}
