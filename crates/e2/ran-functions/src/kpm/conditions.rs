//! Conditions that select UEs (KPM 8.3.22), and values to report (KPM v04.00 8.3.33).
//!
//! Conditions joined by OR form a group. A group holds if one of its conditions holds; all groups must hold.

use e2sm::common::{Cgi, FiveQi, SNssai};
use e2sm::kpm::{
    MatchCondReportItem, MatchingCondItem, MatchingCondItemChoice, MatchingUeCondPerSubItem, MeasurementLabel,
    TestCondExpression, TestCondInfo, TestCondType, TestCondValue,
};

use ferric::agent::Ue;

use super::KpmSource;

/// Conditions on UEs that the source can evaluate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conditions(Vec<Joined<Test>>);

/// Conditions on a value; an empty list holds for every value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ValueConditions(Vec<Joined<Comparison>>);

/// A condition, and whether OR joins it to the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Joined<T> {
    test: T,
    or: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Test {
    Any,
    Slice(SNssai),
    AnySlice,
    FiveQi(FiveQi),
    SliceAndFiveQi(SNssai, FiveQi),
    AnyFiveQi,
    Value(TestCondType, Comparison),
    /// The value is known; a boolean value is true.
    Present(TestCondType),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Comparison {
    expression: Expression,
    value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expression {
    Equal,
    Greater,
    Less,
}

/// xApps select every UE by a received power below this value (see [`e2sm::kpm::EveryUe`]); it holds for UEs without a
/// known received power too.
const ABOVE_ALL_DBM: f64 = 1000.0;

/// Whether all groups hold.
fn all_groups<T: Copy>(conditions: &[Joined<T>], mut holds: impl FnMut(T) -> bool) -> bool {
    let mut group = false;
    for (at, condition) in conditions.iter().enumerate() {
        group = group || holds(condition.test);
        let ends = !condition.or || at + 1 == conditions.len();
        if ends && !std::mem::take(&mut group) {
            return false;
        }
    }
    true
}

impl Conditions {
    /// Conditions that every UE meets.
    pub fn every_ue() -> Self {
        Conditions(Vec::new())
    }

    /// The conditions of action definition format 4; `None` if the source cannot evaluate one of them.
    pub fn of_ues<S: KpmSource>(source: &S, items: &[MatchingUeCondPerSubItem<'_>]) -> Option<Self> {
        let joined = items
            .iter()
            .map(|item| Some(Joined { test: Test::new(source, &item.test_cond_info)?, or: item.logical_or.is_some() }));
        joined.collect::<Option<_>>().map(Conditions)
    }

    /// The conditions of a measurement in action definition format 3; `None` if the source cannot evaluate one of them.
    pub fn of_measurement<S: KpmSource>(source: &S, items: &[MatchingCondItem<'_>]) -> Option<Self> {
        let joined = items.iter().map(|item| {
            let test = match &item.choice {
                MatchingCondItemChoice::MeasLabel(label) => label_test(&without_plmn(source, *label)?)?,
                MatchingCondItemChoice::TestCondInfo(info) => Test::new(source, info)?,
            };
            Some(Joined { test, or: item.logical_or.is_some() })
        });
        joined.collect::<Option<_>>().map(Conditions)
    }

    /// Whether a UE meets them.
    pub fn hold<S: KpmSource>(&self, source: &S, ue: Ue) -> bool {
        all_groups(&self.0, |test| match test {
            Test::Any => true,
            Test::AnySlice => !source.slices(ue).is_empty(),
            Test::Slice(slice) => uses_slice(source, ue, slice),
            Test::SliceAndFiveQi(slice, five_qi) => {
                uses_slice(source, ue, slice) && source.five_qis(ue).contains(&five_qi)
            }
            Test::AnyFiveQi => !source.five_qis(ue).is_empty(),
            Test::FiveQi(five_qi) => source.five_qis(ue).contains(&five_qi),
            Test::Value(condition_type, comparison) => {
                source.test_condition_value(ue, condition_type).is_some_and(|value| comparison.holds(value))
            }
            Test::Present(condition_type) => source
                .test_condition_value(ue, condition_type)
                .is_some_and(|value| !is_boolean(condition_type) || value != 0.0),
        })
    }
}

impl ValueConditions {
    /// The conditions of a measurement; `None` if one compares with something else than a number.
    pub fn new(items: &[MatchCondReportItem<'_>]) -> Option<Self> {
        let joined = items.iter().map(|item| {
            let condition = &item.meas_value_report_cond;
            Some(Joined {
                test: Comparison::new(Some(condition.test_expr), number(&condition.test_value)?)?,
                or: item.logical_or.is_some(),
            })
        });
        joined.collect::<Option<_>>().map(ValueConditions)
    }

    /// Whether a value meets them.
    pub fn hold(&self, value: f64) -> bool {
        all_groups(&self.0, |comparison| comparison.holds(value))
    }
}

impl Test {
    fn new<S: KpmSource>(source: &S, info: &TestCondInfo<'_>) -> Option<Self> {
        let present = info.test_value.is_none() || info.test_expr == Some(TestCondExpression::Present);
        let is_member = matches!(info.test_expr, None | Some(TestCondExpression::Equal | TestCondExpression::Contains));
        match (info.test_type, &info.test_value) {
            (TestCondType::SNssai(_), _) if present => Some(Test::AnySlice),
            (TestCondType::SNssai(_), Some(value)) => slice(value).filter(|_| is_member).map(Test::Slice),
            (TestCondType::FiveQi(_), _) if present => Some(Test::AnyFiveQi),
            (TestCondType::FiveQi(_), Some(value)) => {
                let five_qi = number(value).filter(|v| is_member && (0.0..256.0).contains(v))?;
                Some(Test::FiveQi(FiveQi(five_qi as u8)))
            }
            (TestCondType::Rsrp(_) | TestCondType::UlRsrp(_), Some(value))
                if info.test_expr == Some(TestCondExpression::LessThan)
                    && number(value).is_some_and(|dbm| dbm >= ABOVE_ALL_DBM) =>
            {
                Some(Test::Any)
            }
            (condition_type, _) if !source.test_condition_types().contains(&condition_type) => None,
            (condition_type, Some(value)) if !present => Comparison::new(info.test_expr, number(value)?)
                .map(|comparison| Test::Value(condition_type, comparison)),
            (condition_type, _) => Some(Test::Present(condition_type)),
        }
    }
}

impl Comparison {
    fn new(expression: Option<TestCondExpression>, value: f64) -> Option<Self> {
        let expression = match expression {
            None | Some(TestCondExpression::Equal) => Expression::Equal,
            Some(TestCondExpression::GreaterThan) => Expression::Greater,
            Some(TestCondExpression::LessThan) => Expression::Less,
            Some(TestCondExpression::Contains | TestCondExpression::Present) => return None,
        };
        Some(Comparison { expression, value })
    }

    fn holds(self, value: f64) -> bool {
        match self.expression {
            Expression::Equal => value == self.value,
            Expression::Greater => value > self.value,
            Expression::Less => value < self.value,
        }
    }
}

/// Whether a UE uses a slice; an S-NSSAI without slice differentiator matches all slices of its type.
fn uses_slice<S: KpmSource>(source: &S, ue: Ue, slice: SNssai) -> bool {
    source.slices(ue).iter().any(|s| s.sst == slice.sst && (slice.sd.is_none() || s.sd == slice.sd))
}

/// Removes the PLMN from a label if all traffic of the cell belongs to the cell's PLMN; `None` for another PLMN, and for any PLMN of a
/// cell that serves several.
pub(super) fn without_plmn<S: KpmSource>(source: &S, label: MeasurementLabel) -> Option<MeasurementLabel> {
    let own = match source.cell() {
        Cgi::NrCgi(cell) => cell.plmn_identity,
        Cgi::EutraCgi(cell) => cell.plmn_identity,
    };
    if label.plmn_id.is_some_and(|plmn| plmn != own || source.serves_several_plmns()) {
        return None;
    }
    let rest = MeasurementLabel { plmn_id: None, ..label };
    Some(if rest == MeasurementLabel::default() { MeasurementLabel::NO_LABEL } else { rest })
}

/// The test of a label: all UEs, or those with a slice, a 5QI or both. Bins do not select UEs.
fn label_test(label: &MeasurementLabel) -> Option<Test> {
    let label = MeasurementLabel { dist_bin_x: None, dist_bin_y: None, dist_bin_z: None, ..*label };
    let alone = |only: MeasurementLabel| label == only;
    if alone(MeasurementLabel::NO_LABEL) || alone(MeasurementLabel::default()) {
        return Some(Test::Any);
    }
    match (label.slice_id, label.five_qi) {
        (Some(slice), None) => alone(MeasurementLabel { slice_id: Some(slice), ..MeasurementLabel::default() })
            .then_some(Test::Slice(slice)),
        (Some(slice), Some(five_qi)) => {
            let both =
                MeasurementLabel { slice_id: Some(slice), five_qi: Some(five_qi), ..MeasurementLabel::default() };
            alone(both).then_some(Test::SliceAndFiveQi(slice, five_qi))
        }
        (None, Some(five_qi)) => alone(MeasurementLabel { five_qi: Some(five_qi), ..MeasurementLabel::default() })
            .then_some(Test::FiveQi(five_qi)),
        _ => None,
    }
}

/// An S-NSSAI of a slice type alone, or of slice type and differentiator (1 or 4 octets).
fn slice(value: &TestCondValue<'_>) -> Option<SNssai> {
    use e2sm::common::{Sd, Sst};
    match value {
        TestCondValue::ValueInt(sst) => Some(SNssai { sst: Sst([u8::try_from(*sst).ok()?]), sd: None }),
        TestCondValue::ValueOctS(octets) => match *octets.to_cow() {
            [sst] => Some(SNssai { sst: Sst([sst]), sd: None }),
            [sst, a, b, c] => Some(SNssai { sst: Sst([sst]), sd: Some(Sd([a, b, c])) }),
            _ => None,
        },
        _ => None,
    }
}

fn number(value: &TestCondValue<'_>) -> Option<f64> {
    match value {
        TestCondValue::ValueInt(value) | TestCondValue::ValueEnum(value) => Some(*value as f64),
        TestCondValue::ValueBool(value) => Some(f64::from(u8::from(*value))),
        TestCondValue::ValueReal(value) => Some(value.value()),
        TestCondValue::ValueBitS(_) | TestCondValue::ValueOctS(_) | TestCondValue::ValuePrtS(_) => None,
    }
}

fn is_boolean(condition_type: TestCondType) -> bool {
    matches!(condition_type, TestCondType::Gbr(_) | TestCondType::IsStat(_) | TestCondType::IsCatM(_))
}
