//! Names the kinds of regions and locations, and of the software that made them.

/// Says which part a region of code plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionRole {
    /// Is not said.
    Unknown,
    /// Marks a function.
    Function,
    /// Marks a wrapper around a library's function.
    Wrapper,
    /// Marks a loop.
    Loop,
    /// Marks a piece of code, as its author did.
    Code,
    /// Marks a barrier.
    Barrier,
    /// Marks a collective from one rank to all.
    OneToAll,
    /// A collective from all ranks to one.
    AllToOne,
    /// A collective from all ranks to all.
    AllToAll,
    /// Marks any other collective.
    OtherCollective,
    /// Marks input or output.
    FileIo,
    /// Sends a message from one rank to another.
    PointToPoint,
    /// Reaches the memory of another rank.
    RemoteMemoryAccess,
    /// Moves data between memories, such as a host's and a device's.
    DataTransfer,
    /// Is made up by the measurement system.
    Artificial,
    /// Runs a kernel on an accelerator.
    Kernel,
    /// Holds a role of another number, such as OpenMP's.
    Other(u8),
}

impl RegionRole {
    /// Returns the role of a number in the file.
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
    /// Is not said.
    Unknown,
    /// Is marked by the program's author.
    User,
    /// Is marked by the compiler.
    Compiler,
    /// Is OpenMP.
    OpenMp,
    /// Is MPI.
    Mpi,
    /// Is CUDA.
    Cuda,
    /// Is the measurement system itself.
    MeasurementSystem,
    /// Is HIP.
    Hip,
    /// Holds a paradigm of another number.
    Other(u8),
}

impl Paradigm {
    /// Returns the paradigm of a number in the file.
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

/// Says of what kind a location is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationKind {
    /// Is a thread of a processor.
    Thread,
    /// Is a stream of an accelerator.
    AcceleratorStream,
    /// Is a source of metrics.
    Metric,
    /// Is a location of another number.
    Other(u8),
}

impl LocationKind {
    /// Returns the kind of location that a number in the file stands for.
    pub(super) fn of(number: u8) -> Self {
        match number {
            1 => Self::Thread,
            2 => Self::AcceleratorStream,
            3 => Self::Metric,
            other => Self::Other(other),
        }
    }
}
