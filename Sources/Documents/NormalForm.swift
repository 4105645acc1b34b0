@_spi(_Unicode) import Swift

/// Unicode's normalisation form C, which is the order of strings in a store.
package enum NormalForm {
  /// Whether a look at the bytes shows that the text is in the form already: it holds only characters that no composition and no order of
  /// marks touches (Latin, most of Greek and Cyrillic, the letters of Hebrew and Arabic, kana, Chinese characters, most Korean
  /// syllables).
  package static func isEvident(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    for position in utf8.indices where utf8[position] >= 0xCC {
      switch utf8[position] {
      case 0xCF, 0xD0, 0xD1, 0xDA, 0xE4...0xE9, 0xEB, 0xEC: continue
      // Of these blocks by what follows; whatever follows there are marks and letters that are written otherwise, too.
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

  package static func composed(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text._nfc { scalars.append(scalar) }
    return String(scalars)
  }
}
