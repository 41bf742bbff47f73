//! Commands over ONNX models. They compile for this machine, through LLVM and a C compiler.

use crate::package::Package;
use std::path::Path;
use tenfold_tests::tools;

#[path = "../../../../compiler/onnx/tests/support/mod.rs"]
#[allow(dead_code, reason = "the importer's tests use more of it")]
pub(crate) mod support;

/// Whether a program can be linked here; a line says so if not.
pub(crate) fn has_cc() -> bool {
    let found = tools::has(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    if !found {
        tools::skip("a C compiler", "`apt-get install gcc` installs one");
    }
    found
}

fn case(folder: &Path, name: &str, model: &[u8], input: &str, output: &str) {
    let set = folder.join(name).join("test_data_set_0");
    std::fs::create_dir_all(&set).expect("a folder");
    std::fs::write(folder.join(name).join("model.onnx"), model).expect("a file");
    std::fs::write(set.join("input_0.pb"), support::tensor(input).into_bytes()).expect("a file");
    std::fs::write(set.join("output_0.pb"), support::tensor(output).into_bytes()).expect("a file");
}

const DOUBLE: &str = "input x: float[N, 2]\ny = Add(x, x)\noutput y";

#[test]
fn cases_pass_and_fail_by_themselves() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("onnx-check");
    let folder = package.path("cases");
    let double = support::model(DOUBLE);
    case(&folder, "a/right", &double, "x: float[2, 2] = 1, 2, 3, 4", "y: float[2, 2] = 2, 4, 6, 8");
    case(&folder, "a/wrong", &double, "x: float[1, 2] = 1, 2", "y: float[1, 2] = 2, 5");
    case(&folder, "a/shape", &double, "x: float[1, 2] = 1, 2", "y: float[2] = 2, 4");
    case(
        &folder,
        "b/unknown",
        &support::model("input x: float[1]\ny = Foo(x)\noutput y"),
        "x: float[1] = 1",
        "y: float[1] = 1",
    );
    case(&folder, "b/damaged", &double[..20], "x: float[1] = 1", "y: float[1] = 1");
    let loose = package.path("cases/a/loose");
    case(&folder, "a/loose", &double, "x: float[1, 2] = 1, 2", "y: float[1, 2] = 2, 4.1");
    std::fs::write(loose.join("tolerance"), "rtol=0.1 atol=0\n").expect("a file");
    std::fs::create_dir_all(package.path("cases/empty")).expect("a folder");
    std::fs::write(package.path("cases/empty/model.onnx"), &double).expect("a file");
    let outcome = package.run("check-onnx cases --by-op --jobs 2");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    for expected in [
        "failed  a/shape: output `y` is float[1, 2] where float[2] is expected",
        "failed  a/wrong: output `y`: element 1 is 4 where 5 is expected (1 elements differ)",
        "failed  b/damaged: it is no ONNX model: it ends within a field",
        "failed  b/unknown: node Foo that gives `y`: the operator Foo is not supported",
        "skipped empty: it has no data",
    ] {
        assert!(lines.contains(&expected), "{expected}\n{outcome:?}");
    }
    let add = lines.iter().find(|line| line.starts_with("Add ")).expect("a row of the table");
    assert_eq!(add.split_whitespace().collect::<Vec<_>>(), ["Add", "2", "2", "1"]);
    assert_eq!(lines.last(), Some(&"2 passed, 4 failed, 1 skipped"));
    let filtered = package.run("check-onnx cases --filter right");
    assert_eq!((filtered.code, filtered.stdout.as_str()), (Some(0), "1 passed, 0 failed, 0 skipped\n"));
    assert_eq!(package.run("check-onnx nowhere").code, Some(1));
}

