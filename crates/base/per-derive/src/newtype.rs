//! Newtypes: a named type with a constraint.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, FieldsUnnamed};

use crate::attributes::Attributes;
use crate::{Impl, plain};

pub fn expand(input: &DeriveInput, attributes: &Attributes, fields: &FieldsUnnamed) -> syn::Result<TokenStream> {
    let out = Impl::of(input)?;
    let ty = Impl::rename(input, &fields.unnamed[0].ty);
    let name = plain(out.name);
    let read = attributes.read(&ty, &quote!(before))?;
    let write = attributes.write(&quote!(&self.0))?;
    let hint = attributes.hint(&quote!(&self.0));
    let decode = out.decode(&quote! {
        let before = before.map(|b| &b.0);
        let _ = before;
        match #read {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(error.within(#name)),
        }
    });
    let encode = out.encode(&quote!(match #write { Ok(()) => Ok(()), Err(error) => Err(error.within(#name)) }), &hint);
    let into_owned = out.owning(&{
        let ident = out.name;
        if out.borrows { quote!(#ident(::per::IntoOwned::into_owned(self.0))) } else { quote!(self) }
    });
    let describe = out.describe(&quote!(::per::Describe::describe(&self.0, visitor);));
    Ok(quote!(#decode #encode #into_owned #describe))
}
