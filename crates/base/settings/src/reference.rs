//! Keys with their values, defaults and meanings: what a reference says, what a default file contains, and what is read are one
//! declaration.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// A key of a table, and what a reference says about it.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name. The unit is at the end: `period_ms`.
    pub name: &'static str,
    /// The values that it takes.
    pub values: Values,
    /// What holds where it is absent.
    pub default: DefaultValue,
    /// Its meaning, in Markdown.
    pub meaning: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// The integers from the first to the second.
    Integer(i64, i64),
    /// `true` and `false`.
    Boolean,
    /// One of several texts.
    Words(&'static [&'static str]),
    /// What these words say, in Markdown.
    Other(&'static str),
    /// A table or several, which have keys of their own.
    Tables(&'static str),
}

/// What holds where a key is absent.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// A value, in TOML.
    Is(&'static str),
    /// What `meaning` says, in Markdown. `example` is a value in TOML.
    Absent {
        /// What holds, in Markdown; it may be empty where the meaning of the key says it.
        meaning: &'static str,
        /// A value in TOML; empty for a table.
        example: &'static str,
    },
    /// The key is required.
    Required {
        /// A value in TOML.
        example: &'static str,
    },
}

/// A table of a file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its header, such as `[tls]` or `[[node]]`; empty for the keys at the top of the file.
    pub header: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// Returns the names of keys, for [`TableKeys`](crate::TableKeys).
#[must_use]
pub const fn names<const N: usize>(keys: &[Key; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = keys[index].name;
        index += 1;
    }
    names
}

/// Returns the range of a key that takes integers.
///
/// # Panics
/// If there is no such key.
#[must_use]
pub fn range(keys: &[Key], name: &str) -> RangeInclusive<i64> {
    match keys.iter().find(|key| key.name == name).map(|key| key.values) {
        Some(Values::Integer(least, most)) => least..=most,
        _ => panic!("no key {name} of integers is declared"),
    }
}

/// From here on, powers of two are written as such.
const LARGE: i64 = 1 << 30;

fn number(value: i64) -> String {
    if value >= LARGE && value.count_ones() == 1 { format!("2^{}", value.trailing_zeros()) } else { value.to_string() }
}

impl Values {
    /// Describes the values, in Markdown.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Values::Integer(least, most) => format!("integer, {} to {}", number(*least), number(*most)),
            Values::Boolean => "`true`, `false`".to_owned(),
            Values::Words(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
            Values::Other(words) | Values::Tables(words) => (*words).to_owned(),
        }
    }
}

impl DefaultValue {
    /// Describes what holds, in Markdown.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            DefaultValue::Is(value) if value.parse::<i64>().is_ok() => (*value).to_owned(),
            DefaultValue::Is(value) => format!("`{value}`"),
            DefaultValue::Absent { meaning, .. } => (*meaning).to_owned(),
            DefaultValue::Required { .. } => "required".to_owned(),
        }
    }

    /// A value that the key takes, in TOML: its default, if that is a value.
    #[must_use]
    pub fn example(&self) -> &'static str {
        match self {
            DefaultValue::Is(example) | DefaultValue::Absent { example, .. } | DefaultValue::Required { example } => {
                example
            }
        }
    }
}

/// Returns a table of keys in Markdown.
#[must_use]
pub fn markdown(keys: &[Key]) -> String {
    let mut text = String::from("| key | type | default | meaning |\n|---|---|---|---|\n");
    for Key { name, values, default, meaning } in keys {
        let cells = [format!("`{name}`"), values.describe(), default.describe(), (*meaning).to_owned()];
        // an empty cell is a single space
        let cells = cells.map(|cell| if cell.is_empty() { cell } else { format!(" {cell}") });
        // writing to a string does not fail
        let _ = writeln!(text, "|{} |", cells.join(" |"));
    }
    text
}

/// The longest line of a file.
const COLUMNS: usize = 100;

/// Returns a file with all keys as comments, except those that `set` gives a value in TOML: `("rest", "\"127.0.0.1:8080\"")`,
/// `("tls.ca", "\"ca.pem\"")`. Only keys of the top and of single tables can be set.
///
/// # Errors
/// The first name in `set` that is not such a key.
pub fn default_file<'s>(sections: &[Section], set: &[(&'s str, &str)]) -> Result<String, &'s str> {
    let mut text = String::new();
    let mut written = Vec::new();
    for Section { header, keys } in sections {
        let table = header.trim_start_matches('[').trim_end_matches(']');
        let path = |key: &str| if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
        let value_of = |key: &str| {
            let path = path(key);
            let is_single = !header.starts_with("[[");
            set.iter().find(|(name, _)| is_single && *name == path).map(|(name, value)| (*name, *value))
        };
        if !header.is_empty() {
            let mark = if keys.iter().any(|key| value_of(key.name).is_some()) { "" } else { "#" };
            let _ = write!(text, "\n{mark}{header}\n");
        }
        for key in keys.iter().filter(|key| !matches!(key.values, Values::Tables(_))) {
            let default = key.default.describe();
            let default = match key.default {
                DefaultValue::Required { .. } => " Required.".to_owned(),
                _ if default.is_empty() => String::new(),
                _ => format!(" Default: {default}."),
            };
            comment(&mut text, &plain(&format!("{}.", capitalized(key.meaning))));
            comment(&mut text, &plain(&format!("{}.{default}", capitalized(&key.values.describe()))));
            let _ = match value_of(key.name) {
                Some((name, value)) => {
                    written.push(name);
                    writeln!(text, "{} = {value}\n", key.name)
                }
                None => writeln!(text, "#{} = {}\n", key.name, key.default.example()),
            };
        }
    }
    match set.iter().find(|(name, _)| !written.contains(name)) {
        Some((unknown, _)) => Err(unknown),
        None => Ok(text.trim_start().trim_end().to_owned() + "\n"),
    }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    // what starts with code is a name
    characters.next().map(|first| first.to_ascii_uppercase().to_string() + characters.as_str()).unwrap_or_default()
}

