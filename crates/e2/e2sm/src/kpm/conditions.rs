//! Conditions for reporting UEs and values (KPM 8.3.22 ff.).

use per::{
    BitString, Decode, Describe, Encode, Error, ErrorKind, Flat, IntoOwned, List, Octets, Per, PrintableString, Reader,
    Real, Store, Visitor, Writer,
};

use super::{MeasurementLabel, Revision};
use crate::common::{True, UeId};

/// LogicalOR: the condition is joined to the next one by OR; if absent, by AND.
pub type LogicalOr = True;

/// TestCondInfo: a test of a property of a UE.
///
/// In v02.01 expression and value are mandatory.
#[derive(Clone, Debug, PartialEq, Flat)]
pub struct TestCondInfo<'a> {
    /// The property.
    pub test_type: TestCondType,
    /// The comparison.
    pub test_expr: Option<TestCondExpression>,
    /// The value to compare with.
    pub test_value: Option<TestCondValue<'a>>,
}

impl<'a, S: Store<'a>> Decode<'a, S> for TestCondInfo<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        let extended = reader.bit()?;
        let mandatory = is_v2_01(reader.revision());
        let has_expr = mandatory || reader.bit()?;
        let has_value = mandatory || reader.bit()?;
        let test_type = TestCondType::decode(reader)?;
        let test_expr = has_expr.then(|| TestCondExpression::decode(reader)).transpose()?;
        let test_value = has_value.then(|| TestCondValue::decode(reader)).transpose()?;
        skip_extension(reader, extended)?;
        Ok(TestCondInfo { test_type, test_expr, test_value })
    }
}

impl Encode for TestCondInfo<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.bit(false);
        if is_v2_01(writer.revision()) {
            if self.test_expr.is_none() || self.test_value.is_none() {
                return Err(writer.error(ErrorKind::Missing).within("TestCondInfo"));
            }
        } else {
            writer.bit(self.test_expr.is_some());
            writer.bit(self.test_value.is_some());
        }
        self.test_type.encode(writer)?;
        self.test_expr.iter().try_for_each(|expr| expr.encode(writer))?;
        self.test_value.iter().try_for_each(|value| value.encode(writer))
    }
}

impl IntoOwned for TestCondInfo<'_> {
    type Owned = TestCondInfo<'static>;
    fn into_owned(self) -> Self::Owned {
        TestCondInfo {
            test_type: self.test_type,
            test_expr: self.test_expr,
            test_value: self.test_value.map(TestCondValue::into_owned),
        }
    }
}

impl Describe for TestCondInfo<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.begin_record();
        visitor.field("test_type");
        self.test_type.describe(visitor);
        if let Some(expr) = &self.test_expr {
            visitor.field("test_expr");
            expr.describe(visitor);
        }
        if let Some(value) = &self.test_value {
            visitor.field("test_value");
            value.describe(visitor);
        }
        visitor.end_record();
    }
}

/// TestCond-Type: the property of a UE that is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum TestCondType {
    /// Whether the UE has a guaranteed bit rate.
    Gbr(True),
    /// The aggregate maximum bit rate.
    Ambr(True),
    /// Whether the UE is stationary.
    IsStat(True),
    /// Whether the UE is of category M.
    IsCatM(True),
    /// The downlink RSRP.
    Rsrp(True),
    /// The RSRQ.
    Rsrq(True),
    /// The uplink RSRP (v02.03).
    #[per(addition, since = 1)]
    UlRsrp(True),
    /// The CQI (v02.03).
    #[per(addition, since = 1)]
    Cqi(True),
    /// The 5QI (v02.03).
    #[per(addition, since = 1)]
    FiveQi(True),
    /// The QCI (v02.03).
    #[per(addition, since = 1)]
    Qci(True),
    /// The slice (v02.03).
    #[per(addition, since = 1)]
    SNssai(True),
}

/// TestCond-Expression: a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum TestCondExpression {
    /// Equal to the value.
    Equal,
    /// Greater than the value.
    GreaterThan,
    /// Less than the value.
    LessThan,
    /// Contains the value.
    Contains,
    /// Present.
    Present,
}

