//! Projects as folders, which are there completely or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// A file of a template.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its path in the project.
    pub path: &'static str,
    /// Its text, with `@name@` where a value belongs.
    pub text: &'static str,
}

/// A folder that is removed unless it has become the project.
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // the error that led here is the one to report
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Makes the folder `path` with the files, and with copies of others. The folder gets its name last.
///
/// # Errors
/// If it exists, or something cannot be written: nothing of it remains then.
pub fn make(path: &Path, files: &[File], values: &[(&str, String)], copies: &[(PathBuf, &str)]) -> anyhow::Result<()> {
    let shown = path.display();
    // a link to nowhere exists too
    if path.symlink_metadata().is_ok() {
        bail!("{shown} exists already: give another name, or remove it");
    }
    let name = path.file_name().unwrap_or_default().display();
    let hidden = path.with_file_name(format!(".{name}.{}", std::process::id()));
    fs::create_dir(&hidden).with_context(|| format!("cannot make a folder for {shown} here"))?;
    let mut unfinished = Unfinished(Some(hidden.clone()));
    for File { path, text } in files {
        let file = hidden.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make the folder of {path}"))?;
        }
        fs::write(&file, fill(text, values)).with_context(|| format!("cannot write {path}"))?;
    }
    for (from, to) in copies {
        fs::copy(from, hidden.join(to)).with_context(|| format!("cannot copy {} to {to}", from.display()))?;
    }
    // fails if another program has made it in the meantime
    fs::rename(&hidden, path).with_context(|| format!("cannot name the project's folder {shown}"))?;
    unfinished.0 = None;
    Ok(())
}

/// A text with the values at their places.
pub fn fill(text: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ferric-new-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn project_that_cannot_be_completed_leaves_nothing() {
        let folder = folder("incomplete");
        let files = [File { path: "a", text: "" }, File { path: "a/b", text: "" }];
        let error = make(&folder.join("x"), &files, &[], &[]).unwrap_err();
        assert!(error.to_string().contains("a/b"), "{error:#}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn existing_name_is_refused_and_not_touched() {
        let folder = folder("existing");
        let files = [File { path: "a", text: "@name@" }];
        make(&folder.join("x"), &files, &[("name", "new".to_owned())], &[]).unwrap();
        assert_eq!(fs::read_to_string(folder.join("x/a")).unwrap(), "new");
        std::os::unix::fs::symlink("/nowhere", folder.join("link")).unwrap();
        for name in ["x", "link"] {
            let error = make(&folder.join(name), &files, &[("name", "other".to_owned())], &[]).unwrap_err();
            assert!(error.to_string().contains("exists already"), "{error:#}");
        }
        assert_eq!(fs::read_to_string(folder.join("x/a")).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }
}
