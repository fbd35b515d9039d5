//! What the service models share: identities of UEs, cells and nodes, slices and QoS classes.
//!
//! Wire revisions are numbered so that from 3 on these types are those of E2SM v05.00; below, they lack its additions.
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

mod cell;
mod function;
mod node;
mod ue;

pub use cell::{BeamId, CellRnti, Cgi, EutraCgi, NrCgi, RntiValue};
pub use function::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
pub use node::{
    EnbId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId, GlobalNgRanNodeId, GnbId, Guami, Gummei, NgEnbId, PlmnIdentity,
};
pub use ue::{
    AmfUeNgapId, EnbUeX2apId, EnbUeX2apIdExtension, FiveQi, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId,
    GnbCuUeF1apIdItem, MmeUeS1apId, NgEnbCuUeW1apId, NgRanNodeUeXnapId, Qci, QosFlowIdentifier, RanUeId, SNssai, Sd,
    Sst, UeId, UeIdEnGnb, UeIdEnb, UeIdGnb, UeIdGnbCuUp, UeIdGnbDu, UeIdNgEnb, UeIdNgEnbDu,
};

use per::{Decode, Describe, Encode, Error, ErrorKind, IntoOwned, Reader, Store, Visitor, Writer};

/// ENUMERATED {true, ...}: there is nothing to say but that the component is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
