//! RAN functions as a node declares them (E2AP v03.01 9.1.2.2, 9.1.2.7).

use per::{Decode, Encode, Error, ErrorKind, Flat, Octets, Per, PrintableString, Reader, Store, Writer};

use super::{Cause, RanFunctionId, RanFunctionRevision};
use crate::items::item;

/// A RAN function with the definition of its service model.
#[derive(Clone, Debug, PartialEq, Eq, Flat)]
pub struct RanFunctionItem<'a> {
    /// The RAN function.
    pub id: RanFunctionId,
    /// The service model's RAN function definition.
    pub definition: Octets<'a>,
    /// The number of changes of the definition.
    pub revision: RanFunctionRevision,
    /// The service model: absent in v01.00, optional in v01.01, mandatory from v2 on.
    #[per(size = 1..=1000, extensible)]
    pub oid: Option<PrintableString<'a>>,
}
item!(RanFunctionItem<'a>: 8 Ignore 1..=256, from 0 in v1);

/// The form of v01.00, and of v01.01, where an OID is an extension addition.
#[derive(Per)]
#[per(extensible)]
struct RanFunctionItemV1<'a> {
    id: RanFunctionId,
    definition: Octets<'a>,
    revision: RanFunctionRevision,
    #[per(addition, since = 1, size = 1..=1000, extensible)]
    oid: Option<PrintableString<'a>>,
}

/// The form from v2 on, where the OID is in the root.
#[derive(Per)]
#[per(extensible)]
struct RanFunctionItemV2<'a> {
    id: RanFunctionId,
    definition: Octets<'a>,
    revision: RanFunctionRevision,
    #[per(size = 1..=1000, extensible)]
    oid: PrintableString<'a>,
}

const V1_01: u8 = crate::Version::V1_01.revision();

impl<'a, S: Store<'a>> Decode<'a, S> for RanFunctionItem<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        Ok(if reader.revision() <= V1_01 {
            let RanFunctionItemV1 { id, definition, revision, oid } = Decode::decode(reader)?;
            RanFunctionItem { id, definition, revision, oid }
        } else {
            let RanFunctionItemV2 { id, definition, revision, oid } = Decode::decode(reader)?;
            RanFunctionItem { id, definition, revision, oid: Some(oid) }
        })
    }
}

impl Encode for RanFunctionItem<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let RanFunctionItem { id, definition, revision, oid } = self.clone();
        match (writer.revision(), oid) {
            (..=V1_01, oid) => RanFunctionItemV1 { id, definition, revision, oid }.encode(writer),
            (_, Some(oid)) => RanFunctionItemV2 { id, definition, revision, oid }.encode(writer),
            (_, None) => Err(writer.error(ErrorKind::Missing).within("RanFunctionItem.oid")),
        }
    }

    fn size_hint(&self) -> usize {
        self.definition.size_hint()
    }
}

impl per::IntoOwned for RanFunctionItem<'_> {
    type Owned = RanFunctionItem<'static>;
    fn into_owned(self) -> RanFunctionItem<'static> {
        let RanFunctionItem { id, definition, revision, oid } = self;
        RanFunctionItem { id, definition: definition.into_owned(), revision, oid: oid.into_owned() }
    }
}

impl per::Describe for RanFunctionItem<'_> {
    fn describe(&self, visitor: &mut dyn per::Visitor) {
        visitor.begin_record();
        visitor.field("id");
        self.id.describe(visitor);
        visitor.field("definition");
        self.definition.describe(visitor);
        visitor.field("revision");
        self.revision.describe(visitor);
        if let Some(oid) = &self.oid {
            visitor.field("oid");
            oid.describe(visitor);
        }
        visitor.end_record();
    }
}

/// A RAN function by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RanFunctionIdItem {
    /// The RAN function.
    pub id: RanFunctionId,
    /// The revision of its definition.
    pub revision: RanFunctionRevision,
}
item!(RanFunctionIdItem: 6 Ignore 1..=256, from 0 in v1);

/// A RAN function that was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RanFunctionIdCauseItem {
    /// The RAN function.
    pub id: RanFunctionId,
    /// The cause.
    pub cause: Cause,
}
item!(RanFunctionIdCauseItem: 7 Ignore 1..=256, from 0 in v1);
