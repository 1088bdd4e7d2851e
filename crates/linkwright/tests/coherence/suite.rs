//! Tests every coherent protocol: the litmus tests, and all programs of a size.

use linkwright::memory::litmus::{Litmus, LitmusStep};
use linkwright::memory::protocol::CoherenceProtocol;

use super::model::{ONE_WRITER, check};
use super::state::{Consistency, Machine, Placement};

/// Builds two GPUs of two CUs and two banks each, and a TSU of one entry a bank.
pub fn machine<P: CoherenceProtocol>(protocol: P, litmus: &Litmus, cus: &[u8]) -> Machine<P> {
    Machine {
        protocol,
        programs: litmus.programs(false, false),
        cus: cus.to_vec(),
        cus_per_gpu: 2,
        gpus: 2,
        placement: Placement::TwoBanks,
        consistency: Consistency::Sequential,
        atomic: false,
        evictions: false,
        entries: 1,
    }
}

/// On what a protocol is checked.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub consistency: Consistency,
    /// Takes one GPU of four CUs in place of two of two.
    pub one_gpu: bool,
    /// Says whether caches and directories drop lines at will.
    pub evictions: bool,
}

impl Setting {
    /// Returns the CUs of `waves` wavefronts: of one CU, of one GPU, of both.
    fn layouts(self, waves: usize) -> &'static [&'static [u8]] {
        match (self.one_gpu, waves) {
            (true, 2) => &[&[0, 0], &[0, 1]],
            (true, 3) => &[&[0, 1, 2]],
            (true, _) => &[&[0, 1, 2, 3]],
            (false, 2) => &[&[0, 0], &[0, 1], &[0, 2], &[2, 0]],
            (false, 3) => &[&[0, 0, 2], &[0, 1, 2], &[0, 2, 1], &[0, 2, 3]],
            (false, _) => &[&[0, 0, 2, 2], &[0, 1, 2, 3], &[0, 2, 1, 3]],
        }
    }

    fn machine<P: CoherenceProtocol>(
        self,
        protocol: P,
        programs: &[Vec<LitmusStep>],
        cus: &[u8],
    ) -> Machine<P> {
        let gpus = if self.one_gpu { 1 } else { 2 };
        Machine {
            protocol,
            programs: programs.to_vec(),
            cus: cus.to_vec(),
            cus_per_gpu: 4 / gpus,
            gpus,
            placement: Placement::TwoBanks,
            consistency: self.consistency,
            atomic: false,
            evictions: self.evictions,
            entries: 1,
        }
    }

    fn fences(self) -> bool {
        self.consistency == Consistency::Relaxed
    }
}

/// How often something was checked, and how many states that were.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checked {
    pub machines: usize,
    pub states: usize,
}

impl Checked {
    fn pass<P: CoherenceProtocol>(&mut self, machine: &Machine<P>) {
        let verdict = check(machine);
        // Who is alone is the one writer.
        let alone = machine.cus.len() == 1;
        let counts = |property: &str| !(alone && property == ONE_WRITER);
        let mut failures = verdict.failures.iter();
        if let Some((property, way)) = failures.find(|(property, _)| counts(property)) {
            let told = super::trace::told(machine, way);
            panic!("{machine:?}\nnot \"{property}\":\n{told}");
        }
        self.machines += 1;
        self.states += verdict.states;
    }
}

/// Checks a litmus test on every layout and placement.
pub fn litmus<P: CoherenceProtocol>(
    protocol: P,
    setting: Setting,
    litmus: &Litmus,
    warm: bool,
) -> Checked {
    let mut checked = Checked::default();
    let programs = litmus.programs(setting.fences(), warm);
    for cus in setting.layouts(litmus.waves.len()) {
        // One address lies where it lies.
        let placements = &Placement::ALL[if litmus.addresses == 1 { 2 } else { 0 }..];
        for placement in placements {
            let placement = *placement;
            checked.pass(&Machine { placement, ..setting.machine(protocol, &programs, cus) });
        }
    }
    checked
}

/// Checks every program of a given number of wavefronts, with a given number of reads and writes of
/// two addresses each. Programs count once, up to the order of the wavefronts on one GPU.
pub fn all_programs<P: CoherenceProtocol>(
    protocol: P,
    setting: Setting,
    cus: &[u8],
    placement: Placement,
    steps: u32,
) -> Checked {
    let mut checked = Checked::default();
    let ways = 4_usize.pow(steps);
    for number in 0..ways.pow(cus.len() as u32) {
        let mut rest = number;
        let programs: Vec<Vec<LitmusStep>> = (0..cus.len())
            .map(|wave| {
                let mut program = Vec::new();
                for step in 0..steps {
                    let (address, writes) = ((rest & 1) as u8, rest >> 1 & 1 == 1);
                    rest >>= 2;
                    let value = 1 + wave as u8 * steps as u8 + step as u8;
                    if setting.fences() && step > 0 {
                        program.push(LitmusStep::Fence);
                    }
                    program.push(match writes {
                        true => LitmusStep::Write(address, value),
                        false => LitmusStep::Read(address),
                    });
                }
                program
            })
            .collect();
        let reads = programs.iter().flatten().any(|step| step.reads());
        let writes = programs.iter().flatten().any(|step| matches!(step, LitmusStep::Write(..)));
        // Wavefronts of one GPU are alike.
        let ordered = cus.windows(2).zip(programs.windows(2)).all(|(cus, programs)| {
            cus[1] != cus[0] + 1 || cus[1] % 2 == 0 || shape(&programs[0]) <= shape(&programs[1])
        });
        if reads && writes && ordered {
            checked.pass(&Machine { placement, ..setting.machine(protocol, &programs, cus) });
        }
    }
    checked
}

/// Returns a program without its values.
fn shape(program: &[LitmusStep]) -> Vec<(bool, Option<u8>)> {
    program.iter().map(|step| (step.reads(), step.address())).collect()
}
