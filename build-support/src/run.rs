//! One run of the build script: find, resolve, look up, compile, write down.

mod again;
pub mod look;
mod system;

pub(crate) use system::system_lib;

use crate::environment::{Environment, symbol_part};
use crate::files::{self, Hashes};
use crate::front::{self, Read};
use crate::object::symbols;
use crate::out;
use crate::report::{Line, Report, Status};
use crate::resolve::{self, Node, Resolved};
use crate::target::Kind;
use crate::walk::{self, Found, Seen};
use crate::worker::message::{Answer, Compiled, Request, Source};
use crate::worker::{self, Job};
use crate::{compiler, records, roots, user};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tenfold_ir::content::Hasher;
use tenfold_syntax::Code;
use tenfold_syntax::diagnostic::Diagnostic;
use tenfold_syntax::index::{Artefact, Entry, Index, Root, SkipReason, Skipped};
use tenfold_syntax::signature::{Instance, errors_of_all};

/// Digits of a key that stand in names.
const SHORT: usize = 16;

/// Days for which an answer is kept that no run asked for.
const KEEP_DAYS: u64 = 7;

/// What a run leaves for cargo.
pub(crate) struct Done {
    /// Files and directories to watch.
    pub(crate) watch: BTreeSet<PathBuf>,
    /// Where archives lie.
    pub(crate) search: PathBuf,
    /// What the user must act on.
    pub(crate) warnings: Vec<String>,
}

/// A function on its way; of a generic one, an instance. The instances of one function stand side by side.
struct Item {
    found: Found,
    read: Read,
    /// Its number among the instances.
    instance: usize,
    key: String,
    errors: Vec<Diagnostic>,
}

impl Item {
    /// Its path in its crate.
    fn path(&self) -> String {
        let modules = self.found.function.place.modules.iter();
        let parts = modules.map(String::as_str).chain([self.read.name.as_str()]);
        parts.fold(String::from("crate"), |path, part| path + "::" + part)
    }

    /// Which values it has for the generic parameters.
    fn generics(&self) -> &Instance {
        &self.read.instances[self.instance]
    }
}

/// How entry points are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// By a name that no other version and no other text has: crates with one name link side by side.
    Hashed,
    /// As a program in C calls them.
    Plain,
}

/// What is kept between the steps of a run.
struct Run<'a> {
    environment: &'a Environment,
    naming: Naming,
    directory: PathBuf,
    backend: String,
    /// What tells the build script's passes from others.
    user: String,
    items: Vec<Item>,
    resolved: Vec<Resolved>,
}

/// Runs.
pub(crate) fn run(environment: &Environment) -> io::Result<Done> {
    let begin = Instant::now();
    let directory = environment.out.join("tenfold");
    let roots = roots::of(&environment.package);
    let mut seen = walk::walk(&environment.package, &roots);
    let walk = begin.elapsed();
    fs::create_dir_all(directory.join("cache"))?;
    let mut hashes = Hashes::load(&directory.join("cache/files"));
    let run = Run::new(environment, Naming::Hashed, directory, &mut seen, &mut hashes);
    let mut outcomes = run.look_up();
    let workers = run.compile_missing(&mut outcomes)?;
    if environment.prints() {
        run.pass_on_prints();
    }
    let entries = run.entries(&outcomes);
    run.write_index(&seen, &roots, entries)?;
    out::write_if_changed(&run.directory.join("cache/files"), hashes.print().as_bytes())?;
    run.remove_unused(&outcomes);
    let report = run.report(&outcomes, workers, seen.files_read, walk, begin.elapsed());
    fs::write(run.directory.join("report.txt"), report.text())?;
    fs::write(run.directory.join("report.json"), report.json())?;
    let mut watch = seen.watch;
    watch.insert(environment.package.join("Cargo.toml"));
    watch.extend(hashes.watch);
    watch.retain(|path| !path.starts_with(&environment.out));
    watch.extend(run.is_unsettled(&outcomes).then(|| environment.never()));
    Ok(Done { watch, warnings: run.warnings(&outcomes), search: run.directory })
}

