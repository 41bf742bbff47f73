//! Whatever the tokens: an answer, no panic, no overflow of a test thread's stack (2 MB, at opt-level 0).

mod support;

use support::{Rng, Writer};
use tenfold_syntax::elaborate::{ItemAlone, elaborate};
use tenfold_syntax::{fingerprint, parse_text};

const WORDS: &[&str] = &[
    "x",
    "N",
    "1",
    "2.5",
    "\"t\"",
    "'c'",
    "'a",
    "fn",
    "let",
    "mut",
    "if",
    "else",
    "for",
    "in",
    "while",
    "loop",
    "match",
    "return",
    "break",
    "continue",
    "unsafe",
    "const",
    "static",
    "as",
    "move",
    "async",
    "await",
    "dyn",
    "impl",
    "where",
    "self",
    "super",
    "crate",
    "true",
    "_",
    "ref",
    "struct",
    "enum",
    "use",
    "mod",
    "type",
    "yield",
    "try",
    "union",
    "auto",
    "safe",
    "raw",
    "become",
    "box",
    "do",
    "macro_rules",
    "builtin",
    "default",
    "assert!",
    "extern_call!",
    "safetensors!",
    "compute",
    "get_or",
    "match_shape",
    "Tensor",
    "f32",
    "#",
    "!",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "=",
    "+=",
    "..",
    "..=",
    "...",
    ".",
    ",",
    ";",
    ":",
    "::",
    "->",
    "=>",
    "?",
    "@",
    "$",
    "~",
];

const OPEN: &[(&str, &str)] =
    &[("(", ")"), ("[", "]"), ("{", "}"), ("#[", "]"), ("[[", "]]"), ("|a| {", "}"), ("<", ">")];

/// A function is read, printed and hashed without a panic, and dropped.
fn survives(text: &str) {
    let parsed = parse_text(text);
    if let Some(f) = &parsed.function {
        fingerprint(f);
        elaborate(f, &ItemAlone);
    }
    for d in parsed.diagnostics.iter() {
        parsed.spans.bytes(d.node);
    }
}

fn as_body(soup: &str) -> String {
    format!("#[tensor_fn] fn f(x: Tensor<f32, N>) {{ {soup} }}")
}

fn everywhere(soup: &str) {
    survives(&as_body(soup));
    survives(&as_body(&format!("let y = {soup};")));
    survives(&format!("#[tensor_fn({soup})] #[schedule({soup})] fn f(x: {soup}) {{}}"));
    survives(&format!("#[tensor_fn] {soup}"));
    survives(soup);
}

fn soup(rng: &mut Rng, length: usize) -> String {
    let (mut text, mut open) = (String::new(), Vec::new());
    for _ in 0..length {
        match rng.below(8) {
            0 => {
                let (left, right) = OPEN[rng.below(OPEN.len())];
                text += left;
                open.push(right);
            }
            1 => text += open.pop().unwrap_or(";"),
            _ => text += rng.pick(WORDS),
        }
        text += " ";
    }
    open.into_iter().rev().for_each(|right| text += right);
    text
}

#[test]
fn random_tokens() {
    for seed in 1..250 {
        let mut rng = Rng::new(seed);
        let length = 1 + rng.below(40);
        everywhere(&soup(&mut rng, length));
    }
}

/// A function of the language with a few of its words replaced, left out or doubled.
#[test]
fn broken_functions() {
    for seed in 1..200 {
        let source = Writer::new(seed, None).function();
        let mut rng = Rng::new(seed + 7);
        let mut words: Vec<&str> = source.split_inclusive([' ', '(', ')', '[', ']', '{', '}', ',', ';']).collect();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(words.len());
            match rng.below(3) {
                0 => words[at] = rng.pick(WORDS),
                1 => words.insert(at, words[rng.below(words.len())]),
                _ => drop(words.remove(at)),
            }
        }
        survives(&words.concat());
    }
}

/// One or two words again and again, and brackets within brackets.
#[test]
fn long_chains() {
    for (i, a) in WORDS.iter().enumerate() {
        let b = WORDS[(i * 31 + 7) % WORDS.len()];
        everywhere(&format!("{a} ").repeat(800));
        everywhere(&format!("{a} {b} ").repeat(600));
    }
    for (left, right) in OPEN {
        everywhere(&(left.repeat(800) + &right.repeat(800)));
        everywhere(&format!("{left} {right} ").repeat(800));
        everywhere(&format!("x {left} x {right} ").repeat(800));
        for word in WORDS {
            let down = format!("{word} {left} ").repeat(60);
            everywhere(&format!("{down}{}", right.repeat(60)));
        }
    }
}

