import StrataDocuments

/// Finds the objects of a JSON file that have the same name more than once, when the file is first read.
///
/// Later readings do not examine the same text again.
final class RepeatedNames {
  /// The end of the examined text.
  private var end = 0
  private var first: (place: String, name: String)?
  /// Whether documents are used with all of their members, as for a file that is written again.
  var areKept = false
  /// The offsets of documents with repeated names.
  private var documents: Set<Int> = []

  /// Examines one document. Returns true if only the last member of a name is used and an object has a name more than once.
  ///
  /// - Parameter offset: the document's offset in the text.
  func see(_ bytes: UnsafeRawBufferPointer, at offset: Int, place: @autoclosure () -> SourcePlace) -> Bool {
    guard offset >= end else { return !areKept && documents.contains(offset) }
    end = offset + bytes.count
    guard let name = Self.find(in: bytes) else { return false }
    documents.insert(offset)
    if first == nil { first = (place().description, name) }
    return !areKept
  }

  var notes: [String] {
    guard let first else { return [] }
    let more = documents.count > 1 ? " (so in \(documents.count) documents)" : ""
    return ["\(first.place): the name \(first.name) stands twice in one object, and its last value counts\(more)"]
  }

  /// Returns the first name that an object has twice, as it is written, or nil if all names occur once.
  private static func find(in bytes: UnsafeRawBufferPointer) -> String? {
    // For each open object the hashes and ranges of its names; nil for a list.
    var open: [[(hash: UInt64, range: Range<Int>)]?] = []
    var (at, isName) = (0, false)
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      switch byte {
      case UInt8(ascii: "{"):
        open.append([])
        isName = true
      case UInt8(ascii: "["): open.append(nil)
      case UInt8(ascii: ","): isName = open.last?.map { _ in true } ?? false
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if let names = open.popLast() ?? nil, let repeated = repeated(names) {
          return String(decoding: bytes[repeated], as: UTF8.self)
        }
      case UInt8(ascii: "\""):
        let start = at
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
        let range = start..<min(at, bytes.count)
        at += 1
        if isName, !open.isEmpty { open[open.count - 1]?.append((hash(bytes[range]), range)) }
        isName = false
      default: break
      }
    }
    return nil
  }

  private static func repeated(_ names: [(hash: UInt64, range: Range<Int>)]) -> Range<Int>? {
    if names.count <= 8 {
      return names.indices.lazy.filter { place in names[..<place].contains { $0.hash == names[place].hash } }
        .first.map { names[$0].range }
    }
    let sorted = names.sorted { $0.hash < $1.hash }
    return zip(sorted, sorted.dropFirst()).first { $0.hash == $1.hash }?.1.range
  }

  private static func hash(_ name: Slice<UnsafeRawBufferPointer>) -> UInt64 {
    let name = UnsafeRawBufferPointer(rebasing: name)
    guard name.contains(UInt8(ascii: "\\")) else { return ValueHash.text(name.bindMemory(to: UInt8.self)) }
    let quoted = [UInt8(ascii: "\"")] + name + [UInt8(ascii: "\"")]
    guard case .string(let text)? = try? JSONParser.parse(quoted) else { return 0 }
    return ValueHash.text(of: text)
  }
}

extension Document {
  /// The document with only the last member of each name.
  ///
  /// Foundation's decoder takes the first of several members and other readers the last, so a store keeps only one.
  var keepingLastMembers: Document {
    switch self {
    case .object(let members):
      var places: [String: Int] = [:]
      var kept: [Member] = []
      for member in members {
        let member = Member(member.name, member.value.keepingLastMembers)
        if let place = places[member.name] {
          kept[place] = member
        } else {
          places[member.name] = kept.count
          kept.append(member)
        }
      }
      return .object(kept)
    case .array(let elements): return .array(elements.map(\.keepingLastMembers))
    default: return self
    }
  }
}
