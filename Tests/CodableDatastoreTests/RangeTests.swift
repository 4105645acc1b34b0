import CodableDatastore
import Testing

@Suite("Ranges")
struct RangeTests {
  func bounds<R: IndexRangeExpression>(_ range: R) -> (RangeBoundExpression<R.Bound>, RangeBoundExpression<R.Bound>) {
    (range.lowerBoundExpression, range.upperBoundExpression)
  }

  @Test("Swift's ranges say which ends they include")
  func swiftRanges() {
    #expect(bounds(1..<3) == (.including(1), .excluding(3)))
    #expect(bounds(1...3) == (.including(1), .including(3)))
    #expect(bounds(..<3) == (.extent, .excluding(3)))
    #expect(bounds(...3) == (.extent, .including(3)))
    #expect(bounds(1...) == (.including(1), .extent))
    #expect((1..<3).order == .ascending)
  }

  @Test("..> leaves its lower bound out")
  func excludingRanges() {
    #expect(bounds(1 ..> 3) == (.excluding(1), .including(3)))
    #expect(bounds(1 ..> 1) == (.excluding(1), .including(1)))
    #expect(bounds(1..>) == (.excluding(1), .extent))
  }

  @Test("an index range takes any ends")
  func indexRanges() {
    #expect(bounds(IndexRange(lower: .excluding(1), upper: .excluding(2))) == (.excluding(1), .excluding(2)))
    #expect(bounds(IndexRange(only: "a")) == (.including("a"), .including("a")))
    #expect(bounds(IndexRange<Int>()) == (.extent, .extent))
    #expect(IndexRange<Int>(order: .descending).order == .descending)
  }

  @Test("options print by name and drop bits that mean nothing")
  func options() {
    #expect(TransactionOptions(rawValue: 0xFF).rawValue == 7)
    #expect(UnsafeTransactionOptions(rawValue: 0xFF).rawValue == 0xFF)
    #expect("\(TransactionOptions.readOnly)" == "TransactionOptions([.readOnly])")
    #expect(UnsafeTransactionOptions(.collateWrites) == .collateWrites)
    #expect(UnsafeTransactionOptions.skipObservations.rawValue == 1 << 16)
    #expect(UnsafeTransactionOptions.enforceDurability.rawValue == 1 << 17)
  }

  @Test("nil comes before everything")
  func optionals() {
    let values: [Int?] = [3, nil, -1, 2]
    #expect(values.sorted() == [nil, -1, 2, 3])
    #expect(!(Int?.none < Int?.none))
  }
}
