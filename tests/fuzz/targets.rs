//! What is fuzzed: each takes any bytes and must neither panic nor hang nor allocate without bound.

use tenfold_ir::{Function, Module, arith, relax, tir};

/// A target by name.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All targets.
pub(crate) const TARGETS: &[Target] = &[
    ("syntax", syntax),
    ("relax", relax_text),
    ("tir", tir_text),
    ("arith", arith_text),
    ("blob", blob),
    ("safetensors", safetensors),
    ("npy", npy),
];

/// `#[tensor_fn]`: parse, hash, elaborate; what comes out obeys the laws.
fn syntax(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = tenfold_syntax::parse_text(text);
    parsed.diagnostics.iter().for_each(|d| {
        parsed.spans.bytes(d.node);
    });
    tenfold_syntax::render::render(text, &parsed.spans, &parsed.diagnostics);
    let Some(function) = &parsed.function else { return };
    tenfold_syntax::fingerprint(function);
    let done = tenfold_syntax::elaborate::elaborate(function, &tenfold_syntax::elaborate::ItemAlone);
    if let Some(module) = done.module {
        for function in module.functions.values() {
            let broken = match function {
                Function::Relax(f) => relax::verify(&module, f),
                Function::Prim(f) => tir::verify(&module, f),
            };
            assert!(broken.is_empty(), "{broken:#?}");
        }
    }
}

/// The text of relax: what is read is verified, and prints to what reads back as the same.
fn relax_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(function) = relax::parse_function(text) else { return };
    relax::verify(&Module::default(), &function);
    let printed = relax::print_function(&function);
    let again = relax::parse_function(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(relax::print_function(&again), printed);
}

/// The same of tir.
fn tir_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let module = Module::default();
    let Ok(functions) = tir::parse(&module, text) else { return };
    for function in functions {
        tir::verify(&module, &function);
        let printed = tir::print(&module, &function);
        let again = tir::parse(&module, &printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(tir::print(&module, &again[0]), printed);
    }
}

/// Integer expressions and facts: they read back as they print, and a prover answers.
fn arith_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (facts, goal) = text.rsplit_once('\n').unwrap_or(("", text));
    let mut prover = arith::Prover::new();
    for fact in facts.lines().take(6).filter_map(|line| arith::Fact::parse(line).ok()) {
        assert_eq!(arith::Fact::parse(&fact.to_string()).as_ref(), Ok(&fact), "{fact}");
        prover.assume(fact);
    }
    if let Ok(goal) = arith::IntExpr::parse(goal) {
        assert_eq!(arith::IntExpr::parse(&goal.to_string()).as_ref(), Ok(&goal), "{goal}");
        prover.prove_ge0(&goal);
        prover.simplify(&goal);
        prover.modular_set(&goal);
        prover.const_int_bound(&goal);
    }
}

/// A blob, at an aligned address: whole, or with its hashes made right.
fn blob(bytes: &[u8]) {
    let mut room = vec![0_u8; bytes.len() + 16];
    let start = room.as_ptr().align_offset(16);
    let aligned = &mut room[start..start + bytes.len()];
    aligned.copy_from_slice(bytes);
    walk(aligned);
    mend(aligned);
    walk(aligned);
}

/// Everything that a reader hands out.
fn walk(bytes: &[u8]) {
    let Ok(blob) = tenfold::blob::Blob::read(bytes) else { return };
    let modules: Vec<_> = blob.modules().collect();
    assert_eq!(modules.len(), blob.len());
    for (at, module) in modules.iter().enumerate() {
        assert_eq!(blob.find(module.key).as_ref(), Some(module));
        assert!(blob.imports(at).all(|child| at < child && child < modules.len()));
    }
}

/// Puts right the hashes and lengths that a fuzzer does not guess.
fn mend(bytes: &mut [u8]) {
    use tenfold_abi::blob::{ALIGN, HEADER, MAGIC, VERSION, hash};
    let len = bytes.len() as u64;
    let Some((head, body)) = bytes.split_at_mut_checked(HEADER) else { return };
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&(ALIGN as u32).to_le_bytes());
    head[16..24].copy_from_slice(&len.to_le_bytes());
    head[40..48].fill(0);
    mend_entries(body);
    head[32..40].copy_from_slice(&hash(body).to_le_bytes());
}

fn mend_entries(mut body: &mut [u8]) {
    use tenfold_abi::blob::{ENTRY, hash, padded};
    while let Some((head, rest)) = body.split_at_mut_checked(ENTRY) {
        let word = |at: usize| usize::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
        let (Some(key), Some(payload)) = (padded(word(0)), padded(word(8))) else { return };
        let len = word(8);
        let Some((_, rest)) = rest.split_at_mut_checked(key) else { return };
        let Some((payload, rest)) = rest.split_at_mut_checked(payload) else { return };
        head[16..24].copy_from_slice(&hash(&payload[..len]).to_le_bytes());
        body = rest;
    }
}

/// A safetensors file.
fn safetensors(bytes: &[u8]) {
    tenfold_build::holds_tensor(bytes, Some("w"));
}

/// An npy file.
fn npy(bytes: &[u8]) {
    tenfold_build::holds_tensor(bytes, None);
}
