//! The kinds of regions and locations, and of the software that made them.

/// What a region of code does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionRole {
    /// Not said.
    Unknown,
    /// A function.
    Function,
    /// A wrapper around a library's function.
    Wrapper,
    /// A loop.
    Loop,
    /// A piece of code that its author marked.
    Code,
    /// A barrier.
    Barrier,
    /// A collective from one rank to all.
    OneToAll,
    /// A collective from all ranks to one.
    AllToOne,
    /// A collective from all ranks to all.
    AllToAll,
    /// Any other collective.
    OtherCollective,
    /// Input or output.
    FileIo,
    /// A message from one rank to another.
    PointToPoint,
    /// Remote memory access.
    RemoteMemoryAccess,
    /// A transfer between memories, such as a host's and a device's.
    DataTransfer,
    /// Made up by the measurement system.
    Artificial,
    /// A kernel on an accelerator.
    Kernel,
    /// A role of another number, such as OpenMP's.
    Other(u8),
}

impl RegionRole {
    /// The role of a number in the file.
    pub(super) fn of(number: u8) -> Self {
        match number {
            0 => Self::Unknown,
            1 => Self::Function,
            2 => Self::Wrapper,
            3 => Self::Loop,
            4 => Self::Code,
            15 => Self::Barrier,
            23 => Self::OneToAll,
            24 => Self::AllToOne,
            25 => Self::AllToAll,
            26 => Self::OtherCollective,
            27 => Self::FileIo,
            28 => Self::PointToPoint,
            29 => Self::RemoteMemoryAccess,
            30 => Self::DataTransfer,
            31 => Self::Artificial,
            40 => Self::Kernel,
            other => Self::Other(other),
        }
    }
}

/// The programming model or the tool that a region or a communicator belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paradigm {
    /// Not said.
    Unknown,
    /// Marked by the program's author.
    User,
    /// Marked by the compiler.
    Compiler,
    /// OpenMP.
    OpenMp,
    /// MPI.
    Mpi,
    /// CUDA.
    Cuda,
    /// The measurement system itself.
    MeasurementSystem,
    /// HIP.
    Hip,
    /// A paradigm of another number.
    Other(u8),
}

impl Paradigm {
    /// The paradigm of a number in the file.
    pub(super) fn of(number: u8) -> Self {
        match number {
            0 => Self::Unknown,
            1 => Self::User,
            2 => Self::Compiler,
            3 => Self::OpenMp,
            4 => Self::Mpi,
            5 => Self::Cuda,
            6 => Self::MeasurementSystem,
            23 => Self::Hip,
            other => Self::Other(other),
        }
    }
}

/// What a location is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationKind {
    /// A thread of a processor.
    Thread,
    /// A stream of an accelerator.
    AcceleratorStream,
    /// A source of metrics.
    Metric,
    /// A location of another number.
    Other(u8),
}

impl LocationKind {
    /// The kind of a number in the file.
    pub(super) fn of(number: u8) -> Self {
        match number {
            1 => Self::Thread,
            2 => Self::AcceleratorStream,
            3 => Self::Metric,
            other => Self::Other(other),
        }
    }
}
