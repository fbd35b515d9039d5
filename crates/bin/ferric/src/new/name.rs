//! Names of projects.

use anyhow::{anyhow, bail};

use super::Language;

/// The longest name: that of an xApp in the RIC's log.
const MAX_OCTETS: usize = 64;

/// Keywords of Rust (the Rust Reference, "Keywords"), and crates that the project's own would hide.
const RUST: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "ferric",
    "ferric-ran",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ran",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];
/// Keywords of Python (the Python Language Reference 2.3.1), and modules that the project uses.
const PYTHON: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "ferric", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "numpy",
    "or", "pass", "pytest", "raise", "return", "try", "while", "with", "yield",
];

/// Keywords of C17 (ISO/IEC 9899:2018 6.4.1), and what the project's Makefile has as targets and files.
const C: &[&str] = &[
    "auto", "break", "case", "char", "clean", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "main", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "test", "typedef", "union", "unsigned", "void", "volatile", "while",
];

/// Refuses what cannot be the name of a folder, of a package in that language and of an xApp.
pub fn check(name: &str, language: Language) -> anyhow::Result<()> {
    let bad = |why: &str| anyhow!("`{name}` cannot be the name of a project: {why}");
    if name.is_empty() {
        bail!("the name of a project cannot be empty");
    }
    if name.len() > MAX_OCTETS {
        bail!("the name of a project has at most {MAX_OCTETS} octets, not {}", name.len());
    }
    if name.contains(['/', '\\']) {
        return Err(bad(
            "it contains a path separator; change to the folder that it shall be in, and give the last part",
        ));
    }
    let is_valid = |octet: u8| matches!(octet, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if !name.bytes().all(is_valid) || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err(bad("it must have lower-case letters, digits, `-` and `_` only, with a letter first"));
    }
    let (reserved, title) = match language {
        Language::Python => (PYTHON, "Python"),
        Language::Rust => (RUST, "Rust"),
        Language::C => (C, "C"),
    };
    if reserved.contains(&name.replace('_', "-").as_str()) {
        let what = if language == Language::C {
            "a name of the Makefile, or a keyword of"
        } else {
            "a keyword or a library of"
        };
        return Err(bad(&format!("it is {what} {title}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_are_accepted() {
        for name in ["a", "my-xapp", "my_xapp2", "class", &"x".repeat(64)] {
            check(name, Language::Rust).unwrap();
        }
        check("struct", Language::Python).unwrap();
    }

    #[test]
    fn other_names_are_refused_with_the_reason() {
        for (name, language, why) in [
            ("", Language::Rust, "empty"),
            (&*"x".repeat(65), Language::Rust, "at most 64 octets, not 65"),
            ("../xapp", Language::Python, "path separator"),
            ("a\\b", Language::Python, "path separator"),
            (".", Language::Rust, "lower-case letters"),
            ("-x", Language::Rust, "with a letter first"),
            ("9x", Language::Rust, "with a letter first"),
            ("Xapp", Language::Rust, "lower-case letters"),
            ("größe", Language::Rust, "lower-case letters"),
            ("a b", Language::Rust, "lower-case letters"),
            ("struct", Language::Rust, "keyword or a library of Rust"),
            ("proc_macro", Language::Rust, "keyword or a library of Rust"),
            ("class", Language::Python, "keyword or a library of Python"),
            ("ferric", Language::Python, "keyword or a library of Python"),
            ("test", Language::C, "keyword of C"),
        ] {
            let error = check(name, language).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
