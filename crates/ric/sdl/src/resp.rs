//! RESP, the protocol of Redis, in its versions 2 and 3: requests of clients, which are the same in both, and replies.
//!
//! A request is an array of bulk strings. Empty lines between requests are ignored: redis-cli sends one. What may be announced is bounded ([`Bounds`]), memory grows with the octets that
//! arrived, and octets that were parsed are not parsed again when more of the request arrive.

use std::fmt;
use std::ops::Range;

/// The longest line with a number: `*` or `$`, ten digits, and its end.
const MAX_LINE_OCTETS: usize = 13;

/// The bounds of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Octets, with the lines that announce lengths.
    pub max_octets: usize,
    /// Elements of the array.
    pub max_arguments: usize,
}

/// Why octets are not a request. The connection is of no use afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A request does not begin with `*`, an element not with `$`.
    Type(u8),
    /// A line has no number, or no end within the longest possible one.
    Line,
    /// An element does not end with CR LF.
    End,
    /// An array has no elements, or more than allowed.
    Arguments,
    /// The request has more octets than allowed.
    Length,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // the type of a handshake record (RFC 8446 5.1)
            Fault::Type(0x16) => {
                f.write_str("TLS begins, and this address is plain TCP: connect without TLS, or listen at tls://")
            }
            Fault::Type(octet) => write!(
                f,
                "a request is an array of bulk strings, and begins with `*` or `$`, not with octet {octet:#04x}"
            ),
            Fault::Line => f.write_str("a length is not a decimal number with CR LF behind it"),
            Fault::End => f.write_str("a bulk string does not end with CR LF where its length says so"),
            Fault::Arguments => f.write_str("the array of a request has no elements or too many"),
            Fault::Length => f.write_str("a request is too long"),
        }
    }
}

impl std::error::Error for Fault {}

/// The arguments of a request; the first is the name of the command.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    octets: &'a [u8],
    arguments: &'a [Range<usize>],
}

impl<'a> Request<'a> {
    /// A request whose arguments are ranges of octets.
    pub(crate) fn new(octets: &'a [u8], arguments: &'a [Range<usize>]) -> Self {
        Request { octets, arguments }
    }

    /// The number of arguments, with the name. At least one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    /// Whether there is nothing, not even a name: never for a request that was received.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// Returns an argument; nothing where there are fewer.
    #[must_use]
    pub fn get(&self, at: usize) -> &'a [u8] {
        self.arguments.get(at).and_then(|range| self.octets.get(range.clone())).unwrap_or_default()
    }

    /// Returns the arguments from a position on.
    pub fn from(&self, at: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let octets = self.octets;
        self.arguments.iter().skip(at).map(move |range| octets.get(range.clone()).unwrap_or_default())
    }

    /// Returns the octets of all arguments.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.arguments.iter().map(ExactSizeIterator::len).sum()
    }
}

/// Arguments one behind the other, and where each is: what [`Request::new`] takes.
pub(crate) fn joined(arguments: &[Vec<u8>]) -> (Vec<u8>, Vec<Range<usize>>) {
    let mut octets = Vec::with_capacity(arguments.iter().map(Vec::len).sum());
    let append = |argument: &Vec<u8>| {
        let start = octets.len();
        octets.extend_from_slice(argument);
        start..octets.len()
    };
    let ranges = arguments.iter().map(append).collect();
    (octets, ranges)
}

/// Reads requests out of the octets of a connection.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What was received and is not consumed.
    octets: Vec<u8>,
    /// Up to where the current request is parsed.
    parsed: usize,
    /// The elements that its array has, once that is known.
    expected: Option<usize>,
    /// The length of the element whose octets have not all arrived.
    bulk: Option<usize>,
    arguments: Vec<Range<usize>>,
    is_complete: bool,
}

impl Decoder {
    /// Appends what was received.
    pub fn push(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    /// Returns the octets that it holds.
    #[must_use]
    pub fn held_octets(&self) -> usize {
        self.octets.capacity() + self.arguments.capacity() * size_of::<Range<usize>>()
    }

    /// Whether a part of a request has arrived, and the rest has not.
    #[must_use]
    pub fn has_part(&self) -> bool {
        !self.octets.is_empty()
    }

    /// Returns the next whole request; `None` until more is received. The request is consumed by the next call.
    ///
    /// # Errors
    /// If the octets are not a request within the bounds. The decoder must not be used any more.
    pub fn next(&mut self, bounds: Bounds) -> Result<Option<Request<'_>>, Fault> {
        self.consume();
        while !self.is_complete {
            let has_advanced = match (self.expected, self.bulk) {
                (None, _) => self.read_array(bounds)?,
                (Some(_), None) => self.read_length(bounds)?,
                (Some(expected), Some(length)) => self.read_bulk(expected, length)?,
            };
            if !has_advanced {
                return Ok(None);
            }
        }
        Ok(Some(Request { octets: &self.octets, arguments: &self.arguments }))
    }

