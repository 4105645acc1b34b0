/// Unicode's normalisation form C, which is the order of strings in a store.
package enum NormalForm {
  /// Whether a look at the bytes shows that the text is in the form already: it holds only characters that no composition and no order of
  /// marks touches (Latin, most of Greek and Cyrillic, the letters of Hebrew and Arabic, kana, Chinese characters, most Korean
  /// syllables).
  package static func isEvident(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    for position in utf8.indices where utf8[position] >= 0xCC {
      switch utf8[position] {
      case 0xCF, 0xD0, 0xD1, 0xDA, 0xE4...0xE9, 0xEB, 0xEC: continue
      // In these blocks the next byte decides; the rest of them are marks and letters that are also written otherwise.
      case 0xCE where next(utf8, position) != 0x87: continue
      case 0xD7 where 0x90...0xAA ~= next(utf8, position): continue
      case 0xD8 where next(utf8, position) >= 0xA0: continue
      case 0xD9 where 0x80...0x8A ~= next(utf8, position) || 0xB1...0xBF ~= next(utf8, position): continue
      case 0xDB where next(utf8, position) <= 0x95: continue
      case 0xE3 where isKana(next(utf8, position), next(utf8, position + 1)): continue
      default: return false
      }
    }
    return true
  }

  /// The byte behind a place; 0 behind the end.
  private static func next(_ utf8: UnsafeBufferPointer<UInt8>, _ position: Int) -> UInt8 {
    position + 1 < utf8.count ? utf8[position + 1] : 0
  }

  /// U+3040 to U+30FF without the marks U+3099 and U+309A.
  private static func isKana(_ second: UInt8, _ third: UInt8) -> Bool {
    0x81...0x83 ~= second && !(second == 0x82 && 0x99...0x9A ~= third)
  }

  /// The text in the form, with the same bytes on every platform.
  package static func composed(_ text: String) -> String {
    var text = text
    if text.withUTF8({ isEvident($0) }) { return text }
    let table = NormalFormTable.shared
    guard !isComposed(text, table) else { return text }
    var scalars: [(value: UInt32, order: UInt8)] = []
    scalars.reserveCapacity(text.utf8.count)
    var start = 0
    for scalar in text.unicodeScalars {
      // The marks of a letter end at the next character that is not a mark. U+0F73, U+0F75 and U+0F81 count as such: they only become
      // marks. Unicode would sort these among the marks before them; the order of strings in Swift does not, and keys have that order.
      if table[scalar.value].order == 0 {
        sort(&scalars, from: start)
        start = scalars.count
      }
      decompose(scalar.value, table, into: &scalars)
    }
    sort(&scalars, from: start)
    var result = String.UnicodeScalarView()
    for value in composition(of: scalars, table) { result.append(Unicode.Scalar(value) ?? "\u{FFFD}") }
    return String(result)
  }

  /// The text in the form without differences of case and of accents, with which texts are equal whose letters are. Accents are the marks
  /// above, below and across letters; marks of other kinds, such as vowel signs and voicing marks, make other letters.
  package static func folded(_ text: String) -> String {
    guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text.lowercased() }
    let table = NormalFormTable.shared
    var scalars: [(value: UInt32, order: UInt8)] = []
    for scalar in text.unicodeScalars {
      // Upper case first, which unites forms of a letter: `ß` and `SS`, both forms of sigma.
      for upper in scalar.properties.uppercaseMapping.unicodeScalars {
        for lower in upper.properties.lowercaseMapping.unicodeScalars { decompose(lower.value, table, into: &scalars) }
      }
    }
    scalars.removeAll { $0.order == 1 || $0.order >= 200 }
    return composed(String(String.UnicodeScalarView(scalars.compactMap { Unicode.Scalar($0.value) })))
  }

  /// Whether a look at each character shows that the text is in the form already, as nearly all texts are.
  private static func isComposed(_ text: String, _ table: NormalFormTable) -> Bool {
    var last: UInt8 = 0
    for scalar in text.unicodeScalars {
      let entry = table[scalar.value]
      guard !entry.follows, entry.first == 0 || entry.isComposed, entry.order == 0 || entry.order >= last else {
        return false
      }
      last = entry.order
    }
    return true
  }

  private static func decompose(
    _ value: UInt32, _ table: NormalFormTable, into scalars: inout [(value: UInt32, order: UInt8)]
  ) {
    if Hangul.syllables.contains(value) {
      let parts = Hangul.parts(of: value)
      scalars += [(parts.0, 0), (parts.1, 0)]
      if parts.2 != 0 { scalars.append((parts.2, 0)) }
      return
    }
    let entry = table[value]
    guard entry.first != 0 else { return scalars.append((value, entry.order)) }
    decompose(entry.first, table, into: &scalars)
    if entry.second != 0 { decompose(entry.second, table, into: &scalars) }
  }

  /// Sorts a letter and its marks by their classes. Marks of one class stay in their order.
  private static func sort(_ scalars: inout [(value: UInt32, order: UInt8)], from start: Int) {
    let marks = scalars[start...]
    guard zip(marks, marks.dropFirst()).contains(where: { $0.order > $1.order }) else { return }
    // By their places too, because `sort` does not promise to be stable.
    let sorted = marks.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
    scalars.replaceSubrange(start..., with: sorted.map(\.element))
  }

  /// Each mark and letter is joined with the last letter before it, unless something between them is in the way.
  private static func composition(
    of scalars: [(value: UInt32, order: UInt8)], _ table: NormalFormTable
  ) -> [UInt32] {
    var result: [UInt32] = []
    result.reserveCapacity(scalars.count)
    var letter: Int?
    var last: UInt8 = 0
    for (value, order) in scalars {
      if let letter, last == 0 || last < order, let joined = table.composition(result[letter], value) {
        result[letter] = joined
        continue
      }
      if order == 0 { letter = result.count }
      last = order
      result.append(value)
    }
    return result
  }
}
