//! The call on a device: `on`, and what stands behind it.

use super::Emit;
use super::call::strides;
use super::names::Names;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use tenfold_syntax::index::{DeviceParts, Linked};
use tenfold_syntax::signature::SigKind;

impl Emit<'_> {
    /// The same call with tensors of a device.
    pub(super) fn on(&self) -> TokenStream {
        let krate = &self.names.krate;
        let has_device = self.has_device();
        let takes = self.device_params();
        let chosen = has_device.then(|| {
            quote! {
                /// Has the processor do what the device refuses, on copies.
                #[must_use]
                pub fn or_host(self) -> Self {
                    Self(self.0.or_host())
                }

                /// Keeps what a call submits, and submits it again for calls with the same tensors and values.
                #[must_use]
                pub fn recorded(self) -> Self {
                    Self(self.0.recorded())
                }
            }
        });
        let host = self.on_host();
        let body = if has_device { self.on_either(&host) } else { quote!(self.0.host()?; #host) };
        let code = has_device.then(|| self.code());
        quote! {
            /// The same call on a device.
            #[must_use]
            pub fn on<D: #krate::Device>(device: &D) -> OnDevice<'_, D> {
                OnDevice(#krate::rt::On::new(device, FUNCTION))
            }

            /// The function on a device.
            pub struct OnDevice<'d, D: #krate::Device>(#krate::rt::On<'d, D>);

            impl<'d, D: #krate::Device> OnDevice<'d, D> {
                /// Chooses a variant by its name.
                pub fn variant(self, name: &str) -> ::core::result::Result<Self, #krate::Error> {
                    ::core::result::Result::Ok(Self(self.0.variant(name)?))
                }

                /// Chooses a stream, on whose device the function runs.
                #[must_use]
                pub fn stream(self, stream: &#krate::Stream<'d, D>) -> Self {
                    Self(self.0.stream(stream))
                }

                #chosen
            }

            #krate::rt::with_alloc! {
                impl<D: #krate::Device> OnDevice<'_, D> {
                    /// Runs it, or submits it to the device.
                    #[allow(unused_variables)]
                    pub fn call(&self, #takes) -> ::core::result::Result<(), #krate::Error> {
                        #body
                    }
                }

                #code
            }
        }
    }

    /// Whether it is compiled for a device: its targets say so, and where it names none, the build. Of what was not compiled
    /// it is taken to be, so that its calls are no errors besides.
    fn has_device(&self) -> bool {
        let Some(function) = &self.parsed.function else { return false };
        match (function.attributes.targets.is_empty(), self.artefact) {
            (false, _) => function.attributes.devices().next().is_some(),
            (true, Some(artefact)) => artefact.device.is_some(),
            (true, None) => true,
        }
    }

    /// `p0: &DeviceTensor<D, …>, n: usize, r0: &mut DeviceTensor<D, …>`.
    fn device_params(&self) -> TokenStream {
        let krate = &self.names.krate;
        let params = self.signature.params.iter().zip(&self.names.params);
        let params = params.map(|(param, p)| {
            let of = self.names.of(param.dtype, &param.dims);
            match param.kind {
                SigKind::Input | SigKind::Strided => quote!(#p: &#krate::DeviceTensor<D, #of>),
                SigKind::State => quote!(#p: &mut #krate::DeviceTensor<D, #of>),
                SigKind::Scalar | SigKind::Index { .. } => {
                    let ty = self.names.argument(param, true);
                    quote!(#p: #ty)
                }
            }
        });
        let results = self.signature.results.iter().zip(&self.names.results).map(|(result, r)| {
            let of = self.names.of(result.dtype, &result.dims);
            quote!(#r: &mut #krate::DeviceTensor<D, #of>)
        });
        quote!(#(#params,)* #(#results,)*)
    }

    /// The call of the code for the processor, whose memory the tensors lie in.
    fn on_host(&self) -> TokenStream {
        let krate = &self.names.krate;
        let ws = &self.names.ws;
        let views = self.signature.params.iter().zip(&self.names.params).map(|(param, p)| {
            let (name, of) = (&param.name, self.names.of(param.dtype, &param.dims));
            match param.kind {
                SigKind::Input => quote!(let #p: #krate::TensorRef<'_, #of> = #krate::rt::input(#name, #p)?;),
                SigKind::Strided => quote!(let #p: #krate::StridedRef<'_, #of> = #krate::rt::strided(#name, #p)?;),
                SigKind::State => quote!(let mut #p: #krate::TensorMut<'_, #of> = #krate::rt::state(#name, #p)?;),
                SigKind::Index { .. } => quote!(let #p = #krate::rt::index(#p);),
                SigKind::Scalar => quote!(),
            }
        });
        let rooms = self.signature.results.iter().enumerate().map(|(number, result)| {
            let (r, name) = (&self.names.results[number], self.result_name(number));
            let of = self.names.of(result.dtype, &result.dims);
            let room = self.room(number);
            quote!(#room let mut #r: #krate::TensorMut<'_, #of> = #krate::rt::state(#name, #r)?;)
        });
        let bytes = if self.is_bounded() {
            quote!(WORKSPACE_BYTES)
        } else {
            let dims = &self.names.all_dims;
            quote!(workspace(#dims))
        };
        let bind = self.device_bind();
        let arguments = self.run_arguments(&self.scratch(&quote!()), false);
        let run = match self.signature.fallible {
            true => quote!(unsafe { run(#arguments) }),
            false => quote!(unsafe { run(#arguments) }; ::core::result::Result::Ok(())),
        };
        quote! {
            #(#views)*
            #bind
            #(#rooms)*
            let mut #ws = #krate::rt::Scratch::new(#bytes)?;
            self.0.run(|| { #run })
        }
    }

    /// The dims and the extents of results, from shapes alone.
    fn device_bind(&self) -> Option<TokenStream> {
        self.signature.fallible.then(|| self.bind_call(&quote!()))
    }

    /// That a result has the extents that it must have, where its type does not say so.
    fn room(&self, number: usize) -> Option<TokenStream> {
        let krate = &self.names.krate;
        let (r, e) = (&self.names.results[number], &self.names.extents[number]);
        let (name, dims) = (self.result_name(number), Names::dim_texts(&self.signature.results[number].dims));
        self.signature.fallible.then(|| quote!(#krate::rt::room(#name, &#r.shape(), &#e, #dims)?;))
    }

    /// The call of the program where the device is not the processor, or of the processor on copies.
    fn on_either(&self, host: &TokenStream) -> TokenStream {
        let krate = &self.names.krate;
        let (operands, instead) = (self.operands(), self.instead());
        let checks = self.artefact.map_or(&[][..], |artefact| &artefact.checks[..]);
        let (done, finish) = match self.signature.fallible {
            true => (quote!(status), quote!(#krate::rt::finish(status.0, &[#(#checks),*]))),
            false => (quote!(_), quote!(::core::result::Result::Ok(()))),
        };
        quote! {
            if self.0.is_host() {
                #host
            } else {
                let submitted = { #operands };
                match submitted {
                    ::core::option::Option::Some(#done) => #finish,
                    ::core::option::Option::None => { #instead }
                }
            }
        }
    }

    /// What the program is called with.
    fn operands(&self) -> TokenStream {
        let krate = &self.names.krate;
        let (mut lets, mut params, mut scalars, mut dims) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (param, p) in self.signature.params.iter().zip(&self.names.params) {
            match param.kind {
                SigKind::Input | SigKind::State => params.push(quote!(self.0.memory(&*#p)?)),
                SigKind::Strided => {
                    let steps = strides(p);
                    lets.push(quote!(let #steps = #krate::rt::steps(#p.shape());));
                    params.push(quote!(self.0.memory(&*#p)?));
                    dims.extend((0..param.dims.len()).map(|axis| quote!(#steps[#axis])));
                }
                SigKind::Scalar => scalars.push(quote!(#krate::rt::scalar_bits(#p))),
                SigKind::Index { .. } => {
                    lets.push(quote!(let #p = #krate::rt::index(#p);));
                    dims.push(quote!(#p));
                }
            }
        }
        let all = &self.names.all_dims;
        dims.extend((0..self.names.dims.len()).map(|number| quote!(#all[#number])));
        let rooms = (0..self.signature.results.len()).filter_map(|number| self.room(number));
        let (bind, results) = (self.device_bind(), &self.names.results);
        quote! {
            #(#lets)*
            #bind
            #(#rooms)*
            let operands = #krate::Operands {
                params: &[#(#params),*],
                results: &[#(self.0.memory(&*#results)?),*],
                scalars: &[#(#scalars),*],
                dims: &[#(#dims),*],
            };
            unsafe { self.0.submit(code(), &operands)? }
        }
    }

    /// The processor's call on copies.
    fn instead(&self) -> TokenStream {
        let (mut lets, mut passed, mut back) = (Vec::new(), Vec::new(), Vec::new());
        for (param, p) in self.signature.params.iter().zip(&self.names.params) {
            let here = format_ident!("{}_here", p);
            match param.kind {
                SigKind::Input | SigKind::Strided => {
                    lets.push(quote!(let #here = self.0.fetch(#p)?;));
                    passed.push(quote!(&#here));
                }
                SigKind::State => {
                    lets.push(quote!(let mut #here = self.0.fetch(#p)?;));
                    passed.push(quote!(&mut #here));
                    back.push(quote!(self.0.store(&#here, #p)?;));
                }
                SigKind::Scalar | SigKind::Index { .. } => passed.push(quote!(#p)),
            }
        }
        for r in &self.names.results {
            let here = format_ident!("{}_here", r);
            lets.push(quote!(let mut #here = self.0.fetch(#r)?;));
            passed.push(quote!(&mut #here));
            back.push(quote!(self.0.store(&#here, #r)?;));
        }
        quote! {
            #(#lets)*
            OnDevice(self.0.on_host()).call(#(#passed),*)?;
            #(#back)*
            ::core::result::Result::Ok(())
        }
    }

    /// What the build script has made for devices.
    fn code(&self) -> TokenStream {
        let krate = &self.names.krate;
        let parts = self.artefact.and_then(|artefact| artefact.device.as_ref());
        let body = match parts {
            Some(parts) => linked_code(parts, krate),
            None => quote!(::core::panic!("this tensor function was not compiled")),
        };
        quote! {
            #[inline]
            fn code() -> #krate::DeviceCode {
                #body
            }
        }
    }
}

/// The blob and its constants, from their archives.
fn linked_code(parts: &DeviceParts, krate: &TokenStream) -> TokenStream {
    let all = [&parts.blob].into_iter().chain(&parts.constants);
    let declared = all.map(|Linked { archive, symbol, bytes }| {
        let (symbol, bytes) = (format_ident!("{}", symbol), usize::try_from(*bytes).unwrap_or(usize::MAX));
        quote! {
            #[link(name = #archive, kind = "static")]
            unsafe extern "C" {
                static #symbol: [u8; #bytes];
            }
        }
    });
    let blob = format_ident!("{}", parts.blob.symbol);
    let constants = parts.constants.iter().map(|constant| format_ident!("{}", constant.symbol));
    let count = parts.constants.len();
    quote! {
        #(#declared)*
        static CONSTANTS: [&[u8]; #count] = [#(unsafe { &#constants }),*];
        unsafe { #krate::DeviceCode::new(&#blob, &CONSTANTS) }
    }
}
