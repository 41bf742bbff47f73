//! What `cargo tenfold explain` says of small functions: texts that stand beside them, and counts that were made by hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tenfold_core::Target;
use tenfold_core::pass::PassContext;
use tenfold_core::show::explain::{Explained, Measured, Report, explain};

/// The files under `explain/`, with dims.
const FILES: [(&str, &[(&str, i64)]); 9] = [
    ("matmul", &[("B", 8)]),
    ("static", &[]),
    ("conv", &[]),
    ("softmax", &[]),
    ("elements", &[]),
    ("strided", &[]),
    ("gather", &[]),
    ("net", &[]),
    ("late", &[]),
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain").join(name)
}

fn explained(name: &str, dims: &[(&str, i64)]) -> Result<Explained, String> {
    explained_for(&["avx", "avx2", "fma"], name, dims)
}

fn explained_for(features: &[&str], name: &str, dims: &[(&str, i64)]) -> Result<Explained, String> {
    let text = std::fs::read_to_string(path(&format!("{name}.relax"))).expect("the file is there");
    let text: String = text.lines().filter(|line| !line.starts_with(';')).map(|line| format!("{line}\n")).collect();
    let module = tenfold_ir::parse_module(&text, &[0; 1 << 15]).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", features));
    let dims: BTreeMap<String, i64> = dims.iter().map(|(name, n)| (name.to_string(), *n)).collect();
    explain(module, &context, &[], &dims).map_err(|error| format!("{}; {:?}", error.message, error.help))
}

fn report(name: &str, dims: &[(&str, i64)], measured: Result<&Measured, &str>) -> Report {
    explained(name, dims).unwrap_or_else(|error| panic!("{name}: {error}")).report(measured)
}

