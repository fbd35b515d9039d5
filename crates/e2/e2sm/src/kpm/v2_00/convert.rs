//! Conversion to the types of later revisions, whose values are iterated over by the same code.

use per::{List, Memo};

use super::{
    ActionDefinition, ActionDefinitionFormats, IndicationMessage, IndicationMessageFormats, LabelInfoItem,
    MatchingCondItem, MeasurementInfoItem, MeasurementLabel,
};
use crate::common::{Qci, RicStyleType, True};
use crate::kpm;

impl<'a> IndicationMessage<'a> {
    /// Returns the message in the types of later revisions, without the number of the subscription, the name of the cell and
    /// the identities of matching UEs, which later revisions state otherwise.
    #[must_use]
    pub fn to_current(&self) -> kpm::IndicationMessage<'a> {
        let formats = match &self.formats {
            IndicationMessageFormats::Format1(report) => {
                kpm::IndicationMessageFormats::Format1(kpm::IndicationMessageFormat1 {
                    meas_data: report.meas_data.clone(),
                    meas_info_list: report.meas_info_list.as_ref().map(|list| Memo::from(to_current(list))),
                    granul_period: report.granul_period,
                })
            }
            IndicationMessageFormats::Format2(report) => {
                let groups = report.meas_cond_ueid_list.iter().map(|group| kpm::MeasurementCondUeidItem {
                    meas_type: group.meas_type.clone(),
                    matching_cond: group.matching_cond.iter().map(MatchingCondItem::to_current).collect(),
                    matching_ueid_list: None,
                    matching_ueid_per_gp: None,
                });
                kpm::IndicationMessageFormats::Format2(kpm::IndicationMessageFormat2 {
                    meas_data: report.meas_data.clone(),
                    meas_cond_ueid_list: groups.collect(),
                    granul_period: report.granul_period,
                })
            }
        };
        kpm::IndicationMessage { formats }
    }
}

impl<'a> ActionDefinition<'a> {
    /// Returns the measurements of the action in the types of later revisions: they name the values of a report that does not
    /// name them itself. `None` for conditions (format 3), whose reports always contain them.
    #[must_use]
    pub fn to_current(&self) -> Option<kpm::ActionDefinition<'a>> {
        let format1 = match &self.formats {
            ActionDefinitionFormats::Format1(format1) => format1,
            ActionDefinitionFormats::Format2(format2) => &format2.subscript_info,
            ActionDefinitionFormats::Format3(_) => return None,
        };
        Some(kpm::ActionDefinition {
            ric_style_type: RicStyleType(self.ric_style_type.0),
            formats: kpm::ActionDefinitionFormats::Format1(kpm::ActionDefinitionFormat1 {
                meas_info_list: to_current(&format1.meas_info_list),
                granul_period: format1.granul_period,
                cell_global_id: None,
                dist_meas_bin_range_info: None,
            }),
        })
    }
}

fn to_current<'a>(list: &List<'a, MeasurementInfoItem<'a>>) -> List<'a, kpm::MeasurementInfoItem<'a>> {
    let item = |item: &MeasurementInfoItem<'a>| kpm::MeasurementInfoItem {
        meas_type: item.meas_type.clone(),
        label_info_list: match &item.label_info_list {
            Some(labels) => kpm::LabelInfoList(labels.iter().map(|label| label.to_current()).collect()),
            None => kpm::LabelInfoList::NO_LABEL,
        },
        match_cond_report_list: None,
    };
    list.iter().map(item).collect()
}

impl LabelInfoItem {
    fn to_current(self) -> kpm::LabelInfoItem {
        kpm::LabelInfoItem { meas_label: self.meas_label.to_current() }
    }
}

impl<'a> MatchingCondItem<'a> {
    fn to_current(&self) -> kpm::MatchingCondItem<'a> {
        let choice = match self {
            MatchingCondItem::MeasLabel(label) => kpm::MatchingCondItemChoice::MeasLabel(label.to_current()),
            MatchingCondItem::TestCondInfo(test) => kpm::MatchingCondItemChoice::TestCondInfo(test.clone()),
        };
        kpm::MatchingCondItem { choice, logical_or: None }
    }
}

impl MeasurementLabel {
    /// Returns the label in the type of later revisions. An empty label is noLabel there, and the number 65536 is 65535,
    /// the highest.
    #[must_use]
    pub fn to_current(self) -> kpm::MeasurementLabel {
        let capped = |number: Option<u32>| number.map(|number| u16::try_from(number).unwrap_or(u16::MAX));
        kpm::MeasurementLabel {
            no_label: (self == MeasurementLabel::default()).then_some(True),
            plmn_id: self.plmn_id,
            slice_id: self.slice_id,
            five_qi: self.five_qi,
            qfi: self.qfi,
            qci: self.qci.map(Qci),
            qci_max: self.qci_max.map(Qci),
            qci_min: self.qci_min.map(Qci),
            arp_max: self.arp_max,
            arp_min: self.arp_min,
            bitrate_range: capped(self.bitrate_range),
            layer_mu_mimo: capped(self.layer_mu_mimo),
            sum: self.sum,
            dist_bin_x: capped(self.dist_bin_x),
            dist_bin_y: capped(self.dist_bin_y),
            dist_bin_z: capped(self.dist_bin_z),
            pre_label_override: self.pre_label_override,
            start_end_ind: self.start_end_ind,
            ..kpm::MeasurementLabel::default()
        }
    }
}
