//! Network slices.

use per::Per;

/// SST: a slice/service type (TS 23.501 5.15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct Sst(pub [u8; 1]);

/// SD: a slice differentiator (TS 23.501 5.15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct Sd(pub [u8; 3]);

/// S-NSSAI: a network slice (TS 23.501 5.15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct SNssai {
    /// The slice/service type.
    pub sst: Sst,
    /// The slice among those of the type.
    pub sd: Option<Sd>,
}
