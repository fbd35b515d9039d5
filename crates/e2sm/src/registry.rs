//! Types by the names that the specifications give them: for tools that learn the type when they run.
//!
//! A name is the module, a colon, and the ASN.1 type: `kpm-v03.00:E2SM-KPM-IndicationMessage`. KPM's modules are
//! `kpm-v02.01`, `kpm-v02.03`, `kpm-v03.00` and `kpm-v04.00`; types of [`crate::common`] are in each of them. The ping
//! is `hw:HW-RANfunction-Definition`.
//!
//! ```
//! # #[cfg(feature = "kpm")]
//! # fn main() -> Result<(), e2sm::Error> {
//! let bytes = [0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x2a];
//! let value = e2sm::registry::decode("kpm-v03.00:E2SM-KPM-IndicationMessage", &bytes)?;
//! let mut again = Vec::new();
//! value.encode(&mut again)?;
//! assert_eq!(again, bytes);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "kpm"))]
//! # fn main() {}
//! ```

use per::{Describe, Encode, Visitor};

use crate::Error;

/// A value of a type that is known by its name.
pub trait Message: Describe {
    /// Appends the encoding that the value was read from, or what is its canonical form.
    ///
    /// # Errors
    /// None for what was decoded, unless the peer used an encoding with more freedom than ours.
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), per::Error>;
}

struct Typed<T> {
    value: T,
    revision: u8,
}

impl<T: Describe> Describe for Typed<T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.value.describe(visitor);
    }
}

impl<T: Describe + Encode> Message for Typed<T> {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), per::Error> {
        per::encode(&self.value, self.revision, out)
    }
}

/// Reads a type in a wire revision.
type Read = fn(&[u8], u8) -> Result<Box<dyn Message>, per::Error>;

/// A table of names and readers.
macro_rules! types {
    ($($name:literal: $type:ty,)*) => {
        &[$(($name, |bytes, revision| {
            let arena = crate::Arena::new();
            let mut reader = per::Reader::with_store(bytes, revision, &arena);
            let value: $type = per::Decode::decode(&mut reader)?;
            reader.finish()?;
            Ok(Box::new(super::Typed { value: per::IntoOwned::into_owned(value), revision }))
        }),)*]
    };
}

/// Reads all of `bytes` as the type of that name.
///
/// # Errors
/// [`Error::UnknownType`]; whatever is wrong with the encoding.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Box<dyn Message>, Error> {
    let (module, type_name) = name.split_once(':').ok_or(Error::UnknownType)?;
    for (_, revision, types) in modules().filter(|(m, _, _)| *m == module) {
        if let Some((_, read)) = types.iter().find(|(t, _)| *t == type_name) {
            return Ok(read(bytes, revision)?);
        }
    }
    Err(Error::UnknownType)
}

/// The modules and types that [`decode`] knows.
pub fn types() -> impl Iterator<Item = (&'static str, &'static str)> {
    modules().flat_map(|(module, _, types)| types.iter().map(move |(name, _)| (module, *name)))
}

/// Types of a module by name.
type Types = &'static [(&'static str, Read)];

/// Modules by name, with their wire revision.
fn modules() -> impl Iterator<Item = (&'static str, u8, Types)> {
    const MODULES: &[(&str, u8, Types)] = &[
        #[cfg(feature = "kpm")]
        ("kpm-v02.01", 0, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.01", 0, common::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.03", 1, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v02.03", 1, common::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v03.00", 2, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v03.00", 2, common::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v04.00", 3, kpm::TYPES),
        #[cfg(feature = "kpm")]
        ("kpm-v04.00", 3, common::TYPES),
        #[cfg(feature = "hw")]
        ("hw", 0, hw::TYPES),
    ];
    MODULES.iter().copied()
}

#[cfg(feature = "kpm")]
mod kpm {
    use per::{List, Per};

    use super::Read;
    use crate::kpm::*;

