//! `ferric new xapp`: makes a project that runs, from a template.

mod name;
mod project;
mod sdk;

use std::path::Path;

use anyhow::bail;

use project::File;
use sdk::Sdk;

/// Make a project.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(clap::Subcommand)]
enum Kind {
    Xapp(XappArgs),
}

/// Make the project of an xApp that runs, with a test against an emulated RAN
///
/// The project is a folder of that name here. It prints the throughput of each UE, has a README, and a test that starts a RIC and
/// an emulated RAN by itself.
#[derive(clap::Args)]
struct XappArgs {
    /// Name of the folder and of the xApp: up to 64 lower-case letters, digits, `-` and `_`, with a letter first.
    #[arg(value_name = "NAME")]
    name: String,
    /// Language.
    #[arg(long, value_name = "LANGUAGE")]
    lang: Language,
    /// Where the Rust SDK is: the folder of ferric's sources, or the URL of its git repository. Required for Rust, for it only.
    #[arg(long, value_name = "FOLDER|URL", required_if_eq("lang", "rust"))]
    sdk: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Language {
    Python,
    Rust,
    C,
}

/// A file of the template `$folder`, whose name here ends with `.in`.
macro_rules! file {
    ($folder:literal, $path:literal) => {
        File { path: $path, text: include_str!(concat!("../../templates/xapp/", $folder, "/", $path, ".in")) }
    };
}

const PYTHON: &[File] = &[
    file!("python", "README.md"),
    file!("python", "xapp.py"),
    file!("python", "test_xapp.py"),
    File { path: ".gitignore", text: "/environment/\n__pycache__/\n.pytest_cache/\n" },
];
const RUST: &[File] = &[
    file!("rust", "README.md"),
    file!("rust", "Cargo.toml"),
    file!("rust", "src/lib.rs"),
    file!("rust", "src/main.rs"),
    file!("rust", "tests/emulated_ran.rs"),
    File { path: ".gitignore", text: "/target/\n" },
];

const C: &[File] = &[
    file!("c", "README.md"),
    file!("c", "Makefile"),
    file!("c", "main.c"),
    file!("c", "test.sh"),
    File { path: ".gitignore", text: "/@name@\n" },
];

pub fn run(args: &Args) -> anyhow::Result<()> {
    let Kind::Xapp(args) = &args.kind;
    let name = args.name.as_str();
    name::check(name, args.lang)?;
    if args.sdk.is_some() && args.lang != Language::Rust {
        bail!("--sdk is for --lang rust only: leave it out");
    }
    let sdk = args.sdk.as_deref().map(Sdk::parse).transpose()?;
    let (files, next): (_, &[&str]) = match args.lang {
        Language::Python => (
            PYTHON,
            &[
                "python3 -m pytest     # with the packages that README.md lists",
                "python3 xapp.py       # with `ferric demo` running",
            ],
        ),
        Language::Rust => (RUST, &["cargo test", "cargo run             # with `ferric demo` running"]),
        Language::C => (C, &["make test             # with the library that README.md installs"]),
    };
    // a crate's name in Rust code
    let module = name.replace('-', "_");
    let mut values = vec![("name", name.to_owned()), ("module", module)];
    let mut copies = Vec::new();
    if let Some(sdk) = &sdk {
        values.push(("ferric", sdk.dependency("crates/e2/ferric")));
        values.push(("ran", sdk.dependency("crates/ran/ran")));
        copies.extend(sdk.lock_file().map(|from| (from, "Cargo.lock")));
    }
    project::make(Path::new(name), files, &values, &copies)?;
    program::outln!("made {name}; next:\n  cd {name}");
    next.iter().for_each(|line| program::outln!("  {line}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_no_unknown_places() {
        let values = ["name", "module", "ferric", "ran"].map(|name| (name, "x".to_owned()));
        for file in [PYTHON, RUST, C].concat() {
            let text = project::fill(file.text, &values);
            let is_place = |piece: &str| !piece.is_empty() && piece.bytes().all(|octet| octet.is_ascii_lowercase());
            let places = |line: &str| line.split('@').skip(1).filter(|piece| is_place(piece)).count();
            // what follows the last mark of a line is none
            assert!(
                text.lines().all(|line| line.matches('@').count() < 2 || places(line) == 0),
                "{}: {text}",
                file.path
            );
        }
    }
}