/// As deep as the limit allows, in each of the ways down.
#[test]
fn as_deep_as_allowed() {
    let ways: &[(&str, &str, &str)] = &[
        ("(", "x", ")"),
        ("[", "x", "]"),
        ("{", "x", "}"),
        ("-", "x", ""),
        ("", "x", " as f32"),
        ("", "x", " + x"),
        ("x + (", "x", ")"),
        ("f(", "x", ")"),
        ("", "x", ".f()"),
        ("", "x", "[[0]]"),
        ("x[[", "0", "]]"),
        ("f(|i| ", "x", ")"),
        ("if x { 1 } else ", "{ 2 }", ""),
        ("if x { ", "1", " } else { 2 }"),
        ("if ", "x", " { 1 } else { 2 }"),
        ("unsafe { ", "x", " }"),
        ("for i in 0..N { ", "", " }"),
        ("f(0..", "x", ")"),
        ("(1, ", "x", ")"),
        ("match ", "x", " { }"),
        ("&", "x", ""),
        ("|a| ", "x", ""),
        ("return ", "x", ""),
        ("a = ", "x", ""),
        ("async { ", "x", " }"),
        ("m!(", "x", ")"),
        ("extern_call!(f, ", "x", ")"),
        ("S { a: ", "x", " }"),
        ("{ let a = ", "x", "; a }"),
        ("{ fn f() { ", "x", " } }"),
        ("f::<{ ", "x", " }>()"),
        ("<", "T", " as T>::x"),
    ];
    for (left, middle, right) in ways {
        for depth in [10, 20, 30, 40, 50, 60, 70, 80, 100, 130, 160, 200, 300] {
            let soup = format!("{}{middle}{}", left.repeat(depth), right.repeat(depth));
            survives(&as_body(&soup));
            survives(&as_body(&format!("let y = {soup};")));
        }
    }
    for depth in [10, 50, 90, 100, 180, 192] {
        for ty in
            ["Tensor<", "(", "[", "&", "Tensor<f32, ", "fn(", "Tensor<{ x as ", "impl F<A = ", "dyn Fn(", "*const "]
        {
            let close = ty.chars().rev().filter_map(|c| "([{<".find(c).map(|i| [")", "]", "}", ">"][i]));
            let close: String = close.collect();
            survives(&format!("#[tensor_fn] fn f(x: {}f32{}) {{}}", ty.repeat(depth), close.repeat(depth)));
        }
    }
}

#[test]
fn ordinary_depth_is_allowed() {
    let sum = vec!["x[[i]] * w[[i]]"; 60].join(" + ");
    assert!(parse_text(&as_body(&format!("let y = {sum};"))).diagnostics.is_empty());
    let branches = "if i == 0 { 1.0 } else ".repeat(24) + "{ 2.0 }";
    assert!(parse_text(&as_body(&format!("let y = {branches};"))).diagnostics.is_empty());
    let many = "x[[0]] = 1.0; if x[[0]] > 1.0 { y = x; } ".repeat(500);
    assert!(parse_text(&as_body(&many)).diagnostics.is_empty());
    let table = "const T: Tensor<f32, 4000> = [".to_owned() + &"-1.5, ".repeat(4000) + "];";
    assert!(parse_text(&as_body(&table)).diagnostics.is_empty());
}

#[test]
fn limits_are_errors() {
    let number = |text: &str| parse_text(text).diagnostics.iter().map(|d| d.code.number()).collect::<Vec<_>>();
    assert_eq!(number(&as_body(&("(".repeat(500) + &")".repeat(500)))), ["T0117"]);
    let values: String = (0..20).map(|n| format!("{n}, ")).collect();
    let generics = format!("#[tensor_fn(K = [{values}], L = [{values}])] fn f<const K: usize, const L: usize>() {{}}");
    assert_eq!(number(&generics), ["T0118"]);
    assert_eq!(number(&as_body(&"x;".repeat(200_000))), ["T0118"]);
}
