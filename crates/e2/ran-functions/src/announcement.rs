//! How a RAN function announces itself.

use std::borrow::Cow;

/// The names and numbers under which a RAN function announces itself, where they are not those of its specification: base
/// stations differ in them, and controllers recognise a function by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// The RAN function revision in E2AP. Default: a number that follows the revision of the specification.
    pub revision: Option<u16>,
    /// The object identifier in E2AP. Default: that of the specification and the encoding.
    pub oid: Option<Cow<'static, str>>,
    /// The object identifier in the definition. Default: that of the specification.
    pub definition_oid: Option<Cow<'static, str>>,
    /// The short name in the definition: ASCII, may be empty in PER. Default: that of the specification.
    pub short_name: Option<Cow<'static, str>>,
}

impl Announcement {
    /// The RAN function revision, where the specification has this one.
    pub(crate) fn revision(&self, own: u16) -> u16 {
        self.revision.unwrap_or(own)
    }

    /// The object identifier in E2AP, where the specification and the encoding have this one.
    pub(crate) fn oid(&self, own: Cow<'_, str>) -> String {
        self.oid.as_deref().map_or_else(|| own.into_owned(), str::to_owned)
    }

    /// The object identifier in the definition, where the specification has this one.
    pub(crate) fn definition_oid<'s>(&'s self, own: &'s str) -> &'s str {
        self.definition_oid.as_deref().or(self.oid.as_deref()).unwrap_or(own)
    }

    /// The short name, where the specification has this one.
    pub(crate) fn short_name<'s>(&'s self, own: &'s str) -> &'s str {
        self.short_name.as_deref().unwrap_or(own)
    }
}
