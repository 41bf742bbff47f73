//! The texts of `--help`.

/// The options that say which package, for which target and with which features.
macro_rules! package_options {
    () => {
        concat!(
            "  -p, --package NAME          The package, if there are several\n",
            "      --manifest-path FILE    The Cargo.toml to start from\n",
            "      --target TRIPLE         The target to compile for, if it is not the host\n",
            "  -F, --features FEATURES     Features to activate, with commas between them\n",
            "      --all-features          Activate all features\n",
            "      --no-default-features   Do not activate `default`\n",
        )
    };
}

/// `cargo tenfold --help`.
pub(crate) const ALL: &str = "\
Looks into what Tenfold compiles

Usage: cargo tenfold COMMAND [OPTIONS]

Commands:
  doctor    Says what a build finds on this machine, and whether a function can be compiled
  list      Names the tensor functions of a package, with their sizes
  show      Prints one function as relax, tir, LLVM IR, assembly or C, or around a pass
  diff      Prints what is different in one function after two passes
  bisect    Finds the pass that a command fails with
  graph     Draws one function: kernels, shapes, memory over time
  explain   How the kernels of one function are scheduled, why, and how fast they run here
  tune      Looks for faster schedules of the kernels of one function, for builds to use
  lib       Makes a library and a header for programs in C
  stats     Counts kernels, bytes and copies of one function or of all
  signature   Prints the tensor function of an ONNX model, to paste
  weights     Writes the weights of an ONNX model to a safetensors file
  run         Calls an ONNX model on arrays of NumPy
  bench       Measures a call of an ONNX model
  check-onnx  Runs test cases of ONNX

Options:
  -h, --help       Print help; after a command, its own
  -V, --version    Print the version

Exit codes: 0 all is well, 1 a check failed, 2 the command line is wrong.
";

/// `cargo tenfold doctor --help`.
pub(crate) const DOCTOR: &str = "\
Says what a build finds on this machine, and whether a function can be compiled

Usage: cargo tenfold doctor [OPTIONS]

Each line is `ok`, `warn` or `problem`; a problem keeps functions from being compiled. What to do
next stands under it. `TENFOLD_LLVM` is heeded as in a build: rustc, system, none or a path.

Options:
  -p, --package NAME          The package to look at, if there are several
      --manifest-path FILE    The Cargo.toml to start from
      --target TRIPLE         The target to compile for, if it is not the host
  -h, --help                  Print help

Exit codes: 0 a function can be compiled, 1 it cannot, 2 the command line is wrong.
";

/// `cargo tenfold list --help`.
pub(crate) const LIST: &str = concat!(
    "\
Names the tensor functions of a package, with their sizes

Usage: cargo tenfold list [OPTIONS]

The functions are found and compiled as the build script does it, in a folder of the target
directory that no build reads. Errors are printed with their source, after the table.

Options:
",
    package_options!(),
    "\
\x20     --json                  Print one JSON object
\x20 -h, --help                  Print help

Exit codes: 0 every function is compiled, 1 some are not, 2 the command line is wrong.
"
);

/// `cargo tenfold show --help`.
pub(crate) const SHOW: &str = concat!(
    "\
Prints one function as relax, tir, LLVM IR, assembly, C, SPIR-V or PTX

Usage: cargo tenfold show [--stage STAGE] [OPTIONS] FN
       cargo tenfold show --before PASS | --after PASS | --passes | --timing | --remarks
                         [OPTIONS] FN

FN is a path, `crate::nn::mlp`, or the end of one, `mlp`. The text goes to stdout, everything else
to stderr.

Stages:
  relax    The graph, as the front end gives it
  tir      Loops over blocks, with the memory planned (the default)
  llvm     LLVM IR after LLVM's own passes
  asm      Assembly
  c        C11, as the C back end prints it
  spirv    The shaders of its kernels for Vulkan
  ptx      The PTX of its kernels for CUDA, of each chip that it names, else for sm_80

Options:
  -s, --stage STAGE           What to print
      --before PASS           The text before a pass, by name or by number in `--passes`
      --after PASS            The text after a pass
      --passes                The passes that run, and how many lines each takes away and adds
      --timing                How long each pass takes
      --remarks               Which kernels became one, which rule scheduled them, which loops
                              became vectors, were copied out or cut, and why others were not
      --variant NAME          The code to look at: `baseline`, `x86-64-v3`, …; the widest if none
                              is named
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 the text was printed, 1 there is none, 2 the command line is wrong.
"
);

