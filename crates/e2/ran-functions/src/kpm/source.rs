//! The interface to the base station.

use std::borrow::Cow;

use e2sm::common::{Cgi, FiveQi, SNssai, UeId};
use e2sm::kpm::dictionary::Scope;
use e2sm::kpm::{MeasurementLabel, TestCondType, Value};
use ferric::agent::Ue;
use ferric::e2::Time;

/// A measurement that a base station supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedMeasurement {
    /// The measurement name: 1 to 150 printable ASCII characters. See [`e2sm::kpm::dictionary`] for those of TS 28.552 and O-RAN, with
    /// their units.
    pub name: Cow<'static, str>,
    /// The measurement ID, 1 to 65536, which a RIC may use in place of the name.
    pub id: Option<u32>,
    /// Whether it is measured for the cell, for UEs, or for both.
    pub scope: Scope,
}

/// A bin of a distribution: the interval `from..to`, in the unit of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The lower bound, inclusive.
    pub from: f64,
    /// The upper bound, exclusive.
    pub to: f64,
}

/// The object that a value is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredObject<'a> {
    /// The cell, or all cells of a node with several.
    Cell,
    /// One of several cells of the node ([`KpmSource::cells`]).
    OneCell(Cgi),
    /// One UE or several UEs together; an empty list if no UE meets the matching conditions.
    Ues(&'a [Ue]),
}

/// What a base station implements to support E2SM-KPM.
///
/// The counters of the base station only increase. A [`Snapshot`](KpmSource::Snapshot) of them at the start of a granularity
/// period (KPM 8.3.8) is the reference for the values of the period. So any number of subscriptions with different periods
/// read the same counters, and the base station does not need to know them.
///
/// # Example
/// ```
/// use std::borrow::Cow;
///
/// use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, UeId, UeIdGnbDu};
/// use e2sm::kpm::dictionary::Scope;
/// use e2sm::kpm::{MeasurementLabel, Value};
/// use ferric::agent::Ue;
/// use ran_functions::kpm::{KpmSource, MeasuredObject, SupportedMeasurement};
///
/// /// One cell with one UE, and a counter of downlink PDCP SDU octets.
/// struct Cell {
///     dl_octets: u64,
/// }
///
/// impl KpmSource for Cell {
///     type Snapshot = u64;
///
///     fn cell(&self) -> Cgi {
///         let plmn_identity = PlmnIdentity::from_codes(1, 1, 2);
///         Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity: per::Bits::new(1, 36) })
///     }
///
///     fn measurements(&self) -> &[SupportedMeasurement] {
///         const NAME: Cow<'static, str> = Cow::Borrowed("DRB.PdcpSduVolumeDL");
///         &[SupportedMeasurement { name: NAME, id: None, scope: Scope::CellAndUe }]
///     }
///
///     fn ues(&self, out: &mut Vec<Ue>) {
///         out.push(Ue(7));
///     }
///
///     fn ue_id(&self, ue: Ue) -> UeId<'static> {
///         let gnb_cu_ue_f1ap_id = GnbCuUeF1apId(ue.0 as u32);
///         UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id, ran_ueid: None, cell_rnti: None })
///     }
///
///     fn take_snapshot(&self, snapshot: &mut u64) {
///         *snapshot = self.dl_octets;
///     }
///
///     fn value(&self, since: &u64, object: MeasuredObject<'_>, _: usize, _: &MeasurementLabel) -> Value {
///         let dl_octets = match object {
///             MeasuredObject::Ues([]) => 0,
///             MeasuredObject::Cell | MeasuredObject::OneCell(_) | MeasuredObject::Ues(_) => self.dl_octets - since,
///         };
///         Value::Integer((dl_octets * 8 / 1000) as u32) // kbit
///     }
/// }
/// ```
pub trait KpmSource {
    /// The state of the counters at some time. `()` is enough if all values are current values.
    type Snapshot: Default;

    /// The NR or E-UTRA cell global identity; of a node with several cells, that of the first.
    fn cell(&self) -> Cgi;

