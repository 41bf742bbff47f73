//! A function that cannot fail: every dim is fixed, and nothing is asserted.
//!
//! ```ignore
//! /// Doubles each element.
//! #[tensor_fn]
//! pub fn scale2(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
//!     x * 2.0
//! }
//! ```

::tenfold::rt::with_alloc! {
    /// Doubles each element.
    #[must_use]
    pub fn scale2(
        x: &(impl ::tenfold::AsFixed<f32, (::tenfold::Fixed<4>,)> + ?::core::marker::Sized),
    ) -> ::tenfold::Tensor<f32, (::tenfold::Fixed<4>,)> {
        let x = ::tenfold::rt::fixed(x);
        let mut r0 = ::tenfold::rt::Owned::<f32, (::tenfold::Fixed<4>,)>::fixed();
        let mut ws = ::tenfold::rt::Scratch::fixed(scale2::WORKSPACE_BYTES);
        unsafe {
            scale2::run(x.as_ptr(), r0.as_mut_ptr(), ws.as_mut_ptr());
            r0.written()
        }
    }
}

/// Sizes of [`scale2()`](fn@scale2), and its calls that allocate nothing.
#[allow(dead_code, unreachable_pub, clippy::module_inception)]
pub mod scale2 {
    const _: () = ::tenfold::rt::Abi::<6>::OK;

    /// Bytes of workspace.
    pub const WORKSPACE_BYTES: usize = 64;
    /// Bytes of constants.
    pub const WEIGHT_BYTES: usize = 0;
    /// Bytes of machine code.
    pub const CODE_BYTES: usize = 0;
    /// Bytes of stack, at most.
    pub const STACK_BYTES: usize = 16;
    /// Arithmetic operations on floats.
    pub const FLOPS: u64 = 4;

    /// The function as a value, for calls by name.
    pub const FUNCTION: ::tenfold::Function = ::tenfold::rt::function(::tenfold::rt::FunctionInfo {
        signature: &::tenfold::Signature {
            name: "scale2",
            params: &[::tenfold::Param {
                name: "x",
                kind: ::tenfold::Kind::Input,
                dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                dims: &["4"],
            }],
            results: &[::tenfold::Param {
                name: "result",
                kind: ::tenfold::Kind::Result,
                dtype: ::core::option::Option::Some(::tenfold::DType::F32),
                dims: &["4"],
            }],
            facts: &[],
        },
        workspace_bytes: ::core::option::Option::Some(WORKSPACE_BYTES),
        weight_bytes: WEIGHT_BYTES,
        variants: &[::tenfold::Variant { name: "baseline", features: &[] }],
        call: |args| {
            let p0 = args.input::<f32, (::tenfold::Fixed<4>,)>()?;
            let mut r0 = args.result::<f32, (::tenfold::Fixed<4>,)>()?;
            into(&p0, &mut r0, args.workspace::<{ WORKSPACE_BYTES }>()?);
            ::core::result::Result::Ok(())
        },
    });

    /// Memory for what is computed on the way.
    pub type Workspace = ::tenfold::Workspace<{ WORKSPACE_BYTES }>;

    /// Writes the result in place; never allocates.
    pub fn into(
        x: &(impl ::tenfold::AsFixed<f32, (::tenfold::Fixed<4>,)> + ?::core::marker::Sized),
        r0: &mut (impl ::tenfold::AsFixedMut<f32, (::tenfold::Fixed<4>,)> + ?::core::marker::Sized),
        ws: &mut Workspace,
    ) {
        let x = ::tenfold::rt::fixed(x);
        let mut r0 = ::tenfold::rt::fixed_mut(r0);
        unsafe { run(x.as_ptr(), r0.as_mut_ptr(), ws.as_mut_ptr()) }
    }

    /// Parameters, results and facts.
    #[must_use]
    pub const fn signature() -> &'static ::tenfold::Signature {
        FUNCTION.signature()
    }

    /// The codes that there are, the best first.
    #[must_use]
    pub const fn variants() -> &'static [::tenfold::Variant] {
        FUNCTION.variants()
    }

    /// The same call on a device.
    pub fn on<D: ::tenfold::Device>(device: &D) -> OnDevice<'_, D> {
        OnDevice(::tenfold::rt::On::new(device, FUNCTION))
    }

    /// The function on a device.
    pub struct OnDevice<'d, D: ::tenfold::Device>(::tenfold::rt::On<'d, D>);

    impl<'d, D: ::tenfold::Device> OnDevice<'d, D> {
        /// Chooses a variant by its name.
        pub fn variant(self, name: &str) -> ::core::result::Result<Self, ::tenfold::Error> {
            ::core::result::Result::Ok(Self(self.0.variant(name)?))
        }

        /// Chooses a stream, on whose device the function runs.
        #[must_use]
        pub fn stream(self, stream: &::tenfold::Stream<'d, D>) -> Self {
            Self(self.0.stream(stream))
        }
    }

    ::tenfold::rt::with_alloc! {
        impl<D: ::tenfold::Device> OnDevice<'_, D> {
            /// Runs it, or submits it to the device.
            pub fn call(
                &self,
                x: &::tenfold::DeviceTensor<D, f32, (::tenfold::Fixed<4>,)>,
                r0: &mut ::tenfold::DeviceTensor<D, f32, (::tenfold::Fixed<4>,)>,
            ) -> ::core::result::Result<(), ::tenfold::Error> {
                self.0.host()?;
                let x: ::tenfold::TensorRef<'_, f32, (::tenfold::Fixed<4>,)> = ::tenfold::rt::input("x", x)?;
                let mut r0: ::tenfold::TensorMut<'_, f32, (::tenfold::Fixed<4>,)> =
                    ::tenfold::rt::state("result", r0)?;
                let mut ws = ::tenfold::rt::Scratch::new(WORKSPACE_BYTES)?;
                self.0.run(|| {
                    unsafe { run(x.as_ptr(), r0.as_mut_ptr(), ws.as_mut_ptr()) };
                    ::core::result::Result::Ok(())
                })
            }
        }
    }

    /// # Safety
    ///
    /// The pointers are as the convention has them.
    pub(super) unsafe fn run(x: *const f32, r0: *mut f32, ws: *mut u8) {
        // In a user's crate: #[link(name = "tenfold_…", kind = "static")]
        unsafe extern "C" {
            fn __tenfold_emitted_scale2(
                x: *const f32,
                r0: *mut f32,
                ws: *mut u8,
                context: *const ::core::ffi::c_void,
            ) -> i32;
        }
        let context = ::tenfold::rt::Context::new();
        unsafe { __tenfold_emitted_scale2(x, r0, ws, context.as_ptr()) };
    }
}
