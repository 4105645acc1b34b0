import StrataModel
import Foundation
import StrataEngine
import Testing

@testable import StrataExchange

@Suite("Copies of a store's files")
struct CopiedFilesTests {
  @Test(
    "a store and a copy of its files that are both written go together, for the copy writes under an origin of its own")
  func copy() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "strata-copied-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let (path, copyPath) = (place.appending(path: "One.strata").path, place.appending(path: "Two.strata").path)
    func open(_ path: String, creates: Bool = false) throws -> ExchangedStore {
      ExchangedStore(try EngineStore.open(path: path, program: "test", author: "ada", creates: creates))
    }
    let first = try open(path, creates: true)
    try first.own.engine.change { try DatastoreWriter.create(ExchangedStore.descriptor, in: $0) }
    try first.put(#"{"id":1,"name":"both"}"#)
    let origin = first.head.origin
    try first.own.engine.close()
    try FileManager.default.copyItem(atPath: path, toPath: copyPath)

    let (ours, theirs) = (try open(path), try open(copyPath))
    try ours.put(#"{"id":2,"name":"ours"}"#)
    try theirs.put(#"{"id":3,"name":"theirs"}"#)
    #expect(ours.head.origin == origin)
    #expect(theirs.head.origin != origin)
    try ours.fetchAndMerge(theirs)
    try ours.push(theirs)
    #expect(ours.head == theirs.head)
    for store in [ours, theirs] {
      #expect(try store.contents().count == 3)
      try store.expectSound()
      try store.own.engine.close()
    }
  }
}
