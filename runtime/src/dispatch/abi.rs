//! The agreement of macro and runtime on one ABI number.

/// `const _: () = Abi::<V>::OK;` does not compile unless the macro, which knows `V`, and this crate
/// speak the same ABI.
pub struct Abi<const V: u32>;

/// The number as it stands in the message below, which const evaluation cannot format.
macro_rules! number {
    () => {
        6
    };
}

const _: () = assert!(tenfold_abi::ABI_VERSION == number!());

impl<const V: u32> Abi<V> {
    /// Evaluates to nothing, or not at all.
    pub const OK: () = assert!(
        V == tenfold_abi::ABI_VERSION,
        concat!(
            "`#[tensor_fn]` and `tenfold` are of different versions: `tenfold` ",
            env!("CARGO_PKG_VERSION"),
            " has ABI ",
            number!(),
            ", the attribute has the one in `Abi::<_>` below; run `cargo update -p tenfold \
             -p tenfold-macros -p tenfold-build`"
        )
    );
}
