//! Graphs of files, and the circles in them.

use std::collections::{BTreeMap, BTreeSet};

/// Who leads to whom.
pub(super) type Arrows<Node> = BTreeMap<Node, BTreeSet<Node>>;

/// The strongly connected components: in each, every node reaches every other, by at least one arrow.
pub(super) fn circles<Node: Ord + Copy>(arrows: &Arrows<Node>) -> BTreeSet<BTreeSet<Node>> {
    let reached: BTreeMap<Node, BTreeSet<Node>> = arrows.keys().map(|node| (*node, reached(*node, arrows))).collect();
    let reaches = |from: &Node, to: &Node| reached.get(from).is_some_and(|reached| reached.contains(to));
    let circle = |node: &Node| -> BTreeSet<Node> {
        arrows.keys().filter(|other| reaches(node, other) && reaches(other, node)).copied().collect()
    };
    arrows.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
}

/// All that there is a way to from a node.
fn reached<Node: Ord + Copy>(node: Node, arrows: &Arrows<Node>) -> BTreeSet<Node> {
    let mut reached = BTreeSet::new();
    let mut open = vec![node];
    while let Some(next) = open.pop() {
        open.extend(arrows.get(&next).into_iter().flatten().filter(|other| reached.insert(**other)));
    }
    reached
}
