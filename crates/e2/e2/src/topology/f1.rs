//! The cells in an F1 SETUP REQUEST (TS 38.473 9.2.1.4), which a component's configuration carries as it went over F1.

use ids::{NrCgi, PlmnIdentity};
use per::{Error, ErrorKind, Reader};

/// F1 Setup (TS 38.473 9.4.7).
const F1_SETUP: i64 = 1;
/// GNB-DU-Served-Cells-List.
const SERVED_CELLS: i64 = 44;

/// Tells each cell of a DU's setup; of octets that are none, those before what is wrong.
pub(super) fn served_cells(pdu: &[u8], mut tell: impl FnMut(NrCgi)) {
    // what is not one is nothing: nodes put other things in this place, too
    let _ = read(pdu, &mut tell);
}

fn read(pdu: &[u8], tell: &mut impl FnMut(NrCgi)) -> Result<(), Error> {
    let mut reader = Reader::new(pdu, 0);
    // an initiating message, without extension
    if reader.bits(3)? != 0 || reader.constrained(0, 255)? != F1_SETUP {
        return Err(reader.error(ErrorKind::OutOfRange));
    }
    reader.bits(2)?; // criticality
    reader.open_type(|message| {
        message.bit()?; // extension
        for _ in 0..message.constrained(0, 65_535)? {
            let id = message.constrained(0, 65_535)?;
            message.bits(2)?; // criticality
            if id == SERVED_CELLS {
                return message.open_type(|list| cells(list, tell));
            }
            message.skip_open_type()?;
        }
        Ok(())
    })
}

fn cells(list: &mut Reader<'_>, tell: &mut impl FnMut(NrCgi)) -> Result<(), Error> {
    for _ in 0..list.constrained(1, 512)? {
        list.constrained(0, 65_535)?; // GNB-DU-Served-Cells-Item
        list.bits(2)?;
        let mut item = list.open_type_reader()?;
        // extension and options of the item, of the cell's information, and of its NR CGI
        item.bits(3 + 4 + 2)?;
        item.align();
        let plmn = match *item.octets(3)? {
            [a, b, c] => PlmnIdentity([a, b, c]),
            _ => return Err(item.error(ErrorKind::OutOfRange)),
        };
        item.align();
        tell(NrCgi::new(plmn, item.bits(36)?));
    }
    Ok(())
}
