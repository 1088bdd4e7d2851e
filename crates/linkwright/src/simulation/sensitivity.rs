//! Says whether bandwidth matters to a job, measured and not labelled.
//!
//! MAPA takes the label of a job as given. It names profiling "execution time vs allocated links" as a way to it
//! (SC'21, Section 3.5). It held Jacobi to be insensitive since its time got less than 3 % better (Section 4). Here the
//! two times are the formula's. The sets of the job's size are those with the least and the most bandwidth by the sound
//! model. It is that of an all-reduce, or of the edges of its pattern in their best match. It leaves out other jobs.

use std::cell::RefCell;

use super::error::SimulationError;
use super::job::Job;
use crate::allocation::{
    AllocationError, BandwidthModel, Effort, GpuSet, Match, Pattern, PreparedMachine,
};
use crate::system::{BandwidthProfile, Server, System};
use crate::units::{Bandwidth, Picoseconds};

/// A job is sensitive where its worst time exceeds its best by more: the paper's figure for Jacobi.
pub const SENSITIVE_ABOVE: f64 = 0.03;
/// The most GPUs of a server whose sets are all looked at.
pub const MOST_PROFILED: usize = 16;

/// Holds a job's times on the two ends of what a server can give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// It is the time on the GPUs with the most bandwidth.
    pub best: Picoseconds,
    /// It is the time on the GPUs with the least.
    pub worst: Picoseconds,
}

impl Profile {
    /// By what share the worst time exceeds the best.
    #[must_use]
    pub fn excess(self) -> f64 {
        self.worst.0 as f64 / self.best.0.max(1) as f64 - 1.0
    }

    /// Says whether bandwidth matters to the job.
    #[must_use]
    pub fn is_sensitive(self) -> bool {
        self.excess() > SENSITIVE_ABOVE
    }
}

/// Knows the least and the most bandwidth of sets of each size that a server has, GB/s.
pub struct Profiler {
    machine: PreparedMachine,
    range: Vec<(f64, f64)>,
    /// Holds the same of patterns that were asked for.
    of_patterns: RefCell<Vec<(Pattern, (f64, f64))>>,
}

impl Profiler {
    /// Looks at all sets of a server's GPUs.
    ///
    /// # Errors
    /// A server of more than [`MOST_PROFILED`] GPUs, or whose GPUs are not all joined.
    pub fn new(server: &Server) -> Result<Self, SimulationError> {
        let count = server.gpus().len();
        if count > MOST_PROFILED {
            return Err(SimulationError::TooManyToProfile { gpus: count });
        }
        let profile = BandwidthProfile::default_of(server);
        let machine = PreparedMachine::new(server, profile, BandwidthModel::Sound)?;
        let mut range = vec![(f64::INFINITY, 0.0); count + 1];
        for subset in 0..1_u128 << count {
            let gpus = GpuSet(subset);
            let bandwidth = machine.sound_bandwidth(gpus);
            let (least, most) = &mut range[gpus.len()];
            (*least, *most) = (f64::min(*least, bandwidth), f64::max(*most, bandwidth));
        }
        Ok(Self { machine, range, of_patterns: RefCell::default() })
    }

    /// Gives a job's times on the worst and the best set of its size. A job larger than the server has one set.
    ///
    /// # Errors
    /// A job whose time no formula says, or takes longer than time is counted.
    pub fn profile(&self, job: &Job) -> Result<Profile, SimulationError> {
        if !job.is_estimated() {
            return Err(SimulationError::NoFormula { job: job.name.clone() });
        }
        let size = (job.gpus as usize).min(self.range.len() - 1);
        let (least, most) = match job.is_collective() {
            true => self.range[size],
            false => self.of_pattern(job.pattern_on(size)?),
        };
        let time = |bandwidth: f64| job.run_time(Bandwidth((bandwidth * 1e9).round() as u64));
        Ok(Profile { best: time(most)?, worst: time(least)? })
    }

    fn of_pattern(&self, pattern: Pattern) -> (f64, f64) {
        let mut known = self.of_patterns.borrow_mut();
        if let Some((_, range)) = known.iter().find(|(known, _)| *known == pattern) {
            return *range;
        }
        let ends = self.machine.pattern_ends(&pattern, &mut Effort::new());
        // A job of one GPU sends nothing.
        let reached = |end: &Match| end.effective_bandwidth.unwrap_or(f64::INFINITY);
        let range = ends.map_or((0.0, 0.0), |[least, most]| (reached(&least), reached(&most)));
        known.push((pattern, range));
        range
    }
}

