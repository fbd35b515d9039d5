//! Traversal of a value without knowledge of its type, for example to convert any message to JSON.

/// A value whose parts can be visited.
pub trait Describe {
    /// Calls `visitor` for each part of the value, in order.
    fn describe(&self, visitor: &mut dyn Visitor);
}

/// A visitor of the parts of a value.
pub trait Visitor {
    /// NULL, or an optional part that is absent.
    fn null(&mut self);
    /// BOOLEAN.
    fn boolean(&mut self, value: bool);
    /// INTEGER.
    fn integer(&mut self, value: i64);
    /// REAL.
    fn real(&mut self, value: f64);
    /// A character string.
    fn text(&mut self, value: &str);
    /// An ENUMERATED value's name.
    fn symbol(&mut self, name: &'static str);
    /// OCTET STRING, in one or several pieces.
    fn octets(&mut self, pieces: &mut dyn Iterator<Item = &[u8]>);
    /// BIT STRING: its octets, first bit most significant, and the number of bits.
    fn bits(&mut self, octets: &[u8], count: usize);
    /// A SEQUENCE begins, or a CHOICE, which has one field.
    fn begin_record(&mut self);
    /// The next value is that of this field.
    fn field(&mut self, name: &str);
    /// The SEQUENCE or CHOICE ends.
    fn end_record(&mut self);
    /// A SEQUENCE OF begins.
    fn begin_list(&mut self);
    /// The SEQUENCE OF ends.
    fn end_list(&mut self);
}
