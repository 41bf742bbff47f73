//! One function for several levels of x86-64, whose codes read one constant.

use tenfold_core::tune::{Candidate, Decisions, How, Records, Tuned, kernels};
use tenfold_core::{CPUS, CodegenOptions, Compiled, Options, Stage, Target, Variant, compile, pass::PassContext};
use tenfold_ir::op::ElementOp;
use tenfold_ir::{
    ConstBytes, ConstData, DType, Function, Loc, Module,
    relax::{Builder, Op, ParamKind, TensorType},
};

use super::llvm;
use crate::LlvmBackend;

/// `x @ w`, `[rows, 64]` and a constant `[64, 192]`, of dtypes that are widened to 32 bits.
fn dense(rows: i64, [of_x, of_w]: [DType; 2]) -> Module {
    let mut module = Module { entry: "dense".into(), ..Module::default() };
    let bytes: Vec<u8> = (0..64 * 192 * of_w.size_bytes()).map(|n| (n % 100) as u8).collect();
    let (hash, name, dtype) = ("w".to_string(), "w".to_string(), of_w);
    let bytes = ConstBytes::Inline(bytes.into());
    let id = module.add_constant(ConstData { hash, name, dtype, shape: vec![64, 192], bytes });
    let mut b = Builder::new("dense");
    let tensor = |dtype: DType, shape: [i64; 2]| TensorType { dtype, shape: shape.map(Into::into).to_vec() };
    let x = b.param(ParamKind::Input, tensor(of_x, [rows, 64]), "x", 0, Loc::default());
    let w = b.constant(id, tensor(of_w, [64, 192]));
    let wide = Op::Element(ElementOp::Cast(if of_x.is_float() { DType::F32 } else { DType::I32 }));
    let factors = match of_x {
        DType::F32 => [x, w],
        _ => [x, w].map(|v| b.emit(wide.clone(), &[v]).expect("what is narrower is widened")),
    };
    let y = b.emit(Op::MatMul, &factors).expect("the shapes fit");
    module.functions.insert("dense".into(), Function::Relax(b.finish(&[y])));
    module
}

fn build(target: &Target, layout: Option<Target>) -> Option<Compiled> {
    build_of([DType::F32; 2], target, layout)
}

fn build_of(dtypes: [DType; 2], target: &Target, layout: Option<Target>) -> Option<Compiled> {
    build_module(dense(24, dtypes), target, layout)
}

fn build_module(module: Module, target: &Target, layout: Option<Target>) -> Option<Compiled> {
    build_with(module, &PassContext::new(target.clone()), layout)
}

fn build_with(module: Module, context: &PassContext, layout: Option<Target>) -> Option<Compiled> {
    let target = &context.target;
    let backend = LlvmBackend::new(llvm()?, &crate::find(&crate::Env::from_process()));
    let variants = target.levels().into_iter().map(|l| Variant { name: l.name.into(), target: target.with_level(&l) });
    let options = Options {
        codegen: CodegenOptions { texts: vec![Stage::Asm], ..CodegenOptions::default() },
        symbol: "dense_1".into(),
        variants: variants.collect(),
        layout,
        ..Options::default()
    };
    Some(compile(module, context, &options, &backend).unwrap_or_else(|errors| panic!("{errors:?}")))
}

/// How many lines of a code begin so.
fn count(asm: &str, names: &[&str]) -> usize {
    asm.lines().map(str::trim).filter(|line| names.iter().any(|name| line.starts_with(name))).count()
}

