//! One function for several levels of x86-64, whose codes read one constant.

use tenfold_core::{CodegenOptions, Compiled, Options, Stage, Target, Variant, compile, pass::PassContext};
use tenfold_ir::{
    ConstBytes, ConstData, DType, Function, Loc, Module,
    relax::{Builder, Op, ParamKind, TensorType},
};

use super::llvm;
use crate::LlvmBackend;

/// `x @ w`, `[24, 64]` and a constant `[64, 192]`.
fn dense() -> Module {
    let mut module = Module { entry: "dense".into(), ..Module::default() };
    let bytes: Vec<u8> = (0..64 * 192).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let (hash, name, dtype) = ("w".to_string(), "w".to_string(), DType::F32);
    let bytes = ConstBytes::Inline(bytes.into());
    let id = module.add_constant(ConstData { hash, name, dtype, shape: vec![64, 192], bytes });
    let mut b = Builder::new("dense");
    let tensor = |shape: [i64; 2]| TensorType { dtype, shape: shape.map(Into::into).to_vec() };
    let x = b.param(ParamKind::Input, tensor([24, 64]), "x", 0, Loc::default());
    let w = b.constant(id, tensor([64, 192]));
    let y = b.emit(Op::MatMul, &[x, w]).expect("the shapes fit");
    module.functions.insert("dense".into(), Function::Relax(b.finish(&[y])));
    module
}

fn build(target: &Target, layout: Option<Target>) -> Option<Compiled> {
    let backend = LlvmBackend::new(llvm()?, &crate::find(&crate::Env::from_process()));
    let variants = target.levels().into_iter().map(|l| Variant { name: l.name.into(), target: target.with_level(&l) });
    let options = Options {
        codegen: CodegenOptions { texts: vec![Stage::Asm], ..CodegenOptions::default() },
        symbol: "dense_1".into(),
        variants: variants.collect(),
        layout,
        ..Options::default()
    };
    let context = PassContext::new(target.clone());
    Some(compile(dense(), &context, &options, &backend).unwrap_or_else(|errors| panic!("{errors:?}")))
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
    let all: Vec<&str> =
        [&compiled.artefact].into_iter().chain(&compiled.variants).map(|a| a.texts[&Stage::Asm].as_str()).collect();
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
