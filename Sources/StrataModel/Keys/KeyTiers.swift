import StrataDocuments

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
    for tier in tiers {
      if let place = tier.place {
        // Values that only the app orders stand alone.
        let read =
          if case .comparator = tier.encoding { tier.encoding.decode(value) } else { decoder.next(tier.encoding) }
        guard let read else { return false }
        values[place] = read
      } else if !decoder.skip(tier.encoding) {
        return false
      }
    }
    return true
  }
}