    /// Removes a request that was returned.
    fn consume(&mut self) {
        if !self.is_complete {
            return;
        }
        self.octets.drain(..self.parsed);
        // a long request does not occupy its memory for ever
        if self.octets.is_empty() && self.octets.capacity() > 64 << 10 {
            self.octets = Vec::new();
            self.arguments = Vec::new();
        }
        self.arguments.clear();
        (self.parsed, self.expected, self.is_complete) = (0, None, false);
    }

    fn read_array(&mut self, bounds: Bounds) -> Result<bool, Fault> {
        let empty_lines = self.octets.chunks_exact(2).take_while(|pair| *pair == b"\r\n").count();
        self.octets.drain(..2 * empty_lines);
        if self.octets == b"\r" {
            return Ok(false);
        }
        let Some(count) = self.line(b'*')? else { return Ok(false) };
        if count == 0 || count > bounds.max_arguments {
            return Err(Fault::Arguments);
        }
        self.expected = Some(count);
        Ok(true)
    }

    fn read_length(&mut self, bounds: Bounds) -> Result<bool, Fault> {
        let Some(length) = self.line(b'$')? else { return Ok(false) };
        if self.parsed.saturating_add(length).saturating_add(2) > bounds.max_octets {
            return Err(Fault::Length);
        }
        self.bulk = Some(length);
        Ok(true)
    }

    fn read_bulk(&mut self, expected: usize, length: usize) -> Result<bool, Fault> {
        let end = self.parsed + length;
        match self.octets.get(end..end + 2) {
            None => return Ok(false),
            Some(b"\r\n") => {}
            Some(_) => return Err(Fault::End),
        }
        self.arguments.push(self.parsed..end);
        self.parsed = end + 2;
        self.bulk = None;
        self.is_complete = self.arguments.len() == expected;
        Ok(true)
    }

    /// Reads a line of a type and a number.
    fn line(&mut self, kind: u8) -> Result<Option<usize>, Fault> {
        let rest = self.octets.get(self.parsed..).unwrap_or_default();
        match rest.first() {
            None => return Ok(None),
            Some(first) if *first != kind => return Err(Fault::Type(*first)),
            Some(_) => {}
        }
        let within = rest.get(..MAX_LINE_OCTETS).unwrap_or(rest);
        let Some(end) = within.windows(2).position(|pair| pair == b"\r\n") else {
            return if within.len() == MAX_LINE_OCTETS { Err(Fault::Line) } else { Ok(None) };
        };
        let number = number(within.get(1..end).unwrap_or_default()).ok_or(Fault::Line)?;
        self.parsed += end + 2;
        Ok(Some(number))
    }
}

/// A number in decimal digits, without a sign.
fn number(digits: &[u8]) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

/// A version of the protocol. A connection begins with the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RESP2: numbers, texts and arrays.
    #[default]
    V2,
    /// RESP3: also maps, sets, and messages that are no replies.
    V3,
}

/// Replies, written one behind the other, up to a bound.
#[derive(Debug)]
pub struct Replies {
    version: Version,
    octets: Vec<u8>,
    max_octets: usize,
    is_exceeded: bool,
}

impl Replies {
    /// No replies yet, and the most octets that they may have.
    #[must_use]
    pub fn new(version: Version, max_octets: usize) -> Self {
        Replies { version, octets: Vec::new(), max_octets, is_exceeded: false }
    }

    /// Changes the version of what follows.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// The octets of all replies; whether some of them were left out because there would be too many.
    #[must_use]
    pub fn into_octets(self) -> (Vec<u8>, bool) {
        (self.octets, self.is_exceeded)
    }

    /// How many octets more the replies may have.
    #[must_use]
    pub fn room(&self) -> usize {
        self.max_octets.saturating_sub(self.octets.len())
    }

    fn put(&mut self, parts: &[&[u8]]) {
        let more: usize = parts.iter().map(|part| part.len()).sum();
        self.is_exceeded |= more > self.room();
        if !self.is_exceeded {
            parts.iter().for_each(|part| self.octets.extend_from_slice(part));
        }
    }

    /// A simple string, such as `OK`: without line ends.
    pub fn status(&mut self, text: &str) {
        self.put(&[b"+", text.as_bytes(), b"\r\n"]);
    }

    /// An error: a code in upper case, and its description, in one line.
    pub fn error(&mut self, text: &str) {
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.put(&[b"-", line.as_bytes(), b"\r\n"]);
    }

    /// A number.
    pub fn integer(&mut self, number: i64) {
        self.put(&[b":", number.to_string().as_bytes(), b"\r\n"]);
    }

    /// A bulk string.
    pub fn bulk(&mut self, octets: &[u8]) {
        self.put(&[b"$", octets.len().to_string().as_bytes(), b"\r\n", octets, b"\r\n"]);
    }

    /// A bulk string, or the one that says that there is none.
    pub fn bulk_or_nil(&mut self, octets: Option<&[u8]>) {
        match octets {
            Some(octets) => self.bulk(octets),
            None if self.version == Version::V3 => self.put(&[b"_\r\n"]),
            None => self.put(&[b"$-1\r\n"]),
        }
    }

