//! The file of the commands that may be started.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use settings::{Document, Error, Table, TableKeys};

use super::MAX_XAPPS;
use super::cgroup::Limits;
use super::descriptor::is_name;

/// The largest file, in octets.
const MAX_FILE: u64 = 256 << 10;
/// Words of a command, and variables of an environment.
const MAX_WORDS: usize = 256;

const FILE: TableKeys =
    TableKeys { name: "the file", keys: &["state_folder", "log_folder", "log_octets", "cgroup", "engine", "xapp"] };
const XAPP: TableKeys = TableKeys {
    name: "[[xapp]]",
    keys: &[
        "name",
        "command",
        "image",
        "extra_arguments",
        "descriptor",
        "schema",
        "folder",
        "environment",
        "start",
        "max_memory_mib",
        "max_cpu_percent",
        "max_processes",
    ],
};

/// The commands that may be started, and where their traces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// The folder for the configurations of xApps. Default: one in the system's folder for temporary files.
    pub state_folder: Option<PathBuf>,
    /// The folder for the output of xApps: `NAME.log`, and `NAME.log.1` with what was before. Default: output is kept in memory only.
    pub log_folder: Option<PathBuf>,
    /// Octets of the output of an xApp in memory, and in each of its files. Default: 256 KiB.
    pub log_octets: usize,
    /// The cgroup (version 2) below which those of xApps are created. Default: `ferric-xapps` in that of the RIC.
    pub cgroup: Option<PathBuf>,
    /// The program of the container engine, with its path, and its first arguments. Default: podman or docker in `/usr/bin`.
    pub engine: Vec<String>,
    /// The commands.
    pub permitted: Vec<Permitted>,
}

/// A command that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted {
    /// The xApp.
    pub name: String,
    /// The program, with its path, and its arguments; of an image what it is given, which may be nothing.
    pub command: Vec<String>,
    /// The image that it is in, which is run by the container engine. Default: none, it is a process of the host.
    pub image: Option<String>,
    /// Whether further arguments may be given by REST.
    pub extra_arguments: bool,
    /// The descriptor, if it need not be given by REST.
    pub descriptor: Option<PathBuf>,
    /// The JSON Schema of the controls of the descriptor.
    pub schema: Option<PathBuf>,
    /// The folder in which it runs. Default: that of its configuration.
    pub folder: Option<PathBuf>,
    /// Variables of its environment, beside those that management sets.
    pub environment: Vec<(String, String)>,
    /// Whether it starts with the RIC.
    pub start: bool,
    /// What it may use of the host.
    pub limits: Limits,
}

impl Commands {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// A text with the path, and the line and key at fault; a file that others than its owner may write is refused.
    pub fn load(path: &Path) -> Result<Commands, String> {
        let of_path = |error: String| format!("{}: {error}", path.display());
        let metadata = std::fs::metadata(path).map_err(|error| of_path(error.to_string()))?;
        if metadata.permissions().mode() & 0o022 != 0 {
            return Err(of_path("others than its owner may write it, and so start processes: chmod go-w".to_owned()));
        }
        let text = settings::read(path, MAX_FILE).map_err(|error| of_path(error.to_string()))?;
        let folder = std::path::absolute(path).ok();
        let folder = folder.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"));
        Commands::parse(&text, folder).map_err(|error| of_path(error.to_string()))
    }

