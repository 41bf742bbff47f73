//! From flat tir to LLVM's IR, one function for each function.
//!
//! It knows tir and instructions, not passes of LLVM or object files.

pub(crate) mod device;
mod dot;
mod expr;
mod function;
mod half;
mod helper;
mod high;
mod index;
mod lookup;
mod matrix;
mod narrow;
mod ops;
mod parts;
mod pieces;
mod place;
mod rows;
mod scalef;
mod streams;
mod table;
mod tensors;
mod warp;
mod warpgroup;

use std::collections::{BTreeMap, BTreeSet};

use inkwell::{context::Context, memory_buffer::MemoryBuffer, module::Module, targets::TargetMachine};
use tenfold_core::{Aliases, CodegenOptions, Target};
use tenfold_ir::tir::{Elem, FuncKind, Param, PrimFunc, Stmt, VarId};

use crate::{
    ir::{Ir, Seen, Type, Value},
    machine::Machine,
};
use function::Body;
use narrow::Narrow;
use pieces::Far;
use place::Places;

/// What every function of a module is written with.
struct Cx<'a, 'c, 'm> {
    ir: &'a Ir<'c, 'm>,
    machine: &'a Machine,
    target: &'a Target,
    module: &'a tenfold_ir::Module,
    aliases: &'a Aliases,
    narrow: &'a Narrow<'a>,
    /// What comes from memory.
    far: Far<'a>,
    functions: BTreeMap<&'a str, Declared<'a, 'c>>,
    /// The functions that take the context behind their parameters.
    with_context: BTreeSet<&'a str>,
}

/// A function that can be called.
#[derive(Clone, Copy)]
struct Declared<'a, 'c> {
    prim: &'a PrimFunc,
    value: Value<'c>,
    /// Whether it takes the context.
    context: bool,
}

/// A module of LLVM that holds every prim-func of `module`, not yet verified.
pub(crate) fn emit<'c>(
    context: &'c Context,
    machine: &Machine,
    opened: &TargetMachine,
    module: &tenfold_ir::Module,
    target: &Target,
    options: &CodegenOptions,
) -> Result<Module<'c>, String> {
    let out = new_module(context, opened)?;
    let ir = Ir::new(context, &out);
    for function in ir.functions() {
        describe(&ir, function, machine, target);
    }

    let prims: Vec<&PrimFunc> = module.prims().collect();
    let (aliases, narrow) = (Aliases::of(&prims), Narrow::of(&prims, target));
    let mut cx = Cx {
        ir: &ir,
        machine,
        target,
        module,
        aliases: &aliases,
        narrow: &narrow,
        far: Far::of(module, target),
        functions: BTreeMap::new(),
        with_context: tenfold_core::with_context(module),
    };
    // First those whose symbols are given: LLVM renames what comes later under the same name.
    let (outside, inside): (Vec<&PrimFunc>, Vec<&PrimFunc>) = prims.iter().partition(|f| f.kind == FuncKind::Extern);
    for prim in outside.into_iter().chain(inside) {
        let value = cx.declare(prim)?;
        let context = cx.with_context.contains(prim.name.as_str());
        cx.functions.insert(&prim.name, Declared { prim, value, context });
    }
    let places = Places::new(&ir, options);
    for declared in cx.functions.values().filter(|declared| declared.prim.kind != FuncKind::Extern) {
        Body::new(&cx, *declared, &places).write().map_err(|error| format!("`{}`: {error}", declared.prim.name))?;
    }
    places.finish();
    drop(ir);
    Ok(out)
}

/// A module that holds functions of our own.
fn new_module<'c>(context: &'c Context, opened: &TargetMachine) -> Result<Module<'c>, String> {
    let text = MemoryBuffer::create_from_memory_range_copy(helper::text().as_bytes(), "tenfold");
    let out = context.create_module_from_ir(text).map_err(|error| error.to_string())?;
    out.set_source_file_name("tenfold");
    out.set_triple(&opened.get_triple());
    out.set_data_layout(&opened.get_target_data().get_data_layout());
    Ok(out)
}

