//! Every error a user can meet, as data: number, name, one line of meaning, explanation.
//!
//! The hundreds group them: T01 syntax, T02 names, types and dtypes, T03 shapes, T04 index proofs, T05 constants and
//! files, T06 memory, targets and budgets, T08 build and contract, T09 internal. A number is never used again for
//! something else. `compiler/docs/errors.md` is written from this table.

use std::fmt;

macro_rules! codes {
    ($($number:literal $name:ident $meaning:literal $explanation:literal)*) => {
        /// What went wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $name,)*
        }

        impl Code {
            /// Every code, in the order of the numbers.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// `T0101`.
            pub fn number(self) -> &'static str {
                match self { $(Code::$name => $number,)* }
            }

            /// One line.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning,)* }
            }

            /// What it means and what to do, for the documentation.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => $explanation,)* }
            }
        }
    };
}

codes! {
    // T01: syntax.
    "T0101" NotRust
        "this is not Rust syntax"
        "The function's text does not parse as Rust. The body of a tensor function is Rust syntax throughout; the place is the token at which reading stopped."
    "T0102" UnsupportedItem
        "a tensor function is a plain free function"
        "There is no `self`, lifetime, `where` clause, `async`, `const fn`, `unsafe fn`, `extern` block or pattern as a parameter. A generic parameter is `T` (a dtype) or `const K: usize`."
    "T0103" UnsupportedType
        "this type is not part of the language"
        "A type is `Tensor<dtype, dims…>`, `Strided<dtype, dims…>`, a dtype, `usize`, `isize`, or a tuple of these; a state parameter is `&mut Tensor<…>`. A dim is an integer, a name that begins with an upper-case letter, or `{ e }`."
    "T0104" UnsupportedExpression
        "this expression is not part of the language"
        "Rust has many forms that a tensor function has no meaning for: control flow that jumps (`return`, `break`, `?`, `match`), references, struct literals, fields, strings, macros. The help names the form to write instead."
    "T0105" UnsupportedStatement
        "this statement is not part of the language"
        "A body holds `let`, `const`, `assert!`, assignments, `for`, `while`, `if`, blocks and calls for their effect. Items other than `const` stand outside the function."
    "T0106" UnsupportedPattern
        "this pattern is not part of the language"
        "A `let` and a closure bind names, `_` and tuples of these. A `for` binds one name or `_`."
    "T0107" UnsupportedTarget
        "this cannot be assigned to"
        "The left side of an assignment is a name, an element or slice of a named tensor (`x[[i, ..]]`), `_`, or a tuple of these."
    "T0108" UnsupportedAttribute
        "this attribute is not part of the language"
        "Inside of a tensor function, `#[unroll]` may stand on a `for`, and doc comments and `#[rustfmt::skip]` anywhere. `cfg` may not stand inside: the build script and rustc could disagree about it. Put it on the whole function."
    "T0109" AttributeArgument
        "this argument of `#[tensor_fn]` is not known"
        "`#[tensor_fn(…)]` takes `dims(…)`, `workspace <= …`, `weights <= …`, `stack <= …`, `pool(…)`, `params(…)`, `weights(section = …)`, `numerics = …`, `precision = …`, `targets(…)`, `onnx = …`, `tflite = …`, `crate = …`, `module = …`, and the values of a generic parameter, `T = [f32, f16]`."
    "T0110" AttributeTwice
        "this is given twice"
        "An argument of `#[tensor_fn]`, a schedule for one target, or a named attribute of a call may be given once."
    "T0111" Size
        "this is not a number of bytes"
        "A size is a text of digits with `K`, `M` or `G` behind them (1024, 1024², 1024³ bytes), or an integer of bytes: `\"64K\"`, `65536`."
    "T0112" ScheduleSyntax
        "this is not part of a schedule"
        "A schedule is one closure of one parameter, `#[schedule(|s| …)]` or `#[schedule(target = \"nvptx\", |s| …)]`, whose statements call its primitives: `s.parallel(i);`, `let [jo, ji] = s.split(j, [_, 16]);`."
    "T0113" NamedArgument
        "a named attribute is out of place"
        "`name = value` is an attribute of a call of an operator and stands behind its arguments: `softmax(x, axis = -1)`. An assignment is a statement of its own."
    "T0114" Literal
        "this literal is not part of the language"
        "Literals are `true`, `false`, integers and floats, with a dtype, `usize` or `isize` as suffix or without. A text stands only where a file, a message or a named attribute is expected."
    "T0115" AssertPlace
        "`assert!` states a fact at the beginning of the function"
        "`assert!(condition, \"text\")` is checked once per call, before anything is written; so it stands before all other statements of the function."
    "T0116" MissingBody
        "the function has no body"
        "A function without a body is a model, whose body stands in a file: `#[tensor_fn(onnx = \"net.onnx\")]`. A function with a body names no such file."
    "T0117" Nesting
        "this is nested too deeply"
        "The depth of brackets, operators and branches is limited, so that no input overflows the compiler's stack. Give parts of the expression names with `let`."
    "T0118" TooLarge
        "the function is too large"
        "The number of tokens of one function is limited, so that no input makes the build run out of memory. Split the function, and read large constants from a file."
    "T0119" ConstSource
        "this is not the value of a constant"
        "A constant is `safetensors!(\"file\", \"name\")`, `npz!(\"file\", \"name\")`, `npy!(\"file\")`, an array, or an expression over constants."
    "T0120" EmptyRange
        "a range lacks an end, or has a form that is not known"
        "A loop and a reduction run over `a..b`. The ends may be left out only among the indices of a slice; `b` is never part of the range."
    "T0121" GenericInstances
        "the instances of a generic parameter do not fit"
        "Every generic parameter is given its values in the attribute, `#[tensor_fn(T = [f32, f16])]` for `fn f<T>`, and each of these names one. A call from another tensor function means one of the instances: by a turbofish, `self::f::<f32>(x)`, or by its operands."

    // T02: names, types and dtypes.
    "T0201" UnknownName
        "there is no such name here"
        "A name is a parameter, a dim, a variable, a constant of the function or, in a call, an operator. Rust constants and functions outside of the function are not seen."
    "T0202" UnknownOperator
        "there is no such operator"
        "A bare name in a call is a closure in scope, else an operator. Operators have NumPy's name, else ONNX's in snake case. A tensor function is called by a path: `self::f(x)`."
    "T0203" UnknownFunction
        "there is no such tensor function"
        "A path in a call names a function of this crate with `#[tensor_fn]` on it: `self::f(x)`, `super::f(x)`, `crate::nn::f(x)`."
    "T0204" UnknownDtype
        "there is no such dtype"
        "The dtypes are `bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64`."
    "T0205" TypeMismatch
        "another kind of value is expected here"
        "A tensor, a scalar, an index value, a tuple, a list and a closure are not taken for each other."
    "T0206" DtypeMismatch
        "the dtype does not fit"
        "There is no implicit conversion: operands of an operator agree in dtype, and some operators take floats, integers or bools only. `as` converts."
    "T0207" ArgumentCount
        "the number of operands does not fit"
        "Each operator, closure and tensor function takes a fixed number of operands, or one within a range. Attributes are named: `axis = -1`."
    "T0208" Operand
        "this cannot be an operand here"
        "Tensors, shapes and lists of tensors are positional operands; ranges, attributes and state have forms of their own."
    "T0209" Attribute
        "an attribute is unknown, missing or has the wrong value"
        "The named attributes of an operator are constants; its page lists them with their defaults."
    "T0210" IndexValue
        "an index value is no element"
        "Dims, loop variables, closure variables and `usize` scalars are index values, which have no dtype. `as` makes elements of them: `i as f32`."
    "T0211" LiteralRange
        "the dtype does not hold this literal"
        "A literal without suffix takes the dtype of what it meets. An integer literal must be held exactly, a float literal needs a float dtype."
    "T0212" NotMutable
        "this cannot be assigned to"
        "Only a variable bound with `let mut`, and a part of state, are assigned to. Inputs are read only, and closures over elements do not assign."
    "T0213" NameTwice
        "two things have one name"
        "Parameters have names of their own, and a constant, a variable and a dim may not share one."
    "T0214" TensorInClosure
        "a closure over elements holds scalars"
        "The closures of `compute` and of reductions read tensors by element, and call elementwise operators and tensor functions of scalars. Operators on whole tensors stand outside."
    "T0215" ResultMissing
        "the result does not fit the signature"
        "A function with a result ends in an expression without `;`, and one without ends in none."
    "T0216" Unused
        "nothing uses this value"
        "A statement has an effect: it binds, assigns, or calls something with state. The value of an operator alone is lost."

    "T0217" ExternCall
        "this call of a function outside is not as the language has it"
        "`let y: Tensor<f32, N> = extern_call!(crate::smooth, x, 3);` has the type that is written and updates nothing; as a statement, `extern_call!(crate::log, x, &mut s);`, it is an effect and gives nothing. A function of C is called by its name inside of `unsafe`."

    "T0218" LoadedParam
        "this parameter cannot be read from a file of weights"
        "`params(w1, b1 = \"fc1.bias\")` names inputs of the function that are tensors without gaps, each once. The module beside the function has a struct `Params` of them, which `Params::load` fills from safetensors files when the program runs."

    // T03: shapes and broadcasting.
    "T0301" Rank
        "the rank does not fit"
        "An operator, an element access and a type fix how many axes a tensor has. A tensor has at most 8."
    "T0302" Broadcast
        "the shapes do not broadcast"
        "Operands broadcast as in NumPy: from the last axis, extents are equal or the constant 1. A named dim never broadcasts, even if it turns out to be 1, and two names are equal only where a fact says so."
    "T0303" DimMismatch
        "the extents are not equal"
        "Two extents must be provably equal. State what is known, `dims(N == M)`, or check it at run time with `match_shape`."
    "T0304" Axis
        "there is no such axis"
        "Axes are counted from 0, or from the end with negative numbers."
    "T0305" UnboundDim
        "this dim is bound by no parameter"
        "A dim is bound where it stands alone in the type of a parameter. A result uses only dims that are bound or fixed."
    "T0306" DimExpression
        "this is no dim"
        "A dim is an integer, a name, or `{ e }` over integers, dims and index parameters under `+ - * / %`, `minimum` and `maximum`."
    "T0307" NegativeExtent
        "an extent may be negative"
        "Extents are proven to be 0 or more, or checked at the call where they stand in the signature."
    "T0308" ExtentsMissing
        "the extents are written nowhere"
        "`compute` takes its extents from its first operand, from the type at the `let`, or from the result of the function."
    "T0309" DimConflict
        "the facts contradict each other"
        "A dim is fixed once, and a fact between constants must hold."
    "T0310" NotAFact
        "this is not a fact"
        "A fact compares dims and index parameters: `B <= 64`, `N % 8 == 0`, `pos < S`; `&&` joins several."

    // T04: index proofs.
    "T0401" IndexNotProven
        "an index is not proven to lie inside"
        "Every index is proven to lie inside its axis: from dims, ranges, facts, the conditions around it, the range of a dtype and of operators such as `argmax`, `rem_euclid` and `clip`. `get_or`, `get_clamped`, `get_wrapped` and `get_reflected` say what lies outside; for stores, write an `if`."
    "T0402" SliceNotProven
        "a slice is not proven to lie inside"
        "A slice `a..b` of an axis of extent N needs 0 <= a <= b <= N."
    "T0403" MaybeEmpty
        "this may be empty, or leave its bounds"
        "`argmax`, `argmin`, `get_clamped`, `get_wrapped` and `get_reflected` need an axis that is proven to have an element, and some operators a size that is proven to fit. State a fact: `dims(N >= 1)`."
    "T0404" CallFact
        "a fact of the called function is not proven"
        "What a tensor function checks at its call must be proven where another tensor function calls it. State it in the caller."
    "T0405" CalleeError
        "the called function does not compile for these operands"
        "The function that is called was checked for every shape that its signature allows; written out for these operands, a proof is missing."

    // T05: constants and files.
    "T0501" FileOutside
        "a file lies outside of the package"
        "The path of a file starts at the package's root and stays inside it, links resolved, so that a package says all that it is built from. What its build script makes lies in `$OUT_DIR/`."
    "T0502" FileMissing
        "there is no such file"
        "The path of a file starts at the package's root, where `Cargo.toml` lies, and not at the source file."
    "T0503" FileDamaged
        "a file cannot be read"
        "The file is not what its reader takes it for, is cut short, or holds something that Tenfold does not read. The text says which."
    "T0504" TensorMissing
        "the file has no tensor of this name"
        "A safetensors file, the index of several, and an npz file hold tensors by name. The text lists the nearest names in it."
    "T0505" ConstMismatch
        "the constant has another type than is written"
        "The dtype and the extents that are written for a constant are those that its file holds. A wrong type would read other numbers."
    "T0506" ModelSignature
        "the model has another signature than is written"
        "The inputs and outputs of a model are the parameters and results of the function, in their order, with their dtypes and extents. A dim without a number in the model may be a dim of the function, or fixed. `cargo tenfold signature FILE` prints the line to paste."
    "T0507" Model
        "the model cannot be compiled"
        "The file is no model, or it holds something that is not supported. The text names every operator and node that is in the way; `cargo tenfold check-onnx` says which operators are known."

    // T06: memory, targets and budgets.
    "T0601" WorkspaceBudget
        "the workspace is larger than the budget"
        "`workspace <= …` bounds the memory for what is computed on the way. The table lists what is live where most of it is in use."
    "T0602" WeightsBudget
        "the constants are larger than the budget"
        "`weights <= …` bounds the bytes of the constants that are linked into the program. The table lists the largest."
    "T0603" StackBudget
        "the stack is larger than the budget"
        "`stack <= …` bounds the deepest use of the stack. The C back end cannot tell it; LLVM can. The table has the frames along the deepest chain of calls, and what is left to the linker below them ([embedded.md](embedded.md#the-stack))."
    "T0604" Target
        "the target cannot do this"
        "The machine that is compiled for lacks something that the function asks for."
    "T0605" Limit
        "a bound is missing or exceeded"
        "Sizes that are planned when the program is built need bounds: `#[tensor_fn(dims(B <= 64))]`."

    "T0606" Schedule
        "the schedule cannot be applied"
        "A step of `#[schedule]` is applied only where it keeps what the function computes. The error says what is in the way, by the names of blocks, loops and tensors; `compiler/docs/schedules.md` lists every primitive with what it refuses."
    "T0607" PoolBudget
        "the workspace does not fit into its memories"
        "`pool(…)` splits the workspace: the first memory takes what is used most for its size, the last one what is left. The error says how much of it is missing, and the table lists what is live where most of it is in use."

    // T08: build and contract.
    "T0801" NoBuildScript
        "the package has no build script that compiles it"
        "Tensor functions are compiled by the package's build script. Create `build.rs` with `fn main() { tenfold_build::compile() }` and add `tenfold-build` to `[build-dependencies]`."
    "T0802" NotFound
        "the build script did not find the function"
        "The build script reads the package's sources before rustc does. It sees a function that stands as text in a file that a `mod` leads to, under the attribute's own name `tensor_fn`, and not what a macro writes."
    "T0803" Stale
        "the function changed after the build script ran"
        "Cargo runs the build script again when a file is newer than its last run. A restored cache, a preserved time stamp or the first tensor function of a test or example hides that; `touch build.rs` once."
    "T0804" Recursion
        "a tensor function calls itself"
        "Tensor functions are expanded where they are called, so there is no recursion, neither direct nor through others. Write a `for` or a `while`."
    "T0805" UndeterminedCallee
        "which function is called depends on a `cfg`"
        "Two functions have this path, under `cfg`s of which the build script cannot tell which one is on (`test`, `debug_assertions`, a name set by the build script). Give them different names."
    "T0806" Versions
        "the crates of Tenfold do not fit together"
        "`tenfold`, `tenfold-macros` and `tenfold-build` of one version belong together: `cargo update -p tenfold -p tenfold-build`."
    "T0807" Environment
        "the build cannot compile anything here"
        "Something outside of the function is missing: a code generator, a compiler, a directory that can be written. `cargo tenfold doctor` says what was looked for."
    "T0808" Indistinct
        "two functions cannot be told apart"
        "Two functions have one name and one text but different meaning, and neither the crate, the file nor the line says which one this is. Rename one."
    "T0809" Passes
        "the passes cannot run like this"
        "The build script or the environment names a pass, a variant or a setting that does not exist, gives it a value it does not take, or adds a pass that failed. `compiler/docs/passes.md` lists every pass, setting and variable, `compiler/docs/variants.md` the variants."

    // T09: internal.
    "T0901" Internal
        "the compiler made a mistake"
        "This is an error of Tenfold and not of the function. Please report it with the function's text."
    "T0902" CodeGeneratorDied
        "the code generator died on this function"
        "Code is generated in a process of its own, which ended without an answer: LLVM ends it on what it cannot select. The other functions are compiled. Please report it with the function's text."
    "T0903" TimeLimit
        "compiling this function took too long"
        "The time for one function is limited, so that no input makes a build run for ever. Split the function; `TENFOLD_TIME_LIMIT` sets the limit in seconds."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

impl Code {
    /// The code with this number.
    pub fn from_number(number: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.number() == number)
    }
}

