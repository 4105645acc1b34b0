import StrataDocuments
import Foundation
import Testing

#if os(Linux)
  // The form of the standard library, which has no public interface.
  @_spi(_Unicode) import Swift
#endif

@Suite("Unicode's normal form")
struct NormalFormTests {
  private static var scalars: [Unicode.Scalar] { (0..<0x110000 as Range<UInt32>).compactMap(Unicode.Scalar.init) }

  private static func isEvident(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { NormalForm.isEvident($0) }
  }

  @Test("what is said to be composed by a look at its bytes is so, alone and behind and before everything else")
  func evidence() throws {
    let letters = try Self.published().filter { $0[0].unicodeScalars.count == 1 }
    let korean = (0x1161...0x11C2 as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init)
    let followers = Set(letters.flatMap { $0[2].unicodeScalars.dropFirst() }).union(korean)
    #expect(followers.count > 100)
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

  /// The lines of Unicode's own test: source, composed and decomposed form.
  private static func published() throws -> [[String]] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: folder.appending(path: "Golden/NormalizationTest.txt"), encoding: .utf8)
    return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
      line.split(separator: ";").map { column in
        String(
          String.UnicodeScalarView(
            column.split(separator: " ").compactMap { UInt32($0, radix: 16) }.compactMap(Unicode.Scalar.init)))
      }
    }
  }

  private static func scalars(of text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }

  @Test("every line of Unicode's test holds, and the form of a form is the form")
  func conformance() throws {
    let lines = try Self.published()
    #expect(lines.count > 4_000)
    for line in lines {
      let form = Self.scalars(of: line[1])
      for column in line {
        #expect(Self.scalars(of: NormalForm.composed(column)) == form, "\(Self.scalars(of: column))")
        // Nothing before and behind it changes it, where the parts do not touch.
        #expect(
          Self.scalars(of: NormalForm.composed("a\(column)z")) == Self.scalars(of: NormalForm.composed("a" + line[2]))
            + [0x7A])
      }
    }
  }

  @Test("Korean syllables are composed of their letters, and marks between these are in the way")
  func hangul() {
    var syllable: UInt32 = 0xAC00
    for first in 0x1100..<0x1113 as Range<UInt32> {
      for vowel in 0x1161..<0x1176 as Range<UInt32> {
        for final in 0x11A7..<0x11C3 as Range<UInt32> {
          let letters = [first, vowel] + (final == 0x11A7 ? [] : [final])
          let text = String(String.UnicodeScalarView(letters.compactMap(Unicode.Scalar.init)))
          #expect(Self.scalars(of: NormalForm.composed(text)) == [syllable])
          syllable += 1
        }
      }
    }
    #expect(syllable == 0xD7A4)
    #expect(Self.scalars(of: NormalForm.composed("\u{1100}\u{300}\u{1161}")) == [0x1100, 0x300, 0x1161])
    #expect(Self.scalars(of: NormalForm.composed("\u{AC01}\u{11A8}")) == [0xAC01, 0x11A8])
    #expect(Self.scalars(of: NormalForm.composed("\u{AC00}\u{11A7}")) == [0xAC00, 0x11A7])
  }

  #if os(Linux)
    /// Existing indexes have keys in the form that the standard library of Linux made of them.
    @Test("the form is the standard library's, for every character and for random texts of those that a form touches")
    func sameAsBefore() throws {
      var touched: [Unicode.Scalar] = ["a", "z", "\u{AC00}", "\u{10FFFF}"]
      for scalar in Self.scalars {
        let text = String(scalar)
        let form = Array(text._nfc)
        #expect(Array(NormalForm.composed(text).unicodeScalars) == form, "U+\(String(scalar.value, radix: 16))")
        if form != [scalar] || Array(text._nfd) != [scalar]
          || scalar.properties.canonicalCombiningClass != .notReordered
        {
          if !(0xAC00...0xD7A3).contains(scalar.value) { touched.append(scalar) }
        }
      }
      touched += (0x1100..<0x1200 as Range<UInt32>).compactMap(Unicode.Scalar.init)
      touched += Set(try Self.published().flatMap { $0[2].unicodeScalars })
      #expect(touched.count > 3_000)
      var random = SystemRandomNumberGenerator()
      for _ in 0..<20_000 {
        let text = String(
          String.UnicodeScalarView(
            (0..<Int.random(in: 1...6, using: &random)).compactMap { _ in touched.randomElement(using: &random) }))
        #expect(Array(NormalForm.composed(text).unicodeScalars) == Array(text._nfc), "\(Self.scalars(of: text))")
      }
    }
  #endif
}