/// Writes a text as comments, broken between words.
fn comment(text: &mut String, content: &str) {
    let mut line = String::from("#");
    for word in content.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS {
            let _ = writeln!(text, "{line}");
            line.truncate(1);
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(text, "{line}");
}

/// Removes code marks and the targets of links from Markdown.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        // the text of a link starts at the last bracket before it
        let (head, label) = before.rsplit_once('[').unwrap_or((before, ""));
        text.push_str(head);
        text.push_str(label);
        rest = after.split_once(')').map_or("", |(_, tail)| tail);
    }
    text.push_str(rest);
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: [Key; 3] = [
        Key {
            name: "port",
            values: Values::Integer(1, 65535),
            default: DefaultValue::Is("80"),
            meaning: "the port, as in [the list of ports](ports.md)",
        },
        Key {
            name: "octets",
            values: Values::Integer(1, 1 << 40),
            default: DefaultValue::Absent { meaning: "no limit", example: "4096" },
            meaning: "the most octets",
        },
        Key {
            name: "tls",
            values: Values::Tables("table, below"),
            default: DefaultValue::Absent { meaning: "none", example: "" },
            meaning: "certificates",
        },
    ];
    const TLS: [Key; 2] = [
        Key {
            name: "ca",
            values: Values::Other("path"),
            default: DefaultValue::Required { example: "\"ca.pem\"" },
            meaning: "the CA",
        },
        Key {
            name: "mode",
            values: Values::Words(&["strict", "lax"]),
            default: DefaultValue::Is("\"strict\""),
            meaning: "how it is checked",
        },
    ];
    const SECTIONS: [Section; 2] = [Section { header: "", keys: &TOP }, Section { header: "[tls]", keys: &TLS }];

    #[test]
    fn reference_has_a_row_for_each_key() {
        assert_eq!(names(&TOP), ["port", "octets", "tls"]);
        assert_eq!(range(&TOP, "octets"), 1..=1 << 40);
        let rows = markdown(&TOP);
        assert!(
            rows.contains("| `port` | integer, 1 to 65535 | 80 | the port, as in [the list of ports](ports.md) |\n")
        );
        assert!(rows.contains("| `octets` | integer, 1 to 2^40 | no limit | the most octets |\n"));
        assert!(markdown(&TLS).contains("| `mode` | `\"strict\"`, `\"lax\"` | `\"strict\"` | how it is checked |\n"));
    }

    #[test]
    #[should_panic = "no key ports of integers is declared"]
    fn range_of_an_unknown_key_is_a_bug() {
        let _ = range(&TOP, "ports");
    }

    #[test]
    fn default_file_has_all_keys_as_comments_except_those_that_are_set() {
        let text = default_file(&SECTIONS, &[]).unwrap();
        assert_eq!(
            text,
            "# The port, as in the list of ports.\n# Integer, 1 to 65535. Default: 80.\n#port = 80\n\n\
             # The most octets.\n# Integer, 1 to 2^40. Default: no limit.\n#octets = 4096\n\n\n\
             #[tls]\n# The CA.\n# Path. Required.\n#ca = \"ca.pem\"\n\n\
             # How it is checked.\n# \"strict\", \"lax\". Default: \"strict\".\n#mode = \"strict\"\n"
        );
        let text = default_file(&SECTIONS, &[("octets", "7"), ("tls.ca", "\"x.pem\"")]).unwrap();
        assert!(text.contains("\noctets = 7\n") && text.contains("\n[tls]\n") && text.contains("\nca = \"x.pem\"\n"));
        assert!(text.contains("#port = 80\n") && text.contains("#mode = \"strict\"\n"));
        assert_eq!(default_file(&SECTIONS, &[("port", "1"), ("tls.key", "\"x\"")]), Err("tls.key"));
        assert_eq!(default_file(&SECTIONS, &[("tls", "1")]), Err("tls"), "a table has keys of its own");
    }

    #[test]
    fn comments_are_broken_between_words() {
        let mut text = String::new();
        comment(&mut text, &"word ".repeat(50));
        assert!(
            text.lines().count() == 3 && text.lines().all(|line| line.starts_with("# word") && line.len() <= COLUMNS)
        );
    }
}