    /// The cells of the node. A node with several, such as a CU of several DUs, is asked for one of them ([`MeasuredObject::OneCell`]) where
    /// an action names it. Default: the one of [`KpmSource::cell`].
    fn cells(&self) -> Vec<Cgi> {
        vec![self.cell()]
    }

    /// The supported measurements: at least one. They never change.
    fn measurements(&self) -> &[SupportedMeasurement];

    /// Appends the connected UEs, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// The UE ID of a UE that [`KpmSource::ues`] has just returned.
    fn ue_id(&self, ue: Ue) -> UeId<'static>;

    /// Overwrites `snapshot` with the current state of the counters.
    fn take_snapshot(&self, snapshot: &mut Self::Snapshot);

    /// The value of a measurement from a snapshot until now, in the unit of the measurement. `measurement` is its index in
    /// [`KpmSource::measurements`]; its scope covers `object`, and [`KpmSource::supports_label`] is true for `label`.
    fn value(
        &self,
        since: &Self::Snapshot,
        object: MeasuredObject<'_>,
        measurement: usize,
        label: &MeasurementLabel,
    ) -> Value;

    /// Brings the counters up to date with `until`, which is not in the future. A real base station, whose counters change
    /// by themselves, does nothing; an emulated one computes.
    fn advance(&mut self, until: Time) {
        let _ = until;
    }

    /// Whether the RAN function definition lists a measurement in every report style that has its scope. The others are listed in
    /// styles 1 and 4, which most xApps read, with its bins in the first of them, and accepted in every style: the definition
    /// repeats the measurements for each style, and messages of 16 kB or more are fragmented, which some controllers cannot read. By default, all are listed.
    fn is_listed_in_every_style(&self, measurement: usize) -> bool {
        let _ = measurement;
        true
    }

    /// Whether a measurement has the subcounter of this label (KPM 8.3.11). By default, the only label is noLabel. If all of
    /// the cell belongs to one PLMN, a label with this PLMN is passed without it.
    fn supports_label(&self, measurement: usize, label: &MeasurementLabel) -> bool {
        let _ = measurement;
        *label == MeasurementLabel::NO_LABEL
    }

    /// Whether the cell serves several PLMNs: what it measures as a whole is then not that of its own PLMN. By default, it does not.
    fn serves_several_plmns(&self) -> bool {
        false
    }

    /// The bins of a distribution, numbered from 1, for each of its at most three dimensions (X, Y and Z). No dimensions for
    /// any other measurement.
    fn bins(&self, measurement: usize) -> &[&[Bin]] {
        let _ = measurement;
        &[]
    }

    /// The number of samples of a distribution in a bin, from a snapshot until now. `bins` has one bin for each dimension,
    /// from [`KpmSource::bins`] or from the controller's own bin ranges. `label` is as for [`KpmSource::value`].
    fn bin_count(
        &self,
        since: &Self::Snapshot,
        object: MeasuredObject<'_>,
        measurement: usize,
        bins: &[Bin],
        label: &MeasurementLabel,
    ) -> Value {
        let _ = (since, object, measurement, bins, label);
        Value::NoValue
    }

    /// The number 0 in the type of a measurement's values, for functions that report it in place of no value
    /// ([`MissingValue::Zero`](super::MissingValue::Zero)): an integer by default.
    fn zero(&self, measurement: usize) -> Value {
        let _ = measurement;
        Value::Integer(0)
    }

    /// The test condition types (KPM 8.3.22) that the base station can evaluate, besides S-NSSAI and 5QI. The condition
    /// "RSRP less than 1000", with which xApps select every UE, needs none.
    fn test_condition_types(&self) -> &[TestCondType] {
        &[]
    }

    /// The value that a UE has for one of these types: 1 or 0 for true or false. `None` if it is unknown.
    fn test_condition_value(&self, ue: Ue, condition_type: TestCondType) -> Option<f64> {
        let _ = (ue, condition_type);
        None
    }

    /// The S-NSSAIs of the slices that a UE uses.
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
