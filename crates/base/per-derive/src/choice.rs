//! CHOICE (X.691 23).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, Type};

use crate::attributes::{self, Attributes};
use crate::{Impl, count, pick, plain};

struct Alternative<'a> {
    ident: &'a syn::Ident,
    ty: Option<Type>,
    own: Attributes,
    /// Whether its codec is inlined into that of the choice.
    inlined: bool,
}

impl Alternative<'_> {
    /// Reads the payload and wraps it.
    fn read(&self, choice: &syn::Ident) -> syn::Result<TokenStream> {
        let ident = self.ident;
        let Some(ty) = &self.ty else {
            return Ok(quote!(Ok(#choice::#ident)));
        };
        let at = format!("{}.{}", plain(choice), plain(ident));
        let value = self.own.read_or_return(ty, &quote!(None), &at, self.inlined)?;
        Ok(quote!(Ok(#choice::#ident(#value))))
    }

    fn pattern(&self) -> TokenStream {
        let ident = self.ident;
        if self.ty.is_some() { quote!(Self::#ident(value)) } else { quote!(Self::#ident) }
    }

    fn write(&self, name: &str) -> syn::Result<TokenStream> {
        if self.ty.is_none() {
            return Ok(quote!(Ok(())));
        }
        let at = format!("{name}.{}", plain(self.ident));
        let write = self.own.write_or_return(&quote!(value), &at, self.inlined)?;
        Ok(quote!({ #write Ok(()) }))
    }
}

pub fn expand(input: &DeriveInput, attributes: &Attributes, data: &DataEnum) -> syn::Result<TokenStream> {
    let out = Impl::of(input)?;
    let name = plain(out.name);
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
        let alternative = Alternative { ident: &variant.ident, ty, own, inlined: out.inlined };
        if alternative.own.addition { additions.push(alternative) } else { root.push(alternative) }
    }
    attributes.check_variants(&input.ident, root.len(), additions.len())?;

    let gates = |all: &[Alternative<'_>]| all.iter().map(|a| a.own.gate(&revision)).collect::<Vec<_>>();
    let (root_gates, addition_gates) = (gates(&root), gates(&additions));
    let root_count = count(&root_gates, &quote!(i64));
    let reads = root.iter().map(|a| a.read(out.name)).collect::<syn::Result<Vec<_>>>()?;
    let root_pick = pick(&root_gates, &reads);
    let reads = additions.iter().map(|a| {
        let read = a.read(out.name)?;
        Ok(quote!(reader.open_type(|reader| { let _ = &reader; #read })))
    });
    let addition_pick = pick(&addition_gates, &reads.collect::<syn::Result<Vec<_>>>()?);
    let decoded = &out.decoded;
    let decode_extension = attributes.extensible.then(|| {
        quote! {
            // rare, so it is not inlined
            #[cold]
            fn addition<'per, S: ::per::Store<'per>>(
                reader: &mut ::per::Reader<'per, S>,
            ) -> ::core::result::Result<#decoded, ::per::Error> {
                let revision = reader.revision();
                let _ = revision;
                let at = reader.position();
                let index = reader.normally_small()?;
                #addition_pick
                Err(::per::Error { kind: ::per::ErrorKind::UnknownExtension, bit: at, at: #name })
            }
            if reader.bit()? {
                return addition(reader);
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
    // one piece of code writes the index of all alternatives of the root
    let (mut index_arms, mut root_arms) = (Vec::new(), Vec::new());
    for (i, alternative) in root.iter().enumerate() {
        let (pattern, write) = (alternative.pattern(), alternative.write(&name)?);
        let (index, check) = (count(&root_gates[..i], &quote!(i64)), check(&root_gates[i]));
        index_arms.push(quote!(#[allow(unused_variables)] #pattern => { #check #index }));
        root_arms.push(quote!(#pattern => #write,));
    }
    let mark = attributes.extensible.then(|| quote!(writer.bit(false);));
    for (i, alternative) in additions.iter().enumerate() {
        let (pattern, write) = (alternative.pattern(), alternative.write(&name)?);
        let (index, check) = (count(&addition_gates[..i], &quote!(u32)), check(&addition_gates[i]));
        let hint = alternative.ty.as_ref().map_or(quote!(0), |_| alternative.own.hint(&quote!(value)));
        index_arms.push(quote! {
            #pattern => {
                #check
                writer.bit(true);
                writer.normally_small(#index);
                return writer.open_type(#hint, |writer| { let _ = &writer; #write });
            }
        });
    }
    let written_above = (!additions.is_empty()).then(|| quote!(_ => Ok(()),));
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
            let index: i64 = match self { #(#index_arms)* };
            #mark
            if let Err(error) = writer.constrained(index, 0, #root_count - 1) {
                return Err(error);
            }
            match self { #(#root_arms)* #written_above }
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
    let into_owned =
        if out.borrows { out.owning(&quote!(match self { #(#owned_arms)* })) } else { out.owning(&quote!(self)) };
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