/// What the items alone say. What is no function is left out.
fn read_all(seen: &mut Seen) -> Vec<Item> {
    let mut items = Vec::new();
    for found in std::mem::take(&mut seen.found) {
        match front::read(&found.function) {
            Some(read) => {
                let of = |instance| Item {
                    found: found.clone(),
                    read: read.clone(),
                    instance,
                    key: String::new(),
                    errors: Vec::new(),
                };
                // what cannot be compiled has one entry
                let count = if read.is_sound { read.instances.len() } else { 1 };
                items.extend((0..count).map(of));
            }
            None => {
                seen.skipped.insert(Skipped {
                    file: found.file,
                    line: found.function.line,
                    name: found.function.name,
                    reason: SkipReason::Unreadable,
                });
            }
        }
    }
    items
}

fn nodes(items: &[Item]) -> Vec<Node<'_>> {
    items
        .iter()
        .map(|item| Node {
            krate: &item.found.krate,
            modules: &item.found.function.place.modules,
            name: &item.read.name,
            reachable: !item.found.function.local && !item.found.function.associated,
            fingerprint: &item.read.fingerprint,
            undetermined: item.found.function.on.is_none(),
            uses: &item.read.uses,
        })
        .collect()
}

/// What became of a key.
struct Outcome {
    answer: Answer,
    status: Status,
    time: Duration,
}

type Outcomes = BTreeMap<String, Outcome>;

impl<'a> Run<'a> {
    /// What a walk has seen, each function with its key.
    fn new(
        environment: &'a Environment,
        naming: Naming,
        directory: PathBuf,
        seen: &mut Seen,
        hashes: &mut Hashes,
    ) -> Self {
        let items = read_all(seen);
        let resolved = resolve::resolve(&nodes(&items));
        let backend = if items.is_empty() {
            "nothing to compile".into()
        } else if environment.target.chosen().is_some_and(|chosen| chosen.kind() == Kind::C) {
            "c".into()
        } else {
            compiler::identity(&environment.options.llvm, &directory.join("cache/backend"))
        };
        // a program that cannot read itself has a key of its own
        let user = user::identity().unwrap_or_else(|error| format!("{error} {:?}", Instant::now()));
        let mut run = Self { environment, naming, directory, backend, user, items, resolved };
        run.make_keys(hashes);
        run
    }

    /// Everything that an object depends on. Callees come before their callers.
    fn make_keys(&mut self, hashes: &mut Hashes) {
        // Another compiler compiles everything anew.
        let version = compiler::version();
        let records = records::hash(&self.environment.package, hashes);
        for number in resolve::order(&self.resolved) {
            let item = &self.items[number];
            let environment = self.environment;
            let mut key = Hasher::new();
            for part in [
                &version,
                &tenfold_abi::ABI_VERSION.to_string(),
                &self.backend,
                &self.user,
                &environment.name,
                &environment.version,
                &environment.target.triple,
                &environment.target.chosen,
                &environment.target.devices.join(";"),
                &environment.options.fault,
                &environment.options.variants,
                &environment.options.optimised.to_string(),
                &item.read.name,
                &item.read.fingerprint,
                &item.generics().to_string(),
            ] {
                key.field(part.as_bytes());
            }
            // Each copy of a function that calls outside has shims of its own, which would meet in one program.
            if item.read.uses.shims || !user::passes().is_empty() {
                let function = &item.found.function;
                key.field(item.found.krate.as_bytes()).field(function.place.modules.join("::").as_bytes());
                key.field(item.found.file.as_bytes());
                key.field(&if function.local { function.line } else { 0 }.to_le_bytes());
            }
            if self.naming == Naming::Plain {
                key.field(b"system library");
            }
            if item.read.shows_lines {
                key.field(&item.found.function.line.to_le_bytes());
            }
            records.iter().for_each(|hash| {
                key.field(b"records").field(hash.as_bytes());
            });
            let options = environment.options.script.iter().chain(&environment.options.passes);
            for (name, value) in environment.target.cfg.iter().chain(options) {
                key.field(name.as_bytes()).field(value.as_bytes());
            }
            for edge in &self.resolved[number].edges {
                key.field(edge.path.join("::").as_bytes());
                key.field(self.items[edge.callee].key.as_bytes());
            }
            for used in &item.read.uses.files {
                let hash = hashes.of(&environment.package, &used.file);
                key.field(used.file.as_bytes()).field(hash.as_bytes());
                for file in files::named_by(&environment.package, used) {
                    key.field(file.as_bytes()).field(hashes.of(&environment.package, &file).as_bytes());
                }
            }
            self.items[number].key = key.finish();
        }
        for (item, resolved) in self.items.iter_mut().zip(&mut self.resolved) {
            item.errors.append(&mut resolved.errors);
        }
    }

