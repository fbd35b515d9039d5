//! The blocks of the pcapng format (draft-ietf-opsawg-pcapng) that recordings need.

use std::io::{self, Read, Write};

use super::ReadError;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;

/// The first word of files in the older pcap format, in each byte order and for each resolution.
const CLASSIC_MAGIC: [u32; 4] = [0xA1B2_C3D4, 0xD4C3_B2A1, 0xA1B2_3C4D, 0x4D3C_B2A1];

const OPTION_COMMENT: u16 = 1;
const OPTION_NAME: u16 = 2;
const OPTION_DESCRIPTION: u16 = 3;
const OPTION_APPLICATION: u16 = 4;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_FLAGS: u16 = 2;
const OPTION_RECEIVED: u16 = 4;
const OPTION_DROPPED: u16 = 5;

/// The longest block that is read; packets are far shorter.
const MAX_BLOCK_OCTETS: u32 = 16 * 1024 * 1024;
/// The most interfaces of one section.
const MAX_INTERFACES: usize = 4096;

/// Raw IP, version 4 or 6.
pub(super) const LINK_RAW_IP: u16 = 101;
/// Reserved for private use: octets without a public format.
pub(super) const LINK_USER0: u16 = 147;

/// Writes blocks and counts their octets.
pub(super) struct BlockWriter<W: Write> {
    file: W,
    block: Vec<u8>,
    pub octets: u64,
}

impl<W: Write> BlockWriter<W> {
    /// Creates a file with its section header.
    pub fn new(file: W, application: &str) -> io::Result<Self> {
        let mut writer = BlockWriter { file, block: Vec::new(), octets: 0 };
        writer.block(SECTION_HEADER, |body| {
            body.extend_from_slice(&BYTE_ORDER.to_le_bytes());
            body.extend_from_slice(&[1, 0, 0, 0]);
            body.extend_from_slice(&u64::MAX.to_le_bytes()); // length of the section: unspecified
            option(body, OPTION_APPLICATION, application.as_bytes());
            end_of_options(body);
        })?;
        Ok(writer)
    }

    /// Adds an interface with time stamps in nanoseconds.
    pub fn interface(&mut self, link_type: u16, name: &str, description: &str) -> io::Result<()> {
        self.block(INTERFACE, |body| {
            body.extend_from_slice(&link_type.to_le_bytes());
            body.extend_from_slice(&[0; 6]); // reserved; snap length 0: packets are never truncated
            option(body, OPTION_NAME, name.as_bytes());
            option(body, OPTION_DESCRIPTION, description.as_bytes());
            option(body, OPTION_RESOLUTION, &[9]);
            end_of_options(body);
        })
    }

    /// Adds a packet.
    pub fn packet(
        &mut self,
        interface: u32,
        at_ns: u64,
        sent: bool,
        packet: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        self.block(ENHANCED_PACKET, |body| {
            body.extend_from_slice(&interface.to_le_bytes());
            body.extend_from_slice(&((at_ns >> 32) as u32).to_le_bytes());
            body.extend_from_slice(&(at_ns as u32).to_le_bytes());
            for _ in 0..2 {
                body.extend_from_slice(&(packet.len() as u32).to_le_bytes());
            }
            body.extend_from_slice(packet);
            pad(body);
            option(body, OPTION_FLAGS, &(if sent { 2u32 } else { 1 }).to_le_bytes());
            if let Some(comment) = comment {
                option(body, OPTION_COMMENT, comment.as_bytes());
            }
            end_of_options(body);
        })
    }

    /// Adds the statistics of an interface: the messages that it recorded and dropped.
    pub fn statistics(&mut self, interface: u32, at_ns: u64, received: u64, dropped: u64) -> io::Result<()> {
        self.block(INTERFACE_STATISTICS, |body| {
            body.extend_from_slice(&interface.to_le_bytes());
            body.extend_from_slice(&((at_ns >> 32) as u32).to_le_bytes());
            body.extend_from_slice(&(at_ns as u32).to_le_bytes());
            option(body, OPTION_RECEIVED, &received.to_le_bytes());
            option(body, OPTION_DROPPED, &dropped.to_le_bytes());
            end_of_options(body);
        })
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn block(&mut self, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.block.clear();
        self.block.extend_from_slice(&kind.to_le_bytes());
        self.block.extend_from_slice(&[0; 4]);
        fill(&mut self.block);
        let octets = (self.block.len() + 4) as u32;
        self.block[4..8].copy_from_slice(&octets.to_le_bytes());
        self.block.extend_from_slice(&octets.to_le_bytes());
        self.octets += u64::from(octets);
        self.file.write_all(&self.block)
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend_from_slice(&[0; 4]);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

/// An interface of a file.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub link_type: u16,
    pub name: String,
    /// The units of its time stamps per second.
    per_second: u64,
}

/// A packet of a file.
pub(super) struct Packet<'a> {
    pub interface: &'a Interface,
    /// The application that wrote the section.
    pub application: &'a str,
    /// The time since 1970; 0 if the file has none.
    pub at_ns: u64,
    pub octets: &'a [u8],
}

/// Reads blocks, one at a time.
pub(super) struct BlockReader<R: Read> {
    file: R,
    /// The octets that were read.
    offset: u64,
    big_endian: bool,
    block: Vec<u8>,
    interfaces: Vec<Interface>,
    application: String,
}

impl<R: Read> BlockReader<R> {
    pub fn new(file: R) -> Self {
        let (block, interfaces, application) = (Vec::new(), Vec::new(), String::new());
        BlockReader { file, offset: 0, big_endian: false, block, interfaces, application }
    }

    /// Returns the offset of the current block.
    fn block_offset(&self) -> u64 {
        self.offset - self.block.len() as u64
    }

