//! A folder that objects may come from.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of its own, gone with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ferric-plugin-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Folder(path)
    }

    /// Compiles a source in `tests`, with some of it changed.
    pub fn compile(&self, source: &str, name: &str, change: impl Fn(String) -> String) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = fs::read_to_string(here.join("tests").join(source)).unwrap();
        let (source_file, object) = (self.0.join(format!("{name}.c")), self.0.join(format!("{name}.so")));
        fs::write(&source_file, change(source)).unwrap();
        let compiler = std::env::var("CC").unwrap_or("cc".into());
        let status = Command::new(compiler)
            .args(["-shared", "-fPIC", "-I"])
            .arg(here.join("include"))
            .arg("-o")
            .args([&object, &source_file])
            .status();
        // rustc links with it, so that it is there
        assert!(status.expect("a C compiler").success());
        fs::set_permissions(&object, fs::Permissions::from_mode(0o755)).unwrap();
        object
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