    /// The beginning of an array: its elements follow.
    pub fn array(&mut self, length: usize) {
        self.begin(b"*", length);
    }

    /// The beginning of a set: its elements follow.
    pub fn set(&mut self, length: usize) {
        self.begin(if self.version == Version::V3 { b"~" } else { b"*" }, length);
    }

    /// The beginning of a map: a key and a value follow for each entry.
    pub fn map(&mut self, entries: usize) {
        match self.version {
            Version::V2 => self.begin(b"*", 2 * entries),
            Version::V3 => self.begin(b"%", entries),
        }
    }

    /// The beginning of a message that is no reply: its elements follow.
    pub fn push(&mut self, length: usize) {
        self.begin(if self.version == Version::V3 { b">" } else { b"*" }, length);
    }

    fn begin(&mut self, kind: &[u8], length: usize) {
        self.put(&[kind, length.to_string().as_bytes(), b"\r\n"]);
    }

    /// Replies that were written elsewhere.
    pub fn append(&mut self, octets: &[u8]) {
        self.put(&[octets]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { max_octets: 64, max_arguments: 4 };

    fn read(decoder: &mut Decoder) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        Ok(decoder.next(BOUNDS)?.map(|request| request.from(0).map(<[u8]>::to_vec).collect()))
    }

    #[test]
    fn request_is_read_in_any_pieces() {
        // with empty lines before and after
        let octets = b"\r\n*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n*1\r\n$0\r\n\r\n\r\n\r\n*1\r\n$4\r\nPING\r\n\r\n";
        let expected = [vec![b"GET".to_vec(), b"\r\n".to_vec()], vec![Vec::new()], vec![b"PING".to_vec()]];
        for piece in 1..=octets.len() {
            let mut decoder = Decoder::default();
            let mut requests = Vec::new();
            for part in octets.chunks(piece) {
                decoder.push(part);
                while let Some(request) = read(&mut decoder).unwrap() {
                    requests.push(request);
                }
            }
            assert_eq!(requests, expected, "in pieces of {piece}");
            assert!(!decoder.has_part());
        }
    }

    #[test]
    fn malformed_requests_are_refused() {
        for (octets, fault) in [
            (&b"PING\r\n"[..], Fault::Type(b'P')),
            (b"POST / HTTP/1.1\r\n", Fault::Type(b'P')),
            (b"\r\n\n", Fault::Type(b'\n')),
            (b"\rx", Fault::Type(b'\r')),
            (b"*1\r\n+PING\r\n", Fault::Type(b'+')),
            (b"*0\r\n", Fault::Arguments),
            (b"*5\r\n", Fault::Arguments),
            (b"*-1\r\n", Fault::Line),
            (b"*\r\n", Fault::Line),
            (b"*+1\r\n", Fault::Line),
            (b"*1\n\r\n", Fault::Line),
            (b"*00000000000001", Fault::Line),
            (b"*99999999999999", Fault::Line),
            (b"*1\r\n$99\r\n", Fault::Length),
            (b"*1\r\n$9999999999\r\n", Fault::Length),
            (b"*1\r\n$-1\r\n", Fault::Line),
            (b"*1\r\n$4\r\nPINGPONG", Fault::End),
        ] {
            let mut decoder = Decoder::default();
            decoder.push(octets);
            assert_eq!(read(&mut decoder), Err(fault), "{}", String::from_utf8_lossy(octets));
            assert!(!fault.to_string().is_empty());
        }
    }

    #[test]
    fn announced_length_takes_no_memory() {
        let mut decoder = Decoder::default();
        decoder.push(b"*65536\r\n$1000000000\r\n");
        let bounds = Bounds { max_octets: 1 << 31, max_arguments: 1 << 16 };
        assert_eq!(decoder.next(bounds).unwrap().map(|request| request.len()), None);
        assert!(decoder.held_octets() < 1000, "{}", decoder.held_octets());
        assert!(decoder.has_part());
    }

    #[test]
    fn replies_have_the_published_forms() {
        let mut replies = Replies::new(Version::V2, 100);
        replies.status("OK");
        replies.error("ERR one\r\nline");
        replies.integer(-2);
        replies.array(2);
        replies.bulk(b"a\r\n");
        replies.bulk_or_nil(None);
        replies.map(1);
        replies.set_version(Version::V3);
        replies.bulk_or_nil(None);
        replies.map(1);
        replies.set(2);
        replies.push(3);
        let (octets, is_exceeded) = replies.into_octets();
        let v2 = b"+OK\r\n-ERR one  line\r\n:-2\r\n*2\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n";
        assert_eq!(octets, [&v2[..], b"_\r\n%1\r\n~2\r\n>3\r\n"].concat());
        assert!(!is_exceeded);
    }

    #[test]
    fn replies_stay_within_their_bound() {
        let mut replies = Replies::new(Version::V2, 10);
        replies.bulk(b"12345");
        replies.status("OK");
        assert_eq!(replies.into_octets(), (Vec::new(), true), "`$5..12345..` has 11 octets");
    }
}
