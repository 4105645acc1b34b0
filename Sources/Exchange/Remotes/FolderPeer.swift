import Documents
package import StorageEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A folder that something else carries: a synchronised folder, a stick.
///
/// Each push adds one file, `ORIGIN-NUMBER.jsonl` after the head that it leads to, with the commits that no file before has: written
/// under another name, synced and renamed, and never changed. Everyone reads everyone's files, and a file that has not come yet, or is
/// half there, is read the next time.
package final class FolderPeer: Peer {
  package let name: String
  private let path: String

  package init(_ path: String, name: String) throws {
    self.path = path
    self.name = name
    guard try SystemDisk().status(path)?.isDirectory ?? false else {
      throw ExchangeError.peer(name: name, reason: "\(path) is no folder")
    }
  }

  package func heads() throws -> [CommitIdentity] { try files().map(\.head) }

  private func files() throws -> [(head: CommitIdentity, path: String)] {
    guard let names = try? SystemDisk().list(path) else {
      throw ExchangeError.peer(name: name, reason: "\(path) cannot be read")
    }
    return names.sorted().compactMap { name in
      guard name.hasSuffix(".jsonl") else { return nil }
      let text = name.dropLast(6).split(separator: "-", maxSplits: 1).joined(separator: ":")
      return CommitIdentity(text: text).map { ($0, path + "/" + name) }
    }
  }

  /// Not of a folder, whose files are streams of their own.
  package func fetch(haves: [Have], wants: [CommitIdentity], take: ([UInt8]) throws -> Void) throws {
    throw ExchangeError.peer(name: name, reason: "a folder is read file by file")
  }

  /// Has the files read that lead to heads that are not known yet, each after those that it builds on. A file that cannot be read to its end
  /// is left for the next time, where others can; the first error is thrown in the end where nothing came of any.
  func fetch(into receive: (_ lines: LineReader) throws -> Void, isKnown: (CommitIdentity) -> Bool) throws {
    var open = try files().filter { !isKnown($0.head) }
    var failure: (any Error)?
    while !open.isEmpty {
      let before = open.count
      open = open.filter { file in
        do {
          try receive(LineReader(path: file.path))
          return !isKnown(file.head)
        } catch {
          failure = error
          return true
        }
      }
      if open.count == before { break }
    }
    if let failure, !open.isEmpty { throw failure }
  }

  package func haves() throws -> [Have] { [] }

  package func push(
    _ head: CommitIdentity, _ write: (_ sink: @escaping ([UInt8]) throws -> Void) throws -> Void
  ) throws -> Bool {
    let file = path + "/" + head.text.replacing(":", with: "-") + ".jsonl"
    var bytes: [UInt8] = []
    try write { bytes += $0 }
    try DurableFile.write(bytes, to: file)
    return true
  }
}
