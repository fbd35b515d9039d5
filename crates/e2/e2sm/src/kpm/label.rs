//! Labels of measurements (KPM 8.3.11).

use core::ops::Deref;

use per::{Decode, DecodeSized, Describe, Encode, EncodeSized, Error, Flat, IntoOwned, List, Per, Reader, Size, Store};
use per::{Visitor, Writer};

use crate::common::{BeamId, Cgi, FiveQi, PlmnIdentity, Qci, QosFlowIdentifier, SNssai, True};

/// MeasurementLabel: a subcounter of a measurement. At least one component is present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct MeasurementLabel {
    /// The measurement as a whole.
    pub no_label: Option<True>,
    /// The share of a PLMN.
    pub plmn_id: Option<PlmnIdentity>,
    /// The share of a slice.
    pub slice_id: Option<SNssai>,
    /// The share of a 5QI.
    pub five_qi: Option<FiveQi>,
    /// The share of a QoS flow.
    pub qfi: Option<QosFlowIdentifier>,
    /// The share of a QCI.
    pub qci: Option<Qci>,
    /// The highest of a range of QCIs.
    pub qci_max: Option<Qci>,
    /// The lowest of a range of QCIs.
    pub qci_min: Option<Qci>,
    /// The highest of a range of allocation and retention priorities.
    #[per(range = 1..=15, extensible)]
    pub arp_max: Option<u8>,
    /// The lowest of a range of allocation and retention priorities.
    #[per(range = 1..=15, extensible)]
    pub arp_min: Option<u8>,
    /// The number of a bit rate range.
    #[per(range = 1..=65535, extensible)]
    pub bitrate_range: Option<u16>,
    /// A layer of multi-user MIMO.
    #[per(range = 1..=65535, extensible)]
    pub layer_mu_mimo: Option<u16>,
    /// The sum of all subcounters.
    pub sum: Option<True>,
    /// A bin of a distribution's first dimension.
    #[per(range = 1..=65535, extensible)]
    pub dist_bin_x: Option<u16>,
    /// A bin of a distribution's second dimension.
    #[per(range = 1..=65535, extensible)]
    pub dist_bin_y: Option<u16>,
    /// A bin of a distribution's third dimension.
    #[per(range = 1..=65535, extensible)]
    pub dist_bin_z: Option<u16>,
    /// The components replace those of the previous label.
    pub pre_label_override: Option<True>,
    /// The start or end of a range of labels.
    pub start_end_ind: Option<StartEndInd>,
    /// The least value.
    pub min: Option<True>,
    /// The greatest value.
    pub max: Option<True>,
    /// The mean value.
    pub avg: Option<True>,
    /// An SSB (v02.03).
    #[per(addition, since = 1, range = 1..=65535, extensible)]
    pub ssb_index: Option<u16>,
    /// A mode of beamforming without a grid of beams (v02.03).
    #[per(addition, since = 1, range = 1..=65535, extensible)]
    pub non_gob_bfmode_index: Option<u16>,
    /// A MIMO mode (v02.03).
    #[per(addition, since = 1, range = 1..=2, extensible)]
    pub mimo_mode_index: Option<u8>,
    /// The share of a cell (v04.00).
    #[per(addition, since = 3)]
    pub cell_global_id: Option<Cgi>,
    /// The share of a beam (v04.00).
    #[per(addition, since = 3)]
    pub beam_id: Option<BeamId>,
}

impl MeasurementLabel {
    /// The measurement as a whole.
    pub const NO_LABEL: MeasurementLabel = MeasurementLabel {
        no_label: Some(True),
        plmn_id: None,
        slice_id: None,
        five_qi: None,
        qfi: None,
        qci: None,
        qci_max: None,
        qci_min: None,
        arp_max: None,
        arp_min: None,
        bitrate_range: None,
        layer_mu_mimo: None,
        sum: None,
        dist_bin_x: None,
        dist_bin_y: None,
        dist_bin_z: None,
        pre_label_override: None,
        start_end_ind: None,
        min: None,
        max: None,
        avg: None,
        ssb_index: None,
        non_gob_bfmode_index: None,
        mimo_mode_index: None,
        cell_global_id: None,
        beam_id: None,
    };
}

/// Whether a label is the first or the last of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum StartEndInd {
    /// The first.
    Start,
    /// The last.
    End,
}

/// LabelInfoItem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct LabelInfoItem {
    /// The label.
    pub meas_label: MeasurementLabel,
}

/// LabelInfoList: the labels of a measurement, at least one; mostly [`LabelInfoList::NO_LABEL`].
#[derive(Clone, Debug, PartialEq, Flat)]
#[per(size = 1..=2_147_483_647)]
pub struct LabelInfoList<'a>(pub List<'a, LabelInfoItem>);

static NO_LABEL: [LabelInfoItem; 1] = [LabelInfoItem { meas_label: MeasurementLabel::NO_LABEL }];

impl LabelInfoList<'static> {
    /// The measurement as a whole.
    pub const NO_LABEL: LabelInfoList<'static> = LabelInfoList(List::Borrowed(&NO_LABEL));
}

impl Deref for LabelInfoList<'_> {
    type Target = [LabelInfoItem];
    fn deref(&self) -> &[LabelInfoItem] {
        &self.0
    }
}

const SIZE: Size = Size { lo: 1, hi: 2_147_483_647, extensible: false };

/// The encoding of one label without extension whose only component is noLabel.
pub(super) const NO_LABEL_OCTETS: [u8; 4] = [0x01, 0x20, 0x00, 0x00];

impl<'a, S: Store<'a>> Decode<'a, S> for LabelInfoList<'a> {
    #[inline]
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        let mut ahead = reader.clone();
        if ahead.octets(NO_LABEL_OCTETS.len()).is_ok_and(|octets| octets == NO_LABEL_OCTETS) {
            reader.octets(NO_LABEL_OCTETS.len())?;
            return Ok(LabelInfoList::NO_LABEL);
        }
        List::decode_sized(reader, SIZE, None).map(LabelInfoList).map_err(|error| error.within("LabelInfoList"))
    }
}

impl Encode for LabelInfoList<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        if core::ptr::eq(&raw const **self, &raw const NO_LABEL[..]) {
            writer.octets(&NO_LABEL_OCTETS);
            return Ok(());
        }
        self.0.encode_sized(writer, SIZE).map_err(|error| error.within("LabelInfoList"))
    }
}

impl IntoOwned for LabelInfoList<'_> {
    type Owned = LabelInfoList<'static>;
    fn into_owned(self) -> Self::Owned {
        if *self == NO_LABEL { LabelInfoList::NO_LABEL } else { LabelInfoList(self.0.into_owned()) }
    }
}

impl Describe for LabelInfoList<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        self.0.describe(visitor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_label_is_encoded_and_recognised_as_constant() {
        let mut out = Vec::new();
        let elsewhere = LabelInfoList(List::from(NO_LABEL.to_vec()));
        for list in [LabelInfoList::NO_LABEL, elsewhere] {
            out.clear();
            per::encode(&list, 2, &mut out).unwrap();
            assert_eq!(out, NO_LABEL_OCTETS);
        }
        let long: List<'_, LabelInfoItem> = per::decode(&out, 2).unwrap();
        let short: LabelInfoList<'_> = per::decode(&out, 2).unwrap();
        assert_eq!(long, short.0);
        assert!(matches!(short.0, List::Borrowed(_)), "recognised without decoding");
    }
}
