//! `linkwright.Scenario`.

use std::collections::BTreeMap;
use std::sync::Arc;

use linkwright::allocation::Policy;
use linkwright::diagnostic::{Diagnosis, Named};
use linkwright::scenario::comparison::{
    self, ComparedMachine, ComparedOutcome, Comparison, ComparisonError, ComparisonOptions,
};
use linkwright::scenario::{
    self, Asked, JobSource, MOST_SEEDS, Mix, ReadyJobs, SETTINGS_FILE, ScenarioMapping,
};
use linkwright::simulation::cluster::Mapping;
use linkwright::simulation::heat::Package;
use linkwright::simulation::played::{PlannerChoice, own_speeds};
use linkwright::simulation::{self, RunTime, generate};
use linkwright::system::System as CoreSystem;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Table;

use crate::argument::{callback, given};
use crate::cluster_job::ClusterJob;
use crate::comparison::refused;
use crate::errors;
use crate::job::Job;
use crate::number;
use crate::simulation::SimulationResult;
use crate::system::System;
use crate::system_origin::{Origin, play_settings};
use crate::text_source::Source;
use crate::values;
use crate::watts::{Watts, of_models};
use crate::worker;

/// A scenario as written: which system, which jobs, under which choices.
#[pyclass(frozen, eq, module = "linkwright")]
pub struct Scenario(Arc<scenario::Scenario>, Source);

impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Source::deserialize(deserializer)?;
        let read = scenario::Scenario::read(&source.given()).map_err(D::Error::custom)?;
        Ok(Self(Arc::new(read), source))
    }
}

impl Scenario {
    fn read(py: Python<'_>, source: Source) -> PyResult<Self> {
        let given = source.given();
        let read = worker::interruptible(py, move || scenario::Scenario::read(&given))?;
        let named = |error| errors::input(of_settings(error, &source.settings));
        let read = read.map_err(named)?;
        Ok(Self(Arc::new(read), source))
    }

    /// Finds the policy of a name, of those that it knows.
    fn policy(&self, name: &str) -> PyResult<&'static dyn Policy> {
        self.0.registries.policies.get(name).map_err(errors::allocation_choice)
    }

    /// Tells why a comparison of it, or one of its runs, cannot be had.
    fn refused(&self, error: ComparisonError) -> PyErr {
        refused(error, |error| errors::input(of_settings(error, &self.1.settings)))
    }

    /// Gives the package whose heat it observes on a system that it made.
    pub fn package(
        &self,
        system: &System,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> PyResult<Option<Package>> {
        let found = self.0.package(system.core(), files);
        found.map_err(|error| errors::input(of_settings(error, &self.1.settings)))
    }

    fn mix(&self) -> Option<&Mix> {
        match &self.0.asked {
            Asked::Mix(mix) => Some(mix),
            Asked::Programs(_) => None,
        }
    }
}