#[test]
fn each_level_has_its_registers_and_all_read_one_constant() {
    let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let widest = target.levels().last().map(|level| target.with_level(level));
    let Some(compiled) = build(&target, widest) else { return };
    assert_eq!(compiled.constants.len(), 1, "{:?}", compiled.constants.iter().map(|c| &c.name).collect::<Vec<_>>());
    assert_eq!(compiled.weights, 64 * 192 * 4);
    let symbol = tenfold_core::constant_symbol(&compiled.constants[0].hash);
    let all: Vec<&str> = [&compiled.artefact]
        .into_iter()
        .chain(compiled.variants.iter().map(|(_, a)| a))
        .map(|a| a.texts[&Stage::Asm].as_str())
        .collect();
    let [baseline, second, third, fourth] = all[..] else { panic!("{} codes", all.len()) };
    for asm in &all {
        assert!(asm.contains(&symbol), "{asm}");
    }
    for narrow in [baseline, second] {
        assert!(narrow.contains("mulps") && !narrow.contains("%ymm") && !narrow.contains("%zmm"));
    }
    assert!(third.contains("vfmadd") && third.contains("%ymm") && !third.contains("%zmm"));
    assert!(fourth.contains("vfmadd") && fourth.contains("%zmm"));
    for (asm, symbol) in all.iter().zip(["", "__x86_64_v2", "__x86_64_v3", "__x86_64_v4"]) {
        assert!(asm.lines().any(|line| line.starts_with(&format!("dense_1{symbol}:"))), "{symbol}");
    }
}

/// A tile reads whole vectors of its panel and holds as much in registers, whichever machine panels were made for: as
/// many loads stand beside each multiplication, and as little is put together from elements.
#[test]
fn panels_of_a_wider_machine_cost_no_loads() {
    let plain = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let target = plain.with_level(&plain.levels()[1]);
    let widest = target.levels().last().map(|level| target.with_level(level));
    let (Some(own), Some(other)) = (build(&target, None), build(&target, widest)) else { return };
    let counts = [own, other].map(|compiled| {
        let asm = &compiled.artefact.texts[&Stage::Asm];
        let loads = count(asm, &["vbroadcastss", "vmovups", "vmovaps"]);
        [count(asm, &["vfmadd"]), loads, count(asm, &["vgather", "vinsert", "vperm", "vunpck"])]
    });
    let [[own, own_loads, own_apart], [other, other_loads, other_apart]] = counts;
    assert!(own > 0 && other > 0, "{counts:?}");
    assert!(other_loads * own * 4 <= own_loads * other * 5, "{counts:?}");
    assert!(other_apart * own * 4 <= own_apart * other * 5, "{counts:?}");
}

const BYTES: [[DType; 2]; 4] =
    [[DType::U8, DType::I8], [DType::I8, DType::I8], [DType::U8, DType::U8], [DType::I8, DType::U8]];

/// Products of bytes have a code for the level that adds four of them and one for the level that multiplies matrices, and
/// the others add two products of 16 bits.
#[test]
fn products_of_bytes_have_a_level_of_their_own() {
    let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let widest = target.levels().last().map(|level| target.with_level(level));
    for (dtypes, matrices) in BYTES.into_iter().zip(["tdpbusd", "tdpbssd", "tdpbuud", "tdpbsud"]) {
        let Some(compiled) = build_of(dtypes, &target, widest.clone()) else { return };
        let names: Vec<&str> = compiled.variants.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-amx"]);
        assert_eq!((compiled.constants.len(), compiled.weights), (1, 64 * 192), "weights stay in 8 bits");
        let codes = [&compiled.artefact].into_iter().chain(compiled.variants.iter().map(|(_, code)| code));
        for (n, code) in codes.enumerate() {
            let asm = &code.texts[&Stage::Asm];
            let [fours, pairs] = [["vpdpbusd"], ["pmaddwd"]]
                .map(|names| asm.lines().filter(|line| names.iter().any(|name| line.contains(name))).count());
            assert_eq!((fours > 0, pairs > 0), (n == 4, n < 4), "{dtypes:?}, code {n}: {fours}, {pairs}");
            // 24 rows in two registers, 32 columns in two.
            let tiles = [matrices, "ldtilecfg", "tilerelease"].map(|name| count(asm, &[name]));
            assert_eq!(tiles, if n == 5 { [4, 1, 1] } else { [0; 3] }, "{dtypes:?}, code {n}");
            assert!(n < 3 || asm.contains("%zmm"), "{dtypes:?}, code {n}");
        }
    }
}

