import Testing

@testable import CodableDatastore

@Suite struct NotedChangesTests {
  @Test("changes come in the order in which they were noted, those of nested transactions where these ended")
  func order() {
    func change(_ number: Int) -> StoredChange {
      StoredChange(datastore: "numbers", key: withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }
    var outer = RecordedChanges()
    #expect(outer.all.isEmpty)
    for number in 0..<1_500 { outer.append(change(number)) }
    for piece in [1_500..<1_501, 1_501..<3_700] {
      var inner = RecordedChanges()
      for number in piece { inner.append(change(number)) }
      outer += inner
    }
    for number in 3_700..<6_000 { outer.append(change(number)) }
    #expect(outer.all.map(\.key) == (0..<6_000).map { change($0).key })
  }
}
