package import StrataDocuments
package import StrataEngine

/// Whether two records are equal: same version tag and same canonical document.
///
/// Equal bytes are the usual case and cost a comparison. If the bytes differ, both are parsed only if one could be the
/// other with members in another order, other white space, or numbers in another form. In all other cases counting bytes shows that they
/// differ.
package enum RecordSameness {
  /// - Parameters:
  ///   - coding: the coding of both contents; `.opaque` if only contents of equal bytes are equal.
  ///   - rules: name the lists whose order does not matter.
  package static func isSame(
    _ old: Bytes, _ new: [UInt8], coding: RecordCoding, rules: MergeRules = MergeRules()
  ) -> Bool {
    old.withUnsafeBytes { old in
      new.withUnsafeBytes { new in
        if old.count == new.count && compareKeys(old, new) == 0 { return true }
        guard coding != .opaque, let (oldVersion, oldContent) = RecordBytes.layout(old),
          let (newVersion, newContent) = RecordBytes.layout(new),
          old[oldVersion].elementsEqual(new[newVersion])
        else { return false }
        let (before, after) = (old[oldContent...], new[newContent...])
        guard couldBeSame(before, after, coding: coding) else { return false }
        guard let before = try? coding.document(of: Array(before)), let after = try? coding.document(of: Array(after))
        else { return false }
        return rules.normalized(before) == rules.normalized(after)
      }
    }
  }

  private static func couldBeSame(
    _ old: Slice<UnsafeRawBufferPointer>, _ new: Slice<UnsafeRawBufferPointer>, coding: RecordCoding
  ) -> Bool {
    switch coding {
    case .json: ink(old) == ink(new)
    case .binaryPropertyList: old.count == new.count
    default: true
    }
  }

  /// How many bytes there are and what they add up to, without what JSON lets vary: white space, escaping strokes, and what the forms of a
  /// number differ in, such as `1` and `1.0`.
  private static func ink(_ bytes: Slice<UnsafeRawBufferPointer>) -> SIMD2<Int> {
    var ink = SIMD2<Int>(0, 0)
    for byte in bytes
    where byte > 0x20 && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "0") && byte != UInt8(ascii: ".")
      && byte | 0x20 != UInt8(ascii: "e")
    { ink &+= SIMD2(1, Int(byte)) }
    return ink
  }
}