fn check(name: &str, found: &str) {
    let path = path(name);
    if std::env::var_os("TENFOLD_BLESS").is_some_and(|v| v == "1") {
        return std::fs::write(&path, found).expect("the text can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} is stale: TENFOLD_BLESS=1 cargo test -p tenfold-core --test explain");
}

#[test]
fn texts_without_times() {
    for (name, dims) in FILES {
        check(&format!("{name}.txt"), &report(name, dims, Err("it is a test")).text);
    }
}

/// What a machine of round figures says of `net`: its kernels in the order of their calls.
const ROUND: &str = "tick 20
between 2120
whole 45020 44020 90020 100
site 0 12020 1 9000
site 1 20020 1 15000
site 2 11020 1 9000
backend llvm
threads 1
clock 1000000000
peak 100000000000
level 16384 50000000000 40000000000
level 65536 20000000000 10000000000
";

#[test]
fn a_text_with_times() {
    let measured = Measured::parse(ROUND).expect("it can be read");
    let Report { text, json, html } = report("net", &[], Ok(&measured));
    check("net_timed.txt", &text);
    check("net_timed.json", &json);
    for part in ["20.0 µs", "What to look at", "class=\"roofs\"", "class=\"shape\"", ">f32[64, 64]</text>"] {
        assert!(html.contains(part), "`{part}` is not in {html}");
    }
    // memory has an axis of time: it ends with the sum of the kernels
    let axis = html.split("class=\"memory\"").nth(1).expect("the picture of memory");
    assert!(axis.contains(">0 ns</text>") && axis.contains(">43.0 µs</text>"), "{axis}");
}

#[test]
fn what_a_program_says_is_read_or_refused() {
    assert_eq!(Measured::parse("status 3\n"), Err("status 3".into()));
    for wrong in ["", "whole 1 1 1 5\n", "flops 3\n", "peak much\n", "clock inf\n", "tick\n"] {
        assert!(Measured::parse(wrong).is_err(), "{wrong}");
    }
}

/// The numbers of each kernel in a report, by key.
fn numbers(json: &str, key: &str) -> Vec<u64> {
    let key = format!("\"{key}\": ");
    let pieces = json.split(&key).skip(1);
    pieces.map(|rest| rest.split([',', '}']).next().and_then(|n| n.parse().ok()).expect("a number")).collect()
}

#[test]
fn counts_are_those_that_were_made_by_hand() {
    // flops, integer operations, bytes read, bytes written: of all kernels together
    let cases: [(&str, [u64; 4]); 7] = [
        ("matmul", [2 * 8 * 64 * 32 + 2 * 8 * 64, 0, 4 * (8 * 32 + 32 * 64 + 64), 4 * 8 * 64]),
        ("static", [2 * 512 * 512 * 512, 0, 2 * 4 * 512 * 512, 4 * 512 * 512]),
        ("conv", [36 * 16 * 2 * 27, 0, 4 * (3 * 64 + 16 * 27 + 16 + 16 * 36), 2 * 4 * 36 * 16]),
        ("softmax", [5 * 32 * 128 + 32, 0, 4 * 32 * 128, 4 * 32 * 128]),
        ("elements", [2 * 1000, 0, 2 * 4 * 1000, 4 * 1000]),
        ("strided", [0, 0, 4 * 8 * 32, 4 * 8 * 32]),
        ("gather", [0, 0, 4 * 10 * 16 + 8 * 10, 4 * 10 * 16]),
    ];
    for (name, expected) in cases {
        let dims = FILES.iter().find(|(file, _)| *file == name).map_or(&[][..], |(_, dims)| dims);
        let json = report(name, dims, Err("it is a test")).json;
        let keys = ["flops", "integer_operations", "bytes_read", "bytes_written"];
        let found = keys.map(|key| numbers(&json, key).iter().sum::<u64>());
        assert_eq!(found, expected, "{name}: {json}");
    }
}

/// A core that adds four products of bytes at once, or two of `bf16`, has a roof so much higher for them, and one that
/// multiplies matrices of them 32 times or 16; words, which are not made for every core, change nothing of it.
#[test]
fn products_of_bytes_and_of_halves_have_roofs_of_their_own() {
    let measured = "backend llvm\nclock 1000000000\npeak 100000000000\nlevel 1048576 1e15 1e15\n\
                    tick 1\nbetween 1\nwhole 100001 100001 100001 100\nsite 0 100000 1 100000\n";
    let measured = Measured::parse(measured).expect("it can be read");
    let part = |name: &str, more: &[&str]| {
        let features = [&["avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl"], more].concat();
        let explained = explained_for(&features, name, &[]).unwrap_or_else(|error| panic!("{error}"));
        let json = explained.report(Ok(&measured)).json;
        let part = json.split("\"of_roof\": ").nth(1).and_then(|rest| rest.split([',', '}']).next());
        (part.and_then(|part| part.parse::<f64>().ok()).expect("a number") * 1e4).round()
    };
    // 2 * 64 * 64 * 256 operations, 1e11 of them a second, in 100 µs.
    for (name, features, percent) in [
        ("halves", &[][..], 2097.0),
        ("halves", &["avx512vnni", "amx-tile", "amx-int8"], 2097.0),
        ("halves", &["avx512bf16"], 1049.0),
        ("halves", &["avx512bf16", "amx-tile", "amx-bf16"], 131.0),
        ("bytes", &[], 2097.0),
        ("bytes", &["avx512vnni"], 524.0),
        ("bytes", &["avx512vnni", "amx-tile", "amx-int8"], 66.0),
    ] {
        assert_eq!(part(name, features), percent, "{name}, {features:?}");
    }
}

#[test]
fn dims_are_numbers_that_the_function_takes() {
    let error = |dims: &[(&str, i64)]| explained("matmul", dims).err().unwrap_or_default();
    assert!(error(&[]).contains("`B` has none; Some(\"bind it: `--dim B=N`\")"), "{}", error(&[]));
    assert!(error(&[("C", 3)]).contains("has no dim `C`; Some(\"its dims are `B`\")"), "{}", error(&[("C", 3)]));
    assert!(error(&[("B", 65)]).contains("`B <= 64` does not hold"), "{}", error(&[("B", 65)]));
    assert!(error(&[("B", -1)]).contains("`B` cannot be negative"), "{}", error(&[("B", -1)]));
}
