//! ENUMERATED (X.691 14).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput};

use crate::attributes::{self, Attributes};
use crate::{Impl, plain};

pub fn expand(input: &DeriveInput, attributes: &Attributes, data: &DataEnum) -> syn::Result<TokenStream> {
    let out = Impl::of(input)?;
    let name = plain(out.name);
    let extensible = attributes.extensible;
    let revision = quote!(revision);

    let mut root = Vec::new();
    let mut additions = Vec::new();
    for variant in &data.variants {
        let own = attributes::of(&variant.attrs)?;
        if own.addition {
            additions.push(&variant.ident);
        } else {
            root.push((&variant.ident, own.gate(&revision)));
        }
    }
    let gated = root.iter().any(|(_, gate)| gate.is_some());

    // A revision that drops a value moves the ones behind it up: indices are counted over what is there.
    let count = root.iter().map(|(_, gate)| gate.as_ref().map_or(quote!(1i64), |g| quote!(i64::from(#g))));
    let root_count = quote!((0 #(+ #count)*));
    let from_index = if gated {
        let steps = root.iter().map(|(ident, gate)| {
            let gate = gate.clone().unwrap_or(quote!(true));
            quote!(if #gate { if index == 0 { return Ok(Self::#ident); } index -= 1; })
        });
        quote!(let mut index = index; #(#steps)*)
    } else {
        let arms = root.iter().enumerate().map(|(i, (ident, _))| {
            let i = i as i64;
            quote!(#i => return Ok(Self::#ident),)
        });
        quote!(match index { #(#arms)* _ => {} })
    };
    let addition_arms = additions.iter().enumerate().map(|(i, ident)| {
        let i = i as u32;
        quote!(#i => Ok(Self::#ident),)
    });
    let decode_extension = extensible.then(|| {
        quote! {
            if reader.bit()? {
                return match reader.normally_small()? {
                    #(#addition_arms)*
                    _ => Err(reader.error(::per::ErrorKind::UnknownExtension).within(#name)),
                };
            }
        }
    });
    let decode = out.decode(&quote! {
        let _ = before;
        #decode_extension
        let revision = reader.revision();
        let _ = revision;
        let last = #root_count - 1;
        let at = reader.position();
        let index = reader.constrained(0, last).map_err(|error| error.within(#name))?;
        #from_index
        let _ = index;
        Err(::per::Error { kind: ::per::ErrorKind::UnknownIndex, bit: at, at: #name })
    });

    let mut before: Vec<TokenStream> = Vec::new();
    let mut encode_arms = Vec::new();
    for (ident, gate) in &root {
        let index = quote!((0i64 #(+ #before)*));
        let check = gate.as_ref().map(
            |gate| quote!(if !(#gate) { return Err(writer.error(::per::ErrorKind::NotInRevision).within(#name)); }),
        );
        let mark = extensible.then(|| quote!(writer.bit(false);));
        encode_arms.push(quote! {
            Self::#ident => { #check #mark writer.constrained(#index, 0, #root_count - 1) }
        });
        before.push(gate.as_ref().map_or(quote!(1), |g| quote!(i64::from(#g))));
    }
    for (i, ident) in additions.iter().enumerate() {
        let i = i as u32;
        encode_arms.push(quote! {
            Self::#ident => { writer.bit(true); writer.normally_small(#i); Ok(()) }
        });
    }
    let encode = out.encode(
        &quote! {
            let revision = writer.revision();
            let _ = revision;
            match self { #(#encode_arms)* }
        },
        &quote!(0),
    );

    let into_owned = out.into_owned(&quote!(self));
    let symbols = data.variants.iter().map(|variant| {
        let ident = &variant.ident;
        let symbol = plain(ident);
        quote!(Self::#ident => #symbol,)
    });
    let describe = out.describe(&quote!(visitor.symbol(match self { #(#symbols)* });));
    Ok(quote!(#decode #encode #into_owned #describe))
}
