//! Random functions of the language, and random tokens.

/// A small generator of random numbers, the same on every machine.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Writes a random function. What it is follows from the first generator alone; the second, if there is one, adds what
/// leaves no trace: parentheses, blanks, comments, trailing commas.
pub(crate) struct Writer {
    pub(crate) shape: Rng,
    pub(crate) noise: Option<Rng>,
}

impl Writer {
    pub(crate) fn new(seed: u64, noise: Option<u64>) -> Writer {
        Writer { shape: Rng::new(seed), noise: noise.map(Rng::new) }
    }

    fn noisy(&mut self, one_in: usize) -> bool {
        self.noise.as_mut().is_some_and(|n| n.below(one_in) == 0)
    }

    fn gap(&mut self) -> &'static str {
        match self.noise.as_mut().map(|n| n.below(8)) {
            Some(0) => " /* why */ ",
            Some(1) => "\n\t",
            Some(2) => " // then\n",
            _ => " ",
        }
    }

    fn name(&mut self) -> String {
        let names = ["x", "y", "acc", "r#type", "N", "K", "größe", "i", "r#match", "raw"];
        self.shape.pick(&names).to_owned()
    }

    fn many(&mut self, most: usize, one: impl Fn(&mut Writer) -> String) -> Vec<String> {
        let n = self.shape.below(most + 1);
        (0..n).map(|_| one(self)).collect()
    }

    fn commas(&mut self, items: Vec<String>) -> String {
        let trailing = if !items.is_empty() && self.noisy(3) { "," } else { "" };
        let gap = self.gap();
        items.join(&format!(",{gap}")) + trailing
    }

    pub(crate) fn function(&mut self) -> String {
        let mut text = String::new();
        if self.noisy(2) {
            text += "/// Told in its own words.\n";
        }
        text += &self.attributes();
        for target in ["", "target = \"nvptx\", "] {
            if self.shape.below(4) == 0 {
                let end = if self.noisy(2) { ";;" } else { ";" };
                text += &format!(
                    "#[schedule({target}|s| {{ let [i, _] = s.loops(\"f\"); s.split(i, [_, 16], keep = true){end} s.map(|a, b| [b, a + 1]); }})]\n"
                );
            }
        }
        let visibility = if self.noisy(2) { "pub(crate) " } else { "" };
        let mut params = vec!["x: Tensor<f32, N, { K + 1 }, 4>".to_owned()];
        params.extend(self.many(3, |w| {
            let list = ["k: f32", "n: usize", "s: &mut Tensor<f32, N>", "v: Strided<i8, N, { 2 * N }>", "b: bool"];
            w.shape.pick(&list).to_owned()
        }));
        let result = ["", " -> f32", " -> Tensor<f32, N, { n }>", " -> (f32, Tensor<f32>)", " -> (bool,)"];
        let result = self.shape.pick(&result);
        let params = self.commas(params);
        let gap = self.gap();
        format!("{text}{visibility}fn r#fn({params}){result}{gap}{}", self.block(4))
    }

    fn attributes(&mut self) -> String {
        let args = self.many(5, |w| {
            let once = w.shape.below(9);
            match once {
                0 => format!("dims(K = 8, {} <= 64)", w.name()),
                1 => "dims(N % 8 == 0)".to_owned(),
                2 => "pool(dtcm = \"64K\", psram = 7)".to_owned(),
                _ => "dims(B >= 1)".to_owned(),
            }
        });
        let mut all = args;
        let once = [
            "workspace <= \"64K\"",
            "numerics = \"strict\"",
            "crate = ::a::b",
            "module = other",
            "stack <= 9",
            "targets(\"cpu\", \"spirv\")",
        ];
        for arg in once {
            if self.shape.below(5) == 0 {
                let at = self.shape.below(all.len() + 1);
                all.insert(at, arg.to_owned());
            }
        }
        format!("#[tensor_fn({})]\n", self.commas(all))
    }

    fn block(&mut self, depth: usize) -> String {
        let mut text = String::from("{");
        if depth == 4 {
            for _ in 0..self.shape.below(2) {
                text += &format!("assert!({}, \"a \\\"text\\\" ü\");", self.expr(1));
            }
        }
        for _ in 0..self.shape.below(4) {
            text += self.gap();
            text += &self.stmt(depth);
        }
        if self.shape.below(3) > 0 {
            text += self.gap();
            text += &self.expr(depth);
        }
        text + self.gap() + "}"
    }

    /// A block without a value.
    fn body(&mut self, depth: usize) -> String {
        let mut text = String::from("{");
        for _ in 0..self.shape.below(3) {
            text += self.gap();
            text += &self.stmt(depth);
        }
        text + "}"
    }

    fn stmt(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        match self.shape.below(12) {
            0 | 1 => format!("let {} = {};", self.pattern(true), self.expr(d)),
            2 => format!("let mut y: Tensor<f32, N, {{ 2 }}> = {};", self.expr(d)),
            3 => format!("let f = |{}, _| {};", self.pattern(false), self.expr(d)),
            4 => format!("const W: Tensor<f32, 3> = {};", self.const_source()),
            5 => format!("{} = {};", self.target(d), self.expr(d)),
            6 => {
                let op = self.shape.pick(&["+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>="]);
                format!("{}{op}{};", self.element_target(d), self.expr(d))
            }
            7 if depth > 0 => {
                let unroll = self.shape.pick(&["", "#[unroll] "]);
                let variable = self.shape.pick(&["i", "_", "r#in"]);
                format!("{unroll}for {variable} in {} {}", self.range(d), self.body(d))
            }
            8 if depth > 0 => format!("while {} {}", self.condition(d), self.body(d)),
            9 if depth > 0 => format!("if {} {}", self.condition(d), self.body(d)),
            10 => format!("extern_call!(crate::dsp::smooth, &mut s, {});", self.expr(d)),
            _ => format!("self::step(&mut s, {});", self.expr(d)),
        }
    }

    fn const_source(&mut self) -> String {
        let list = ["safetensors!(\"a b.st\", \"w\")", "npy!(\"é.npy\")", "[1.0, -2., 3e-5]", "hann_window(512)"];
        self.shape.pick(&list).to_owned()
    }

    fn pattern(&mut self, mutable: bool) -> String {
        match self.shape.below(6) {
            0 => "_".to_owned(),
            1 if mutable => "mut v".to_owned(),
            2 => "(a, (b, _))".to_owned(),
            3 => "(a,)".to_owned(),
            _ => self.name().to_lowercase(),
        }
    }

    fn target(&mut self, depth: usize) -> String {
        match self.shape.below(4) {
            0 => "x".to_owned(),
            1 => format!("({}, _, y)", self.element_target(depth)),
            _ => self.element_target(depth),
        }
    }

    fn element_target(&mut self, depth: usize) -> String {
        format!("{}[[{}]]", self.name(), self.indices(depth))
    }

    fn indices(&mut self, depth: usize) -> String {
        let mut list = vec![self.index(depth)];
        list.extend(self.many(2, |w| w.index(depth)));
        self.commas(list)
    }

    fn index(&mut self, depth: usize) -> String {
        match self.shape.below(8) {
            0 => "..".to_owned(),
            1 => format!("{}..", self.operand(depth)),
            2 => format!("..{}", self.operand(depth)),
            3 => self.range(depth),
            _ => self.expr(depth),
        }
    }

    fn range(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        let range = format!("{}..{}", self.operand(d), self.operand(d));
        match self.shape.below(4) {
            0 => format!("({range}).rev()"),
            1 => format!("({range}).step_by({})", self.expr(d)),
            2 => format!("({range}).rev().step_by(2).rev()"),
            _ if self.noisy(3) => format!("(({range}))"),
            _ => range,
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        format!("{} < {}", self.operand(depth), self.operand(depth))
    }

    fn operand(&mut self, depth: usize) -> String {
        match self.shape.below(3) {
            0 => self.name(),
            1 => format!("({})", self.literal()),
            _ => format!("({})", self.expr(depth)),
        }
    }

    fn literal(&mut self) -> String {
        let list = ["1", "2.5", "1e-5", "3u8", "1.0f16", "7f32", "0xff", "1_000", "true", "2.", "9usize", "1bf16"];
        self.shape.pick(&list).to_owned()
    }

    pub(crate) fn expr(&mut self, depth: usize) -> String {
        let text = self.plain_expr(depth);
        if self.noisy(4) { format!("({text})") } else { text }
    }

    fn plain_expr(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.shape.below(4) {
                0 => self.literal(),
                1 => self.shape.pick(&["f32::INFINITY", "f32::consts::PI", "i8::MAX"]).to_owned(),
                _ => self.name(),
            };
        }
        let d = depth - 1;
        match self.shape.below(16) {
            0..=3 => {
                let ops = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", ">", "<=", ">=", "&&", "||"];
                let op = self.shape.pick(&ops);
                format!("{}{}{op} {}", self.operand(d), self.gap(), self.operand(d))
            }
            4 => format!("{}{}", self.shape.pick(&["-", "!", "--"]), self.operand(d)),
            5 => format!("({} as {})", self.operand(d), self.shape.pick(&["f32", "isize", "T"])),
            6 => format!("{}[[{}]]", self.name(), self.indices(d)),
            7 => {
                let list = self.many(3, |w| w.expr(d));
                format!("[{}]", self.commas(list))
            }
            8 => {
                let list = vec![self.expr(d), self.expr(d)];
                format!("({})", self.commas(list))
            }
            9 => self.get(d),
            10 | 11 => self.call(d),
            12 => format!("(if {} {} else {})", self.condition(d), self.block(d), self.block(d)),
            13 => format!(
                "(if {} {} else if {} {} else {})",
                self.name(),
                self.block(d),
                self.condition(d),
                self.block(d),
                self.block(d)
            ),
            14 => format!("({})", self.block(d)),
            _ => format!("(unsafe {})", self.block(d)),
        }
    }

    fn get(&mut self, depth: usize) -> String {
        let (name, indices) = (self.name(), self.expr(depth));
        match self.shape.below(4) {
            0 => format!("{name}.get_or([{indices}], {})", self.expr(depth)),
            1 => format!("{name}.get_clamped([{indices}, 0])"),
            2 => format!("{name}.match_shape([M, {indices}])"),
            _ => format!("get_wrapped({name}, [{indices}])"),
        }
    }

    fn call(&mut self, depth: usize) -> String {
        let body = self.operand(depth);
        let body = if self.noisy(2) { format!("{{ {body} }}") } else { body };
        let closure = format!("|i, (a, _)| {body}");
        let named = self.shape.pick(&["", ", axis = -1", ", mode = \"reflect\", size = [1, 2]"]);
        match self.shape.below(6) {
            0 => format!("sum({}, {closure}{named})", self.range(depth)),
            1 => format!("crate::nn::f({}, &mut s)", self.expr(depth)),
            2 => format!("zeros::<u32>([{}])", self.expr(depth)),
            3 => format!("{}.softmax({}{named})", self.name(), self.expr(depth)),
            4 => format!("(extern_call!(super::g, {}))", self.expr(depth)),
            _ => format!("self::blur::<3, {{ K + 1 }}>({})", self.expr(depth)),
        }
    }
}
