//! Types and error texts of every operator, as data: `tests/filetests/relax/typing.txt`.
//!
//! A line is a call with types in place of operands, `=>`, and the result's type or the error. `TENFOLD_BLESS=1`
//! writes what is found; without it a difference fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::ops::{self, Arg, At, AttrValue, Literal, OpCall};
use tenfold_ir::relax::{Builder, ParamKind, SymDecl, SymKind, Type, parse_type, type_text};
use tenfold_ir::text::{bracketed, quoted, split, split_once};
use tenfold_ir::{DType, Loc, Scalar};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/relax/typing.txt")
}

/// `N`, `M`, … are dims, and `Z >= 1`, `W >= 8` and `A == B` are facts.
fn builder() -> Builder {
    let mut b = Builder::new("test");
    for (axis, name) in ["N", "M", "K", "H", "W", "Z", "A", "B", "D"].into_iter().enumerate() {
        let kind = SymKind::Dim { param: 0, axis };
        b.declare_sym(SymDecl { sym: Sym::new(name), kind, loc: Loc::default() });
    }
    for fact in ["Z >= 1", "W >= 8", "A == B"] {
        b.prover.assume(Fact::parse(fact).unwrap());
    }
    b
}

fn dtype_word(text: &str) -> bool {
    let word: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
    DType::from_any_name(&word).is_some()
}

fn tensor(b: &mut Builder, text: &str) -> tenfold_ir::relax::ValueId {
    match parse_type(text).unwrap() {
        Type::Tensor(ty) => b.param(ParamKind::Input, ty, "x", 0, Loc::default()),
        Type::Tuple(_) | Type::Shape(_) => panic!("{text}"),
    }
}

fn arg(b: &mut Builder, text: &str) -> Arg {
    if dtype_word(text) {
        Arg::Value(tensor(b, text))
    } else if let Some((inner, _)) = bracketed(text, '[', ']') {
        if inner.split(',').any(|item| dtype_word(item.trim())) {
            Arg::List(split(inner, ',').into_iter().map(|item| tensor(b, item)).collect())
        } else {
            Arg::Shape(split(inner, ',').into_iter().map(|item| IntExpr::parse(item).unwrap()).collect())
        }
    } else if let Ok(value) = text.parse() {
        Arg::Literal(Literal::Int(value))
    } else if let Ok(value) = text.parse() {
        Arg::Literal(Literal::Float(value))
    } else {
        Arg::Index(IntExpr::parse(text).unwrap())
    }
}

fn attr(text: &str) -> AttrValue {
    if let Some((inner, _)) = bracketed(text, '[', ']') {
        AttrValue::List(split(inner, ',').into_iter().map(attr).collect())
    } else if let Some((text, _)) = quoted(text) {
        AttrValue::Text(text)
    } else if let Some((value, dtype)) = text.split_once('_').filter(|(_, dtype)| dtype_word(dtype)) {
        AttrValue::Scalar(Scalar::float(DType::from_name(dtype).unwrap(), value.parse().unwrap()))
    } else if let Ok(value) = text.parse() {
        AttrValue::Bool(value)
    } else if let Ok(value) = IntExpr::parse(text) {
        AttrValue::Int(value)
    } else {
        AttrValue::Float(text.parse().unwrap())
    }
}

/// Result type or error of a call in text.
fn check(text: &str) -> String {
    let mut b = builder();
    let open = text.find('(').unwrap();
    let (name, dtype) = match text[..open].split_once("::<") {
        Some((name, rest)) => (name, DType::from_name(rest.trim_end_matches('>'))),
        None => (&text[..open], None),
    };
    let (items, _) = bracketed(&text[open..], '(', ')').unwrap();
    let mut call = OpCall { dtype, ..OpCall::default() };
    for item in split(items, ',') {
        match split_once(item, " = ") {
            Some((name, value)) => drop(call.attrs.insert(name.to_string(), attr(value))),
            None => call.args.push(arg(&mut b, item)),
        }
    }
    let Some(def) = ops::lookup(name) else {
        return match ops::suggest(name) {
            Some(near) => format!("unknown; did you mean `{near}`?"),
            None => "unknown".to_string(),
        };
    };
    let known = b.prover.facts().to_vec();
    match ops::apply(&mut b, def, &call) {
        Ok(value) => {
            // What holds inside a loop of an operator's does not hold behind it.
            let new: Vec<&Fact> = b.prover.facts().iter().filter(|fact| !known.contains(fact)).collect();
            assert!(new.is_empty(), "{text} leaves behind that {new:?}");
            let range = b.range(value).map_or(String::new(), |(lo, hi)| format!(" in {lo}..{hi}"));
            let ty = type_text(b.ty(value));
            format!("{ty}{range}")
        }
        Err(error) => {
            let at = |at: &At| match at {
                At::Call => "call".to_string(),
                At::Arg(i) => format!("operand {i}"),
                At::Attr(name) => format!("`{name}`"),
            };
            let mut out = format!("{:?} at {}: {}", error.kind, at(&error.at), error.message);
            if let Some((place, text)) = &error.also {
                let _ = write!(out, "; {}: {text}", at(place));
            }
            if let Some(help) = &error.help {
                let _ = write!(out, "; help: {help}");
            }
            out
        }
    }
}

#[test]
fn types_and_errors_are_as_written() {
    let text = std::fs::read_to_string(path()).unwrap();
    let mut found = String::new();
    let mut seen: BTreeMap<String, BTreeSet<bool>> = BTreeMap::new();
    for line in text.lines() {
        let call = line.split(" => ").next().unwrap();
        if line.trim().is_empty() || line.starts_with('#') {
            let _ = writeln!(found, "{line}");
            continue;
        }
        let result = check(call);
        let name = call.split(['(', ':']).next().unwrap();
        seen.entry(name.to_string()).or_default().insert(!result.contains(" at "));
        let _ = writeln!(found, "{call} => {result}");
    }
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(path(), &found).unwrap();
    } else {
        for (old, new) in text.lines().zip(found.lines()) {
            assert_eq!(new, old, "run with TENFOLD_BLESS=1 to write what is found");
        }
    }
    for def in ops::all() {
        assert!(seen.get(def.name).is_some_and(|ok| ok.contains(&true)), "no line for `{}`", def.name);
    }
}

#[test]
fn operators_have_one_entry_each() {
    let mut names = BTreeSet::new();
    for def in ops::all() {
        assert!(names.insert(def.name), "`{}` stands twice", def.name);
        assert!(!def.doc.is_empty());
    }
}