    /// Returns the next packet; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        loop {
            let Some(kind) = self.next_block()? else { return Ok(None) };
            match kind {
                SECTION_HEADER => {
                    self.interfaces.clear();
                    self.application = self.option(24, OPTION_APPLICATION).map(text).unwrap_or_default();
                }
                INTERFACE => self.take_interface()?,
                ENHANCED_PACKET | SIMPLE_PACKET => break,
                _ => {}
            }
        }
        self.packet().map(Some)
    }

    fn packet(&self) -> Result<Packet<'_>, ReadError> {
        let damaged = ReadError::Damaged { offset: self.block_offset() };
        let found = if self.word(0) == Some(ENHANCED_PACKET) {
            let (Some(interface), Some(high), Some(low), Some(octets)) =
                (self.word(8), self.word(12), self.word(16), self.word(20))
            else {
                return Err(damaged);
            };
            let interface = self.interfaces.get(interface as usize);
            let at = u64::from(high) << 32 | u64::from(low);
            interface.zip(self.block.get(28..28 + octets as usize)).map(|(interface, octets)| Packet {
                interface,
                application: &self.application,
                at_ns: (u128::from(at) * 1_000_000_000 / u128::from(interface.per_second)) as u64,
                octets,
            })
        } else {
            // the block has no captured length: the packet is not truncated
            let octets = self.word(8).unwrap_or(u32::MAX) as usize;
            let captured = self.block.len().saturating_sub(16).min(octets);
            let interface = self.interfaces.first();
            interface.zip(self.block.get(12..12 + captured)).map(|(interface, octets)| Packet {
                interface,
                application: &self.application,
                at_ns: 0,
                octets,
            })
        };
        found.ok_or(damaged)
    }

    fn take_interface(&mut self) -> Result<(), ReadError> {
        let offset = self.block_offset();
        let link_type = self.half(8).ok_or(ReadError::Damaged { offset })?;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(ReadError::Damaged { offset });
        }
        let per_second = match self.option(16, OPTION_RESOLUTION).and_then(|value| value.first().copied()) {
            None => 1_000_000,
            // a power of ten, or of two if the highest bit is set; those beyond 64 bits are not used in practice
            Some(power) if power & 0x80 == 0 => 10u64.checked_pow(power.into()).unwrap_or(u64::MAX),
            Some(power) => 1u64.checked_shl(u32::from(power & 0x7F)).unwrap_or(u64::MAX),
        };
        let name = self.option(16, OPTION_NAME).map(text).unwrap_or_default();
        self.interfaces.push(Interface { link_type, name, per_second });
        Ok(())
    }

    /// Reads a whole block and returns its type.
    fn next_block(&mut self) -> Result<Option<u32>, ReadError> {
        let begin = self.offset;
        self.block.clear();
        self.more(8)?;
        if self.block.is_empty() {
            return if begin == 0 { Err(ReadError::Foreign { found: None }) } else { Ok(None) };
        }
        if begin == 0 && self.block.get(..4) != Some(&SECTION_HEADER.to_le_bytes()) {
            let mut first = [0; 4];
            first.iter_mut().zip(&self.block).for_each(|(to, octet)| *to = *octet);
            return Err(ReadError::Foreign { found: Some(u32::from_le_bytes(first)) });
        }
        let truncated = |offset| ReadError::Truncated { block_offset: begin, offset };
        if self.block.len() < 8 {
            return Err(truncated(self.offset));
        }
        let kind = self.word(0);
        if kind == Some(SECTION_HEADER) {
            self.more(4)?;
            let order = self.block.get(8..12).ok_or(truncated(self.offset))?;
            self.big_endian = match order {
                order if order == BYTE_ORDER.to_le_bytes() => false,
                order if order == BYTE_ORDER.to_be_bytes() => true,
                _ => return Err(ReadError::Damaged { offset: begin }),
            };
        }
        let octets = self.word(4).unwrap_or(0);
        if !(12..=MAX_BLOCK_OCTETS).contains(&octets) || !octets.is_multiple_of(4) {
            return Err(ReadError::Damaged { offset: begin });
        }
        let octets = octets as usize;
        self.more(octets.saturating_sub(self.block.len()))?;
        if self.block.len() < octets {
            return Err(truncated(self.offset));
        }
        if self.word(octets - 4) != self.word(4) {
            return Err(ReadError::Damaged { offset: begin });
        }
        Ok(kind)
    }

    /// Appends up to `octets` of the file to the block.
    fn more(&mut self, octets: usize) -> Result<(), ReadError> {
        let read = (&mut self.file).take(octets as u64).read_to_end(&mut self.block);
        self.offset += read.map_err(|source| ReadError::Io { offset: self.offset, source })? as u64;
        Ok(())
    }

    fn half(&self, at: usize) -> Option<u16> {
        let octets = *self.block.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u16::from_be_bytes(octets) } else { u16::from_le_bytes(octets) })
    }

    fn word(&self, at: usize) -> Option<u32> {
        let octets = *self.block.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) })
    }

    /// Returns the first option `wanted`, from octet `at` of the block on.
    fn option(&self, mut at: usize, wanted: u16) -> Option<&[u8]> {
        loop {
            let (code, octets) = (self.half(at)?, usize::from(self.half(at + 2)?));
            // the last word repeats the block's length
            if code == 0 || at + 8 > self.block.len() {
                return None;
            }
            if code == wanted {
                return self.block.get(at + 4..at + 4 + octets);
            }
            at += 4 + octets.next_multiple_of(4);
        }
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// Returns whether `word` is the first word of a file in the older pcap format.
pub(super) fn is_classic(word: u32) -> bool {
    CLASSIC_MAGIC.contains(&word)
}
