//! Files that nobody should trust: each gives one clear error or a graph, soon, and never a panic.

mod support;

use std::path::Path;

use support::{Message, model, tensor, wrapped};
use tenfold_onnx::{Options, declared, external_files, import, operators_of};

const MODEL: &str = "
opset 18
input x: float[N, 3, 8, 8]
const w: float[1, 3, 1, 1] = 1, 2, 3
const axes: int64[2] = 2, 3
graph then
  t = Neg(x)
  output t
end
graph other
  e = Identity(x)
  output e
end
const c: bool[] = 1
i = If(c) {then_branch = graph then, else_branch = graph other}
y = Conv(i, w) {pads = [1; 1; 1; 1], auto_pad = \"NOTSET\"}
s = Shape(y)
r = ReduceMean(y, axes) {keepdims = 0}
z = Softmax(r) {axis = -1}
output z
output s
";

/// Whatever it is, it is read or refused with a text. One that took for ever would end no run of the tests.
fn survives(bytes: &[u8]) {
    if let Err(error) = import(bytes, None, &Options::default()) {
        assert!(!error.to_string().is_empty());
    }
    let (_, _, _) = (declared(bytes), operators_of(bytes), external_files(bytes));
}

fn refused(bytes: &[u8], text: &str) {
    let error = import(bytes, None, &Options::default()).expect_err("it is refused").to_string();
    assert!(error.contains(text), "expected `{text}` in:\n{error}");
    survives(bytes);
}

#[test]
fn every_beginning_of_a_file() {
    let whole = model(MODEL);
    for length in 0..whole.len() {
        survives(&whole[..length]);
    }
}

#[test]
fn changed_bytes() {
    let whole = model(MODEL);
    let mut state = 7u64;
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = (state >> 20) as u8;
        }
        survives(&bytes);
    }
}

#[test]
fn extents_beyond_memory() {
    for dims in ["1000000000000, 1000000000000", "9223372036854775807, 2", "4611686018427387904, 4"] {
        refused(&model(&format!("const w: float[{dims}] = 1\ny = Relu(w)\noutput y")), "extents");
    }
}

/// A kilobyte that would fold to terabytes.
#[test]
fn folding_bombs() {
    let expand = |n: u32| format!("const s: int64[3] = {n}, {n}, {n}\nconst one: float[1] = 1.0\ny = Expand(one, s)\n");
    let big = expand(10_000);
    let shape = "z = ReduceSum(y) {keepdims = 0}\nc = Cast(z) {to = 7}\nconst a: int64[1] = 0\n\
                 u = Unsqueeze(c, a)\nr = Reshape(one, u)\noutput r";
    refused(&model(&format!("{big}{shape}")), "too much work");
    refused(&model(&format!("{}output y", expand(1_000_000))), "would have the extents");
    let range = "const a: float[] = 0.0\nconst b: float[] = 1e30\nconst c: float[] = 1.0\ny = Range(a, b, c)\noutput y";
    refused(&model(range), "values");
    let tile = "input x: float[2]\nconst n: int64[1] = 4611686018427387904\ny = Tile(x, n)\n\
                z = Tile(y, n)\noutput z";
    survives(&model(tile));
}

#[test]
fn a_million_nodes() {
    let (mut one, mut graph) = (Message::default(), Message::default());
    one.text(1, "x").text(2, "x").text(4, "Relu");
    for _ in 0..1_000_000 {
        graph.message(1, &one);
    }
    refused(&wrapped(&graph, 17), "more than 100000 nodes");
    let mut text = String::from("input x0: float[2]\n");
    for n in 0..100_001 {
        text += &format!("x{} = Relu(x{n})\n", n + 1);
    }
    refused(&model(&(text + "output x100001")), "more than 100000 nodes");
}

#[test]
fn a_thousand_nested_branches() {
    let mut graph = Message::default();
    graph.message(12, Message::default().text(1, "c"));
    for _ in 0..1000 {
        let (mut attribute, mut node, mut outer) = (Message::default(), Message::default(), Message::default());
        attribute.text(1, "then_branch").message(6, &graph).int(20, 5);
        node.text(1, "c").text(2, "y").text(4, "If").message(5, &attribute);
        outer.message(1, &node).message(12, Message::default().text(1, "y"));
        graph = outer;
    }
    refused(&wrapped(&graph, 17), "nest more than");
}

/// A function that calls itself, and functions that double at each level.
#[test]
fn functions_without_an_end() {
    let function = |name: &str, callee: &str| {
        let (mut out, mut node) = (Message::default(), Message::default());
        node.text(1, "a").text(2, "b").text(4, callee).text(7, "f");
        let mut again = Message::default();
        again.text(1, "b").text(2, "c").text(4, callee).text(7, "f");
        out.text(1, name).text(10, "f").text(4, "a").text(5, "c").message(7, &node).message(7, &again);
        out
    };
    let with = |functions: &[Message]| {
        let mut graph = Message::default();
        let mut node = Message::default();
        node.text(1, "x").text(2, "y").text(4, "f0").text(7, "f");
        graph.message(5, &tensor("x: float[1] = 1")).message(1, &node).message(12, Message::default().text(1, "y"));
        let mut bytes = wrapped(&graph, 17);
        for function in functions {
            let mut more = Message::default();
            more.message(25, function);
            bytes.extend(more.into_bytes());
        }
        bytes
    };
    refused(&with(&[function("f0", "f0")]), "");
    let chain: Vec<Message> = (0..30).map(|n| function(&format!("f{n}"), &format!("f{}", n + 1))).collect();
    refused(&with(&chain), "");
}

fn external(location: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let (mut data, mut graph) = (Message::default(), Message::default());
    data.int(1, 2).int(2, 1).text(8, "w").int(14, 1);
    for (key, value) in [("location", location)].iter().chain(more) {
        data.message(13, Message::default().text(1, key).text(2, value));
    }
    graph.message(5, &data).message(12, Message::default().text(1, "w"));
    wrapped(&graph, 17)
}

/// A location, further entries, and a part of the error.
type Wrong<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[test]
fn external_data_stays_beside_the_model() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("external");
    std::fs::create_dir_all(folder.join("inner")).expect("a folder");
    std::fs::write(folder.join("secret.bin"), [0; 8]).expect("a file");
    std::fs::write(folder.join("inner/w.bin"), [0; 8]).expect("a file");
    let file = folder.join("inner/model.onnx");
    let read = |bytes: Vec<u8>| {
        assert_eq!(external_files(&bytes).len(), 1);
        import(&bytes, Some(&file), &Options::default()).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(read(external("w.bin", &[])), Ok(()));
    let wrong: [Wrong<'_>; 8] = [
        ("../secret.bin", &[], "outside"),
        ("/etc/passwd", &[], "outside"),
        ("", &[], "outside"),
        ("none.bin", &[], "cannot be read"),
        (".", &[], "outside"),
        ("w.bin", &[("offset", "8")], "ends behind"),
        ("w.bin", &[("length", "16")], "bytes of external data"),
        ("w.bin", &[("offset", "18446744073709551615")], "ends behind"),
    ];
    for (location, more, expected) in wrong {
        let error = read(external(location, more)).expect_err("it is refused");
        assert!(error.contains(expected), "{location}: {error}");
    }
    #[cfg(unix)]
    {
        let link = folder.join("inner/link.bin");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(folder.join("secret.bin"), &link).expect("a link");
        let error = read(external("link.bin", &[])).expect_err("a link that leads out is refused");
        assert!(error.contains("outside"), "{error}");
    }
}
