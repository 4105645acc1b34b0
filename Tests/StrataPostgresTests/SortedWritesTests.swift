import StrataEngine
import Testing

@testable import StrataPostgres

@Suite("Writes of a transaction in the order of their keys")
struct SortedWritesTests {
  private static func key(_ number: UInt64) -> [UInt8] {
    // Keys of several lengths that share beginnings.
    Array("key \(number % 3)".utf8) + withUnsafeBytes(of: number.bigEndian) { Array($0.suffix(Int(number % 4) + 4)) }
  }

  @Test("random writes and removals are what a dictionary holds", arguments: 1...20 as ClosedRange<UInt64>)
  func random(seed: UInt64) {
    var state = seed
    func next(_ limit: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % limit
    }
    var (writes, expected) = (SortedWrites(), [[UInt8]: KeyWrite]())
    for step in 0..<4_000 {
      let key = Self.key(next(2_000))
      // At the end most keys are removed, so that pieces become empty.
      if next(10) < (step < 2_000 ? 2 : 8) {
        writes.remove(key)
        expected[key] = nil
      } else {
        let write = KeyWrite(payload: .record(writtenBy: UInt64(step)))
        let old = key.withUnsafeBytes { writes.set(write, for: $0) }
        #expect(old == expected.updateValue(write, forKey: key))
      }
    }
    let sorted = expected.sorted { $0.key.precedes($1.key) }
    #expect(writes.map(\.key) == sorted.map(\.key) && writes.map(\.write) == sorted.map(\.value))
    #expect(writes.reversed().map(\.key) == sorted.reversed().map(\.key))
    for number in 0..<100 as Range<UInt64> {
      #expect(writes[Self.key(number)] == expected[Self.key(number)])
      let (lower, upper) = (Self.key(next(2_000)), Self.key(next(2_000)))
      let inside = sorted.map(\.key).filter { !$0.precedes(lower) && $0.precedes(upper) }
      let range = KeyRange(lower: lower, upper: upper)
      #expect(writes.walk(range, isReversed: false).map(\.key) == inside)
      #expect(writes.walk(range, isReversed: true).map(\.key) == inside.reversed())
    }
  }

  @Test("writes in ascending order, none, and all removed")
  func ends() {
    var writes = SortedWrites()
    #expect(writes.isEmpty && writes.walk(KeyRange(), isReversed: true).next() == nil)
    for number in 0..<1_000 as Range<UInt64> {
      withUnsafeBytes(of: number.bigEndian) { _ = writes.set(KeyWrite(payload: .some(.none)), for: $0) }
    }
    let keys = writes.map(\.key)
    #expect(keys.count == 1_000 && keys.first == [0, 0, 0, 0, 0, 0, 0, 0] && keys.last?.suffix(2) == [3, 231])
    for key in keys { writes.remove(key) }
    #expect(writes.isEmpty && writes.walk(KeyRange(), isReversed: false).next() == nil)
  }
}
