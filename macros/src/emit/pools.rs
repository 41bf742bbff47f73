//! A workspace that is split among memories: a type for each, and where its parts come from in calls that have one
//! memory for all.

use super::Emit;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use tenfold_syntax::signature::pool_type;

impl Emit<'_> {
    /// Whether the workspace is split.
    pub(super) fn has_pools(&self) -> bool {
        !self.signature.pools.is_empty()
    }

    /// `DTCM_BYTES` and `Dtcm`.
    pub(super) fn pool_types(&self) -> TokenStream {
        let krate = &self.names.krate;
        let types = self.signature.pools.iter().enumerate().map(|(number, name)| {
            let (constant, ty) = pool_names(name);
            let bytes = self.artefact.and_then(|artefact| artefact.pools.get(number)).map_or(0, |(_, n)| rounded(*n));
            let (size_doc, doc) =
                (format!("Bytes of workspace in `{name}`."), format!("The workspace's part in `{name}`."));
            quote! {
                #[doc = #size_doc]
                pub const #constant: usize = #bytes;
                #[doc = #doc]
                pub type #ty = #krate::Workspace<{ #constant }>;
            }
        });
        quote!(#(#types)*)
    }

    /// `dtcm_memory: &mut Dtcm, psram_memory: &mut Psram`.
    pub(super) fn pool_params(&self) -> TokenStream {
        let all = self.signature.pools.iter().zip(&self.names.pools).map(|(name, own)| {
            let (_, ty) = pool_names(name);
            quote!(#own: &mut #ty)
        });
        quote!(#(#all),*)
    }

    /// What `run` takes, out of the parameters of `into`.
    pub(super) fn pointers(&self) -> TokenStream {
        let (ws, pools) = (&self.names.ws, &self.names.pools);
        if self.has_pools() { quote!([#(#pools.as_mut_ptr()),*]) } else { quote!(#ws.as_mut_ptr()) }
    }

    /// The same out of one memory: the parts behind one another. `path` leads to the module.
    pub(super) fn scratch(&self, path: &TokenStream) -> TokenStream {
        let ws = &self.names.ws;
        if !self.has_pools() {
            return quote!(#ws.as_mut_ptr());
        }
        let constants: Vec<Ident> = self.signature.pools.iter().map(|name| pool_names(name).0).collect();
        let parts = (0..constants.len()).map(|number| {
            let before = &constants[..number];
            quote!(at.wrapping_add(0 #(+ #path #before)*))
        });
        quote!({
            let at: *mut u8 = #ws.as_mut_ptr();
            [#(#parts),*]
        })
    }

    /// The same out of the workspace of a call by name: a statement, and what `into` is given.
    pub(super) fn pools_by_name(&self) -> (TokenStream, TokenStream) {
        let ws = &self.names.ws;
        let constants: Vec<Ident> = self.signature.pools.iter().map(|name| pool_names(name).0).collect();
        (quote!(let mut #ws = args.memories(WORKSPACE_BYTES)?;), quote!(#(#ws.next::<{ #constants }>()?),*))
    }
}

/// The names of a memory's size and of its type.
fn pool_names(name: &str) -> (Ident, Ident) {
    (format_ident!("{}_BYTES", name.to_uppercase()), format_ident!("{}", pool_type(name)))
}

/// Up to a whole number of lines of the workspace.
pub(super) fn rounded(bytes: u64) -> usize {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    bytes.checked_next_multiple_of(tenfold_abi::WORKSPACE_ALIGN).unwrap_or(usize::MAX)
}
