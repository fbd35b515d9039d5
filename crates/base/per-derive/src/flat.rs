//! The FlatBuffers codec: see the module `flat` of crate `per`.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{Data, DataEnum, DeriveInput, Fields, FieldsNamed, Type};

use crate::attributes::{self, Attributes};
use crate::sequence::option;
use crate::{Impl, is_choice, plain};

/// The impls of `per::flat`'s `Type`, `Decode` and `Encode`.
pub fn expand(input: &DeriveInput, attributes: &Attributes) -> syn::Result<TokenStream> {
    let out = Impl::of(input)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => sequence(input, &out, fields),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                newtype(&out, attributes, &Impl::rename(input, &fields.unnamed[0].ty))
            }
            Fields::Unit => Ok(unit(&out)),
            Fields::Unnamed(_) => {
                Err(syn::Error::new_spanned(&input.ident, "a sequence has named fields, a newtype one unnamed field"))
            }
        },
        Data::Enum(data) if is_choice(attributes, data) => choice(input, &out, attributes, data),
        Data::Enum(data) => enumerated(&out, attributes, data),
        Data::Union(_) => Err(syn::Error::new_spanned(&input.ident, "ASN.1 has no unions")),
    }
}

fn sequence(input: &DeriveInput, out: &Impl<'_>, fields: &FieldsNamed) -> syn::Result<TokenStream> {
    let name = plain(out.name);
    let (mut members, mut reads, mut widths, mut writes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (slot, field) in fields.named.iter().enumerate() {
        let Some(ident) = &field.ident else { continue };
        let own = attributes::of(&field.attrs)?;
        let (inner, is_option) = option(&field.ty).map_or((&field.ty, false), |inner| (inner, true));
        let ty = Impl::rename(input, inner);
        let slot = Literal::usize_unsuffixed(slot);
        let (label, at) = (plain(ident), format!("{name}.{}", plain(ident)));
        let mandatory = !is_option && own.default.is_none();
        members.push(quote!((#label, #mandatory, <#ty as ::per::flat::Type>::declare)));

        let read = own.flat_read_or_return(&ty, &at, out.inlined)?;
        let (there, absent) = match (&own.default, is_option) {
            (Some(default), _) => (read, quote!(#default)),
            (None, true) => (quote!(Some(#read)), quote!(None)),
            (None, false) => (read, quote!(return Err(reader.missing(&table, #at)))),
        };
        reads.push(quote!(#ident: match table.place(#slot) { Some(place) => #there, None => #absent }));

        let width = quote!(<#ty as ::per::flat::Type>::WIDTH);
        let write = own.flat_write_or_return(&quote!(value), &at, out.inlined)?;
        let write = quote!({ let place = table.place(#slot); #write });
        match (&own.default, is_option) {
            (Some(default), _) => {
                widths.push(quote!(if self.#ident != #default { #width } else { 0 }));
                writes.push(quote!(if self.#ident != #default { let value = &self.#ident; #write }));
            }
            (None, true) => {
                widths.push(quote!(if self.#ident.is_some() { #width } else { 0 }));
                writes.push(quote!(if let Some(value) = &self.#ident { #write }));
            }
            (None, false) => {
                widths.push(width);
                writes.push(quote!({ let value = &self.#ident; #write }));
            }
        }
    }
    let declare = quote!(::per::flat::sequence(schema, #name, ::core::any::type_name::<Self>(), &[#(#members),*]));
    let read = quote! {
        let table = reader.table(place)?;
        let value = Self { #(#reads),* };
        reader.leave(&table);
        Ok(value)
    };
    let write = quote! {
        let table = writer.table(place, [#(#widths),*]);
        let _ = &table;
        #(#writes)*
        Ok(())
    };
    Ok(impls(out, &quote!(4), &quote!(::per::flat::Kind::Table), &declare, &read, &write))
}

fn newtype(out: &Impl<'_>, attributes: &Attributes, ty: &Type) -> syn::Result<TokenStream> {
    let name = plain(out.name);
    let item = format!("{name}Item");
    let read = attributes.flat_read(ty)?;
    let write = attributes.flat_write(&quote!((&self.0)))?;
    Ok(impls(
        out,
        &quote!(<#ty as ::per::flat::Type>::WIDTH),
        &quote!(::per::flat::item(<#ty as ::per::flat::Type>::KIND, #item)),
        &quote!(<#ty as ::per::flat::Type>::declare(schema)),
        &quote!(match #read { Ok(value) => Ok(Self(value)), Err(error) => Err(error.within(#name)) }),
        &quote!(match #write { Ok(()) => Ok(()), Err(error) => Err(error.within(#name)) }),
    ))
}

/// A type with a single value: only its presence carries information.
fn unit(out: &Impl<'_>) -> TokenStream {
    impls(
        out,
        &quote!(1),
        &quote!(::per::flat::Kind::Scalar),
        &quote!(<bool as ::per::flat::Type>::declare(schema)),
        &quote!(reader.null(place)?; Ok(Self)),
        &quote!(writer.scalar(place, [1]); Ok(())),
    )
}

fn choice(input: &DeriveInput, out: &Impl<'_>, attributes: &Attributes, data: &DataEnum) -> syn::Result<TokenStream> {
    let name = plain(out.name);
    let extensible = attributes.extensible;
    let (mut members, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for (slot, variant) in data.variants.iter().enumerate() {
        let own = attributes::of(&variant.attrs)?;
        let ident = &variant.ident;
        let (index, slot) = (Literal::usize_unsuffixed(slot), Literal::usize_unsuffixed(slot));
        let label = snake(&plain(ident));
        let at = format!("{name}.{}", plain(ident));
        let Some(field) = variant.fields.iter().next() else {
            members.push(quote!((#label, false, <bool as ::per::flat::Type>::declare)));
            reads.push(quote!(#index => { reader.null(place)?; Self::#ident }));
            writes.push(quote!(Self::#ident => {
                let place = writer.choice(place, #slot, 1);
                writer.scalar(place, [1]);
                Ok(())
            }));
            continue;
        };
        let ty = Impl::rename(input, &field.ty);
        let read = own.flat_read_or_return(&ty, &at, out.inlined)?;
        let write = own.flat_write_or_return(&quote!(value), &at, out.inlined)?;
        members.push(quote!((#label, false, <#ty as ::per::flat::Type>::declare)));
        reads.push(quote!(#index => Self::#ident(#read)));
        writes.push(quote!(Self::#ident(value) => {
            let place = writer.choice(place, #slot, <#ty as ::per::flat::Type>::WIDTH);
            #write
            Ok(())
        }));
    }
    let declare = quote!(::per::flat::sequence(schema, #name, ::core::any::type_name::<Self>(), &[#(#members),*]));
    let read = quote! {
        let table = reader.table(place)?;
        let (slot, place) = reader.only(&table, #name)?;
        let value = match slot {
            #(#reads,)*
            _ => return Err(reader.unknown(place, #extensible, #name)),
        };
        reader.leave(&table);
        Ok(value)
    };
    let write = quote!(match self { #(#writes)* });
    Ok(impls(out, &quote!(4), &quote!(::per::flat::Kind::Table), &declare, &read, &write))
}

fn enumerated(out: &Impl<'_>, attributes: &Attributes, data: &DataEnum) -> syn::Result<TokenStream> {
    if data.variants.len() > 256 {
        return Err(syn::Error::new_spanned(out.name, "more values than an octet has"));
    }
    let name = plain(out.name);
    let extensible = attributes.extensible;
    let idents: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let symbols = idents.iter().map(|ident| plain(ident));
    let values: Vec<_> = (0..idents.len()).map(Literal::usize_unsuffixed).collect();
    let declare = quote!(::per::flat::enumeration(schema, #name, &[#(#symbols),*]));
    let read = quote! {
        Ok(match reader.scalar::<1>(place)? {
            #([#values] => Self::#idents,)*
            _ => return Err(reader.unknown(place, #extensible, #name)),
        })
    };
    let write = quote! {
        writer.scalar(place, [match self { #(Self::#idents => #values,)* }]);
        Ok(())
    };
    Ok(impls(out, &quote!(1), &quote!(::per::flat::Kind::Scalar), &declare, &read, &write))
}

fn impls(
    out: &Impl<'_>,
    width: &TokenStream,
    kind: &TokenStream,
    declare: &TokenStream,
    read: &TokenStream,
    write: &TokenStream,
) -> TokenStream {
    let (decoded, inline) = (&out.decoded, out.inline());
    let lifetime = out.borrows.then(|| quote!(<'per>));
    quote! {
        #[automatically_derived]
        impl #lifetime ::per::flat::Type for #decoded {
            const WIDTH: u8 = #width;
            const KIND: ::per::flat::Kind = #kind;
            #[inline]
            fn declare(schema: &mut ::per::flat::Schema) -> ::per::flat::schema::Type {
                #declare
            }
        }
        #[automatically_derived]
        #[allow(clippy::question_mark)]
        impl<'per, S: ::per::Store<'per>> ::per::flat::Decode<'per, S> for #decoded {
            #inline
            fn read(
                reader: &mut ::per::flat::Reader<'per, S>,
                place: usize,
            ) -> ::core::result::Result<Self, ::per::Error> {
                #read
            }
        }
        #[automatically_derived]
        #[allow(clippy::question_mark)]
        impl #lifetime ::per::flat::Encode for #decoded {
            #inline
            fn write(
                &self,
                writer: &mut ::per::flat::Writer<'_>,
                place: usize,
            ) -> ::core::result::Result<(), ::per::Error> {
                #write
            }
        }
    }
}

impl Attributes {
    /// An expression that reads a `ty` at `place` with the constraint of this field.
    fn flat_read(&self, ty: &Type) -> syn::Result<TokenStream> {
        if let Some((lo, hi)) = self.integer_bounds()? {
            let extensible = self.extensible;
            return Ok(quote!(::per::flat::read_integer::<S, #ty>(reader, place, #lo, #hi, #extensible)));
        }
        if let Some(size) = self.size_tokens()? {
            return Ok(quote!(<#ty as ::per::flat::DecodeSized<'per, S>>::read_sized(reader, place, const { #size })));
        }
        Ok(quote!(<#ty as ::per::flat::Decode<'per, S>>::read(reader, place)))
    }

    /// As [`Attributes::read_or_return`], for the value at `place`.
    fn flat_read_or_return(&self, ty: &Type, at: &str, inlined: bool) -> syn::Result<TokenStream> {
        if inlined {
            let read = self.flat_read(ty)?;
            return Ok(quote!(match #read { Ok(value) => value, Err(error) => return Err(error.within(#at)) }));
        }
        let read = if let Some((lo, hi)) = self.integer_bounds()? {
            let extensible = self.extensible;
            quote!(::per::flat::read_component_integer::<S, #ty>(reader, place, #lo, #hi, #extensible, #at))
        } else if let Some(size) = self.size_tokens()? {
            quote!(::per::flat::read_component_sized::<S, #ty>(reader, place, const { &#size }, #at))
        } else {
            quote!(::per::flat::read_component::<S, #ty>(reader, place, #at))
        };
        Ok(quote!(match #read { Ok(value) => value, Err(error) => return Err(error) }))
    }

    /// As [`Attributes::write_or_return`], at `place`.
    fn flat_write_or_return(&self, value: &TokenStream, at: &str, inlined: bool) -> syn::Result<TokenStream> {
        if inlined {
            let write = self.flat_write(value)?;
            return Ok(quote!(if let Err(error) = #write { return Err(error.within(#at)); }));
        }
        let write = if let Some((lo, hi)) = self.integer_bounds()? {
            let extensible = self.extensible;
            quote!(::per::flat::write_component_integer(writer, place, *#value, #lo, #hi, #extensible, #at))
        } else if let Some(size) = self.size_tokens()? {
            quote!(::per::flat::write_component_sized(#value, writer, place, const { &#size }, #at))
        } else {
            quote!(::per::flat::write_component(#value, writer, place, #at))
        };
        Ok(quote!(if let Err(error) = #write { return Err(error); }))
    }

    /// An expression that writes `value`, a reference, at `place` with the constraint of this field.
    fn flat_write(&self, value: &TokenStream) -> syn::Result<TokenStream> {
        if let Some((lo, hi)) = self.integer_bounds()? {
            let extensible = self.extensible;
            return Ok(quote!(::per::flat::write_integer(writer, place, *#value, #lo, #hi, #extensible)));
        }
        if let Some(size) = self.size_tokens()? {
            return Ok(quote!(::per::flat::EncodeSized::write_sized(#value, writer, place, const { #size })));
        }
        Ok(quote!(::per::flat::Encode::write(#value, writer, place)))
    }
}

/// Converts the name of a type to that of a field: `UeId` to `ue_id`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_uppercase() && before != '_' {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
        before = letter;
    }
    out
}
