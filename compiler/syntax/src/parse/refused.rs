//! Rust that the language does not have, and what to write instead.

/// What is wrong with an expression, and the form to write.
pub(super) fn expression(e: &syn::Expr) -> (&'static str, &'static str) {
    use syn::Expr as E;
    match e {
        E::Return(_) => (
            "there is no `return`",
            "the last expression is the result; choose between two with `if c { a } else { b }`",
        ),
        E::Break(_) => ("there is no `break`", "write the condition into a `while`, or guard the body with `if`"),
        E::Continue(_) => ("there is no `continue`", "guard the rest of the body with `if`"),
        E::Loop(_) => ("there is no `loop`", "write `while condition { … }` or `for i in a..b { … }`"),
        E::Match(_) => ("there is no `match`", "write `if x == 0 { … } else { … }`"),
        E::Try(_) => (
            "there is no `?`",
            "state what must hold as a first statement, `assert!(n < N);`, and the function's own result reports it",
        ),
        E::Let(_) => ("there is no `if let` and no `while let`", "compare values: `if x == 0 { … }`"),
        E::Struct(_) => ("there are no structs", "hold several values in a tuple: `(a, b)`"),
        E::Field(_) => ("there are no fields", "take a tuple apart with `let (a, b) = t;`"),
        E::Async(_) | E::Await(_) => {
            ("there is no `async`", "write the statements as they are; on a device the call itself does not wait")
        }
        E::Repeat(_) => ("an array is written out", "write `full([5], 0.0)`"),
        E::Infer(_) => ("`_` is not a value", "write the value, or `_` on the left side of an assignment"),
        E::RawAddr(_) => ("there are no pointers", "pass the tensor itself"),
        E::Block(_) => ("a block has no label", "leave out the label"),
        E::ForLoop(_) | E::While(_) => (
            "a loop is a statement and has no value",
            "assign to a variable in the loop and write the variable behind it",
        ),
        E::Const(_) => ("there is no `const` block", "write `const C: f32 = …;` as a statement"),
        E::TryBlock(_) => ("there is no `try`", "write the statements as they are"),
        E::Yield(_) => ("there is no `yield`", "give all results at the end, as a tuple or a stacked tensor"),
        _ => (
            "this expression is not part of the language",
            "write it with operators, calls, elements `x[[i, j]]`, `if` and blocks",
        ),
    }
}

/// What is wrong with a macro, and the form to write.
pub(super) fn macro_call(name: &str) -> (String, &'static str) {
    let help = match name {
        "safetensors" => "write `const W: Tensor<f32, 64, 32> = safetensors!(\"file\", \"name\");` as a statement",
        "npz" => "write `const W: Tensor<f32, 64, 32> = npz!(\"file\", \"name\");` as a statement",
        "npy" => "write `const W: Tensor<f32, 64, 32> = npy!(\"file\");` as a statement",
        "assert" => "write it as a first statement: `assert!(pos < S, \"text\");`",
        "assert_eq" | "debug_assert_eq" => "write `assert!(a == b, \"text\");` as a first statement",
        "assert_ne" | "debug_assert_ne" => "write `assert!(a != b, \"text\");` as a first statement",
        "debug_assert" => "write `assert!(pos < S, \"text\");` as a first statement",
        "panic" | "todo" | "unimplemented" | "unreachable" => {
            "state what must hold as a first statement: `assert!(pos < S, \"text\");`"
        }
        "vec" => "write `zeros::<f32>([N])`, `full([N], 0.0)` or `compute([N], |i| …)`",
        "println" | "print" | "eprintln" | "eprint" | "dbg" | "format" => {
            "return what you want to see as a further result"
        }
        "include_bytes" | "include_str" | "include" => "write `const W: Tensor<f32, N> = npy!(\"file\");`",
        _ => "a body may use `assert!`, `extern_call!`, `safetensors!`, `npz!` and `npy!`",
    };
    match name {
        "safetensors" | "npz" | "npy" => (format!("`{name}!` is the value of a `const`"), help),
        "assert" => (format!("`{name}!` is a statement"), help),
        _ => (format!("there is no `{name}!`"), help),
    }
}

/// What is wrong with an item inside of a body, and the form to write.
pub(super) fn item(item: &syn::Item) -> (&'static str, &'static str) {
    use syn::Item as I;
    match item {
        I::Fn(_) => (
            "there are no functions inside of a tensor function",
            "write a closure, `let f = |a, b| a + b;`, or a tensor function beside this one",
        ),
        I::Static(_) => ("there is no `static`", "write `const`; state is a parameter, `s: &mut Tensor<f32, N>`"),
        I::Use(_) => ("there is no `use` inside of a tensor function", "write paths in full: `crate::nn::f(x)`"),
        I::Type(_) => ("there are no type aliases", "write the type in full"),
        I::Struct(_) | I::Enum(_) | I::Union(_) => ("there are no structs", "hold several values in a tuple: `(a, b)`"),
        _ => ("this item cannot stand inside of a tensor function", "write it beside the function"),
    }
}
