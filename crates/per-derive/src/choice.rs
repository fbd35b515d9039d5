//! CHOICE (X.691 23).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, Type};

use crate::attributes::{self, Attributes};
use crate::{Impl, plain};

struct Alternative<'a> {
    ident: &'a syn::Ident,
    ty: Option<Type>,
    own: Attributes,
}

impl Alternative<'_> {
    /// Reads the payload and wraps it.
    fn read(&self, name: &str) -> syn::Result<TokenStream> {
        let ident = self.ident;
        let Some(ty) = &self.ty else {
            return Ok(quote!(Ok(Self::#ident)));
        };
        let read = self.own.read(ty, &quote!(None))?;
        let at = format!("{name}.{}", plain(ident));
        Ok(quote!(match #read { Ok(value) => Ok(Self::#ident(value)), Err(error) => Err(error.within(#at)) }))
    }

    fn pattern(&self) -> TokenStream {
        let ident = self.ident;
        if self.ty.is_some() { quote!(Self::#ident(value)) } else { quote!(Self::#ident) }
    }

    fn write(&self, name: &str) -> syn::Result<TokenStream> {
        if self.ty.is_none() {
            return Ok(quote!(Ok(())));
        }
        let write = self.own.write(&quote!(value))?;
        let at = format!("{name}.{}", plain(self.ident));
        Ok(quote!(#write.map_err(|error| error.within(#at))))
    }
}

pub fn expand(input: &DeriveInput, attributes: &Attributes, data: &DataEnum) -> syn::Result<TokenStream> {
    let out = Impl::of(input)?;
    let name = plain(out.name);
    let extensible = attributes.extensible;
    let revision = quote!(revision);

    let mut root = Vec::new();
    let mut additions = Vec::new();
    for variant in &data.variants {
        let own = attributes::of(&variant.attrs)?;
        let ty = match &variant.fields {
            Fields::Unit => None,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(Impl::rename(input, &fields.unnamed[0].ty)),
            _ => {
                return Err(syn::Error::new_spanned(
                    variant,
                    "an alternative has one unnamed payload, or none for NULL",
                ));
            }
        };
        let alternative = Alternative { ident: &variant.ident, ty, own };
        if alternative.own.addition { additions.push(alternative) } else { root.push(alternative) }
    }

    let gates: Vec<_> = root.iter().map(|a| a.own.gate(&revision)).collect();
    let gated = gates.iter().any(Option::is_some);
    let ones: Vec<_> = gates.iter().map(|g| g.as_ref().map_or(quote!(1i64), |g| quote!(i64::from(#g)))).collect();
    let root_count = quote!((0i64 #(+ #ones)*));

    let reads = root.iter().map(|a| a.read(&name)).collect::<syn::Result<Vec<_>>>()?;
    let pick = if gated {
        let steps = reads.iter().zip(&gates).map(|(read, gate)| {
            let gate = gate.clone().unwrap_or(quote!(true));
            quote!(if #gate { if index == 0 { return #read; } index -= 1; })
        });
        quote!(let mut index = index; #(#steps)* let _ = index;)
    } else {
        let arms = reads.iter().enumerate().map(|(i, read)| {
            let i = i as i64;
            quote!(#i => return #read,)
        });
        quote!(match index { #(#arms)* _ => {} })
    };
    let addition_arms = additions
        .iter()
        .enumerate()
        .map(|(i, a)| {
            let (i, read) = (i as u32, a.read(&name)?);
            Ok(quote!(#i => reader.open_type(|reader| { let _ = &reader; #read }),))
        })
        .collect::<syn::Result<Vec<_>>>()?;
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
        let at = reader.position();
        let index = reader.constrained(0, #root_count - 1).map_err(|error| error.within(#name))?;
        #pick
        Err(::per::Error { kind: ::per::ErrorKind::UnknownIndex, bit: at, at: #name })
    });

    let mut encode_arms = Vec::new();
    for (i, alternative) in root.iter().enumerate() {
        let (pattern, write) = (alternative.pattern(), alternative.write(&name)?);
        let before = &ones[..i];
        let check = gates[i].as_ref().map(
            |gate| quote!(if !(#gate) { return Err(writer.error(::per::ErrorKind::NotInRevision).within(#name)); }),
        );
        let mark = extensible.then(|| quote!(writer.bit(false);));
        encode_arms.push(quote! {
            #pattern => { #check #mark writer.constrained(0i64 #(+ #before)*, 0, #root_count - 1)?; #write }
        });
    }
    for (i, alternative) in additions.iter().enumerate() {
        let (i, pattern, write) = (i as u32, alternative.pattern(), alternative.write(&name)?);
        let hint = alternative.ty.as_ref().map_or(quote!(0), |_| alternative.own.hint(&quote!(value)));
        encode_arms.push(quote! {
            #pattern => { writer.bit(true); writer.normally_small(#i); writer.open_type(#hint, |writer| { let _ = &writer; #write }) }
        });
    }
    let all = || root.iter().chain(&additions);
    let hints = all().map(|a| {
        let pattern = a.pattern();
        let hint = a.ty.as_ref().map_or(quote!(0), |_| a.own.hint(&quote!(value)));
        quote!(#[allow(unused_variables)] #pattern => #hint,)
    });
    let encode = out.encode(
        &quote! {
            let revision = writer.revision();
            let _ = revision;
            match self { #(#encode_arms)* }
        },
        &quote!(match self { #(#hints)* }),
    );

    let ident = out.name;
    let owned_arms = all().map(|a| {
        let (pattern, variant) = (a.pattern(), a.ident);
        match a.ty {
            Some(_) => quote!(#pattern => #ident::#variant(::per::IntoOwned::into_owned(value)),),
            None => quote!(#pattern => #ident::#variant,),
        }
    });
    let into_owned = out.into_owned(&quote!(match self { #(#owned_arms)* }));
    let describe_arms = all().map(|a| {
        let (pattern, field) = (a.pattern(), plain(a.ident));
        let value =
            if a.ty.is_some() { quote!(::per::Describe::describe(value, visitor)) } else { quote!(visitor.null()) };
        quote!(#pattern => { visitor.field(#field); #value; })
    });
    let describe = out.describe(&quote! {
        visitor.begin_record();
        match self { #(#describe_arms)* }
        visitor.end_record();
    });
    Ok(quote!(#decode #encode #into_owned #describe))
}