/// A `.npy` file of floats.
fn npy(shape: &str, values: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

#[test]
fn a_model_is_called_on_arrays() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("onnx-run");
    std::fs::write(package.path("double.onnx"), support::model(DOUBLE)).expect("a file");
    std::fs::write(package.path("x.npy"), npy("(3, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).expect("a file");
    let outcome = package.run("run double.onnx --input x=x.npy --output y.npy");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let written = std::fs::read(package.path("y.npy")).expect("the output");
    let floats = &npy("(3, 2)", &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    assert!(written.ends_with(&floats[floats.len() - 24..]), "{written:?}");
    std::fs::write(package.path("wide.npy"), npy("(1, 3)", &[0.0; 3])).expect("a file");
    std::fs::write(package.path("text.npy"), "no array").expect("a file");
    let bytes = b"\x93NUMPY\x01\x00\x39\x00{'descr': '|u1', 'fortran_order': False, 'shape': (1,2)}\nab";
    std::fs::write(package.path("bytes.npy"), bytes).expect("a file");
    for (line, error) in [
        ("--output y.npy --dim N=1", "the input `x` is missing: `--input x=FILE.npy`"),
        ("--input x.npy", "say where an output goes: `--output FILE.npy`; its outputs are `y`"),
        ("-i x.npy -o y.npy -o z.npy", "there are 2 files for outputs; its outputs are `y`"),
        ("-i a=x.npy -o y.npy", "the model has no input `a`; its inputs are `x`"),
        ("-i x.npy -i x.npy -o y.npy", "the model has 1 inputs, and `x.npy` is one more"),
        ("-i x.npy -i x=x.npy -o y.npy", "the input `x` is given twice"),
        ("-i none.npy -o y.npy", "`none.npy` cannot be read: No such file or directory (os error 2)"),
        ("-i text.npy -o y.npy", "`text.npy`: it is no .npy file"),
        ("-i wide.npy -o y.npy", "the input `x` is float[N = 1, 2], and `wide.npy` holds f32[1, 3]"),
        ("-i bytes.npy -o y.npy", "the input `x` is float[N = 1, 2], and `bytes.npy` holds u8[1, 2]"),
        ("-i x.npy -o y.npy --dim N=4", "the input `x` is float[N = 4, 2], and `x.npy` holds f32[3, 2]"),
        ("-i x.npy -o y.npy --dim M=4", "the model has no dim `M`; its dims are `N`"),
    ] {
        let outcome = package.run(&format!("run double.onnx {line}"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), format!("error: {error}\n").as_str()), "{line}");
    }
    for command in ["run -i x.npy -o y.npy", "bench", "signature", "weights -o w"] {
        let outcome = package.run(&format!("{command} none.onnx"));
        let error = "error: `none.onnx` cannot be read: No such file or directory (os error 2)\n";
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), error), "{command}");
    }
    let bench = package.run("bench double.onnx --dim N=64 --seconds 0.01 --json");
    assert_eq!(bench.code, Some(0), "{bench:?}");
    let object: serde_json::Value = serde_json::from_str(&bench.stdout).expect("an object");
    assert!(object["median_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{bench:?}");
}

/// The first axis of the files counts calls; the model has none of it.
#[test]
fn a_model_is_called_on_each_of_many() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("onnx-each");
    let text = "input x: float[N, 2]\ninput s: float[]\ny = Mul(x, s)\noutput y";
    std::fs::write(package.path("scale.onnx"), support::model(text)).expect("a file");
    let x = npy("(3, 1, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    std::fs::write(package.path("x.npy"), x).expect("a file");
    for (file, shape, count) in [("s", "(3,)", 3), ("two", "(2,)", 2), ("none", "(0,)", 0), ("one", "()", 1)] {
        let factors = [10.0, 100.0, 1000.0];
        std::fs::write(package.path(&format!("{file}.npy")), npy(shape, &factors[..count])).expect("a file");
    }
    let outcome = package.run("run scale.onnx --each --input x.npy --input s.npy --output y.npy");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let written = std::fs::read(package.path("y.npy")).expect("the output");
    let floats = &npy("", &[10.0, 20.0, 300.0, 400.0, 5000.0, 6000.0]);
    assert!(written.ends_with(&floats[floats.len() - 24..]), "{written:?}");
    assert!(String::from_utf8_lossy(&written).contains("(3, 1, 2,)"), "{written:?}");
    let no_axis = "`--each` takes a first axis that counts calls, at least one, and";
    for (file, error) in [
        ("two.npy", "`two.npy` holds inputs of 2 calls, and the file before 3".to_string()),
        ("none.npy", format!("{no_axis} `none.npy` holds [0]")),
        ("one.npy", format!("{no_axis} `one.npy` holds []")),
    ] {
        let outcome = package.run(&format!("run scale.onnx --each --input x.npy --input {file} --output y.npy"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), format!("error: {error}\n").as_str()), "{file}");
    }
}

#[test]
fn a_signature_is_one_to_paste() {
    let package = Package::bare("onnx-signature");
    let text = "input input.1: float[batch, 3, ?]\nconst w: float[3] = 1, 2, 3\ny = Shape(input.1)\nz = ReduceSum(input.1) {keepdims = 0}\noutput y\noutput z";
    std::fs::write(package.path("My-net.onnx"), support::model(text)).expect("a file");
    let free = package.run("signature My-net.onnx");
    let expected = "#[tensor_fn(onnx = \"My-net.onnx\")]\n\
                    pub fn my_net(input_1: Tensor<f32, D_batch, 3, D0_2>) -> (Tensor<i64, 3>, Tensor<f32>);\n";
    assert_eq!((free.code, free.stdout.as_str()), (Some(0), expected), "{free:?}");
    let bound = package.run("signature My-net.onnx --dim batch=4");
    assert!(bound.stdout.contains("Tensor<f32, 4, 3, D0_2>"), "{bound:?}");
    assert_eq!(package.run("signature none.onnx").code, Some(1));
}

const PLACES: &str = "input x: float[N, 2]\np = NonZero(x)\nt = Transpose(p)\nv = GatherND(x, t)\noutput v\noutput p";

