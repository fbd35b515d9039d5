//! Where a Rust project finds the SDK.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The package by which a folder is recognized as ferric's sources.
const MANIFEST: &str = "crates/e2/ferric/Cargo.toml";

/// The SDK's sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sdk {
    Folder(PathBuf),
    Git(String),
}

impl Sdk {
    /// Reads the argument: a URL, or a folder, which must have the sources.
    pub fn parse(text: &str) -> anyhow::Result<Sdk> {
        if text.contains("://") || text.starts_with("git@") {
            quoted(text)?;
            return Ok(Sdk::Git(text.to_owned()));
        }
        let folder = Path::new(text).canonicalize().with_context(|| format!("--sdk {text}: no such folder"))?;
        if !folder.join(MANIFEST).is_file() {
            bail!("--sdk {text} does not have ferric's sources: there is no {MANIFEST}");
        }
        quoted(&folder.to_string_lossy())?;
        Ok(Sdk::Folder(folder))
    }

    /// The source of a package in a manifest: `path = "…"`.
    pub fn dependency(&self, package: &str) -> String {
        match self {
            Sdk::Folder(folder) => format!("path = \"{}\"", folder.join(package).display()),
            Sdk::Git(url) => format!("git = \"{url}\""),
        }
    }

    /// The versions of other packages that these sources were tested with.
    pub fn lock_file(&self) -> Option<PathBuf> {
        let Sdk::Folder(folder) = self else { return None };
        Some(folder.join("Cargo.lock")).filter(|file| file.is_file())
    }
}

/// Refuses what would end a string of TOML, or has another meaning in it.
fn quoted(text: &str) -> anyhow::Result<()> {
    if text.contains(['"', '\\', char::REPLACEMENT_CHARACTER]) || text.contains(char::is_control) {
        bail!(
            "--sdk {text}: a quotation mark, backslash or control character, or what is not UTF-8, cannot be in a manifest"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_must_have_the_sources() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
        let sdk = Sdk::parse(root).unwrap();
        let dependency = sdk.dependency("crates/ran/ran");
        assert!(dependency.starts_with("path = \"/") && dependency.ends_with("/crates/ran/ran\""), "{dependency}");
        assert!(sdk.lock_file().is_some());
        let error = Sdk::parse(env!("CARGO_MANIFEST_DIR")).unwrap_err().to_string();
        assert!(error.contains("there is no crates/e2/ferric/Cargo.toml"), "{error}");
        assert!(Sdk::parse("/nowhere").unwrap_err().to_string().contains("no such folder"));
    }

    #[test]
    fn url_is_that_of_a_repository() {
        let sdk = Sdk::parse("https://git.example/ferric.git").unwrap();
        assert_eq!(sdk.dependency("crates/ran/ran"), "git = \"https://git.example/ferric.git\"");
        assert_eq!(sdk.lock_file(), None);
        assert!(Sdk::parse("https://x/\"\n[patch]").unwrap_err().to_string().contains("cannot be in a manifest"));
    }
}
