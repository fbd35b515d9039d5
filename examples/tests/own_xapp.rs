//! The package of `docs/own-xapp.md` compiles outside of the workspace, and reads reports.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../../docs/own-xapp.md");

/// The first code block of the page in a language.
fn block(language: &str) -> String {
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("\n```").unwrap().0.to_owned()
}

/// A package beside the workspace; removed when dropped.
struct Package(PathBuf);

impl Drop for Package {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn package_of_the_page_compiles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // inside of the folder of builds, so that what is compiled is reused; a workspace of its own
    let target = root.join("target").join("own-xapp");
    let package = Package(target.join("my-xapp"));
    std::fs::create_dir_all(package.0.join("src")).unwrap();
    let manifest = block("toml").replace("../ferric/", &format!("{}/", root.display()));
    assert!(manifest.contains(root.to_str().unwrap()), "{manifest}");
    std::fs::write(package.0.join("Cargo.toml"), manifest + "\n\n[workspace]\n").unwrap();
    std::fs::write(package.0.join("src/main.rs"), block("rust")).unwrap();
    // the versions that the workspace has been tested with
    std::fs::copy(root.join("Cargo.lock"), package.0.join("Cargo.lock")).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["check", "--offline"])
        .current_dir(&package.0)
        .env("CARGO_TARGET_DIR", &target)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}
