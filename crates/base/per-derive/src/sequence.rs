//! SEQUENCE (X.691 19).

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, FieldsNamed, GenericArgument, PathArguments, Type};

use crate::attributes::{self, Attributes};
use crate::{Impl, count, plain};

struct Component<'a> {
    ident: &'a Ident,
    /// The type on the wire: without the `Option`, if it is one.
    ty: Type,
    is_option: bool,
    own: Attributes,
    at: String,
    /// Whether its codec is inlined into that of the sequence.
    inlined: bool,
    /// The names of the local variables for the component and its presence. They contain its name, so that the name of a field
    /// cannot shadow another variable.
    present: Ident,
    local: Ident,
}

impl Component<'_> {
    /// Whether the preamble has a presence bit for the component.
    fn has_bit(&self) -> bool {
        self.own.default.is_some() || self.is_option && !self.own.mandatory
    }

    fn before(&self) -> TokenStream {
        let ident = self.ident;
        if self.is_option { quote!(before.and_then(|b| b.#ident.as_ref())) } else { quote!(before.map(|b| &b.#ident)) }
    }

    fn read(&self) -> syn::Result<TokenStream> {
        self.own.read_or_return(&self.ty, &self.before(), &self.at, self.inlined)
    }

    /// Reads the component if `present` is true.
    fn read_if(&self, present: &TokenStream) -> syn::Result<TokenStream> {
        let read = self.read()?;
        Ok(match &self.own.default {
            Some(default) => quote!(if #present { #read } else { #default }),
            None => quote!(if #present { Some(#read) } else { None }),
        })
    }

    /// Whether a value of this component is present.
    fn is_there(&self) -> TokenStream {
        let ident = self.ident;
        match &self.own.default {
            Some(default) => quote!((self.#ident != #default)),
            None => quote!(self.#ident.is_some()),
        }
    }

    fn write(&self) -> syn::Result<TokenStream> {
        let ident = self.ident;
        let write = self.own.write_or_return(&quote!(value), &self.at, self.inlined)?;
        Ok(if self.is_option {
            quote!(if let Some(value) = &self.#ident { #write })
        } else if self.own.default.is_some() {
            let there = self.is_there();
            quote!(if #there { let value = &self.#ident; #write })
        } else {
            quote!({ let value = &self.#ident; #write })
        })
    }

    fn hint(&self) -> TokenStream {
        let ident = self.ident;
        let hint = self.own.hint(&quote!(value));
        if self.is_option {
            quote!(match &self.#ident {
                Some(value) => { let _ = value; #hint }
                None => 0,
            })
        } else {
            quote!({ let value = &self.#ident; let _ = value; #hint })
        }
    }
}

pub fn expand(input: &DeriveInput, attributes: &Attributes, fields: &FieldsNamed) -> syn::Result<TokenStream> {
    let out = Impl::of(input)?;
    let name = plain(out.name);
    let revision = quote!(revision);

    let mut root = Vec::new();
    let mut additions: Vec<Vec<Component<'_>>> = Vec::new();
    for field in &fields.named {
        let Some(ident) = &field.ident else { continue };
        let own = attributes::of(&field.attrs)?;
        let (inner, is_option) = match option(&field.ty) {
            Some(inner) => (inner, true),
            None => (&field.ty, false),
        };
        let absent = own.since.is_some() || own.until.is_some() || own.addition;
        if absent && !is_option && own.default.is_none() {
            return Err(syn::Error::new_spanned(field, "a component that can be absent from the wire is an Option"));
        }
        if is_option && own.default.is_some() {
            return Err(syn::Error::new_spanned(field, "a component with a default is always there: no Option"));
        }
        let component = Component {
            ident,
            ty: Impl::rename(input, inner),
            is_option,
            at: format!("{name}.{}", plain(ident)),
            inlined: out.inlined,
            present: format_ident!("has_{}", plain(ident)),
            local: format_ident!("field_{}", plain(ident)),
            own,
        };
        if !component.own.addition {
            root.push(component);
            continue;
        }
        match (additions.last_mut(), component.own.group) {
            (Some(group), Some(number)) if group[0].own.group == Some(number) => {
                if (component.own.since, component.own.until) != (group[0].own.since, group[0].own.until) {
                    return Err(syn::Error::new_spanned(field, "a group is in a revision as a whole"));
                }
                group.push(component);
            }
            _ => additions.push(vec![component]),
        }
    }
    if !additions.is_empty() && !attributes.extensible {
        return Err(syn::Error::new_spanned(&input.ident, "additions need #[per(extensible)] on the type"));
    }
    if additions.len() > 64 {
        return Err(syn::Error::new_spanned(&input.ident, "more than 64 additions"));
    }

    let decode = decode(&out, attributes, &root, &additions, &revision)?;
    let encode = encode(&out, attributes, &root, &additions, &revision)?;
    let all = || root.iter().chain(additions.iter().flatten());
    let ident = out.name;
    let owned = all().map(|c| {
        let field = c.ident;
        quote!(#field: ::per::IntoOwned::into_owned(self.#field))
    });
    let into_owned = if out.borrows { out.owning(&quote!(#ident { #(#owned),* })) } else { out.owning(&quote!(self)) };
    let fields = all().map(|c| {
        let (field, label) = (c.ident, plain(c.ident));
        if c.is_option {
            quote!(if let Some(value) = &self.#field { visitor.field(#label); ::per::Describe::describe(value, visitor); })
        } else {
            quote!(visitor.field(#label); ::per::Describe::describe(&self.#field, visitor);)
        }
    });
    let describe = out.describe(&quote!(visitor.begin_record(); #(#fields)* visitor.end_record();));
    Ok(quote!(#decode #encode #into_owned #describe))
}

fn decode(
    out: &Impl<'_>,
    attributes: &Attributes,
    root: &[Component<'_>],
    additions: &[Vec<Component<'_>>],
    revision: &TokenStream,
) -> syn::Result<TokenStream> {
    let extension_bit = attributes.extensible.then(|| quote!(let extended = reader.bit()?;));
    let with_bit: Vec<_> = root.iter().filter(|c| c.has_bit()).collect();
    let preamble = if !one_preamble(root, &with_bit, revision) {
        // one bit for each component that this revision has
        let bits = with_bit.iter().map(|c| {
            let present = &c.present;
            match c.own.gate(revision) {
                Some(gate) => quote!(let #present = #gate && reader.bit()?;),
                None => quote!(let #present = reader.bit()?;),
            }
        });
        quote!(#(#bits)*)
    } else if with_bit.is_empty() {
        quote!()
    } else {
        let count = with_bit.len() as u32;
        let bits = with_bit.iter().enumerate().map(|(i, c)| {
            let (present, shift) = (&c.present, count - 1 - i as u32);
            quote!(let #present = preamble >> #shift & 1 == 1;)
        });
        quote!(let preamble = reader.bits(#count)?; #(#bits)*)
    };
    let mut reads = Vec::new();
    for c in root {
        let (local, present) = (&c.local, &c.present);
        let value = match (c.has_bit(), c.own.gate(revision)) {
            (true, _) => c.read_if(&quote!(#present))?,
            (false, Some(gate)) => c.read_if(&gate)?,
            (false, None) if c.is_option => {
                let read = c.read()?;
                quote!(Some(#read))
            }
            (false, None) => c.read()?,
        };
        reads.push(quote!(let #local = #value;));
    }
    let mut more = Vec::new();
    for group in additions {
        more.push(decode_addition(group, revision)?);
    }
    let extension = attributes.extensible.then(|| {
        let locals = additions.iter().flatten().map(|c| &c.local);
        let absent = additions.iter().flatten().map(|c| match &c.own.default {
            Some(default) => quote!(#default),
            None => quote!(None),
        });
        quote! {
            #(let mut #locals = #absent;)*
            if extended {
                let mut additions = reader.additions()?;
                #(#more)*
                reader.skip_additions(additions)?;
            }
        }
    });
    let fields = root.iter().chain(additions.iter().flatten()).map(|c| {
        let (ident, local) = (c.ident, &c.local);
        quote!(#ident: #local)
    });
    Ok(out.decode(&quote! {
        let _ = before;
        let revision = reader.revision();
        let _ = revision;
        #extension_bit
        #preamble
        #(#reads)*
        #extension
        Ok(Self { #(#fields),* })
    }))
}

/// Whether the preamble has the same bits in every revision, so that it can be read and written as one number.
fn one_preamble(root: &[Component<'_>], with_bit: &[&Component<'_>], revision: &TokenStream) -> bool {
    with_bit.len() <= 64 && root.iter().all(|c| c.own.gate(revision).is_none())
}

fn decode_addition(group: &[Component<'_>], revision: &TokenStream) -> syn::Result<TokenStream> {
    let first = &group[0];
    let gate = first.own.gate(revision).map(|gate| quote!(#gate &&));
    if first.own.group.is_none() {
        let (local, read) = (&first.local, first.read()?);
        let value = if first.own.default.is_some() { quote!(value) } else { quote!(Some(value)) };
        return Ok(quote! {
            if #gate additions.take() {
                let value = reader.open_type(|reader| Ok(#read))?;
                #local = #value;
            }
        });
    }
    let presents = group.iter().filter(|c| c.has_bit()).map(|c| &c.present);
    let locals: Vec<_> = group.iter().map(|c| &c.local).collect();
    let mut reads = Vec::new();
    for c in group {
        let (local, present) = (&c.local, &c.present);
        let value = if c.has_bit() {
            c.read_if(&quote!(#present))?
        } else {
            let read = c.read()?;
            quote!(Some(#read))
        };
        reads.push(quote!(let #local = #value;));
    }
    Ok(quote! {
        if #gate additions.take() {
            (#(#locals,)*) = reader.open_type(|reader| {
                #(let #presents = reader.bit()?;)*
                #(#reads)*
                Ok((#(#locals,)*))
            })?;
        }
    })
}

fn encode(
    out: &Impl<'_>,
    attributes: &Attributes,
    root: &[Component<'_>],
    additions: &[Vec<Component<'_>>],
    revision: &TokenStream,
) -> syn::Result<TokenStream> {
    let gates: Vec<_> = additions.iter().map(|group| group[0].own.gate(revision)).collect();
    let marks = additions.iter().zip(&gates).map(|(group, gate)| {
        let there = group.iter().map(Component::is_there);
        let mark = quote!(additions = additions << 1 | u64::from(#(#there)||*););
        gate.as_ref().map_or(mark.clone(), |gate| quote!(if #gate { #mark }))
    });
    let count = count(&gates, &quote!(u32));
    let extension_bit = if additions.is_empty() {
        attributes.extensible.then(|| quote!(writer.bit(false);))
    } else {
        Some(quote! {
            let mut additions = 0u64;
            #(#marks)*
            writer.bit(additions != 0);
        })
    };
    let checks = root.iter().chain(additions.iter().flatten()).filter_map(|c| {
        let (ident, at, there) = (c.ident, &c.at, c.is_there());
        let gate = c.own.gate(revision);
        let missing = (c.is_option && c.own.mandatory && !c.own.addition).then(|| {
            let gate = gate.clone().unwrap_or(quote!(true));
            quote!(if #gate && self.#ident.is_none() { return Err(writer.error(::per::ErrorKind::Missing).within(#at)); })
        });
        let foreign = gate.map(|gate| {
            quote!(if !(#gate) && #there { return Err(writer.error(::per::ErrorKind::NotInRevision).within(#at)); })
        });
        (missing.is_some() || foreign.is_some()).then(|| quote!(#missing #foreign))
    });
    let with_bit: Vec<_> = root.iter().filter(|c| c.has_bit()).collect();
    let preamble = if with_bit.is_empty() {
        quote!()
    } else if one_preamble(root, &with_bit, revision) {
        let count = with_bit.len() as u32;
        let bits = with_bit.iter().enumerate().map(|(i, c)| {
            let (there, shift) = (c.is_there(), count - 1 - i as u32);
            quote!(u64::from(#there) << #shift)
        });
        quote!(writer.bits(#(#bits)|*, #count);)
    } else {
        let bits = with_bit.iter().map(|c| {
            let there = c.is_there();
            match c.own.gate(revision) {
                Some(gate) => quote!(if #gate { writer.bit(#there); }),
                None => quote!(writer.bit(#there);),
            }
        });
        quote!(#(#bits)*)
    };
    let writes = root.iter().map(Component::write).collect::<syn::Result<Vec<_>>>()?;
    let mut more = Vec::new();
    for group in additions {
        let first = &group[0];
        let there = group.iter().map(Component::is_there);
        let hints = group.iter().map(Component::hint);
        let writes = group.iter().map(Component::write).collect::<syn::Result<Vec<_>>>()?;
        let missing = group.iter().filter(|c| first.own.group.is_some() && !c.has_bit()).map(|c| {
            let (ident, at) = (c.ident, &c.at);
            quote!(if self.#ident.is_none() { return Err(writer.error(::per::ErrorKind::Missing).within(#at)); })
        });
        let bits = group.iter().filter(|c| first.own.group.is_some() && c.has_bit()).map(|c| {
            let there = c.is_there();
            quote!(writer.bit(#there);)
        });
        more.push(quote! {
            if #(#there)||* {
                writer.open_type(0 #(+ #hints)*, |writer| {
                    #(#missing)*
                    #(#bits)*
                    #(#writes)*
                    Ok(())
                })?;
            }
        });
    }
    let extension =
        (!additions.is_empty()).then(|| quote!(if additions != 0 { writer.additions(additions, #count); #(#more)* }));
    let hints = root.iter().chain(additions.iter().flatten()).map(Component::hint);
    Ok(out.encode(
        &quote! {
            let revision = writer.revision();
            let _ = revision;
            #(#checks)*
            #extension_bit
            #preamble
            #(#writes)*
            #extension
            Ok(())
        },
        &quote!(0 #(+ #hints)*),
    ))
}

/// The type inside an `Option<…>`.
pub fn option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Option" {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}