/// Products of `bf16` have a code that adds two of them and one that multiplies matrices, and the others fuse each with
/// its sum; weights lie in words of two for all of them.
#[test]
fn products_of_halves_have_levels_of_their_own() {
    let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let widest = target.levels().last().map(|level| target.with_level(level));
    let Some(compiled) = build_of([DType::BF16; 2], &target, widest) else { return };
    let names: Vec<&str> = compiled.variants.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx"]);
    assert_eq!((compiled.constants.len(), compiled.weights), (1, 64 * 192 * 2));
    let codes = [&compiled.artefact].into_iter().chain(compiled.variants.iter().map(|(_, code)| code));
    for (n, code) in codes.enumerate() {
        let asm = &code.texts[&Stage::Asm];
        let tiles = ["tdpbf16ps", "ldtilecfg", "tilerelease"].map(|name| count(asm, &[name]));
        // 24 rows in two registers, 32 columns in two, and twice 32 terms, written out.
        assert_eq!(tiles, if n == 5 { [8, 1, 1] } else { [0; 3] }, "code {n}");
        let [fused, separate, dots] = [&["vfmadd"][..], &["mulps", "vmulps"], &["vdpbf16ps"]].map(|of| count(asm, of));
        assert_eq!((fused > 0, separate > 0, dots > 0), (n == 2 || n == 3, n < 2, n == 4), "code {n}");
    }
}

/// Processors that multiply matrices add two products at half the rate: what no matrix pays for is fused with its sum
/// there, and has no code of its own.
#[test]
fn products_of_halves_are_fused_beside_matrices() {
    let plain = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let widest = plain.levels().last().map(|level| plain.with_level(level));
    let row = || dense(1, [DType::BF16; 2]);
    let Some(compiled) = build_module(row(), &plain, widest.clone()) else { return };
    let names: Vec<&str> = compiled.variants.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16"]);
    let Some(compiled) = widest.and_then(|target| build_module(row(), &target, None)) else { return };
    let asm = &compiled.artefact.texts[&Stage::Asm];
    assert_eq!((count(asm, &["tdp", "vdpbf16ps"]), count(asm, &["vfmadd"]) > 0), (0, true));
}

/// A processor that multiplies matrices of bytes alone has vectors for `bf16`.
#[test]
fn products_of_halves_need_their_own_feature() {
    let plain = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let features: Vec<&str> = plain.levels()[2].features.iter().copied().chain(["amx-int8", "amx-tile"]).collect();
    let target = Target::from_triple(&plain.triple, &features);
    let Some(compiled) = build_of([DType::BF16; 2], &target, None) else { return };
    let asm = &compiled.artefact.texts[&Stage::Asm];
    assert_eq!((count(asm, &["tdp", "ldtilecfg"]), count(asm, &["vfmadd"]) > 0), (0, true));
}

/// A record of a kernel with words is for the level at which it was found: no other one has the matrices that it decides
/// for, and each would say that the record does not fit.
#[test]
fn records_of_products_are_for_one_level() {
    let plain = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let widest = plain.levels().last().map(|level| plain.with_level(level)).expect("there are levels");
    let (module, context) = (dense(24, [DType::BF16; 2]), PassContext::new(widest.clone()));
    let (found, _) = kernels(module.clone(), &context, &How::default()).expect("the module is good");
    let kernel = found.iter().find(|kernel| kernel.name.contains("matmul")).expect("a product");
    let decisions = Decisions::parse("matrix=yes").expect("it is one");
    let candidate = Candidate::of(kernel, &context, &decisions).expect("the passes run").expect("a rule takes it");
    assert!(candidate.decisions.to_string().contains("matrix=yes"), "{}", candidate.decisions);
    let mut records = Records::default();
    records.put(candidate.entry("", None));
    let context = PassContext::new(plain).with_tuned(Tuned::by(records));
    let Some(compiled) = build_with(module, &context, Some(widest)) else { return };
    assert_eq!(compiled.variants.len(), 5);
    assert_eq!((context.tuned.refusals(), context.tuned.used().len()), (Vec::new(), 1));
}