/// TestCond-Value: the value to compare with.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum TestCondValue<'a> {
    /// A whole number.
    ValueInt(i64),
    /// The number of an enumeration value.
    ValueEnum(i64),
    /// A Boolean.
    ValueBool(bool),
    /// Bits.
    ValueBitS(BitString<'a>),
    /// Octets.
    ValueOctS(Octets<'a>),
    /// Text.
    ValuePrtS(PrintableString<'a>),
    /// A real number (v02.03).
    #[per(addition, since = 1)]
    ValueReal(Real<'a>),
}

/// MatchingCondItem: a condition of a measurement.
///
/// In v02.01 it is the choice alone.
#[derive(Clone, Debug, PartialEq, Flat)]
pub struct MatchingCondItem<'a> {
    /// The condition.
    pub choice: MatchingCondItemChoice<'a>,
    /// The condition is joined to the next one by OR instead of AND (v02.03).
    pub logical_or: Option<LogicalOr>,
}

impl<'a, S: Store<'a>> Decode<'a, S> for MatchingCondItem<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        if is_v2_01(reader.revision()) {
            return Ok(MatchingCondItem { choice: MatchingCondItemChoice::decode(reader)?, logical_or: None });
        }
        let extended = reader.bit()?;
        let has_or = reader.bit()?;
        let choice = MatchingCondItemChoice::decode(reader)?;
        let logical_or = has_or.then(|| LogicalOr::decode(reader)).transpose()?;
        skip_extension(reader, extended)?;
        Ok(MatchingCondItem { choice, logical_or })
    }
}

impl Encode for MatchingCondItem<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        if is_v2_01(writer.revision()) {
            if self.logical_or.is_some() {
                return Err(writer.error(ErrorKind::NotInRevision).within("MatchingCondItem.logical_or"));
            }
            return self.choice.encode(writer);
        }
        writer.bit(false);
        writer.bit(self.logical_or.is_some());
        self.choice.encode(writer)?;
        self.logical_or.iter().try_for_each(|or| or.encode(writer))
    }
}

impl IntoOwned for MatchingCondItem<'_> {
    type Owned = MatchingCondItem<'static>;
    fn into_owned(self) -> Self::Owned {
        MatchingCondItem { choice: self.choice.into_owned(), logical_or: self.logical_or }
    }
}

impl Describe for MatchingCondItem<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.begin_record();
        visitor.field("choice");
        self.choice.describe(visitor);
        if let Some(or) = &self.logical_or {
            visitor.field("logical_or");
            or.describe(visitor);
        }
        visitor.end_record();
    }
}

/// MatchingCondItem-Choice, in v02.01 MatchingCondItem itself.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum MatchingCondItemChoice<'a> {
    /// A label of the measurement.
    MeasLabel(MeasurementLabel),
    /// A test of the UE.
    TestCondInfo(TestCondInfo<'a>),
}

/// MatchingUEidItem: a UE that met the conditions.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MatchingUeidItem<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
}

/// MatchingUEidPerGP-Item: the UEs that met the conditions in one granularity period (v02.03).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MatchingUeidPerGpItem<'a> {
    /// The UEs, if there are any.
    pub matched_per_gp: MatchedPerGp<'a>,
}

/// The UEs of a [`MatchingUeidPerGpItem`].
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum MatchedPerGp<'a> {
    /// None.
    NoUeMatched(True),
    /// These.
    #[per(size = 1..=65535)]
    OneOrMoreUeMatched(List<'a, MatchingUeidItemPerGp<'a>>),
}

/// MatchingUEidItem-PerGP.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MatchingUeidItemPerGp<'a> {
    /// The UE.
    pub ue_id: UeId<'a>,
}

/// MatchCondReportItem: a condition for reporting a value (v04.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MatchCondReportItem<'a> {
    /// The condition.
    pub meas_value_report_cond: MeasValueReportCond<'a>,
    /// The condition is joined to the next one by OR instead of AND.
    pub logical_or: Option<LogicalOr>,
}

/// MeasValueReportCond (v04.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct MeasValueReportCond<'a> {
    /// The comparison.
    pub test_expr: MeasValueTestCondExpression,
    /// The value to compare with.
    pub test_value: TestCondValue<'a>,
}

/// MeasValueTestCond-Expression (v04.00): a comparison.
pub type MeasValueTestCondExpression = TestCondExpression;

fn is_v2_01(revision: u8) -> bool {
    revision == Revision::V2_01.wire()
}

/// Skips extension additions: no revision defines any for the hand-written codecs in this module.
pub(super) fn skip_extension<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, extended: bool) -> Result<(), Error> {
    if extended {
        let additions = reader.additions()?;
        reader.skip_additions(additions)?;
    }
    Ok(())
}