    fn symbol(&self, item: &Item) -> String {
        match self.naming {
            Naming::Hashed => self.hashed(item),
            Naming::Plain => self.plain(item),
        }
    }

    fn hashed(&self, item: &Item) -> String {
        format!(
            "__tenfold_{}_{}_{}_{}",
            self.environment.symbol_prefix(),
            symbol_part(&self.environment.version),
            symbol_part(&item.read.name),
            &item.key[..SHORT]
        )
    }

    fn archive(&self, item: &Item) -> String {
        format!("tenfold_{}_{}", self.environment.symbol_prefix(), &item.key[..SHORT])
    }

    /// Whether a worker is asked at all.
    fn is_sound(&self, number: usize) -> bool {
        let item = &self.items[number];
        item.read.is_sound && item.errors.is_empty() && !item.found.function.associated
    }

    /// Whether code is made of it.
    fn is_wanted(&self, number: usize) -> bool {
        let named = match self.naming {
            Naming::Hashed => true,
            Naming::Plain => self.items[number].is_exported(),
        };
        named && self.is_sound(number)
    }

    fn answer_file(&self, key: &str) -> PathBuf {
        self.directory.join("cache").join(format!("{key}.answer"))
    }

    /// The answers of earlier runs, as far as what they name is still there.
    fn look_up(&self) -> Outcomes {
        let mut outcomes = Outcomes::new();
        for (number, item) in self.items.iter().enumerate() {
            if !self.is_wanted(number) || outcomes.contains_key(&item.key) {
                continue;
            }
            let file = self.answer_file(&item.key);
            let bytes = fs::read(file).unwrap_or_default();
            let Some(answer) = Answer::from_bytes(&bytes) else {
                continue;
            };
            let there = |name: &str| out::archive_path(&self.directory, name).is_file();
            let whole = match &answer {
                Answer::Compiled(compiled) => there(&self.archive(item)) && linked(compiled).all(there),
                Answer::Refused(_) => true,
            };
            if whole {
                let outcome = Outcome { answer, status: Status::Cached, time: Duration::ZERO };
                outcomes.insert(item.key.clone(), outcome);
            }
        }
        outcomes
    }