/// A level whose features no product gains from has no code: a row alone is faster in vectors.
#[test]
fn what_no_matrix_pays_for_has_no_level_of_its_own() {
    let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse", "sse2"]);
    let Some(compiled) = build_module(dense(1, BYTES[0]), &target, None) else { return };
    assert_eq!(compiled.variants.last().map(|(name, _)| name.as_str()), Some("x86-64-v4-vnni"));
}

/// ARM's instructions are for factors of one kind; one for both kinds came later.
#[test]
fn products_of_bytes_are_dot_products_on_arm() {
    let cases: [(&[&str], [&str; 4]); 2] = [
        (&["neon", "dotprod"], ["udot", "sdot", "udot", "sdot"]),
        (&["neon", "dotprod", "i8mm"], ["usdot", "sdot", "udot", "usdot"]),
    ];
    for (features, wanted) in cases {
        let target = Target::from_triple("aarch64-unknown-linux-gnu", features);
        for (dtypes, name) in BYTES.into_iter().zip(wanted) {
            let Some(compiled) = build_of(dtypes, &target, None) else { return };
            let asm = &compiled.artefact.texts[&Stage::Asm];
            let found = ["usdot", "udot", "sdot"].into_iter().find(|known| count(asm, &[known]) > 0);
            assert_eq!(found, Some(name), "{features:?}, {dtypes:?}");
        }
    }
}

/// What tells factors with signs from those without is a level of its own where they are mixed, and code for functions
/// without products of bytes there is once.
#[test]
fn products_of_bytes_have_levels_on_arm() {
    let target = Target::from_triple("aarch64-unknown-linux-gnu", &["neon"]);
    let widest = target.levels().last().map(|level| target.with_level(level));
    let both = ["aarch64-dotprod", "aarch64-i8mm"];
    let cases = [(BYTES[0], &both[..]), (BYTES[1], &both[..1]), (BYTES[2], &both[..1]), (BYTES[3], &both[..])];
    for (dtypes, wanted) in cases.into_iter().chain([([DType::F32; 2], &[][..])]) {
        let Some(compiled) = build_of(dtypes, &target, widest.clone()) else { return };
        let names: Vec<&str> = compiled.variants.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, wanted, "{dtypes:?}");
        assert_eq!(compiled.constants.len(), 1);
        assert_eq!(count(&compiled.artefact.texts[&Stage::Asm], &["usdot", "udot", "sdot"]), 0, "{dtypes:?}");
        for (name, code) in &compiled.variants {
            let mixed = count(&code.texts[&Stage::Asm], &["usdot"]) > 0;
            let plain = count(&code.texts[&Stage::Asm], &["udot", "sdot"]) > 0;
            assert_eq!((mixed, plain), (name == both[1], name == both[0]), "{dtypes:?}, {name}");
        }
    }
}

/// Microcontrollers with vectors add products of two of them to a number: four columns for each of two rows, and what is
/// left of the rows.
#[test]
fn products_of_bytes_are_sums_of_vectors_on_microcontrollers() {
    let plain = Target::from_triple("thumbv8m.main-none-eabihf", &["dsp"]);
    let cpu = CPUS.iter().find(|cpu| cpu.name == "cortex-m55").expect("it is in the table");
    let with_vectors = plain.with_cpu(cpu);
    for (dtypes, target, vectors) in
        [(BYTES[1], &with_vectors, true), (BYTES[0], &with_vectors, false), (BYTES[1], &plain, false)]
    {
        let Some(compiled) = build_of(dtypes, target, None) else { return };
        let asm = &compiled.artefact.texts[&Stage::Asm];
        let found = [count(asm, &["vmlava.s8", "vmlav.s8"]) >= 8, count(asm, &["smlad"]) > 0];
        assert_eq!(found, [vectors, target == &plain], "{dtypes:?}");
    }
}