#[pymethods]
impl Scenario {
    /// Its name; empty where it has none.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// What fixes every choice by chance.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Says what its jobs are. `mix` stands for a day in which they arrive, wait and get GPUs. `programs` stands
    /// for ranks on GPUs that mappings name from the start.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.0.asked {
            Asked::Mix(_) => "mix",
            Asked::Programs(_) => "programs",
        }
    }

    /// How many programs it runs; of a mix, how many jobs it generates and writes down, or None where a file says.
    #[getter]
    fn job_count(&self) -> Option<usize> {
        match &self.0.asked {
            Asked::Programs(programs) => Some(programs.jobs.len()),
            Asked::Mix(mix) => {
                let Mix { jobs, written, .. } = &**mix;
                let listed = match jobs {
                    None => 0,
                    Some(JobSource::Generate(options, _)) => options.count as usize,
                    Some(JobSource::File(_)) => return None,
                };
                Some(listed + written.as_ref().map_or(0, |written| written.jobs.len()))
            }
        }
    }

    /// Of a mix, the path of the job file as written, or the jobs that the scenario generates.
    #[getter]
    fn jobs(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.mix().and_then(|mix| mix.jobs.as_ref()) {
            None => Vec::<Job>::new().into_py_any(py),
            Some(JobSource::File(path)) => path.name.as_str().into_py_any(py),
            Some(JobSource::Generate(options, _)) => {
                let jobs = generate(options).map_err(errors::simulation)?;
                jobs.into_iter().map(Job).collect::<Vec<_>>().into_py_any(py)
            }
        }
    }

    /// What the jobs of a mix that it generates are drawn from; None where none are.
    #[getter]
    fn jobs_seed(&self) -> Option<u64> {
        match self.mix()?.jobs.as_ref()? {
            JobSource::File(_) => None,
            JobSource::Generate(options, _) => Some(options.seed),
        }
    }

    /// Of programs: a placement, or the name of a mapping file, for jobs without one of their
    /// own.
    #[getter]
    fn mapping(&self) -> Option<&str> {
        match &self.0.asked {
            Asked::Mix(_) => None,
            Asked::Programs(programs) => Some(match &programs.mapping {
                ScenarioMapping::File(file) => &file.name,
                ScenarioMapping::Given(Mapping::Rule(rule)) => rule.name(),
                // A scenario's own is no list.
                ScenarioMapping::Given(Mapping::Gpus(_)) => "",
            }),
        }
    }

    /// The servers that it names: a preset's name or a file's, which of the two it is (`preset`,
    /// `file`), and how many in a row. Empty where every port has a node of GPUs.
    #[getter]
    fn servers(&self) -> Vec<(&str, &'static str, u32)> {
        let of = |is_file: bool| if is_file { "file" } else { "preset" };
        let servers = self.0.network.servers.iter();
        servers.map(|it| (it.kind.name.as_str(), of(it.is_file), it.count)).collect()
    }

    /// GPUs that are out of order from the start.
    #[getter]
    fn unhealthy(&self) -> Vec<usize> {
        self.mix().map(|mix| mix.choices.unhealthy.clone()).unwrap_or_default()
    }

    /// The policies to play the jobs of a mix under.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.mix().map(|mix| mix.policies.clone()).unwrap_or_default()
    }

    /// `sound` or `published`: what policies rank by.
    #[getter]
    fn bandwidth_model(&self) -> &'static str {
        self.mix().map(|mix| mix.choices.bandwidth_model).unwrap_or_default().name()
    }

    /// `mapa` or `data-sheet`: what labels the links; None where the machine is to say.
    #[getter]
    fn bandwidth_profile(&self) -> Option<&'static str> {
        self.mix()?.choices.bandwidth_profile.map(Named::name)
    }

    /// `nearest` or `published`: what decides between matches that tie.
    #[getter]
    fn ties(&self) -> &'static str {
        self.mix().map(|mix| mix.choices.ties).unwrap_or_default().name()
    }

    /// `first-fit`, `pack`, `spread` or `whole`: in which server a job looks for GPUs first.
    #[getter]
    fn server_choice(&self) -> &'static str {
        self.mix().map(|mix| mix.choices.server_choice).unwrap_or_default().name()
    }

    /// `fifo` or `backfill`: which waiting job starts next.
    #[getter]
    fn discipline(&self) -> &'static str {
        self.mix().map(|mix| mix.choices.discipline).unwrap_or_default().name()
    }

    /// `formula` or `played`: what says how long a job of a mix runs.
    #[getter]
    fn run_time(&self) -> &'static str {
        self.mix().map(|mix| mix.choices.run_time).unwrap_or_default().name()
    }

    /// Of played jobs, whether the images of every iteration are copied from the host.
    #[getter]
    fn host_copies(&self) -> bool {
        self.mix().is_some_and(|mix| mix.choices.iteration.host_copies)
    }

    /// Of played jobs, `reference` or `own`: how fast GPUs compute.
    #[getter]
    fn gpu_speed(&self) -> &'static str {
        self.mix().map(|mix| mix.choices.iteration.gpu_speed).unwrap_or_default().name()
    }

    /// Of played jobs, the numbers that nets multiply and networks are trained in: `fp32`, `tf32`, `fp16` or `bf16`.
    #[getter]
    fn precision(&self) -> &'static str {
        self.mix().map(|mix| mix.choices.iteration.precision).unwrap_or_default().name()
    }

    /// Of played jobs, the most bytes of gradients that are reduced at once while others are computed; None where
    /// all are reduced at the end.
    #[getter]
    fn bucket(&self) -> Option<u64> {
        self.mix().and_then(|mix| mix.choices.iteration.bucket).map(|bucket| bucket.0)
    }

    /// What plans the collectives of played jobs: one of `planner_names`.
    #[getter]
    fn planner(&self) -> &'static str {
        match self.mix() {
            Some(mix) => mix.choices.planner.name(),
            None => self.0.network.collectives.planner.unwrap_or(PlannerChoice::Mpi).name(),
        }
    }

    /// `packet` or `flow`: how closely the network is simulated.
    #[getter]
    fn fidelity(&self) -> &'static str {
        self.mix().map_or(self.0.network.fidelity, |mix| mix.choices.fidelity).name()
    }

    /// The files that it names, each as written, with the line and column where it does.
    #[getter]
    fn files(&self) -> Vec<(&str, usize, usize)> {
        let files = self.0.files().into_iter();
        let place = |it: &scenario::FileName| (it.place.position.line, it.place.position.column);
        files.map(|file| (file.name.as_str(), place(file).0, place(file).1)).collect()
    }

    /// How its programs are played, by the keywords of `System.play`, as far as it is given.
    ///
    /// They are `fidelity`, `protocol`, `collectives` and `seed`.
    #[getter]
    fn play<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values::dictionary(py, &play_settings(&self.0.settings))
    }

    /// The names of what it compares: each of its policies, or `as-written` where programs run; then
    /// each name of its `[compare]`. A variant has none of its own.
    #[getter]
    fn variants(&self) -> Vec<&str> {
        self.0.variants.iter().map(|variant| variant.name.as_str()).collect()
    }

    /// The variant that the others are compared with; None of a variant.
    #[getter]
    fn reference(&self) -> Option<&str> {
        self.0.variants.get(self.0.reference).map(|variant| variant.name.as_str())
    }

    /// On how many seeds its variants are compared (`compare.seeds`); None where it does not say.
    #[getter]
    fn seeds(&self) -> Option<u32> {
        self.0.seeds
    }

    /// What differs in each variant of its `[compare]`, by its keys; of a variant nothing does.
    #[getter]
    fn differences<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (name, table) in &self.0.differences {
            found.set_item(name, values::dictionary(py, table)?)?;
        }
        Ok(found)
    }

    /// The scenario as one of its variants has it.
    ///
    /// Raises:
    ///     InputError: If it has none of that name.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (name: "str"))]
    fn variant(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] name: String,
    ) -> PyResult<Self> {
        Self::read(py, Source { variant: Some(name), ..self.1.clone() })
    }

    /// The same scenario with other settings.
    ///
    /// Args:
    ///     settings: Values by their keys, with dots for tables: `{"system.network.nic": "rr-4"}`.
    ///         A table is put over that of the scenario key by key, all else takes its place.
    ///
    /// Raises:
    ///     InputError: If it is no scenario then; the file is `<settings>` where one of them is wrong.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (settings: "dict[str, Any]"))]
    fn with_settings(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] settings: Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let given = self.1.given().with(values::table(Some(&settings))?);
        Self::read(py, Source { settings: given.settings, ..self.1.clone() })
    }

    /// Lists what a comparison of its variants plays.
    ///
    /// Each of the `variants` has a `name` for people, a `variant` for the scenario, and a `choice`. This is its key
    /// where it is one choice alone. `reference` is a name. There are no `seeds` where variants are played as they
    /// are. Each of the `runs` is an index of a variant, a seed, and which of the seeds it is. The `settings` are put
    /// over the scenario so that it has all variants.
    ///
    /// Args:
    ///     reference: The others are compared with this variant. If not given, the scenario names it.
    ///     seeds: The variants are played on as many. If not given, the scenario says it.
    ///     machines: These servers take the place of variants. Each has a name for people, one for the scenario, and
    ///         how many there are; None for as many as the scenario has.
    ///
    /// Raises:
    ///     InputError: If a variant is not as it should be.
    ///     SimulationError: If there is no such reference; if programs are to have seeds or machines.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        *, reference: "str | None" = None, seeds: "int | None" = None,
        machines: "Sequence[tuple[str, str, int | None]]" = Vec::new()
    ) -> "dict[str, Any]", text_signature = "($self, *, reference=None, seeds=None, machines=())")]
    fn comparison<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = given)] reference: Option<String>,
        #[pyo3(from_py_with = given)] seeds: Option<i128>,
        #[pyo3(from_py_with = given)] machines: Vec<(String, String, Option<i128>)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let text = self.1.given();
        let seeds = seeds.map(|seeds| number::whole("seeds", seeds, MOST_SEEDS)).transpose()?;
        let machines = machines.into_iter().map(|(name, written, servers)| {
            let most = u32::MAX;
            let servers = servers.map(|count| number::whole("servers", count, most)).transpose()?;
            Ok(ComparedMachine { name, written, servers })
        });
        let machines = machines.collect::<PyResult<_>>()?;
        let options = ComparisonOptions { reference, seeds, machines };
        let listed = worker::interruptible(py, move || Comparison::new(text, options))?;
        let listed = listed.map_err(|error| self.refused(error))?;
        let made = PyDict::new(py);
        let variants = listed.variants.iter().map(|it| {
            let variant = PyDict::new(py);
            variant.set_item("name", &it.name)?;
            variant.set_item("variant", &it.variant)?;
            variant.set_item("choice", &it.choice)?;
            Ok(variant)
        });
        made.set_item("variants", variants.collect::<PyResult<Vec<_>>>()?)?;
        made.set_item("reference", &listed.variants[listed.reference].name)?;
        made.set_item("seeds", &listed.seeds)?;
        let runs = listed.runs().map(|run| (run.variant, run.seed, run.draw));
        made.set_item("runs", runs.collect::<Vec<_>>())?;
        let settings: Table =
            listed.variants.iter().filter_map(|variant| variant.settings.clone()).collect();
        made.set_item("settings", values::dictionary(py, &settings)?)?;
        Ok(made)
    }

    /// Gives the same on another seed, from which generated jobs are drawn, too.
    ///
    /// Raises:
    ///     InputError: If it is no scenario then.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (seed: "int"))]
    fn seeded(&self, py: Python<'_>, #[pyo3(from_py_with = given)] seed: u64) -> PyResult<Self> {
        let given = self.1.given().seeded(&self.0, seed);
        Self::read(py, Source { settings: given.settings, ..self.1.clone() })
    }

    /// Plays its jobs, those of GPUs under the first of its policies, and gives what they come to as JSON.
    ///
    /// Jobs of GPUs have each of `comparison_measures`. `held` counts jobs of several GPUs and their servers, by the
    /// GPUs there. `job_times` and `waits` are seconds at every fortieth part of the jobs. Programs have a `makespan` in
    /// seconds, `jobs` and `energy`. Each job is a name and its seconds. The energy is as `gpu_energy` gives it. With a
    /// `[thermal]` both have `heat`: the package, its temperatures, and a row for each GPU as `observed_heat` gives it.
    ///
    /// Args:
    ///     files: The content of each file that it names, by the name as written.
    ///     draw: Which of a comparison's seeds it is, from zero. From the second on a file's jobs are drawn of it.
    ///     watts: Stand in place of data sheets, as for `gpu_energy`.
    ///
    /// Raises:
    ///     InputError: If a file is missing or is not what it should be, or the jobs do not fit.
    ///     SimulationError: If a job can never start or does not end, or there is no job.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        files: "dict[str, bytes]" = BTreeMap::new(), draw: "int" = 0,
        watts: "dict[str, tuple[float | None, float | None]]" = Watts::new()
    ))]
    fn outcome(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] files: BTreeMap<String, Vec<u8>>,
        #[pyo3(from_py_with = given)] draw: i128,
        #[pyo3(from_py_with = given)] watts: Watts,
    ) -> PyResult<String> {
        let watts = of_models(watts);
        let draw = number::whole("draw", draw, usize::MAX)?;
        let played = worker::watched(
            py,
            |_, _| Ok(()),
            |hook| comparison::outcome(&self.0, &files, draw, &watts, hook),
        )?;
        let text = match played.map_err(|error| self.refused(error))? {
            ComparedOutcome::Day(day) => serde_json::to_string(&day),
            ComparedOutcome::Programs(times) => serde_json::to_string(&times),
        };
        text.map_err(|error| errors::range(Diagnosis::of(error.to_string())))
    }

    /// The system, the jobs, and notes.
    ///
    /// The jobs of a mix are `Job`s, those of programs `ClusterJob`s, each with the GPU of each of its
    /// ranks. Notes say what was left out of traces or could not be told, each a sentence behind the
    /// program's name.
    ///
    /// Args:
    ///     files: The content of each file that it names, by the name as written.
    ///
    /// Raises:
    ///     InputError: If a file is missing or is not what it should be, or the jobs do not fit,
    ///         with its place.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (files: "dict[str, bytes]" = BTreeMap::new()))]
    fn build(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] files: BTreeMap<String, Vec<u8>>,
    ) -> PyResult<(System, Vec<Py<PyAny>>, Vec<String>)> {
        let scenario = Arc::clone(&self.0);
        let given = files.clone();
        let built = worker::interruptible(py, move || scenario.build(&given))?;
        let built = built.map_err(|error| errors::input(of_settings(error, &self.1.settings)))?;
        let origin = match (&built.work, lone(&built.cluster.system)) {
            (ReadyJobs::Mix(_), Some(server)) if self.run_time() != RunTime::Played.name() => {
                Origin::Server(server)
            }
            _ => Origin::Scenario(self.1.clone(), files),
        };
        let jobs: PyResult<Vec<Py<PyAny>>> = match built.work {
            ReadyJobs::Mix(jobs) => jobs.into_iter().map(|job| Job(job).into_py_any(py)).collect(),
            ReadyJobs::Programs(jobs) => {
                jobs.into_iter().map(|job| ClusterJob(job).into_py_any(py)).collect()
            }
        };
        let notes = built.notes;
        Ok((System::new(built.cluster, origin), jobs?, notes))
    }

    /// Gives the system alone, without its jobs.
    ///
    /// Args:
    ///     files: As for `build`.
    ///
    /// Raises:
    ///     InputError: If a file is missing or is not what it should be, with its place.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (files: "dict[str, bytes]" = BTreeMap::new()))]
    fn system(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] files: BTreeMap<String, Vec<u8>>,
    ) -> PyResult<System> {
        let scenario = Arc::clone(&self.0);
        let given = files.clone();
        let built = worker::interruptible(py, move || {
            scenario.cluster(&given).map(|(cluster, _)| cluster)
        })?;
        let cluster = built.map_err(|error| errors::input(of_settings(error, &self.1.settings)))?;
        Ok(System::new(cluster, Origin::Scenario(self.1.clone(), files)))
    }

    /// Checks names of policies that jobs are to be played under.
    ///
    /// Raises:
    ///     AllocationError: If there is no policy of one of these names.
    #[pyo3(signature = (policies: "Sequence[str]"))]
    fn check_policies(&self, #[pyo3(from_py_with = given)] policies: Vec<String>) -> PyResult<()> {
        policies.iter().try_for_each(|name| self.policy(name).map(|_| ()))
    }

    /// Plays jobs of GPUs on an idle system under one policy, by all of the scenario's other choices.
    ///
    /// Args:
    ///     system: That of `build`.
    ///     jobs: Those of `build`, or others.
    ///     policy: One of `policy_names`.
    ///     progress: As for `play_jobs`.
    ///     attribute: As for `play_jobs`.
    ///
    /// Raises:
    ///     AllocationError: If a policy or a GPU is unknown.
    ///     SimulationError: If the scenario is of programs, or as `play_jobs`.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        system: "System", jobs: "Sequence[Job]", policy: "PolicyName", *,
        progress: "Callable[[int, int, float], object] | None" = None, attribute: "bool" = false
    ))]
    fn simulate(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] jobs: Vec<Job>,
        #[pyo3(from_py_with = given)] policy: &str,
        #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
        #[pyo3(from_py_with = given)] attribute: bool,
    ) -> PyResult<SimulationResult> {
        let Some(mix) = self.mix() else {
            let problem = Diagnosis::of("the scenario runs programs, which no policy places");
            return Err(errors::range(problem.remedy("give it to `play_programs`")));
        };
        let policy = self.policy(policy)?;
        let jobs = (jobs, attribute);
        SimulationResult::play(py, system, &mix.choices, policy, jobs, progress.as_ref())
    }

    /// Says how long the jobs of a mix compute on the slowest GPU of a system, and why.
    ///
    /// Each row is of one kind of job. It has `workload`, `number` (the type of numbers), `gpu` (a model), `basis`,
    /// `computing` (the seconds of an iteration) and `jobs` (a count). The basis is `reference` where the GPU that
    /// workloads are timed on stands for every one. It is `vector` or `matrix` where a peak without sparsity says it: of
    /// plain cores, or of matrix units. It is `measured` where somebody did that, and `layers` under the training model.
    /// Programs have no row, nor have jobs whose run times a formula says.
    ///
    /// Args:
    ///     system: That of `build`.
    ///     jobs: Those of `build`, or others.
    ///
    /// Raises:
    ///     MachineError: If a GPU has no model that the training model knows.
    ///     SimulationError: If a job's workload is unknown.
    #[pyo3(signature = (system: "System", jobs: "Sequence[Job]") -> "list[dict[str, Any]]")]
    fn speeds<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = given)] system: &System,
        #[pyo3(from_py_with = given)] jobs: Vec<Job>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let choices = self.mix().map(|mix| &mix.choices);
        let Some(choices) = choices.filter(|choices| choices.run_time == RunTime::Played) else {
            return Ok(Vec::new());
        };
        let jobs: Vec<simulation::Job> = jobs.into_iter().map(|job| job.0).collect();
        let found = own_speeds(system.core(), choices.iteration, &jobs);
        let rows = found.map_err(errors::simulation)?.into_iter().map(|own| {
            let row = PyDict::new(py);
            row.set_item("workload", own.workload)?;
            row.set_item("number", own.number.name())?;
            row.set_item("gpu", own.gpu)?;
            row.set_item("basis", own.basis.name())?;
            row.set_item("computing", own.computing.as_seconds())?;
            row.set_item("jobs", own.jobs)?;
            Ok(row)
        });
        rows.collect()
    }

    fn __repr__(&self) -> String {
        let (kind, name) = (self.kind(), &self.0.name);
        match self.job_count() {
            Some(count) => format!("<Scenario {name:?}: {kind}, {count} jobs>"),
            None => format!("<Scenario {name:?}: {kind}>"),
        }
    }
}

