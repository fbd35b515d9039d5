//! ENUMERATED (X.691 14).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput};

use crate::attributes::{self, Attributes};
use crate::{Impl, count, pick, plain};

pub fn expand(input: &DeriveInput, attributes: &Attributes, data: &DataEnum) -> syn::Result<TokenStream> {
    let out = Impl::of(input)?;
    let name = plain(out.name);
    let revision = quote!(revision);

    let (mut root, mut root_gates) = (Vec::new(), Vec::new());
    let (mut additions, mut addition_gates) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        let own = attributes::of(&variant.attrs)?;
        let (idents, gates) =
            if own.addition { (&mut additions, &mut addition_gates) } else { (&mut root, &mut root_gates) };
        idents.push(&variant.ident);
        gates.push(own.gate(&revision));
    }
    attributes.check_variants(&input.ident, root.len(), additions.len())?;

    let values = |idents: &[&syn::Ident]| idents.iter().map(|i| quote!(Ok(Self::#i))).collect::<Vec<_>>();
    let root_count = count(&root_gates, &quote!(i64));
    let root_pick = pick(&root_gates, &values(&root));
    let addition_pick = pick(&addition_gates, &values(&additions));
    let decode_extension = attributes.extensible.then(|| {
        quote! {
            if reader.bit()? {
                let at = reader.position();
                let index = reader.normally_small()?;
                #addition_pick
                return Err(::per::Error { kind: ::per::ErrorKind::UnknownExtension, bit: at, at: #name });
            }
        }
    });
    let decode = out.decode(&quote! {
        let _ = before;
        let revision = reader.revision();
        let _ = revision;
        #decode_extension
        let at = reader.position();
        let index = match reader.constrained(0, #root_count - 1) {
            Ok(index) => index,
            Err(error) => return Err(error.within(#name)),
        };
        #root_pick
        Err(::per::Error { kind: ::per::ErrorKind::UnknownIndex, bit: at, at: #name })
    });

    let check = |gate: &Option<TokenStream>| {
        gate.as_ref().map(
            |gate| quote!(if !(#gate) { return Err(writer.error(::per::ErrorKind::NotInRevision).within(#name)); }),
        )
    };
    let mut arms = Vec::new();
    for (i, ident) in root.iter().enumerate() {
        let (index, check) = (count(&root_gates[..i], &quote!(i64)), check(&root_gates[i]));
        arms.push(quote!(Self::#ident => { #check #index }));
    }
    for (i, ident) in additions.iter().enumerate() {
        let (index, check) = (count(&addition_gates[..i], &quote!(u32)), check(&addition_gates[i]));
        arms.push(quote!(Self::#ident => { #check writer.bit(true); writer.normally_small(#index); return Ok(()); }));
    }
    let mark = attributes.extensible.then(|| quote!(writer.bit(false);));
    let encode = out.encode(
        &quote! {
            let revision = writer.revision();
            let _ = revision;
            let index: i64 = match self { #(#arms)* };
            #mark
            writer.constrained(index, 0, #root_count - 1)
        },
        &quote!(0),
    );

    let into_owned = out.owning(&quote!(self));
    let symbols = data.variants.iter().map(|variant| {
        let ident = &variant.ident;
        let symbol = plain(ident);
        quote!(Self::#ident => #symbol,)
    });
    let describe = out.describe(&quote!(visitor.symbol(match self { #(#symbols)* });));
    Ok(quote!(#decode #encode #into_owned #describe))
}
