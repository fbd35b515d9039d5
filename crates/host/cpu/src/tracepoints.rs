//! Tracepoints: their numbers, and where their fields are. Both are read from the kernel, so no headers are needed.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::Error;

const RIGHT: &str = "root (CAP_SYS_ADMIN), or a readable /sys/kernel/tracing";
const MAX_FORMAT_OCTETS: u64 = 64 << 10;

/// The file system of the kernel's tracing.
#[derive(Debug)]
pub(crate) struct Tracing(OwnedFd);

/// A tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    /// Its number, by which events are opened; also the first field of its records.
    pub(crate) id: u64,
    fields: Vec<Field>,
    name: String,
}

/// Where a field is in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    name: String,
    pub(crate) offset: i16,
    pub(crate) size: u8,
}

impl Tracing {
    /// Opens it: where it is mounted, else by a mount of its own that no other process sees, and that ends with this value.
    ///
    /// # Errors
    /// If neither is possible.
    pub(crate) fn open() -> Result<Tracing, Error> {
        let open = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for folder in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
            if Path::new(folder).join("events/sched").is_dir() {
                let opened = rustix::fs::open(folder, open, Mode::empty());
                return opened
                    .map(Tracing)
                    .map_err(|error| Error::system(format!("open {folder}"), RIGHT, error.into()));
            }
        }
        let mount = || {
            let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        };
        mount().map(Tracing).map_err(|error| Error::system("mount tracefs for this process", RIGHT, error.into()))
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.0
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let file = openat(&self.0, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut text = String::new();
        File::from(file).take(MAX_FORMAT_OCTETS).read_to_string(&mut text).map(|_| text)
    }

    /// Reads a tracepoint, such as `sched/sched_switch`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel does not have it.
    pub(crate) fn tracepoint(&self, name: &str) -> Result<Tracepoint, Error> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Error::Unsupported(format!(
                "this kernel has no tracepoint {name}: it takes CONFIG_TRACEPOINTS and CONFIG_FTRACE"
            )),
            _ => Error::system(format!("read tracepoint {name}"), RIGHT, error),
        };
        let text = self.read(&format!("events/{name}/format")).map_err(failed)?;
        parse(name, &text)
            .ok_or_else(|| Error::Unsupported(format!("the format of tracepoint {name} cannot be parsed")))
    }
}

impl Tracepoint {
    /// A field.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there is none, or it has another size.
    pub(crate) fn field(&self, name: &str, sizes: &[u8]) -> Result<&Field, Error> {
        let found = self.fields.iter().find(|field| field.name == name && sizes.contains(&field.size));
        found.ok_or_else(|| {
            Error::Unsupported(format!("tracepoint {} has no field {name} of {sizes:?} octets", self.name))
        })
    }
}

impl Field {
    /// The field's value in a record, as an unsigned number; `None` if the record is too short.
    pub(crate) fn value(&self, record: &[u8]) -> Option<u64> {
        let start = usize::try_from(self.offset).ok()?;
        let octets = record.get(start..start + usize::from(self.size))?;
        match *octets {
            [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d]).into()),
            [a, b, c, d, e, f, g, h] => Some(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
            _ => None,
        }
    }
}

/// Parses lines such as `field:pid_t pid; offset:24; size:4; signed:1;`.
fn parse(name: &str, text: &str) -> Option<Tracepoint> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
    let field = |line: &str| {
        let (declaration, rest) = line.trim_start().strip_prefix("field:")?.split_once(';')?;
        let name = declaration.rsplit([' ', '*']).next()?.split('[').next()?.to_owned();
        let number = |key: &str| rest.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse::<i16>().ok());
        Some(Field { name, offset: number("offset:")?, size: number("size:")?.try_into().ok()? })
    };
    let fields = text.lines().filter_map(field).collect();
    Some(Tracepoint { id, fields, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tracepoint_is_named() {
        let tracing = match Tracing::open() {
            Ok(tracing) => tracing,
            Err(error) => return println!("NOT TESTED: {error}"),
        };
        let error = tracing.tracepoint("sched/no_such_thing").unwrap_err();
        assert!(error.to_string().starts_with("this kernel has no tracepoint sched/no_such_thing"), "{error}");
    }

    #[test]
    fn format_is_parsed() {
        let text = "name: x\nID: 374\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
                    \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\n\
                    print fmt: \"field:x\"\n";
        let tracepoint = parse("x", text).unwrap();
        assert_eq!((tracepoint.id, tracepoint.fields.len()), (374, 3));
        assert_eq!(tracepoint.field("prev_state", &[8]).unwrap().offset, 32);
        assert!(tracepoint.field("comm", &[4]).is_err() && tracepoint.field("pid", &[4]).is_err());
        let record = [[0_u8; 32].as_slice(), &7_u64.to_ne_bytes()].concat();
        assert_eq!(tracepoint.field("prev_state", &[8]).unwrap().value(&record), Some(7));
        assert_eq!(tracepoint.field("prev_state", &[8]).unwrap().value(&record[..39]), None);
        for bad in ["", "ID:", "ID: x", "ID: 1\nfield:;offset:;size:;"] {
            assert!(parse("x", bad).is_none_or(|tracepoint| tracepoint.fields.is_empty()), "{bad}");
        }
    }
}