/// The server of a system that has no other.
fn lone(system: &CoreSystem) -> Option<Arc<linkwright::system::Server>> {
    system.fabric().is_none().then(|| Arc::clone(system.kinds()[0].server()))
}

/// The error with the path of the setting that it is of: nobody sees the text of settings.
fn of_settings(
    mut error: linkwright::diagnostic::InputError,
    settings: &str,
) -> linkwright::diagnostic::InputError {
    if error.file == SETTINGS_FILE {
        let lines: Vec<&str> = settings.lines().take(error.position.line).collect();
        let table = lines.iter().rev().find_map(|line| {
            line.strip_prefix('[').map(|rest| rest.trim_matches(['[', ']']).to_owned())
        });
        let key = lines.last().and_then(|line| line.split_once(" = ")).map(|(key, _)| key);
        let path: Vec<&str> = table.as_deref().into_iter().chain(key).collect();
        if !path.is_empty() {
            error.problem = format!("{}: {}", path.join("."), error.problem);
        }
    }
    error
}

/// Reads a scenario's TOML text; reading the files it names is left to the caller.
///
/// Raises:
///     InputError: If the text is no scenario, with line and column.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (text: "str", file: "str" = "<text>".to_owned()), text_signature = "(text, file='<text>')")]
pub fn read_scenario(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] text: String,
    #[pyo3(from_py_with = given)] file: String,
) -> PyResult<Scenario> {
    Scenario::read(py, Source::new(file, text))
}
