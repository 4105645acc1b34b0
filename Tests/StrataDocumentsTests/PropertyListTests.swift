import Foundation
import Testing

@testable import StrataDocuments

struct PropertyListTests {
  private struct Sample: Codable, Equatable {
    var text = "é <&> \"x\""
    var plain = "ASCII"
    var small = -5
    var large = UInt64.max
    var byte: UInt8 = 200
    var real = 0.1
    var whole = 12.0
    var single: Float = 0.5
    var flag = true
    var date = Date(timeIntervalSinceReferenceDate: 816_685_200)
    var data = Data([0, 255, 7])
    var list = [[1, 2], []]
    var table = ["a": "b", "": "c"]
    var none: String? = nil
    var nested: [String?] = [nil, "x"]
    var long = Array(repeating: "abc", count: 40)
  }

  @Test(
    "reads what Foundation writes, and Foundation reads what we write",
    arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
  func foundation(format: PropertyListSerialization.PropertyListFormat) throws {
    let coding = format == .binary ? RecordCoding.binaryPropertyList : .xmlPropertyList
    let encoder = PropertyListEncoder()
    encoder.outputFormat = format
    let bytes = Array(try encoder.encode(Sample()))
    #expect(RecordCoding.sniff(bytes) == coding)
    let document = try coding.document(of: bytes)
    #expect(document[member: "text"] == .string(Sample().text))
    #expect(document[member: "large"] == .number(NumberText(UInt64.max)))
    #expect(document[member: "whole"]?.compactJSON == "12.0")
    #expect(document[member: "date"] == .date(816_685_200))
    #expect(document[member: "data"] == .data([0, 255, 7]))
    #expect(try document[DocumentPath(parsing: "nested[0]")] == .null)
    let written = try coding.encode(document)
    #expect(try PropertyListDecoder().decode(Sample.self, from: Data(written)) == Sample())
    #expect(try coding.document(of: written) == document)
  }

  @Test("random documents read back from both forms", arguments: 1...4 as ClosedRange<UInt64>)
  func roundTrip(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<150 {
      let document = Document.random(using: &random)
      for coding in [RecordCoding.binaryPropertyList, .xmlPropertyList] {
        let read = try coding.document(of: coding.encode(document))
        // XML has no control characters but these are the generator's: NUL stays as it is between our own two ends.
        #expect(read == document)
      }
    }
  }

  @Test("dates, data and special numbers read back")
  func kinds() throws {
    let document: Document = [
      "date": .date(-25), "data": .data([]), "nan": .number(NumberText(Double.nan)),
      "inf": .number(NumberText(-Double.infinity)),
      "min": .number(NumberText(Int64.min)), "huge": .number(NumberText(1e300)), "empty": [:],
    ]
    for coding in [RecordCoding.binaryPropertyList, .xmlPropertyList] {
      #expect(try coding.document(of: coding.encode(document)) == document)
    }
  }

  @Test("in XML a date is refused that Foundation would not read, and one of a far year is as Foundation has it")
  func farDates() throws {
    let (binary, xml) = (RecordCoding.binaryPropertyList, RecordCoding.xmlPropertyList)
    for date in [-0.25, -1e11, 1e300, .nan] {
      #expect(try binary.document(of: binary.encode(.date(date))) == .date(date))
      let reason = "an XML property list cannot hold the date \(DateText.text(of: date))"
      #expect(throws: DocumentError.refused(reason: reason)) { try xml.encode(.date(date)) }
    }
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .xml
    for seconds in [0, 4e11, 1e12] {
      let dates = [Date(timeIntervalSinceReferenceDate: seconds)]
      let document = try xml.document(of: Array(encoder.encode(dates)))
      #expect(document == [.date(seconds)])
      #expect(try PropertyListDecoder().decode([Date].self, from: Data(xml.encode(document))) == dates)
    }
  }

  @Test("a number that a list could only hold as another one is refused, and the greatest integers are held")
  func greatNumbers() throws {
    let (great, greater) = ("18446744073709551615", "170141183460469231731687303715884105728")
    for coding in [RecordCoding.binaryPropertyList, .xmlPropertyList] {
      let document: Document = ["n": .number(NumberText(unchecked: great))]
      #expect(try coding.document(of: coding.encode(document)) == document)
      for text in [greater, "1e400", "-1E309"] {
        let document: Document = ["n": .number(NumberText(unchecked: text))]
        #expect(throws: DocumentError.refused(reason: "a property list cannot hold the number \(text)")) {
          try coding.encode(document)
        }
      }
    }
  }

  @Test("cut and mutated lists are refused or read, and never trap", arguments: 1...6 as ClosedRange<UInt64>)
  func hostile(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
      let coding = format == .binary ? RecordCoding.binaryPropertyList : .xmlPropertyList
      let encoder = PropertyListEncoder()
      encoder.outputFormat = format
      let original = Array(try encoder.encode(Sample()))
      for _ in 0..<400 {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          guard let index = bytes.indices.randomElement(using: &random) else { break }
          bytes[index] = UInt8.random(in: 0...255, using: &random)
        }
        if Int.random(in: 0...4, using: &random) == 0 {
          bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
        }
        if let document = try? coding.document(of: bytes) { _ = document.compactText(limit: 256) }
      }
    }
  }

  @Test("a list that contains itself or names its parts without end is refused")
  func bombs() throws {
    // One list whose only element is itself.
    var selfish = Array("bplist00".utf8) + [0xA1, 0x00, 0x08]
    selfish +=
      [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1] + Array(repeating: 0, count: 8) + [0, 0, 0, 0, 0, 0, 0, 10]
    #expect(throws: DocumentError.self) { try RecordCoding.binaryPropertyList.document(of: selfish) }
    // Forty lists, each of twice the next.
    var bomb = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for level in 0..<40 as Range<UInt8> {
      offsets.append(UInt8(bomb.count))
      bomb += level == 39 ? [0xA0] : [0xA2, level + 1, level + 1]
    }
    let table = UInt8(bomb.count)
    bomb += offsets + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 40] + Array(repeating: 0, count: 8)
    bomb += [0, 0, 0, 0, 0, 0, 0, table]
    #expect(throws: DocumentError.self) { try RecordCoding.binaryPropertyList.document(of: bomb) }
    let deep = "<plist>" + String(repeating: "<array>", count: 100_000)
    #expect(throws: DocumentError.self) { try RecordCoding.xmlPropertyList.document(of: Array(deep.utf8)) }
  }

  @Test("codings are told by the bytes")
  func sniffing() {
    #expect(RecordCoding.sniff(Array("{\"a\":1}".utf8)) == .json)
    #expect(RecordCoding.sniff(Array(" <?xml version=\"1.0\"?><plist/>".utf8)) == .xmlPropertyList)
    #expect(RecordCoding.sniff([1, 2, 3]) == .opaque)
    #expect(RecordCoding.sniff([]) == .opaque)
  }
}
