//! Text of peers, as it is shown in a log or on a terminal.

use std::fmt::{self, Display, Write};

/// A value that is displayed with unsafe characters escaped; see [`escaped`].
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(T);

/// Displays a value so that it stays in its line and leaves a terminal alone: each character for which [`is_unsafe`] holds is
/// written as Rust escapes it (`\n`, `\u{1b}`). Other text is unchanged, letters of all scripts included.
pub fn escaped<T: Display>(value: T) -> Escaped<T> {
    Escaped(value)
}

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// Returns whether a character must not be shown as it is: a control character (C0, DEL, C1), a separator of lines or
/// paragraphs, or an invisible character that changes the direction of text (Unicode TR 36 3.1).
#[must_use]
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut written = 0;
        for (at, character) in text.char_indices().filter(|(_, character)| is_unsafe(*character)) {
            self.0.write_str(text.get(written..at).unwrap_or_default())?;
            match character {
                '\n' | '\r' | '\t' => write!(self.0, "{}", character.escape_default())?,
                _ => write!(self.0, "{}", character.escape_unicode())?,
            }
            written = at + character.len_utf8();
        }
        self.0.write_str(text.get(written..).unwrap_or_default())
    }
}

/// Writes at most a number of octets, whole characters, and counts the rest.
#[derive(Debug)]
pub struct Bounded<W> {
    writer: W,
    left_octets: usize,
    cut_octets: usize,
}

impl<W: Write> Bounded<W> {
    /// Writes up to `octets` to `writer`.
    pub fn new(writer: W, octets: usize) -> Self {
        Bounded { writer, left_octets: octets, cut_octets: 0 }
    }

    /// Writes a value with unsafe characters escaped.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_escaped(&mut self, value: impl Display) -> fmt::Result {
        write!(self, "{}", escaped(value))
    }

    /// States how much was cut, if anything was: `… (1234 octets more)`. At most 36 octets.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> fmt::Result {
        match self.cut_octets {
            0 => Ok(()),
            octets => write!(self.writer, "… ({octets} octets more)"),
        }
    }
}

impl<W: Write> Write for Bounded<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // once something is cut, nothing follows
        let end = if self.cut_octets > 0 { 0 } else { text.floor_char_boundary_of(self.left_octets) };
        let (shown, cut) = text.split_at(end);
        self.left_octets -= shown.len();
        self.cut_octets = self.cut_octets.saturating_add(cut.len());
        if shown.is_empty() { Ok(()) } else { self.writer.write_str(shown) }
    }
}

/// `str::floor_char_boundary` is newer than the oldest compiler that builds the project.
trait FloorCharBoundary {
    fn floor_char_boundary_of(&self, index: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_of(&self, index: usize) -> usize {
        let index = index.min(self.len());
        (0..=index).rev().find(|at| self.is_char_boundary(*at)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_characters_are_escaped_and_others_are_not() {
        for (text, shown) in [
            ("gnb-00101-e00", "gnb-00101-e00"),
            ("Zelle Größe 東京", "Zelle Größe 東京"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{7f}\u{9b}31m", "\\u{7f}\\u{9b}31m"),
            ("abc\u{202e}cba", "abc\\u{202e}cba"),
            ("\u{2028}\0", "\\u{2028}\\u{0}"),
        ] {
            assert_eq!(escaped(text).to_string(), shown);
        }
    }

    #[test]
    fn long_text_is_cut_at_a_character_and_the_rest_counted() {
        let mut text = String::new();
        let mut bounded = Bounded::new(&mut text, 8);
        write!(bounded, "12345").unwrap();
        write!(bounded, "67é").unwrap();
        write!(bounded, "after").unwrap();
        bounded.finish().unwrap();
        assert_eq!(text, "1234567… (7 octets more)");
        let mut text = String::new();
        let mut bounded = Bounded::new(&mut text, 8);
        bounded.write_escaped("12\n345").unwrap();
        bounded.finish().unwrap();
        assert_eq!(text, "12\\n345");
    }
}
