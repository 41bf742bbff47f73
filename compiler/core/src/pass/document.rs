//! `compiler/docs/passes.md`: made from the registry, the pipeline and the table of variables, and from nothing else.

use std::fmt::Write as _;

use super::{Pass, PassPhase, VARIABLES, config_keys};
use crate::{PASSES, PIPELINE};

const HEAD: &str = "\
# Passes

This page is made from the registry of the compiler (`compiler/core/src/pipeline.rs`); a test compares the two, and
`TENFOLD_BLESS=1 cargo test -p tenfold-core --test documents` writes it. `adding.md` says how a pass is written,
`relax.md` and `tir.md` what it works on.

";

const RULES: &str = "\
## Which passes run

A pass runs if it is not disabled, and if it is required by name or its level is at most the context's level, which is 2.
Passes that it requires run before it. A pass that lowers has level 0 and cannot be disabled, since there is no code
without it. Instruments may keep any pass from running that is not required by name.

The build script says it for a package, the environment for one build, and the environment has the last word:

```rust
// in `main` of build.rs
tenfold_build::Build::new()
    .opt_level(3)
    .disable(\"PadConv\")
    .add_pass(tenfold_build::PassPhase::Fusion, \"Count\", |module, _| {
        eprintln!(\"{} kernels\", module.functions.len() - 1);
        Ok(())
    })
    .compile();
```

A pass of the user runs after the last pass of its phase, in every function. What it refuses is an error on the function.

";

/// The page.
pub fn document() -> String {
    let mut out = String::from(HEAD);
    pipeline(&mut out);
    phases(&mut out);
    out += RULES;
    variables(&mut out);
    passes(&mut out);
    settings(&mut out);
    out
}

fn pipeline(out: &mut String) {
    *out += "## The pipeline\n\n| pass | phase | runs | what it does |\n|---|---|---|---|\n";
    for pass in PIPELINE {
        let Pass { info, phase, about, .. } = pass;
        let _ = writeln!(out, "| `{}` | {} | {} | {about} |", info.name, phase.name(), runs(pass));
    }
    *out += "\n";
}

fn runs(pass: &Pass) -> String {
    match pass.info.opt_level {
        _ if pass.lowering => "always".into(),
        0 => "unless it is disabled".into(),
        level => format!("from level {level} on"),
    }
}

fn phases(out: &mut String) {
    *out += "Behind the last pass of a phase:\n\n| phase | what there is |\n|---|---|\n";
    for phase in PassPhase::ALL {
        let _ = writeln!(out, "| `{}` | {} |", phase.name(), phase.about());
    }
    *out += "\n";
}

fn variables(out: &mut String) {
    *out += "| variable | value | what it does |\n|---|---|---|\n";
    for v in VARIABLES {
        let _ = writeln!(out, "| `{}` | {} | {} |", v.name, v.syntax, v.about);
    }
    *out += "\nWhat is printed goes to standard error, which `cargo build -vv` shows. A value that is wrong is one error.\n";
    *out += "What is set is part of the key under which code is kept, so that another value compiles anew.\n\n";
}

fn passes(out: &mut String) {
    *out += "## Every pass\n\nPasses that the pipeline lacks run where they are asked for by name.\n\n";
    *out +=
        "| pass | kind | phase | level | requires | in the pipeline | what it does |\n|---|---|---|---|---|---|---|\n";
    for pass in PASSES {
        let Pass { info, kind, phase, about, .. } = pass;
        let times = PIPELINE.iter().filter(|p| p.info.name == info.name).count();
        let level = if pass.lowering { "lowers".into() } else { info.opt_level.to_string() };
        let required = info.required.join(", ");
        let (kind, phase) = (kind.name(), phase.name());
        let _ = writeln!(out, "| `{}` | {kind} | {phase} | {level} | {required} | {times} | {about} |", info.name);
    }
    *out += "\n";
}

fn settings(out: &mut String) {
    *out += "## Settings\n\n";
    if config_keys().is_empty() {
        *out += "No pass has any.\n";
        return;
    }
    *out += "| setting | takes | default | what it means |\n|---|---|---|---|\n";
    for (name, key) in config_keys() {
        let _ = writeln!(out, "| `{name}` | {} | `{}` | {} |", key.takes(), key.default(), key.doc());
    }
}