    /// Parses the text of a file, whose paths are relative to a folder.
    ///
    /// # Errors
    /// The line and the key at fault.
    pub fn parse(text: &str, folder: &Path) -> Result<Commands, Error> {
        let document = Document::parse(text)?;
        let file = document.root(&FILE)?;
        let path = |table: &Table<'_>, key| Ok(table.text(key, "a path")?.map(|path| folder.join(path)));
        let mut commands = Commands {
            state_folder: path(&file, "state_folder")?,
            log_folder: path(&file, "log_folder")?,
            log_octets: file.integer("log_octets", 1024..=16 << 20)?.unwrap_or(256 << 10),
            cgroup: path(&file, "cgroup")?,
            engine: program(&file, "engine", folder)?,
            permitted: Vec::new(),
        };
        for table in file.tables("xapp", &XAPP, MAX_XAPPS)? {
            let permitted = read(&table, folder)?;
            if commands.permitted.iter().any(|other| other.name == permitted.name) {
                return Err(table.invalid("name", format!("there are two xApps `{}`", permitted.name)));
            }
            commands.permitted.push(permitted);
        }
        if commands.permitted.is_empty() {
            return Err(file.missing("xapp", "the file has an [[xapp]] for each command that may be started"));
        }
        Ok(commands)
    }
}

fn words(table: &Table<'_>, key: &'static str) -> Result<Vec<String>, Error> {
    let words = table.texts(key, MAX_WORDS, "the program or an argument")?.unwrap_or_default();
    Ok(words.into_iter().map(str::to_owned).collect())
}

/// Reads a program with its arguments; none if the key is absent.
fn program(table: &Table<'_>, key: &'static str, folder: &Path) -> Result<Vec<String>, Error> {
    let mut words = words(table, key)?;
    match words.first_mut() {
        Some(program) if !program.contains('/') => {
            let why = format!("`{program}` is not a path: which program it is must not depend on PATH");
            return Err(table.invalid(key, why));
        }
        Some(program) => *program = folder.join(&*program).to_string_lossy().into_owned(),
        None => {}
    }
    Ok(words)
}

