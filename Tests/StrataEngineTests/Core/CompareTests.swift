import Testing

@testable import StrataEngine

@Suite("Byte order")
struct CompareTests {
  @Test("keys of every length up to 20 are ordered as their bytes are, wherever they differ")
  func agreesWithArrays() {
    for leftCount in 0...20 {
      for rightCount in 0...20 {
        let shared = (0..<20).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ leftCount &* 31 &+ rightCount &* 151) }
        expectOrder(Array(shared.prefix(leftCount)), Array(shared.prefix(rightCount)))
        for place in 0..<min(leftCount, rightCount) {
          // Above and below 128, and with later bytes that would decide otherwise.
          for byte: UInt8 in [0, 127, 128, 255] {
            var left = Array(shared.prefix(leftCount))
            left[place] = byte
            if place + 1 < leftCount { left[place + 1] = ~left[place + 1] }
            expectOrder(left, Array(shared.prefix(rightCount)))
          }
        }
      }
    }
  }

  private func expectOrder(_ left: [UInt8], _ right: [UInt8]) {
    let order = left.withUnsafeBytes { left in right.withUnsafeBytes { compareBytes(left, $0).signum() } }
    let expected = left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    #expect(order == expected, "\(left) and \(right)")
  }
}
