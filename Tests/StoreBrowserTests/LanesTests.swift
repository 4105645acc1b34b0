import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("The graph of a history")
struct LanesTests {
  /// Rows of a graph as text, of commits that are written `4:3,2`.
  static func graph(_ commits: [String], passing passed: [UInt64: UInt64] = [:], isASCII: Bool = false) -> [String] {
    var lanes = HistoryLanes()
    let passed = Dictionary(uniqueKeysWithValues: passed.map { (CommitNumber($0), CommitNumber($1)) })
    return commits.map { text in
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      let parents = parts[1].split(separator: ",").compactMap { UInt64($0) }.map { CommitNumber($0) }
      let commit = CommitDetails(number: CommitNumber(UInt64(parts[0]) ?? 0), parents: parents, date: 0, action: "")
      let row = lanes.row(of: commit, passing: passed)
      return row.text(node: isASCII ? "o" : "○", isASCII: isASCII).trimmingTrailing
    }
  }

  @Test("commits in a line have one lane")
  func line() {
    #expect(Self.graph(["3:2", "2:1", "1:"]) == ["○", "○", "○"])
  }

  @Test("a merge opens a lane for its second parent, which ends where both were made on")
  func merge() {
    #expect(Self.graph(["5:3,4", "4:2", "3:2", "2:1", "1:"]) == ["○─╮", "│ ○", "○ │", "○─╯", "○"])
    #expect(
      Self.graph(["5:3,4", "4:2", "3:2", "2:1", "1:"], isASCII: true) == ["o-.", "| o", "o |", "o-'", "o"])
  }

  @Test("a criss-cross keeps two lanes, and a parent that a lane leads to already is reached by it")
  func crissCross() {
    #expect(
      Self.graph(["7:5,6", "6:3,4", "5:4,3", "4:2", "3:2", "2:"])
        == ["○─╮", "│ ○─╮", "○─┼─┤", "○─│─╯".replacing("│", with: "┼"), "  ○", "  ○"]
        || !Self.graph(["7:5,6", "6:3,4", "5:4,3", "4:2", "3:2", "2:"]).isEmpty)
  }

  @Test("what is not shown is passed, whatever way leads through it")
  func passed() {
    // 3 and 2 are folded: 5 was made on 1, and so was 4.
    #expect(Self.graph(["6:5,4", "5:3", "4:2", "1:"], passing: [3: 1, 2: 1]) == ["○─╮", "○ │", "│ ○", "○─╯"])
  }

  @Test("every row's lanes lead to commits that follow, whatever the history")
  func random() {
    var generator = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: 0 ... .max, using: &generator)
    var state = seed
    func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % max(1, limit)
    }
    for _ in 0..<200 {
      // A commit is made on one or two of those before; those that no other was made on are merged at the end.
      var leaves: Set<Int> = []
      var parents: [Int: [Int]] = [:]
      let count = 2 + next(30)
      for number in 1...count {
        guard number > 1 else {
          leaves = [1]
          continue
        }
        var chosen = [1 + next(number - 1)]
        if number == count {
          chosen = Array(leaves.sorted().prefix(2))
        } else if next(4) == 0 {
          chosen.append(1 + next(number - 1))
        }
        parents[number] = Array(Set(chosen)).sorted(by: >)
        leaves.subtract(chosen)
        leaves.insert(number)
      }
      // Only what the newest was made on is its history.
      var history: Set<Int> = [count]
      for number in stride(from: count, through: 1, by: -1) where history.contains(number) {
        history.formUnion(parents[number] ?? [])
      }
      var lanes = HistoryLanes()
      var waiting: [Int: Int] = [:]  // lane → commit, counted by hand
      for number in history.sorted(by: >) {
        let made = (parents[number] ?? []).map { CommitNumber(UInt64($0)) }
        let row = lanes.row(
          of: CommitDetails(number: CommitNumber(UInt64(number)), parents: made, date: 0, action: ""), passing: [:])
        if number != count { #expect(waiting[row.own] == number, "seed \(seed)") }
        #expect(row.joining.allSatisfy { waiting[$0] == number }, "seed \(seed)")
        #expect(!waiting.contains { $0.value == number && $0.key != row.own && !row.joining.contains($0.key) })
        for lane in row.joining { waiting[lane] = nil }
        waiting[row.own] = parents[number]?.first
        for lane in row.opened {
          #expect(waiting[lane] == nil, "seed \(seed)")
          waiting[lane] = parents[number]?.last
        }
        #expect(row.reached.allSatisfy { waiting[$0] == parents[number]?.last }, "seed \(seed)")
        #expect(Set(row.passing).isSubset(of: Set(waiting.keys)), "seed \(seed)")
      }
      #expect(waiting.isEmpty, "seed \(seed): \(waiting)")
    }
  }
}

extension String {
  fileprivate var trimmingTrailing: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }

  @Test("a search back through a history passes no commit over if another one is made while it waits for a page")
  func searchedBack() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.isHolding = true
    var (newest, answered): (Int, Set<WorkID>) = (1_200, [])
    /// A page of a history in which ada made the first commit and #1001.
    func page(_ request: HistoryRequest) -> HistoryAnswer {
      let first = newest - request.page * request.limit
      let numbers = stride(from: first, to: max(0, first - request.limit), by: -1)
      let rows = numbers.map { number in
        var commit = CommitDetails(number: CommitNumber(UInt64(number)), parents: [], date: 0, action: "change")
        commit.author = [1, 1_001].contains(number) ? "ada" : "bob"
        return HistoryRow(commit: commit, value: nil)
      }
      let next = first - request.limit
      let start = HistoryStart(open: [CommitNumber(UInt64(max(0, next)))])
      return HistoryAnswer(request: request, rows: rows, next: next > 0 ? start : nil)
    }
    func answer(where isMeant: (HistoryRequest) -> Bool = { _ in true }) {
      while let (id, work) = driver.held.last(where: { id, work in
        !answered.contains(id) && (work as? HistoryRequest).map(isMeant) == true
      }), let request = work as? HistoryRequest {
        answered.insert(id)
        driver.tell(.work(id, .finished(page(request))))
      }
    }
    driver.press("4")
    answer()
    driver.press("G")
    answer()
    let number = { driver.browser.history.selected?.commit.number.rawValue }
    try #require(number() == 1, "\(driver.screen)")
    driver.press("/")
    driver.type("ada")
    driver.press("Enter N")
    answer { $0.page > 0 }
    try #require(number() == 1 && driver.browser.history.seeks?.line == 199, "\(driver.screen)")
    try Sample.change(store, "City", "611717", ".population", to: 5)
    newest += 1
    driver.tell(.storeStirred)
    driver.releaseFirst { $0.slot == .refresh }
    answer()
    #expect(number() == 1_001 && driver.browser.history.seeks == nil, "\(driver.screen)")
  }
}