#[test]
fn lengths_that_data_decides_are_those_of_the_data() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("onnx-lengths");
    let folder = package.path("cases");
    let model = support::model(PLACES);
    let both = |name: &str, input: &str, values: &str, places: &str| {
        case(&folder, name, &model, input, values);
        let file = folder.join(name).join("test_data_set_0/output_1.pb");
        std::fs::write(file, support::tensor(places).into_bytes()).expect("a file");
    };
    let x = "x: float[2, 2] = 1, 0, 0, 4";
    both("all", "x: float[1, 2] = 3, 4", "v: float[2] = 3, 4", "p: int64[2, 2] = 0, 0, 0, 1");
    both("none", "x: float[2, 2] = 0, 0, 0, 0", "v: float[0] = ", "p: int64[2, 0] = ");
    both("some", x, "v: float[2] = 1, 4", "p: int64[2, 2] = 0, 1, 0, 1");
    both("long", x, "v: float[3] = 1, 4, 0", "p: int64[2, 2] = 0, 1, 0, 1");
    both("wrong", x, "v: float[2] = 1, 4", "p: int64[2, 2] = 0, 1, 1, 1");
    let outcome = package.run("check-onnx cases");
    let expected = "failed  long: output `v` is float[2] where float[3] is expected\n\
                    failed  wrong: output `p`: element 2 is 0 where 1 is expected (1 elements differ)\n\
                    3 passed, 2 failed, 0 skipped\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), expected), "{outcome:?}");

    std::fs::write(package.path("places.onnx"), &model).expect("a file");
    let signature = package.run("signature places.onnx");
    let expected =
        "pub fn places(x: Tensor<f32, N, 2>) -> (Tensor<f32, { 2*N }>, i64, Tensor<i64, 2, { 2*N }>, i64);\n";
    assert!(signature.stdout.ends_with(expected), "{signature:?}");
    std::fs::write(package.path("x.npy"), npy("(2, 2)", &[1.0, 0.0, 0.0, 4.0])).expect("a file");
    let outcome = package.run("run places.onnx --input x.npy --output v.npy --output p.npy");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let written = std::fs::read(package.path("v.npy")).expect("the output");
    assert!(written.ends_with(&npy("(2,)", &[1.0, 4.0])[npy("(2,)", &[]).len()..]), "{written:?}");
    assert!(String::from_utf8_lossy(&written).contains("(2,)"), "{written:?}");
    let written = std::fs::read(package.path("p.npy")).expect("the output");
    assert!(written.ends_with(&[0i64, 1, 0, 1].map(i64::to_le_bytes).concat()), "{written:?}");
}

/// Weights become parameters, apart from one that decides a shape and a scalar; names are those of a Rust function.
#[test]
fn a_signature_with_weights_and_their_file() {
    let package = Package::bare("onnx-params");
    let text = "input x: float[1, 4]\nconst fn: float[4, 3] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12\n\
                const a.b: float[3] = 1, 2, 3\nconst a_b: float[3] = 4, 5, 6\nconst s: int64[2] = 3, 1\n\
                const half: float[] = 0.5\nconst up: float[2] = 1, 2\n\
                h = MatMul(x, fn)\ng = Add(h, a.b)\nf = Mul(g, a_b)\ne = Mul(f, half)\nd = Reshape(e, s)\n\
                y = Upsample(d, up) {mode = \"nearest\"}\noutput y\nopset 9";
    std::fs::write(package.path("net.onnx"), support::model(text)).expect("a file");
    let signature = package.run("signature net.onnx --params");
    let expected = "#[tensor_fn(onnx = \"net.onnx\", params(x_fn = \"fn\", a_b = \"a.b\", a_b_ = \"a_b\"))]\n\
                    pub fn net(\n    x: Tensor<f32, 1, 4>,\n    x_fn: Tensor<f32, 4, 3>,\n    a_b: Tensor<f32, 3>,\n    \
                    a_b_: Tensor<f32, 3>,\n) -> Tensor<f32, 3, 2>;\n";
    assert_eq!((signature.code, signature.stdout.as_str()), (Some(0), expected), "{signature:?}");
    let weights = package.run("weights net.onnx -o net.safetensors");
    assert_eq!((weights.code, weights.stdout.as_str()), (Some(0), "6 tensors, 100 bytes\n"), "{weights:?}");
    let file = std::fs::read(package.path("net.safetensors")).expect("the file");
    let length = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
    assert_eq!((8 + length) % 64, 0);
    let header: serde_json::Value = serde_json::from_slice(&file[8..8 + length]).expect("a table");
    let bytes = |name: &str, extents: &[u64], dtype: &str| {
        let entry = &header[name];
        assert_eq!((&entry["dtype"], &entry["shape"]), (&dtype.into(), &extents.into()), "{name}");
        let at = |n: usize| 8 + length + entry["data_offsets"][n].as_u64().expect("a number") as usize;
        file[at(0)..at(1)].to_vec()
    };
    let floats = |all: &[f32]| all.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(bytes("a_b", &[3], "F32"), floats(&[4.0, 5.0, 6.0]));
    assert_eq!(bytes("s", &[2], "I64"), [3i64, 1].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let missing = package.run("weights net.onnx");
    assert_eq!(missing.stderr, "error: say where they go: `--output FILE.safetensors`\n");
}
