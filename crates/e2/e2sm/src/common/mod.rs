//! What the service models share: identities of UEs, cells and nodes, slices and QoS classes.
//!
//! A service model numbers its wire revisions so that those which are built on E2SM v05.00 are [`WIRE_E2SM_V5`] and
//! above; below, these types lack its additions. Each model checks its numbers against that when it is compiled.
//!
//! ```
//! use e2sm::common::{Cgi, NrCgi, PlmnIdentity};
//! use per::Bits;
//!
//! let cell = Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(0x1234, 36) });
//! let mut bytes = Vec::new();
//! per::encode(&cell, 0, &mut bytes)?;
//! assert_eq!(per::decode::<Cgi>(&bytes, 0)?, cell);
//! # Ok::<(), per::Error>(())
//! ```

mod function;
mod interface;
mod ntp;
mod radio;
mod same_ue;
mod ue;

pub use function::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
pub use ids::{
    AmfUeNgapId, BeamId, CellIdentity, CellReference, CellRnti, Cgi, CoreCpId, EnGnbId, EnbId, EnbUeX2apId,
    EnbUeX2apIdExtension, EutraCgi, EutraPci, EutraTac, FiveGsTac, FiveQi, GlobalEnGnbId, GlobalEnbId, GlobalGnbId,
    GlobalNgEnbId, GlobalNgRanNodeId, GnbCuCpUeE1apId, GnbCuUeF1apId, GnbCuUpId, GnbDuId, GnbId, GroupId, Guami,
    Gummei, MmeUeS1apId, NgEnbCuUeW1apId, NgEnbDuId, NgEnbId, NgRanNodeUeXnapId, NrCgi, NrPci, PlmnIdentity, Qci,
    QosFlowIdentifier, QosId, RanUeId, RntiValue, SNssai, Sd, Sst,
};
pub use interface::{
    InterfaceIdE1, InterfaceIdF1, InterfaceIdNg, InterfaceIdS1, InterfaceIdW1, InterfaceIdX2, InterfaceIdXn,
    InterfaceIdentifier, InterfaceMessageId, InterfaceMessageType, InterfaceType, RrcClassLte, RrcClassNr,
    RrcMessageId, RrcType, X2NodeType,
};
pub use ntp::{SECONDS_1900_TO_1970, ntp_timestamp, time_of_ntp};
pub use radio::{
    EutraArfcn, NrArfcn, NrFrequencyBandItem, NrFrequencyInfo, NrFrequencyShift7p5khz, ServingCellArfcn,
    ServingCellPci, SupportedSulFreqBandItem,
};
pub use ue::{
    GnbCuCpUeE1apIdItem, GnbCuUeF1apIdItem, PartialUeId, UeId, UeIdEnGnb, UeIdEnb, UeIdGnb, UeIdGnbCuUp, UeIdGnbDu,
    UeIdNgEnb, UeIdNgEnbDu,
};

use per::{Decode, Describe, Encode, Error, ErrorKind, Flat, IntoOwned, Reader, Store, Visitor, Writer};

/// The first wire revision of a service model that is built on E2SM v05.00.
pub const WIRE_E2SM_V5: u8 = 3;

/// ENUMERATED {true, ...}: there is nothing to say but that the component is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Flat)]
pub struct True;

impl<'a, S: Store<'a>> Decode<'a, S> for True {
    #[inline]
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        if reader.bit()? {
            return Err(reader.error(ErrorKind::UnknownExtension).within("True"));
        }
        Ok(True)
    }
}

impl Encode for True {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.bit(false);
        Ok(())
    }
}

impl IntoOwned for True {
    type Owned = True;
    fn into_owned(self) -> True {
        self
    }
}

impl Describe for True {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.symbol("true");
    }
}
