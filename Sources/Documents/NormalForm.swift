@_spi(_Unicode) import Swift

/// Unicode's normalisation form C, which is the order of strings in a store.
package enum NormalForm {
  /// Whether a look at the bytes shows that the text is in the form already: it holds only characters of blocks that no
  /// composition touches (Latin, part of Greek, Cyrillic, most Chinese characters and Korean syllables).
  package static func isEvident(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    for byte in utf8 where byte >= 0xCC {
      switch byte {
      case 0xCF, 0xD0, 0xD1, 0xE5...0xE8, 0xEB, 0xEC: continue
      default: return false
      }
    }
    return true
  }

  package static func composed(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text._nfc { scalars.append(scalar) }
    return String(scalars)
  }
}
