/// Decides how a query is answered. The only place that does.
///
/// Of all terms that must hold, the one whose range of an index has the fewest entries leads; a second range is
/// intersected with it if that spares more reading of records than it costs; alternatives are united if every one
/// of them has an index. A compound index takes equal tiers and then one range. If the answer is sorted, each range competes
/// with an index that has all records in the order: the one that is expected to read the fewest records leads. The index's
/// name breaks ties, so that a plan is stable. The planner asks the indexes only for ranks.
package struct QueryPlanner {
  package enum Need: Hashable, Sendable {
    /// Every record that meets the condition.
    case all
    /// The first records of the order, up to a count.
    case first(Int)
    /// One that is first in the order, whichever of equal ones.
    case end
  }

  /// The cost of reading and testing a record, in entries of an index.
  private static let recordCost = 12

  private let indexes: [QueryIndex]
  private let rows: Int
  private let mayScan: Bool

  /// - Parameter mayScan: whether reading all records in order may be preferred to an index that leads to most of them.
  package init(indexes: [QueryIndex], rows: Int, mayScan: Bool) {
    self.indexes = indexes.sorted { $0.name < $1.name }
    self.rows = rows
    self.mayScan = mayScan
  }

  /// - Parameters:
  ///   - lead: the plan of a range that the caller has chosen.
  ///   - mustFollowIndex: whether only an index has the order of the sort, because no bytes are in it.
  package func plan(
    _ condition: QueryCondition?, sort: [QuerySort], along lead: QueryPlan? = nil,
    need: Need, mustFollowIndex: Bool = false, sortText: String = ""
  ) throws(ModelError) -> QueryPlan {
    var wanted = Wanted(sort: sort, wholeSort: sort, need: need, mustFollowIndex: mustFollowIndex)
    // No records are equal in their identifiers, by which those come that are equal in all the rest.
    let own = indexes.first { $0.name.isEmpty }?.subjects.first
    if need != .end, let place = sort.firstIndex(where: { $0.subject == own }) {
      (wanted.sort, wanted.tiesDescend) = (Array(sort[..<place]), sort[place].isDescending)
    }
    if let lead {
      return QueryPlan(
        way: lead.way, order: sort.isEmpty ? lead.order : order(of: lead.way, wanted), isTested: condition != nil,
        condition: condition?.text ?? "", rows: rows, sort: sortText)
    }
    let terms = condition?.conjuncts ?? []
    let condition = terms.count == 1 ? terms[0] : terms.isEmpty ? nil : QueryCondition.all(terms)
    let candidates = try candidates(for: terms)
    var choice = Self.best(candidates, of: terms.count, rows: rows)
    // Looking up each of very many records costs more than reading them all in order.
    if mayScan, let found = choice, !found.isExact, found.way.count(rows) > rows / 3 { choice = nil }
    if let found = choice, !wanted.isFree { choice = cheapest(found, candidates, of: terms.count, wanted) }
    var plan = QueryPlan(
      way: choice?.way ?? .scan, order: .sort, isTested: choice.map { !$0.isExact } ?? (condition != nil),
      condition: condition?.text ?? "", rows: rows, sort: sortText)
    plan.order = order(of: plan.way, wanted)
    if plan.order == .sort, plan.way == .scan, need != .all || condition == nil || mustFollowIndex,
      let along = wholeOrder(wanted)
    {
      plan.order = along.order
    }
    return plan
  }

  /// The part of the matches that the caller wants.
  private struct Wanted {
    /// The sort without the identifier and what comes after it.
    var sort: [QuerySort]
    var wholeSort: [QuerySort]
    /// Whether records that are equal in the sort come by descending identifier.
    var tiesDescend = false
    var need: Need
    var mustFollowIndex: Bool

    /// Whether records come by identifier, which takes no sorting of keys.
    var isFree: Bool { sort.isEmpty && !tiesDescend }
  }

  // MARK: Costs

  /// Of several ways the one that is expected to read the fewest records before the answer is whole.
  private func cheapest(_ best: Choice, _ candidates: [Candidate], of terms: Int, _ wanted: Wanted) -> Choice {
    var choices = [best]
    choices += candidates.sorted { $0.name < $1.name }.map { Choice(way: $0.way, isExact: $0.settles.count == terms) }
    if wanted.need != .all || wanted.mustFollowIndex, let index = wholeOrder(wanted)?.index {
      choices.append(Choice(way: .index(IndexRanges(index: index, ranges: [0..<rows], shown: "...")), isExact: false))
    }
    let matches = expectedMatches(candidates, of: terms)
    var cheapest = (choice: best, cost: cost(of: best, matches, wanted))
    for choice in choices.dropFirst() {
      let cost = cost(of: choice, matches, wanted)
      if cost < cheapest.cost { cheapest = (choice, cost) }
    }
    return cheapest.choice
  }

  /// In entries of an index that are read.
  private func cost(of choice: Choice, _ matches: Double, _ wanted: Wanted) -> Double {
    var entries = Double(choice.way.count(rows))
    var gathered = 0.0
    if case .intersection(let ways) = choice.way {
      gathered = ways.reduce(0) { $0 + Double($1.count(rows)) }
      entries = ways.reduce(Double(rows)) { $0 * Double($1.count(rows)) / Double(max(rows, 1)) }
    }
    let order = order(of: choice.way, wanted)
    guard order != .sort else {
      // Each is read and sorted.
      return wanted.mustFollowIndex ? .infinity : gathered + entries * Double(Self.recordCost + 1)
    }
    guard let limit = wanted.need.limit else { return gathered + entries * Double(Self.recordCost) }
    // An expected number may be wrong, a counted one is exact.
    let read = choice.isExact ? Double(limit) : 3 * Double(limit) * entries / max(matches, 1)
    return gathered + min(entries, read) * Double(Self.recordCost)
  }

  /// How many records meet all terms, if these do not depend on each other. A term that no index knows is met by a third.
  private func expectedMatches(_ candidates: [Candidate], of terms: Int) -> Double {
    var matches = Double(rows)
    var known: Set<Int> = []
    for candidate in candidates.sorted(by: { $0.way.count(rows) < $1.way.count(rows) })
    where known.isDisjoint(with: candidate.covers) {
      matches *= Double(candidate.way.count(rows)) / Double(max(rows, 1))
      known.formUnion(candidate.covers)
    }
    for _ in known.count..<terms { matches /= 3 }
    return matches
  }

  // MARK: Ways

  private struct Choice {
    var way: QueryPlan.Way
    /// Whether every record of the way meets the condition.
    var isExact: Bool
  }

  /// A way that serves some of several terms.
  private struct Candidate {
    var way: QueryPlan.Way
    var name: String
    /// The terms that need no test any more.
    var settles: Set<Int>
    var covers: Set<Int>
    /// Whether its entries have all that is wanted of a record.
    var isCovering = false
  }

  private func choice(for condition: QueryCondition) throws(ModelError) -> Choice? {
    switch condition {
    case .test: return nil
    case .not(let inner):
      guard inner.parts.allSatisfy(\.parts.isEmpty), let choice = try choice(for: inner), choice.isExact,
        case .index(var ranges) = choice.way, !ranges.hasManyValues,
        let index = indexes.first(where: { $0.name == ranges.index }), index.count == rows
      else { return try inner.opposites.flatMap { opposites throws(ModelError) in try choice(for: opposites) } }
      ranges.ranges = ranges.ranges.complement(in: index.count)
      ranges.shown = "not " + ranges.shown
      ranges.fixedTiers = 0
      return Choice(way: .index(ranges), isExact: true)
    case .any(let parts):
      if parts.isEmpty {
        return Choice(way: .index(IndexRanges(index: "", ranges: [], shown: "nothing")), isExact: true)
      }
      var ways: [QueryPlan.Way] = []
      var isExact = true
      for part in parts {
        guard let choice = try choice(for: part) else { return nil }
        ways.append(choice.way)
        isExact = isExact && choice.isExact
      }
      return ways.isEmpty ? nil : Choice(way: Self.united(ways), isExact: isExact)
    case .term, .all:
      let parts = condition.conjuncts
      return Self.best(try candidates(for: parts), of: parts.count, rows: rows)
    }
  }

  /// Ranges of one index stay ranges of it.
  private static func united(_ ways: [QueryPlan.Way]) -> QueryPlan.Way {
    var ranges: [IndexRanges] = []
    for way in ways { if case .index(let part) = way { ranges.append(part) } }
    guard ways.count > 1 else { return ways[0] }
    guard ranges.count == ways.count, var all = ranges.first, !all.hasManyValues,
      ranges.allSatisfy({ $0.index == all.index })
    else { return .union(ways) }
    all.ranges = ranges.flatMap(\.ranges).united
    all.shown = ranges.shortText(\.shown)
    all.fixedTiers = 0
    return .index(all)
  }

  private static func best(_ candidates: [Candidate], of terms: Int, rows: Int) -> Choice? {
    let sorted = candidates.sorted {
      ($0.way.count(rows), -$0.settles.count, $0.isCovering ? 0 : 1, $0.name)
        < ($1.way.count(rows), -$1.settles.count, $1.isCovering ? 0 : 1, $1.name)
    }
    guard let first = sorted.first else { return nil }
    let single = Choice(way: first.way, isExact: first.settles.count == terms)
    let count = first.way.count(rows)
    guard !single.isExact, rows > 0 else { return single }
    for second in sorted.dropFirst() where !second.covers.isSubset(of: first.covers) {
      let other = second.way.count(rows)
      let settles = first.settles.union(second.settles)
      let expected = Double(count) * Double(other) / Double(rows)
      let cost = Double(count + other) + (settles.count == terms ? 0 : expected * Double(recordCost))
      if cost < Double(count * recordCost) {
        return Choice(way: .intersection([first.way, second.way]), isExact: settles.count == terms)
      }
    }
    return single
  }

  private func candidates(for parts: [QueryCondition]) throws(ModelError) -> [Candidate] {
    var candidates: [Candidate] = []
    var terms: [(place: Int, term: IndexableTerm)] = []
    for (place, part) in parts.enumerated() {
      if case .term(let term, _) = part {
        terms.append((place, term))
      } else if let choice = try choice(for: part) {
        candidates.append(
          Candidate(way: choice.way, name: "", settles: choice.isExact ? [place] : [], covers: [place]))
      }
    }
    for index in indexes {
      if index.hasManyValues {
        for (place, term) in terms where term.isElement && term.subject == index.subjects.first {
          guard let found = try ranges(of: [(place, term)], in: index, tier: 0, after: []) else { continue }
          candidates.append(candidate(index, found, covers: [place]))
        }
      } else if let candidate = try candidate(index, terms) {
        candidates.append(candidate)
      }
    }
    return candidates
  }

  private struct Found {
    var ranges: [Range<Int>]
    var shown: [String]
    var settles: Set<Int>
    var fixedTiers: Int
  }

  private func candidate(_ index: QueryIndex, _ found: Found, covers: Set<Int>) -> Candidate {
    Candidate(
      way: .index(
        IndexRanges(
          index: index.name, ranges: found.ranges, shown: found.shown.joined(separator: ", "),
          hasManyValues: index.hasManyValues, fixedTiers: found.fixedTiers)),
      name: index.name, settles: found.settles, covers: covers, isCovering: index.isCovering)
  }

  /// The part of the terms that an index with one value a record answers: equal tiers, then the terms of the next tier.
  private func candidate(
    _ index: QueryIndex, _ terms: [(place: Int, term: IndexableTerm)]
  ) throws(ModelError) -> Candidate? {
    var prefix: [KeyValue] = []
    var settles: Set<Int> = []
    var covers: Set<Int> = []
    var shown: [String] = []
    for (tier, subject) in index.subjects.enumerated() {
      let own = terms.filter { $0.term.subject == subject && !$0.term.isElement }
      let isLast = tier == index.subjects.count - 1
      if !isLast, own.count == 1,
        let equal = own[0].term.equalValue(in: index.encodings[tier], comparators: index.takesComparators)
      {
        prefix.append(equal.value)
        covers.insert(own[0].place)
        if equal.isExact { settles.insert(own[0].place) }
        shown.append(equal.value.description)
        continue
      }
      guard let found = try ranges(of: own, in: index, tier: tier, after: prefix) else { break }
      covers.formUnion(own.map(\.place))
      settles.formUnion(found.settles)
      let fixed = prefix.count + found.fixedTiers
      return candidate(
        index,
        Found(ranges: found.ranges, shown: shown + found.shown, settles: settles, fixedTiers: fixed), covers: covers)
    }
    guard !prefix.isEmpty else { return nil }
    let all = try index.ranks(of: KeyInterval(), after: prefix)
    return candidate(
      index, Found(ranges: [all].united, shown: shown, settles: settles, fixedTiers: prefix.count), covers: covers)
  }

  /// The ranges in which those of some terms of one tier hold that the index can answer; nil if it can answer none.
  private func ranges(
    of terms: [(place: Int, term: IndexableTerm)], in index: QueryIndex, tier: Int, after prefix: [KeyValue]
  ) throws(ModelError) -> Found? {
    var found: Found?
    for (place, term) in terms {
      guard let (intervals, isExact) = term.answer(in: index.encodings[tier], comparators: index.takesComparators)
      else { continue }
      let ranges = try intervals.map { interval throws(ModelError) in try index.ranks(of: interval, after: prefix) }
      let isOne = intervals.count == 1 && intervals[0].isOneValue
      let shown = intervals.isEmpty ? "nothing" : intervals.shortText(\.description)
      var next = found ?? Found(ranges: ranges.united, shown: [], settles: [], fixedTiers: 0)
      next.ranges = next.ranges.intersected(with: ranges.united)
      next.shown.append(shown)
      if isExact { next.settles.insert(place) }
      if isOne { next.fixedTiers = 1 }
      found = next
    }
    return found
  }

  // MARK: Orders

  /// The order in which a way meets records, if it is the one that is asked for, or else the work that makes it.
  private func order(of way: QueryPlan.Way, _ wanted: Wanted) -> QueryPlan.Order {
    let unordered: QueryPlan.Order = wanted.isFree ? .identifiers : .sort
    switch way {
    case .scan: return wanted.sort.isEmpty ? .along(index: "", isDescending: wanted.tiesDescend) : .sort
    case .index(let ranges):
      guard let index = indexes.first(where: { $0.name == ranges.index }), way.isDistinct, ranges.ranges.count <= 1
      else { return unordered }
      return order(along: index, after: ranges.fixedTiers, for: wanted) ?? unordered
    case .union, .intersection: return unordered
    }
  }

  /// An index that has all records in the order.
  private func wholeOrder(_ wanted: Wanted) -> (index: String, order: QueryPlan.Order)? {
    for index in indexes where !index.hasManyValues && index.count == rows {
      if let order = order(along: index, after: 0, for: wanted) { return (index.name, order) }
    }
    return nil
  }

  /// The order in which an index, of which the first tiers have one value each, has the records; nil if none is the one asked for.
  private func order(along index: QueryIndex, after fixed: Int, for wanted: Wanted) -> QueryPlan.Order? {
    // Records lie by identifier.
    if index.name.isEmpty, wanted.sort.isEmpty { return .along(index: "", isDescending: wanted.tiesDescend) }
    for sort in [wanted.wholeSort, wanted.sort] {
      guard let isDescending = isDescending(index, after: fixed, for: sort, wanted) else { continue }
      let takesTies = !wanted.tiesDescend || sort.count == wanted.wholeSort.count
      if takesTies { return .along(index: index.name, isDescending: isDescending) }
      return isDescending ? .reversed(index: index.name) : nil
    }
    return nil
  }

  /// Whether an index, of which the first tiers have one value each, has the order of a sort; and whether backwards.
  private func isDescending(
    _ index: QueryIndex, after fixed: Int, for sort: [QuerySort], _ wanted: Wanted
  ) -> Bool? {
    var seen = index.hasOrder ? Set(index.subjects.prefix(fixed)) : []
    let unsettled = sort.filter { seen.insert($0.subject).inserted }
    let tiers = Array(zip(index.subjects, index.encodings)).dropFirst(fixed)
    guard index.hasOrder || tiers.isEmpty else { return nil }
    // Tiers beyond those of the sort would come between records that are equal in it.
    guard unsettled.count == tiers.count || wanted.need == .end && unsettled.count < tiers.count else { return nil }
    var isDescending: Bool?
    for (sort, (subject, encoding)) in zip(unsettled, tiers) {
      guard sort.subject == subject else { return nil }
      let isBackward = sort.isDescending != encoding.isDescending
      if let isDescending, isDescending != isBackward { return nil }
      isDescending = isBackward
    }
    return isDescending ?? wanted.tiesDescend
  }
}

extension QueryPlanner.Need {
  /// How many records are wanted; nil for all.
  fileprivate var limit: Int? {
    switch self {
    case .all: nil
    case .first(let count): count
    case .end: 1
    }
  }
}

extension KeyEncoding {
  package var isDescending: Bool { if case .descending = self { true } else { false } }
}

extension KeyInterval {
  var isOneValue: Bool {
    if case .including(let low) = lower, case .including(let high) = upper { low == high } else { false }
  }
}