/// The bytes at a multiple of which the stack begins: those of the x86-64 and AArch64 conventions.
const STACK_ALIGN: u32 = 16;

/// Turns of loops up to which a call would take a part of a kernel's time that counts (8 by 8 by 8 in `f32`: 36 cycles).
const SHORT: i64 = 16;

/// Whether a kernel stays a function: registers are given out per nest of loops, what does not fit into them is on the
/// stack while it runs and no longer, and whoever looks for time finds it by the kernel's name. One without loops does
/// not, and with an operating system, where code need not be small, one with few turns of them does not.
fn stays(prim: &PrimFunc, target: &Target) -> bool {
    let most = if target.hosted { SHORT } else { 0 };
    turns(prim, &prim.body).is_none_or(|n| n > most)
}

/// How many turns all loops take together; nothing where that is no number.
fn turns(prim: &PrimFunc, stmt: &Stmt) -> Option<i64> {
    let inside = stmt.children().into_iter().map(|s| turns(prim, s)).sum::<Option<i64>>()?;
    match stmt {
        Stmt::For { extent, .. } => prim.literal(*extent)?.checked_mul(inside.max(1)),
        Stmt::While { .. } => None,
        _ => Some(inside),
    }
}

/// What LLVM is told of every function, our own included: else one could not be inlined into
/// another.
fn describe<'c>(ir: &Ir<'c, '_>, function: Value<'c>, machine: &Machine, target: &Target) {
    ir.attribute(function, None, "nounwind", 0);
    ir.word(function, "target-cpu", &machine.cpu);
    ir.word(function, "target-features", &machine.features);
    ir.word(function, "warn-stack-size", "0");
    // Copies of a loop's body are for cores that would wait for its branch, and that have room for them.
    if !target.hosted && target.device.is_none() && target.vector_bytes() == 0 {
        ir.attribute(function, None, "optsize", 0);
    }
    if target.vector_bytes() == 64 {
        ir.word(function, "prefer-vector-width", "512");
    }
}

