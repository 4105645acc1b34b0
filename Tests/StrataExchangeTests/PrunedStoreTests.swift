import StrataModel
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataExchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Copies of a store that was pruned after merges")
struct PrunedStoreTests {
  private func inFolder(_ body: (String) throws -> Void) throws {
    let path = "/tmp/strata-pruned-\(UInt64.random(in: 0 ... .max))"
    mkdir(path, 0o755)
    defer { try? removeFolder(path) }
    try body(path)
  }

  private func create(_ path: String) throws -> ExchangedStore {
    ExchangedStore(try EngineStore.open(path: path, program: "test", author: path, creates: true))
  }

  private func expectClean(_ store: ExchangedStore, _ comment: String) throws {
    try store.own.engine.close()
    func problems(_ path: String) throws -> [String] {
      let report = try FileStore.verify(at: path, disk: SystemDisk())
      return report.findings.filter { $0.severity == .damage }.map { "\($0.problem)" }
    }
    let found = try problems(store.own.path)
    #expect(found.isEmpty, "\(comment): \(found.prefix(3))")
    let opened = ExchangedStore(try EngineStore.open(path: store.own.path, program: "test", author: ""))
    try opened.expectSound()
    let saved = "\(store.own.path).\(UInt64.random(in: 0 ... .max))"
    _ = try FileStore.salvage(from: store.own.path, to: saved, options: StoreOptions(), disk: SystemDisk())
    let again = ExchangedStore(try EngineStore.open(path: saved, program: "test", author: ""))
    #expect(try again.contents() == opened.contents(), "\(comment), salvaged")
    try again.own.engine.close()
    let left = try problems(saved)
    #expect(left.isEmpty, "\(comment), salvaged: \(left.prefix(3))")
  }

  /// A second datastore whose tree another branch knows by another number.
  private func addDatastore(_ key: String, to store: ExchangedStore) throws {
    var descriptor = ExchangedStore.descriptor
    descriptor.key = key
    let added = descriptor
    try store.own.engine.change { try DatastoreWriter.create(added, in: $0) }
  }

  @Test(
    "a clone is sound, and after its compaction, and a clone of that; so is what goes through a text", arguments: 1...4)
  func clones(kept: Int) throws {
    try inFolder { folder in
      let ours = try ExchangedStore("ada")
      for id in 1...6 as ClosedRange<Int64> { try ours.put(id, bytes: #"{"id":\#(id),"name":"n"}"#) }
      let theirs = try ExchangedStore("bob", isEmpty: true)
      try theirs.fetchAndMerge(ours)
      // The trees that the two sides make get the same numbers.
      try addDatastore("Aside", to: ours)
      try addDatastore("Beside", to: theirs)
      for round in 0..<5 {
        for (store, other, id) in [(ours, theirs, 1), (theirs, ours, 4)] as [(ExchangedStore, ExchangedStore, Int64)] {
          try store.put(id + Int64(round % 3), bytes: #"{"id":\#(id + Int64(round % 3)),"name":"\#(round)"}"#)
          if round % 2 == 1, try store.text(id) != nil { try store.delete(id) }
          if round == 2 { _ = try store.own.engine.compact(.last(kept)) { _ in true } }
          try store.fetchAndMerge(other, .later)
          try store.push(other)
        }
      }
      _ = try ours.own.engine.compact(.last(kept)) { _ in true }
      var source = ours
      for generation in 1...3 {
        let clone = try create("\(folder)/\(generation).strata")
        try clone.fetchAndMerge(source)
        #expect(try clone.contents() == ours.contents())
        try expectClean(clone, "clone \(generation)")
        source = ExchangedStore(try EngineStore.open(path: clone.own.path, program: "test", author: ""))
        _ = try source.own.engine.compact(.last(kept)) { _ in true }
        try expectClean(source, "compacted clone \(generation)")
        source = ExchangedStore(try EngineStore.open(path: clone.own.path, program: "test", author: ""))
      }
    }
  }

  @Test("a record that a merge took over from a branch on which its tree has another number is sound, and stays so")
  func otherNumbers() throws {
    try inFolder { folder in
      let store = try create(folder + "/a.strata")
      let engine = store.own.engine
      let names = ["A", "B"].map { TreeName(Array("X\($0)".utf8)) }
      try engine.change { try $0.createTree(TreeName(Array("Xroot".utf8)), kind: .entries) }
      let root = engine.head.commit.number
      // Two branches that make the same trees in another order.
      var tips: [UInt64] = []
      for order in [names, names.reversed()] {
        let transaction = try tips.isEmpty ? engine.beginBlocking() : engine.beginBlocking(on: root)
        for name in order { try transaction.createTree(name, kind: .records) }
        for name in names { _ = try transaction.put([UInt8(tips.count)], Array("value \(tips.count)".utf8), in: name) }
        _ = try transaction.put([9], Array("nine".utf8), in: names[0])
        let pending = try #require(try transaction.commit(CommitInfo(action: "branch")))
        try pending.wait()
        tips.append(pending.number)
      }
      let merge = try engine.beginBlocking()
      let theirs = try engine.view(at: tips[1])
      for name in names { #expect(try merge.copyRecord([1], in: name, from: theirs, probe: nil)) }
      #expect(try merge.copyRecord([9], in: names[0], from: theirs, probe: nil))
      try merge.commit(CommitInfo(parents: tips))?.wait()
      try engine.change { _ = try $0.put([1], Array("later".utf8), in: names[0]) }
      try engine.change { _ = try $0.delete([9], in: names[0]) }
      try expectClean(store, "merged")
      let again = ExchangedStore(try EngineStore.open(path: store.own.path, program: "test", author: ""))
      _ = try again.own.engine.compact(.last(2)) { _ in true }
      try expectClean(again, "compacted")
    }
  }
}
