import StrataModel

/// The lanes of a history's graph: one for each open branch, from the newest commit down.
///
///     ●─╮   a merge: its second parent opens a lane
///     │ ○   theirs
///     ○ │   ours
///     ○─╯   the commit that both were made on
///
/// The value is passed from row to row, and from page to page.
struct HistoryLanes: Sendable, Hashable {
  /// The next commit of each lane; nil if a lane is free.
  private var lanes: [CommitNumber?] = []
  /// Lanes that ended in the previous row: a lane used again at once would look as if it continued.
  private var ended: Set<Int> = []

  /// The largest number of drawn lanes; further ones share the last.
  static let most = 6

  /// Returns the row of a commit. Rows come in the order of a history: every commit before its parents.
  ///
  /// - Parameter passed: commits that are not shown, each with its parent.
  mutating func row(of commit: CommitDetails, passing passed: [CommitNumber: CommitNumber]) -> GraphRow {
    func shown(_ number: CommitNumber) -> CommitNumber? {
      let end = passed.end(of: number)
      return end.rawValue == 0 ? nil : end
    }
    for lane in lanes.indices { lanes[lane] = lanes[lane].flatMap(shown) }
    let waiting = lanes.indices.filter { lanes[$0] == commit.number }
    let own = waiting.first ?? free()
    if own == lanes.count { lanes.append(nil) }
    let before = lanes
    let joining = Array(waiting.dropFirst())
    for lane in joining { lanes[lane] = nil }
    var parents = commit.parents.compactMap(shown)
    lanes[own] = parents.first
    ended = Set(joining)
    if lanes[own] == nil { ended.insert(own) }
    var opened: [Int] = []
    var reached: [Int] = []
    parents.removeFirst(min(1, parents.count))
    for parent in parents {
      if let lane = lanes.firstIndex(of: parent) {
        reached.append(lane)
      } else {
        let lane = free(besides: own)
        if lane == lanes.count { lanes.append(nil) }
        lanes[lane] = parent
        opened.append(lane)
      }
    }
    let row = GraphRow(
      own: own, joining: joining, opened: opened, reached: reached,
      passing: lanes.indices.filter {
        $0 != own && lanes[$0] != nil && before.indices.contains($0) && before[$0] != nil
      })
    while lanes.last == .some(nil) { lanes.removeLast() }
    return row
  }

  private func free(besides own: Int? = nil) -> Int {
    lanes.indices.first { lanes[$0] == nil && $0 != own && !ended.contains($0) } ?? lanes.count
  }
}

/// One row of a graph: the lane of its commit, and the lanes that pass, begin and end there.
struct GraphRow: Sendable, Hashable {
  var own: Int
  /// Lanes that end in this commit, because it is their commits' parent.
  var joining: [Int]
  /// Lanes that begin with this commit's further parents.
  var opened: [Int]
  /// Lanes that already lead to a further parent.
  var reached: [Int]
  /// Lanes of other commits.
  var passing: [Int]

  /// The number of lanes it takes.
  var width: Int { (joining + opened + reached + passing + [own]).max().map { $0 + 1 } ?? 1 }

  /// Returns the row as text, two cells per lane.
  func text(node: String, isASCII: Bool) -> String {
    let ends = joining + opened + reached
    let (least, most) = ((ends + [own]).min() ?? own, (ends + [own]).max() ?? own)
    let signs = isASCII ? Signs.ascii : .lines
    var text = ""
    for lane in 0..<min(width, HistoryLanes.most) {
      let isBetween = lane > least && lane < most
      let sign: String
      if lane == own || lane == HistoryLanes.most - 1 && own >= HistoryLanes.most {
        sign = node
      } else if joining.contains(lane) {
        sign = signs.ends
      } else if opened.contains(lane) {
        sign = lane > own ? signs.begins : signs.beginsLeft
      } else if reached.contains(lane) {
        sign = lane > own ? signs.reaches : signs.reachesLeft
      } else if passing.contains(lane) {
        sign = isBetween ? signs.crosses : signs.passes
      } else {
        sign = isBetween ? signs.across : " "
      }
      text += sign + (lane >= least && lane < most ? signs.across : " ")
    }
    return text
  }

  private struct Signs {
    var passes, across, crosses, begins, beginsLeft, ends, reaches, reachesLeft: String

    static let lines = Signs(
      passes: "│", across: "─", crosses: "┼", begins: "╮", beginsLeft: "╭", ends: "╯", reaches: "┤", reachesLeft: "├")
    static let ascii = Signs(
      passes: "|", across: "-", crosses: "+", begins: ".", beginsLeft: ".", ends: "'", reaches: "+", reachesLeft: "+")
  }
}
