import StrataModel
import StrataDocuments
package import StrataEngine

/// A folder that another program or a person carries: a synchronised folder, a stick.
///
/// Each push adds one file, `ORIGIN-FIRST-LAST.jsonl` after the head ORIGIN:LAST that it leads to and the first commit of that origin in
/// it. If a file has that name already, the number of the commits follows. The file has the commits that no earlier file has. It is written
/// under another name, synced and renamed, and never changed. Every store reads the files of all stores. A file that is incomplete, or
/// whose commits were made on others that are missing, counts as not there yet: it is read the next time.
///
/// Each store that reads leaves a note, `STORE.seen`, with the heads that it knows and the files that it found damaged, which their authors
/// write again. A store with many files there writes their commits as one file, and removes the small ones once all stores that left a note
/// know that one.
package final class FolderPeer: Peer {
  package let name: String
  private let path: String
  /// The heads of files that the last fetch found not all there, with a remark on each.
  private(set) var unfinished: [CommitIdentity: String] = [:]
  /// The names of files that the last fetch found damaged; nil before a fetch. Their authors learn it by this store's note.
  private var damaged: [String]?

  /// A store combines its files when it has more than this number.
  private static let mostFiles = 16
  /// A store that has left no note for 90 days is no longer waited for.
  private static let forgottenAfter: Int64 = 90 * 86_400_000_000_000
  private static let noteLimit = 1 << 20

  package init(_ path: String, name: String) throws {
    self.path = path
    self.name = name
    guard try SystemDisk().status(path)?.isDirectory ?? false else {
      throw ExchangeError.peer(name: name, reason: "\(path) is not a folder")
    }
  }

  package func heads() throws -> [CommitIdentity] { Set(try files().map(\.head)).subtracting(unfinished.keys).sorted() }

  fileprivate struct File {
    var head: CommitIdentity
    var path: String
    var name: String
  }

  private func list() throws -> [String] {
    guard let names = try? SystemDisk().list(path) else {
      throw ExchangeError.peer(name: name, reason: "\(path) cannot be read")
    }
    return names.sorted()
  }

  private func files() throws -> [File] {
    try list().compactMap { name in
      guard name.hasSuffix(".jsonl") else { return nil }
      let parts = name.dropLast(6).split(separator: "-")
      // Files of the first programs have the head's number alone.
      guard 2...4 ~= parts.count, let head = CommitIdentity(text: "\(parts[0]):\(parts[min(2, parts.count - 1)])")
      else { return nil }
      return File(head: head, path: path + "/" + name, name: name)
    }
  }

  // MARK: Reading

  /// A folder has no such stream: its files are streams of their own.
  package func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    throw ExchangeError.peer(name: name, reason: "a folder is read file by file")
  }

  /// A file that is read up to a commit whose parents have not come yet, and then waits for others.
  private final class Stream {
    let file: File
    /// The heads that it builds on, as its header says.
    let since: [CommitIdentity]
    /// Whether it is read although its head is here, for commits before it that this store has pruned.
    let isReadAgain: Bool
    private(set) var lines: LineReader?
    private var place = CommitReceiver.StreamPlace()

    init(_ file: File, since: [CommitIdentity] = [], isReadAgain: Bool = false) {
      self.file = file
      self.since = since
      self.isReadAgain = isReadAgain
    }

    /// Reads it to its end, or up to a commit of which a parent is missing; then throws that.
    ///
    /// - Parameter requiresParents: Whether even the first commit's parents must be here.
    func read(_ receiver: CommitReceiver, _ meter: TransferMeter, requiresParents: Bool) throws {
      receiver.requiresParents = requiresParents
      defer { place = receiver.place }
      try receiver.read(from: place) {
        let lines = try lines ?? LineReader(path: file.path)
        self.lines = lines
        while let line = try lines.next() {
          do {
            try meter.receive(line, receiver)
          } catch {
            if case .missing? = error as? ExchangeError { lines.unread(line) }
            throw error
          }
          receiver.requiresParents = true
        }
      }
    }
  }

  private static let mostWaiting = 64

  /// Reads the files that lead to unknown heads, each after the files with the parents of its commits: a commit is linked to the commits
  /// that are here when it comes. If no file has a parent, its commit comes without a link to it. If a file cannot be read to its end, it
  /// is left for the next time and others are read.
  ///
  /// If a commit was made on one that this store has pruned, the files whose heads are here are read again: one of them has it.
  func fetch(_ receiver: CommitReceiver, _ meter: inout TransferMeter) throws {
    func isKnown(_ commit: CommitIdentity) -> Bool { receiver.graph.number(of: commit) != nil }
    let files = try files()
    var readBefore = files.filter { isKnown($0.head) }
    var open: [Stream] = []
    var announced = 0
    for file in files where !isKnown(file.head) {
      let header = header(of: file)
      announced = announced.addingClamped(Int(clamping: header?.number("commits") ?? 0))
      open.append(Stream(file, since: (header?.texts("since") ?? []).compactMap(CommitIdentity.init(text:))))
    }
    try meter.announce(announced)
    var needsPruned = false
    var failures: [(head: CommitIdentity, file: String, reason: String, remark: String?)] = []
    /// Reads files on and returns whether that brought any commit. A file that is at its end, or cannot be read, is done.
    func goOn(_ streams: [Stream], requiresParents: Bool = true) throws -> Bool {
      var hasCome = false
      for stream in streams where stream.isReadAgain || !isKnown(stream.file.head) {
        let before = receiver.received.count
        var isDone = true
        do {
          try stream.read(receiver, meter, requiresParents: requiresParents)
        } catch ModelError.cancelled {
          throw ModelError.cancelled
        } catch {
          if case .missing(let parent, _)? = error as? ExchangeError {
            isDone = false
            needsPruned = needsPruned || receiver.graph.knows(parent)
          }
          var remark = isDone ? nil : Self.isUnfinished
          if case .stream? = error as? ExchangeError {
            remark = stream.lines?.isAtEnd == true ? Self.isUnfinished : Self.isDamaged
          }
          failures.removeAll { $0.head == stream.file.head }
          failures.append((stream.file.head, stream.file.name, "\(stream.file.name): \(error)", remark))
        }
        if isDone { open.removeAll { $0 === stream } }
        if isDone || receiver.received.count > before { hasCome = true }
        if hasCome, !requiresParents { break }
      }
      return hasCome
    }
    while !open.isEmpty {
      if try goOn(open.filter { $0.lines != nil || $0.since.allSatisfy(isKnown) }) { continue }
      if try goOn(Array(open.filter { $0.lines == nil }.prefix(Self.mostWaiting))) { continue }
      if try goOn(open.filter { $0.lines != nil }, requiresParents: false) { continue }
      guard needsPruned, !readBefore.isEmpty else { break }
      open += readBefore.map { Stream($0, isReadAgain: true) }
      readBefore = []
    }
    failures.removeAll { isKnown($0.head) }
    if let failure = failures.first(where: { $0.remark == nil }) {
      throw ExchangeError.peer(name: name, reason: failure.reason)
    }
    unfinished = Dictionary(failures.map { ($0.head, "\($0.reason); \($0.remark ?? "")") }) { $1 }
    damaged = failures.filter { $0.remark == Self.isDamaged }.map(\.file)
  }

  private static let isUnfinished = "the next exchange reads it again"
  private static let isDamaged = "the file is damaged, and the commits that only it has are left out"

  package func haves() throws -> [Have] { [] }

  // MARK: Writing

  package func push(_ commits: OutgoingCommits) throws -> Bool {
    let bases = try missingBases(of: commits.numbers, whole: commits.whole, commits.store, commits.graph)
    if let base = bases.first { throw ExchangeError.missing(base, line: 0) }
    try add(commits.head, commits.numbers, commits.graph, commits.write)
    return true
  }

  /// The commits that some others were made on and that neither these nor the files have: a file that was written after this store had
  /// pruned them begins behind them, and now this store has them again.
  ///
  /// - Parameter whole: Commits that are written with all their content, so that they need no other.
  private func missingBases(
    of numbers: [UInt64], whole: [CommitIdentity] = [], _ store: EngineStore, _ graph: CommitGraph
  ) throws -> [CommitIdentity] {
    let (numbers, whole) = (Set(numbers), Set(whole.compactMap { graph.number(of: $0) }))
    let parents = Set(try numbers.subtracting(whole).compactMap { try store.engine.commit($0).parents.first })
    var bases = Set(parents.subtracting(numbers).subtracting(whole).compactMap { graph.identity(of: $0) })
    let files = try files()
    bases.subtract(files.map(\.head))
    for file in files where bases.contains(where: { graph.contains($0, in: file.head) }) {
      bases.subtract(try contents(of: file).commits)
    }
    return bases.sorted()
  }

  /// Writes a file of some commits, which leads to a head.
  private func add(
    _ head: CommitIdentity, _ commits: [UInt64], _ graph: CommitGraph,
    _ write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void
  ) throws {
    let own = commits.compactMap { graph.identity(of: $0) }.filter { $0.origin == head.origin }
    let file = try DurableFile(in: path)
    try write(file.add)
    var name = "\(Hexadecimal.text(of: head.origin))-\(own.map(\.number).min() ?? head.number)-\(head.number)"
    if try list().contains(name + ".jsonl") { name += "-\(commits.count)" }
    try file.finish(as: name + ".jsonl")
  }

  // MARK: Combining files

  /// Leaves a note of the heads in the folder that a store knows; does nothing if it is the same as before.
  func sign(_ graph: CommitGraph, reader: String, now: Int64) throws {
    let heads = try heads().filter { graph.number(of: $0) != nil }.map(\.text)
    let known = seenFiles().first { $0.reader == reader }
    let damaged = damaged ?? known?.damaged ?? []
    if let known, known.heads == heads, known.damaged == damaged, known.date > now - Self.forgottenAfter / 3 { return }
    let line = StreamLine.bytes([
      .init("seen", .array(heads.map { .string($0) })), .init("date", .string(MomentText.text(now))),
      .init("damaged", .array(damaged.map { .string($0) })),
    ])
    // A store that may only read leaves none.
    try? DurableFile.replace("\(path)/\(reader).seen", with: line)
  }

  private func seenFiles() -> [(reader: String, heads: [String], damaged: [String], date: Int64)] {
    ((try? list()) ?? []).compactMap { name in
      guard name.hasSuffix(".seen"), let reader = try? LineReader(path: path + "/" + name),
        let bytes = try? reader.next(limit: Self.noteLimit), let line = StreamLine(bytes),
        let heads = line.texts("seen"), let date = line.text("date").flatMap(MomentText.nanoseconds)
      else { return nil }
      return (String(name.dropLast(5)), heads, line.texts("damaged") ?? [], date)
    }
  }

  /// If a store has many files here, combines those that no other file covers, and removes a covered file once all stores know both heads.
  /// Reads the files.
  func tidy(_ store: EngineStore, _ graph: CommitGraph, now: Int64) throws {
    let files = try files().map { (file: $0, header: header(of: $0)) }
    let others = seenFiles().filter { $0.reader != store.identity && $0.date > now - Self.forgottenAfter }
    let damaged = Set(others.flatMap(\.damaged))
    for case (let file, let header?) in files {
      if damaged.contains(file.name), header.text("store") == store.identity {
        try writeAgain(file, header, store, graph)
      } else {
        try heal(file, header, store, graph)
      }
    }
    guard files.count > Self.mostFiles else { return }
    let own = files.filter { $0.header?.text("store") == store.identity }.map(\.file)
    guard own.count > Self.mostFiles else { return }
    let held = try own.map { (file: $0, commits: try contents(of: $0).commits) }
    var lone = Set<CommitIdentity>()
    var count = 0
    for (file, commits) in held {
      let cover = held.first {
        $0.file.name != file.name
          && (commits.isStrictSubset(of: $0.commits) || commits == $0.commits && $0.file.name < file.name)
      }
      guard let cover else {
        lone.formUnion(commits)
        count += 1
        continue
      }
      // A store that knows the one head need not know the other.
      let heads = [cover.file.head.text, file.head.text]
      if others.allSatisfy({ Set($0.heads).isSuperset(of: heads) }) { try? SystemDisk().unlink(file.path) }
    }
    // A store that knows the head of a file reads no more of it, so all commits of the file must be in the head's history.
    guard count > Self.mostFiles, let newest = graph.newest(of: Array(lone)).first else { return }
    let reached = Set(graph.numbers(in: [newest], butNotIn: []))
    lone = lone.filter { graph.number(of: $0).map(reached.contains) ?? graph.contains($0, in: newest) }
    let numbers = lone.compactMap { graph.number(of: $0) }
    // Commits that this store has pruned since stay in the files that it wrote.
    guard numbers.count == lone.count else { return }
    let whole = try missingBases(of: numbers, store, graph)
    try add(newest, numbers, graph) { sink in
      try CommitSender(store, graph, sink: sink).send(numbers, since: Self.parents(of: lone, graph), whole: whole)
    }
  }

  /// The commits outside of some that those were made on and that are here.
  private static func parents(of commits: Set<CommitIdentity>, _ graph: CommitGraph) -> [CommitIdentity] {
    Set(commits.flatMap { graph[$0]?.parents ?? [] }).subtracting(commits).filter { graph.number(of: $0) != nil }
      .sorted()
  }

  /// Writes a file again that claims to build on no other file but does: old programs combined files like that.
  private func heal(_ file: File, _ header: StreamLine, _ store: EngineStore, _ graph: CommitGraph) throws {
    guard header.texts("since") == [], graph.number(of: file.head) != nil,
      graph.numbers(in: [file.head], butNotIn: []).count > Int(clamping: header.number("commits") ?? 0)
    else { return }
    let (commits, bases) = try contents(of: file)
    let (numbers, since) = (commits.compactMap { graph.number(of: $0) }, Self.parents(of: commits, graph))
    guard numbers.count == commits.count, !bases.isEmpty else { return }
    try write(file, numbers, since: since, store, graph)
  }

  /// Writes a file of this store again that another store found damaged, unless this store has pruned some of its commits since.
  private func writeAgain(_ file: File, _ header: StreamLine, _ store: EngineStore, _ graph: CommitGraph) throws {
    let since = (header.texts("since") ?? []).compactMap(CommitIdentity.init(text:))
    let numbers = graph.numbers(in: [file.head], butNotIn: since)
    guard graph.number(of: file.head) != nil, UInt64(numbers.count) == header.number("commits") else { return }
    try write(file, numbers, since: since, store, graph)
  }

  private func write(
    _ file: File, _ numbers: [UInt64], since: [CommitIdentity], _ store: EngineStore, _ graph: CommitGraph
  ) throws {
    let anew = try DurableFile(in: path)
    try CommitSender(store, graph, sink: anew.add).send(
      numbers, since: since, whole: missingBases(of: numbers, store, graph))
    try anew.finish(as: file.name)
  }

  /// The first line of a file; nil if it cannot be read.
  private func header(of file: File) -> StreamLine? {
    (try? LineReader(path: file.path).next(limit: Self.noteLimit)).flatMap { StreamLine($0) }
  }

  /// The commits of a file, and those outside of it on which they were made.
  private func contents(of file: File) throws -> (commits: Set<CommitIdentity>, bases: Set<CommitIdentity>) {
    let reader = try LineReader(path: file.path)
    let kinds = ["commit", "end"].map { Array("{\"\($0)\":".utf8) }
    var (commits, bases): (Set<CommitIdentity>, Set<CommitIdentity>) = ([], [])
    while let bytes = try reader.next() {
      guard kinds.contains(where: bytes.starts), let line = StreamLine(bytes) else { continue }
      let text = line.text("end") ?? (line.has("on") ? line.text("on") : line.texts("parents")?.first)
      guard let identity = text.flatMap(CommitIdentity.init(text:)) else { continue }
      if line.has("end") { commits.insert(identity) } else { bases.insert(identity) }
    }
    return (commits, bases.subtracting(commits))
  }
}
