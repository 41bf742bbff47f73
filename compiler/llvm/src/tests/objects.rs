//! Objects for other machines: what they leave to the linker, and that they are the same twice.

use tenfold_core::pass::{self, PassContext};
use tenfold_core::{CodegenOptions, PIPELINE, Stage, Target, elf};
use tenfold_ir::{
    DType,
    arith::IntExpr,
    op::{BinaryOp, UnaryOp},
    tir::{Access, BufUse, Builder, Intrinsic, Phase, PrimFunc, Ty},
};

use super::{elementwise, llvm, module};
use crate::{backend, machine::Machine};

const TARGETS: &[&str] = &[
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-none",
    "armv7-unknown-linux-gnueabihf",
    "thumbv6m-none-eabi",
    "thumbv7m-none-eabi",
    "thumbv7em-none-eabi",
    "thumbv7em-none-eabihf",
    "thumbv8m.main-none-eabi",
    "thumbv8m.main-none-eabihf",
    "riscv32imac-unknown-none-elf",
    "riscv32imafc-unknown-none-elf",
    "riscv64gc-unknown-none-elf",
];

/// The other formats, of which only the size and the repetition are looked at.
const OTHERS: &[&str] =
    &["wasm32-unknown-unknown", "aarch64-apple-darwin", "x86_64-apple-darwin", "x86_64-pc-windows-msvc"];

/// Every operator on every dtype, and every conversion.
fn everything() -> Vec<PrimFunc> {
    let mut prims = Vec::new();
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_bool()) {
        let ints = [BinaryOp::And, BinaryOp::Shl, BinaryOp::Shr];
        let both = [
            BinaryOp::Add,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::DivEuclid,
            BinaryOp::RemEuclid,
            BinaryOp::Min,
            BinaryOp::Max,
        ];
        for op in both.into_iter().chain(ints.into_iter().filter(|_| dtype.is_int())) {
            prims.push(elementwise(&format!("{dtype}_{op:?}"), &[dtype; 2], dtype, |b, x| b.binary(op, x[0], x[1])));
        }
    }
    let unary = [
        UnaryOp::Abs,
        UnaryOp::Sign,
        UnaryOp::Floor,
        UnaryOp::Ceil,
        UnaryOp::Round,
        UnaryOp::Trunc,
        UnaryOp::Sqrt,
        UnaryOp::Rsqrt,
    ];
    for dtype in floats {
        for op in unary {
            prims.push(elementwise(&format!("{dtype}_{op:?}"), &[dtype], dtype, |b, x| b.unary(op, x[0])));
        }
        prims.push(elementwise(&format!("{dtype}_fma"), &[dtype; 3], dtype, |b, x| {
            b.call(Intrinsic::Fma, x.to_vec(), Ty::scalar(dtype))
        }));
    }
    for from in DType::ALL {
        for to in DType::ALL {
            prims.push(elementwise(&format!("{from}_{to}"), &[from], to, |b, x| b.cast(to, x[0])));
        }
    }
    prims
}

/// What a program may be asked for: memory functions, and arithmetic that Rust's own runtime
/// (`compiler_builtins`) has on every target.
fn allowed(name: &str) -> bool {
    const MEMORY: &[&str] = &["memcpy", "memset", "memmove"];
    let arm = name.strip_prefix("__aeabi_").is_some_and(|rest| {
        let arithmetic = rest.starts_with(['d', 'f', 'i', 'u', 'l']) && !rest.starts_with("unwind");
        arithmetic || rest.starts_with("mem")
    });
    const SUFFIXES: &[&str] = &[
        "sf3", "df3", "si3", "di3", "sf2", "df2", "si2", "di2", "sfsi", "sfdi", "dfsi", "dfdi", "sisf", "sidf", "disf",
        "didf", "ti3",
    ];
    let arithmetic = name.starts_with("__") && SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    MEMORY.contains(&name) || arm || arithmetic
}

#[test]
fn only_known_functions_are_left_to_the_linker() {
    let Some(llvm) = llvm() else { return };
    let everything = everything();
    for (number, triple) in TARGETS.iter().enumerate() {
        // Every operator meets every kind of target; all of them on all would take a minute.
        let part = everything.iter().skip(number % 3).step_by(if number % 4 == 0 { 1 } else { 3 });
        let module = module(part.cloned().collect());
        let target = Target::from_triple(triple, &[]);
        let machine = Machine::of(&target).expect("it is in the table");
        let artefact = backend::build(llvm, &machine, &module, &target, &CodegenOptions::default())
            .unwrap_or_else(|error| panic!("{triple}: {error}"));
        let names = elf::undefined(&artefact.object).expect("it is an ELF object");
        let wrong: Vec<&String> = names.iter().filter(|name| !allowed(name)).collect();
        assert!(wrong.is_empty(), "{triple}: {wrong:?}");
        assert!(artefact.stack.is_some(), "{triple}: it is not known what one of {names:?} takes");
        if triple.starts_with("x86_64") || triple.starts_with("aarch64") {
            assert!(names.iter().all(|name| name.starts_with("mem")), "{triple}: {names:?}");
        }
    }
}