impl<'a, 'c> Cx<'a, 'c, '_> {
    fn declare(&self, prim: &PrimFunc) -> Result<Value<'c>, String> {
        let ir = self.ir;
        let mut types = Vec::new();
        for param in &prim.params {
            types.push(self.parameter_type(prim, param));
        }
        if let Some(symbol) = prim.link_name() {
            return Ok(self.declare_outside(prim, symbol, &types));
        }
        types.extend(self.with_context.contains(prim.name.as_str()).then(|| self.ir.pointer()));
        let (result, seen) = if prim.exported { (Some(ir.int(32)), Seen::Outside) } else { (None, Seen::Inside) };
        let function = ir.function(&prim.name, &types, result, seen);
        describe(ir, function, self.machine, self.target);
        // A tile of them fills the registers, and of a sum that is written out as a whole LLVM keeps operands on the stack.
        if !high::summed(prim, self.target).is_empty() {
            ir.attribute(function, None, "optsize", 0);
        }
        if !prim.exported && stays(prim, self.target) {
            ir.attribute(function, None, "noinline", 0);
            if self.target.hosted && self.target.vector_bytes() > STACK_ALIGN {
                // Only a frame that has a pointer of its own can begin at a multiple of more than the stack does. When
                // registers do not suffice it is too late to ask for one, and vectors are kept in two cache lines each.
                ir.word(function, "frame-pointer", "all");
            }
        }
        if let Some(section) = self.section(&prim.name) {
            ir.section(function, &section);
        }
        for (number, param) in (0..).zip(&prim.params) {
            self.describe_parameter(function, prim, number, param);
        }
        Ok(function)
    }

    /// A function that another object defines. It never unwinds: Rust's shims abort, and C has nothing to unwind.
    fn declare_outside(&self, prim: &PrimFunc, symbol: &str, types: &[Type<'c>]) -> Value<'c> {
        let function = self.ir.function(symbol, types, None, Seen::Outside);
        self.ir.attribute(function, None, "nounwind", 0);
        for (number, param) in (0..).zip(&prim.params) {
            if let Param::Value(var) = param
                && let Some(extension) = self.extension(prim.vars[var.0 as usize].ty.elem)
            {
                self.ir.attribute(function, Some(number), extension, 0);
            }
        }
        function
    }

    /// How the C convention fills the register of a small integer.
    fn extension(&self, elem: Elem) -> Option<&'static str> {
        let (bits, signed) = match ops::Kind::of(elem) {
            ops::Kind::Bool => (8, false),
            ops::Kind::Half { .. } => (16, false),
            ops::Kind::Int { bits, signed } => (bits, signed),
            ops::Kind::Float { .. } => return None,
        };
        match bits {
            ..32 => Some(if signed { "signext" } else { "zeroext" }),
            // The convention of RISC-V extends the sign whatever the type says.
            32 if self.target.arch == tenfold_core::Arch::Riscv64 => Some("signext"),
            _ => None,
        }
    }

    /// The type that a parameter has in calls from outside, and inside for simplicity.
    fn parameter_type(&self, prim: &PrimFunc, param: &Param) -> Type<'c> {
        match param {
            Param::Buffer(..) | Param::Workspace => self.ir.pointer(),
            Param::Value(var) => self.value_type(prim, *var),
        }
    }

    /// An index is as wide as a pointer when it comes from outside (`ptrdiff_t`) or is known to fit, a `bool` is a byte.
    fn value_type(&self, prim: &PrimFunc, var: VarId) -> Type<'c> {
        match prim.vars[var.0 as usize].ty.elem {
            Elem::Index if prim.exported || prim.kind == FuncKind::Extern || self.narrow.has(&prim.name, var) => {
                self.ir.int(self.target.pointer_bits)
            }
            Elem::Index => self.ir.int(64),
            Elem::Scalar(dtype) => match ops::Kind::of(Elem::Scalar(dtype)) {
                ops::Kind::Bool => self.ir.int(8),
                ops::Kind::Int { bits, .. } => self.ir.int(bits),
                ops::Kind::Half { .. } => self.ir.int(16),
                ops::Kind::Float { bits } => self.ir.float(bits),
            },
        }
    }

    fn describe_parameter(&self, function: Value<'c>, prim: &PrimFunc, number: u32, param: &Param) {
        let say = |name: &str, value: u64| {
            self.ir.attribute(function, Some(number), name, value);
        };
        match param {
            Param::Value(_) => {}
            Param::Workspace => {
                say("noalias", 0);
            }
            Param::Buffer(buf, usage) => {
                let data = &prim.buffers[buf.0 as usize];
                say("nonnull", 0);
                say("align", data.dtype.align() as u64);
                if prim.exported || !self.aliases.shared(&prim.name, number) {
                    say("noalias", 0);
                }
                if *usage == tenfold_ir::tir::BufUse::In {
                    say("readonly", 0);
                }
                let elements: Option<i64> = data
                    .shape
                    .iter()
                    .map(|extent| extent.as_const())
                    .try_fold(1_i64, |size, extent| size.checked_mul(extent?));
                let bytes = elements.unwrap_or(0).max(0) as u64 * data.dtype.size_bytes() as u64;
                // A pointer to nothing may dangle, and gaps are not ours to read.
                if bytes > 0 && data.strides.is_none() {
                    say("dereferenceable", bytes);
                }
            }
        }
    }

    /// A section of its own for each function, so that a linker can leave it out.
    fn section(&self, name: &str) -> Option<String> {
        use tenfold_core::ObjectFormat;
        match self.target.format {
            ObjectFormat::Elf => Some(format!(".text.{name}")),
            ObjectFormat::Coff => Some(format!(".text${name}")),
            // Mach-O's linker splits at symbols; WebAssembly's at functions.
            ObjectFormat::MachO | ObjectFormat::Wasm => None,
        }
    }
}
