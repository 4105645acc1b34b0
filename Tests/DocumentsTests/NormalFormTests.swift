@_spi(_Unicode) import Swift
import Documents
import Testing

@Suite("Unicode's normal form")
struct NormalFormTests {
  private static var scalars: [Unicode.Scalar] { (0..<0x110000 as Range<UInt32>).compactMap(Unicode.Scalar.init) }

  private static func isEvident(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { NormalForm.isEvident($0) }
  }

  @Test("what is said to be composed by a look at its bytes is so, alone and behind and before everything else")
  func evidence() {
    var followers: Set<Unicode.Scalar> = []
    for scalar in Self.scalars { followers.formUnion(String(scalar)._nfd.dropFirst()) }
    var evident = 0
    for scalar in Self.scalars where Self.isEvident(String(scalar)) {
      evident += 1
      // It stands for itself, is moved past no other, and no composition has it behind another.
      #expect(Array(NormalForm.composed(String(scalar)).unicodeScalars) == [scalar])
      #expect(scalar.properties.canonicalCombiningClass == .notReordered)
      #expect(!followers.contains(scalar), "U+\(String(scalar.value, radix: 16))")
    }
    #expect(evident > 30_000)
  }

  @Test("names in many scripts are told by their bytes, and a mark behind a letter is not")
  func scripts() {
    for name in ["Zürich", "Αθήνα", "Москва", "תל אביב", "القاهرة", "تهران", "東京", "トウキョウ", "とうきょう", "서울"] {
      #expect(Self.isEvident(name), "\(name)")
    }
    for name in ["e\u{301}", "か\u{3099}", "\u{387}", "ا\u{654}"] { #expect(!Self.isEvident(name)) }
  }
}
