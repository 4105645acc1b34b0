/// Reads some tiers of the values of an index, and goes past the others.
package struct KeyTiers: Sendable {
  /// The tiers up to the last one that is read, each with the place of its value in the answer; nil of a tier that is not read.
  private let tiers: [(encoding: KeyEncoding, place: Int?)]

  /// - Parameters:
  ///   - encoding: The encoding of the index's values.
  ///   - tierCount: The number of tiers that the index was declared with.
  ///   - wanted: The numbers of the tiers to be read, each once, in the order of the answer.
  /// - Returns: nil if the encoding does not keep the tiers apart.
  package init?(_ encoding: KeyEncoding, tierCount: Int, reading wanted: [Int]) {
    let all = if case .compound(let tiers) = encoding { tiers } else { [encoding] }
    guard all.count == tierCount, let last = wanted.max(), last < tierCount else { return nil }
    tiers = all[...last].enumerated().map { ($1, wanted.firstIndex(of: $0)) }
  }

  /// Reads the tiers of a value into `values`, which has an element for each tier that is read.
  ///
  /// - Returns: False if the bytes are not a value of the encoding.
  package func read(_ value: UnsafeRawBufferPointer, into values: inout [KeyValue]) -> Bool {
    var decoder = KeyDecoder(value)
    for tier in tiers.indices {
      guard read(tier, of: value, with: &decoder, into: &values) else { return false }
    }
    return true
  }

  /// Reads the tiers of a value that comes after another one in the order of an index. Most such values have the same first tier, which is
  /// then not decoded again.
  ///
  /// - Parameter first: The bytes of the first tier of the value before; empty at the beginning. A value that only the app orders stands
  ///   alone, so it is decoded each time.
  package func readNext(
    _ value: UnsafeRawBufferPointer, after first: inout [UInt8], into values: inout [KeyValue]
  ) -> (isValue: Bool, hasSameFirst: Bool) {
    var decoder = KeyDecoder(value)
    let isSame = !first.isEmpty && decoder.skip(value: first)
    if !isSame {
      guard read(0, of: value, with: &decoder, into: &values) else { return (false, false) }
      first.removeAll(keepingCapacity: true)
      first.append(contentsOf: value[..<decoder.position])
    }
    for tier in tiers.indices.dropFirst() {
      guard read(tier, of: value, with: &decoder, into: &values) else { return (false, false) }
    }
    return (true, isSame)
  }

  /// The place of the first tier's value in the answer; nil if it is not read.
  package var placeOfFirst: Int? { tiers[0].place }

  private func read(
    _ tier: Int, of value: UnsafeRawBufferPointer, with decoder: inout KeyDecoder, into values: inout [KeyValue]
  ) -> Bool {
    guard let place = tiers[tier].place else { return decoder.skip(tiers[tier].encoding) }
    let encoding = tiers[tier].encoding
    // Values that only the app orders stand alone.
    let read = if case .comparator = encoding { encoding.decode(value) } else { decoder.next(encoding) }
    guard let read else { return false }
    values[place] = read
    return true
  }
}
