//! An assembler for BPF programs: instructions by name, and jumps to labels.

/// A BPF instruction as the kernel reads it (`struct bpf_insn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    operation: u8,
    /// The destination in the lower half, the source in the upper one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register. `R0` is a result, `R1` to `R5` are arguments and are lost in calls, `R6` to `R9` stay, `R10` is the end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register(u8);

pub(crate) const R0: Register = Register(0);
pub(crate) const R1: Register = Register(1);
pub(crate) const R2: Register = Register(2);
pub(crate) const R3: Register = Register(3);
pub(crate) const R4: Register = Register(4);
pub(crate) const R6: Register = Register(6);
pub(crate) const R7: Register = Register(7);
pub(crate) const R8: Register = Register(8);
pub(crate) const R9: Register = Register(9);
pub(crate) const R10: Register = Register(10);

/// The functions of the kernel that are called (`enum bpf_func_id`).
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Function {
    Lookup = 1,
    Update = 2,
    Time = 5,
    Cpu = 8,
}

/// An operation on a register with another one or a number.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Operation {
    Add = 0x07,
    Subtract = 0x17,
    Divide = 0x37,
    Or = 0x47,
    And = 0x57,
    ShiftLeft = 0x67,
    ShiftRight = 0x77,
    Move = 0xb7,
}

/// A comparison of unsigned numbers.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Comparison {
    Equal = 0x15,
    Greater = 0x25,
    NotEqual = 0x55,
    LessOrEqual = 0xb5,
}

/// The size of what is read or written.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Size {
    Word = 0x00,
    Double = 0x18,
}

/// The operand is a register.
const BY_REGISTER: u8 = 0x08;

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// A program that is being written.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<Instruction>,
    /// Where each label is.
    places: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn push(&mut self, operation: u8, destination: Register, source: Register, offset: i16, immediate: i32) {
        self.code.push(Instruction { operation, registers: destination.0 | source.0 << 4, offset, immediate });
    }

    /// `destination = destination operation number`.
    pub(crate) fn number(&mut self, operation: Operation, destination: Register, number: i32) {
        self.push(operation as u8, destination, R0, 0, number);
    }

    /// `destination = destination operation source`.
    pub(crate) fn register(&mut self, operation: Operation, destination: Register, source: Register) {
        self.push(operation as u8 | BY_REGISTER, destination, source, 0, 0);
    }

    /// `destination = memory[address + offset]`.
    pub(crate) fn load(&mut self, size: Size, destination: Register, address: Register, offset: i16) {
        self.push(0x61 | size as u8, destination, address, offset, 0);
    }

    /// `memory[address + offset] = source`.
    pub(crate) fn store(&mut self, size: Size, address: Register, offset: i16, source: Register) {
        self.push(0x63 | size as u8, address, source, offset, 0);
    }

    /// `memory[address + offset] = number`.
    pub(crate) fn store_number(&mut self, size: Size, address: Register, offset: i16, number: i32) {
        self.push(0x62 | size as u8, address, R0, offset, number);
    }

    /// `memory[address + offset] += 1` in words of 64 bits, by way of `R1`.
    pub(crate) fn count(&mut self, address: Register, offset: i16) {
        self.load(Size::Double, R1, address, offset);
        self.number(Operation::Add, R1, 1);
        self.store(Size::Double, address, offset, R1);
    }

    /// `memory[address + offset] += source` at once for all CPUs; `source` = what was there.
    pub(crate) fn fetch_and_add(&mut self, address: Register, offset: i16, source: Register) {
        self.push(0xdb, address, source, offset, 1);
    }

    /// `memory[address + offset] |= source` at once for all CPUs; `source` = what was there.
    pub(crate) fn fetch_and_or(&mut self, address: Register, offset: i16, source: Register) {
        self.push(0xdb, address, source, offset, 0x41);
    }

    /// `destination` = a map.
    pub(crate) fn map(&mut self, destination: Register, descriptor: i32) {
        const PSEUDO_MAP: Register = Register(1);
        self.push(0x18, destination, PSEUDO_MAP, 0, descriptor);
        self.push(0, R0, R0, 0, 0);
    }

    /// `R0` = the result of a function of the kernel.
    pub(crate) fn call(&mut self, function: Function) {
        self.push(0x85, R0, R0, 0, function as i32);
    }

    /// `R0` = the address of the value whose key is on the stack, or 0.
    pub(crate) fn look_up(&mut self, map: i32, key: i16) {
        self.map(R1, map);
        self.register(Operation::Move, R2, R10);
        self.number(Operation::Add, R2, i32::from(key));
        self.call(Function::Lookup);
    }

    /// Sets the value of a key, both on the stack; `R0` = 0 if that is done.
    pub(crate) fn update(&mut self, map: i32, key: i16, value: i16) {
        self.map(R1, map);
        self.register(Operation::Move, R2, R10);
        self.number(Operation::Add, R2, i32::from(key));
        self.register(Operation::Move, R3, R10);
        self.number(Operation::Add, R3, i32::from(value));
        self.number(Operation::Move, R4, 0);
        self.call(Function::Update);
    }

    /// Ends the program. With 0 nobody else sees the event, neither other programs' samples: a program that only looks returns 1.
    pub(crate) fn exit(&mut self) {
        self.number(Operation::Move, R0, 1);
        self.push(0x95, R0, R0, 0, 0);
    }

    /// A label that is placed later.
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places a label here.
    pub(crate) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.code.len());
    }

    /// Jumps.
    pub(crate) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(0x05, R0, R0, 0, 0);
    }

    /// Jumps if a comparison with a number holds.
    pub(crate) fn jump_if(&mut self, left: Register, comparison: Comparison, right: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(comparison as u8, left, R0, 0, right);
    }

    /// Jumps if a comparison of two registers holds.
    pub(crate) fn jump_if_register(&mut self, left: Register, comparison: Comparison, right: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(comparison as u8 | BY_REGISTER, left, right, 0, 0);
    }

    /// The program.
    ///
    /// # Panics
    /// If a label was not placed, or is too far away.
    pub(crate) fn finish(mut self) -> Vec<Instruction> {
        for (from, label) in self.jumps {
            let to = self.places[label.0].expect("every label is placed");
            self.code[from].offset = i16::try_from(to as i64 - from as i64 - 1).expect("a program is short");
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_kernels_encoding() {
        let mut program = Assembler::default();
        let end = program.label();
        program.register(Operation::Move, R6, R1);
        program.load(Size::Word, R2, R6, 24);
        program.jump_if(R2, Comparison::Equal, 7, end);
        program.store(Size::Double, R10, -8, R2);
        program.place(end);
        program.exit();
        let octets = |instruction: &Instruction| {
            let Instruction { operation, registers, offset, immediate } = *instruction;
            (operation, registers, offset, immediate)
        };
        // checked with the tables of RFC 9669
        let expected = [
            (0xbf, 0x16, 0, 0),
            (0x61, 0x62, 24, 0),
            (0x15, 0x02, 1, 7),
            (0x7b, 0x2a, -8, 0),
            (0xb7, 0, 0, 1),
            (0x95, 0, 0, 0),
        ];
        assert_eq!(program.finish().iter().map(octets).collect::<Vec<_>>(), expected);
    }
}
