//! Arbitrary octets as a list of steps: an octet for the kind of step, then its arguments.

/// The rest of the input.
pub struct Steps<'a>(pub &'a [u8]);

impl<'a> Steps<'a> {
    /// The next octet, or `None` at the end.
    pub fn octet(&mut self) -> Option<u8> {
        let (&octet, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(octet)
    }

    /// The next number, below 65536.
    pub fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.octet()?, self.octet()?]))
    }

    /// A PDU after its length, truncated at the end of the input.
    pub fn pdu(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.number()?).min(self.0.len());
        let (pdu, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(pdu)
    }
}
