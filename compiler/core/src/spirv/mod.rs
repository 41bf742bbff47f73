//! The SPIR-V back end: a device function becomes one compute shader for Vulkan 1.1, in this process.
//!
//! `compiler/docs/spirv.md` says what tir becomes, what a kernel asks of a device and what is refused.

mod cast;
mod controls;
mod expr;
mod float;
mod group;
mod half;
mod int;
mod interface;
mod kind;
mod memory;
mod out;
mod remainder;
mod stmt;
mod words;

pub use controls::{CONTROLS, Control};

use std::collections::BTreeSet;
use std::fmt;

use tenfold_abi::program::{Feature, Setting};
use tenfold_ir::tir::{FuncKind, Phase, PrimFunc};
use tenfold_ir::{DType, Module};

/// Where a binding's memory comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The parameter of this place among the function's parameters.
    Param(usize),
    /// The module's constant with this content hash.
    Constant(String),
}

/// A storage buffer of descriptor set 0; its binding is its place among [`Kernel::bindings`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// What it holds.
    pub dtype: DType,
    /// Whether the kernel writes it.
    pub write: bool,
    /// Whose memory it is.
    pub source: Source,
}

/// A value among the push constants: 8 bytes each, in the order of [`Kernel::push`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Push {
    /// Its place among the function's parameters.
    pub param: usize,
    /// Its dtype; `i64` for an index. What is smaller than 32 bits is extended to them by its sign.
    pub dtype: DType,
}

/// A compute shader, whose entry point is `main`.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The function's name.
    pub name: String,
    /// SPIR-V 1.3.
    pub words: Vec<u32>,
    /// The same as text.
    pub text: String,
    /// What is bound.
    pub bindings: Vec<Binding>,
    /// What is pushed.
    pub push: Vec<Push>,
    /// Threads of a group along x, y, z.
    pub local: [u32; 3],
    /// Bytes that the threads of a group share.
    pub shared: u32,
    /// What a device must have.
    pub features: BTreeSet<Feature>,
    /// The specialisation constants that a device may set.
    pub settings: BTreeSet<Setting>,
    /// What devices take that lack a feature which it only gains by: the same without some of these.
    pub instead: Option<Box<Kernel>>,
}

/// Features that a kernel gains by where a device has them, and does without elsewhere.
const OPTIONAL: [Feature; 2] = [Feature::SubgroupArithmetic, Feature::Dot8];

/// Something that SPIR-V for Vulkan 1.1 cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The kernel.
    pub kernel: String,
    /// What it does: an operator and its dtype, a statement or a scope.
    pub what: String,
    /// Why there is none, and what to do.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} has no SPIR-V for Vulkan 1.1: {}", self.kernel, self.what, self.why)
    }
}

impl std::error::Error for Refusal {}

/// The shader of a device function of phase `Target`.
///
/// ```
/// use tenfold_core::spirv;
/// use tenfold_ir::Module;
///
/// let mut module = Module::default();
/// let text = "prim @twice(in x: f32[64], inout y: f32[64]) phase target device at 0:0 {
///   for g in 0i32 +: 2i32 blockIdx.x {
///     for t in 0i32 +: 32i32 threadIdx.x {
///       y[add(mul(g, 32i32), t)] = add(x[add(mul(g, 32i32), t)], x[add(mul(g, 32i32), t)])
///     }
///   }
/// }
/// ";
/// tenfold_ir::parse_functions(&mut module, text, 0)?;
/// let kernel = spirv::kernel(&module, module.prim("twice").ok_or("no kernel")?)?;
/// assert_eq!(kernel.local, [32, 1, 1]);
/// assert_eq!(kernel.words[0], 0x0723_0203);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kernel(module: &Module, func: &PrimFunc) -> Result<Kernel, Refusal> {
    kernel_for(module, func, &[])
}

/// The same for a target with these features, among them names of [`CONTROLS`].
///
/// # Errors
/// What SPIR-V for Vulkan 1.1 cannot hold.
pub fn kernel_for(module: &Module, func: &PrimFunc, features: &[String]) -> Result<Kernel, Refusal> {
    let refusal = |what: &str, why: &str| Refusal { kernel: func.name.clone(), what: what.into(), why: why.into() };
    if func.kind != FuncKind::Device || func.phase != Phase::Target {
        return Err(refusal("a function of the host", "run SplitHostDevice and LowerMath before"));
    }
    let func = crate::without_vectors::without_vectors_of(func);
    let made = |optional| -> Result<Kernel, Refusal> {
        let written = stmt::written(module, &func, optional, features)?;
        Ok(Kernel { words: written.module.words(), text: written.module.text(), ..written.kernel })
    };
    let kernel = made(true)?;
    let instead = if OPTIONAL.iter().any(|feature| kernel.features.contains(feature)) {
        Some(Box::new(made(false)?))
    } else {
        None
    };
    Ok(Kernel { instead, ..kernel })
}

/// The same, and what devices take that have float controls or lack them: of all that keep subnormal numbers, signed
/// zeros, infinities and NaN the device takes the first whose features it has.
///
/// # Errors
/// What SPIR-V for Vulkan 1.1 cannot hold.
pub fn kernels_for(module: &Module, func: &PrimFunc, features: &[String]) -> Result<Kernel, Refusal> {
    let mut all: Vec<Kernel> = Vec::new();
    for kept in controls::KEPT {
        let asked: Vec<String> = features.iter().cloned().chain(kept.iter().map(|name| name.to_string())).collect();
        let mut next = Some(kernel_for(module, func, &asked)?);
        while let Some(kernel) = next {
            next = kernel.instead.as_deref().cloned();
            if all.iter().all(|other| other.words != kernel.words) {
                all.push(Kernel { instead: None, ..kernel });
            }
        }
    }
    let first = all.remove(0);
    let instead = all.into_iter().rev().fold(None, |instead, kernel| Some(Box::new(Kernel { instead, ..kernel })));
    Ok(Kernel { instead, ..first })
}
