package import StrataModel
import StrataDocuments
package import StrataEngine

/// Writes commits of a store as lines: the one writer of the stream, for fetch, push and export with history.
///
/// A commit's changes are its difference to the first parent in this store, which the line names (`on`) if it is not the commit's first
/// parent. Costs what the changes cost, whatever the size of the store.
package struct CommitSender {
  private let store: any Engine
  private let graph: CommitGraph
  /// Takes whole lines.
  private let sink: ([UInt8]) throws -> Void

  /// The commits after which the memory of file reads is released: a long history is read once, from one end to the other.
  static let commitsHeld = 4_096
  /// The number of commits that a server is asked for at once.
  private static let commitsForeseen = 500

  package init(_ store: EngineStore, _ graph: CommitGraph, sink: @escaping ([UInt8]) throws -> Void) {
    self.store = store.engine
    self.graph = graph
    self.sink = sink
  }

  /// - Parameter whole: Commits that are sent with all their content, because the other side lacks their parents.
  /// - Returns: The number of commits that were written.
  @discardableResult
  package func send(
    _ numbers: [UInt64], since: [CommitIdentity], whole: [CommitIdentity] = [], progress: WorkProgress? = nil
  ) throws -> Int {
    let wanted = Set(whole.compactMap { graph.number(of: $0) })
    let numbers = graph.parentsFirst(Array(Set(numbers).union(wanted)))
    try sink(
      StreamLine.bytes([
        .init("strata", .number(NumberText(1))), .init("store", .string(store.identity.text)),
        .init("since", .array(since.map { .string($0.text) })), .init("commits", .number(NumberText(numbers.count))),
      ]))
    for (done, number) in numbers.enumerated() {
      if done % Self.commitsForeseen == 0 { try prefetch(numbers[done...].prefix(Self.commitsForeseen)) }
      try send(number, isWhole: wanted.contains(number))
      if (done + 1) % Self.commitsHeld == 0 { store.releaseMemory() }
      if let progress, !progress(done + 1, numbers.count) { throw ModelError.cancelled }
    }
    return numbers.count
  }

  /// Asks a server for commits and their first parents ahead.
  private func prefetch(_ numbers: ArraySlice<UInt64>) throws {
    guard store.isServed else { return }
    try store.prefetch(commits: Array(numbers))
    try store.prefetch(commits: numbers.flatMap { try store.commit($0).parents.prefix(1) })
  }

  private func send(_ number: UInt64, isWhole: Bool) throws {
    let view = try store.view(at: number)
    let commit = view.commit
    guard let node = graph[commit.identity] else { throw ModelError.noSuchCommit("#\(number)") }
    let parent = isWhole ? nil : try commit.parents.first.map { try store.view(at: $0) }
    var lines = CommitLines(sink: sink)
    try lines.add(StreamLine.bytes(members(of: commit, node, on: parent?.commit.identity)), isChange: false)
    try TreeChanges(old: parent, new: view, commitName: { graph.identity(of: $0)?.text }).write(to: &lines)
    try sink(
      StreamLine.bytes([
        .init("end", .string(commit.identity.text)), .init("changes", .number(NumberText(lines.changes))),
        .init("check", .string(Hexadecimal.text(of: UInt64(lines.check)))),
      ]))
  }

  private func members(
    of commit: CommitRecord, _ node: CommitGraph.Node, on parent: CommitIdentity?
  ) -> [Document.Member] {
    var members: [Document.Member] = [
      .init("commit", .string(commit.identity.text)),
      .init("parents", .array(node.parents.map { .string($0.text) })),
    ]
    if parent != node.parents.first { members.append(.init("on", parent.map { .string($0.text) } ?? .null)) }
    members.append(.init("date", .string(MomentText.text(commit.date))))
    let clock = (try? store.clock(of: commit)) ?? commit.date
    if clock != commit.date { members.append(.init("clock", .string(MomentText.text(clock)))) }
    for (name, text) in [("action", commit.action), ("program", commit.program), ("author", commit.author)]
    where !text.isEmpty {
      members.append(.init(name, .string(text)))
    }
    let flags = StreamFlags.names(commit.flags)
    if !flags.isEmpty { members.append(.init("flags", .array(flags.map { .string($0) }))) }
    if let undoes = node.undoes { members.append(.init("undoes", .string(undoes.text))) }
    let leftOut = graph.leftOut(before: commit.identity)
    if !leftOut.isEmpty { members.append(.init("squashed", .array(leftOut.map(Self.document)))) }
    members.append(.init("digest", .string(CommitDigest.text(of: commit, node))))
    return members
  }

  /// `["origin:first", last, ["parent", …]]`
  private static func document(_ run: Pedigree.Run) -> Document {
    .array([
      .string(CommitIdentity(origin: run.origin, number: run.numbers.lowerBound).text),
      .number(NumberText(run.numbers.upperBound)), .array(run.parents.map { .string($0.text) }),
    ])
  }
}

enum StreamFlags {
  private static let all: [(String, CommitFlags)] = [
    ("maintenance", .maintenance), ("undo", .undo), ("restore", .restore), ("squashed", .squashed),
  ]

  static func names(_ flags: CommitFlags) -> [String] { all.filter { flags.contains($0.1) }.map(\.0) }

  static func flags(_ names: [String]) -> CommitFlags? {
    var flags: CommitFlags = []
    for name in names {
      guard let flag = all.first(where: { $0.0 == name }) else { return nil }
      flags.insert(flag.1)
    }
    return flags
  }
}

/// The lines of one commit on their way, counted and checked.
struct CommitLines {
  let sink: ([UInt8]) throws -> Void
  private(set) var changes = 0
  private(set) var check: UInt32 = 0

  mutating func add(_ line: [UInt8], isChange: Bool = true) throws {
    check = crc32c(check, line)
    if isChange { changes += 1 }
    try sink(line)
  }
}
