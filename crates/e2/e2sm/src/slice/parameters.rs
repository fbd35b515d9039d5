//! The parameters of slice algorithms.

use core::fmt;

use per::{List, Per};

use crate::plain::{Error, ErrorKind, Plain, Reader, Writer};

/// A slice algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Fixed positions in the carrier.
    Static,
    /// Network virtualization substrate (Kokku et al.): a share, or a rate relative to the capacity of the cell.
    Nvs,
    /// The combination of SCN19: a rate, fixed positions, or a share on demand.
    Scn19,
    /// Earliest deadline first.
    Edf,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Algorithm::Static => "STATIC",
            Algorithm::Nvs => "NVS",
            Algorithm::Scn19 => "SCN19",
            Algorithm::Edf => "EDF",
        })
    }
}

/// The parameters of a slice, by the algorithm of its direction.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum Parameters<'a> {
    /// Fixed positions.
    Static(Positions),
    /// A share or a rate.
    Nvs(NvsParameters),
    /// A rate, fixed positions, or a share on demand.
    Scn19(Scn19Parameters),
    /// Resource blocks before a deadline.
    Edf(EdfParameters<'a>),
}

impl Parameters<'_> {
    /// Returns the algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Parameters::Static(_) => Algorithm::Static,
            Parameters::Nvs(_) => Algorithm::Nvs,
            Parameters::Scn19(_) => Algorithm::Scn19,
            Parameters::Edf(_) => Algorithm::Edf,
        }
    }
}

impl<'a> Plain<'a> for Parameters<'a> {
    const NAME: &'static str = "Parameters";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        // 0 is "no algorithm", which has no parameters
        match reader.number::<u32>()? {
            1 => Ok(Parameters::Static(reader.value()?)),
            2 => Ok(Parameters::Nvs(reader.value()?)),
            3 => Ok(Parameters::Scn19(reader.value()?)),
            4 => Ok(Parameters::Edf(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let number: u32 = match self {
            Parameters::Static(_) => 1,
            Parameters::Nvs(_) => 2,
            Parameters::Scn19(_) => 3,
            Parameters::Edf(_) => 4,
        };
        writer.number(number);
        match self {
            Parameters::Static(parameters) => writer.value(parameters),
            Parameters::Nvs(parameters) => writer.value(parameters),
            Parameters::Scn19(parameters) => writer.value(parameters),
            Parameters::Edf(parameters) => writer.value(parameters),
        }
    }
}

/// Positions in the carrier, counted in groups of resource blocks from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct Positions {
    /// The first.
    pub low: u32,
    /// The last (inclusive).
    pub high: u32,
}

impl Plain<'_> for Positions {
    const NAME: &'static str = "Positions";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let high = reader.number()?;
        Ok(Positions { low: reader.number()?, high })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.high);
        writer.number(self.low);
        Ok(())
    }
}

/// A rate and a reference rate: the share is their quotient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Rate {
    /// The rate of the slice in Mbit/s.
    pub required_mbps: f32,
    /// The rate that the slice would have with the whole cell, in Mbit/s.
    pub reference_mbps: f32,
}

impl Plain<'_> for Rate {
    const NAME: &'static str = "Rate";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let reference_mbps = reader.number()?;
        Ok(Rate { required_mbps: reader.number()?, reference_mbps })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.reference_mbps);
        writer.number(self.required_mbps);
        Ok(())
    }
}

/// A share of the resource blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Share {
    /// From 0 to 1. The name is FlexRIC's, whose xApps send fractions, not percentages.
    pub reserved: f32,
}

impl Plain<'_> for Share {
    const NAME: &'static str = "Share";
    const LEAST: usize = 4;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Share { reserved: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.reserved);
        Ok(())
    }
}

/// The parameters of NVS.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum NvsParameters {
    /// A rate.
    Rate(Rate),
    /// A share.
    Capacity(Share),
}

impl Plain<'_> for NvsParameters {
    const NAME: &'static str = "NvsParameters";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => Ok(NvsParameters::Rate(reader.value()?)),
            1 => Ok(NvsParameters::Capacity(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            NvsParameters::Rate(rate) => {
                writer.number(0u32);
                writer.value(rate)
            }
            NvsParameters::Capacity(share) => {
                writer.number(1u32);
                writer.value(share)
            }
        }
    }
}

/// The parameters of SCN19.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum Scn19Parameters {
    /// A rate.
    Dynamic(Rate),
    /// Fixed positions.
    Fixed(Positions),
    /// A share on demand.
    OnDemand(OnDemand),
}

impl Plain<'_> for Scn19Parameters {
    const NAME: &'static str = "Scn19Parameters";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => Ok(Scn19Parameters::Dynamic(reader.value()?)),
            1 => Ok(Scn19Parameters::Fixed(reader.value()?)),
            2 => Ok(Scn19Parameters::OnDemand(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            Scn19Parameters::Dynamic(rate) => {
                writer.number(0u32);
                writer.value(rate)
            }
            Scn19Parameters::Fixed(positions) => {
                writer.number(1u32);
                writer.value(positions)
            }
            Scn19Parameters::OnDemand(on_demand) => {
                writer.number(2u32);
                writer.value(on_demand)
            }
        }
    }
}

/// A share of a slice while it has data to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct OnDemand {
    /// From 0 to 1.
    pub reserved: f32,
    /// The logarithm of its weight.
    pub log_delta: f32,
    /// The averaging window in slots.
    pub tau_slots: u32,
}

impl Plain<'_> for OnDemand {
    const NAME: &'static str = "OnDemand";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let log_delta = reader.number()?;
        Ok(OnDemand { reserved: reader.number()?, log_delta, tau_slots: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.log_delta);
        writer.number(self.reserved);
        writer.number(self.tau_slots);
        Ok(())
    }
}

/// Resource blocks before each deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct EdfParameters<'a> {
    /// The deadline in slots.
    pub deadline_slots: u32,
    /// The guaranteed resource blocks before each deadline.
    pub guaranteed_prbs: u32,
    /// The greatest number of resource blocks that it may save.
    pub max_replenish_prbs: u32,
    /// The slices over which it has precedence.
    #[per(size = 0..=1024)]
    pub over: List<'a, u32>,
}

impl<'a> Plain<'a> for EdfParameters<'a> {
    const NAME: &'static str = "EdfParameters";
    const LEAST: usize = 16;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(EdfParameters {
            deadline_slots: reader.number()?,
            guaranteed_prbs: reader.number()?,
            max_replenish_prbs: reader.number()?,
            over: reader.list()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.deadline_slots);
        writer.number(self.guaranteed_prbs);
        writer.number(self.max_replenish_prbs);
        writer.list(&self.over)
    }
}