/// Where floats are passed in registers of the float unit, the object says so (`Tag_ABI_VFP_args`), or no linker takes it.
#[test]
fn the_float_abi_is_the_targets() {
    let Some(llvm) = llvm() else { return };
    let scale = || {
        let mut b = Builder::new("scale");
        let x = b.buffer_param("x", DType::F32, vec![IntExpr::from(1)], BufUse::InOut);
        let factor = b.scalar_param("factor", DType::F32);
        let (at, by) = (b.index(0), b.read(factor));
        let value = b.load(x, vec![at], Access::Proven);
        let value = b.mul(value, by);
        b.store(x, vec![at], value);
        b.func_mut().exported = true;
        b.finish()
    };
    let hard = ["thumbv7em-none-eabihf", "thumbv8m.main-none-eabihf", "armv7-unknown-linux-gnueabihf"];
    let soft = ["thumbv6m-none-eabi", "thumbv7m-none-eabi", "thumbv7em-none-eabi"];
    for triple in hard.into_iter().chain(soft) {
        let target = Target::from_triple(triple, &[]);
        let machine = Machine::of(&target).expect("it is in the table");
        let options = CodegenOptions { texts: vec![Stage::Asm], ..CodegenOptions::default() };
        let artefact = backend::build(llvm, &machine, &module(vec![scale()]), &target, &options);
        let asm = artefact.expect("it compiles").texts[&Stage::Asm].clone();
        assert_eq!(asm.contains("Tag_ABI_VFP_args"), hard.contains(&triple), "{triple}: {asm}");
        assert_eq!(asm.contains("__aeabi_fmul"), soft.contains(&triple), "{triple}: {asm}");
    }
}

#[test]
fn the_same_bytes_twice() {
    let Some(llvm) = llvm() else { return };
    let prims: Vec<PrimFunc> = everything().into_iter().step_by(29).collect();
    let module = module(prims);
    for triple in TARGETS.iter().chain(OTHERS) {
        let target = Target::from_triple(triple, &[]);
        let machine = Machine::of(&target).expect("it is in the table");
        let build = || {
            backend::build(llvm, &machine, &module, &target, &CodegenOptions::default())
                .unwrap_or_else(|error| panic!("{triple}: {error}"))
        };
        let (first, second) = (build(), build());
        assert!(!first.object.is_empty() && first.object == second.object, "{triple}");
    }
}

/// `y[i, j] = x[j, i]` of fixed extents, through the passes of a machine from `NarrowDataType` on.
fn transposed(triple: &str) -> tenfold_ir::Module {
    let mut b = Builder::new("transposed");
    let shape = vec![IntExpr::from(120_000)];
    let x = b.buffer_param("x", DType::F32, shape.clone(), BufUse::In);
    let y = b.buffer_param("y", DType::F32, shape, BufUse::Out);
    let (i, j, rows, columns) = (b.index_var("i"), b.index_var("j"), b.index(300), b.index(400));
    b.for_(i, rows, |b| {
        b.for_(j, columns, |b| {
            let (at_i, at_j) = (b.read(i), b.read(j));
            let (row, column) = (b.mul(at_i, columns), b.mul(at_j, rows));
            let (to, from) = (b.add(row, at_j), b.add(column, at_i));
            let value = b.load(x, vec![from], Access::Proven);
            b.store(y, vec![to], value);
        });
    });
    b.func_mut().phase = Phase::Flat;
    b.func_mut().exported = true;
    let mut module = module(vec![b.finish()]);
    let from = PIPELINE.iter().position(|pass| pass.info.name == "NarrowDataType").expect("it is in the pipeline");
    let context = PassContext::new(Target::from_triple(triple, &[]));
    pass::run(&PIPELINE[from..], &mut module, &context).unwrap_or_else(|error| panic!("{error:?}"));
    module
}

#[test]
fn indices_are_as_wide_as_addresses() {
    let Some(llvm) = llvm() else { return };
    for (triple, wide) in [("thumbv7m-none-eabi", false), ("x86_64-unknown-linux-gnu", true)] {
        let (module, target) = (transposed(triple), Target::from_triple(triple, &[]));
        let machine = Machine::of(&target).expect("it is in the table");
        let options = CodegenOptions { texts: vec![Stage::Llvm], ..CodegenOptions::default() };
        let artefact = backend::build(llvm, &machine, &module, &target, &options).expect("it compiles");
        let ir = &artefact.texts[&Stage::Llvm];
        assert_eq!(ir.contains(" i64 "), wide, "{triple}: {ir}");
        let c = tenfold_core::c::emit(&module);
        let body = c.rsplit("TF_EXPORT").next().expect("there is a function");
        assert_eq!(body.contains("int64_t"), wide, "{triple}: {body}");
        assert_eq!(body.contains("for (int32_t j_1 = 0; j_1 < 400; j_1++)"), !wide, "{triple}: {body}");
        assert_eq!(body.contains("y[((i_1 * 400) + j_1)] = x[((j_1 * 300) + i_1)];"), !wide, "{triple}: {body}");
    }
}
