import StrataDocuments
import StrataLocks
import Testing

@testable import StrataModel

@Suite("The readable rest of a damaged datastore")
struct ReadableRestTests {
  /// An index some of whose entries cannot be read.
  private struct BrokenIndex: ReadableIndex {
    let whole: ValueIndex
    let lost: [Range<Int>]

    var descriptor: IndexDescriptor { whole.descriptor }
    var count: Int { whole.count }

    func entries(at ranks: Range<Int>) throws(ModelError) -> [IndexEntry] {
      if lost.contains(where: ranks.overlaps) { throw .storage("a node is damaged", kind: .damaged) }
      return whole.entries(at: ranks)
    }

    func rank(of bound: KeyBound) throws(ModelError) -> Int { try whole.rank(of: bound) }
    func rank(of identifier: StoredKey, value: KeyValue?) -> Int? { nil }
  }

  @Test("each place of entries that cannot be reached is reported, without the readable ones between")
  func places() throws {
    let store = EngineStore.memory()
    try Cities.write([Cities.document(1)], to: store)
    let datastore = try #require(try store.head.datastore("City"))
    let told = Mutex<[String]>([])
    let rest = ReadableRest(of: datastore) { sentence in told.withLock { $0.append(sentence) } }
    let values = try ValueIndex(.integer, (0..<30).map { .integer($0) })
    let index = rest.rest(of: BrokenIndex(whole: values, lost: [3..<5, 20..<21]))
    #expect(try index.entries(at: 0..<30).count == 27)
    #expect(
      told.withLock { $0 }.map { $0.prefix { $0 != "," } } == [
        "2 records of City behind 2 and before 5 left out", "1 record of City behind 19 and before 21 left out",
      ])
  }
}
