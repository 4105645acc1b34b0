import StrataEngine

// The proof of a flush: nothing that its transactions read has changed since.
extension Flush {
  /// Conditions, each of which is true if something forbids the flush.
  func checks() -> [StatementPart] {
    var checks = Self.changes(of: drafts, keys: \.keysToProve).map { changed in
      StatementPart(changed.name, changed.parameters) { p in "exists (\(changed.text(p)))" }
    }
    // They were looked up before the lock was taken: a commit that was pruned since cannot be named.
    let named = Set(drafts.flatMap(\.namedCommits)).sorted()
    if !named.isEmpty {
      checks.append(
        StatementPart("kept", [.numbers(named)]) { p in
          """
          exists (select 1 from n, unnest(\(p(1))::bigint[]) as r (number)
            where not exists (select 1 from {commit} c where c.number = r.number)
              or not \(Tables.isKept("r.number", oldest: "n.oldest")))
          """
        })
    }
    return checks
  }

  func catalogCheck(_ draft: CommitDraft) -> Statement {
    tables.statement(
      """
      select 1 / case when exists (
        select 1 from {tree} t where t.born > $1 or (t.died > $1 and t.died < \(Tables.never))) then 0 else 1 end
      """, [.number(draft.asOf)])
  }

  /// Queries for what has changed since it was read, as trees and keys.
  ///
  /// - Parameter keys: Returns the keys of a transaction's reads to ask about.
  static func changes(of drafts: [CommitDraft], keys: (CommitDraft) -> Set<TreeKey>) -> [StatementPart] {
    var points: [(place: TreeKey, since: Int64)] = []
    var ranges: [(range: TreeRange, since: Int64)] = []
    var names: [(name: TreeName, since: Int64)] = []
    for draft in drafts {
      let since = Int64(bitPattern: draft.asOf)
      points += keys(draft).map { ($0, draft.keysPresumed.contains($0) ? -1 : since) }
      ranges += draft.rangesRead.map { ($0, since) }
      names += draft.treesRead.map { ($0, since) }
    }
    var changes: [StatementPart] = []
    if !points.isEmpty {
      changes.append(
        StatementPart(
          "keys",
          [.int32s(points.map(\.place.tree)), .byteArrays(points.map(\.place.key)), .ints(points.map(\.since))],
          changedKeys))
    }
    if !ranges.isEmpty {
      changes.append(
        StatementPart(
          "spans",
          [
            .int32s(ranges.map(\.range.tree)), .byteArrays(ranges.map(\.range.keys.lower)),
            .byteArrays(ranges.map { $0.range.keys.upper ?? KeyRange.beyond }), .ints(ranges.map(\.since)),
          ], changedRanges))
    }
    if let least = names.map(\.since).min() {
      changes.append(
        StatementPart(
          "trees", [.byteArrays(names.map(\.name.bytes)), .ints(names.map(\.since)), .int(least)], changedTrees))
    }
    return changes
  }

  /// Keys that changed since they were read; if they were not read (`since` is negative), those that exist. Of a key with many versions
  /// only the last is read.
  private static func changedKeys(_ p: (Int) -> String) -> String {
    """
    select r.tree, r.key from unnest(\(p(1))::integer[], \(p(2))::bytea[], \(p(3))::bigint[]) as r (tree, key, since)
    where exists (select 1 from {current} c where c.tree = r.tree and c.key = r.key and c.born > r.since)
      or r.since >= 0 and
        (select h.died from {history} h where h.tree = r.tree and h.key = r.key order by h.born desc limit 1) > r.since
    """
  }

  /// Keys of ranges that changed since: searched among the changes, however great the ranges are.
  private static func changedRanges(_ p: (Int) -> String) -> String {
    """
    select r.tree, e.key
    from unnest(\(p(1))::integer[], \(p(2))::bytea[], \(p(3))::bytea[], \(p(4))::bigint[]) as r (tree, lower, upper, since),
      lateral (
        select h.key from {history} h
        where h.tree = r.tree and h.died > r.since and \(Tables.unindexed("h")) >= r.lower
          and \(Tables.unindexed("h")) < r.upper
        union all
        select c.key from {current} c
        where c.tree = r.tree and \(Tables.isInserted("c", after: "r.since")) and \(Tables.unindexed("c")) >= r.lower
          and \(Tables.unindexed("c")) < r.upper) e
    """
  }

  /// Trees that themselves changed since. Mostly none has, and then none is read.
  private static func changedTrees(_ p: (Int) -> String) -> String {
    """
    select t.tree, null::bytea as key from unnest(\(p(1))::bytea[], \(p(2))::bigint[]) as r (name, since)
      join {tree} t on t.name = r.name and t.died > r.since
    where (select s.trees from {store} s where s.one) > \(p(3)) and (t.born > r.since or t.died < \(Tables.never))
    """
  }
}
