//! The derive macros of `ferric-per`: see [`Per`](macro@Per).

#![forbid(unsafe_code)]

mod attributes;
mod choice;
mod enumerated;
mod flat;
mod newtype;
mod sequence;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields};

/// Derives `Decode`, `Encode`, `IntoOwned` and `Describe` (crate `per`) for an ASN.1 type written as plain Rust.
///
/// | Rust | ASN.1 |
/// |---|---|
/// | struct with named fields | SEQUENCE; an `Option` field is OPTIONAL |
/// | struct with one unnamed field | the type of the field, with `range` or `size` |
/// | enum without payloads | ENUMERATED |
/// | enum with payloads | CHOICE; a variant without payload is NULL |
///
/// On the type: `#[per(extensible)]` for the extension marker. On a newtype `#[per(range = 0..=255)]` or
/// `#[per(size = 1..=16)]`, each with `, extensible`, and `#[per(range = 0..)]` for a semi-constrained INTEGER.
///
/// On fields: `range` and `size` as above; `default = value`; `addition` for a component after the extension marker;
/// `group = 1` for additions in double brackets; `since = 2` and `until = 1` for the revisions that have the component (its type
/// is then an `Option`, or it has a default), with `mandatory` if it is not OPTIONAL in them. A component that the revision does
/// not have is not read, and is an error when writing.
///
/// `fast`: the codecs of the components are inlined into that of the type; otherwise shared functions are called. `hot`, for a
/// type that occurs hundreds of times in a message: its decoder is also inlined into that of its container.
///
/// `shortcut = function` and `list_shortcut = function`, on a SEQUENCE or CHOICE: the function is its `Decode::decode_shortcut`,
/// its `Decode::decode_list_shortcut`.
///
/// On variants: `addition`; `since` and `until`; `range` and `size` for the payload. An enum without payloads that is a CHOICE of
/// NULLs has `#[per(choice)]`. The alternatives are in the order of their tags: with automatic tagging, the order of the ASN.1.
///
/// A type has at most 64 additions. The writer omits a value that equals its default; the reader accepts it.
#[proc_macro_derive(Per, attributes(per))]
pub fn derive_per(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives only the FlatBuffers codec, for a type with a hand-written PER codec. Expands to nothing without the feature `flat` of
/// crate `per`. It has the options of [`Per`](macro@Per), and allows a struct without fields, which is `true`.
#[proc_macro_derive(Flat, attributes(per))]
pub fn derive_flat(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand_flat(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand_flat(input: &DeriveInput) -> syn::Result<TokenStream> {
    if cfg!(feature = "flat") { flat::expand(input, &attributes::of(&input.attrs)?) } else { Ok(TokenStream::new()) }
}

fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let per = expand_per(input)?;
    let flat = expand_flat(input)?;
    Ok(quote!(#per #flat))
}

/// Whether an enum is a CHOICE.
fn is_choice(attributes: &attributes::Attributes, data: &syn::DataEnum) -> bool {
    attributes.choice || data.variants.iter().any(|v| !v.fields.is_empty())
}

fn expand_per(input: &DeriveInput) -> syn::Result<TokenStream> {
    let attributes = attributes::of(&input.attrs)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => sequence::expand(input, &attributes, fields),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => newtype::expand(input, &attributes, fields),
            _ => Err(syn::Error::new_spanned(&input.ident, "a sequence has named fields, a newtype one unnamed field")),
        },
        Data::Enum(data) => {
            if is_choice(&attributes, data) {
                choice::expand(input, &attributes, data)
            } else {
                enumerated::expand(input, &attributes, data)
            }
        }
        Data::Union(_) => Err(syn::Error::new_spanned(&input.ident, "ASN.1 has no unions")),
    }
}

/// The parts of an `impl` for a type with at most one lifetime and no other parameters.
struct Impl<'i> {
    name: &'i syn::Ident,
    /// The type with the decoded input's lifetime, with an anonymous one, and with `'static`.
    decoded: TokenStream,
    any: TokenStream,
    owned: TokenStream,
    /// Whether it has a lifetime.
    borrows: bool,
    /// Whether its decoder is inlined into that of its container.
    hot: bool,
    /// Whether the codecs of its components are inlined into its own.
    inlined: bool,
    /// Whether it is a single value: a newtype or an ENUMERATED.
    leaf: bool,
    /// The function that reads its most frequent encoding.
    shortcut: Option<syn::Path>,
    list_shortcut: Option<syn::Path>,
}

impl<'i> Impl<'i> {
    fn of(input: &'i DeriveInput) -> syn::Result<Self> {
        let name = &input.ident;
        let attributes = attributes::of(&input.attrs)?;
        let (hot, inlined) = (attributes.hot, attributes.hot || attributes.fast);
        let leaf = match &input.data {
            Data::Struct(data) => !matches!(data.fields, Fields::Named(_)),
            Data::Enum(data) => !is_choice(&attributes, data),
            Data::Union(_) => false,
        };
        let generics = &input.generics;
        if generics.type_params().next().is_some() || generics.const_params().next().is_some() {
            return Err(syn::Error::new_spanned(generics, "only a lifetime can be a parameter"));
        }
        match generics.lifetimes().count() {
            0 => {
                let name_alone = quote!(#name);
                let (decoded, any, owned) = (name_alone.clone(), name_alone.clone(), name_alone);
                Ok(Impl {
                    name,
                    decoded,
                    any,
                    owned,
                    borrows: false,
                    hot,
                    inlined,
                    leaf,
                    shortcut: attributes.shortcut,
                    list_shortcut: attributes.list_shortcut,
                })
            }
            1 => Ok(Impl {
                name,
                decoded: quote!(#name<'per>),
                any: quote!(#name<'_>),
                owned: quote!(#name<'static>),
                borrows: true,
                hot,
                inlined,
                leaf,
                shortcut: attributes.shortcut,
                list_shortcut: attributes.list_shortcut,
            }),
            _ => Err(syn::Error::new_spanned(generics, "at most one lifetime, that of the input")),
        }
    }

    /// Replaces the lifetime of the declared type with `'per` in field types.
    fn rename(input: &DeriveInput, ty: &syn::Type) -> syn::Type {
        struct Rename<'l>(&'l syn::Lifetime);
        fn walk(tokens: TokenStream, from: &syn::Lifetime) -> TokenStream {
            let mut out = Vec::new();
            let mut tokens = tokens.into_iter().peekable();
            while let Some(token) = tokens.next() {
                match token {
                    proc_macro2::TokenTree::Group(group) => {
                        let inner = walk(group.stream(), from);
                        out.push(proc_macro2::Group::new(group.delimiter(), inner).into());
                    }
                    proc_macro2::TokenTree::Punct(ref punct) if punct.as_char() == '\'' => {
                        out.push(token);
                        if let Some(proc_macro2::TokenTree::Ident(ident)) = tokens.peek()
                            && *ident == from.ident
                        {
                            tokens.next();
                            out.push(proc_macro2::Ident::new("per", proc_macro2::Span::call_site()).into());
                        }
                    }
                    _ => out.push(token),
                }
            }
            out.into_iter().collect()
        }
        let Some(lifetime) = input.generics.lifetimes().next() else {
            return ty.clone();
        };
        let rename = Rename(&lifetime.lifetime);
        syn::parse2(walk(quote!(#ty), rename.0)).unwrap_or_else(|_| ty.clone())
    }

    /// Single values and hot types are inlined. Others are not: hundreds of SEQUENCEs that contain each other would be
    /// compiled many times.
    fn inline(&self) -> TokenStream {
        if self.leaf || self.hot { quote!(#[inline]) } else { TokenStream::new() }
    }

    fn decode(&self, body: &TokenStream) -> TokenStream {
        let decoded = &self.decoded;
        let inline = if self.hot { quote!(#[inline(always)]) } else { self.inline() };
        let shortcut = self.shortcut.as_ref().map(|function| {
            quote! {
                #[inline(always)]
                fn decode_shortcut<L: ::per::ListBuilder<'per, Self>>(
                    reader: &mut ::per::Reader<'per, S>,
                    most: usize,
                    items: &mut L,
                ) -> usize {
                    #function(reader, most, items)
                }
            }
        });
        let list_shortcut = self.list_shortcut.as_ref().map(|function| {
            quote! {
                #[inline(always)]
                fn decode_list_shortcut(
                    reader: &mut ::per::Reader<'per, S>,
                    count: usize,
                ) -> ::core::option::Option<::per::List<'per, Self>> {
                    #function(reader, count)
                }
            }
        });
        quote! {
            // `?` compiles to more code
            #[automatically_derived]
            #[allow(clippy::question_mark)]
            impl<'per, S: ::per::Store<'per>> ::per::Decode<'per, S> for #decoded {
                #inline
                fn decode_after(
                    reader: &mut ::per::Reader<'per, S>,
                    before: ::core::option::Option<&Self>,
                ) -> ::core::result::Result<Self, ::per::Error> {
                    #body
                }
                #shortcut
                #list_shortcut
            }
        }
    }

    fn encode(&self, body: &TokenStream, hint: &TokenStream) -> TokenStream {
        let (any, inline) = (&self.any, self.inline());
        quote! {
            #[automatically_derived]
            #[allow(clippy::question_mark)]
            impl ::per::Encode for #any {
                #inline
                fn encode(&self, writer: &mut ::per::Writer<'_>) -> ::core::result::Result<(), ::per::Error> {
                    #body
                }
                #[inline]
                fn size_hint(&self) -> usize {
                    #hint
                }
            }
        }
    }

    fn owning(&self, body: &TokenStream) -> TokenStream {
        let (any, owned) = (&self.any, &self.owned);
        quote! {
            #[automatically_derived]
            impl ::per::IntoOwned for #any {
                type Owned = #owned;
                #[inline]
                fn into_owned(self) -> #owned {
                    #body
                }
            }
        }
    }

    fn describe(&self, body: &TokenStream) -> TokenStream {
        let any = &self.any;
        quote! {
            #[automatically_derived]
            impl ::per::Describe for #any {
                #[inline]
                fn describe(&self, visitor: &mut dyn ::per::Visitor) {
                    #body
                }
            }
        }
    }
}

/// A Rust identifier without the prefix of a raw one.
fn plain(ident: &syn::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}

/// Code that returns the result with position `index` among those that the revision has, and falls through if there is none.
fn pick(gates: &[Option<TokenStream>], results: &[TokenStream]) -> TokenStream {
    if gates.iter().any(Option::is_some) {
        let steps = results.iter().zip(gates).map(|(result, gate)| {
            let step = quote!(if index == 0 { return #result; } index -= 1;);
            gate.as_ref().map_or(step.clone(), |gate| quote!(if #gate { #step }))
        });
        quote!(let mut index = index; #(#steps)* let _ = index;)
    } else {
        let places = (0..results.len()).map(proc_macro2::Literal::usize_unsuffixed);
        quote!(match index { #(#places => return #results,)* _ => {} })
    }
}

/// The number of `gates` that the revision has: the index of the next item. Without gates, a literal.
fn count(gates: &[Option<TokenStream>], ty: &TokenStream) -> TokenStream {
    let always = proc_macro2::Literal::usize_unsuffixed(gates.iter().filter(|gate| gate.is_none()).count());
    let sometimes = gates.iter().flatten();
    quote!((#always #(+ #ty::from(#sometimes))*))
}