/// `cargo tenfold diff --help`.
pub(crate) const DIFF: &str = concat!(
    "\
Prints what is different in one function after two passes

Usage: cargo tenfold diff [OPTIONS] FN PASS PASS

A unified diff of the texts. A pass is a name or a number in `cargo tenfold show --passes FN`.

Options:
      --variant NAME          The code to look at: `baseline`, `x86-64-v3`, …; the widest if none
                              is named
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 the diff was printed, 1 there is none, 2 the command line is wrong.
"
);

/// `cargo tenfold bisect --help`.
pub(crate) const BISECT: &str = concat!(
    "\
Finds the pass that a command fails with

Usage: cargo tenfold bisect [OPTIONS] FN -- COMMAND [ARGUMENTS]

The command is started again and again, each time with another value of `TENFOLD_BISECT`, which has
a build run only so many executions of passes in functions of that name. It must build what it
tests, as `cargo test` does, and exit with 0 where all is well. What it prints is not shown.

Options:
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 the pass was found, 1 it was not, 2 the command line is wrong.
"
);

/// `cargo tenfold graph --help`.
pub(crate) const GRAPH: &str = concat!(
    "\
Draws one function: kernels with what was joined in them, shapes, memory over time

Usage: cargo tenfold graph [OPTIONS] FN

One page of HTML that loads nothing from elsewhere.

Options:
  -o, --output FILE           The file to write, if not stdout
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 the page was written, 1 it was not, 2 the command line is wrong.
"
);

/// `cargo tenfold explain --help`.
pub(crate) const EXPLAIN: &str = concat!(
    "\
Says how the kernels of a function are scheduled, why, and how fast they run on this machine

Usage: cargo tenfold explain [OPTIONS] FN
       cargo tenfold explain [OPTIONS] MODEL

The function is compiled for this machine with every feature of its processor and called on random
inputs, on one thread, unless `--threads` allows more. A line per kernel, by time: what it takes,
operations and bytes of a second, the roof that bounds it and how much of it is reached, the rule
that scheduled it and its tile. What the machine can do on so many threads is measured too. Dims
need numbers; those of a model are 1 unless they are given.

Options:
      --dim NAME=N            Bind a dim, or a parameter that is an index
      --seconds S             How long to measure; 1 unless given
      --threads N             Threads that a call may use
      --device TARGET         Explain the kernels for a device, `spirv`, `nvptx:sm_80`: how they are
                              scheduled, what they do, and the least time that a GPU's maker leaves
                              them; nothing is measured then
      --gpu NAME              The GPU that the device is taken for: `--device spirv --gpu rtx-4090`;
                              another name prints those that are known
      --no-run                Measure nothing: only what kernels do and how they are scheduled
      --json                  Print one JSON object
  -o, --output FILE.html      Write a page too, which loads nothing from elsewhere
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 it is explained, 1 it is not, 2 the command line is wrong.
"
);

/// `cargo tenfold tune --help`.
pub(crate) const TUNE: &str = concat!(
    "\
Looks for schedules of a function's kernels that are faster on this machine than the default ones

Usage: cargo tenfold tune [OPTIONS] FN
       cargo tenfold tune [OPTIONS] MODEL

Kernels are tuned one by one, the most costly first: schedules are sampled, ranked by a model, compiled,
compared with the default one and timed beside it. What is faster is written to `tenfold-tune.txt` in the
package; commit that file, builds read it and never tune. A run that is stopped, however, goes on where it
was when the command is given again.

Options:
      --trials N              Schedules to try for each kernel; 64 unless given
      --seconds S             Stop after so long; the next run goes on
      --kernel NAME           Only kernels with this in their name
      --seed N                Other samples; 0 unless given
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 the search is done or stopped, 1 it cannot be made, 2 the command line is wrong.
"
);