    /// Lists that have a name of their own.
    macro_rules! lists {
        ($($name:ident: $item:ty, $size:expr;)*) => {$(
            #[derive(Per)]
            #[per(size = $size)]
            struct $name<'a>(List<'a, $item>);
        )*};
    }

    lists! {
        MeasurementInfoList: MeasurementInfoItem<'a>, 1..=65535;
        MeasurementData: MeasurementDataItem<'a>, 1..=65535;
        MeasurementRecord: MeasurementRecordItem<'a>, 1..=2_147_483_647;
        MeasurementInfoActionList: MeasurementInfoActionItem<'a>, 1..=65535;
        MeasurementCondList: MeasurementCondItem<'a>, 1..=65535;
        MeasurementCondUeidList: MeasurementCondUeidItem<'a>, 1..=65535;
        MatchingCondList: MatchingCondItem<'a>, 1..=32768;
        UeMeasurementReportList: UeMeasurementReportItem<'a>, 1..=65535;
    }

    pub(super) const TYPES: &[(&str, Read)] = types! {
        "E2SM-KPM-RANfunction-Description": RanFunctionDefinition<'_>,
        "E2SM-KPM-EventTriggerDefinition": EventTriggerDefinition,
        "E2SM-KPM-ActionDefinition": ActionDefinition<'_>,
        "E2SM-KPM-IndicationHeader": IndicationHeader<'_>,
        "E2SM-KPM-IndicationMessage": IndicationMessage<'_>,
        "E2SM-KPM-EventTriggerDefinition-Format1": EventTriggerDefinitionFormat1,
        "E2SM-KPM-ActionDefinition-Format1": ActionDefinitionFormat1<'_>,
        "E2SM-KPM-ActionDefinition-Format2": ActionDefinitionFormat2<'_>,
        "E2SM-KPM-ActionDefinition-Format3": ActionDefinitionFormat3<'_>,
        "E2SM-KPM-ActionDefinition-Format4": ActionDefinitionFormat4<'_>,
        "E2SM-KPM-ActionDefinition-Format5": ActionDefinitionFormat5<'_>,
        "E2SM-KPM-IndicationHeader-Format1": IndicationHeaderFormat1<'_>,
        "E2SM-KPM-IndicationMessage-Format1": IndicationMessageFormat1<'_>,
        "E2SM-KPM-IndicationMessage-Format2": IndicationMessageFormat2<'_>,
        "E2SM-KPM-IndicationMessage-Format3": IndicationMessageFormat3<'_>,
        "RIC-EventTriggerStyle-Item": RicEventTriggerStyleItem<'_>,
        "RIC-ReportStyle-Item": RicReportStyleItem<'_>,
        "TimeStamp": TimeStamp,
        "BinIndex": BinIndex,
        "BinRangeValue": BinRangeValue<'_>,
        "BinRangeItem": BinRangeItem<'_>,
        "BinRangeDefinition": BinRangeDefinition<'_>,
        "DistMeasurementBinRangeItem": DistMeasurementBinRangeItem<'_>,
        "GranularityPeriod": GranularityPeriod,
        "MeasurementType": MeasurementType<'_>,
        "MeasurementTypeName": MeasurementTypeName<'_>,
        "MeasurementTypeID": MeasurementTypeId,
        "MeasurementLabel": MeasurementLabel,
        "LabelInfoItem": LabelInfoItem,
        "LabelInfoList": LabelInfoList<'_>,
        "TestCondInfo": TestCondInfo<'_>,
        "TestCond-Type": TestCondType,
        "TestCond-Expression": TestCondExpression,
        "TestCond-Value": TestCondValue<'_>,
        "MeasurementInfoList": MeasurementInfoList<'_>,
        "MeasurementInfoItem": MeasurementInfoItem<'_>,
        "MatchCondReportItem": MatchCondReportItem<'_>,
        "MeasValueReportCond": MeasValueReportCond<'_>,
        "MeasurementData": MeasurementData<'_>,
        "MeasurementDataItem": MeasurementDataItem<'_>,
        "MeasurementRecord": MeasurementRecord<'_>,
        "MeasurementRecordItem": MeasurementRecordItem<'_>,
        "MeasurementInfo-Action-List": MeasurementInfoActionList<'_>,
        "MeasurementInfo-Action-Item": MeasurementInfoActionItem<'_>,
        "MeasurementCondList": MeasurementCondList<'_>,
        "MeasurementCondItem": MeasurementCondItem<'_>,
        "MeasurementCondUEidList": MeasurementCondUeidList<'_>,
        "MeasurementCondUEidItem": MeasurementCondUeidItem<'_>,
        "MatchingCondList": MatchingCondList<'_>,
        "MatchingCondItem": MatchingCondItem<'_>,
        "MatchingCondItem-Choice": MatchingCondItemChoice<'_>,
        "MatchingUEidItem": MatchingUeidItem<'_>,
        "MatchingUEidPerGP-Item": MatchingUeidPerGpItem<'_>,
        "MatchingUEidItem-PerGP": MatchingUeidItemPerGp<'_>,
        "MatchingUeCondPerSubItem": MatchingUeCondPerSubItem<'_>,
        "MatchingUEidPerSubItem": MatchingUeidPerSubItem<'_>,
        "UEMeasurementReportList": UeMeasurementReportList<'_>,
        "UEMeasurementReportItem": UeMeasurementReportItem<'_>,
    };
}

#[cfg(feature = "kpm")]
mod common {
    use super::Read;
    use crate::common::*;

    pub(super) const TYPES: &[(&str, Read)] = types! {
        "Beam-ID": BeamId,
        "Cell-RNTI": CellRnti,
        "CGI": Cgi,
        "NR-CGI": NrCgi,
        "EUTRA-CGI": EutraCgi,
        "ENB-ID": EnbId,
        "GlobalENB-ID": GlobalEnbId,
        "GNB-ID": GnbId,
        "GlobalGNB-ID": GlobalGnbId,
        "NgENB-ID": NgEnbId,
        "GlobalNgENB-ID": GlobalNgEnbId,
        "GlobalNGRANNodeID": GlobalNgRanNodeId,
        "GUAMI": Guami,
        "GUMMEI": Gummei,
        "PLMNIdentity": PlmnIdentity,
        "RANfunction-Name": RanFunctionName<'_>,
        "RIC-Format-Type": RicFormatType,
        "RIC-Style-Type": RicStyleType,
        "RIC-Style-Name": RicStyleName<'_>,
        "UEID": UeId<'_>,
        "UEID-GNB": UeIdGnb<'_>,
        "UEID-GNB-DU": UeIdGnbDu,
        "UEID-GNB-CU-UP": UeIdGnbCuUp,
        "UEID-NG-ENB": UeIdNgEnb,
        "UEID-NG-ENB-DU": UeIdNgEnbDu,
        "UEID-EN-GNB": UeIdEnGnb<'_>,
        "UEID-ENB": UeIdEnb,
        "AMF-UE-NGAP-ID": AmfUeNgapId,
        "S-NSSAI": SNssai,
        "FiveQI": FiveQi,
        "QosFlowIdentifier": QosFlowIdentifier,
        "QCI": Qci,
        "RANUEID": RanUeId,
    };
}

#[cfg(feature = "hw")]
mod hw {
    use super::Read;
    use crate::hw::RanFunctionDefinition;

    pub(super) const TYPES: &[(&str, Read)] = types! {
        "HW-RANfunction-Definition": RanFunctionDefinition<'_>,
    };
}
