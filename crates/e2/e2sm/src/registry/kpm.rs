//! E2SM-KPM.

use per::{List, Per};

use super::{Codec, codecs};
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

pub(super) static TYPES: &[(&str, Codec)] = codecs! {
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
