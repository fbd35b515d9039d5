//! Types that several protocols have in the same form.

#[cfg(any(feature = "ngap", feature = "e1ap", feature = "f1ap", feature = "s1ap"))]
use ids::PlmnIdentity;
#[cfg(any(feature = "ngap", feature = "e1ap", feature = "xnap"))]
use ids::SNssai;
use per::Per;
#[cfg(any(feature = "ngap", feature = "f1ap", feature = "e1ap", feature = "s1ap"))]
use per::PrintableString;
#[cfg(any(feature = "ngap", feature = "f1ap", feature = "s1ap"))]
use per::Reader;

/// A part of a message that is never encoded here: a component that is absent, or an alternative that is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub(crate) struct Unused(bool);

/// Skips a ProtocolExtensionContainer.
#[cfg(any(feature = "ngap", feature = "f1ap", feature = "s1ap"))]
pub(crate) fn skip_extensions(reader: &mut Reader<'_>) -> Result<(), per::Error> {
    for _ in 0..reader.constrained(1, 65_535)? {
        reader.constrained(0, 65_535)?;
        reader.bits(2)?;
        reader.skip_open_type()?;
    }
    Ok(())
}

/// Reads a PLMNIdentity.
#[cfg(any(feature = "ngap", feature = "f1ap", feature = "s1ap"))]
pub(crate) fn read_plmn(reader: &mut Reader<'_>) -> Result<PlmnIdentity, per::Error> {
    reader.align();
    match *reader.octets(3)? {
        [a, b, c] => Ok(PlmnIdentity([a, b, c])),
        _ => Err(reader.error(per::ErrorKind::OutOfRange)),
    }
}

/// The name of a node: RANNodeName, AMFName, MMEname and the like.
#[cfg(any(feature = "ngap", feature = "f1ap", feature = "e1ap", feature = "s1ap"))]
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=150, extensible)]
pub(crate) struct NodeName<'a>(PrintableString<'a>);

#[cfg(any(feature = "ngap", feature = "f1ap", feature = "e1ap", feature = "s1ap"))]
impl<'a> NodeName<'a> {
    pub fn new(name: &'a str) -> Result<Self, per::Error> {
        let name = PrintableString::try_from(name)?;
        Ok(NodeName(name))
    }
}

/// TransactionID of F1AP and E1AP.
#[cfg(any(feature = "f1ap", feature = "e1ap"))]
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=255, extensible)]
pub(crate) struct TransactionId(pub u8);

/// The default paging cycle of a node, in radio frames (PagingDRX of NGAP and S1AP).
#[cfg(any(feature = "ngap", feature = "s1ap"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
#[allow(missing_docs)] // the names are the values
pub enum PagingDrx {
    V32,
    V64,
    V128,
    V256,
}

/// A network that a node serves, and its slices there.
#[cfg(any(feature = "ngap", feature = "e1ap"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedPlmn {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// 1 to 1024 slices.
    pub s_nssais: Vec<SNssai>,
}

/// S-NSSAI of NGAP, XnAP and E1AP.
#[cfg(any(feature = "ngap", feature = "e1ap", feature = "xnap"))]
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub(crate) struct SNssaiIe {
    sst: [u8; 1],
    sd: Option<[u8; 3]>,
    ie_extensions: Option<Unused>,
}

#[cfg(any(feature = "ngap", feature = "e1ap", feature = "xnap"))]
impl From<&SNssai> for SNssaiIe {
    fn from(s_nssai: &SNssai) -> Self {
        SNssaiIe { sst: s_nssai.sst.0, sd: s_nssai.sd.map(|sd| sd.0), ie_extensions: None }
    }
}

#[cfg(feature = "ngap")]
impl SNssaiIe {
    /// The identity without extensions.
    pub fn s_nssai(&self) -> SNssai {
        SNssai { sst: ids::Sst(self.sst), sd: self.sd.map(ids::Sd) }
    }
}

/// NR CGI of NGAP and F1AP.
#[cfg(any(feature = "ngap", feature = "f1ap"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub(crate) struct NrCgiIe {
    plmn_identity: PlmnIdentity,
    #[per(size = 36..=36)]
    nr_cell_identity: per::Bits,
    ie_extensions: Option<Unused>,
}

#[cfg(any(feature = "ngap", feature = "f1ap"))]
impl From<ids::NrCgi> for NrCgiIe {
    fn from(cell: ids::NrCgi) -> Self {
        NrCgiIe { plmn_identity: cell.plmn_identity, nr_cell_identity: cell.nr_cell_identity, ie_extensions: None }
    }
}
