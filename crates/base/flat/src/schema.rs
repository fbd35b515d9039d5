//! Schemas of tables, in the syntax of `flatc`.

use core::fmt::{self, Write as _};

/// A list of declarations that is printed as the text of an `.fbs` file.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    declarations: Vec<(&'static str, Declaration)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Declaration {
    /// Known but incomplete: a table may contain itself.
    Begun(&'static str),
    Table(&'static str, Vec<Field>),
    Enum(Vec<&'static str>),
}

/// A field of a table; its slot is its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether the field is required.
    pub mandatory: bool,
}

/// The type of a field or an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A number or Boolean, by its name in schemas.
    Scalar(&'static str),
    /// A declared enumeration.
    Enum(&'static str),
    /// A string.
    String,
    /// A declared table.
    Table(&'static str),
    /// A vector.
    Vector(Box<Type>),
}

/// The properties of a schema as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Header<'t> {
    /// The lines of the comment at the top.
    pub comment: &'t [&'t str],
    /// The namespace of the declarations.
    pub namespace: &'t str,
    /// The root table.
    pub root: &'t str,
    /// The file identifier, four characters.
    pub identifier: Option<&'t str>,
}

impl Schema {
    /// Declares a table; its fields are requested only if it is not known yet. `path` distinguishes types with the same name.
    ///
    /// # Panics
    /// Panics if another type has that name.
    pub fn table(&mut self, name: &'static str, path: &'static str, fields: &dyn Fn(&mut Self) -> Vec<Field>) -> Type {
        // `dyn`: hundreds of types are declared, by tools and tests only.
        if let Some((_, known)) = self.declarations.iter().find(|(known, _)| *known == name) {
            let same = matches!(known, Declaration::Begun(known) | Declaration::Table(known, _) if *known == path);
            assert!(same, "{name} is declared twice: {path} and {known:?}");
            return Type::Table(name);
        }
        let place = self.declarations.len();
        self.declarations.push((name, Declaration::Begun(path)));
        self.declarations[place].1 = Declaration::Table(path, fields(self));
        Type::Table(name)
    }

    /// Declares an enumeration of octets, whose values count from 0.
    ///
    /// # Panics
    /// Panics if another type has that name.
    pub fn enumeration(&mut self, name: &'static str, symbols: &[&'static str]) -> Type {
        let declaration = Declaration::Enum(symbols.to_vec());
        match self.declarations.iter().find(|(known, _)| *known == name) {
            Some((_, known)) => assert!(*known == declaration, "{name} is declared twice"),
            None => self.declarations.push((name, declaration)),
        }
        Type::Enum(name)
    }

    /// The text of the `.fbs` file: enumerations, then tables, in the order of declaration.
    #[must_use]
    pub fn text(&self, header: Header<'_>) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.print(header, &mut out);
        out
    }

    fn print(&self, header: Header<'_>, out: &mut String) -> fmt::Result {
        for line in header.comment {
            writeln!(out, "// {line}")?;
        }
        writeln!(out, "\nnamespace {};", header.namespace)?;
        // flatc assumes that a name declared later is that of a table.
        for (name, declaration) in &self.declarations {
            let Declaration::Enum(symbols) = declaration else { continue };
            writeln!(out, "\nenum {name}: ubyte {{")?;
            for (value, symbol) in symbols.iter().enumerate() {
                writeln!(out, "  {symbol} = {value},")?;
            }
            writeln!(out, "}}")?;
        }
        for (name, declaration) in &self.declarations {
            let Declaration::Table(_, fields) = declaration else { continue };
            writeln!(out, "\ntable {name} {{")?;
            for (slot, field) in fields.iter().enumerate() {
                writeln!(out, "  {}", FieldLine { slot, field })?;
            }
            writeln!(out, "}}")?;
        }
        writeln!(out, "\nroot_type {};", header.root)?;
        if let Some(identifier) = header.identifier {
            writeln!(out, "file_identifier \"{identifier}\";")?;
        }
        Ok(())
    }
}

struct FieldLine<'f> {
    slot: usize,
    field: &'f Field,
}

impl fmt::Display for FieldLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Field { name, ty, mandatory } = self.field;
        let slot = self.slot;
        match (ty, mandatory) {
            // a writer does not omit such a scalar if it is zero
            (Type::Scalar(_) | Type::Enum(_), true) => write!(f, "{name}: {ty} = null (id: {slot}); // mandatory"),
            (Type::Scalar(_) | Type::Enum(_), false) => write!(f, "{name}: {ty} = null (id: {slot});"),
            (_, true) => write!(f, "{name}: {ty} (id: {slot}, required);"),
            (_, false) => write!(f, "{name}: {ty} (id: {slot});"),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(name) | Type::Enum(name) | Type::Table(name) => f.write_str(name),
            Type::String => f.write_str("string"),
            Type::Vector(item) => write!(f, "[{item}]"),
        }
    }
}
