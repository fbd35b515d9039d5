//! Reading `#[per(…)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, ExprRange, LitInt, RangeLimits, Type};

/// The options of `#[per(…)]`. The derive macros document where each is allowed.
#[derive(Default)]
pub struct Attributes {
    pub extensible: bool,
    pub choice: bool,
    pub hot: bool,
    pub fast: bool,
    pub addition: bool,
    pub mandatory: bool,
    pub group: Option<u32>,
    pub since: Option<u8>,
    pub until: Option<u8>,
    pub range: Option<ExprRange>,
    pub size: Option<ExprRange>,
    pub default: Option<Expr>,
    pub shortcut: Option<syn::Path>,
    pub list_shortcut: Option<syn::Path>,
}

pub fn of(attributes: &[Attribute]) -> syn::Result<Attributes> {
    let mut out = Attributes::default();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("per")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match name.as_str() {
                "extensible" => out.extensible = true,
                "choice" => out.choice = true,
                "hot" => out.hot = true,
                "fast" => out.fast = true,
                "addition" => out.addition = true,
                "mandatory" => out.mandatory = true,
                "group" => {
                    out.group = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
                    out.addition = true;
                }
                "since" => out.since = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?),
                "until" => out.until = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?),
                "range" => out.range = Some(meta.value()?.parse()?),
                "size" => out.size = Some(meta.value()?.parse()?),
                "default" => out.default = Some(meta.value()?.parse()?),
                "shortcut" => out.shortcut = Some(meta.value()?.parse()?),
                "list_shortcut" => out.list_shortcut = Some(meta.value()?.parse()?),
                _ => {
                    return Err(meta.error(
                        "known are extensible, choice, hot, fast, addition, mandatory, group, since, until, range, size, default, shortcut, list_shortcut",
                    ));
                }
            }
            Ok(())
        })?;
    }
    Ok(out)
}

impl Attributes {
    /// Refuses an ENUMERATED or a CHOICE without a value in the root.
    pub fn check_variants(&self, ident: &syn::Ident, root: usize, additions: usize) -> syn::Result<()> {
        if root == 0 {
            return Err(syn::Error::new_spanned(ident, "the type has no root alternative before its extension marker"));
        }
        if additions > 0 && !self.extensible {
            return Err(syn::Error::new_spanned(ident, "additions need #[per(extensible)] on the type"));
        }
        Ok(())
    }