    /// Hands what is missing to workers, each distinct function once.
    fn compile_missing(&self, outcomes: &mut Outcomes) -> io::Result<worker::Workers> {
        let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, item) in self.items.iter().enumerate() {
            if self.is_wanted(number) && !outcomes.contains_key(&item.key) {
                asked.entry(&item.key).or_insert(number);
            }
        }
        // in the order of the sources: the same whatever the keys are
        let mut numbers: Vec<usize> = asked.into_values().collect();
        numbers.sort_unstable();
        let mut jobs: Vec<Job> = numbers
            .iter()
            .map(|number| Job { request: self.request(*number), answer: None, time: Duration::ZERO })
            .collect();
        let workers = worker::run(&mut jobs, &self.directory.join("cache"));
        for (number, job) in numbers.into_iter().zip(jobs) {
            let item = &self.items[number];
            let answer = job.answer.unwrap_or(Answer::Refused(Vec::new()));
            let answer = self.keep(item, &job.request, answer)?;
            let outcome = Outcome { answer, status: Status::Compiled, time: job.time };
            outcomes.insert(item.key.clone(), outcome);
        }
        Ok(workers)
    }

    fn request(&self, number: usize) -> Request {
        let item = &self.items[number];
        let mut places = vec![number];
        let mut functions = Vec::new();
        let mut next = 0;
        while next < places.len() {
            let source = &self.items[places[next]].found.function;
            let mut calls = Vec::new();
            for edge in &self.resolved[places[next]].edges {
                let place = places.iter().position(|place| *place == edge.callee);
                let place = place.unwrap_or_else(|| {
                    places.push(edge.callee);
                    places.len() - 1
                });
                calls.push((edge.path.clone(), place));
            }
            functions.push(Source {
                argument: source.argument.clone(),
                text: source.text.clone(),
                path: self.items[places[next]].path(),
                symbol: self.symbol(&self.items[places[next]]),
                line: source.line,
                calls,
            });
            next += 1;
        }
        let object = self.directory.join("cache").join(format!("{}.o", item.key));
        Request {
            symbol: self.symbol(item),
            instance: item.instance as u64,
            object: object.to_string_lossy().into_owned(),
            archives: self.directory.to_string_lossy().into_owned(),
            functions,
            package: self.environment.package.to_string_lossy().into_owned(),
            known: self.known(&item.found.krate),
            target: self.environment.target.clone(),
            options: self.environment.options.clone(),
            text: None,
            variant: String::new(),
            devices: self.naming == Naming::Hashed,
        }
    }

    /// The paths of a crate's functions.
    fn known(&self, krate: &str) -> Vec<String> {
        let reachable = |item: &&Item| {
            let function = &item.found.function;
            item.found.krate == krate && !function.local && !function.associated
        };
        let mut paths: Vec<String> = self.items.iter().filter(reachable).map(Item::path).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Turns the objects into an archive and keeps the answer, unless another run may answer differently.
    fn keep(&self, item: &Item, request: &Request, mut answer: Answer) -> io::Result<Answer> {
        let passing = match &mut answer {
            Answer::Compiled(compiled) => {
                self.archive_objects(&self.archive(item), request, compiled)?;
                false
            }
            Answer::Refused(diagnostics) => diagnostics.iter().any(|d| again::is_passing(d.code)),
        };
        let _ = fs::remove_file(&request.object);
        if !passing {
            out::write_if_changed(&self.answer_file(&item.key), &answer.to_bytes())?;
        }
        Ok(answer)
    }

    /// One archive of the baseline's object and those of the variants, whose bytes of code are seen in it.
    fn archive_objects(&self, name: &str, request: &Request, compiled: &mut Compiled) -> io::Result<()> {
        let baseline = fs::read(&request.object)?;
        compiled.code_bytes = symbols::code_bytes(&baseline);
        let mut objects = vec![out::Object { name: name.into(), symbol: request.symbol.clone(), bytes: baseline }];
        for variant in &mut compiled.variants {
            let file = compiler::variants::object(&request.object, &variant.name);
            let bytes = fs::read(&file)?;
            variant.code_bytes = symbols::code_bytes(&bytes);
            let (name, symbol) = (format!("{name}.{}", variant.name), variant.symbol.clone());
            objects.push(out::Object { name, symbol, bytes });
            let _ = fs::remove_file(file);
        }
        out::archive_objects(&self.directory, name, &objects)
    }

    /// The functions that call one with errors, directly or not.
    fn blocked(&self, outcomes: &Outcomes) -> Vec<bool> {
        let mut blocked = vec![false; self.items.len()];
        for number in resolve::order(&self.resolved) {
            blocked[number] = self.resolved[number].edges.iter().any(|edge| {
                let compiled = |number: usize| {
                    let outcome = outcomes.get(&self.items[number].key);
                    outcome.is_some_and(|o| matches!(o.answer, Answer::Compiled(_)))
                };
                let all = self.instances_from(edge.callee);
                blocked[edge.callee] || !self.is_sound(edge.callee) || !all.into_iter().all(compiled)
            });
        }
        blocked
    }

    /// The instances of a function, whose first one is given.
    fn instances_from(&self, first: usize) -> std::ops::Range<usize> {
        let more = self.items[first + 1..].iter().take_while(|item| item.instance > 0);
        first..first + 1 + more.count()
    }

    /// An entry for each function: what its instances have.
    fn entries(&self, outcomes: &Outcomes) -> Vec<Entry> {
        let each = self.instance_entries(outcomes);
        let firsts = (0..each.len()).filter(|number| self.items[*number].instance == 0);
        let whole = |first: usize| {
            let all = self.instances_from(first);
            let errors = |n: usize| (self.items[n].generics().clone(), each[n].diagnostics.clone());
            let diagnostics: Vec<_> = errors_of_all(all.clone().map(errors).collect()).into_iter().collect();
            let sound = diagnostics.is_empty();
            let artefacts = all.filter(|_| sound).flat_map(|n| each[n].artefacts.clone()).collect();
            Entry { diagnostics, artefacts, ..each[first].clone() }
        };
        firsts.map(whole).collect()
    }

    fn instance_entries(&self, outcomes: &Outcomes) -> Vec<Entry> {
        let blocked = self.blocked(outcomes);
        let items = self.items.iter().enumerate();
        items
            .map(|(number, item)| {
                let mut entry = Entry {
                    name: item.read.name.clone(),
                    fingerprint: item.read.fingerprint.clone(),
                    root: item.found.krate.clone(),
                    module: item.found.function.place.modules.join("::"),
                    file: item.found.file.clone(),
                    line: item.found.function.line,
                    associated: item.found.function.associated,
                    artefacts: Vec::new(),
                    diagnostics: item.errors.clone(),
                };
                let outcome = outcomes.get(&item.key).filter(|_| self.is_sound(number));
                match outcome.map(|outcome| &outcome.answer) {
                    Some(Answer::Compiled(compiled)) => {
                        entry.artefacts.push(self.artefact(item, compiled));
                    }
                    Some(Answer::Refused(diagnostics)) => {
                        // what a callee's own errors lead to is not said again
                        let again = |d: &&Diagnostic| blocked[number] && d.code == Code::CalleeError;
                        let own = diagnostics.iter().filter(|d| !again(d));
                        entry.diagnostics.extend(own.cloned());
                    }
                    None => {}
                }
                entry
            })
            .collect()
    }

    fn artefact(&self, item: &Item, compiled: &Compiled) -> Artefact {
        let mut archives = vec![self.archive(item)];
        archives.extend(compiled.constants.iter().map(|(name, _)| name.clone()));
        Artefact {
            symbol: self.symbol(item),
            archives,
            workspace_bytes: compiled.workspace_bytes,
            workspace_expr: compiled.workspace_expr.clone(),
            pools: compiled.pools.clone(),
            weight_bytes: compiled.constants.iter().map(|(_, bytes)| bytes).sum(),
            code_bytes: compiled.code_bytes,
            variants: compiled.variants.clone(),
            stack_bytes: compiled.stack_bytes,
            flops_expr: compiled.flops_expr.clone(),
            checks: compiled.checks.clone(),
            shims: compiled.shims.clone(),
            device: compiled.device.clone(),
        }
    }

    fn write_index(&self, seen: &Seen, roots: &[roots::Root], entries: Vec<Entry>) -> io::Result<()> {
        let roots = roots.iter().zip(&seen.watched);
        let index = Index {
            abi: tenfold_abi::ABI_VERSION,
            compiler: env!("CARGO_PKG_VERSION").into(),
            owner: self.environment.owner(),
            faults: Vec::new(),
            roots: roots
                .map(|(root, watched)| Root {
                    name: root.name.clone(),
                    file: walk::portable(&root.file),
                    watched: *watched,
                })
                .collect(),
            files: seen.files.iter().cloned().collect(),
            skipped: seen.skipped.iter().cloned().collect(),
            entries,
        };
        write_index(&self.environment.out, &index)
    }

    /// Archives that the index does not name, and answers that nobody asked for in a while.
    fn remove_unused(&self, outcomes: &Outcomes) {
        let mut used = BTreeSet::new();
        for item in &self.items {
            if let Some(Answer::Compiled(compiled)) = outcomes.get(&item.key).map(|o| &o.answer) {
                used.insert(format!("lib{}.a", self.archive(item)));
                used.extend(linked(compiled).map(|archive| format!("lib{archive}.a")));
            }
        }
        for (path, age) in files_in(&self.directory) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_archive = name.starts_with("libtenfold_") && name.ends_with(".a");
            if is_archive && !used.contains(name.as_ref()) && age > keep_time() {
                let _ = fs::remove_file(&path);
            }
        }
        for (path, age) in files_in(&self.directory.join("cache")) {
            let key = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_answer = path.extension().is_some_and(|e| e == "answer");
            if is_answer && !outcomes.contains_key(key.as_ref()) && age > keep_time() {
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// What workers printed; `cargo build -vv` shows it.
    fn pass_on_prints(&self) {
        for (path, _) in files_in(&self.directory.join("cache")) {
            if path.extension().is_some_and(|e| e == "log") {
                eprint!("{}", fs::read_to_string(path).unwrap_or_default());
            }
        }
    }

    /// What the user must act on.
    fn warnings(&self, outcomes: &Outcomes) -> Vec<String> {
        let fell_back = self.backend == "none" && self.environment.options.llvm != "none";
        let text = "no LLVM 22 or newer was found, so tensor functions are compiled through the C compiler; \
                    `cargo tenfold doctor` says what was looked for, `TENFOLD_LLVM=none` silences this";
        let refused = outcomes.values().flat_map(|outcome| match &outcome.answer {
            Answer::Compiled(compiled) => &compiled.refused[..],
            Answer::Refused(_) => &[],
        });
        let records = records::warnings(&self.environment.package, refused);
        fell_back.then(|| text.to_string()).into_iter().chain(records).collect()
    }

    fn report(
        &self,
        outcomes: &Outcomes,
        workers: worker::Workers,
        files: usize,
        walk: Duration,
        total: Duration,
    ) -> Report {
        let count = |status| outcomes.values().filter(|o| o.status == status).count();
        Report {
            lines: self.lines(outcomes),
            compiled: count(Status::Compiled),
            cached: count(Status::Cached),
            workers: workers.most,
            started: workers.started,
            files,
            backend: self.backend.clone(),
            walk,
            total,
        }
    }

    fn lines(&self, outcomes: &Outcomes) -> Vec<Line> {
        let line = |item: &Item| {
            let outcome = outcomes.get(&item.key);
            let mut path = item.found.function.place.modules.clone();
            path.push(item.read.name.clone());
            let mut line = Line {
                name: path.join("::") + &item.generics().turbofish(),
                time: outcome.map_or(Duration::ZERO, |outcome| outcome.time),
                ..Line::default()
            };
            if let Some(Outcome { answer: Answer::Compiled(compiled), status, .. }) = outcome {
                line.symbol = self.symbol(item);
                line.status = *status;
                if *status == Status::Compiled {
                    line.stages.clone_from(&compiled.times);
                    line.peak = compiled.peak_bytes;
                    line.remarks.clone_from(&compiled.remarks);
                }
                line.workspace = compiled.workspace_bytes;
                line.pools.clone_from(&compiled.pools);
                line.weights = compiled.constants.iter().map(|(_, bytes)| bytes).sum();
                line.stack = compiled.stack_bytes;
                line.code = compiled.variants.iter().map(|v| (v.name.clone(), v.code_bytes)).collect();
                line.code.push((tenfold_abi::BASELINE.into(), compiled.code_bytes));
                line.device = compiled.device.as_ref().map(|device| device.blob.bytes);
            }
            line
        };
        self.items.iter().map(line).collect()
    }
}

/// The archives that a function needs beside its own.
fn linked(compiled: &Compiled) -> impl Iterator<Item = &str> {
    let device = compiled.device.iter().flat_map(|device| std::iter::once(&device.blob).chain(&device.constants));
    let constants = compiled.constants.iter().map(|(archive, _)| archive.as_str());
    constants.chain(device.map(|part| part.archive.as_str()))
}

/// Writes the index; rustc looks at its time through `include_bytes!`.
pub(crate) fn write_index(out: &Path, index: &Index) -> io::Result<()> {
    let path = out.join(tenfold_syntax::index::PATH);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    out::write_if_changed(&path, index.print().as_bytes())
}

fn keep_time() -> Duration {
    Duration::from_secs(KEEP_DAYS * 24 * 60 * 60)
}

/// The files of a directory, and how long ago each was written.
fn files_in(directory: &Path) -> Vec<(PathBuf, Duration)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let age = entry.metadata().ok()?.modified().ok()?.elapsed().ok()?;
            Some((entry.path(), age))
        })
        .collect()
}
