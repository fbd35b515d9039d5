//! Compiles C and C++ programs that use a library of the workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A C program, its compiler and the library that it is linked with.
#[derive(Clone, Copy, Debug)]
pub struct CProgram<'a> {
    /// The source.
    pub source: &'a Path,
    /// The folder of the header.
    pub include: &'a Path,
    /// The library: a file that the compiler takes as input.
    pub library: &'a Path,
    /// `cc`, `gcc`, `g++`.
    pub compiler: &'a str,
    /// Further options before the source.
    pub options: &'a [&'a str],
}

impl CProgram<'_> {
    /// Compiles it to `program`, with warnings as errors.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn compile(&self, program: PathBuf) -> PathBuf {
        let CProgram { source, include, library, compiler, options } = *self;
        let built = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-g"])
            .args(options)
            .arg("-I")
            .arg(include)
            .arg(source)
            .args(["-x", "none"])
            .arg(library)
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program)
            .output()
            .unwrap();
        assert!(built.status.success(), "{compiler}: {}", String::from_utf8_lossy(&built.stderr));
        program
    }
}

/// The folder of the libraries that `cargo test` has built: that of the test itself.
///
/// # Panics
/// When the system does not know the test's file.
#[must_use]
pub fn library_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

/// Whether a tool is installed; otherwise says what is not tested.
#[must_use]
pub fn is_installed(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_installed = found.is_ok_and(|status| status.success());
    if !is_installed {
        eprintln!("NOT TESTED with {tool}: it is not installed");
    }
    is_installed
}
