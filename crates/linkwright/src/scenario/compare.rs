//! Compares a scenario's variants: lists them, and says which of them is the reference.

use super::read::{Asked, Differences, Scenario, read_one};
use super::source::{Place, Source};
use super::tree::{Entry, Item, Node, Tree, put_over};
use crate::diagnostic::{InputError, instead_of};

/// Names a scenario as it is written among its variants, unless it has several policies, which are
/// variants.
pub const AS_WRITTEN: &str = "as-written";

/// The policy that others are compared with where nobody says.
const BASELINE: &str = "baseline";

/// One of the runs that a scenario compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Gives its name: a policy's, [`AS_WRITTEN`], or one of the scenario's `[compare]`.
    pub name: String,
    /// Where the scenario says what differs; None of what it is itself.
    pub place: Option<Place>,
}

/// Lists the policies of a scenario; none where programs run.
fn policies(scenario: &Scenario) -> &[String] {
    match &scenario.asked {
        Asked::Mix(mix) => &mix.policies,
        Asked::Programs(_) => &[],
    }
}

/// The name of the scenario as it is written, where it is one among variants; none where its policies have names.
fn own_name(policies: &[String], differences: &Differences) -> Option<&'static str> {
    (policies.is_empty() || policies.len() == 1 && !differences.is_empty()).then_some(AS_WRITTEN)
}

/// Returns a scenario's tree with one policy.
fn under(tree: &Tree, policy: &str) -> Tree {
    let node = |item| Node { span: 0..0, item };
    let names = node(Item::List(vec![Node::text(0..0, policy)]));
    let policies = Tree::from([("policies".to_owned(), Entry { key: 0..0, node: names })]);
    let mut tree = tree.clone();
    let of_tree = tree.entry("allocation".to_owned()).or_insert_with(|| {
        let node = node(Item::Table(Tree::new()));
        Entry { key: 0..0, node }
    });
    if let Item::Table(allocation) = &mut of_tree.node.item {
        allocation.extend(policies);
    }
    tree
}

/// Finds the variant of a name.
///
/// # Errors
/// Refuses a name that no variant has, a text that does not read, and several policies in one
/// variant. It refuses a difference that changes nothing, unless that is allowed.
pub(super) fn differing(
    source: Source<'_>,
    tree: &Tree,
    written: &Scenario,
    differences: &Differences,
    name: &str,
    may_be_same: bool,
) -> Result<Scenario, InputError> {
    let policies = policies(written);
    if policies.iter().any(|policy| policy == name) {
        return read_one(source, &under(tree, name));
    }
    if let ([only], AS_WRITTEN) = (policies, name)
        && own_name(policies, differences).is_some()
    {
        return read_one(source, &under(tree, only));
    }
    let Some((_, entry)) = differences.iter().find(|(known, _)| known == name) else {
        if policies.is_empty() && name == AS_WRITTEN {
            return Ok(written.clone());
        }
        let known = names(policies, differences);
        let problem = "the scenario has no variant of this name";
        return Err(source.refuse_value(problem, name, instead_of(name, &known)));
    };
    let base = match policies.first() {
        Some(first) => under(tree, first),
        None => tree.clone(),
    };
    let mut other = base.clone();
    if let Item::Table(over) = &entry.node.item {
        put_over(source, &mut other, over.clone())?;
    }
    let mut found = read_one(source, &other)?;
    if let (Asked::Mix(of_variant), Asked::Mix(of_written)) = (&mut found.asked, &written.asked) {
        // Jobs that were recorded on one system do the same work on another.
        of_variant.recorded.machine = of_written.recorded.machine.clone();
    }
    if let Asked::Mix(mix) = &found.asked
        && mix.policies.len() > 1
    {
        let span = span_within(&other, &["allocation", "policies"]).unwrap_or(entry.key.clone());
        let remedy = "name one policy, and compare others below names of their own";
        return Err(source.refuse(&span, "a variant is played under one policy", remedy));
    }
    let mut base = read_one(source, &base)?;
    if let (Asked::Mix(other), Asked::Mix(first)) = (&found.asked, &base.asked)
        && other.choices.run_time != first.choices.run_time
        && !says_run_time(entry)
    {
        let problem = "this lets jobs be played whose run times follow the formula elsewhere";
        let remedy = "write `run_time = \"played\"` in `[jobs]`, or `jobs.run_time` here";
        return Err(source.refuse(&entry.key, problem, remedy));
    }
    // A key that says what its absence means differs in nothing.
    base.written.clone_from(&found.written);
    if found == base && !may_be_same {
        let remedy = if source.settings.is_empty() {
            "write what differs, by the scenario's keys, or remove it"
        } else {
            "leave out the settings that say the same, or write what differs, or remove it"
        };
        return Err(source.refuse(&entry.key, "this changes nothing of the scenario", remedy));
    }
    Ok(found)
}

/// Whether what differs says itself what run times follow.
fn says_run_time(entry: &Entry) -> bool {
    let jobs = entry.node.as_tree().and_then(|tree| tree.get("jobs"));
    let jobs = jobs.and_then(|jobs| jobs.node.as_tree());
    jobs.is_some_and(|jobs| jobs.contains_key("run_time"))
}

fn span_within(tree: &Tree, path: &[&str]) -> Option<std::ops::Range<usize>> {
    let entry = tree.get(path[0])?;
    match path.len() {
        1 => Some(entry.node.span.clone()),
        _ => span_within(entry.node.as_tree()?, &path[1..]),
    }
}

fn names<'a>(policies: &'a [String], differences: &'a Differences) -> Vec<&'a str> {
    let compared = differences.iter().map(|(name, _)| name.as_str());
    let own: Vec<&str> = match own_name(policies, differences) {
        Some(written) => vec![written],
        None => policies.iter().map(String::as_str).collect(),
    };
    own.into_iter().chain(compared).collect()
}

/// Reads all variants, and returns them with the index of the reference.
///
/// # Errors
/// Refuses all that a variant's reading refuses, two variants of one name, and a reference that
/// does not exist.
pub(super) fn variants(
    source: Source<'_>,
    written: &Scenario,
    differences: &Differences,
    reference: Option<&Node>,
    read: &dyn Fn(&str) -> Result<Scenario, InputError>,
) -> Result<(Vec<Variant>, usize), InputError> {
    let known = names(policies(written), differences);
    let own = known.len() - differences.len();
    let mut variants: Vec<Variant> =
        known[..own].iter().map(|name| Variant { name: (*name).to_owned(), place: None }).collect();
    for (name, entry) in differences {
        if known[..own].contains(&name.as_str()) || policies(written).contains(name) {
            let remedy = "give it another name; the scenario itself is played under this one";
            return Err(source.refuse(&entry.key, "a second variant of this name", remedy));
        }
        read(name)?;
        variants.push(Variant { name: name.clone(), place: Some(source.place(&entry.key)) });
    }
    let reference = match reference {
        None => known.iter().position(|name| *name == BASELINE).unwrap_or(0),
        Some(node) => {
            let wanted = node.as_text();
            let found = known.iter().position(|name| Some(*name) == wanted);
            let is_own = own == 1 && policies(written).first().map(String::as_str) == wanted;
            found.or_else(|| is_own.then_some(0)).ok_or_else(|| {
                let remedy = instead_of(wanted.unwrap_or_default(), &known);
                source.refuse(&node.span, "no variant has this name", remedy)
            })?
        }
    };
    Ok((variants, reference))
}