    /// Whether a revision has the component or variant, as an expression; `None` if all have it.
    pub fn gate(&self, revision: &TokenStream) -> Option<TokenStream> {
        match (self.since, self.until) {
            (None, None) => None,
            (Some(since), None) => Some(quote!(#revision >= #since)),
            (None, Some(until)) => Some(quote!(#revision <= #until)),
            (Some(since), Some(until)) => Some(quote!((#since..=#until).contains(&#revision))),
        }
    }

    fn bounds(range: &ExprRange) -> syn::Result<(TokenStream, Option<TokenStream>)> {
        let lo = range.start.as_ref().map_or(quote!(0), |lo| quote!(#lo));
        match (&range.end, &range.limits) {
            (Some(hi), RangeLimits::Closed(_)) => Ok((lo, Some(quote!(#hi)))),
            (None, _) => Ok((lo, None)),
            _ => Err(syn::Error::new_spanned(range, "write both bounds as lo..=hi, or lo.. for no upper bound")),
        }
    }

    /// The bounds of `range`; the upper one is an `Option`.
    pub fn integer_bounds(&self) -> syn::Result<Option<(TokenStream, TokenStream)>> {
        let Some(range) = &self.range else {
            return Ok(None);
        };
        let (lo, hi) = Self::bounds(range)?;
        let hi = hi.map_or(quote!(None), |hi| quote!(Some(#hi)));
        Ok(Some((lo, hi)))
    }

    pub fn size_tokens(&self) -> syn::Result<Option<TokenStream>> {
        let Some(size) = &self.size else {
            return Ok(None);
        };
        let (lo, hi) = Self::bounds(size)?;
        let hi = hi.unwrap_or(quote!(usize::MAX));
        let extensible = self.extensible;
        Ok(Some(quote!({
            let size = ::per::Size { lo: #lo, hi: #hi, extensible: #extensible };
            assert!(size.lo <= size.hi, "the lower bound is above the upper one");
            size
        })))
    }

    /// An expression that reads a `ty` with the constraint of this field.
    pub fn read(&self, ty: &Type, before: &TokenStream) -> syn::Result<TokenStream> {
        if let Some(range) = &self.range {
            let (lo, hi) = Self::bounds(range)?;
            let extensible = self.extensible;
            let (check, hi) = upper(&lo, hi.as_ref());
            return Ok(quote!({ #check ::per::decode_integer::<S, #ty>(reader, #lo, #hi, #extensible) }));
        }
        if let Some(size) = self.size_tokens()? {
            return Ok(quote!(<#ty as ::per::DecodeSized<'per, S>>::decode_sized(
                reader, const { #size }, #before
            )));
        }
        Ok(quote!(<#ty as ::per::Decode<'per, S>>::decode_after(reader, #before)))
    }

    /// An expression that writes `value`, a reference, with the constraint of this field.
    pub fn write(&self, value: &TokenStream) -> syn::Result<TokenStream> {
        if let Some(range) = &self.range {
            let (lo, hi) = Self::bounds(range)?;
            let (extensible, (_, hi)) = (self.extensible, upper(&lo, hi.as_ref()));
            return Ok(quote!(::per::encode_integer(writer, i64::from(*#value), #lo, #hi, #extensible)));
        }
        if let Some(size) = self.size_tokens()? {
            return Ok(quote!(::per::EncodeSized::encode_sized(#value, writer, const { #size })));
        }
        Ok(quote!(::per::Encode::encode(#value, writer)))
    }

    /// An expression that reads a `ty`, or returns the error of component `at`. With `inlined`, the codec of the component is
    /// inlined into that of its container; otherwise it is compiled once for all containers.
    pub fn read_or_return(&self, ty: &Type, before: &TokenStream, at: &str, inlined: bool) -> syn::Result<TokenStream> {
        if inlined {
            let read = self.read(ty, before)?;
            return Ok(quote!(match #read { Ok(value) => value, Err(error) => return Err(error.within(#at)) }));
        }
        let read = if let Some(range) = &self.range {
            let (lo, hi) = Self::bounds(range)?;
            let extensible = self.extensible;
            let (check, hi) = upper(&lo, hi.as_ref());
            quote!({ #check ::per::decode_component_integer::<S, #ty>(reader, #lo, #hi, #extensible, #at) })
        } else if let Some(size) = self.size_tokens()? {
            quote!(::per::decode_component_sized::<S, #ty>(reader, const { &#size }, #at))
        } else {
            quote!(::per::decode_component::<S, #ty>(reader, #at))
        };
        Ok(quote!(match #read { Ok(value) => value, Err(error) => return Err(error) }))
    }

    /// A statement that writes `value`, a reference, or returns the error of component `at`; see [`Self::read_or_return`].
    pub fn write_or_return(&self, value: &TokenStream, at: &str, inlined: bool) -> syn::Result<TokenStream> {
        if inlined {
            let write = self.write(value)?;
            return Ok(quote!(if let Err(error) = #write { return Err(error.within(#at)); }));
        }
        let write = if let Some(range) = &self.range {
            let (lo, hi) = Self::bounds(range)?;
            let (extensible, (_, hi)) = (self.extensible, upper(&lo, hi.as_ref()));
            quote!(::per::encode_component_integer(writer, i64::from(*#value), #lo, #hi, #extensible, #at))
        } else if let Some(size) = self.size_tokens()? {
            quote!(::per::encode_component_sized(#value, writer, const { &#size }, #at))
        } else {
            quote!(::per::encode_component(#value, writer, #at))
        };
        Ok(quote!(if let Err(error) = #write { return Err(error); }))
    }

    /// An expression for the size hint of `value`, a reference.
    pub fn hint(&self, value: &TokenStream) -> TokenStream {
        if self.range.is_some() { quote!(0) } else { quote!(::per::Encode::size_hint(#value)) }
    }
}

/// A compile-time check of the bounds, and the upper bound as an `Option`.
fn upper(lo: &TokenStream, hi: Option<&TokenStream>) -> (TokenStream, TokenStream) {
    let Some(hi) = hi else {
        return (quote!(), quote!(None));
    };
    let check = quote! {
        const {
            let (lo, hi): (i64, i64) = (#lo, #hi);
            assert!(lo <= hi, "the lower bound is above the upper one");
        }
    };
    (check, quote!(Some(#hi)))
}
