//! Compiles C sources to shared objects.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder from which shared objects may be loaded: nobody else may write it. It is removed when dropped.
pub struct ObjectFolder {
    path: PathBuf,
}

impl ObjectFolder {
    /// An empty folder in the system's temporary directory.
    ///
    /// # Panics
    /// When the folder cannot be created.
    #[must_use]
    pub fn new() -> ObjectFolder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ferric-objects-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        ObjectFolder { path }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Compiles the C file `source` of the crate in `crate_folder` to `NAME.so` in this folder, after `change` has edited its
    /// text. The header files are those in the crate's `include`.
    ///
    /// # Panics
    /// When the source cannot be read or does not compile.
    pub fn compile(
        &self,
        crate_folder: impl AsRef<Path>,
        source: &str,
        name: &str,
        change: impl Fn(String) -> String,
    ) -> PathBuf {
        let crate_folder = crate_folder.as_ref();
        let text = fs::read_to_string(crate_folder.join(source)).unwrap();
        let changed = self.path.join(format!("{name}.c"));
        let object = self.path.join(format!("{name}.so"));
        fs::write(&changed, change(text)).unwrap();
        // rustc links with the C compiler, so there is one
        let status = Command::new(std::env::var("CC").unwrap_or("cc".into()))
            .args(["-shared", "-fPIC", "-I"])
            .arg(crate_folder.join("include"))
            .arg("-o")
            .args([&object, &changed])
            .status();
        assert!(status.expect("a C compiler").success());
        fs::set_permissions(&object, fs::Permissions::from_mode(0o755)).unwrap();
        object
    }
}

impl Default for ObjectFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ObjectFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path); // a failure leaves a temporary folder
    }
}