/// The titles of the groups, by the first three characters of the number.
pub const GROUPS: &[(&str, &str)] = &[
    ("T01", "Syntax"),
    ("T02", "Names, types and dtypes"),
    ("T03", "Shapes and broadcasting"),
    ("T04", "Index proofs"),
    ("T05", "Constants and files"),
    ("T06", "Memory, targets and budgets"),
    ("T08", "Build and contract"),
    ("T09", "Internal"),
];

/// The page `compiler/docs/errors.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Errors\n\nWritten from `compiler/syntax/src/code.rs`; `TENFOLD_BLESS=1 cargo test -p tenfold-syntax` writes it anew.\n",
    );
    for (prefix, title) in GROUPS {
        page += &format!("\n## {prefix}xx: {title}\n");
        for code in Code::ALL.iter().filter(|c| c.number().starts_with(prefix)) {
            page += &format!("\n### {}: {}\n\n{}\n", code.number(), code.meaning(), code.explanation());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_have_a_group() {
        for pair in Code::ALL.windows(2) {
            assert!(pair[0].number() < pair[1].number(), "{} {}", pair[0], pair[1]);
        }
        for code in Code::ALL {
            assert!(GROUPS.iter().any(|g| code.number().starts_with(g.0)), "{code}");
            assert_eq!(Code::from_number(code.number()), Some(*code));
        }
    }

    #[test]
    fn the_page_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/errors.md");
        if std::env::var_os("TENFOLD_BLESS").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == page(), "docs/errors.md is not the table; write it anew with TENFOLD_BLESS=1");
    }
}