fn read(table: &Table<'_>, folder: &Path) -> Result<Permitted, Error> {
    let name = table.text("name", "the name of the xApp")?;
    let name = name.ok_or_else(|| table.missing("name", "each xApp has a name"))?;
    if !is_name(name) {
        return Err(table.invalid(
            "name",
            "a name has 1 to 63 letters, digits, `.`, `_` and `-`, and begins with one of the former",
        ));
    }
    let image = table.text("image", "the name of an image")?;
    if let Some(image) = image
        && (image.is_empty() || image.starts_with('-') || !image.bytes().all(|octet| octet.is_ascii_graphic()))
    {
        return Err(table.invalid("image", format!("`{image}` is not the name of an image")));
    }
    let command = match image {
        // paths in an image are those of the image
        Some(_) => words(table, "command")?,
        None => program(table, "command", folder)?,
    };
    if command.is_empty() && image.is_none() {
        return Err(table.missing("command", "the program and its arguments"));
    }
    let path = |key| Ok(table.text(key, "a path")?.map(|path| folder.join(path)));
    let mut environment = Vec::new();
    for (at, text) in table.texts("environment", MAX_WORDS, "NAME=VALUE")?.unwrap_or_default().into_iter().enumerate() {
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(table.invalid_element("environment", at, "it is not NAME=VALUE"));
        };
        environment.push((name.to_owned(), value.to_owned()));
    }
    let (descriptor, start) = (path("descriptor")?, table.boolean("start")?.unwrap_or(false));
    if start && descriptor.is_none() {
        return Err(table.missing("descriptor", "an xApp that starts with the RIC has a descriptor"));
    }
    Ok(Permitted {
        name: name.to_owned(),
        command,
        image: image.map(str::to_owned),
        extra_arguments: table.boolean("extra_arguments")?.unwrap_or(false),
        descriptor,
        schema: path("schema")?,
        folder: path("folder")?,
        environment,
        start,
        limits: Limits {
            memory_mib: table.integer("max_memory_mib", 1..=1 << 20)?,
            cpu_percent: table.integer("max_cpu_percent", 1..=102_400)?,
            processes: table.integer("max_processes", 1..=65_536)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Commands, String> {
        Commands::parse(text, Path::new("/opt/xapps")).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let commands = parse(
            "log_folder = \"logs\"\n[[xapp]]\nname = \"hw\"\ncommand = [\"bin/hw\", \"-v\"]\ndescriptor = \"/etc/hw.json\"\n\
             environment = [\"A=b=c\"]\nmax_memory_mib = 64\nstart = true",
        );
        let commands = commands.unwrap();
        assert_eq!(commands.log_folder, Some("/opt/xapps/logs".into()));
        let hw = &commands.permitted[0];
        assert_eq!(hw.command, ["/opt/xapps/bin/hw", "-v"]);
        assert_eq!(hw.environment, [("A".to_owned(), "b=c".to_owned())]);
        assert_eq!((hw.start, hw.limits.memory_mib, hw.limits.cpu_percent), (true, Some(64), None));
        assert_eq!(hw.descriptor, Some("/etc/hw.json".into()));
    }

    #[test]
    fn mistakes_are_located() {
        let error = |text: &str| parse(text).unwrap_err();
        assert!(error("").contains("xapp"), "{}", error(""));
        let of_xapp = |text: &str| error(&format!("[[xapp]]\n{text}"));
        assert!(of_xapp("command = [\"/bin/true\"]").contains("each xApp has a name"));
        assert!(of_xapp("name = \"../x\"\ncommand = [\"/bin/true\"]").contains("1 to 63"));
        assert!(of_xapp("name = \"x\"\ncommand = [\"python3\"]").contains("must not depend on PATH"));
        assert!(of_xapp("name = \"x\"\ncommand = []").contains("the program and its arguments"));
        assert!(of_xapp("name = \"x\"\ncommand = [\"/bin/true\"]\nstart = true").contains("has a descriptor"));
        assert!(of_xapp("name = \"x\"\ncomand = [\"/bin/true\"]").contains("did you mean `command`?"));
        assert!(of_xapp("name = \"x\"\ncommand = [\"/bin/true\"]\nenvironment = [\"=x\"]").contains("NAME=VALUE"));
        let one = "[[xapp]]\nname = \"x\"\ncommand = [\"/bin/true\"]\n";
        assert!(error(&one.repeat(2)).contains("two xApps `x`"));
    }

    #[test]
    fn image_takes_a_command_of_its_own_or_none() {
        let commands = parse(
            "engine = [\"bin/podman\", \"--runtime\", \"runc\"]\n[[xapp]]\nname = \"a\"\nimage = \"localhost/a:1\"\n\
             [[xapp]]\nname = \"b\"\nimage = \"b\"\ncommand = [\"python3\", \"x.py\"]",
        );
        let commands = commands.unwrap();
        assert_eq!(commands.engine, ["/opt/xapps/bin/podman", "--runtime", "runc"]);
        let [a, b] = &commands.permitted[..] else { panic!("{commands:?}") };
        assert_eq!((a.image.as_deref(), a.command.len()), (Some("localhost/a:1"), 0));
        assert_eq!(b.command, ["python3", "x.py"], "a program of the image");
        for image in ["", "--privileged", "a b"] {
            let text = format!("[[xapp]]\nname = \"a\"\nimage = \"{image}\"");
            assert!(parse(&text).unwrap_err().contains("is not the name of an image"), "{image}");
        }
        assert!(parse("engine = [\"podman\"]").unwrap_err().contains("must not depend on PATH"));
    }

    #[test]
    fn file_that_others_may_write_is_refused() {
        let path = std::env::temp_dir().join(format!("ferric-commands-{}.toml", std::process::id()));
        std::fs::write(&path, "[[xapp]]\nname = \"x\"\ncommand = [\"/bin/true\"]\n").unwrap();
        let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o622);
        assert!(Commands::load(&path).unwrap_err().contains("chmod go-w"));
        set(0o600);
        assert_eq!(Commands::load(&path).unwrap().permitted[0].name, "x");
        std::fs::remove_file(&path).unwrap();
    }
}
