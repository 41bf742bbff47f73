//! Texts that try to mislead the scanner.

use super::*;

fn functions(text: &str) -> Vec<Function> {
    scan(text, Place::default())
        .into_iter()
        .filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
        .collect()
}

fn names(text: &str) -> Vec<String> {
    functions(text)
        .into_iter()
        .filter(|f| f.on != Some(false) && !f.macro_rules)
        .map(|f| [f.place.modules.join("::"), f.name].join("/"))
        .collect()
}

#[test]
fn braces_in_types_are_no_body() {
    let text = "#[tensor_fn]\nfn blur(x: Tensor<f32, { H - 2 }>) -> Tensor<f32, { H - 2 }, { W - 2 }> { compute(|i| x) }\nfn after() {}";
    let found = functions(text);
    assert_eq!(found.len(), 1);
    assert!(found[0].text.ends_with("compute(|i| x) }"), "{}", found[0].text);
    assert_eq!((found[0].line, found[0].name.as_str()), (2, "blur"));
}

#[test]
fn functions_without_a_body() {
    let text = "#[tensor_fn(onnx = \"m.onnx\")] pub(crate) fn net(x: Tensor<f32, B>) -> Tensor<f32, 3>; fn g() {}";
    let found = functions(text);
    assert_eq!(found[0].argument, "onnx = \"m.onnx\"");
    assert!(found[0].text.ends_with("3>;"));
}

#[test]
fn attributes_come_along() {
    let text = "/// doc\n#[cfg(all())]\n#[tenfold::tensor_fn(dims(K = 8))]\n// no\n/// more\n#[schedule(|s| { s.x(); })]\n#[allow(a)]\nfn f(x: Tensor<f32, K>) {}";
    let found = functions(text);
    assert_eq!(found[0].argument, "dims(K = 8)");
    assert!(found[0].text.contains("#[schedule(|s| { s.x(); })]"));
    assert!(!found[0].text.contains("cfg"));
}

#[test]
fn places() {
    let text = "mod a { pub(in crate::a) mod r#b { #[tensor_fn] fn f() {} } #[tensor_fn] fn g() {} } #[tensor_fn] fn h() {}
        fn local() { #[tensor_fn] fn inner() {} } impl X for Y { #[tensor_fn] fn m() {} } trait T { #[tensor_fn] fn t(); }";
    assert_eq!(names(text), ["a::b/f", "a/g", "/h", "/inner", "/m", "/t"]);
    let found = functions(text);
    assert!(found[3].local && !found[3].associated);
    assert!(found[4].associated && found[5].associated);
}

#[test]
fn text_that_only_looks_like_a_function() {
    let text = "// #[tensor_fn] fn a() {}\n const S: &str = \"#[tensor_fn] fn b() {}\"; /* #[tensor_fn] fn c() {} */
        #[doc = \"#[tensor_fn] fn d() {}\"] struct D; #[tensor_fn] struct E { x: u8 } #[tensor_fn] fn real() {}";
    assert_eq!(names(text), ["/real"]);
}

#[test]
fn cfg_if_takes_one_branch() {
    let text = "cfg_if::cfg_if! { if #[cfg(any())] { #[tensor_fn] fn a() {} } else if #[cfg(all())] { #[tensor_fn] fn b() {} } else { #[tensor_fn] fn c() {} } }
        cfg_if! { if #[cfg(test)] { #[tensor_fn] fn d() {} } else { #[tensor_fn] fn e() {} } }
        fn x() { if y { #[tensor_fn] fn f() {} } else { #[tensor_fn] fn g() {} } }";
    assert_eq!(names(text), ["/b", "/d", "/e", "/f", "/g"]);
}

#[test]
fn cfg_turns_functions_off() {
    let text = "#[cfg(any())] #[tensor_fn] fn a() {} #[cfg(any())] mod m { #[tensor_fn] fn b() {} mod n; }
        #[cfg_attr(all(), tensor_fn(dims(K = 1)))] fn c() {} mod o { #![cfg(any())] #[tensor_fn] fn d() {} }
        #[cfg_attr(any(), tensor_fn)] fn e() {}";
    assert_eq!(names(text), ["/c"]);
    assert_eq!(functions(text).len(), 4);
}

#[test]
fn macro_rules_are_told_apart() {
    let text = "macro_rules! m { ($n:ident) => { #[tensor_fn] fn $n(x: Tensor<f32, 4>) -> Tensor<f32, 4> { x } }; }
        macro_rules! p ( () => ( #[tensor_fn] fn q() {} ); );
        other! { #[tensor_fn] fn r() {} }";
    assert_eq!(names(text), ["/r"]);
    let found = functions(text);
    assert_eq!(found[0].name, "$n");
    assert!(found[0].macro_rules && found[1].macro_rules);
}

#[test]
fn modules_and_their_files() {
    let place = Place { directory: "src".into(), relative: Some("plain".into()), ..Place::default() };
    let text = "pub mod child; #[path = \"odd/p.rs\"] mod q; mod inl { mod r; #[path = \"s.rs\"] mod s; }
        #[path = \"dir\"] mod t { mod u; } #[cfg_attr(all(), path = \"v2.rs\")] mod v; mod r#fn;";
    let found: Vec<_> = scan(text, place)
        .into_iter()
        .filter_map(|item| match item {
            Item::Module { name, path, place, .. } => {
                let dir = match path {
                    Some(path) => place.directory.join(path),
                    None => place.modules_directory().join(name),
                };
                Some(dir.to_string_lossy().replace('\\', "/"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        found,
        [
            "src/plain/child",
            "src/odd/p.rs",
            "src/plain/inl/r",
            "src/plain/inl/s.rs",
            "src/dir/u",
            "src/v2.rs",
            "src/plain/fn",
        ]
    );
}

#[test]
fn includes_and_docs() {
    let text = "include!(\"a.rs\"); include!(concat!(env!(\"OUT_DIR\"), \"/b.rs\"));
        #![doc = include_str!(\"../README.md\")]
        //! ```\n//! #[tensor_fn]\n//! fn f() {}\n//! ```\nfn g() {}";
    let found: Vec<_> = scan(text, Place::default())
        .into_iter()
        .map(|item| match item {
            Item::Include { file, .. } => format!("{file:?}"),
            Item::DocFile(file) => file,
            Item::Doc { line, text } => format!("{line}: {text}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(found, ["Beside(\"a.rs\")", "OutDir(\"b.rs\")", "../README.md", "3: #[tensor_fn]\nfn f() {}\n",]);
}

/// Every prefix of a text is scanned, and gives no more functions than the whole.
#[test]
fn prefixes() {
    let text = "mod ä { #[tensor_fn] fn f(x: Tensor<f32, { H - 2 }>) -> f32 { '{' } } /* ü */ #[cfg(x)] r#\"a\"#";
    for (end, _) in text.char_indices() {
        assert!(functions(&text[..end]).len() <= 1);
    }
}
