//! Boards by name.

/// A board.
pub(super) struct Board {
    /// Maker and name.
    pub(super) name: &'static str,
    /// rustc's name of its target.
    pub(super) triple: &'static str,
    /// LLVM's name of its processor.
    pub(super) cpu: &'static str,
}

const fn board(name: &'static str, triple: &'static str, cpu: &'static str) -> Board {
    Board { name, triple, cpu }
}

/// In the order of their names.
#[rustfmt::skip]
pub(super) const BOARDS: &[Board] = &[
    board("arduino/nano-33-ble",    "thumbv7em-none-eabihf",        "cortex-m4"),
    board("arm/mps2-an385",         "thumbv7m-none-eabi",           "cortex-m3"),
    board("arm/mps2-an386",         "thumbv7em-none-eabihf",        "cortex-m4"),
    board("arm/mps2-an500",         "thumbv7em-none-eabihf",        "cortex-m7"),
    board("arm/mps3-an547",         "thumbv8m.main-none-eabihf",    "cortex-m55"),
    board("bbc/microbit-v1",        "thumbv6m-none-eabi",           "cortex-m0"),
    board("bbc/microbit-v2",        "thumbv7em-none-eabihf",        "cortex-m4"),
    board("espressif/esp32-c6",     "riscv32imac-unknown-none-elf", "generic-rv32"),
    board("nordic/nrf52840-dk",     "thumbv7em-none-eabihf",        "cortex-m4"),
    board("nordic/nrf5340-dk",      "thumbv8m.main-none-eabihf",    "cortex-m33"),
    board("nxp/mimxrt1060-evk",     "thumbv7em-none-eabihf",        "cortex-m7"),
    board("raspberry-pi/4b",        "aarch64-unknown-linux-gnu",    "cortex-a72"),
    board("raspberry-pi/5",         "aarch64-unknown-linux-gnu",    "cortex-a76"),
    board("raspberry-pi/pico",      "thumbv6m-none-eabi",           "cortex-m0plus"),
    board("raspberry-pi/pico-2",    "thumbv8m.main-none-eabihf",    "cortex-m33"),
    board("renesas/ek-ra8m1",       "thumbv8m.main-none-eabihf",    "cortex-m85"),
    board("sifive/hifive1-rev-b",   "riscv32imac-unknown-none-elf", "sifive-e31"),
    board("st/nucleo-f446re",       "thumbv7em-none-eabihf",        "cortex-m4"),
    board("st/nucleo-h743zi",       "thumbv7em-none-eabihf",        "cortex-m7"),
    board("st/nucleo-l4r5zi",       "thumbv7em-none-eabihf",        "cortex-m4"),
    board("st/nucleo-u575zi-q",     "thumbv8m.main-none-eabihf",    "cortex-m33"),
];