/// Settles the sensitivity of jobs that have it measured, on the system's first kind of server that has the GPUs.
///
/// # Errors
/// Whatever [`Profiler`] refuses; a system without servers.
pub fn measure(jobs: &mut [Job], system: &System) -> Result<(), SimulationError> {
    let mut profilers: Vec<Option<Profiler>> = system.kinds().iter().map(|_| None).collect();
    let size = |kind: usize| system.kinds()[kind].server().gpus().len();
    let largest = (0..profilers.len()).max_by_key(|kind| size(*kind));
    for job in jobs.iter_mut().filter(|job| job.profiled) {
        let holds = |kind: &usize| size(*kind) >= job.gpus as usize;
        let Some(kind) = (0..profilers.len()).find(holds).or(largest) else {
            return Err(AllocationError::TooManyGpus { gpus: 0 }.into());
        };
        if profilers[kind].is_none() {
            profilers[kind] = Some(Profiler::new(system.kinds()[kind].server())?);
        }
        if let Some(profiler) = &profilers[kind] {
            job.sensitive = profiler.profile(job)?.is_sensitive();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::PatternShape;
    use crate::system::presets;
    use crate::training::Workload;
    use crate::units::Bytes;

    fn dgx() -> System {
        System::of_server(presets::preset("dgx1-v100").unwrap().into())
    }

    #[test]
    fn what_never_sends_is_insensitive_and_what_only_sends_is_sensitive() {
        let gmm = Workload::find("gmm").unwrap();
        let compute = Some(Picoseconds(1_000_000_000));
        let of = |bytes, compute| Job {
            bytes_per_iteration: Some(Bytes(bytes)),
            compute_per_iteration: compute,
            profiled: true,
            ..Job::new("a", gmm, 3)
        };
        let mut jobs = [of(0, compute), of(1 << 30, Some(Picoseconds(0)))];
        jobs[0].sensitive = true;
        measure(&mut jobs, &dgx()).unwrap();
        assert_eq!(jobs.map(|job| job.sensitive), [false, true]);
    }

    #[test]
    fn the_worst_and_the_best_are_those_of_all_sets() {
        let system = dgx();
        let server = system.kinds()[0].server();
        let profile = BandwidthProfile::default_of(server);
        let machine = PreparedMachine::new(server, profile, BandwidthModel::Sound).unwrap();
        let job = Job::new("a", Workload::find("vgg-16").unwrap(), 4);
        let times = (0..256_u128).map(GpuSet).filter(|gpus| gpus.len() == 4).map(|gpus| {
            let reached = machine.sound_bandwidth(gpus);
            job.run_time(Bandwidth((reached * 1e9).round() as u64)).unwrap()
        });
        let times: Vec<Picoseconds> = times.collect();
        let found = Profiler::new(server).unwrap().profile(&job).unwrap();
        assert_eq!(Some(&found.best), times.iter().min());
        assert_eq!(Some(&found.worst), times.iter().max());
        assert!(found.is_sensitive());
        let whole = Job { gpus: 8, ..job.clone() };
        assert_eq!(Profiler::new(server).unwrap().profile(&whole).unwrap().excess(), 0.0);
    }

    /// By all mappings onto all sets of three.
    #[test]
    fn a_pattern_of_copies_is_measured_by_its_own_bandwidth() {
        let system = dgx();
        let server = system.kinds()[0].server();
        let profile = BandwidthProfile::default_of(server);
        let machine = PreparedMachine::new(server, profile, BandwidthModel::Sound).unwrap();
        let vgg = Workload::find("vgg-16").unwrap();
        let pipeline = Pattern::read_edges(3, "0-1:1 1-2:3/2").unwrap();
        let chain = Job { pattern: PatternShape::Chain, ..Job::new("a", vgg, 3) };
        let profiler = Profiler::new(server).unwrap();
        for job in [chain, Job::new("a", vgg, 3).with_edges(pipeline)] {
            let pattern = job.pattern_on(3).unwrap();
            let on = |gpus: GpuSet| {
                let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
                let ids: Vec<usize> = gpus.iter().collect();
                let reached = orders
                    .map(|order| machine.pattern_bandwidth(&pattern, &order.map(|at| ids[at])));
                let reached = reached.into_iter().fold(0.0, f64::max);
                job.run_time(Bandwidth((reached * 1e9).round() as u64)).unwrap()
            };
            let sets = (0..256_u128).map(GpuSet).filter(|gpus| gpus.len() == 3);
            let times: Vec<Picoseconds> = sets.map(on).collect();
            let found = profiler.profile(&job).unwrap();
            assert_eq!(Some(&found.best), times.iter().min());
            assert_eq!(Some(&found.worst), times.iter().max());
        }
    }
}
