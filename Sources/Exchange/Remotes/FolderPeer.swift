import DatastoreModel
import Documents
package import StorageEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A folder that something else carries: a synchronised folder, a stick.
///
/// Each push adds one file, `ORIGIN-FIRST-LAST.jsonl` after the head ORIGIN:LAST that it leads to and the first commit of that origin in it
/// (and with the number of its commits behind it, where there is one of that name), with the commits that no file before has: written under
/// another name, synced and renamed, and never changed. Everyone reads everyone's files, and a file that has not come yet, or is half
/// there, is read the next time.
///
/// Each store that reads leaves a note, `STORE.seen`, with the heads that it knows. A store that has many files there writes what they hold
/// as one, and takes the small ones away when all who left a note know that one.
package final class FolderPeer: Peer {
  package let name: String
  private let path: String

  /// A store puts its files together when it has more than so many.
  private static let mostFiles = 16
  /// Who has left no note for so long is waited for no more: 90 days.
  private static let forgottenAfter: Int64 = 90 * 86_400_000_000_000
  private static let noteLimit = 1 << 20

  package init(_ path: String, name: String) throws {
    self.path = path
    self.name = name
    guard try SystemDisk().status(path)?.isDirectory ?? false else {
      throw ExchangeError.peer(name: name, reason: "\(path) is no folder")
    }
  }

  package func heads() throws -> [CommitIdentity] { Array(Set(try files().map(\.head))).sorted() }

  private struct File {
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

  /// Not of a folder, whose files are streams of their own.
  package func fetch(
    haves: [Have], wants: [CommitIdentity], of tips: [CommitIdentity], take: ([UInt8]) throws -> Void
  ) throws {
    throw ExchangeError.peer(name: name, reason: "a folder is read file by file")
  }

  /// Has the files read that lead to heads that are not known yet, each after those that it builds on. A file that cannot be read to its end
  /// is left for the next time, where others can; the first error is thrown in the end where nothing came of any.
  ///
  /// - Parameter announce: hears first how many commits those files say that they have.
  func fetch(
    announce: (Int) throws -> Void, into receive: (_ lines: LineReader) throws -> Void,
    isKnown: (CommitIdentity) -> Bool
  ) throws {
    var open = try files().filter { !isKnown($0.head) }
    try announce(open.reduce(0) { $0 + (header(of: $1)?.number("commits").flatMap { Int(exactly: $0) } ?? 0) })
    var failure: (any Error)?
    while !open.isEmpty {
      let before = open.count
      open = try open.filter { file in
        if isKnown(file.head) { return false }
        do {
          try receive(LineReader(path: file.path))
          return !isKnown(file.head)
        } catch ModelError.cancelled {
          throw ModelError.cancelled
        } catch {
          failure = ExchangeError.peer(name: name, reason: "\(file.name): \(error)")
          return true
        }
      }
      if open.count == before { break }
    }
    if let failure, !open.isEmpty { throw failure }
  }

  package func haves() throws -> [Have] { [] }

  // MARK: Writing

  package func push(_ commits: OutgoingCommits) throws -> Bool {
    try add(commits.head, commits.write)
    return true
  }

  /// Writes a file that leads to a head.
  private func add(
    _ head: CommitIdentity, _ write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void
  ) throws {
    let first = FirstNumber(head)
    let file = try DurableFile(in: path)
    try write { bytes in
      first.see(bytes)
      try file.add(bytes)
    }
    var name = "\(Hexadecimal.text(of: head.origin))-\(first.number)-\(head.number)"
    if try list().contains(name + ".jsonl") { name += "-\(first.count)" }
    try file.finish(as: name + ".jsonl")
  }

  /// The first commit of a head's origin in what is written, and how many commits there are.
  private final class FirstNumber {
    private let origin: UInt64
    private(set) var number: UInt64
    private(set) var count = 0

    init(_ head: CommitIdentity) {
      origin = head.origin
      number = head.number
    }

    func see(_ line: [UInt8]) {
      guard line.starts(with: Array("{\"commit\":".utf8)),
        let identity = StreamLine(line)?.text("commit").flatMap(CommitIdentity.init(text:))
      else { return }
      count += 1
      if identity.origin == origin { number = min(number, identity.number) }
    }
  }

  // MARK: Putting together

  private func note(of reader: String) -> String { path + "/" + reader + ".seen" }

  /// Leaves a note of what a store knows of all that lies here; not where it is the same as before.
  func sign(_ graph: CommitGraph, reader: String, now: Int64) throws {
    let heads = try heads().filter { graph.number(of: $0) != nil }.map(\.text)
    if let known = notes().first(where: { $0.reader == reader }), known.heads == heads,
      now - known.date < Self.forgottenAfter / 3
    {
      return
    }
    let line = StreamLine.bytes([
      .init("seen", .array(heads.map { .string($0) })), .init("date", .string(StreamDate.text(now))),
    ])
    // Who may only read leaves none.
    try? DurableFile.replace(note(of: reader), with: line)
  }

  private func notes() -> [(reader: String, heads: [String], date: Int64)] {
    ((try? list()) ?? []).compactMap { name in
      guard name.hasSuffix(".seen"), let reader = try? LineReader(path: path + "/" + name),
        let bytes = try? reader.next(limit: Self.noteLimit), let line = StreamLine(bytes),
        let heads = line.texts("seen"), let date = line.text("date").flatMap(StreamDate.nanoseconds)
      else { return nil }
      return (String(name.dropLast(5)), heads, date)
    }
  }

  /// Where a store has many files here, puts those together that no other has all of, and takes away those that another one has all of
  /// which everybody knows. Reads them.
  func tidy(_ store: OwnStore, _ graph: CommitGraph, now: Int64) throws {
    let files = try files()
    guard files.count > Self.mostFiles else { return }
    let own = files.filter { isOwn($0, of: store) }
    guard own.count > Self.mostFiles else { return }
    let held = try own.map { (file: $0, commits: try commits(in: $0)) }
    let others = notes().filter { $0.reader != store.identity && now - $0.date < Self.forgottenAfter }
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
      if others.allSatisfy({ $0.heads.contains(cover.file.head.text) }) { unlink(file.path) }
    }
    let numbers = lone.compactMap { graph.number(of: $0) }.sorted()
    // What this store has pruned since stays in the files that it wrote.
    guard count > Self.mostFiles, numbers.count == lone.count, let newest = graph.newest(of: Array(lone)).first else {
      return
    }
    try add(newest) { sink in try CommitSender(store, graph, sink: sink).send(numbers, since: []) }
  }

  private func isOwn(_ file: File, of store: OwnStore) -> Bool { header(of: file)?.text("store") == store.identity }

  /// The first line of a file; nil where it cannot be read.
  private func header(of file: File) -> StreamLine? {
    (try? LineReader(path: file.path).next(limit: Self.noteLimit)).flatMap { StreamLine($0) }
  }

  private func commits(in file: File) throws -> Set<CommitIdentity> {
    let reader = try LineReader(path: file.path)
    var commits: Set<CommitIdentity> = []
    while let line = try reader.next() {
      guard line.starts(with: Array("{\"end\":".utf8)),
        let identity = StreamLine(line)?.text("end").flatMap(CommitIdentity.init(text:))
      else { continue }
      commits.insert(identity)
    }
    return commits
  }
}