/// `cargo tenfold lib --help`.
pub(crate) const LIB: &str = concat!(
    "\
Makes a library for programs in C: lib<package>.a, which needs nothing of Rust, and <package>.h

Usage: cargo tenfold lib --output DIR [OPTIONS]

In it are the functions that are `pub` in the package's library, as <package>_<function>. Nothing
else of the package is compiled, so the target's standard library need not be installed.

Options:
  -o, --output DIR            The folder to write both files to
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 both are written, 1 they are not, 2 the command line is wrong.
"
);

/// `cargo tenfold stats --help`.
pub(crate) const STATS: &str = concat!(
    "\
Counts kernels, bytes and copies of one function or of all

Usage: cargo tenfold stats [OPTIONS] [FN]

Options:
      --json                  Print a JSON array
",
    package_options!(),
    "\
\x20 -h, --help                  Print help

Exit codes: 0 all were counted, 1 some were not, 2 the command line is wrong.
"
);

/// `cargo tenfold check-onnx --help`.
pub(crate) const CHECK_ONNX: &str = "\
Runs test cases of ONNX: compiles each model for this machine and compares what it gives

Usage: cargo tenfold check-onnx DIR [OPTIONS]

A case is a folder under DIR with a `model.onnx`, folders `test_data_set_N` with `input_N.pb` and
`output_N.pb`, and, if it has its own tolerance, a file `tolerance`: `rtol=… atol=…`. An input whose
value decides a shape is compiled in as a constant. Cases run in processes of their own, so that one
that crashes or hangs costs no other. The last line counts them.

Options:
      --by-op           Print a table of the operators
  -j, --jobs N          Cases at once; as many as there are cores unless given
      --timeout SECS    How long a case may take; 120 unless given
      --filter TEXT     Only cases whose path has this in it
  -h, --help            Print help

Exit codes: 0 no case failed, 1 one did, 2 the command line is wrong.
";

/// `cargo tenfold signature --help`.
pub(crate) const SIGNATURE: &str = "\
Prints the tensor function of a model (ONNX, TFLite), to paste into a crate

Usage: cargo tenfold signature MODEL [OPTIONS]

Named dims of the model stay dims of the function, unless they are bound.

Options:
      --dim NAME=N    Bind a dim
      --params        Weights are parameters too, which a program reads when it runs
  -h, --help          Print help

Exit codes: 0 it is printed, 1 the model cannot be imported, 2 the command line is wrong.
";

/// `cargo tenfold weights --help`.
pub(crate) const WEIGHTS: &str = "\
Writes the weights of an ONNX model to a safetensors file

Usage: cargo tenfold weights MODEL.onnx --output FILE.safetensors

A function with its weights as parameters, `cargo tenfold signature --params`, reads them from it when
it runs. Each initialiser keeps its name.

Options:
  -o, --output FILE    The file to write
  -h, --help           Print help

Exit codes: 0 it is written, 1 it is not, 2 the command line is wrong.
";

/// `cargo tenfold run --help`.
pub(crate) const RUN: &str = "\
Calls a model (ONNX, TFLite) on arrays of NumPy

Usage: cargo tenfold run MODEL --input FILE.npy --output FILE.npy [OPTIONS]

The model is compiled for this machine and the shapes of the inputs.

Options:
  -i, --input [NAME=]FILE    An input, by name or in order
  -o, --output FILE          Where an output goes, in order
      --each                 Call it for each index of a first axis that only the files have
      --dim NAME=N           Bind a dim
  -h, --help                 Print help

Exit codes: 0 the outputs are written, 1 they are not, 2 the command line is wrong.
";

/// `cargo tenfold bench --help`.
pub(crate) const BENCH: &str = "\
Measures a call of a model (ONNX, TFLite) on random inputs

Usage: cargo tenfold bench MODEL [OPTIONS]

The model is compiled for this machine with every feature of its processor. Dims that are not bound
are 1. A call runs on one thread, unless `--threads` allows more.

Options:
      --dim NAME=N     Bind a dim
      --seconds S      How long to measure; 1 unless given
      --threads N      Threads that a call may use
      --json           Print one JSON object: median_ms, min_ms, max_ms, calls, …
  -h, --help           Print help

Exit codes: 0 it is measured, 1 it is not, 2 the command line is wrong.
";
